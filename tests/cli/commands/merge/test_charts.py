"""Versions of Helm charts that both sides raised (rule V4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.in_process import krm_merge

CHART = "apiVersion: v2\nname: web\nversion: {}\n"


def charts(place: Path, *versions: str, file: str = "Chart.yaml") -> None:
    """The original, upstream and local: they differ in values.yaml, too."""
    for side, version in zip("oul", versions, strict=True):
        (place / side).mkdir()
        (place / side / file).write_text(CHART.format(version))
        (place / side / "values.yaml").write_text("a: 2\n" if side == "l" else "a: 1\n")


def choices_for_version(place: Path) -> list[str]:
    report = json.loads(krm_merge("merge", "o", "u", "l", "--format", "json", cwd=place).stdout)
    return [choice for record in report["records"] for choice in record["choices"]]


@pytest.mark.parametrize(
    ("upstream", "local", "higher"),
    [
        ("1.3.0", "1.10.0", "1.10.0"),
        ("1.10.0", "1.3.0", "1.10.0"),
        ("2.0.0", "2.0.0-rc.1", "2.0.0"),
        ("1.2.1-rc.2", "1.2.1-rc.10", "1.2.1-rc.10"),
        ("v1.3.0", "1.3.1", "1.3.1"),
        ("1.3", "1.2.9", "1.3"),
    ],
)
def test_the_higher_version_is_offered_first(tmp_path: Path, upstream: str, local: str, higher: str) -> None:
    charts(tmp_path, "1.2.0", upstream, local)
    assert choices_for_version(tmp_path)[:3] == ["higher", "upstream", "local"]
    stopped = krm_merge("merge", "o", "u", "l", "--report", "r.md", cwd=tmp_path)
    assert f"{'upstream' if higher == upstream else 'local'}'s version is the higher" in stopped.stderr
    assert "Choices: the higher version, upstream's, local's" in (tmp_path / "r.md").read_text()
    asked = krm_merge("resolve", "o", "u", "l", "--terminal", cwd=tmp_path, stdin="?\nh\n")
    assert "Settle this [h,u,l," in asked.stdout
    assert "h - Take the higher version" in asked.stdout
    assert (tmp_path / "l/Chart.yaml").read_text() == CHART.format(higher)


@pytest.mark.parametrize(
    ("file", "versions"),
    [
        ("Chart.yaml", ("1.2.0", "1.1.0", "1.3.0")),
        ("Chart.yaml", ("1.2.0", "1.3.0+a", "1.3.0+b")),
        ("Chart.yaml", ("1.2.0", "next", "1.3.0")),
        ("Chart.yaml", ("1.2.0", "{{ v }}", "1.3.0")),
        ("app.yaml", ("1.2.0", "1.3.0", "1.4.0")),
    ],
)
def test_nothing_is_higher_but_versions_of_charts_that_both_raised(
    tmp_path: Path, file: str, versions: tuple[str, str, str]
) -> None:
    charts(tmp_path, *versions, file=file)
    assert choices_for_version(tmp_path)[:2] == ["upstream", "local"]


@pytest.mark.parametrize(
    ("versions", "local_values", "is_reported"),
    [
        (("1.2.0", "1.3.0", "1.3.0"), "a: 2\n", True),
        (("1.2.0", "1.3.0", "1.3.0"), "a: 1\n", False),
        (("1.3.0", "1.3.0", "1.3.0"), "a: 2\n", False),
        (("1.2.0", "1.3.0", "1.2.0"), "a: 2\n", False),
    ],
    ids=["other values", "equal charts", "raised by nobody", "raised by upstream"],
)
def test_a_version_that_both_raised_for_different_charts_is_named(
    tmp_path: Path, versions: tuple[str, str, str], local_values: str, is_reported: bool
) -> None:
    charts(tmp_path, *versions)
    (tmp_path / "l/values.yaml").write_text(local_values)
    done = krm_merge("merge", "o", "u", "l", cwd=tmp_path)
    message = "warning Chart.yaml: upstream and local raised version to 1.3.0, with different contents; raise it again"
    assert (message in done.stderr) == is_reported
