"""C10: what Konflux has today besides Components and their nudges."""

from __future__ import annotations

import textwrap

import yaml

from components.observations import run
from components.settings.resources import BUNDLE, CATALOG, OP1, OP2, RELEASE, SCENARIO, expect

GROUP = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: ComponentGroup
metadata: {name: operator, namespace: team}
spec:
  components:
  - name: op1
  - {name: bundle, componentVersion: {name: v1}}
"""
CONFIG = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata: {name: nudge-config, namespace: team}
spec:
  nudges: # by hand
  - {from: op1, to: bundle, mode: validated}
"""


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nudgeconfigs.konflux-ci.dev}
spec:
  names: {kind: NudgeConfig}
  versions:
  - schema: {openAPIV3Schema: {properties: {spec: {properties: {nudges: {maxItems: MOST}}}}}}
"""
CANDIDATES = f"""\
status:
  globalCandidateList:
  - name: parent
    version: main
    lastPromotedImage: quay.io/acme/parent@sha256:{"1" * 64}
    lastPromotedCommit: {"a" * 40}
    lastPromotedBuildTime: "2026-01-01T00:00:00Z"
  - {{name: other, version: v1, lastPromotedImage: ""}}
"""
BUILD = """\
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: parent-1
  namespace: team
  labels: {build.konflux-ci.dev/component: parent, pipelinesascode.tekton.dev/event-type: push}
  annotations: {pipelinesascode.tekton.dev/source-branch: main}
status:
  startTime: "2026-01-02T00:00:00Z"
  conditions: [{type: Succeeded, status: "True"}]
  results: [{name: IMAGE_URL, value: quay.io/acme/parent}, {name: IMAGE_DIGEST, value: "NEW"}]
