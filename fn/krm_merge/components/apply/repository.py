"""A git repository that plans are carried out on. The edge to git.

Nothing is checked out: trees are made in an index of their own and pushed as commits. The same parents and contents
give the same commits, so that doing it again changes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from krm_merge.components.apply.credentials import NO_CREDENTIALS, Credentials
from krm_merge.git_program import GitError, blobs, complaint, output, run
from krm_merge.temporary import temporary_directory

TRAILER = "Planned-By: krm-merge"
"""The last line of the messages of our commits."""
_AUTHOR = re.compile(r"([^<>\n]*[^<>\s]) <([^<>\s]+)>")
_REGULAR = frozenset(("100644", "100755"))
_HEADS = "refs/heads/"
_REFUSED = re.compile(rb"! \[(?:remote )?rejected\].*\((.*)\)")


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes our commits."""

    name: str = "krm-merge"
    mail: str = "krm-merge@users.noreply.github.com"

    @classmethod
    def parsed(cls, text: str) -> Author:
        """From `Name <mail>`; of '' the usual one. Raises GitError."""
        found = _AUTHOR.fullmatch(text.strip())
        if text and found is None:
            raise GitError(f"the author {text!r} is not like: Name <mail@example.com>")
        return cls(found[1], found[2]) if found is not None else cls()


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at a path in a tree: its mode and the id of its content, of a submodule that of its commit."""

    mode: str
    blob: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file, no symbolic link and no submodule."""
        return self.mode in _REGULAR


Entries = dict[str, Entry]


class Conflict(GitError):
    """Changes to a file that do not go together."""


