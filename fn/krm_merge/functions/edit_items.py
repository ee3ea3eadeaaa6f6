"""Edits the items of a list one by one, on all processors, and keeps or checks their identities (P5, P7, P9)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from krm_merge.krm import (
    Identity,
    Pattern,
    Resource,
    ResourceError,
    ResourceList,
    Result,
    Results,
    Selector,
    Target,
    TargetNames,
    flaw_of,
    in_parallel,
    is_list,
    pattern_of,
    value_at,
)
from krm_merge.merge import CRD, ListKeys, Schemas
from krm_merge.patch import PatchError, SchemaShape
from krm_merge.schema import KeyedList, WithListKeys, is_bookkeeping
from krm_merge.text import MappingNode, Object, SequenceNode, TextError, Value, resolved, same

ItemFate: TypeAlias = Literal["same", "changed", "removed"]
SAME: Final = "same"
CHANGED: Final = "changed"
REMOVED: Final = "removed"

Summary = TypeVar("Summary", covariant=True)


class ItemEditor(Protocol[Summary]):
    """Edits items independently of each other."""

    @property
    def results(self) -> Results:
        """The results of single items."""
        ...

    def edit(self, item: Resource) -> ItemFate:
        """Edits the text of an item."""
        ...

    def finish(self) -> Summary:
        """A summary of all items, called after the last edit. It is pickled."""
        ...


@dataclass(frozen=True, slots=True)
class _Part(Generic[Summary]):
    """The outcomes of some items, with the new bytes of those that changed."""

    items: list[tuple[ItemFate, bytes]]
    results: list[Result]
    summary: Summary


def edit_items(resource_list: ResourceList, editor: Callable[[], ItemEditor[Summary]]) -> list[Summary]:
    """Edits all items and reports the results of their editors; returns the summaries of the parts, in order.

    `editor` is called for each part, which may be in another process: edits of the items themselves are lost there. If
    an error is reported, no item changes.
    """
    results, items = resource_list.results, resource_list.items
    parts = in_parallel(lambda part: _edit_part(part, editor()), items)
    for result in (result for part in parts for result in part.results):
        results.add(result)
    if not results.errors:
        edits = list(zip(items, (edit for part in parts for edit in part.items), strict=True))
        for item, (fate, data) in edits:
            if fate == CHANGED:
                item.settle(data)
        resource_list.items[:] = [item for item, (fate, _) in edits if fate != REMOVED]
    return [part.summary for part in parts]


def _edit_part(items: Sequence[Resource], editor: ItemEditor[Summary]) -> _Part[Summary]:
    done: list[tuple[ItemFate, bytes]] = []
    try:
        for item in items:
            fate = editor.edit(item)
            done.append((fate, _item_bytes(item, editor.results) if fate == CHANGED else b""))
    finally:
        summary = editor.finish()
    return _Part(done, list(editor.results), summary)


def edit_parts(
    item: Resource,
    node: MappingNode,
    edit: Callable[[Resource, MappingNode, Resource], ItemFate],
    part: Resource | None = None,
) -> ItemFate:
    """Edits the object at a node of an item, which is `part`; of a list of resources each of them (R7)."""
    if not is_list(node):
        return edit(item, node, part or item)
    fate: ItemFate = SAME
    items = node.get("items")
    if not isinstance(items, SequenceNode):
        return fate
    for child in items.items:
        inner = resolved(child)
        if isinstance(inner, MappingNode) and not flaw_of(inner):
            fate_of_part = edit_parts(item, inner, edit, Resource.from_tree(inner, item.file, item.index))
            if fate_of_part == REMOVED:
                item.editor.remove(items, child)
            fate = fate if fate_of_part == SAME else CHANGED
    return fate


def _item_bytes(item: Resource, results: Results) -> bytes:
    """The bytes of a changed item of a list, whose tree is forgotten then."""
    try:
        return item.data()
    except TextError as error:
        results.error(f"{item.file}: {item.ref}: {error}", resource=item.ref, file=item.file, rule="W2")
        return b""
    finally:
        item.forget()


Definitions = Callable[[], Iterable[MappingNode]]


class Shapes:
    """Shapes by apiVersion and kind; each is computed once."""

    def __init__(self, definitions: Definitions, list_keys: Sequence[ListKeys] = ()) -> None:
        """`definitions` returns the CRDs of the package when one is needed, `list_keys` are the user's."""
        self._schemas = Schemas(definitions)
        self._list_keys = list_keys
        self._known: dict[tuple[str, str], SchemaShape] = {}

    def of(self, item: Resource) -> SchemaShape:
        """The shape of a resource."""
        key = (item.api_version, item.kind)
        shape = self._known.get(key)
        if shape is None:
            schema = self._schemas.of_object(item.root)
            list_keys = [k for k in self._list_keys if (k.api_version, k.kind) == key]
            if list_keys:
                schema = WithListKeys(schema, tuple((k.path, KeyedList(k.keys)) for k in list_keys))
            shape = self._known[key] = SchemaShape(schema)
        return shape


