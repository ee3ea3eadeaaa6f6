"""How conflicts are settled by somebody: on a page that is opened in the browser, or in the terminal."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from krm_merge.cli.output import say
from krm_merge.harmless import terminal_line
from krm_merge.packages.files.tree import UnavailableError, reason
from krm_merge.resolve.web.api import Host
from krm_merge.resolve.words import SideLabels

in_terminal = click.option("--terminal", "in_terminal", is_flag=True, help="Ask one by one, as git add -p does.")
no_browser = click.option(
    "--no-browser", is_flag=True, help="Open no browser; print the address of the page, alone, on stdout."
)


def settle(host: Host[Any], labels: SideLabels, *, in_terminal: bool, no_browser: bool) -> bool:
    """Lets somebody settle the conflicts of a session; whether it was saved. Raises KrmMergeError."""
    if all(record.status == "automatic" for record in host.session.records):
        say("no conflicts to settle")
        host.save()
    elif in_terminal:
        _ask(host, labels)
    else:
        _serve(host, labels, no_browser)
    if not host.is_saved:
        left = len(host.session.open)
        still = f"{left} still open; " if left else ""
        reminder = "; what was chosen is kept: run the command again to go on" if host.session.steps else ""
        say(f"not saved: {still}nothing was changed{reminder}")
    return host.is_saved


def _ask(host: Host[Any], labels: SideLabels) -> None:
    from krm_merge.resolve.terminal import Screen, Terminal

    if Terminal(host, Screen(_say, _read, _edit), labels).settle():
        host.save()


def _say(text: str) -> None:
    click.echo(terminal_line(text))


def _read(prompt: str) -> str | None:
    click.echo(prompt, nl=False)
    line = sys.stdin.readline()
    answer = line.rstrip("\r\n")
    if not sys.stdin.isatty():
        click.echo(terminal_line(answer))
    return answer if line else None


def _edit(text: str) -> str | None:
    if not sys.stdin.isatty():
        # A program answers: the value is the next line.
        return _read("Value: ")
    edited = click.edit(text, extension=".yaml", require_save=True)
    # An editor puts a line end at the end of a file, not of a value.
    return edited if edited is None or text.endswith("\n") else edited.removesuffix("\n")


def _serve(host: Host[Any], labels: SideLabels, no_browser: bool) -> None:
    from krm_merge.resolve.web.api import Api
    from krm_merge.resolve.web.server import Server

    try:
        server = Server(Api(host, labels))
    except OSError as error:
        raise UnavailableError(f"127.0.0.1: {reason(error)}; use --terminal") from None
    with _show_page(server.address, no_browser):
        server.run()


@contextmanager
def _show_page(address: str, no_browser: bool) -> Iterator[None]:
    """Meanwhile the page can be opened: by the browser, without the token in the list of processes."""
    if no_browser:
        click.echo(address)
        sys.stdout.flush()
        yield
        return
    with TemporaryDirectory(prefix="krm-merge-") as folder:
        file = Path(folder, "open.html")
        file.touch(0o600)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>krm-merge</title>')
        if not webbrowser.open(file.as_uri()):
            say("no browser was found; open the address yourself, or use --terminal")
        say(f"settle the conflicts at {address}; Ctrl+C ends without saving")
        yield
