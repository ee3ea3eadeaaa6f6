"""The pages of the documentation that tests read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from checkout import ROOT
from krm_merge.cli.app import app

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


def refuse_unknown_options(words: list[str]) -> None:
    """Raises UsageError where a command of krm-merge, or an option of it, does not exist."""
    command: click.Command = app
    context = click.Context(command)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        subcommand = command.get_command(context, words[0])
        words = words[1:] if subcommand is not None else words
        if subcommand is None and command.name == "transform":
            subcommand = command.get_command(context, "run")
        assert subcommand is not None, words[0]
        command, context = subcommand, click.Context(subcommand, parent=context)
    if not context.ignore_unknown_options:
        command.make_parser(context).parse_args(list(words))
