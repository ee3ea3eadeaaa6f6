"""The program git: how it is called, and what it complains of."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_ABOUT_A_REPOSITORY = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    )
)
_ALONE = {"GIT_ATTR_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class GitError(Exception):
    """What git complained of, or that there is no git."""


def output(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    alone: bool = False,
) -> bytes:
    """What git writes; `store` is the repository, `data` goes to stdin. Raises GitError."""
    done = run(arguments, store, data, environment, alone=alone)
    if done.returncode != 0:
        raise GitError(complaint(done.stderr))
    return done.stdout


def run(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    alone: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Runs git, whatever comes of it; `alone` with no settings of the user. Raises GitError where there is no git."""
    command = ["git", *(["--git-dir", str(store)] if store is not None else []), *arguments]
    own = _environment(alone) | dict(environment or {})
    try:
        return subprocess.run(command, input=data, capture_output=True, env=own)
    except FileNotFoundError:
        raise GitError("the program git is not on PATH; install it") from None


def complaint(stderr: bytes) -> str:
    """The first line in which git says what went wrong."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    why = next((line for line in lines if line.startswith(("fatal:", "error:"))), "".join(lines[-1:]))
    return why.removeprefix("fatal: ").removeprefix("error: ")


def blobs(batch: bytes) -> list[bytes]:
    """The contents in the output of `git cat-file --batch`."""
    found: list[bytes] = []
    position = 0
    while position < len(batch):
        end = batch.index(b"\n", position)
        size = int(batch[position:end].rpartition(b" ")[2])
        found.append(batch[end + 1 : end + 1 + size])
        position = end + size + 2
    return found


def _environment(alone: bool) -> dict[str, str]:
    # Inside a hook or a merge driver git names its own repository: these calls are about others.
    own = {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("GIT_") if alone else name in _ABOUT_A_REPOSITORY)
    }
    # Nobody is there to answer a question, and messages are read.
    return own | (_ALONE if alone else {}) | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
