"""Where two texts of one document differ, down to the byte: values, comments, order, layout, and kpt's notes (R6).

A text is its scalars and what is written between them. Scalars at the same place are compared, and so is what is
between them: there is nothing else in which the texts could differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from krm_merge.krm import FieldPath, Step
from krm_merge.merge import BLUEPRINT, MERGE_COMMENT, attribution, matching_blocks, nodes_in_order
from krm_merge.schema import is_bookkeeping
from krm_merge.text import (
    Alias,
    Child,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Value,
    content_end,
    is_block_scalar,
    key_text,
    longest_rising,
    same,
    to_value,
)

ANNOTATIONS = ("metadata", "annotations")


def is_note(path: FieldPath, first: Node | None, second: Node | None, *, in_kptfile: bool) -> bool:
    """Whether two versions of a field differ only in what kpt notes for its own use.

    In a Kptfile that is where the package comes from; the strategy of its updates is the user's own choice.
    """
    if in_kptfile and (path[:1] == ("upstreamLock",) or path[:2] in (("upstream", "git"), ("upstream", "type"))):
        return True
    if path[:2] not in (ANNOTATIONS[:1], ANNOTATIONS) or len(path) > 3:
        return False
    values: list[Value] = [{} if node is None else to_value(node) for node in (first, second)]
    if len(path) == 3:
        values = [{} if node is None else {str(path[2]): to_value(node)} for node in (first, second)]
    return not same(*values) and same(*(without_notes(value, path[:2]) for value in values))


def without_notes(value: Value, path: FieldPath) -> Value:
    """A copy of a resource, of its metadata or of its annotations (as `path` says) without what kpt notes there."""
    if not isinstance(value, dict):
        return value
    if path != ANNOTATIONS:
        name = ANNOTATIONS[len(path)]
        inner = without_notes(value.get(name), (*path, name))
        others = {key: other for key, other in value.items() if key != name}
        return others | {name: inner} if name in value and inner != {} else others
    remaining: dict[str, Value] = {}
    for name, text in value.items():
        if name == BLUEPRINT and isinstance(text, str):
            of_kpt = attribution(text).split(",")
            text = ",".join(part for part in text.split(",") if part not in of_kpt)
            if not text:
                continue
        if not is_bookkeeping(name):
            remaining[name] = text
    return remaining


LayoutKind: TypeAlias = Literal[
    "quotes", "notation", "folding", "flow style", "anchors", "document marks", "line ends", "spacing", "field order"
]
LAYOUT: Final[tuple[LayoutKind, ...]] = get_args(LayoutKind)
"""How the same values may be written otherwise."""
SpotKind: TypeAlias = Literal["value", "order", "comment", "note"] | LayoutKind

Range: TypeAlias = tuple[int, int]

_COMMENT = re.compile(r"(?:(?<=\s)|\A)#[^\r\n]*")
_OF_DOCUMENTS = ("---", "...")
_SPACING, _FLOW = (str.maketrans("", "", marks) for marks in ("-?: \t\r\n", "[]{},"))


@dataclass(frozen=True, slots=True)
class Spot:
    """A difference of two texts: where it is in each, in characters; None in the one that has nothing there.

    `path` leads there in the first text. `content` is what the second has there: the value, the text of a comment or
    of the layout.
    """

    kind: SpotKind
    path: FieldPath
    first: Range | None
    second: Range | None
    content: Hashable = None


def spots(first: MappingNode, second: MappingNode, *, in_kptfile: bool = False) -> list[Spot]:
    """All differences of two documents."""
    return [*_Comparing(first, second, in_kptfile).spots()]


def comments_of(root: MappingNode) -> list[str]:
    """All comments of a document."""
    return [text for text, *_ in _Text(root).comments()]


class _Text:
    """A document as its scalars and what is between them."""

    def __init__(self, root: MappingNode) -> None:
        assert root.source is not None
        self.text = root.source.text
        self.leaves = [*_leaves(root)]
        self.numbers = {id(leaf): number for number, leaf in enumerate(self.leaves)}
        self.heads: list[Range] = []
        self.tails: list[Range] = []
        before, is_block = 0, True
        for leaf in self.leaves:
            # A comment behind a value belongs to it, all that is on later lines to what follows.
            line_end = self.text.find("\n", before, leaf.start)
            is_split = not is_block and 0 <= line_end < leaf.start
            if self.heads:
                self.tails.append((before, line_end if is_split else before))
            self.heads.append((line_end + 1 if is_split else before, leaf.start))
            before, is_block = content_end(leaf), is_block_scalar(leaf)
        line_end = self.text.find("\n", before)
        tail_end = before if is_block else len(self.text) if line_end < 0 else line_end
        self.tails.append((before, tail_end))
        self.foot = min(tail_end + (not is_block), len(self.text)), len(self.text)

    def range_of(self, node: Node, *, from_key: bool = False) -> Range:
        """Where a node is, with what is in front of it and behind it; `from_key` adds the end of its key's line."""
        leaves = [*_leaves(node)]
        first, last = self.numbers[id(leaves[0])], self.numbers[id(leaves[-1])]
        start = self.tails[first - 1][0] if from_key and first else self.heads[first][0]
        return start, self.tails[last][1]

    def range_of_child(self, child: Child) -> Range:
        """Where an entry is with its key, or an item."""
        if not isinstance(child, Entry):
            return self.range_of(child)
        return self.range_of(child.key)[0], self.range_of(child.value)[1]

    def scalar(self, leaf: Node) -> tuple[str, str]:
        """The text of a scalar, and the comment behind the indicator of a block."""
        text = self.text[leaf.start : content_end(leaf)]
        if not is_block_scalar(leaf):
            return text, ""
        header, newline, body = text.partition("\n")
        comment = _COMMENT.search(header)
        return (text, "") if comment is None else (f"{header[: comment.start()].rstrip()}{newline}{body}", comment[0])

    def comments(self) -> Iterator[tuple[str, int, int | None, Range]]:
        """Each comment with the number of the scalar before it and after it; after one on the same line is None."""
        for number, (head, tail) in enumerate(zip(self.heads, self.tails, strict=True)):
            yield from ((comment, number - 1, number, place) for comment, place in self._comments_in(head))
            if header := self.scalar(self.leaves[number])[1]:
                start = self.text.index(header, self.leaves[number].start)
                yield header, number, None, (start, start + len(header))
            yield from ((comment, number, None, place) for comment, place in self._comments_in(tail))
        last = len(self.leaves) - 1
        yield from ((comment, last, last + 1, place) for comment, place in self._comments_in(self.foot))

    def _comments_in(self, stretch: Range) -> Iterator[tuple[str, Range]]:
        for match in _COMMENT.finditer(self.text[slice(*stretch)]):
            yield match[0].rstrip(), (stretch[0] + match.start(), stretch[0] + match.end())


