"""Every byte in which two texts of a document differ has a spot, and every line that differs has a cause."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from checkout import ROOT
from effort import scaled
from krm_merge.report.comparison.lines import unexplained_lines
from krm_merge.report.comparison.spots import spots
from krm_merge.text.reading.nodes import MappingNode, Node, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import split_documents

DOCUMENTS = [
    document.decode()
    for folder in ("testdata/comparisons", "testdata/golden")
    for path in sorted((ROOT / folder).rglob("*.yaml"))
    for document in split_documents(path.read_bytes())
    if len(document) < 3_000
]
EDITS = [
    "remove",
    "repeat",
    "swap",
    "comment",
    "comment above",
    "space",
    "indent",
    "quotes",
    "blank line",
    "flow",
    "CR",
]


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:
    """A document, and the same with a few of its lines written otherwise."""
    text = draw(st.sampled_from(DOCUMENTS))
    lines = text.splitlines(keepends=True)
    for edit in draw(st.lists(st.sampled_from(EDITS), max_size=4)):
        if not lines:
            break
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        line = lines[at]
        match edit:
            case "remove":
                del lines[at]
            case "repeat":
                lines.insert(at, lines[other])
            case "swap":
                lines[at], lines[other] = lines[other], line
            case "comment":
                lines[at] = line.rstrip("\n") + f" # {other % 3}\n"
            case "comment above":
                lines.insert(at, "  " * (other % 4) + "# above\n")
            case "blank line":
                lines.insert(at, "\n")
            case _:
                lines[at] = {
                    "space": line.replace(": ", ":  ", 1),
                    "indent": f"  {line}",
                    "quotes": line.replace('"', "'"),
                    "flow": line.replace("- ", "- [", 1).replace("\n", "]\n") if "- " in line else line,
                    "CR": line.replace("\n", "\r\n"),
                }[edit]
    return text, "".join(lines)


def parse(text: str) -> Node | None:
    try:
        return read(text)
    except TextError:
        return None


@settings(max_examples=scaled(400))
@given(edits())
def test_nothing_is_left_unexplained(texts: tuple[str, str]) -> None:
    first, second = map(parse, texts)
    if not isinstance(first, MappingNode) or not isinstance(second, MappingNode):
        return
    result = spots(first, second)
    assert bool(result) == (texts[0] != texts[1])
    assert unexplained_lines(*texts, result) == []


def test_what_nothing_touches_is_unexplained() -> None:
    assert unexplained_lines("a: 1\nb: 2\n", "a: 1\nb: 3\n", []) == ["b: 2", "b: 3"]
