"""The tree that reading YAML yields: every node knows its place in the text, and the plain Python value it means."""

from __future__ import annotations

from typing import Any, Self, TypeAlias, overload

from krm_merge.errors import KrmMergeError
from krm_merge.startup import pattern
from krm_merge.text.reading.scalars import FIRST_OF_NUMBERS, TYPED_WORDS, Canonical, python_value, resolve, scalar_text

MERGE_KEY = "<<"


# Booleans and numbers of YAML 1.1, which kubectl reads.
_WORDS = r"(?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+|[-+]?[0-9]+_[0-9_]*"
_WORD = pattern(rf"(?:{_WORDS})\Z")
_QUOTED_WORD = pattern(rf"""['"](?:{_WORDS})['"]""")


class TextError(KrmMergeError, ValueError):
    """A text that cannot be read as the YAML we accept. `line` and `column` count from 1, 0 when unknown."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        """Keeps the problem and the place apart, so that callers can put a file name between them."""
        super().__init__(f"line {line}, column {column}: {problem}" if line else problem)
        self.problem = problem
        self.line = line
        self.column = column


class Source:
    """A text that was read. Nodes point into it by character index.

    `odd_breaks`: it has line breaks of YAML 1.1 that no editor shows as such, so that newlines do not show its lines.
    `has_aliases`: an alias was read in it.
    """

    __slots__ = ("_has_number_signs", "_has_quoted_words", "has_aliases", "newline", "odd_breaks", "text")

    def __init__(self, text: str, newline: str = "\n", odd_breaks: bool = False) -> None:
        self.text = text
        self.newline = newline
        self.odd_breaks = odd_breaks
        self.has_aliases = False
        self._has_number_signs: bool | None = None
        self._has_quoted_words: bool | None = None

    @property
    def has_quoted_words(self) -> bool:
        """Whether there may be words in quotes that mean something else without them; looked for once."""
        if self._has_quoted_words is None:
            self._has_quoted_words = _QUOTED_WORD.search(self.text) is not None
        return self._has_quoted_words

    @property
    def has_number_signs(self) -> bool:
        """Whether there may be comments; looked for once, as many nodes ask."""
        if self._has_number_signs is None:
            self._has_number_signs = "#" in self.text
        return self._has_number_signs

    def line_start(self, position: int) -> int:
        """Index of the first character of the line that holds `position`."""
        return self.text.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """Index just behind the line that holds `position`, its newline included."""
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end + 1

    def column(self, position: int) -> int:
        """Column of `position`, from 0."""
        return position - self.line_start(position)


class Scalar:
    """A scalar. `text` is its content without quotes and escapes, `style` the quote or block indicator, or ''.

    `canonical` is type and value; of a string the string itself.
    """

    __slots__ = ("anchor", "canonical", "end", "source", "start", "style", "tag", "text")

    def __init__(
        self,
        source: Source | None,
        start: int,
        end: int,
        text: str,
        style: str = "",
        tag: str | None = None,
        anchor: str | None = None,
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.text = text
        self.style = style
        self.tag = tag
        self.anchor = anchor
        # Most scalars: this is worth a shortcut. Hardly any is read whose value nobody asks for.
        if tag is None and (style or (text[:1] not in FIRST_OF_NUMBERS and text not in TYPED_WORDS)):
            self.canonical: Canonical = text
        else:
            self.canonical = resolve(text, style, tag)

    @classmethod
    def new(cls, text: str, style: str = "") -> Self:
        """One that no text holds."""
        return cls(None, 0, 0, text, style)


class Entry:
    """One `key: value` of a mapping. `inherited` entries are written in another mapping and added by a merge key."""

    __slots__ = ("inherited", "key", "value")

    def __init__(self, key: Node, value: Node, inherited: bool = False) -> None:
        self.key = key
        self.value = value
        self.inherited = inherited


class MappingNode:
    """A mapping. `entries` are those of the text (a merge key among them); `fields` are its resolved fields."""

    __slots__ = ("_canonical", "_fields", "anchor", "end", "entries", "flow", "source", "start", "tag")

    def __init__(
        self,
        source: Source | None,
        start: int,
        end: int,
        flow: bool,
        entries: list[Entry] | None = None,
        tag: str | None = None,
        anchor: str | None = None,
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.flow = flow
        self.entries = [] if entries is None else entries
        self.tag = tag
        self.anchor = anchor
        self._fields: dict[Canonical, Entry] | None = None
        self._canonical: Canonical | None = None

    @classmethod
    def new(cls, flow: bool, entries: list[Entry] | None = None) -> Self:
        """One that no text holds."""
        return cls(None, 0, 0, flow, entries)

    @property
    def children(self) -> list[Entry]:
        """The children in the order of the text."""
        return self.entries

    @property
    def fields(self) -> dict[Canonical, Entry]:
        """The entries by key, in order, merge keys resolved: an explicit key beats an inherited one."""
        if self._fields is None:
            explicit = {e.key.canonical: e for e in self.entries if not is_merge_key(e)}
            inherited: dict[Canonical, Entry] = {}
            for entry in self.entries:
                if is_merge_key(entry):
                    for parent in merged_mappings(entry.value):
                        for key, parent_entry in parent.fields.items():
                            if key not in explicit and key not in inherited:
                                # A copy: an edit of it must not change the mapping that it is inherited from.
                                inherited[key] = Entry(parent_entry.key, copy(parent_entry.value), inherited=True)
            # Inherited fields come first: `inherited_if_read` looks at the first field alone.
            self._fields = inherited | explicit if inherited else explicit
        return self._fields

    @property
    def inherited_if_read(self) -> list[Entry]:
        """The inherited entries, if the fields were read: unread ones cannot have been edited."""
        fields = self._fields
        # They come first, and hardly any mapping has one.
        if not fields or not next(iter(fields.values())).inherited:
            return []
        return [entry for entry in fields.values() if entry.inherited]

    @property
    def canonical(self) -> Canonical:
        """The value, whatever the order of the keys."""
        if self._canonical is None:
            self._canonical = mapping_canonical({k: e.value.canonical for k, e in self.fields.items()})
        return self._canonical

    def entry(self, key: str) -> Entry | None:
        """The field with a text key, or None."""
        return self.fields.get(key)

    def get(self, key: str) -> Node | None:
        """The value of a field with a text key, aliases resolved, or None."""
        entry = self.fields.get(key)
        return None if entry is None else resolved(entry.value)


class SequenceNode:
    """A sequence."""

    __slots__ = ("_canonical", "anchor", "end", "flow", "items", "source", "start", "tag")

    def __init__(
        self,
        source: Source | None,
        start: int,
        end: int,
        flow: bool,
        items: list[Node] | None = None,
        tag: str | None = None,
        anchor: str | None = None,
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.flow = flow
        self.items = [] if items is None else items
        self.tag = tag
        self.anchor = anchor
        self._canonical: Canonical | None = None

    @classmethod
    def new(cls, flow: bool, items: list[Node] | None = None) -> Self:
        """One that no text holds."""
        return cls(None, 0, 0, flow, items)

    @property
    def children(self) -> list[Node]:
        """The children in the order of the text."""
        return self.items

    @property
    def canonical(self) -> Canonical:
        """The value, order included."""
        if self._canonical is None:
            self._canonical = sequence_canonical([item.canonical for item in self.items])
        return self._canonical


class Alias:
    """An alias. `expansion` is its own copy of the anchored value, so that an edit inside touches this place only."""

    __slots__ = ("_expansion", "anchor", "end", "name", "source", "start", "target")

    def __init__(self, source: Source | None, start: int, end: int, name: str, target: Node) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.target = target
        # An alias has none of its own; nodes are asked for theirs whatever they are.
        self.anchor: str | None = None
        self._expansion: Node | None = None

    @property
    def expansion(self) -> Node:
        """A copy of the anchored node."""
        if self._expansion is None:
            self._expansion = copy(self.target)
        return self._expansion

    @property
    def unread(self) -> bool:
        """Whether the expansion was never read, so that it cannot have been edited."""
        return self._expansion is None

    @property
    def canonical(self) -> Canonical:
        """The value that it refers to."""
        return self.target.canonical


Node: TypeAlias = "Scalar | MappingNode | SequenceNode | Alias"
"""A value in a text, with the place where it is written."""
Collection: TypeAlias = "MappingNode | SequenceNode"
Child: TypeAlias = "Entry | Node"


def mapping_canonical(fields: dict[Canonical, Canonical]) -> Canonical:
    """The canonical form of a mapping with these canonical keys and values."""
    return ("map", frozenset(fields.items()))


def sequence_canonical(items: list[Canonical]) -> Canonical:
    """The canonical form of a sequence with these canonical items."""
    return ("seq", tuple(items))


def canonical_text(value: Canonical) -> str:
    """A value in one line of YAML, with the keys of mappings in order."""
    if isinstance(value, str):
        return value
    kind, *rest = value
    if not rest:
        return str(kind)
    inside: Any = rest[0]
    if kind == "map":
        return "{" + ", ".join(sorted(f"{canonical_text(key)}: {canonical_text(of)}" for key, of in inside)) + "}"
    if kind == "seq":
        return "[" + ", ".join(map(canonical_text, inside)) + "]"
    return str(inside).lower() if kind == "bool" else str(inside)


def value_of(child: Child) -> Node:
    """The node that a child of a collection holds: an entry's value, an item itself."""
    return child.value if isinstance(child, Entry) else child


