"""Plans: what follows after a start that is the same for all cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from components.observations import Observations, brief, digest
from components.plan.scenes import updating
from krm_merge.components.graph import component_of
from krm_merge.components.konflux.model import ComponentKey

# --- What else is expected -----------------------------------------------------------------------------------------


def branch_is_used_again(state: Observations) -> None:
    state.merge_and_build("parent", 1, "9")
    state.step()
    state.merge_and_build("child", 1, "d")
    number = state.open("parent", "up")
    state.build("parent", "2", number)
    assert state.step() == (["up/child draft parent=2 [create] until parent#2 merged"], "CR21 CR27")


def branch_is_used_again_after_it_was_closed(state: Observations) -> None:
    state.close("parent", 1)
    state.step()
    number = state.open("parent", "up")
    state.build("parent", "2", number)
    assert state.step()[0] == ["up/child draft parent=2 [create] until parent#2 merged"]


def one_dependency_is_deleted(state: Observations) -> None:
    state.component("op")
    state.component("child", "parent", "op", at="c")
    state.open("op", "up")
    state.build("op", "2", 1)
    state.step()
    state.removed.append("op")
    plans, _ = state.plan()
    assert [brief(plan) for plan in plans] == ["up/child draft parent=1 [regenerate describe] until parent#1 merged"]


def pushes_go_on_with_a_merge(state: Observations) -> None:
    state.close("parent", 1)
    state.step()
    state.push("parent", "2")
    state.step()
    number = state.open("parent", "other")
    state.build("parent", "3", number)
    state.merge_and_build("parent", number, "4")
    assert "CR6" not in state.step()[1]


def merged_without_a_number(state: Observations) -> None:
    number = state.open("parent", "other")
    state.merge("parent", number)
    state.build("parent", "4", 0, "push", revision=state.pulls["parent", number].merge_commit)
    state.close("parent", 1)
    assert "other/child ready parent=4 [create]" in state.step()[0]


def two_namespaces_build_one_repository(state: Observations) -> None:
    for name in ("parent", "child"):
        component = state.components[name]
        names = tuple(component.depends_on)
        state.components[f"other/{name}"] = replace(component, key=ComponentKey("zoo", name), depends_on=names)
    state.builds += [replace(build, component=ComponentKey("zoo", build.component.name)) for build in state.builds]
    assert state.step()[0][1:] == ["up/child-zoo draft parent=1 [create] until parent#1 merged"]


def old_groups_stay_done(state: Observations) -> None:
    state.merge_and_build("parent", 1, "9")
    state.step()
    state.merge_and_build("child", 1, "d")
    number = state.open("parent", "other")
    state.merge_and_build("parent", number, "a")
    assert state.step()[0] == ["other/child ready parent=a [create]"]
    state.merge_and_build("child", 2, "e")
    for letter in "34":
        state.push("parent", letter)
        assert [line.partition(" ")[0] for line in state.step()[0]] == ["component-update-parent/child"]


def what_was_taken_back_stays_so(state: Observations) -> None:
    state.merge_and_build("child", 1, "d")
    state.close("parent", 1)
    state.step()
    state.merge_and_build("child", 2, "e")
    state.push("parent", "5")
    assert state.step()[0] == ["component-update-parent/child ready parent=5 [create]"]


def another_group_brought_it(state: Observations) -> None:
    number = state.open("parent", "other")
    state.build("parent", "2", number)
    state.step()
    state.merge_and_build("parent", 1, "8")
    state.merge_and_build("parent", number, "9")
    for change in (1, 2):  # else one would be closed at once (C12)
        state.edit("child", change, user_commits=True)
    assert [line.partition(" [")[0] for line in state.step()[0]] == [
        "other/child ready parent=9",
        "up/child ready parent=9",
    ]
    state.edit("child", 1, user_commits=False)
    state.merge_and_build("child", 2, "d")
    assert state.step() == (["up/child closed  [close]"], "CR22")
    assert "Closed: child#2 has all of its digests." in state.pulls["child", 1].body
    assert state.step() == ([], "")


def with_commits_of_people_it_stays(state: Observations) -> None:
    number = state.open("parent", "other")
    state.build("parent", "2", number)
    state.step()
    state.merge_and_build("parent", 1, "8")
    state.merge_and_build("parent", number, "9")
    state.step()
    state.edit("child", 1, user_commits=True)
    state.merge_and_build("child", 2, "d")
    assert state.step()[0] == ["up/child ready parent=9 []"]


def builds_are_not_kept(state: Observations) -> None:
    state.builds.clear()
    assert state.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]
    state.merge("parent", 1)
    assert state.step()[0] == ["up/child draft parent=1 [rebase describe] until parent#1 mergeBuild"]
    promoted = replace(state.components["parent"], digest=digest("9"), commit=state.pulls["parent", 1].merge_commit)
    state.components["parent"] = promoted
    assert state.step()[0] == ["up/child ready parent=9 [addCommit rebase describe undraft]"]
    state.merge("child", 1)
    assert state.step() == ([], "")


def what_was_built_once_stays_so(state: Observations) -> None:
    state.merge_and_build("parent", 1, "9")
    state.step()
    state.builds.clear()
    state.components["parent"] = replace(state.components["parent"], digest=digest("a"))
    assert state.step()[0] == ["up/child ready parent=a [addCommit describe]"]


def a_later_push_is_known_by_its_time(state: Observations) -> None:
    state.merge("parent", 1)
    state.edit("parent", 1, merged_at="2024-01-01T00:00:30Z")
    state.push("parent", "8")
    assert "until parent#1 mergeBuild" in state.step()[0][-1]
    state.clock = 40
    state.push("parent", "9")
    assert "up/child ready parent=9 [addCommit rebase describe undraft]" in state.step()[0]


def one_is_built_as_two(state: Observations) -> None:
    state.component("second", repository="parent", context="second")
    state.component("child", "parent", "second", at="c")
    state.build("second", "2", 1)
    assert "up/child draft parent=1,second=2" in state.step()[0][0]
    (message,) = [finding.message for finding in state.plan()[1] if finding.rule == "CR27"]
    assert message.count("parent#1 is merged") == 1
    state.merge_and_build("parent", 1, "8")
    state.step()
    text = state.pulls["child", 1].body
    assert text.count("acme/parent#1 (") == 1
    assert "acme/parent#1 (waiting)" in text
    assert "Merge it when the merge of acme/parent#1 is built" in text


def a_head_that_nobody_observed(state: Observations) -> None:
    state.component("near", "parent", repository="parent", context="near")
    state.edit("parent", 1, head="", changed=("near/x",))
    assert "CR28" in {finding.rule for finding in state.plan()[1]}
    assert not any(plan.synthetic for plan in state.plan()[0])


def the_name_of_a_dependency_separates_nothing(state: Observations) -> None:
    number = state.open("parent", "wip@parent")
    state.build("parent", "2", number)
    assert "wip@parent/child" in [plan.branch for plan in state.plan()[0]]


def builds_of_what_nobody_observed(state: Observations) -> None:
    del state.pulls["parent", 1]
    state.builds = [replace(build, pull_request=7) for build in state.builds]
    (message,) = [finding.message for finding in state.plan()[1] if finding.rule == "CR21"]
    assert message.startswith("builds of #7 trigger nothing: there is no PullRequest of that number")


def closed_by_hand_before_the_merge(state: Observations) -> None:
    state.close("child", 1)
    state.merge_and_build("parent", 1, "9")
    assert state.step() == ([], "CR34")
    number = state.open("parent", "other")
    state.merge_and_build("parent", number, "a")
    assert state.step() == (["other/child ready parent=a [create]"], "CR21 CR30")


def reopened_after_its_end(state: Observations) -> None:
    state.close("parent", 1)
    state.step()
    state.edit("parent", 1, state="open")
    assert state.step()[0] == ["up/child draft parent=1 [create] until parent#1 merged"]


def a_branch_ends_as_ours(state: Observations) -> None:
    state.component("controller", repository="op", context="controller")
    state.component("bundle", "controller", repository="op", context="bundle")
    number = state.open("op", "f/bundle", ["controller/x"])
    state.build("controller", "2", number)
    assert any(component_of(finding).name == "bundle" for finding in state.plan()[1])


def closing_opens_nothing(state: Observations) -> None:
    state.component("grandchild", "child")
    state.build("child", "2", 1)
    state.close("parent", 1)
    assert state.step()[0] == ["up/child closed  [close]"]


def a_later_push_contains_it(state: Observations) -> None:
    state.merge("parent", 1)
    state.build("parent", "", 1, "push", "failed")
    number = state.open("parent", "other")
    state.merge_and_build("parent", number, "9")
    assert "up/child ready parent=9 [addCommit rebase describe undraft]" in state.step()[0]


# What is played, and the rule.
PLAYS: list[tuple[Callable[[Observations], None], str]] = [
    (branch_is_used_again, "CR34: nothing is out of order where a branch is used again"),
    (branch_is_used_again_after_it_was_closed, "CR21: what never triggered the closed one gets another"),
    (one_dependency_is_deleted, "CR5: its digest is taken out of the branch"),
    (pushes_go_on_with_a_merge, "I12, CR6: a pull request for pushes is not orphaned by a merge"),
    (merged_without_a_number, "CR20, CR30: a push is of a merge also where only its commit says so"),
    (closing_opens_nothing, "S7: nothing is opened for what the same plan closes"),
    (a_branch_ends_as_ours, "C3: an omission is told"),
    (a_later_push_contains_it, "CR30, I10: a later push brings what an earlier one failed to"),
    (two_namespaces_build_one_repository, "CR4, I17: their pull requests are told apart"),
    (old_groups_stay_done, "CR21: what is merged is not opened again for newer digests"),
    (what_was_taken_back_stays_so, "CR34: and is not taken back again"),
    (another_group_brought_it, "CR22: what another pull request brought is closed"),
    (with_commits_of_people_it_stays, "CR22: but not with commits of people"),
    (builds_are_not_kept, "CR21, CR30: then the description and the Component tell of them"),
    (what_was_built_once_stays_so, "CR30: it does not become a draft when the build is gone"),
    (a_later_push_is_known_by_its_time, "CR30, I10: also where the build of the merge is gone"),
    (one_is_built_as_two, "CR27, C3: told once"),
    (a_head_that_nobody_observed, "CR28: what cannot be copied is told"),
    (the_name_of_a_dependency_separates_nothing, "C2: only dependants have branches"),
    (builds_of_what_nobody_observed, "C3, CR21: that is told"),
    (closed_by_hand_before_the_merge, "CR34: it stays closed, and other groups go on"),
    (reopened_after_its_end, "S7, CR21: what is reopened triggers again"),
]


@pytest.mark.parametrize("play", [pytest.param(play, id=f"{play.__name__}: {rule}") for play, rule in PLAYS])
def test_afterwards(play: Callable[[Observations], None]) -> None:
    """C3, C9, I6, I10, I12, I17, CR5, CR20 to CR22, CR30, CR34, S7: what each row names, after `started`."""
    play(updating())
