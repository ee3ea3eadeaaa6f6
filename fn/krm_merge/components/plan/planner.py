"""Plans a pull request for each dependant and each group, as data, and the actions that an observed one lacks.

A plan follows from the current observation: the descriptions of pull requests are its only memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from krm_merge.components.graph import BranchNames, Graph, branch_for, branch_names, incomplete_components
from krm_merge.components.konflux.history import History, is_usable, latest
from krm_merge.components.konflux.model import ComponentKey, PullRequest, touches
from krm_merge.components.plan.model import (
    Action,
    Copy,
    DescribedState,
    DigestEdit,
    Plan,
    Planning,
    PlanTarget,
    Trigger,
    Waiting,
    described_state,
    description_of,
    pull_name,
    reference,
)
from krm_merge.components.plan.pull_requests import (
    OurPullRequests,
    TrackedPullRequest,
    end_of,
    is_worth_opening,
    triggers_by_group,
    unsettled_triggers,
)
from krm_merge.forges.interface import same_repository
from krm_merge.forges.proposals import has_part
from krm_merge.krm import Result

_STEPS_ON = frozenset((("open", "waiting"), ("open", "done"), ("waiting", "done")))


def actions(plan: Plan, carried: DescribedState | None) -> Iterator[Action]:
    """The actions that update the pull request to the plan. Marking it ready starts builds, without a comment (I18)."""
    pull = plan.pull_request
    if pull is None:
        yield "create"
        return
    planned = described_state(plan.description)
    before = carried or DescribedState({}, {}, {})
    # CR23: a trigger was merged or built since.
    merged_since = any((before.triggers.get(name), state) in _STEPS_ON for name, state in planned.triggers.items())
    if planned.synthetic != before.synthetic or before.digests.keys() - planned.digests.keys():
        # A further commit cannot remove what earlier commits added.
        yield "regenerate"
    elif planned.digests != before.digests:
        yield "addCommit"
    if merged_since and planned.synthetic == before.synthetic:
        yield "rebase"
    if pull.title != plan.title or not has_part(pull.body, plan.description):
        yield "describe"
    # I9: the planned pull request becomes ready, not the one that triggered it.
    if pull.draft != plan.draft:
        yield "draft" if plan.draft else "undraft"


def report_reasons(planning: Planning, plan: Plan) -> None:
    """Reports the digests of a pull request, and what it waits for."""
    key, pull = plan.target.key, plan.pull_request
    what = pull_name(pull) if pull is not None else f"a pull request from {plan.branch}"
    updates = ", ".join(f"{edit.component.name} {edit.digest[:19]}" for edit in plan.digests) or "nothing"
    planning.report("info", "CR21" if pull is None else "CR22", f"{what} updates {updates}", key)
    if plan.waiting:
        waits = ", ".join(dict.fromkeys(_waits(wait) for wait in plan.waiting))
        planning.report("info", "CR27", f"{what} stays a draft until {waits}", key)
    elif pull is not None and pull.draft and not plan.draft:
        planning.report("info", "CR30", f"{what} is ready: all of its triggers are merged and built", key)
    if pull is None and plan.branch == branch_names(plan.group, "")[1] + plan.target.suffix:
        message = f"the branch is {plan.branch}: git allows no {plan.group}/… beside {plan.group}"
        planning.report("info", "I5", message, key)


def _waits(wait: Waiting) -> str:
    what = pull_name(wait.pull_request) if wait.pull_request is not None else str(wait.component)
    return f"{what} is merged" if wait.until == "merged" else f"the merge of {what} is built as {wait.component.name}"


def desired_digests(
    planning: Planning, triggers: Sequence[Trigger], last: TrackedPullRequest | None
) -> dict[ComponentKey, str]:
    """The digest of each dependency for the branch; `last` is the last pull request of the group."""
    desired: dict[ComponentKey, str] = {}
    for key in sorted({trigger.component for trigger in triggers}, key=planning.rank.__getitem__):
        of_key = [trigger for trigger in triggers if trigger.component == key]
        digest = _choose_digest(planning, key, of_key)
        if digest is None and last is not None and key.name in last.described.digests:
            # S7: the digest of a closed pull request is replaced by the promoted one.
            digest = planning.history.promoted_digest(key)
        if digest:
            desired[key] = digest
    return desired


def _choose_digest(planning: Planning, key: ComponentKey, triggers: Sequence[Trigger]) -> str | None:
    """The digest of one dependency; None if all its triggers are closed pull requests."""
    for state in ("open", "waiting", "done"):
        candidates = [trigger for trigger in triggers if trigger.state == state and trigger.digest]
        if not candidates:
            continue
        # I13: within one group, prefer builds that hold the digests of the group; then the newest build.
        ours = [trigger for trigger in candidates if (pull := trigger.pull_request) and planning.target_of(pull)]
        return _newest(planning, key, ours or candidates).digest
    return None


def _newest(planning: Planning, key: ComponentKey, triggers: Sequence[Trigger]) -> Trigger:
    def start_time(trigger: Trigger) -> str:
        build = latest(planning.history.before_merge(key, trigger.pull_request)) if trigger.pull_request else None
        return build.started if build is not None else ""

    return max(triggers, key=start_time)


def digest_edit(
    pulls: OurPullRequests, group: str, key: ComponentKey, desired: Mapping[ComponentKey, str]
) -> DigestEdit:
    """The edit that sets a digest, with those it may replace: the digests that this or another plan set before."""
    planning = pulls.planning
    component, digest = planning.graph.components[key], desired[key]
    before = (pulls.of_group(group).last, pulls.holders.get(key.name))
    replaceable = {component.digest, *(pull.digest(key) or "" for pull in before if pull)}
    for build in planning.history.by_component.get(key, ()):
        if is_usable(build) and (build.event == "push" or planning.group(build.source_branch) == group):
            replaceable.add(build.digest)
    tags, others, other_tags = set(component.tags), set[str](), set[str]()
    # C5: digests of another Component are kept, although its image has the same name.
    sharing = planning.sharing(key)
    for other in sharing:
        is_meant = other in planning.graph.dependencies(pulls.target.key)
        others |= _all_digests(pulls, other, desired) - (set() if is_meant else {*replaceable, digest})
        other_tags |= set(planning.graph.components[other].tags)
    return DigestEdit(
        key,
        planning.history.image_names(key),
        tuple(sorted(replaceable - {"", digest})),
        digest,
        tuple(sorted(tags - other_tags)) if sharing else (),
        tuple(sorted(others)),
        tuple(sorted(other_tags - tags)),
    )


def _all_digests(pulls: OurPullRequests, key: ComponentKey, desired: Mapping[ComponentKey, str]) -> set[str]:
    """All digests that are known to be of a Component, of any group."""
    history, component = pulls.planning.history, pulls.planning.graph.components[key]
    built = {build.digest for build in history.by_component.get(key, ()) if is_usable(build)}
    return (built | pulls.digests(key.name) | {component.digest, desired.get(key, "")}) - {""}


def plan(graph: Graph, history: History, branches: BranchNames) -> tuple[list[Plan], list[Result]]:
    """The plans for all dependants, and findings that explain missing plans (C3).

    The graph must have no cycle.
    """
    planning = Planning(graph, history, branches)
    planner = _Planner(planning)
    for key in graph.order:
        if graph.dependants(key):
            _report_unused_builds(planning, key)
    planning.findings += incomplete_components(graph, history)
    for target in planning.targets:
        if target.repository:
            planner.plan_target(target)
    for target in planning.deleted_targets:
        planner.close_all(target)
    plans = sorted(planner.plans, key=lambda plan: (plan.target.key, plan.group))
    return plans, planning.findings


def _report_unused_builds(planning: Planning, key: ComponentKey) -> None:
    """Reports the builds of a dependency that trigger nothing."""
    if numbers := planning.history.unobserved_numbers(key):
        examples, remedy = _first_names([f"#{number}" for number in numbers]), "observe the repository"
        message = f"builds of {examples} trigger nothing: there is no PullRequest of that number; {remedy}"
        planning.report("info", "CR21", message, key)
    if others := sorted(planning.history.other_branches.get(key, ())):
        branch = planning.graph.components[key].branch
        message = f"builds for {_first_names(others)} trigger nothing: the Component is built from {branch}"
        planning.report("info", "CR15", message, key)


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


class _Planner:
    """Collects plans and findings."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self.plans: list[Plan] = []

    def plan_target(self, target: PlanTarget) -> None:
        """The plans of one target, by group."""
        start = len(self.plans)
        pulls = OurPullRequests(self._planning, target)
        groups = triggers_by_group(pulls)
        for group in sorted(groups.keys() | pulls.by_group.keys()):
            open_pull = pulls.of_group(group).open
            if triggers := unsettled_triggers(pulls, group, groups.get(group, [])):
                self._plan_group(pulls, group, triggers)
            elif open_pull is not None:
                self._orphan(target, group, open_pull)
        plans = self.plans[start:]
        del self.plans[start:]
        self._without_duplicates(target, plans)

    def _without_duplicates(self, target: PlanTarget, plans: Sequence[Plan]) -> None:
        """C12: of the plans that are ready, keeps those whose digests no other plan has."""
        distinct: list[Plan] = []
        for plan in sorted(plans, key=_precedence):
            same = next((other for other in distinct if _carries_all(other, plan)), None)
            if same is None:
                distinct.append(plan)
                self.plans.append(plan)
                if plan.actions != ("close",) and not plan.is_remembered:
                    report_reasons(self._planning, plan)
                continue
            name = pull_name(same.pull_request) if same.pull_request else f"the pull request from {same.branch}"
            reason = f"{name} has the same digests"
            if plan.pull_request is not None:
                self._close(target, plan.group, plan.triggers, plan.pull_request, "C12", reason)
            else:
                message = f"no pull request from {plan.branch}: {reason}"
                self._planning.report("info", "C12", message, target.key)

    def close_all(self, target: PlanTarget) -> None:
        """Closes the pull requests to a dependant that is deleted (CR5)."""
        for group, ours in OurPullRequests(self._planning, target).by_group.items():
            for pull in ours.pulls:
                if pull.is_open:
                    self._close(target, group, (), pull.pull_request, "CR5", f"{target} is deleted")

    def _plan_group(self, pulls: OurPullRequests, group: str, triggers: list[Trigger]) -> None:
        ours = pulls.of_group(group)
        desired = desired_digests(self._planning, triggers, ours.last)
        if ours.open is None:
            if is_worth_opening(pulls, group, triggers, desired):
                self._plan_pull_request(pulls, group, triggers, desired)
        elif (end := end_of(pulls, triggers, desired, ours.open)) is not None:
            self._close(pulls.target, group, triggers, ours.open.pull_request, *end)
        else:
            self._plan_pull_request(pulls, group, triggers, desired)

    def _orphan(self, target: PlanTarget, group: str, open_pull: TrackedPullRequest) -> None:
        """Reports a pull request of ours without triggers, or closes it (CR6, CR5)."""
        deleted = self._planning.graph.deleted_names(target.key.namespace)
        if open_pull.described.digests and open_pull.described.digests.keys() <= deleted:
            self._close(target, group, (), open_pull.pull_request, "CR5", "its dependencies are deleted")
        else:
            name = pull_name(open_pull.pull_request)
            message = f"{name} no longer has triggers; it is kept open; close or merge it"
            self._planning.report("warning", "CR6", message, target.key)

    def _close(
        self, target: PlanTarget, group: str, triggers: Sequence[Trigger], pull: PullRequest, rule: str, reason: str
    ) -> None:
        self._planning.report("info", rule, f"{pull_name(pull)} is closed: {reason}", target.key)
        self._planning.closing.add(pull.id)
        title, description = description_of(target, group, triggers, (), (), (), reason)
        self.plans.append(
            Plan(
                target,
                group,
                pull.source_branch,
                pull.target_branch,
                draft=pull.draft,
                triggers=tuple(triggers),
                actions=("close",),
                title=title,
                description=description,
                pull_request=pull,
                closed=reason,
            )
        )

    def _plan_pull_request(
        self, pulls: OurPullRequests, group: str, triggers: Sequence[Trigger], desired: Mapping[ComponentKey, str]
    ) -> None:
        """Plans the desired state of a pull request, whether it is open already or not."""
        target, ours = pulls.target, pulls.of_group(group)
        # I11: it waits for its triggers, not for the rest of its group.
        waiting = tuple(
            Waiting(trigger.component, trigger.pull_request, "merged" if trigger.state == "open" else "mergeBuild")
            for trigger in triggers
            if trigger.state in ("open", "waiting")
        )
        synthetic = tuple(self._synthetic(target, triggers))
        digests = tuple(digest_edit(pulls, group, key, desired) for key in desired)
        title, description = description_of(target, group, triggers, digests, waiting, synthetic)
        existing = ours.open.pull_request if ours.open is not None else None
        plan = Plan(
            target,
            group,
            existing.source_branch if existing is not None else self._branch(target, group, triggers),
            existing.target_branch if existing is not None else self._base(pulls),
            # CR30: a draft until everything that it waits for is merged and built.
            draft=bool(waiting),
            triggers=tuple(triggers),
            waiting=waiting,
            synthetic=synthetic,
            digests=digests,
            title=title,
            description=description,
            pull_request=existing,
        )
        if closed := ours.closed_as_unneeded(desired):
            self.plans.append(replace(plan, is_remembered=True))
            target_branch, name = closed.pull_request.target_branch, pull_name(closed.pull_request)
            message = f"{target_branch} had the digests of {name}, which was closed"
            pulls.report("info", "CR22", f"{message}; apply opens another if it was reverted")
            return
        self.plans.append(replace(plan, actions=tuple(actions(plan, ours.open.described if ours.open else None))))

    def _base(self, pulls: OurPullRequests) -> str:
        """The branch that a new pull request is for, '' for a default branch that nothing names.

        Plans are compared by it, so that a pull request looks the same before and after it is opened (C14).
        """
        target, history = pulls.target, self._planning.history
        return target.dependant.branch or history.default_branch(target.repository) or pulls.newest_target

    def _branch(self, target: PlanTarget, group: str, triggers: Iterable[Trigger]) -> str:
        repository = same_repository(target.repository)
        branches = {target.dependant.branch or self._planning.history.default_branch(target.repository) or "main"}
        for pull in self._planning.history.of_repository(target.repository):
            branches |= {*(pull.branches or ()), pull.target_branch}
            if pull.state == "open":
                branches.add(pull.source_branch)
        for trigger in triggers:
            source = trigger.pull_request
            # The branch of a merged pull request may still exist.
            if source is not None and same_repository(source.repository) == repository:
                branches.add(source.source_branch)
        return branch_for(group, target.suffix, branches, self._planning.branches.separators)

    def _synthetic(self, target: PlanTarget, triggers: Iterable[Trigger]) -> Iterator[Copy]:
        """CR28: the open pull requests of the same repository that change the dependants' directories, each once."""
        seen: set[int] = set()
        for trigger in triggers:
            pull_request = trigger.pull_request
            if (
                pull_request is None
                or trigger.state != "open"
                or pull_request.number in seen
                or same_repository(pull_request.repository) != same_repository(target.repository)
            ):
                continue
            seen.add(pull_request.number)
            if pull_request.changed is None or not pull_request.head:
                message = (
                    f"the head or the changed files of {pull_name(pull_request)} were not observed; if it changes "
                    f"{target.dependant.context}, that is missing from the branch"
                )
                self._planning.report("warning", "CR28", message, target.key)
                continue
            paths = tuple(sorted(path for path in pull_request.changed if touches(target.dependant.context, [path])))
            if paths:
                yield Copy(reference(pull_request), pull_request.head, pull_request.target_branch, paths)


def _precedence(plan: Plan) -> tuple[bool, bool, int, bool, int, str]:
    """Sort key of plans with the same digests: prefer one with commits of people, then the larger, then the older."""
    pull = plan.pull_request
    return (
        bool(plan.closed),
        pull is None or not pull.user_commits,
        -len(plan.digests),
        pull is None,
        pull.number if pull is not None else 0,
        plan.group,
    )


def _carries_all(plan: Plan, other: Plan) -> bool:
    """Whether `plan` has all digests of `other`, and both are ready."""
    is_ready = all(not side.closed and not side.draft and not side.synthetic and side.digests for side in (plan, other))
    if not is_ready or (other.pull_request is not None and other.pull_request.user_commits) or plan.is_remembered:
        return False
    brought = {edit.component: edit.digest for edit in plan.digests}
    return plan.base == other.base and all(brought.get(edit.component) == edit.digest for edit in other.digests)
