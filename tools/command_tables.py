"""What docs/command-line.md has from the commands: the list of them, and for each what `--help` prints."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator

import click

from krm_merge.cli.app import app
from krm_merge.cli.help_pages import COMMANDS, GROUPS

ROOT = click.Context(app, info_name="krm-merge")
Row = tuple[str, str]
"""An option with its values, and its meaning."""


def tables() -> dict[str, str]:
    """The parts of the page by their names: one of all commands, one of shared options, one for each command."""
    users: dict[Row, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in COMMANDS:
        for part, row in _options(_command(name), ""):
            users[row][name].append(part)
    shared = {row: names for row, names in users.items() if len(names) > 1}
    rows = ((*row, ", ".join(f"`{name}`" for name in names)) for row, names in shared.items())
    parts = {"commands": _commands(), "shared options": _table(("option", "meaning", "of"), rows)}
    for name in COMMANDS:
        options = {row: names[name] for row, names in users.items() if name in names and row not in shared}
        parts[name] = "\n\n".join(filter(None, (*_help(name), _own_options(name, options)))) + "\n"
    return parts


def _command(name: str) -> click.Command:
    command = app.get_command(ROOT, name)
    assert command is not None
    return command


def _commands() -> str:
    return "\n\n".join(
        f"**{title}**\n\n"
        + _table(("command", "does"), ((f"[`{name}`](#krm-merge-{name})", text) for name, text in group.items()))
        for title, group in GROUPS.items()
    )


def _help(name: str) -> Iterator[str]:
    """How the command is called, and what it does; of a group, in a table of the commands in it."""
    command = _command(name)
    if isinstance(command, click.Group):
        yield from _paragraphs(command)
        rows = ((f"`{usage}`", _on_one_line(inner)) for usage, inner in _inner(command, name))
        yield _table(("command", "does"), rows).rstrip("\n")
    else:
        yield f"`krm-merge {_usage(command, name)}`"
        yield from _paragraphs(command)


def _paragraphs(command: click.Command) -> Iterator[str]:
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        # The page has sessions of its own.
        if paragraph.removeprefix("\b\n").startswith("Example:"):
            continue
        # Click's mark for lines that are printed as they are.
        is_code = paragraph.startswith("\b")
        yield f"```text\n{paragraph.strip()}\n```".replace("\b\n", "") if is_code else " ".join(paragraph.split())


def _on_one_line(command: click.Command) -> str:
    """The help as a cell of a table, which holds neither blocks nor lines."""
    texts = (text.removeprefix("```text\n").removesuffix("\n```").replace("\\\n", "") for text in _paragraphs(command))
    return " ".join(" ".join(texts).split()).replace("|", "\\|")


def _inner(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _inner(command, f"{path} {name}")
        else:
            yield _usage(command, f"{path} {name}"), command


def _usage(command: click.Command, path: str) -> str:
    pieces = command.collect_usage_pieces(click.Context(command))
    arguments = [piece for piece in pieces if piece not in ("[OPTIONS]", "")]
    return " ".join((path, *arguments)).replace("|", "\\|")


def _options(command: click.Command, path: str) -> Iterator[tuple[str, Row]]:
    """The options of a command and of those in it, each with the path of the one that takes it."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            yield path, (_name(parameter, command), _meaning(parameter, command))
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _options(inner, f"{path} {name}".lstrip())


def _own_options(name: str, options: dict[Row, list[str]]) -> str:
    if not options:
        return ""
    if not isinstance(_command(name), click.Group):
        return _table(("option", "meaning"), options).rstrip("\n")
    rows = ((", ".join(f"`{part}`" for part in parts), *row) for row, parts in options.items())
    return _table(("of", "option", "meaning"), rows).rstrip("\n")


def _name(option: click.Option, command: click.Command) -> str:
    names = [*option.opts, *option.secondary_opts]
    if not option.is_flag:
        values = option.make_metavar(click.Context(command))
        if isinstance(option.type, click.Choice):
            values = "|".join(map(str, option.type.choices))
        names[-1] += " " + ("N" if values.startswith("INTEGER") else values)
    return ", ".join(f"`{name}`" for name in names).replace("|", "\\|")


def _meaning(option: click.Option, command: click.Command) -> str:
    extra = option.get_help_extra(click.Context(command))
    meaning = (option.help or "").replace("|", "\\|")
    return f"{meaning.removesuffix('.')}; by default {extra['default']}." if extra.get("default") else meaning


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
