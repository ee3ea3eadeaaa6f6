"""Prints how much of each layer the tests took, from the data that `coverage` left, as a Markdown table.

Exits 1 where a layer has less than MINIMUM of its branches. With `--branches`, lists the branches that were not taken.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coverage import Coverage

LAYERS = ("krm", "merge", "patch", "schema", "text")
MINIMUM = 98.0
"""Percent of the branches; a layer below it needs tests of what it does there, or does too much."""
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def main() -> int:
    files = measure()
    is_low = False
    print("| layer | lines | of | branches | of | |\n|---|---|---|---|---|---|")
    for layer in LAYERS:
        counts: Counter[str] = Counter()
        for path, file in files.items():
            if f"krm_merge/{layer}/" in path:
                counts.update({name: file["summary"][name] for name in COUNTS})
        lines, branches = (
            _percent(counts, "covered_lines", "num_statements"),
            _percent(counts, "covered_branches", "num_branches"),
        )
        is_low = is_low or branches < MINIMUM
        mark = "" if branches >= MINIMUM else f"below {MINIMUM:g} %"
        cells = (layer, f"{lines:.1f} %", counts["num_statements"], f"{branches:.1f} %", counts["num_branches"], mark)
        print(f"| {' | '.join(map(str, cells))} |")
    if sys.argv[1:] == ["--branches"]:
        print()
        for path, file in sorted(files.items()):
            if missing := [f"{start}->{'exit' if end < 0 else end}" for start, end in file["missing_branches"]]:
                print(f"{path}: {', '.join(missing)}")
    return 1 if is_low else 0


def measure() -> dict[str, Any]:
    """What coverage says of each file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        data = Coverage()
        data.load()
        data.json_report(outfile=str(file))
        files: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["files"]
    return files


def _percent(counts: Counter[str], part: str, whole: str) -> float:
    return 100.0 * counts[part] / counts[whole] if counts[whole] else 100.0


if __name__ == "__main__":
    sys.exit(main())