def resolved(node: Node) -> Node:
    """The node itself, or the value of an alias."""
    return node.expansion if isinstance(node, Alias) else node


def field_at(node: Node | None, *names: str) -> Node | None:
    """The value of a field of a field, aliases resolved, None where there is nothing."""
    for name in names:
        node = node.get(name) if isinstance(node, MappingNode) else None
    return node


def is_template(node: Node) -> bool:
    """Whether a value is a template that reads as YAML by chance: `{{ name }}` is a mapping with a mapping as key."""
    return isinstance(node, MappingNode) and node.flow and any(isinstance(e.key, MappingNode) for e in node.entries)


def is_merge_key(entry: Entry) -> bool:
    """Whether the entry is `<<: …`; kpt writes the key as `!!merge <<`."""
    key = entry.key
    if not isinstance(key, Scalar) or key.text != MERGE_KEY or key.style:
        return False
    # `!!str <<` is a field of that name, as `"<<"` is.
    return not (key.tag or "").endswith(":str")


def merged_mappings(value: Node) -> list[MappingNode]:
    """The mappings that a merge key's value names, the strongest first."""
    # What is anchored, not a copy for each alias: along a chain of merge keys each would hold copies of all before it.
    value = _anchor_of(value)
    parents = [_anchor_of(item) for item in value.items] if isinstance(value, SequenceNode) else [value]
    return [parent for parent in parents if isinstance(parent, MappingNode)]


