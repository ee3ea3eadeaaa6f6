"""Files that one side moved or renamed, followed by the other (rule R13).

The measure is that of git's detection of renames: equal content comes first, then likeness. A folder most of whose
files moved to one other folder has moved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname, join
from typing import Final, NamedTuple, TypeAlias

from krm_merge.krm import NO_RESOURCE, flaw_of, identity_of
from krm_merge.merge import FileDecision, Policy, file_content, image_repository, leaves_of
from krm_merge.packages.files.tree import Changes, File, Tree, folders_around, holds_resources
from krm_merge.startup import frozen, group_by_key
from krm_merge.text import MOST_COMPARED, THRESHOLD, MappingNode, documents_in

_EITHER: Final = ("upstream", "local")

Moves: TypeAlias = dict[str, str]
"""New paths by old ones."""


class Relocated(Mapping[str, File]):
    """A tree some of whose files have another path."""

    def __init__(self, tree: Tree, moves: Moves) -> None:
        """Takes the tree as it is; `moves` lead to paths that it does not have."""
        self._tree = tree
        self._moves = moves
        self._origins = {new: old for old, new in moves.items()}

    def __getitem__(self, path: str) -> File:
        """The file that has this path now."""
        if path in self._moves:
            raise KeyError(path)
        return self._tree[self._origins.get(path, path)]

    def __contains__(self, path: object) -> bool:
        """Whether a file has this path now; reads none."""
        return path not in self._moves and (path in self._origins or path in self._tree)

    def __iter__(self) -> Iterator[str]:
        """The paths in the order that the files had before."""
        return (self._moves.get(path, path) for path in self._tree)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._tree)


@frozen
class Followed:
    """Three versions of a package, in which what is one file has one path.

    `decisions` report moves of local's files, and files that both sides moved differently. `renamed` are the moves that
    upstream and local made since the original, `relocated` those that are made of each side's files.
    """

    original: Tree
    upstream: Tree
    local: Tree
    decisions: Callable[[Policy], list[FileDecision]]
    renamed: tuple[Moves, Moves] = ({}, {})
    relocated: tuple[Moves, Moves, Moves] = ({}, {}, {})

    def changes(self, local: Tree, changes: Changes) -> dict[str, File | None]:
        """What changes in the package as it was, of changes to its files where they are now."""
        moves = self.relocated[2]
        if not moves:
            return dict(changes)
        restored: dict[str, File | None] = dict.fromkeys(moves)
        restored |= {new: local[old] for old, new in moves.items()}
        return {path: file for path, file in (restored | dict(changes)).items() if file != local.get(path)}


def follow(original: Tree, upstream: Tree, local: Tree, policy: Policy) -> Followed:
    """The versions of a package with every file where the result has it (R13).

    A file that one side moved and the other changed gets the place that it was moved to. What the other side added to
    a folder that moved goes along. Where both moved a file differently, local's place is kept.
    """
    theirs = _moves_of(original, upstream)
    # After a merge, a file of local's may look like one that upstream deleted, and be another of upstream's (law D).
    changed = {old: upstream[path] for old in original if (path := theirs.get(old, old)) in upstream}
    of_local = _moves_of(original, local, changed)
    # A place that upstream has, too, is where local moved it only if upstream moved the same file there.
    ours = {old: new for old, new in of_local.items() if new not in upstream or theirs.get(old) == new}
    # What local has where upstream moved it to is that file, whatever else is like it (law D).
    ours |= {old: new for old, new in theirs.items() if new in local and old not in local}
    if not theirs and not ours:
        return Followed(original, upstream, local, lambda _: [])
    sides = (original, upstream, local)
    folders = _moved_folders(original, upstream, theirs), _moved_folders(original, local, ours)
    moves: tuple[Moves, Moves, Moves] = ({}, {}, {})
    twice: list[tuple[str, str, str]] = []
    for old in dict.fromkeys([*theirs, *ours]):
        places = [old, *(side.get(old, old) for side in (theirs, ours))]
        at = [place if place in side else None for place, side in zip(places, sides, strict=True)]
        # Neither side has it any more.
        if at[1] is None and at[2] is None:
            continue
        place = places[2] if old in ours else places[1]
        if old in theirs and old in ours and theirs[old] != ours[old]:
            merged = _merged_place(old, theirs[old], ours[old])
            place = merged or place
            if not merged:
                twice.append((old, theirs[old], ours[old]))
                place = (_moved_twice(twice[-1], policy).merged or b"").decode()
        elif not (old in theirs and old in ours) and _is_as_before(
            original[old], *((upstream, at[1]) if old in ours else (local, at[2]))
        ):
            # Nothing is to be merged: resources find each other, other files are where they are (R1, R4).
            continue
        sides_with_it = [(side, now) for side, now in zip(sides, at, strict=True) if now is not None]
        # Never in the place of another file of a side.
        if all(place == now or place not in side for side, now in sides_with_it):
            for side_moves, now in zip(moves, at, strict=True):
                if now is not None and now != place:
                    side_moves[now] = place
    for side_moves, side, side_paths, moved in zip(
        moves[1:], (upstream, local), (theirs, ours), reversed(folders), strict=True
    ):
        along = _going_along(original, side, side_paths, moved).items()
        side_moves |= {old: new for old, new in along if old not in side_moves and new not in side_moves.values()}

    def decisions(now: Policy) -> list[FileDecision]:
        reported = [_move_decision(old, new) for old, new in moves[2].items() if not any(new in both for both in twice)]
        return [*reported, *(_moved_twice(both, now) for both in twice)]

    trees = [Relocated(side, side_moves) if side_moves else side for side, side_moves in zip(sides, moves, strict=True)]
    return Followed(trees[0], trees[1], trees[2], decisions, (theirs, ours), moves)


# ---- places ----------------------------------------------------------------------------------------------------------


def _merged_place(old: str, theirs: str, ours: str) -> str:
    """The path of a file that both sides moved, folder and name merged apart; '' where both changed one of them."""
    parts = []
    for part in (dirname, basename):
        before, upstream, local = part(old), part(theirs), part(ours)
        if len({before, upstream, local}) == 3:
            return ""
        parts.append(upstream if local == before else local)
    return join(*parts)


def _is_as_before(before: File, side: Tree, place: str | None) -> bool:
    return place is not None and side[place] == before


def _move_decision(old: str, new: str) -> FileDecision:
    place = old.encode(), new.encode()
    message = f"moved from {old}, as upstream moved it"
    return FileDecision(new, "R13", message, "upstream", "info", place[0], place[1], place[0], place[1])


def _moved_twice(places: tuple[str, str, str], policy: Policy) -> FileDecision:
    """The conflict on the place of a file that both sides moved; its content is its path."""
    old, theirs, ours = places
    before, upstream, local = (place.encode() for place in places)
    policy = policy.of(NO_RESOURCE)
    what = f"upstream moved {old} to {theirs}, local moved it to {ours}"
    for resolution in policy.resolutions_at(()):
        if resolution.nature == "file" and resolution.fit("", *map(file_content, (before, upstream, local))):
            merged = upstream if resolution.choice == "upstream" else local
            message = f"{what}; settled by {resolution.place}: {resolution.choice}"
            sides = before, upstream, local
            return FileDecision(ours, "R13", message, "both", "info", *sides, merged, resolution, _EITHER)
    message = policy.explanation((), what, "local's place is kept", has_place=False)
    severity = policy.severity(())
    return FileDecision(ours, "R13", message, "both", severity, before, upstream, local, local, choices=_EITHER)


def _going_along(original: Tree, side: Tree, side_moves: Moves, folders: Moves) -> Moves:
    """The new paths of what a side added to folders that the other side moved."""
    moves: Moves = {}
    moved = set(side_moves.values())
    for path in side if folders else ():
        if path in original or path in moved:
            continue
        folder = next((folder for folder in folders_around(path) if folder in folders), "")
        if folder and (new := join(folders[folder], path[len(folder) + 1 :])) not in side:
            moves[path] = new
    return moves


def _moved_folders(original: Tree, side: Tree, moves: Moves) -> Moves:
    """The folders most of whose files a side moved to one other folder, and that it no longer has."""
    if not moves:
        return {}
    sizes, left = Counter(map(dirname, original)), set(map(dirname, side))
    moved: dict[str, Counter[str]] = defaultdict(Counter)
    for old, new in moves.items():
        moved[dirname(old)][dirname(new)] += 1
    folders = {folder: counts.most_common(1)[0] for folder, counts in moved.items() if folder and folder not in left}
    return {folder: new for folder, (new, count) in folders.items() if 2 * count > sizes[folder]}


# ---- likeness --------------------------------------------------------------------------------------------------------


def _moves_of(before: Tree, after: Tree, elsewhere: Tree | None = None) -> Moves:
    """The files that a side has at another path; `elsewhere` are those that the other side has, by their old paths.

    A side that has the other one's changes already resembles that more than the original (law D).
    """
    versions = [before] if elsewhere is None else [elsewhere, before]
    gone, new = [path for path in before if path not in after], [path for path in after if path not in before]
    if not gone or not new:
        return {}
    by_content: dict[File, list[str]] = {}
    for path in new:
        # Empty files are all alike.
        if (file := after[path]).data:
            by_content.setdefault(file, []).append(path)
    moves: Moves = {}
    # Equal content first: it is certain, and leaves fewer pairs to compare.
    for version in versions:
        candidates = [old for old in gone if old in version]
        moves |= _best((1.0, old, path) for old in candidates for path in by_content.get(version[old], ()))
        targets = set(moves.values())
        gone, new = [path for path in gone if path not in moves], [path for path in new if path not in targets]
        by_content = {file: [path for path in paths if path not in targets] for file, paths in by_content.items()}
    # Every pair costs a comparison: among more files only equal ones are moves, as in git.
    if len(gone) * len(new) <= MOST_COMPARED:
        of_versions, now = [_Contents(version) for version in versions], _Contents(after)
        scores = (
            (max(_likeness(version, old, now, path) for version in of_versions if old in version.tree), old, path)
            for old in gone
            for path in new
        )
        alike = _best(score for score in scores if score[0] >= THRESHOLD)
        # In a folder that moved, a file of the same name is the same, whatever its resource is called now.
        folders = _moved_folders(before, after, moves | alike | _of_one_name(gone, new))
        in_folder = ((old, join(folders[dirname(old)], basename(old))) for old in gone if dirname(old) in folders)
        pairs = ((old, path) for old, path in in_folder if path in new)
        same = {old: path for old, path in pairs if _likeness_of_lines(of_versions[-1], old, now, path) >= THRESHOLD}
        targets = set(same.values())
        moves |= {old: path for old, path in alike.items() if path not in targets} | same
    return moves


def _of_one_name(gone: Iterable[str], new: Sequence[str]) -> Moves:
    """The only new path with the file name of an old one."""
    by_name = group_by_key((basename(path), path) for path in new)
    return {old: by_name[basename(old)][0] for old in gone if len(by_name.get(basename(old), ())) == 1}


def _best(scores: Iterable[tuple[float, str, str]]) -> Moves:
    """The pairs that are each the other's one best; of equally good ones those whose paths are most alike."""
    ranked = sorted(((score, _path_likeness(old, new)), old, new) for score, old, new in scores)
    ranked.reverse()
    best: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for score, old, new in ranked:
        best[f"<{old}"].append(score)
        best[f">{new}"].append(score)
    pairs: Moves = {}
    targets: set[str] = set()
    for score, old, new in ranked:
        # Of two that are as good nobody knows which one it is.
        is_one = best[f"<{old}"].count(score) == 1 == best[f">{new}"].count(score)
        if is_one and old not in pairs and new not in targets:
            pairs[old] = new
            targets.add(new)
    return pairs


