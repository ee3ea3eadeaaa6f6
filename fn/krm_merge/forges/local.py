"""Pull requests without a forge: recorded in a file beside a bare git repository, and merged in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import unquote

from krm_merge.forges.interface import (
    Forge,
    ForgeError,
    ForgePullRequest,
    same_repository,
)
from krm_merge.git.program import HEADS, GitError
from krm_merge.git.store import MergeConflictError, Person, Stamp, Store
from krm_merge.packages import File, PackageError, reason, write_file
from krm_merge.posix import file_locks

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(slots=True)
class Record:
    """A pull request with the further data of a forge.

    `base` is where its target branch stood when it was opened.
    """

    pull: ForgePullRequest
    base: str
    comments: tuple[str, ...] = ()

    def change(self, **fields: Any) -> None:
        """Changes fields of the pull request."""
        self.pull = replace(self.pull, **fields)


@cache
def _reader() -> TypeAdapter[dict[str, list[Record]]]:
    # Git alone needs no pydantic, which takes a while to import.
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, list[Record]])


def _records_in(data: bytes) -> list[Record]:
    """The pull requests in a file. Raises ValueError naming the first flaw."""
    from pydantic import ValidationError

    try:
        return _reader().validate_json(data, strict=True)["pullRequests"]
    except KeyError:
        raise ValueError("pullRequests is missing") from None
    except ValidationError as error:
        flaw = error.errors()[0]
        raise ValueError(": ".join([*filter(None, [".".join(map(str, flaw["loc"]))]), flaw["msg"]])) from None


@dataclass(frozen=True, slots=True)
class BareRepository:
    """A bare repository and the file of its pull requests."""

    directory: Path

    @classmethod
    @contextmanager
    def open(cls, url: str) -> Iterator[BareRepository]:
        """The repository at a path or a file:// URL. Raises ForgeError if there is none, and for all errors of git."""
        place = cls.at(url)
        try:
            yield place
        except MergeConflictError as conflict:
            paths = ", ".join(conflict.paths)
            raise place.error(f"the merge conflicts in {paths}; rebase the branch on its target") from None
        except GitError as error:
            raise place.error(f"git: {error}") from None

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
    def changing(self, number: int) -> Iterator[Record]:
        """A pull request to change, which is written if the block ends without an error."""
        with self.lock():
            records = self.read()
            record = self.find(records, number)
            self.refresh(record, self.branches())
            yield record
            self.write(records)

    def find(self, records: Sequence[Record], number: int) -> Record:
        """The record with this number. Raises ForgeError if there is none."""
        for record in records:
            if record.pull.number == number:
                return record
        raise self.error(f"there is no pull request #{number} in {self.file.name}")

    def read(self) -> list[Record]:
        """The pull requests, by number. Raises ForgeError."""
        try:
            records = _records_in(self.file.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ForgeError(f"{self.file}: {reason(error)}") from None
        except ValueError as error:
            raise ForgeError(f"{self.file} holds no pull requests ({error}); correct it or remove it") from None
        return sorted(records, key=lambda record: record.pull.number)

    def write(self, records: Sequence[Record]) -> None:
        """Writes the pull requests. Raises ForgeError."""
        whole = {"pullRequests": [asdict(record) for record in records]}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        try:
            write_file(self.file, File(text.encode(errors="replace")))
        except PackageError as error:
            raise ForgeError(str(error)) from None

    # ---- git ---------------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """The commits of all branches."""
        lines = self.store.text("for-each-ref", "--format=%(objectname) %(refname)", HEADS).splitlines()
        rows = (line.partition(" ") for line in lines)
        return {name.removeprefix(HEADS): commit for commit, _, name in rows}

    def commit_of(self, branch: str, branches: Mapping[str, str]) -> str:
        """The commit of a branch. Raises ForgeError if it is missing."""
        if branch not in branches:
            raise self.error(f"there is no branch {branch}; push it first")
        return branches[branch]

    def merge_base(self, target: str, source: str) -> str:
        """The newest common ancestor of two commits. Raises ForgeError and GitError."""
        base = self.store.merge_base(target, source)
        if not base:
            raise self.error(f"{target[:12]} and {source[:12]} have no history in common; branch off the target")
        return base

    def refresh(self, record: Record, branches: Mapping[str, str]) -> None:
        """Gives a record the current head of its branch; it is merged if git merged that head into the target branch.

        Raises GitError.
        """
        if record.pull.state != "open":
            return
        record.change(head=branches.get(record.pull.source_branch, record.pull.head))
        head, target = record.pull.head, branches.get(record.pull.target_branch, "")
        store = self.store
        if not target or not store.is_ancestor(head, target) or store.is_ancestor(head, record.base):
            return
        ancestry = ("--first-parent", "--ancestry-path", "--parents", f"{head}..{target}")
        since = store.text("rev-list", *ancestry).splitlines()
        merge, parent = since[-1].split()[:2] if since else (head, head)
        # The branch has own commits; otherwise the target merely moved past it.
        self.mark_merged(record, head if parent == head else merge)

    def mark_merged(self, record: Record, commit: str) -> None:
        """Makes a record merged by this commit, at the time of the commit. Raises GitError."""
        at = datetime.fromtimestamp(self.store.committed_at(commit), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        record.change(state="merged", draft=False, merge_commit=commit, merged_at=at)


How: TypeAlias = Literal["merge", "squash"]
KRM_MERGE = Person("krm-merge", "krm-merge@localhost")
"""Author of pull requests and merges."""


def merge_commit(store: Store, how: How, pull: ForgePullRequest, target: str, source: str) -> str:
    """The new commit of the target branch. Raises GitError, including MergeConflictError."""
    tree, parents = store.merge_trees(target, source), [target, source]
    message = f"Merge pull request #{pull.number} from {pull.source_branch}\n\n{pull.title}"
    if how == "squash":
        parents, message = [target], f"{pull.title} (#{pull.number})\n\n{pull.body}".rstrip()
    return store.commit(tree, parents, f"{message}\n", Stamp(KRM_MERGE, f"@{int(time())} +0000"))


class LocalForge(Forge):
    """A forge of bare repositories on the disk, named by a path or a file:// URL.

    The pull requests of `app.git` are in `app.pulls.json` beside it. Everything raises ForgeError.
    """

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number.

        The head of an open one is the present head of its branch; where git merged that into the target, it is merged.
        """
        with BareRepository.open(repository) as place:
            branches, records = place.branches(), place.read()
            for record in records:
                place.refresh(record, branches)
        return [record.pull for record in records]

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The bare repositories in a directory; they have no topics."""
        if topic:
            raise ForgeError(f"{owner}: bare repositories have no topics; leave the topic out")
        place = Path(owner.removeprefix("file://"))
        if not place.is_dir():
            raise ForgeError(f"{owner}: there is no such directory")
        return [str(repository) for repository in sorted(place.glob("*.git")) if (repository / "HEAD").is_file()]

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that an open pull request changes; of a renamed file both."""
        with BareRepository.open(repository) as place:
            branches, record = place.branches(), place.find(place.read(), number)
            place.refresh(record, branches)
            target = place.commit_of(record.pull.target_branch, branches)
            base = place.merge_base(target, record.pull.head)
            return sorted(place.store.changed_paths(base, record.pull.head))

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged."""
        with BareRepository.open(repository) as place, place.lock():
            records, branches = place.read(), place.branches()
            for record in records:
                place.refresh(record, branches)
                pull = record.pull
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
                author=KRM_MERGE.name,
            )
            place.write([*records, Record(opened, target)])
            return opened

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request."""
        with BareRepository.open(repository) as place, place.changing(number) as record:
            record.change(title=title, body=body)

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks an open pull request as a draft or as ready."""
        with BareRepository.open(repository) as place, place.changing(number) as record:
            pull = record.pull
            if pull.draft != draft and pull.state != "open":
                raise place.error(f"pull request #{number} is {pull.state} and cannot become a draft or leave that")
            record.change(draft=draft)

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it; a closed or merged one is kept as it is."""
        with BareRepository.open(repository) as place, place.changing(number) as record:
            if record.pull.state == "open":
                record.change(state="closed")

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with BareRepository.open(repository) as place, place.changing(number) as record:
            record.comments = (*record.comments, text)

    def merge(self, repository: str, number: int, *, how: How = "merge", force: bool = False) -> str:
        """Merges a pull request into its target branch, and returns the new commit.

        A draft is merged only with `force`. Raises ForgeError where it conflicts; then nothing has changed.
        """
        with BareRepository.open(repository) as place, place.changing(number) as record:
            branches = place.branches()
            pull = record.pull
            if pull.state != "open":
                raise place.error(f"pull request #{number} is {pull.state} already")
            if pull.draft and not force:
                raise place.error(f"pull request #{number} is a draft; take it out of draft first")
            source = place.commit_of(pull.source_branch, branches)
            target = place.commit_of(pull.target_branch, branches)
            if place.merge_base(target, source) == source:
                raise place.error(f"pull request #{number} has no commits that {pull.target_branch} lacks")
            commit = merge_commit(place.store, how, pull, target, source)
            # Compare and swap: a branch that somebody pushed to meanwhile stays.
            place.store.text("update-ref", f"{HEADS}{pull.target_branch}", commit, target)
            place.mark_merged(record, commit)
            return commit
