"""The layout of a text: the chunk of a child of a collection, its comments, its style, how deep it is indented.

A chunk is the text that is moved or removed together with a child: the comment lines directly above it
(no blank line between), its own lines, the comment at the end of its line, and comment lines directly below that are
indented deeper. The text between two chunks (blank lines, detached comments) stays where it is.
"""

from __future__ import annotations

from typing import NamedTuple

from krm_merge.errors import KrmMergeError
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import (
    Alias,
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    value_of,
)

STEP = 2


@frozen
class Indents:
    """Columns from a key to the keys and to the dashes below it; `sequence` is None where the document has no list."""

    mapping: int = STEP
    sequence: int | None = None


def indents_of(root: Node) -> Indents:
    """The indentation of the first block mapping and of the first block list under a key."""
    mapping: int | None = None
    sequence: int | None = None
    pending: list[Node] = [root] if is_block(root) else []
    while pending and (mapping is None or sequence is None):
        node = pending.pop()
        if isinstance(node, SequenceNode):
            pending.extend(item for item in reversed(node.items) if is_block(item))
            continue
        assert isinstance(node, MappingNode)
        below = [entry.value for entry in node.entries if is_block(entry.value)]
        if not below:
            continue
        source = source_of(node)
        # A complex key follows its question mark.
        column = min(source.column(entry.key.start) for entry in node.entries)
        for value in below:
            if isinstance(value, SequenceNode):
                sequence = max(list_column(value) - column, 0) if sequence is None else sequence
            elif isinstance(value, MappingNode) and mapping is None:
                mapping = source.column(value.entries[0].key.start) - column
        pending.extend(reversed(below))
    # An indentation indicator has one digit, and one column is needed for comments below a block scalar.
    return Indents(mapping if mapping is not None and STEP <= mapping < 9 else STEP, sequence)


def list_column(sequence: SequenceNode) -> int:
    """The column of the dashes of a block list; 0 where it cannot be determined."""
    try:
        return source_of(sequence).column(first_dash(sequence))
    except CannotEditError:
        return 0


class CannotEditError(KrmMergeError):
    """A text whose layout the editor does not know how to change; `node` is the part of it that has this layout."""

    def __init__(self, layout: str, node: Node | None = None) -> None:
        """Takes the layout in words, with a remedy where a person can write it in another way."""
        super().__init__(layout)
        self.node = node


ODD_BREAKS = "a string with line breaks that only YAML 1.1 has; replace them with newlines"


class Chunk(NamedTuple):
    """The place of one child of a block collection, as character indices.

    `start` ≤ `own` (the key, or the dash) < `own_end` (behind the colon, or the dash) ≤ `value` (where the value's text
    begins) ≤ `value_end` ≤ `end`. `inline` says that the child begins behind a dash on the line of its parent.
    """

    start: int
    own: int
    own_end: int
    value: int
    value_end: int
    end: int
    column: int
    inline: bool


@frozen
class Comments:
    """The comments of a child: the lines above it, and the one at the end of its line. Without indentation."""

    head: tuple[str, ...] = ()
    line: str | None = None


NO_COMMENTS = Comments()


def is_block(node: Node) -> bool:
    """Whether the node is a block collection with children."""
    kind = type(node)
    return (kind is MappingNode or kind is SequenceNode) and not node.flow and bool(node.children)  # type: ignore[union-attr]


def is_block_scalar(node: Node) -> bool:
    """Whether the node is written with `|` or `>`."""
    return isinstance(node, Scalar) and node.style in ("|", ">")


def source_of(node: Node) -> Source:
    """The text that the node was read from."""
    if node.source is None:
        raise CannotEditError("a value without source text has no place")
    return node.source


def has_nothing_above(text: str, position: int) -> bool:
    """Whether a position begins a line that only separators, comments and blank lines precede."""
    *lines, rest = text[:position].split("\n")
    bare = (line.removesuffix("\r").removeprefix("---").lstrip(" \t") for line in lines)
    return not rest and all(not line or line.startswith("#") for line in bare)


def content_end(node: Node) -> int:
    """Index behind the last character of the node itself, without what trails it."""
    while True:
        if isinstance(node, MappingNode | SequenceNode) and is_block(node):
            # The end mark of a block collection is the next token, wherever that is.
            node = value_of(node.children[-1])
        elif isinstance(node, Scalar) and is_block_scalar(node):
            return _block_scalar_end(node)
        else:
            return node.end


