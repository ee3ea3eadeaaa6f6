"""Builds and pull requests for other branches than the one that a Component is built from: of another version."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from components.observations import Observations, digest, run
from components.plan.scenes import parent
from krm_merge.components.konflux.reading import read_build, read_component

PAC = "pipelinesascode.tekton.dev"


def for_branch(state: Observations, branch: str) -> None:
    """The last build is for that branch."""
    state.builds[-1] = replace(state.builds[-1], target_branch=branch)


def test_a_push_to_another_branch_is_not_promoted() -> None:
    """CR15: the newest push of the Component's branch counts, though another one was pushed to later."""
    state = parent()
    state.push("parent", "2")
    state.push("parent", "1")
    for_branch(state, "release-1")
    assert state.step()[0] == ["component-update-parent/child ready parent=2 [create]"]
    _, findings = state.plan()
    message = "builds for release-1 trigger nothing: the Component is built from main"
    assert message in [finding.message for finding in findings]


def test_what_was_built_for_another_branch_is_not_known_as_older() -> None:
    """C5: a file may name both versions."""
    state = parent()
    state.push("parent", "1")
    for_branch(state, "release-1")
    state.push("parent", "2")
    (plan,), _ = state.plan()
    assert [edit.replaceable for edit in plan.digests] == [(digest("0"),)]


@pytest.mark.parametrize("from_build", [True, False], ids=["the build tells", "only the pull request tells"])
def test_a_pull_request_for_another_branch_brings_nothing(*, from_build: bool) -> None:
    """CR20, CR30: neither before its merge nor after."""
    state = parent()
    state.open("parent", "fix")
    state.edit("parent", 1, target_branch="release-1")
    branch = "release-1" if from_build else ""
    state.build("parent", "1", 1)
    for_branch(state, branch)
    assert state.step()[0] == []
    state.merge_and_build("parent", 1, "2")
    for_branch(state, branch)
    assert state.step()[0] == []


def test_a_pull_request_that_was_planned_for_before() -> None:
    """CR20: what its planned pull request tells of it does not count either, once it is for another branch."""
    state = parent()
    state.open("parent", "fix")
    state.build("parent", "1", 1)
    state.step()
    state.edit("parent", 1, target_branch="release-1")
    state.builds.clear()
    plans, findings = state.plan()
    assert (plans, [finding.rule for finding in findings]) == ([], ["CR6"])


def test_a_pull_request_that_gets_another_target() -> None:
    """CR20: the target is observed; earlier builds name the earlier target."""
    state = parent()
    state.open("parent", "fix")
    state.build("parent", "1", 1)
    for_branch(state, "base")
    assert state.step()[0] == ["fix/child draft parent=1 [create] until parent#1 merged"]
    state.edit("parent", 1, target_branch="release-1")
    _, findings = state.plan()
    message = "builds for release-1 trigger nothing: the Component is built from main"
    assert [finding.message for finding in findings if finding.rule == "CR15"] == [message]


def test_a_merge_elsewhere_that_gets_to_the_branch() -> None:
    """I12: a push of what was merged into another branch first is one without a pull request."""
    state = parent()
    state.open("parent", "fix")
    state.edit("parent", 1, target_branch="base")
    state.merge_and_build("parent", 1, "1")
    assert state.step()[0] == ["component-update-parent/child ready parent=1 [create]"]


LONG = "feature/" + "x" * 80


@pytest.mark.parametrize(
    ("branch", "label", "is_own"),
    [
        ("main", "main", True),
        ("main", "refs-heads-main", True),
        ("main", "refs-tags-v1", True),
        ("release/1.0", "release-1.0", True),
        ("release/1.0", "refs-heads-release-1.0", True),
        ("release/1.0", "release-1-0", False),
        ("release/a_b", "release-a_b", True),
        (LONG, LONG[-62:], True),
        (LONG, LONG[-61:-1] + "yy", False),
        ("main", "not-main", False),
        ("main", "release-1", False),
    ],
)
def test_labels_hold_no_slash(branch: str, label: str, is_own: bool) -> None:
    """CR15: a label alone may be of every branch that is written so."""
    build = yaml.safe_load(push("a", "1", 1))
    build["metadata"]["labels"][f"{PAC}/branch"] = label
    one_version = VERSIONS.replace(", {name: r1, revision: release-1}", "")
    items = [one_version.replace("refs/heads/main", f"'{branch}'"), CHILD, yaml.safe_dump(build)]
    answer = run(items, "plan")
    assert any("kind: PullRequestPlan" in item for item in answer.items) is is_own
    assert bool(answer.messages("CR15")) is not is_own


