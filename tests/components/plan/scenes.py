"""Components in the constellations that plans are tested on.

A letter or digit is an image: the digest `sha256:` with that character 64 times. `parent#1` is a pull request.
"""

from __future__ import annotations

from components.observations import Observations
from krm_merge.components.plan.model import Plan, PlanChoices


def parent(choices: PlanChoices | None = None) -> Observations:
    """A common parent image in one repository, its child in another."""
    made = Observations(choices or PlanChoices())
    made.component("parent")
    made.component("child", "parent", at="c")
    return made


def started(branch: str = "up", choices: PlanChoices | None = None) -> Observations:
    """A pull request of the parent, built, and the one that it triggered."""
    made = parent(choices)
    made.open("parent", branch)
    made.build("parent", "1", 1)
    made.step()
    return made


def operator(*operands: str) -> Observations:
    made = Observations()
    for name in operands:
        made.component(name)
    made.component("bundle", *operands, at="b")
    return made


def monorepo() -> Observations:
    made = Observations()
    made.component("controller", repository="op", context="controller")
    made.component("bundle", "controller", repository="op", context="bundle", at="b")
    return made


def only(made: Observations) -> Plan:
    (one,), _ = made.plan()
    return one
