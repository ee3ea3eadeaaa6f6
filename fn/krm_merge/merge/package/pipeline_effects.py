"""What the functions of a package write is nobody's edit (rule R14).

The versions that local is compared with get the fields that local has from its functions. So such a field is never a
conflict, and keeps no resource that upstream deleted; where upstream changed it, upstream's value is taken, and the
next render writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias

from krm_merge.krm import Resource, ResourceError
from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.lines.sequence import merge_order
from krm_merge.merge.package.narrow import Document
from krm_merge.schema import Schema
from krm_merge.startup import replace
from krm_merge.text import Object, TextError, Value, document_text, same, source_of


class Pipeline(Protocol):
    """The functions that a package and those inside it declare, as far as it is known what they do."""

    def rendered(self, member: Member, local: Member | None) -> Object | None:
        """The value of a resource with what the functions of its package and those around it wrote in local.

        Without local, what they make of its name, and what our own make of it. Empty where they remove it, None where
        none is known.
        """
        ...


ReadPipeline: TypeAlias = Callable[[Sequence[Member], Sequence[Document]], "Pipeline | None"]
"""Reads the pipelines of Kptfiles, whose functions may be configured by resources. None where nothing is declared."""


def with_pipeline_effects(
    pipeline: Pipeline, schema: Schema, local: Member, original: Member, *others: Member
) -> list[Member]:
    """Original and others with the fields that functions wrote in local, except those that the others changed.

    Empty where functions wrote nothing.
    """
    before, now = original.value, local.value
    # Where local is as the original, no function has written anything, and nothing has to be rendered.
    if same(before, now) or not (rendered := pipeline.rendered(original, local)):
        return []
    effects = _Agreed(schema).value((before, rendered, now))
    if _is_same(effects, before):
        return []
    assert isinstance(effects, dict)
    carried = [(member, carried_change(member.value, before, effects, schema)) for member in others]
    return [_edited(member, value, schema) for member, value in [(original, effects), *carried]]


def carried_change(value: Object, before: Object, after: Object, schema: Schema) -> Object:
    """A value with the change from `before` to `after`, as far as it has no other change itself."""
    changed = _Carried(schema).value((value, before, after))
    assert isinstance(changed, dict)
    return changed


def _edited(member: Member, value: Object, schema: Schema) -> Member:
    """The resource with another value; what is the same keeps its text."""
    text = document_text(member.root)
    # An object of a list is read by itself: an edit of its tree would be one of all.
    is_alone = text is source_of(member.root).text
    resource = Resource.from_tree(member.root) if is_alone else Resource.from_document(text)
    try:
        resource.change(member.value, value, lambda path: schema.at(path).merge_keys)
        return replace(member, root=resource.merged())
    except (TextError, ResourceError):
        # Without the functions' changes, what they wrote counts as local's, and is not lost.
        return member


class _Absent(Enum):
    """A version lacks the field or element."""

    ABSENT = 0


class _Undecided(Enum):
    """The fields or elements decide."""

    UNDECIDED = 0


_ABSENT, _UNDECIDED = _Absent.ABSENT, _Undecided.UNDECIDED
_Place: TypeAlias = "Value | _Absent"
_Three: TypeAlias = tuple[_Place, _Place, _Place]
_Elements: TypeAlias = Mapping[Hashable, Value]


def _is_same(first: _Place, second: _Place) -> bool:
    if isinstance(first, _Absent) or isinstance(second, _Absent):
        return first is second
    return same(first, second)


class _Walk:
    """Three values merged field by field; where nothing else is decided, the first stays.

    `order` says which of them have the elements of lists in the order before, after and of the others; the value
    before is that of which the two others are versions.
    """

    order: ClassVar[tuple[int, int, int]]

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def value(self, versions: _Three, path: tuple[str, ...] = ()) -> _Place:
        """The merged value."""
        if (decided := self.decide(*versions)) is not _UNDECIDED:
            return decided
        if any(value is _ABSENT and at != self.order[0] for at, value in enumerate(versions)):
            # What one side removed and another changed is whole, or not there at all.
            return versions[0]
        values = [value for value in versions if not isinstance(value, _Absent)]
        merged: Value
        if all(isinstance(value, dict) for value in values):
            merged = self._fields(versions, path)
        elif all(isinstance(value, list) for value in values):
            keys = self._schema.at(path).merge_keys
            elements = [by_key for value in versions if (by_key := _by_key(value, keys)) is not None]
            if len(elements) < len(versions):
                return versions[0]
            merged = self._list(elements, path)
        else:
            return versions[0]
        # Where the first version has nothing, an empty mapping or list is not added to it.
        return merged if merged or versions[0] is not _ABSENT else _ABSENT

    def decide(self, first: _Place, second: _Place, third: _Place) -> _Place | _Undecided:
        """The value at a place."""
        raise NotImplementedError

    def _fields(self, versions: _Three, path: tuple[str, ...]) -> Object:
        maps = [value if isinstance(value, dict) else {} for value in versions]
        merged: Object = {}
        for name in dict.fromkeys(name for fields in maps for name in fields):
            field = self.value(_three(maps, name), (*path, name))
            if not isinstance(field, _Absent):
                merged[name] = field
        return merged

    def _list(self, lists: Sequence[_Elements], path: tuple[str, ...]) -> list[Value]:
        merged: dict[Hashable, Value] = {}
        for key in dict.fromkeys(key for elements in lists for key in elements):
            element = self.value(_three(lists, key), path)
            if not isinstance(element, _Absent):
                merged[key] = element
        before, after, others = ([*lists[at]] for at in self.order)
        return [merged[key] for key in merge_order(before, after, others, set(merged)).keys]


def _three(versions: Sequence[Mapping[Any, Value]], key: Hashable) -> _Three:
    first, second, third = (version.get(key, _ABSENT) for version in versions)
    return first, second, third


class _Agreed(_Walk):
    """Of original, its rendering and local: the original with what was rendered, as far as local has it.

    Elsewhere local edited the value, or was not rendered since.
    """

    order = (0, 1, 0)

    def decide(self, first: _Place, second: _Place, third: _Place) -> _Place | _Undecided:
        """What functions leave alone, or what local agrees with."""
        if _is_same(first, second):
            return first
        return second if _is_same(second, third) else _UNDECIDED


class _Carried(_Walk):
    """Of upstream, original and the original as rendered: upstream with the same changes, where it has none itself."""

    order = (1, 2, 0)

    def decide(self, first: _Place, second: _Place, third: _Place) -> _Place | _Undecided:
        """What functions leave alone, or what upstream left alone."""
        if _is_same(second, third):
            return first
        return third if _is_same(first, second) else _UNDECIDED


def _by_key(value: _Place, fields: Sequence[str]) -> dict[Hashable, Value] | None:
    """The elements of a list by their keys, those without fields by their values; None where that is ambiguous."""
    elements: dict[Hashable, Value] = {}
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and fields:
            key: Hashable = tuple(str(item.get(field)) for field in fields)
        elif isinstance(item, dict | list):
            return None
        else:
            # With its type, as 1, 1.0 and true are equal in Python.
            key = type(item), item
        if key in elements:
            return None
        elements[key] = item
    return elements
