"""Fixtures of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import V1, V2, Files, Run, Upstream
from e2e import in_process
from e2e.hosts import GIT_ENVIRONMENT, SECONDS
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import Repository, kptfile, write


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    repository = Repository.at(tmp_path_factory.mktemp("upstream") / "repository")
    return Upstream(repository.path, {tag: repository.version(tag, files) for tag, files in (("v1", V1), ("v2", V2))})


@pytest.fixture
def package(upstream: Upstream, tmp_path: Path) -> Path:
    local = {"Kptfile": kptfile(upstream.path, "v1", upstream.commits["v1"])}
    return write(tmp_path / "own" / "pkg", {**V1, **local})


@pytest.fixture
def krm_merge(tmp_path: Path) -> Callable[..., Run]:
    def run(*arguments: str | Path, code: str = "", **environment: str) -> Run:
        variables = {CACHE_VARIABLE: str(tmp_path / "cache"), "no_proxy": "*", **environment}
        if not code:
            return in_process.krm_merge(*arguments, cwd=tmp_path, **variables)
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **GIT_ENVIRONMENT, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )

    return run


@pytest.fixture
def changing(tmp_path: Path) -> Callable[[Files, Files], Path]:
    """Makes a package whose upstream goes from files with the tag v1 to others with v2."""

    def make(before: Files, after: Files) -> Path:
        repository = Repository.at(tmp_path / "other upstream")
        first = repository.version("v1", before)
        repository.version("v2", after)
        return write(tmp_path / "own" / "pkg", {**before, "Kptfile": kptfile(repository.path, "v1", first)})

    return make


@pytest.fixture
def three(tmp_path: Path) -> Callable[..., list[Path]]:
    """Makes the directories of a merge; upstream has V2, the others V1, each with what is given for it."""

    def make(more: dict[str, Files] | None = None) -> list[Path]:
        sides: dict[str, Files] = {"original": V1, "upstream": {**V1, **V2}, "local": V1}
        for name, files in sides.items():
            both = {**files, **((more or {}).get(name, {}))}
            write(tmp_path / name / name, {path: text for path, text in both.items() if text is not None})
        return [tmp_path / name / name for name in sides]

    return make
