"""Reads YAML text into a tree with spans, from libyaml's events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeAlias

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.reader import ReaderError

from krm_merge.limits import ALIASED_NODES, DOCUMENTS
from krm_merge.safe_text import quoted
from krm_merge.startup import pattern
from krm_merge.text.reading.nodes import (
    MERGE_KEY,
    Alias,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    TextError,
    is_merge_key,
)
from krm_merge.text.reading.scalars import CORE_TAGS, Canonical

# The stubs know neither the C parser's events nor that these always have marks.
ParserEvent: TypeAlias = Any

MAX_DEPTH = 128
"""Nesting deeper than this, aliases written out, is refused: the deepest real schemas stay below 100."""

LEVELS_AROUND = 8
"""Levels of a ResourceList around an object or a patch in it, at most."""

MAX_PASSED_DEPTH = 20_000
"""The depth allowed in parts that nobody reads: libyaml's time grows with its square."""

MAX_KEY_NODES = 64
MAX_KEY_DEPTH = 4
MAX_KEY_LENGTH = 10_000
"""Keys that are lists or maps: no Kubernetes object has any, and text made of them doubles at each level."""

BOM = "\ufeff"

IN_MAPPINGS = frozenset(":?{")
"""A text without any of these holds no mapping."""

IN_COLLECTIONS = IN_MAPPINGS | frozenset("[-")
"""A text without any of these holds no mapping and no list."""

# Either begins or ends a document.
_MARK = pattern(r"(?:\A|[\n\r\x85\u2028\u2029])(---|\.\.\.)(?=\s|\Z)")
_SEPARATOR = pattern(r"\n---(?=[ \t\r\n])")


