"""Whether a text that lines made of three means what both sides changed: the check behind *lines first* (law H).

It decides nothing: it takes a merged value and says whether every change that one side made alone is in it, nothing
else is, and what excludes each other is not there together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm import FieldPath, Step
from krm_merge.merge.decisions.decision import Sides, same
from krm_merge.merge.lines.sequence import merged
from krm_merge.merge.values.identity import ElementIdentity, Keys, identity_in, items_of
from krm_merge.merge.values.pipeline import read_functions, steps_of
from krm_merge.schema import FUNCTIONS, WHOLE, ObjectListSchema, Schema, any_object_schema, with_pods
from krm_merge.text import (
    IN_COLLECTIONS,
    Canonical,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    canonical_text,
    is_json,
    is_template,
    read_all,
    resolved,
)


def documents_of(text: str) -> list[Node] | None:
    """The documents of a text that is YAML and holds only mappings and lists; None of other texts."""
    if text[:1].isalnum() and IN_COLLECTIONS.isdisjoint(text):
        # Reading is most of the time that a text of a few lines takes.
        return None
    try:
        roots = list(read_all(text))
    except TextError:
        return None
    return None if not roots or any(isinstance(root, Scalar) for root in roots) else roots


def loses_json(original: str, upstream: str, local: str, text: str) -> bool:
    """Whether all three are JSON and the text made of them is not."""
    return is_json(original) and is_json(upstream) and is_json(local) and not is_json(text)


MOST_TRIED = 1_000
"""Ways to put the elements of a list together from those of three sides that are tried in vain."""

_Changed: TypeAlias = tuple[list[Node], list[Node], list[Node]]


class UnsoundError(KrmMergeError):
    """The merged value lacks a change of a side, or has something that no side has."""


class ChangedPlace(NamedTuple):
    """A place in which a merged document differs from local's, what the sides have there, and the merged value."""

    path: FieldPath
    sides: Sides
    merged: Node | None


def changes_of(schema: Schema, original: Node, upstream: Node, local: Node, merged: Node) -> list[ChangedPlace] | None:
    """All places in which a merged document differs from local's; None where it is not sound."""
    check = _Check(with_pods(schema, (original, upstream, local)))
    try:
        check.value((), original, upstream, local, merged)
    except UnsoundError:
        return None
    return check.changes


