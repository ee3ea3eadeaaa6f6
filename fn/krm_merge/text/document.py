"""Renders an edited document and makes sure that the text says what the edits mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, zip_longest
from typing import NamedTuple

from krm_merge.startup import pattern
from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.editing.render import Piece, render
from krm_merge.text.reading.layout import (
    CannotEditError,
    Indents,
    chunks,
    has_nothing_above,
    is_block,
    is_block_scalar,
    source_of,
)
from krm_merge.text.reading.nodes import (
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    Value,
    from_value,
    key_text,
    value_of,
)
from krm_merge.text.reading.reader import check, read, read_all
from krm_merge.text.reading.scalars import Canonical

_SEPARATOR = "---\n"

# Lines that only mean something between documents.
_OF_DOCUMENTS = pattern(r"^(?:---|\.\.\.|%|\ufeff)", re.MULTILINE)


# A scalar that cannot be read in another way: without quotes, or in those that hold no escapes.
_WORD = pattern(r"""(?:[A-Za-z0-9_/][A-Za-z0-9_./+=~@-]*(?::[A-Za-z0-9_./+=~@-]+)*|"[ !#-\[\]-~]*"|'[ -&(-~]*')\Z""")

_SEPARATORS = pattern(r"(?:---[ \t]*\r?\n)+")
_SEPARATORS_BELOW_COMMENTS = pattern(r"(?P<comments>(?:[ \t]*(?:#[^\n]*|\r)?\n)*)(?:---[ \t]*\r?\n)+")


class Rendered(NamedTuple):
    """A document after its edits: its text, and its tree if it was read whole."""

    text: str
    root: Node | None


def rendered(editor: Editor, read_again: Callable[[str], Node | None] = read) -> Rendered:
    """The document after the edits, its text read again and compared (W2).

    `read_again` reads as the edited tree was read. Raises TextError where the layout allows no such edit, and where the
    text does not mean what the edits mean.
    """
    try:
        text, pieces = render(editor)
    except CannotEditError as error:
        field = None if error.node is None else _path_to(error.node, editor.root)
        raise TextError(f"{field.lstrip('.')}: cannot edit {error}" if field else f"cannot edit {error}") from None
    if pieces is not None and says(text, pieces, editor):
        return Rendered(text, None)
    if (root := _meaning(text, editor.canonical(), read_again)) is not None:
        return Rendered(text, root)
    raise TextError("the edits of this document cannot be written; please report it with the document")


def _path_to(node: Node, around: Node) -> str | None:
    """The field that holds a node, from another node around it, as in `.spec.ports[0]`; None where it is not inside."""
    if node is around:
        return ""
    children = around.children if isinstance(around, MappingNode | SequenceNode) else ()
    for at, child in enumerate(children):
        rest = _path_to(node, value_of(child))
        if rest is not None:
            return (f".{key_text(child.key)}" if isinstance(child, Entry) else f"[{at}]") + rest
    return None


def says(text: str, pieces: list[Piece], editor: Editor) -> bool:
    """Whether a text that differs in these pieces only says what the edits mean, without reading the rest of it again.

    Each piece is read as a document of its own: at the same column, of whole lines, without aliases, and with no block
    scalar at its end that could take in what follows, it means there what it means in its place. All of the text must
    still be well-formed.
    """
    if not all(map(_is_whole, pieces)):
        return False
    # Most edits put another word in the place of one: what it means there shows without a parser.
    words = [piece for piece in pieces if piece.column is None and _WORD.match(piece.text)]
    if any(_scalar_of_word(piece.text).canonical != editor.canonical(piece.node) for piece in words):
        return False
    known = set(map(id, words))
    pieces = [piece for piece in pieces if id(piece) not in known]
    # In one text, as a parser takes longer to make than to read a piece.
    documents = [_document_of_piece(piece) for piece in pieces]
    starts = accumulate(map(len, documents), initial=len(_SEPARATOR))
    try:
        # Of a text that was read and values that were: its depth is limited already.
        check(text, len(text))
        roots = read_all("".join(documents), max(piece.depth for piece in pieces)) if pieces else ()
        return all(
            placed is not None and root is not None and _piece_says(placed[0], placed[1], root, editor)
            for placed, root in zip_longest(zip(pieces, starts, strict=False), roots)
        )
    except TextError:
        return False


def _is_whole(piece: Piece) -> bool:
    """Whether a piece has all of its lines and nothing that only means something between documents."""
    text = piece.text
    if piece.column is None:
        return "\n" not in text
    return text.endswith("\n") and not _OF_DOCUMENTS.search(text)


def _scalar_of_word(text: str) -> Scalar:
    is_quoted = text[0] in ("'", '"')
    return Scalar.new(text[1:-1] if is_quoted else text, text[0] if is_quoted else "")


def _document_of_piece(piece: Piece) -> str:
    if piece.column is None:
        return f"{_SEPARATOR}{piece.text}\n"
    return f"{_SEPARATOR}{' ' * piece.column if piece.inline else ''}{piece.text}"


def _piece_says(piece: Piece, start: int, root: Node, editor: Editor) -> bool:
    """Whether a piece that was read means what its edits mean; its text begins at `start` among others."""
    if type(root) is not type(piece.node):
        return False
    source = source_of(root)
    if piece.column is None:
        # A block, which would be one of its parent's, ends behind the line break.
        placed = (root.start, root.end) == (start, start + len(piece.text))
    else:
        placed = is_block(root) and source.column(root.start) == piece.column and not is_block_scalar(_last(root))
    return placed and not source.odd_breaks and root.canonical == editor.canonical(piece.node)


def _last(node: Node) -> Node:
    while isinstance(node, MappingNode | SequenceNode) and node.children:
        node = value_of(node.children[-1])
    return node


def document_text(root: MappingNode) -> str:
    """The text that an object is alone in, comments above and below included: its document's, or its own lines."""
    if has_nothing_above(source_of(root).text, root.start):
        return source_of(root).text
    return text_of(root)


