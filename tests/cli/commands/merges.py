"""Repositories with our merge driver and mergetool."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def git(place: Path, *arguments: str, code: int | None = 0, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=place, input=stdin, capture_output=True, text=True, check=False, env=environment()
    )
    if code is not None:
        assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def environment() -> dict[str, str]:
    who = {f"GIT_{what}_{field}": "a@b.c" for what in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
    return {**os.environ, **who, **alone}


def deployment(name: str, replicas: int) -> str:
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n"


def repository(place: Path, name: str) -> Path:
    """A repository with our merge driver and mergetool."""
    work = place / name
    work.mkdir(parents=True)
    git(work, "init", "--quiet", "--initial-branch", "main")
    program = f"{sys.executable} -m krm_merge"
    git(work, "config", "merge.krm.driver", f"{program} merge-driver --marker-size %L -- %O %A %B %P")
    git(work, "config", "mergetool.krm.cmd", f'{program} mergetool --terminal -- "$BASE" "$LOCAL" "$REMOTE" "$MERGED"')
    git(work, "config", "mergetool.krm.trustExitCode", "true")
    git(work, "config", "mergetool.keepBackup", "false")
    (work / ".gitattributes").write_text("*.yaml merge=krm\n")
    return work


def commit(place: Path, message: str, **files: str) -> None:
    for name, text in files.items():
        (place / f"{name}.yaml").write_text(text)
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message", message)
