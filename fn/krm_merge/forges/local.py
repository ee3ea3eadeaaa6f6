"""Pull requests without a forge: recorded in a file beside a bare git repository, and merged in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from krm_merge.forges.interface import (
    Forge,
    ForgeError,
    ForgePullRequest,
    PullRequestState,
    same_repository,
)
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, Person, Stamp, Store
from krm_merge.packages import File, PackageError, reason, write_file
from krm_merge.posix import file_locks


@dataclass(frozen=True, slots=True)
class PostedComment:
    """A comment on a pull request."""

    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """A pull request with the further data of a forge.

    `base` is where its target branch stood when it was opened; `changed` is remembered when it is merged or closed.
    """

    pull: ForgePullRequest
    base: str
    changed: tuple[str, ...] | None = None
    comments: tuple[PostedComment, ...] = ()

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Record:
        """Raises KeyError, TypeError or ValueError if it was not written by `written`."""
        texts = [value[name] for name in ("sourceBranch", "targetBranch", "title", "body", "head", "base", "author")]
        number, state, draft = value["number"], value["state"], value["draft"]
        if not all(isinstance(text, str) for text in texts) or type(number) is not int or type(draft) is not bool:
            raise TypeError("a field has the wrong type")
        if state not in get_args(PullRequestState):
            raise ValueError(f"state {state!r}")
        source, target, title, body, head, base, author = texts
        merge_commit, merged_at = str(value.get("mergeCommit", "")), str(value.get("mergedAt", ""))
        changed = value.get("changed")
        return cls(
            ForgePullRequest(number, source, target, title, body, draft, state, head, merge_commit, author, merged_at),
            base,
            None if changed is None else tuple(str(path) for path in changed),
            tuple(PostedComment(str(each["author"]), str(each["text"])) for each in value["comments"]),
        )

    def to_value(self) -> dict[str, Any]:
        """Its value in the file."""
        pull = self.pull
        return {
            "number": pull.number,
            "state": pull.state,
            "draft": pull.draft,
            "sourceBranch": pull.source_branch,
            "targetBranch": pull.target_branch,
            "title": pull.title,
            "body": pull.body,
            "author": pull.author,
            "head": pull.head,
            "base": self.base,
            **({"mergeCommit": pull.merge_commit, "mergedAt": pull.merged_at} if pull.merge_commit else {}),
            **({} if self.changed is None else {"changed": list(self.changed)}),
            "comments": [{"author": comment.author, "text": comment.text} for comment in self.comments],
        }


_HEADS: Final = "refs/heads/"


@dataclass(slots=True)
class RecordChange:
    """A record that is being changed."""

    record: Record

    def pull(self, **fields: Any) -> None:
        """Changes fields of the pull request."""
        self.record = replace(self.record, pull=replace(self.record.pull, **fields))


@dataclass(frozen=True, slots=True)
class BareRepository:
    """A bare repository and the file of its pull requests."""

    directory: Path

    @classmethod
    def at(cls, url: str) -> BareRepository:
        """The repository at a path or a file:// URL. Raises ForgeError if there is none."""
        if not url:
            raise ForgeError("the address is empty; give the path of a bare git repository")
        path = unquote(url.removeprefix("file://").removeprefix("localhost")) if url.startswith("file://") else url
        for directory in (Path(path).absolute(), Path(f"{path.rstrip('/')}.git").absolute()):
            # .git belongs to a working tree, which would not be updated with its branch.
            is_bare = directory.name != ".git" and os.path.isfile(directory / "HEAD")
            if is_bare and os.path.isdir(directory / "objects"):
                return cls(directory.resolve())
        raise ForgeError(f"{same_repository(url)}: there is no bare git repository; make one with: git clone --bare")

    @property
    def file(self) -> Path:
        """The file of its pull requests."""
        return self.directory.with_name(f"{self.directory.name.removesuffix('.git')}.pulls.json")

    @property
    def store(self) -> Store:
        """Its objects and branches."""
        return Store(self.directory)

    def error(self, text: str) -> ForgeError:
        """An error that names this repository."""
        return ForgeError(f"{self.directory}: {text}")

    @contextmanager
    def git_errors(self) -> Iterator[Store]:
        """Its objects and branches; errors of git raise ForgeError."""
        try:
            yield self.store
        except MergeConflictError as conflict:
            paths = ", ".join(conflict.paths)
            raise self.error(f"the merge conflicts in {paths}; rebase the branch on its target") from None
        except GitError as error:
            raise self.error(f"git: {error}") from None

    # ---- pull requests -----------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Locks the file, so that two processes do not use the same number."""
        fcntl = file_locks()
        try:
            handle = os.open(self.directory, os.O_RDONLY)
        except OSError as error:
            raise self.error(reason(error)) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def changing(self, number: int) -> Iterator[RecordChange]:
        """A pull request to change, which is written if the block ends without an error."""
        with self.lock():
            records = self.read()
            change = RecordChange(self.current(self.find(records, number), self.branches()))
            yield change
            self.write([change.record if record.pull.number == number else record for record in records])

    def find(self, records: Sequence[Record], number: int) -> Record:
        """The record with this number. Raises ForgeError if there is none."""
        for record in records:
            if record.pull.number == number:
                return record
        raise self.error(f"there is no pull request #{number} in {self.file.name}")

    def read(self) -> list[Record]:
        """The pull requests, by number. Raises ForgeError."""
        try:
            document = json.loads(self.file.read_bytes())
            records = [Record.read(each) for each in document["pullRequests"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ForgeError(f"{self.file}: {reason(error)}") from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}"
            raise ForgeError(f"{self.file} holds no pull requests ({what}); correct it or remove it") from None
        return sorted(records, key=lambda record: record.pull.number)

    def write(self, records: Sequence[Record]) -> None:
        """Writes the pull requests. Raises ForgeError."""
        whole = {"pullRequests": [record.to_value() for record in records]}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        try:
            write_file(self.file, File(text.encode(errors="replace")))
        except PackageError as error:
            raise ForgeError(str(error)) from None

    # ---- git ---------------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """The commits of all branches."""
        lines = self.git("for-each-ref", "--format=%(objectname) %(refname)", _HEADS).splitlines()
        rows = (line.partition(" ") for line in lines)
        return {name.removeprefix(_HEADS): commit for commit, _, name in rows}

    def commit_of(self, branch: str, branches: Mapping[str, str]) -> str:
        """The commit of a branch. Raises ForgeError if it is missing."""
        if branch not in branches:
            raise self.error(f"there is no branch {branch}; push it first")
        return branches[branch]

    def move(self, branch: str, before: str, commit: str) -> None:
        """Compare-and-swap: moves a branch to `commit` if it is still at `before`. Raises ForgeError."""
        self.git("update-ref", f"{_HEADS}{branch}", commit, before)

    def merge_base(self, target: str, source: str) -> str:
        """The newest common ancestor of two commits. Raises ForgeError."""
        with self.git_errors() as store:
            if base := store.merge_base(target, source):
                return base
        raise self.error(f"{target[:12]} and {source[:12]} have no history in common; branch off the target")

    def current(self, record: Record, branches: Mapping[str, str]) -> Record:
        """The record with the current head of its branch; merged, if git merged that head into the target branch."""
        pull = record.pull
        if pull.state != "open":
            return record
        head, target = branches.get(pull.source_branch, pull.head), branches.get(pull.target_branch, "")
        now = replace(record, pull=replace(pull, head=head))
        store = self.store
        if not target or not store.is_ancestor(head, target) or store.is_ancestor(head, record.base):
            return now
        since = self.git("rev-list", "--first-parent", "--ancestry-path", "--parents", f"{head}..{target}").splitlines()
        merge, parent = since[-1].split()[:2] if since else (head, head)
        # The branch has own commits; otherwise the target merely moved past it.
        merge_commit = head if parent == head else merge
        changed = self.changes_of(now, {**branches, pull.target_branch: record.base})
        return replace(self.as_merged(now, merge_commit), changed=changed)

    def as_merged(self, record: Record, commit: str) -> Record:
        """The record as merged by this commit, at the time of the commit."""
        with self.git_errors() as store:
            at = datetime.fromtimestamp(store.committed_at(commit), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return replace(
            record, pull=replace(record.pull, state="merged", draft=False, merge_commit=commit, merged_at=at)
        )

    def changes_of(self, record: Record, branches: Mapping[str, str]) -> tuple[str, ...]:
        """The changes of the pull request since its merge base."""
        base = self.merge_base(self.commit_of(record.pull.target_branch, branches), record.pull.head)
        with self.git_errors() as store:
            return tuple(sorted(store.changed_paths(base, record.pull.head)))

    def git(self, *arguments: str) -> str:
        """The output of git. Raises ForgeError."""
        with self.git_errors() as store:
            return store.text(*arguments)


How: TypeAlias = Literal["merge", "squash", "rebase"]
KRM_MERGE = Person("krm-merge", "krm-merge@localhost")
"""Author of pull requests, comments and merges by default."""


@dataclass(frozen=True, slots=True)
class LocalMerge:
    """Merges with an author and a time. Everything raises GitError, including MergeConflictError."""

    store: Store
    person: Person
    at: datetime

    def commit_merge(self, how: How, pull: ForgePullRequest, target: str, source: str) -> str:
        """The new commit of the target branch."""
        if how == "rebase":
            listed = self.store.text("rev-list", "--reverse", "--topo-order", "--no-merges", f"{target}..{source}")
            return reduce(self._pick, listed.splitlines(), target)
        tree = self.store.merge_trees(target, source)
        if how == "squash":
            return self._commit(tree, [target], f"{pull.title} (#{pull.number})\n\n{pull.body}".rstrip())
        message = f"Merge pull request #{pull.number} from {pull.source_branch}\n\n{pull.title}"
        return self._commit(tree, [target, source], message)

    def _pick(self, onto: str, commit: str) -> str:
        """A commit on top of another one; the other one if it has the change already."""
        tree = self.store.pick_changes(onto, f"{commit}^", commit)
        if tree == self.store.tree(onto):
            return onto
        commit_text = self.store.output("show", "--no-patch", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", commit)
        name, mail, date, message = commit_text.split("\0", 3)
        return self._commit(tree, [onto], message.rstrip("\n"), Stamp(Person(name, mail), f"@{date}"))

    def _commit(self, tree: str, parents: list[str], message: str, author: Stamp | None = None) -> str:
        now = Stamp(self.person, f"@{int(self.at.timestamp())} +0000")
        return self.store.commit(tree, parents, f"{message}\n", author or now, now)


class LocalForge(Forge):
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

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The bare repositories in a directory; they have no topics."""
        if topic:
            raise ForgeError(f"{owner}: bare repositories have no topics; leave the topic out")
        place = Path(owner.removeprefix("file://"))
        if not place.is_dir():
            raise ForgeError(f"{owner}: there is no such directory")
        return [str(repository) for repository in sorted(place.glob("*.git")) if (repository / "HEAD").is_file()]

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes, or changed when it was closed; of a renamed file both."""
        place = BareRepository.at(repository)
        branches = place.branches()
        record = place.current(place.find(place.read(), number), branches)
        return list(place.changes_of(record, branches) if record.changed is None else record.changed)

    def comments(self, repository: str, number: int) -> list[PostedComment]:
        """The comments on a pull request, the oldest first."""
        place = BareRepository.at(repository)
        return list(place.find(place.read(), number).comments)

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged."""
        place = BareRepository.at(repository)
        with place.lock():
            records, branches = place.read(), place.branches()
            for record in records:
                pull = place.current(record, branches).pull
                if (pull.source_branch, pull.target_branch, pull.state) == (source_branch, target_branch, "open"):
                    return pull
            source, target = place.commit_of(source_branch, branches), place.commit_of(target_branch, branches)
            if place.merge_base(target, source) == source:
                raise place.error(f"{source_branch} has no commits that {target_branch} lacks; push some first")
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
            changed = place.changes_of(record, branches) if whole else None
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
                raise place.error(f"pull request #{number} has no commits that {pull.target_branch} lacks")
            changed = place.changes_of(record, branches)
            with place.git_errors() as store:
                commit = LocalMerge(store, self._author, at or datetime.now(UTC)).commit_merge(
                    how, pull, target, source
                )
            place.move(pull.target_branch, target, commit)
            change.record = replace(place.as_merged(record, commit), changed=changed)
            return commit
