"""Plans: the rules one by one."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from components.observations import Observations, brief, digest
from components.plan.scenes import monorepo, only, operator, parent, updating
from krm_merge.components.graph import BranchNames
from krm_merge.components.plan.records import DigestPolicy, plan_resource

# --- Rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["failed", "running"])
def test_r19_only_success_counts(outcome: str) -> None:
    """CR19, C3: nothing is planned, and the reason is reported."""
    state = parent()
    state.open("parent", "up")
    state.build("parent", "1", 1, outcome=outcome)  # type: ignore[arg-type]
    assert state.step() == ([], "CR19")


def test_r19_without_a_digest() -> None:
    """CR19: a build that names no image triggers nothing."""
    state = parent()
    state.open("parent", "up")
    state.build("parent", "", 1)
    assert state.step() == ([], "CR19")
    (finding,) = state.plan()[1]
    assert finding.message.endswith("its newest build parent-2 has no digest as its result IMAGE_DIGEST")


def test_r19_a_merge_queue_promotes_nothing() -> None:
    """CR19, CR30: what may be merged is not merged."""
    state = updating()
    state.merge("parent", 1)
    state.build("parent", "5", 1, event="merge_queue")
    assert state.step()[0] == ["up/child draft parent=1 [rebase describe] until parent#1 mergeBuild"]


def test_r20_direct_dependants_only() -> None:
    """CR20: each of them, and none behind them before it is built."""
    state = Observations()
    state.component("base")
    state.component("a", "base")
    state.component("b", "base")
    state.component("c", "a")
    state.component("unrelated")
    state.open("base", "u")
    state.build("base", "1", 1)
    assert [line.partition(" ")[0] for line in state.step()[0]] == ["u/a", "u/b"]


def test_r21_what_it_carries() -> None:
    """CR21: branch with the same prefix, in the repository of the dependant; the image is named with its digest."""
    state = updating("fix/one")
    plan = only(state)
    assert plan.target.repository == state.url("child")
    assert plan.branch == "fix/child"
    assert f"`quay.io/acme/parent@{digest('1')}`" in plan.description.body


def test_r21_what_is_done_is_not_repeated() -> None:
    """CR21, CR30: of groups that were merged before anything was opened, the newest has the digest."""
    state = parent()
    for number, letter in ((1, "1"), (2, "2")):
        state.open("parent", f"f{number}")
        state.build("parent", letter, number)
        state.merge_and_build("parent", number, str(number + 5))
    assert state.step() == (["f2/child ready parent=7 [create]"], "CR21 CR30")


def test_r22_one_pull_request() -> None:
    """CR22: however often it is built."""
    state = updating()
    for letter in "2345":
        state.build("parent", letter, 1)
        state.step()
    assert len([repository for repository, _ in state.pulls if repository == "child"]) == 1
    assert only(state).digests[0].digest == digest("5")


def test_r23_a_merge_updates_it() -> None:
    """CR23: on the way over merged to built it is described and rebased."""
    state = updating()
    state.merge_and_build("parent", 1, "9")
    assert state.step()[0] == ["up/child ready parent=9 [addCommit rebase describe undraft]"]


def test_r26_its_group() -> None:
    """CR26: what it is built into is in the group of what triggered it."""
    state = updating("feature/x")
    branches = BranchNames(dependants={"parent", "child"})
    assert branches.group(state.pulls["child", 1].source_branch) == "feature" == only(state).group


def test_r27_draft_with_a_reference() -> None:
    """CR27; and made a draft again where a person undrafted it."""
    state = updating()
    pull = state.pulls["child", 1]
    assert pull.draft
    assert "acme/parent#1" in pull.body
    state.edit("child", 1, draft=False)
    assert state.step()[0] == ["up/child draft parent=1 [draft] until parent#1 merged"]


def test_r28_of_another_repository_nothing_is_copied() -> None:
    """CR28: paths of another repository are none of the dependant's."""
    state = parent()
    state.open("parent", "up", ["Dockerfile"])
    state.build("parent", "1", 1)
    assert only(state).synthetic == ()


@pytest.mark.parametrize(
    ("changed", "paths"),
    [
        (["bundle/a"], ("bundle/a",)),
        (["bundle"], ()),
        (["bundler/a", "x/bundle/a"], ()),
        (["bundle/new", "controller/old"], ("bundle/new",)),
    ],
)
def test_r28_the_paths(changed: list[str], paths: tuple[str, ...]) -> None:
    """CR28: exactly those in the directory; a part of a name is another directory."""
    state = monorepo()
    state.open("op", "new-feature", changed)
    state.build("controller", "1", 1)
    assert [change.paths for change in only(state).synthetic] == ([paths] if paths else [])


def test_r28_one_copy_for_two_dependencies() -> None:
    """CR28, CR31: a pull request that both are built of is copied once."""
    state = Observations()
    for name in ("a", "b"):
        state.component(name, repository="op", context=name)
    state.component("bundle", "a", "b", repository="op", context="bundle")
    state.open("op", "f", ["a/x", "b/x", "bundle/x"])
    state.build("a", "1", 1)
    state.build("b", "2", 1)
    plan = only(state)
    assert brief(plan) == "f@bundle draft a=1,b=2 [create] until a#1 merged, b#1 merged"
    assert len(plan.synthetic) == 1