class _Comparing:
    def __init__(self, first: MappingNode, second: MappingNode, in_kptfile: bool) -> None:
        self._roots = first, second
        self._first, self._second = _Text(first), _Text(second)
        self._in_kptfile = in_kptfile
        self._pairs: dict[int, tuple[int, FieldPath]] = {}
        """For the number of a scalar of the first text: that of the same one in the second, and its path."""
        self._in_other_flow: set[int] = set()

    def spots(self) -> Iterator[Spot]:
        yield from self._values(*self._roots, ())
        for number, (other, path) in self._pairs.items():
            yield from self._scalar(number, other, path)
            yield from self._between(number, other, path)
        yield from self._foot()
        yield from self._comments()

    # ---- values --------------------------------------------------------------------------------------------------

    def _values(self, first: Node, second: Node, path: FieldPath) -> Iterator[Spot]:
        collections = [n for n in (first, second) if isinstance(n, MappingNode | SequenceNode) and n.children]
        if len(collections) == 2 and type(first) is type(second):
            if first.flow != second.flow:  # type: ignore[union-attr]
                yield self._spot("flow style", path, first, second)
                self._in_other_flow.update(self._first.numbers[id(leaf)] for leaf in _leaves(first))
            yield from (self._fields if isinstance(first, MappingNode) else self._items)(first, second, path)  # type: ignore[arg-type]
        elif not collections and isinstance(first, Scalar) == isinstance(second, Scalar):
            self._pair(first, second, path)
            if first.canonical != second.canonical:
                yield self._value(path, first, second)
        else:
            is_same = first.canonical == second.canonical
            yield self._spot("anchors", path, first, second) if is_same else self._value(path, first, second)

    def _fields(self, first: MappingNode, second: MappingNode, path: FieldPath) -> Iterator[Spot]:
        others = {entry.key.canonical: entry for entry in second.entries}
        is_same = first.canonical == second.canonical
        places = {entry.key.canonical: number for number, entry in enumerate(second.entries)}
        common = []
        for entry in first.entries:
            inner = (*path, key_text(entry.key))
            other = others.pop(entry.key.canonical, None)
            if other is None:
                yield self._only(is_same, inner, self._first.range_of_child(entry), None, entry.value)
                continue
            common.append(places[entry.key.canonical])
            if isinstance(entry.key, Scalar) and isinstance(other.key, Scalar):
                self._pair(entry.key, other.key, inner)
            yield from self._values(entry.value, other.value, inner)
        for entry in others.values():
            inner = (*path, key_text(entry.key))
            yield self._only(is_same, inner, None, self._second.range_of_child(entry), entry.value)
        if len(longest_rising(common)) != len(common):
            yield self._spot("field order", path, first, second)

    def _only(self, is_same: bool, path: FieldPath, first: Range | None, second: Range | None, node: Node) -> Spot:
        note = is_note(path, node if first else None, node if second else None, in_kptfile=self._in_kptfile)
        # Merge keys: the value is written elsewhere.
        return Spot(
            "anchors" if is_same else "note" if note else "value",
            path,
            first,
            second,
            node.canonical if second else None,
        )

    def _items(self, first: SequenceNode, second: SequenceNode, path: FieldPath) -> Iterator[Spot]:
        pairs = dict(_pair(first.items, second.items))
        for at, item in enumerate(first.items):
            inner = (*path, _step(item, at))
            if at in pairs:
                yield from self._values(item, second.items[pairs[at]], inner)
            else:
                yield Spot("value", inner, self._first.range_of(item), None)
        matches = set(pairs.values())
        for at, item in enumerate(second.items):
            if at not in matches:
                # A position in the second text leads nowhere in the first one.
                step = _step(item, at)
                inner = path if isinstance(step, int) else (*path, step)
                yield Spot("value", inner, None, self._second.range_of(item), item.canonical)
        if len(longest_rising([*pairs.values()])) != len(pairs):
            yield self._spot("order", path, first, second)

    def _value(self, path: FieldPath, first: Node, second: Node) -> Spot:
        note = is_note(path, first, second, in_kptfile=self._in_kptfile)
        return self._spot("note" if note else "value", path, first, second)

    def _spot(self, kind: SpotKind, path: FieldPath, first: Node, second: Node) -> Spot:
        # Where a value begins on its key's line in one text only, that line differs, too.
        from_key = kind not in ("order", "field order")
        ranges = self._first.range_of(first, from_key=from_key), self._second.range_of(second, from_key=from_key)
        return Spot(kind, path, *ranges, second.canonical)

    def _pair(self, first: Node, second: Node, path: FieldPath) -> None:
        self._pairs[self._first.numbers[id(first)]] = self._second.numbers[id(second)], path

    # ---- layout --------------------------------------------------------------------------------------------------

    def _scalar(self, number: int, other: int, path: FieldPath) -> Iterator[Spot]:
        first, second = self._first.leaves[number], self._second.leaves[other]
        texts = self._first.scalar(first)[0], self._second.scalar(second)[0]
        if texts[0] == texts[1] or first.canonical != second.canonical:
            return
        ranges = (first.start, content_end(first)), (second.start, content_end(second))
        yield Spot(_scalar_kind(first, second, *texts), path, *ranges, texts[1])

    def _between(self, number: int, other: int, path: FieldPath) -> Iterator[Spot]:
        """The layout between a scalar and the one before it."""
        before = self._pairs.get(number - 1)
        adjacent = (not number and not other) or (before is not None and before[0] == other - 1)
        ranges = []
        if number not in self._in_other_flow:
            ranges.append((self._first.heads[number], self._second.heads[other]))
        if adjacent and number and not {number - 1, number} & self._in_other_flow:
            ranges.append((self._first.tails[number - 1], self._second.tails[other - 1]))
        for first, second in ranges:
            gaps: list[str | None] = [self._first.text[slice(*first)], self._second.text[slice(*second)]]
            if not adjacent:
                # Something comes or goes in between: only indentation and blank lines are a matter of layout.
                gaps = [_indent(gap or "") for gap in gaps]
            own_gap, other_gap = gaps
            if own_gap is not None and other_gap is not None and (kind := _gap_kind(own_gap, other_gap)):
                # Up to what follows: its line may begin with nothing in one text.
                yield Spot(kind, path, (first[0], first[1] + 1), (second[0], second[1] + 1), other_gap)

    def _foot(self) -> Iterator[Spot]:
        """The layout below the last scalar."""
        for first, second in ((self._first.tails[-1], self._second.tails[-1]), (self._first.foot, self._second.foot)):
            gaps = self._first.text[slice(*first)], self._second.text[slice(*second)]
            # Whether the last line ends is a difference of its own; an empty line has nothing but its end.
            if kind := _gap_kind(*(gap.removesuffix("\n") if gap.strip() else gap for gap in gaps)):
                yield Spot(kind, (), first, second)
        ends = len(self._first.text), len(self._second.text)
        if self._first.text.endswith("\n") != self._second.text.endswith("\n"):
            yield Spot("spacing", (), (ends[0] - 1, ends[0]), (ends[1] - 1, ends[1]))

    # ---- comments ------------------------------------------------------------------------------------------------

    def _comments(self) -> Iterator[Spot]:
        back = {other: number for number, (other, _) in self._pairs.items()}
        back[-1], back[len(self._second.leaves)] = -1, len(self._first.leaves)
        by_text: dict[str, list[tuple[int, int | None, Range]]] = defaultdict(list)
        for text, before, after, place in self._second.comments():
            # A scalar that the first text lacks has a number that no other one has.
            follower = None if after is None else back.get(after, -2 - after)
            by_text[text].append((back.get(before, -2 - before), follower, place))
        left = []
        for text, before, after, place in self._first.comments():
            others = by_text[text]
            at = next((n for n, other in enumerate(others) if _same_place((before, after), other)), None)
            if at is None:
                left.append((text, before, after, place))
            else:
                del others[at]
        for text, before, after, place in left:
            yield self._comment(text, before, after, place, by_text[text].pop(0)[2] if by_text[text] else None)
        for text, others in by_text.items():
            for before, after, place in others:
                yield self._comment(text, before, after, None, place)

    def _comment(self, text: str, before: int, after: int | None, first: Range | None, second: Range | None) -> Spot:
        number = before if after is None or after == len(self._first.leaves) else after
        path = self._pairs[number][1] if number in self._pairs else ()
        return Spot("note" if MERGE_COMMENT in text else "comment", path, first, second, text)


