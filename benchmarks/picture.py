"""Draws `updates.svg` from the numbers in README.md: `python -m benchmarks.picture`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path

HERE = Path(__file__).resolve().parent
README, PICTURE = HERE / "README.md", HERE / "updates.svg"

CASE = re.compile(r"^\| ([\d,]+) resources \(\d+ runs\) \|.*\n\|.*\n((?:\| `.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)`[^|]*\| ([\d.]+) \|", re.MULTILINE)

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 60, 50
TITLE = "Seconds that an update takes, by the resources in the package"
SECONDS = (0.1, 1, 10, 100)
COLORS = {"krm-merge": "#6f42c1", "kpt pkg update": "#b35900"}
STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #24292f; stroke: #ffffff; stroke-width: 4px; paint-order: stroke; }
.title { font-weight: 600; font-size: 16px; }
.axis { fill: #57606a; font-size: 12px; }
.grid { stroke: #d0d7de; }
.background { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; stroke: #0d1117; }
  .axis { fill: #9198a1; }
  .grid { stroke: #3d444d; }
  .background { fill: #0d1117; }
  .krm-merge { --color: #b392f0; }
  .kpt-pkg-update { --color: #e3994a; }
}
"""


@dataclass(frozen=True, slots=True)
class Point:
    """An update: so many resources, and so many seconds from start to exit."""

    resources: int
    seconds: float


def lines_of(readme: str) -> dict[str, list[Point]]:
    """The updates of each program, by size. Raises ValueError where the page has no such numbers."""
    section = readme.partition("## Numbers: updates\n")[2].partition("\n## ")[0]
    lines: dict[str, list[Point]] = {}
    for resources, rows in CASE.findall(section):
        for name, seconds in ROW.findall(rows):
            lines.setdefault(name, []).append(Point(int(resources.replace(",", "")), float(seconds)))
    if lines.keys() != COLORS.keys():
        raise ValueError(f"{README.name}: the numbers of updates have {', '.join(lines) or 'no programs'}")
    return lines


def picture(lines: Mapping[str, Sequence[Point]]) -> str:
    """The picture: both axes are logarithmic, so that a straight line is a constant exponent."""
    sizes = sorted({point.resources for points in lines.values() for point in points})
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{_in_words(lines)}</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect class="background" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="title" x="{LEFT}" y="28">{TITLE}</text>',
            *_axes(sizes),
            *(element for name, points in lines.items() for element in _line(name, points, sizes)),
            "</svg>\n",
        ]
    )


def _in_words(lines: Mapping[str, Sequence[Point]]) -> str:
    return ". ".join(
        f"{name}: " + ", ".join(f"{point.seconds:g} s for {point.resources:,}" for point in points)
        for name, points in lines.items()
    )


def _x(resources: float, sizes: Sequence[int]) -> float:
    first, last = log10(sizes[0]), log10(sizes[-1])
    return round(LEFT + (log10(resources) - first) / (last - first) * (WIDTH - LEFT - RIGHT), 1)


def _y(seconds: float) -> float:
    first, last = log10(SECONDS[0]), log10(SECONDS[-1])
    return round(HEIGHT - BOTTOM - (log10(seconds) - first) / (last - first) * (HEIGHT - TOP - BOTTOM), 1)


def _axes(sizes: Sequence[int]) -> Iterator[str]:
    for seconds in SECONDS:
        y = _y(seconds)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text class="axis" x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{seconds:g} s</text>'
    for size in sizes:
        x = _x(size, sizes)
        yield f'<text class="axis" x="{x}" y="{HEIGHT - BOTTOM + 24}" text-anchor="middle">{size:,}</text>'


def _line(name: str, points: Sequence[Point], sizes: Sequence[int]) -> Iterator[str]:
    color = f"var(--color, {COLORS[name]})"
    places = [(_x(point.resources, sizes), _y(point.seconds)) for point in points]
    # Lines meet at the left: the numbers of the lower one are below it.
    label = 22 if name == "krm-merge" else -12
    yield f'<g class="{name.replace(" ", "-")}">'
    path = " ".join(f"{x},{y}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke-width="2.5" style="stroke: {color}"/>'
    for (x, y), point in zip(places, points, strict=True):
        yield f'<circle cx="{x}" cy="{y}" r="4" style="fill: {color}"/>'
        # Below the left end are the labels of the axis.
        anchor = "start" if x == LEFT and label > 0 else "middle"
        yield f'<text x="{x}" y="{y + label}" text-anchor="{anchor}">{point.seconds:.2g} s</text>'
    x, y = places[-1]
    yield f'<text x="{x + 14}" y="{y + 5}" style="fill: {color}; font-weight: 600">{name}</text>'
    yield "</g>"


def main() -> int:
    PICTURE.write_text(picture(lines_of(README.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
