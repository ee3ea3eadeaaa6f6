"""Finds the circles of a graph in one walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krm_merge.components.konflux.model import ComponentKey


def circles(above: Mapping[ComponentKey, Sequence[ComponentKey]]) -> Iterator[list[ComponentKey]]:
    """A circle for each back edge of a depth-first walk, starting at its least Component (R3).

    `above` are the Components that each one depends on. Without these edges the graph has no circle.
    """
    finished = set[ComponentKey]()
    for root in sorted(above):
        if root in finished:
            continue
        path, position, open_edges = [root], {root: 0}, [iter(above[root])]
        while path:
            for key in open_edges[-1]:
                if key in position:
                    yield _from_least(path[position[key] :])
                elif key not in finished:
                    position[key] = len(path)
                    path.append(key)
                    open_edges.append(iter(above.get(key, ())))
                    break
            else:
                open_edges.pop()
                done = path.pop()
                del position[done]
                finished.add(done)


def _from_least(circle: list[ComponentKey]) -> list[ComponentKey]:
    start = circle.index(min(circle))
    return [*circle[start:], *circle[:start]]
