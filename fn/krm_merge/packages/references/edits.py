"""ReferenceEdits by which references follow what they name (law I), each with its decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.packages.files.tree import Changes, File, Tree
from krm_merge.packages.references.graph import Found, is_naming
from krm_merge.packages.references.indexes import ElementPointer
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import cut, in_lines_of, joined, plain_lines
from krm_merge.text.reading.values import Object, Value, to_value


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
        if at not in self._made[path][index]:
            self._made[path][index][at] = new
            self._report(path, f"{format_path(at)}: {old} is {name} now; the reference follows", old, name)

    def rewrite(self, pointer: ElementPointer, new: str) -> None:
        """Gives the operations of a JSON patch another path."""
        path, old = pointer.found.path, pointer.path
        if pointer.file:
            text = self._texts.get(pointer.file) or self._tree[pointer.file].data.decode()
            self._texts[pointer.file] = with_path(text, old, new)
        else:
            made = self._made[path][pointer.found.index]
            made[pointer.field] = with_path(str(made.get(pointer.field, pointer.text)), old, new)
        message = f"the patch of {old} in {pointer.kind} {pointer.name} follows its element to {new}"
        self._report(pointer.file or path, message, old, new)

    def changes(self) -> dict[str, File]:
        """The files with all edits."""
        texts = {path: File(text.encode(), self._tree[path].mode) for path, text in self._texts.items()}
        return texts | {path: self._edited(path, edits) for path, edits in self._made.items()}

    def _edited(self, path: str, edits: dict[int, dict[FieldPath, Value]]) -> File:
        file = self._tree[path]
        data = plain_lines(file.data)
        documents = [data] if is_naming(path) else cut(data, path)
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


def put_back(found: Found, tree: Tree) -> Changes:
    """The change that adds an object to the file that it had."""
    document = (found.root.source.text if found.root.source is not None else "").encode()
    if found.path not in tree:
        return {found.path: File(document)}
    file = tree[found.path]
    documents = [*cut(plain_lines(file.data), found.path), document]
    return {found.path: File(in_lines_of(joined(documents, file.data), file.data), file.mode)}


def _order(step: object) -> tuple[int, str]:
    return (step, "") if isinstance(step, int) else (-1, str(step))


def with_path(text: str, old: str, new: str) -> str:
    """A text with another path for one that is not part of a longer one."""
    first, *parts = text.split(old)
    made = first
    for part in parts:
        is_whole = (made[-1:] or " ") in " \t\n\"':" and (part[:1] or " ") in " \t\r\n\"',}"
        made += (new if is_whole else old) + part
    return made


def patched_in(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    """The objects of strategic merge patches that a Kustomization or a PatchResources holds as text."""
    for name in ("patches", "patchesStrategicMerge"):
        listed = value.get(name)
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            path, text = ((name, at, "patch"), entry.get("patch")) if isinstance(entry, dict) else ((name, at), entry)
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
            elements = value if isinstance(value, list) else []
            places = [at for at, one in enumerate(elements) if isinstance(one, dict) and one.get("name") == step[0][1]]
            if len(places) != 1:
                return None
            step = places[0]
        exact = (*exact, step)
        value = value_at(value, (step,))
    return exact


def value_at(value: Value, path: FieldPath) -> Value:
    """What a value has at a path of fields and positions."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
