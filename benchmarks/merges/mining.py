"""Finds merges in the history of a clone: merge commits, and commits that were picked or rebased.

A merge commit counts where it has two parents and one merge base. A pick is a commit with the author, date and subject
of another one. Of each, every YAML file counts that is in all four versions and that both sides changed differently.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TypeVar

from benchmarks.merges.entrants import merge_lines
from benchmarks.merges.triples import Kind, Objects, Recipe, Triple, git_directory

MOST_OF_A_FILE, MOST_OF_A_COMMIT, MOST_CLEAN, MOST_CONFLICTS = 6, 4, 150, 200
MOST_BYTES = 120_000
"""Of the original; merges of larger files say little more, and take long."""
TOGETHER = 100
"""So many commits are compared by one process of git."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, with what tells a copy of it."""

    id: str
    tree: str
    parents: tuple[str, ...]
    authored: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """The commits of a merge or of a pick, before its files are known."""

    kind: Kind
    people: Commit
    other: Commit
    original: Commit
    upstream: Commit
    local: Commit


class Miner:
    """Takes recipes from one clone until it has enough, or `seconds` are over."""

    def __init__(self, mirror: Path, repository: str, seconds: float) -> None:
        self.repository = repository
        self.directory = git_directory(mirror, repository)
        self.until = time.monotonic() + seconds
        self.left = {True: MOST_CLEAN, False: MOST_CONFLICTS}
        self.of_file: Counter[str] = Counter()
        self.of_commit: Counter[str] = Counter()
        self.seen: set[bytes] = set()

    def recipes(self) -> list[Recipe]:
        """The recipes, at most 6 of one file and 4 of one commit."""
        commits = self._commits()
        rows: list[Recipe] = []
        objects = Objects(self.directory)
        for candidates in in_parts(chain(self._merges(commits), picks(commits))):
            for candidate, paths in zip(candidates, self._changed_by_both(candidates), strict=True):
                rows += (recipe for path in paths if (recipe := self._recipe(objects, candidate, path)))
            if time.monotonic() > self.until or not any(self.left.values()):
                break
        objects.close()
        return rows

    def _git(self, *arguments: str, stdin: str = "") -> str:
        command = ["git", "--git-dir", str(self.directory), *arguments]
        done = subprocess.run(command, input=stdin.encode(), capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def _commits(self) -> dict[str, Commit]:
        commits = {}
        for line in self._git("log", "--all", "--format=%H%x00%T%x00%P%x00%at %ae %s").splitlines():
            fields = line.split("\0")
            if len(fields) == 4:
                commits[fields[0]] = Commit(fields[0], fields[1], tuple(fields[2].split()), fields[3])
        return commits

    def _merges(self, commits: dict[str, Commit]) -> Iterator[Candidate]:
        merges = [
            commit
            for commit in commits.values()
            if len(commit.parents) == 2 and all(p in commits for p in commit.parents)
        ]
        merges.sort(key=lambda commit: hashlib.sha1(commit.id.encode()).digest())
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for together in in_parts(merges):
                bases = threads.map(lambda merge: self._git("merge-base", "--all", *merge.parents).split(), together)
                for merge, base in zip(together, bases, strict=True):
                    if len(base) == 1 and base[0] in commits and base[0] not in merge.parents:
                        local, upstream = (commits[parent] for parent in merge.parents)
                        original = commits[base[0]]
                        yield Candidate("merge", merge, original, original, upstream, local)

    def _changed_by_both(self, candidates: tuple[Candidate, ...]) -> list[list[str]]:
        """The YAML files that both sides of each candidate changed differently."""
        pairs = [f"{c.original.tree} {side.tree}" for c in candidates for side in (c.upstream, c.local)]
        changed: dict[str, dict[str, str]] = {}
        into: dict[str, str] = {}
        options = ("--stdin", "-r", "--no-renames", "--diff-filter=M")
        for line in self._git("diff-tree", *options, stdin="\n".join([*pairs, ""])).splitlines():
            if not line.startswith(":"):
                into = changed.setdefault(line, {})
            elif re.search(r"\.ya?ml$", line):
                fields, _, path = line.partition("\t")
                into[path] = fields.split()[3]
        upstream, local = pairs[::2], pairs[1::2]
        return [
            [path for path, blob in changed.get(up, {}).items() if changed.get(lo, {}).get(path, blob) != blob]
            for up, lo in zip(upstream, local, strict=True)
        ]

    def _recipe(self, objects: Objects, candidate: Candidate, path: str) -> Recipe | None:
        people = candidate.people.id
        if self.of_file[path] >= MOST_OF_A_FILE or self.of_commit[people] >= MOST_OF_A_COMMIT:
            return None
        recipe = Recipe(self.repository, candidate.kind, people, candidate.other.id, False, path)
        texts = [objects.read(revision, path) for revision in recipe.revisions()]
        original, upstream, local, answer = texts
        if original is None or upstream is None or local is None or answer is None:
            return None
        key = hashlib.sha1(b"\0".join([original, *sorted([upstream, local])])).digest()
        is_picked = candidate.kind == "pick" and answer == local
        if key in self.seen or is_picked or len(original) > MOST_BYTES or any(_is_unfit(text) for text in texts):
            return None
        is_clean = not merge_lines(Triple(recipe, original, upstream, local, answer)).has_conflict
        if not self.left[is_clean]:
            return None
        self.seen.add(key)
        self.left[is_clean] -= 1
        self.of_file[path] += 1
        self.of_commit[people] += 1
        return Recipe(self.repository, candidate.kind, people, candidate.other.id, is_clean, path)


def in_parts(values: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """The values, as many at a time as one process of git compares."""
    rest = iter(values)
    while part := tuple(islice(rest, TOGETHER)):
        yield part


def _is_unfit(text: bytes | None) -> bool:
    """Whether a text is no YAML at all, or was committed with git's markers."""
    return not text or b"\0" in text or b"<<<<<<< " in text


def picks(commits: dict[str, Commit]) -> Iterator[Candidate]:
    """Commits that have an equal author, date and subject, but other parents."""
    groups: dict[str, list[Commit]] = {}
    for commit in commits.values():
        if len(commit.parents) == 1 and commit.parents[0] in commits:
            groups.setdefault(commit.authored, []).append(commit)
    copied = [group for group in groups.values() if len(group) > 1]
    copied.sort(key=lambda group: hashlib.sha1(group[0].authored.encode()).digest())
    for group in copied:
        for copy, picked in pairwise(group[:3]):  # git lists the newest first
            if picked.parents != copy.parents:
                original, local = commits[picked.parents[0]], commits[copy.parents[0]]
                yield Candidate("pick", copy, picked, original, picked, local)
