"""Merges of plain values, by a schema that says by the name of a field what it holds, and what was decided in words."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from krm_merge.krm import FieldPath, format_path
from krm_merge.merge.decisions.decision import Decision, apply
from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.values.tree import merge_values
from krm_merge.schema import Discriminator, KeyedList, Schema
from krm_merge.schema.model import FUNCTIONS, ORDERED, SET, WHOLE, ListKind, ValueSchema
from krm_merge.text import Editor, to_value
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read

LISTS: dict[str, ListKind] = {
    "named": KeyedList(("name",)),
    "ids": KeyedList(("id",)),
    "ports": KeyedList(("port", "protocol"), (("protocol", "TCP"),)),
    "set": SET,
    "whole": WHOLE,
    "functions": FUNCTIONS,
}
SHORT = {
    "upstream changed it, local changed it": "both changed",
    "upstream added it, local added it": "both added",
    "elements that share a key or have none, so the list is merged as a plain sequence": "no keys",
    "no function has a name and a appears more than once in a list, so the list is one value": "one value",
    "name every function on all sides, or set functionIdentity: smart, to keep them": "name all",
    "and only one of them is allowed": "not both",
    "both changed one place of the list": "one place",
    "removed by one side: ": "gone: ",
}
"""What messages say in many words, in a few."""


class NamedSchema(Schema):
    """Says by the name of a field what it holds.

    Annotations of kpt and `status` stay local, a `volume` has a `file` or a `dir`, the `type` of a `strategy` says what
    is beside it, `map` is a map.
    """

    def at(self, path: FieldPath) -> ValueSchema:
        members = {"Rolling": ("rolling",), "Partition": ("partition",)}
        return ValueSchema(
            LISTS.get(str(path[-1]), ORDERED) if path else ORDERED,
            (("file", "dir"),) if path[-1:] == ("volume",) else (),
            Discriminator("type", members, "Rolling") if path[-1:] == ("strategy",) else None,
            path[-1:] == ("map",),
        )

    def stays_local(self, path: FieldPath) -> bool:
        return path == ("status",) or super().stays_local(path)


def mapping(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def merge_roots(local: MappingNode, decisions: list[Decision]) -> MappingNode:
    """Local with the edits of decisions."""
    editor = Editor(local)
    apply(decisions, editor)
    merged = editor.tree()
    assert isinstance(merged, MappingNode)
    return merged


def decide(original: str, upstream: str, local: str, policy: Policy) -> tuple[dict[str, Any], list[Decision]]:
    """What local becomes, and the decisions."""
    ours = mapping(local)
    decisions = merge_values(mapping(original), mapping(upstream), ours, NamedSchema(), policy)
    merged = to_value(merge_roots(ours, decisions))
    assert isinstance(merged, dict)
    return merged, decisions


def say(decisions: list[Decision]) -> list[str]:
    """Decisions in words: rule, place, side, message; `!` marks a warning, `!!` an error."""
    marks = {"info": "", "warning": "!", "error": "!!"}
    lines = [f"{d.rule} {format_path(d.path)} {d.side}{marks[d.severity]}: {d.message}" for d in decisions]
    for words, fewer in SHORT.items():
        lines = [line.replace(words, fewer) for line in lines]
    return lines


def rows(table: str) -> list[ParameterSet]:
    """A row for each paragraph: its name, `o`, `u` and `l` with a side each, `=` with the result, the decisions.

    Upstream wins, unless the name ends with who does, behind `/`.
    """
    parameters: list[ParameterSet] = []
    for paragraph in table.strip().split("\n\n"):
        name, *lines = paragraph.splitlines()
        sides = {line[0]: line[2:] for line in lines[:4]}
        winner = name.partition(" / ")[2] or "upstream"
        parameters.append(pytest.param(*(sides[side] for side in "oul="), winner, lines[4:], id=name))
    return parameters


def check(original: str, upstream: str, local: str, merged: str, winner: OnConflict, decisions: list[str]) -> None:
    """Merges, and compares the result, the order of its fields, and what was decided."""
    value, taken = decide(original, upstream, local, Policy(on_conflict=winner))
    expected = to_value(mapping(merged))
    assert value == expected
    assert [*value] == [*mapping(merged).fields]
    assert say(taken) == decisions
