"""Writes scalars in the style of their source where that is safe, on one line or on several, else by value."""

from __future__ import annotations

from math import isfinite

from krm_merge.startup import pattern
from krm_merge.text.reading.layout import (
    block_scalar_header,
    block_scalar_indent,
    content_end,
    is_block_scalar,
    source_of,
)
from krm_merge.text.reading.nodes import Node, Scalar
from krm_merge.text.reading.scalars import literal_is_safe, python_value, quoted, scalar_text, type_of

_PROPERTIES = pattern(r"(?:[&!]\S*(?:\s+|\Z))+")
_NOT_IN_FLOW = pattern(r"[\[\]{},?#]|:(?:\Z|\s)|[-:]\Z")
_NOT_IN_BLOCK = pattern(r"[-?:](?:\s|\Z)")


def needs_block(node: Scalar) -> bool:
    """Whether a scalar is written with `|` or `>`: it is so in its source, or it is a new text of several lines."""
    if node.source is None:
        return type(node.canonical) is str and literal_is_safe(node.text)
    # Blank lines alone do not show their indentation, so they cannot be moved to another column.
    return is_block_scalar(node) and not node.source.odd_breaks and node.text.strip(" \n") != ""


def line_text(node: Scalar, column: int) -> str:
    """A scalar that follows a key; a source's lines are continued at `column`. Empty for a null without text."""
    if node.source is None or node.source.odd_breaks or is_block_scalar(node):
        return _by_value(node, flow=False)
    text = _own_text(node)
    # Between brackets `-` is a text; elsewhere it is the dash of a list.
    if node.style == "" and _NOT_IN_BLOCK.match(text):
        return _by_value(node, flow=False)
    if "\n" not in text:
        return text
    # White space where a line is continued has no meaning.
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * column + line.lstrip(" \t") if line.strip() else "" for line in rest)])


def flow_text(node: Scalar) -> str:
    """A scalar on one line that is valid in a flow collection or as a key. Empty for a null without text."""
    if node.source is None or node.source.odd_breaks or is_block_scalar(node):
        return _by_value(node, flow=True)
    text = _own_text(node)
    if "\n" in text or (node.style == "" and (_NOT_IN_FLOW.search(text) or text.startswith("!"))):
        return _by_value(node, flow=True)
    return text


def json_text(node: Scalar) -> str | None:
    """A scalar as JSON, None for what JSON has no words for."""
    kind = type_of(node.canonical)
    if kind == "str":
        return quoted(node.text)
    value = python_value(node.canonical)
    if kind not in ("int", "float", "bool", "null") or (isinstance(value, float) and not isfinite(value)):
        return None
    import json

    return json.dumps(value)


def block_text(node: Scalar, column: int, step: int, comment: str) -> str:
    """A scalar behind the key or dash at `column`, as a block: its first line with the comment, and its content."""
    if node.source is None:
        style, tag, lines = "|", "", node.text.split("\n")
        if node.text.endswith("\n"):
            lines.pop()
    else:
        source, header = source_of(node), block_scalar_header(node)
        style = node.style
        tag = _without_anchor(header.split(style)[0])
        indent = block_scalar_indent(node)
        body = source.text[source.line_end(node.start) : content_end(node)]
        lines = [line.rstrip("\r")[indent:] for line in body.split("\n")]
        if body.endswith("\n"):
            lines.pop()
    # The white space of the first lines would be taken for indentation.
    indicator = str(step) if next((line for line in lines if line), "").startswith(" ") else ""
    # By the value, not by the header: at the end of a text without a last newline, the value of `|` ends without one.
    chomp = "-" if not node.text.endswith("\n") else "+" if node.text.endswith("\n\n") else ""
    pad = " " * (column + step)
    content = "".join(f"{pad}{line}\n" if line else "\n" for line in lines)
    return f" {tag}{' ' if tag else ''}{style}{indicator}{chomp}{comment}\n{content}"


def in_quotes_of(before: Node, after: Node) -> str | None:
    """A text of one line in the quotes that it had before; None where they were others, or none, or do not fit."""
    if not isinstance(before, Scalar) or not isinstance(after, Scalar) or before.tag or after.tag:
        return None
    if before.style not in ("'", '"') or type(after.canonical) is not str or "\n" in after.text:
        return None
    # A new text is in no quotes yet, whatever says that it is one.
    if after.style == before.style and after.source is not None:
        return None
    if before.style == '"':
        return quoted(after.text)
    # Single quotes have no escapes.
    return "'" + after.text.replace("'", "''") + "'" if after.text.isprintable() else None


def _own_text(node: Scalar) -> str:
    """The scalar as its source writes it, without its anchor."""
    return _without_anchor(source_of(node).text[node.start : node.end])


def _without_anchor(text: str) -> str:
    properties = _PROPERTIES.match(text)
    if properties is None:
        return text
    tags = [word for word in properties.group().split() if word.startswith("!")]
    return " ".join([*tags, text[properties.end() :]]).rstrip()


def _by_value(node: Scalar, *, flow: bool) -> str:
    kind = type_of(node.canonical)
    if kind == "str":
        return scalar_text(node.text, flow=flow)
    if kind == "binary":
        return f"!!binary {quoted(''.join(node.text.split()))}"
    if node.tag is not None and node.tag != "!":
        return f"!!{node.tag.rsplit(':', 1)[-1]} {quoted(node.text)}"
    return node.text
