"""C12: one pull request for one dependant, wherever its triggers came from."""

from __future__ import annotations

from components.observations import Observations, brief, digest
from components.plan.scenes import operator, parent


def carried(made: Observations, repository: str) -> list[tuple[str, str]]:
    """The planned pull requests of a repository: branch and state."""
    return [(one.source_branch, one.state) for (at, _), one in sorted(made.pulls.items()) if at == repository]


def test_a_push_after_a_failed_build_of_a_merge() -> None:
    """C12: what the next push builds is in the pull request of the group, and in no second one."""
    made = parent()
    made.open("parent", "update")
    made.build("parent", "1", 1)
    made.step()
    made.merge("parent", 1)
    made.build("parent", "", 1, "push", "failed")
    made.push("parent", "9")
    plans, rules = made.step()
    assert plans == ["update/child ready parent=9 [addCommit rebase describe undraft]"]
    assert rules.split().count("C12") == 1
    assert carried(made, "child") == [("update/child", "open")]


def test_merges_that_come_one_after_another() -> None:
    """C12: five groups of one dependency end in one pull request; the others point to it."""
    made = parent()
    for number in range(1, 6):
        made.open("parent", f"f{number}")
        made.build("parent", "abcde"[number - 1], number)
    made.step()
    assert len(carried(made, "child")) == 5
    for number in range(1, 6):
        made.merged("parent", number, "12345"[number - 1])
        made.step()
    assert carried(made, "child") == [("f1/child", "open"), *((f"f{number}/child", "closed") for number in range(2, 6))]
    assert digest("5") in made.pulls["child", 1].description
    for number in range(2, 6):
        assert "Closed: child#1 has the same digests." in made.pulls["child", number].description
    # What is closed so stays closed.
    made.merged("child", 1, "e")
    assert made.step() == ([], "")
    made.push("parent", "6")
    assert made.step()[0] == ["component-update-parent/child ready parent=6 [create]"]


def test_pushes_that_come_together() -> None:
    """C12, I12: builds of several dependencies come in one pull request, instead of some that conflict in turn."""
    made = operator("op1", "op2", "op3")
    for name, letter in (("op1", "1"), ("op2", "2"), ("op3", "3")):
        made.push(name, letter)
    assert made.step()[0] == ["component-update-op1/bundle ready op1=1,op2=2,op3=3 [create]"]
    made.push("op2", "4")
    assert made.step()[0] == ["component-update-op1/bundle ready op1=1,op2=4,op3=3 [addCommit describe]"]
    made.merged("bundle", 1, "b")
    assert made.step() == ([], "")
    made.push("op3", "5")
    assert made.step()[0] == ["component-update-op3/bundle ready op3=5 [create]"]


def test_pushes_that_come_later_join_what_is_open() -> None:
    """C12."""
    made = operator("op1", "op2")
    made.push("op2", "2")
    assert made.step()[0] == ["component-update-op2/bundle ready op2=2 [create]"]
    made.push("op1", "1")
    assert made.step()[0] == ["component-update-op2/bundle ready op1=1,op2=2 [addCommit describe]"]
    assert len(made.pulls) == 1


def test_what_was_closed_by_hand_does_not_come_back_with_others() -> None:
    """C12, R34."""
    made = operator("op1", "op2")
    made.push("op1", "1")
    made.step()
    made.close("bundle", 1)
    made.push("op2", "2")
    assert made.step()[0] == ["component-update-op2/bundle ready op2=2 [create]"]


def test_what_waits_or_has_commits_of_people_is_not_closed() -> None:
    """C12: only what is done and the same."""
    made = parent()
    for number in (1, 2):
        made.open("parent", f"f{number}")
        made.build("parent", "ab"[number - 1], number)
    made.step()
    made.edit("child", 2, user_commits=True)
    made.merged("parent", 1, "1")
    made.step()
    assert carried(made, "child") == [("f1/child", "open"), ("f2/child", "open")]
    made.merged("parent", 2, "2")
    plans = made.plan()[0]
    assert [brief(one).partition(" [")[0] for one in plans] == ["f1/child closed ", "f2/child ready parent=2"]


def test_the_planned_one_of_a_dependency_takes_no_pushes() -> None:
    """C14, I12: a chain has the group of the first push in each link, but the last link has pushes of its own."""
    made = Observations()
    made.component("base")
    made.component("middle", "base")
    made.component("last", "middle", at="c")
    made.push("middle", "1")
    assert made.step()[0] == ["component-update-middle/last ready middle=1 [create]"]
    made.push("base", "2")
    made.step()
    made.build("middle", "3", 1)
    made.step()
    plans, rules = made.step()
    assert "component-update-middle/last ready middle=1 []" in plans
    assert "component-update-base/last draft middle=3 [] until middle#1 merged" in plans
    assert "R6" not in rules
