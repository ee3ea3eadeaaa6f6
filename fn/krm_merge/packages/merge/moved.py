"""Files that one side moved or renamed, followed by the other (rule R13).

What a file holds says which one it is: its resources, by what they are called, or its bytes. Likeness does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from posixpath import basename, dirname, join
from typing import Final, TypeAlias

from krm_merge.krm import NO_RESOURCE, Identity, Resource, flaw_of, identity_of
from krm_merge.merge import MERGE_COMMENT, UPSTREAM_IDENTIFIER, CommentReader, FileDecision, Policy, file_content
from krm_merge.packages.files.tree import Changes, File, Tree, folders_around, holds_resources
from krm_merge.packages.merge.other_files import plain
from krm_merge.packages.references.graph import mentions, words_of
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.startup import frozen, group_by_key, replace
from krm_merge.text import MappingNode, documents_in

_EITHER: Final = ("upstream", "local")

Moves: TypeAlias = dict[str, str]
"""New paths by old ones."""


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
    theirs = _moves_of(original, upstream, {}, {})
    # After a merge, local has its file as upstream changed it (law D).
    ours = _moves_of(original, local, upstream, theirs)
    # Where upstream has another file, or deleted the old one, local's is its own: it may be a copy made before (law D).
    ours = {
        old: new
        for old, new in ours.items()
        if theirs.get(old) == new or (new not in upstream and theirs.get(old, old) in upstream)
    }
    # What local has where upstream moved it to is that file, whatever it holds by now (law D).
    ours |= {old: new for old, new in theirs.items() if new in local and old not in local}
    if not theirs and not ours:
        return Followed(original, upstream, local, lambda _: [])
    sides, moves = (original, upstream, local), (Moves(), Moves(), Moves())
    twice: list[tuple[str, str, str]] = []
    taken: set[str] = set()
    for old in dict.fromkeys([*theirs, *ours]):
        at = old, theirs.get(old, old), ours.get(old, old)
        place = at[2] if old in ours else at[1]
        if old in theirs and old in ours and at[1] != at[2]:
            place = _merged_place(*at)
            if not place:
                twice.append(at)
                place = (_moved_twice(at, policy).merged or b"").decode()
        elif (old in theirs) != (old in ours) and original[old] == (local if old in theirs else upstream).get(old):
            # Nothing is to be merged: resources find each other, other files are where they are (R1, R4).
            continue
        # Never in the place of another file of a side.
        if place not in taken and all(place == now or place not in side for now, side in zip(at, sides, strict=True)):
            taken.add(place)
            for side_moves, side, now in zip(moves, sides, at, strict=True):
                if now in side and now != place:
                    side_moves[now] = place
    for side, of_side, side_moves, other, of_other in (
        (upstream, theirs, moves[1], local, ours),
        (local, ours, moves[2], upstream, theirs),
    ):
        folders = _moved_folders(original, other, of_other)
        for path in sorted(set(side) - original.keys() - set(of_side.values())) if folders else ():
            # What a side added to a folder that the other moved goes along.
            folder = next((folder for folder in folders_around(path) if folder in folders), "")
            new = join(folders.get(folder, ""), path[len(folder) + 1 :])
            if folder and new not in side and new not in taken:
                side_moves[path] = new

    def decisions(now: Policy) -> list[FileDecision]:
        moved = ((new, old, old.encode(), new.encode()) for old, new in moves[2].items())
        return [
            FileDecision(new, "R13", f"moved from {old}, as in upstream", "upstream", "info", *2 * (before, after))
            for new, old, before, after in moved
            if not any(new in both for both in twice)
        ] + [_moved_twice(both, now) for both in twice]

    trees = [
        {side_moves.get(path, path): file for path, file in side.items()} if side_moves else side
        for side, side_moves in zip(sides, moves, strict=True)
    ]
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


# ---- what moved ------------------------------------------------------------------------------------------------------


def _moves_of(original: Tree, side: Tree, other: Tree, other_moves: Moves) -> Moves:
    """The files that a side has at another path, each the other's only candidate.

    A side may have its files as the `other` one changed them.
    """
    gone, new = ([path for path in tree if path not in than] for tree, than in ((original, side), (side, original)))
    if not gone or not new:
        return {}
    versions = {
        old: [tree[path] for tree, path in ((original, old), (other, other_moves.get(old, old))) if path in tree]
        for old in gone
    }
    by_content = group_by_key((_content(path, side[path]), path) for path in new if side[path].data)
    # Of several equal ones two are enough to see that nobody knows which one it is.
    moves = _only(
        (old, path) for old in gone for v in versions[old] for path in by_content.get(_content(old, v), ())[:2]
    )
    targets = set(moves.values())
    held = {path: identities for path in new if path not in targets and (identities := _identities(path, side[path]))}
    by_identity = group_by_key((identity, path) for path, identities in held.items() for identity in identities)
    before = {old: [_identities(old, v) for v in versions[old]] for old in gone if held and old not in moves}
    candidates = [
        (old, path, held[path].difference(*of_versions))
        for old, of_versions in before.items()
        for identities in filter(None, of_versions)
        for path in _two_with(identities, held, by_identity)
    ]
    words = words_of(identity.name for _, _, others in candidates for identity in others)
    naming = ((path, file) for path, file in original.items() if mentions(file.data, words))
    elsewhere = {identity for path, file in naming for identity in _identities(path, file)}
    moves |= _only((old, path) for old, path, others in candidates if elsewhere.isdisjoint(others))
    # A folder has one Kustomization, which is known by its folder.
    folders = _moved_folders(original, side, moves).items()
    around = ((join(folder, name), join(to, name)) for folder, to in folders for name in KUSTOMIZATION_FILES)
    olds, free = versions.keys() - moves.keys(), set(new).difference(moves.values())
    return moves | _only((old, path) for old, path in around if old in olds and path in free)


def _only(candidates: Iterable[tuple[str, str]]) -> Moves:
    """The pairs in which each is the other's only candidate."""
    pairs = list(dict.fromkeys(candidates))
    counts = Counter(old for old, _ in pairs), Counter(new for _, new in pairs)
    return {old: new for old, new in pairs if counts[0][old] == counts[1][new] == 1}


