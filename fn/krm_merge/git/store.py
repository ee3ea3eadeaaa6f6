"""Repositories: objects read through one lasting process, trees and commits made, fetched and pushed.

The same parents, contents, people and dates give the same commits: the user's settings of git have no effect.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import islice
from pathlib import Path
from threading import Timer
from typing import IO

from krm_merge.git import program
from krm_merge.git.program import (
    HEADS,
    NO_CREDENTIALS,
    Credentials,
    GitError,
    complaint,
    list_refs,
    refusal,
)
from krm_merge.limits import PATHS
from krm_merge.posix import temporary_directory
from krm_merge.startup import frozen, pattern

_ASKED_AT_ONCE = 32 * 1024
"""How many bytes of names are sent before answers are read: the capacity of a pipe, so that neither side blocks."""


_DEEPEST = 128
"""The most folders inside of each other."""
_LONGEST_NAME = 255
"""The most bytes in the name of a file: no disk takes more."""
_LONGEST_ENTRY = _LONGEST_NAME + 40
"""The most bytes of an entry in a tree: mode, name and the id of an object."""


@frozen
class GitObject:
    """An object of a repository: commit, tree, blob or tag. Its data, of `size` bytes, may not be read."""

    name: str
    kind: str
    size: int
    data: bytes = b""


TREE = "040000"
FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"
SUBMODULE = "160000"
_MODES = {0o04: TREE, 0o10: FILE, 0o12: LINK, 0o16: SUBMODULE}


@frozen
class TreeEntry:
    """An entry of a tree: its mode, six octal digits as git writes them, and the id of its object.

    The id of a submodule is that of its commit, which is in another repository.
    """

    path: str
    mode: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file, not a directory, a symbolic link or a submodule."""
        return self.mode in (FILE, EXECUTABLE)


def _ends(data: bytes, size: int) -> Iterator[int]:
    """Where the names of a tree's entries end, however damaged the tree is."""
    end = data.find(b"\0")
    while end >= 0:
        yield end
        end = data.find(b"\0", end + 1 + size)


def _entries(data: bytes, size: int) -> Iterator[TreeEntry]:
    """The entries of a tree; the names of objects have `size` bytes. Raises ValueError where the tree is damaged."""
    at = 0
    while at < len(data):
        blank = data.index(b" ", at)
        end = data.index(b"\0", blank)
        name = data[end + 1 : end + 1 + size].hex()
        path = os.fsdecode(data[blank + 1 : min(end, blank + 2 + _LONGEST_NAME)])
        if not path or "/" in path:
            raise ValueError
        if end - blank - 1 > _LONGEST_NAME:
            raise GitError(f"the name {path[:40]}... has more than {_LONGEST_NAME} bytes, too many for file systems")
        mode = _MODES.get(int(data[at:blank], 8) >> 12, FILE)
        is_executable = mode == FILE and int(data[at:blank], 8) & 0o100
        yield TreeEntry(path, EXECUTABLE if is_executable else mode, name)
        at = end + 1 + size


def _refuse_many(trees: Mapping[str, Sequence[TreeEntry]], root: str) -> None:
    """Raises GitError where there are too many paths in a tree, too long ones, or two of one name."""
    folders = {name: [entry.name for entry in entries if entry.mode == TREE] for name, entries in trees.items()}
    paths: dict[str, int] = {}
    letters: dict[str, int] = {}
    depths: dict[str, int] = {}
    # Those inside come first.
    for name in TopologicalSorter(folders).static_order():
        entries = trees[name]
        inside = [entry for entry in entries if entry.mode == TREE]
        paths[name] = len(entries) + sum(paths[entry.name] for entry in inside)
        letters[name] = sum(len(entry.path) for entry in entries) + sum(
            letters[entry.name] + paths[entry.name] * len(entry.path) for entry in inside
        )
        depths[name] = 1 + max((depths[entry.name] for entry in inside), default=0)
        if len({entry.path for entry in entries}) < len(entries):
            twice = next(path for path, times in Counter(entry.path for entry in entries).items() if times > 1)
            raise GitError(f"the tree {name} has two files or folders of the name {twice}")
    if depths[root] > _DEEPEST:
        raise GitError(f"folders are nested deeper than {_DEEPEST} levels")
    if paths[root] > PATHS.value() or letters[root] > PATHS.value() * _LONGEST_NAME:
        raise _too_many_paths()


def _too_many_paths() -> GitError:
    return GitError(f"there are more than {PATHS.value():,} files and folders; {PATHS.remedy}")


