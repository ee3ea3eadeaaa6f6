"""Asks for one conflict after the other, as `git add -p` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from krm_merge.merge import Choice
from krm_merge.report import DecisionRecord, SideName, yaml_text
from krm_merge.resolve.api import Host
from krm_merge.resolve.interface import RefusedChoiceError, SideLabels, choice_words, what_happened

KEYS: Final[dict[str, Choice]] = {
    "u": "upstream",
    "l": "local",
    "o": "original",
    "b": "upstream-then-local",
    "B": "local-then-upstream",
    "e": "value",
    "r": "recognise",
}
_SIDES: Final[tuple[SideName, ...]] = ("original", "upstream", "local")
_MOST_LINES = 30

_HELP: Final = (
    ("a", "with the choice behind it: for all conflicts like this one, e.g. al"),
    ("!", "with the choice behind it: always, by a rule for this place, e.g. !l"),
    ("s", "skip: leave it open for now"),
    ("z", "undo the latest choice"),
    ("q", "quit; nothing is written, choices are kept"),
    ("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class Screen:
    """How the terminal is spoken to: `read` gives an answer to a prompt, None at the end of all answers.

    `edit` lets somebody change a text, and gives None where that was given up.
    """

    say: Callable[[str], None]
    read: Callable[[str], str | None]
    edit: Callable[[str], str | None]


class Terminal:
    """The conversation about one session."""

    def __init__(self, host: Host[Any], screen: Screen, labels: SideLabels) -> None:
        """Asks about the session of this host."""
        self._host = host
        self._screen = screen
        self._labels = labels
        self._skipped: set[str] = set()

    def settle(self) -> bool:
        """Asks until nothing is open that was not skipped; whether all of it is settled."""
        while (record := self._next()) is not None:
            for line in self._lines(record):
                self._screen.say(line)
            answer = ""
            while not answer:
                reply = self._screen.read(self._prompt(record))
                if reply is None or reply.strip() == "q":
                    return False
                answer = "" if self._is_refused(record, reply.strip()) else reply
        return not self._host.session.open

    def _next(self) -> DecisionRecord | None:
        return next((record for record in self._host.session.open if record.id not in self._skipped), None)

    def _is_refused(self, record: DecisionRecord, answer: str) -> bool:
        """Does what was answered; whether it has to be asked again."""
        try:
            if answer == "s":
                self._skipped.add(record.id)
            elif answer == "z":
                self._host.undo()
            else:
                return self._is_unknown(record, answer)
        except RefusedChoiceError as error:
            self._screen.say(str(error))
            return True
        return False

    def _is_unknown(self, record: DecisionRecord, answer: str) -> bool:
        key, _, rest = answer.partition(" ")
        for_all, always = "a" in key, "!" in key
        choice = KEYS.get(key.replace("a", "").replace("!", ""))
        if choice not in record.choices:
            for line in self._help(record):
                self._screen.say(line)
            return True
        value = []
        if choice == "value":
            text = rest or self._screen.edit(_value(record, "local") or _value(record, "upstream") or "")
            if text is None:
                return True
            value = [text]
        identifiers = self._host.session.alike(record.id) if for_all else [record.id]
        self._host.choose(identifiers, choice, *value, always=always)
        return False

    # ---- what is said ------------------------------------------------------------------------------------------

    def _lines(self, record: DecisionRecord) -> Iterator[str]:
        left = len(self._host.session.open)
        alike = len(self._host.session.alike(record.id))
        where = " ".join([record.file, *([str(record.resource)] if record.resource else [])])
        yield ""
        yield f"{where}  ({left} open{f', {alike} like this' if alike > 1 else ''})"
        yield f"{record.path or record.file}: {what_happened(record, self._labels)} ({record.rule})"
        width = max(len(getattr(self._labels, side)) for side in _SIDES)
        for side in _SIDES:
            label = getattr(self._labels, side).lower()
            value_lines = (_value(record, side) or _absent(record, side)).split("\n")
            more = [f"... {len(value_lines) - _MOST_LINES} more lines"] if len(value_lines) > _MOST_LINES else []
            for number, line in enumerate([*value_lines[:_MOST_LINES], *more]):
                yield f"  {'' if number else label:{width}}  {line}".rstrip()

    def _prompt(self, record: DecisionRecord) -> str:
        keys = [key for key, choice in KEYS.items() if choice in record.choices]
        return f"Settle this [{','.join([*keys, 'a', '!', 's', 'z', 'q', '?'])}]? "

    def _help(self, record: DecisionRecord) -> Iterator[str]:
        for key, choice in KEYS.items():
            if choice in record.choices:
                name = choice_words(record, choice, self._labels)
                yield f"{key} - {name}{', or e VALUE' if choice == 'value' else ''}"
        for key, meaning in _HELP:
            yield f"{key} - {meaning}"


def _value(record: DecisionRecord, side: SideName) -> str | None:
    return yaml_text(record.values[side]) if side in record.values else None


def _absent(record: DecisionRecord, side: SideName) -> str:
    if record.alike is None:
        return "(nothing)"
    letter = record.alike.get(side)
    return "(nothing)" if letter is None else f"(hidden value {letter})"
