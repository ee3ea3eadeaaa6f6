"""Reads YAML text into a tree with spans, from libyaml's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from krm_merge.harmless import quoted
from krm_merge.limits import ALIASED_NODES
from krm_merge.startup import patterns_compiled_when_used
from krm_merge.text.reading.nodes import (
    MERGE_KEY,
    Alias,
    Canonical,
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Source,
    TextError,
    is_merge_key,
    text_canonical,
)
from krm_merge.text.reading.scalars import CORE_TAGS

with patterns_compiled_when_used():
    import yaml
    from yaml._yaml import CParser
    from yaml.events import (
        AliasEvent,
        DocumentEndEvent,
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )
    from yaml.reader import ReaderError

# The stubs know neither the C parser's events nor that these always have marks.
ParserEvent: TypeAlias = Any

MAX_DEPTH = 128
"""Nesting deeper than this, aliases written out, is refused: the deepest real schemas stay below 100."""

LEVELS_AROUND = 8
"""Levels of a ResourceList around an object or a patch in it, at most."""

MAX_PASSED_DEPTH = 20_000
"""What nobody reads may be nested this deep: libyaml's time grows with the square of it."""

MAX_KEY_NODES = 64
MAX_KEY_DEPTH = 4
MAX_KEY_LENGTH = 10_000
"""Keys that are lists or maps: no Kubernetes object has any, and text made of them doubles at each level."""

BOM = "\ufeff"


def read(text: str, depth: int = 0) -> Node | None:
    """Reads a text of one document. None when the document is empty. Raises TextError.

    `depth` collections are thought to stand around it.
    """
    documents = list(read_all(text, depth))
    if len(documents) > 1:
        raise TextError(f"holds {len(documents)} documents where one is expected")
    return documents[0] if documents else None


def read_all(text: str, depth: int = 0) -> Iterator[Node]:
    """Reads a text of one or more documents, empty ones left out. Raises TextError.

    A byte order mark is cut off: who writes the text again keeps it.
    """
    text = text.removeprefix(BOM)
    source = Source(text, "\r\n" if "\r\n" in text else "\n", _has_odd_breaks(text))
    for root in _documents(source, MAX_DEPTH - depth):
        if not (isinstance(root, Scalar) and root.start == root.end and not root.text):
            yield root


def _has_odd_breaks(text: str) -> bool:
    return "\x85" in text or "\u2028" in text or "\u2029" in text or text.count("\r") != text.count("\r\n")


def check(text: str, limit: int = MAX_DEPTH + LEVELS_AROUND) -> None:
    """Looks whether a text is well-formed YAML, much faster than reading it. Raises TextError.

    Deeper brackets than the limit are refused.
    """
    if text.count("[") + text.count("{") > limit:
        # libyaml takes time with the square of the depth of brackets: stop at the limit.
        check_events(text, limit)
        return
    with _parser(text) as parser:
        parser.raw_parse()


def check_events(text: str, limit: int = MAX_DEPTH + LEVELS_AROUND) -> None:
    """Looks whether a text is well-formed YAML that is not nested deeper than the limit. Raises TextError."""
    depth = 0
    for event in events(text):
        kind = type(event)
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            depth += 1
            if depth > limit:
                raise _mark_error(event, f"nested deeper than {limit} levels")
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            depth -= 1


def events(text: str) -> Iterator[ParserEvent]:
    """The libyaml events of a text. Raises TextError."""
    with _parser(text) as parser:
        while (event := parser.get_event()) is not None:
            yield event


@contextmanager
def _parser(text: str) -> Iterator[CParser]:
    """A parser whose errors are TextErrors."""
    try:
        parser = CParser(text)
    except UnicodeEncodeError as error:
        raise TextError("not valid YAML: a lone surrogate is no character", *_place(text, error.start)) from None
    try:
        yield parser
    except ReaderError as error:
        # libyaml counts bytes here.
        before = text.encode()[: error.position].decode("utf-8", "ignore")
        raise TextError(f"not valid YAML: {error.reason}", *_place(text, len(before))) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.problem, error.context) if part)
        place = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        raise TextError(f"not valid YAML: {problem}", *place) from None
    finally:
        parser.dispose()


