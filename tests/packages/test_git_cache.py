"""The user's cache is private."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.hosts import GIT_ENVIRONMENT
from krm_merge.packages.files.tree import PackageError
from krm_merge.packages.git import CACHE_VARIABLE, GitRepositories
from packages.repositories import Repository


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def fetch(place: Path) -> None:
    repository = Repository.at(place)
    GitRepositories().tree(str(repository.path), "/", repository.commit({"a": "1"}))


@pytest.mark.parametrize("is_there", [False, True])
def test_the_cache_is_private(tmp_path: Path, cache: Path, is_there: bool) -> None:
    if is_there:
        (cache / "git").mkdir(parents=True)
        (cache / "git").chmod(0o755)
    fetch(tmp_path / "a")
    assert (cache / "git").stat().st_mode & 0o777 == 0o700
    if not is_there:
        assert cache.stat().st_mode & 0o777 == 0o700


def test_the_default_cache_is_private_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "home/krm-merge/git").mkdir(parents=True)
    fetch(tmp_path / "a")
    assert (tmp_path / "home/krm-merge").stat().st_mode & 0o777 == 0o700


def test_the_copies_of_another_user_are_not_trusted(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "git").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(PackageError, match=f"git belongs to another user.*set {CACHE_VARIABLE} to another"):
        fetch(tmp_path / "a")
