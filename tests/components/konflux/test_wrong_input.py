"""Resources that are not what they should be: told with file, field and remedy, never with a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from components.observations import digest, run
from krm_merge.krm.fieldpath import format_path

MODES = ["validate", "configure", "plan", "simulate"]
HEAD, MERGE = "0a" * 20, "0b" * 20
PAC = "pipelinesascode.tekton.dev"
RELEASE = "release.appstudio.openshift.io/auto-release"
DEPENDS_ON = "components.krm-merge.dev/depends-on"

# A package that gives every mode something to do: a parent image, its child, a pull request that is built.
PACKAGE = f"""
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  name: parent
  namespace: team
  annotations:
    internal.config.kubernetes.io/path: parent.yaml
    test.appstudio.openshift.io/lastbuilttime: "1709568000"
spec:
  application: app
  componentName: parent
  containerImage: quay.io/acme/parent@{digest("1")}
  source:
    git: {{url: https://github.com/acme/parent, revision: main, context: image, dockerfileUrl: Dockerfile}}
  build-nudges-ref: [child]
status:
  lastPromotedImage: quay.io/acme/parent@{digest("2")}
  lastBuiltCommit: {MERGE}
---
apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata:
  name: child
  namespace: team
  annotations:
    {DEPENDS_ON}: parent
    internal.config.kubernetes.io/path: child.yaml
spec:
  application: app
  containerImage: quay.io/acme/child@{digest("3")}
  dependsOn: [parent]
  source:
    url: https://github.com/acme/child
    versions:
    - {{name: v1, revision: main, context: .}}
---
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata: {{name: nudge-config, namespace: team}}
spec:
  nudges:
  - {{from: parent, to: child, mode: immediate}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: parent-1
  namespace: team
  creationTimestamp: "2024-03-05T00:00:00Z"
  labels:
    appstudio.openshift.io/component: parent
    {PAC}/event-type: pull_request
    {PAC}/pull-request: "7"
    {PAC}/sha: {HEAD}
  annotations:
    {PAC}/source-branch: feature
    {PAC}/branch: main
    {PAC}/repo-url: https://github.com/acme/parent
    build.appstudio.redhat.com/commit_sha: {HEAD}
    build.appstudio.redhat.com/target_branch: main
    build.appstudio.redhat.com/pull_request_number: "7"
status:
  startTime: "2024-03-05T00:00:00Z"
  completionTime: "2024-03-05T00:05:00Z"
  conditions:
  - {{type: Succeeded, status: "True", reason: Completed}}
  results:
  - {{name: IMAGE_URL, value: "quay.io/acme/parent:on-pr"}}
  - {{name: IMAGE_DIGEST, value: "{digest("4")}"}}
  - {{name: CHAINS-GIT_URL, value: https://github.com/acme/parent}}
  - {{name: CHAINS-GIT_COMMIT, value: {HEAD}}}
  - {{name: IMAGES, value: "quay.io/acme/parent@{digest("5")}"}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: child-on-push
  namespace: team
  labels: {{appstudio.openshift.io/component: child}}
  annotations:
    {PAC}/on-cel-expression: event == "push" && target_branch == "main"
spec: {{}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: child-1
  namespace: team
  labels:
    appstudio.openshift.io/component: child
    {PAC}/event-type: push
  annotations: {{{PAC}/source-branch: main, {PAC}/branch: main}}
status:
  startTime: "2024-03-06T00:00:00Z"
  conditions: [{{type: Succeeded, status: "True"}}]
  results:
  - {{name: IMAGE_URL, value: "quay.io/acme/child:latest"}}
  - {{name: IMAGE_DIGEST, value: "{digest("6")}"}}
---
apiVersion: components.krm-merge.dev/v1alpha1
kind: PullRequest
metadata: {{name: parent-7, namespace: team}}
spec:
  repository: https://github.com/acme/parent
  number: 7
  sourceBranch: feature
  targetBranch: main
  title: A title
  description: What it is for.
status:
  state: open
  draft: false
  headSHA: {HEAD}
  mergeSHA: ""
  author: ann
  changedFiles: [image/Dockerfile]
  userCommits: false
  branches: [feature, main]
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlanAdmission
metadata: {{name: admission, namespace: releases}}
spec:
  origin: team
  applications: [app]
  data:
    mapping:
      components:
      - {{name: parent, repositories: [{{url: quay.io/released/parent}}]}}
---
apiVersion: pipelinesascode.tekton.dev/v1alpha1
kind: Repository
metadata: {{name: parent, namespace: team}}
spec: {{url: https://github.com/acme/parent, context: .}}
---
apiVersion: appstudio.redhat.com/v1beta2
kind: IntegrationTestScenario
metadata: {{name: tests, namespace: team}}
spec:
  application: app
  contexts:
  - {{name: application, description: all}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlan
metadata:
  name: release
  namespace: team
  labels: {{{RELEASE}: "true"}}
  annotations: {{{RELEASE}: "true"}}
spec: {{application: app, target: releases}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: Snapshot
metadata:
  name: app-20240306-000000-000
  namespace: team
  annotations: {{components.krm-merge.dev/simulated: "true"}}
spec:
  application: app
  components:
  - name: child
    containerImage: quay.io/acme/child@{digest("6")}
    source: {{git: {{url: https://github.com/acme/child, revision: {MERGE}}}}}
status:
  conditions:
  - {{type: AppStudioTestSucceeded, status: "True"}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: Release
metadata: {{name: old, namespace: team, annotations: {{components.krm-merge.dev/simulated: "true"}}}}
spec: {{snapshot: gone, releasePlan: release}}
---
apiVersion: components.krm-merge.dev/v1alpha1
kind: PullRequestPlan
metadata: {{name: child-feature, namespace: team}}
spec: {{repository: https://github.com/acme/child, draft: true}}
status: {{seen: true}}
"""
Object = dict[str, Any]
GOOD: dict[str, Object] = {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(PACKAGE)}


def places(value: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Of all fields and elements in a value."""
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*above, step)
        if isinstance(inner, dict | list):
            yield from places(inner, *above, step)


def changed(value: Object, place: tuple[str | int, ...], new: Any) -> Object:
    """With another value at a place; maps on the way are made."""
    found = deepcopy(value)
    inner: Any = found
    for step in place[:-1]:
        inner = inner.setdefault(step, {}) if isinstance(inner, dict) else inner[step]
    inner[place[-1]] = new
    return found


def listed(*others: Object) -> list[str]:
    """The package; resources that it has are replaced, others come behind."""
    found = GOOD | {name_of(one): one for one in others}
    return [yaml.safe_dump(one) for one in found.values()]


def name_of(value: Object) -> str:
    return f"{value['kind']} {value['metadata']['name']}"


# --- Fields ----------------------------------------------------------------------------------------------------------

SPEC, SOURCE, GIT = ("spec",), ("spec", "source"), ("spec", "source", "git")
ANNOTATIONS, LABELS = ("metadata", "annotations"), ("metadata", "labels")
MAPPED = ("spec", "data", "mapping", "components")
TEXT, LIST, MAP, MAPS = "a text is expected", "a list of texts is expected", "a map is expected", "a list of maps is"
NUMBER, FLAG = "put the number in quotes", "true or false is expected, without quotes"
DIGEST = "sha256: and 64 hexadecimal digits are expected"
BRANCH, COMMIT, TIME = "the name of a branch is expected", "the whole id of a commit", "a time is expected, such as"

# Resource, place, value, what is said; the field is the place, where no other is told.
WRONG: list[tuple[str, tuple[str | int, ...], Any, str, str]] = [
    ("Component parent", ("metadata", "name"), None, TEXT, ""),
    ("Component parent", ("metadata", "name"), 1, NUMBER, ""),
    ("Component parent", ("metadata", "namespace"), 1, NUMBER, ""),
    ("Component parent", ("metadata", "deletionTimestamp"), True, "put true in quotes", ""),
    ("Component parent", SPEC, "x", MAP, ""),
    ("Component parent", ("status",), [], MAP, ""),
    ("Component parent", (*SPEC, "application"), ["app"], TEXT, ""),
    ("Component parent", SOURCE, "https://github.com/acme/parent", MAP, ""),
    ("Component parent", GIT, ["x"], MAP, ""),
    ("Component parent", (*GIT, "url"), {"a": "b"}, TEXT, ""),
    ("Component parent", (*GIT, "url"), "--upload-pack=x", "the URL of a git repository is expected", ""),
    ("Component parent", (*GIT, "revision"), 1.0, NUMBER, ""),
    ("Component parent", (*GIT, "revision"), "-x", BRANCH, ""),
    ("Component parent", (*GIT, "context"), "../x", "name a directory inside it", ""),
    ("Component parent", (*SPEC, "containerImage"), False, "put false in quotes", ""),
    ("Component parent", ("status", "lastPromotedImage"), 1, NUMBER, ""),
    ("Component parent", (*SPEC, "containerImage"), "quay.io/acme/parent@sha256:abc", DIGEST, ""),
    ("Component parent", ("status", "lastPromotedImage"), f"x@{digest('1')}0", DIGEST, ""),
    ("Component parent", (*ANNOTATIONS, "test.appstudio.openshift.io/lastbuilttime"), "soon", TIME, ""),
    ("Component child", (*SOURCE, "url"), 1, NUMBER, ""),
    ("Component child", (*SOURCE, "versions"), {"name": "v1"}, MAPS, ""),
    ("Component child", (*SOURCE, "versions", 0), "v1", MAP, ""),
    ("Component child", (*SOURCE, "versions", 0, "revision"), 1.0, NUMBER, ""),
    ("Component child", (*SOURCE, "versions", 0, "context"), "a/../../x", "name a directory inside it", ""),
    *(
        ("Component child", (*SPEC, field), value, text, where)
        for field, name in (
            ("dependsOn", "spec.dependsOn"),
            ("depends-on", "spec.depends-on"),
            ("depends on", 'spec["depends on"]'),
            ("build-nudges-ref", "spec.build-nudges-ref"),
        )
        for value, text, where in (
            ("parent", LIST, name),
            ({"parent": None}, LIST, name),
            (["parent", 1], NUMBER, f"{name}[1]"),
            ([""], TEXT, f"{name}[0]"),
        )
    ),
    ("Component child", (*ANNOTATIONS, DEPENDS_ON), ["parent"], TEXT, ""),
    ("NudgeConfig nudge-config", (*SPEC, "nudges"), "x", MAPS, ""),
    ("NudgeConfig nudge-config", (*SPEC, "nudges", 0), "x", MAP, ""),
    (
        "NudgeConfig nudge-config",
        (*SPEC, "nudges"),
        [{"from": "a", "to": "b"}, {"to": "b"}],
        TEXT,
        "spec.nudges[1].from",
    ),
    ("NudgeConfig nudge-config", (*SPEC, "nudges", 0, "to"), ["child"], TEXT, ""),
    ("PipelineRun parent-1", (*LABELS, "appstudio.openshift.io/component"), 1, NUMBER, ""),
    ("PipelineRun parent-1", (*LABELS, f"{PAC}/pull-request"), "x", "the number of a pull request is expected", ""),
    ("PipelineRun parent-1", (*LABELS, f"{PAC}/pull-request"), 0, "the number of a pull request is expected", ""),
    ("PipelineRun parent-1", (*LABELS, f"{PAC}/sha"), 12e45, NUMBER, ""),
    ("PipelineRun parent-1", ("status",), "x", MAP, ""),
    ("PipelineRun parent-1", ("status", "startTime"), [], TEXT, ""),
    ("PipelineRun parent-1", ("status", "startTime"), "today", TIME, ""),
    ("PipelineRun parent-1", ("status", "completionTime"), "2024-03-05 00:05:00", TIME, ""),
    ("PipelineRun parent-1", ("status", "conditions"), {}, MAPS, ""),
    ("PipelineRun parent-1", ("status", "conditions", 0), "Succeeded", MAP, ""),
    ("PipelineRun parent-1", ("status", "conditions", 0, "status"), True, "put true in quotes", ""),
    ("PipelineRun parent-1", ("status", "results"), {"IMAGE_URL": "x"}, MAPS, ""),
    ("PipelineRun parent-1", ("status", "results", 1, "value"), 1, NUMBER, ""),
    ("PipelineRun child-on-push", (*ANNOTATIONS, f"{PAC}/on-cel-expression"), ["x"], TEXT, ""),
    ("PullRequest parent-7", (*SPEC, "number"), None, "the number of the pull request is expected", ""),
    ("PullRequest parent-7", (*SPEC, "number"), "17", "the number of the pull request is expected", ""),
    ("PullRequest parent-7", (*SPEC, "number"), 0, "the number of the pull request is expected", ""),
    ("PullRequest parent-7", (*SPEC, "number"), True, "the number of the pull request is expected", ""),
    ("PullRequest parent-7", (*SPEC, "repository"), "", TEXT, ""),
    ("PullRequest parent-7", (*SPEC, "repository"), "-x", "the URL of a git repository is expected", ""),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), None, TEXT, ""),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), "--all", BRANCH, ""),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), "a b", BRANCH, ""),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), "main", "it is the target branch; another one is expected", ""),
    ("PullRequest parent-7", (*SPEC, "targetBranch"), [], TEXT, ""),
    ("PullRequest parent-7", (*SPEC, "targetBranch"), "-", BRANCH, ""),
    ("PullRequest parent-7", (*SPEC, "title"), 1.5, NUMBER, ""),
    (
        "PullRequest parent-7",
        ("status", "state"),
        "declined",
        "expected one of open, closed, merged, found declined",
        "",
    ),
    ("PullRequest parent-7", ("status", "draft"), "true", FLAG, ""),
    ("PullRequest parent-7", ("status", "userCommits"), 1, FLAG, ""),
    *(
        ("PullRequest parent-7", ("status", field), value, text, "")
        for field in ("headSHA", "mergeSHA")
        for value, text in (
            ("abc", COMMIT),
            ("--output=x", COMMIT),
            (HEAD + "0", COMMIT),
            (HEAD.upper(), COMMIT),
            (1234567, NUMBER),
        )
    ),
    ("PullRequest parent-7", ("status", "mergedAt"), "yesterday", TIME, ""),
    ("PullRequest parent-7", ("status", "changedFiles"), "a", LIST, ""),
    ("PullRequest parent-7", ("status", "changedFiles", 0), None, TEXT, ""),
    ("PullRequest parent-7", ("status", "branches"), {"main": None}, LIST, ""),
    ("PullRequest parent-7", ("status", "branches", 1), 1, NUMBER, ""),
    ("ReleasePlanAdmission admission", (*SPEC, "origin"), ["team"], TEXT, ""),
    ("ReleasePlanAdmission admission", (*SPEC, "applications"), "app", LIST, ""),
    ("ReleasePlanAdmission admission", (*SPEC, "applications", 0), 1, NUMBER, ""),
    ("ReleasePlanAdmission admission", MAPPED, {}, MAPS, ""),
    ("ReleasePlanAdmission admission", (*MAPPED, 0, "repositories"), "quay.io/x", MAPS, ""),
    ("ReleasePlanAdmission admission", (*MAPPED, 0, "repositories", 0, "url"), 1, NUMBER, ""),
    ("Repository parent", (*SPEC, "url"), 1, NUMBER, ""),
    ("IntegrationTestScenario tests", (*SPEC, "contexts"), "x", MAPS, ""),
    ("IntegrationTestScenario tests", (*SPEC, "contexts", 0, "name"), [], TEXT, ""),
    ("ReleasePlan release", (*LABELS, RELEASE), False, "put false in quotes", ""),
    ("Snapshot app-20240306-000000-000", (*SPEC, "components", 0, "source"), "x", MAP, ""),
    ("Snapshot app-20240306-000000-000", ("metadata", "namespace"), ["team"], TEXT, ""),
]


@pytest.mark.parametrize(("name", "place", "value", "says", "field"), WRONG)
def test_fields(name: str, place: tuple[str | int, ...], value: Any, says: str, field: str) -> None:
    """The function tells resource, field and remedy, and writes nothing."""
    found = GOOD | {name: changed(GOOD[name], place, value)}
    items = [yaml.safe_dump(one) for one in found.values()]
    answer = run(items, "configure")
    assert (answer.exit_code, answer.items) == (1, items)
    (error,) = answer.results
    path = field or format_path(place)
    assert error["field"] == {"path": path}
    assert f": {path}: " in str(error["message"])
    assert says in str(error["message"])
    assert error["resourceRef"]["kind"] == GOOD[name]["kind"]  # type: ignore[index]
    assert error.get("file") == ({"path": f"{name.split()[1]}.yaml"} if GOOD[name]["kind"] == "Component" else None)


RIGHT: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("Component parent", (*GIT, "context"), "./image/../image/"),
    ("Component parent", (*GIT, "revision"), "release/1.0"),
    ("Component parent", (*ANNOTATIONS, "test.appstudio.openshift.io/lastbuilttime"), 1709568000),
    ("Component parent", (*ANNOTATIONS, "test.appstudio.openshift.io/lastbuilttime"), "2024-03-04T16:00:00.5Z"),
    ("PipelineRun parent-1", (*LABELS, f"{PAC}/pull-request"), 7),
    ("PipelineRun parent-1", ("status", "results", 4, "value"), ["a", "b"]),
    ("Component parent", (*SPEC, "containerImage"), f"quay.io/acme/parent@{digest('1')}\n"),
    ("Component parent", ("status", "lastPromotedImage"), f" quay.io/acme/parent@{digest('2')}\n"),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), "ann:feature"),
    ("PullRequest parent-7", (*SPEC, "sourceBranch"), "ann:main"),
    ("PullRequest parent-7", ("status", "headSHA"), "0c" * 32),
    ("PullRequest parent-7", ("status", "state"), ""),
]


@pytest.mark.parametrize(("name", "place", "value"), RIGHT)
def test_what_looks_odd_is_read(name: str, place: tuple[str | int, ...], value: Any) -> None:
    """The branch of a fork, a directory in other words, results of other tasks, numbers where numbers are meant."""
    answer = run(listed(changed(GOOD[name], place, value)), "plan")
    assert answer.exit_code == 0, answer.results


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "value", ["sha256:111", f"sha256:{'A' * 64}", f"sha512:{'1' * 128}", "1" * 64, "nonsense"], ids=range(5)
)
def test_a_build_that_tells_no_digest(value: str, mode: str) -> None:
    """R19: nobody can edit what a build told. That build brings nothing, and the others what they did."""
    place = ("status", "results", 1, "value")
    path = format_path(place)
    answer = run(listed(changed(GOOD["PipelineRun child-1"], place, value)), mode)
    assert answer.exit_code == 0
    (told,) = [one for one in answer.results if one.get("field") == {"path": path}]
    assert (told["severity"], told["tags"]) == ("warning", {"rule": "R19", "component": "team/child"})
    assert f"/child-1: {path}: {DIGEST}" in str(told["message"])
    assert str(told["message"]).endswith("; so this build is ignored")
    if mode == "plan":
        (plan,) = (yaml.safe_load(one) for one in answer.items if "kind: PullRequestPlan" in one)
        assert [commit["to"] for commit in plan["spec"]["commits"] if commit["kind"] == "digest"] == [digest("4")]


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_build_that_gives_no_image_may_tell_anything(status: str) -> None:
    """R19: it would bring nothing in any case, so nothing is told of its digest."""
    build = changed(GOOD["PipelineRun child-1"], ("status", "results", 1, "value"), "unknown")
    answer = run(listed(changed(build, ("status", "conditions", 0, "status"), status)), "validate")
    assert [one for one in answer.results if one["severity"] != "info"] == []


def test_all_errors_at_once() -> None:
    """Of all resources, and all of each; below a field that is no map nothing more is told."""
    component = changed(changed(GOOD["Component parent"], (*SPEC, "application"), 1), (*SPEC, "source"), "x")
    pull_request = changed(changed(GOOD["PullRequest parent-7"], ("status", "draft"), "x"), (*SPEC, "number"), None)
    answer = run(listed(component, pull_request), "validate")
    assert {one["field"]["path"] for one in answer.results} == {  # type: ignore[index]
        "spec.source",
        "spec.application",
        "spec.number",
        "status.draft",
    }