def _path_likeness(old: str, new: str) -> float:
    # Hardly any merge has files that moved.
    from difflib import SequenceMatcher

    return (basename(old) == basename(new)) + SequenceMatcher(None, old, new, autojunk=False).ratio()


class _Contents:
    """What the files of a tree hold; each file is looked at once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._lines: dict[str, Counter[bytes]] = {}
        self._held: dict[str, _Held] = {}

    def lines(self, path: str) -> Counter[bytes]:
        """The lines of a file, and how often each is there."""
        if path not in self._lines:
            self._lines[path] = Counter(line.strip() for line in self.tree[path].data.splitlines())
        return self._lines[path]

    def held(self, path: str) -> _Held:
        """The resources in a file."""
        if path not in self._held:
            self._held[path] = _describe(self.tree[path].data) if holds_resources(path) else _NOTHING_HELD
        return self._held[path]


def _likeness(before: _Contents, old: str, after: _Contents, new: str) -> float:
    """From 0 to 1: how alike the lines of two files are; 0 for files of other resources."""
    score = _likeness_of_lines(before, old, after, new)
    return score if score < THRESHOLD or _hold_the_same(before.held(old), after.held(new)) else 0.0


def _likeness_of_lines(before: _Contents, old: str, after: _Contents, new: str) -> float:
    """From 0 to 1: the share of equal lines, by their lengths."""
    first, second = before.tree[old], after.tree[new]
    # Binary files have no lines, and equal ones are paired already.
    if first.mode == "link" or second.mode == "link" or b"\0" in first.data + second.data:
        return 0.0
    # Manifests do not become other files.
    if holds_resources(old) != holds_resources(new):
        return 0.0
    lines = before.lines(old), after.lines(new)
    common = sum(len(line) * count for line, count in (lines[0] & lines[1]).items())
    return 2 * common / max(1, sum(len(line) * count for side in lines for line, count in side.items()))


class _Held(NamedTuple):
    """Kinds and names of the resources in a file, and the names and images of the containers that they run."""

    names: frozenset[tuple[str, str]]
    kinds: list[str]
    containers: frozenset[str]


_NOTHING_HELD: Final = _Held(frozenset(), [], frozenset())


def _hold_the_same(before: _Held, after: _Held) -> bool:
    """Whether most of the named resources went along, or resources of the same kinds run the same containers."""
    common = 2 * len(before.names & after.names)
    if (common > len(before.names) and common >= len(after.names)) or not (before.names | after.names):
        return True
    return bool(before.containers) and before[1:] == after[1:]


def _describe(data: bytes) -> _Held:
    roots = [root for root in documents_in(data) or () if isinstance(root, MappingNode) and not flaw_of(root)]
    identities = [identity_of(root) for root in roots]
    names = frozenset((identity.kind, identity.name) for identity in identities if identity.name)
    kinds = sorted(identity.kind for identity in identities)
    return _Held(names, kinds, frozenset(text for root in roots for text in _containers_in(root)))


def _containers_in(root: MappingNode) -> Iterator[str]:
    for path, value in leaves_of(root):
        if path[-3:] == ("containers", (), "name"):
            yield f"name {value}"
        elif path[-3:] == ("containers", (), "image"):
            yield image_repository(str(value))
