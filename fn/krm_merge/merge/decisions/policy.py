"""The kinds of places, and which side wins a conflict: by choices (M2), the user's `onConflict` and `rules`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Final, Literal, TypeAlias

from krm_merge.krm import FieldPath, Identity, ResourceRef, Severity, Step, covers
from krm_merge.startup import frozen
from krm_merge.text import Node, Value, to_value

Nature: TypeAlias = Literal[
    "value",
    "kind",
    "text",
    "order",
    "sequence",
    "element",
    "resource",
    "alternative",
    "functions",
    "file",
    "reference",
    "added-twice",
    "comment",
]

_BY_RULE: Final[dict[str, Nature]] = {
    "V5": "kind",
    "V6": "text",
    "V7": "alternative",
    "V8": "comment",
    "H": "text",
    "I": "reference",
    "W1": "text",
    "L1": "sequence",
    "L2": "element",
    "L3": "sequence",
    "L4": "order",
    "F": "file",
    "F3": "functions",
    "F4": "functions",
    "F7": "added-twice",
    "K4": "resource",
    "R1": "resource",
    "R2": "resource",
    "R3": "resource",
    "R4": "file",
    "R5": "file",
    "R13": "file",
}


def nature_of(rule: str, path: FieldPath, *, added_twice: bool, one_side: bool) -> Nature:
    """The nature of a decision by this rule at this place.

    `added_twice` says that both sides have something where the original has nothing and that they collide, `one_side`
    that one of upstream and local has nothing there.
    """
    if rule == "F5":
        return "element" if path else "resource"
    if (nature := _BY_RULE.get(rule)) is not None:
        return nature
    if added_twice:
        return "added-twice"
    return "element" if one_side and path and not isinstance(path[-1], str) else "value"


Choice: TypeAlias = Literal[
    "higher", "upstream", "local", "original", "upstream-then-local", "local-then-upstream", "value", "recognise"
]

Content: TypeAlias = "list[Value]"
"""A side's value at a place, as a list of one; an empty list where it has none."""


# Each half of a fingerprint is the beginning of a hash: 128 bits do not collide by chance.
_HALF = 32
_ANY_POSITION = "[]"


@frozen
class Resolution:
    """A person's choice for one conflict. `place` says where it is written, `number` is its position there.

    Without a `resource`, which is as it is written there, it is for every place with this fingerprint.
    """

    nature: Nature
    path: FieldPath
    fingerprint: str
    choice: Choice
    value: Value = None
    resource: ResourceRef | None = None
    place: str = ""
    number: int = 0

    @property
    def identity(self) -> Identity | None:
        """Which resource it is for."""
        return None if self.resource is None else self.resource.identity

    @property
    def key(self) -> tuple[object, ...]:
        """The key by which a later choice replaces it."""
        return self.identity, without_positions(self.path), self.nature, self.fingerprint

    def fit(self, kind: str, original: Content, upstream: Content, local: Content) -> Fit:
        """How far the sides are those that the choice was made for (M2)."""
        now = fingerprint(self.nature, kind, self.path, (original, upstream, local))
        if now == self.fingerprint:
            return "exact"
        return "but-local" if now[:_HALF] == self.fingerprint[:_HALF] else ""


Fit: TypeAlias = Literal["exact", "but-local", ""]
"""Whether all three sides are as recorded, or all but local's, which may be what the resolution made it."""


class Resolutions:
    """Resolutions by place."""

    def __init__(self, resolutions: Iterable[Resolution]) -> None:
        """Takes them in the order in which they are asked."""
        self.all = tuple(resolutions)
        self._by_place: dict[tuple[Identity | None, tuple[Step, ...]], list[Resolution]] = {}
        for resolution in self.all:
            key = (resolution.identity, without_positions(resolution.path))
            self._by_place.setdefault(key, []).append(resolution)

    def at(self, identities: Sequence[Identity], path: FieldPath) -> list[Resolution]:
        """The resolutions that may apply to a place of a resource that has any of these identities."""
        if not self._by_place:
            return []
        place = without_positions(path)
        # The first that fits counts: a choice for this resource comes before one for all resources (M2).
        keys = (*dict.fromkeys(identities), None)
        return [resolution for key in keys for resolution in self._by_place.get((key, place), ())]


NO_RESOLUTIONS = Resolutions(())


