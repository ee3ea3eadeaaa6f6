"""Edits by which references follow what they name: fields, paths of JSON patches, lists of files (law I, R11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath, relpath

from krm_merge.krm import FieldPath, Resource, Results, format_path, value_at
from krm_merge.merge import FileDecision, Member
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
from krm_merge.packages.references.graph import PackageGraph, is_naming
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.schema import objects_at
from krm_merge.startup import frozen, pattern
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
        self._texts: dict[str, str] = {}
        self.followed: list[FileDecision] = []

    def follow(self, path: str, index: int, at: FieldPath, new: Value, old: str, name: str) -> None:
        """Sets a field to what its reference is called now, None to remove it."""
        # Both sides may have lost what it names: the edit is reported once.
        if at not in self._made[path][index]:
            self._made[path][index][at] = new
            self._report(path, f"{format_path(at)}: {old} is {name} now; the reference follows", old, name)

    def rewrite(self, pointer: ElementPointer, new: str) -> None:
        """Gives the operations of a JSON patch another path."""
        path, old = pointer.document.place, pointer.path
        if pointer.file:
            text = self._texts.get(pointer.file) or self._tree[pointer.file].data.decode()
            self._texts[pointer.file] = with_path(text, old, new)
        else:
            operations = self._made[path][pointer.document.index]
            operations[pointer.field] = with_path(str(operations.get(pointer.field, pointer.text)), old, new)
        message = f"the patch of {old} in {pointer.kind} {pointer.name} follows its element to {new}"
        self._report(pointer.file or path, message, old, new)

    def changes(self) -> dict[str, File]:
        """The files with all edits."""
        texts = {path: File(text.encode(), self._tree[path].mode) for path, text in self._texts.items()}
        return texts | {path: self._edit(path, edits) for path, edits in self._made.items()}

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

    def _report(self, path: str, message: str, old: str, new: str) -> None:
        before, after = old.encode(), new.encode()
        self.followed.append(FileDecision(path, "I", message, "upstream", "info", before, after, before, after))


def put_back(member: Member, tree: Tree) -> Changes:
    """The change that adds an object to the file that it had."""
    document, path = member.text.encode(), member.place
    if path not in tree:
        return {path: File(document)}
    # Other objects may have come to its file.
    file = tree[path]
    documents = [*split_documents(plain_lines(file.data), path), document]
    return {path: File(in_lines_of(joined(documents, file.data), file.data), file.mode)}


def _order(step: object) -> tuple[int, str]:
    return (step, "") if isinstance(step, int) else (-1, str(step))


def with_path(text: str, old: str, new: str) -> str:
    """A text with another path for one that is not part of a longer one."""
    first, *parts = text.split(old)
    result = first
    for part in parts:
        is_whole = (result[-1:] or " ") in " \t\n\"':" and (part[:1] or " ") in " \t\r\n\"',}"
        result += (new if is_whole else old) + part
    return result


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


def with_name(patch: str, name: str) -> str:
    """The text of a strategic merge patch for an object of another name."""
    root = read(patch)
    assert isinstance(root, MappingNode)
    resource = Resource.from_tree(root)
    resource.set("metadata.name", name)
    return resource.text()


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


_INDEX = pattern(r"/[0-9]+(?=/|$)")


@frozen
class ElementPointer:
    """A path of a JSON patch, and the object that the patch is applied to.

    `document` is the document that declares the patch. Its operations are the `text` at `field`, or that of `file`.
    `is_alone` says that no operation of the patch adds or removes an element by its position.
    """

    document: Member
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
    for document in graph.declaring(path):
        value = document.value
        for field, entry in (*objects_at(value, "patches.*"), *objects_at(value, "patchesJson6902.*")):
            target = entry.get("target")
            kind, name = (target.get(key) if isinstance(target, dict) else None for key in ("kind", "name"))
            if not isinstance(kind, str) or not isinstance(name, str):
                continue
            of_file, text = _operations(graph, document, entry)
            paths = list(_paths(text))
            is_alone = not any(_INDEX.search(at[at.rfind("/") :]) for operation, at in paths if operation != "replace")
            for at in dict.fromkeys(at for operation, at in paths if _names_element(operation, at)):
                yield ElementPointer(document, (*field, "patch"), of_file, text, kind, name, at, is_alone)


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
            place = _place_of(element["name"], now)
            if place is None:
                return None
            parts[at] = str(place)
            before, now = element, now[place]
        else:
            before, now = (side.get(part) if isinstance(side, dict) else None for side in (before, now))
    return "/".join(parts)


def _place_of(name: Value, elements: list[Value]) -> int | None:
    """The position of the only element with this name."""
    places = [at for at, element in enumerate(elements) if isinstance(element, dict) and element.get("name") == name]
    return places[0] if len(places) == 1 else None


def _operations(graph: PackageGraph, document: Member, entry: Object) -> tuple[str, str]:
    """The file that has the operations of a patch, '' for the declaring document, and their text."""
    if isinstance(text := entry.get("patch"), str):
        return "", text
    path = entry.get("path")
    file = normpath(join(dirname(document.place), path)) if isinstance(path, str) else ""
    return file, graph.tree[file].data.decode(errors="replace") if file in graph.tree else ""


def _paths(text: str) -> Iterator[tuple[str, str]]:
    """The operations of a JSON patch, none of another kind of patch."""
    # Without a path it is another kind of patch, and need not be read.
    if not _INDEX.search(text) and "/" not in text:
        return
    try:
        root = read(text)
    except TextError:
        return
    operations = to_value(root) if isinstance(root, SequenceNode) else None
    for operation in operations if isinstance(operations, list) else ():
        if isinstance(operation, dict) and isinstance(at := operation.get("path"), str):
            yield str(operation.get("op")), at


def _names_element(operation: str, path: str) -> bool:
    ends = [match.end() for match in _INDEX.finditer(path)]
    # An insertion in front of an element means the place.
    return bool(ends) and not (operation == "add" and ends == [len(path)])


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
