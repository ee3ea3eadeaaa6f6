"""Commands in `sh` blocks, which no test runs, because they need a network, a registry or a cluster: they exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest

from checkout import ROOT
from krm_merge.cli.app import app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
SH_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPERATORS = frozenset("|&;()<>")
FUNCTION = {"--help", "-h", "--doc", "--version"}


def commands_in(line: str) -> Iterator[list[str]]:
    """The arguments of each `krm-merge` in a line of a shell, quoted command lines included."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    arguments: list[str] | None = None
    before = ""
    for word in [*lexer, ";"]:
        if arguments is not None and set(word) <= OPERATORS:
            yield arguments
            arguments = None
        elif arguments is not None:
            arguments.append(word)
        elif word == "krm-merge" and not before.startswith("-"):
            arguments = []
        elif word.startswith("krm-merge "):
            yield from commands_in(word)
        before = word


def recipes() -> Iterator[Any]:
    for page in PAGES:
        for block in SH_BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                for arguments in commands_in(line):
                    yield pytest.param(arguments, id=f"{page.relative_to(ROOT)}: {' '.join(arguments)}")


def command_of(arguments: list[str]) -> tuple[click.Command, list[str]]:
    """The command that arguments name, and those that follow its name."""
    command: click.Command = app
    rest = arguments
    while isinstance(command, click.Group):
        subcommand = command.get_command(click.Context(command), rest[0])
        if subcommand is None and command.name == "transform":
            return command.commands["run"], rest
        assert subcommand is not None, f"there is no command {rest[0]}"
        command, rest = subcommand, rest[1:]
    return command, rest


@pytest.mark.parametrize("arguments", list(recipes()))
def test_a_recipe_names_commands_and_options_that_are_there(arguments: list[str]) -> None:
    if not arguments or arguments[0] in FUNCTION:
        return
    command, rest = command_of(arguments)
    options = {name for parameter in command.params for name in parameter.opts} | {"-h", "--help", "-"}
    options_of_recipe = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "--"}
    assert options_of_recipe <= options


def test_recipes_are_found() -> None:
    commands = [arguments[0] for arguments in (recipe.values[0] for recipe in recipes()) if arguments]
    assert {"update", "mergetool", "config", "completion"} <= set(commands)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a | krm-merge diff x y > z # krm-merge", [["diff", "x", "y"]]),
        ("git config d 'krm-merge merge-driver %O --rules a'", [["merge-driver", "%O", "--rules", "a"]]),
        ("kpt fn eval --exec krm-merge --fn-config a", []),
        ("pip install '.[cli]' # krm-merge", []),
    ],
)
def test_how_commands_are_found(line: str, commands: list[list[str]]) -> None:
    assert list(commands_in(line)) == commands
