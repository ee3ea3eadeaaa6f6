"""Items that a function generates in every run: existing ones are updated, new ones added, stale ones removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import join

from krm_merge.functions.places import FreeIndexes, root_package
from krm_merge.functions.transform_resources.bookkeeping import without_bookkeeping
from krm_merge.krm.identity import identity_of
from krm_merge.krm.resource import INDEX, LEGACY_INDEX, LEGACY_PATH, PATH, Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import Value, from_value, same

Object = dict[str, Value]


def write_items(
    resource_list: ResourceList, existing: Sequence[Resource], wanted: Iterable[Object], folder: str
) -> None:
    """Makes the existing items of a kind the wanted ones, by namespace and name; new ones get a file in the folder."""
    known = {(item.namespace, item.name): item for item in existing}
    root = root_package(resource_list)
    free: FreeIndexes | None = None
    for value in wanted:
        tree = from_value(value)
        assert isinstance(tree, MappingNode)
        identity = identity_of(tree)
        item = known.pop((identity.namespace, identity.name), None)
        if item is not None:
            _change(item, value)
            continue
        free = free or FreeIndexes(resource_list, root)
        path = join(folder, f"{identity.name}.yaml")
        resource_list.items.append(_new(value, path, free.take(path)))
    over = {id(item) for item in known.values()}
    resource_list.items[:] = [item for item in resource_list.items if id(item) not in over]


def _new(value: Object, path: str, index: int) -> Resource:
    """An item as the document `index` of the file `path`."""
    place: Object = {PATH: path, INDEX: str(index), LEGACY_PATH: path, LEGACY_INDEX: str(index)}
    tree = from_value(_annotated(value, place))
    assert isinstance(tree, MappingNode)
    return Resource.from_document(written(tree))


def _annotated(value: Object, more: Object) -> Object:
    """A value with additional annotations."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = metadata.get("annotations")
    return {**value, "metadata": {**metadata, "annotations": {**(own if isinstance(own, dict) else {}), **more}}}


def _change(item: Resource, value: Object) -> None:
    """Sets the value of an item; the host's annotations are kept."""
    before = item.value
    assert isinstance(before, dict)
    if "status" in before:
        # The status belongs to controllers.
        value = {**value, "status": before["status"]}
    if same(without_bookkeeping(before), value):
        return
    metadata = before.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    hidden = {k: v for k, v in annotations.items() if is_bookkeeping(k)} if isinstance(annotations, dict) else {}
    item.change(before, _annotated(value, hidden))
