"""The campaign's upstream for one worker: its versions are known, and each tree is read once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from krm_merge.fleet.merging.job import Settings
from krm_merge.forges.addresses import same_repository
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.git import GitRepositories, Version
from krm_merge.packages.merge.side import CommonTree
from krm_merge.packages.update import RememberedRepositories


class CampaignRepositories:
    """Repositories of which one is the campaign's upstream: however it is spelt, it is asked for once.

    Packages inside that follow something else are updated from there, as `update` does.
    """

    def __init__(self, settings: Settings) -> None:
        """Copies of repositories are in the campaign's cache."""
        self._upstream = settings.campaign.upstream
        self._same = same_repository(self._upstream.repository)
        self._versions = settings.versions
        self._trees: dict[tuple[str, str, str], CommonTree] = {}
        self._fetched: set[tuple[str, tuple[str, ...]]] = set()
        self._repositories = RememberedRepositories(GitRepositories(Path(settings.cache)))

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit that a ref names; of the campaign's version the one that was found when the run began."""
        commit = self._versions.get(directory) if ref == self._upstream.ref and self._is_ours(repository) else None
        if commit is not None:
            return Version(ref, commit)
        return self._repositories.resolve(self._address(repository), directory, ref)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        """Prepares for `tree` of several commits, once."""
        wanted = (self._address(repository), tuple(commits))
        if wanted not in self._fetched:
            self._repositories.fetch(*wanted)
            self._fetched.add(wanted)

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit, whose resources are read once."""
        key = (self._address(repository), directory, commit)
        if key not in self._trees:
            self._trees[key] = CommonTree(self._repositories.tree(*key))
        return self._trees[key]

    def _is_ours(self, repository: str) -> bool:
        return same_repository(repository) == self._same

    def _address(self, repository: str) -> str:
        return self._upstream.repository if self._is_ours(repository) else repository
