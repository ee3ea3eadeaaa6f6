"""Plans for the specification's scenarios, step by step: what is observed in, pull requests and findings out.

A plan is a line: its branch, draft or ready, `component=digest`, the actions in brackets, and what it waits for. A
digest is one letter. S1, CR19, I10 are the scenarios, requirements and readings of docs/components.md.
"""

from __future__ import annotations

import pytest

from components.observations import Observations, digest, key
from components.plan.scenes import monorepo, only, operator, parent, updating

# --- The scenarios ---------------------------------------------------------------------------------------------------


def test_s1_common_parent_image() -> None:
    """CR19 to CR23, CR26, CR27, CR30, I10."""
    state = parent()
    state.open("parent", "update-2023-06-07")
    assert state.step() == ([], "")  # 1: no build yet
    state.build("parent", "1", 1)
    branch = "update-2023-06-07/child"
    assert state.step() == ([f"{branch} draft parent=1 [create] until parent#1 merged"], "CR21 CR27")  # 2
    plan = only(state)
    assert (plan.group, plan.base, plan.target.key) == ("update-2023-06-07", "main", key("child"))
    assert "acme/parent#1 (open)" in plan.description.body
    assert plan.digests[0].replaceable == (digest("0"),)
    assert plan.digests[0].repositories == ("quay.io/acme/parent",)
    state.build("child", "d", 1)
    same = f"{branch} draft parent=1 [] until parent#1 merged"
    assert state.step() == ([same], "CR22 CR27")  # 3
    state.builds.append(state.builds[-1])
    assert state.step() == ([same], "CR22 CR27")  # 4: delivered again
    state.commit("parent", 1)
    state.build("parent", "2", 1)
    assert state.step()[0] == [f"{branch} draft parent=2 [addCommit describe] until parent#1 merged"]  # 5
    assert only(state).digests[0].replaceable == (digest("0"), digest("1"))
    state.build("parent", "", 1, outcome="failed")
    assert state.step()[0] == [f"{branch} draft parent=2 [describe] until parent#1 merged"]  # 6
    state.merge("parent", 1)
    assert state.step()[0] == [f"{branch} draft parent=2 [rebase describe] until parent#1 mergeBuild"]  # 7'
    assert "acme/parent#1 (waiting): merged, but the merge is not built" in only(state).description.body
    state.push("parent", "8", 1)
    assert state.step() == ([f"{branch} ready parent=8 [addCommit rebase describe undraft]"], "CR22 CR30")  # 7
    assert len(state.pulls) == 2
    state.merge_and_build("child", 1, "e")
    assert state.step() == ([], "")  # 8


def test_s2_operator_in_many_repositories() -> None:
    """CR20, CR22, CR30, CR31, I11: one pull request for the group; it waits for those that triggered it alone."""
    state = operator("op1", "op2", "op3", "op4")
    state.open("op1", "feature-1234")
    state.build("op1", "1", 1)
    assert state.step()[0] == ["feature-1234/bundle draft op1=1 [create] until op1#1 merged"]  # 1
    for name, letter in (("op2", "2"), ("op3", "3")):
        state.open(name, "feature-1234")
        state.build(name, letter, 1)
    waits = "op1#1 merged, op2#1 merged, op3#1 merged"
    expected = f"feature-1234/bundle draft op1=1,op2=2,op3=3 [addCommit describe] until {waits}"
    assert state.step()[0] == [expected]  # 2
    assert len(only(state).triggers) == 3
    state.build("bundle", "e", 1)
    assert state.step()[0] == [expected.replace("addCommit describe", "")]  # 3
    state.open("op4", "feature-1234")  # a member that is not built triggers nothing
    state.merge_and_build("op1", 1, "7")
    text = "feature-1234/bundle draft op1=7,op2=2,op3=3 [addCommit rebase describe] until op2#1 merged, op3#1 merged"
    assert state.step()[0] == [text]  # 4
    assert "acme/op2#1, acme/op3#1" in only(state).description.body
    state.merge_and_build("op2", 1, "8")
    state.step()
    state.merge("op3", 1)
    assert state.step()[0][0].endswith("[rebase describe] until op3#1 mergeBuild")
    state.push("op3", "9", 1)
    assert state.step()[0] == ["feature-1234/bundle ready op1=7,op2=8,op3=9 [addCommit rebase describe undraft]"]  # 5


def test_s2_different_branches() -> None:
    """CR32: as many pull requests as groups; each has the digests of its group."""
    state = operator("op1", "op2", "op3")
    for at, name in enumerate(("op1", "op2", "op3"), 1):
        state.open(name, f"f{at}/{name}")
        state.build(name, str(at), 1)
    plans, rules = state.step()  # 6
    assert plans == [f"f{at}/bundle draft op{at}={at} [create] until op{at}#1 merged" for at in (1, 2, 3)]
    assert rules == "CR21 CR21 CR21 CR27 CR27 CR27"


