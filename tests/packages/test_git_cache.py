"""The user's cache: private, limited, the least recently used copies go first."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from e2e.hosts import GIT_ENVIRONMENT
from krm_merge.errors import KrmMergeError
from krm_merge.packages.files.tree import PackageError
from krm_merge.packages.git import GitRepositories
from krm_merge.packages.git_cache import CACHE_VARIABLE, GitCache
from packages.repositories import Repository

LIMIT = "KRM_MERGE_CACHE_MB"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, with a limit of a megabyte."""
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv(LIMIT, "1")
    return tmp_path / "cache"


NOISE = Random(0)


def upstream(place: Path, kilobytes: int = 400) -> tuple[Repository, str]:
    """A repository with a file of so many kilobytes that nothing makes smaller, and its commit."""
    repository = Repository.at(place)
    return repository, repository.commit({"a.bin": NOISE.randbytes(kilobytes * 1000)})


def fetch(place: Path, kilobytes: int = 400) -> str:
    """Fetches a repository of that size, as one command does; gives the name of its copy."""
    repository, commit = upstream(place, kilobytes)
    GitRepositories().tree(str(repository.path), "/", commit)
    return sha256(str(repository.path).encode()).hexdigest()[:32]


def names_in(cache: Path) -> list[str]:
    """The names of the copies, the least recently used first."""
    return [copy.place.name for copy in GitCache(cache).copies()]


def used(cache: Path, seconds_ago: int) -> None:
    """Has all copies be used that long before now, relative to each other as they are."""
    for copy in GitCache(cache).copies():
        os.utime(copy.place, (copy.used_at - seconds_ago, copy.used_at - seconds_ago))


def test_the_least_recently_used_copies_go_first(tmp_path: Path, cache: Path) -> None:
    names = []
    for name in ("a", "b"):
        names.append(fetch(tmp_path / name))
        used(cache, 10)
    assert names_in(cache) == names
    # Using the first one again makes the second one the oldest.
    GitRepositories().tree(str(tmp_path / "a"), "/", Repository(tmp_path / "a").commit({"b": "1"}))
    used(cache, 10)
    third = fetch(tmp_path / "c")
    assert names_in(cache) == [names[0], third]
    assert sum(copy.size for copy in GitCache(cache).copies()) <= 1_000_000


def test_what_a_command_uses_stays_as_long_as_it_runs(tmp_path: Path, cache: Path) -> None:
    upstreams = [upstream(tmp_path / name, 700) for name in "ab"]
    repositories = GitRepositories()
    for _ in range(2):
        for repository, commit in upstreams:
            assert set(repositories.tree(str(repository.path), "/", commit)) == {"a.bin"}
    assert len(names_in(cache)) == 2
    used(cache, 10)
    third = fetch(tmp_path / "c", 700)
    assert names_in(cache) == [third]


def test_a_copy_that_grew_too_large_is_made_again(tmp_path: Path, cache: Path) -> None:
    repository, first = upstream(tmp_path / "a", 700)
    GitRepositories().tree(str(repository.path), "/", first)
    second = repository.commit({"a.bin": NOISE.randbytes(700_000)})
    GitRepositories().tree(str(repository.path), "/", second)
    third = repository.commit({"a.bin": NOISE.randbytes(10_000)})
    GitRepositories().tree(str(repository.path), "/", third)
    (copy,) = GitCache(cache).copies()
    assert copy.size < 200_000


def test_another_process_that_uses_a_copy_keeps_it(tmp_path: Path, cache: Path) -> None:
    name = fetch(tmp_path / "a", 700)
    with GitCache(cache).open(name):
        used(cache, 10)
        fetch(tmp_path / "b", 700)
        assert name in names_in(cache)
    used(cache, 10)
    third = fetch(tmp_path / "c", 700)
    assert names_in(cache) == [third]


def test_copies_of_components_stay_while_one_of_them_is_used(cache: Path) -> None:
    using = GitCache(cache)
    place = using.directory_of("app-123")
    place.mkdir()
    (place / "pack").write_bytes(bytes(2_000_000))
    GitCache(cache).trim()
    using.trim()
    assert names_in(cache) == ["app-123"]


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


def test_a_limit_that_is_no_number_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "much")
    with pytest.raises(KrmMergeError, match=f"{LIMIT} is 'much' in the environment; give a whole number"):
        fetch(tmp_path / "a")


def test_without_room_nothing_is_kept_for_the_next_command(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "0")
    fetch(tmp_path / "a")
    second = fetch(tmp_path / "b")
    assert names_in(cache) == [second]
