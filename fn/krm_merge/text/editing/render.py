"""Renders the text of an edited document: what no edit touches is written byte for byte."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from operator import is_, lt
from typing import NamedTuple

from krm_merge.text.editing.editor import Editor, EditPlan
from krm_merge.text.editing.emit import Emitter, Endings, FlowWriter, without_leading_blanks
from krm_merge.text.reading.layout import (
    ODD_BREAKS,
    CannotEditError,
    Chunk,
    Comments,
    chunks,
    comments_of,
    follows_blank_line,
    has_dash_comment,
    is_block,
    is_block_scalar,
    line_comment_span,
    source_of,
)
from krm_merge.text.reading.nodes import (
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    is_opaque,
    value_of,
)
from krm_merge.text.reading.scalar_text import in_quotes_of


def longest_rising(positions: Sequence[int]) -> set[int]:
    """The longest subsequence of positions in rising order. Positions are distinct."""
    if all(map(lt, positions, positions[1:])):
        # Most lists are in order already.
        return set(positions)
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for position in positions:
        at = bisect_left(tails, position)
        before[position] = tails[at - 1] if at else None
        tails[at : at + 1] = [position]
    steady: set[int] = set()
    current = tails[-1] if tails else None
    while current is not None:
        steady.add(current)
        current = before[current]
    return steady


Splice = tuple[int, int, str]


class Piece(NamedTuple):
    """A value whose text is exchanged as a whole, from `start` to `end`, with `depth` collections around it.

    `node` is the collection with its edits, or the new scalar. `column` is that of the children of a block, None
    for a value on one line. A block begins with its first line, or behind the dash or key before it (`inline`).
    """

    start: int
    end: int
    text: str
    node: Collection | Scalar
    depth: int
    column: int | None = None
    inline: bool = False


class Rendering(NamedTuple):
    """A document after its edits; `pieces` are all that differs, None where it was put together anew."""

    text: str
    pieces: list[Piece] | None


def render(editor: Editor) -> Rendering:
    """The text of the document after the edits. Raises CannotEdit where its layout is beyond us."""
    root = editor.root
    source = source_of(root)
    if not editor.is_touched(root):
        return Rendering(source.text, [])
    if editor.value(root) is not root or not isinstance(root, MappingNode | SequenceNode):
        raise CannotEditError("a document with another root")
    if source.odd_breaks:
        raise CannotEditError(ODD_BREAKS)
    return _Renderer(editor, root).render()


class _Renderer:
    """Puts the text of one document together."""

    def __init__(self, editor: Editor, root: Collection) -> None:
        self._root = root
        self._source = source_of(root)
        self._text = self._source.text
        self._newline = self._source.newline
        self._plan = EditPlan(editor)
        self._emitter = Emitter(self._plan, root)
        self._flow = FlowWriter(self._plan, self._emitter)
        self._endings = Endings(self._source, self._plan, self._emitter)
        self._known_places: dict[int, list[Chunk]] = {}

    def _places(self, collection: Collection) -> list[Chunk]:
        """The chunks of a collection; looking for them takes most of the time."""
        places = self._known_places.get(id(collection))
        if places is None:
            places = self._known_places[id(collection)] = chunks(collection)
        return places

    def render(self) -> Rendering:
        # Pieces are read back alone, where aliases have no anchors; a last line without a newline may get a follower.
        is_splittable = self._text.endswith("\n") and not self._source.has_aliases
        if is_splittable and (pieces := self._pieces(self._root, 0)) is not None:
            return Rendering(_splice(self._text, 0, len(self._text), [piece[:3] for piece in pieces]), pieces)
        return Rendering(self._render_whole(), None)

    def _pieces(self, node: Collection, depth: int) -> list[Piece] | None:
        """The edits inside a collection as exchanges of text, each as small as it can be seen to be one.

        None where an edit could change the meaning of what follows it: then everything around it is written anew.
        """
        if node.flow:
            return [Piece(node.start, node.end, self._flow.text(node), node, depth)] if depth else None
        now = self._plan.children(node)
        children = node.children
        pieces: list[Piece] = []
        stays = len(now) == len(children) and all(map(is_, now, children))
        for child in children if stays else ():
            if not self._plan.is_touched(child):
                continue
            value = value_of(child)
            inside = None
            if self._plan.comments(child) is not None:
                pass
            elif isinstance(value, Scalar):
                inside = self._scalar(child, value, depth + 1)
            elif (
                isinstance(value, MappingNode | SequenceNode)
                and self._plan.value(child) is value
                and not self._changes_form(value)
            ):
                inside = self._pieces(value, depth + 1)
            if inside is None:
                stays = False
                break
            pieces += inside
        if stays:
            return pieces
        if not depth or self._endings.is_open(now[-1]):
            return None
        places = self._places(node)
        first = places[0]
        return [Piece(first.start, places[-1].end, self._block(node), node, depth, first.column, first.inline)]

    def _scalar(self, child: Child, before: Scalar, depth: int) -> list[Piece] | None:
        """The exchange of one scalar for another where both are on one line, with the key if there is one."""
        after = self._emitter.resolved(self._plan.value(child))
        if not isinstance(after, Scalar) or before.anchor is not None or before.tag is not None:
            return None
        start, end = before.start, before.end
        line = child.key.start if isinstance(child, Entry) else start
        if self._text[start - 1] != " " or "\n" in self._text[line:end]:
            return None
        # A comment may follow quotes at once; behind a plain word it would be part of that word.
        if self._text[end] == "#":
            return None
        text = in_quotes_of(before, after) or self._emitter.inline(after, 0, self._newline)
        return None if not text or "\n" in text else [Piece(start, end, text, after, depth)]

    def _render_whole(self) -> str:
        root, text = self._root, self._text
        children = self._plan.children(root)
        if is_block(root) and children:
            places = self._places(root)
            body = self._block(root)
            rest = text[places[-1].end :]
            if self._last_is_changed(root):
                rest = self._endings.settled(rest, children[-1], places[0].column)
            result = text[: places[0].start] + body + rest
        elif is_block(root):
            places = self._places(root)
            gaps = self._gaps(places, 0, len(places))
            empty = " " * places[0].column + self._emitter.flow(root) + self._newline
            result = text[: places[0].start] + empty + gaps + text[places[-1].end :]
        elif not root.children and self._has_line_of_its_own(root):
            line = self._source.line_start(root.start)
            block = self._emitter.block(root, root.start - line, self._newline)
            result = text[:line] + block + text[self._source.line_end(root.end) :]
        else:
            result = text[: root.start] + self._flow.text(root) + text[root.end :]
        # A text without a last newline gets none, unless it belongs to the value of a block scalar.
        if not text.endswith("\n") and not (children and self._endings.is_open(children[-1])):
            return result.removesuffix(self._newline)
        return result

    def _has_line_of_its_own(self, node: Collection) -> bool:
        line = self._text[self._source.line_start(node.start) : self._source.line_end(node.end)]
        return not line.strip(" \r\n{}[]")

    # ---- one block collection ----------------------------------------------------------------------------------

    def _block(self, node: Collection) -> str:
        """The text of a block collection in its own place, from its first chunk to the end of its last one."""
        places = self._places(node)
        column = places[0].column
        now = self._plan.children(node)
        original = {id(child): index for index, child in enumerate(node.children)}
        steady = longest_rising([original[id(child)] for child in now if id(child) in original])
        out: list[str] = []
        position = 0
        above: Child | None = None
        for child in now:
            index = original.get(id(child))
            if index is None:
                piece = self._emitter.child(child, column, self._plan.comments(child), self._newline)
                if above is None:
                    piece = _without_lines_above(piece, self._text[: places[0].start])
                elif follows_blank_line(child) and not out[-1].endswith(self._newline * 2):
                    piece = self._newline + piece
            else:
                piece = self._chunk(node, child, places[index])
                if places[index].inline:
                    piece = " " * column + piece
            if above is not None and not out[-1].endswith("\n"):
                out[-1] = self._endings.terminated(out[-1], above)
            if index is not None and index in steady:
                gap = self._gaps(places, position, index)
                # Above the first child there is no gap.
                neighbours = index == position and above is node.children[index - 1]
                if above is None:
                    # Blank lines behind a removed first child have nothing left to separate.
                    gap = without_leading_blanks(gap)
                elif not neighbours or self._plan.is_touched(above):
                    gap = self._endings.settled(gap, above, column)
                out.append(gap)
                position = index + 1
            out.append(piece)
            above = child
        rest = self._gaps(places, position, len(places))
        if rest and above is not None:
            rest = self._endings.settled(rest, above, column)
        result = "".join([*out, rest])
        # The dash or key of the parent precedes the first line.
        return result.lstrip(" ") if places[0].inline else result

    def _gaps(self, places: list[Chunk], position: int, index: int) -> str:
        """The text before a chunk, with the detached comments of the chunks removed since `position`."""
        gaps: list[str] = []
        for at in range(max(position, 1), min(index + 1, len(places))):
            gap = self._text[places[at - 1].end : places[at].start]
            # Of the gaps beside removed chunks only those with comments stay: blank lines would add up.
            if at == index or "#" in gap:
                gaps.append(gap)
        return "".join(gaps)

    def _last_is_changed(self, node: Collection) -> bool:
        children = self._plan.children(node)
        return children[-1] is not node.children[-1] or self._plan.is_touched(children[-1])

    # ---- one child ---------------------------------------------------------------------------------------------

    def _chunk(self, node: Collection, child: Child, chunk: Chunk) -> str:
        """The text of one child in its own place, with its edits."""
        if not self._plan.is_touched(child):
            return self._text[chunk.start : chunk.end]
        old = comments_of(node, child, chunk)
        new = self._plan.comments(child) or old
        before, after = value_of(child), self._plan.value(child)
        stays = after is before and not self._changes_form(before)
        splice: Splice | None = None
        if stays and isinstance(before, MappingNode | SequenceNode):
            splice = self._inside(before, chunk)
        elif not stays and not is_block(before) and not is_block_scalar(before):
            text = in_quotes_of(before, self._emitter.resolved(after))
            if text is None:
                text = self._emitter.inline(after, chunk.column, self._newline)
            if text is not None:
                space = "" if self._text[chunk.value - 1] in " \t\n" else " "
                # A comment may follow quotes at once.
                behind = " " if self._text[chunk.value_end : chunk.value_end + 1] == "#" else ""
                anchor = self._anchor_of(before)
                splice = chunk.value, chunk.value_end, space + (f"{anchor} " if anchor else "") + text + behind
        if not stays and splice is None:
            return self._rebuilt(child, chunk, old, new)
        return self._spliced(child, chunk, old, new, splice)

    def _anchor_of(self, value: Node) -> str:
        """The anchor of a value that changes: aliases that are values of their own then mean the new one (V9)."""
        return f"&{value.anchor}" if value.anchor is not None and self._has_opaque_aliases else ""

    @cached_property
    def _has_opaque_aliases(self) -> bool:
        pending: list[Node] = [self._root]
        while pending:
            node = pending.pop()
            if is_opaque(node):
                return True
            if isinstance(node, MappingNode | SequenceNode):
                pending += map(value_of, node.children)
        return False

    def _changes_form(self, value: Node) -> bool:
        """Whether a value is written anew although no other was put in its place: an alias, or emptied, or filled."""
        if isinstance(value, MappingNode | SequenceNode):
            return bool(value.children) != bool(self._plan.children(value))
        return not isinstance(value, Scalar) and self._plan.is_touched(value)

    def _inside(self, value: Collection, chunk: Chunk) -> Splice | None:
        if not any(self._plan.is_touched(child) for child in value.children) and not self._plan.is_touched(value):
            return None
        if value.flow:
            return value.start, value.end, self._flow.text(value)
        places = self._places(value)
        return places[0].start, places[-1].end, self._block(value)

    def _spliced(self, child: Child, chunk: Chunk, old: Comments, new: Comments, splice: Splice | None) -> str:
        """A chunk that keeps its form: its comments and its value are exchanged in place."""
        text, value = self._text, value_of(child)
        splices = [splice] if splice else []
        head, line, on_dash = new.head, new.line, has_dash_comment(child, chunk)
        if is_block(value) and not isinstance(child, Entry):
            head, line = (*head, *([line] if line else ())), None
            if on_dash and head:
                *rest, line = head
                head = tuple(rest)
            if new != old and (on_dash or line):
                splices.append(self._line_comment(value, chunk, line))
        elif line != old.line:
            splices.append(self._line_comment(value, chunk, line))
        if new.head != old.head or (head != new.head and new != old):
            splices.append(self._head(chunk, head))
        return _splice(text, chunk.start, chunk.end, splices)

    def _line_comment(self, value: Node, chunk: Chunk, comment: str | None) -> Splice:
        start, end = line_comment_span(value, chunk)
        before = self._text[start:end]
        space = before[: len(before) - len(before.lstrip(" \t"))] if "#" in before else ""
        return start, end, f"{space or ' '}{comment}" if comment else ""

    def _head(self, chunk: Chunk, head: tuple[str, ...]) -> Splice:
        pad = " " * chunk.column
        lines = "".join(f"{pad}{line}{self._newline}" for line in head)
        if chunk.inline:
            return chunk.start, chunk.own, lines.lstrip(" ") + (pad if head else "")
        return chunk.start, self._source.line_start(chunk.own), lines

    def _rebuilt(self, child: Child, chunk: Chunk, old: Comments, new: Comments) -> str:
        """A chunk whose value takes another form: the lines of the old value go, the comments stay."""
        text, before, after = self._text, value_of(child), self._plan.value(child)
        head, line = new.head, new.line
        if not is_block(before):
            # Comments between the key and a value on lines of its own.
            between = text[chunk.own_end : chunk.value].split("\n")
            head = (*head, *(part.strip() for part in between if part.strip().startswith("#")))
        resolved = self._emitter.resolved(after)
        if line and not isinstance(child, Entry) and is_block_form(resolved, self._emitter):
            head, line = (*head, line), None
        splices: list[Splice] = []
        if head != old.head or has_dash_comment(child, chunk):
            splices.append(self._head(chunk, head))
        start, end = line_comment_span(before, chunk)
        space = text[start:end][: -len(old.line)] if line and old.line and "#" in text[start:end] else " "
        comment = f"{space or ' '}{line}" if line else ""
        item = not isinstance(child, Entry)
        value = self._emitter.value(after, chunk.column, comment, item=item, newline=self._newline)
        if anchor := self._anchor_of(before):
            value = f" {anchor}{value}"
        at_line_start = text[chunk.value_end - 1] == "\n"
        tail_start = chunk.value_end if at_line_start else min(self._source.line_end(chunk.value_end), chunk.end)
        comments = ""
        if isinstance(before, MappingNode | SequenceNode) and is_block(before):
            places = self._places(before)
            tail_start = places[-1].end
            if after is before:
                # Emptied: detached comments stay.
                lead = text[self._source.line_end(start) : places[0].start]
                comments = (lead if "#" in lead else "") + self._gaps(places, 0, len(places))
        tail = comments + text[tail_start : chunk.end]
        # Comments one column deeper than the child remain its own, and end a block scalar, whose lines are deeper.
        splices.append((chunk.own_end, chunk.end, value + self._endings.settled(tail, child, chunk.column + 1)))
        return _splice(text, chunk.start, chunk.end, splices)


def is_block_form(node: Node, emitter: Emitter) -> bool:
    """Whether a node will be written as lines of its own below a key."""
    return isinstance(node, MappingNode | SequenceNode) and not emitter.is_flow(node)


def _splice(text: str, start: int, end: int, splices: list[Splice]) -> str:
    """The text from start to end with some parts exchanged."""
    out: list[str] = []
    # A comment may follow a null at the same place: the order given decides then.
    for at, behind, piece in sorted(splices, key=lambda splice: splice[0]):
        out += (text[start:at], piece)
        start = behind
    return "".join([*out, text[start:end]])


def _without_lines_above(piece: str, above: str) -> str:
    """A first child without the comments that are above the collection: a blank line kept them apart from it."""
    lines = piece.splitlines(keepends=True)
    comments = list(takewhile(lambda line: line.startswith("#"), (line.strip() for line in lines)))
    there = [line.strip() for line in above.rstrip().rsplit("\n", len(comments))]
    shared = (count for count in range(len(comments), 0, -1) if comments[:count] == there[-count:])
    return "".join(lines[next(shared, 0) :])
