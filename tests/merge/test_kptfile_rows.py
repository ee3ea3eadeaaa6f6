"""The tables of testdata/kptfile: how a Kptfile merges, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import kptfiles
from findings import by_text, cut_to_expected
from kptfiles import Case
from krm_merge.functions import process


@dataclass(frozen=True)
class Run:
    """One case under one way to tell functions apart."""

    case: Case
    smart: bool

    @property
    def name(self) -> str:
        return f"{self.case['name']} (smart)" if self.smart else str(self.case["name"])

    @property
    def expected(self) -> Any:
        """What the run must give: the fields of the case, or those of its smart block."""
        return self.case["smart"] if self.smart else self.case

    @property
    def options(self) -> dict[str, str]:
        return {"functionIdentity": "smart"} if self.smart else {}

    @property
    def exit_code(self) -> int:
        return int(self.expected.get("exit", 0))


CASES = kptfiles.cases()
RUNS = [Run(case, smart) for case in CASES for smart in (False, True) if not smart or "smart" in case]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_row(run: Run) -> None:
    done = process(kptfiles.request(run.case, **run.options))
    reported = kptfiles.results(done.output)
    merged = kptfiles.item_text(done.output)
    result = kptfiles.kptfile(run.expected["expected"], run.case.get("expected_metadata", kptfiles.NAME))
    assert kptfiles.values(merged) == kptfiles.values(result), merged
    if run.expected.get("exact"):
        assert kptfiles.body_text(merged) == run.expected["expected"]
    serious = [finding for finding in reported if finding["severity"] != "info"]
    assert cut_to_expected(serious, run.expected.get("results", [])) == by_text(run.expected.get("results", []))
    infos = {finding["rule"] for finding in reported if finding["severity"] == "info"}
    assert set(run.expected.get("infos", [])) <= infos
    assert done.exit_code == run.exit_code
    if run.exit_code:
        return
    inputs = [kptfiles.kptfile(run.case[side] or "") for side in ("original", "upstream", "local")]
    assert kptfiles.empty_mappings(merged) == 0 or any(map(kptfiles.empty_mappings, inputs))
    assert kptfiles.bare_functions(merged) == 0 or any(map(kptfiles.bare_functions, inputs))
    again = process(kptfiles.request(run.case, local=merged, **run.options))
    assert kptfiles.item_text(again.output) == merged, "a second run changes bytes"
    assert again.exit_code == 0
