"""Between nodes and plain Python values (dict, list, str, int, float, bool, None)."""

from __future__ import annotations

from typing import TypeAlias

from krm_merge.text.reading.nodes import (
    MERGE_KEY,
    Alias,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    canonical_text,
)
from krm_merge.text.reading.scalars import python_value, resolve, scalar_text

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
"""A plain value, as JSON has them."""
Object: TypeAlias = "dict[str, Value]"
"""A plain mapping, such as a Kubernetes object."""


def to_value(node: Node | None) -> Value:
    """The plain value of a node; aliases and merge keys are written out, keys become strings as in JSON."""
    if node is None:
        return None
    if isinstance(node, Alias):
        return to_value(node.target)
    if isinstance(node, Scalar):
        return python_value(node.canonical)  # type: ignore[return-value]
    if isinstance(node, SequenceNode):
        return [to_value(item) for item in node.items]
    return {key_text(entry.key): to_value(entry.value) for entry in node.fields.values()}


def same(first: Value, second: Value) -> bool:
    """Whether two values are equal, types included: 1, 1.0 and true differ. The order of keys does not matter."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        assert isinstance(second, dict)
        return first.keys() == second.keys() and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, list):
        assert isinstance(second, list)
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def copied(value: Value) -> Value:
    """A value that shares no map and no list with another."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def key_text(key: Node) -> str:
    """A key as text."""
    return key.text if isinstance(key, Scalar) else canonical_text(key.canonical)


def from_value(value: Value) -> Node:
    """A node for a plain value. It has no source text; its style is chosen when it is written."""
    if isinstance(value, dict):
        return MappingNode(None, 0, 0, not value, [Entry(from_value(k), from_value(v)) for k, v in value.items()])
    if isinstance(value, list):
        return SequenceNode(None, 0, 0, not value, [from_value(item) for item in value])
    if isinstance(value, str):
        quoted = value == MERGE_KEY or resolve(value, "", None) != value
        return Scalar(None, 0, 0, value, '"' if quoted else "")
    return Scalar(None, 0, 0, scalar_text(value))
