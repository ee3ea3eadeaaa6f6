"""JSON patches whose paths name an element of a list by its position (law I)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.packages.files.tree import File
from krm_merge.packages.references.graph import Found, PackageGraph, is_naming
from krm_merge.text.reading.nodes import SequenceNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import Object, Value, to_value

_INDEX = re.compile(r"/[0-9]+(?=/|$)")


@dataclass(frozen=True, slots=True)
class ElementPointer:
    """A path of a JSON patch, and the object that the patch is applied to.

    `found` is the document that declares the patch. Its operations are the `text` at `field`, or that of `file`.
    `is_alone` says that no operation of the patch adds or removes an element by its position.
    """

    found: Found
    field: FieldPath
    file: str
    text: str
    kind: str
    name: str
    path: str
    is_alone: bool

    def means_the_same(self, other: ElementPointer) -> bool:
        """Whether both have one path for one object."""
        return (self.kind, self.name, self.path) == (other.kind, other.name, other.path)


def may_point(path: str, file: File) -> bool:
    """Whether a file may declare JSON patches."""
    return file.mode != "link" and b"patches" in file.data and (is_naming(path) or b"PatchResources" in file.data)


def pointers_in(path: str, file: File, graph: PackageGraph) -> Iterator[ElementPointer]:
    """The paths with a position in the JSON patches that a file declares for one object."""
    if not may_point(path, file):
        return
    for found in graph.declaring(path):
        for field, entry in _entries(found.value):
            target = entry.get("target")
            kind, name = (target.get(key) if isinstance(target, dict) else None for key in ("kind", "name"))
            if not isinstance(kind, str) or not isinstance(name, str):
                continue
            of_file, text = _operations(graph, found, entry)
            paths = list(_paths(text))
            is_alone = not any(_INDEX.search(at[at.rfind("/") :]) for operation, at in paths if operation != "replace")
            for at in dict.fromkeys(at for operation, at in paths if _names_element(operation, at)):
                yield ElementPointer(found, (*field, "patch"), of_file, text, kind, name, at, is_alone)


def moved_path(before: Value, now: Value, path: str) -> str | None:
    """The path that names in one value what `path` names in another; None where that is not there."""
    parts = path.split("/")
    for at, part in enumerate(parts[1:], 1):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(before, list) and isinstance(now, list) and part.isdigit():
            if int(part) >= len(before):
                return path
            element = before[int(part)]
            if not isinstance(element, dict) or "name" not in element:
                return path
            places = [
                place for place, one in enumerate(now) if isinstance(one, dict) and one.get("name") == element["name"]
            ]
            if len(places) != 1:
                return None
            parts[at] = str(places[0])
            before, now = element, now[places[0]]
        else:
            before, now = (side.get(part) if isinstance(side, dict) else None for side in (before, now))
    return "/".join(parts)


def _entries(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    for name in ("patches", "patchesJson6902"):
        listed = value.get(name)
        yield from (
            ((name, at), entry)
            for at, entry in enumerate(listed if isinstance(listed, list) else ())
            if isinstance(entry, dict)
        )


def _operations(graph: PackageGraph, found: Found, entry: Object) -> tuple[str, str]:
    """The file that has the operations of a patch, '' for the declaring document, and their text."""
    if isinstance(text := entry.get("patch"), str):
        return "", text
    path = entry.get("path")
    file = normpath(join(dirname(found.path), path)) if isinstance(path, str) else ""
    return file, graph.tree[file].data.decode(errors="replace") if file in graph.tree else ""


def _paths(text: str) -> Iterator[tuple[str, str]]:
    """The operations of a JSON patch, none of another kind of patch."""
    if not _INDEX.search(text) and "/" not in text:
        return
    try:
        root = read(text)
    except TextError:
        return
    operations = to_value(root) if isinstance(root, SequenceNode) else None
    for one in operations if isinstance(operations, list) else ():
        if isinstance(one, dict) and isinstance(at := one.get("path"), str):
            yield str(one.get("op")), at


def _names_element(operation: str, path: str) -> bool:
    ends = [match.end() for match in _INDEX.finditer(path)]
    # An insertion in front of an element means the place.
    return bool(ends) and not (operation == "add" and ends == [len(path)])