@dataclass(slots=True)
class Repository:
    """A remote repository, and a bare one in which commits for it are made."""

    url: str
    store: Path
    credentials: Credentials = NO_CREDENTIALS
    author: Author = field(default_factory=Author)
    _branches: dict[str, str] = field(default_factory=dict)
    _default_branch: str = ""

    @classmethod
    def opened(
        cls, url: str, store: Path, credentials: Credentials = NO_CREDENTIALS, author: Author | None = None
    ) -> Repository:
        """The repository with its branches as they are now. Raises GitError."""
        if url.startswith("-"):
            raise GitError(f"{url} is no address of a git repository")
        store.mkdir(parents=True, exist_ok=True)
        if not (store / "HEAD").is_file():
            output(["init", "--quiet", "--bare", str(store)])
        opened = cls(url, store, credentials, author or Author())
        opened.refresh()
        return opened

    def refresh(self) -> None:
        """Looks again which branches there are. Raises GitError."""
        asked = ["ls-remote", "--quiet", "--symref", "--end-of-options", self.url, "HEAD", f"{_HEADS}*"]
        listed = (
            output([*self.credentials.options, *asked], environment=self.credentials.environment).decode().splitlines()
        )
        found = [(what, name) for what, _, name in (line.partition("\t") for line in listed)]
        self._branches = {name.removeprefix(_HEADS): what for what, name in found if name.startswith(_HEADS)}
        heads = [what.removeprefix(f"ref: {_HEADS}") for what, name in found if name == "HEAD" and " " in what]
        self._default_branch = heads[0] if heads else "main"

    @property
    def branches(self) -> Mapping[str, str]:
        """The commits of all branches."""
        return self._branches

    @property
    def default_branch(self) -> str:
        """The branch that the repository itself calls its own (C12)."""
        return self._default_branch

    def fetch(self, *commits: str) -> None:
        """Fetches commits with their history, those that are missing. Raises GitError."""
        missing = [commit for commit in dict.fromkeys(commits) if commit and not self.has(commit)]
        if not missing:
            return
        options = ["-c", "gc.auto=0", *self.credentials.options]
        fetch = [*options, "fetch", "--progress", "--no-tags", "--end-of-options", self.url]
        if run([*fetch, *missing], self.store, environment=self.credentials.environment).returncode != 0:
            # Not every server gives commits by their ids.
            everything = ["+refs/heads/*:refs/remote/heads/*", "+refs/pull/*/head:refs/remote/pull/*"]
            output([*fetch, *everything], self.store, environment=self.credentials.environment)
        for commit in missing:
            if not self.has(commit):
                raise GitError(f"{self.url} has no commit {commit}")

    def has(self, commit: str) -> bool:
        """Whether a commit is here."""
        return run(["cat-file", "-e", f"{commit}^{{commit}}"], self.store, alone=True).returncode == 0

    def merge_base(self, first: str, second: str) -> str:
        """The newest commit that both come from. Raises GitError."""
        done = run(["merge-base", first, second], self.store, alone=True)
        if done.returncode != 0:
            why = complaint(done.stderr) or "they have no history in common; branch off the target"
            raise GitError(f"{self.url}: {first[:12]} and {second[:12]}: {why}")
        return done.stdout.decode().strip()

    def is_ancestor(self, first: str, second: str) -> bool:
        """Whether the second commit comes from the first."""
        return run(["merge-base", "--is-ancestor", first, second], self.store, alone=True).returncode == 0

    def is_ours(self, since: str, commit: str) -> bool:
        """Whether all commits that are in one and not in the other were made here, and nobody changed them since."""
        listed = self._local(["log", "-z", "--format=%ce%n%B", f"{since}..{commit}"]).decode(errors="replace")
        made = [one.partition("\n") for one in listed.split("\0") if one]
        mails = {self.author.mail, Author().mail}
        return all(mail in mails and TRAILER in message.splitlines() for mail, _, message in made)

    def messages(self, since: str, commit: str) -> list[str]:
        """What the commits say that are in one and not in the other, the oldest first."""
        listed = self._local(["log", "-z", "--reverse", "--topo-order", "--format=%B", f"{since}..{commit}"])
        return listed.decode(errors="replace").split("\0")

    def changes(self, since: str, commit: str) -> list[str]:
        """The paths that differ between two commits; of a renamed file both."""
        listed = self._local(["diff-tree", "-r", "-z", "--name-only", "--no-renames", since, commit])
        return [os.fsdecode(path) for path in listed.split(b"\0") if path]

    def tree(self, commit: str) -> str:
        """The tree of a commit."""
        return self._local(["rev-parse", f"{commit}^{{tree}}"]).decode().strip()

    def entries(self, tree: str) -> Entries:
        """All that is in a tree or commit, by path: files, symbolic links and submodules."""
        found: Entries = {}
        for line in self._local(["ls-tree", "-r", "-z", "--full-tree", tree]).split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                mode, _, name = head.decode().split()
                found[os.fsdecode(path)] = Entry(mode, name)
        return found

    def contents(self, entries: Iterable[Entry]) -> dict[str, bytes]:
        """Contents by id."""
        names = list(dict.fromkeys(entry.blob for entry in entries))
        asked = "".join(f"{name}\n" for name in names).encode()
        return dict(zip(names, blobs(self._local(["cat-file", "--batch"], asked)), strict=True))

    def changed(self, tree: str, changes: Mapping[str, Entry | None]) -> str:
        """The tree with other files in some places, None for those that go."""
        if not changes:
            return tree
        with temporary_directory() as directory:
            index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
            self._local(["read-tree", tree], environment=index)
            lines = b"".join(
                f"{'0' if entry is None else entry.mode} {'0' * 40 if entry is None else entry.blob}\t".encode()
                + os.fsencode(path)
                + b"\0"
                for path, entry in changes.items()
            )
            self._local(["update-index", "-z", "--index-info"], lines, environment=index)
            return self._local(["write-tree"], environment=index).decode().strip()

    def stored(self, data: bytes) -> str:
        """The id of a content, which is stored."""
        return self._local(["hash-object", "-w", "--stdin"], data).decode().strip()

    def copied(self, tree: str, since: str, commit: str, paths: Iterable[str]) -> str:
        """The tree with what changed at these paths between two commits; a renamed file is two paths.

        Raises Conflict where the tree has other changes at a path that do not go together with these.
        """
        before, after, here = self.entries(since), self.entries(commit), self.entries(tree)
        changes: dict[str, Entry | None] = {}
        for path in paths:
            old, new, mine = before.get(path), after.get(path), here.get(path)
            if old == new or mine == new:
                continue
            changes[path] = new if mine == old else self._merged(path, old, new, mine)
        return self.changed(tree, changes)

    def conflict(self, target: str, commit: str) -> str:
        """Why a commit cannot be merged into the target, '' if it can."""
        try:
            self.merged(target, commit)
        except Conflict as conflict:
            return str(conflict)
        return ""

    def merged(self, target: str, commit: str) -> str:
        """The tree of the target with a commit merged into it.

        Renames are not followed: what was renamed on one side and changed on the other is a conflict. Raises Conflict.
        """
        if self.is_ancestor(target, commit):
            return self.tree(commit)
        since = self.merge_base(target, commit)
        return self.copied(self.tree(target), since, commit, self.changes(since, commit))

    def _merged(self, path: str, old: Entry | None, new: Entry | None, mine: Entry | None) -> Entry:
        if old is None or new is None or mine is None:
            raise Conflict(f"{path} was changed on both sides, and is missing on one")
        if not (old.is_file and new.is_file and mine.is_file):
            raise Conflict(f"{path} was changed on both sides, and is a symbolic link or submodule on one")
        contents = self.contents((mine, old, new))
        with temporary_directory() as directory:
            places = [Path(directory, name) for name in ("mine", "old", "new")]
            for place, entry in zip(places, (mine, old, new), strict=True):
                place.write_bytes(contents[entry.blob])
            done = run(["merge-file", "-p", "-q", *map(str, places)], alone=True)
            if done.returncode != 0:
                raise Conflict(f"{path} was changed on both sides")
            return Entry(new.mode if new.mode != old.mode else mine.mode, self.stored(done.stdout))

    def commit(self, tree: str, parent: str, message: str) -> str:
        """A commit, as old as its parent: its id follows from what it holds."""
        at = self._local(["log", "-1", "--format=%ct +0000", parent]).decode().strip()
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", self.author.name), ("EMAIL", self.author.mail), ("DATE", at))
        }
        made = self._local(["commit-tree", tree, "-p", parent, "-F", "-"], message.encode(), who)
        return made.decode().strip()

    def push(self, commit: str, branch: str) -> None:
        """Makes a branch this commit, if it is still as it was seen. Raises GitError."""
        seen = self._branches.get(branch, "")
        lease = f"--force-with-lease={_HEADS}{branch}:{seen}"
        push = ["push", "--progress", lease, "--end-of-options", self.url, f"{commit}:{_HEADS}{branch}"]
        done = run([*self.credentials.options, *push], self.store, environment=self.credentials.environment)
        if done.returncode != 0:
            refused = _REFUSED.search(done.stderr)
            why = refused[1].decode(errors="replace") if refused is not None else complaint(done.stderr)
            why = "somebody pushed to it meanwhile; observe and plan again" if why == "stale info" else why
            raise GitError(f"{self.url}: {branch} cannot be pushed: {why}")
        self._branches[branch] = commit

    def _local(
        self, arguments: Sequence[str], data: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> bytes:
        """What git writes of the store; settings of the user do not count."""
        return output(arguments, self.store, data, environment, alone=True)
