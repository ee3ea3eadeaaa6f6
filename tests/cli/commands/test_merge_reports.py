"""`--report` and `--format json` of `merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.hosts import Run
from e2e.in_process import krm_merge
from krm_merge.report import FORMS

TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {}\n"


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for name, value in (("o", "b"), ("u", "c"), ("l", "d")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c.yaml").write_text(TEXT.format(value))
    return tmp_path


def merge(place: Path, *arguments: str) -> Run:
    return krm_merge("merge", *arguments, cwd=place)


@pytest.mark.parametrize("on_conflict", ["upstream", "fail", "markers"])
def test_reports_are_written_whatever_becomes_of_conflicts(sides: Path, on_conflict: str) -> None:
    names = [f"r{suffix}" for suffix in FORMS]
    options = [word for name in names for word in ("--report", name)]
    done = merge(sides, "o", "u", "l", "--in-place", "--on-conflict", on_conflict, *options)
    assert done.returncode == (0 if on_conflict == "upstream" else 1)
    assert all((sides / name).stat().st_size > 100 for name in names)
    (record,) = json.loads((sides / "r.json").read_text())["records"]
    assert record["status"] == ("settled" if on_conflict == "upstream" else "open")
    assert record.get("result") == {"upstream": "c", "fail": "d", "markers": None}[on_conflict]


def test_the_same_document_is_printed(sides: Path) -> None:
    done = merge(sides, "o", "u", "l", "--format", "json", "--report", "r.json")
    assert done.stdout == (sides / "r.json").read_text()
    assert json.loads(done.stdout)["sides"] == {
        "original": {"ref": "o"},
        "upstream": {"ref": "u"},
        "local": {"ref": "l"},
    }


def test_errors_are_json_too(sides: Path) -> None:
    done = merge(sides, "o", "u", "missing", "--format", "json")
    assert done.returncode != 0
    (result,) = json.loads(done.stdout)["results"]
    assert result == {"message": "missing: there is no such file or directory", "severity": "error"}


def test_an_unknown_form_is_refused_before_anything_is_written(sides: Path) -> None:
    done = merge(sides, "o", "u", "l", "--in-place", "--report", "r.pdf")
    assert done.returncode == 2
    assert ".html, .md, .json, .sarif" in done.stderr
    assert (sides / "l" / "c.yaml").read_text() == TEXT.format("d")


def test_a_report_that_cannot_be_written_leaves_the_package_as_it_is(sides: Path) -> None:
    done = merge(sides, "o", "u", "l", "--in-place", "--report", "nowhere/r.md")
    assert done.returncode != 0
    assert (sides / "l" / "c.yaml").read_text() == TEXT.format("d")
