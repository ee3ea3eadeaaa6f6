"""One resource of a ResourceList: its bytes, read only when needed, edited in its own text (rule W2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import FieldPath, Identity, format_path, parse_path
from krm_merge.krm.result import ResourceRef
from krm_merge.startup import pattern
from krm_merge.text import (
    Comments,
    Editor,
    Entry,
    MappingNode,
    Node,
    Rendered,
    SequenceNode,
    Slice,
    TextError,
    Value,
    from_value,
    is_null,
    key_text,
    read,
    rendered,
    resolved,
    source_of,
    to_value,
)

if TYPE_CHECKING:
    from krm_merge.text import KeysOf, Object, Rendered


PATH = "internal.config.kubernetes.io/path"
INDEX = "internal.config.kubernetes.io/index"
PACKAGE_PATH = "internal.config.kubernetes.io/package-path"
LEGACY_PATH = "config.kubernetes.io/path"
LEGACY_INDEX = "config.kubernetes.io/index"
ID_ANNOTATIONS = ("internal.config.kubernetes.io/id", "config.k8s.io/id")

_PATH_LINE = pattern(rb"""^ *(?:internal\.)?config\.kubernetes\.io/path: *['"]?([^'"#\r\n]+)""", re.MULTILINE)
# The value ends with its line: the next line is not indented deeper.
_KIND_LINE = (
    rb"^[ -]{%d}kind:[ \t]+(?!Null\b|NULL\b)([A-Z][A-Za-z0-9]*)(?:[ \t]+#[^\n]*|[ \t]*\r?)(?:\n {0,%d}[^ \n\r]|\n?\Z)"
)


class ResourceError(KrmMergeError, ValueError):
    """A resource that cannot be read. `file` is its path where that could be seen."""

    def __init__(self, problem: str, file: str | None = None, path: str | None = None) -> None:
        """Keeps file and field path apart from the message."""
        super().__init__(f"{file}: {problem}" if file else problem)
        self.file = file
        self.path = path


