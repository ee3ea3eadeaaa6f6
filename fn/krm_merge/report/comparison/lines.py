"""Explains each line that local's text changes, in the five versions that a comparison looks at."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from posixpath import basename
from typing import Protocol, TypeAlias

from krm_merge.krm import KPTFILE, FieldPath, Identity, flaw_of, identity_of
from krm_merge.merge import matching_blocks
from krm_merge.report.comparison.difference import CAUSES, VERSIONS, Cause, ProgramName, VersionName
from krm_merge.report.comparison.spots import ANNOTATIONS, LAYOUT, Range, Spot, spots, without_notes
from krm_merge.text import MappingNode, Node, TextError, is_empty, read, split_documents, to_value


class FileContent(Protocol):
    """A file: its bytes, and whether it is a link or executable."""

    @property
    def data(self) -> bytes:
        """The bytes; of a link, its target."""
        ...

    @property
    def mode(self) -> str:
        """file, executable or link."""
        ...


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document of a file. `root` is None where it holds only comments, `identity` where it is no resource."""

    text: str
    root: MappingNode | None
    identity: Identity | None


class ComparedVersion:
    """One version, read when it is asked for."""

    def __init__(self, files: Mapping[str, FileContent]) -> None:
        """Takes the files by path."""
        self.files = files
        self._read: dict[str, list[ComparedDocument] | None] = {}

    def documents(self, path: str) -> list[ComparedDocument] | None:
        """The documents of a YAML file; none where there is no such file, None where it is not read as YAML."""
        if path not in self._read:
            self._read[path] = _documents(path, self.files[path]) if path in self.files else []
        return self._read[path]

    def resource(self, place: str, identity: Identity) -> MappingNode | None:
        """A resource: that in its file comes first. There is one Kptfile in a file of that name."""
        for document in self.documents(place) or ():
            if document.identity == identity or (basename(place) == KPTFILE and document.identity is not None):
                return document.root
        return self._anywhere.get(identity) if identity.kind else None

    def has(self, place: str, identity: Identity) -> bool:
        """Whether a file holds a resource."""
        return any(document.identity == identity for document in self.documents(place) or ())

    @cached_property
    def _anywhere(self) -> dict[Identity, MappingNode]:
        roots: dict[Identity, MappingNode] = {}
        for path in self.files:
            for document in self.documents(path) or ():
                if document.identity is not None and document.root is not None:
                    roots.setdefault(document.identity, document.root)
        return roots


ComparedVersions: TypeAlias = Mapping[VersionName, ComparedVersion]


def pairs(
    first: list[ComparedDocument], second: list[ComparedDocument]
) -> Iterator[tuple[ComparedDocument | None, ComparedDocument | None]]:
    """The documents of two versions of a file that are the same one; those that only one has, with None."""
    others = _by_key(second)
    for key, document in _by_key(first).items():
        yield document, others.pop(key, None)
    yield from ((None, document) for document in others.values())


def meaning(node: Node | None, path: FieldPath = ()) -> Hashable | None:
    """A value that can be compared, without kpt's notes in it; None where there is nothing."""
    if node is None:
        return None
    if path not in ((), ANNOTATIONS[:1], ANNOTATIONS):
        return node.canonical
    return json.dumps(without_notes(to_value(node), path), sort_keys=True)


def _by_key(documents: list[ComparedDocument]) -> dict[Hashable, ComparedDocument]:
    """The documents by what they are known by in their file; the second of a name is another one."""
    seen: Counter[Hashable] = Counter()
    by_key: dict[Hashable, ComparedDocument] = {}
    for document in documents:
        key = document.identity if document.identity is not None else document.root is None
        seen[key] += 1
        by_key[key, seen[key]] = document
    return by_key


def _documents(path: str, file: FileContent) -> list[ComparedDocument] | None:
    if file.mode == "link" or not (path.endswith((".yaml", ".yml")) or basename(path) == KPTFILE):
        return None
    documents = []
    try:
        for data in split_documents(file.data, path):
            text = data.decode("utf-8")
            root = None if is_empty(data) else read(text)
            if not (root is None or isinstance(root, MappingNode)):
                return None
            identity = None if root is None or flaw_of(root) else identity_of(root)
            documents.append(ComparedDocument(text, root, identity))
    except (UnicodeDecodeError, TextError):
        return None
    return documents


