"""Writes expressions in the style of the expressions that they replace, and on the same lines where possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from krm_merge.text.reading.layout import block_scalar_header, content_end, is_block_scalar, source_of
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.scalars import quoted


def in_style_of(before: Node, text: str) -> Scalar | None:
    """The text in the style of another value, None if no spelling in that style means this text.

    Without a previous text, a value with double quotes in it is written in single ones. A block ends
    with a newline where it did before.
    """
    for spelling in _spellings(before, text) if isinstance(before, Scalar) else ():
        found = _read(spelling)
        if found is not None and found.canonical in (text, f"{text}\n"):
            return found
    return None


def _spellings(before: Scalar, text: str) -> Iterator[str]:
    in_single_quotes = text.replace("'", "''")
    if before.source is None:
        if '"' in text:
            yield f"'{in_single_quotes}'"
    elif is_block_scalar(before):
        chomping = block_scalar_header(before).lstrip("|>123456789")[:1]
        if before.style == ">":
            yield _block(f">{chomping}", _laid_out(text, before))
        yield _block(f"|{chomping}", text.split("\n"))
    elif before.style == '"':
        yield f'"{_continued(_laid_out(quoted(text)[1:-1], before))}"'
    else:
        if not before.style:
            yield _continued(_laid_out(text, before))
        yield f"'{_continued(_laid_out(in_single_quotes, before))}'"


def _laid_out(text: str, before: Scalar) -> list[str]:
    """A text on the lines of another one: equal lines are kept, then each condition (`&&`) begins a line."""
    lines = _lines(before)
    if len(lines) < 2 and not is_block_scalar(before):
        return [text]
    kept: list[str] = []
    for line in lines:
        if f"{text} ".startswith(f"{line} "):
            kept.append(line)
            text = text[len(line) + 1 :]
        else:
            break
    return [*kept, *re.split(r" (?=&& )", text)] if text else kept


def _lines(node: Scalar) -> list[str]:
    source = source_of(node)
    if is_block_scalar(node):
        body = source.text[source.line_end(node.start) : content_end(node)]
    else:
        body = source.text[node.start + len(node.style) : node.end - len(node.style)]
    return [line.strip() for line in body.strip().split("\n")]


def _continued(lines: Sequence[str]) -> str:
    return "\n  ".join(lines)


def _block(header: str, lines: Sequence[str]) -> str:
    return "\n  ".join([header, *lines])


def _read(spelling: str) -> Scalar | None:
    try:
        root = read(f"text: {spelling}\n")
    except TextError:
        return None
    node = root.get("text") if isinstance(root, MappingNode) else None
    return node if isinstance(node, Scalar) else None