@pytest.mark.parametrize("observed", [True, False], ids=["a branch", "a pull request"])
def test_s2_the_branch_is_in_the_way(observed: bool) -> None:
    """I5, CR26: the other spelling is reported, and is in the same group."""
    state = operator("op1")
    if observed:
        state.open("bundle", "unrelated", branches=["main", "feature-1234"])
    else:
        state.open("bundle", "feature-1234")
    state.open("op1", "feature-1234")
    state.build("op1", "1", 1)
    expected = ["feature-1234@bundle draft op1=1 [create] until op1#1 merged"]
    assert state.step() == (expected, "CR21 CR27 I5")  # 7
    assert only(state).group == "feature-1234"
    state.commit("op1", 1)
    state.build("op1", "2", 1)
    assert state.step()[0] == ["feature-1234@bundle draft op1=2 [addCommit describe] until op1#1 merged"]


def test_s3_operator_in_one_repository() -> None:
    """CR28, CR29, CR30, I5: what is changed in the bundle is copied; exactly these paths, and only while it is open."""
    state = monorepo()
    state.open("op", "new-feature", ["controller/x.go", "bundlers/x", "README.md"])
    state.build("controller", "1", 1)
    expected = ["new-feature@bundle draft controller=1 [create] until controller#1 merged"]
    assert state.step() == (expected, "CR21 CR27 I5")  # 1
    assert only(state).synthetic == ()
    paths = ("bundle/added", "bundle/changed", "bundle/removed")
    state.commit("op", 1, changed=("controller/x.go", *reversed(paths)))
    state.build("controller", "2", 1)
    assert state.step()[0] == ["new-feature@bundle draft controller=2 [regenerate describe] until controller#1 merged"]
    (copied,) = only(state).synthetic
    assert copied.paths == paths  # 2
    state.commit("op", 1)
    state.build("controller", "3", 1)
    assert state.step()[0][0].endswith("controller=3 [regenerate describe] until controller#1 merged")  # 3
    state.build("bundle", "e", 1)
    state.build("bundle", "f", 2)
    assert state.step()[0][0].endswith("[] until controller#1 merged")  # 4
    state.merge_and_build("controller", 1, "9")
    assert state.step()[0] == ["new-feature@bundle ready controller=9 [regenerate describe undraft]"]  # 5
    assert only(state).synthetic == ()
    state.merge_and_build("bundle", 2, "a")
    assert state.step() == ([], "")


def test_s3_unknown_changes_are_told() -> None:
    """CR28: what was not observed may be missing from the branch."""
    state = monorepo()
    state.open("op", "new-feature", None)
    state.build("controller", "1", 1)
    assert state.step()[1] == "CR21 CR27 CR28 I5"


def test_s4_groups_without_edges() -> None:
    """CR10, CR11: groups alone plan nothing."""
    state = Observations()
    for name, app in (("a", "app"), ("b", "app"), ("other", "app2")):
        state.component(name, app=app)
        state.open(name, "my-feature/x")
        state.build(name, "1", 1)
    assert state.step() == ([], "")


def test_s4_groups_end_with_the_application() -> None:
    """CR4, CR10: an edge to another Application's Component has no effect."""
    state = Observations()
    state.component("parent", app="other")
    state.component("child", "parent")
    state.open("parent", "up")
    state.build("parent", "1", 1)
    assert state.step() == ([], "")


def diamond() -> Observations:
    state = Observations()
    state.component("base")
    state.component("op1", "base")
    state.component("op2", "base")
    state.component("bundle", "op1", "op2")
    state.open("base", "u")
    state.build("base", "1", 1)
    return state


def test_s5_diamond() -> None:
    """CR20, CR30, CR31, I4: one pull request below two; the bundle is a draft until all before it are merged."""
    state = diamond()
    waits = "draft base=1 [create] until base#1 merged"
    assert state.step()[0] == [f"u/op1 {waits}", f"u/op2 {waits}"]
    state.build("op1", "2", 1)
    state.build("op2", "3", 1)
    until = "until op1#1 merged, op2#1 merged"
    assert state.step()[0][0] == f"u/bundle draft op1=2,op2=3 [create] {until}"
    state.merge_and_build("base", 1, "7")
    ready = "ready base=7 [addCommit rebase describe undraft]"
    assert state.step()[0] == [f"u/bundle draft op1=2,op2=3 [] {until}", f"u/op1 {ready}", f"u/op2 {ready}"]
    state.merge_and_build("op1", 1, "8")
    assert state.step()[0][0].endswith("draft op1=8,op2=3 [addCommit rebase describe] until op2#1 merged")
    state.merge_and_build("op2", 1, "9")
    assert state.step()[0] == ["u/bundle ready op1=8,op2=9 [addCommit rebase describe undraft]"]
    state.merge_and_build("bundle", 1, "a")
    assert state.step() == ([], "")


