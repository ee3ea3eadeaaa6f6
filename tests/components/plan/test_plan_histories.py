"""Plans after months of use: several groups, merges out of order, builds that queue, are lost or made again."""

from __future__ import annotations

from dataclasses import replace

from components.observations import Observations, brief, digest
from components.plan.scenes import operator, parent, started
from krm_merge.components.plan.model import PlanChoices


def settled(made: Observations) -> list[str]:
    """The plans when all that can be done is done."""
    for _ in range(4):
        made.carry_out(made.plan()[0])
    plans, _ = made.plan()
    assert [one.actions for one in plans if one.actions] == []
    return [brief(one) for one in plans]


def two_in_one_repository() -> Observations:
    made = Observations()
    for name in ("a", "b"):
        made.component(name, repository="op", context=name)
    made.component("child", "a", "b")
    return made


def test_a_pull_request_is_of_what_it_was_built_as() -> None:
    """R30, R31: what one of two Components of a repository was never built from keeps nothing waiting."""
    made = two_in_one_repository()
    made.open("op", "f/1")
    made.build("a", "1", 1)
    made.step()
    made.open("op", "f/2")
    made.build("b", "2", 2)
    made.carry_out(made.plan()[0])
    made.merged("b", 2, "8")
    made.merged("a", 1, "9")
    assert settled(made) == ["f/child ready a=9,b=8 []"]


def test_other_components_of_the_repository_bring_nothing() -> None:
    """R32: builds of other pushes do not count as the build of a merge."""
    made = two_in_one_repository()
    made.open("op", "f", ["a/x"])
    made.build("a", "1", 1)
    made.step()
    made.merged("a", 1, "7")
    made.edit("op", 1, merged_at="2024-01-01T00:00:00Z")
    assert made.step()[0] == ["f/child ready a=7 [addCommit rebase describe undraft]"]
    made.open("op", "g")
    made.build("b", "2", 2)
    made.merged("b", 2, "9")
    assert settled(made) == ["f/child ready a=7 []", "g/child ready b=9 []"]


def test_builds_that_queue() -> None:
    """R30, I10: the build of an earlier merge holds no later one, whenever it starts."""
    made = parent()
    for number in (1, 2):
        made.open("parent", f"f{number}")
        made.build("parent", str(number), number)
    made.step()
    for number in (1, 2):
        made.merge("parent", number)
        made.edit("parent", number, merged_at=f"2024-01-01T00:00:{made.clock:02}Z")
    made.push("parent", "8", 1)
    assert settled(made)[1] == "f2/child draft parent=2 [] until parent#2 mergeBuild"
    made.push("parent", "9", 2)
    assert settled(made) == ["f1/child ready parent=9 []"]  # it has both, and the other one is closed (C12)


def another_group(made: Observations) -> None:
    """Another pull request of the parent, built, merged and brought."""
    made.open("parent", "other")
    made.build("parent", "2", 2)
    made.step()
    made.merged("parent", 2, "8")
    made.step()
    made.merged("child", 2, "e")
    made.step()


def test_s8_and_another_group_comes_between() -> None:
    """R34: what was merged too early is brought all the same."""
    made = started()
    made.merged("child", 1, "d")
    made.step()
    another_group(made)
    made.merged("parent", 1, "9")
    assert made.step()[0] == ["up/child ready parent=9 [create]"]


def test_s8_the_last_merge_counts() -> None:
    """R34: not the last pull request."""
    made = started()
    another_group(made)
    made.merged("child", 1, "f")
    for number, at in ((2, "2024-01-01T01:00:00Z"), (1, "2024-01-01T02:00:00Z")):
        made.edit("child", number, merged_at=at)
    made.step()
    made.close("parent", 1)
    assert made.step()[0] == ["up/child ready parent=8 [create]"]


def test_a_merge_is_built_again() -> None:
    """I12, R21: for a new base image, say; the group of the merge is over, so it is nobody's."""
    made = started()
    made.merged("parent", 1, "9")
    made.step()
    made.merged("child", 1, "e")
    made.step()
    made.build("parent", "a", 0, "push", revision=made.pulls["parent", 1].merge_commit)
    assert made.step()[0] == ["component-update-parent/child ready parent=a [create]"]
    made.merged("child", 2, "f")
    assert made.step()[0] == []


def test_what_we_closed_was_not_closed_by_hand() -> None:
    """C12, R34: after another group brought it, a new build of the merge is brought, too."""
    made = started()
    made.open("parent", "other")
    made.build("parent", "2", 2)
    made.step()
    made.merged("parent", 1, "8")
    made.merged("parent", 2, "9")
    made.step()
    made.merged("child", 1, "d")
    assert made.step() == ([], "")
    made.build("parent", "a", 0, "push", revision=made.pulls["parent", 2].merge_commit)
    assert [one.partition(" [")[0] for one in made.step()[0]] == ["other/child ready parent=a"]


def test_kept_digests_keep_it_a_draft() -> None:
    """R30: with onClosed: keep, one image that expires is enough."""
    made = operator("op1", "op2")
    made.choices = PlanChoices(on_closed="keep")
    for name, letter in (("op1", "1"), ("op2", "2")):
        made.open(name, "f")
        made.build(name, letter, 1)
    made.step()
    made.close("op1", 1)
    made.step()
    made.merged("op2", 1, "9")
    assert made.step()[0] == ["f/bundle draft op1=1,op2=9 [addCommit rebase describe]"]
    (told,) = [one.description for one in made.pulls.values() if one.title.startswith("Update")]
    assert "Some of its triggers were closed without a merge" in told


def test_the_build_of_a_push_is_gone() -> None:
    """I12, R6: the Component still tells of it."""
    made = parent()
    made.push("parent", "1")
    made.step()
    made.components["parent"] = replace(made.components["parent"], digest=digest("1"), commit=made.builds[-1].revision)
    made.builds.clear()
    assert made.step() == (["component-update-parent/child ready parent=1 []"], "R22")


def test_planned_ones_do_not_wait_for_each_other() -> None:
    """R20, R30: what is built beside another dependant's digests is no news."""
    made = Observations()
    made.component("controller", repository="op", context=".")
    for name in ("bundle", "catalog"):
        made.component(name, "controller", repository="op", context=name)
    made.open("op", "f", ["x.go", "bundle/x", "catalog/x"])
    made.build("controller", "1", 1)
    made.step()
    for number, letter in ((2, "2"), (3, "3")):
        made.build("controller", letter, number)
    made.step()
    made.merged("controller", 1, "9")
    assert [one.partition(" [")[0] for one in settled(made)] == [
        "f@bundle ready controller=9",
        "f@catalog ready controller=9",
    ]


def test_suffixes_of_several_branches() -> None:
    """I17: what is built from another branch has a branch of its own, whatever else there is."""
    made = Observations(PlanChoices(suffix="repository"))
    made.component("p")
    for name, branch in (("c1", "v1"), ("c2", "v2/x")):
        made.component(name, "p", repository="c")
        made.components[name] = replace(made.components[name], branch=branch)
    made.open("p", "f")
    made.build("p", "2", 1)
    made.step()
    made.component("b", "p", repository="c")
    made.carry_out(made.plan()[0])
    plans, _ = made.plan()
    assert {one.branch: one.base for one in plans} == {"f/c": "main", "f/c-v1": "v1", "f/c-v2-x": "v2/x"}
    assert not any(one.actions for one in plans)


def test_a_push_of_what_nobody_observed_is_told() -> None:
    """C3, R21."""
    made = parent()
    made.push("parent", "1", 7)
    assert made.step() == ([], "R21")
