"""How commands print decisions and errors, for people and programs, and where people settle conflicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final

import click

from krm_merge.cli.help_pages import text_of_rule
from krm_merge.cli.options import refuse_missing
from krm_merge.cli.terminal import conflicts_in, count_of, fit, holds_several, where, width_of
from krm_merge.errors import KrmMergeError
from krm_merge.krm import KPTFILE, Result, Results, Severity
from krm_merge.packages import (
    Changes,
    Directory,
    File,
    Journal,
    PackageError,
    RefusedError,
    Tree,
    UnavailableError,
    git_difference,
    reason,
    write_file,
)
from krm_merge.report import Files, MergeReport, render_document
from krm_merge.safe_text import json_text, line, quantity, terminal_line
from krm_merge.startup import group_by_key, replace

if TYPE_CHECKING:
    from krm_merge.report import DecisionRecord, Style
    from krm_merge.resolve.api import Host
    from krm_merge.resolve.interface import SideLabels
    from krm_merge.usecases import Outcome

REFUSED: Final = 1
FAILED: Final = 3
JSON_ERRORS: Final = "krm_merge.json_errors"
"""Where click's context has whether `errors_printed` is to print errors of it and of the commands in it."""


def is_json_wanted(arguments: Sequence[str]) -> bool:
    """Whether `--format` asks for JSON. Read from the arguments, because wrong usage is an error before options are."""
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


@contextmanager
def errors_printed(context: click.Context) -> Iterator[None]:
    """Prints an error as an object with `results`, as other output has them; it is raised all the same."""
    try:
        yield
    except (KrmMergeError, click.ClickException) as error:
        if context.meta[JSON_ERRORS]:
            message = error.format_message() if isinstance(error, click.ClickException) else str(error)
            click.echo(json_text({"results": [Result("error", message).to_value()]}))
        raise


def show_error(error: KrmMergeError) -> int:
    """Prints an error on stderr, and returns the exit code."""
    label = click.style("error", fg="red", bold=True)
    click.echo(f"{label} {line(str(error))}", err=True, color=False if os.environ.get("NO_COLOR") else None)
    return REFUSED if isinstance(error, RefusedError) else FAILED


def print_json(value: object) -> None:
    """Prints a value for programs."""
    click.echo(json_text(value, indent=2))


_MOST_RECALLED: Final = 10

_COLORS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "info": "green"}
_LABEL: Final = len("warning ")
_MOST_SHOWN: Final[dict[Severity, int]] = {"error": 30, "warning": 100, "info": 30}
"""How many results are shown where something else has all of them; the gravest first.

Errors are few, unless they are the conflicts that stopped a merge: how to go on stays in sight behind some of them.
"""

COLORS: Final[dict[Style, str | None]] = {"heading": None, "removed": "red", "added": "green", "plain": None}
"""How lines of differences look where there is colour."""


TYPED: Final = "krm_merge.typed"
"""Where click's context has the arguments as they were typed."""

ALL_IN: Final = "--report FILE and --format json have all of them"
"""What commands say that print reports."""


STDIN: Final = Path("-")
STDOUT: Final = STDIN


def write_result(place: Path, file: File, before: File | None = None) -> None:
    """Writes a result to a file, which must hold what it held `before`, or to stdout. Raises PackageError."""
    if place == STDOUT:
        sys.stdout.buffer.write(file.data)
        sys.stdout.buffer.flush()
    else:
        write_file(place, file, before)


@contextmanager
def opened_journal(package: Path, *, only_looks: bool = False) -> Iterator[Journal]:
    """The journal of a package. Reports how an interrupted update was recovered. Raises KrmMergeError.

    For a command that `only_looks` it is not recovered, but an error (A10).
    """
    refuse_missing(package)
    with Journal.open(package, only_looks=only_looks) as journal:
        if journal.recovered != "nothing":
            why = f": {journal.because}" if journal.because else ""
            say(f"an interrupted update of {package} was {journal.recovered}{why}")
        yield journal


