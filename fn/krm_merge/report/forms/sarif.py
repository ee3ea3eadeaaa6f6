"""Reports as SARIF 2.1.0, for code scanning: a rule for each of ours, a result for each conflict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from krm_merge import __version__
from krm_merge.report.record import MergeReport
from krm_merge.report.words import HOME, NATURES, RULES, address_of, anchor_of

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 25_000
"""GitHub takes no more results of one run."""


def render(report: MergeReport) -> str:
    """The log: what was taken automatically is left out, what no record is about comes last."""
    results: list[dict[str, Any]] = []
    for record in [*report.with_status("open"), *report.with_status("settled")]:
        place = " ".join(part for part in (str(record.resource or ""), record.path) if part)
        text = f"{place or record.file}: {NATURES[record.nature]}: {record.message}"
        results.append(
            {
                "ruleId": record.rule,
                "level": "error" if record.status == "open" else "warning",
                "message": {"text": text},
                "locations": [_location(report.package, record.file, place)],
                "partialFingerprints": {"conflict/v1": record.fingerprint},
            }
        )
    results += _of_notices(report)
    rules = [
        {
            "id": rule,
            "shortDescription": {"text": RULES.get(rule, rule).replace("`", "")},
            "helpUri": address_of(anchor_of(rule)),
        }
        for rule in sorted({result["ruleId"] for result in results[:MOST_RESULTS] if "ruleId" in result})
    ]
    driver = {"name": "krm-merge", "version": __version__, "informationUri": HOME, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results[:MOST_RESULTS]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _of_notices(report: MergeReport) -> Iterator[dict[str, Any]]:
    for result in report.notices():
        notice: dict[str, Any] = {"level": result.severity, "message": {"text": result.message}}
        if result.rule:
            notice["ruleId"] = result.rule
        if result.file is not None:
            notice["locations"] = [_location(report.package, result.file, "")]
        yield notice


def _location(package: str, file: str, place: str) -> dict[str, Any]:
    """The location of a result; lines are not known, so it is the file, with the place by name."""
    place_of_file: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": quote(_path(package, file))}, "region": {"startLine": 1}}
    }
    if place:
        place_of_file["logicalLocations"] = [{"fullyQualifiedName": place}]
    return place_of_file


def _path(package: str, file: str) -> str:
    """The path of a file from where the program ran, which code scanning takes for the root of the repository."""
    folder = PurePosixPath(package)
    if folder.is_absolute() or ".." in folder.parts or folder.name == file:
        return file
    return str(folder / file)