_NAMES = ("group", "version", "kind", "name", "namespace")
TARGET_FIELDS: Final = (*_NAMES, "labelSelector", "annotationSelector")
"""The fields of a target in a functionConfig."""


def read_target(fields: Mapping[str, str | None]) -> Target:
    """The target of a functionConfig. Raises ValueError if a field is not a regular expression or not a selector."""
    patterns: dict[str, Pattern | None] = {}
    for name in _NAMES:
        text = fields.get(name)
        try:
            # P8: as in kustomize, an empty field matches everything.
            patterns[name] = pattern_of(text) if text else None
        except ValueError as error:
            raise ValueError(f"target.{name} is {text!r}, {error}") from None
    labels, annotations = (
        None if text is None else Selector.parse(text)
        for text in (fields.get("labelSelector"), fields.get("annotationSelector"))
    )
    return Target(**patterns, labels=labels, annotations=annotations)


def kind_of(item: Resource) -> str:
    """The kind of a resource, '' where it cannot be read; that is reported if it has to be."""
    try:
        return item.kind
    except ResourceError:
        return ""


def root_of(item: Resource, results: Results) -> MappingNode | None:
    """The tree of a resource; None where it cannot be read or is not a resource, which is reported."""
    try:
        root = item.root
    except ResourceError as error:
        results.error(str(error), file=error.file)
        return None
    if flaw := flaw_of(root):
        results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
        return None
    return root


def may_hold(item: Resource, text: bytes) -> bool:
    """Whether a look inside may find this text, seen without parsing where the item has bytes of its own."""
    return not item.slice.data or text in item.slice.data


def definitions_of(items: Sequence[Resource]) -> Definitions:
    """Returns a reader of the CRDs among items; items without the kind's name are not parsed."""

    def definitions() -> Iterator[MappingNode]:
        return (item.root for item in items if may_hold(item, CRD.encode()) and item.kind == CRD)

    return definitions


@dataclass(frozen=True, slots=True)
class Renamed:
    """A renamed resource. `was` is its old name in results, `by` the patch or plugin that renamed it."""

    was: str
    new: Identity
    by: str


