"""How git is started."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
from pathlib import Path
from threading import Thread

import pytest

import krm_merge
from e2e.hosts import git, wait_until
from krm_merge import interrupts
from krm_merge.git import program
from krm_merge.git.program import GitError
from packages.repositories import Repository

SOURCES = Path(krm_merge.__file__).parent
STARTERS = {
    "git/program.py": "git",
    "packages/kpt.py": "kpt, which calls git itself",
    "transform/plugins/process.py": "plugins",
}
"""The modules that start programs, and which. Only the first starts git: the settings that make it safe are there."""


@pytest.fixture(autouse=True)
def known_anew() -> None:
    """The version of git is asked for once in a process."""
    program._check_version.cache_clear()


STARTING = {f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output")} | {
    f"os.{name}" for name in ("system", "popen", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp")
}


def test_git_is_started_in_one_place_only() -> None:
    started = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            imported = (
                {f"{node.module}.{name.name}" for name in node.names} if isinstance(node, ast.ImportFrom) else set()
            )
            if STARTING & {called, *imported}:
                started.add(path.relative_to(SOURCES).as_posix())
    assert started == STARTERS.keys()


def test_kpt_gives_git_the_same_settings() -> None:
    assert "safe_environment()" in (SOURCES / "packages" / "kpt.py").read_text(encoding="utf-8")


def test_an_interrupted_git_finishes_what_it_writes(tmp_path: Path) -> None:
    started, done = tmp_path / "started", tmp_path / "done"

    def interrupt() -> None:
        wait_until(started.exists)
        os.kill(os.getpid(), signal.SIGTERM)

    write = f"!touch {started}; sleep 0.2; touch {done}"
    thread = Thread(target=interrupt)
    thread.start()
    with interrupts.as_exceptions(), pytest.raises(interrupts.Interrupted):
        program.run(["-c", f"alias.write={write}", "write"])
    thread.join()
    assert done.exists()


def test_no_repository_around_the_current_directory_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = Repository.at(tmp_path / "user")
    git(user.path, "config", "user.signingKey", "theirs")
    monkeypatch.chdir(user.path)
    assert program.run(["config", "--get", "user.signingKey"]).stdout == b""
    assert program.output(["config", "--get", "user.signingKey"], user.path / ".git") == b"theirs\n"


def test_settings_in_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As build systems give them."""
    for name, value in {"COUNT": "1", "KEY_0": "user.name", "VALUE_0": "ours"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert program.output(["config", "--get", "user.name"]) == b"ours\n"
    assert program.output(["config", "--get", "safe.bareRepository"]) == b"explicit\n"
    assert program.run(["config", "--get", "user.name"], alone=True).stdout == b""


@pytest.mark.parametrize("version", ["git version 2.37.9", "git version 1.8.3.1", "something else"])
def test_a_git_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    old = tmp_path / "git"
    old.write_text(f"#!/bin/sh\necho '{version}'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitError, match=r"is too old; install git 2\.38 or later"):
        program.output(["ls-remote", "x"])


def test_programs_that_call_git_get_the_same_settings(tmp_path: Path) -> None:
    requests = ["git", "config", "--get-regexp", r"^(core\.(fsmonitor|hookspath)|protocol\.ext\.allow)$"]
    done = subprocess.run(requests, cwd=tmp_path, env=program.safe_environment(), capture_output=True, encoding="utf-8")
    assert done.stdout.splitlines() == ["core.fsmonitor false", "core.hookspath /dev/null", "protocol.ext.allow never"]
