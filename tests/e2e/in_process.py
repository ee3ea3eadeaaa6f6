"""Commands of krm-merge in this process, for tests of what a command does and not of how its process starts or ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from e2e.hosts import GIT_ENVIRONMENT, Run
from krm_merge.cli.app import main


def krm_merge(*arguments: str | Path, cwd: Path, stdin: str = "", **environment: str) -> Run:
    """Runs a command as the program does once it has started: a tenth of what a process costs.

    What it and the programs that it starts write is captured; `environment` is set for the command alone.
    """
    words = [str(word) for word in arguments]
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        files[0].write(stdin.encode())
        files[0].seek(0)
        with chdir(cwd), _environment({**GIT_ENVIRONMENT, **environment}), _standard_streams(files):
            try:
                code: object = main(words)
            except SystemExit as stop:
                code = stop.code
        assert isinstance(code, int)
        out, err = (_written(file) for file in files[1:])
    return subprocess.CompletedProcess(words, code, out, err)


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _standard_streams(files: Sequence[IO[bytes]]) -> Iterator[None]:
    """Has stdin, stdout and stderr be these files, for this process and those that it starts."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdout.flush()
    sys.stderr.flush()
    copies = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    try:
        with (
            open(0, closefd=False, encoding="utf-8") as sys.stdin,
            open(1, "w", closefd=False, encoding="utf-8") as sys.stdout,
            open(2, "w", closefd=False, encoding="utf-8") as sys.stderr,
        ):
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, copy in enumerate(copies):
            os.dup2(copy, number)
            os.close(copy)
