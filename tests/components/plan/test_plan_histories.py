"""Plans after months of use: several groups, merges out of order, builds that queue, are lost or made again."""

from __future__ import annotations

from dataclasses import replace

from components.observations import Observations, brief, digest
from components.plan.scenes import parent, updating


def settle(state: Observations) -> list[str]:
    """The plans when all that can be done is done."""
    for _ in range(4):
        state.carry_out(state.plan()[0])
    plans, _ = state.plan()
    assert [plan.actions for plan in plans if plan.actions] == []
    return [brief(plan) for plan in plans]


def two_in_one_repository() -> Observations:
    state = Observations()
    for name in ("a", "b"):
        state.component(name, repository="op", context=name)
    state.component("child", "a", "b")
    return state


def test_a_pull_request_is_of_what_it_was_built_as() -> None:
    """CR30, CR31: what one of two Components of a repository was never built from keeps nothing waiting."""
    state = two_in_one_repository()
    state.open("op", "f/1")
    state.build("a", "1", 1)
    state.step()
    state.open("op", "f/2")
    state.build("b", "2", 2)
    state.carry_out(state.plan()[0])
    state.merge_and_build("b", 2, "8")
    state.merge_and_build("a", 1, "9")
    assert settle(state) == ["f/child ready a=9,b=8 []"]


def test_other_components_of_the_repository_bring_nothing() -> None:
    """CR32: builds of other pushes do not count as the build of a merge."""
    state = two_in_one_repository()
    state.open("op", "f", ["a/x"])
    state.build("a", "1", 1)
    state.step()
    state.merge_and_build("a", 1, "7")
    state.edit("op", 1, merged_at="2024-01-01T00:00:00Z")
    assert state.step()[0] == ["f/child ready a=7 [addCommit rebase describe undraft]"]
    state.open("op", "g")
    state.build("b", "2", 2)
    state.merge_and_build("b", 2, "9")
    assert settle(state) == ["f/child ready a=7 []", "g/child ready b=9 []"]


def test_builds_that_queue() -> None:
    """CR30, I10: the build of an earlier merge holds no later one, whenever it starts."""
    state = parent()
    for number in (1, 2):
        state.open("parent", f"f{number}")
        state.build("parent", str(number), number)
    state.step()
    for number in (1, 2):
        state.merge("parent", number)
        state.edit("parent", number, merged_at=f"2024-01-01T00:00:{state.clock:02}Z")
    state.push("parent", "8", 1)
    assert settle(state)[1] == "f2/child draft parent=2 [] until parent#2 mergeBuild"
    state.push("parent", "9", 2)
    assert settle(state) == ["f1/child ready parent=9 []"]  # it has both, and the other one is closed (C12)


def another_group(state: Observations) -> None:
    """Another pull request of the parent, built, merged and brought."""
    state.open("parent", "other")
    state.build("parent", "2", 2)
    state.step()
    state.merge_and_build("parent", 2, "8")
    state.step()
    state.merge_and_build("child", 2, "e")
    state.step()


def test_s8_and_another_group_comes_between() -> None:
    """CR34: what was merged too early is brought all the same."""
    state = updating()
    state.merge_and_build("child", 1, "d")
    state.step()
    another_group(state)
    state.merge_and_build("parent", 1, "9")
    assert state.step()[0] == ["up/child ready parent=9 [create]"]


def test_s8_the_last_merge_counts() -> None:
    """CR34: not the last pull request."""
    state = updating()
    another_group(state)
    state.merge_and_build("child", 1, "f")
    for number, at in ((2, "2024-01-01T01:00:00Z"), (1, "2024-01-01T02:00:00Z")):
        state.edit("child", number, merged_at=at)
    state.step()
    state.close("parent", 1)
    assert state.step()[0] == ["up/child ready parent=8 [create]"]


def test_a_merge_is_built_again() -> None:
    """I12, CR21: for a new base image, say; the group of the merge is over, so it is nobody's."""
    state = updating()
    state.merge_and_build("parent", 1, "9")
    state.step()
    state.merge_and_build("child", 1, "e")
    state.step()
    state.build("parent", "a", 0, "push", revision=state.pulls["parent", 1].merge_commit)
    assert state.step()[0] == ["component-update-parent/child ready parent=a [create]"]
    state.merge_and_build("child", 2, "f")
    assert state.step()[0] == []


def test_what_we_closed_was_not_closed_by_hand() -> None:
    """C12, CR34: after another group brought it, a new build of the merge is brought, too."""
    state = updating()
    state.open("parent", "other")
    state.build("parent", "2", 2)
    state.step()
    state.merge_and_build("parent", 1, "8")
    state.merge_and_build("parent", 2, "9")
    state.step()
    state.merge_and_build("child", 1, "d")
    assert state.step() == ([], "")
    state.build("parent", "a", 0, "push", revision=state.pulls["parent", 2].merge_commit)
    assert [line.partition(" [")[0] for line in state.step()[0]] == ["other/child ready parent=a"]


def test_the_build_of_a_push_is_gone() -> None:
    """I12, CR6: the Component still tells of it."""
    state = parent()
    state.push("parent", "1")
    state.step()
    state.components["parent"] = replace(
        state.components["parent"], digest=digest("1"), commit=state.builds[-1].revision
    )
    state.builds.clear()
    assert state.step() == (["component-update-parent/child ready parent=1 []"], "CR22")


def test_planned_ones_do_not_wait_for_each_other() -> None:
    """CR20, CR30: what is built beside another dependant's digests is no news."""
    state = Observations()
    state.component("controller", repository="op", context=".")
    for name in ("bundle", "catalog"):
        state.component(name, "controller", repository="op", context=name)
    state.open("op", "f", ["x.go", "bundle/x", "catalog/x"])
    state.build("controller", "1", 1)
    state.step()
    for number, letter in ((2, "2"), (3, "3")):
        state.build("controller", letter, number)
    state.step()
    state.merge_and_build("controller", 1, "9")
    assert [line.partition(" [")[0] for line in settle(state)] == [
        "f@bundle ready controller=9",
        "f@catalog ready controller=9",
    ]
