"""What is written in the box of a Component, and how large that makes the box."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from krm_merge.components.draw.drawing import Drawing, printable
from krm_merge.components.draw.layout_text import NAME_SIZE, TEXT_SIZE, text_width, wrapped
from krm_merge.components.graph.graph import Role
from krm_merge.components.konflux.model import Key

_LEADING = 5
PAD = 11
ICON = 12
GAP = 12
"""Between boxes of a column."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text in a box. `icon` says that it begins what a pull request is told by, `chip` what a group is."""

    text: str
    size: int = TEXT_SIZE
    chip: bool = False
    icon: bool = False
    indent: int = 0

    @property
    def width(self) -> float:
        """How wide it is."""
        return text_width(self.text, self.size) + self.indent + (ICON if self.chip else 0)

    @property
    def height(self) -> int:
        """How tall it is."""
        return self.size + _LEADING + (4 if self.chip else 0)


@dataclass(frozen=True, slots=True)
class Box:
    """What is drawn for a Component, without its place."""

    key: Key
    role: Role
    tested: bool
    lines: tuple[Line, ...]
    title: str

    @property
    def width(self) -> int:
        """How wide it is."""
        return ceil(max(line.width for line in self.lines)) + 2 * PAD

    @property
    def height(self) -> int:
        """How tall it is."""
        return sum(line.height for line in self.lines) - _LEADING + 2 * PAD


def box_of(drawing: Drawing, key: Key) -> Box:
    """The box of a Component."""
    groups, waiting = drawing.groups_of(key), drawing.waiting_for(key)
    lines = [Line(line, NAME_SIZE) for line in wrapped(key.name, NAME_SIZE)]
    lines += [Line(line) for line in wrapped(drawing.role(key), TEXT_SIZE)]
    lines += [Line(line, chip=True) for name in groups for line in wrapped(name, TEXT_SIZE, 1)]
    for label in waiting:
        first, *rest = wrapped(label, TEXT_SIZE)
        lines += [Line(first, icon=True, indent=ICON), *(Line(line, indent=ICON) for line in rest)]
    title = [str(key), drawing.role(key), *(f"group {name}" for name in groups), *waiting]
    role = drawing.graph.role(key)
    return Box(key, role, drawing.graph.is_tested(key), tuple(lines), "; ".join(map(printable, title)))
