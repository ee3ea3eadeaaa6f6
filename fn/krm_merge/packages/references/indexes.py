"""JSON patches whose paths name an element of a list by its position (law I): the position follows the element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.merge.decisions.member import ResourceOutcome
from krm_merge.packages.files.tree import File
from krm_merge.packages.references.graph import Found, PackageGraph
from krm_merge.text.reading.nodes import SequenceNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import Object, Value, to_value

_INDEX = re.compile(r"/[0-9]+(?=/|$)")
_IN_FILE = re.compile(rb"/[0-9]+[/\s\"']")


@dataclass(frozen=True, slots=True)
class ElementPointer:
    """A path of a JSON patch: the document that has it and the field there, and the object that it is applied to.

    `text` has the operations; `field` is () where they are a file.
    """

    found: Found
    field: FieldPath
    kind: str
    name: str
    path: str
    text: str


def pointers_with_index(graph: PackageGraph) -> Iterator[ElementPointer]:
    """The paths with a position in the JSON patches of Kustomizations and PatchResources."""
    for found in _holders(graph):
        for field, entry in _entries(found.value):
            target = entry.get("target")
            if not isinstance(target, dict):
                continue
            kind, name = target.get("kind"), target.get("name")
            if not isinstance(kind, str):
                continue
            for where, at, text, operations in _operations(graph, found, field, entry):
                for operation in operations:
                    if not isinstance(operation, dict) or not isinstance(path := operation.get("path"), str):
                        continue
                    if _names_element(path, operation.get("op")):
                        yield ElementPointer(where, at, kind, name if isinstance(name, str) else "", path, text)


def moved_indexes(
    merged: PackageGraph,
    sides: Mapping[str, PackageGraph],
    original: PackageGraph,
    outcomes: Sequence[ResourceOutcome],
    rewrite: Callable[[ElementPointer, str], None],
) -> Iterator[tuple[ElementPointer, str, str]]:
    """The pointers whose element went away, with the side that has it and what it is; `rewrite` gets those that moved.

    The element that is meant is the one that the pointer names on the side that it comes from.
    """
    changed = {outcome.member.identity.kind for outcome in outcomes if outcome.fate == "merged" and _moves(outcome)}
    if not changed or not any(map(_may_have_index, merged.tree.values())):
        return
    known: dict[str, set[tuple[str, str, str]]] | None = None
    for pointer in list(pointers_with_index(merged)):
        if pointer.kind not in changed:
            continue
        if known is None:
            known = {
                name: {(one.kind, one.name, one.path) for one in pointers_with_index(side)}
                for name, side in sides.items()
            }
        key = (pointer.kind, pointer.name, pointer.path)
        held = [name for name in ("local", "upstream") if key in known[name]]
        if not held:
            continue
        side = sides[held[0]]
        now = _targets(merged, pointer)
        before = _targets(side, pointer)
        if len(held) == 2 and any(
            _element(one, pointer.path) != _element(two, pointer.path)
            for one in _targets(original, pointer)
            for two in _targets(sides["upstream"], pointer)
        ):
            # Upstream left its own patch as it was: that is what it says now.
            continue
        new: set[str | None] = set()
        for target in now:
            like = next((one for one in before if one.identity == target.identity), None)
            new.add(_followed(like.value, target.value, pointer.path) if like is not None else pointer.path)
        if new == {pointer.path} or not new:
            continue
        if len(new) == 1 and (path := next(iter(new))) is not None:
            rewrite(pointer, path)
        else:
            yield pointer, held[0], pointer.path


def _may_have_index(file: File) -> bool:
    return file.mode != "link" and b"op" in file.data and _IN_FILE.search(file.data) is not None


def _moves(outcome: ResourceOutcome) -> bool:
    """Whether the sides may have lists of other lengths or orders."""
    texts = [member.text for member in outcome.members.values()]
    return len(set(texts)) > 1


def _holders(graph: PackageGraph) -> Iterator[Found]:
    for path in graph.naming_files:
        yield from graph.documents(path)[:1]
    for found in graph.holding("PatchResources"):
        if found.identity.kind == "PatchResources":
            yield found


def _entries(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    holders: list[tuple[FieldPath, Value]] = [((), value), (("spec",), value.get("spec"))]
    for above, holder in holders:
        for name in ("patches", "patchesJson6902"):
            listed = holder.get(name) if isinstance(holder, dict) else None
            for at, entry in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(entry, dict):
                    yield (*above, name, at), entry


def _operations(
    graph: PackageGraph, found: Found, field: FieldPath, entry: Object
) -> Iterator[tuple[Found, FieldPath, str, list[Value]]]:
    """The operations of a patch, with where they are written: the field of a document, or a file, with no field."""
    for name in ("patch", "path"):
        text = entry.get(name)
        if not isinstance(text, str):
            continue
        file = graph.target(found.path, text) if name == "path" else found.path
        if name == "path":
            if file not in graph.tree:
                continue
            text = graph.tree[file].data.decode(errors="replace")
        try:
            root = read(text)
        except TextError:
            continue
        if isinstance(root, SequenceNode) and isinstance(operations := to_value(root), list):
            where = Found(file, found.index, found.root, found.value, found.identity)
            yield where, () if name == "path" else (*field, name), text, operations


def _names_element(path: str, operation: Value) -> bool:
    found = [match.end() for match in _INDEX.finditer(path)]
    # An insertion in front of an element means the place.
    return bool(found) and not (operation == "add" and found == [len(path)])


def _targets(graph: PackageGraph, pointer: ElementPointer) -> list[Found]:
    found = graph.find(pointer.kind, pointer.name) if pointer.name else graph.holding(pointer.kind)
    return [one for one in found if one.identity.kind == pointer.kind and not graph.is_patch(one.path)]


def _element(found: Found, path: str) -> Value:
    """What tells the elements that a path names from others: their names, or what they are."""
    value: Value = found.value
    names: list[Value] = []
    for part in path.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if not part.isdigit() or int(part) >= len(value):
                return names
            value = value[int(part)]
            names.append(value.get("name", "") if isinstance(value, dict) else value)
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return names


def _followed(before: Value, now: Value, path: str) -> str | None:
    """The path that names in one value what another path names in another; None where that is not there."""
    parts = path.split("/")
    for at, part in enumerate(parts[1:], 1):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(before, list) and isinstance(now, list) and part.isdigit():
            if int(part) >= len(before):
                return path
            element = before[int(part)]
            places = [place for place, other in enumerate(now) if _is_same(element, other)]
            if len(places) != 1:
                same = int(part) < len(now) and len(before) == len(now)
                if not same:
                    return None if not places else path
                places = [int(part)]
            parts[at] = str(places[0])
            before, now = element, now[places[0]]
        else:
            before, now = (side.get(part) if isinstance(side, dict) else None for side in (before, now))
    return "/".join(parts)


def _is_same(one: Value, other: Value) -> bool:
    if isinstance(one, dict) and isinstance(other, dict) and "name" in one:
        return one["name"] == other.get("name")
    return one == other
