"""Plans for the specification's scenarios, step by step: what is observed in, pull requests and findings out.

A plan is a line: its branch, draft or ready, `component=digest`, the actions in brackets, and what it waits for. A
digest is one letter. S1, R19, I10 are the scenarios, requirements and readings of docs/components.md.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.observations import Observations, brief, digest, key
from components.plan.scenes import monorepo, only, operator, parent, started
from effort import scaled
from krm_merge.components.plan.model import PlanChoices

# --- The scenarios ---------------------------------------------------------------------------------------------------


def test_s1_common_parent_image() -> None:
    """R19 to R23, R26, R27, R30, I10."""
    made = parent()
    made.open("parent", "update-2023-06-07")
    assert made.step() == ([], "")  # 1: no build yet
    made.build("parent", "1", 1)
    branch = "update-2023-06-07/child"
    assert made.step() == ([f"{branch} draft parent=1 [create] until parent#1 merged"], "R21 R27")  # 2
    plan = only(made)
    assert (plan.group, plan.base, plan.target.key) == ("update-2023-06-07", "main", key("child"))
    assert "acme/parent#1 (open)" in plan.description
    assert plan.digests[0].replaceable == (digest("0"),)
    assert plan.digests[0].repositories == ("quay.io/acme/parent",)
    made.build("child", "d", 1)
    same = f"{branch} draft parent=1 [] until parent#1 merged"
    assert made.step() == ([same], "R22 R27")  # 3
    made.builds.append(made.builds[-1])
    assert made.step() == ([same], "R22 R27")  # 4: delivered again
    made.commit("parent", 1)
    made.build("parent", "2", 1)
    assert made.step()[0] == [f"{branch} draft parent=2 [addCommit describe] until parent#1 merged"]  # 5
    assert only(made).digests[0].replaceable == (digest("0"), digest("1"))
    made.build("parent", "", 1, outcome="failed")
    assert made.step()[0] == [f"{branch} draft parent=2 [] until parent#1 merged"]  # 6
    made.merge("parent", 1)
    assert made.step()[0] == [f"{branch} draft parent=2 [rebase describe] until parent#1 mergeBuild"]  # 7'
    assert "acme/parent#1 (waiting): merged, its build is not finished" in only(made).description
    made.push("parent", "8", 1)
    assert made.step() == ([f"{branch} ready parent=8 [addCommit rebase describe undraft]"], "R22 R30")  # 7
    assert len(made.pulls) == 2
    made.merged("child", 1, "e")
    assert made.step() == ([], "")  # 8


def test_s2_operator_in_many_repositories() -> None:
    """R20, R22, R30, R31, I11: one pull request for the group; it waits for those that triggered it, and only those."""
    made = operator("op1", "op2", "op3", "op4")
    made.open("op1", "feature-1234")
    made.build("op1", "1", 1)
    assert made.step()[0] == ["feature-1234/bundle draft op1=1 [create] until op1#1 merged"]  # 1
    for name, letter in (("op2", "2"), ("op3", "3")):
        made.open(name, "feature-1234")
        made.build(name, letter, 1)
    waits = "op1#1 merged, op2#1 merged, op3#1 merged"
    wanted = f"feature-1234/bundle draft op1=1,op2=2,op3=3 [addCommit describe] until {waits}"
    assert made.step()[0] == [wanted]  # 2
    assert len(only(made).triggers) == 3
    made.build("bundle", "e", 1)
    assert made.step()[0] == [wanted.replace("addCommit describe", "")]  # 3
    made.open("op4", "feature-1234")  # a member that is not built triggers nothing
    made.merged("op1", 1, "7")
    text = "feature-1234/bundle draft op1=7,op2=2,op3=3 [addCommit rebase describe] until op2#1 merged, op3#1 merged"
    assert made.step()[0] == [text]  # 4
    assert "acme/op2#1, acme/op3#1" in only(made).description
    made.merged("op2", 1, "8")
    made.step()
    made.merge("op3", 1)
    assert made.step()[0][0].endswith("[rebase describe] until op3#1 mergeBuild")
    made.push("op3", "9", 1)
    assert made.step()[0] == ["feature-1234/bundle ready op1=7,op2=8,op3=9 [addCommit rebase describe undraft]"]  # 5


def test_s2_different_branches() -> None:
    """R32: as many pull requests as groups; each has the digests of its group."""
    made = operator("op1", "op2", "op3")
    for at, name in enumerate(("op1", "op2", "op3"), 1):
        made.open(name, f"f{at}/{name}")
        made.build(name, str(at), 1)
    plans, rules = made.step()  # 6
    assert plans == [f"f{at}/bundle draft op{at}={at} [create] until op{at}#1 merged" for at in (1, 2, 3)]
    assert rules == "R21 R21 R21 R27 R27 R27"


@pytest.mark.parametrize("observed", [True, False], ids=["a branch", "a pull request"])
def test_s2_the_branch_is_in_the_way(observed: bool) -> None:
    """I5, R26: the other spelling is reported, and is in the same group."""
    made = operator("op1")
    if observed:
        made.open("bundle", "unrelated", branches=["main", "feature-1234"])
    else:
        made.open("bundle", "feature-1234")
    made.open("op1", "feature-1234")
    made.build("op1", "1", 1)
    wanted = ["feature-1234@bundle draft op1=1 [create] until op1#1 merged"]
    assert made.step() == (wanted, "I5 R21 R27")  # 7
    assert only(made).group == "feature-1234"
    made.commit("op1", 1)
    made.build("op1", "2", 1)
    assert made.step()[0] == ["feature-1234@bundle draft op1=2 [addCommit describe] until op1#1 merged"]


def test_s3_operator_in_one_repository() -> None:
    """R28, R29, R30, I5: what is changed in the bundle is copied; exactly these paths, and only while it is open."""
    made = monorepo()
    made.open("op", "new-feature", ["controller/x.go", "bundlers/x", "README.md"])
    made.build("controller", "1", 1)
    wanted = ["new-feature@bundle draft controller=1 [create] until controller#1 merged"]
    assert made.step() == (wanted, "I5 R21 R27")  # 1
    assert only(made).synthetic == ()
    paths = ("bundle/added", "bundle/changed", "bundle/removed")
    made.commit("op", 1, changed=("controller/x.go", *reversed(paths)))
    made.build("controller", "2", 1)
    assert made.step()[0] == ["new-feature@bundle draft controller=2 [regenerate describe] until controller#1 merged"]
    (copied,) = only(made).synthetic
    assert copied.paths == paths  # 2
    made.commit("op", 1)
    made.build("controller", "3", 1)
    assert made.step()[0][0].endswith("controller=3 [regenerate describe] until controller#1 merged")  # 3
    made.build("bundle", "e", 1)
    made.build("bundle", "f", 2)
    assert made.step()[0][0].endswith("[] until controller#1 merged")  # 4
    made.merged("controller", 1, "9")
    assert made.step()[0] == ["new-feature@bundle ready controller=9 [regenerate describe undraft]"]  # 5
    assert only(made).synthetic == ()
    made.merged("bundle", 2, "a")
    assert made.step() == ([], "")


def test_s3_unknown_changes_are_told() -> None:
    """R28: what was not observed may be missing from the branch."""
    made = monorepo()
    made.open("op", "new-feature", None)
    made.build("controller", "1", 1)
    assert made.step()[1] == "I5 R21 R27 R28"


def test_s4_groups_without_edges() -> None:
    """R10, R11: groups alone plan nothing."""
    made = Observations()
    for name, app in (("a", "app"), ("b", "app"), ("other", "app2")):
        made.component(name, app=app)
        made.open(name, "my-feature/x")
        made.build(name, "1", 1)
    assert made.step() == ([], "")


def test_s4_groups_end_with_the_application() -> None:
    """R4, R10: an edge to another Application's Component has no effect."""
    made = Observations()
    made.component("parent", app="other")
    made.component("child", "parent")
    made.open("parent", "up")
    made.build("parent", "1", 1)
    assert made.step() == ([], "")


