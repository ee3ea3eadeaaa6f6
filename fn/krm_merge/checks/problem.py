"""A mistake that was found in a file of a package."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.fieldpath import parse_path
from krm_merge.merge.package.reach import children_at
from krm_merge.text.reading.nodes import MappingNode, Node, resolved
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class PackageProblem:
    """A mistake: `file` is its path in the package, `line` counts from 1 and is 0 where no line shows it."""

    file: str
    message: str
    line: int = 0

    def to_value(self) -> dict[str, Value]:
        """As programs read it."""
        place: dict[str, Value] = {"file": self.file, "line": self.line} if self.line else {"file": self.file}
        return place | {"message": self.message}


def line_of(root: MappingNode, path: str) -> int:
    """The line of a field, from 1, or of the nearest one above it that is there; 0 where `path` is no path."""
    try:
        steps = parse_path(path)
    except ValueError:
        return 0
    node: Node = root
    for step in steps:
        children = children_at(resolved(node), step)
        if not children:
            break
        node = children[0]
    return 0 if node.source is None else node.source.text.count("\n", 0, node.start) + 1
