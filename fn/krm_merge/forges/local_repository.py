"""A bare git repository on the disk, with the file of its pull requests beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from krm_merge.forges.addresses import same_repository
from krm_merge.forges.interface import ForgeError
from krm_merge.forges.local_records import Record
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, Store
from krm_merge.packages.files.directory import PackageError, reason
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.posix import file_locks

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
    def checked(self) -> Iterator[Store]:
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
    def locked(self) -> Iterator[None]:
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
        with self.locked():
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
            found = json.loads(self.file.read_bytes())
            records = [Record.read(each) for each in found["pullRequests"]]
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
        whole = {"pullRequests": [record.written() for record in records]}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        try:
            write_file(self.file, File(text.encode(errors="replace")))
        except PackageError as error:
            raise ForgeError(str(error)) from None

    # ---- git ---------------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """The commits of all branches."""
        lines = self.git("for-each-ref", "--format=%(objectname) %(refname)", _HEADS).splitlines()
        found = (line.partition(" ") for line in lines)
        return {name.removeprefix(_HEADS): commit for commit, _, name in found}

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
        with self.checked() as store:
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
        changed = self.changed(now, {**branches, pull.target_branch: record.base})
        return replace(self.merged(now, merge_commit), changed=changed)

    def merged(self, record: Record, commit: str) -> Record:
        """The record as merged by this commit, at the time of the commit."""
        with self.checked() as store:
            at = datetime.fromtimestamp(store.committed_at(commit), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return replace(
            record, pull=replace(record.pull, state="merged", draft=False, merge_commit=commit, merged_at=at)
        )

    def changed(self, record: Record, branches: Mapping[str, str]) -> tuple[str, ...]:
        """The changes of the pull request since its merge base."""
        base = self.merge_base(self.commit_of(record.pull.target_branch, branches), record.pull.head)
        with self.checked() as store:
            return tuple(sorted(store.changed_paths(base, record.pull.head)))

    def git(self, *arguments: str) -> str:
        """The output of git. Raises ForgeError."""
        with self.checked() as store:
            return store.text(*arguments)
