"""Compares an observed pull request with its plan: the actions that are missing, and the findings about them."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.components.graph.groups import branch_names
from krm_merge.components.plan.description import DescribedState, is_described, parse_description
from krm_merge.components.plan.model import Action, Plan, Waiting
from krm_merge.components.plan.planning import Planning, named

_STEPS_ON = frozenset((("open", "waiting"), ("open", "done"), ("waiting", "done")))


def actions(made: Plan, carried: DescribedState | None) -> Iterator[Action]:
    """The actions that update the pull request to the plan. Marking it ready starts builds, without a comment (I18)."""
    own = made.own
    if own is None:
        yield "create"
        return
    planned = parse_description(made.description)
    assert planned is not None
    before = carried or DescribedState({}, {}, {})
    # R23: a trigger was merged or built since.
    merged_since = any((before.triggers.get(name), state) in _STEPS_ON for name, state in planned.triggers.items())
    if planned.synthetic != before.synthetic or before.digests.keys() - planned.digests.keys():
        # A further commit cannot remove what earlier commits added.
        yield "regenerate"
    elif planned.digests != before.digests:
        yield "addCommit"
    if merged_since and planned.synthetic == before.synthetic:
        yield "rebase"
    if own.title != made.title or not is_described(own.description, made.description):
        yield "describe"
    # I9: the planned pull request becomes ready, not the one that triggered it.
    if own.draft != made.draft:
        yield "draft" if made.draft else "undraft"


def report_reasons(planning: Planning, made: Plan) -> None:
    """Reports the digests of a pull request, and what it waits for."""
    key, of_whom = made.target.key, made.target
    what = f"{named(made.own)}" if made.own is not None else f"a pull request from {made.branch}"
    updates = ", ".join(f"{edit.component.name} {edit.digest[:19]}" for edit in made.digests) or "nothing"
    planning.report("info", "R21" if made.own is None else "R22", f"{of_whom}: {what} updates {updates}", key)
    if made.waiting:
        waits = ", ".join(dict.fromkeys(_waits(one) for one in made.waiting))
        planning.report("info", "R27", f"{of_whom}: {what} stays a draft until {waits}", key)
    elif made.own is not None and made.own.draft and not made.draft:
        planning.report("info", "R30", f"{of_whom}: {what} is ready: all that triggered it is merged and built", key)
    if made.own is None and made.branch == branch_names(made.group, "")[1] + made.target.suffix:
        message = f"{of_whom}: the branch is {made.branch}: git allows no {made.group}/… beside {made.group}"
        planning.report("info", "I5", message, key)


def _waits(one: Waiting) -> str:
    what = named(one.pull_request) if one.pull_request is not None else str(one.component)
    return f"{what} is merged" if one.until == "merged" else f"the merge of {what} is built as {one.component.name}"
