"""The text of a merged document: comments and layout of three versions, and lines where they know better (law H).

What a document means is decided before; here it is only written. Where a merge of the three texts by lines has no
conflict and means what was decided, it is the text: comments, blank lines and layout come with it from both sides.
Elsewhere local's text is edited, and upstream's changes of comments are merged by lines between three texts that all
mean what was decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TypeAlias

from krm_merge.krm import ID_ANNOTATIONS, FieldPath, generate_name_of, identity_of
from krm_merge.merge.decisions.decision import Decide, Decision, is_doubtful
from krm_merge.merge.decisions.report import shown_paths
from krm_merge.merge.lines.three_way import MERGE_COMMENT, are_in_place, comments_in, merge_lines_without_conflict
from krm_merge.merge.writing.comments import placed_comments, with_merged_comments
from krm_merge.schema import is_bookkeeping
from krm_merge.startup import frozen, replace
from krm_merge.text import (
    Alias,
    CannotEditError,
    Canonical,
    Child,
    Comments,
    Editor,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    aligned,
    document_text,
    key_text,
    pair_elements,
    read,
    resolved,
    source_of,
    type_of,
    without_separators,
)

SETTLED = frozenset(("V3", "V4", "V5", "V6", "L3", "F5"))
"""Rules whose decisions may be others by lines; alternatives and functions are one value whatever lines say."""


def has_all_by_lines(
    original: MappingNode, upstream: MappingNode, local: MappingNode, decisions: Sequence[Decision]
) -> bool:
    """Whether local already has, line by line, all that upstream changed: then there is nothing to merge (law D).

    Not so where, by one of the `decisions`, local removed more of something than upstream did: that is a question (F5).
    """
    before, theirs, ours = (_bare_text(root) for root in (original, upstream, local))
    if merged_by_lines(before, theirs, ours, lambda text: text == ours) is None:
        return False
    in_lines = (text.split("\n") for text in (before, theirs, ours))
    if _removed_all(decisions, original, local) or not are_in_place(*in_lines):
        return False
    # What upstream removed and local moved is gone from its old place on both sides, but not from local.
    counts, upstream_counts, local_counts = (Counter(_scalars(root)) for root in (original, upstream, local))
    return not any(upstream_counts[scalar] < count <= local_counts[scalar] for scalar, count in counts.items())


def _removed_all(decisions: Sequence[Decision], original: MappingNode, local: MappingNode) -> bool:
    """Whether local removed as a whole what upstream only made smaller, and has not half of the rest elsewhere."""
    removed = Counter(_scalars(original)) - Counter(_scalars(local))
    for decision in decisions:
        if decision.is_conflict and decision.local is None and decision.original and decision.upstream:
            before, theirs = (Counter(_scalars(node)) for node in (decision.original, decision.upstream))
            rest = before & theirs
            if theirs.total() < before.total() and 2 * (rest & removed).total() > rest.total():
                return True
    return False


def settled_by_lines(
    original: MappingNode, upstream: MappingNode, local: MappingNode, decide: Decide, decisions: list[Decision]
) -> str | None:
    """The text of a document with conflicts, where its lines merge without any and hold the changes of both sides.

    A field that one side renamed while the other changed what is in it is such a case: by fields it was removed.
    None where there is no conflict among the `decisions` of local, or one by lines, or where merging again would change
    the result (law D).
    """
    text = _merge_fields(original, upstream, local, decisions)
    if text is None or _removed_all(decisions, original, local):
        return None
    root = read(text)
    assert isinstance(root, MappingNode)
    again = decide(root)
    if any(decision.is_conflict for decision in again):
        return text if _merge_fields(original, upstream, root, again) == text else None
    if not any(decision.edits for decision in again):
        return text
    return text if any(map(is_doubtful, again)) and has_all_by_lines(original, upstream, root, again) else None


def with_aliases(
    original: MappingNode, upstream: MappingNode, local: MappingNode, merged: MappingNode, decide: Decide
) -> str | None:
    """V9: the lines of a document without conflicts, where an alias that a side added means another value in them."""
    aliases = [Counter(name for name in _scalars(root) if _is_alias(name)) for root in (original, upstream, local)]
    # Where no side added an alias, fields and lines mean the same by all of them.
    if not (aliases[1] | aliases[2]) - aliases[0]:
        return None
    text = _by_lines(original, upstream, local)
    root = None if text is None else read(text)
    if not isinstance(root, MappingNode) or root.canonical == merged.canonical:
        return None
    again = decide(root)
    if not any(decision.edits or decision.is_conflict for decision in again):
        return text
    # Both sides have the alias then, with values of their own: lines settle it, as the next merge will find (law D).
    return text if any(map(is_doubtful, again)) and has_all_by_lines(original, upstream, root, again) else None


def decision_by_lines(local: MappingNode, text: str) -> Decision:
    """The decision that a text settles a document: what it takes from upstream."""
    root = read(text)
    assert isinstance(root, MappingNode)
    paths = list(dict.fromkeys(_differences(local, root, ())))
    took = f"; taken from upstream: {shown_paths(paths)}" if paths else ""
    message = f"merged with upstream's by lines, which hold what both sides changed{took}"
    return Decision("H", (), message, "upstream", is_reported=True)


def _differences(first: Node, second: Node, path: FieldPath) -> Iterator[FieldPath]:
    """The places in which two values differ; of a list whose length differs, the list."""
    first, second = resolved(first), resolved(second)
    if first.canonical == second.canonical:
        return
    if isinstance(first, MappingNode) and isinstance(second, MappingNode):
        for key in dict.fromkeys([*first.fields, *second.fields]):
            first_entry, other_entry = first.fields.get(key), second.fields.get(key)
            entry = first_entry or other_entry
            assert entry is not None
            step = (*path, key_text(entry.key))
            yield from (
                (step,)
                if first_entry is None or other_entry is None
                else _differences(first_entry.value, other_entry.value, step)
            )
    elif isinstance(first, SequenceNode) and isinstance(second, SequenceNode) and len(first.items) == len(second.items):
        for at, items in enumerate(zip(first.items, second.items, strict=True)):
            yield from _differences(*items, (*path, at))
    else:
        yield path


def _merge_fields(
    original: MappingNode, upstream: MappingNode, local: MappingNode, decisions: list[Decision]
) -> str | None:
    rules = {decision.rule for decision in decisions if decision.is_conflict or decision.rule == "V3"}
    if not rules or not rules <= SETTLED:
        return None
    return _by_lines(original, upstream, local)


def _by_lines(original: MappingNode, upstream: MappingNode, local: MappingNode) -> str | None:
    before, theirs, ours = (_bare_text(root) for root in (original, upstream, local))
    return merged_by_lines(before, theirs, ours, lambda text: _holds_both(text, ours, original, upstream, local))


def _bare_text(root: MappingNode) -> str:
    return without_separators(document_text(root))


def _holds_both(
    text: str, merged_by_fields: str, original: MappingNode, upstream: MappingNode, local: MappingNode
) -> bool:
    if text == merged_by_fields:
        # By lines, local has all that upstream changed.
        return True
    try:
        merged = read(text)
    except TextError:
        return False
    # Lines could bring upstream's notes and annotations, which are local's alone, or a name twice.
    if not isinstance(merged, MappingNode) or notes_in(text) != notes_in(merged_by_fields):
        return False
    if _bookkeeping(merged) != _bookkeeping(local) or _doubles(merged) - _doubles(upstream) - _doubles(local):
        return False
    before, theirs, ours, both = (Counter(_scalars(root)) for root in (original, upstream, local, merged))
    return all(
        _adds_up(theirs[scalar] - count, ours[scalar] - count, both[scalar] - count)
        for scalar in before | theirs | ours | both
        for count in (before[scalar],)
    )


def _adds_up(upstream: int, local: int, merged: int) -> bool:
    """Whether a scalar is there as often as it must be; what both sides did alike may be done once."""
    alike = upstream * local > 0 and merged == max(upstream, local, key=abs)
    return merged == upstream + local or alike


def _scalars(node: Node) -> Iterator[object]:
    """Keys and values as they are written; what an alias stands for is at its anchor (V9).

    A text is its lines, one with a structure what it holds: a side may have written it without the quotes (V5). Null is
    nothing: a side may have removed all elements of a list, but not its key.
    """
    if isinstance(node, Alias):
        yield "alias", node.name
    elif isinstance(node, MappingNode):
        for entry in node.entries:
            yield "key", entry.key.canonical
            yield from _scalars(entry.value)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _scalars(item)
    elif type(node.canonical) is not str:
        if node.canonical != ("null",):
            yield node.canonical
    elif isinstance(root := _read(node.canonical) if "\n" in node.canonical else None, MappingNode | SequenceNode):
        yield from _scalars(root)
    else:
        yield from node.canonical.split("\n")


def _is_alias(scalar: object) -> bool:
    return isinstance(scalar, tuple) and scalar[0] == "alias"


def _doubles(node: Node) -> Counter[str]:
    """The names that occur more than once in a list: no merge may add one (law G)."""
    counts: Counter[str] = Counter()
    pending = [node]
    while pending:
        current = resolved(pending.pop())
        if isinstance(current, MappingNode):
            pending.extend(entry.value for entry in current.fields.values())
        elif isinstance(current, SequenceNode):
            pending.extend(current.items)
            elements = (resolved(item) for item in current.items)
            names = Counter(_name_of(item) for item in elements if isinstance(item, MappingNode))
            counts.update(name for name, count in names.items() if name is not None and count > 1)
    return counts


def _name_of(element: MappingNode) -> str | None:
    """The name in a list of functions or containers; of an object in a `List`, with its kind and namespace."""
    name = element.get("name")
    if isinstance(name, Scalar):
        return name.text
    identity = identity_of(element)
    object_name = identity.name or generate_name_of(element)
    return "/".join((identity.group, identity.kind, identity.namespace, object_name)) if object_name else None


def _bookkeeping(root: MappingNode) -> dict[str, object]:
    """The annotations that are local's alone (R6)."""
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, MappingNode) else None
    if not isinstance(annotations, MappingNode):
        return {}
    entries = ((key_text(entry.key), entry.value.canonical) for entry in annotations.fields.values())
    return {name: value for name, value in entries if is_bookkeeping(name)}


