"""The layout of local: the file of each resource, and the one that a new one is put in (R7)."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from posixpath import dirname, join
from typing import NamedTuple

from krm_merge.krm import Identity
from krm_merge.packages import File, PackageError, Tree, holds_resources, is_json, is_kptfile
from krm_merge.text import (
    MappingNode,
    Value,
    from_value,
    in_lines_of,
    joined,
    read,
    split_documents,
    to_value,
    without_separator,
    written,
)
from krm_merge.vendored.documents import FoundResource

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Row(NamedTuple):
    """A resource in original, upstream and local."""

    original: FoundResource | None
    upstream: FoundResource | None
    local: FoundResource | None

    @property
    def is_vendored(self) -> bool:
        """Whether upstream has or had it."""
        return self.original is not None or self.upstream is not None

    @property
    def nearest(self) -> FoundResource:
        """The resource as the nearest side has it."""
        resource = self.local or self.upstream or self.original
        assert resource is not None
        return resource


class LayoutPlace(NamedTuple):
    """The file that a resource belongs to; of an item of a List, which document of the file the List is."""

    path: str
    in_list: int | None = None


class _Neighbours:
    """The resources that local has, by upstream's order: those of each kind, and with None as the kind all."""

    def __init__(self, rows: Sequence[Row], positions: Sequence[int]) -> None:
        self._by_kind: dict[tuple[str, str] | None, list[tuple[int, FoundResource]]] = {}
        for position, row in sorted(zip(positions, rows, strict=True), key=lambda entry: entry[0]):
            # Files of local's own do not show where upstream's belong.
            if row.local is not None and row.is_vendored:
                for kind in (row.local.member.identity.group_kind, None):
                    self._by_kind.setdefault(kind, []).append((position, row.local))

    def nearest(self, kind: tuple[str, str], position: int) -> FoundResource | None:
        """The nearest of a kind, else the nearest of all, None for none; of two as near the one before it."""
        entries = self._by_kind.get(kind) or self._by_kind.get(None, [])
        at = bisect_left(entries, position, key=lambda entry: entry[0])
        nearest = min(entries[max(at - 1, 0) : at + 1], key=lambda entry: abs(entry[0] - position), default=None)
        return None if nearest is None else nearest[1]


class Layout:
    """The files of local, and the place of every resource of original and upstream among them."""

    def __init__(self, local: Tree, rows: Sequence[Row], upstream: Sequence[FoundResource], *, is_file: bool) -> None:
        """Finds the places. `upstream` is in its order; `is_file` says that local is one file and stays one.

        Raises PackageError where a new resource has no place.
        """
        self._local = local
        self._only = next(iter(local)) if is_file else None
        manifests = [file.data for path, file in local.items() if holds_resources(path) and not is_kptfile(path)]
        self._separates = sum(1 for data in manifests if data.startswith(b"---")) * 2 > len(manifests)
        self._taken = {resource.member.place: _target(resource) for row in rows if (resource := row.local) is not None}
        self._lists: dict[LayoutPlace, bool] = {}
        for row in rows:
            if row.local is not None and (target := _target(row.local)).in_list is not None:
                self._lists[target] = self._lists.get(target, True) and row.is_vendored
        self._sizes = Counter(row.local.member.place for row in rows if row.local is not None)
        self._targets = self._place_all(rows, {id(resource): position for position, resource in enumerate(upstream)})

    def _place_all(self, rows: Sequence[Row], order: Mapping[int, int]) -> dict[int, LayoutPlace]:
        """The place of each resource of original and upstream, by id(); `order` has the positions of upstream's."""
        positions = [len(order) if row.upstream is None else order[id(row.upstream)] for row in rows]
        neighbours = _Neighbours(rows, positions)
        targets: dict[int, LayoutPlace] = {}
        for row, position in zip(rows, positions, strict=True):
            if row.local is not None:
                target = _target(row.local)
            else:
                identity = row.nearest.member.identity
                target = self._of_new(identity, neighbours.nearest(identity.group_kind, position))
            targets |= {id(side): target for side in (row.original, row.upstream) if side is not None}
        return targets

    def _of_new(self, identity: Identity, neighbour: FoundResource | None) -> LayoutPlace:
        """The place of a resource that local does not have, whose neighbour it has (R7)."""
        if self._only is not None:
            return self._taken.get(self._only, LayoutPlace(self._only))
        folder = ""
        if neighbour is not None:
            target = _target(neighbour)
            if target.in_list is not None or self._sizes[target.path] > 1:
                return target
            folder = dirname(target.path)
        path = join(folder, f"{_safe(identity.kind.lower())}-{_safe(identity.name) or 'unnamed'}.yaml")
        if path not in self._taken:
            if path in self._local:
                problem = (
                    f"upstream's new {identity.kind} {identity.name} belongs to this file, which has other contents"
                )
                raise PackageError(f"{path}: {problem}; rename the file")
            self._taken[path] = LayoutPlace(path)
        return self._taken[path]

    # ---- the files ---------------------------------------------------------------------------------------------------

    def files(self, side: Iterable[FoundResource]) -> dict[str, File]:
        """One version as files."""
        documents: dict[str, list[bytes]] = {}
        items: dict[LayoutPlace, list[Value]] = {target: [] for target in self._lists}
        for resource in side:
            target = self._targets[id(resource)]
            if target.in_list is None:
                documents.setdefault(target.path, []).append(self._document(resource, target.path))
            else:
                items[target].append(to_value(resource.member.root))
        for target, values in items.items():
            # A List whose items are all gone is gone, too.
            if values or not self._lists[target]:
                documents.setdefault(target.path, []).append(self._list(target, values))
        return {path: self._file(path, texts) for path, texts in documents.items()}

    def _file(self, path: str, documents: list[bytes]) -> File:
        ours = self._local.get(path)
        first = without_separator(documents[0])
        separates = self._separates if ours is None else ours.data.startswith(b"---")
        if separates and not is_json(path) and not first.startswith(b"---"):
            first = b"---\n" + first
        data = joined([first, *documents[1:]], b"")
        return File(data) if ours is None else File(in_lines_of(data, ours.data), ours.mode)

    def _document(self, resource: FoundResource, path: str) -> bytes:
        root = resource.member.root
        if is_json(path):
            return _as_json(to_value(root))
        # JSON among YAML would be valid, and nothing for people.
        text = _as_yaml(to_value(root)) if root.flow else without_separator(resource.member.text.encode())
        return text if text.endswith(b"\n") else text + b"\n"

    def _list(self, target: LayoutPlace, items: list[Value]) -> bytes:
        """Local's List with the items of one version (R7)."""
        assert target.in_list is not None
        root = read(split_documents(self._local[target.path].data)[target.in_list].decode())
        value = to_value(root)
        assert isinstance(value, dict)
        return _as_json({**value, "items": items}) if is_json(target.path) else _as_yaml({**value, "items": items})


def _target(local: FoundResource) -> LayoutPlace:
    return LayoutPlace(local.member.place, None if local.item is None else local.member.index)


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.")


def _as_json(value: Value) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def _as_yaml(value: Value) -> bytes:
    root = from_value(value)
    assert isinstance(root, MappingNode)
    return written(root).encode()