"""


def of_group(text: str, name: str = "operator") -> str:
    """A scenario or a plan of a ComponentGroup in place of an application."""
    lines = [f"  componentGroup: {name}" if "application:" in line else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def spec_of(text: str) -> dict[str, object]:
    document = yaml.safe_load(text)["spec"]
    assert isinstance(document, dict)
    return document


def test_scenarios_and_releases_of_a_group_are_about_its_components() -> None:
    """CR14, CR16: of a ComponentGroup, not of all Components that name no application."""
    items = [OP1, OP2, BUNDLE, CATALOG, GROUP, of_group(SCENARIO), of_group(RELEASE)]
    answer = expect(items)
    names = [context["name"] for context in spec_of(answer.items[-2])["contexts"]]  # type: ignore[attr-defined]
    assert names[:2] == ["component_bundle", "group"]
    release = yaml.safe_load(answer.items[-1])["metadata"]["annotations"]
    assert release["release.appstudio.openshift.io/auto-release"] == 'updatedComponentIs("bundle")'


def test_groups_in_groups_are_followed() -> None:
    """C16, CR14: by any spelling of their kind, and a circle ends."""
    outer = GROUP.replace("name: operator", "name: outer").replace(
        "- name: op1", "- {kind: componentGroup, name: operator}"
    )
    inner = GROUP.replace("- name: op1", "- name: op1\n  - {kind: ComponentGroup, name: outer}")
    items = [OP1, OP2, BUNDLE, CATALOG, outer, inner, of_group(SCENARIO, "outer")]
    names = [context["name"] for context in spec_of(expect(items).items[-1])["contexts"]]  # type: ignore[attr-defined]
    assert names[:2] == ["component_bundle", "group"]


def test_groups_that_are_not_in_the_package_are_left() -> None:
    """C16, CR14: and that is reported, for groups in groups, too."""
    items = [OP1, OP2, BUNDLE, of_group(SCENARIO, "unknown"), of_group(RELEASE, "unknown")]
    answer = run(items, "configure")
    assert answer.items[-2:] == items[-2:]
    assert [message.rpartition(": ")[2] for message in answer.messages("C16")] == [
        "the package lacks the ComponentGroup unknown"
    ] * 2
    outer = GROUP.replace("- name: op1", "- {kind: componentGroup, name: inner}\n  - name: op9")
    answer = run([OP1, OP2, BUNDLE, outer, of_group(SCENARIO)], "configure")
    assert "the package lacks the ComponentGroup inner" in answer.messages("C16")[0]
    answer = run([OP1, OP2, BUNDLE, GROUP.replace("name: op1", "name: op9"), of_group(SCENARIO)], "configure")
    assert "the package lacks op9 of the ComponentGroup operator" in answer.messages("C16")[0]


def test_the_promoted_image_of_a_group() -> None:
    """C16, CR15: of a Component without a status and without an application, where the builds are gone."""
    parent = "apiVersion: konflux-ci.dev/v1alpha1\nkind: Component\nmetadata: {name: parent, namespace: team}\n"
    parent += "spec: {source: {url: https://forge.example/acme/parent, versions: [{name: main, revision: main}]}}\n"
    child = parent.replace("parent", "child").replace("spec: {", "spec: {dependsOn: [parent], ")
    group = GROUP.replace("op1", "parent") + CANDIDATES
    build = BUILD.replace("NEW", f"sha256:{'2' * 64}")
    answer = run([parent, child, group, build], "plan")
    (plan,) = [item for item in map(yaml.safe_load, answer.items) if item["kind"] == "PullRequestPlan"]
    assert plan["spec"]["commits"][0]["from"] == [f"sha256:{'1' * 64}"]
    assert plan["spec"]["commits"][0]["to"] == f"sha256:{'2' * 64}"


def test_a_nudge_config_that_is_there_is_kept_up() -> None:
    """CR1: Konflux obeys it alone, so edges go there without being asked for; what was chosen stays."""
    answer = expect([OP1, OP2, BUNDLE, CONFIG])
    nudges = spec_of(answer.items[-1])["nudges"]
    assert nudges == [
        {"from": "op1", "to": "bundle", "mode": "validated"},
        {"from": "op2", "to": "bundle", "mode": "immediate"},
    ]
    chosen = expect([OP1, OP2, BUNDLE, CONFIG], "{emit: {nudgeMode: validated}}")
    assert [nudge["mode"] for nudge in spec_of(chosen.items[-1])["nudges"]] == ["validated"] * 2  # type: ignore[attr-defined]


def test_nudges_that_konflux_ignores_are_reported() -> None:
    """C1."""
    answer = run([OP1, OP2, BUNDLE, CONFIG.replace("from: op1", "from: op2")], "validate")
    (message,) = answer.messages("C10")
    assert "op1: Konflux ignores that it nudges bundle, because there is a NudgeConfig without this edge" in message
    assert run([OP1, OP2, BUNDLE, CONFIG], "validate").messages("C10") == []


def test_a_nudge_config_holds_what_its_definition_allows() -> None:
    """C10, C16: by the definition in the package, else by the newest known one."""
    many = [BUNDLE.replace("name: bundle", f"name: b{number}") for number in range(361)]
    names = "\n".join(f"    - b{number}" for number in range(361))
    op1 = OP1.replace("    - bundle", names)
    config = "{emit: {buildNudgesRef: false, nudgeConfig: true}}"
    answer = run([op1, *many], "configure", config)
    assert "it would have 361 nudges, but Konflux accepts 360" in answer.messages("C10")[0]
    assert "NudgeConfig" not in "".join(answer.items)
    allowed = DEFINITION.replace("MOST", "400")
    assert len(spec_of(run([op1, *many, allowed, CONFIG], "configure", config).items[-1])["nudges"]) == 362  # type: ignore[arg-type]
    refused = run([op1, *many, DEFINITION.replace("MOST", "256"), CONFIG], "configure", config)
    assert "but Konflux accepts 256" in refused.messages("C10")[0]


def test_a_list_is_read_as_its_items() -> None:
    """C10: as `kubectl get -o yaml` writes it; what would have to be edited there is reported."""
    inside = "".join(f"- {textwrap.indent(item, '  ')[2:]}" for item in (OP1, OP2, BUNDLE))
    whole = f"apiVersion: v1\nkind: List\nitems:\n{inside}metadata:\n  resourceVersion: ''\n"
    answer = run([whole], "validate")
    assert answer.exit_code == 0
    assert answer.messages("C3") == []
    answer = run([whole], "configure")
    assert answer.items == [whole]
    assert all("it is in a List, which is not edited" in message for message in answer.messages("C10"))
    assert answer.messages("C10")
