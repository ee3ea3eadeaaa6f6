"""JSON patch operations (RFC 6902) with the pointers (RFC 6901) that they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from krm_merge.errors import KrmMergeError
from krm_merge.harmless import quoted
from krm_merge.text.reading.values import Value
from krm_merge.transform.protocol.json_value import DEPTH_LIMIT, flaw_of_value, is_text

OperationKind: TypeAlias = Literal["add", "remove", "replace", "move", "copy", "test"]
Pointer: TypeAlias = tuple[str, ...]
"""The tokens of a JSON pointer, unescaped."""

KINDS: Final[tuple[OperationKind, ...]] = get_args(OperationKind)
_WITH_VALUE = frozenset(("add", "replace", "test"))
_WITH_SOURCE = frozenset(("move", "copy"))
_BAD_ESCAPE = re.compile(r"~(?![01])")


class OperationError(KrmMergeError, ValueError):
    """An invalid operation, or one that cannot be applied."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `source` is where move and copy take the value from; `value` is that of add, replace and test."""

    kind: OperationKind
    path: Pointer
    source: Pointer = ()
    value: Value = None

    @classmethod
    def read(cls, value: Value) -> Operation:
        """Reads an operation in its JSON form; unknown fields are ignored. Raises OperationError."""
        if not isinstance(value, dict):
            raise OperationError("an operation is a map with op and path")
        kind = next((known for known in KINDS if known == value.get("op")), None)
        if kind is None:
            raise OperationError(f"op is {quoted(str(value.get('op', 'missing')))}; known are {', '.join(KINDS)}")
        if kind in _WITH_VALUE and "value" not in value:
            raise OperationError(f"{kind} without value")
        source = _pointer(value, "from") if kind in _WITH_SOURCE else ()
        return cls(kind, _pointer(value, "path"), source, value["value"] if kind in _WITH_VALUE else None)

    @property
    def flaw(self) -> str:
        """Why it is invalid, or ''. Plugins create operations at run time, so their types are checked here."""
        if self.kind not in KINDS:
            return f"op is {self.kind!r}; known are {', '.join(KINDS)}"
        for name, pointer in (("path", self.path), ("source", self.source)):
            if not _is_pointer(pointer):
                return f"the {name} of {self.kind} is {pointer!a}; a tuple of texts is expected: ('spec', 'replicas')"
        if len(self.path) > DEPTH_LIMIT:
            return f"the path of {self.kind} has more than {DEPTH_LIMIT} levels"
        flaw = flaw_of_value(self.value, len(self.path))
        return f"the value of {self} {flaw}" if flaw else ""

    def to_value(self) -> dict[str, Value]:
        """The JSON form."""
        value: dict[str, Value] = {"op": self.kind, "path": pointer_text(self.path)}
        if self.kind in _WITH_SOURCE:
            value["from"] = pointer_text(self.source)
        if self.kind in _WITH_VALUE:
            value["value"] = self.value
        return value

    def __str__(self) -> str:
        """Its text for messages: without the value, which may be secret."""
        source = f" from {pointer_text(self.source)}" if self.kind in _WITH_SOURCE else ""
        return f"{self.kind} {pointer_text(self.path) or 'the whole object'}{source}"


@dataclass(frozen=True, slots=True)
class PluginOperation:
    """An operation and the plugin that proposed it."""

    plugin: str
    operation: Operation


def agree(first: Operation, second: Operation) -> bool:
    """Whether two operations are equal. Source: crane-lib's comparison of operations."""
    return (first.kind, first.path, first.source) == (second.kind, second.path, second.source) and equal(
        first.value, second.value
    )


def equal(first: Value, second: Value) -> bool:
    """Whether two values are equal as JSON: numbers by their value, so 1 equals 1.0 but not true (RFC 6902, 4.6)."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(equal(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal, first, second))
    return first == second


def read_pointer(text: str) -> Pointer:
    """Reads a JSON pointer. Raises OperationError."""
    if text and not text.startswith("/"):
        raise OperationError(f"the path {quoted(text)!r} is not a JSON pointer: those begin with /")
    if _BAD_ESCAPE.search(text):
        raise OperationError(
            f"the path {quoted(text)!r} is not a JSON pointer: in it, ~ is written ~0 and / inside a name ~1"
        )
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def pointer_text(pointer: Pointer) -> str:
    """The text of a JSON pointer."""
    return "".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in pointer)


def _is_pointer(found: object) -> bool:
    return isinstance(found, tuple) and all(map(is_text, found))


def _pointer(value: dict[str, Value], field: str) -> Pointer:
    text = value.get(field)
    if not isinstance(text, str):
        raise OperationError(f"{value['op']} without {field}")
    return read_pointer(text)
