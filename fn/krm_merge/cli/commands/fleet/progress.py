"""How far a run is: a bar on a terminal, a line every ten seconds elsewhere, or a stream of events."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

import click

from krm_merge.cli.show import say
from krm_merge.fleet.merging.job import NEED_ATTENTION, STATES, TargetState
from krm_merge.fleet.running.run import RunEvent

_SECONDS_BETWEEN_LINES = 10.0


class Shown(Protocol):
    """Shows the progress after an event."""

    def __call__(self, event: RunEvent, progress: Progress) -> None:
        """Called for every event."""
        ...


class Progress:
    """Shows the progress of a run."""

    def __init__(self, shown: Shown) -> None:
        """Every event is shown."""
        self.total = self.done = self.merged = self.looked_at = 0
        self.names: list[str] = []
        self._states: Counter[TargetState] = Counter()
        self._shown = shown
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return monotonic() - self._started

    @property
    def needs_attention(self) -> bool:
        """Whether any target does that was merged."""
        return any(self._states[state] for state in NEED_ATTENTION)

    def counts(self) -> Iterable[tuple[TargetState, int]]:
        """How many targets ended in which state."""
        return [(state, self._states[state]) for state in STATES if self._states[state]]

    def count(self, state: TargetState) -> int:
        """How many targets ended in a state."""
        return self._states[state]

    def show(self, event: RunEvent, total: int) -> None:
        """Counts an event, and shows it."""
        self.total, self.done = total, self.done + 1
        self.names.append(event.target)
        if event.outcome is None:
            self.looked_at += 1
        else:
            self.merged += event.outcome.state not in NEED_ATTENTION
            self._states[event.outcome.state] += 1
        self._shown(event, self)


@contextmanager
def progress_on(form: str) -> Iterator[Progress]:
    """The progress of a run in the form that was asked for."""
    if form == "jsonl":
        progress = Progress(_as_json)
        yield progress
        click.echo(json.dumps({"event": "end", "seconds": round(progress.seconds, 3), **_numbers(progress)}))
    elif sys.stderr.isatty():
        with _bar() as shown:
            yield Progress(shown)
    else:
        yield Progress(_Lines())


def _as_json(event: RunEvent, progress: Progress) -> None:
    value: dict[str, Any] = {"event": "target", "target": event.target}
    if event.outcome is None:
        value["looked"] = True
    else:
        outcome = event.outcome
        value |= {"state": outcome.state, "files": outcome.files, "conflicts": len(outcome.conflicts)}
        value |= {"seconds": round(outcome.seconds, 3)}
        value |= {"message": outcome.message} if outcome.message else {}
        value |= {"class": outcome.failure} if outcome.failure else {}
    click.echo(json.dumps(value | {"done": progress.done, "total": progress.total}))


def _numbers(progress: Progress) -> dict[str, Any]:
    return {"total": progress.total, "looked": progress.looked_at, **dict(progress.counts())}


class _Lines:
    """A line every ten seconds."""

    def __init__(self) -> None:
        self._next = monotonic() + _SECONDS_BETWEEN_LINES

    def __call__(self, event: RunEvent, progress: Progress) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + _SECONDS_BETWEEN_LINES
            say(_line(progress))


def _line(progress: Progress) -> str:
    rate = progress.done / progress.seconds if progress.seconds else 0.0
    left = f", {(progress.total - progress.done) / rate:.0f} s left" if rate else ""
    counts = ", ".join(f"{progress.count(state):,} {state}" for state in ("clean", "conflicts", "failed"))
    return f"{progress.done:,} of {progress.total:,}: {counts}; {rate:.0f} a second{left}"


@contextmanager
def _bar() -> Iterator[Shown]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def shown(event: RunEvent, progress: Progress) -> None:
            bar.update(
                task, total=progress.total, completed=progress.done, description=_line(progress).partition(": ")[2]
            )

        yield shown
