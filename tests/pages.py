"""The pages of the documentation that tests read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from checkout import ROOT

MERGING = (ROOT / "docs" / "functions" / "merge-package.md").read_text(encoding="utf-8")
FUNCTIONS = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "functions").glob("*.md")))
RULES = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
PATCHES = (ROOT / "docs" / "patches.md").read_text(encoding="utf-8")
TRANSFORM = (ROOT / "docs" / "transform.md").read_text(encoding="utf-8")
COMPONENTS = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
YAML_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


EXAMPLE = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| ((?:smart: )?`[^`]+`|\*conflict\*) \|$", re.MULTILINE)


def examples() -> Iterator[Any]:
    """The examples of the rules: the number of the rule, and original, upstream, local and merged."""
    for section in RULES.split("\n### ")[1:]:
        number = section.partition(".")[0]
        yield from (pytest.param(number, row, id=f"{number}-{row[2]}") for row in EXAMPLE.findall(section))
