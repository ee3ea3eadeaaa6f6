"""Laws E to H on packages as texts, and the merge beside git's."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import starmap
from pathlib import Path
from typing import Literal, NamedTuple

from generated.facts import KEY, Facts, Identity, Place, facts, is_yaml
from generated.texts import Triple
from generated.written import COMMON_COMMENTS, Texts
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.three_way import SETTER
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees

Winner = Literal["upstream", "local"]


class Told(NamedTuple):
    """What the merge tells of a file: '' where it is none in particular."""

    severity: str
    rule: str
    file: str
    message: str


class Merged(NamedTuple):
    files: Texts
    messages: list[Told]

    def warnings(self, path: str | None = None) -> list[Told]:
        """Those of a file; without those of what the two sides bring about together: a mount of no volume (law G)."""
        loud = [message for message in self.messages if message.severity != "info" and message.rule != "G"]
        return [message for message in loud if path is None or message.file in ("", path)]


def merge(original: Texts, upstream: Texts, local: Texts, policy: Winner) -> Merged:
    """The program under test."""
    before, theirs, ours = (
        {path: File(text.encode()) for path, text in side.items()} for side in (original, upstream, local)
    )
    merged = merge_trees(before, theirs, ours, PackageMerger(Policy(policy), smart=True))
    files = {path: file.data.decode() for path, file in Changed(ours, merged.changes).items()}
    results = list(merged.results)
    return Merged(files, [Told(r.severity, r.rule, r.file or "", r.message) for r in results])


class Failure(NamedTuple):
    kind: str
    file: str
    detail: str

    def is_hard(self) -> bool:
        """Whether it breaks a law: a right merge may differ from git's, and what has another key may be another."""
        return not self.kind.startswith("differs") and self.kind not in SOFT


RENAMED, REKEYED = " (a resource renamed)", " (a key changed)"
SOFT_WHERE_RENAMED = {
    "H: conflict",
    "H: a likely rename",
    "H: scalar stays or doubled",
    "H: comment stays or doubled",
    "E: doubled in silence",
    "E: other counts in silence",
    "E: comment doubled in silence",
}
SOFT = {f"{kind}{note}" for kind in SOFT_WHERE_RENAMED for note in (RENAMED, REKEYED)}


class Sides(NamedTuple):
    """A file as it is on all three sides, read."""

    original: Facts
    upstream: Facts
    local: Facts


def failures(sides: Triple, policy: Winner) -> list[Failure]:
    """All that is wrong with the merges of three versions of a package."""
    original, upstream, local = sides
    merged = merge(original, upstream, local, policy)
    breaches = [*_faults(sides, merged), *_lost_in_silence(sides, merged)]
    for path in sorted(set(original) & set(upstream) & set(local)):
        read = _read(path, sides)
        if read is not None:
            breaches += _leaves(path, sides, read, merged)
            if not _moves(path, sides):
                breaches += _beside_git(path, sides, read, merged)
    return breaches


def _faults(sides: Triple, merged: Merged) -> Iterator[Failure]:
    """What parses on every side parses after the merge, and repeats no key."""
    for path, text in merged.files.items():
        if all(facts(path, side[path]) for side in sides if path in side):
            after = facts(path, text)
            if after is None:
                yield Failure("H: does not parse", path, text)
            elif after.faults:
                yield Failure("H: a repeated key", path, str(after.faults))


def _lost_in_silence(sides: Triple, merged: Merged) -> Iterator[Failure]:
    """Without a warning, a package holds what its sides say, as often as they say (laws E and F)."""
    original, upstream, local = sides
    if upstream.keys() | local.keys() <= original.keys():
        # What is in a file that both sides removed is gone for both, whatever a side added elsewhere.
        original = {path: text for path, text in original.items() if path in upstream or path in local}
    counts = [_package_counts(side) for side in (original, upstream, local, merged.files)]
    if merged.warnings() or any(side is None for side in counts):
        return
    read = [side for side in counts if side is not None]
    note = _renamed_somewhere(sides)
    for text in sorted({key for values, _ in read for key in values}):
        before, theirs, ours, after = (values[text] for values, _ in read)
        low, high = _range(before, theirs, ours)
        detail = f"{text}: {before} {theirs} {ours} -> {after}"
        if after == 0 < ours and before == theirs == 0:
            yield Failure("F: local's is lost in silence", "", detail)
        elif after == 0 < theirs and before == ours == 0:
            yield Failure("E: upstream's is lost in silence", "", detail)
        elif text.startswith(KEY):
            # The key of a mapping that one side removed stays with what the other side added to it (V3).
            continue
        elif after > max(before, theirs, ours, high) and not _wanders(text, sides):
            yield Failure(f"E: doubled in silence{note}", "", detail)
        elif not low <= after <= high and not _wanders(text, sides):
            yield Failure(f"E: other counts in silence{note}", "", detail)
    for text in sorted(read[3][1]):
        before, theirs, ours, after = (comments[text] for _, comments in read)
        # A common comment may leave one place and come to another, on one side only.
        high = theirs + ours if text in COMMON_COMMENTS else theirs + ours - before
        if after > max(before, theirs, ours, high):
            yield Failure(f"E: comment doubled in silence{note}", "", f"{text}: {before} {theirs} {ours} -> {after}")


