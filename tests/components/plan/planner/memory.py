"""git and a forge in memory: what plans are applied to, thousands of times a minute, without a process or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha1

from krm_merge.components.repository import Repository
from krm_merge.forges.interface import Attention, CheckState, ForgePullRequest
from krm_merge.git.program import GitError
from krm_merge.git.store import FILE, MergeConflictError, Person, Stamp, Store, TreeEntry

Tree = dict[str, str]
"""The ids of contents by path."""


class KilledError(BaseException):
    """The process was killed here."""


@dataclass
class Strikes:
    """Kills the process before one of the coming changes; counts the changes."""

    after: int = -1
    changes: int = 0

    def change(self) -> None:
        """Called before each change of a repository or of a pull request."""
        if self.after == 0:
            self.after = -1
            raise KilledError
        self.after -= 1 if self.after > 0 else 0
        self.changes += 1


@dataclass(frozen=True)
class Commit:
    """A commit, and the ids of all its ancestors and itself in the order of their making."""

    tree: str
    parents: tuple[str, ...]
    mail: str
    message: str
    made_at: int
    ancestors: tuple[str, ...]


class MemoryStore(Store):
    """Objects by their ids; equal objects have equal ids, as in git."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, Tree] = {}
        self.commits: dict[str, Commit] = {}

    def has(self, commit: str) -> bool:
        return commit in self.commits

    def tree(self, commit: str) -> str:
        return self.commits[commit].tree

    def merge_base(self, first: str, second: str) -> str:
        common = set(self.commits[first].ancestors)
        return next((ancestor for ancestor in reversed(self.commits[second].ancestors) if ancestor in common), "")

    def is_ancestor(self, first: str, second: str) -> bool:
        return first in self.commits[second].ancestors

    def messages(self, since: str, commit: str) -> list[str]:
        return [self.commits[ancestor].message for ancestor in self._between(since, commit)]

    def are_made_by(self, person: Person, trailer: str, since: str, commit: str) -> bool:
        commits = [self.commits[ancestor] for ancestor in self._between(since, commit)]
        return all(made.mail == person.mail and trailer in made.message for made in commits)

    def _between(self, since: str, commit: str) -> list[str]:
        ancestors = set(self.commits[since].ancestors)
        return [ancestor for ancestor in self.commits[commit].ancestors if ancestor not in ancestors]

    def committed_at(self, commit: str) -> int:
        return self.commits[commit].made_at

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Stamp,
    ) -> str:
        made_at = int(author.date.split()[0].lstrip("@"))
        name = sha1(repr((tree, tuple(parents), author.person.mail, message, made_at)).encode()).hexdigest()
        if name not in self.commits:
            above = dict.fromkeys(ancestor for parent in parents for ancestor in self.commits[parent].ancestors)
            ancestors = (*above, name)
            self.commits[name] = Commit(tree, tuple(parents), author.person.mail, message, made_at, ancestors)
        return name

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        return {path: TreeEntry(path, FILE, name) for path, name in self._files(tree).items()}

    def contents(self, entries: Iterable[TreeEntry]) -> dict[str, bytes]:
        return {entry.name: self.blobs[entry.name] for entry in entries}

    def store_content(self, data: bytes) -> str:
        name = sha1(data).hexdigest()
        self.blobs[name] = data
        return name

    def change_tree(self, tree: str, changes: Mapping[str, TreeEntry | None]) -> str:
        files = self._files(tree) | {path: entry.name for path, entry in changes.items() if entry is not None}
        return self.with_files({path: name for path, name in files.items() if changes.get(path, name) is not None})

    def with_files(self, files: Tree) -> str:
        """The id of a tree."""
        name = sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.trees[name] = dict(sorted(files.items()))
        return name

    def changed_paths(self, since: str, commit: str) -> list[str]:
        before, after = self._files(since), self._files(commit)
        return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))

    def merge_trees(self, ours: str, theirs: str, *, renames: bool = True) -> str:
        base = self._files(self.merge_base(ours, theirs))
        left, right = self._files(ours), self._files(theirs)
        tree: Tree = {}
        conflicts = []
        for path in sorted({*base, *left, *right}):
            was, here, there = base.get(path), left.get(path), right.get(path)
            if here != there and was not in (here, there):
                conflicts.append(path)
            result = there if here == was else here
            if result is not None:
                tree[path] = result
        if conflicts:
            raise MergeConflictError(conflicts)
        return self.with_files(tree)

    def _files(self, name: str) -> Tree:
        return self.trees[self.commits[name].tree if name in self.commits else name]


