"""The layout of local: which file each resource belongs to, and versions written as such files (R7, R8, R10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import File, Tree, holds_resources, is_json, is_kptfile, leads_out
from krm_merge.text.document import written
from krm_merge.text.reading import nodes
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import cut, in_lines_of, joined, without_separator
from krm_merge.text.reading.values import Value, from_value, to_value
from krm_merge.vendored.conventions import Conventions, PlacedResource
from krm_merge.vendored.documents import FoundResource
from krm_merge.vendored.naming import Named, default_path, named


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
        found = self.local or self.upstream or self.original
        assert found is not None
        return found


class LayoutPlace(NamedTuple):
    """The file that a resource belongs to; of an item of a List, which document of the file the List is."""

    path: str
    in_list: int | None = None


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
        self._taken = {found.member.place: _target(found) for row in rows if (found := row.local) is not None}
        self._lists: dict[LayoutPlace, bool] = {}
        for row in rows:
            if row.local is not None and (target := _target(row.local)).in_list is not None:
                self._lists[target] = self._lists.get(target, True) and row.is_vendored
        self._targets = self._placed(rows, {id(found): position for position, found in enumerate(upstream)})

    def _placed(self, rows: Sequence[Row], order: Mapping[int, int]) -> dict[int, LayoutPlace]:
        """The place of each resource of original and upstream, by id(); `order` has the positions of upstream's."""
        names = named((row.nearest.member.root, row.nearest.member.identity, _commented(row)) for row in rows)
        positions = [None if row.upstream is None else order[id(row.upstream)] for row in rows]
        placed = list(zip(rows, names, positions, strict=True))
        # Files of local's own do not show where upstream's belong.
        conventions = Conventions(
            [
                PlacedResource(name, row.local.member.place, position)
                for row, name, position in placed
                if row.local is not None and row.is_vendored
            ]
        )
        targets: dict[int, LayoutPlace] = {}
        for row, name, position in placed:
            target = self._of_new(name, position, conventions) if row.local is None else _target(row.local)
            targets |= {id(side): target for side in (row.original, row.upstream) if side is not None}
        return targets

    def _of_new(self, resource: Named, position: int | None, conventions: Conventions) -> LayoutPlace:
        """The place of a resource that local does not have (R8)."""
        if self._only is not None:
            return self._taken.get(self._only, LayoutPlace(self._only))
        for path in (conventions.path_of(resource, position), default_path(resource)):
            if path is None or leads_out(path):
                continue
            target = self._taken.get(path)
            if target is not None and (target.in_list is not None or not is_json(path)):
                return target
            if target is None and path not in self._local:
                self._taken[path] = LayoutPlace(path)
                return self._taken[path]
            # It has no room: JSON holds one resource, and other files hold none.
        identity = resource.identity
        problem = f"upstream's new {identity.kind} {identity.name} belongs to this file, which holds something else"
        raise PackageError(f"{default_path(resource)}: {problem}; rename the file")

    # ---- the files ---------------------------------------------------------------------------------------------------

    def files(self, side: Iterable[FoundResource]) -> dict[str, File]:
        """One version as files."""
        documents: dict[str, list[bytes]] = {}
        items: dict[LayoutPlace, list[Value]] = {target: [] for target in self._lists}
        for found in side:
            target = self._targets[id(found)]
            if target.in_list is None:
                documents.setdefault(target.path, []).append(self._document(found, target.path))
            else:
                items[target].append(to_value(found.member.root))
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

    def _document(self, found: FoundResource, path: str) -> bytes:
        root = found.member.root
        if is_json(path):
            return _as_json(to_value(root))
        # JSON among YAML would be valid, and nothing for people.
        text = _as_yaml(to_value(root)) if root.flow else without_separator(found.text.encode())
        return text if text.endswith(b"\n") else text + b"\n"

    def _list(self, target: LayoutPlace, items: list[Value]) -> bytes:
        """Local's List with the items of one version (R10)."""
        assert target.in_list is not None
        root = read(cut(self._local[target.path].data)[target.in_list].decode())
        value = to_value(root)
        assert isinstance(value, dict)
        return _as_json({**value, "items": items}) if is_json(target.path) else _as_yaml({**value, "items": items})


def _target(local: FoundResource) -> LayoutPlace:
    return LayoutPlace(local.member.place, None if local.item is None else local.member.index)


def _commented(row: Row) -> str:
    """The text of the version that says by a comment where it comes from, upstream's at best."""
    found = row.upstream or row.original or row.local
    assert found is not None
    return found.text


def _as_json(value: Value) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def _as_yaml(value: Value) -> bytes:
    root = from_value(value)
    assert isinstance(root, nodes.MappingNode)
    return written(root).encode()
