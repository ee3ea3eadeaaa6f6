"""`examples/demo.sh`, the first command that the README names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkout import ROOT
from e2e.hosts import Run, installed_program

TOOLS = ("bash", "env", "cat", "cp", "dirname", "git", "mkdir", "mktemp", "rm", "sed")
SCREEN = 48


def run_demo(script: Path, tmp_path: Path, *, with_kpt: bool) -> Run:
    """Runs the demo with a PATH of its own; a copy of the examples finds the program there."""
    tools, temporary = tmp_path / "tools", tmp_path / "temporary"
    tools.mkdir()
    temporary.mkdir()
    for name in (*TOOLS, *(["kpt"] if with_kpt else [])):
        found = shutil.which(name)
        assert found, name
        (tools / name).symlink_to(found)
    (tools / "krm-merge").symlink_to(installed_program())
    done = subprocess.run(
        [str(script)],
        env={"PATH": str(tools), "TMPDIR": str(temporary), "HOME": str(tmp_path), "LANG": os.environ.get("LANG", "C")},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert list(temporary.iterdir()) == [], "the demo leaves traces"
    return done


def copy_of_examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples"))


@pytest.mark.parametrize("with_kpt", [pytest.param(True, marks=pytest.mark.kpt), False], ids=["kpt", "stdin"])
def test_shows_the_merge_and_the_conflict(tmp_path: Path, with_kpt: bool) -> None:
    done = run_demo(copy_of_examples(tmp_path) / "demo.sh", tmp_path, with_kpt=with_kpt)
    assert done.returncode == 0, done.stderr
    assert ("kpt fn eval" in done.stdout) == with_kpt
    lines = done.stdout.splitlines()
    assert '+        replicas: "3" # new: two were too few for an update without downtime' in lines
    assert "+    - image: gcr.io/kpt-fn/set-labels:v0.2" in lines
    assert not any(line.startswith("-") and "tag: 1.2.0" in line for line in lines)
    assert any("configMap.memory" in line and "local 512Mi" in line for line in lines)
    assert "\x1b" not in done.stdout
    assert len(lines) <= SCREEN


@pytest.mark.parametrize("with_kpt", [pytest.param(True, marks=pytest.mark.kpt), False], ids=["kpt", "stdin"])
def test_fails_when_the_merge_fails(tmp_path: Path, with_kpt: bool) -> None:
    examples = copy_of_examples(tmp_path)
    with (examples / "setters" / "merge.yaml").open("a", encoding="utf-8") as file:
        file.write("onConflict: fail\n")
    done = run_demo(examples / "demo.sh", tmp_path, with_kpt=with_kpt)
    assert done.returncode == 1
    assert "configMap.memory" in done.stderr
