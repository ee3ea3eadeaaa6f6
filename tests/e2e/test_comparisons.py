"""docs/comparisons.md shows what `krm-merge compare` prints today, with the real kpt."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tools.make_comparisons import BLOCK, OWN, PACKAGES, PAGE, recipes

from checkout import ROOT
from e2e.hosts import SECONDS, installed_program

MOST_LINES = 15


@pytest.mark.kpt
def test_the_page_has_what_compare_prints() -> None:
    env = os.environ | {"PATH": f"{os.path.dirname(installed_program())}:{os.environ['PATH']}"}
    command = [sys.executable, str(ROOT / "tools" / "make_comparisons.py"), "--check"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_package_is_on_the_page_in_few_lines() -> None:
    outputs = {match[2]: match[3] for match in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))}
    assert [*outputs] == [*(recipe["name"] for recipe in recipes()), *OWN]
    assert sorted(OWN) == sorted(path.name for path in PACKAGES.iterdir() if path.is_dir())
    assert {name: output for name, output in outputs.items() if not 0 < output.count("\n") <= MOST_LINES} == {}
