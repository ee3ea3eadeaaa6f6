"""Writes the outcomes of a merge to the items of the list, merged ones on all processors if there are many."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from posixpath import join

from krm_merge.functions.merge_package.document_indexes import DocumentIndexes
from krm_merge.functions.merge_package.sides import PackageSides
from krm_merge.functions.places import FreeIndexes, new_resource
from krm_merge.krm.parallel import in_parallel
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results
from krm_merge.merge.decisions.member import ResourceOutcome
from krm_merge.merge.decisions.report import report
from krm_merge.merge.writing.carry_out import carry_out
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import frozen, pattern

_SEPARATORS = pattern(r"\A(?:---[^\n]*\n|[ \t]*\n)*")


@frozen
class MergedItem:
    """The new bytes of an item, None if it is unchanged or cannot be written, and its results."""

    data: bytes | None
    results: list[Result]


def write_outcomes(
    resource_list: ResourceList,
    sides: PackageSides,
    outcomes: Sequence[ResourceOutcome],
    redactions: Sequence[Redaction] = (),
) -> None:
    """Applies the outcomes to the list and reports them; with an error among the decisions, only reports them.

    `redactions` say what reports hide (M6).
    """
    refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
    added = [] if refused else [outcome for outcome in outcomes if outcome.fate == "added"]
    free = FreeIndexes(resource_list, sides.root_package) if added else None
    indexes = DocumentIndexes(free, sides, outcomes) if free is not None else None
    merging = [] if refused else [outcome for outcome in outcomes if outcome.fate == "merged"]
    merged = dict(zip(map(id, merging), _merged_items(sides, merging, redactions), strict=True))
    for outcome in outcomes:
        member = outcome.member
        resource = Resource.from_tree(member.root) if outcome.local is None else sides.resource(outcome.local)
        if id(outcome) in merged:
            item = merged[id(outcome)]
            if item.data is not None:
                resource.settle(item.data)
            for result in item.results:
                resource_list.results.add(result)
            continue
        if outcome.fate == "added" and indexes is not None:
            resource = new_resource(member, join(sides.folder, member.place), indexes.of(outcome))
            resource_list.items.append(resource)
        elif outcome.fate == "deleted" and not refused:
            resource_list.items.remove(resource)
        report(outcome, resource, resource_list.results, redactions, refused=refused)


def _merged_items(
    sides: PackageSides, outcomes: Sequence[ResourceOutcome], redactions: Sequence[Redaction]
) -> list[MergedItem]:
    """Applies each outcome and returns the written items; the given items are not changed."""
    parts = in_parallel(lambda part: [_merged(sides, outcome, redactions) for outcome in part], outcomes)
    return [item for part in parts for item in part]


def _merged(sides: PackageSides, outcome: ResourceOutcome, redactions: Sequence[Redaction]) -> MergedItem:
    assert outcome.local is not None
    resource, results = sides.resource(outcome.local), Results()
    carry_out(resource, outcome, results, redactions, fit=partial(_fitted, resource.column))
    report(outcome, resource, results, redactions, refused=False)
    data = resource.data() if resource.is_changed and not results.errors else None
    resource.forget()
    return MergedItem(data, list(results))


def _fitted(column: int, document: str) -> str:
    """The text of a document in the lines of an item, indented to the column of the item's fields."""
    text = _SEPARATORS.sub("", document, count=1)
    lines = (" " * column + line if line.strip() else line for line in text.removesuffix("\n").split("\n"))
    return "\n".join(lines) + "\n"
