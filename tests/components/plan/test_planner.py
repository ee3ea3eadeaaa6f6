"""Plans for the specification's scenarios, step by step: what is observed in, pull requests and findings out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.observations import Observations, brief, digest, key, run
from krm_merge.components.graph.groups import Branches
from krm_merge.components.konflux.model import Key
from krm_merge.components.plan.description import parse_description
from krm_merge.components.plan.model import Choices, Plan


def parent(choices: Choices | None = None) -> Observations:
    """A common parent image in one repository, its child in another."""
    made = Observations(choices or Choices())
    made.component("parent")
    made.component("child", "parent", at="c")
    return made


def started(branch: str = "up", choices: Choices | None = None) -> Observations:
    """A pull request of the parent, built, and the one that it triggered."""
    made = parent(choices)
    made.open("parent", branch)
    made.build("parent", "1", 1)
    made.step()
    return made


def operator(*operands: str) -> Observations:
    made = Observations()
    for name in operands:
        made.component(name)
    made.component("bundle", *operands, at="b")
    return made


def monorepo() -> Observations:
    made = Observations()
    made.component("controller", repository="op", context="controller")
    made.component("bundle", "controller", repository="op", context="bundle", at="b")
    return made


def only(made: Observations) -> Plan:
    (one,), _ = made.plan()
    return one


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
    assert plan.digests[0].known == (digest("0"),)
    assert plan.digests[0].repositories == ("quay.io/acme/parent",)
    made.build("child", "d", 1)
    same = f"{branch} draft parent=1 [] until parent#1 merged"
    assert made.step() == ([same], "R22 R27")  # 3
    made.builds.append(made.builds[-1])
    assert made.step() == ([same], "R22 R27")  # 4: delivered again
    made.commit("parent", 1)
    made.build("parent", "2", 1)
    assert made.step()[0] == [f"{branch} draft parent=2 [addCommit describe] until parent#1 merged"]  # 5
    assert only(made).digests[0].known == (digest("0"), digest("1"))
    made.build("parent", "", 1, outcome="failed")
    assert made.step()[0] == [f"{branch} draft parent=2 [] until parent#1 merged"]  # 6
    made.merge("parent", 1)
    assert made.step()[0] == [f"{branch} draft parent=2 [rebase describe] until parent#1 mergeBuild"]  # 7'
    assert "acme/parent#1 (waiting): merged, its build is awaited" in only(made).description
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
    """R32: as many pull requests as groups; each brings what is its own."""
    made = operator("op1", "op2", "op3")
    for at, name in enumerate(("op1", "op2", "op3"), 1):
        made.open(name, f"f{at}/{name}")
        made.build(name, str(at), 1)
    plans, rules = made.step()  # 6
    assert plans == [f"f{at}/bundle draft op{at}={at} [create] until op{at}#1 merged" for at in (1, 2, 3)]
    assert rules == "R21 R21 R21 R27 R27 R27"


@pytest.mark.parametrize("observed", [True, False], ids=["a branch", "a pull request"])
def test_s2_the_branch_is_in_the_way(observed: bool) -> None:
    """I5, R26: the other spelling, which is told, and is the same group."""
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
    """R4, R10: an edge to another Application's Component brings nothing."""
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
    """R30: its digest goes back to the promoted one."""
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
    made = started(choices=Choices(on_closed="keep"))
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
    """R34: it is told; what is merged later is brought anew, and is no draft."""
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
    """R6: what is open is told, not closed."""
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


# --- Rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["failed", "running"])
def test_r19_only_success_counts(outcome: str) -> None:
    """R19, C3: nothing is planned, and it is told why."""
    made = parent()
    made.open("parent", "up")
    made.build("parent", "1", 1, outcome=outcome)  # type: ignore[arg-type]
    assert made.step() == ([], "R19")


def test_r19_without_a_digest() -> None:
    """R19: a build that tells no image brings none."""
    made = parent()
    made.open("parent", "up")
    made.build("parent", "", 1)
    assert made.step() == ([], "R19")
    (told,) = made.plan()[1]
    assert told.message.endswith("the build parent-2 of team/parent has no digest as its result IMAGE_DIGEST")


def test_r19_a_merge_queue_promotes_nothing() -> None:
    """R19, R30: what may be merged is not merged."""
    made = started()
    made.merge("parent", 1)
    made.build("parent", "5", 1, event="merge_queue")
    assert made.step()[0] == ["up/child draft parent=1 [rebase describe] until parent#1 mergeBuild"]