class _Check:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.changes: list[ChangedPlace] = []

    def value(
        self, path: FieldPath, original: Node | None, upstream: Node | None, local: Node | None, merged: Node | None
    ) -> None:
        """Raises UnsoundError where a merged value is not what three sides make together."""
        if same(upstream, local) or same(original, upstream):
            # A field that is local's alone need not be looked at: local has it (K1, R6).
            if not same(merged, local):
                raise UnsoundError
            return
        if self._schema.stays_local(path):
            if same(merged, local):
                return
            raise UnsoundError
        if same(original, local) and not any(self._schema.holds_local(path, node) for node in (upstream, local)):
            if not same(merged, upstream):
                raise UnsoundError
            self._note(path, (original, upstream, local, merged))
            return
        nodes = [None if node is None else resolved(node) for node in (original, upstream, local, merged)]
        present = [node for node in nodes if node is not None]
        if nodes[3] is None or any(map(is_template, present)):
            raise UnsoundError
        if all(isinstance(node, MappingNode) for node in present) and nodes[1] and nodes[2]:
            self._mapping(path, nodes)
        elif all(isinstance(node, SequenceNode) for node in present) and nodes[1] and nodes[2]:
            self._sequence(path, nodes)
        elif not self._is_merged_text(present):
            raise UnsoundError
        else:
            self._note(path, nodes)

    def _note(self, path: FieldPath, nodes: Sequence[Node | None]) -> None:
        """Notes where local's value becomes another one, as near to the leaves as keys lead."""
        _, _, local, merged = nodes
        if same(local, merged):
            return
        if isinstance(local, MappingNode) and isinstance(merged, MappingNode):
            fields = [_fields_of(node) for node in nodes]
            for key in dict.fromkeys([*fields[2], *fields[3]]):
                self._note((*path, canonical_text(key)), [side.get(key) for side in fields])
            return
        named = self._named(path, nodes) if isinstance(local, SequenceNode) and isinstance(merged, SequenceNode) else []
        # Where only their order is another one, it is the list that changed.
        if any(not same(elements[2], elements[3]) for _, elements in named):
            for step, elements in named:
                self._note((*path, step), elements)
            return
        self.changes.append(ChangedPlace(path, Sides(*nodes[:3]), merged))

    def _named(self, path: FieldPath, nodes: Sequence[Node | None]) -> list[tuple[Step, list[Node | None]]]:
        """The elements of a list by their steps in a path, each on all sides; none where they have no names."""
        items = [items_of(node) for node in nodes]
        kind = self._schema.at(path).list_kind
        if kind == FUNCTIONS:
            by_step = [dict(zip(steps_of(read_functions(side)), side, strict=True)) for side in items]
            return [(step, [side.get(step) for side in by_step]) for step in {**by_step[2], **by_step[3]}]
        identity = identity_in(kind, path, items)
        keys = None if identity is None or identity.by_value else identity.keys(items)
        if identity is None or keys is None:
            return []
        by_key = [dict(zip(of_side, side, strict=True)) for of_side, side in zip(keys, items, strict=True)]
        steps = {key: identity.step(node, 0) for key, node in {**by_key[3], **by_key[2]}.items()}
        return [(step, [side.get(key) for side in by_key]) for key, step in steps.items()]

    # ---- mappings ----------------------------------------------------------------------------------------------

    def _mapping(self, path: FieldPath, nodes: Sequence[Node | None]) -> None:
        fields = [_fields_of(node) for node in nodes]
        if not fields[3] and fields[1] and fields[2]:
            raise UnsoundError
        self._alternatives(path, fields)
        open_keys: list[Canonical] = []
        for key in dict.fromkeys(key for side in fields for key in side):
            before = len(self.changes)
            try:
                self.value((*path, canonical_text(key)), *(side.get(key) for side in fields))
            except UnsoundError:
                del self.changes[before:]
                open_keys.append(key)
        if open_keys:
            self._renamed(path, fields, open_keys, [canonical_text(key) for key in open_keys])

    def _renamed(
        self,
        path: FieldPath,
        fields: Sequence[Mapping[Any, Node]],
        keys: Sequence[Hashable],
        steps: Sequence[Step],
    ) -> None:
        """Whether what is open is one thing whose name or key one side changed, and the other side its content."""
        by_key = dict(zip(keys, steps, strict=True))
        # After a merge both have the new name.
        gone = [key for key in fields[0] if not any(key in side for side in fields[1:])]
        come = [key for key in fields[1] if key not in fields[0] and key in fields[2] and key in fields[3]]
        for news in (come, [key for key in come if key in by_key]):
            if len(gone) != len(news) or not {*keys} <= {*news}:
                continue
            for before, now in zip(gone, news, strict=True):
                if now in by_key:
                    self.value((*path, by_key[now]), fields[0][before], *(side[now] for side in fields[1:]))
            return
        for side, other in ((1, 2), (2, 1)):
            old = [key for key in keys if key in fields[0] and key in fields[other] and key not in fields[side]]
            new = [key for key in keys if key not in fields[0] and key not in fields[other] and key in fields[side]]
            if not old or len(old) != len(new) or len(old) + len(new) != len(keys):
                continue
            # Of several that went, merging again could not tell which one was renamed.
            if {key for key in fields[0] if key not in fields[3]} != {*old} or not all(key in fields[3] for key in new):
                continue
            # In the order in which they are written: lines cannot move what they keep.
            order = [[key for key in fields[at] if key in group] for at, group in ((0, old), (side, new))]
            for before, now in zip(*order, strict=True):
                versions = [fields[0][before], fields[other][before], fields[side][now]]
                theirs, ours = (versions[2], versions[1]) if side == 1 else (versions[1], versions[2])
                self.value((*path, by_key[now]), versions[0], theirs, ours, fields[3][now])
            return
        raise UnsoundError

    def _alternatives(self, path: FieldPath, fields: Sequence[dict[Canonical, Node]]) -> None:
        """V7: of what excludes each other, the result has what one side has."""
        schema = self._schema.at(path)
        groups: list[tuple[str, ...]] = [*schema.alternatives]
        if (discriminator := schema.discriminator) is not None:
            members = (name for names in discriminator.members.values() for name in names)
            groups.append((discriminator.field, *dict.fromkeys(members)))
        for group in groups:
            chosen = [tuple(name for name in group if name in side) for side in fields]
            if chosen[3] not in (chosen[1], chosen[2]):
                raise UnsoundError
        if discriminator is not None:
            values = [side[discriminator.field].canonical if discriminator.field in side else None for side in fields]
            if values[1] != values[2] and not (
                any(chosen[3] == chosen[at] and values[3] == values[at] for at in (1, 2))
            ):
                raise UnsoundError

    # ---- lists -------------------------------------------------------------------------------------------------

    def _sequence(self, path: FieldPath, nodes: Sequence[Node | None]) -> None:
        items = [items_of(node) for node in nodes]
        if not items[3] and items[1] and items[2]:
            raise UnsoundError
        kind = self._schema.at(path).list_kind
        if kind in (WHOLE, FUNCTIONS):
            # Functions are decided by F alone, and what is one value cannot be of both.
            raise UnsoundError
        identity = identity_in(kind, path, items[:3])
        keys = None if identity is None else identity.keys(items)
        if identity is not None and keys is None and identity.keys(items[:3]) is not None:
            # One identity twice, or an element that lost its.
            raise UnsoundError
        if identity is not None and keys is not None and not identity.by_value:
            self._keyed(path, identity, keys, items)
            return
        # Elements without a name of their own are noted as their list.
        before = len(self.changes)
        if identity is not None and keys is not None:
            self._set(path, keys, items)
        else:
            self._elements(path, items)
        del self.changes[before:]
        self._note(path, nodes)

    def _keyed(self, path: FieldPath, identity: ElementIdentity, keys: Keys, items: Sequence[Sequence[Node]]) -> None:
        by_key = [dict(zip(of_side, side, strict=True)) for of_side, side in zip(keys, items, strict=True)]
        open_keys: list[Hashable] = []
        steps: list[Step] = []
        for key in dict.fromkeys(key for side in keys for key in side):
            elements = [side.get(key) for side in by_key]
            node = next(node for node in (elements[2], elements[1], elements[3], elements[0]) if node is not None)
            step = identity.step(node, 0)
            before, around = len(self.changes), self._schema
            if identity.is_of_objects and isinstance(around, ObjectListSchema) and isinstance(node, MappingNode):
                self._schema = around.of_item((*path, step), node)
            try:
                self.value((*path, step), *elements)
            except UnsoundError:
                del self.changes[before:]
                open_keys.append(key)
                steps.append(step)
            finally:
                self._schema = around
        if open_keys:
            # A resource is known by its name alone (R1).
            if identity.is_of_objects:
                raise UnsoundError
            self._renamed(path, by_key, open_keys, steps)

    def _set(self, path: FieldPath, keys: Keys, items: Sequence[Sequence[Node]]) -> None:
        by_key = [dict(zip(of_side, side, strict=True)) for of_side, side in zip(keys, items, strict=True)]
        for key in dict.fromkeys(key for side in keys for key in side):
            self.value((*path, 0), *(side.get(key) for side in by_key))

    def _elements(self, path: FieldPath, items: Sequence[Sequence[Node]]) -> None:
        """A list without identities: each element is one of a side's, or what both made of one of the original's.

        How often each is there is what both sides' additions and removals make of it.
        """
        counts = [Counter(item.canonical for item in side) for side in items]
        # Those of the original that both sides changed, and what they may have become on each.
        changed = (
            [node for node in items[0] if counts[1][node.canonical] == counts[2][node.canonical] == 0],
            [node for node in items[1] if counts[0][node.canonical] == 0],
            [node for node in items[2] if counts[0][node.canonical] == 0],
        )
        tries = iter(range(MOST_TRIED + len(items[3])))
        for at, item in enumerate(items[3]):
            if item.canonical not in counts[1] and item.canonical not in counts[2]:
                self._count_as_merged((*path, at), item, changed, tries, counts)
        if _adds_up(counts):
            return
        # One side may have what both made, as local has after a merge.
        for at, item in enumerate(items[3]):
            original, upstream, local, result = (count[item.canonical] for count in counts)
            if result and not original and not (upstream and local):
                with suppress(UnsoundError):
                    self._count_as_merged((*path, at), item, changed, tries, counts)
        if not _adds_up(counts):
            raise UnsoundError

    def _count_as_merged(
        self,
        path: FieldPath,
        merged: Node,
        changed: _Changed,
        tries: Iterator[int],
        counts: Sequence[Counter[Canonical]],
    ) -> None:
        """Takes a merged element out of the counts, and those of which it is made, which make no other."""
        made_of = self._parts_of(path, merged, changed, tries)
        for count, node in zip(counts, (*made_of, merged), strict=True):
            count[node.canonical] -= 1
        for nodes, node in zip(changed, made_of, strict=True):
            nodes.remove(node)

    def _parts_of(
        self, path: FieldPath, merged: Node, changed: _Changed, tries: Iterator[int]
    ) -> tuple[Node, Node, Node]:
        """The element of the original, and what each side made of it, of which a merged one is made."""
        # Lines keep the order, so that the first ones are nearly always right.
        for nodes, _ in zip(product(*changed), tries, strict=False):
            before = len(self.changes)
            try:
                self.value(path, *nodes, merged)
            except UnsoundError:
                del self.changes[before:]
            else:
                return nodes
        raise UnsoundError

    def _is_merged_text(self, nodes: Sequence[Node]) -> bool:
        """Whether a text is the three merged by its words, in their order."""
        texts = [node.text for node in nodes if isinstance(node, Scalar) and type(node.canonical) is str]
        if len(texts) < 4:
            return False
        for cut in (lambda text: text.split("\n"), str.split):
            before, theirs, ours, now = map(cut, texts)
            if merged(before, theirs, ours) == now:
                return is_sound_text(texts[0], texts[1], texts[2], texts[3])
        return False


def _adds_up(counts: Sequence[Counter[Canonical]]) -> bool:
    """Whether each value is there as often as both sides' additions and removals make it."""
    for value in {*counts[0], *counts[1], *counts[2], *counts[3]}:
        original, upstream, local, merged = (count[value] for count in counts)
        if merged != (local if upstream == local else upstream + local - original):
            return False
    return True


def _fields_of(node: Node | None) -> dict[Canonical, Node]:
    return {key: resolved(field.value) for key, field in node.fields.items()} if isinstance(node, MappingNode) else {}


def is_sound_text(original: str, upstream: str, local: str, merged: str) -> bool:
    """Whether a text made of three is one that a reader of YAML or JSON takes as their merge; True of other texts."""
    documents = [documents_of(text) for text in (original, upstream, local)]
    if None in documents:
        return True
    now = documents_of(merged)
    if now is None or loses_json(original, upstream, local, merged):
        return False
    before, theirs, ours, result = (SequenceNode.new(False, roots or []) for roots in (*documents, now))
    return changes_of(any_object_schema(), before, theirs, ours, result) is not None
