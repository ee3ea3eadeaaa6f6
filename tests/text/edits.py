"""Short words for edits in tests."""

from __future__ import annotations

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import render
from krm_merge.text.reading.layout import Comments
from krm_merge.text.reading.nodes import (
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    SequenceNode,
    Value,
    from_value,
    resolved,
)
from krm_merge.text.reading.reader import read

Path = tuple[str | int, ...]
END = object()


def tree(text: str) -> Node:
    root = read(text)
    assert root is not None
    return root


class Edit:
    """A document being edited; paths are keys and indices, `("spec", 0)`."""

    def __init__(self, text: str) -> None:
        self.root = tree(text)
        self.editor = Editor(self.root)

    def child(self, *path: str | int) -> tuple[Collection, Child]:
        node = resolved(self.root)
        child: Child = node
        holder: Node = node
        for step in path:
            holder = resolved(node)
            if isinstance(holder, MappingNode):
                assert isinstance(step, str)
                child = holder.fields[step]
                node = child.value
            else:
                assert isinstance(holder, SequenceNode)
                assert isinstance(step, int)
                child = node = holder.items[step]
        assert isinstance(holder, MappingNode | SequenceNode)
        return holder, child

    def collection(self, *path: str | int) -> Collection:
        child = self.child(*path)[1] if path else self.root
        node = resolved(child.value if isinstance(child, Entry) else child)
        assert isinstance(node, MappingNode | SequenceNode)
        return node

    def set(self, *path: str | int, to: Value | Node) -> Edit:
        self.editor.replace(self.child(*path)[1], to if is_node(to) else from_value(to))  # type: ignore[arg-type]
        return self

    def remove(self, *path: str | int) -> Edit:
        self.editor.remove(*self.child(*path))
        return self

    def add(
        self,
        *path: str | int,
        key: str | None = None,
        value: Value | Node,
        after: object = END,
        comments: Comments | None = None,
    ) -> Edit:
        """Adds a field or an item to the collection at the path, behind a child of it, by default at the end."""
        holder = self.collection(*path)
        node: Node = value if is_node(value) else from_value(value)  # type: ignore[assignment,arg-type]
        child: Child = node if key is None else Entry(from_value(key), node)
        children = self.editor.children(holder)
        place = None if after is None or not children else children[-1]
        if after is not END and after is not None:
            place = self.child(*path, after)[1]  # type: ignore[arg-type]
        self.editor.insert(holder, child, place, comments)
        return self

    def move(self, *path: str | int, after: str | int | None) -> Edit:
        holder, child = self.child(*path)
        self.editor.move(holder, child, None if after is None else self.child(*path[:-1], after)[1])
        return self

    def comment(self, *path: str | int, head: tuple[str, ...] = (), line: str | None = None) -> Edit:
        self.editor.comment(self.child(*path)[1], Comments(head, line))
        return self

    def text(self) -> str:
        """The rendered text, which must mean what the edits mean; rendering changes nothing."""
        canonical = self.editor.canonical()
        text = render(self.editor).text
        assert tree(text).canonical == canonical, text
        assert self.editor.canonical() == canonical
        assert render(self.editor).text == text
        return text


def is_node(value: object) -> bool:
    return hasattr(value, "canonical")
