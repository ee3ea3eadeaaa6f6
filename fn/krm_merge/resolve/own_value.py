"""A value of one's own, as somebody wrote it: read, and refused where it cannot be meant (M4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krm_merge.errors import KrmMergeError
from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import Value, to_value

_SIDES: Sequence[SideName] = ("original", "upstream", "local")


class RefusedChoiceError(KrmMergeError):
    """Why a choice cannot be made; says what can be done instead. Nothing was chosen."""


def own_value(given: Value, record: DecisionRecord) -> Value:
    """The value that is meant for the place of a record.

    A text is YAML, as it would be written there; where all sides are texts, it is one, too. Raises RefusedChoiceError.
    """
    sides = [record.values[side] for side in _SIDES if side in record.values]
    value = given
    if isinstance(given, str):
        if _is_of_lines(given, sides):
            return given
        value = _read(given)
        if all(isinstance(side, str) for side in sides) and not isinstance(value, Mapping | list | str):
            # A version such as 1.10 is no number among texts.
            return given.strip()
    wanted = {_kind(side) for side in sides if side is not None}
    if wanted and value is not None and _kind(value) not in wanted:
        hint = "; write it in quotes to have it as a text" if "a text or number" in wanted else ""
        raise RefusedChoiceError(f"this is {_kind(value)}, and {' or '.join(sorted(wanted))} is expected here{hint}")
    return value


def _is_of_lines(given: str, sides: Sequence[Value]) -> bool:
    """Whether a text is meant as it is: it has lines, or those that it is for have."""
    texts = [side for side in sides if isinstance(side, str)]
    return len(texts) == len(sides) and ("\n" in given.strip() or any("\n" in text for text in texts))


def _read(text: str) -> Value:
    try:
        node = read(text)
    except (TextError, RecursionError) as error:
        why = str(error) if isinstance(error, TextError) else "not valid YAML: it is too deep"
        raise RefusedChoiceError(f"{why}; write it in quotes to have it as a text") from None
    if node is None and not text.strip():
        raise RefusedChoiceError("there is no value; write null or '' for an empty one")
    return to_value(node)


def _kind(value: Value) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a text or number"
