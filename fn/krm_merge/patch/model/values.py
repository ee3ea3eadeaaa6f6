"""Plain values as JSON has them: 1, 1.0 and true are three values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final, Literal, TypeAlias

from krm_merge.text.reading.values import Value, same

__all__ = ["ValueKind", "identity", "is_deeper", "kind_of", "same", "text_of"]

ValueKind: TypeAlias = Literal["map", "list", "string", "integer", "number", "boolean", "null"]

_KINDS: Final[dict[type, ValueKind]] = {
    dict: "map",
    list: "list",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def kind_of(value: Value) -> ValueKind:
    """The JSON type of a value; integers and other numbers differ, as in Go."""
    return _KINDS[type(value)]


def identity(value: Value) -> Hashable:
    """A hashable key, equal for equal values."""
    if isinstance(value, dict):
        return "map", frozenset((key, identity(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return "list", tuple(identity(item) for item in value)
    return kind_of(value), value


def is_deeper(value: Value, depth: int) -> bool:
    """Whether a value is nested deeper than this."""
    level = [value]
    for _ in range(depth):
        level = [inner for inner in _below(level) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _below(values: list[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def text_of(value: Value) -> str:
    """A scalar as Go prints it with %v: what patches of kubectl are sorted by."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case float():
            return _go_float(value)
        case _:
            return str(value)


def _go_float(value: float) -> str:
    """%v is the shortest form, with an exponent below 1e-4 and from 1e21."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    if exponent:
        digits = mantissa.removesuffix(".0")
        power = int(exponent)
        if not -4 <= power < 21:
            return f"{digits}e{'-' if power < 0 else '+'}{abs(power):02}"
    return format(value, "f").rstrip("0").rstrip(".") if abs(value) >= 1e-4 or value == 0 else text
