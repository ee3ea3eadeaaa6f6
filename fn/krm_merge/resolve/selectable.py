"""What can be chosen for the records of a merge, and values that somebody writes (M4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import KPTFILE
from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import Value, to_value

_OF_VALUES: Final = ("V2", "V6", "V10")
"""Rules by which values merge without a conflict."""

_OF_EXISTENCE: Final = ("V2", "F5")
"""Rules by which elements of lists come and go without a conflict."""

_SIDES: Sequence[SideName] = ("original", "upstream", "local")


class RefusedChoiceError(KrmMergeError):
    """Why a choice cannot be made; says what can be done instead. Nothing was chosen."""


def selectable_records(records: Sequence[DecisionRecord]) -> Iterator[DecisionRecord]:
    """The records of one resource or file.

    What nobody can choose about is as the rules have it; a value that merged without a conflict can be overruled. What
    only says where an open conflict would lead to, if nobody settled it, is left out.
    """
    open_paths = [record.path for record in records if record.status == "open" and record.choices]
    for record in records:
        if record.status != "open" or record.choices:
            yield _with_choices(record)
        elif not any(path and record.path.startswith(path) for path in open_paths):
            yield replace(record, status="settled", settled_by="policy")


def place_name(record: DecisionRecord) -> str:
    """The place of a record, for a message."""
    return " ".join(part for part in (str(record.resource or record.file), record.path) if part)


def _with_choices(record: DecisionRecord) -> DecisionRecord:
    """What was merged without a conflict, with what can be chosen instead.

    That is a value that a side changed, a field, an element or a resource that upstream added or removed. A Kptfile is
    not among them: with it the whole package inside comes or goes.
    """
    if record.status != "automatic":
        return record
    is_value = record.rule in _OF_VALUES and record.nature in ("value", "text") and not record.is_redacted
    is_element = record.rule in _OF_EXISTENCE and record.nature == "element" and not record.is_redacted
    is_resource = record.rule == "R2" and record.resource is not None and record.resource.kind != KPTFILE
    if is_element or is_resource:
        return replace(record, choices=("upstream", "local"))
    return replace(record, choices=("upstream", "local", "value")) if is_value else record


def custom_value(given: Value, record: DecisionRecord) -> Value:
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
    expected = {_kind(side) for side in sides if side is not None}
    if expected and value is not None and _kind(value) not in expected:
        hint = "; write it in quotes to have it as a text" if "a text or number" in expected else ""
        raise RefusedChoiceError(f"this is {_kind(value)}, and {' or '.join(sorted(expected))} is expected here{hint}")
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
