"""Running the function as users do: under kpt, in a container, or on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

SECONDS = 600
"""A deadline that no load makes a test miss: whatever takes longer hangs."""
GIT_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}

Run = subprocess.CompletedProcess[str]


def installed_program() -> str:
    """The installed krm-merge: the one beside this Python, else the one on PATH."""
    beside = Path(sys.executable).parent / "krm-merge"
    program = str(beside) if beside.exists() else shutil.which("krm-merge")
    if program is None:
        pytest.skip("krm-merge is not installed; run the tests with: make test")
    return program


def run(*command: str | Path, cwd: Path | None = None, stdin: str | None = None) -> Run:
    """Runs a command; what it wrote and its exit code are the caller's to judge."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **GIT_ENVIRONMENT},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )


def wait_until(happened: Callable[[], object]) -> None:
    """Waits for what another process or the system does. It must happen within SECONDS."""
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def running(*, about: str) -> list[str]:
    """The commands of processes that run with this text in an argument."""
    commands = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            words = os.fsdecode(place.read_bytes()).split("\0")
            if any(about in word for word in words):
                commands.append(" ".join(words))
    return commands


def git(cwd: Path, *arguments: str) -> str:
    """Runs git, which must succeed, and gives what it wrote."""
    done = run("git", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_package(folder: Path, files: dict[str, str]) -> Path:
    """Writes the files of a package as they are given, line ends included."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, byte for byte."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def read_results(folder: Path) -> list[dict[str, Any]]:
    """All results that kpt saved, of one run of one function."""
    saved = yaml.safe_load((folder / "results.yaml").read_text(encoding="utf-8"))
    assert saved["kind"] == "FunctionResultList"
    (item,) = saved["items"]
    results: list[dict[str, Any]] = item.get("results", [])
    return results
