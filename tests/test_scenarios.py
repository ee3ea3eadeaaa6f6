"""Scenarios of two colleagues' edits with what a careful third one makes of them: testdata/scenarios/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from checkout import ROOT
from krm_merge import merge_packages
from krm_merge.report.record import DecisionRecord

FOLDER = ROOT / "testdata" / "scenarios"
MARGIN = 5


class Scenario(NamedTuple):
    domain: str
    title: str
    path: str
    lines: list[str]
    conflicts: list[str]
    choice: str

    def text(self, letters: str) -> str:
        """The version with one of these letters: the lines that have it in the margin, and those without any."""
        content = [line[MARGIN:] for line in self.lines if is_of(line[:MARGIN], letters)]
        return "".join(f"{line}\n" for line in content)


def is_of(margin: str, letters: str) -> bool:
    return not margin.strip() or any(letter in margin for letter in letters)


def is_line(line: str) -> bool:
    columns = zip(line[:MARGIN], ("o", "u", "l", "mck", ""), strict=False)
    return all(letter == " " or letter in expected for letter, expected in columns)


def scenarios_of(file: Path) -> Iterator[Scenario]:
    head, *parts = file.read_text(encoding="utf-8").split("\n=== ")
    path = head.split("\npath: ")[1].strip()
    for part in parts:
        title, *rest = part.rstrip("\n").split("\n")
        lines: list[str] = []
        conflicts: list[str] = []
        choices: list[str] = []
        for line in rest:
            name, _, value = line.partition(": ")
            if is_line(line):
                lines.append(line)
            else:
                {"conflict": conflicts, "choice": choices}[name].append(value)
        yield Scenario(file.stem, title, path, lines, conflicts, "".join(choices))


SCENARIOS = [scenario for file in sorted(FOLDER.glob("*.txt")) for scenario in scenarios_of(file)]


def place(record: DecisionRecord, scenario: Scenario) -> str:
    """The place of a conflict as scenarios name it: with its resource where the file has several."""
    if record.resource is None or "---" not in scenario.text("ouml"):
        return record.path
    return f"{record.resource.kind}/{record.resource.name}" + (record.path and f": {record.path}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.domain}: {scenario.title}")
def test_edits_merge_as_a_careful_colleague_merges_them(scenario: Scenario) -> None:
    original, upstream, local = ({scenario.path: scenario.text(letter).encode()} for letter in "oul")
    merged = merge_packages(original, upstream, local)
    assert merged.files[scenario.path].decode() == scenario.text("mk")
    assert merge_packages(original, upstream, merged.files).changes == {}
    conflicts = [place(record, scenario) for record in merged.records if record.status != "automatic"]
    assert sorted(conflicts) == sorted(scenario.conflicts)


def test_scenarios_are_many_and_most_are_merged_as_a_colleague_does() -> None:
    choices = [scenario for scenario in SCENARIOS if scenario.choice]
    assert len(SCENARIOS) >= 300
    assert len(choices) <= 0.12 * len(SCENARIOS)
    # What a colleague would ask is hardly ever settled in silence.
    assert len([scenario.title for scenario in choices if not scenario.conflicts]) <= 0.02 * len(SCENARIOS)


def test_both_colleagues_changed_something_in_every_scenario() -> None:
    for scenario in SCENARIOS:
        assert len({scenario.text(letter) for letter in "oul"}) == 3, scenario.title