def _package_counts(texts: Texts) -> tuple[Counter[str], Counter[str]] | None:
    """How often values and comments stand in all files that hold YAML or JSON; None where one does not parse."""
    values: Counter[str] = Counter()
    comments: Counter[str] = Counter()
    for path, text in texts.items():
        if is_yaml(path):
            if (content := facts(path, text)) is None:
                return None
            values.update(content.values)
            comments.update(content.comments)
    return values, comments


def _range(before: int, theirs: int, ours: int) -> tuple[int, int]:
    """How often a text may stand after the merge. What both sides did alike may have been one thing or two."""
    up, mine = theirs - before, ours - before
    both = before + up + mine
    if up > 0 and mine > 0:
        return before + max(up, mine), both
    if up < 0 and mine < 0:
        return max(0, both), before + min(up, mine)
    return both, both


def _read(path: str, sides: Triple) -> Sides | None:
    o, u, m = (facts(path, side[path]) for side in sides)
    return None if o is None or u is None or m is None else Sides(o, u, m)


def _wanders(value: str, sides: Triple) -> bool:
    """Whether a side took a value away in one place and has it in another: there it may stand on its own.

    An alias has it in another place, too: who changes its anchor changes both, and who removes it only one. An element
    that both sides added is there once, whatever a side removed for it.
    """
    if any(read and value in read.shared for side in sides for read in starmap(facts, side.items())):
        return True
    old, new, own = ({(at, *element) for at, text in side.items() for element in _elements(at, text)} for side in sides)
    if any(value in element for _, _, element in (new & own) - old):
        return True
    before, *changed = (_places(value, side) for side in sides)
    return any(before - side and side - before for side in changed)


def _places(value: str, texts: Texts) -> frozenset[tuple[str, Place]]:
    """The mappings and keyed elements that hold a value, by their paths."""
    return frozenset(
        (path, (identity, tuple(key for key in at if not key.isdigit())))
        for path, text in texts.items()
        if (read := facts(path, text)) and value in read.values
        for (identity, at), written in read.scalars
        if _holds(written, value)
    )


def _elements(path: str, text: str) -> frozenset[tuple[Place, str]]:
    return read.elements if (read := facts(path, text)) else frozenset()


def _holds(written: str, value: str) -> bool:
    """Whether a scalar is a value, or its line, or its part where it names an image."""
    kind, _, text = value.partition(" ")
    whole = written.partition(" ")[2]
    if kind == "|":
        return text in (line.strip() for line in whole.split("\n"))
    return text == whole or text in whole.rpartition(":")


def _renamed_somewhere(sides: Triple) -> str:
    """Whether a side may have given another name to what it has of the original, as `_renamed` tells of a file."""
    for path, text in sides[0].items():
        o, u, m = (facts(path, side.get(path, text)) for side in sides)
        if o and u and m and (note := _rename_note(Sides(o, u, m))):
            return note
    return ""


_REASONS_TO_TAKE_A_SIDE = ("one side changed the image, the other its version", "each side removed what the other kept")


