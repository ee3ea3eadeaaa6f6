"""Components without a repository or the name of an image: reported before anything is planned."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from components.observations import Observations, brief, digest, run
from components.plan.scenes import parent

BUILD = f"""apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: parent-1
  namespace: team
  labels: {{appstudio.openshift.io/component: parent, pipelinesascode.tekton.dev/event-type: push}}
status:
  startTime: "2024-06-01T00:00:00Z"
  conditions: [{{type: Succeeded, status: "True"}}]
  results: [{{name: IMAGE_DIGEST, value: "{digest("1")}"}}]
"""
NAMED = BUILD.replace("results: [", "results: [{name: IMAGE_URL, value: 'quay.io/acme/parent:tag'}, ")


def component(name: str, spec: str) -> str:
    about = f"metadata: {{name: {name}, namespace: team}}\nspec:\n  application: app\n"
    return f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\n{about}  {spec}\n"


SOURCE = "source: {git: {url: https://github.com/acme/%s}}"
PARENT = component("parent", f"{SOURCE % 'parent'}\n  containerImage: quay.io/acme/parent@{digest('0')}")
CHILD = component("child", f"{SOURCE % 'child'}\n  dependsOn: [parent]")


@pytest.mark.parametrize("mode", ["validate", "plan", "simulate"])
@pytest.mark.parametrize(
    ("items", "field", "says"),
    [
        ([PARENT, component("child", "dependsOn: [parent]")], "spec.source.git.url", "team/child has no repository"),
        ([PARENT.replace("source", "origin"), CHILD], "spec.source.git.url", "team/parent has no repository"),
        ([PARENT.replace("containerImage", "image"), CHILD], "spec.containerImage", "team/parent has no image"),
    ],
)
def test_what_is_missing_is_told(items: list[str], field: str, says: str, mode: str) -> None:
    """C3: with Component and field."""
    answer = run([*items, BUILD], mode)
    (result,) = [result for result in answer.results if result["severity"] == "warning"]
    assert str(result["message"]).startswith(says)
    assert str(result["message"]).endswith(f"; set {field}")
    assert result["field"] == {"path": field}
    assert answer.exit_code == 0


@pytest.mark.parametrize("mode", ["validate", "plan", "simulate"])
def test_a_build_names_the_image(mode: str) -> None:
    """C5: that is as good as the Component's own words."""
    answer = run([PARENT.replace("containerImage", "image"), CHILD, NAMED], mode)
    assert [result for result in answer.results if result["severity"] == "warning"] == []
    if mode == "validate":
        return
    (plan,) = (yaml.safe_load(item) for item in answer.items if "kind: PullRequestPlan" in item)
    assert plan["spec"]["commits"][0]["repositories"] == ["quay.io/acme/parent"]


def briefs(state: Observations) -> list[str]:
    return [brief(plan) for plan in state.plan()[0]]


def test_no_plan_that_cannot_be_carried_out() -> None:
    """CR21, C5: neither to where no repository is known, nor of what no file can name."""
    state = parent()
    state.component("other", "parent")
    state.push("parent", "1")
    other = replace(state.components["other"], repository="")
    state.components["other"] = other
    assert briefs(state) == ["component-update-parent/child ready parent=1 [create]"]
    state.components["parent"] = replace(state.components["parent"], image="")
    assert briefs(state) == ["component-update-parent/child ready parent=1 [create]"]
    state.builds[:] = [replace(build, image="") for build in state.builds]
    assert briefs(state) == []
    state.components["parent"] = replace(state.components["parent"], released_as=("registry.example/parent",))
    assert briefs(state) == ["component-update-parent/child ready parent=1 [create]"]


def test_the_newest_build_names_the_image() -> None:
    state = parent()
    state.components["parent"] = replace(state.components["parent"], image="")
    state.push("parent", "1")
    state.push("parent", "2")
    state.builds[0] = replace(state.builds[0], image="quay.io/acme/before")
    assert state.plan()[0][0].digests[0].repositories == ("quay.io/acme/parent",)


def test_who_has_no_edges_lacks_nothing() -> None:
    answer = run([component("alone", "")], "validate")
    assert [result for result in answer.results if result["severity"] == "warning"] == []
