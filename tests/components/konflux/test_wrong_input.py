"""Resources that are not what they should be: told with file, field and remedy, never with a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.observations import Observations, digest, run
from krm_merge.functions import process
from krm_merge.functions.component_items import read_items
from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.text.nodes import Mapping
from krm_merge.text.values import from_value

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
    ("PullRequest parent-7", ("status", "state"), "declined", "declined is none of open, closed, merged", ""),
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
    assert str(told["message"]).endswith("; so this build brings nothing")
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


# --- What several resources say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_one_component_twice(mode: str) -> None:
    """Both files are named; the API groups of Konflux are one."""
    place = (*ANNOTATIONS, "internal.config.kubernetes.io/path")
    again = changed(changed(GOOD["Component parent"], place, "old/parent.yaml"), ("apiVersion",), "konflux-ci.dev/v1")
    items = [*listed(), yaml.safe_dump(again)]
    answer = run(items, mode)
    assert (answer.exit_code, answer.items) == (1, items)
    (error,) = answer.results
    assert "parent.yaml and old/parent.yaml are of one Component; take one of them out" in str(error["message"])
    assert error["file"] == {"path": "old/parent.yaml"}
    assert error["field"] == {"path": "metadata.name"}
    elsewhere = changed(again, ("metadata", "namespace"), "other")
    assert run([*listed(), yaml.safe_dump(elsewhere)], mode).exit_code == 0


def test_a_pull_request_may_be_observed_twice() -> None:
    """A late observation of another state is none that is wrong."""
    later = changed(GOOD["PullRequest parent-7"], ("status", "state"), "closed")
    answer = run([*listed(), yaml.safe_dump(changed(later, ("metadata", "name"), "later"))], "plan")
    assert answer.exit_code == 0


SPELLINGS = [
    ("dependson", True),
    ("DependsOn", True),
    ("depends_on", True),
    ("Depends-On", True),
    ("depends.on", True),
    ("dependsOn", False),
    ("depends-on", False),
    ("depends on", False),
    ("dependencies", False),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("spelling", "is_told"), SPELLINGS)
def test_misspelt(spelling: str, is_told: bool, mode: str) -> None:
    """R1: a field that is not read, but looks as if it were."""
    component = changed(GOOD["Component child"], (*SPEC, spelling), ["parent"])
    answer = run(listed(component), mode)
    assert answer.exit_code == 0
    told = [one for one in answer.results if one["severity"] == "warning"]
    assert len(told) == is_told
    for one in told:
        assert str(one["message"]).endswith(
            "this is not read; what it depends on is written dependsOn, depends-on or depends on"
        )
        assert one["field"] == {"path": format_path((*SPEC, spelling))}
        assert one["tags"] == {"rule": "R1", "component": "team/child"}


def test_misspelt_annotation() -> None:
    """R1."""
    component = changed(GOOD["Component child"], (*ANNOTATIONS, "components.krm-merge.dev/dependsOn"), "parent")
    answer = run(listed(component), "validate")
    (message,) = answer.messages("R1")
    assert message.endswith(f"what it depends on is written {DEPENDS_ON}")


ADMITTED: list[tuple[Object, bool]] = [
    ({"origin": "team", "applications": ["app"]}, True),
    ({"origin": "team", "applications": ["other", "app"]}, True),
    ({"origin": "team"}, True),
    ({"applications": ["app"]}, True),
    ({}, True),
    ({"origin": None, "applications": None}, True),
    ({"origin": "other", "applications": ["app"]}, False),
    ({"origin": "team", "applications": ["other"]}, False),
    ({"origin": "team", "applications": []}, False),
]


@pytest.mark.parametrize(("whose", "counts"), ADMITTED)
def test_admissions_of_others(whose: Object, counts: bool) -> None:
    """Names are those of the applications that an admission is for, not of whatever else has the Component's name."""
    admission = changed(
        GOOD["ReleasePlanAdmission admission"],
        SPEC,
        {
            "data": {
                "mapping": {
                    "components": [
                        {
                            "name": "parent",
                            "repositories": [{"url": "quay.io/released/parent"}, {"url": "quay.io/released/parent:1"}],
                        },
                        {"name": "child", "repositories": [{"url": "quay.io/released/child"}]},
                    ]
                }
            },
            **whose,
        },
    )
    answer = run(listed(admission), "plan")
    (plan,) = [yaml.safe_load(one) for one in answer.items if "kind: PullRequestPlan" in one]
    released = ["quay.io/released/parent"] if counts else []
    assert plan["spec"]["commits"][0]["repositories"] == ["quay.io/acme/parent", *released]


# --- What is not there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_no_component(mode: str) -> None:
    """C3: silence would look like success."""
    others = [yaml.safe_dump(one) for one in GOOD.values() if one["kind"] not in ("Component", "PullRequestPlan")]
    foreign = yaml.safe_dump(changed(GOOD["Component child"], ("apiVersion",), "example.com/v1"))
    for items in ([], others, [foreign]):
        answer = run(items, mode)
        assert answer.exit_code == 0
        (message,) = answer.messages("C3")
        assert f"so there is nothing to {mode}; add them" in message
    assert run(listed(), mode).messages("C3") == []


NAMED = [("parent", False), ("child", False), ("ghost", True)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "is_told"), NAMED)
def test_removed_is_unknown(name: str, is_told: bool, mode: str) -> None:
    """C9: a slip of the pen; the field of the functionConfig is named."""
    answer = run(listed(), mode, f"{{removed: ['{name}']}}")
    assert answer.exit_code == 0
    told = [one for one in answer.results if one.get("field") == {"path": "removed"}]
    assert len(told) == is_told
    for one in told:
        assert one["severity"] == "warning"
        assert one["tags"]["rule"] == "C9"  # type: ignore[index]
        assert f"nothing is known of {name}; correct the name" in str(one["message"])


