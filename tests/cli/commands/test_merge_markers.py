"""`--on-conflict markers`: what is left to people, in the files and in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from krm_merge.cli.app import main

VALUES = {"original": "a: 1\n", "upstream": "a: 2\n", "local": "a: 3\n"}
MARKED = "<<<<<<< ours\na: 3\n=======\na: 2\n>>>>>>> theirs\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n---\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
SCALER = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
"""
BINARY = {"original": "x\0", "upstream": "u\0", "local": "l\0"}


def written(place: Path, name: str, texts: dict[str, str]) -> list[str]:
    """Writes one file of three packages; gives the packages."""
    for side, text in texts.items():
        (place / side).mkdir(exist_ok=True)
        (place / side / name).write_bytes(text.encode())
    return [str(place / side) for side in texts]


def exit_code(command: list[str]) -> int:
    try:
        return main(command)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_a_value_is_left_between_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = written(tmp_path, "values.yaml", VALUES)
    assert exit_code(["merge", *sides, "--on-conflict", "markers", "--in-place"]) == 1
    assert (tmp_path / "local/values.yaml").read_text() == MARKED
    printed = capsys.readouterr().err
    assert "both are between conflict markers" in printed
    assert "1 conflict is left in the files between markers" in printed
    assert "local's value is kept" not in printed


def test_a_rule_decides_without_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = written(tmp_path, "values.yaml", VALUES)
    (tmp_path / "rules.yaml").write_text("rules:\n- {path: a, onConflict: upstream}\n")
    command = ["merge", *sides, "--on-conflict", "markers", "--in-place", "--rules", str(tmp_path / "rules.yaml")]
    assert exit_code(command) == 0
    assert (tmp_path / "local/values.yaml").read_text() == "a: 2\n"
    assert "markers" not in capsys.readouterr().err


def test_a_binary_file_has_no_place_for_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = written(tmp_path, "logo.bin", BINARY)
    assert exit_code(["merge", *sides, "--on-conflict", "markers", "--in-place"]) == 1
    assert (tmp_path / "local/logo.bin").read_text() == BINARY["local"]
    printed = capsys.readouterr().err
    assert "logo.bin: a binary file cannot hold markers; ours is kept" in printed
    assert "between" not in printed


def test_lines_that_both_added_are_left_between_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"original": "a\n", "upstream": "a\nup\n", "local": "a\nmine\n"}
    sides = written(tmp_path, "README.md", texts)
    assert exit_code(["merge", *sides, "--on-conflict", "markers", "--in-place"]) == 1
    marked = "a\n<<<<<<< ours\nmine\n=======\nup\n>>>>>>> theirs\n"
    assert (tmp_path / "local/README.md").read_text() == marked
    assert "both sides changed the same lines; both are between conflict markers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "texts", "what"),
    [
        ("values.yaml", VALUES, "values.yaml: conflicts in one place, between markers\n  a: upstream changed it"),
        ("logo.bin", BINARY, "logo.bin: a binary file in conflict, ours is kept\n"),
    ],
)
def test_the_merge_driver_names_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, texts: dict[str, str], what: str
) -> None:
    base, theirs, ours = (f"{side}/{name}" for side in written(tmp_path, name, texts))
    assert exit_code(["merge-driver", base, ours, theirs, name]) == 1
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "report"),
    [
        (
            {"original": "a: 1 # each\n", "upstream": "a: 1 # per node\n", "local": "a: 1 # per zone\n"},
            "info    w.yaml: a: upstream has a comment that the result does not have: # per node\n",
        ),
        (
            {
                "original": f"{DEPLOYMENT}{SERVICE}",
                "upstream": SERVICE,
                "local": f"{DEPLOYMENT}{SERVICE}{SCALER}",
            },
            "spec.scaleTargetRef.name names Deployment web, which upstream removed or changed; it refers to nothing\n",
        ),
        (
            {"original": "a: 1\n", "upstream": "a: 1 # per node\n", "local": "a: 1\n"},
            "",
        ),
    ],
)
def test_the_merge_driver_reports_what_has_no_markers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: dict[str, str], report: str
) -> None:
    """A lost comment (V8), and a conflict that is the same whoever wins; nothing of what merges."""
    base, theirs, ours = (f"{side}/w.yaml" for side in written(tmp_path, "w.yaml", texts))
    assert exit_code(["merge-driver", base, ours, theirs, "w.yaml"]) == 0
    reports = capsys.readouterr().err
    assert reports.endswith(report)
    assert bool(reports) == bool(report)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_merge_driver_keeps_the_line_ends_of_ours(tmp_path: Path, end: str) -> None:
    texts = {"original": "a: 1\nb: 1\n", "upstream": "a: 2\r\nb: 2\r\n", "local": f"a: 3{end}b: 1{end}"}
    base, theirs, ours = (f"{side}/a.yaml" for side in written(tmp_path, "a.yaml", texts))
    assert exit_code(["merge-driver", base, ours, theirs, "a.yaml"]) == 1
    assert Path(ours).read_bytes() == f"{MARKED}b: 2\n".replace("\n", end).encode()
