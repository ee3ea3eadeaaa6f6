"""What pull requests are asked to write into CHANGELOG.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT

TOOL = ROOT / "tools" / "check_changelog.py"
BEFORE = "# Changelog\n\n## [1.1.0]\n\n### Added\n\n- Old.\n\n## [1.0.0]\n\n- First.\n"
TOLD = BEFORE.replace("- Old.\n", "- Old.\n- New.\n")
TOLD_OF_A_RELEASE = BEFORE.replace("- First.\n", "- First.\n- New.\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path, {"CHANGELOG.md": BEFORE, "fn/krm_merge/a.py": "", "docs/a.md": ""}, "First")
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


@pytest.mark.parametrize(
    ("files", "message", "code"),
    [
        ({"fn/krm_merge/a.py": "1\n"}, "Change", 1),
        ({"fn/krm_merge/a.py": "1\n", "CHANGELOG.md": TOLD}, "Change", 0),
        ({"fn/krm_merge/a.py": "1\n", "CHANGELOG.md": TOLD_OF_A_RELEASE}, "Change", 1),
        ({"fn/krm_merge/a.py": "1\n"}, "Rename\n\nChangelog: none\n", 0),
        ({"docs/a.md": "1\n"}, "Describe", 0),
    ],
)
def test_a_change_of_the_program_comes_with_a_line(
    repository: Path, files: dict[str, str], message: str, code: int
) -> None:
    commit(repository, files, message)
    run = subprocess.run([sys.executable, TOOL, "main"], cwd=repository, capture_output=True, check=False, text=True)
    assert run.returncode == code
    assert ("has no new line under its first version" in run.stderr) == (code == 1)


def test_what_others_wrote_meanwhile_does_not_count(repository: Path) -> None:
    commit(repository, {"docs/a.md": "1\n"}, "Describe")
    git(repository, "checkout", "--quiet", "main")
    commit(repository, {"fn/krm_merge/a.py": "1\n"}, "Change")
    git(repository, "checkout", "--quiet", "change")
    run = subprocess.run([sys.executable, TOOL, "main"], cwd=repository, capture_output=True, check=False, text=True)
    assert (run.returncode, run.stderr) == (0, "")
