"""Strings that are one line of value on several lines of text: folded block scalars, wrapped quoted and plain ones."""

from __future__ import annotations

from krm_merge.text.reading.layout import block_scalar_indent
from krm_merge.text.reading.nodes import MappingNode, Scalar, TextError
from krm_merge.text.reading.reader import read

_INDENT = "  "


def wrapped_lines(node: Scalar) -> list[str]:
    """The lines that a string is written on, without their indentation; of a folded one with its header first."""
    if node.source is None or node.style == "|":
        return []
    lines = node.source.text[node.start : node.end].rstrip().split("\n")
    if node.style != ">":
        return [line.strip() for line in lines]
    indent = block_scalar_indent(node)
    return [lines[0].strip(), *(line[indent:].rstrip("\r") for line in lines[1:])]


def read_wrapped(lines: list[str]) -> Scalar | None:
    """The string that is written on these lines; None where they no longer form one."""
    text = "a: " + "\n".join([lines[0], *(_INDENT + line if line else line for line in lines[1:])]) + "\n"
    try:
        root = read(text)
    except TextError:
        return None
    node = root.get("a") if isinstance(root, MappingNode) and len(root.entries) == 1 else None
    return node if isinstance(node, Scalar) and type(node.canonical) is str else None
