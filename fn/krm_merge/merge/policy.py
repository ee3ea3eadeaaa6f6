"""Who wins a conflict: the user's `onConflict` and `rules`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath, covers
from krm_merge.merge.decision import Severity
from krm_merge.startup import frozen

OnConflict: TypeAlias = Literal["upstream", "local", "fail"]
OnDelete: TypeAlias = Literal["upstream", "local"]


@frozen
class Rule:
    """Narrows the policy to part of the package. Fields that are None match everything."""

    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    path: FieldPath | None = None
    on_conflict: OnConflict | None = None
    on_delete: OnDelete | None = None

    def selects(self, subject: Subject) -> bool:
        """Whether the rule speaks of this resource."""
        return all(
            wanted is None or wanted == got
            for wanted, got in (
                (self.group, subject.group),
                (self.kind, subject.kind),
                (self.namespace, subject.namespace),
                (self.name, subject.name),
            )
        )


@frozen
class Subject:
    """A resource as rules name it."""

    group: str
    kind: str
    namespace: str
    name: str


@frozen
class Policy:
    """The policy of one resource: the rules that select it, the first match of a path wins.

    `marks` leaves what no rule decides to people, between conflict markers.
    """

    on_conflict: OnConflict = "upstream"
    rules: tuple[Rule, ...] = ()
    marks: bool = False

    def of(self, *subjects: Subject) -> Policy:
        """The policy with only the rules of this resource, by any of the names that it has on the three sides."""
        rules = tuple(rule for rule in self.rules if any(rule.selects(subject) for subject in subjects))
        return Policy(self.on_conflict, rules, self.marks)

    def conflict(self, path: FieldPath) -> OnConflict:
        """Who wins a conflict here."""
        return self._by_rule(path) or self.on_conflict

    def _by_rule(self, path: FieldPath) -> OnConflict | None:
        for rule in self.rules:
            if rule.on_conflict is not None and (rule.path is None or covers(rule.path, path)):
                return rule.on_conflict
        return None

    def severity(self, path: FieldPath) -> Severity:
        """How a conflict here is reported."""
        return "error" if self.conflict(path) == "fail" else "warning"

    def story(self, path: FieldPath, what: str, kept: str, *, has_place: bool = True) -> str:
        """A conflict in words: what happened, and what is kept unless the policy refuses it.

        `has_place` says whether markers can show both sides.
        """
        if self.conflict(path) == "fail":
            return f"{what}; refused by onConflict: fail"
        if self.marks and has_place and self._by_rule(path) is None:
            return f"{what}; both are between conflict markers"
        return f"{what}; {kept}"

    def delete(self, path: FieldPath) -> OnDelete:
        """Whose deletion or change stands where one side deleted what the other changed (F5)."""
        for rule in self.rules:
            if rule.on_delete is not None and (rule.path is None or covers(rule.path, path)):
                return rule.on_delete
        return "local"
