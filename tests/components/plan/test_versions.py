"""C10: all versions of a Component are planned for, each as a Component of its own."""

from __future__ import annotations

from typing import Any

import yaml

from components.observations import Answer, run
from components.plan.versions import PAC, component, push


def parts_of(answer: Answer) -> dict[str, tuple[str, str, list[str]]]:
    """Of each plan by its dependant: the target branch, the directory, the letters of the digests."""
    specs = [yaml.safe_load(item)["spec"] for item in answer.items if "kind: PullRequestPlan" in item]
    return {
        spec["components"][0]["name"]: (
            spec.get("targetBranch", ""),
            spec["components"][0]["context"],
            [commit["to"][7] for commit in spec["commits"]],
        )
        for spec in specs
    }


BOTH = {"v1": "main", "v2": "release-2"}
PUSHES = [push("1", "main"), push("2", "release-2")]


def test_each_version_gets_the_digest_of_its_own() -> None:
    items = [component("parent", BOTH), component("child", BOTH, "parent", context="dir-"), *PUSHES]
    answer = run(items, "plan")
    assert parts_of(answer) == {"child": ("main", "dir-v1", ["1"]), "child-v2": ("release-2", "dir-v2", ["2"])}
    assert answer.exit_code == 0
    # What is said of a version is said at its Component.
    about = [result["resourceRef"]["name"] for result in answer.results if "child-v2" in str(result["message"])]  # type: ignore[index]
    assert about
    assert set(about) == {"child"}


def test_versions_go_together_by_name_else_by_branch_else_with_the_first() -> None:
    items = [
        component("parent", BOTH),
        component("child", {"a": "main", "b": "release-2", "v2": "other", "c": "else"}, "parent"),
        *PUSHES,
    ]
    digests = {name: letters for name, (_, _, letters) in parts_of(run(items, "plan")).items()}
    assert digests == {"child": ["1"], "child-b": ["2"], "child-v2": ["2"], "child-c": ["1"]}


def test_a_dependant_without_versions_depends_on_the_first() -> None:
    items = [component("parent", BOTH), component("child", None, "parent"), *PUSHES]
    assert parts_of(run(items, "plan")) == {"child": ("", ".", ["1"])}


def test_a_component_of_the_name_of_a_version_is_not_replaced() -> None:
    """It is how versions were written before there were any."""
    old = component("parent-v2", {"v2": "release-2"})
    answer = run([component("parent", BOTH), old, component("child", BOTH, "parent"), *PUSHES], "plan")
    (message,) = answer.messages("C10")
    assert "team/parent: its version v2 is not planned: there is a Component team/parent-v2" in message
    assert {name: letters for name, (_, _, letters) in parts_of(answer).items()} == {"child": ["1"], "child-v2": ["1"]}


def test_configure_knows_the_directories_of_all_versions() -> None:
    """CR12, CR13: the deepest directory that holds all, and of each definition that of its version."""
    about = "apiVersion: pipelinesascode.tekton.dev/v1alpha1\nkind: Repository\nmetadata: {name: p, namespace: team}\n"
    repository = f"{about}spec: {{url: https://github.com/acme/parent}}\n"
    labels = "{build.konflux-ci.dev/component: parent, build.konflux-ci.dev/version: v2}"
    annotations = f'{{{PAC}/on-cel-expression: event == "push" && target_branch == "release-2"}}'
    definition = (
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\n"
        f"metadata: {{name: parent-v2, namespace: team, labels: {labels}, annotations: {annotations}}}\n"
    )
    parent = component("parent", BOTH, context="images/")
    answer = run([parent, component("child", None, "parent"), repository, definition], "configure")
    assert yaml.safe_load(answer.items[2])["spec"]["context"] == "images"
    expression = yaml.safe_load(answer.items[3])["metadata"]["annotations"][f"{PAC}/on-cel-expression"]
    assert '"images/v2/***".pathChanged()' in expression


def test_dependants_in_one_repository_share_a_branch_where_the_annotation_says_so() -> None:
    """`build-nudge-simple-branch` of a dependency, as Konflux has it; elsewhere each has a branch of its own."""
    annotated = yaml.safe_load(component("parent", None))
    annotated["metadata"]["annotations"] = {"build.appstudio.openshift.io/build-nudge-simple-branch": "true"}
    children = [yaml.safe_load(component(name, None, "parent", context=name)) for name in ("one", "two")]
    for child in children:
        child["spec"]["source"] = {"git": {"url": "https://github.com/acme/mono", "context": child["metadata"]["name"]}}
    dumped = [yaml.safe_dump(child) for child in children]

    def branches(parent: dict[str, Any]) -> dict[str, list[str]]:
        answer = run([yaml.safe_dump(parent), *dumped, push("1", "main")], "plan")
        specs = [yaml.safe_load(item)["spec"] for item in answer.items if "kind: PullRequestPlan" in item]
        return {spec["sourceBranch"]: [component["name"] for component in spec["components"]] for spec in specs}

    assert branches(annotated) == {"component-update-parent/mono": ["one", "two"]}
    del annotated["metadata"]["annotations"]
    assert branches(annotated) == {"component-update-parent/one": ["one"], "component-update-parent/two": ["two"]}
