"""Decides which side wins a conflict: the user's `onConflict` and `rules`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath, covers
from krm_merge.krm.identity import Identity
from krm_merge.krm.result import Severity
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolution, Resolutions
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import frozen

OnConflict: TypeAlias = Literal["upstream", "local", "fail"]
OnDelete: TypeAlias = Literal["upstream", "local"]


@frozen
class Rule:
    """Narrows the policy to part of the package. Fields that are None match everything.

    `place` says where the rule is written.
    """

    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    path: FieldPath | None = None
    on_conflict: OnConflict | None = None
    on_delete: OnDelete | None = None
    place: str = ""

    def __eq__(self, other: object) -> bool:
        """Whether they say the same, wherever they are written."""
        return isinstance(other, Rule) and self._fields() == other._fields()

    def __hash__(self) -> int:
        """By what it says."""
        return hash(self._fields())

    def _fields(self) -> tuple[object, ...]:
        return self.group, self.kind, self.namespace, self.name, self.path, self.on_conflict, self.on_delete

    def selects(self, identity: Identity) -> bool:
        """Whether the rule speaks of this resource."""
        return identity.fits(self.group, self.kind, self.namespace, self.name)


@frozen
class Policy:
    """The policy of one resource: the rules that select it, the first match of a path wins.

    `resolutions` are choices on single conflicts, and come first; `identities` are the names of the resource. `marks`
    leaves what nothing decides to people, between conflict markers. `stops` says that nobody chose `on_conflict`: it is
    `fail`, so that nothing is decided without being asked for. `redactions` say what reports hide (M6). `keeps_nulls`
    says that a field which is null in local stays null (K6).
    """

    on_conflict: OnConflict = "upstream"
    rules: tuple[Rule, ...] = ()
    marks: bool = False
    resolutions: Resolutions = NO_RESOLUTIONS
    identities: tuple[Identity, ...] = ()
    stops: bool = False
    redactions: tuple[Redaction, ...] = ()
    keeps_nulls: bool = False

    def of(self, *identities: Identity) -> Policy:
        """The policy with only the rules of this resource, by any of the names that it has on the three sides."""
        names = dict.fromkeys(identities)
        rules = tuple(rule for rule in self.rules if any(map(rule.selects, names)))
        named = identities if self.resolutions.all else ()
        fixed = (self.stops, self.redactions, self.keeps_nulls)
        return Policy(self.on_conflict, rules, self.marks, self.resolutions, named, *fixed)

    @property
    def kind(self) -> str:
        """The kind of the resource."""
        return self.identities[-1].kind if self.identities else ""

    def resolutions_at(self, path: FieldPath) -> list[Resolution]:
        """The choices that may be for a conflict here."""
        return self.resolutions.at(self.identities, path)

    def conflict(self, path: FieldPath) -> OnConflict:
        """Which side wins a conflict here."""
        rule = self.rule_on_conflict(path)
        return self.on_conflict if rule is None or rule.on_conflict is None else rule.on_conflict

    def rule_on_conflict(self, path: FieldPath) -> Rule | None:
        """The rule that says who wins a conflict here."""
        for rule in self.rules:
            if rule.on_conflict is not None and (rule.path is None or covers(rule.path, path)):
                return rule
        return None

    def severity(self, path: FieldPath, *, of_existence: bool = False) -> Severity:
        """How a conflict here is reported; `of_existence` is one that a rule with `onDelete` settles (F5)."""
        return "error" if self._refuses(path, of_existence) else "warning"

    def leaves_marks(self, path: FieldPath) -> bool:
        """Whether a conflict here is left to people, between conflict markers."""
        return self.marks and self.rule_on_conflict(path) is None

    def _refuses(self, path: FieldPath, of_existence: bool) -> bool:
        for rule in self.rules:
            if rule.path is not None and not covers(rule.path, path):
                continue
            if of_existence and rule.on_delete is not None:
                return False
            if rule.on_conflict is not None:
                return rule.on_conflict == "fail"
        return self.on_conflict == "fail"

    def explanation(
        self, path: FieldPath, what: str, outcome: str, *, has_place: bool = True, of_existence: bool = False
    ) -> str:
        """A conflict in words: what happened, and what is kept unless the policy refuses it.

        `has_place` says whether markers can show both sides, `of_existence` is as for `severity`.
        """
        ruled = self.rule_on_conflict(path) is not None
        if self._refuses(path, of_existence):
            return what if self.stops and not ruled else f"{what}; refused by onConflict: fail"
        if has_place and self.leaves_marks(path):
            return f"{what}; both are between conflict markers"
        return f"{what}; {outcome}"

    def delete(self, path: FieldPath) -> OnDelete:
        """Which side wins where one side deleted what the other changed (F5)."""
        rule = self.rule_on_delete(path)
        return "local" if rule is None or rule.on_delete is None else rule.on_delete

    def rule_on_delete(self, path: FieldPath) -> Rule | None:
        """The rule that says whose decision is kept where one side deleted what the other changed."""
        for rule in self.rules:
            if rule.on_delete is not None and (rule.path is None or covers(rule.path, path)):
                return rule
        return None