KeptChildren: TypeAlias = tuple[tuple[Child, Comments], ...]
"""Children of a side and the comments that they keep, where others were discarded with a value."""


@frozen
class Versions:
    """A document in three versions, original and upstream each the root of a document of its own.

    `fit` brings the text of such a document into the lines of local's: an item of a list is indented. `decide` gives
    the changes that a merge would still make in a document.
    """

    original: MappingNode
    upstream: MappingNode
    local: MappingNode
    decide: Decide
    fit: Callable[[str], str] = str
    kept_upstream: KeptChildren = ()


class Presentation:
    """The text of a merged document."""

    def __init__(self, versions: Versions, editor: Editor) -> None:
        """Takes the three versions, and the edits of local's that give the merged document."""
        self._versions = versions
        self._editor = editor
        self._original = versions.fit(source_of(versions.original).text)
        self._upstream = versions.fit(source_of(versions.upstream).text)
        self._local = source_of(versions.local).text
        self._notes = notes_in(self._local)
        self._read: dict[str, MappingNode] = {}
        self._meant: set[str] = set()

    def merged(self, edit: Callable[[], str]) -> str:
        """The text of the merged document.

        `edit` gives local's text with the edits that were decided. Merging original and upstream with the result gives
        the result again (law D).
        """
        text = None if self._keeps_ids() else self._by_lines()
        # Of lines that are there several times, merging again may take others for those whose comments changed.
        if text is not None and ("#" not in text or self._again(text) == text):
            return text
        text = edit()
        # Where it differs from local's it was read again: the whole of it need not be.
        self._meant.add(text)
        text = self._with_comments(text)
        texts = {text}
        while (again := self._again(text)) != text:
            # Each round brings or takes comments or blank lines of the two sides: there are no more rounds than lines.
            if again in texts or len(texts) > self._upstream.count("\n") + self._local.count("\n"):
                return edit()
            texts.add(again)
            text = again
        return text

    def _again(self, text: str) -> str:
        """The result of merging a text again, where nothing is left to edit."""
        if text == self._local or not self._is_meant_or_as_good(text):
            return text
        # It has the same notes, so that what was read here is what it would read.
        again = copy(self)
        # A later merge does not know which comments were discarded with their values.
        again._versions, again._local = replace(self._versions, kept_upstream=()), text
        by_lines = again._by_lines()
        return again._with_comments(text) if by_lines is None else by_lines

    @cached_property
    def _wanted(self) -> Canonical:
        """The value of the merged document."""
        return self._editor.canonical()

    def _keeps_ids(self) -> bool:
        """Whether lines would keep what the document loses: kpt's annotations for its own use, local's alone (W3)."""
        texts = self._original, self._upstream
        alone = [name for name in ID_ANNOTATIONS if name in self._local and not any(name in text for text in texts)]
        if not alone:
            return False
        before, now = self._metadata()
        lost = _annotations(before) - _annotations(now)
        return any(name in lost for name in alone)

    def _metadata(self) -> tuple[Canonical, Canonical]:
        """The values of metadata in local and after the edits; nothing else of these is looked at."""
        root = self._versions.local
        entry = root.fields.get("metadata")
        if entry is None or entry.inherited or entry not in self._editor.children(root):
            return _value_of(root.canonical, "metadata"), _value_of(self._wanted, "metadata")
        return entry.value.canonical, self._editor.canonical(self._editor.value(entry))

    def _by_lines(self) -> str | None:
        """The merge by lines, if it means what was decided, and has no comment that local has there already."""
        text = merged_by_lines(self._original, self._upstream, self._local, self._is_meant_or_as_good)
        if text is None or "#" not in self._original + text:
            return text
        before, theirs, ours, now = (
            Counter(comments_in(side)) for side in (self._original, self._upstream, self._local, text)
        )
        added_by_both = theirs.keys() & ours.keys() - before.keys()
        if any(now[line] > max(theirs[line], ours[line]) for line in added_by_both):
            return None
        gone = (before - theirs) & ours
        copies = self._copies(gone) if gone else []
        counts = Counter(comment for comment, _ in copies)
        # None of local's copies is one of those that upstream removed, nor one of the others once more.
        is_lost = any(now[line] < min(theirs[line], ours[line] - count) + count for line, count in counts.items())
        return None if is_lost or (copies and not self._holds_comments(text, copies)) else text

    def _copies(self, comments: Container[str]) -> list[tuple[str, Canonical]]:
        """Those of these comments that local has in an element or a field that the original lacks, with its value."""
        # Read here, since hardly any merge asks: where merging again is tried, it is not the tree of `versions`.
        local = self._root(self._local)
        if local is None:
            return []
        return [
            (comment, value.canonical)
            for comment, path in placed_comments(local)
            if comment in comments and (value := _new_value(path, local, self._versions.original)) is not None
        ]

    def _holds_comments(self, text: str, comments: Iterable[tuple[str, Canonical]]) -> bool:
        """Whether a text has comments in the same elements and fields."""
        root = self._root(text)
        return root is not None and {*comments} <= {
            (comment, value.canonical) for comment, path in placed_comments(root) for value in _values_on(path, root)
        }

    def root_of(self, text: str) -> MappingNode | None:
        """The tree of a text that was looked at, None of others."""
        return self._read.get(text)

    def _is_meant(self, text: str) -> bool:
        root = self._root(text)
        return root is not None and root.canonical == self._wanted

    def _is_meant_or_as_good(self, text: str) -> bool:
        """Whether a text has the value that was decided, or only another order that merging again would not change."""
        if text not in self._meant and self._is_as_good(text):
            self._meant.add(text)
        return text in self._meant and notes_in(text) == self._notes

    def _is_as_good(self, text: str) -> bool:
        root = self._root(text)
        if root is None or root.canonical == self._wanted:
            return root is not None
        if _without_order(root.canonical) != _without_order(self._wanted):
            return False
        return not any(decision.edits or decision.is_conflict for decision in self._versions.decide(root))

    def _root(self, text: str) -> MappingNode | None:
        """The tree of a text; None where it cannot be read, or changes local's notes of its origin (R6)."""
        if text not in self._read and notes_in(text) == self._notes and isinstance(root := _read(text), MappingNode):
            self._read[text] = root
        return self._read.get(text)

    def _with_comments(self, text: str) -> str:
        """A text that means what is wanted, with the comments that upstream changed and local did not (V8)."""
        versions = self._versions
        root = self._root(text) if self._lacks_comments(text) else None
        if root is None:
            return text
        try:
            original = versions.fit(aligned(self._original_as_upstream, root))
            upstream = versions.fit(aligned(versions.upstream, root, versions.kept_upstream))
        except (CannotEditError, TextError):
            return text
        result = with_merged_comments(text, original, upstream, self._local, comments_in(self._original))
        return result if self._is_meant(result) else text

    @cached_property
    def _original_as_upstream(self) -> MappingNode:
        """The original with upstream's values and its own comments, so that both pair with a result in one way.

        Raises CannotEditError and TextError.
        """
        root = read(aligned(self._versions.original, self._versions.upstream))
        assert isinstance(root, MappingNode)
        return root

    def _lacks_comments(self, text: str) -> bool:
        """Whether comments may still have to be merged in a text."""
        before, theirs, ours, merged = (
            comments_in(side) for side in (self._original, self._upstream, self._local, text)
        )
        return before != theirs or ours != merged


