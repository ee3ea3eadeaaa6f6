"""How alike two values are: which elements of a list without keys are one, which resource was renamed (L3, R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import TypeAlias, TypeVar

from krm_merge.text.likeness import text_likeness
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode, resolved
from krm_merge.text.reading.scalars import Canonical

Counted = TypeVar("Counted")

Leaf: TypeAlias = "tuple[tuple[Canonical, ...], Canonical]"
"""A scalar, or an empty collection, with its path; steps into lists are alike."""


def likeness(first: Node, second: Node) -> float:
    """From 0 to 1: the share of the fields and elements that both have with equal values, of all that either has.

    Fields are compared by their path, elements of lists by their values. Two texts of several lines are as alike as the
    share of their lines that both have, other strings as the share of what they begin and end with in common; two
    options (`--name=value`) with one name are alike, with two they are not.
    """
    return Traits(first).likeness(Traits(second))


class Traits:
    """The traits by which a value is compared, computed once for all comparisons."""

    __slots__ = ("_leaves", "_paths", "_size", "node")

    def __init__(self, node: Node, usual: Set[Leaf] = frozenset()) -> None:
        """Looks through the whole value; leaves that are `usual` do not count."""
        self.node = resolved(node)
        # Not as Counters: these are many times as slow to make from a few leaves.
        self._leaves: dict[Leaf, int] = {}
        self._paths: dict[tuple[Canonical, ...], int] = {}
        self._size = 0
        for leaf in _lines_of(self.node) or leaves_of(self.node):
            if leaf in usual:
                continue
            self._leaves[leaf] = self._leaves.get(leaf, 0) + 1
            self._paths[leaf[0]] = self._paths.get(leaf[0], 0) + 1
            self._size += 1

    def likeness(self, other: Traits) -> float:
        """From 0 to 1, see there."""
        first, second = self.node, other.node
        is_text = isinstance(first, Scalar)
        if is_text != isinstance(second, Scalar) or (is_text and not (self._size and other._size)):
            return _of_scalars(first, second)
        if isinstance(first, MappingNode) != isinstance(second, MappingNode):
            return 0.0
        # A field that both have counts once, with whatever values.
        together = self._size + other._size - _count_shared(self._paths, other._paths)
        if not together:
            # All that they hold is usual.
            return float(first.canonical == second.canonical)
        return _count_shared(self._leaves, other._leaves) / together


def _count_shared(first: Mapping[Counted, int], second: Mapping[Counted, int]) -> int:
    """How many both have."""
    if len(first) > len(second):
        first, second = second, first
    return sum(min(count, second[leaf]) for leaf, count in first.items() if leaf in second)


def _of_scalars(first: Node, second: Node) -> float:
    if first.canonical == second.canonical:
        return 1.0
    ours, theirs = first.canonical, second.canonical
    if type(ours) is not str or type(theirs) is not str:
        return 0.0
    names = ours.partition("=")[::2], theirs.partition("=")[::2]
    if "=" in ours and "=" in theirs:
        return 1.0 if names[0][0] == names[1][0] else 0.0
    return text_likeness(ours, theirs)


def leaves_of(node: Node) -> Iterator[Leaf]:
    """The leaves of a mapping or list; a scalar has none."""
    node = resolved(node)
    return iter(()) if isinstance(node, Scalar) else _leaves(node, ())


def have_same_fields(first: Node, second: Node) -> bool:
    """Whether two mappings have values at the same paths, so that they differ in scalars alone."""
    if not isinstance(first, MappingNode) or not isinstance(second, MappingNode):
        return False
    paths, other_paths = ([path for path, _ in leaves_of(node)] for node in (first, second))
    return Counter(paths) == Counter(other_paths)


def _lines_of(node: Node) -> list[Leaf]:
    """The lines of a text that has several, as leaves; what is inside of a script may change without its beginning."""
    text = node.canonical if isinstance(node, Scalar) else ""
    if type(text) is not str or "\n" not in text.rstrip("\n"):
        return []
    return [((), line) for line in text.split("\n") if line.strip()]


def _leaves(node: Node, path: tuple[Canonical, ...]) -> Iterator[Leaf]:
    node = resolved(node)
    if isinstance(node, MappingNode):
        for key, entry in node.fields.items():
            yield from _leaves(entry.value, (*path, key))
        if not node.fields:
            yield path, node.canonical
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _leaves(item, (*path, ()))
        if not node.items:
            yield path, node.canonical
    else:
        yield path, node.canonical