def read(text: str, depth: int = 0) -> Node | None:
    """Reads a text of one document. None when the document is empty. Raises TextError.

    The text is read as if `depth` collections were around it.
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
    _check_documents(text)
    source = Source(text, "\r\n" if "\r\n" in text else "\n", _has_odd_breaks(text))
    for root in _documents(source, MAX_DEPTH - depth):
        # To libyaml a document without content is an empty scalar; one in quotes has a length.
        if not (isinstance(root, Scalar) and root.start == root.end and not root.text):
            yield root


def documents_in(data: bytes) -> list[Node] | None:
    """The documents of a file; None where one of them cannot be read."""
    try:
        return list(read_all(data.decode("utf-8")))
    except (UnicodeDecodeError, TextError):
        return None


def mapping_in(data: bytes) -> MappingNode | None:
    """The mapping that a document is; None where it is something else, or cannot be read."""
    try:
        root = read(data.decode("utf-8"))
    except (UnicodeDecodeError, TextError):
        return None
    return root if isinstance(root, MappingNode) else None


def _check_documents(text: str) -> None:
    """Counts the documents before libyaml makes something of each. Raises TextError."""
    most = DOCUMENTS.value()
    if text.count("---") > most or text.count("...") > most:
        # Of that many marks of two kinds, more than the limit are of one kind: no need to look further.
        marks = [match[1] for match in islice(_MARK.finditer(text), 2 * most + 1)]
        if max(map(marks.count, ("---", "..."))) > most:
            raise TextError(f"holds more than {most} documents; split it, or {DOCUMENTS.remedy}")


def _has_odd_breaks(text: str) -> bool:
    # libyaml begins a new line at each of these and at a lone CR, while `Source` finds lines by LF.
    return "\x85" in text or "\u2028" in text or "\u2029" in text or text.count("\r") != text.count("\r\n")


def check(text: str, limit: int = MAX_DEPTH + LEVELS_AROUND) -> None:
    """Looks whether a text is well-formed YAML, much faster than reading it. Raises TextError.

    Deeper brackets than the limit are refused.
    """
    if text.count("[") + text.count("{") > limit and any(
        part.count("[") + part.count("{") > limit for part in _SEPARATOR.split(text)
    ):
        # libyaml takes time with the square of the depth of brackets, which end with the document: stop at the limit.
        check_events(text, limit)
        return
    with _parser(text) as parser:
        # Unlike `get_event`, this makes no Python object of an event.
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
        raise TextError("not valid YAML: a lone surrogate is not a character", *_place(text, error.start)) from None
    try:
        yield parser
    except ReaderError as error:
        # libyaml counts bytes here.
        before = text.encode()[: error.position].decode("utf-8", "ignore")
        raise TextError(f"not valid YAML: {error.reason}", *_place(text, len(before))) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.problem, error.context) if part)
        place = (mark.line + 1, mark.column + 1) if mark is not None else ()
        raise TextError(f"not valid YAML: {problem}", *place) from None
    finally:
        parser.dispose()


def _place(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class _Reading:
    """The collections that are being read, and what is anchored in the document."""

    __slots__ = ("_aliased", "_anchors", "_max_aliased", "_max_depth", "_sizes", "_source", "open")

    def __init__(self, source: Source, max_depth: int) -> None:
        self._source = source
        self._max_depth = max_depth
        self._aliased = 0
        # A text without `&` and `*` has no alias, so `end` need not count the sizes of its collections.
        self._max_aliased = ALIASED_NODES.value() if "&" in source.text and "*" in source.text else 0
        self.open: list[MappingNode | SequenceNode] = []
        self.end_document()

    def end_document(self) -> None:
        # Anchors end with their document, and id() may give the number of a node that nobody holds to a new one.
        self._anchors: dict[str, Node] = {}
        # Of collections, and aliases of these: how many nodes and levels they are, with aliases written out.
        self._sizes: dict[int, tuple[int, int]] = {}

    def begin(self, event: ParserEvent, kind: type[MappingNode | SequenceNode]) -> MappingNode | SequenceNode:
        """Begins a collection."""
        if event.tag is not None:
            _check_tag(event)
        start, end = event.start_mark.index, event.end_mark.index
        node = kind(self._source, start, end, bool(event.flow_style), [], event.tag, event.anchor)
        self.open.append(node)
        if len(self.open) > self._max_depth:
            raise _mark_error(event, f"nested deeper than {MAX_DEPTH} levels")
        if event.anchor is not None:
            # Noted before the collection ends, so that `_target` sees an alias inside its own anchor.
            self._anchors[event.anchor] = node
        return node

    def end(self, event: ParserEvent) -> MappingNode | SequenceNode:
        """Ends the innermost collection."""
        node = self.open.pop()
        node.end = event.end_mark.index
        if self._max_aliased:
            below = node.items if type(node) is SequenceNode else _below([node])
            sizes = [self._sizes.get(id(inner), (1, 0)) for inner in below]
            self._sizes[id(node)] = 1 + sum(size for size, _ in sizes), 1 + max((h for _, h in sizes), default=0)
        return node

    def keep_properties(self, event: ParserEvent, node: Scalar) -> None:
        """Looks at the tag and the anchor of a scalar."""
        if event.tag is not None:
            _check_tag(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def alias(self, event: ParserEvent) -> Alias:
        """An alias, if its anchor exists and the anchored value is not too large."""
        target = _target(event, self._anchors, self.open)
        self._source.has_aliases = True
        size, height = self._sizes.get(id(target), (1, 0))
        self._aliased += size
        if self._aliased > self._max_aliased:
            remedy = f"write the values out, or {ALIASED_NODES.remedy}"
            raise _mark_error(event, f"aliases expand to more than {self._max_aliased} nodes; {remedy}")
        if len(self.open) + height + 1 > self._max_depth:
            raise _mark_error(event, f"nested deeper than {MAX_DEPTH} levels with its aliases written out")
        node = Alias(self._source, event.start_mark.index, event.end_mark.index, event.anchor, target)
        self._sizes[id(node)] = size, height
        return node


def _documents(source: Source, max_depth: int) -> Iterator[Node]:
    reading = _Reading(source, max_depth)
    roots: list[Node] = []
    # What the innermost collection holds so far; of a mapping `key` waits for its value.
    children: list[Any] = roots
    fields: dict[Canonical, Entry] | None = None
    key: Node | None = None
    around: list[tuple[list[Any], dict[Canonical, Entry] | None, Node | None]] = []
    event: ParserEvent
    with _parser(source.text) as parser:
        # Most events are scalars: nothing is called for them that need not be.
        for event in iter(parser.get_event, None):
            kind = type(event)
            node: Node
            if kind is ScalarEvent:
                start, end, style = event.start_mark.index, event.end_mark.index, event.style or ""
                node = Scalar(source, start, end, event.value, style, event.tag, event.anchor)
                if node.tag is not None or node.anchor is not None:
                    reading.keep_properties(event, node)
            elif kind is MappingStartEvent:
                around.append((children, fields, key))
                children, fields, key = reading.begin(event, MappingNode).children, {}, None
                continue
            elif kind is SequenceStartEvent:
                around.append((children, fields, key))
                children, fields, key = reading.begin(event, SequenceNode).children, None, None
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                node = reading.end(event)
                if fields is not None:
                    _check_keys(node, fields)  # type: ignore[arg-type]
                children, fields, key = around.pop()
                if fields is not None and key is None:
                    _check_size(node)
            elif kind is AliasEvent:
                node = reading.alias(event)
                if fields is not None and key is None:
                    _check_size(node)
            else:
                if kind is DocumentEndEvent:
                    yield roots.pop()
                    reading.end_document()
                continue
            if fields is None:
                children.append(node)
            elif key is None:
                key = node
            else:
                entry = fields[key.canonical] = Entry(key, node)
                children.append(entry)
                key = None


def _target(event: ParserEvent, anchors: dict[str, Node], stack: list[MappingNode | SequenceNode]) -> Node:
    target = anchors.get(event.anchor)
    if target is None:
        raise _mark_error(event, f"the alias *{quoted(event.anchor)} has no anchor before it")
    if any(node is target for node in stack):
        raise _mark_error(event, f"the alias *{quoted(event.anchor)} is inside its own anchor")
    return target


def _check_keys(mapping: MappingNode, fields: dict[Canonical, Entry]) -> None:
    """Raises TextError for a duplicate key of the entries, which are as many fields; several merge keys are allowed."""
    if len(fields) == len(mapping.entries):
        # By its canonical form a merge key equals a field named `<<`: `MappingNode.fields` tells them apart.
        if MERGE_KEY not in fields:
            # What they mean is known now: it will be asked for.
            mapping._fields = fields
        return
    seen: set[Canonical] = set()
    for entry in mapping.entries:
        key = entry.key
        if is_merge_key(entry):
            continue
        if key.canonical in seen:
            key_name = quoted(key.text) if isinstance(key, Scalar) else "of a mapping"
            assert key.source is not None  # it was read from there
            place = _place(key.source.text, key.start)
            raise TextError(f"the key {key_name} appears twice; keep one", *place)
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
        assert key.source is not None  # it was read from there
        place = _place(key.source.text, key.start)
        raise TextError(f"a key that is a list or a mapping {problem}; make it a string", *place)


def _below(nodes: list[Node]) -> Iterator[Node]:
    """The nodes of the next level, keys included."""
    for node in nodes:
        if isinstance(node, SequenceNode):
            yield from node.items
        elif isinstance(node, MappingNode):
            for entry in node.entries:
                yield entry.key
                yield entry.value


def _check_tag(event: ParserEvent) -> None:
    tag = event.tag
    if tag != "!" and tag not in CORE_TAGS:
        raise _mark_error(event, f"the tag {quoted(tag)} is not a plain YAML type; Kubernetes has no such values")


def _mark_error(event: ParserEvent, problem: str) -> TextError:
    return TextError(problem, event.start_mark.line + 1, event.start_mark.column + 1)
