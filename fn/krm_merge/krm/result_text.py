"""Results as YAML. There may be thousands, all of one shape: this is many times faster than the emitter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from krm_merge.krm.result import Result
from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.reading.indents import Indents
from krm_merge.text.reading.nodes import Entry, Scalar
from krm_merge.text.reading.scalar_text import line_text
from krm_merge.text.reading.values import Value, from_value


def results_text(results: Iterable[Result], newline: str) -> str:
    """The field `results` of a ResourceList, in complete lines."""
    text = "".join(["results:\n", *(_item(result.to_value()) for result in results)])
    return text if newline == "\n" else text.replace("\n", newline)


def _item(value: dict[str, Value]) -> str:
    try:
        lines = list(_lines(value, "  "))
    except _SeveralLinesError:
        items = from_value([value])
        text = Emitter(Editor(items), Indents(sequence=0)).child(Entry(from_value("results"), items), 0, None, "\n")
        return text.removeprefix("results:\n")
    return f"- {''.join(lines)[2:]}"


class _SeveralLinesError(Exception):
    """A text that is written as a block."""


def _lines(value: dict[str, Value], pad: str) -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield f"{pad}{_scalar(name)}:\n"
            yield from _lines(inner, f"{pad}  ")
        else:
            assert isinstance(inner, str | int)
            yield f"{pad}{_scalar(name)}: {_scalar(inner)}\n"


@lru_cache(maxsize=1024)
def _scalar(value: str | int) -> str:
    if isinstance(value, str) and "\n" in value:
        raise _SeveralLinesError
    node = from_value(value)
    assert isinstance(node, Scalar)
    return line_text(node, 0)