def package_to_look_at(package: Path) -> Directory:
    """The files of a package for a command that only looks. Raises KrmMergeError, after an interrupted update, too."""
    refuse_missing(package)
    try:
        Journal(package).refuse_interrupted()
    except OSError as error:
        raise PackageError(f"{error.filename or package}: {reason(error)}") from None
    return Directory(package)


@contextmanager
def opened_package(package: Path, *, only_looks: bool = False) -> Iterator[tuple[Journal, Directory]]:
    """The journal and the files of a package with a Kptfile. Raises KrmMergeError."""
    with opened_journal(package, only_looks=only_looks) as journal:
        local = Directory(package)
        if KPTFILE not in local:
            raise PackageError(f"{package} has no Kptfile; name the directory of a package")
        yield journal, local


def show_results(
    results: Results, *, quiet: bool, done: bool = False, all_in: str = "", files: Tree | None = None
) -> None:
    """The results on stderr, each on a line: errors, warnings, then the rest, each by file.

    `quiet` leaves out what has no conflict. An error, which refuses the whole merge, leaves it out too, unless the
    changes are `done` in spite of it. Where `all_in` says what has all results, long lists are cut with a count.
    A resource is named where the results, or the `files`, have several in its file.
    """
    resources = group_by_key((result.file, str(result.resource)) for result in results)

    @cache
    def several(file: str | None) -> bool:
        return len(set(resources[file])) > 1 or holds_several(files or {}, file or "")

    leaves_out = quiet or (bool(results.errors) and not done)
    for severity, most in _MOST_SHOWN.items():
        if severity == "info" and leaves_out:
            break
        groups = group_by_key((result.file, result) for result in results if result.severity == severity)
        by_file = [result for group in groups.values() for result in group]
        visible = by_file[:most] if all_in else by_file
        for result in visible:
            _show_line(severity, _format_place(result, several(result.file)))
        if left := by_file[len(visible) :]:
            where = quantity(len({result.file for result in left}), "file")
            _show_line(severity, f"and {len(left):,} more in {where}; {all_in}")


def _show_line(severity: Severity, text: str) -> None:
    label = f"{severity:{_LABEL}}"
    first, *more = fit(f"{label}{text}", width_of(sys.stderr), _LABEL).split("\n")
    styled = click.style(label, fg=_COLORS[severity], bold=severity != "info")
    click.echo("\n".join([f"{styled}{first[_LABEL:]}", *more]), err=True)


def say(message: str, *, on_stdout: bool = False) -> None:
    """Prints a message, by default on stderr: in one line, or in several that fit a terminal.

    Names and values in it come from packages: they do not write to the terminal what they like.
    """
    width = width_of(sys.stdout if on_stdout else sys.stderr)
    click.echo(fit(line(message), width, 2), err=not on_stdout)


def _format_place(result: Result, names_resource: bool) -> str:
    """The message behind its file; and behind its resource, where the file has several."""
    message, file = (line(text or "") for text in (result.message, result.file))
    resource = line(str(result.resource or ""))
    if names_resource and resource and resource not in message:
        message = f"{resource}: {message}"
    return message if not file or message.startswith(file) else f"{file}: {message}"


def show_recalled(records: Sequence[DecisionRecord], file: str = "") -> None:
    """Says on stderr which conflicts of a `file` or package were settled by choices that the repository remembers."""
    for record in records[:_MOST_RECALLED]:
        place = ": ".join(part for part in (file or record.file, str(record.resource or ""), record.path) if part)
        say(f"{place}: settled as chosen before in this repository: {record.chosen or 'recognise'}")
    if left := records[_MOST_RECALLED:]:
        say(f"and {len(left):,} more, settled as chosen before")
    if records:
        say("to be asked again, remove krm-merge/ in the repository's git directory")


def show_conflicts_left(places: int, binary: Sequence[str]) -> None:
    """Says on stderr how many conflicts are left in the files; nothing where there are none."""
    for path in binary:
        say(f"{path}: a binary file cannot hold markers; ours is kept, check that it is right")
    if places:
        noun = "1 conflict is" if places == 1 else f"{places} conflicts are"
        say(f"{noun} left in the files between markers; edit them, then remove the markers")


