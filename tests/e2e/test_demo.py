"""`examples/demo.sh`, the first command that the README names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checkout import ROOT
from e2e.hosts import SECONDS, Run, installed_program

TOOLS = ("bash", "env", "cat", "cp", "diff", "dirname", "git", "grep", "mkdir", "mktemp", "rm", "sed", "tail")
SCREEN = 100


def run_demo(script: Path, tmp_path: Path, *, with_kpt: bool) -> Run:
    """Runs the demo with a PATH of its own; a copy of the examples finds the program there."""
    tools, temporary = tmp_path / "tools", tmp_path / "temporary"
    tools.mkdir()
    temporary.mkdir()
    for name in (*TOOLS, *(["kpt"] if with_kpt else [])):
        program = shutil.which(name)
        assert program, name
        (tools / name).symlink_to(program)
    (tools / "krm-merge").symlink_to(installed_program())
    done = subprocess.run(
        [str(script)],
        env={"PATH": str(tools), "TMPDIR": str(temporary), "HOME": str(tmp_path), "LANG": os.environ.get("LANG", "C")},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert list(temporary.iterdir()) == [], "the demo leaves traces"
    return done


def copy_of_examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples"))


KPT = [pytest.param(True, marks=pytest.mark.kpt), False]
LOST = [
    "-        - --cache=redis # sessions outlive a restart",
    "+        emptyDir: {}",
]
TAKEN = [
    "-        image: wordpress:6.4",
    "+        image: wordpress:6.5",
    "-        - --log=info",
    "+        - --log=warning",
]


@pytest.mark.parametrize("with_kpt", KPT, ids=["kpt", "alone"])
def test_shows_what_kpt_breaks_a_conflict_settled_and_the_function(tmp_path: Path, with_kpt: bool) -> None:
    done = run_demo(copy_of_examples(tmp_path) / "demo.sh", tmp_path, with_kpt=with_kpt)
    assert done.returncode == 0, done.stderr
    by_kpt, first, second, settled, function = re.split(
        r"^\$ krm-merge .*\n", done.stdout, maxsplit=4, flags=re.MULTILINE
    )
    assert changed_lines(by_kpt) == ([*TAKEN, *LOST] if with_kpt else [])
    assert ("$ kpt pkg update blog@v2\nUpdated 1 package(s).\n" in by_kpt) == with_kpt
    assert changed_lines(first) == TAKEN
    assert second.startswith("error   deployment.yaml: metrics: local removed it, upstream changed it\nstopped at 1 ")
    assert changed_lines(second) == []
    assert changed_lines(settled) == ["-        image: wordpress:6.5", "+        image: wordpress:6.6"]
    in_list, *by_functions = re.split(r"^\$ .*kpt fn .*\n", function, flags=re.MULTILINE)
    assert "<           image: wordpress:6.4\n>           image: wordpress:6.5\n" in in_list
    assert '> - message: "2 changes from upstream: blog image, blog args"\n' in in_list
    assert [changed_lines(text) for text in by_functions] == ([TAKEN, TAKEN] if with_kpt else [])
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") <= SCREEN


def changed_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("+ ", "- "))]


def test_fails_when_the_update_fails(tmp_path: Path) -> None:
    examples = copy_of_examples(tmp_path)
    (examples / "update" / "v2" / "deployment.yaml").write_text("a: {\n", encoding="utf-8")
    done = run_demo(examples / "demo.sh", tmp_path, with_kpt=False)
    assert done.returncode != 0
    assert "deployment.yaml" in done.stdout
