"""Bare repositories that local pull requests are opened for."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from e2e.hosts import git
from krm_merge.forges.local import BareRepository
from packages.repositories import Repository, Text


def comments_of(url: str, number: int) -> list[str]:
    """The comments on a pull request of a bare repository."""
    place = BareRepository.at(url)
    return list(place.find(place.read(), number).comments)


@cache
def template() -> Path:
    """A bare repository and a working tree, made once."""
    place = Path(mkdtemp())
    atexit.register(shutil.rmtree, place)
    work = Repository.at(place / "checkout")
    work.commit({"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
    work.bare(place / "app.git")
    return place


class Origin:
    """A bare repository, and a working tree to push from."""

    def __init__(self, place: Path) -> None:
        shutil.copytree(template(), place, dirs_exist_ok=True)
        self.work = Repository(place / "checkout")
        self.bare = place / "app.git"
        self.url = str(self.bare)
        self.records = place / "app.pulls.json"

    def push(self, branch: str, *versions: dict[str, Text | None]) -> str:
        """A branch off main, or main itself, with a commit for each version."""
        git(self.work.path, "checkout", "--quiet", "-B", branch, "main")
        commit = [self.work.commit(files) for files in versions][-1]
        git(self.work.path, "push", "--quiet", "--force", self.url, branch)
        return commit

    def git(self, *arguments: str) -> str:
        return git(self.bare, *arguments).strip()
