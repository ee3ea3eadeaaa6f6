"""Judges many triples on all processors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context

from benchmarks.merges.entrants import ENTRANTS, Command, Entrant
from benchmarks.merges.kpt import update_package
from benchmarks.merges.triples import Triple
from benchmarks.merges.verdicts import Judged, judge

KPT = "kpt pkg update"
TOGETHER = 8


def choose(names: Iterable[str]) -> dict[str, Entrant]:
    """The programs of these names; `NAME=COMMAND` is a program of the user's. Raises RuntimeError for other names."""
    programs = {**ENTRANTS, KPT: update_package}
    entrants: dict[str, Entrant] = {}
    for name in names:
        label, is_command, command = name.partition("=")
        if not is_command and label not in programs:
            raise RuntimeError(
                f"no program is called {label!r}; expected one of {', '.join(programs)}, or NAME=COMMAND"
            )
        entrants[label] = Command(command) if is_command else programs[label]
    return entrants


@dataclass(frozen=True, slots=True)
class _Judge:
    entrants: dict[str, Entrant]

    def __call__(self, triple: Triple) -> Judged:
        return judge(triple, self.entrants)


def judge_all(triples: Iterable[Triple], entrants: dict[str, Entrant]) -> Iterator[Judged]:
    """The verdicts, in the order of the triples."""
    with get_context("spawn").Pool() as pool:
        yield from pool.imap(_Judge(entrants), triples, chunksize=TOGETHER)