def _new_value(path: FieldPath, root: MappingNode, original: MappingNode) -> Node | None:
    """The element or field on a path that the same list or mapping of the original does not have."""
    node: Node | None = root
    before: Node | None = original
    for at, step in enumerate(path, 1):
        if isinstance(node, MappingNode):
            if not isinstance(before, MappingNode):
                return None
            # Where a field of the original is missing, a new one may be it.
            may_be_renamed = not before.fields.keys() <= node.fields.keys()
            before, node = before.get(str(step)), node.get(str(step))
            if before is None:
                return None if may_be_renamed or at == len(path) else node
        elif isinstance(node, SequenceNode) and isinstance(step, int):
            if not isinstance(before, SequenceNode):
                return None
            places = pair_elements(before.items, node.items)
            place = places[step]
            node = resolved(node.items[step])
            if place is None:
                if not {*range(len(before.items))} <= {*places}:
                    # It may be the one that is missing, renamed.
                    return None
                # A comment above an element is beside it: between two others it is there for those, too.
                return None if at == len(path) else node
            before = resolved(before.items[place])
    return None


def _values_on(path: FieldPath, root: MappingNode) -> Iterator[Node]:
    """The values that a path leads through."""
    node: Node | None = root
    for step in path:
        if isinstance(node, MappingNode):
            node = node.get(str(step))
        elif isinstance(node, SequenceNode) and isinstance(step, int):
            node = resolved(node.items[step])
        if node is not None:
            yield node


