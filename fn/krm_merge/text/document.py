"""Renders an edited document and makes sure that the text says what the edits mean."""

from __future__ import annotations

from typing import NamedTuple

from krm_merge.text.editor import Editor
from krm_merge.text.emit import Emitter
from krm_merge.text.layout import CannotEdit, chunks, source_of
from krm_merge.text.nodes import Canonical, Mapping, Node, TextError
from krm_merge.text.reader import read


class Rendered(NamedTuple):
    """A document after its edits: its text, that text read again, and whether the fallback wrote it."""

    text: str
    root: Node
    by_fallback: bool


def rendered(editor: Editor) -> Rendered:
    """The document after the edits, its text read again and compared (W2).

    Raises TextError when neither way gives a text that means what the edits mean.
    """
    wanted = editor.canonical()
    try:
        text = editor.render()
    except CannotEdit:
        pass
    else:
        if (root := _meaning(text, wanted)) is not None:
            return Rendered(text, root, by_fallback=False)
    # Imported only where it is needed: hardly any document does.
    from krm_merge.text.reemit import reemit, written_anew

    for write in (reemit, written_anew):
        try:
            text = write(source_of(editor.root).text, editor)
        except CannotEdit:
            continue
        if (root := _meaning(text, wanted)) is not None:
            return Rendered(text, root, by_fallback=True)
    raise TextError("the edits of this document cannot be written; please report it with the document")


def text_of(root: Mapping) -> str:
    """The text of one document among others as a document of its own: its lines as they stand, at column 0."""
    try:
        places = chunks(root)
    except CannotEdit:
        return written(root, None)
    text, start, end = source_of(root).text, places[0].start, places[-1].end
    if places[0].column == 0:
        # A document of its own: with the comments at its head and its foot that no field has.
        start, end = _head_of_document(text, start), root.end
    lines = text[start:end].splitlines(keepends=True)
    indent = " " * places[0].column
    if places[0].inline:
        lines[0] = indent + lines[0]
    return "".join(line[len(indent) :] if line.startswith(indent) else line.lstrip(" ") for line in lines)


def written(root: Mapping, sequence_indent: int | None = 0) -> str:
    """A mapping that stands in no text, as a document in block style."""
    emitter = Emitter(Editor(root), sequence_indent)
    return "".join(emitter.child(entry, 0, None, "\n") for entry in root.entries)


def _head_of_document(text: str, start: int) -> int:
    """Start of the comments and blank lines above a position."""
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if text[above:start].strip() and not text[above:start].startswith("#"):
            break
        start = above
    return start + len(text[start:]) - len(text[start:].lstrip("\r\n"))


def _meaning(text: str, wanted: Canonical) -> Node | None:
    """The text read, if it means what is wanted."""
    try:
        root = read(text)
    except TextError:
        return None
    return root if root is not None and root.canonical == wanted else None
