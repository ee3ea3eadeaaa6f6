"""Plans: what follows after a start that is the same for all cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from components.observations import Observations, brief, digest
from components.plan.scenes import only, started
from krm_merge.components.graph import component_of
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.plan.model import PlanChoices

# --- What else is expected -----------------------------------------------------------------------------------------


def branch_is_used_again(made: Observations) -> None:
    made.merged("parent", 1, "9")
    made.step()
    made.merged("child", 1, "d")
    number = made.open("parent", "up")
    made.build("parent", "2", number)
    assert made.step() == (["up/child draft parent=2 [create] until parent#2 merged"], "R21 R27")


def closed_by_us(made: Observations) -> None:
    made.close("parent", 1)
    made.step()
    assert made.step() == ([], "")


def branch_is_used_again_after_it_was_closed(made: Observations) -> None:
    made.close("parent", 1)
    made.step()
    number = made.open("parent", "up")
    made.build("parent", "2", number)
    assert made.step()[0] == ["up/child draft parent=2 [create] until parent#2 merged"]


def one_dependency_is_deleted(made: Observations) -> None:
    made.component("op")
    made.component("child", "parent", "op", at="c")
    made.open("op", "up")
    made.build("op", "2", 1)
    made.step()
    made.removed.append("op")
    plans, _ = made.plan()
    assert [brief(one) for one in plans] == ["up/child draft parent=1 [regenerate describe] until parent#1 merged"]


def pushes_go_on_with_a_merge(made: Observations) -> None:
    made.close("parent", 1)
    made.step()
    made.push("parent", "2")
    made.step()
    number = made.open("parent", "other")
    made.build("parent", "3", number)
    made.merged("parent", number, "4")
    assert "R6" not in made.step()[1]


def merged_without_a_number(made: Observations) -> None:
    number = made.open("parent", "other")
    made.merge("parent", number)
    made.build("parent", "4", 0, "push", revision=made.pulls["parent", number].merge_commit)
    made.close("parent", 1)
    assert "other/child ready parent=4 [create]" in made.step()[0]


def observed_twice(made: Observations) -> None:
    made.pulls["again", 1] = made.pulls["parent", 1]
    made.merge("parent", 1)
    made.plan()


def two_share_a_branch(made: Observations) -> None:
    made.choices = PlanChoices(suffix="repository")
    made.component("child", "parent", repository="child", context="one")
    made.component("child2", "parent", "other", repository="child", context="two")
    made.component("other")
    made.build("parent", "2", 1)
    made.open("other", "up")
    made.build("other", "3", 1)
    waits = "until other#1 merged, parent#1 merged"
    assert made.step()[0] == [f"up/child draft other=3,parent=2 [addCommit describe] {waits}"]
    assert [one.key.name for one in only(made).target.dependants] == ["child", "child2"]
    assert only(made).target.contexts == ("one", "two")


def those_of_a_chain_share_none(made: Observations) -> None:
    made.choices = PlanChoices(suffix="repository")
    made.component("between", "child")
    made.component("behind", "between", repository="child")
    plans, findings = made.plan()
    assert [one.branch for one in plans] == ["up/child"]
    assert "I17" in {one.rule for one in findings}
    made.build("child", "2", 1)
    made.step()
    made.build("between", "3", 1)
    assert [one.branch for one in made.plan()[0]] == ["up/behind", "up/between", "up/child"]


def two_namespaces_build_one_repository(made: Observations) -> None:
    for name in ("parent", "child"):
        found = made.components[name]
        names = tuple(found.depends_on)
        made.components[f"other/{name}"] = replace(found, key=ComponentKey("zoo", name), depends_on=names)
    made.builds += [replace(one, component=ComponentKey("zoo", one.component.name)) for one in made.builds]
    assert made.step()[0][1:] == ["up/child-zoo draft parent=1 [create] until parent#1 merged"]


def old_groups_stay_done(made: Observations) -> None:
    made.merged("parent", 1, "9")
    made.step()
    made.merged("child", 1, "d")
    number = made.open("parent", "other")
    made.merged("parent", number, "a")
    assert made.step()[0] == ["other/child ready parent=a [create]"]
    made.merged("child", 2, "e")
    for letter in "34":
        made.push("parent", letter)
        assert [one.partition(" ")[0] for one in made.step()[0]] == ["component-update-parent/child"]


def what_was_taken_back_stays_so(made: Observations) -> None:
    made.merged("child", 1, "d")
    made.close("parent", 1)
    made.step()
    made.merged("child", 2, "e")
    made.push("parent", "5")
    assert made.step()[0] == ["component-update-parent/child ready parent=5 [create]"]


def another_group_brought_it(made: Observations) -> None:
    number = made.open("parent", "other")
    made.build("parent", "2", number)
    made.step()
    made.merged("parent", 1, "8")
    made.merged("parent", number, "9")
    for own in (1, 2):  # else one would be closed at once (C12)
        made.edit("child", own, user_commits=True)
    assert [one.partition(" [")[0] for one in made.step()[0]] == [
        "other/child ready parent=9",
        "up/child ready parent=9",
    ]
    made.edit("child", 1, user_commits=False)
    made.merged("child", 2, "d")
    assert made.step() == (["up/child closed  [close]"], "R22")
    assert "Closed: child#2 has all of its digests." in made.pulls["child", 1].description
    assert made.step() == ([], "")


def with_commits_of_people_it_stays(made: Observations) -> None:
    number = made.open("parent", "other")
    made.build("parent", "2", number)
    made.step()
    made.merged("parent", 1, "8")
    made.merged("parent", number, "9")
    made.step()
    made.edit("child", 1, user_commits=True)
    made.merged("child", 2, "d")
    assert made.step()[0] == ["up/child ready parent=9 []"]


def builds_are_not_kept(made: Observations) -> None:
    made.builds.clear()
    assert made.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]
    made.merge("parent", 1)
    assert made.step()[0] == ["up/child draft parent=1 [rebase describe] until parent#1 mergeBuild"]
    promoted = replace(made.components["parent"], digest=digest("9"), commit=made.pulls["parent", 1].merge_commit)
    made.components["parent"] = promoted
    assert made.step()[0] == ["up/child ready parent=9 [addCommit rebase describe undraft]"]
    made.merge("child", 1)
    assert made.step() == ([], "")


def what_was_built_once_stays_so(made: Observations) -> None:
    made.merged("parent", 1, "9")
    made.step()
    made.builds.clear()
    made.components["parent"] = replace(made.components["parent"], digest=digest("a"))
    assert made.step()[0] == ["up/child ready parent=a [addCommit describe]"]


def a_later_push_is_known_by_its_time(made: Observations) -> None:
    made.merge("parent", 1)
    made.edit("parent", 1, merged_at="2024-01-01T00:00:30Z")
    made.push("parent", "8")
    assert "until parent#1 mergeBuild" in made.step()[0][-1]
    made.clock = 40
    made.push("parent", "9")
    assert "up/child ready parent=9 [addCommit rebase describe undraft]" in made.step()[0]


def one_is_built_as_two(made: Observations) -> None:
    made.component("second", repository="parent", context="second")
    made.component("child", "parent", "second", at="c")
    made.build("second", "2", 1)
    assert "up/child draft parent=1,second=2" in made.step()[0][0]
    (told,) = [one.message for one in made.plan()[1] if one.rule == "R27"]
    assert told.count("parent#1 is merged") == 1
    made.merged("parent", 1, "8")
    made.step()
    text = made.pulls["child", 1].description
    assert text.count("acme/parent#1 (") == 1
    assert "acme/parent#1 (waiting)" in text
    assert "Merge it when the merge of acme/parent#1 is built" in text


def a_head_that_nobody_observed(made: Observations) -> None:
    made.component("near", "parent", repository="parent", context="near")
    made.edit("parent", 1, head="", changed=("near/x",))
    assert "R28" in {one.rule for one in made.plan()[1]}
    assert not any(one.synthetic for one in made.plan()[0])


def the_name_of_a_dependency_separates_nothing(made: Observations) -> None:
    number = made.open("parent", "wip@parent")
    made.build("parent", "2", number)
    assert "wip@parent/child" in [one.branch for one in made.plan()[0]]


def builds_of_what_nobody_observed(made: Observations) -> None:
    del made.pulls["parent", 1]
    made.builds = [replace(one, pull_request=7) for one in made.builds]
    (told,) = [one.message for one in made.plan()[1] if one.rule == "R21"]
    assert told.startswith("team/parent: builds of #7 trigger nothing: there is no PullRequest of that number")


def closed_by_hand_before_the_merge(made: Observations) -> None:
    made.close("child", 1)
    made.merged("parent", 1, "9")
    assert made.step() == ([], "R34")
    number = made.open("parent", "other")
    made.merged("parent", number, "a")
    assert made.step() == (["other/child ready parent=a [create]"], "R21 R30")


def reopened_after_its_end(made: Observations) -> None:
    made.close("parent", 1)
    made.step()
    made.edit("parent", 1, state="open")
    assert made.step()[0] == ["up/child draft parent=1 [create] until parent#1 merged"]


def a_branch_ends_as_ours(made: Observations) -> None:
    made.component("controller", repository="op", context="controller")
    made.component("bundle", "controller", repository="op", context="bundle")
    number = made.open("op", "f/bundle", ["controller/x"])
    made.build("controller", "2", number)
    assert any(component_of(one).name == "bundle" for one in made.plan()[1])


def closing_opens_nothing(made: Observations) -> None:
    made.component("grandchild", "child")
    made.build("child", "2", 1)
    made.close("parent", 1)
    assert made.step()[0] == ["up/child closed  [close]"]


def kept_stays_a_draft(made: Observations) -> None:
    made.choices = PlanChoices(on_closed="keep")
    made.close("parent", 1)
    plans, findings = made.plan()
    assert plans[0].draft
    assert not [one.message for one in findings if "is ready" in one.message]


def a_later_push_contains_it(made: Observations) -> None:
    made.merge("parent", 1)
    made.build("parent", "", 1, "push", "failed")
    number = made.open("parent", "other")
    made.merged("parent", number, "9")
    assert "up/child ready parent=9 [addCommit rebase describe undraft]" in made.step()[0]


# What is played, and the rule.
PLAYS: list[tuple[Callable[[Observations], None], str]] = [
    (branch_is_used_again, "R34: nothing is out of order where a branch is used again"),
    (closed_by_us, "S7: what we closed is not closed by hand"),
    (branch_is_used_again_after_it_was_closed, "R21: what never triggered the closed one gets another"),
    (one_dependency_is_deleted, "R5: its digest is taken out of the branch"),
    (pushes_go_on_with_a_merge, "I12, R6: a pull request for pushes is not orphaned by a merge"),
    (merged_without_a_number, "R20, R30: a push is of a merge also where only its commit says so"),
    (observed_twice, "a late observation does not undo a merge"),
    (kept_stays_a_draft, "R30, C3: what stays a draft is not told to leave it"),
    (closing_opens_nothing, "S7: nothing is opened for what the same plan closes"),
    (two_share_a_branch, "I17: two dependants on one branch do not undo each other's work"),
    (a_branch_ends_as_ours, "C3: an omission is told"),
    (a_later_push_contains_it, "R30, I10: a later push brings what an earlier one failed to"),
    (those_of_a_chain_share_none, "I17: one branch cannot be on both sides of a merge"),
    (two_namespaces_build_one_repository, "R4, I17: their pull requests are told apart"),
    (old_groups_stay_done, "R21: what is merged is not opened again for newer digests"),
    (what_was_taken_back_stays_so, "R34: and is not taken back again"),
    (another_group_brought_it, "R22: what another pull request brought is closed"),
    (with_commits_of_people_it_stays, "R22: but not with commits of people"),
    (builds_are_not_kept, "R21, R30: then the description and the Component tell of them"),
    (what_was_built_once_stays_so, "R30: it does not become a draft when the build is gone"),
    (a_later_push_is_known_by_its_time, "R30, I10: also where the build of the merge is gone"),
    (one_is_built_as_two, "R27, C3: told once"),
    (a_head_that_nobody_observed, "R28: what cannot be copied is told"),
    (the_name_of_a_dependency_separates_nothing, "C2: only dependants have branches"),
    (builds_of_what_nobody_observed, "C3, R21: that is told"),
    (closed_by_hand_before_the_merge, "R34: it stays closed, and other groups go on"),
    (reopened_after_its_end, "S7, R21: what is reopened triggers again"),
]


@pytest.mark.parametrize("play", [pytest.param(play, id=f"{play.__name__}: {rule}") for play, rule in PLAYS])
def test_afterwards(play: Callable[[Observations], None]) -> None:
    """C3, C9, I6, I10, I12, I17, R5, R20 to R22, R30, R34, S7: what each row names, after `started`."""
    play(started())