def show_stop(outcome: Outcome, resolve: Sequence[str] | None, option: str | None, nothing: str) -> None:
    """Says on stderr that a merge was refused, and how to go on; `nothing` says that no file was changed.

    `option` is what was said of conflicts on the command line.
    `resolve` are the arguments of that command, None where it could not ask about the same merge.
    """
    places = conflicts_in(outcome.decided, outcome.local, only_open=True)
    count = count_of(places)
    if option is not None or not places:
        say(f"refused; {nothing}")
        if places:
            say(where(places))
        if places and resolve is not None:
            say(f"settle {'it' if count == 1 else 'them'} with: {command_of('resolve', *resolve)}")
        return
    if count > _MOST_SHOWN["error"]:
        say(where(places))
    rest = ", the rest merges" if len(outcome.results.errors) == count else ""
    say(f"stopped at {quantity(count, 'conflict')}{rest}; {nothing}. Run one of:")
    typed = click.get_current_context().meta[TYPED]
    ways = [
        (command_of(*typed, "--on-conflict", "local"), "keeps yours; upstream takes upstream's values"),
        (command_of(*typed, "--on-conflict", "markers"), "leaves both in the file, to edit"),
    ]
    asks = [] if resolve is None else [(command_of("resolve", *resolve), "asks, on a page or with --terminal")]
    show_ways([*asks, *ways])


def show_ways(ways: Sequence[tuple[str, str]], *, on_stdout: bool = False) -> None:
    """Prints commands that can be copied, never cut: what each does is behind it, or above it on a narrow terminal."""
    longest = max(len(command) for command, _ in ways)
    width = width_of(sys.stdout if on_stdout else sys.stderr)
    in_line = width is None or all(longest + len(meaning) + len("    # ") <= width for _, meaning in ways)
    for command, meaning in ways:
        way = f"  {command:{longest}}  # {meaning}" if in_line else f"  # {meaning}:\n  {command}"
        click.echo(way, err=not on_stdout)


def command_of(*arguments: str) -> str:
    """A command of ours, as it is typed."""
    return line(join(["krm-merge", *arguments]))


def summary(local: Tree, changes: Changes, results: Results) -> str:
    """The numbers in one line."""
    files = Files.of(local, changes)
    parts = [f"{len(files.changed)} changed", f"{len(files.added)} added", f"{len(files.deleted)} deleted"]
    counts = f"files: {', '.join(parts)}" if changes else "no file changes"
    conflicts = sum(1 for result in results if result.severity != "info")
    noun = "warning" if conflicts == 1 else "warnings"
    return f"{counts}; {conflicts} {noun}" if conflicts else counts


def show_diff(local: Tree, changes: Changes) -> None:
    """Prints the difference on stdout, as `show_patch` does."""
    before = {path: local[path] for path in changes if path in local}
    after = {path: file for path, file in changes.items() if file is not None}
    show_patch(git_difference(before, after))


def show_patch(patch: bytes) -> None:
    """Prints what git says differs on stdout: as a patch, or escaped and in colour on a terminal."""
    sys.stdout.flush()
    if not sys.stdout.isatty():
        # A patch, which must hold what the files hold.
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
        return
    for text in patch.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        click.echo(_style(text))


def _style(text: str) -> str:
    """A line of a difference for a terminal, in git's colours: what the terminal would obey is escaped."""
    visible = terminal_line(text.removesuffix("\r"))
    if os.environ.get("NO_COLOR"):
        return visible
    if text.startswith(("diff ", "index ", "--- ", "+++ ")):
        return click.style(visible, bold=True)
    color = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1])
    return click.style(visible, fg=color) if color else visible


def shows_contexts(files: Iterable[Path]) -> bool:
    """Whether one of the reports shows the lines around conflicts."""
    return any(file.suffix == ".html" for file in files)