def _annotations(metadata: Canonical) -> set[Canonical]:
    """The names of the annotations of a document."""
    return {key for key, _ in _fields(_value_of(metadata, "annotations"))}


def _value_of(mapping: Canonical, name: str) -> Canonical:
    return next((inner for key, inner in _fields(mapping) if key == name), ("null",))


def _fields(canonical: Canonical) -> frozenset[tuple[Canonical, Canonical]]:
    """The fields of a mapping, no fields for another value."""
    fields = canonical[-1] if type_of(canonical) == "map" else ()
    return fields if isinstance(fields, frozenset) else frozenset()


def _without_order(canonical: Canonical) -> Canonical:
    """A value whose lists have no order."""
    if type(canonical) is str:
        return canonical
    kind, value = canonical[0], canonical[-1]
    if kind == "seq" and isinstance(value, tuple):
        # With their counts: an element that is there twice must be there twice.
        return "seq", frozenset(Counter(map(_without_order, value)).items())
    if kind == "map" and isinstance(value, frozenset):
        return "map", frozenset((key, _without_order(inner)) for key, inner in value)
    return canonical


def merged_by_lines(original: str, upstream: str, local: str, is_meant: Callable[[str], bool]) -> str | None:
    """The three texts merged by lines; None where they overlap, or where the result does not mean what is wanted.

    Merging original and upstream with the result gives the result again.
    """
    text = merge_lines_without_conflict(original, upstream, local)
    return text if text is not None and is_meant(text) else None


def notes_in(text: str) -> list[str]:
    """Kpt's notes of the origin of resources, which belong to local alone (R6)."""
    return [comment for comment in comments_in(text) if MERGE_COMMENT in comment] if MERGE_COMMENT in text else []


def _read(text: str) -> Node | None:
    try:
        return read(text)
    except TextError:
        return None
