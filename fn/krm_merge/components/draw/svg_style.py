"""The colours and fonts of the picture of the graph, by day and by night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from krm_merge.components.draw.layout_text import NAME_SIZE, TEXT_SIZE
from krm_merge.components.graph.graph import Role

_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


@dataclass(frozen=True, slots=True)
class _Theme:
    """Colours; of roles what boxes are filled with and what they are drawn with."""

    page: str
    frame: str
    text: str
    soft: str
    roles: Mapping[Role, tuple[str, str]]
    lines: tuple[str, ...]
    circle: str


_LIGHT = _Theme(
    "#ffffff",
    "#d1d5db",
    "#111827",
    "#4b5563",
    {
        "dependency": ("#e3edfd", "#1d4ed8"),
        "both": ("#efeafe", "#7c3aed"),
        "dependant": ("#e0f7e9", "#15803d"),
        "independent": ("#f3f4f6", "#6b7280"),
    },
    ("#2563eb", "#b45309", "#0f766e", "#9333ea", "#64748b", "#be185d"),
    "#dc2626",
)
_DARK = _Theme(
    "#0f172a",
    "#475569",
    "#f1f5f9",
    "#cbd5e1",
    {
        "dependency": ("#172f5f", "#7db0fb"),
        "both": ("#35256b", "#b9a2fb"),
        "dependant": ("#12402a", "#6fdc98"),
        "independent": ("#273244", "#a3afc0"),
    },
    ("#6aa5fa", "#e9a23b", "#3fc9b8", "#c58bfa", "#a3b1c6", "#f27fb5"),
    "#f87171",
)


def style_sheet() -> str:
    """The style sheet of the picture."""
    dark = "".join(f"  {rule}\n" for rule in _colours(_DARK))
    return (
        f"text {{ font-family: {_FONT}; font-size: {TEXT_SIZE}px; }}\n"
        f".name {{ font-size: {NAME_SIZE}px; font-weight: bold; }}\n"
        ".frame, .chip, .pull, .line { fill: none; }\n"
        ".tested { stroke-width: 3; }\n"
        ".independent { stroke-dasharray: 6 3; }\n"
        ".line { stroke-width: 1.6; }\n"
        ".circle .line { stroke-dasharray: 5 3; }\n"
        ".head { stroke: none; }\n"
        ".edge:hover .line { stroke-width: 4; }\n"
        + "".join(f"{rule}\n" for rule in _colours(_LIGHT))
        + f"@media (prefers-color-scheme: dark) {{\n{dark}}}\n"
    )


def _colours(theme: _Theme) -> list[str]:
    return [
        f".page {{ fill: {theme.page}; }}",
        f".frame {{ stroke: {theme.frame}; }}",
        f"text {{ fill: {theme.text}; }}",
        f".soft {{ fill: {theme.soft}; }}",
        f".chip, .pull {{ stroke: {theme.soft}; }}",
        *(f".{role} {{ fill: {fill}; stroke: {line}; }}" for role, (fill, line) in theme.roles.items()),
        *(
            f".colour{number} .line {{ stroke: {line}; }} .colour{number} .head {{ fill: {line}; }}"
            for number, line in enumerate(theme.lines)
        ),
        f".circle .line {{ stroke: {theme.circle}; }} .circle .head {{ fill: {theme.circle}; }}",
    ]
