"""Components, builds and pull requests as they are read from resources, of all the shapes that there are."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.observations import digest
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import (
    Build,
    Component,
    ComponentKey,
    Nudge,
    digest_of,
)
from krm_merge.components.konflux.reading import (
    UnreadableError,
    read_build,
    read_component,
    read_nudges,
    read_pull_request,
)
from krm_merge.forges.interface import same_repository
from krm_merge.functions.component_items import read_items
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge import image_repository

# --- Components ------------------------------------------------------------------------------------------------------

OLD = f"""
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  name: op
  namespace: team
  annotations:
    test.appstudio.openshift.io/lastbuilttime: "1709568000"
spec:
  application: app
  componentName: op
  containerImage: quay.io/acme/op@{digest("1")}
  source:
    git: {{url: https://github.com/acme/mono, revision: release-1, context: ./op, dockerfileUrl: Dockerfile}}
  build-nudges-ref: [bundle]
status:
  lastPromotedImage: quay.io/acme/op@{digest("2")}
"""
NEW = f"""
apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata: {{name: op, namespace: team}}
spec:
  application: app
  containerImage: quay.io/acme/op:latest@{digest("1")}
  source:
    url: https://github.com/acme/mono
    dockerfileUri: Dockerfile
    versions:
    - {{name: v1, revision: release-1, context: op}}
    - {{name: v2, revision: main, context: other}}
"""


def test_both_models() -> None:
    """The source as it was, and with versions, of which the first is the Component itself."""
    old, new = read_component(yaml.safe_load(OLD)), read_component(yaml.safe_load(NEW))
    assert old == Component(
        ComponentKey("team", "op"),
        "app",
        "https://github.com/acme/mono",
        "release-1",
        "./op",
        "quay.io/acme/op",
        digest("2"),
        "2024-03-04T16:00:00Z",
        nudges=("bundle",),
    )
    assert new == Component(
        old.key,
        "app",
        old.repository,
        "release-1",
        "op",
        "quay.io/acme/op",
        digest("1"),
        tags=("latest",),
        is_declared=True,
    )


@pytest.mark.parametrize(
    ("version", "kind", "is_one"),
    [
        ("appstudio.redhat.com/v1alpha1", "Component", True),
        ("konflux-ci.dev/v1beta2", "Component", True),
        ("example.com/v1", "Component", False),
        ("v1", "Component", False),
        ("appstudio.redhat.com/v1alpha1", "Application", False),
    ],
)
def test_is_component(version: str, kind: str, is_one: bool) -> None:
    item = Resource.from_document(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
    assert bool(read_items([item], Results()).components) is is_one


ANNOTATION = "components.krm-merge.dev/depends-on"
ALIASES: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    ({"dependsOn": ["a", "b"]}, "", ("a", "b")),
    ({"depends-on": ["a"]}, "", ("a",)),
    ({"depends on": ["a"]}, "", ("a",)),
    ({}, "a, b,,", ("a", "b")),
    ({"dependsOn": ["a"], "depends-on": ["b", "a"], "depends on": ["c"]}, "d,a", ("a", "b", "c", "d")),
    ({"dependsOn": None}, "", ()),
    ({}, "", ()),
]


@pytest.mark.parametrize(("spec", "annotation", "names"), ALIASES)
def test_aliases(spec: dict[str, Any], annotation: str, names: tuple[str, ...]) -> None:
    """CR1, C1."""
    metadata: dict[str, Any] = {"name": "c", **({"annotations": {ANNOTATION: annotation}} if annotation else {})}
    assert read_component({"metadata": metadata, "spec": spec}).depends_on == names


def test_component_without_anything() -> None:
    """Missing fields have defaults; a Component that is being deleted is marked as such (C9)."""
    component = read_component({"metadata": {"name": "c", "deletionTimestamp": "2024-01-01T00:00:00Z"}})
    assert component == Component(ComponentKey("", "c"), "", deleted=True)


def test_nudge_config() -> None:
    """C1."""
    pairs = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    value: dict[str, Any] = {"metadata": {"namespace": "team"}, "spec": {"nudges": pairs}}
    assert read_nudges(value) == [Nudge("team", "a", "b"), Nudge("team", "b", "c")]
    assert read_nudges({"spec": {}}) == []


# --- Builds ----------------------------------------------------------------------------------------------------------

PAC = "pipelinesascode.tekton.dev"


def pipeline_run(**changes: Any) -> dict[str, Any]:
    """A finished build of a pull request; `changes` are merged into labels, annotations, results and status."""
    labels = {
        "appstudio.openshift.io/component": "op",
        "pipelines.appstudio.openshift.io/type": "build",
        f"{PAC}/event-type": "pull_request",
        f"{PAC}/pull-request": "17",
        f"{PAC}/sha": "abc",
        **changes.get("labels", {}),
    }
    annotations = {
        f"{PAC}/source-branch": "feature",
        f"{PAC}/branch": "main",
        f"{PAC}/repo-url": "https://github.com/acme/op",
        **changes.get("annotations", {}),
    }
    results = {"IMAGE_URL": "quay.io/acme/op:on-pr-abc", "IMAGE_DIGEST": digest("1"), **changes.get("results", {})}
    status = {
        "startTime": "2024-01-01T00:00:00Z",
        "completionTime": "2024-01-01T00:05:00Z",
        "conditions": [{"type": "Succeeded", "status": changes.get("succeeded", "True")}],
        "results": [{"name": name, "value": value} for name, value in results.items()],
    }
    return {
        "metadata": {
            "name": "op-1",
            "namespace": "team",
            "labels": {name: value for name, value in labels.items() if value is not None},
            "annotations": {name: value for name, value in annotations.items() if value is not None},
        },
        "status": changes.get("status", status),
    }


def read(**changes: Any) -> Build:
    build = read_build(pipeline_run(**changes))
    assert build is not None
    return build


def test_build() -> None:
    assert read() == Build(
        "op-1",
        ComponentKey("team", "op"),
        "pull_request",
        "succeeded",
        "https://github.com/acme/op",
        "abc",
        "feature",
        "main",
        17,
        "quay.io/acme/op",
        digest("1"),
        "2024-01-01T00:00:00Z",
        "2024-01-01T00:05:00Z",
    )


def test_build_of_new_labels() -> None:
    """The fields of the newer build-service and the results describe the same build."""
    group = "build.appstudio.redhat.com"
    build = read(
        labels={
            "appstudio.openshift.io/component": None,
            "build.konflux-ci.dev/component": "op",
            f"{PAC}/pull-request": None,
            f"{PAC}/sha": None,
        },
        annotations={
            f"{PAC}/branch": None,
            f"{PAC}/repo-url": None,
            f"{group}/target_branch": "main",
            f"{group}/pull_request_number": "17",
            f"{group}/commit_sha": "abc",
        },
        results={"CHAINS-GIT_URL": "https://github.com/acme/op", "CHAINS-GIT_COMMIT": "def"},
    )
    assert build == read()


EVENTS: list[tuple[str, str | None, str, str]] = [
    # event type, number, source branch, event
    ("pull_request", "1", "feature", "pull_request"),
    ("retest-all-comment", "1", "feature", "pull_request"),
    ("Merge_Request", "1", "feature", "pull_request"),
    ("push", "1", "main", "push"),
    ("push", None, "main", "push"),
    ("Push", "1", "refs/heads/main", "push"),
    ("incoming", None, "main", "push"),
    ("push", None, "gh-readonly-queue/main/pr-1-abc", "merge_queue"),
    ("push", "1", "refs/heads/gh-readonly-queue/main/pr-1-abc", "merge_queue"),
]


@pytest.mark.parametrize(("kind", "number", "branch", "event"), EVENTS)
def test_events(kind: str, number: str | None, branch: str, event: str) -> None:
    """CR15, CR19: what is merged, and what is not yet."""
    labels = {f"{PAC}/event-type": kind, f"{PAC}/pull-request": number}
    build = read(labels=labels, annotations={f"{PAC}/source-branch": branch})
    assert build.event == event
    assert build.pull_request == int(number or 0)
    assert not build.source_branch.startswith("refs/")


@pytest.mark.parametrize(
    ("succeeded", "outcome"), [("True", "succeeded"), ("False", "failed"), ("Unknown", "running"), (None, "running")]
)
def test_outcomes(succeeded: str | None, outcome: str) -> None:
    """CR19."""
    assert read(succeeded=succeeded).outcome == outcome


def test_results() -> None:
    """Missing results, and the name of an image."""
    status = {"startTime": "2024-01-01T00:00:00Z", "conditions": [{"type": "Succeeded", "status": "True"}]}
    build = read(status=status)
    assert (build.outcome, build.image, build.digest, build.completed) == ("succeeded", "", "", "")
    assert read(results={"IMAGE_URL": "localhost:5000/acme/op:tag"}).image == "localhost:5000/acme/op"


def test_space_around_results() -> None:
    """The output of `echo` ends in a newline; a Component may hold it, too."""
    results = {"IMAGE_URL": "quay.io/acme/op:on-pr-abc\n", "IMAGE_DIGEST": f"{digest('1')}\n"}
    assert read(results=results) == read()
    resource: dict[str, Any] = {
        "metadata": {"name": "op"},
        "spec": {"containerImage": f"quay.io/acme/op:v1@{digest('1')}\n"},
    }
    component = read_component(resource)
    assert (component.image, component.tags, component.digest) == ("quay.io/acme/op", ("v1",), digest("1"))
    without_digest = read_component({"metadata": {"name": "op"}, "spec": {"containerImage": "quay.io/acme/op\n"}})
    assert without_digest.image == "quay.io/acme/op"


@pytest.mark.parametrize("value", ["", "\n", "unknown", f"sha512:{'1' * 128}"])
def test_a_build_without_a_digest(value: str) -> None:
    """CR19: it is read, and gives no image."""
    build = read(results={"IMAGE_DIGEST": value})
    assert (build.outcome, build.digest) == ("succeeded", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {"appstudio.openshift.io/component": None}},
        {"status": None},
        {"status": {}},
    ],
    ids=["of no component", "a definition", "not started"],
)
def test_no_builds(changes: dict[str, Any]) -> None:
    """PipelineRuns that test or release, and those that are only definitions in git."""
    assert read_build(pipeline_run(**changes)) is None


def test_an_older_build_is_not_promoted() -> None:
    """CR15: never an older one than was promoted. Source: integration-service, isBuildPLROlderThanLastBuild."""
    component = read_component(yaml.safe_load(OLD))
    build = read(labels={f"{PAC}/event-type": "push"})  # started before 1709568000
    assert History([build], (), {component.key: component}).promoted_digest(component.key) == digest("2")


# --- Pull requests ---------------------------------------------------------------------------------------------------

HEAD, MERGE = "0a" * 20, "0b" * 32
PULL: dict[str, Any] = {
    "apiVersion": "components.krm-merge.dev/v1alpha1",
    "kind": "PullRequest",
    "metadata": {"name": "op-17"},
    "spec": {
        "repository": "https://github.com/acme/op",
        "number": 17,
        "sourceBranch": "feature",
        "targetBranch": "main",
        "title": "A title",
    },
    "status": {
        "state": "merged",
        "draft": True,
        "headSHA": HEAD,
        "mergeSHA": MERGE,
        "mergedAt": "2024-01-02T00:00:00Z",
        "changedFiles": [],
        "userCommits": True,
        "branches": ["main"],
    },
}


def test_pull_request() -> None:
    """Unobserved fields are distinguished from empty ones."""
    pull = read_pull_request(PULL)
    assert pull.id == ("github.com/acme/op", 17)
    assert (pull.state, pull.draft, pull.head, pull.merge_commit) == ("merged", True, HEAD, MERGE)
    assert pull.merged_at == "2024-01-02T00:00:00Z"
    assert (pull.changed, pull.user_commits, pull.branches) == ((), True, ("main",))
    with pytest.raises(UnreadableError, match=r"^status\.headSHA: the full id of a commit is expected"):
        read_pull_request(PULL | {"status": {"headSHA": f"{HEAD}\n"}})
    bare = read_pull_request({name: value for name, value in PULL.items() if name != "status"})
    assert (bare.state, bare.draft, bare.changed, bare.branches) == ("open", False, None, None)


# --- Names -----------------------------------------------------------------------------------------------------------

D = digest("1")
IMAGES = [
    ("quay.io/o/x", "quay.io/o/x", ""),
    ("quay.io/o/x:v1", "quay.io/o/x", ""),
    (f"quay.io/o/x@{D}", "quay.io/o/x", D),
    (f"quay.io/o/x:v1@{D}", "quay.io/o/x", D),
    ("host:5000/x", "host:5000/x", ""),
    ("host:5000/x:v1", "host:5000/x", ""),
    (f"host:5000/o/x:v1@{D}", "host:5000/o/x", D),
    ("x:v1", "x", ""),
    ("", "", ""),
]


@pytest.mark.parametrize(("reference", "name", "of"), IMAGES)
def test_image_repository(reference: str, name: str, of: str) -> None:
    """A port is no tag."""
    assert image_repository(reference) == name
    assert digest_of(reference) == of


SPELLINGS = [
    "https://github.com/acme/op",
    "https://github.com/acme/op.git",
    "https://github.com/acme/op/",
    "https://github.com/acme/op.git/",
    "http://GitHub.com/acme/op",
    "https://user:token@github.com/acme/op",
    "git@github.com:acme/op.git",
    "git@github.com:acme/op",
    "ssh://git@github.com/acme/op.git",
    "git+ssh://git@github.com/acme/op",
    "github.com/acme/op",
    " https://github.com/acme/op ",
]
OTHERS = [
    "https://github.com/acme/Op",
    "https://github.com/acme/op2",
    "https://github.com/acme/git",
    "https://gitlab.com/acme/op",
    "https://github.com:8443/acme/op",
    "/github.com/acme/op",
    "file:///acme/op",
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_same_repository(url: str) -> None:
    assert same_repository(url) == "github.com/acme/op"


def test_other_repositories() -> None:
    assert len({same_repository(url) for url in [*OTHERS, SPELLINGS[0]]}) == len(OTHERS) + 1
    assert same_repository("ssh://git@host:2222/acme/op.git") == same_repository("ssh://host:2222/acme/op")
