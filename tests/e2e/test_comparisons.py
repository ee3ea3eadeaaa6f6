"""docs/comparisons.md shows what `krm-merge compare` says today, with the real kpt."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jsonschema
import pytest
from tools.make_comparisons import OF_LOCAL, OWN, PACKAGES, REPORTS, recipes

from checkout import ROOT
from e2e.hosts import SECONDS, installed_program

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "comparison.json").read_text(encoding="utf-8"))


def make(*arguments: str) -> tuple[int, str]:
    env = os.environ | {"PATH": f"{os.path.dirname(installed_program())}:{os.environ['PATH']}"}
    command = [sys.executable, str(ROOT / "tools" / "make_comparisons.py"), "--check", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    return done.returncode, done.stderr


@pytest.mark.kpt
def test_the_reports_are_what_compare_says() -> None:
    assert make() == (0, "")


def test_the_page_is_made_from_the_reports() -> None:
    assert make("--page") == (0, "")


def test_every_package_is_on_the_page() -> None:
    page = (ROOT / "docs" / "comparisons.md").read_text(encoding="utf-8")
    assert [name for name in OWN if f"<!-- compare {name}@v2 -->\n\n```text\n" not in page] == []
    assert [path.name for path in sorted(PACKAGES.iterdir()) if (path / "v1").is_dir()] == sorted(OWN)
    assert page.count("<!-- compare ") == page.count("<!-- end -->") == len(OWN) + 2


@pytest.mark.parametrize("name", [recipe["name"] for recipe in recipes()])
def test_of_a_package_that_nobody_changed_no_local_change_is_lost(name: str) -> None:
    report = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, SCHEMA)
    assert not {*OF_LOCAL, "unexplained", "comments-lost", "comments-missed"} & {*report["counts"]}
    assert all("undone" not in counts and "unexplained" not in counts for counts in report["lines"].values())
    # Where kpt is at fault, it has something else than a fresh get of the new version.
    for difference in report["differences"]:
        if difference["finding"] in ("unchanged-lost", "upstream-change-missed") and "values" in difference:
            assert "upstream" in difference["values"]
            assert difference["values"].get("kpt", ...) != difference["values"]["upstream"]
