"""Asks for one conflict after the other, as `git add -p` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from krm_merge.merge import Choice
from krm_merge.report import VERSIONS, DecisionRecord, SideName, changed_values, flow_text, shorten, yaml_text
from krm_merge.resolve.api import Host
from krm_merge.resolve.interface import (
    ConflictScope,
    RefusedChoiceError,
    SideLabels,
    bundle_words,
    bundles_of,
    change_words,
    choice_words,
    choice_words_for_all,
    thing_of,
    what_happened,
)
from krm_merge.safe_text import abridge, quantity

KEYS: Final[dict[str, Choice]] = {
    "h": "higher",
    "u": "upstream",
    "l": "local",
    "o": "original",
    "b": "upstream-then-local",
    "B": "local-then-upstream",
    "e": "value",
    "r": "recognise",
}
_ACTIONS: Final[dict[Choice, str]] = {
    "higher": "taking the higher version",
    "upstream": "taking upstream",
    "local": "taking local",
    "original": "taking the original",
    "upstream-then-local": "taking both",
    "local-then-upstream": "taking both",
    "value": "editing",
    "recognise": "recognising functions",
}
_ASKS_FOR_HELP = ("", "?")
_MOST_LINES = 30
_MOST_ROWS = 10
_MOST_PACKAGES = 3
NO_VALUE_DIFFERS: Final = "(the same values)"
_MANY = 10
"""Open conflicts from which on the prompt names the keys that settle several of them."""
_LONGEST_VALUE = 40

_HELP: Final = (
    ("a", "followed by a choice: for all conflicts like this one, e.g. al"),
    ("!", "followed by a choice: always, as a rule for this place, e.g. !l"),
    ("g", "group: conflicts to settle together with this one; g2 selects the second group"),
    ("/", "followed by words: find conflicts, e.g. /image or /kind:Deployment folder:apps"),
    ("s", "skip: leave it open for now"),
    ("z", "undo the latest choice"),
    ("q", "quit; nothing is written, choices are kept"),
    ("?", "this help"),
)

_HELP_OF_GROUP: Final = (
    ("1", "one by one: ask for each of them"),
    ("s", "skip: leave them open for now, or leave the group"),
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


class _NoAnswersError(Exception):
    """Somebody quits, or there are no more answers."""


class Terminal:
    """The conversation about one session."""

    def __init__(self, host: Host[Any], screen: Screen, labels: SideLabels) -> None:
        """Asks about the session of this host."""
        self._host = host
        self._screen = screen
        self._labels = labels
        self._skipped: set[str] = set()
        self._singles: set[str] = set()
        self._first: list[str] = []

    def settle(self) -> bool:
        """Asks until nothing is open that was not skipped; whether it can be saved."""
        try:
            while (record := self._next()) is not None:
                if bundle := self._bundle_of(record):
                    self._ask_about_all(bundle_words(bundle, self._labels), bundle)
                else:
                    self._ask(self._lines(record), self._prompt(record), partial(self._is_refused, record))
        except _NoAnswersError:
            return False
        return self._host.session.can_save

    def _next(self) -> DecisionRecord | None:
        records = [record for record in self._host.session.open if record.id not in self._skipped]
        of_group = [record for record in records if record.id in self._first]
        return next(iter(of_group or records), None)

    def _bundle_of(self, record: DecisionRecord) -> list[DecisionRecord]:
        """The deletions like this one, where they are asked about at once."""
        records = [record for record in self._host.session.open if record.id not in {*self._skipped, *self._singles}]
        bundles = ([*bundle] for bundle in bundles_of(records))
        return next((bundle for bundle in bundles if record in bundle), [])

    def _ask(self, lines: Iterable[str], prompt: str, is_refused: Callable[[str], bool]) -> None:
        """Asks until an answer means something. Raises _NoAnswersError."""
        for line in lines:
            self._screen.say(line)
        while True:
            reply = self._screen.read(prompt)
            if reply is None or reply.strip() == "q":
                raise _NoAnswersError
            try:
                if not is_refused(reply.strip()):
                    return
            except RefusedChoiceError as error:
                self._screen.say(str(error))

    def _ask_about_all(self, title: str, records: Sequence[DecisionRecord]) -> None:
        """Asks about several conflicts at once, and shows them first."""
        names = choice_words_for_all(records, self._labels)
        keys = {key: choice for key, choice in KEYS.items() if choice in names}
        prompt = f"Settle all {len(records):,} [{','.join([*keys, '1', 's', 'z', 'q', '?'])}]? "
        rows = [f"  {self._row(record)}" for record in records[:_MOST_ROWS]]
        more = [f"  ... {len(records) - _MOST_ROWS:,} more"] if len(records) > _MOST_ROWS else []
        lines = ["", f"{title}  ({len(self._host.session.open):,} open)", *rows, *more]
        self._ask(lines, prompt, partial(self._is_refused_for_all, records, keys))

    def _is_refused_for_all(self, records: Sequence[DecisionRecord], keys: Mapping[str, Choice], answer: str) -> bool:
        identifiers = [record.id for record in records]
        if answer in keys:
            self._host.choose(identifiers, keys[answer])
        elif answer == "1":
            self._singles.update(identifiers)
            self._first = identifiers
        elif answer == "s":
            bundle = self._bundle_of(records[0])
            self._skipped.update(identifiers if [record.id for record in bundle] == identifiers else ())
        elif answer == "z":
            self._host.undo()
        elif answer not in _ASKS_FOR_HELP:
            self._screen.say(f"{answer!r} is not possible for all {len(records):,}; ? lists what is")
            return True
        else:
            names = choice_words_for_all(records, self._labels)
            help_lines = [(key, names[choice].format(n=f"{len(records):,}")) for key, choice in keys.items()]
            for key, meaning in (*help_lines, *_HELP_OF_GROUP):
                self._screen.say(f"{key} - {meaning}")
            return True
        return False

    def _is_refused(self, record: DecisionRecord, answer: str) -> bool:
        """Does what was answered; whether it has to be asked again. Raises RefusedChoiceError and _NoAnswersError."""
        if answer == "s":
            self._skipped.add(record.id)
        elif answer == "z":
            self._host.undo()
        elif answer.startswith("/"):
            return self._find(answer[1:])
        elif answer[:1] == "g":
            return self._group(record, answer[1:].strip())
        else:
            return self._is_unknown(record, answer)
        return False

    def _find(self, query: str) -> bool:
        records = [record for record in self._host.session.find(query) if record.status == "open"]
        if not records:
            self._screen.say(f"no open conflict matches {query!r}")
            return True
        self._ask_about_all(f"{len(records):,} match {query!r}", records)
        return False

    def _group(self, record: DecisionRecord, number: str) -> bool:
        """Lists the groups of a conflict, or asks about one of them."""
        scopes: Sequence[ConflictScope] = self._host.session.scopes(record.id)
        if number.isdecimal() and 0 < int(number) <= len(scopes):
            scope = scopes[int(number) - 1]
            records = [self._host.session.record(identifier) for identifier in scope.ids]
            self._ask_about_all(f"{len(records):,} {scope.name}", records)
            return False
        for at, scope in enumerate(scopes, 1):
            self._screen.say(f"g{at} - {len(scope.ids):,} {scope.name}")
        if not scopes:
            self._screen.say("no other open conflict has anything in common with this one")
        return True

    def _is_unknown(self, record: DecisionRecord, answer: str) -> bool:
        key, _, rest = answer.partition(" ")
        for_all, always = "a" in key, "!" in key
        choice = KEYS.get(key.replace("a", "").replace("!", ""))
        if choice not in record.choices:
            for line in self._refusal(record, answer, choice):
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
        # Of a campaign, the file of a record is its kind.
        where = " ".join(dict.fromkeys([record.file, *([str(record.resource)] if record.resource else [])]))
        yield ""
        yield f"{where}  ({left} open{f', {alike} like this' if alike > 1 else ''})"
        yield f"{record.path or record.file}: {what_happened(record, self._labels)} ({record.rule})"
        width = max(len(getattr(self._labels, side)) for side in VERSIONS)
        changes = changed_values(record)
        for side in VERSIONS[1:] if changes else VERSIONS:
            label = getattr(self._labels, side).lower()
            value_lines = (_value(record, side) or _absent(record, side)).split("\n")
            if side in changes:
                value_lines = [f"{mark} {''.join(piece for piece, _ in line)}" for mark, line in changes[side]]
                value_lines = value_lines or [NO_VALUE_DIFFERS]
            more = [f"... {len(value_lines) - _MOST_LINES} more lines"] if len(value_lines) > _MOST_LINES else []
            for number, line in enumerate([*value_lines[:_MOST_LINES], *more]):
                yield f"  {'' if number else label:{width}}  {line}".rstrip()
        if packages := self._host.session.packages(record.id):
            yield f"  {quantity(len(packages), 'package')}: {abridge(packages, _MOST_PACKAGES)}"
        if (commit := self._host.session.local_commit(record.id)) is not None:
            yield f"  {change_words(commit, self._labels)}"

    def _row(self, record: DecisionRecord) -> str:
        """A conflict of several, on a line."""
        place = " ".join(part for part in (record.file, str(record.resource or ""), record.path) if part)
        if record.nature in ("resource", "file"):
            return place
        values = [
            f"{getattr(self._labels, side).lower()} {shorten(flow_text(record.values[side]), _LONGEST_VALUE)}"
            for side in ("local", "upstream")
            if side in record.values
        ]
        return f"{place}: {', '.join(values)}" if values else place

    def _prompt(self, record: DecisionRecord) -> str:
        keys = [key for key, choice in KEYS.items() if choice in record.choices]
        groups = ["g", "/"] if len(self._host.session.open) >= _MANY else []
        return f"Settle this [{','.join([*keys, 'a', '!', *groups, 's', 'z', 'q', '?'])}]? "

    def _refusal(self, record: DecisionRecord, answer: str, choice: Choice | None) -> Iterator[str]:
        """Why an answer chooses nothing, and what would; all of it where that was asked for."""
        if answer in _ASKS_FOR_HELP:
            yield from self._help(record)
            return
        possible = [
            f"{key} ({choice_words(record, KEYS[key], self._labels)})" for key in KEYS if KEYS[key] in record.choices
        ]
        if choice is not None:
            why = f"{_ACTIONS[choice]} is not possible for this {thing_of(record)}"
        elif set(answer) <= {"a", "!"}:
            why = f"{answer!r} needs a choice after it"
        else:
            why = f"{answer!r} is not an answer"
        yield f"{why}; choices are {', '.join(possible)}; ? lists all answers"

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