def block_scalar_header(node: Scalar) -> str:
    """The first line of a block scalar, without a comment."""
    source = source_of(node)
    return source.text[node.start : source.line_end(node.start)].split("#")[0].rstrip()


def _block_scalar_end(node: Scalar) -> int:
    source = source_of(node)
    header_end = source.line_end(node.start)
    if "+" in block_scalar_header(node):
        # The blank lines that `+` keeps are content.
        return max(node.end, header_end)
    # The mark runs on over the blank lines that follow; they are not content.
    body = source.text[header_end : node.end]
    indent, end = block_scalar_indent(node), len(body)
    while end:
        line_start = body.rfind("\n", 0, end - 1) + 1
        line = body[line_start:end].rstrip("\r\n")
        # Spaces beyond the indentation are content, although the line looks blank.
        if line.strip(" ") or len(line) > indent:
            break
        end = line_start
    return header_end + end


def block_scalar_indent(node: Scalar) -> int:
    """Column of the content of a block scalar; 0 when it has none."""
    source = source_of(node)
    raw_lines = source.text[source.line_end(node.start) : node.end].split("\n")
    # Up to the first line that is not blank, lines of the text and of the value are the same, but for the indentation.
    for raw, value in zip(raw_lines, node.text.split("\n"), strict=False):
        if raw.strip(" \r"):
            return source_indent(raw, 0) - source_indent(value, 0)
    return 0


def chunks(collection: Collection) -> list[Chunk]:
    """The chunks of the children of a block collection, in the order of the text. Raises CannotEdit."""
    pieces = known_chunks(collection)
    result = [chunk for chunk in pieces if chunk is not None]
    if len(result) < len(pieces):
        raise CannotEditError("a mapping with complex keys; give it keys without ?", collection)
    return result


def known_chunks(collection: Collection) -> list[Chunk | None]:
    """The chunks of a block collection; None for an entry with a complex key. Raises CannotEdit."""
    source = source_of(collection)
    if not is_block(collection):
        raise CannotEditError("a collection whose children have no lines of their own", collection)
    if source.odd_breaks:
        raise CannotEditError(ODD_BREAKS)
    result: list[Chunk | None] = []
    # The text above this belongs to other children: a line in a quoted scalar may look like a comment.
    floor = 0
    position = collection.start
    for index, child in enumerate(collection.children):
        if isinstance(child, Entry):
            chunk = _entry_chunk(source, child, index == 0, floor)
        else:
            dash = _find_dash(source, position)
            chunk = _item_chunk(source, dash, child, index == 0, floor)
        result.append(chunk)
        floor = position = chunk.value_end if chunk else content_end(value_of(child))
    return result


def _entry_chunk(source: Source, entry: Entry, first: bool, floor: int) -> Chunk | None:
    key, value = entry.key, entry.value
    line = source.line_start(key.start)
    before = source.text[line : key.start]
    inline = bool(before.strip(" "))
    is_simple = isinstance(key, Scalar | Alias) and key.end <= source.line_end(key.start)
    colon = _find_colon(source, key.end)
    if not is_simple or "?" in before or (inline and not first) or colon < 0:
        return None
    column = key.start - line
    colon_end = colon + 1
    end = max(content_end(value), colon_end)
    return Chunk(
        start=key.start if inline else head_start(source, line, column, floor),
        own=key.start,
        own_end=colon_end,
        value=max(value.start, colon_end) if value.end > value.start else colon_end,
        value_end=end,
        end=_tail_end(source, end, column),
        column=column,
        inline=inline,
    )


def _item_chunk(source: Source, dash: int, item: Node, first: bool, floor: int) -> Chunk:
    line = source.line_start(dash)
    inline = bool(source.text[line:dash].strip(" "))
    if inline and not first:
        raise CannotEditError("a list item that begins after another on the same line", item)
    end = max(content_end(item), dash + 1)
    return Chunk(
        start=dash if inline else head_start(source, line, dash - line, floor),
        own=dash,
        own_end=dash + 1,
        value=item.start if item.end > item.start else dash + 1,
        value_end=end,
        end=_tail_end(source, end, dash - line),
        column=dash - line,
        inline=inline,
    )


def _find_colon(source: Source, position: int) -> int:
    text = source.text
    while position < len(text) and text[position] in " \t":
        position += 1
    return position if text[position : position + 1] == ":" else -1


def first_dash(sequence: SequenceNode) -> int:
    """Index of the first dash of a block list. Raises CannotEdit."""
    return _find_dash(source_of(sequence), sequence.start)