def fingerprint(nature: Nature, kind: str, path: FieldPath, sides: Sequence[Content] | None) -> str:
    """The key of a conflict, in this package and in others: 64 hexadecimal digits.

    The first half is made of all but local's value, so that a conflict is recognised when local has the chosen value.
    Names do not count, nor do positions in lists. `sides` are original, upstream and local, None where they are
    hidden: then they do not even leave as a hash (M6). Without a resource, `kind` is the file of what is hidden.
    """
    import json

    about: list[object] = [
        nature,
        kind,
        [list(step) if isinstance(step, tuple) else step for step in _mask_positions(path)],
    ]
    digests = []
    for values in ((), ()) if sides is None else (sides[:2], sides):
        # Sorted, as the order of fields is not part of a value: equal values have one fingerprint.
        text = json.dumps([*about, *values], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        digests.append(_digest(text.encode())[:_HALF])
    return "".join(digests)


def file_content(data: bytes | None) -> Content:
    """The content of a file that is merged as such: its digest."""
    return [] if data is None else [_digest(data)]


def _digest(data: bytes) -> str:
    # Hardly any merge of the function needs one.
    from hashlib import sha256

    return sha256(data).hexdigest()


def content_of(node: Node | None) -> Content:
    """A side's value at a place, as JSON can hold it: numbers that JSON lacks become texts."""
    return [] if node is None else [_plain(to_value(node))]


def _plain(value: Value) -> Value:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def without_positions(path: FieldPath) -> tuple[Step, ...]:
    """A path in which positions in lists do not count: they differ between packages, and after a merge."""
    return tuple(_mask_positions(path))


def _mask_positions(path: FieldPath) -> list[Step]:
    return [_ANY_POSITION if isinstance(step, int) else step for step in path]


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
    `fail`, so that nothing is decided without being asked for. `keeps_nulls`
    says that a field which is null in local stays null (K1). `on_delete` is who wins where one side deleted what the
    other changed and no rule says so; None keeps local's decision, as a conflict that `on_conflict` may refuse (F5).
    """

    on_conflict: OnConflict = "upstream"
    rules: tuple[Rule, ...] = ()
    marks: bool = False
    resolutions: Resolutions = NO_RESOLUTIONS
    identities: tuple[Identity, ...] = ()
    stops: bool = False
    keeps_nulls: bool = False
    on_delete: OnDelete | None = None

    def of(self, *identities: Identity) -> Policy:
        """The policy with only the rules of this resource, by any of the names that it has on the three sides."""
        names = dict.fromkeys(identities)
        # Once for a resource, since each conflict in it asks the rules.
        rules = tuple(rule for rule in self.rules if any(map(rule.selects, names)))
        named = identities if self.resolutions.all else ()
        fixed = (self.stops, self.keeps_nulls, self.on_delete)
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
        return (rule.on_conflict if rule is not None else None) or self.on_conflict

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
            # The conflict is settled then: a `fail` behind this rule no longer concerns it (F5).
            if of_existence and rule.on_delete is not None:
                return False
            if rule.on_conflict is not None:
                return rule.on_conflict == "fail"
        return self.on_conflict == "fail" and not (of_existence and self.on_delete is not None)

    def explanation(
        self, path: FieldPath, what: str, outcome: str, *, has_place: bool = True, of_existence: bool = False
    ) -> str:
        """A conflict in words: what happened, and what is kept unless the policy refuses it.

        `has_place` says whether markers can show both sides, `of_existence` is as for `severity`.
        """
        ruled = self.rule_on_conflict(path) is not None
        if self._refuses(path, of_existence):
            # Where nobody chose `fail`, its name would send people to a setting that is not there.
            return what if self.stops and not ruled else f"{what}; refused by onConflict: fail"
        if has_place and self.leaves_marks(path):
            return f"{what}; both are between conflict markers"
        return f"{what}; {outcome}"

    def delete(self, path: FieldPath) -> OnDelete:
        """Which side wins where one side deleted what the other changed (F5)."""
        rule = self.rule_on_delete(path)
        return (rule.on_delete if rule is not None else None) or self.on_delete or "local"

    def rule_on_delete(self, path: FieldPath) -> Rule | None:
        """The rule that says whose decision is kept where one side deleted what the other changed."""
        for rule in self.rules:
            if rule.on_delete is not None and (rule.path is None or covers(rule.path, path)):
                return rule
        return None