def without_separators(document: str) -> str:
    """The text of a document without the bare separators that it begins with: its place in the file is not its own."""
    match = _SEPARATORS.match(document)
    return document[match.end() :] if match else document


def with_separators_of(document: str, other: str) -> str:
    """A document with the bare separators that another version begins with, which say nothing more.

    Comments may be above them; then they are part of the text where the other version has separators at all.
    """
    separators = _SEPARATORS_BELOW_COMMENTS.match(other)
    if separators is None:
        own = _SEPARATORS_BELOW_COMMENTS.match(document)
        return document if own is None else own["comments"] + document[own.end() :]
    bare = without_separators(document)
    # A separator that is left has a comment or a tag behind it, or comments above it.
    return document if separators["comments"] or "\n---" in f"\n{bare}" else separators.group() + bare


def text_of(root: MappingNode) -> str:
    """The text of one document among others as a separate document: its own lines, at column 0."""
    try:
        places = chunks(root)
    except CannotEditError:
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


def written(root: MappingNode, sequence_indent: int | None = 0) -> str:
    """A mapping without source text, as a document in block style."""
    emitter = Emitter(Editor(root), Indents(sequence=sequence_indent))
    return "".join(emitter.child(entry, 0, None, "\n") for entry in root.entries)


def yaml_of(value: Value) -> str:
    """A plain value as a document in block style."""
    root = from_value(value)
    emitter = Emitter(Editor(root), Indents(sequence=0))
    if isinstance(root, MappingNode | SequenceNode) and value:
        return emitter.block(root, 0, "\n")
    return f"{emitter.flow(root)}\n"


def _head_of_document(text: str, start: int) -> int:
    """Start of the comments and blank lines above a position."""
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if text[above:start].strip() and not text[above:start].startswith("#"):
            break
        start = above
    return start + len(text[start:]) - len(text[start:].lstrip("\r\n"))


def _meaning(text: str, meaning: Canonical, read_again: Callable[[str], Node | None]) -> Node | None:
    """The text read, if it means what is wanted."""
    try:
        root = read_again(text)
    except TextError:
        return None
    return root if root is not None and root.canonical == meaning else None