def diamond() -> Observations:
    made = Observations()
    made.component("base")
    made.component("op1", "base")
    made.component("op2", "base")
    made.component("bundle", "op1", "op2")
    made.open("base", "u")
    made.build("base", "1", 1)
    return made


def test_s5_diamond() -> None:
    """R20, R30, R31, I4: one pull request below two; the bundle is a draft until all before it are merged."""
    made = diamond()
    waits = "draft base=1 [create] until base#1 merged"
    assert made.step()[0] == [f"u/op1 {waits}", f"u/op2 {waits}"]
    made.build("op1", "2", 1)
    made.build("op2", "3", 1)
    until = "until op1#1 merged, op2#1 merged"
    assert made.step()[0][0] == f"u/bundle draft op1=2,op2=3 [create] {until}"
    made.merged("base", 1, "7")
    ready = "ready base=7 [addCommit rebase describe undraft]"
    assert made.step()[0] == [f"u/bundle draft op1=2,op2=3 [] {until}", f"u/op1 {ready}", f"u/op2 {ready}"]
    made.merged("op1", 1, "8")
    assert made.step()[0][0].endswith("draft op1=8,op2=3 [addCommit rebase describe] until op2#1 merged")
    made.merged("op2", 1, "9")
    assert made.step()[0] == ["u/bundle ready op1=8,op2=9 [addCommit rebase describe undraft]"]
    made.merged("bundle", 1, "a")
    assert made.step() == ([], "")


