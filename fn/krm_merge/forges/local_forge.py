"""Pull requests without a forge: recorded in a file beside a bare git repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from krm_merge.forges.interface import Budget, ForgeError, ForgePullRequest
from krm_merge.forges.local_merge import KRM_MERGE, How, LocalMerge
from krm_merge.forges.local_records import PostedComment, Record
from krm_merge.forges.local_repository import BareRepository
from krm_merge.forges.one_by_one import one_by_one
from krm_merge.git.store import Person


class LocalForge:
    """A forge of bare repositories on the disk, named by a path or a file:// URL.

    The pull requests of `app.git` are in `app.pulls.json` beside it. Everything raises ForgeError.
    """

    def __init__(self, author: Person = KRM_MERGE) -> None:
        """Takes the author of the pull requests, comments and merge commits."""
        self._author = author

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number.

        The head of an open one is the present head of its branch; where git merged that into the target, it is merged.
        """
        place = BareRepository.at(repository)
        branches = place.branches()
        return [place.current(record, branches).pull for record in place.read()]

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        return [pull for pull in self.pull_requests(repository) if pull.state == "open"]

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch, in any state, by number."""
        return [pull for pull in self.pull_requests(repository) if pull.source_branch == branch]

    def pull_requests_in(
        self, repositories: Sequence[str], branch: str
    ) -> dict[str, list[ForgePullRequest] | ForgeError]:
        """The same of many repositories."""
        return one_by_one(self, repositories, branch)

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        return next((pull for pull in self.pull_requests(repository) if pull.number == number), None)

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The bare repositories in a directory; they have no topics."""
        if topic:
            raise ForgeError(f"{owner}: bare repositories have no topics; leave the topic out")
        place = Path(owner.removeprefix("file://"))
        if not place.is_dir():
            raise ForgeError(f"{owner}: there is no such directory")
        return [str(found) for found in sorted(place.glob("*.git")) if (found / "HEAD").is_file()]

    def git_token(self, repository: str) -> str:
        """Always '': these repositories are files."""
        return ""

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes, or changed when it was closed; of a renamed file both."""
        place = BareRepository.at(repository)
        branches = place.branches()
        record = place.current(place.find(place.read(), number), branches)
        return list(place.changed(record, branches) if record.changed is None else record.changed)

    def budget(self) -> Budget:
        """No limits: these repositories are files."""
        return Budget()

    def comments(self, repository: str, number: int) -> list[PostedComment]:
        """The comments on a pull request, the oldest first."""
        place = BareRepository.at(repository)
        return list(place.find(place.read(), number).comments)

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged."""
        place = BareRepository.at(repository)
        with place.locked():
            records, branches = place.read(), place.branches()
            for record in records:
                pull = place.current(record, branches).pull
                if (pull.source_branch, pull.target_branch, pull.state) == (source_branch, target_branch, "open"):
                    return pull
            source, target = place.commit_of(source_branch, branches), place.commit_of(target_branch, branches)
            if place.merge_base(target, source) == source:
                raise place.error(f"{source_branch} has no commits that {target_branch} does not have; push some first")
            opened = ForgePullRequest(
                max((record.pull.number for record in records), default=0) + 1,
                source_branch,
                target_branch,
                title,
                body,
                draft,
                "open",
                head=source,
                author=self._author.name,
            )
            place.write([*records, Record(opened, target)])
            return opened

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request."""
        with BareRepository.at(repository).changing(number) as change:
            change.pull(title=title, body=body)

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks an open pull request as a draft or as ready."""
        place = BareRepository.at(repository)
        with place.changing(number) as change:
            pull = change.record.pull
            if pull.draft != draft and pull.state != "open":
                raise place.error(f"pull request #{number} is {pull.state} and cannot become a draft or leave that")
            change.pull(draft=draft)

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it; a closed or merged one is kept as it is."""
        place = BareRepository.at(repository)
        with place.changing(number) as change:
            if change.record.pull.state != "open":
                return
            branches, record = place.branches(), change.record
            # A pull request without its branch cannot be compared, but must still be closable.
            whole = {record.pull.source_branch, record.pull.target_branch} <= branches.keys()
            changed = place.changed(record, branches) if whole else None
            change.record = replace(record, pull=replace(record.pull, state="closed"), changed=changed)

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with BareRepository.at(repository).changing(number) as change:
            written = PostedComment(self._author.name, text)
            change.record = replace(change.record, comments=(*change.record.comments, written))

    def merge(
        self, repository: str, number: int, *, how: How = "merge", force: bool = False, at: datetime | None = None
    ) -> str:
        """Merges a pull request into its target branch, as of `at`, by default now, and returns the new commit.

        A draft is merged only with `force`. Raises ForgeError where it conflicts; then nothing has changed.
        """
        place = BareRepository.at(repository)
        with place.changing(number) as change:
            branches = place.branches()
            record = change.record
            pull = record.pull
            if pull.state != "open":
                raise place.error(f"pull request #{number} is {pull.state} already")
            if pull.draft and not force:
                raise place.error(f"pull request #{number} is a draft; take it out of draft first")
            source = place.commit_of(pull.source_branch, branches)
            target = place.commit_of(pull.target_branch, branches)
            if place.merge_base(target, source) == source:
                raise place.error(f"pull request #{number} has nothing that {pull.target_branch} does not have")
            changed = place.changed(record, branches)
            with place.checked() as store:
                commit = LocalMerge(store, self._author, at or datetime.now(UTC)).made(how, pull, target, source)
            place.move(pull.target_branch, target, commit)
            change.record = replace(place.merged(record, commit), changed=changed)
            return commit
