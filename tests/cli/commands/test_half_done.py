"""What people left half done or wrote wrong: each is named with its file, none passed over, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cli.commands.merge.updates import Files, Run
from e2e.in_process import krm_merge
from krm_merge.packages.git_cache import CACHE_VARIABLE
from packages.repositories import DEPLOYMENT, SERVICE, Repository, config_map, kptfile, snapshot, write

MARKED = "<<<<<<< ours\n  color: red\n=======\n  color: blue\n>>>>>>> theirs\n"
IN_MARKERS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n" + MARKED
BROKEN = config_map("a", color="red").replace("  name", " name").replace("metadata:", "metadata:\n  x: y")
V1: Files = {
    "a.yaml": config_map("a", color="red"),
    "b.yaml": config_map("b", x="one"),
    "notes.txt": "one\n",
    "merging.txt": MARKED,
    "values.tmpl.yaml": "a: {{ if .Values.a }}\n  - b\n",
    "Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
}
V2: Files = {"b.yaml": config_map("b", x="two"), "a.yaml": config_map("a", color="green")}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package at v1 of an upstream that has v2, too."""
    repository = Repository.at(tmp_path / "upstream")
    first = repository.version("v1", V1)
    repository.version("v2", V2)
    return write(tmp_path / "own" / "web", {**V1, "Kptfile": kptfile(repository.path, "v1", first)})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    def call(*arguments: str | Path, stdin: str = "") -> Run:
        done = krm_merge(*arguments, cwd=tmp_path / "own", stdin=stdin, **{CACHE_VARIABLE: str(tmp_path / "cache")})
        assert "Traceback" not in done.stderr + done.stdout
        assert "internal error" not in done.stderr
        return done

    return call


HALF_DONE: Mapping[str, tuple[Files, list[str]]] = {
    "markers": ({"a.yaml": IN_MARKERS}, ["web/a.yaml:6: a conflict between markers", "settle it"]),
    "markers in two files": (
        {"a.yaml": IN_MARKERS, "b.yaml": IN_MARKERS},
        ["web/a.yaml:6: a conflict", "web/b.yaml:6: a conflict"],
    ),
    "longer markers": (
        {"a.yaml": IN_MARKERS.replace("<" * 7, "<" * 9).replace("=" * 7, "=" * 9).replace(">" * 7, ">" * 9)},
        ["web/a.yaml:6: a conflict"],
    ),
    "markers in a text": ({"notes.txt": MARKED}, ["web/notes.txt:1: a conflict"]),
    "markers in a new file": ({"own.yaml": IN_MARKERS}, ["web/own.yaml:6: a conflict"]),
    "markers in a moved file": ({"a.yaml": None, "moved.yaml": IN_MARKERS}, ["web/moved.yaml:6: a conflict"]),
    "markers with CRLF": ({"a.yaml": IN_MARKERS.replace("\n", "\r\n")}, ["web/a.yaml:6: a conflict"]),
    "markers and a broken file": (
        {"a.yaml": IN_MARKERS, "b.yaml": BROKEN},
        ["web/a.yaml:6: a conflict", "web/b.yaml:5: not valid YAML", "settle it; mend the file"],
    ),
    "a wrong indent": ({"a.yaml": BROKEN}, ["web/a.yaml:5: not valid YAML", ".krmignore"]),
    "moved and broken": ({"a.yaml": None, "moved.yaml": BROKEN}, ["web/moved.yaml:5: not valid YAML"]),
    "a tab": ({"a.yaml": config_map("a").replace("  name", "\tname")}, ["web/a.yaml:4: not valid YAML"]),
    "an open quote": ({"own.yaml": "kind: 'A\n"}, ["web/own.yaml:", "not valid YAML"]),
    "an open bracket": ({"own.yaml": "kind: [A\n"}, ["web/own.yaml:", "not valid YAML"]),
    "an unknown alias": ({"own.yaml": "kind: *a\n"}, ["web/own.yaml:1: the alias *a has no anchor"]),
    "a key twice": ({"a.yaml": config_map("a") + "kind: ConfigMap\n"}, ["web/a.yaml:6: the key kind is there twice"]),
    "not UTF-8": ({"own.yaml": b"name: \xff\n"}, ["web/own.yaml: not UTF-8"]),
    "a NUL": ({"own.yaml": "name: a\0\n"}, ["web/own.yaml:", "not valid YAML"]),
    "the second document": ({"a.yaml": f"{config_map('a')}---\n{BROKEN}"}, ["web/a.yaml:11: not valid YAML"]),
    "a new template": (
        {"own.yaml": "{{ if .a }}\na: b\n{{ end }}\n"},
        ["web/own.yaml:", "if it is no YAML on purpose"],
    ),
}