def test_s5_a_merge_starts_no_second_round() -> None:
    """R20, R32: at the end of a chain every dependant had one pull request."""
    made = Observations()
    names = ["a", "b", "c", "d"]
    for name, before in zip(names, ["", *names], strict=False):
        made.component(name, *filter(None, [before]))
    made.open("a", "u/a1")
    for at, name in enumerate(names, 1):
        made.build(name, str(at), 1)
        made.step()
    for at, name in enumerate(names, 5):
        made.merged(name, 1, str(at))
        made.step()
    assert made.step() == ([], "")
    assert {(name, one.number) for (name, _), one in made.pulls.items()} == {(name, 1) for name in names}


def test_s6_updated() -> None:
    """R22, R23: a commit is described when it is there, its digest added when it is built; the same one is not."""
    made = started()
    made.commit("parent", 1)
    assert made.step()[0] == ["up/child draft parent=1 [describe] until parent#1 merged"]
    assert f"at {made.pulls['parent', 1].head}" in made.pulls["child", 1].description
    made.build("parent", "1", 1)
    assert made.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]
    made.build("parent", "2", 1)
    assert made.step()[0] == ["up/child draft parent=2 [addCommit describe] until parent#1 merged"]


def test_s7_closed() -> None:
    """R30: the last one closed closes what it triggered."""
    made = started()
    made.close("parent", 1)
    assert made.step() == (["up/child closed  [close]"], "S7")
    assert made.step()[0] == []


def test_s7_one_of_two_is_closed() -> None:
    """R30: its digest is reset to the promoted one."""
    made = operator("op1", "op2")
    for name, letter in (("op1", "1"), ("op2", "2")):
        made.open(name, "f")
        made.build(name, letter, 1)
    made.step()
    made.close("op1", 1)
    assert made.step()[0] == ["f/bundle draft op1=0,op2=2 [addCommit describe] until op2#1 merged"]
    made.merged("op2", 1, "9")
    assert made.step()[0] == ["f/bundle ready op1=0,op2=9 [addCommit rebase describe undraft]"]


def test_s7_kept() -> None:
    """onClosed: keep. It names an image that expires: a draft for good."""
    made = started(choices=PlanChoices(on_closed="keep"))
    made.close("parent", 1)
    assert made.step()[0] == ["up/child draft parent=1 [describe]"]


def test_s7_reopened_before_it_was_carried_out() -> None:
    """Nothing is remembered: what was closed and is open again is as before."""
    made = started()
    made.close("parent", 1)
    made.plan()
    made.edit("parent", 1, state="open")
    assert made.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]


def early() -> Observations:
    made = started()
    made.merged("child", 1, "d")
    assert made.step() == ([], "R34")
    return made


