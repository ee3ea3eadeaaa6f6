"""Edits by which references follow what they name: fields, and lists of files (law I, R11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath, relpath

from krm_merge.krm import FieldPath, Resource, Results, format_path, value_at
from krm_merge.merge import FileDecision
from krm_merge.packages.files.tree import (
    Changed,
    Changes,
    File,
    Tree,
    folders_around,
    holds_resources,
    is_json,
    is_kptfile,
)
from krm_merge.packages.references.graph import is_naming
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.text import (
    Entry,
    MappingNode,
    Node,
    Object,
    Scalar,
    SequenceNode,
    TextError,
    Value,
    field_at,
    from_value,
    in_lines_of,
    joined,
    key_text,
    mapping_in,
    plain_lines,
    read,
    resolved,
    split_documents,
    to_value,
)


class ReferenceEdits:
    """Collects edits of fields in the files of a package."""

    def __init__(self, tree: Tree) -> None:
        """Takes the files as they are."""
        self._tree = tree
        self._made: dict[str, dict[int, dict[FieldPath, Value]]] = defaultdict(lambda: defaultdict(dict))
        self.followed: list[FileDecision] = []

    def follow(self, path: str, index: int, at: FieldPath, new: Value, old: str, name: str) -> None:
        """Sets a field to what its reference is called now, None to remove it."""
        # Both sides may have lost what it names: the edit is reported once.
        if at not in self._made[path][index]:
            self._made[path][index][at] = new
            message = f"{format_path(at)}: {old} is {name} now; the reference follows"
            before, after = old.encode(), name.encode()
            self.followed.append(FileDecision(path, "I", message, "upstream", "info", *2 * (before, after)))

    def changes(self) -> dict[str, File]:
        """The files with all edits."""
        return {path: self._edit(path, edits) for path, edits in self._made.items()}

    def _edit(self, path: str, edits: dict[int, dict[FieldPath, Value]]) -> File:
        file = self._tree[path]
        data = plain_lines(file.data)
        documents = [data] if is_naming(path) else split_documents(data, path)
        for index, changes in edits.items():
            root = read(documents[index].decode())
            assert isinstance(root, MappingNode)
            resource = Resource.from_tree(root)
            # The last first: positions in lists stay what they are.
            for at, value in sorted(changes.items(), key=lambda change: list(map(_order, change[0])), reverse=True):
                resource.remove(format_path(at)) if value is None else resource.set(format_path(at), value)
            documents[index] = resource.text().encode()
        return File(in_lines_of(joined(documents, data), file.data), file.mode)


def _order(step: object) -> tuple[int, str]:
    return (step, "") if isinstance(step, int) else (-1, str(step))


def patched_in(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    """The objects of strategic merge patches that a Kustomization or a PatchResources holds as text."""
    for name in ("patches", "patchesStrategicMerge"):
        listed = value.get(name)
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            path, text = ((name, at, "patch"), entry.get("patch")) if isinstance(entry, dict) else ((name, at), entry)
            # A JSON patch names no object.
            if not isinstance(text, str) or "metadata" not in text:
                continue
            try:
                patch = to_value(read(text))
            except TextError:
                continue
            metadata = patch.get("metadata") if isinstance(patch, dict) else None
            if isinstance(patch, dict) and isinstance(metadata, dict):
                yield path, {**metadata, "kind": patch.get("kind")}


def exact_path(value: Value, path: FieldPath) -> FieldPath | None:
    """A path with positions in place of names; None where a name is that of several elements."""
    exact: FieldPath = ()
    for step in path:
        if isinstance(step, tuple):
            place = _place_of(step[0][1], value if isinstance(value, list) else [])
            if place is None:
                return None
            step = place
        exact = (*exact, step)
        value = value_at(value, (step,))
    return exact


def _place_of(name: Value, elements: list[Value]) -> int | None:
    """The position of the only element with this name."""
    places = [at for at, element in enumerate(elements) if isinstance(element, dict) and element.get("name") == name]
    return places[0] if len(places) == 1 else None


MOST_NAMES = 3
"""Of more files in one message only their number is given."""


def list_files(local: Tree, changes: Changes, results: Results) -> Changes:
    """The changes, with those of the Kustomizations that list deleted files, or the neighbours of new ones."""
    deleted = {path for path, file in changes.items() if file is None}
    return _with_lists(local, changes, deleted, {}, results)


def list_new_files(upstream: Tree, local: Tree, changes: Changes, results: Results) -> Changes:
    """The changes, with those of the Kustomizations of local alone that list all other files that upstream has there.

    Deleted files that they list are conflicts, or follow (law I).
    """
    return _with_lists(local, changes, set(), upstream, results)


def _with_lists(local: Tree, changes: Changes, deleted: set[str], upstream: Tree, results: Results) -> Changes:
    added = [path for path, file in changes.items() if file is not None and path not in local and _is_listed(path)]
    if not added and not deleted:
        return changes
    after = Changed(local, changes)
    lists = {
        path: file_list
        for path in after
        if basename(path) in KUSTOMIZATION_FILES and (file_list := _list_in(after[path]))
    }
    by_list: dict[str, list[str]] = {}
    for path in added:
        if (around := _around(path, lists)) is not None and around not in upstream:
            by_list.setdefault(around, []).append(path)
    listed = {at: {_target(dirname(at), entry) for entry in lists[at][1].items} for at in by_list}
    for path in upstream if by_list else ():
        around = _around(path, lists) if path in local and _is_listed(path) else None
        if around is not None and path not in listed.get(around, (path,)):
            # It lists what somebody chose.
            by_list.pop(around, None)
    more = dict(changes)
    for path, (root, entries) in lists.items():
        edited = _edit(path, root, entries, by_list.get(path, []), deleted, results)
        if edited is not None:
            more[path] = File(edited, after[path].mode)
    return more


def _is_listed(path: str) -> bool:
    is_resource = (holds_resources(path) or is_json(path)) and not is_kptfile(path)
    return is_resource and basename(path) not in KUSTOMIZATION_FILES


def _list_in(file: File) -> tuple[MappingNode, SequenceNode] | None:
    """The Kustomization in a file with its list of resources."""
    root = mapping_in(file.data)
    entries = field_at(root, "resources")
    return (root, entries) if root is not None and isinstance(entries, SequenceNode) else None


def _around(path: str, lists: dict[str, tuple[MappingNode, SequenceNode]]) -> str | None:
    """The nearest Kustomization at or above the folder of a file."""
    places = (join(folder, name) for folder in (*folders_around(path), "") for name in KUSTOMIZATION_FILES)
    return next((place for place in places if place in lists), None)


def _edit(
    path: str, root: MappingNode, entries: SequenceNode, added: list[str], deleted: set[str], results: Results
) -> bytes | None:
    """The text of a Kustomization with these files in its list and without the deleted ones; None if it has that."""
    folder = dirname(path)
    resource = Resource.from_tree(root)
    targets = [_target(folder, entry) for entry in entries.items]
    # A sorted list stays sorted; to others, new entries are appended.
    is_sorted = targets == sorted(targets)
    gone = [entry for entry, target in zip(entries.items, targets, strict=True) if target in deleted]
    for entry in gone:
        resource.editor.remove(entries, entry)
    new = [file for file in sorted(added) if file not in targets]
    for file in new:
        children = [child for child in resource.editor.children(entries) if not isinstance(child, Entry)]
        before = [child for child in children if not is_sorted or _target(folder, child) < file]
        resource.editor.insert(entries, from_value(relpath(file, folder or ".")), before[-1] if before else None)
    if not gone and not new:
        return None
    changes = {"lists": [relpath(file, folder or ".") for file in new], "no longer lists": list(map(key_text, gone))}
    message = "; ".join(f"{did} {_shorten(names)}" for did, names in changes.items() if names)
    results.info(f"{path}: {message}", file=path, rule="R11", tags={"side": "upstream"})
    return resource.text().encode()


def _shorten(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:MOST_NAMES])} and {more} more"


def _target(folder: str, entry: Node) -> str:
    """The path in the package that an entry of `resources` names."""
    entry = resolved(entry)
    return normpath(join(folder, key_text(entry))) if isinstance(entry, Scalar) else ""