def line_causes(versions: ComparedVersions, program: ProgramName) -> Counter[Cause]:
    """How many lines of local a program changes, by cause; a changed line counts once in each version."""
    local, outcome = versions["local"], versions[program]
    paths = (path for path in {**local.files, **outcome.files} if local.files.get(path) != outcome.files.get(path))
    return sum((_of_file(path, versions, outcome) for path in paths), Counter())


def _of_file(path: str, versions: ComparedVersions, outcome: ComparedVersion) -> Counter[Cause]:
    original, upstream, local = (versions[side] for side in VERSIONS[:3])
    documents = [version.documents(path) for version in (local, outcome)]
    if documents[0] is None or documents[1] is None:
        return _of_text(*[version.files.get(path) for version in (original, upstream, local, outcome)])
    counts: Counter[Cause] = Counter()
    sides = [version.documents(path) or [] for version in (original, upstream)]
    for old, new in pairs(documents[0], documents[1]):
        document = old or new
        assert document is not None
        if old is not None and new is not None and old.text == new.text:
            continue
        if document.root is None:
            # Comments alone: the same text is the same document.
            texts = [document.text in [document.text for document in side] for side in sides]
            is_theirs = texts == ([True, False] if new is None else [False, True])
            cause: Cause = "upstream" if is_theirs else "comments" if "#" in document.text else "layout"
        elif old is None or new is None:
            cause = _cause_of_document(*[counterpart(document, side) for side in sides], is_removed=new is None)
        else:
            # A side may have it in another file.
            roots = [_root(path, old, version) for version in (original, upstream)]
            counts += _of_document(path, old, new, *roots)
            continue
        counts[cause] += len(document.text.splitlines())
    return counts


def unexplained_lines(first: str, second: str, differing: Iterable[Spot]) -> list[str]:
    """The lines in which two texts differ and that no spot touches."""
    lines = [text.splitlines() for text in (first, second)]
    return [
        lines[at][number]
        for at, number, cause in _causes(first, second, [(spot, "layout") for spot in differing])
        if cause == "unexplained"
    ]


def _of_document(
    path: str, old: ComparedDocument, new: ComparedDocument, original: MappingNode | None, upstream: MappingNode | None
) -> Counter[Cause]:
    assert old.root is not None
    assert new.root is not None
    roots = original or old.root, upstream or old.root, new.root
    by_original, by_upstream, differing = (spots(old.root, root, in_kptfile=path.endswith(KPTFILE)) for root in roots)
    ours = {_key(spot) for spot in by_original}
    theirs = {_key(spot) for spot in by_upstream} - ours
    caused = [(spot, _cause_of(spot, ours, theirs)) for spot in differing]
    return Counter(cause for *_, cause in _causes(old.text, new.text, caused))


_Key: TypeAlias = tuple[str, FieldPath, Hashable]


def _root(path: str, document: ComparedDocument, version: ComparedVersion) -> MappingNode | None:
    if document.identity is not None:
        return version.resource(path, document.identity)
    return counterpart(document, version.documents(path) or [])


def _key(spot: Spot) -> _Key:
    return spot.kind, spot.path, spot.content


def _cause_of(spot: Spot, ours: set[_Key], theirs: set[_Key]) -> Cause:
    """How a difference from local comes about, by how local differs from original, and from upstream alone."""
    key, is_ours = _key(spot), _touches(spot, ours)
    if spot.kind == "note":
        return "notes"
    # What comes takes nothing from local.
    if key in theirs and (spot.first is None or not is_ours):
        return "upstream"
    if spot.kind in LAYOUT:
        return "layout"
    if key in ours:
        return "undone"
    if spot.kind == "comment":
        return "comments"
    if _touches(spot, theirs):
        return "both" if is_ours else "upstream"
    if is_ours:
        return "undone"
    return "order" if spot.kind == "order" else "alone"