def test_s5_a_merge_starts_no_second_round() -> None:
    """CR20, CR32: at the end of a chain every dependant had one pull request."""
    state = Observations()
    names = ["a", "b", "c", "d"]
    for name, before in zip(names, ["", *names], strict=False):
        state.component(name, *filter(None, [before]))
    state.open("a", "u/a1")
    for at, name in enumerate(names, 1):
        state.build(name, str(at), 1)
        state.step()
    for at, name in enumerate(names, 5):
        state.merge_and_build(name, 1, str(at))
        state.step()
    assert state.step() == ([], "")
    assert {(name, pull.number) for (name, _), pull in state.pulls.items()} == {(name, 1) for name in names}


def test_s6_updated() -> None:
    """CR22, CR23: a commit is described, and its digest added, when it is built; the same digest is not."""
    state = updating()
    state.commit("parent", 1)
    assert state.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]
    state.build("parent", "1", 1)
    assert state.step()[0] == ["up/child draft parent=1 [describe] until parent#1 merged"]
    assert f"at {state.pulls['parent', 1].head}" in state.pulls["child", 1].body
    state.build("parent", "2", 1)
    assert state.step()[0] == ["up/child draft parent=2 [addCommit describe] until parent#1 merged"]


def test_s7_closed() -> None:
    """CR30: the last one closed closes what it triggered."""
    state = updating()
    state.close("parent", 1)
    assert state.step() == (["up/child closed  [close]"], "S7")
    assert state.step()[0] == []


def test_s7_one_of_two_is_closed() -> None:
    """CR30: its digest is reset to the promoted one."""
    state = operator("op1", "op2")
    for name, letter in (("op1", "1"), ("op2", "2")):
        state.open(name, "f")
        state.build(name, letter, 1)
    state.step()
    state.close("op1", 1)
    assert state.step()[0] == ["f/bundle draft op1=0,op2=2 [addCommit describe] until op2#1 merged"]
    state.merge_and_build("op2", 1, "9")
    assert state.step()[0] == ["f/bundle ready op1=0,op2=9 [addCommit rebase describe undraft]"]


def test_s7_reopened_before_it_was_carried_out() -> None:
    """Nothing is remembered: what was closed and is open again is as before."""
    state = updating()
    state.close("parent", 1)
    state.plan()
    state.edit("parent", 1, state="open")
    assert state.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]


def early() -> Observations:
    state = updating()
    state.merge_and_build("child", 1, "d")
    assert state.step() == ([], "CR34")
    return state


def test_s8_merged_first() -> None:
    """CR34: it is reported; a later merge gets a new pull request, which is not a draft."""
    state = early()
    _, (message,) = state.plan()
    assert "child#1 was merged out of order, before parent#1: main now names images of pull requests" in message.message
    state.merge("parent", 1)
    assert state.step() == ([], "CR34")
    state.push("parent", "9", 1)
    assert state.step()[0] == ["up/child ready parent=9 [create]"]
    assert ("child", 2) in state.pulls
    state.merge_and_build("child", 2, "e")
    assert state.step() == ([], "")


def test_s8_and_the_other_is_closed() -> None:
    """CR34: back to the promoted digest, which is mended once."""
    state = early()
    state.close("parent", 1)
    assert state.step()[0] == ["up/child ready parent=0 [create]"]
    state.merge_and_build("child", 2, "e")
    assert state.step() == ([], "")


def test_s8_and_the_other_goes_on() -> None:
    """CR21, CR34: another build of it gets another draft."""
    state = early()
    state.commit("parent", 1)
    state.build("parent", "2", 1)
    assert state.step() == (["up/child draft parent=2 [create] until parent#1 merged"], "CR21 CR27 CR34")


def test_s9_edges_taken_out() -> None:
    """CR6: an open pull request is reported, not closed."""
    state = updating()
    state.component("child", at="c")
    assert state.step() == ([], "CR6")
    assert state.pulls["child", 1].state == "open"


def test_i12_pushes() -> None:
    """I12: nobody's branch names the group; there is nothing to wait for."""
    state = parent()
    state.push("parent", "1")
    branch = "component-update-parent/child"
    assert state.step() == ([f"{branch} ready parent=1 [create]"], "CR21")
    state.push("parent", "2")
    assert state.step()[0] == [f"{branch} ready parent=2 [addCommit describe]"]
    state.merge_and_build("child", 1, "d")
    assert state.step() == ([], "")
    state.push("parent", "3")
    assert state.step()[0] == [f"{branch} ready parent=3 [create]"]
