"""Golden cases in the layout of the Go SDK: what goes in and what comes out, byte for byte.

A case is a directory in testdata/golden: `resources.yaml` is a ResourceList without functionConfig, `_fnconfig.yaml`
the functionConfig, `_expected.yaml` the list that comes out, `_results.yaml` its results. `WRITE_GOLDEN_OUTPUT=1`
rewrites the last two; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from krm_merge.functions import process

GOLDEN = ROOT / "testdata" / "golden"
WRITE = bool(os.environ.get("WRITE_GOLDEN_OUTPUT"))
CASES = sorted(file.parent.name for file in GOLDEN.glob("*/resources.yaml"))


def function_config(case: Path) -> bytes:
    """The functionConfig as a field of the list; nothing where the case has none."""
    file = case / "_fnconfig.yaml"
    if not file.exists():
        return b""
    lines = file.read_bytes().splitlines(keepends=True)
    end = b"\r\n" if lines[0].endswith(b"\r\n") else b"\n"
    return b"functionConfig:" + end + b"".join(b"  " + line if line.strip() else line for line in lines)


def run(items: bytes, config: bytes) -> tuple[bytes, bytes, int]:
    """The list without the functionConfig, the results, the exit code."""
    outcome = process(items + config)
    assert outcome.output.count(config or b"\nresults:") in (0, 1)
    if config:
        before, separator, results = outcome.output.partition(config)
        assert separator, "the functionConfig is not as it came"
        return before, results, outcome.exit_code
    before, _, results = outcome.output.partition(b"\nresults:")
    return before + (b"\n" if results else b""), b"results:" + results if results else b"", outcome.exit_code


def severities(results: bytes) -> list[str]:
    values: dict[str, list[dict[str, Any]]] = yaml.safe_load(results) or {"results": []}
    return [result["severity"] for result in values["results"]]


def test_there_are_cases() -> None:
    assert len(CASES) >= 10


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    case = GOLDEN / name
    items, config = (case / "resources.yaml").read_bytes(), function_config(case)
    merged, results, exit_code = run(items, config)
    if WRITE:
        (case / "_expected.yaml").write_bytes(merged)
        (case / "_results.yaml").write_bytes(results)
    assert merged == (case / "_expected.yaml").read_bytes()
    assert results == (case / "_results.yaml").read_bytes()
    assert exit_code == ("error" in severities(results))
    if exit_code:
        assert merged == items


@pytest.mark.parametrize("name", [name for name in CASES if (GOLDEN / name / "_fnconfig.yaml").exists()])
def test_merging_again_changes_nothing(name: str) -> None:
    """Law D."""
    case = GOLDEN / name
    merged = (case / "_expected.yaml").read_bytes()
    again, results, _ = run(merged, function_config(case))
    if "error" not in severities((case / "_results.yaml").read_bytes()):
        assert again == merged
        assert "error" not in severities(results)
