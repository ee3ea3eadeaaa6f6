"""Choices made in a session, step by step; they are kept on the disk, so that a killed session loses none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, Protocol, TypeVar

from krm_merge.errors import KrmMergeError
from krm_merge.krm import Identity, ResourceRef, parse_path
from krm_merge.merge import Choice, Resolution, Rule, without_positions
from krm_merge.packages import PackageError, reason
from krm_merge.policy import KIND, parse_policy, resolution_value, rule_value
from krm_merge.posix import StateFile
from krm_merge.report import DecisionRecord
from krm_merge.startup import group_by_key
from krm_merge.startup import replace as replaced
from krm_merge.text import Value

_HEAD: dict[str, Value] = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": KIND}

OF_SESSION: Final = -1
"""The number of a resolution that is not written anywhere yet."""


@dataclass(frozen=True, slots=True)
class ChoiceStep:
    """What was chosen at once, and can be undone at once."""

    choices: tuple[Resolution, ...] = ()
    rules: tuple[Rule, ...] = ()

    def to_value(self) -> Mapping[str, Value]:
        """The choices and rules as a MergePolicy has them."""
        return {
            "resolutions": [*map(resolution_value, self.choices)],
            "rules": [rule_value(rule) for rule in self.rules],
        }

    @classmethod
    def from_value(cls, policy_file: str, value: Mapping[str, Value]) -> ChoiceStep:
        """The step again; its choices are going to be written to `policy_file`. Raises PolicyError."""
        policy = parse_policy({**_HEAD, **value}, policy_file)
        choices = (replaced(choice, place=policy_file, number=OF_SESSION) for choice in policy.resolutions.all)
        return cls(tuple(choices), tuple(replaced(rule, place=policy_file) for rule in policy.rules))


@dataclass(frozen=True, slots=True)
class Choices:
    """All that holds after some steps: the latest choice on each conflict, and the rules, the latest first."""

    all: tuple[Resolution, ...]
    rules: tuple[Rule, ...]
    by_identity: Mapping[Identity | None, Sequence[Resolution]]

    @classmethod
    def after(cls, steps: Iterable[ChoiceStep]) -> Choices:
        """What the steps leave."""
        by_key: dict[object, Resolution] = {}
        rules: dict[tuple[object, ...], Rule] = {}
        for step in steps:
            for choice in step.choices:
                _replace(by_key, choice)
            for rule in step.rules:
                # A choice would come before the rule.
                by_key = {key: choice for key, choice in by_key.items() if not _is_about(choice, rule)}
                about = rule.group, rule.kind, rule.namespace, rule.name, rule.path, rule.on_delete is None
                rules[about] = rule
        by_identity = group_by_key((choice.identity, choice) for choice in by_key.values())
        return cls(tuple(by_key.values()), tuple(reversed(rules.values())), by_identity)

    def of(self, identities: Iterable[Identity]) -> Iterator[Resolution]:
        """The choices that may be for a resource with one of these names."""
        return (choice for identity in (None, *identities) for choice in self.by_identity.get(identity, ()))


def choice_for(
    record: DecisionRecord, choice: Choice, value: Value, resource: ResourceRef | None, place: str
) -> Resolution:
    """A choice on the conflict of a record; without a `resource` it is for every place with its fingerprint."""
    return Resolution(
        nature=record.nature,
        path=parse_path(record.path) if record.path else (),
        fingerprint=record.fingerprint,
        choice=choice,
        value=value,
        resource=resource,
        place=place,
        number=OF_SESSION,
    )


def rule_for(record: DecisionRecord, choice: Choice, place: str) -> Rule | None:
    """The rule that makes a choice hold at its place for good, as narrow as that; None where none can be."""
    if record.resource is None or choice not in ("upstream", "local"):
        return None
    path = parse_path(record.path) if record.path else ()
    if any(isinstance(step, int) for step in path):
        # Positions are others after the next change.
        return None
    identity = record.resource.identity
    return Rule(
        group=identity.group,
        kind=identity.kind,
        namespace=identity.namespace,
        name=identity.name,
        path=path or None,
        on_conflict=None if record.rule == "F5" else choice,
        on_delete=choice if record.rule == "F5" else None,
        place=place,
    )


def _replace(by_key: dict[object, Resolution], new: Resolution) -> None:
    """Puts a choice last; one that is for any resource replaces those for single ones."""
    by_key.pop(new.key, None)
    if new.resource is None:
        conflict = new.nature, new.fingerprint
        for key in [key for key, choice in by_key.items() if (choice.nature, choice.fingerprint) == conflict]:
            del by_key[key]
    by_key[new.key] = new


def _is_about(choice: Resolution, rule: Rule) -> bool:
    is_same = choice.identity is not None and rule.selects(choice.identity)
    return is_same and without_positions(choice.path) == without_positions(rule.path or ())


class JournalStep(Protocol):
    """What was chosen at once."""

    def to_value(self) -> Mapping[str, Value]:
        """As a plain value."""
        ...


Step = TypeVar("Step", bound=JournalStep)


@dataclass(slots=True)
class ChoiceJournal(Generic[Step]):
    """A file of choices: one line for each thing that was done.

    `parse` reads a step again, and raises KrmMergeError, ValueError, TypeError or LookupError. `steps` are those that
    hold when the file is read.
    """

    file: StateFile
    parse: Callable[[Mapping[str, Value]], Step]
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reads the file, if there is one. Raises KrmMergeError where it cannot be read."""
        try:
            lines = (self.file.read() or b"").split(b"\n")
        except OSError as error:
            raise PackageError(f"{self.file.path}: {reason(error)}") from None
        undone: list[Step] = []
        # What was being written when the program was killed has no end.
        for number, line in enumerate(lines[:-1], 1):
            try:
                self._do_again(json.loads(line), undone)
            except (ValueError, TypeError, LookupError, KrmMergeError) as error:
                why = f"choice {number} cannot be read ({error}); remove the file to start over"
                raise PackageError(f"{self.file.path}: {why}") from None

    def add(self, event: Step | Literal["undo", "redo"]) -> None:
        """Writes down what was done. Raises KrmMergeError."""
        line = json.dumps(event if isinstance(event, str) else event.to_value()) + "\n"
        try:
            self.file.append(line.encode())
        except OSError as error:
            raise PackageError(f"{self.file.path}: {reason(error)}; the choice is not kept") from None

    def remove(self) -> None:
        """Takes the file away: all of it is written where it belongs, or nothing holds."""
        with suppress(OSError):  # saved it is all the same
            self.file.remove()

    def _do_again(self, event: Value, undone: list[Step]) -> None:
        if event == "undo":
            undone.append(self.steps.pop())
        elif event == "redo":
            self.steps.append(undone.pop())
        elif isinstance(event, Mapping):
            self.steps.append(self.parse(event))
            undone.clear()
        else:
            raise ValueError("a choice, undo or redo is expected")
