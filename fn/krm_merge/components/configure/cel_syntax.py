"""What an expression consists of, once it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is written down; None for one of a kind that is not understood."""

    value: str | int | bool | None


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list that is written down."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    operand: Node


@dataclass(frozen=True, slots=True)
class AllOf:
    """Operands of &&."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Operands of ||."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Comparisons in a row, each of what is on its left with one more operand."""

    first: Node
    others: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two values."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Field:
    """A field of what is before it."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of what is before it."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields and functions of a value."""

    head: Node
    links: tuple[Field | Call, ...]


Node: TypeAlias = Constant | Name | Items | Not | AllOf | AnyOf | Relation | Choice | Chain


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that was read. `full_refs` says that a text in it names branches by their full reference."""

    root: Node
    full_refs: bool