def test_removed_without_a_manifest() -> None:
    """R5, C9: what was planned for a deleted dependency is closed, also where nothing but `removed` tells of it."""
    made = Observations()
    made.component("parent")
    made.component("child", "parent")
    made.open("parent", "feature")
    made.build("parent", "1", 1)
    made.step()
    pull = made.pulls["child", 1]
    found = {"repository": pull.repository, "number": 1, "sourceBranch": pull.source_branch, "targetBranch": "main"}
    observed = changed(GOOD["PullRequest parent-7"], SPEC, {**found, "description": pull.description})
    source = {"url": pull.repository, "revision": "main"}
    child = changed(GOOD["Component child"], SPEC, {"application": "app", "source": {"git": source}})
    items = [yaml.safe_dump(one) for one in (changed(child, ANNOTATIONS, {}), observed)]
    assert run(items, "plan").rules() == ["R6"]
    answer = run(items, "plan", "{removed: [parent]}")
    assert answer.rules() == ["R5"]
    assert answer.messages("R5") == ["team/child: child#1 is closed: its dependencies are deleted"]


def test_removed_is_in_what_configure_wrote() -> None:
    """C9: what `configure` derived declares nothing, but is to be taken out."""
    derived = "components.krm-merge.dev/derived-nudges"
    parent = changed(GOOD["Component parent"], (*ANNOTATIONS, derived), "child")
    nudges = changed(GOOD["NudgeConfig nudge-config"], (*ANNOTATIONS, derived), "parent>child")
    for one in (parent, changed(nudges, (*SPEC, "nudges", 0, "from"), "other")):
        told = run([yaml.safe_dump(one)], "configure", "{removed: [child]}").messages("C9")
        assert not [message for message in told if "nothing is known" in message]


def test_removed_in_a_config_map() -> None:
    """The field is one of `data`, and the file of the functionConfig is told."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "annotations": {"config.kubernetes.io/path": "fn.yaml"}},
        "data": {"function": "PlanComponentUpdates", "mode": "validate", "removed": "parent, ghost"},
    }
    items = [yaml.safe_load(one) for one in listed()]
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": config}
    (told,) = [
        one
        for one in yaml.safe_load(process(yaml.safe_dump(whole).encode()).output)["results"]
        if one["tags"]["rule"] == "C9"
    ]
    assert (told["field"], told["file"]) == ({"path": "data.removed"}, {"path": "fn.yaml"})


# --- The functionConfig ----------------------------------------------------------------------------------------------

CONFIGS = [
    ("{digest: x}", "digest", "functionConfig: digest is 'x'; a map is expected"),
    ("{digest: [a]}", "digest", "functionConfig: digest is a list; a map is expected"),
    ("{emit: null}", "emit", "functionConfig: emit is null; a map is expected"),
    ("{emit: {contexts: 'no'}}", "emit.contexts", "emit.contexts is 'no'; true or false is expected"),
    ("{removed: parent}", "removed", "functionConfig: removed is 'parent'; a list is expected"),
    ("{removed: [1]}", "removed[0]", "functionConfig: removed[0] is 1; a text is expected"),
    ("{suffix: true}", "suffix", "functionConfig: suffix is true; input should be 'component' or 'repository'"),
    (
        "{digest: {fils: []}}",
        "digest.fils",
        "digest.fils is not a field of it; known are match, tag, files, exclude, multiDigestFile",
    ),
    ("{digests: {}}", "digests", "ignoredPrefixes, emit, digest, removed, applySnapshots"),
]


@pytest.mark.parametrize(("config", "path", "says"), CONFIGS)
def test_function_config(config: str, path: str, says: str) -> None:
    """What is expected, in words of YAML; of a field that there is none, which there are."""
    items = listed()
    answer = run(items, "plan", config)
    assert (answer.exit_code, answer.items) == (1, items)
    (error,) = answer.results
    assert error["field"] == {"path": path}
    assert says in str(error["message"])


# --- Whatever else ---------------------------------------------------------------------------------------------------

ANYTHING: list[Any] = [None, 1, True, "", "x", [], {}, [None], {"a": 1}]
CHANGES = [(name, place, value) for name, one in GOOD.items() for place in places(one) for value in ANYTHING]


def read(value: Object) -> Results:
    root, results = from_value(value), Results()
    assert isinstance(root, Mapping)
    read_items([Resource.from_tree(root, "a.yaml")], results)
    return results


def test_any_field_may_be_wrong() -> None:
    """Every field of every resource, by itself: read or refused with its field."""
    for name, place, value in CHANGES:
        for error in read(changed(GOOD[name], place, value)).errors:
            assert error.file is not None
            assert error.path is not None or "metadata" in error.message or "apiVersion and kind" in error.message


@given(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3, unique_by=lambda one: one[0]), st.sampled_from(MODES))
def test_what_is_read_can_be_planned(changes: list[tuple[str, tuple[str | int, ...], Any]], mode: str) -> None:
    """No mode breaks on what was not refused; refused is untouched."""
    found = GOOD | {name: changed(GOOD[name], place, value) for name, place, value in changes}
    items = [yaml.safe_dump(one) for one in found.values()]
    answer = run(items, mode)
    assert answer.exit_code in (0, 1)
    assert answer.exit_code == 0 or answer.items == items