def _leaves(path: str, sides: Triple, read: Sides, merged: Merged) -> Iterator[Failure]:
    """Law E by values whose paths lead through mappings, in resources that stand in one file on all sides."""
    after = facts(path, merged.files.get(path, ""))
    if not is_yaml(path) or after is None or _rename_note(read):
        return
    if any("cannot be merged by lines" in w.message or w.rule == "W2" for w in merged.warnings(path)):
        # R4: the whole file is one conflict. W2: it is reported as one that cannot be edited.
        return
    four = [*read, after]
    everywhere = set.intersection(*(set(side.identities) for side in four))
    paths = {place for side in four for place in side.leaves if place[0] in everywhere}
    inside = {(identity, at[:end]) for identity, at in paths for end in range(len(at))}
    # V3, N: what one side removed, or both narrowed to nothing, is whole or not there. V10: an image has its version.
    whole = {
        warning.message.partition(": ")[0]
        for warning in merged.warnings(path)
        if warning.rule in ("F5", "V10") or any(reason in warning.message for reason in _REASONS_TO_TAKE_A_SIDE)
    }
    git = git_merge(*(side[path] for side in sides))
    if git is not None and merged.files.get(path) == git and _is_right(path, git, read):
        # Law H: git follows what a side moved to another list, where the other side changed it.
        return
    for place in sorted(paths - inside):
        if any((place[0], place[1][:end]) in paths for end in range(len(place[1]))):
            # A mapping on one side, something else on another.
            continue
        if any(".".join(place[1][:end]) in whole for end in range(1, len(place[1]) + 1)):
            continue
        before, theirs, ours, now = (side.leaves.get(place) for side in four)
        if any(value in side.shared for side in read for value in (before, theirs, ours)):
            # V9: an alias is as it is written, and what an anchor got is there once.
            continue
        expected = ours if before == theirs or theirs == ours else theirs if before == ours else now
        if now != expected:
            detail = f"{place[0][1]} {'.'.join(place[1])}: {before} {theirs} {ours} -> {now}"
            yield Failure("E: one side's value", path, detail)


def _beside_git(path: str, sides: Triple, read: Sides, merged: Merged) -> Iterator[Failure]:
    """Law H: where git merges a file cleanly and rightly, so does the program. One failure, the worst."""
    before, theirs, ours = (side[path] for side in sides)
    after = merged.files.get(path)
    if theirs == ours:
        return
    if before in (theirs, ours):
        expected, whose = (theirs, "upstream's") if ours == before else (ours, "local's")
        if after != expected:
            yield Failure(f"W1: not {whose} bytes", path, _diff({path: expected}, merged.files, path))
    elif (git := git_merge(before, theirs, ours)) is not None and _is_right(path, git, read):
        warnings = merged.warnings(path)
        note = _rename_note(read)
        if warnings and "cannot be told apart" in warnings[0].message:
            # L3: a list that merging again would change is a conflict, whatever its lines say (law D).
            yield Failure("differs: a list that is not stable", path, warnings[0].message)
        elif warnings and warnings[0].rule == "V8" and SETTER in warnings[0].message:
            # H: lines would have a setter set what it sets on no side.
            yield Failure("differs: a setter of what one side renamed", path, warnings[0].message)
        elif warnings:
            what = {"R1": "a likely rename"}.get(warnings[0].rule, "conflict")
            yield Failure(f"H: {what}{note}", path, f"{warnings[0].rule}: {warnings[0].message}")
        elif after is None:
            if git.strip():
                yield Failure(f"H: file lost{note}", path, "")
        elif (content := facts(path, after)) is not None:
            if worst := next(_other_counts(path, read, content), None):
                yield Failure(f"H: {worst[0]}{note}", path, worst[1])
            elif after != git:
                yield Failure(_difference(git, after), path, _diff({path: git}, {path: after}, path))


def _is_right(path: str, git: str, read: Sides) -> bool:
    """Whether git's text parses, repeats no key, empties nothing and holds every change of one side."""
    content = facts(path, git)
    return (
        content is not None
        and not content.faults
        and content.empty <= read.original.empty | read.upstream.empty | read.local.empty
        and next(_other_counts(path, read, content), None) is None
        and not any(_is_mixed(place, value, read) for place, value in content.scalars)
    )


def _is_mixed(place: Place, value: str, read: Sides) -> bool:
    """Whether git made a value of no side that merging its own lines does not give: a conflict is right (V4)."""
    values = [[text for at, text in side.scalars if at == place] for side in read]
    if not all(values) or any(value in side for side in values):
        return False
    return (
        not all("\n" in text for side in values for text in side) or git_merge(*(side[0] for side in values)) != value
    )