def _anchor_of(node: Node) -> Node:
    return node.target if isinstance(node, Alias) else node


def copy(node: Node) -> Node:
    """A copy with an identity of its own; it still points at the text of the first."""
    source = node.source
    if isinstance(node, Scalar):
        return Scalar(source, node.start, node.end, node.text, node.style, node.tag)
    if isinstance(node, Alias):
        return Alias(source, node.start, node.end, node.name, node.target)
    if isinstance(node, SequenceNode):
        return SequenceNode(source, node.start, node.end, node.flow, [copy(item) for item in node.items], node.tag)
    entries = [Entry(copy(e.key), copy(e.value)) for e in node.entries]
    return MappingNode(source, node.start, node.end, node.flow, entries, node.tag)


def opaque(node: Node) -> Node:
    """A copy in which aliases and merge keys are values of their own: `*name` equals `*name`, whatever that stands for.

    Its nodes point at the same text, so that edits of it are edits of that text (V9).
    """
    if isinstance(node, Alias):
        alias = Scalar(node.source, node.start, node.end, f"*{node.name}")
        alias.canonical = ("alias", alias.text)
        return alias
    if isinstance(node, Scalar):
        scalar = copy(node)
        scalar.anchor = node.anchor
        return scalar
    if isinstance(node, SequenceNode):
        items = [opaque(item) for item in node.items]
        return SequenceNode(node.source, node.start, node.end, node.flow, items, node.tag, node.anchor)
    entries = [Entry(_opaque_key(entry), opaque(entry.value)) for entry in node.entries]
    return MappingNode(node.source, node.start, node.end, node.flow, entries, node.tag, node.anchor)