@pytest.mark.parametrize(("files", "phrases"), HALF_DONE.values(), ids=HALF_DONE)
def test_an_update_stops_at_what_is_half_done(
    package: Path, run: Callable[..., Run], files: Files, phrases: list[str]
) -> None:
    """I13: with and without --on-conflict, and in resolve."""
    write(package, files)
    before = snapshot(package)
    for arguments in (["update"], ["update", "--on-conflict", "local"], ["resolve", "--terminal"]):
        done = run(*arguments, "web@v2")
        assert done.returncode == 1, done.stderr
        for phrase in [*phrases, "nothing was changed"]:
            assert phrase in done.stderr
        assert snapshot(package) == before


UNFINISHED_ON_PURPOSE: Mapping[str, Files] = {
    "as upstream has it": {"b.yaml": config_map("b", x="one", y="own")},
    "a template of Helm": {"templates/own.yaml": "{{ if .a }}\na: b\n{{ end }}\n"},
    "listed in .krmignore": {"own.yaml": "{{ if .a }}\na: b\n{{ end }}\n", ".krmignore": "own.yaml\n"},
    "an upstream template, edited": {"values.tmpl.yaml": "a: {{ if .Values.b }}\n  - b\n"},
    "an upstream template, moved": {"values.tmpl.yaml": None, "moved.yaml": V1["values.tmpl.yaml"]},
    "a document that shows markers": {"own.md": MARKED},
}


@pytest.mark.parametrize("files", UNFINISHED_ON_PURPOSE.values(), ids=UNFINISHED_ON_PURPOSE)
def test_what_is_no_yaml_on_purpose_does_not_stop_an_update(
    package: Path, run: Callable[..., Run], files: Files
) -> None:
    write(package, files)
    done = run("update", "web@v2")
    assert done.returncode == 0, done.stderr
    assert "color: green" in (package / "a.yaml").read_text()


@pytest.mark.parametrize("on_delete", [None, "upstream", "local"])
@pytest.mark.parametrize("on_conflict", ["upstream", "local"])
def test_who_wins_conflicts_decides_existence_too(
    tmp_path: Path, run: Callable[..., Run], on_conflict: str, on_delete: str | None
) -> None:
    """I14: of resources, elements and files, whichever side deleted them."""
    containers = "      - name: side\n        image: side:{}\n"
    original = {
        "web.yaml": DEPLOYMENT + containers.format(1),
        "service.yaml": SERVICE,
        "map.yaml": config_map("m", x="1"),
        "notes.txt": "1\n",
        "other.txt": "1\n",
    }
    upstream = {
        **original,
        "web.yaml": DEPLOYMENT + containers.format(2),
        "map.yaml": config_map("m", x="2"),
        "notes.txt": "2\n",
    }
    upstream = {name: text for name, text in upstream.items() if name not in ("service.yaml", "other.txt")}
    local = {"web.yaml": DEPLOYMENT, "service.yaml": SERVICE.replace("80", "81"), "other.txt": "3\n"}
    for name, files in (("o", original), ("u", upstream), ("l", local)):
        write(tmp_path / "own" / name, {**files})
    more = [] if on_delete is None else ["--on-delete", on_delete]
    done = run("merge", "o", "u", "l", "-o", "m", "--on-conflict", on_conflict, *more)
    assert done.returncode == 0, done.stderr
    winner = on_delete or on_conflict
    names = {file.name for file in (tmp_path / "own" / "m").iterdir()}
    assert names == {"web.yaml", *(upstream if winner == "upstream" else local)}
    assert ("side:2" in (tmp_path / "own" / "m" / "web.yaml").read_text()) is (winner == "upstream")