def _find_dash(source: Source, position: int) -> int:
    """The next dash of a sequence: only white space, comments and properties precede it."""
    text = source.text
    while position < len(text):
        character = text[position]
        if character == "-":
            return position
        # A comment, an anchor or a tag may hold a dash; YAML allows the first item on a later line only.
        if character in "#&!":
            position = source.line_end(position)
        elif character in " \t\r\n":
            position += 1
        else:
            break
    raise CannotEditError("a list whose dash was not found")


def head_start(source: Source, line: int, column: int, floor: int) -> int:
    """Start of the comment lines directly above a line, or the line itself. Deeper comments belong to what is above."""
    text = source.text
    while line > floor:
        above = text.rfind("\n", 0, line - 1) + 1
        if above < floor or not text[above:line].lstrip().startswith("#") or source_indent(text, above) > column:
            break
        line = above
    return line


def source_indent(text: str, line: int) -> int:
    """Number of spaces at the start of a line."""
    end = line
    while text[end : end + 1] == " ":
        end += 1
    return end - line


def _tail_end(source: Source, end: int, column: int) -> int:
    text = source.text
    # A block scalar and an empty last line end at a line start already.
    end = end if text[end - 1 : end] == "\n" else source.line_end(end)
    while end < len(text):
        line_end = source.line_end(end)
        if not text[end:line_end].lstrip().startswith("#") or source_indent(text, end) <= column:
            break
        end = line_end
    return end


def line_comment_span(value: Node, chunk: Chunk) -> tuple[int, int]:
    """The comment at the end of a child's line, or its place: the white space before it, and the comment.

    For a block collection that is the line of its key or dash; behind a dash kpt writes the comment that was above.
    """
    source = source_of(value)
    if is_block(value):
        start = _behind_properties(source, chunk.own_end)
    elif is_block_scalar(value):
        start = value.start + len(block_scalar_header(value))  # type: ignore[arg-type]
    else:
        start = chunk.value_end
    if start > 0 and source.text[start - 1] == "\n":
        return start, start
    return start, start + len(source.text[start : source.line_end(start)].rstrip("\r\n"))


def _behind_properties(source: Source, position: int) -> int:
    """Index behind the anchor and the tag of a block collection on the line of its key or dash."""
    rest = source.text[position : source.line_end(position)]
    at = 0
    while (word := rest[at:].lstrip(" \t"))[:1] in ("&", "!"):
        at += len(rest[at:]) - len(word) + len(word.split(None, 1)[0])
    return position + at


def has_dash_comment(child: Child, chunk: Chunk) -> bool:
    """Whether a comment follows the dash of an item that is a block collection."""
    return _dash_comment(child, chunk) is not None


def _dash_comment(child: Child, chunk: Chunk) -> str | None:
    if isinstance(child, Entry) or not is_block(child):
        return None
    start, end = line_comment_span(child, chunk)
    return _comment_in(source_of(child).text[start:end])


def comments_of(collection: Collection, child: Child, chunk: Chunk) -> Comments:
    """The comments of a child of a block collection."""
    source = source_of(collection)
    head: list[str] = []
    if not chunk.inline:
        head = [line.strip() for line in source.text[chunk.start : source.line_start(chunk.own)].split("\n")[:-1]]
    value = value_of(child)
    if not isinstance(child, Entry) and is_block(value):
        # kpt moves the comment above such an item behind its dash: in both places it is part of the head.
        dash_comment = _dash_comment(child, chunk)
        return Comments((*head, dash_comment) if dash_comment else tuple(head), None)
    start, end = line_comment_span(value, chunk)
    return Comments(tuple(head), _comment_in(source.text[start:end]))


def follows_blank_line(child: Child) -> bool:
    """Whether there is a blank line between what is above a child in its own text, and the child with its comments.

    Not where that is a comment: comments merge with the blank lines around them.
    """
    node = child.key if isinstance(child, Entry) else child
    if node.source is None:
        return False
    source, line = node.source, node.source.line_start(node.start)
    if source.text[line : node.start].strip(" -"):
        return False
    is_below_blank = False
    while line > 0:
        above = source.line_start(line - 1)
        content = source.text[above:line].strip()
        if content and (is_below_blank or not content.startswith("#")):
            return is_below_blank and not content.startswith("#")
        is_below_blank = is_below_blank or not content
        line = above
    return False


def _comment_in(rest: str) -> str | None:
    """The comment in what follows a value on its line."""
    rest = rest.strip(" \t\r")
    return rest if rest.startswith("#") else None