def test_s8_merged_first() -> None:
    """R34: it is reported; a later merge gets a new pull request, which is not a draft."""
    made = early()
    _, (told,) = made.plan()
    assert "child#1 was merged out of order, before parent#1: main now names images of pull requests" in told.message
    made.merge("parent", 1)
    assert made.step() == ([], "R34")
    made.push("parent", "9", 1)
    assert made.step()[0] == ["up/child ready parent=9 [create]"]
    assert ("child", 2) in made.pulls
    made.merged("child", 2, "e")
    assert made.step() == ([], "")


def test_s8_and_the_other_is_closed() -> None:
    """R34: back to the promoted digest, which is mended once."""
    made = early()
    made.close("parent", 1)
    assert made.step()[0] == ["up/child ready parent=0 [create]"]
    made.merged("child", 2, "e")
    assert made.step() == ([], "")


def test_s8_and_the_other_goes_on() -> None:
    """R21, R34: another build of it gets another draft."""
    made = early()
    made.commit("parent", 1)
    made.build("parent", "2", 1)
    assert made.step() == (["up/child draft parent=2 [create] until parent#1 merged"], "R21 R27 R34")


def test_s9_edges_taken_out() -> None:
    """R6: an open pull request is reported, not closed."""
    made = started()
    made.component("child", at="c")
    assert made.step() == ([], "R6")
    assert made.pulls["child", 1].state == "open"


def test_i12_pushes() -> None:
    """I12: nobody's branch names the group; there is nothing to wait for."""
    made = parent()
    made.push("parent", "1")
    branch = "component-update-parent/child"
    assert made.step() == ([f"{branch} ready parent=1 [create]"], "R21")
    made.push("parent", "2")
    assert made.step()[0] == [f"{branch} ready parent=2 [addCommit describe]"]
    made.merged("child", 1, "d")
    assert made.step() == ([], "")
    made.push("parent", "3")
    assert made.step()[0] == [f"{branch} ready parent=3 [create]"]


# --- What holds for all ----------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["open", "open", "build", "build", "build", "commit", "merge", "push", "close", "failed", "forget"]
        ),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=14,
)


def settle(made: Observations) -> None:
    """Carries out; what is closed may close what is behind it, one after the other."""
    for _ in range(4):
        made.carry_out(made.plan()[0])
    assert [one.actions for one in made.plan()[0] if one.actions] == []


@settings(max_examples=scaled(60))
@given(EVENTS)
def test_whatever_happens(events: list[tuple[str, int, int, bool]]) -> None:
    """A plan follows from what is observed alone; carried out, nothing is left to do, and once all that is ready is
    merged nothing is ready any more (R22, R23, R30)."""
    made = diamond()
    made.component("shared", "base", repository="base", context="shared")
    names = ["base", "op1", "op2", "bundle"]
    for at, (what, which, number, carry_out) in enumerate(events):
        name = names[which]
        pull = made.pulls.get((name, number))
        if what == "open":
            made.open(name, f"{'uv'[number % 2]}/{at % 2}", [f"shared/{at}"] if number else [])
        elif what == "push" and (not number or (pull is not None and pull.state == "merged")):
            made.push(name, "23456789abcdef"[at], number)
        elif what == "forget":
            del made.builds[: number + 1]
        elif pull is None or pull.state != "open":
            continue
        elif what in ("build", "failed"):
            outcome = "succeeded" if what == "build" else "failed"
            made.build(name, "23456789abcdef"[at], number, outcome=outcome)  # type: ignore[arg-type]
        elif what == "commit":
            made.commit(name, number)
        elif what == "merge":
            made.merge(name, number)
        elif what == "close":
            made.close(name, number)
        if carry_out:
            settle(made)
    settle(made)
    for at in range(12):
        ready = [one for one in made.plan()[0] if not one.draft and not one.closed and one.pull_request is not None]
        if not ready:
            break
        repository = ready[0].target.repository.rpartition("/")[2]
        made.merged(repository, ready[0].pull_request.number, "0123456789abcdef"[at])  # type: ignore[union-attr]
        settle(made)
    assert not [brief(one) for one in made.plan()[0] if not one.draft]