def test_r20_direct_dependants_only() -> None:
    """R20: each of them, and none behind them before it is built."""
    made = Observations()
    made.component("base")
    made.component("a", "base")
    made.component("b", "base")
    made.component("c", "a")
    made.component("unrelated")
    made.open("base", "u")
    made.build("base", "1", 1)
    assert [one.partition(" ")[0] for one in made.step()[0]] == ["u/a", "u/b"]


def test_r21_what_it_carries() -> None:
    """R21: branch with the same prefix, in the repository of the dependant; the image is named with its digest."""
    made = started("fix/one")
    plan = only(made)
    assert plan.target.repository == made.url("child")
    assert plan.branch == "fix/child"
    assert f"`quay.io/acme/parent@{digest('1')}`" in plan.description


def test_r21_what_is_done_is_not_repeated() -> None:
    """R21, R30: of groups that were merged before anything was opened, the newest brings the digest."""
    made = parent()
    for number, letter in ((1, "1"), (2, "2")):
        made.open("parent", f"f{number}")
        made.build("parent", letter, number)
        made.merged("parent", number, str(number + 5))
    assert made.step() == (["f2/child ready parent=7 [create]"], "R21 R30")


def test_r22_one_pull_request() -> None:
    """R22: however often it is built."""
    made = started()
    for letter in "2345":
        made.build("parent", letter, 1)
        made.step()
    assert len([repository for repository, _ in made.pulls if repository == "child"]) == 1
    assert only(made).digests[0].digest == digest("5")


def test_r23_a_merge_updates_it() -> None:
    """R23: on the way over merged to built it is described and rebased."""
    made = started()
    made.merged("parent", 1, "9")
    assert made.step()[0] == ["up/child ready parent=9 [addCommit rebase describe undraft]"]


def test_r23_text_of_people_stays() -> None:
    """R23: only the block is exchanged."""
    made = started()
    made.edit("child", 1, description=f"Hello.\n{made.pulls['child', 1].description}Bye.\n")
    made.build("parent", "2", 1)
    plans, _ = made.plan()
    made.carry_out(plans)
    text = made.pulls["child", 1].description
    assert text.startswith("Hello.\n")
    assert text.endswith("Bye.\n")
    told = parse_description(text)
    assert told is not None
    assert told.digests == {"parent": digest("2")}


def test_r26_its_group() -> None:
    """R26: what it is built into is in the group of what triggered it."""
    made = started("feature/x")
    branches = Branches(dependants={"parent", "child"})
    assert branches.group(made.pulls["child", 1].source_branch) == "feature" == only(made).group


def test_r27_draft_with_a_reference() -> None:
    """R27; and made a draft again where a person undrafted it."""
    made = started()
    own = made.pulls["child", 1]
    assert own.draft
    assert "acme/parent#1" in own.description
    made.edit("child", 1, draft=False)
    assert made.step()[0] == ["up/child draft parent=1 [draft] until parent#1 merged"]


def test_r28_of_another_repository_nothing_is_copied() -> None:
    """R28: paths of another repository are none of the dependant's."""
    made = parent()
    made.open("parent", "up", ["Dockerfile"])
    made.build("parent", "1", 1)
    assert only(made).synthetic == ()


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
    """R28: exactly those in the directory; a part of a name is another directory."""
    made = monorepo()
    made.open("op", "new-feature", changed)
    made.build("controller", "1", 1)
    assert [one.paths for one in only(made).synthetic] == ([paths] if paths else [])


def test_r28_one_copy_for_two_dependencies() -> None:
    """R28, R31: a pull request that both are built of is copied once."""
    made = Observations()
    for name in ("a", "b"):
        made.component(name, repository="op", context=name)
    made.component("bundle", "a", "b", repository="op", context="bundle")
    made.open("op", "f", ["a/x", "b/x", "bundle/x"])
    made.build("a", "1", 1)
    made.build("b", "2", 1)
    plan = only(made)
    assert brief(plan) == "f@bundle draft a=1,b=2 [create] until a#1 merged, b#1 merged"
    assert len(plan.synthetic) == 1


