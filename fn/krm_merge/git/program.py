"""Runs the program git and reports its errors."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.harmless import quoted, without_credentials
from krm_merge.posix import require_process_groups

ABOUT_A_REPOSITORY = frozenset(
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
"""Environment variables that lead git to the repository of somebody else's call."""

_ALONE = {"GIT_ATTR_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


TIMEOUT_VARIABLE = "KRM_MERGE_GIT_TIMEOUT"
"""The environment variable for the time that git may make no progress, in seconds."""
_TIMEOUT = 60.0
_CHUNK = 1 << 16
_TO_END_IN = 2.0
_REMOTE = ("ls-remote", "fetch", "push")


class GitError(KrmMergeError):
    """An error of git, or git is missing."""

    def __init__(self, message: str) -> None:
        """Hides credentials in URLs."""
        super().__init__(without_credentials(message))


class GitTimeoutError(GitError):
    """Git made no progress for too long and was stopped."""


def output(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    alone: bool = False,
) -> bytes:
    """The output of git; `store` is the repository, `data` its stdin. Raises GitError."""
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
    """Runs git and returns its result, even if it failed; `alone` ignores the user's settings.

    Raises GitError if git is missing, GitTimeoutError if it makes no progress. All its processes are ended then, and
    also when krm-merge is interrupted.
    """
    require_process_groups("git")
    command = ["git", *(["--git-dir", str(store)] if store is not None else []), *arguments]
    own = _environment(alone) | dict(environment or {})
    limit = _limit()
    pipe = subprocess.PIPE
    try:
        # A separate session: all processes that git started can be ended with it.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=own, start_new_session=True)
    except FileNotFoundError:
        raise GitError("the program git is not on PATH; install it") from None
    try:
        written, complaints = _exchange(process, data or b"", limit)
        return subprocess.CompletedProcess(command, process.wait(), written, complaints)
    except TimeoutError:
        remedy = f"set {TIMEOUT_VARIABLE} to more seconds if its server is that slow"
        raise GitTimeoutError(
            f"{_subject(arguments)} made no progress for {limit:g} s and was stopped; {remedy}"
        ) from None
    finally:
        _end(process)


def _limit() -> float:
    """The seconds that git may make no progress. Raises GitError."""
    given = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        limit = float(given) if given else _TIMEOUT
    except ValueError:
        limit = 0
    if limit > 0:
        return limit
    raise GitError(f"{TIMEOUT_VARIABLE} is {quoted(given)}; a number of seconds is expected")


def _subject(arguments: Sequence[str]) -> str:
    """The command of git, and the repository that it talks to."""
    at = next((at for at, argument in enumerate(arguments) if argument in _REMOTE), None)
    if at is None:
        return f"git {arguments[0]}"
    where = next((argument for argument in arguments[at + 1 :] if not argument.startswith("-")), "")
    return f"{where}: git {arguments[at]}"


def _exchange(process: subprocess.Popen[bytes], data: bytes, limit: float) -> tuple[bytes, bytes]:
    """Writes git's input and reads stdout and stderr. Raises TimeoutError after `limit` seconds without progress."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    taken: dict[int, list[bytes]] = {stdout.fileno(): [], stderr.fileno(): []}
    results = [taken[stdout.fileno()], taken[stderr.fileno()]]
    waiting = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for pipe in (stdout, stderr):
            selector.register(pipe, selectors.EVENT_READ)
        os.set_blocking(stdin.fileno(), False)
        selector.register(stdin, selectors.EVENT_WRITE)
        last = time.monotonic()
        while selector.get_map():
            ready = selector.select(max(0.0, min(_TO_END_IN, last + limit - time.monotonic())))
            if ready:
                last = time.monotonic()
            elif process.poll() is not None:
                break  # processes that git left running hold our pipes, but write nothing
            elif time.monotonic() - last >= limit:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is stdin:
                    try:
                        waiting = waiting[os.write(key.fd, waiting[:_CHUNK]) :] if waiting else waiting
                    except BrokenPipeError:  # git may end without reading all input
                        waiting = memoryview(b"")
                    if not waiting:
                        selector.unregister(stdin)
                        stdin.close()
                elif part := os.read(key.fd, _CHUNK):
                    taken[key.fd].append(part)
                else:
                    selector.unregister(key.fileobj)
    return b"".join(results[0]), b"".join(results[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends git and its processes, unless it has ended already; leaves it time to remove its locks."""
    if process.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TO_END_IN)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def start(arguments: Sequence[str], store: Path) -> subprocess.Popen[bytes]:
    """Starts a git that answers each line of its input until stdin is closed. Raises GitError if git is missing."""
    command = ["git", "--git-dir", str(store), *arguments]
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent, env=_environment(alone=False))
    except FileNotFoundError:
        raise GitError("the program git is not on PATH; install it") from None


def complaint(stderr: bytes) -> str:
    """The first line of git's error message."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    why = next((line for line in lines if line.startswith(("fatal:", "error:"))), "".join(lines[-1:]))
    return without_credentials(why.removeprefix("fatal: ").removeprefix("error: "))


def _environment(alone: bool) -> dict[str, str]:
    # Inside a hook or a merge driver git names its own repository: these calls are about others.
    own = {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("GIT_") if alone else name in ABOUT_A_REPOSITORY)
    }
    # Git must not prompt, and its messages are parsed.
    return own | (_ALONE if alone else {}) | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