def is_opaque(node: Node | None) -> bool:
    """Whether a value is an alias that is a value of its own."""
    return type(node) is Scalar and type(node.canonical) is tuple and node.canonical[0] == "alias"


def _opaque_key(entry: Entry) -> Node:
    key = opaque(entry.key)
    if is_merge_key(entry) and isinstance(key, Scalar):
        key.tag = ":str"
    return key


def _has_quoted_words(node: Node) -> bool:
    return node.source is not None and node.source.has_quoted_words


def is_requoted(first: Node, second: Node) -> bool:
    """Whether quotes round a word that YAML 1.1 reads as a boolean or a number are all that differs in equal values."""
    if not (_has_quoted_words(first) or _has_quoted_words(second)):
        return False
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return bool(first.style) != bool(second.style) and _WORD.match(first.text) is not None
    if isinstance(first, SequenceNode) and isinstance(second, SequenceNode):
        return any(map(is_requoted, first.items, second.items))
    if isinstance(first, MappingNode) and isinstance(second, MappingNode):
        fields = second.fields
        return any(is_requoted(entry.value, fields[key].value) for key, entry in first.fields.items())
    return False


Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
"""A plain value, as JSON has them."""
Object: TypeAlias = "dict[str, Value]"
"""A plain mapping, such as a Kubernetes object."""


@overload
def to_value(node: MappingNode) -> Object: ...
@overload
def to_value(node: Node | None) -> Value: ...
def to_value(node: Node | None) -> Value:
    """The plain value of a node; aliases and merge keys are written out, keys become strings as in JSON."""
    if node is None:
        return None
    if isinstance(node, Alias):
        # Not the expansion: it is a copy, and once it is read it counts as one that may have been edited (`unread`).
        return to_value(node.target)
    if isinstance(node, Scalar):
        return python_value(node.canonical)  # type: ignore[return-value]
    if isinstance(node, SequenceNode):
        return [to_value(item) for item in node.items]
    return {key_text(entry.key): to_value(entry.value) for entry in node.fields.values()}


def is_null(node: Node | None) -> bool:
    """Whether a value is there, and null: to Kubernetes a field that is left out."""
    return node is not None and node.canonical == ("null",)


def same(first: Value, second: Value) -> bool:
    """Whether two values are equal, types included: 1, 1.0 and true differ. The order of keys does not matter."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        assert isinstance(second, dict)
        if first.keys() != second.keys():
            return False
        # A loop: much of what is compared is one object in both.
        for key, value in first.items():
            other = second[key]
            if value is not other and not same(value, other):
                return False
        return True
    if isinstance(first, list):
        assert isinstance(second, list)
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


@overload
def copied(value: Object) -> Object: ...
@overload
def copied(value: Value) -> Value: ...
def copied(value: Value) -> Value:
    """A value that shares no map and no list with another."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def key_text(key: Node) -> str:
    """A key as text."""
    return key.text if isinstance(key, Scalar) else canonical_text(key.canonical)


@overload
def from_value(value: Object) -> MappingNode: ...
@overload
def from_value(value: Value) -> Node: ...
def from_value(value: Value) -> Node:
    """A node for a plain value. It has no source text; its style is chosen when it is written."""
    if isinstance(value, dict):
        return MappingNode.new(not value, [Entry(from_value(k), from_value(v)) for k, v in value.items()])
    if isinstance(value, list):
        return SequenceNode.new(not value, [from_value(item) for item in value])
    if isinstance(value, str):
        # Without quotes a field `<<` would be a merge key, and the texts `1` and `null` a number and a null.
        quoted = value == MERGE_KEY or resolve(value, "", None) != value
        return Scalar.new(value, '"' if quoted else "")
    return Scalar.new(scalar_text(value))