def _two_with(
    identities: frozenset[Identity], held: Mapping[str, frozenset[Identity]], paths: Mapping[Identity, list[str]]
) -> Iterator[str]:
    """The first two files with these resources: as many as are needed to see that several have them."""
    rarest = min((paths.get(identity, []) for identity in identities), key=len)
    return islice((path for path in rarest if identities <= held[path]), 2)


def _content(path: str, file: File) -> tuple[bytes, bool, bool]:
    """What is equal in files that are one, whatever their line ends; a manifest does not become another file."""
    return plain(path, file).data, file.mode == "link", holds_resources(path)


def _moved_folders(original: Tree, side: Tree, moves: Moves) -> Moves:
    """The folders whose files a side all moved to one other folder, and that it no longer has.

    Their Kustomizations, which name files by where they are, may have changed with that.
    """
    left = set(map(dirname, side)) if moves else set[str]()
    followed = [path for path in original if path in moves or basename(path) not in KUSTOMIZATION_FILES]
    places = group_by_key((dirname(path), dirname(moves.get(path, path))) for path in followed if moves)
    folders = {folder: set(to) for folder, to in places.items() if folder and folder not in left}
    return {folder: to.pop() for folder, to in folders.items() if len(to) == 1 and folder not in to}


def _identities(path: str, file: File) -> frozenset[Identity]:
    """What the resources in a file are called; nothing where it holds anything else, or what has no name."""
    if not holds_resources(path) or file.mode == "link":
        return frozenset()
    roots = documents_in(file.data) or []
    identities = [_identity(root) for root in roots if isinstance(root, MappingNode) and not flaw_of(root)]
    is_named = len(identities) == len(roots) and all(identity.name for identity in identities)
    return frozenset(identities if is_named else ())


def _identity(root: MappingNode) -> Identity:
    """What a resource is called, or was upstream, as kpt notes it."""
    identity, metadata = identity_of(root), root.entry("metadata")
    line = CommentReader().of(root, metadata).line if metadata is not None else None
    noted = Resource.from_tree(root).annotations.get(UPSTREAM_IDENTIFIER, "").split("|")
    if line is not None and line.startswith(MERGE_COMMENT):
        namespace, _, name = line.removeprefix(MERGE_COMMENT).strip().partition("/")
        identity = replace(identity, namespace=namespace, name=name or identity.name)
    elif len(noted) == 4:
        identity = Identity(*noted)
    # kpt notes `default` where a resource has no namespace.
    return replace(identity, namespace=identity.namespace or "default")