def test_r29_digest_on_top() -> None:
    """R29: the digest is the last commit of the resource."""
    pull = (
        "apiVersion: components.krm-merge.dev/v1alpha1\nkind: PullRequest\nmetadata: {name: p, namespace: team}\n"
        "spec: {repository: https://forge.example/acme/op, number: 1, sourceBranch: f, targetBranch: main}\n"
        f"status: {{headSHA: {'abc1' * 10}, changedFiles: [bundle/x]}}\n"
    )
    items = [component_yaml("controller", "controller"), component_yaml("bundle", "bundle", "controller"), pull]
    answer = run([*items, build_yaml("controller")], "plan")
    assert answer.exit_code == 0
    (plan,) = [one for one in answer.items if "kind: PullRequestPlan" in one]
    assert plan.index("kind: synthetic") < plan.index("kind: digest")
    assert plan.count("- kind:") == 2
    again = run(answer.items, "plan")
    assert again.items == answer.items


def component_yaml(name: str, context: str, *depends_on: str) -> str:
    return (
        f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec:\n  application: app\n  dependsOn: [{', '.join(depends_on)}]\n  containerImage: quay.io/acme/{name}\n"
        f"  source: {{git: {{url: https://forge.example/acme/op, context: {context}}}}}\n"
    )


def build_yaml(name: str) -> str:
    pac = "pipelinesascode.tekton.dev"
    return (
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata:\n  name: run\n  namespace: team\n  labels:\n"
        f"    appstudio.openshift.io/component: {name}\n    {pac}/event-type: pull_request\n"
        f'    {pac}/pull-request: "1"\n  annotations: {{{pac}/source-branch: f}}\nstatus:\n'
        '  startTime: "2024-01-01T00:00:00Z"\n  conditions: [{type: Succeeded, status: "True"}]\n  results:\n'
        f"  - {{name: IMAGE_URL, value: quay.io/acme/{name}}}\n  - {{name: IMAGE_DIGEST, value: {digest('1')}}}\n"
    )


@pytest.mark.parametrize("order", list(permutations(["merge op1", "merge op2", "build op1", "build op2"])))
def test_r30_whatever_comes_first(order: tuple[str, ...]) -> None:
    """R30, I10: ready after the last merge and its build, not before."""
    made = operator("op1", "op2")
    for name in ("op1", "op2"):
        made.open(name, "f")
        made.build(name, "1", 1)
    for at, what in enumerate(order):
        if what.startswith("build"):
            # A build of a merge that is not observed yet.
            made.build(what[6:], str(at + 2), 1, "push", revision=f"m{what[6:]}")
        else:
            made.edit(what[6:], 1, state="merged", merge_commit=f"m{what[6:]}")
        made.step()
        assert made.pulls["bundle", 1].draft == (at < 3)


def test_r31_two_of_one_repository() -> None:
    """R31: of two pull requests to one dependency the newest build counts; both are waited for."""
    made = parent()
    for number, letter in ((1, "1"), (2, "2")):
        made.open("parent", f"f/{number}")
        made.build("parent", letter, number)
    assert made.step()[0] == ["f/child draft parent=2 [create] until parent#1 merged, parent#2 merged"]
    made.build("parent", "3", 1)
    assert made.step()[0][0].startswith("f/child draft parent=3 [addCommit describe]")


def test_r31_i13_what_has_the_group_s_digests() -> None:
    """I13: of the pull requests to a dependency, the one that carries the group's digests counts before a newer one."""
    made = Observations()
    made.component("base")
    made.component("op", "base")
    made.component("bundle", "op")
    made.open("base", "u")
    made.build("base", "1", 1)
    made.step()
    made.build("op", "2", 1)
    made.open("op", "u")
    made.build("op", "3", 2)
    assert made.step()[0][0] == "u/bundle draft op=2 [create] until op#1 merged, op#2 merged"


def test_i13_a_quoted_block_plans_nothing() -> None:
    """I13: a person may quote the description of a planned pull request; then the newest build counts."""
    made = operator("op1")
    made.open("op1", "f/1")
    made.build("op1", "1", 1)
    made.step()
    made.edit("op1", 1, description=f"See:\n{made.pulls['bundle', 1].description}")
    made.open("op1", "f/2")
    made.build("op1", "2", 2)
    assert made.step()[0][0].startswith("f/bundle draft op1=2 [addCommit describe]")


