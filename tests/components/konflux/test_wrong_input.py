"""Invalid resources: reported with file, field and remedy, never with a traceback."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.konflux.wrong_input import (
    ANNOTATIONS,
    DEPENDS_ON,
    GIT,
    GOOD,
    HEAD,
    LABELS,
    MODES,
    PAC,
    RELEASE,
    SOURCE,
    SPEC,
    change,
    items_with,
)
from components.observations import digest, run
from krm_merge.krm.identity import format_path

# --- Fields ----------------------------------------------------------------------------------------------------------

MAPPED = ("spec", "data", "mapping", "components")
TEXT, LIST, MAP, MAPS = "a string is expected", "a list of strings is expected", "a mapping is", "a list of mappings is"
NUMBER, FLAG = "put the number in quotes", "true or false is expected, without quotes"
DIGEST = "sha256: and 64 hexadecimal digits are expected"
BRANCH, COMMIT, TIME = "the name of a branch is expected", "the full id of a commit", "a time is expected, such as"

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
    ("Snapshot app-20240306-000000-000", ("status", "conditions", 0), "x", MAP, ""),
    ("Snapshot app-20240306-000000-000", ("metadata", "namespace"), ["team"], TEXT, ""),
]


@pytest.mark.parametrize(("name", "place", "value", "says", "field"), WRONG)
def test_fields(name: str, place: tuple[str | int, ...], value: Any, says: str, field: str) -> None:
    """The function tells resource, field and remedy, and writes nothing."""
    resources = GOOD | {name: change(GOOD[name], place, value)}
    items = [yaml.safe_dump(resource) for resource in resources.values()]
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
    answer = run(items_with(change(GOOD[name], place, value)), "plan")
    assert answer.exit_code == 0, answer.results


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "value", ["sha256:111", f"sha256:{'A' * 64}", f"sha512:{'1' * 128}", "1" * 64, "nonsense"], ids=range(5)
)
def test_a_build_that_tells_no_digest(value: str, mode: str) -> None:
    """CR19: nobody can edit the results of a build. That build is ignored, and the others count as before."""
    place = ("status", "results", 1, "value")
    path = format_path(place)
    answer = run(items_with(change(GOOD["PipelineRun child-1"], place, value)), mode)
    assert answer.exit_code == 0
    (result,) = [result for result in answer.results if result.get("field") == {"path": path}]
    assert (result["severity"], result["tags"]) == ("warning", {"rule": "CR19", "component": "team/child"})
    assert f"/child-1: {path}: {DIGEST}" in str(result["message"])
    assert str(result["message"]).endswith("; so this build is ignored")
    if mode == "plan":
        (plan,) = (yaml.safe_load(item) for item in answer.items if "kind: PullRequestPlan" in item)
        assert [commit["to"] for commit in plan["spec"]["commits"] if commit["kind"] == "digest"] == [digest("4")]


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_build_that_gives_no_image_may_tell_anything(status: str) -> None:
    """CR19: it would not count in any case, so its digest is not reported."""
    build = change(GOOD["PipelineRun child-1"], ("status", "results", 1, "value"), "unknown")
    answer = run(items_with(change(build, ("status", "conditions", 0, "status"), status)), "validate")
    assert [result for result in answer.results if result["severity"] != "info"] == []


def test_all_errors_at_once() -> None:
    """Of all resources, and all problems of each; below a field that is not a map nothing more is reported."""
    component = change(change(GOOD["Component parent"], (*SPEC, "application"), 1), (*SPEC, "source"), "x")
    pull_request = change(change(GOOD["PullRequest parent-7"], ("status", "draft"), "x"), (*SPEC, "number"), None)
    answer = run(items_with(component, pull_request), "validate")
    assert {result["field"]["path"] for result in answer.results} == {  # type: ignore[index]
        "spec.source",
        "spec.application",
        "spec.number",
        "status.draft",
    }
