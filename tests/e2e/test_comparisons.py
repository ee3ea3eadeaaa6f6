"""docs/comparisons.md shows what `krm-merge compare` says today, with the real kpt."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from checkout import ROOT
from e2e.hosts import SECONDS, installed_program


@pytest.mark.kpt
def test_the_page_shows_what_compare_says() -> None:
    env = os.environ | {"PATH": f"{os.path.dirname(installed_program())}:{os.environ['PATH']}"}
    command = [sys.executable, str(ROOT / "tools" / "make_comparisons.py"), "--check"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_package_is_on_the_page() -> None:
    page = (ROOT / "docs" / "comparisons.md").read_text(encoding="utf-8")
    packages = sorted(place.name for place in (ROOT / "testdata" / "comparisons").iterdir())
    assert len(packages) == 3
    assert [name for name in packages if f"<!-- krm-merge compare {name}@v2 -->\n\n```text\n" not in page] == []