def _portions(expressions: Iterable[str]) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for expression in expressions:
        line = os.fsencode(expression) + b"\n"
        if lines and size + len(line) > _ASKED_AT_ONCE:
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines


def _answer(stdout: IO[bytes], *, with_data: bool) -> GitObject | None:
    head = stdout.readline()
    if not head:
        raise GitError("git cat-file ended before it answered")
    words = head.split()
    if words[-1] in (b"missing", b"ambiguous"):
        return None
    name, kind, size = words[0].decode(), words[1].decode(), int(words[2])
    if not with_data:
        return GitObject(name, kind, size)
    data = stdout.read(size)
    stdout.read(1)
    return GitObject(name, kind, size, data)


def _pipes(git: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert git.stdin is not None
    assert git.stdout is not None
    return git.stdin, git.stdout


def _end(git: subprocess.Popen[bytes]) -> None:
    for pipe in _pipes(git):
        with suppress(BrokenPipeError):
            pipe.close()
    git.wait()


_PERSON = pattern(r"([^<>\n]*[^<>\s]) <([^<>\s]+)>")
_NO_RENAMES = ("-c", "merge.renames=false")


@frozen
class Person:
    """An author or committer."""

    name: str
    mail: str

    @classmethod
    def parse(cls, text: str) -> Person:
        """Parses `Name <mail>`. Raises GitError."""
        match = _PERSON.fullmatch(text.strip())
        if match is None:
            raise GitError(f"the author {text!r} is not like: Name <mail@example.com>")
        return cls(match[1], match[2])


@frozen
class Stamp:
    """Author and time of a commit; `date` as git writes it: seconds since 1970 and the offset, `1700000000 +0000`."""

    person: Person
    date: str


class MergeConflictError(GitError):
    """Changes that cannot be merged; `paths` are the files in conflict."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Takes the paths, at least one."""
        was = "were" if len(paths) > 1 else "was"
        super().__init__(f"{', '.join(paths)} {was} changed on both sides")
        self.paths = tuple(paths)


_RESULT = "refs/krm-merge/result"
_LATEST = ":1"


@frozen
class NewCommit:
    """A commit to be made on top of the one before: its message, and what becomes of files, by path.

    A file has its mode as git writes it, and its content; None removes it.
    """

    message: str
    changes: Mapping[str, tuple[str, bytes] | None]


def _change_lines(path: str, content: tuple[str, bytes] | None) -> list[bytes]:
    quoted = b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    if content is None:
        return [b"D ", quoted, b"\n"]
    mode, data = content
    return [f"M {mode} inline ".encode(), quoted, f"\ndata {len(data)}\n".encode(), data, b"\n"]


class Store:
    """A repository. Objects that are fetched later are found, too. Everything raises GitError."""

    def __init__(self, directory: Path) -> None:
        """Takes the git directory of a repository. Git is started at the first read, and ends with this object."""
        self.directory = directory
        self._git: subprocess.Popen[bytes] | None = None

    @classmethod
    def open(cls, directory: Path) -> Store:
        """Opens the repository in a directory, or creates it."""
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / "HEAD").is_file():
            # Without the templates: hooks that nobody runs here.
            cls(directory).output("init", "--quiet", "--bare", "--template=", str(directory))
        return cls(directory)

    def remove(self) -> None:
        """Removes the repository."""
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- objects -----------------------------------------------------------------------------------------------

    def look(self, expressions: Sequence[str]) -> list[GitObject | None]:
        """The objects that git finds by these expressions, without their data; None if git finds none.

        Raises GitError.
        """
        return self._ask("info", expressions)

    def read(self, expressions: Sequence[str]) -> list[GitObject | None]:
        """The same with their data. Raises GitError."""
        return self._ask("contents", expressions)

    def _ask(self, command: str, expressions: Sequence[str]) -> list[GitObject | None]:
        if self._git is None:
            self._git = program.start(["cat-file", "--batch-command"], self.directory)
            weakref.finalize(self, _end, self._git)
        git = self._git
        questions, answers = _pipes(git)
        objects: list[GitObject | None] = []
        with program.counted_time() as left:
            # Reading from a pipe has no limit of its own.
            watch = Timer(left, git.kill) if left != float("inf") else None
            if watch is not None:
                watch.start()
            try:
                for lines in _portions(f"{command} {expression}" for expression in expressions):
                    questions.write(b"".join(lines))
                    questions.flush()
                    objects += [_answer(answers, with_data=command == "contents") for _ in lines]
            except (BrokenPipeError, GitError):
                self._git = None
                if watch is not None and not watch.is_alive():
                    raise program.too_slow("git cat-file") from None
                raise GitError("git cat-file ended before it answered") from None
            finally:
                if watch is not None:
                    watch.cancel()
        return objects

    def files(self, root: GitObject) -> Iterator[TreeEntry]:
        """Everything in a tree and the trees inside it: files, symbolic links, submodules.

        Trees can hold each other many times, so paths are counted before they are listed (A13). Raises GitError.
        """
        trees = self._trees(root)
        _refuse_many(trees, root.name)
        # In the order of the trees: the files of a folder come where the folder is.
        pending = [("", iter(trees[root.name]))]
        while pending:
            folder, entries = pending[-1]
            entry = next(entries, None)
            if entry is None:
                pending.pop()
            elif entry.mode == TREE:
                pending.append((f"{folder}{entry.path}/", iter(trees[entry.name])))
            else:
                yield TreeEntry(f"{folder}{entry.path}", entry.mode, entry.name)

    def _trees(self, root: GitObject) -> dict[str, list[TreeEntry]]:
        """The entries of a tree and of all trees inside it, by the names of the trees: each is read once."""
        trees: dict[str, list[TreeEntry]] = {}
        most, entries, size = PATHS.value(), 0, 0
        names = [root.name]
        # All trees of one depth in one request; equal folders are one tree.
        while names:
            size += sum(tree.size for tree in self.look(names) if tree is not None)
            if size > most * _LONGEST_ENTRY:
                raise _too_many_paths()
            for name, tree in zip(names, self.read(names), strict=True):
                data = b"" if tree is None else tree.data
                # Counted before they are read, which takes twenty times as long.
                entries += sum(1 for _ in islice(_ends(data, len(root.name) // 2), most + 1 - entries))
                if entries > most:
                    raise _too_many_paths()
                try:
                    trees[name] = list(_entries(data, len(root.name) // 2))
                except ValueError:
                    raise GitError(f"the tree {name} is damaged") from None
            inside = (entry.name for name in names for entry in trees[name] if entry.mode == TREE)
            names = [name for name in dict.fromkeys(inside) if name not in trees]
        return trees

    # ---- commits -----------------------------------------------------------------------------------------------

    def has(self, commit: str) -> bool:
        """Whether the store holds a commit."""
        return self.has_each([commit]) == [True]

    def has_each(self, commits: Iterable[str]) -> list[bool]:
        """The same of several commits."""
        return [commit is not None for commit in self.look([f"{commit}^{{commit}}" for commit in commits])]

    def merge_base(self, first: str, second: str) -> str:
        """The newest common ancestor of two commits, '' for none."""
        done = self.run(["merge-base", first, second])
        if done.returncode > 1:
            raise GitError(f"{first[:12]} and {second[:12]}: {complaint(done.stderr)}")
        return done.stdout.decode().strip()

    def is_ancestor(self, first: str, second: str) -> bool:
        """Whether the first commit is the second or an ancestor of it."""
        return self.run(["merge-base", "--is-ancestor", first, second]).returncode == 0

    def messages(self, since: str, commit: str) -> list[str]:
        """The messages of the commits that `commit` has and `since` has not, the oldest first."""
        listed = self.output("log", "-z", "--reverse", "--topo-order", "--format=%B", f"{since}..{commit}")
        return listed.split("\0")

    def are_made_by(self, person: Person, trailer: str, since: str, commit: str) -> bool:
        """Whether all commits that `commit` has and `since` has not are the person's, and have a line for it.

        The line begins with `trailer`. Commits that somebody else changed are not the person's any more.
        """
        listed = self.output("log", "-z", "--format=%ce%n%B", f"{since}..{commit}")
        commits = [commit_text.splitlines() for commit_text in listed.split("\0") if commit_text]
        return all(
            mail == person.mail and any(line.startswith(trailer) for line in message) for mail, *message in commits
        )

    def committed_at(self, commit: str) -> int:
        """When a commit was made: seconds since 1970."""
        return int(self.text("show", "--no-patch", "--format=%ct", commit))

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Stamp,
    ) -> str:
        """The id of a new commit, whose committer is the author."""
        environment = {
            f"GIT_{role}_{name}": value
            for role in ("AUTHOR", "COMMITTER")
            for name, value in (("NAME", author.person.name), ("EMAIL", author.person.mail), ("DATE", author.date))
        }
        # The message comes by stdin: it may be longer than an argument.
        words = [word for parent in parents for word in ("-p", parent)]
        data = message.encode(errors="replace")
        return self.text("commit-tree", tree, *words, "-F", "-", data=data, environment=environment)

    def commit_files(self, base: str, commits: Iterable[NewCommit], author: str, date: str) -> str:
        """Makes commits on top of one, and gives the id of the last: equal ones have the same."""
        stream: list[bytes] = []
        for number, new in enumerate(commits):
            message = new.message.encode()
            stream += [
                f"commit {_RESULT}\nmark {_LATEST}\ncommitter {author} {date}\ndata {len(message)}\n".encode(),
                message,
                b"\n" if number else f"\nfrom {base}\n".encode(),
            ]
            # What goes comes first: a folder may become a file.
            for path, content in sorted(new.changes.items(), key=lambda change: (change[1] is not None, change[0])):
                stream += _change_lines(path, content)
        stream.append(f"get-mark {_LATEST}\n".encode())
        return self.text("fast-import", "--quiet", "--force", data=b"".join(stream))

    # ---- trees -------------------------------------------------------------------------------------------------

    def tree(self, commit: str) -> str:
        """The tree of a commit."""
        return self.text("rev-parse", f"{commit}^{{tree}}")

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Everything in a tree or commit, by path: files, symbolic links and submodules."""
        (root,) = self.look([f"{tree}^{{tree}}"])
        if root is None:
            raise GitError(f"{self.directory} has no tree {tree}")
        return {entry.path: entry for entry in self.files(root)}

    def contents(self, entries: Iterable[TreeEntry]) -> dict[str, bytes]:
        """The contents of files, by the ids of their objects."""
        names = list(dict.fromkeys(entry.name for entry in entries))
        return {blob.name: blob.data for blob in self.read(names) if blob is not None}

    def store_content(self, data: bytes) -> str:
        """Stores a content and returns its id."""
        return self.text("hash-object", "-w", "--stdin", data=data)

    def change_tree(self, tree: str, changes: Mapping[str, TreeEntry | None]) -> str:
        """The tree with changed entries at some paths; None removes the entry."""
        if not changes:
            return tree
        with temporary_directory() as directory:
            index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
            self.output("read-tree", tree, environment=index)
            nothing = TreeEntry("", "0", "0" * 40)
            lines = b"".join(
                f"{(entry or nothing).mode} {(entry or nothing).name}\t".encode() + os.fsencode(path) + b"\0"
                for path, entry in changes.items()
            )
            self.output("update-index", "-z", "--index-info", data=lines, environment=index)
            return self.text("write-tree", environment=index)

    def changed_paths(self, since: str, commit: str) -> list[str]:
        """The paths that differ between two commits; of a renamed file both paths."""
        command = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", since, commit]
        listed = program.output(command, self.directory, alone=True)
        return [os.fsdecode(path) for path in listed.split(b"\0") if path]

    # ---- merges ------------------------------------------------------------------------------------------------

    def merge_trees(self, ours: str, theirs: str, *, renames: bool = True) -> str:
        """The tree of two commits merged. Raises MergeConflictError.

        Without `renames`, a file that one side renamed and the other changed is a conflict.
        """
        options = () if renames else _NO_RENAMES
        command = [*options, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
        done = self.run(command)
        if done.returncode == 1:
            paths = (os.fsdecode(path) for path in done.stdout.split(b"\0")[1:] if path)
            # If a file conflicts with a link, git also names each side's entry after its commit.
            raise MergeConflictError([path for path in paths if not path.endswith((f"~{ours}", f"~{theirs}"))])
        if done.returncode != 0:
            raise GitError(complaint(done.stderr))
        return done.stdout.decode().strip("\0\n")

    def pick_changes(self, onto: str, since: str, commit: str, paths: Iterable[str] | None = None) -> str:
        """The tree of the commit `onto` with the changes between two commits, limited to `paths`.

        Renames are followed only without `paths`. Raises MergeConflictError.
        """
        # Paths are picked by a commit that changes nothing else.
        theirs = commit
        if paths is not None:
            before, after = self.entries(since), self.entries(commit)
            changes = {path: after.get(path) for path in paths if before.get(path) != after.get(path)}
            theirs = self._beside(self.change_tree(self.tree(since), changes), since)
        # Merge with `since` as the base, for which git before 2.40 has no option.
        return self.merge_trees(self._beside(self.tree(onto), since), theirs, renames=paths is None)

    def _beside(self, tree: str, parent: str) -> str:
        """A temporary commit that is only merged."""
        nobody = Stamp(Person("krm-merge", "krm-merge@localhost"), "@0 +0000")
        return self.commit(tree, [parent], "beside\n", nobody)

    # ---- git ---------------------------------------------------------------------------------------------------

    def text(self, *arguments: str, data: bytes | None = None, environment: Mapping[str, str] | None = None) -> str:
        """The output of git, without surrounding line ends."""
        return self.output(*arguments, data=data, environment=environment).strip()

    def output(self, *arguments: str, data: bytes | None = None, environment: Mapping[str, str] | None = None) -> str:
        """The output of git."""
        return program.output(arguments, self.directory, data, environment, alone=True).decode(errors="replace")

    def run(
        self, arguments: Sequence[str], data: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs git in the store and returns its result, even if it failed. Raises GitError if git is missing."""
        # Merges must not depend on the user's settings.
        return program.run(arguments, self.directory, data, environment, alone=True)


@dataclass(slots=True)
class Remote:
    """A remote repository with its branches as last observed. Everything raises GitError."""

    url: str
    store: Store
    credentials: Credentials = NO_CREDENTIALS
    branches: Mapping[str, str] = field(default_factory=dict)
    """The commits of all branches."""
    default_branch: str = "main"
    """The default branch of the repository."""

    def refresh(self) -> None:
        """Reads the branches."""
        # One request for all of it: each is a connection.
        refs, default = list_refs(self.url, ["HEAD", f"{HEADS}*"], self.credentials)
        self.branches = {name.removeprefix(HEADS): commit for name, commit in refs.items() if name.startswith(HEADS)}
        self.default_branch = default or "main"

    def fetch_ref(self, name: str, depth: int = 0, *, has_files: bool = True) -> str:
        """Fetches what a ref names, with its history or with `depth` commits of it, and gives its commit.

        Without files, these are the commits alone, as far as the server can leave the rest out.
        """
        if self.url.startswith("-"):
            raise GitError(f"{self.url} is not the address of a git repository")
        try:
            self._fetch([name], depth, has_files=has_files)
        except GitError as error:
            raise GitError(f"{self.url}: {error}") from None
        return (self.store.directory / "FETCH_HEAD").read_text(encoding="utf-8").split()[0]

    def _fetch(self, names: Sequence[str], depth: int = 0, *, has_files: bool = True) -> None:
        limits = [*([f"--depth={depth}"] if depth else []), *([] if has_files else ["--filter=tree:0"])]
        fetch = ["fetch", "--progress", "--no-tags", *limits, "--end-of-options", self.url, *names]
        command = [*self.credentials.options, *fetch]
        program.output(command, self.store.directory, environment=self.credentials.environment)

    def fetch(self, *commits: str, depth: int = 0) -> None:
        """Fetches the missing commits with their history, or with `depth` commits of it."""
        missing = [commit for commit in dict.fromkeys(commits) if commit and not self.store.has(commit)]
        if not missing:
            return
        self._fetch(missing, depth)

    def push(self, commit: str, branch: str, seen: str | None = None) -> None:
        """Makes a branch this commit, or with '' removes it, if it still is as observed, or at the commit `seen`.

        Other people's pushes are never lost.
        """
        # An empty one says that the branch must not exist yet.
        expected = self.branches.get(branch, "") if seen is None else seen
        name = f"{HEADS}{branch}"
        lease = f"--force-with-lease={name}:{expected}"
        push = ["push", "--progress", "--no-verify", lease, "--end-of-options", self.url, f"{commit}:{name}"]
        command = [*self.credentials.options, *push]
        done = program.run(command, self.store.directory, environment=self.credentials.environment)
        # The server may have done what a broken connection did not confirm.
        if done.returncode != 0 and not self._is_at(name, commit):
            since = "since; observe and plan again" if seen is None else "meanwhile"
            why = refusal(done.stderr)
            why = f"somebody pushed to it {since}" if why == "stale info" else why
            raise GitError(f"{self.url}: {branch} cannot be {'pushed' if commit else 'removed'}: {why}")
        self.branches = {**self.branches, branch: commit}

    def _is_at(self, name: str, commit: str) -> bool:
        """Whether a refused push was done: the git of a killed command goes on for a moment."""
        try:
            return list_refs(self.url, [name], self.credentials)[0].get(name, "") == commit
        except GitError:
            return False
