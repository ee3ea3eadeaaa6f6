"""`merge-driver` and `mergetool` under git: a file's name is never an option, whatever it begins with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.hosts import git, run
from e2e.in_process import krm_merge
from krm_merge.cli.commands import merge_driver
from krm_merge.cli.commands import resolve as mergetool

NAMES = (
    *("--help", "-h", "--version", "--on-conflict", "--on-conflict=upstream", "--on-conflict=local.yaml", "upstream"),
    *("--rules", "--rules=evil.yaml", "-x.yaml", "--marker-size", "--marker-size=1", "--format=json", "--terminal"),
    *("--", "-", "-n", "@x", " ", "a b.yaml", "'\"", "%A %L", "~", "*", "a\nb", "\x1b[2J", "$(touch ran);`touch ran`"),
)
"""At the top of a repository, where nothing stands before the name."""
DRIVERS = {
    "documented": "merge-driver --marker-size %L -- %O %A %B %P",
    "without dashes": "merge-driver --marker-size %L %O %A %B %P",
}
MARKED = "<<<<<<< ours\n  a: ours\n=======\n  a: theirs\n>>>>>>> theirs\n"


def text(a: str, b: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {a}\n  b: {b}\n"


def repository(place: Path, driver: str, names: Sequence[str], conflicts: set[str]) -> Path:
    """Two branches that both change every file, adjacent lines where they have no conflict; `ours` is checked out."""
    work = place / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch", "ours")
    git(work, "config", "merge.krm.driver", f"krm-merge {driver}")
    (work / ".gitattributes").write_text("* merge=krm\n")
    (work / "evil.yaml").write_text("rules:\n- onConflict: upstream\n")
    commit(work, {name: text("base", "base") for name in names})
    git(work, "checkout", "--quiet", "-b", "theirs")
    commit(work, {name: text("theirs" if name in conflicts else "base", "theirs") for name in names})
    git(work, "checkout", "--quiet", "ours")
    commit(work, {name: text("ours", "base") for name in names})
    return work


def commit(work: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (work / name).write_text(content)
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "all")


def conflicts_in(work: Path) -> set[str]:
    return set(git(work, "diff", "--name-only", "--diff-filter=U", "-z").split("\0")) - {""}


# Git starts the driver for each file.
@pytest.mark.parametrize(
    ("command", "driver", "names"),
    [
        ("merge", "documented", NAMES),
        ("merge", "without dashes", NAMES[::3]),
        ("rebase", "documented", NAMES[::8]),
        ("cherry-pick", "documented", NAMES[1::8]),
    ],
    ids=["merge", "merge-without-dashes", "rebase", "cherry-pick"],
)
def test_a_name_settles_no_conflict(tmp_path: Path, command: str, driver: str, names: tuple[str, ...]) -> None:
    conflicts = set(names[len(command) % 2 :: 2])
    work = repository(tmp_path, DRIVERS[driver], names, conflicts)
    if command == "rebase":
        # Onto ours: theirs is what is rebased.
        git(work, "checkout", "--quiet", "theirs")
    done = run("git", command, "ours" if command == "rebase" else "theirs", cwd=work)
    assert done.returncode == 1, done.stderr
    assert "Usage" not in done.stdout + done.stderr
    assert conflicts_in(work) == conflicts
    for name in names:
        merged = text("ours", "theirs")
        expected = merged.replace("  a: ours\n", MARKED) if name in conflicts else merged
        assert (work / name).read_text() == expected, name
    assert set(os.listdir(work)) == {*names, "evil.yaml", ".gitattributes", ".git"}


@pytest.mark.parametrize("options", [["--terminal", "--"], ["--terminal"]], ids=["documented", "without dashes"])
@pytest.mark.parametrize("name", ["--help", "--terminal", "--no-browser", "-x.yaml"])
def test_the_mergetool_takes_any_name(tmp_path: Path, name: str, options: list[str]) -> None:
    # Git's own script stumbles over such names before it calls a tool, in 2.39 at least.
    files = {"./b": text("base", "base"), "./l": text("ours", "base"), "./r": text("theirs", "theirs"), name: MARKED}
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    done = krm_merge("mergetool", *options, *files, cwd=tmp_path, stdin="u\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_text() == text("theirs", "theirs")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["o", "l", "u", "-h"], 1, "-h: conflicts in one place"),
        (["--", "o", "l", "u"], 1, "l: conflicts in one place"),
        (["--on-conflict", "local", "o", "l", "u", "n"], 0, "warning n: a"),
        (["--on-conflict", "fail", "o", "l", "u", "--rules"], 1, "error   --rules: a"),
        (["o", "l", "u", "--on-conflict", "local"], 2, "unexpected extra argument"),
        (["--", "o", "l", "u", "n", "--on-conflict", "local"], 2, "unexpected extra argument"),
        (["o", "l"], 2, "Missing argument 'THEIRS'"),
    ],
)
def test_what_follows_the_names(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    for name, value in (("o", 1), ("l", 2), ("u", 3)):
        (tmp_path / name).write_text(f"a: {value}\n")
    done = krm_merge("merge-driver", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr


def test_help_has_the_documented_lines() -> None:
    assert f"'krm-merge {DRIVERS['documented']}'" in (merge_driver.merge_driver_command.help or "")
    assert '\'krm-merge mergetool -- "$BASE"' in (mergetool.mergetool_command.help or "")