def test_r29_digest_on_top() -> None:
    """CR29: the digest is the last commit of the resource."""
    state = monorepo()
    state.open("op", "f", ["bundle/x"])
    state.build("controller", "1", 1)
    resource: Any = plan_resource(only(state), DigestPolicy())
    assert [commit["kind"] for commit in resource["spec"]["commits"]] == ["synthetic", "digest"]


@pytest.mark.parametrize("order", list(permutations(["merge op1", "merge op2", "build op1", "build op2"])))
def test_r30_whatever_comes_first(order: tuple[str, ...]) -> None:
    """CR30, I10: ready after the last merge and its build, not before."""
    state = operator("op1", "op2")
    for name in ("op1", "op2"):
        state.open(name, "f")
        state.build(name, "1", 1)
    for at, what in enumerate(order):
        if what.startswith("build"):
            # A build of a merge that is not observed yet.
            state.build(what[6:], str(at + 2), 1, "push", revision=f"m{what[6:]}")
        else:
            state.edit(what[6:], 1, state="merged", merge_commit=f"m{what[6:]}")
        state.step()
        assert state.pulls["bundle", 1].draft == (at < 3)


def test_r31_two_of_one_repository() -> None:
    """CR31: of two pull requests to one dependency the newest build counts; both are waited for."""
    state = parent()
    for number, letter in ((1, "1"), (2, "2")):
        state.open("parent", f"f/{number}")
        state.build("parent", letter, number)
    assert state.step()[0] == ["f/child draft parent=2 [create] until parent#1 merged, parent#2 merged"]
    state.build("parent", "3", 1)
    assert state.step()[0][0].startswith("f/child draft parent=3 [addCommit describe]")


def test_r31_i13_what_has_the_group_s_digests() -> None:
    """I13: of the pull requests to a dependency, the one that carries the group's digests counts before a newer one."""
    state = Observations()
    state.component("base")
    state.component("op", "base")
    state.component("bundle", "op")
    state.open("base", "u")
    state.build("base", "1", 1)
    state.step()
    state.build("op", "2", 1)
    state.open("op", "u")
    state.build("op", "3", 2)
    assert state.step()[0][0] == "u/bundle draft op=2 [create] until op#1 merged, op#2 merged"


def test_i13_a_quoted_block_plans_nothing() -> None:
    """I13: a person may quote the description of a planned pull request; then the newest build counts."""
    state = operator("op1")
    state.open("op1", "f/1")
    state.build("op1", "1", 1)
    state.step()
    state.edit("op1", 1, body=f"See:\n{state.pulls['bundle', 1].body}")
    state.open("op1", "f/2")
    state.build("op1", "2", 2)
    assert state.step()[0][0].startswith("f/bundle draft op1=2 [addCommit describe]")


def test_r32_groups_do_not_mix() -> None:
    """CR32: a pull request of one group does not name the triggers of another."""
    state = operator("op1", "op2")
    for name, branch in (("op1", "x"), ("op2", "x"), ("op1", "y"), ("op2", "y")):
        number = state.open(name, branch)
        state.build(name, str(number), number)
    assert state.step()[0] == [
        "x/bundle draft op1=1,op2=1 [create] until op1#1 merged, op2#1 merged",
        "y/bundle draft op1=2,op2=2 [create] until op1#2 merged, op2#2 merged",
    ]
    assert only_digests(state) == {"x": {"0"}, "y": {"0"}}


def only_digests(state: Observations) -> dict[str, set[str]]:
    """The digests that may be replaced, by group."""
    plans, _ = state.plan()
    return {plan.group: {replaceable[7] for edit in plan.digests for replaceable in edit.replaceable} for plan in plans}


def test_r33_others_are_left_alone() -> None:
    """CR33: pull requests of other programs on our branch names, without our words, are none of ours."""
    state = parent()
    state.open("child", "up/child")
    state.edit("child", 1, title="Update parent", body="by a program")
    state.open("parent", "up")
    state.build("parent", "1", 1)
    plans, _ = state.plan()
    assert [plan.pull_request for plan in plans] == [None]
    state.close("parent", 1)
    assert state.step() == ([], "")


def test_r34_closed_by_hand() -> None:
    """CR34: it is kept closed and reported; when it is reopened, it is updated again."""
    state = updating()
    state.close("child", 1)
    state.build("parent", "2", 1)
    assert state.step() == ([], "CR34")
    state.edit("child", 1, state="open")
    assert state.step()[0] == ["up/child draft parent=2 [addCommit describe] until parent#1 merged"]


def test_r5_deleted() -> None:
    """CR5, C9: a dependant's pull requests are closed; one whose dependencies are all deleted, too."""
    for name in ("child", "parent"):
        state = updating()
        state.removed.append(name)
        assert state.step() == (["up/child closed  [close]"], "CR5")
        assert state.step() == ([], "")


def test_the_branch_stays() -> None:
    """I17: a pull request keeps its branch, whatever other branches there are later."""
    state = updating()
    state.open("child", "other", branches=["main", "up"])
    assert state.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]


@pytest.mark.parametrize(("branches", "branch"), [(BranchNames(), "renovate/nginx"), (BranchNames(("@",)), "other")])
def test_its_branch_is_recognized(branches: BranchNames, branch: str) -> None:
    """CR22, I6, C2: with an ignored prefix, and where only @ separates, the pull request is not opened twice."""
    state = updating()
    state.branches = branches
    number = state.open("parent", branch)
    state.build("parent", "2", number)
    state.step()
