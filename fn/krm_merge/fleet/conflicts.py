"""Equal conflicts of many packages: shown once as a group, and settled once for all of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from posixpath import join
from typing import get_args

from krm_merge.fleet.campaign import POLICY_FILE, Campaign
from krm_merge.fleet.job import TargetConflict, is_undecided
from krm_merge.krm import ResourceRef, Results
from krm_merge.merge import Choice, Rule
from krm_merge.packages import File
from krm_merge.policy import edit_policy, resolution_value, rule_value
from krm_merge.report import SIDES, DecisionRecord, MergeReport, RecordedSide, SideName
from krm_merge.resolve.choices import choice_for, rule_for
from krm_merge.resolve.interface import (
    NO_VALUE,
    NOT_ALWAYS,
    Answer,
    ConflictSession,
    NotSettledError,
    RefusedChoiceError,
    Saved,
)
from krm_merge.safe_text import abridge, quantity
from krm_merge.startup import group_by_key, replace
from krm_merge.text import Value

_EXAMPLES = 3
_LENGTH_OF_ID = 12


@dataclass(frozen=True, slots=True)
class Group:
    """Conflicts that are one: one of them, and the packages that have it.

    They have the same API group, kind and path, and equal values. `resources` has the packages by resource. A group
    `is_alone` if no other has its fingerprint; `name` is that of the resource if the packages have several.
    """

    conflict: DecisionRecord
    packages: tuple[str, ...]
    resources: Mapping[ResourceRef, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    is_alone: bool = True

    @property
    def key(self) -> str:
        """What distinguishes it from other groups."""
        return f"{self.conflict.fingerprint} {self.api_group} {self.name}".rstrip()

    @property
    def id(self) -> str:
        """The id of its record."""
        return sha256(self.key.encode()).hexdigest()[:_LENGTH_OF_ID]

    @property
    def api_group(self) -> str:
        """The API group of its kind, '' for the core."""
        resource = self.conflict.resource
        return resource.identity.group if resource is not None else ""

    @property
    def kind(self) -> str:
        """Its kind, '' for a file."""
        return self.conflict.resource.kind if self.conflict.resource is not None else ""

    @property
    def is_by_place(self) -> bool:
        """Whether a choice has to name the resources: hidden values have no fingerprint of their own (M6)."""
        return bool(self.resources) and (self.conflict.alike is not None or not self.is_alone)

    @property
    def place(self) -> str:
        """Where the conflict is, as people name it."""
        kind = f"{self.kind}.{self.api_group}" if self.api_group and not self.is_alone else self.kind
        return " ".join(part for part in (kind, self.name, self.conflict.path or self.conflict.file) if part)

    @property
    def examples(self) -> str:
        """How many packages there are, and some of them."""
        return f"{quantity(len(self.packages), 'package')}: {abridge(self.packages, _EXAMPLES)}"

    def record(self, file: str = "") -> DecisionRecord:
        """The group as a record, for reports: without a name, at `file`, by default some of its packages."""
        resource = self.conflict.resource
        named = None if resource is None else ResourceRef(resource.api_version, resource.kind, "")
        changes = {"id": self.id, "file": file or self.examples, "resource": named, "chosen": None}
        return replace(self.conflict, **changes, renamed_from="")


def groups_of(conflicts: Iterable[tuple[str, TargetConflict]], *, decided: bool = False) -> list[Group]:
    """The groups, the largest first: of conflicts that nothing but the policy settles, or of the others."""
    by_fingerprint: dict[tuple[str, str], dict[str, list[tuple[str, TargetConflict]]]] = {}
    for target, conflict in conflicts:
        package = join(target, conflict.package).rstrip("/")
        group = conflict.record.fingerprint, conflict.resource.identity.group
        by_fingerprint.setdefault(group, {}).setdefault(conflict.resource.name, []).append((package, conflict))
    several = Counter(fingerprint for fingerprint, _ in by_fingerprint)
    groups: list[Group] = []
    for (fingerprint, _), by_name in by_fingerprint.items():
        is_split = _is_split(by_name)
        parts = by_name if is_split else {"": [member for members in by_name.values() for member in members]}
        is_alone = several[fingerprint] == 1 and not is_split
        for name, members in parts.items():
            selection = [member for member in members if is_undecided(member[1].record) != decided]
            if selection:
                groups.append(_group(selection, name, is_alone=is_alone))
    return sorted(groups, key=lambda group: (-len(group.packages), group.place, group.conflict.fingerprint))


def _is_split(by_name: Mapping[str, Sequence[tuple[str, TargetConflict]]]) -> bool:
    """Whether each name is a group: a package has several of the resources, and packages call them the same."""
    packages = Counter(package for members in by_name.values() for package in {package for package, _ in members})
    return len(by_name) > 1 and max(packages.values()) > 1 and len(by_name) <= max(packages.values())


def _group(members: Sequence[tuple[str, TargetConflict]], name: str, *, is_alone: bool) -> Group:
    resources: dict[ResourceRef, dict[str, None]] = {}
    for package, conflict in members:
        if conflict.resource.kind:
            resources.setdefault(conflict.resource, {})[package] = None
    packages = tuple(dict.fromkeys(package for package, _ in members))
    named = {resource: tuple(its_packages) for resource, its_packages in resources.items()}
    return Group(members[0][1].record, packages, named, name, is_alone)


def values_of(group: Group) -> list[tuple[str, Value]]:
    """The values of a group, side by side; an open conflict has no result."""
    values, is_open = group.conflict.values, group.conflict.status == "open"
    return [(side, values[side]) for side in SIDES if side in values and not (is_open and side == "result")]


def _resolutions(group: Group, chosen: GroupChoice) -> list[dict[str, Value]]:
    """For every conflict of a group: by its fingerprint, or by resource as well."""
    values: list[dict[str, Value]] = []
    for resource in group.resources if group.is_by_place else [None]:
        value = resolution_value(choice_for(group.record(), chosen.choice, chosen.value, resource, POLICY_FILE))
        values.append(({"resource": value["resource"]} if resource else {}) | value)
    return values


def rule_of(group: Group, choice: Choice) -> Rule | None:
    """The rule that makes a choice hold for good, for this kind and path, whatever the values; None where none can."""
    rule = rule_for(group.record(), choice, POLICY_FILE)
    return None if rule is None else replace(rule, namespace=None, name=None)


_CHOICES: Mapping[object, Choice] = {choice: choice for choice in get_args(Choice)}


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A choice for a group, named by its key."""

    group: str
    choice: Choice
    value: Value = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class GroupStep:
    """What was chosen at once, and can be undone at once."""

    choices: tuple[GroupChoice, ...]

    def to_value(self) -> Mapping[str, Value]:
        """As a plain value."""
        return {"choices": [asdict(choice) for choice in self.choices]}

    @classmethod
    def from_value(cls, value: Mapping[str, Value]) -> GroupStep:
        """The step again. Raises ValueError, TypeError or LookupError."""
        written = value["choices"]
        if not isinstance(written, list):
            raise TypeError("choices must be a list")
        return cls(tuple(map(_choice, written)))