def _same_place(first: tuple[int, int | None], second: tuple[int, int | None, Range]) -> bool:
    if (first[1] is None) != (second[1] is None):
        return False
    return first[0] == second[0] or (first[1] is not None and first[1] == second[1])


def _leaves(node: Node) -> Iterator[Node]:
    """The scalars, aliases and empty collections of a node in the order of the text, keys too."""
    for inner, _ in nodes_in_order(node):
        if not (isinstance(inner, MappingNode | SequenceNode) and inner.children):
            yield inner


def _step(item: Node, at: int) -> Step:
    """How a path names an element: by its name, where it has one."""
    name = item.get("name") if isinstance(item, MappingNode) else None
    return (("name", name.text),) if isinstance(name, Scalar) else at


def _pair(first: Sequence[Node], second: Sequence[Node]) -> list[tuple[int, int]]:
    """The elements of two lists that are the same one: equal ones, then those of a name, then what is left in order."""
    pairs: dict[int, int] = {}
    keys: list[list[list[Hashable]]] = [
        [[item.canonical for item in items] for items in (first, second)],
        [[_known_by(item) for item in items] for items in (first, second)],
    ]
    blocks = matching_blocks(*keys[0])
    pairs.update((a + n, b + n) for a, b, length in blocks for n in range(length))
    for firsts, seconds in keys:
        places: dict[Hashable, list[int]] = defaultdict(list)
        matches = set(pairs.values())
        for b, key in enumerate(seconds):
            if b not in matches and key is not None:
                places[key].append(b)
        for a, key in enumerate(firsts):
            if a not in pairs and key is not None and places[key]:
                pairs[a] = places[key].pop(0)
    # What is between the same two is one element that was changed.
    gaps: dict[int, tuple[list[int], list[int]]] = {}
    for side, partners in enumerate((dict(pairs), {b: b for b in pairs.values()})):
        last = -1
        for at, name in enumerate(keys[1][side]):
            last = partners.get(at, last)
            if at not in partners and name is None:
                gaps.setdefault(last, ([], []))[side].append(at)
    for ours, theirs in gaps.values():
        if len(ours) == len(theirs):
            pairs.update(zip(ours, theirs, strict=True))
    return sorted(pairs.items())


