"""`krm-merge merge` and `resolve` with a file on one side and a directory on another, as somebody calls them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import yaml

from krm_merge.cli.app import main
from packages.repositories import snapshot, write
from vendored.versions import config_map, stream

V1 = stream(config_map("a", x="1"), config_map("b", x="1"))
V2 = stream(config_map("a", x="2"), config_map("c", x="1"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two versions of a release, and a directory with the first one and a change."""
    monkeypatch.chdir(tmp_path)
    local = {"a.yaml": config_map("a", x="1", own="1"), "b.yaml": config_map("b", x="1")}
    return write(tmp_path, {"v1.yaml": V1, "v2.yaml": V2, **{f"deploy/{path}": text for path, text in local.items()}})


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Text on stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def call(arguments: list[str]) -> object:
    """The exit code of a command."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


def test_without_a_destination_the_difference_is_printed(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = snapshot(place)
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "--record"]) == 0
    assert snapshot(place) == before
    printed = capfd.readouterr()
    assert "+++ b/configmap-c.yaml" in printed.out
    assert "Vendorfile" not in printed.out
    assert "files: 1 changed, 1 added, 1 deleted" in printed.err


def test_a_directory_is_written_in_place_with_its_record(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "--in-place", "--record", "--version", "v2"]) == 0
    assert sorted(file.name for file in (place / "deploy").iterdir()) == [
        "Vendorfile",
        "Vendorfile.original",
        "a.yaml",
        "configmap-c.yaml",
    ]
    assert (place / "deploy" / "a.yaml").read_text() == config_map("a", x="2", own="1")
    assert "recorded v2 in deploy/Vendorfile" in capfd.readouterr().err


def test_another_directory_gets_the_record(place: Path) -> None:
    before = snapshot(place / "deploy")
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "-o", "out", "--record"]) == 0
    assert snapshot(place / "deploy") == before
    assert (place / "out" / "Vendorfile.original").read_text() == V2


def test_a_merge_into_a_recorded_directory_keeps_the_record_true(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(["merge", "v1.yaml", "v1.yaml", "deploy", "--in-place", "--record", "--source", "v1.yaml"]) == 0
    give(monkeypatch, V2)
    assert call(["merge", "-", "deploy", "--in-place", "--version", "v2"]) == 0
    record = yaml.safe_load((place / "deploy" / "Vendorfile").read_text())
    assert (record["source"], record["version"]) == ("v1.yaml", "v2")
    assert (place / "deploy" / "Vendorfile.original").read_text() == V2
    capfd.readouterr()
    before = snapshot(place)
    assert call(["merge", "v2.yaml", "deploy", "--in-place"]) == 0
    assert snapshot(place) == before
    assert capfd.readouterr().err == "no file changes\nnothing new: deploy already has this version of upstream\n"


def test_a_refused_merge_writes_no_record(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    before = snapshot(place)
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "--in-place", "--record", "--on-conflict", "fail"]) == 1
    assert snapshot(place) == before
    assert "refused; nothing was written" in capfd.readouterr().err


def test_conflicts_are_left_between_markers_in_the_file_of_local(place: Path) -> None:
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "--in-place", "--on-conflict", "markers"]) == 1
    text = (place / "deploy" / "a.yaml").read_text()
    assert "<<<<<<< ours\n  x: 3\n=======\n  x: 2\n>>>>>>> theirs\n" in text


def test_open_conflicts_are_settled_before_the_next_version(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["merge", "v1.yaml", "v1.yaml", "deploy", "--in-place", "--record"]) == 0
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    assert call(["merge", "v2.yaml", "deploy", "--in-place", "--on-conflict", "markers"]) == 1
    before = snapshot(place)
    capfd.readouterr()
    assert call(["merge", "v1.yaml", "deploy", "--in-place"]) == 1
    message = "deploy/a.yaml:6: an earlier merge left conflict markers; settle that conflict first"
    assert message in capfd.readouterr().err
    assert snapshot(place) == before


def test_the_report_names_the_recorded_original(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["merge", "v1.yaml", "v1.yaml", "deploy", "--in-place", "--record", "--quiet"]) == 0
    capfd.readouterr()
    assert call(["merge", "v2.yaml", "deploy", "--format", "json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["sides"]["original"] == {"ref": "deploy/Vendorfile.original"}
    assert report["files"] == {"added": ["configmap-c.yaml"], "changed": ["a.yaml"], "deleted": ["b.yaml"]}


def test_a_file_can_take_what_changed_between_directories(place: Path) -> None:
    write(place, {"new/a.yaml": config_map("a", x="2"), "new/b.yaml": config_map("b", x="1"), "all.yaml": V1})
    assert call(["merge", "v1.yaml", "new", "all.yaml", "--in-place"]) == 0
    assert (place / "all.yaml").read_text() == stream(config_map("a", x="2"), config_map("b", x="1"))


def test_a_conflict_is_settled_in_the_terminal_and_recorded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(["merge", "v1.yaml", "v1.yaml", "deploy", "--in-place", "--record", "--quiet"]) == 0
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    give(monkeypatch, "l\n")
    assert call(["resolve", "v2.yaml", "deploy", "--terminal", "--version", "v2"]) == 0
    assert (place / "deploy" / "a.yaml").read_text() == config_map("a", x="3")
    assert (place / "deploy" / "Vendorfile.original").read_text() == V2
    assert "version: v2\n" in (place / "deploy" / "Vendorfile").read_text()
    before = snapshot(place)
    assert call(["merge", "v2.yaml", "deploy", "--in-place"]) == 0
    assert snapshot(place) == before


def test_directories_do_not_make_a_record_wrong(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["merge", "v1.yaml", "v1.yaml", "deploy", "--in-place", "--record", "--quiet"]) == 0
    write(place, {"old/a.yaml": config_map("a", x="1"), "new/a.yaml": config_map("a", x="2")})
    before = snapshot(place)
    problem = "deploy/Vendorfile records one file, and UPSTREAM is a directory; delete the record to merge directories"
    for original in ("old", "v1.yaml"):
        assert call(["merge", original, "new", "deploy", "--in-place"]) == 3
        assert problem in capfd.readouterr().err
    assert snapshot(place) == before


def test_a_vendorfile_that_a_package_brings_is_a_file_like_others(place: Path) -> None:
    files = {"a.yaml": config_map("a"), "Vendorfile": "of the package\n"}
    for version in ("o", "u", "l"):
        write(place, {f"{version}/{path}": text for path, text in files.items()})
    write(place, {"u/Vendorfile": "newer\n"})
    assert call(["merge", "o", "u", "l", "--in-place"]) == 0
    assert (place / "l" / "Vendorfile").read_text() == "newer\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "problem"),
    [
        (["-", "deploy"], "", 3, "stdin is empty; check whether the command before it failed"),
        (["v1.yaml", "-", "deploy"], "hello", 3, "stdin:1: the document is not a Kubernetes object"),
        (["v1.yaml", "v2.yaml", "none"], "", 3, "none: there is no such file or directory"),
        (["none.yaml", "deploy"], "", 3, "none.yaml: there is no such file or directory"),
        (["v2.yaml", "deploy"], "", 3, "deploy has no Vendorfile with the version of upstream that it comes from"),
        (["deploy", "deploy"], "", 3, "also give that version: ORIGINAL UPSTREAM LOCAL"),
        (["/dev/null", "/dev/null", "deploy"], "", 3, "/dev/null holds no resources; all that deploy has"),
        (
            ["v1.yaml", "deploy", "deploy", "--record"],
            "",
            3,
            "Vendorfile records one file, and UPSTREAM is a directory",
        ),
        (["v1.yaml", "v2.yaml", "v1.yaml", "--record"], "", 2, "--record is for a version in one file"),
        (["v1.yaml", "v2.yaml", "deploy", "--version", "v2"], "", 2, "also give --record"),
        (["deploy"], "", 2, "give ORIGINAL UPSTREAM LOCAL, or UPSTREAM LOCAL where LOCAL has a Vendorfile"),
        (["-", "-", "deploy"], "", 2, "only one file can be -"),
        (["v1.yaml", "v2.yaml", "deploy", "-o", "-"], "", 2, "-o - writes one merged file"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_written(
    arguments: list[str],
    stdin: str,
    code: int,
    problem: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = snapshot(place)
    give(monkeypatch, stdin)
    assert call(["merge", *arguments]) == code
    assert problem in capfd.readouterr().err
    assert snapshot(place) == before


def test_the_same_version_twice_changes_nothing(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = snapshot(place)
    assert call(["merge", "v2.yaml", "v2.yaml", "deploy", "--in-place"]) == 0
    assert snapshot(place) == before
    assert capfd.readouterr().err == "no file changes\n"


def test_the_recap_names_the_command_that_settles_conflicts(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    assert call(["merge", "v1.yaml", "v2.yaml", "deploy", "--record", "--version", "v2"]) == 1
    ways = [line.split("  # ")[0].strip() for line in capfd.readouterr().err.splitlines()[-3:]]
    assert ways == [
        "krm-merge resolve --record --version v2 v1.yaml v2.yaml deploy",
        "krm-merge merge v1.yaml v2.yaml deploy --record --version v2 --on-conflict local",
        "krm-merge merge v1.yaml v2.yaml deploy --record --version v2 --on-conflict markers",
    ]
    assert not (place / "deploy" / "Vendorfile").exists()


def test_a_first_merge_is_settled_and_recorded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, {"deploy/a.yaml": config_map("a", x="3")})
    give(monkeypatch, "u\n")
    assert call(["resolve", "--record", "--version", "v2", "v1.yaml", "v2.yaml", "deploy", "--terminal"]) == 0
    assert (place / "deploy" / "a.yaml").read_text() == config_map("a", x="2")
    assert "version: v2\n" in (place / "deploy" / "Vendorfile").read_text()


def test_a_package_is_not_recorded(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["resolve", "deploy", "--record"]) == 2
    assert "--record and --version are for a merge; a package is updated to PKG@REF" in capfd.readouterr().err


def test_a_vendorfile_is_named_after_its_directory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "My Shop").mkdir()
    monkeypatch.chdir(place / "My Shop")
    assert call(["merge", "../v1.yaml", ".", "--in-place", "--record"]) == 0
    assert yaml.safe_load(Path("Vendorfile").read_text())["metadata"]["name"] == "my-shop"


def test_a_file_is_compared_with_a_directory_in_any_layout(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        place,
        {"deploy/README.md": "ours", "deploy/kustomization.yaml": "resources: []\n", "deploy/d.yaml": config_map("d")},
    )
    assert call(["diff", "v1.yaml", "deploy"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "a.yaml",
        "  ConfigMap a",
        "    data.own: added",
        "      + 1",
        "d.yaml",
        "  ConfigMap d",
        "    added",
    ]
    assert call(["diff", "deploy", "v1.yaml"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "a.yaml",
        "  ConfigMap a",
        "    data.own: removed",
        "      - 1",
        "d.yaml",
        "  ConfigMap d",
        "    deleted",
    ]


def test_what_cannot_be_compared_is_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(place, {"text.yaml": "hello", "two.yaml": "a: [\n---\nb: {\n", "deploy/again.yaml": config_map("a")})
    problems = {"text.yaml": "text.yaml:1: the document is not", "two.yaml": "two.yaml: line 4,"}
    problems["v1.yaml"] = "ConfigMap a is in deploy/a.yaml:1"
    for file, problem in problems.items():
        assert call(["diff", file, "deploy"]) == 3
        assert problem in capfd.readouterr().err
