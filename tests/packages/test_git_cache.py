"""The user's cache: private, limited, the least recently used copies go first, and `krm-merge cache`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest

from e2e.hosts import GIT_ENVIRONMENT
from e2e.in_process import krm_merge
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
    """Fetches a repository of that size, as one command does; gives its address."""
    repository, commit = upstream(place, kilobytes)
    GitRepositories().tree(str(repository.path), "/", commit)
    return str(repository.path)


def addresses_in(cache: Path) -> list[str]:
    """The addresses of the copies, the least recently used first."""
    return [copy.address for copy in GitCache(cache).copies()]


def used(cache: Path, seconds_ago: int) -> None:
    """Has all copies be used that long before now, relative to each other as they are."""
    for copy in GitCache(cache).copies():
        os.utime(copy.place, (copy.used_at - seconds_ago, copy.used_at - seconds_ago))


def test_the_least_recently_used_copies_go_first(tmp_path: Path, cache: Path) -> None:
    names = []
    for name in ("a", "b"):
        names.append(fetch(tmp_path / name))
        used(cache, 10)
    assert addresses_in(cache) == names
    # Using the first one again makes the second one the oldest.
    GitRepositories().tree(names[0], "/", Repository(Path(names[0])).commit({"b": "1"}))
    used(cache, 10)
    third = fetch(tmp_path / "c")
    assert addresses_in(cache) == [names[0], third]
    assert sum(copy.size for copy in GitCache(cache).copies()) <= 1_000_000


def test_what_a_command_uses_stays_as_long_as_it_runs(tmp_path: Path, cache: Path) -> None:
    upstreams = [upstream(tmp_path / name, 700) for name in "ab"]
    repositories = GitRepositories()
    for _ in range(2):
        for repository, commit in upstreams:
            assert set(repositories.tree(str(repository.path), "/", commit)) == {"a.bin"}
    assert len(addresses_in(cache)) == 2
    used(cache, 10)
    third = fetch(tmp_path / "c", 700)
    assert addresses_in(cache) == [third]


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
    address = fetch(tmp_path / "a", 700)
    (copy,) = GitCache(cache).copies()
    with GitCache(cache).open(copy.place.name, address):
        used(cache, 10)
        fetch(tmp_path / "b", 700)
        assert address in addresses_in(cache)
        assert GitCache(cache).clean() != []
        assert addresses_in(cache) == [address]
    assert [entry.address for entry in GitCache(cache).clean()] == [address]


def test_copies_of_components_stay_while_one_of_them_is_used(cache: Path) -> None:
    using = GitCache(cache)
    place = using.directory_of("app-123")
    place.mkdir()
    (place / "pack").write_bytes(bytes(2_000_000))
    GitCache(cache).trim()
    using.trim()
    assert addresses_in(cache) == ["app-123"]
    assert GitCache(cache).clean() == []
    del using
    assert [copy.place for copy in GitCache(cache).copies()] == [place]


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
    done = krm_merge("cache", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, f"error {LIMIT} is 'much' in the environment; give a whole number\n")


def test_without_room_nothing_is_kept_for_the_next_command(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "0")
    fetch(tmp_path / "a")
    second = fetch(tmp_path / "b")
    assert addresses_in(cache) == [second]


def test_the_command_shows_and_cleans_it(tmp_path: Path, cache: Path) -> None:
    repository, commit = upstream(tmp_path / "a")
    address = f"file://user:hunter2@{repository.path}"
    assert krm_merge("cache", cwd=tmp_path).stdout == f"{cache}: 0 repositories, 0.0 MB of 1 MB\n"
    GitRepositories().tree(address, "/", commit)
    used(cache, 10)
    fetch(tmp_path / "b")
    done = krm_merge("cache", cwd=tmp_path)
    assert done.returncode == 0
    assert "hunter2" not in done.stdout
    first, second, summary = done.stdout.splitlines()
    assert str(tmp_path / "a") in first
    assert second.split()[:2] == ["0.4", "MB"]
    assert summary.startswith(f"{cache}: 2 repositories, 0.")
    assert summary.endswith(" MB of 1 MB")
    listed = json.loads(krm_merge("cache", "--format", "json", cwd=tmp_path).stdout)
    assert [entry["repository"] for entry in listed["repositories"]] == addresses_in(cache)
    assert (listed["directory"], listed["limit"]) == (str(cache), 1_000_000)
    cleaned = krm_merge("cache", "--clean", cwd=tmp_path).stdout.splitlines()
    assert cleaned[0].startswith("removed: 2 repositories, 0.")
    assert cleaned[1] == f"{cache}: 0 repositories, 0.0 MB of 1 MB"
    assert list((cache / "git").iterdir()) == []
    assert json.loads(krm_merge("cache", "--clean", "--format=json", cwd=tmp_path).stdout)["removed"] == []
