"""Keeps the `resources` of Kustomizations true when files are added and deleted (rule R11)."""

from __future__ import annotations

from posixpath import basename, dirname, join, normpath, relpath

from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.packages.files.tree import Changed, Changes, File, Tree, holds_resources, is_json, is_kptfile
from krm_merge.schema.kustomization import FILES as KUSTOMIZATION_FILES
from krm_merge.text.reading.nodes import Entry, MappingNode, Node, Scalar, SequenceNode, TextError, resolved
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import from_value, key_text

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
        path: found for path in after if basename(path) in KUSTOMIZATION_FILES and (found := _list_in(after[path]))
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
        edited = _edited(path, root, entries, by_list.get(path, []), deleted, results)
        if edited is not None:
            more[path] = File(edited, after[path].mode)
    return more


def _is_listed(path: str) -> bool:
    is_resource = (holds_resources(path) or is_json(path)) and not is_kptfile(path)
    return is_resource and basename(path) not in KUSTOMIZATION_FILES


def _list_in(file: File) -> tuple[MappingNode, SequenceNode] | None:
    """The Kustomization in a file with its list of resources."""
    try:
        root = read(file.data.decode("utf-8"))
    except (UnicodeDecodeError, TextError):
        return None
    entries = root.get("resources") if isinstance(root, MappingNode) else None
    entries = None if entries is None else resolved(entries)
    return (root, entries) if isinstance(root, MappingNode) and isinstance(entries, SequenceNode) else None


def _around(path: str, lists: dict[str, tuple[MappingNode, SequenceNode]]) -> str | None:
    """The nearest Kustomization at or above the folder of a file."""
    folder = dirname(path)
    while True:
        for name in KUSTOMIZATION_FILES:
            if (found := join(folder, name)) in lists:
                return found
        if not folder:
            return None
        folder = dirname(folder)


def _edited(
    path: str, root: MappingNode, entries: SequenceNode, added: list[str], deleted: set[str], results: Results
) -> bytes | None:
    """The text of a Kustomization with these files in its list and without the deleted ones; None if it has that."""
    folder = dirname(path)
    resource = Resource.from_tree(root)
    known = [_target(folder, entry) for entry in entries.items]
    is_sorted = known == sorted(known)
    gone = [entry for entry, target in zip(entries.items, known, strict=True) if target in deleted]
    for entry in gone:
        resource.editor.remove(entries, entry)
    new = [file for file in sorted(added) if file not in known]
    for file in new:
        children = [child for child in resource.editor.children(entries) if not isinstance(child, Entry)]
        before = [child for child in children if not is_sorted or _target(folder, child) < file]
        resource.editor.insert(entries, from_value(relpath(file, folder or ".")), before[-1] if before else None)
    if not gone and not new:
        return None
    said = {"lists": [relpath(file, folder or ".") for file in new], "no longer lists": list(map(key_text, gone))}
    message = "; ".join(f"{did} {_shortened(names)}" for did, names in said.items() if names)
    results.info(f"{path}: {message}", file=path, tags={"rule": "R11", "side": "upstream"})
    return resource.text().encode()


def _shortened(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:MOST_NAMES])} and {more} more"


def _target(folder: str, entry: Node) -> str:
    """The path in the package that an entry of `resources` names."""
    entry = resolved(entry)
    return normpath(join(folder, key_text(entry))) if isinstance(entry, Scalar) else ""
