"""Judges what kpt does at one place, by the sides of the merge: its values, and the bytes beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from posixpath import basename
from typing import TypeAlias

from krm_merge.krm import KPTFILE, FieldPath, ResourceRef, format_path, identity_of, parse_path
from krm_merge.merge import Policy, shorten
from krm_merge.report.comparison.difference import OF_BYTES, VERSIONS, Difference, FindingName
from krm_merge.report.comparison.lines import (
    ComparedDocument,
    ComparedVersions,
    counterpart,
    pairs,
    unexplained_lines,
)
from krm_merge.report.comparison.spots import LAYOUT, Spot, comments_of, spots
from krm_merge.report.reading import resource_ref
from krm_merge.safe_text import REDACTED, quantity
from krm_merge.schema import Secrecy, is_telling
from krm_merge.text import BOM_BYTES, MappingNode


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """What each version has at one place, as values that can be compared; None where it has nothing.

    `kpt_has_nothing_in_it` says that kpt leaves an empty mapping or list.
    """

    original: Hashable | None
    upstream: Hashable | None
    local: Hashable | None
    kpt: Hashable | None
    merged: Hashable | None
    kpt_has_nothing_in_it: bool = field(default=False, kw_only=True)

    @property
    def changed_locally(self) -> bool:
        """Whether local differs from the original."""
        return self.local != self.original

    @property
    def changed_upstream(self) -> bool:
        """Whether upstream differs from the original."""
        return self.upstream != self.original


Judgement: TypeAlias = tuple[FindingName, str]
"""What kpt does, and a sentence on how it comes about."""


def judge(place: JudgedPlace) -> Judgement:
    """The judgement on a place where kpt has something else than the merge."""
    if place.merged is None:
        return _kept_by_kpt(place)
    if place.kpt is None:
        return _removed_by_kpt(place)
    if place.changed_locally and place.changed_upstream:
        return _changed_by_both(place)
    if place.changed_locally:
        back = "puts the original's value back" if place.kpt == place.original else "has another value"
        return "local-change-lost", f"{_by('local', place)}; kpt {back}"
    if place.changed_upstream:
        old = "keeps the old value" if place.kpt == place.original else "has another value"
        return "upstream-change-missed", f"{_by('upstream', place)}; kpt {old}"
    return "changed-alone", "neither side changed it; kpt does"


def _kept_by_kpt(place: JudgedPlace) -> Judgement:
    """The merge has nothing here."""
    original, upstream, local = place.original, place.upstream, place.local
    part = "it" if place.kpt in (original, upstream) else "a part of it"
    if place.kpt_has_nothing_in_it and place.kpt not in (upstream, local):
        return "remains", "kpt leaves an empty value"
    if original is not None and local is None:
        also = ", as upstream did" if upstream is None else ""
        return "restored", f"local removed it{also}; kpt brings {part} back"
    if original is not None and upstream is None and not place.changed_locally:
        return "remains", f"upstream removed it; kpt leaves {part}"
    if local is None and upstream is None:
        return "changed-alone", "no side has it; kpt adds it"
    return "decided-otherwise", "kpt keeps it, krm-merge does not"


def _removed_by_kpt(place: JudgedPlace) -> Judgement:
    """Kpt has nothing here."""
    if place.local is not None and place.changed_locally:
        return "local-change-lost", f"{_by('local', place)}; kpt removes it"
    if place.upstream is None:
        return "decided-otherwise", "kpt removes it, krm-merge keeps it"
    if place.changed_upstream or place.local is None:
        leaves = "leaves it out" if place.local is None else "removes it"
        return "upstream-change-missed", f"{_by('upstream', place)}; kpt {leaves}"
    return "unchanged-lost", "neither side removed it; kpt does"


def _changed_by_both(place: JudgedPlace) -> Judgement:
    theirs, ours = place.kpt == place.upstream, place.kpt == place.local
    if place.merged == place.local:
        takes = "takes upstream's" if theirs else "has another value"
        return "local-change-lost", f"both sides changed it; kpt {takes}, krm-merge keeps local's"
    if place.merged == place.upstream:
        keeps = "keeps local's" if ours else "has another value"
        return "decided-otherwise", f"both sides changed it; kpt {keeps}, krm-merge takes upstream's"
    if theirs:
        return "local-change-lost", "both sides changed it; kpt takes upstream's, krm-merge merges both"
    if ours:
        return "upstream-change-missed", "both sides changed it; kpt keeps local's, krm-merge merges both"
    return "decided-otherwise", "both sides changed it; kpt merges it otherwise"


def _by(side: str, place: JudgedPlace) -> str:
    return f"{side} {'added' if place.original is None else 'changed'} it"


_MOST_NAMED = 3
_MARKS = {"document marks": 1}


def differences_in_bytes(
    versions: ComparedVersions, policy: Policy, differences: Sequence[Difference]
) -> Iterator[Difference]:
    """The differences that those of values, `differences`, do not explain."""
    ours, kpt = versions["krm-merge"].files, versions["kpt"].files
    for path in sorted({**ours, **kpt}):
        if ours.get(path) == kpt.get(path):
            continue
        yield from _of_mode(path, versions)
        first, second = (versions[name].documents(path) for name in ("krm-merge", "kpt"))
        has_resource = any(document.root is not None for document in (*(first or ()), *(second or ())))
        # Or only one outcome has the file, and no resource is in it.
        if first is None or second is None or not (has_resource or (first and second)):
            contents = {name: file.data for name in VERSIONS if (file := versions[name].files.get(path)) is not None}
            is_listed = any(difference.file == path for difference in differences)
            if not is_listed and contents.get("kpt") != contents.get("krm-merge"):
                finding, message = judge(JudgedPlace(*map(contents.get, VERSIONS)))
                yield Difference(finding, path, None, "", message)
        else:
            yield from _File(versions, policy, path, differences).differences(first, second)


def _of_mode(path: str, versions: ComparedVersions) -> Iterator[Difference]:
    """Where one program leaves a link or an executable, and the other does not."""
    modes = {name: file.mode for name in VERSIONS if (file := versions[name].files.get(path)) is not None}
    if "kpt" in modes and "krm-merge" in modes and modes["kpt"] != modes["krm-merge"]:
        finding, message = judge(JudgedPlace(*map(modes.get, VERSIONS)))
        yield Difference(finding, path, None, "", f"kind of file: {message}", {**modes})


class _File:
    """A file that is YAML in both outcomes."""

    def __init__(
        self, versions: ComparedVersions, policy: Policy, path: str, differences: Sequence[Difference]
    ) -> None:
        self._versions = versions
        self._policy = policy
        self._path = path
        # A resource that is in another file is listed there.
        self._elsewhere = [difference for difference in differences if difference.file != path]
        self._known = [difference for difference in differences if difference.file == path]

    def differences(self, first: list[ComparedDocument], second: list[ComparedDocument]) -> Iterator[Difference]:
        """What differs in each document, and between them."""
        order = []
        for ours, kpt in pairs(first, second):
            if ours is not None and kpt is not None:
                order.append(second.index(kpt))
                if ours.root is not None and kpt.root is not None and ours.text != kpt.text:
                    yield from self._of_document(ours, kpt, ours.root, kpt.root)
            elif (only := ours or kpt) is not None and only.root is None:
                yield self._of_comments_alone(only, is_ours=kpt is None)
            elif only is not None and not self._is_listed(only):
                yield self._difference("unexplained", only.root, "only one of both has it here")
        if order != sorted(order):
            yield self._difference("order", None, "kpt has the documents of the file in another order")
        data = [file.data for name in ("krm-merge", "kpt") if (file := self._versions[name].files.get(self._path))]
        if len({content.startswith(BOM_BYTES) for content in data}) == 2:
            yield self._difference("layout", None, "only one of both begins with a byte order mark", layout=_MARKS)

    def _is_listed(self, document: ComparedDocument) -> bool:
        elsewhere = (
            difference for difference in self._elsewhere if difference.resource is not None and not difference.path
        )
        return any(_is_about(difference, document) for difference in (*self._known, *elsewhere))

    def _of_document(
        self, ours: ComparedDocument, kpt: ComparedDocument, first: MappingNode, second: MappingNode
    ) -> Iterator[Difference]:
        spots_of_document = spots(first, second, in_kptfile=basename(self._path) == KPTFILE)
        difference = [
            steps_of(paths.path) for paths in self._known if paths.finding not in OF_BYTES and _is_about(paths, ours)
        ]
        for spot in spots_of_document:
            if spot.kind == "order" and not any(_are_related(spot.path, path) for path in difference):
                yield self._difference("order", first, "kpt has the elements in another order", spot.path)
            elif spot.kind == "value" and not any(_are_related(spot.path, path) for path in difference):
                yield self._difference("unexplained", first, "the values differ", spot.path)
        yield from self._of_comments(ours, [spot for spot in spots_of_document if spot.kind == "comment"], first)
        if lines := unexplained_lines(ours.text, kpt.text, spots_of_document):
            shown = "" if self._is_hidden(self._roots_of(ours)) else f": {_list_texts(lines)}"
            yield self._difference("unexplained", first, f"nothing says why the lines differ{shown}")
        if layout := Counter(str(spot.kind) for spot in spots_of_document if spot.kind in LAYOUT):
            named = [kind if layout[kind] == 1 else f"{kind} ({layout[kind]:,})" for kind in LAYOUT if layout[kind]]
            message = f"kpt writes the same otherwise: {', '.join(named)}"
            yield self._difference("layout", first, message, layout=layout)
        if notes := {
            str(spot.content) if spot.path == ("metadata",) else format_path(spot.path)
            for spot in spots_of_document
            if spot.kind == "note"
        }:
            yield self._difference("notes", first, f"kpt's own notes differ: {_list_texts(sorted(notes))}")

    def _roots_of(self, ours: ComparedDocument) -> list[MappingNode | None]:
        return [counterpart(ours, self._versions[name].documents(self._path) or []) for name in VERSIONS]

    def _is_hidden(self, roots: Sequence[MappingNode | None]) -> bool:
        existing = [root for root in roots if root is not None]
        return Secrecy(existing, self._policy.redactions).hides((), existing)

    def _of_comments(
        self, ours: ComparedDocument, comment_spots: Sequence[Spot], root: MappingNode
    ) -> Iterator[Difference]:
        roots = self._roots_of(ours)
        hidden = self._is_hidden(roots)
        grouped: dict[Judgement, list[str]] = {}
        for spot in comment_spots:
            grouped.setdefault(_judge_comment(spot, roots), []).append(str(spot.content))
        for (finding, words), comments in grouped.items():
            count = words.format(quantity(len(comments), "comment"))
            yield self._difference(finding, root, count if hidden else f"{count}: {_list_texts(comments)}")

    def _of_comments_alone(self, document: ComparedDocument, *, is_ours: bool) -> Difference:
        """A document without a resource that only one outcome has."""
        comments = [line.strip() for line in document.text.splitlines() if line.strip().startswith("#")]
        if not comments:
            return self._difference("layout", None, "only one of both has an empty document", layout=_MARKS)
        counts = [
            sum(document.root is None for document in self._versions[name].documents(self._path) or ())
            for name in VERSIONS
        ]
        finding, _ = _judged_by(counts, is_ours=is_ours)
        verb = "loses" if is_ours else "keeps"
        return self._difference(finding, None, f"kpt {verb} a document of comments: {_list_texts(comments)}")

    def _difference(
        self,
        finding: FindingName,
        root: MappingNode | None,
        message: str,
        path: FieldPath = (),
        *,
        layout: Mapping[str, int] | None = None,
    ) -> Difference:
        return Difference(finding, self._path, _reference(root), format_path(path), message, layout=layout or {})


def _judge_comment(spot: Spot, roots: Sequence[MappingNode | None]) -> Judgement:
    """Whose loss a comment is that only one outcome has, or both at different places, and what is said of it."""
    if spot.first is not None and spot.second is not None:
        return "comments-differ", "kpt has {} at another place"
    counts = [0 if root is None else comments_of(root).count(str(spot.content)) for root in roots]
    return _judged_by(counts, is_ours=spot.second is None)


def _judged_by(counts: Sequence[int], *, is_ours: bool) -> Judgement:
    """The judgement by how often each version has a comment of which one outcome has more."""
    original, upstream, local, kpt, merged = counts
    expected = local if upstream == original else upstream if local == original else max(local, upstream)
    if is_ours:
        if kpt < expected:
            return "comments-lost", "kpt loses {}"
        if not (original or upstream or local):
            # What is compared as upstream is what kpt fetches.
            return "comments-lost", "kpt loses {} when it fetches upstream"
        return "comments-differ", "kpt drops {} as upstream does"
    return (
        ("comments-missed", "only kpt has {}") if merged < expected else ("comments-differ", "kpt writes {} too many")
    )


def _reference(root: MappingNode | None) -> ResourceRef | None:
    return None if root is None else resource_ref(identity_of(root), root)


def _is_about(difference: Difference, document: ComparedDocument) -> bool:
    """Whether a difference is about a document, or its whole file."""
    about, resource = difference.resource, _reference(document.root)
    if about is None or resource is None:
        return True
    return (about.kind, about.name, about.namespace) == (resource.kind, resource.name, resource.namespace)


@cache
def steps_of(path: str) -> FieldPath:
    """The path of a record or difference; () for a resource or file as a whole."""
    return parse_path(path) if path else ()


def _are_related(first: FieldPath, second: FieldPath) -> bool:
    """Whether one place is inside the other, as far as both are known: positions may differ between versions."""
    for step, other in zip(first, second, strict=False):
        if isinstance(step, tuple) and isinstance(other, tuple):
            fields = dict(other)
            if any(fields.get(name, value) != value for name, value in step):
                return False
        elif not isinstance(step, str) or not isinstance(other, str):
            return True
        elif step != other:
            return False
    return True


def _list_texts(texts: Sequence[str]) -> str:
    more = [f"{len(texts) - _MOST_NAMED:,} more"] if len(texts) > _MOST_NAMED else []
    return REDACTED if is_telling("\n".join(texts)) else ", ".join([*map(shorten, texts[:_MOST_NAMED]), *more])
