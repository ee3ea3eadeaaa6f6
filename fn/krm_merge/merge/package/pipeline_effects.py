"""What the functions of a package write is nobody's edit (rule R14).

The versions that local is compared with get the fields that local has from its functions. So such a field is never a
conflict, and keeps no resource that upstream deleted; where upstream changed it, upstream's value is taken, and the
next render writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from krm_merge.krm import Resource, ResourceError
from krm_merge.merge.decisions.decision import Member, apply
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.narrow import Document
from krm_merge.merge.values.tree import merge_values
from krm_merge.schema import Schema
from krm_merge.startup import replace
from krm_merge.text import Node, Object, TextError, Value, document_text, same, source_of


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
    effects = _agreed(before, rendered, now)
    if same(before, effects):
        return []
    resource = _alone(original)
    try:
        resource.change(before, effects, lambda path: schema.at(path).merge_keys)
        written = replace(original, root=resource.merged())
    except (TextError, ResourceError):
        # Without the functions' changes, what they wrote counts as local's, and is not lost.
        return []
    return [written, *(with_change(other, original.root, written.root, schema) for other in others)]


def _agreed(before: Value, after: Value, now: Value) -> Any:
    """A value as functions leave it, as far as local has that too; None where nothing is left.

    Elsewhere local edited the value, or was not rendered since.
    """
    if same(before, after) or same(after, now):
        return after
    versions = (before, after, now)
    if all(value is None or isinstance(value, dict) for value in versions):
        fields = _agreed_parts(*(value if isinstance(value, dict) else {} for value in versions))
        nulls = after if isinstance(after, dict) else {}
        agreed = {name: field for name, field in fields.items() if field is not None or nulls.get(name, 0) is None}
        return agreed if agreed or before is not None else None
    elements = [by_name for value in versions if (by_name := _by_name(value)) is not None]
    if len(elements) < len(versions):
        return before
    return [item for item in _agreed_parts(*elements).values() if item is not None] or before


def _agreed_parts(before: Object, after: Object, now: Object) -> Object:
    return {name: _agreed(before.get(name), after.get(name), now.get(name)) for name in {**after, **before}}


def _by_name(value: Value) -> Object | None:
    """The elements of a list by their names; None where one has none, or the name of another."""
    items = value if isinstance(value, list) else []
    elements: Object = {str(item["name"]): item for item in items if isinstance(item, dict) and "name" in item}
    return elements if value is None or (isinstance(value, list) and len(elements) == len(items)) else None


def with_change(member: Member, before: Node, after: Node, schema: Schema) -> Member:
    """A resource with the change from `before` to `after`, as far as it has no other change itself."""
    resource = _alone(member)
    try:
        apply(merge_values(before, after, resource.root, schema, Policy("local")), resource.editor)
        return replace(member, root=resource.merged())
    except (TextError, ResourceError):
        return member


def _alone(member: Member) -> Resource:
    """The resource by itself: an edit of the tree of an object in a list would be one of all."""
    text = document_text(member.root)
    is_alone = text is source_of(member.root).text
    return Resource.from_tree(member.root) if is_alone else Resource.from_document(text)
