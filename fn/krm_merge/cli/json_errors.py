"""Errors as JSON on stdout, where a program reads it: the same for all commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import click

from krm_merge.errors import KrmMergeError
from krm_merge.krm.result import Result

_FORMS = ("json", "jsonl")
_WANTED = "krm_merge.json_errors"


def is_json_wanted(arguments: Sequence[str]) -> bool:
    """Whether `--format` asks for JSON. Read from the arguments, because wrong usage is an error before options are."""
    pairs = set(pairwise(arguments))
    return any(f"--format={form}" in arguments or ("--format", form) in pairs for form in _FORMS)


def print_errors_as_json(context: click.Context) -> None:
    """Lets `errors_printed` print errors of this context and of the commands in it."""
    context.meta[_WANTED] = True


def printed_already() -> None:
    """Says that stdout has the error in a form of the command's own."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_WANTED] = False


@contextmanager
def errors_printed(context: click.Context) -> Iterator[None]:
    """Prints an error as an object with `results`, as other output has them; it is raised all the same."""
    try:
        yield
    except (KrmMergeError, click.ClickException) as error:
        if context.meta.get(_WANTED):
            message = error.format_message() if isinstance(error, click.ClickException) else str(error)
            click.echo(json.dumps({"results": [Result("error", message).to_value()]}))
        raise