@pytest.mark.parametrize("annotation", [f"{PAC}/source-branch", "build.appstudio.redhat.com/target_branch"])
def test_annotations_before_labels(annotation: str) -> None:
    """CR15: these have the name of the branch as it is."""
    value = yaml.safe_load(push("a", "1", 1))
    value["metadata"]["labels"][f"{PAC}/branch"] = "release-1.0"
    value["metadata"]["annotations"][annotation] = "release/1.0"
    build = read_build(value)
    assert build is not None
    assert (build.target_branch, build.branch_label) == ("release/1.0", "")


@pytest.mark.parametrize("branch", ["", "main"])
def test_the_branch_is_not_told_on_both_sides(branch: str) -> None:
    """CR15: who does not say its branch is of every one."""
    state = parent()
    state.push("parent", "1")
    for_branch(state, "")
    if not branch:
        state.components["parent"] = replace(state.components["parent"], branch="")
        for_branch(state, "release-1")
    assert state.step()[0] == ["component-update-parent/child ready parent=1 [create]"]


def push(name: str, letter: str, at: int, **annotations: str) -> str:
    about = {
        "name": name,
        "namespace": "team",
        "labels": {"appstudio.openshift.io/component": "parent", f"{PAC}/event-type": "push"},
        "annotations": {f"{PAC}/{field.replace('_', '-')}": value for field, value in annotations.items()},
    }
    status = {
        "startTime": f"2024-06-01T00:00:0{at}Z",
        "conditions": [{"type": "Succeeded", "status": "True"}],
        "results": [{"name": "IMAGE_DIGEST", "value": digest(letter)}],
    }
    return yaml.safe_dump({"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": about, "status": status})


VERSIONS = f"""apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata: {{name: parent, namespace: team}}
spec:
  application: app
  containerImage: quay.io/acme/parent@{digest("0")}
  source:
    url: https://github.com/acme/parent
    versions: [{{name: main, revision: refs/heads/main}}, {{name: r1, revision: release-1}}]
"""
CHILD = f"""apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata: {{name: child, namespace: team}}
spec:
  application: app
  containerImage: quay.io/acme/child@{digest("0")}
  source: {{git: {{url: https://github.com/acme/child}}}}
  dependsOn: [parent]
"""


def test_of_several_versions_the_first_is_promoted() -> None:
    """CR15: as resources, in plan and in simulate; a child without versions depends on the first."""
    items = [VERSIONS, CHILD, push("a", "2", 1, branch="main"), push("b", "1", 2, branch="release-1")]
    (plan,) = (yaml.safe_load(item) for item in run(items, "plan").items if "kind: PullRequestPlan" in item)
    assert [commit["to"] for commit in plan["spec"]["commits"]] == [digest("2")]
    snapshot = next(item for item in run(items, "simulate").items if "kind: Snapshot" in item)
    assert f"containerImage: quay.io/acme/parent@{digest('2')}" in snapshot


def test_a_push_to_another_branch_leaves_what_the_component_says() -> None:
    """CR15: nothing of it is written back."""
    promoted = VERSIONS + f"status: {{lastPromotedImage: 'quay.io/acme/parent:v1@{digest('0')}'}}\n"
    assert run([promoted, CHILD, push("b", "1", 2, branch="release-1")], "simulate").items[0] == promoted


@pytest.mark.parametrize(
    ("annotations", "branch"),
    [
        ({"branch": "refs/heads/release-1"}, "release-1"),
        ({"branch": "main", "source_branch": "other"}, "main"),
        # A push comes from the branch that it goes to.
        ({"source_branch": "refs/heads/release-1"}, "release-1"),
        # A tag may be of any branch.
        ({"branch": "refs/tags/v1", "source_branch": "refs/tags/v1"}, ""),
    ],
)
def test_the_branch_of_a_push(annotations: dict[str, str], branch: str) -> None:
    build = read_build(yaml.safe_load(push("a", "1", 1, **annotations)))
    assert build is not None
    assert build.target_branch == branch


@pytest.mark.parametrize(
    ("revision", "branch"),
    [
        ("HEAD", ""),
        ("0a" * 20, ""),
        ("0a" * 32, ""),
        ("refs/tags/v1.0", ""),
        ("0a" * 19, "0a" * 19),
        ("HEADS", "HEADS"),
        ("v1.0", "v1.0"),
    ],
)
def test_a_revision_may_be_no_branch(revision: str, branch: str) -> None:
    """CR15: what is not of one branch is of every one."""
    written = VERSIONS.replace("refs/heads/main", f"'{revision}'")
    assert read_component(yaml.safe_load(written)).branch == branch
    plans = [item for item in run([written, CHILD, push("a", "1", 1, branch="main")], "plan").items if "Plan\n" in item]
    assert len(plans) == (branch == "")
