"""A session in which somebody settles equal conflicts once for all packages, and some packages apart. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from krm_merge.fleet.campaign.campaign import POLICY_FILE, Campaign
from krm_merge.fleet.conflicts.choices import may_be_rule, policy_with
from krm_merge.fleet.conflicts.groups import Group
from krm_merge.fleet.conflicts.steps import GroupChoice, GroupChoices, GroupPart, GroupStep
from krm_merge.krm.result import Results
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import Context, DecisionRecord, MergeReport, RecordedSide, SideName
from krm_merge.resolve.interface import NO_VALUE, NOT_ALWAYS, Answer, ConflictSession, NotSettledError, Saved
from krm_merge.resolve.selectable import RefusedChoiceError, custom_value
from krm_merge.text.reading.values import Value


class GroupSession(ConflictSession[GroupStep]):
    """The state of one session."""

    def __init__(self, campaign: Campaign, groups: Iterable[Group], steps: Iterable[GroupStep] = ()) -> None:
        """Takes groups that nobody has settled yet, and the `steps` of an earlier session."""
        self._campaign = campaign
        self._groups = {group.key: group for group in _by_kind(groups) if group.conflict.choices}
        self._written = _written(campaign, self._groups)
        super().__init__(known for step in steps if (known := step.about(self._groups)).choices)
        self._take_steps()

    def _take_steps(self) -> None:
        self._choices = GroupChoices.after([self._written, *self._steps], self._groups)
        self._parts = {part.id: part for part in self._choices.parts}

    # ---- what there is -----------------------------------------------------------------------------------------

    @property
    def policy_file(self) -> str:
        """The policy of the campaign."""
        return POLICY_FILE

    @property
    def records(self) -> list[DecisionRecord]:
        """A record for each group, and behind it one for each set of packages that is settled apart."""
        return [self._record(part) for part in self._parts.values()]

    @property
    def can_save(self) -> bool:
        """Whether something is chosen. Groups may be left open: the campaign's policy decides them."""
        return bool(self.made)

    @property
    def made(self) -> list[GroupChoice]:
        """What holds now and is not in `policy.yaml` yet."""
        known = self._choices.made
        made = [known[part.key] for part in self._parts.values() if part.key in known]
        return [one for one in made if one not in self._written.choices]

    @property
    def chosen(self) -> list[tuple[Group, str]]:
        """The groups of what was made, each with one of the packages that it is for."""
        made = self.made
        known = ((part, self._choices.made.get(part.key)) for part in self._parts.values())
        return [(part.group, part.packages[0]) for part, one in known if one in made and part.packages]

    def report(self) -> MergeReport:
        """All groups as they are now."""
        sides = {"upstream": RecordedSide(self._campaign.upstream.ref)}
        return MergeReport(self._campaign.name, sides, self.records)

    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""
        return self._record(self._part(identifier))

    def contexts(self, identifier: str) -> Mapping[SideName, Context]:
        """None: the lines around differ between packages. Raises RefusedChoiceError."""
        self._part(identifier)
        return {}

    def hidden_values(self, identifier: str) -> Mapping[SideName, Value]:
        """None: the ledger, which a campaign is settled from, has no hidden value. Raises RefusedChoiceError."""
        if self.record(identifier).is_redacted:
            raise RefusedChoiceError("a campaign keeps no secret values; krm-merge resolve shows them in a package")
        return {}

    def packages(self, identifier: str) -> Sequence[str]:
        """The packages that a choice on this record is for. Raises RefusedChoiceError."""
        return self._part(identifier).packages

    def alike(self, identifier: str) -> list[str]:
        """The record alone: a group has all that are alike. Raises RefusedChoiceError."""
        return [self._part(identifier).id]

    def _part(self, identifier: str) -> GroupPart:
        found = self._parts.get(identifier)
        if found is None:
            raise RefusedChoiceError(f"there is no group {identifier!r} here; ask for the report again")
        return found

    def _record(self, part: GroupPart) -> DecisionRecord:
        chosen = self._choices.made.get(part.key)
        group = part.group
        record = group.record()
        about = record.resource.kind if record.resource else group.conflict.file
        record = replace(record, id=part.id, file=about, status="open", settled_by="")
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
        """Settles groups in the same way; `always` for good, by a rule.

        Raises RefusedChoiceError, and chooses nothing then.
        """
        unique = list(dict.fromkeys(identifiers))
        records = self._asked_about(unique, choice, value, "group")
        made = []
        for part, record in zip(map(self._part, unique), records, strict=True):
            if always and part.number:
                raise RefusedChoiceError("a rule is for all packages; for some, write it into their own MergePolicy")
            if always and not may_be_rule(part.group, choice):
                raise RefusedChoiceError(NOT_ALWAYS)
            meant = custom_value(value, record) if choice == "value" else None  # type: ignore[arg-type]
            made.append(GroupChoice(part.group.key, part.apart, choice, meant, always))
        return self._stepped(GroupStep(tuple(made)))

    def set_apart(self, identifier: str, patterns: Sequence[str]) -> Answer:
        """Lets the packages that match a name or pattern be settled apart from the others of their group.

        Raises RefusedChoiceError.
        """
        part = self._part(identifier)
        if part.number:
            raise RefusedChoiceError("these packages are apart already; undo that to choose others")
        wanted = part.matching(patterns)
        if not wanted:
            raise RefusedChoiceError(f"none of the packages is called {' or '.join(patterns) or 'like that'}")
        if len(wanted) == len(part.packages):
            raise RefusedChoiceError("these are all packages; choose for the group")
        return self._stepped(GroupStep((GroupChoice(part.group.key, wanted),)))

    def _stepped(self, step: GroupStep) -> Answer:
        answer = self._carry_out([*self._steps, step], step)
        self._undone = []
        self.revision += 1
        return answer

    def _carry_out(self, steps: list[GroupStep], changed: GroupStep) -> Answer:
        groups = {one.group for one in changed.choices}
        before = [part.id for part in self._parts.values() if part.key[0] in groups]
        self._steps = steps
        self._take_steps()
        records = [self._record(part) for part in self._parts.values() if part.key[0] in groups]
        return Answer(records, [identifier for identifier in before if identifier not in self._parts])

    # ---- the end -----------------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """The `policy.yaml` with what was chosen. Raises NotSettledError where that is nothing."""
        if not self.can_save:
            raise NotSettledError("nothing is chosen; choose for at least one group, then save")
        new = [(self._groups[one.group], one) for one in self.made]
        return Saved({POLICY_FILE: policy_with(self._campaign.policy_text, new)}, (), Results())


def _written(campaign: Campaign, groups: Mapping[str, Group]) -> GroupStep:
    """What `policy.yaml` already says of groups; the packages have not been merged again since."""
    known = {group.conflict.fingerprint: group for group in groups.values() if not group.is_by_place}
    choices = [
        GroupChoice(known[one.fingerprint].key, (), one.choice, one.value)
        for one in campaign.policy.resolutions.all
        if one.identity is None and one.fingerprint in known
    ]
    for exception in campaign.exceptions:
        group = known.get(exception.resolution.fingerprint)
        # Of those with patterns nobody can say which packages are meant.
        if group is not None and exception.names.issubset(group.packages):
            names = tuple(name for name in group.packages if name in exception.names)
            choices.append(GroupChoice(group.key, names))
            choices.append(GroupChoice(group.key, names, exception.resolution.choice, exception.resolution.value))
    return GroupStep(tuple(choices))


def _by_kind(groups: Iterable[Group]) -> list[Group]:
    """The groups with those of one kind together, in the order of the largest of each kind."""
    kinds: dict[str, list[Group]] = {}
    for group in groups:
        kinds.setdefault(group.conflict.kind or group.conflict.file, []).append(group)
    return [group for held in kinds.values() for group in held]
