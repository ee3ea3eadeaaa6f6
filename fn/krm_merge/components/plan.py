"""What shall happen to dependants: a pull request for each of them and each group, as data.

All of it follows from what is observed now: nothing is remembered but what pull requests say of themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from krm_merge.components.actions import actions, tell_why
from krm_merge.components.chosen_digests import desired_digests, digest_edit
from krm_merge.components.contexts import touches
from krm_merge.components.description import Told, description_of, told_by
from krm_merge.components.graph import Finding, Graph
from krm_merge.components.groups import branch_for
from krm_merge.components.history import History
from krm_merge.components.model import Component, Key, PullRequest, same_repository
from krm_merge.components.opening import is_correction, is_worth_opening
from krm_merge.components.planned import Choices, Plan, Synthetic, Trigger, Waiting
from krm_merge.components.planning import Planning, named
from krm_merge.components.triggers import own_by_group, triggers_by_group


def plan(graph: Graph, history: History, choices: Choices) -> tuple[list[Plan], list[Finding]]:
    """The plans for all dependants, and why there is none where one might be expected (C3).

    The graph must have no cycle.
    """
    planning = Planning(graph, history, choices)
    planner = _Planner(planning)
    for key in graph.order:
        planner.plan_dependant(graph.components[key])
    planner.close_for_deleted()
    plans = sorted(planner.plans, key=lambda one: (one.dependant.key, one.group))
    return plans, planning.findings


class _Planner:
    """Collects plans and findings."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self.plans: list[Plan] = []

    def plan_dependant(self, dependant: Component) -> None:
        """The plans of one dependant, by group."""
        groups = triggers_by_group(self._planning, dependant)
        own = own_by_group(self._planning, dependant)
        for group in sorted(groups.keys() | own.keys()):
            self._plan_group(dependant, group, groups.get(group, []), own.get(group, []))

    def _plan_group(self, dependant: Component, group: str, triggers: list[Trigger], own: list[PullRequest]) -> None:
        current = next((one for one in reversed(own) if one.state == "open"), own[-1] if own else None)
        carried = told_by(current.description) if current is not None else None
        if not triggers:
            self._orphan(dependant, group, current, carried)
            return
        desired = desired_digests(self._planning, triggers, carried)
        if current is None or current.state != "open":
            if not is_worth_opening(self._planning, dependant, group, triggers, desired, current, carried):
                return
        elif (
            self._planning.choices.on_closed == "revert"
            and all(one.state == "closed" for one in triggers)
            and not is_correction(own, desired)
        ):
            message = f"{dependant.key}: {named(current)} is closed: all that triggered it is closed unmerged"
            self._planning.tell("info", "S7", message, dependant.key)
            self._add(dependant, group, triggers, {}, current, carried, closed=True)
            return
        self._add(dependant, group, triggers, desired, current, carried, closed=False)

    def _orphan(self, dependant: Component, group: str, own: PullRequest | None, carried: Told | None) -> None:
        """A pull request of ours that nothing triggers any more (R6, R5)."""
        if own is None or own.state != "open" or carried is None:
            return
        gone = {key.name for key in self._planning.graph.deleted}
        if carried.digests and carried.digests.keys() <= gone:
            self._planning.tell(
                "info", "R5", f"{dependant.key}: {named(own)} is closed: its dependencies are deleted", dependant.key
            )
            self._add(dependant, group, [], {}, own, carried, closed=True)
        else:
            message = f"{dependant.key}: nothing triggers {named(own)} any more; it is left open for you to decide"
            self._planning.tell("warning", "R6", message, dependant.key)

    def close_for_deleted(self) -> None:
        """Closes the pull requests of deleted dependants (R5)."""
        for dependant in self._planning.graph.deleted.values():
            for group, own in own_by_group(self._planning, dependant).items():
                for one in own:
                    if one.state == "open":
                        message = f"{dependant.key} is deleted: {named(one)} is closed"
                        self._planning.tell("info", "R5", message, dependant.key)
                        self._add(dependant, group, [], {}, one, told_by(one.description), closed=True)

    def _add(
        self,
        dependant: Component,
        group: str,
        triggers: list[Trigger],
        desired: dict[Key, str],
        own: PullRequest | None,
        carried: Told | None,
        *,
        closed: bool,
    ) -> None:
        waiting = tuple(
            Waiting(one.component, one.pull_request, "merged" if one.state == "open" else "mergeBuild")
            for one in triggers
            if one.state in ("open", "waiting")
        )
        synthetic = tuple(self._synthetic(dependant, triggers)) if not closed else ()
        open_own = own if own is not None and own.state == "open" else None
        branch = open_own.source_branch if open_own is not None else self._branch(dependant, group, triggers)
        digests = tuple(digest_edit(self._planning, key, digest, group, carried) for key, digest in desired.items())
        title, description = description_of(dependant, group, triggers, digests, waiting, synthetic)
        # Where it keeps what will not be merged, it names images that expire.
        expires = self._planning.choices.on_closed == "keep" and all(one.state == "closed" for one in triggers)
        made = Plan(
            dependant,
            group,
            branch,
            open_own.target_branch if open_own is not None else dependant.branch or "main",
            bool(waiting) or (expires and not closed),
            tuple(triggers),
            waiting,
            synthetic,
            digests,
            (),
            title,
            description,
            open_own,
            closed,
        )
        made = replace(made, actions=tuple(actions(made, carried if open_own is not None else None)))
        self.plans.append(made)
        if not closed:
            tell_why(self._planning, made)

    def _branch(self, dependant: Component, group: str, triggers: Iterable[Trigger]) -> str:
        repository = same_repository(dependant.repository)
        taken = {dependant.branch or "main"}
        for one in self._planning.history.of_repository(dependant.repository):
            taken |= {*(one.branches or ()), one.target_branch}
            if one.state == "open":
                taken.add(one.source_branch)
        for trigger in triggers:
            source = trigger.pull_request
            # The branch of a merged one may still be there.
            if source is not None and same_repository(source.repository) == repository:
                taken.add(source.source_branch)
        return branch_for(group, self._planning.suffix(dependant), taken, self._planning.choices.branches.separators)

    def _synthetic(self, dependant: Component, triggers: Iterable[Trigger]) -> Iterator[Synthetic]:
        """R28: what open pull requests in the same repository change in the dependant's directory, each once."""
        seen: set[int] = set()
        for one in triggers:
            pull_request = one.pull_request
            if (
                pull_request is None
                or one.state != "open"
                or pull_request.number in seen
                or same_repository(pull_request.repository) != same_repository(dependant.repository)
            ):
                continue
            seen.add(pull_request.number)
            if pull_request.changed is None:
                message = (
                    f"{dependant.key}: what {named(pull_request)} changes was not observed; if it changes "
                    f"{dependant.context}, that is missing from the branch"
                )
                self._planning.tell("warning", "R28", message, dependant.key)
                continue
            paths = tuple(sorted(path for path in pull_request.changed if touches(dependant.context, [path])))
            if paths:
                yield Synthetic(pull_request, paths)
