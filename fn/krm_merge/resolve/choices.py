"""What was chosen in a session, step by step: choices on single conflicts, and rules for their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from krm_merge.krm.fieldpath import parse_path
from krm_merge.krm.identity import Identity
from krm_merge.krm.result import ResourceRef
from krm_merge.merge.decisions.policy import Rule
from krm_merge.merge.decisions.resolution import Choice, Resolution, without_positions
from krm_merge.policy import RecordedChoice
from krm_merge.policy.editing import Key
from krm_merge.report.record import DecisionRecord
from krm_merge.text.reading.values import Value

OF_SESSION: Final = -1
"""The number of a resolution that is not written anywhere yet."""


@dataclass(frozen=True, slots=True)
class ChoiceStep:
    """What was chosen at once, and can be undone at once."""

    made: tuple[RecordedChoice, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Choices:
    """All that holds after some steps: the latest choice on each conflict, and the rules, the latest first."""

    made: tuple[RecordedChoice, ...]
    rules: tuple[Rule, ...]

    @classmethod
    def after(cls, steps: Iterable[ChoiceStep]) -> Choices:
        """What the steps leave."""
        made: dict[Key, RecordedChoice] = {}
        rules: dict[tuple[object, ...], Rule] = {}
        for step in steps:
            for one in step.made:
                _replace(made, one)
            for rule in step.rules:
                # A choice would come before the rule.
                made = {key: one for key, one in made.items() if not _is_about(one, rule)}
                rules[_place_of(rule)] = rule
        return cls(tuple(made.values()), tuple(reversed(rules.values())))

    def of(self, identities: Iterable[Identity]) -> Iterator[RecordedChoice]:
        """The choices that may be for a resource with one of these names."""
        known = {None, *identities}
        return (one for one in self.made if one.resolution.identity in known)


def made(record: DecisionRecord, choice: Choice, value: Value, *, anywhere: bool, place: str) -> RecordedChoice:
    """A choice on the conflict of a record; `anywhere` is for every place with its fingerprint."""
    resource = None if anywhere else record.resource
    resolution = Resolution(
        nature=record.nature,
        path=parse_path(record.path) if record.path else (),
        fingerprint=record.fingerprint,
        choice=choice,
        value=value,
        identity=None if resource is None else identity_of(resource),
        place=place,
        number=OF_SESSION,
    )
    return RecordedChoice(resolution, resource)


def rule_for(record: DecisionRecord, choice: Choice, place: str) -> Rule | None:
    """The rule that makes a choice hold at its place for good, as narrow as that; None where none can be."""
    if record.resource is None or choice not in ("upstream", "local"):
        return None
    path = parse_path(record.path) if record.path else ()
    if any(isinstance(step, int) for step in path):
        # Positions are others after the next change.
        return None
    identity = identity_of(record.resource)
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


def identity_of(resource: ResourceRef) -> Identity:
    """A resource as rules name it."""
    group = resource.api_version.rpartition("/")[0]
    return Identity(group, resource.kind, resource.namespace, resource.name)


def _replace(known: dict[Key, RecordedChoice], new: RecordedChoice) -> None:
    """Puts a choice last; one that is for any resource replaces those for single ones."""
    identity, _, nature, fingerprint = new.key
    known.pop(new.key, None)
    if identity is None:
        for key in [key for key in known if key[2:] == (nature, fingerprint)]:
            del known[key]
    known[new.key] = new


def _is_about(one: RecordedChoice, rule: Rule) -> bool:
    chosen = one.resolution
    identity = Identity(str(rule.group), str(rule.kind), str(rule.namespace), str(rule.name))
    return chosen.identity == identity and without_positions(chosen.path) == without_positions(rule.path or ())


def _place_of(rule: Rule) -> tuple[object, ...]:
    return rule.group, rule.kind, rule.namespace, rule.name, rule.path, rule.on_delete is None
