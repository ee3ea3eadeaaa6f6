"""Prints decisions as a report: on stdout, and to the files that `--report` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from krm_merge.cli.json_errors import printed_already
from krm_merge.errors import KrmMergeError
from krm_merge.krm.result import Result
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.report.forms.by_suffix import as_json, rendered
from krm_merge.report.record import MergeReport


def shows_contexts(files: Iterable[Path]) -> bool:
    """Whether one of the reports shows the lines around conflicts."""
    return any(file.suffix == ".html" for file in files)


def write_reports(report: Callable[[], MergeReport], files: Iterable[Path]) -> None:
    """Writes the report in each form that a file is named for, and makes it only then. Raises PackageError."""
    for file in files:
        write_file(file, File(rendered(report(), file.suffix).encode()))


@contextmanager
def errors_as_json(form: str, package: str) -> Iterator[None]:
    """Prints why something could not be done as a report, too, where a program reads the output."""
    try:
        yield
    except KrmMergeError as error:
        if form == "json":
            results = [Result("error", str(error)).to_value()]
            click.echo(as_json(MergeReport(package, results=results)), nl=False)
            printed_already()
        raise
