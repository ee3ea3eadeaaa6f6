"""Results as YAML. There may be thousands, all of one shape: this is many times faster than the emitter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from krm_merge.krm.result import Result
from krm_merge.text.reading.indents import STEP
from krm_merge.text.reading.nodes import Scalar
from krm_merge.text.reading.scalar_text import block_text, line_text, needs_block
from krm_merge.text.reading.values import Value, from_value


def results_text(results: Iterable[Result], newline: str) -> str:
    """The field `results` of a ResourceList, in complete lines."""
    text = "".join(["results:\n", *(_item(result.to_value()) for result in results)])
    return text if newline == "\n" else text.replace("\n", newline)


def _item(value: dict[str, Value]) -> str:
    return f"- {_lines(value, '  ')[2:]}"


def _lines(value: dict[str, Value], pad: str) -> str:
    lines: list[str] = []
    for name, inner in value.items():
        if type(inner) is dict:
            lines.append(f"{pad}{_scalar(name)}:\n{_lines(inner, f'{pad}  ')}")
        else:
            assert isinstance(inner, str | int)
            if type(inner) is str and "\n" in inner:
                lines.append(_lines_of_text(name, inner, len(pad)))
            else:
                lines.append(f"{pad}{_scalar(name)}: {_scalar(inner)}\n")
    return "".join(lines)


def _lines_of_text(name: str, text: str, column: int) -> str:
    """A field whose text may be written as a block."""
    value = from_value(text)
    assert isinstance(value, Scalar)
    behind = block_text(value, column, STEP, "") if needs_block(value) else f" {line_text(value, column + STEP)}\n"
    return f"{' ' * column}{_scalar(name)}:{behind}"


@lru_cache(maxsize=1024)
def _scalar(value: str | int) -> str:
    node = from_value(value)
    assert isinstance(node, Scalar)
    return line_text(node, 0)