def _other_counts(path: str, read: Sides, content: Facts) -> Iterator[tuple[str, str]]:
    """What is lost or doubled, the worst first."""
    value = "scalar" if is_yaml(path) else "line"
    wrong = [
        (f"{what} {'lost' if now < low else 'stays or doubled'}", f"{text}: {before} {theirs} {ours} -> {now}")
        for what, counters in (
            (value, [side.values for side in (*read, content)]),
            ("comment", [side.comments for side in (*read, content)]),
        )
        for text in sorted({text for counter in counters for text in counter})
        for before, theirs, ours, now in [[counter[text] for counter in counters]]
        for low, high in [_range(before, theirs, ours)]
        if not low <= now <= high
    ]
    order = [f"{value} lost", f"{value} stays or doubled", "comment lost", "comment stays or doubled"]
    return iter(sorted(wrong, key=lambda difference: order.index(difference[0])))


def _difference(git: str, after: str) -> str:
    """In what a right merge differs from git's."""
    lines = [text.splitlines() for text in (git, after)]
    if sorted(lines[0]) == sorted(lines[1]):
        return "differs: order"
    dense = [[line for line in side if line.strip()] for side in lines]
    if dense[0] == dense[1]:
        return "differs: blank lines"
    bare = [[re.sub(r"\s+", "", line) for line in side] for side in dense]
    return "differs: spaces" if bare[0] == bare[1] else "differs"


def _moves(path: str, sides: Triple) -> bool:
    """Whether a resource of the file stands in other files on one side than on another."""
    standing = [_standing(side) for side in sides]
    here = {identity for side in standing for identity, paths in side.items() if path in paths}
    return any(
        len({side[identity] for side in standing if identity in side}) > 1
        and any(side.get(identity, frozenset()) - {path} for side in standing)
        for identity in here
    )


def _standing(texts: Texts) -> dict[Identity, frozenset[str]]:
    places: dict[Identity, frozenset[str]] = {}
    for path, text in texts.items():
        if read := facts(path, text):
            for identity in read.identities:
                places[identity] = places.get(identity, frozenset()) | {path}
    return places


def _rename_note(read: Sides) -> str:
    """Whether a side may have given another name to a resource, an element or a field: git follows that blindly."""
    before, *changed = read
    if any(_gone(before, side) and _gone(side, before) and not _is_plain_rename(before, side) for side in changed):
        return RENAMED
    for side, other in (changed, changed[::-1]):
        gone, new = before.members - side.members, side.members - before.members
        holders = {(identity, path) for identity, path, _ in new}
        renamed = {(identity, (*path, key)) for identity, path, key in gone if (identity, path) in holders}
        touched = {(identity, path) for identity, path, _ in before.members ^ other.members}
        touched |= {place for place, _ in before.scalars ^ other.scalars}
        if any((identity, path[:end]) in renamed for identity, path in touched for end in range(len(path) + 1)):
            return REKEYED
    return ""


def _gone(before: Facts, after: Facts) -> list[Identity]:
    return [identity for identity in before.identities if identity not in after.identities]


def _is_plain_rename(before: Facts, after: Facts) -> bool:
    """Whether one resource has another name or namespace and is the same otherwise (R1)."""
    gone, new = _gone(before, after), _gone(after, before)
    if len(gone) != 1 or len(new) != 1 or gone[0][:2] != new[0][:2]:
        return False
    names, other = (
        {(at, value) for (resource, at), value in side.scalars if resource == identity and at not in _NAMES}
        for side, identity in ((before, gone[0]), (after, new[0]))
    )
    return names == other


_NAMES = (("metadata", "name"), ("metadata", "namespace"))


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="never-worse-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache(maxsize=1024)
def git_merge(original: str, upstream: str, local: str) -> str | None:
    """What git makes of three texts; None where they conflict."""
    folder = _folder()
    for name, text in (("L", local), ("O", original), ("U", upstream)):
        (folder / name).write_bytes(text.encode())
    command = ["git", "merge-file", "-p", "--quiet", "L", "O", "U"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return run.stdout.decode() if run.returncode == 0 else None


def _different(first: Texts, other: Texts) -> list[str]:
    return sorted(path for path in {*first, *other} if first.get(path) != other.get(path))


def _diff(first: Texts, other: Texts, path: str) -> str:
    """The lines in which two texts differ."""
    if path not in first or path not in other:
        return "only one of them has the file"
    a, b = first[path].splitlines(keepends=True), other[path].splitlines(keepends=True)
    lines = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            lines += [f"@ {a1 + 1}\n", *(f"-{line!r}\n" for line in a[a1:a2]), *(f"+{line!r}\n" for line in b[b1:b2])]
    return "".join(lines)
