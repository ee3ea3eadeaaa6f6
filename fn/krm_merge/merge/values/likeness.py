"""How alike two values are: which elements of a list without keys are one, which resource was renamed (L3, R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from krm_merge.text.reading.nodes import Canonical, Mapping, Node, Scalar, Sequence, resolved

THRESHOLD = 0.5
"""Values that are less alike than this are different ones."""


def likeness(first: Node, second: Node) -> float:
    """From 0 to 1: the share of the fields and elements that both have with equal values, of all that either has.

    Fields are compared by their path, elements of lists by their values. Two strings are as alike as the share of what
    they begin and end with in common; two options (`--name=value`) with one name are alike, with two they are not.
    """
    first, second = resolved(first), resolved(second)
    if isinstance(first, Scalar) or isinstance(second, Scalar):
        return _of_scalars(first, second)
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        return 0.0
    ours, theirs = Counter(_leaves(first, ())), Counter(_leaves(second, ()))
    shared, together = (ours & theirs).total(), (ours | theirs).total()
    if not together:
        return 1.0
    # A field that both have with other values is in `together` twice.
    paths = [Counter(path for path, _ in side.elements()) for side in (ours - theirs, theirs - ours)]
    return shared / (together - (paths[0] & paths[1]).total())


def _of_scalars(first: Node, second: Node) -> float:
    if first.canonical == second.canonical:
        return 1.0
    if first.canonical[0] != "str" or second.canonical[0] != "str":
        return 0.0
    ours, theirs = str(first.canonical[1]), str(second.canonical[1])
    names = ours.partition("=")[::2], theirs.partition("=")[::2]
    if "=" in ours and "=" in theirs:
        return 1.0 if names[0][0] == names[1][0] else 0.0
    shortest, longest = sorted((len(ours), len(theirs)))
    head = next((at for at in range(shortest) if ours[at] != theirs[at]), shortest)
    tail = next((at for at in range(shortest - head) if ours[-1 - at] != theirs[-1 - at]), shortest - head)
    return (head + tail) / longest


def _leaves(node: Node, path: tuple[Canonical, ...]) -> Iterator[tuple[tuple[Canonical, ...], Canonical]]:
    node = resolved(node)
    if isinstance(node, Mapping):
        for key, entry in node.fields.items():
            yield from _leaves(entry.value, (*path, key))
        if not node.fields:
            yield path, node.canonical
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _leaves(item, (*path, ()))
        if not node.items:
            yield path, node.canonical
    else:
        yield path, node.canonical