def _choice(written: Value) -> GroupChoice:
    if not isinstance(written, Mapping):
        raise TypeError("a choice is expected")
    choice = _CHOICES[written["choice"]]
    return GroupChoice(str(written["group"]), choice, written["value"], written["always"] is True)


class GroupSession(ConflictSession[GroupStep]):
    """The state of one session."""

    noun = "group"

    def __init__(self, campaign: Campaign, groups: Iterable[Group], steps: Iterable[GroupStep] = ()) -> None:
        """Takes groups that nobody has settled yet, and the `steps` of an earlier session."""
        self._campaign = campaign
        self._groups = {group.key: group for group in _by_kind(groups) if group.conflict.choices}
        self._by_id = {group.id: group for group in self._groups.values()}
        self._written = _written_choices(campaign, self._groups)
        # Groups of an earlier session may be settled by now.
        there = (tuple(choice for choice in step.choices if choice.group in self._groups) for step in steps)
        super().__init__(GroupStep(choices) for choices in there if choices)
        self._take_steps()

    def _take_steps(self) -> None:
        steps = [self._written, *self._steps]
        self._chosen = {choice.group: choice for step in steps for choice in step.choices}

    # ---- what there is -----------------------------------------------------------------------------------------

    @property
    def policy_file(self) -> str:
        """The policy of the campaign."""
        return POLICY_FILE

    @property
    def records(self) -> list[DecisionRecord]:
        """A record for each group."""
        return [self._record(group) for group in self._groups.values()]

    @property
    def can_save(self) -> bool:
        """Whether something is chosen. Groups may be left open: the campaign's policy decides them."""
        return bool(self.new_choices)

    @property
    def new_choices(self) -> list[tuple[Group, GroupChoice]]:
        """What holds now and is not in `policy.yaml` yet."""
        chosen = ((group, self._chosen.get(key)) for key, group in self._groups.items())
        return [(group, choice) for group, choice in chosen if choice and choice not in self._written.choices]

    def report(self) -> MergeReport:
        """All groups as they are now."""
        sides = {"upstream": RecordedSide(self._campaign.upstream.ref)}
        return MergeReport(self._campaign.name, sides, self.records)

    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""
        return self._record(self._group(identifier))

    def hidden_values(self, identifier: str) -> Mapping[SideName, Value]:
        """None: the ledger, which a campaign is settled from, has no hidden value. Raises RefusedChoiceError."""
        if self.record(identifier).is_redacted:
            raise RefusedChoiceError("a campaign keeps no secret values; krm-merge resolve shows them in a package")
        return {}

    def packages(self, identifier: str) -> Sequence[str]:
        """The packages that a choice on this record is for. Raises RefusedChoiceError."""
        return self._group(identifier).packages

    def _group(self, identifier: str) -> Group:
        group = self._by_id.get(identifier)
        if group is None:
            raise RefusedChoiceError(f"there is no group {identifier!r} here; request the report again")
        return group

    def _record(self, group: Group) -> DecisionRecord:
        chosen = self._chosen.get(group.key)
        record = replace(group.record(group.kind or group.conflict.file), status="open", settled_by="")
        values = dict(record.values)
        values.pop("result", None)
        if chosen is None:
            return replace(record, values=values)
        if chosen.choice == "value":
            values["result"] = chosen.value
        elif chosen.choice in ("original", "upstream", "local") and chosen.choice in values:
            values["result"] = values[chosen.choice]
        by = f"{'rule' if chosen.always else 'resolution'} {POLICY_FILE}"
        return replace(record, status="settled", settled_by=by, chosen=chosen.choice, values=values)

    # ---- steps -------------------------------------------------------------------------------------------------

    def choose(
        self, identifiers: Sequence[str], choice: Choice, value: Value | object = NO_VALUE, *, always: bool = False
    ) -> Answer:
        """The same for all packages of groups."""
        choices = []
        for record, meant in self._asked_about(identifiers, choice, value, always=always):
            group = self._group(record.id)
            if always and rule_of(group, choice) is None:
                raise RefusedChoiceError(NOT_ALWAYS)
            choices.append(GroupChoice(group.key, choice, meant, always))
        step = GroupStep(tuple(choices))
        answer = self._carry_out([*self._steps, step], step)
        self._undone = []
        self.revision += 1
        return answer

    def _carry_out(self, steps: list[GroupStep], changed: GroupStep) -> Answer:
        self._steps = steps
        self._take_steps()
        return Answer([self._record(self._groups[choice.group]) for choice in changed.choices])

    # ---- the end -----------------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """The `policy.yaml` with what was chosen. Raises NotSettledError where that is nothing, and KrmMergeError."""
        if not self.can_save:
            raise NotSettledError("nothing was chosen; choose for at least one group, then save")
        resolutions: list[dict[str, Value]] = []
        rules: list[dict[str, Value]] = []
        dropped: list[dict[str, Value]] = []
        for group, chosen in self.new_choices:
            written = _resolutions(group, chosen)
            if chosen.always and (rule := rule_of(group, chosen.choice)):
                # A resolution for all packages would come before the rule.
                dropped += written
                rules.append(rule_value(rule))
            else:
                resolutions += written
        policy = self._campaign.policy_text
        file = edit_policy(File(policy) if policy else None, POLICY_FILE, resolutions, rules, dropped)
        return Saved({POLICY_FILE: file}, (), Results())


def _written_choices(campaign: Campaign, groups: Mapping[str, Group]) -> GroupStep:
    """What `policy.yaml` already says of groups; the packages have not been merged again since."""
    by_fingerprint = {group.conflict.fingerprint: group for group in groups.values() if not group.is_by_place}
    return GroupStep(
        tuple(
            GroupChoice(by_fingerprint[resolution.fingerprint].key, resolution.choice, resolution.value)
            for resolution in campaign.policy.resolutions.all
            if resolution.identity is None and resolution.fingerprint in by_fingerprint
        )
    )


def _by_kind(groups: Iterable[Group]) -> list[Group]:
    """The groups with those of one kind together, in the order of the largest of each kind."""
    kinds = group_by_key((group.kind or group.conflict.file, group) for group in groups)
    return [group for same_kind in kinds.values() for group in same_kind]