def _place(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class _Open:
    """A collection that is being read. For a mapping `key` waits for its value.

    `size` counts nodes and `height` the levels below, both with aliases written out.
    """

    __slots__ = ("append", "height", "is_mapping", "key", "node", "size")

    def __init__(self, node: Mapping | Sequence) -> None:
        self.node = node
        self.is_mapping = type(node) is Mapping
        self.append: Callable[[Any], None] = node.children.append
        self.key: Node | None = None
        self.size = 1
        self.height = 1


def _documents(source: Source, max_depth: int) -> Iterator[Node]:
    stack: list[_Open] = []
    above: _Open | None = None
    anchors: dict[str, Node] = {}
    closed_anchors: dict[int, _Open] = {}
    # Only aliases ask how large things are.
    measuring = "*" in source.text
    max_aliased = ALIASED_NODES.value() if measuring else 0
    aliased = 0
    root: Node | None = None
    for event in events(source.text):
        kind = type(event)
        node: Node
        size = height = 1
        if kind is ScalarEvent:
            node = Scalar(
                source,
                event.start_mark.index,
                event.end_mark.index,
                event.value,
                event.style or "",
                event.tag,
                event.anchor,
            )
            if node.tag is not None:
                _check_tag(event)
            if node.anchor is not None:
                anchors[node.anchor] = node
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            above = _Open(_collection(source, event))
            stack.append(above)
            if len(stack) > max_depth:
                raise _mark_error(event, f"nested deeper than {MAX_DEPTH} levels")
            if event.anchor is not None:
                anchors[event.anchor] = above.node
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            closed = stack.pop()
            above = stack[-1] if stack else None
            node, size, height = closed.node, closed.size, closed.height + 1
            node.end = event.end_mark.index
            if type(node) is Mapping:
                _check_keys(node)
            if node.anchor is not None:
                closed_anchors[id(node)] = closed
        elif kind is AliasEvent:
            target = _target(event, anchors, stack)
            if (expansion := closed_anchors.get(id(target))) is not None:
                size, height = expansion.size, expansion.height + 1
            aliased += size
            if aliased > max_aliased:
                remedy = f"write the values out, or {ALIASED_NODES.remedy}"
                raise _mark_error(event, f"aliases stand for more than {max_aliased} nodes; {remedy}")
            if len(stack) + height > max_depth:
                raise _mark_error(event, f"nested deeper than {MAX_DEPTH} levels with its aliases written out")
            node = Alias(source, event.start_mark.index, event.end_mark.index, event.anchor, target)
        elif kind is DocumentStartEvent:
            anchors, closed_anchors, root = {}, {}, None
            continue
        elif kind is DocumentEndEvent:
            if root is not None:
                yield root
            continue
        else:
            continue
        if above is None:
            root = node
            continue
        if not above.is_mapping:
            above.append(node)
        elif above.key is None:
            if kind is not ScalarEvent:
                _check_size(node)
            above.key = node
        else:
            above.append(Entry(above.key, node))
            above.key = None
        if measuring:
            above.size += size
            above.height = max(above.height, height)


def _collection(source: Source, event: ParserEvent) -> Mapping | Sequence:
    if event.tag is not None:
        _check_tag(event)
    kind = Mapping if type(event) is MappingStartEvent else Sequence
    start, end = event.start_mark.index, event.end_mark.index
    return kind(source, start, end, bool(event.flow_style), [], event.tag, event.anchor)


def _target(event: ParserEvent, anchors: dict[str, Node], stack: list[_Open]) -> Node:
    target = anchors.get(event.anchor)
    if target is None:
        raise _mark_error(event, f"the alias *{quoted(event.anchor)} has no anchor before it")
    if any(open_.node is target for open_ in stack):
        raise _mark_error(event, f"the alias *{quoted(event.anchor)} stands inside its own anchor")
    return target


def _check_keys(mapping: Mapping) -> None:
    """Raises TextError where a key stands twice; several merge keys may."""
    fields = {entry.key.canonical: entry for entry in mapping.entries}
    if len(fields) == len(mapping.entries):
        if text_canonical(MERGE_KEY) not in fields:
            # What they mean is known now: it will be asked for.
            mapping._fields = fields
        return
    seen: set[Canonical] = set()
    for entry in mapping.entries:
        key = entry.key
        if is_merge_key(entry):
            continue
        if key.canonical in seen:
            shown = quoted(key.text) if isinstance(key, Scalar) else "of a mapping"
            place = _place(key.source.text, key.start) if key.source is not None else (0, 0)
            raise TextError(f"the key {shown} is there twice; keep one", *place)
        seen.add(key.canonical)


def _check_size(key: Node) -> None:
    """Raises TextError where a key that is no scalar is too large to be one."""
    problem = ""
    if key.end - key.start > MAX_KEY_LENGTH:
        problem = f"longer than {MAX_KEY_LENGTH} characters"
    level: list[Node] = [key]
    depth = nodes = 0
    while level and not problem:
        depth += 1
        nodes += len(level)
        if depth > MAX_KEY_DEPTH:
            problem = f"nested deeper than {MAX_KEY_DEPTH} levels"
        elif nodes > MAX_KEY_NODES:
            problem = f"of more than {MAX_KEY_NODES} nodes"
        elif any(isinstance(node, Alias) and (depth > 1 or not isinstance(node.target, Scalar)) for node in level):
            # Its value would count, and may hold further aliases.
            problem = "with an alias inside"
        level = list(_below(level))
    if problem:
        place = _place(key.source.text, key.start) if key.source is not None else (0, 0)
        raise TextError(f"a key that is a list or a map {problem}; make it a text", *place)


def _below(nodes: list[Node]) -> Iterator[Node]:
    """The nodes of the next level, keys included."""
    for node in nodes:
        if isinstance(node, Sequence):
            yield from node.items
        elif isinstance(node, Mapping):
            for entry in node.entries:
                yield entry.key
                yield entry.value


def _check_tag(event: ParserEvent) -> None:
    tag = event.tag
    if tag != "!" and tag not in CORE_TAGS:
        raise _mark_error(event, f"the tag {quoted(tag)} is not a plain YAML type; Kubernetes has no such values")


def _mark_error(event: ParserEvent, problem: str) -> TextError:
    return TextError(problem, event.start_mark.line + 1, event.start_mark.column + 1)
