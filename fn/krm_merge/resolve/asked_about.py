"""The records of a merge as a session asks about them: what can be chosen, and what cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from krm_merge.krm.identity import KPTFILE
from krm_merge.report.record import DecisionRecord

_OF_VALUES: Final = ("V2", "V6", "V10")
"""Rules by which values merge without a conflict."""

_OF_EXISTENCE: Final = ("V2", "F5")
"""Rules by which elements of lists come and go without a conflict."""


def asked_about(records: Sequence[DecisionRecord]) -> Iterator[DecisionRecord]:
    """The records of one resource or file.

    What nobody can choose about is as the rules have it; a value that merged without a conflict can be overruled. What
    only says where an open conflict would lead to, if nobody settled it, is left out.
    """
    asked = [record.path for record in records if record.status == "open" and record.choices]
    for record in records:
        if record.status != "open" or record.choices:
            yield _overrulable(record)
        elif not any(path and record.path.startswith(path) for path in asked):
            yield replace(record, status="settled", settled_by="policy")


def named(record: DecisionRecord) -> str:
    """The place of a record, for a message."""
    return " ".join(part for part in (str(record.resource or record.file), record.path) if part)


def _overrulable(record: DecisionRecord) -> DecisionRecord:
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