def _touches(spot: Spot, keys: set[_Key]) -> bool:
    """Whether some of these are at the place of a spot, around it or inside it."""
    return any(
        kind == spot.kind and (path[: len(spot.path)] == spot.path or spot.path[: len(path)] == path)
        for kind, path, _ in keys
    )


def _causes(first: str, second: str, caused: Sequence[tuple[Spot, Cause]]) -> Iterator[tuple[int, int, Cause]]:
    """Each line that only one of two texts has: 0 for the first text or 1, its number from 0, and the cause."""
    lines = [text.splitlines(keepends=True) for text in (first, second)]
    touched = _causes_by_line([list(accumulate(map(len, of), initial=0)) for of in lines], caused)
    hunks = _hunks(*lines)
    bare = [[line.partition("#")[0].strip() for line in of] for of in lines]
    shared_lines = set(bare[0]) & set(bare[1])
    one_sided = [cause for spot, cause in caused if _is_one_sided(spot)]
    for hunk in hunks:
        # What only the other text has is on none of our lines, but may change one of them.
        beside = [cause for side, number in hunk for cause, is_alone in touched[side].get(number, ()) if is_alone]
        for side, number in hunk:
            causes = [cause for cause, _ in touched[side].get(number, ())] or beside
            if not causes and bare[side][number] in shared_lines:
                # The line itself is in both: others come or go around it.
                causes = one_sided or [cause for _, cause in caused]
            yield side, number, min(causes, key=CAUSES.index, default="unexplained")


def _hunks(first: list[str], second: list[str]) -> list[list[tuple[int, int]]]:
    """The stretches in which two texts differ: the lines of each, as the number of the text and that of the line."""
    hunks, at = [], (0, 0)
    for a, b, length in [*matching_blocks(first, second), (len(first), len(second), 0)]:
        if hunk := [*((0, n) for n in range(at[0], a)), *((1, n) for n in range(at[1], b))]:
            hunks.append(hunk)
        at = a + length, b + length
    return hunks


def _is_one_sided(spot: Spot) -> bool:
    """Whether only one text has something there; a comment at two places is one that goes and one that comes."""
    return spot.first is None or spot.second is None or spot.kind == "comment"


def _causes_by_line(
    starts: Sequence[list[int]], caused: Sequence[tuple[Spot, Cause]]
) -> list[dict[int, list[tuple[Cause, bool]]]]:
    """The causes at each line of two texts, and whether only one of them has something at the place."""
    touched: list[dict[int, list[tuple[Cause, bool]]]] = [{}, {}]
    for spot, cause in caused:
        for side, place in enumerate((spot.first, spot.second)):
            for number in () if place is None else _lines(starts[side], place):
                touched[side].setdefault(number, []).append((cause, _is_one_sided(spot)))
    return touched


def _lines(starts: list[int], place: Range) -> range:
    return range(bisect_right(starts, place[0]) - 1, bisect_right(starts, max(place[0], place[1] - 1)))


def counterpart(document: ComparedDocument, others: list[ComparedDocument]) -> MappingNode | None:
    """The same resource among the documents of another version."""
    return next((other.root for other in others if other.identity == document.identity and other.root), None)


def _cause_of_document(original: MappingNode | None, upstream: MappingNode | None, *, is_removed: bool) -> Cause:
    """Why a document comes, or goes where it `is_removed`."""
    if is_removed:
        return "undone" if original is None else "upstream" if upstream is None else "alone"
    if original is None:
        return "alone" if upstream is None else "upstream"
    return "both" if upstream is None or meaning(upstream) != meaning(original) else "undone"


def _of_text(
    first: FileContent | None, theirs: FileContent | None, ours: FileContent | None, new: FileContent | None
) -> Counter[Cause]:
    """The lines of a file that is no YAML, all for one reason."""
    lines = [(b"" if file is None else file.data).splitlines(keepends=True) for file in (ours, new)]
    count = sum(map(len, lines)) - 2 * sum(length for *_, length in matching_blocks(*lines))
    cause: Cause = "upstream" if ours == first else "undone" if theirs == first else "both"
    if first == theirs == ours:
        cause = "alone"
    return Counter({cause: max(count, 1)})