def write_reports(report: Callable[[], MergeReport], files: Iterable[Path]) -> None:
    """Writes the report in each form that a file is named for, and makes it only then. Raises PackageError."""
    for file in files:
        document = report()
        if file.suffix == ".html":
            used = {record.rule for record in document.records if record.status != "automatic"}
            rules = {number: text_of_rule(number) for number in used}
            document = replace(document, rules={number: text for number, text in rules.items() if text})
        write_file(file, File(render_document(document, file.suffix).encode()))


in_terminal = click.option("--terminal", "in_terminal", is_flag=True, help="Ask one by one, like git add -p.")
no_browser = click.option(
    "--no-browser", is_flag=True, help="Do not open a browser; print only the address of the page on stdout."
)


def settle(host: Host[Any], labels: SideLabels, *, in_terminal: bool, no_browser: bool) -> bool:
    """Lets somebody settle the conflicts of a session; whether it was saved. Raises KrmMergeError."""
    earlier = host.earlier_choices()
    if earlier:
        say(earlier)
    if not earlier and all(record.status == "automatic" for record in host.session.records):
        say("no conflicts to settle")
        host.save()
    elif in_terminal:
        _ask(host, labels)
    else:
        _serve(host, labels, no_browser)
    if not host.is_saved:
        left = len(host.session.open)
        still = f"{left} still open; " if left else ""
        reminder = "; your choices are kept: run the command again to continue" if host.session.steps else ""
        say(f"not saved: {still}nothing was changed{reminder}")
    return host.is_saved


def _ask(host: Host[Any], labels: SideLabels) -> None:
    from krm_merge.resolve import api, terminal

    screen = terminal.Screen(_say, _read_answer, _edit)
    answer: str | None = ""
    while not host.is_saved and terminal.Terminal(host, screen, labels).settle():
        try:
            host.save(with_earlier=answer == "y")
        except api.RenewedError as error:
            say(str(error))
        except api.UnconfirmedError as error:
            say(str(error))
            answer = _read_answer("Save what was chosen earlier [y,z,q]? y saves it, z undoes the latest choice: ")
            if answer is None:
                say("no answer on stdin; run the command again in a terminal, or without --terminal")
            if answer == "z":
                host.undo()
            elif answer != "y":
                return


def _say(text: str) -> None:
    shown = terminal_line(text)
    click.echo(fit(shown, width_of(sys.stdout), len(shown) - len(shown.lstrip()) + 2))


def _read_answer(prompt: str) -> str | None:
    click.echo(prompt, nl=False)
    line = sys.stdin.readline()
    answer = line.rstrip("\r\n")
    if not sys.stdin.isatty():
        click.echo(terminal_line(answer))
    return answer if line else None


def _edit(text: str) -> str | None:
    if not sys.stdin.isatty():
        # A program answers: the value is the next line.
        return _read_answer("Value: ")
    edited = click.edit(text, extension=".yaml", require_save=True)
    # An editor puts a line end at the end of a file, not of a value.
    return edited if edited is None or text.endswith("\n") else edited.removesuffix("\n")


def _serve(host: Host[Any], labels: SideLabels, no_browser: bool) -> None:
    from krm_merge.resolve import api
    from krm_merge.resolve import server as pages

    try:
        server = pages.Server(api.Api(host, labels, text_of_rule))
    except OSError as error:
        raise UnavailableError(f"127.0.0.1: {reason(error)}; use --terminal") from None
    if no_browser:
        click.echo(server.address)
        sys.stdout.flush()
        server.run()
        return
    # Hardly any command opens a page.
    import webbrowser
    from tempfile import TemporaryDirectory

    # The browser opens a file, so that the token is not in the list of processes.
    with TemporaryDirectory(prefix="krm-merge-") as folder:
        file = Path(folder, "open.html")
        file.touch(0o600)
        refresh = f'<meta http-equiv="refresh" content="0;url={server.address}">'
        file.write_text(f"<!doctype html>{refresh}<title>krm-merge</title>")
        if not webbrowser.open(file.as_uri()):
            say("no browser was found; open the address yourself, or use --terminal")
        say(f"settle the conflicts at {server.address}; Ctrl+C ends without saving")
        server.run()