def rename_of(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """The change of an object's identity, None if it is the same or has no name."""
    old, new = TargetNames.of(before).identity, TargetNames.of(after).identity
    return Renamed(was, new, by) if new.name and new != old else None


def report_renames(items: Sequence[Resource], changes: Iterable[Renamed], results: Results) -> None:
    """Reports errors for new identities that several items have; `items` are those after all changes."""
    all_changes = list(changes)
    if not all_changes:
        return  # without reading the identities of all items
    holders: dict[Identity, list[Resource]] = {}
    for item in items:
        with suppress(ResourceError):
            holders.setdefault(item.identity, []).append(item)
    for change in all_changes:
        same_identity = holders.get(change.new, [])
        if len(same_identity) > 1:
            first, last = same_identity[0], same_identity[-1]
            files = " and ".join(dict.fromkeys(holder.file or "an item without a file" for holder in same_identity))
            message = (
                f"{change.was}: {change.by} renames it to {first.ref}, and there would be {len(same_identity)} "
                f"(in {files}); choose another name, or remove the other one first"
            )
            results.error(message, resource=first.ref, file=last.file, rule="P9")


LOCAL_CONFIG: Final = "config.kubernetes.io/local-config"
"""The annotation of resources that nobody applies to a cluster."""


def annotations_of(value: Object) -> Object:
    """The annotations of a resource, empty where it has no map of them."""
    annotations = value_at(value, ("metadata", "annotations"))
    return annotations if isinstance(annotations, dict) else {}


def with_annotations(value: Object, more: Object) -> Object:
    """A resource with additional annotations."""
    metadata = value.get("metadata")
    others = metadata if isinstance(metadata, dict) else {}
    return {**value, "metadata": {**others, "annotations": {**annotations_of(value), **more}}}


def bookkeeping_of(value: Object) -> Object:
    """The annotations of a resource that belong to kpt."""
    return {name: text for name, text in annotations_of(value).items() if is_bookkeeping(name)}


def without_bookkeeping(value: Object, others: Collection[str] = ()) -> Object:
    """An object without kpt's annotations (P5, T1), and without these `others`."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(annotations := metadata.get("annotations"), dict):
        return value
    visible: Object = {n: text for n, text in annotations.items() if not is_bookkeeping(n) and n not in others}
    if len(visible) == len(annotations):
        return value
    visible_metadata = {name: visible if name == "annotations" else inner for name, inner in metadata.items()}
    if not visible:
        del visible_metadata["annotations"]
    return {**value, "metadata": visible_metadata}


def with_bookkeeping(after: Object, before: Object) -> Object:
    """A resource with kpt's annotations of the original, at their old positions; patches and plugins set none."""
    now, hidden = annotations_of(without_bookkeeping(after)), bookkeeping_of(before)
    if not hidden:
        return without_bookkeeping(after)
    metadata = after.get("metadata")
    merged: Object = {
        name: hidden.get(name, now.get(name)) for name in annotations_of(before) if name in hidden or name in now
    }
    return {**after, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "annotations": {**merged, **now}}}


def with_identity(after: Object, before: Object, *, keeps_name: bool, keeps_kind: bool) -> Object:
    """The object with its original name and kind, unless the patch may change them, and with kpt's annotations.

    Raises PatchError if the result is not a Kubernetes object.
    """
    result = after
    for name in ("apiVersion", "kind"):
        result = _set(result, name, before) if keeps_kind else result
        if not isinstance(result.get(name), str):
            raise PatchError("a string is expected", (name,))
    metadata_before = _map(before, "metadata", ())
    metadata = _map(result, "metadata", ())
    for name in ("name", "namespace"):
        metadata = _set(metadata, name, metadata_before) if keeps_name else metadata
        if not _is_text(metadata, name) and _is_text(metadata_before, name):
            raise PatchError("a string is expected", ("metadata", name))
    _map(metadata, "annotations", ("metadata",))
    # P5: without its path kpt would treat the object as new, with another path it would move its file.
    return with_bookkeeping({**result, "metadata": metadata} if metadata else result, before)


def protected_fields(after: Object, before: Object, *, keeps_name: bool, keeps_kind: bool) -> dict[str, str]:
    """The fields of the identity that a patch would change and may not, each with the option that allows it (P9)."""
    options_by_field = {}
    for name in ("apiVersion", "kind") if keeps_kind else ():
        if _changes(after, before, name):
            options_by_field[name] = "allowKindChange"
    metadata, metadata_before = after.get("metadata"), before.get("metadata")
    if keeps_name and isinstance(metadata, dict) and isinstance(metadata_before, dict):
        for name in ("name", "namespace"):
            if _changes(metadata, metadata_before, name):
                options_by_field[f"metadata.{name}"] = "allowNameChange"
    return options_by_field


def _changes(after: Object, before: Object, name: str) -> bool:
    return name in after and not (name in before and same(after[name], before[name]))


def _map(value: Object, name: str, path: tuple[str, ...]) -> Object:
    """A map in a field, empty if it is missing. Raises PatchError for anything else."""
    content = value.get(name)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise PatchError("a mapping is expected", (*path, name))
    return content


def _is_text(metadata: Object, name: str) -> bool:
    """Whether the field is a text; a namespace may be absent."""
    return isinstance(metadata.get(name), str) or (name == "namespace" and name not in metadata)


def _set(value: Object, name: str, before: Object) -> Object:
    """The map with the original value of a field."""
    if name not in before:
        return {key: inner for key, inner in value.items() if key != name} if name in value else value
    return value if name in value and same(value[name], before[name]) else {**value, name: before[name]}