class Resource:
    """A Kubernetes object and its text.

    The text is parsed at the first look at the object. Changes are edits of the text: comments, order and style of the
    rest stay. A resource without changes is written byte for byte.
    """

    def __init__(self, data: Slice, dash: int = 0) -> None:
        """Takes an item of a list: whole lines, its dash at column `dash`."""
        self.slice = data
        self._dash = dash
        self._root: MappingNode | None = None
        self._editor: Editor | None = None
        self._rendered: Rendered | None = None
        self._revision = 0
        self._is_presented = False
        self._settled: bytes | None = None
        self._place: tuple[str | None, int] = (None, 0)

    @classmethod
    def from_document(cls, text: str) -> Resource:
        """A new resource from the text of one YAML document."""
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")
        if lines[0].rstrip() == "---":
            del lines[0]
        # Lines of white space may be content of a block scalar.
        indented = "\n".join(f"  {line}" if line else line for line in lines)
        return cls(Slice(f"-{indented[1:]}\n".encode(), proved=False))

    @classmethod
    def from_tree(cls, root: MappingNode, file: str | None = None, index: int = 0) -> Resource:
        """A resource read elsewhere; it has no bytes of its own. `index` says which document of `file` it is."""
        resource = cls(Slice(b"", proved=False))
        resource._root, resource._place = root, (file, index)
        return resource

    # ---- reading -----------------------------------------------------------------------------------------------

    @property
    def root(self) -> MappingNode:
        """The tree of the object as it was read. Raises ResourceError."""
        if self._root is None:
            self._root = self._read()
        return self._root

    def _read(self) -> MappingNode:
        try:
            text = (self.slice.data if self._settled is None else self._settled).decode("utf-8")
        except UnicodeDecodeError:
            self._refuse("not UTF-8; save the file as UTF-8")
        try:
            root = read(self._with_dash(" ", text))
        except TextError as error:
            self._refuse(str(error))
        if not isinstance(root, MappingNode):
            self._refuse("not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected")
        return root

    def _refuse(self, problem: str) -> NoReturn:
        match = _PATH_LINE.search(self.slice.data)
        raise ResourceError(problem, match.group(1).decode(errors="replace").strip() if match else None)

    @property
    def source(self) -> str:
        """The text that it was read from."""
        return source_of(self.root).text

    @property
    def column(self) -> int:
        """The column of its fields in the lines of its slice; the dash may be alone on the first one."""
        data, start, before = self.slice.data, self._dash + 1, self._dash + 1
        while True:
            end = data.find(b"\n", start)
            line = data[start:] if end < 0 else data[start:end]
            fields = line.lstrip(b" ")
            is_blank = not fields.strip() or fields.startswith(b"#")
            if not is_blank or end < 0:
                return before + len(line) - len(fields)
            start, before = end + 1, 0

    @property
    def kind(self) -> str:
        """The kind, seen without parsing where the text is plain; '' where there is none."""
        if self._root is None and self.slice.proved:
            match = re.search(_KIND_LINE % (self.column, self.column), self.slice.data, re.MULTILINE)
            if match:
                return match.group(1).decode()
        return self._text_at("kind")

    @property
    def api_version(self) -> str:
        """The apiVersion, or ''."""
        return self._text_at("apiVersion")

    @property
    def name(self) -> str:
        """metadata.name, or ''."""
        return self._text_at("metadata", "name")

    @property
    def namespace(self) -> str:
        """metadata.namespace, or ''."""
        return self._text_at("metadata", "namespace")

    @property
    def annotations(self) -> dict[str, str]:
        """metadata.annotations."""
        node = self._now(self._now(self.root, "metadata"), "annotations")
        if not isinstance(node, MappingNode):
            return {}
        children = self.editor.children(node) if self.is_changed else list(node.fields.values())
        return {key_text(e.key): _scalar_text(self._value(e)) for e in children if isinstance(e, Entry)}

    @property
    def file(self) -> str | None:
        """The path of its file as the host gave it."""
        annotations = self.annotations
        return annotations.get(PATH) or annotations.get(LEGACY_PATH) or self._place[0]

    @property
    def index(self) -> int:
        """Which document of its file it is."""
        annotations = self.annotations
        text = annotations.get(INDEX) or annotations.get(LEGACY_INDEX) or ""
        return int(text) if text.isdecimal() else self._place[1]

    @property
    def identity(self) -> Identity:
        """Which resource it is."""
        return Identity(self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name)

    @property
    def ref(self) -> ResourceRef:
        """How results name it."""
        return ResourceRef(self.api_version, self.kind, self.name, self.namespace)

    @property
    def value(self) -> Object:
        """The object as plain values, with the changes made so far."""
        return to_value(self.merged() if self.is_changed else self.root)

    def _text_at(self, *path: str) -> str:
        node: Node | None = self.root
        for name in path:
            node = self._now(node, name)
        return _scalar_text(node) if node is not None else ""

    def _now(self, node: Node | None, name: str) -> Node | None:
        """The value of a field with the changes made so far."""
        if not isinstance(node, MappingNode):
            return None
        if self._editor is None:
            return node.get(name)
        entry = self._entry(node, name)
        return None if entry is None else resolved(self._value(entry))

    def _value(self, entry: Entry) -> Node:
        return entry.value if self._editor is None else self._editor.value(entry)

    # ---- changing ----------------------------------------------------------------------------------------------

    @property
    def editor(self) -> Editor:
        """The edits of its text."""
        if self._editor is None:
            self._editor = Editor(self.root)
        return self._editor

    @property
    def is_changed(self) -> bool:
        """Whether there are edits, or another text."""
        return self._is_presented or (self._editor is not None and self._editor.is_touched(self.root))

    def set(self, path: str, value: Value) -> None:
        """Sets a field, e.g. `set("spec.replicas", 3)`; mappings on the way are made where they are missing.

        Raises KeyError where a list element on the way does not exist, ValueError for an unreadable path.
        """
        steps = parse_path(path)
        holder, missing = self._descend(steps[:-1])
        if missing:
            wrapped: Value = value
            for step in reversed([*missing[1:], steps[-1]]):
                wrapped = {_field_name(step, path): wrapped}
            self._put(holder, _field_name(missing[0], path), from_value(wrapped))
        elif isinstance(holder, SequenceNode):
            self.editor.replace(self._element(holder, steps[-1:]), from_value(value))
        else:
            self._put(holder, _field_name(steps[-1], path), from_value(value))

    def remove(self, path: str) -> None:
        """Removes a field or a list element. Raises KeyError where it does not exist."""
        steps = parse_path(path)
        holder, missing = self._descend(steps[:-1])
        if missing:
            raise KeyError(path)
        if isinstance(holder, SequenceNode):
            self.editor.remove(holder, self._element(holder, steps[-1:]))
            return
        entry = self._entry(holder, _field_name(steps[-1], path))
        if entry is None:
            raise KeyError(path)
        self.editor.remove(holder, entry)

    def change(self, old: dict[str, Value], new: dict[str, Value], keys_of: KeysOf | None = None) -> None:
        """Turns the object from `old`, its value without changes, into `new`; what is the same keeps its text (P5).

        Objects identical in both are skipped. `keys_of` gives the fields that identify the elements of the list
        at a path (without steps into elements), so that an element with other values keeps its text, too.
        """
        from krm_merge.text import Change

        change = Change(self.editor, keys_of) if keys_of is not None else Change(self.editor)
        change.mapping(self.root, old, new)

    def settle(self, data: bytes) -> None:
        """Sets the bytes, as `data` gives them, of the object with all changes made so far."""
        self.forget()
        self._root, self._settled = None, data

    def forget(self) -> None:
        """Forgets tree and changes: these take many times the memory of the text."""
        self._editor = self._rendered = None
        self._is_presented = False
        # What was read elsewhere cannot be read again.
        if self.slice.data:
            self._root = None

    def _descend(self, steps: FieldPath) -> tuple[MappingNode | SequenceNode, FieldPath]:
        node: MappingNode | SequenceNode = self.root
        for position, step in enumerate(steps):
            if isinstance(node, SequenceNode):
                child: Node = self.editor.value(self._element(node, (step,)))
            else:
                entry = self._entry(node, _field_name(step, format_path(steps)))
                if entry is None:
                    return node, steps[position:]
                child = self.editor.value(entry)
            child = resolved(child)
            if is_null(child) and isinstance(node, MappingNode):
                return node, steps[position:]
            if not isinstance(child, MappingNode | SequenceNode):
                raise KeyError(f"{format_path(steps[: position + 1])} is neither a mapping nor a list")
            node = child
        return node, ()

    def _entry(self, node: MappingNode, name: str) -> Entry | None:
        for child in self.editor.children(node):
            if isinstance(child, Entry) and child.key.canonical == name:
                return child
        entry = node.fields.get(name)
        return entry if entry is not None and entry.inherited else None

    def _element(self, node: SequenceNode, steps: FieldPath) -> Node:
        items = [item for item in self.editor.children(node) if not isinstance(item, Entry)]
        step = steps[0]
        if isinstance(step, int) and step < len(items):
            return items[step]
        if isinstance(step, tuple):
            for item in items:
                value = resolved(self.editor.value(item))
                if isinstance(value, MappingNode) and all(
                    (field := self._now(value, name)) is not None and _scalar_text(field) == expected
                    for name, expected in step
                ):
                    return item
        raise KeyError(format_path(steps))

    def _put(self, holder: MappingNode | SequenceNode, name: str, value: Node) -> None:
        if isinstance(holder, SequenceNode):
            raise KeyError(f"a list has no field {name}")
        entry = self._entry(holder, name)
        if entry is not None and self.editor.value(entry).canonical == value.canonical:
            return
        if entry is not None and not entry.inherited:
            self.editor.replace(entry, value)
            return
        children = self.editor.children(holder)
        self.editor.insert(holder, Entry(from_value(name), value), children[-1] if children else None, Comments())

    # ---- writing -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The text of the object, at its column in the list, with a space for the dash. Raises TextError (W2)."""
        return self._render().text

    def merged(self) -> MappingNode:
        """The object after the changes, read from its new text. Raises TextError."""
        if not self.is_changed:
            return self.root
        written = self._render()
        if written.root is None:
            self._rendered = written = written._replace(root=read(written.text))
        assert isinstance(written.root, MappingNode)
        return written.root

    def _render(self) -> Rendered:
        if self._rendered is None or self._revision != self.editor.revision:
            self._rendered, self._revision = rendered(self.editor), self.editor.revision
        return self._rendered

    def present(self, text: str, root: MappingNode | None = None) -> None:
        """Sets the text of the object with all changes made so far; the caller guarantees that they agree.

        `root` is the tree of the text, where it was read. An item lacks the annotations that `drop_ids` removes.
        """
        if text == self.source:
            return
        self._rendered, self._revision = Rendered(text, root), self.editor.revision
        self._is_presented = True

    def data(self) -> bytes:
        """The item's bytes: as they were read if nothing changed. Raises TextError (W2)."""
        if not self.is_changed:
            return self.slice.data if self._settled is None else self._settled
        if self.slice.data and not self._is_presented:
            self.drop_ids()
        return self._with_dash("-", self.text()).encode()

    def _with_dash(self, sign: str, text: str) -> str:
        """The text of an item with a sign in the place of its dash; a document of a file has none."""
        return text[: self._dash] + sign + text[self._dash + 1 :] if self.slice.data else text

    def drop_ids(self) -> None:
        """Removes kpt's internal annotations from a changed object (W3)."""
        # While these are there, kpt copies the comments and the key order of the input back, lists by position.
        metadata = self.root.get("metadata")
        holder = self._entry(metadata, "annotations") if isinstance(metadata, MappingNode) else None
        annotations = None if holder is None else resolved(self._value(holder))
        if not isinstance(metadata, MappingNode) or holder is None or not isinstance(annotations, MappingNode):
            return
        ids = [self._entry(annotations, name) for name in ID_ANNOTATIONS]
        for entry in ids:
            if entry is not None:
                self.editor.remove(annotations, entry)
        if any(ids) and not self.editor.children(annotations):
            self.editor.remove(metadata, holder)


def _scalar_text(node: Node) -> str:
    node = resolved(node)
    return "" if isinstance(node, MappingNode | SequenceNode) or is_null(node) else key_text(node)


def _field_name(step: object, path: str) -> str:
    if not isinstance(step, str):
        raise KeyError(f"{path}: a mapping has no element {step}")
    return step
