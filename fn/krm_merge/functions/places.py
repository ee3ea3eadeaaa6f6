"""The places of the items of a package, from the annotations of hosts."""

from __future__ import annotations

import re
from posixpath import join, normpath, relpath

from krm_merge.krm import (
    INDEX,
    LEGACY_INDEX,
    LEGACY_PATH,
    PACKAGE_PATH,
    PATH,
    Identity,
    Resource,
    ResourceError,
    ResourceList,
)
from krm_merge.merge import Member
from krm_merge.schema import is_bookkeeping
from krm_merge.startup import pattern
from krm_merge.text import text_of

_PLAIN_VALUE = pattern(rb""": *(['"]?)([^'"#\s]+)\1 *$""", re.MULTILINE)


def place_of(annotations: dict[str, str], root: str | None) -> str | None:
    """The file of an item from the root of the package, or None if the host gave none."""
    path = annotations.get(PATH) or annotations.get(LEGACY_PATH)
    if not path:
        return None
    package = annotations.get(PACKAGE_PATH)
    return normpath(join(relpath(package, root), path) if package and root else path)


def default_place(identity: Identity) -> str:
    """The file that kpt gives a resource without one (R2)."""
    name = identity.name.replace("/", "_").replace(":", "_")
    file = f"{identity.kind.lower()}_{name}.yaml" if name else f"{identity.kind.lower()}.yaml"
    return f"{identity.namespace}/{file}" if identity.namespace else file


def root_package(resource_list: ResourceList) -> str | None:
    """The package-path of the root: the functionConfig's, else the shortest of the items, else None."""
    config = resource_list.function_config
    if config is not None and (path := Resource.from_tree(config).annotations.get(PACKAGE_PATH)):
        return path
    needle = PACKAGE_PATH.encode()
    paths = []
    for item in resource_list.items:
        if needle in item.slice.data:
            try:
                paths.append(item.annotations.get(PACKAGE_PATH, ""))
            except ResourceError:
                continue  # reported when the item has to be read
    return min((path for path in paths if path), key=lambda path: (len(path), path), default=None)


class FreeIndexes:
    """The next free document of each file (R2)."""

    def __init__(self, resource_list: ResourceList, root: str | None) -> None:
        """Scans the items once; items in plain block style are not parsed."""
        self._next: dict[str, int] = {}
        for item in resource_list.items:
            path, index = place_of_item(item, root)
            if path is not None:
                self._next[path] = max(self._next.get(path, 0), index + 1)

    def take(self, path: str) -> int:
        """The index of one more document of the file."""
        index = self._next.get(path, 0)
        self._next[path] = index + 1
        return index


def place_of_item(item: Resource, root: str | None) -> tuple[str | None, int]:
    """The file of an item from the root of the package, None if the host gave none, and which document it is there."""
    plain = plain_place(item.slice.data, root) if item.slice.proved and not item.is_changed else None
    return plain or (place_of(item.annotations, root), item.index)


def plain_place(data: bytes, root: str | None = None) -> tuple[str, int] | None:
    """The same of the text of a resource, None where only reading it shows that."""
    path, index, package = (_plain_value(data, name) for name in (PATH, INDEX, PACKAGE_PATH))
    if not path or index is None or package is None or not (index or "0").isdecimal():
        return None
    if not index and LEGACY_INDEX.encode() in data:
        return None
    return place_of({PATH: path, PACKAGE_PATH: package}, root) or "", int(index or "0")


def _plain_value(data: bytes, annotation: str) -> str | None:
    """The value of an annotation in plain block style, '' where there is none; None where only reading shows it."""
    key = annotation.encode()
    at = data.find(key)
    if at < 0:
        return ""
    value = _PLAIN_VALUE.match(data, at + len(key))
    is_plain = value is not None and data[data.rfind(b"\n", 0, at) + 1 : at].isspace()
    return value[2].decode() if value is not None and is_plain and data.find(key, at + 1) < 0 else None


def set_place(item: Resource, path: str, index: int, root: str | None) -> None:
    """Puts an item into another file, where the host gave it one."""
    annotations = item.annotations
    package = annotations.get(PACKAGE_PATH)
    if package and root and (path := relpath(path, relpath(package, root))).startswith("../"):
        # What leaves its package stays: a path cannot say so.
        return
    for name, value in ((PATH, path), (INDEX, str(index)), (LEGACY_PATH, path), (LEGACY_INDEX, str(index))):
        if name in annotations:
            item.set(f'metadata.annotations["{name}"]', value)


def new_resource(member: Member, path: str, index: int) -> Resource:
    """A resource of upstream's text, as the document `index` of the file `path`."""
    resource = Resource.from_document(text_of(member.root))
    for name in resource.annotations:
        if is_bookkeeping(name):
            resource.remove(f'metadata.annotations["{name}"]')
    for name, value in ((PATH, path), (INDEX, str(index)), (LEGACY_PATH, path), (LEGACY_INDEX, str(index))):
        resource.set(f'metadata.annotations["{name}"]', value)
    return resource