def test_r32_groups_do_not_mix() -> None:
    """R32: what one group brings is not told by another."""
    made = operator("op1", "op2")
    for name, branch in (("op1", "x"), ("op2", "x"), ("op1", "y"), ("op2", "y")):
        number = made.open(name, branch)
        made.build(name, str(number), number)
    assert made.step()[0] == [
        "x/bundle draft op1=1,op2=1 [create] until op1#1 merged, op2#1 merged",
        "y/bundle draft op1=2,op2=2 [create] until op1#2 merged, op2#2 merged",
    ]
    assert only_digests(made) == {"x": {"0"}, "y": {"0"}}


def only_digests(made: Observations) -> dict[str, set[str]]:
    """What may be replaced, by group."""
    plans, _ = made.plan()
    return {one.group: {known[7] for edit in one.digests for known in edit.known} for one in plans}


def test_r33_others_are_left_alone() -> None:
    """R33: pull requests of other programs on our branch names, without our words, are none of ours."""
    made = parent()
    made.open("child", "up/child")
    made.edit("child", 1, title="Update parent", description="by a program")
    made.open("parent", "up")
    made.build("parent", "1", 1)
    plans, _ = made.plan()
    assert [one.own for one in plans] == [None]
    made.close("parent", 1)
    assert made.step() == ([], "")


def test_r34_closed_by_hand() -> None:
    """R34: it stays closed, which is told; reopened it goes on."""
    made = started()
    made.close("child", 1)
    made.build("parent", "2", 1)
    assert made.step() == ([], "R34")
    made.edit("child", 1, state="open")
    assert made.step()[0] == ["up/child draft parent=2 [addCommit describe] until parent#1 merged"]


def test_r5_deleted() -> None:
    """R5, C9: a dependant's pull requests are closed; one whose dependencies are all deleted, too."""
    for name in ("child", "parent"):
        made = started()
        made.removed.append(name)
        assert made.step() == (["up/child closed  [close]"], "R5")
        assert made.step() == ([], "")


def test_the_branch_stays() -> None:
    """I17: a pull request keeps its branch, whatever other branches there are later."""
    made = started()
    made.open("child", "other", branches=["main", "up"])
    assert made.step()[0] == ["up/child draft parent=1 [] until parent#1 merged"]


def test_suffix_repository() -> None:
    """I17: the option."""
    made = Observations(Choices(suffix="repository"))
    made.component("parent")
    made.component("child", "parent", repository="services")
    made.open("parent", "up")
    made.build("parent", "1", 1)
    assert made.step()[0] == ["up/services draft parent=1 [create] until parent#1 merged"]


def test_an_ignored_prefix() -> None:
    """R22, I6: the pull request is found again."""
    made = started()
    number = made.open("parent", "renovate/nginx")
    made.build("parent", "2", number)
    made.step()


def test_only_at_separates() -> None:
    """R22, C2: the pull request is found again."""
    made = started()
    made.choices = Choices(Branches(("@",)))
    number = made.open("parent", "other")
    made.build("parent", "2", number)
    made.step()


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
    made.choices = Choices(suffix="repository")
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
    made.choices = Choices(suffix="repository")
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
        made.components[f"other/{name}"] = replace(found, key=Key("zoo", name), depends_on=names)
    made.builds += [replace(one, component=Key("zoo", one.component.name)) for one in made.builds]
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
    assert "Closed: child#2 brought all that it brings." in made.pulls["child", 1].description
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
    assert told.startswith("team/parent: builds of #7 bring nothing: there is no PullRequest of that number")


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
    assert any(one.component is not None and one.component.name == "bundle" for one in made.plan()[1])


def closing_opens_nothing(made: Observations) -> None:
    made.component("grandchild", "child")
    made.build("child", "2", 1)
    made.close("parent", 1)
    assert made.step()[0] == ["up/child closed  [close]"]


def kept_stays_a_draft(made: Observations) -> None:
    made.choices = Choices(on_closed="keep")
    made.close("parent", 1)
    plans, findings = made.plan()
    assert plans[0].draft
    assert not [one.message for one in findings if "leaves draft" in one.message]


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


@settings(max_examples=60)
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
        ready = [one for one in made.plan()[0] if not one.draft and not one.closed and one.own is not None]
        if not ready:
            break
        repository = ready[0].target.repository.rpartition("/")[2]
        made.merged(repository, ready[0].own.number, "0123456789abcdef"[at])  # type: ignore[union-attr]
        settle(made)
    assert not [brief(one) for one in made.plan()[0] if not one.draft]
