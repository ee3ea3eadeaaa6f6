"""C10: along an edge with `mode: validated` a digest is passed on when the tests of its build have passed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.observations import digest, run
from components.plan.versions import component, push
from components.settings.resources import RELEASE, SCENARIO


def config(mode: str) -> str:
    about = "apiVersion: appstudio.redhat.com/v1beta2\nkind: NudgeConfig\n"
    nudges = f"spec:\n  nudges:\n  - {{from: parent, to: child, mode: {mode}}}\n"
    return f"{about}metadata: {{name: nudge-config, namespace: team}}\n{nudges}"


def snapshot(letter: str, status: str, namespace: str = "team") -> str:
    about = {"apiVersion": "appstudio.redhat.com/v1alpha1", "kind": "Snapshot"}
    image = f"quay.io/acme/parent@{digest(letter)}"
    spec = {"application": "app", "components": [{"name": "parent", "containerImage": image}]}
    conditions = [{"type": "AppStudioTestSucceeded", "status": status}]
    metadata = {"name": f"app-{letter}", "namespace": namespace}
    return yaml.safe_dump({**about, "metadata": metadata, "spec": spec, "status": {"conditions": conditions}})


def plan_spec(*items: str) -> dict[str, Any]:
    answer = run([component("parent", None), component("child", None), *items], "plan")
    (spec,) = (yaml.safe_load(item)["spec"] for item in answer.items if "kind: PullRequestPlan" in item)
    assert isinstance(spec, dict)
    return spec


@pytest.mark.parametrize(
    ("mode", "snapshots", "waits"),
    [
        ("immediate", [], False),
        ("validated", [], True),
        ("validated", [snapshot("1", "True")], False),
        ("validated", [snapshot("1", "False")], True),
        ("validated", [snapshot("1", "Unknown")], True),
        ("validated", [snapshot("2", "True")], True),
        ("validated", [snapshot("1", "True", "other")], True),
    ],
)
def test_a_push_waits_for_its_tests(mode: str, snapshots: list[str], waits: bool) -> None:
    spec = plan_spec(config(mode), push("1", "main"), *snapshots)
    assert spec.get("draft", False) is waits
    expected = [{"component": "parent", "until": "validated"}] if waits else []
    assert spec.get("waitingFor", []) == expected
    text = "Merge it when the tests of parent have passed: until then it stays a draft."
    assert (text in spec["description"]) is waits


def test_what_is_not_merged_waits_for_that_first() -> None:
    pull_request = """\
apiVersion: components.krm-merge.dev/v1alpha1
kind: PullRequest
metadata: {name: parent-1, namespace: team}
spec: {repository: https://github.com/acme/parent, number: 1, sourceBranch: fix, targetBranch: main}
status: {headSHA: '1111111111111111111111111111111111111111'}
"""
    build = yaml.safe_load(push("1", "main"))
    build["metadata"]["labels"] |= {
        "pipelinesascode.tekton.dev/pull-request": "1",
        "pipelinesascode.tekton.dev/event-type": "pull_request",
    }
    build["metadata"]["annotations"]["pipelinesascode.tekton.dev/source-branch"] = "fix"
    spec = plan_spec(config("validated"), pull_request, yaml.safe_dump(build))
    assert [condition["until"] for condition in spec["waitingFor"]] == ["merged"]


def test_configure_keeps_the_tests_that_somebody_waits_for() -> None:
    """CR14, CR16: the dependency is tested, and still not released."""
    items = [component("parent", None), component("child", None), SCENARIO, RELEASE]

    def contexts_of(mode: str) -> tuple[list[str], str]:
        answer = run([*items, config(mode)], "configure")
        contexts = [context["name"] for context in yaml.safe_load(answer.items[2])["spec"]["contexts"]]
        annotations = yaml.safe_load(answer.items[3])["metadata"]["annotations"]
        return contexts, annotations["release.appstudio.openshift.io/auto-release"]

    released = 'updatedComponentIs("child")'
    assert contexts_of("immediate") == (["component_child", "group", "disabled"], released)
    # There is nothing that is not to be tested, so the scenario is as it was: of all.
    assert contexts_of("validated") == (["application", "disabled", "group"], released)


def test_configure_is_done_after_one_run() -> None:
    """C10: the edges that it adds as validated are so for the tests at once."""
    empty = config("validated").partition("spec:")[0]
    items = [component("parent", None), component("child", None, "parent"), SCENARIO, RELEASE, empty]
    once = run(items, "configure", "{emit: {nudgeMode: validated}}")
    assert once.items[2] == SCENARIO
    assert "mode: validated" in once.items[4]
    assert run(once.items, "configure", "{emit: {nudgeMode: validated}}").items == once.items
