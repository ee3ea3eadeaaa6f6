"""C12: one pull request for one dependant, wherever its triggers came from."""

from __future__ import annotations

from components.observations import Observations, brief, digest
from components.plan.scenes import operator, parent


def branches_of(state: Observations, repository: str) -> list[tuple[str, str]]:
    """The planned pull requests of a repository: branch and state."""
    return [(pull.source_branch, pull.state) for (at, _), pull in sorted(state.pulls.items()) if at == repository]


def test_a_push_after_a_failed_build_of_a_merge() -> None:
    """C12: what the next push builds is in the pull request of the group, and in no second one."""
    state = parent()
    state.open("parent", "update")
    state.build("parent", "1", 1)
    state.step()
    state.merge("parent", 1)
    state.build("parent", "", 1, "push", "failed")
    state.push("parent", "9")
    plans, rules = state.step()
    assert plans == ["update/child ready parent=9 [addCommit rebase describe undraft]"]
    assert rules.split().count("C12") == 1
    assert branches_of(state, "child") == [("update/child", "open")]


def test_merges_that_come_one_after_another() -> None:
    """C12: five groups of one dependency end in one pull request; the others point to it."""
    state = parent()
    for number in range(1, 6):
        state.open("parent", f"f{number}")
        state.build("parent", "abcde"[number - 1], number)
    state.step()
    assert len(branches_of(state, "child")) == 5
    for number in range(1, 6):
        state.merge_and_build("parent", number, "12345"[number - 1])
        state.step()
    assert branches_of(state, "child") == [
        ("f1/child", "open"),
        *((f"f{number}/child", "closed") for number in range(2, 6)),
    ]
    assert digest("5") in state.pulls["child", 1].body
    for number in range(2, 6):
        assert "Closed: child#1 has the same digests." in state.pulls["child", number].body
    # What is closed so stays closed.
    state.merge_and_build("child", 1, "e")
    assert state.step() == ([], "")
    state.push("parent", "6")
    assert state.step()[0] == ["component-update-parent/child ready parent=6 [create]"]


def test_pushes_that_come_together() -> None:
    """C12, I12: builds of several dependencies come in one pull request, instead of some that conflict in turn."""
    state = operator("op1", "op2", "op3")
    for name, letter in (("op1", "1"), ("op2", "2"), ("op3", "3")):
        state.push(name, letter)
    assert state.step()[0] == ["component-update-op1/bundle ready op1=1,op2=2,op3=3 [create]"]
    state.push("op2", "4")
    assert state.step()[0] == ["component-update-op1/bundle ready op1=1,op2=4,op3=3 [addCommit describe]"]
    state.merge_and_build("bundle", 1, "b")
    assert state.step() == ([], "")
    state.push("op3", "5")
    assert state.step()[0] == ["component-update-op3/bundle ready op3=5 [create]"]


def test_pushes_that_come_later_join_what_is_open() -> None:
    """C12."""
    state = operator("op1", "op2")
    state.push("op2", "2")
    assert state.step()[0] == ["component-update-op2/bundle ready op2=2 [create]"]
    state.push("op1", "1")
    assert state.step()[0] == ["component-update-op2/bundle ready op1=1,op2=2 [addCommit describe]"]
    assert len(state.pulls) == 1


def test_what_was_closed_by_hand_does_not_come_back_with_others() -> None:
    """C12, CR34."""
    state = operator("op1", "op2")
    state.push("op1", "1")
    state.step()
    state.close("bundle", 1)
    state.push("op2", "2")
    assert state.step()[0] == ["component-update-op2/bundle ready op2=2 [create]"]


def test_what_waits_or_has_commits_of_people_is_not_closed() -> None:
    """C12: only what is done and the same."""
    state = parent()
    for number in (1, 2):
        state.open("parent", f"f{number}")
        state.build("parent", "ab"[number - 1], number)
    state.step()
    state.edit("child", 2, user_commits=True)
    state.merge_and_build("parent", 1, "1")
    state.step()
    assert branches_of(state, "child") == [("f1/child", "open"), ("f2/child", "open")]
    state.merge_and_build("parent", 2, "2")
    plans = state.plan()[0]
    assert [brief(plan).partition(" [")[0] for plan in plans] == ["f1/child closed ", "f2/child ready parent=2"]


def test_the_planned_one_of_a_dependency_takes_no_pushes() -> None:
    """C14, I12: a chain has the group of the first push in each link, but the last link has pushes of its own."""
    state = Observations()
    state.component("base")
    state.component("middle", "base")
    state.component("last", "middle", at="c")
    state.push("middle", "1")
    assert state.step()[0] == ["component-update-middle/last ready middle=1 [create]"]
    state.push("base", "2")
    state.step()
    state.build("middle", "3", 1)
    state.step()
    plans, rules = state.step()
    assert "component-update-middle/last ready middle=1 []" in plans
    assert "component-update-base/last draft middle=3 [] until middle#1 merged" in plans
    assert "CR6" not in rules