@dataclass
class Hosted:
    """A repository on the forge: its branches and its pull requests."""

    url: str
    default_branch: str = "main"
    store: MemoryStore = field(default_factory=MemoryStore)
    branches: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, ForgePullRequest] = field(default_factory=dict)

    def commit(self, branch: str, changes: Mapping[str, str | None], at: int, base: str = "main") -> str:
        """A commit of a person, pushed; None removes a file."""
        parent = self.branches.get(branch) or self.branches.get(base, "")
        files = dict(self.store._files(parent)) if parent else {}
        for path, text in changes.items():
            files.pop(path, None)
            if text is not None:
                files[path] = self.store.store_content(text.encode())
        tree = self.store.with_files(files)
        stamp = Stamp(Person("Jane", "jane@example.com"), f"{at} +0000")
        self.branches[branch] = self.store.commit(tree, [parent] if parent else [], f"change {at}", stamp)
        return self.branches[branch]

    def files(self, branch: str) -> dict[str, str]:
        """The files of a branch."""
        tree = self.store._files(self.branches[branch])
        return {path: self.store.blobs[name].decode() for path, name in tree.items()}

    def current(self, pull: ForgePullRequest) -> ForgePullRequest:
        """The pull request with the present head of its branch."""
        head = self.branches.get(pull.source_branch, pull.head)
        return replace(pull, head=head) if pull.state == "open" else pull


class MemoryRemote(Repository):
    """A repository as it was observed."""

    def __init__(self, hosted: Hosted, strikes: Strikes) -> None:
        super().__init__(hosted.url, hosted.store, branches=dict(hosted.branches))
        self.default_branch = hosted.default_branch
        self._hosted, self._strikes = hosted, strikes

    def fetch(self, *commits: str, depth: int = 0) -> None:
        """Everything is here."""

    def push(self, commit: str, branch: str, seen: str | None = None) -> None:
        if self._hosted.branches.get(branch) != self.branches.get(branch):
            raise GitError(f"{branch} cannot be pushed: somebody pushed to it since; observe and plan again")
        self._strikes.change()
        self._hosted.branches[branch] = commit
        self.branches = {**self.branches, branch: commit}


class MemoryForge:
    """Pull requests of repositories."""

    def __init__(self, strikes: Strikes) -> None:
        self.hosted: dict[str, Hosted] = {}
        self._strikes = strikes

    def open(self, url: str) -> Repository:
        """The repository as it is now."""
        return MemoryRemote(self.hosted[url], self._strikes)

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        hosted = self.hosted[repository]
        return [hosted.current(pull) for pull in hosted.pulls.values()]

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        return [pull for pull in self.pull_requests(repository) if pull.state == "open"]

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        return [pull for pull in self.pull_requests(repository) if pull.source_branch == branch]

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        pull = self.hosted[repository].pulls.get(number)
        return self.hosted[repository].current(pull) if pull is not None else None

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        return []

    def changed_files(self, repository: str, number: int) -> list[str]:
        hosted = self.hosted[repository]
        pull = hosted.current(hosted.pulls[number])
        target = hosted.branches[pull.target_branch]
        return hosted.store.changed_paths(hosted.store.merge_base(target, pull.head), pull.head)

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        hosted = self.hosted[repository]
        for pull in self.open_pull_requests(repository):
            if (pull.source_branch, pull.target_branch) == (source_branch, target_branch):
                return pull
        assert hosted.branches[source_branch] != hosted.branches[target_branch]
        self._strikes.change()
        number = len(hosted.pulls) + 1
        head = hosted.branches[source_branch]
        hosted.pulls[number] = ForgePullRequest(
            number, source_branch, target_branch, title, body, draft, "open", head, author="krm-merge"
        )
        return hosted.pulls[number]

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        self._change(repository, number, lambda pull: replace(pull, title=title, body=body))

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        self._change(repository, number, lambda pull: replace(pull, draft=draft))

    def close(self, repository: str, number: int) -> None:
        self._change(repository, number, lambda pull: replace(pull, state="closed"))

    def comment(self, repository: str, number: int, text: str) -> None:
        self._strikes.change()

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        self._strikes.change()

    def checks(self, repository: str, number: int) -> CheckState:
        return ""

    def requests_left(self) -> None:
        return None

    def _change(self, repository: str, number: int, changed: Callable[[ForgePullRequest], ForgePullRequest]) -> None:
        hosted = self.hosted[repository]
        self._strikes.change()
        hosted.pulls[number] = changed(hosted.current(hosted.pulls[number]))