def _known_by(item: Node) -> Hashable:
    name = item.get("name") if isinstance(item, MappingNode) else None
    return name.canonical if name is not None else None


def _scalar_kind(first: Node, second: Node, text: str, other: str) -> LayoutKind:
    """How two texts of one value differ."""
    if not isinstance(first, Scalar) or not isinstance(second, Scalar):
        return "anchors" if isinstance(first, Alias) or isinstance(second, Alias) else "spacing"
    if (first.anchor, first.tag) != (second.anchor, second.tag):
        return "anchors"
    if text.replace("\r", "") == other.replace("\r", ""):
        return "line ends"
    if first.style != second.style:
        return "folding" if {first.style, second.style} & {"|", ">"} else "quotes"
    if is_block_scalar(first) and text.split() == other.split() and text.count("\n") == other.count("\n"):
        return "spacing"
    if "\n" in text or "\n" in other:
        return "folding"
    return "quotes" if first.style else "notation"


def _gap_kind(first: str, second: str) -> LayoutKind | None:
    """How what is written between two scalars differs beside its comments; None where it does not."""
    if first == second:
        return None
    if [*_COMMENT.findall(first)] != [*_COMMENT.findall(second)]:
        first, second = _without_comments(first), _without_comments(second)
        if first == second:
            return None
    else:
        first, second = _COMMENT.sub("#", first), _COMMENT.sub("#", second)
    if first.replace("\r", "") == second.replace("\r", ""):
        return "line ends"
    if "".join(first.split()) == "".join(second.split()):
        return "spacing"
    # What is between scalars besides: the marks of documents, indicators of blocks and flows, anchors and tags.
    gaps = ["\n".join(_without_marker(line) for line in gap.split("\n")) for gap in (first, second)]
    if "".join(gaps[0].split()) == "".join(gaps[1].split()):
        return "document marks"
    gaps = [gap.translate(_SPACING) for gap in gaps]
    if gaps[0] == gaps[1]:
        return "spacing"
    return "flow style" if gaps[0].translate(_FLOW) == gaps[1].translate(_FLOW) else "anchors"


def _without_marker(line: str) -> str:
    """The line without the separator that it begins with; a directive is all of its line."""
    if line.startswith("%"):
        return ""
    return line[3:] if line.startswith(_OF_DOCUMENTS) else line


def _without_comments(gap: str) -> str:
    """The text without comments and the lines that hold nothing else."""
    lines = [(line, _COMMENT.sub("", line).rstrip(" \t") if "#" in line else line) for line in gap.split("\n")]
    return "\n".join(bare for line, bare in lines if bare.strip() or bare == line)


def _indent(gap: str) -> str | None:
    """How far the line is indented that follows, and the blank lines above it; None where there is more."""
    indent = _without_comments(gap).replace("-", " ")
    return None if indent.strip() else indent
