"""Components in the constellations that plans are tested on.

A letter or digit is an image: the digest `sha256:` with that character 64 times. `parent#1` is a pull request.
"""

from __future__ import annotations

from components.observations import Observations
from krm_merge.components.graph import BranchNames
from krm_merge.components.plan.model import Plan


def parent(branches: BranchNames | None = None) -> Observations:
    """A common parent image in one repository, its child in another."""
    state = Observations(branches or BranchNames())
    state.component("parent")
    state.component("child", "parent", at="c")
    return state


def updating(branch: str = "up", branches: BranchNames | None = None) -> Observations:
    """A pull request of the parent, built, and the one that it triggered."""
    state = parent(branches)
    state.open("parent", branch)
    state.build("parent", "1", 1)
    state.step()
    return state


def operator(*operands: str) -> Observations:
    state = Observations()
    for name in operands:
        state.component(name)
    state.component("bundle", *operands, at="b")
    return state


def monorepo() -> Observations:
    state = Observations()
    state.component("controller", repository="op", context="controller")
    state.component("bundle", "controller", repository="op", context="bundle", at="b")
    return state


def only(state: Observations) -> Plan:
    (plan,), _ = state.plan()
    return plan
