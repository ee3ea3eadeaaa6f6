"""`mode: configure`, on resources as Konflux has them: what is written, and that nothing else changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import yaml

from components.observations import Answer, run

OP1 = """\
# The first operand.
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  annotations:
    build.appstudio.openshift.io/status: '{"pac":{"state":"enabled"}}' # as the build-service has it
  name: op1
  namespace: team
spec:
  application:   app
  build-nudges-ref:   # who is nudged
    - bundle
  componentName: op1
  source:
    git:
      url: 'https://github.com/acme/op1.git'
      revision: main
"""
OP2 = """\
apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata: {name: op2, namespace: team}
spec:
  application: app # of two
  source:
    url: https://github.com/acme/op2
    versions: [{name: main, revision: main, context: ./src}]
"""
BUNDLE = """\
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  name: bundle
  namespace: team
spec:
  application: app
  # What it is made of:
  dependsOn:
    - op2   # second
    - op1
  source: {git: {url: https://github.com/acme/bundle, revision: main}}
"""
CATALOG = BUNDLE.replace("name: bundle", "name: catalog").replace("acme/bundle", "acme/catalog")
ALONE = OP2.replace("op2", "alone").replace("versions", "dockerfileUri: Dockerfile\n    versions")
SCENARIO = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: IntegrationTestScenario
metadata:
  name: e2e
  namespace: team
  labels:
    test.appstudio.openshift.io/optional: "false"   # required
spec:
  application: app
  contexts:
    - name: application   # everything
      description: Application testing
    - name: disabled
      description: kept
    - name: group
      description: Groups
  resolverRef:
    resolver: git # from git
"""
RELEASE = """\
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlan
metadata:
  name: prod
  namespace: team
  labels:
    release.appstudio.openshift.io/auto-release: 'true'   # by itself
spec:
  application: app # ours
  target: managed
"""
REPOSITORY = """\
apiVersion: pipelinesascode.tekton.dev/v1alpha1
kind: Repository
metadata: {name: op2, namespace: team}
spec:
  settings:
    policy: {ok_to_test: [jane]} # who may
  url: "https://github.com/acme/op2"
"""
PIPELINE = """\
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  annotations:
    build.appstudio.openshift.io/commit_sha: '{{revision}}'
    pipelinesascode.tekton.dev/max-keep-runs: "3"
    # When it runs:
    pipelinesascode.tekton.dev/on-cel-expression: event == "push" && target_branch
      == "main"
  creationTimestamp: null
  labels:
    appstudio.openshift.io/application: app
    appstudio.openshift.io/component: op2
    pipelines.appstudio.openshift.io/type: build
  name: op2-on-push
  namespace: team
spec:
  params: [{name: output-image, value: 'quay.io/acme/op2:{{revision}}'}] # as it was
status: {}
"""
CEL = """\
    pipelinesascode.tekton.dev/on-cel-expression: event == "push" && target_branch
      == "main"
"""


@dataclass(frozen=True)
class Case:
    """Items, and the same with what configure makes of them."""

    name: str
    before: list[str]
    after: list[str]
    config: str = ""
    told: list[str] = field(default_factory=list)


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


OP2_NUDGES = OP2 + "  build-nudges-ref:\n  - bundle\n"
DERIVED = "components.krm-merge.dev/derived-nudges"
REPLACED = "components.krm-merge.dev/replaced"


def derived(text: str, names: str) -> str:
    """A Component, op1 or op2, whose annotation says who is nudged because of the graph alone."""
    names = f'"{names}"' if "," in names else names
    if text.startswith(OP1[:20]):
        return replaced(text, ("has it\n", f"has it\n    {DERIVED}: {names}\n"))
    return replaced(text, ("namespace: team}", f"namespace: team, annotations: {{{DERIVED}: {names}}}}}"))


NUDGES = "{emit: {contexts: false, releasePlans: false, celGuards: false}}"
NOTHING = "{emit: {buildNudgesRef: false, contexts: false, releasePlans: false, celGuards: false}}"
OP2_FILES = '"src/***".pathChanged() || ".tekton/op2-push.yaml".pathChanged()'
ONLY_BUNDLE = """'updatedComponentIs("bundle")'"""
SCENARIO_AFTER = replaced(
    SCENARIO,
    ("# required\n", f"""# required\n  annotations:\n    {REPLACED}: '["application", "group"]'\n"""),
    (
        "    - name: application   # everything\n      description: Application testing\n    - name: disabled\n"
        "      description: kept\n    - name: group\n      description: Groups\n",
        "    - name: component_bundle\n    - name: group\n      description: Groups\n    - name: disabled\n"
        "      description: kept\n",
    ),
)

CASES = [
    Case("set", [OP1, OP2, BUNDLE], [OP1, derived(OP2_NUDGES, "bundle"), BUNDLE], NUDGES, ["R1"]),
    Case(
        "sorted",
        [OP1, OP2, CATALOG, BUNDLE],
        [
            derived(replaced(OP1, ("    - bundle\n", "    - bundle\n    - catalog\n")), "catalog"),
            derived(OP2_NUDGES + "  - catalog\n", "bundle,catalog"),
            CATALOG,
            BUNDLE,
        ],
        NUDGES,
        ["R1", "R1"],
    ),
    Case("nothing", [OP1, OP2, BUNDLE, SCENARIO, RELEASE], [OP1, OP2, BUNDLE, SCENARIO, RELEASE], NOTHING),
    Case(
        "R5: deleted, taken out of all lists",
        [
            replaced(OP1, ("    - bundle", "    - old\n    - bundle")),
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replaced(BUNDLE, ("    - op1\n", "    - op1\n  depends-on: [op2]\n  depends on:\n    - old\n    - op1\n")),
        ],
        [
            OP1,
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replaced(BUNDLE, ("    - op2   # second\n", ""), ("    - op1\n", "    - op1\n  depends on:\n    - op1\n")),
        ],
        "{removed: [old], emit: {contexts: false, releasePlans: false, celGuards: false}}",
        ["R5"] * 7,
    ),
    Case(
        "C9: unknown, left",
        [OP1, OP2, replaced(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n"))],
        [OP1, derived(OP2_NUDGES, "bundle"), replaced(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n"))],
        NUDGES,
        ["C9", "R1"],
    ),
    Case(
        "scenario, release",
        [OP1, OP2_NUDGES, BUNDLE, SCENARIO, RELEASE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            SCENARIO_AFTER,
            replaced(
                RELEASE,
                (
                    "spec:\n",
                    f"  annotations:\n    release.appstudio.openshift.io/auto-release: {ONLY_BUNDLE}\n"
                    f'    {REPLACED}: "null"\nspec:\n',
                ),
            ),
        ],
        "{emit: {celGuards: false}}",
        ["R14", "R16"],
    ),
    Case(
        "repository, pipeline",
        [OP1, OP2_NUDGES, BUNDLE, REPOSITORY, PIPELINE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            REPOSITORY + "  context: src\n",
            replaced(
                PIPELINE,
                (CEL, f"{CEL}      && ( {OP2_FILES} )\n"),
            ),
        ],
        told=["R12", "R13"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_written(case: Case) -> None:
    """R5, R13, R14, C1, C8, C9: exactly this; all other bytes stay, and a second run changes nothing."""
    answer = expect(case.before, case.config)
    assert answer.items == case.after
    assert answer.rules() == case.told


def expect(before: list[str], config: str = "") -> Answer:
    """What configure makes of items, which it leaves at the second run; whatever it changes is told (C3)."""
    answer = run(before, "configure", config)
    assert answer.exit_code == 0, answer.results
    assert run(answer.items, "configure", config).items == answer.items
    told = [one["resourceRef"] for one in answer.results if one["severity"] == "info" and "resourceRef" in one]
    for old, new in zip(before, answer.items, strict=False):
        assert old == new or reference(new) in told, new
    assert all(reference(made) in told for made in answer.items[len(before) :])
    return answer


def reference(text: str) -> dict[str, str]:
    """How results name an item."""
    value = yaml.safe_load(text)
    about = {name: value["metadata"][name] for name in ("name", "namespace") if name in value["metadata"]}
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], **about}


# --- build-nudges-ref, NudgeConfig -----------------------------------------------------------------------------------


def test_r6_the_last_edge_is_taken_out() -> None:
    """R6: dependsOn goes, and with it whom the graph alone made to be nudged; what a person wrote declares an edge."""
    before = [OP1, OP2, BUNDLE, CATALOG]
    configured = expect(before, NUDGES).items
    assert "- catalog" in configured[0]
    assert "- bundle\n  - catalog" in configured[1]
    only_bundle = expect([*configured[:3], replaced(CATALOG, ("dependsOn", "notDependsOn"))], NUDGES)
    assert only_bundle.items[:2] == [OP1, derived(OP2_NUDGES, '"bundle"')]
    assert only_bundle.rules() == ["R6", "R6"]
    assert "op1: spec.build-nudges-ref is now bundle" in only_bundle.messages("R6")[0]
    none = expect([*only_bundle.items[:2], *(replaced(one, ("dependsOn", "no")) for one in before[2:])], NUDGES)
    assert none.items[:2] == [OP1, OP2]
    assert none.rules() == ["R6"]
    assert "op2: spec.build-nudges-ref is now empty" in none.messages("R6")[0]


def test_what_follows_from_edges_declares_none() -> None:
    """C1, R6: neither build-nudges-ref nor a NudgeConfig keeps alive an edge that nothing else declares."""
    config = "{emit: {nudgeConfig: true}}"
    before = [OP2, BUNDLE]
    configured = expect(before, config).items
    free = [configured[0], replaced(BUNDLE, ("dependsOn", "no")), *configured[2:]]
    assert run(free, "validate").results == []
    answer = expect(free, config)
    assert answer.items[0] == OP2
    assert answer.items[2].endswith("spec:\n  nudges: []\n")
    assert DERIVED not in answer.items[2]
    assert answer.rules() == ["R6", "R6"]


def test_nudges_of_a_person_and_of_the_graph() -> None:
    """R6: who takes a name out of the annotation declares it; what dependsOn still says is derived again."""
    ours = derived(OP2_NUDGES, "bundle")
    without = replaced(BUNDLE, ("dependsOn", "no"))
    assert expect([ours, without], NUDGES).items[0] == OP2
    assert expect([OP2_NUDGES, without], NUDGES).items[0] == OP2_NUDGES
    taken_out = replaced(ours, ("  build-nudges-ref:\n  - bundle\n", ""))
    assert expect([taken_out, BUNDLE], NUDGES).items[0] == ours
    # Of another application it is no edge.
    other = replaced(BUNDLE, ("application: app", "application: other"))
    assert expect([ours, other], NUDGES).items[0] == OP2


def test_derived_nudges_of_deleted_ones() -> None:
    """R5, R6: a deleted Component is taken out of the annotation, too, and nudges nobody."""
    ours = derived(OP2_NUDGES, "bundle")
    config = NUDGES.replace("{emit", "{removed: [bundle], emit")
    answer = expect([ours, BUNDLE], config)
    assert answer.items[0] == OP2
    assert answer.rules() == ["R5"]
    assert expect([ours, BUNDLE], config.replace("[bundle]", "[op2]")).items[0] == OP2
    made = expect([OP1, OP2, BUNDLE], "{emit: {nudgeConfig: true}}").items[-1]
    answer = expect([OP1, OP2, BUNDLE, made], "{removed: [op2]}")
    assert f"{DERIVED}: " in answer.items[-1]
    assert "op2" not in answer.items[-1]


NUDGE_CONFIG = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata:
  name: nudge-config # one for each namespace
  namespace: team
spec:
  nudges:
    - from: op1
      to: bundle
      mode: immediate
"""


MODE = "from: op2\n      to: bundle # gated\n      mode: validated\n      gatingGroup: g"


def test_nudge_config() -> None:
    """C1, C8: changed where it is, made where there is none."""
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false, contexts: false}}"
    pair = "      to: bundle\n      mode: immediate\n"
    answer = expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], config)
    note = f'  annotations:\n    {DERIVED}: "op2>bundle"\nspec:'
    wanted = replaced(NUDGE_CONFIG, ("spec:", note)) + f"    - from: op2\n{pair}"
    assert answer.items == [OP1, OP2, BUNDLE, wanted]
    assert answer.rules() == ["R1"]
    assert "spec.nudges is now op1>bundle, op2>bundle" in answer.messages("R1")[0]
    # R6: what a person chose for an edge that follows from others stays as long as the edge.
    chosen = wanted.replace("from: op2\n      to: bundle\n      mode: immediate", MODE)
    assert expect([OP1, OP2, BUNDLE, chosen], config).items[3] == chosen
    again = expect([OP1, OP2, replaced(BUNDLE, ("dependsOn", "no")), chosen], config)
    assert (again.items[3], again.rules()) == (NUDGE_CONFIG, ["R6"])
    *rest, made = expect([OP1, OP2, BUNDLE], config).items
    assert rest == [OP1, OP2, BUNDLE]
    assert f'{DERIVED}: "op1>bundle,op2>bundle"\n' in made
    assert "nudges:\n  - from: op1\n    to: bundle\n    mode: immediate\n  - from: op2\n" in made
    assert "apiVersion: appstudio.redhat.com/v1beta2\nkind: NudgeConfig\n" in made
    assert "namespace: team" in made
    assert expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], NOTHING).items[-1] == NUDGE_CONFIG


# --- Repository, IntegrationTestScenario, ReleasePlan ----------------------------------------------------------------


def of_mono(name: str, context: str, *depends_on: str) -> str:
    more = f"  dependsOn: [{', '.join(depends_on)}]\n" if depends_on else ""
    return (
        f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec:\n  application: app\n{more}"
        f"  source: {{git: {{url: git@github.com:acme/op2.git, revision: main, context: {context}}}}}\n"
    )


CONTEXTS = [
    ([("a", "op/a"), ("b", "op/b")], "op", True),
    ([("a", "op"), ("b", "op/b")], "op", True),
    ([("a", "./op/"), ("b", "op")], "op", False),
    ([("a", "x"), ("b", "y")], ".", True),
    ([("a", "x"), ("b", ".")], ".", True),
    ([("a", "x")], "x", False),
]


@pytest.mark.parametrize(("contexts", "wanted", "told"), CONTEXTS)
def test_repository_contexts(contexts: list[tuple[str, str]], wanted: str, told: bool) -> None:
    """R13, I7: of several Components the directory that holds all, which is told; `.` needs no field."""
    components = [of_mono(name, context) for name, context in contexts]
    answer = expect([*components, REPOSITORY])
    assert answer.items[-1] == (REPOSITORY if wanted == "." else f"{REPOSITORY}  context: {wanted}\n")
    assert answer.rules() == ["I7"] * told + ["R13"] * (wanted != ".")
    # A later change of the Component is propagated.
    changed = expect([*components, REPOSITORY + "  context: before # odd\n"])
    written = '"."' if wanted == "." else wanted
    assert changed.items[-1] == f"{REPOSITORY}  context: {written} # odd\n"
    assert f"spec.context is now {wanted}" in changed.messages("R13")[0]


def test_of_another_repository() -> None:
    answer = expect([OP1, BUNDLE, REPOSITORY])
    assert answer.items[-1] == REPOSITORY


def test_without_edges_nothing_is_restricted() -> None:
    """R6, R18: independent Components are tested and released as ever."""
    items = [OP2, ALONE, SCENARIO, RELEASE, PIPELINE.replace("op2", "alone").replace("./src", ".")]
    assert expect(items, "{emit: {celGuards: false}}").items == items


@pytest.mark.parametrize("of", ["other-app", ""])
def test_scenarios_of_others(of: str) -> None:
    """R4, R10."""
    scenario, release = (text.replace("application: app", f"application: {of}") for text in (SCENARIO, RELEASE))
    assert expect([OP1, OP2_NUDGES, BUNDLE, scenario, release]).items[-2:] == [scenario, release]


def test_all_that_is_tested() -> None:
    """R14, R16 to R18: dependants and independent ones, sorted; a scenario without contexts gets them."""
    scenario = SCENARIO.partition("  contexts:")[0]
    answer = expect([ALONE, BUNDLE, OP1, OP2, scenario, RELEASE])
    names = ("component_alone", "component_bundle", "group")
    note = f'  annotations:\n    {REPLACED}: "[]"\nspec:'
    contexts = "  contexts:\n" + "".join(f"  - name: {name}\n" for name in names)
    assert answer.items[-2] == replaced(scenario, ("spec:", note)) + contexts
    wanted = 'updatedComponentIs("alone") || updatedComponentIs("bundle")'
    assert f"auto-release: '{wanted}'\n" in answer.items[-1]
    (message,) = answer.messages("R14")
    assert "tests alone, bundle and groups" in message


def scenario(*contexts: str, note: str = "") -> str:
    """A scenario with these contexts, and what is remembered of others."""
    body = "".join(f"  - name: {name} # of {name}\n" for name in contexts)
    about = f"  annotations:\n    {REPLACED}: {note}\n" if note else ""
    return (
        "apiVersion: appstudio.redhat.com/v1beta2\nkind: IntegrationTestScenario\nmetadata:\n  name: e2e # all\n"
        f"  namespace: team\n{about}spec:\n  application: app\n" + (f"  contexts:\n{body}" if body else "")
    )


def contexts_of(text: str) -> list[str]:
    return [one["name"] for one in yaml.safe_load(text)["spec"].get("contexts", [])]


# The contexts before and after, of an application where bundle depends on op1 and op2; and what is remembered.
SCENARIOS = [
    # General ones.
    ([], "component_alone component_bundle group", []),
    (["push"], "component_alone component_bundle group", ["push"]),
    (["disabled", "component"], "component_alone component_bundle group disabled", ["component"]),
    (
        ["component_op1", "pull_request", "component_far", "group"],
        "component_alone component_bundle group component_far",
        ["component_op1", "pull_request", "component_far", "group"],
    ),
    # Limited ones.
    (["component_bundle"], "component_bundle", None),
    (["group"], "group", None),
    (["override", "disabled"], "override disabled", None),
    (["component_op1", "component_bundle"], "component_bundle", ["component_op1"]),
    (["component_bundle", "component_op2", "group"], "component_bundle group", ["component_op2", "group"]),
    (["component_op1", "component_op2"], "group", ["component_op1", "component_op2"]),
    (["component_op1", "group"], "group", ["component_op1", "group"]),
]


@pytest.mark.parametrize(("before", "after", "remembered"), SCENARIOS)
def test_scenarios(before: list[str], after: str, remembered: list[str] | None) -> None:
    """R14, R6: limited ones only lose contexts of dependencies; without dependencies all get back what they had."""
    answer = expect([ALONE, BUNDLE, OP1, OP2, scenario(*before)])
    text = answer.items[-1]
    assert contexts_of(text) == after.split()
    annotations = yaml.safe_load(text)["metadata"].get("annotations", {})
    assert annotations == ({} if remembered is None else {REPLACED: json.dumps(remembered)})
    kept = [name for name in after.split() if name in before]
    assert all(f"- name: {name} # of {name}\n" in text for name in kept)
    if remembered is None:
        assert text == scenario(*before)
        assert not answer.messages("R14")
    free = expect([ALONE, replaced(BUNDLE, ("dependsOn", "no")), replaced(OP1, ("build", "no")), OP2, text])
    assert sorted(contexts_of(free.items[-1])) == sorted(before)
    assert REPLACED not in free.items[-1]
    assert free.rules() == ["R6"] * (remembered is not None)


def test_scenarios_that_would_test_nothing() -> None:
    """R14, C3: without contexts a scenario tests everything; so it keeps group, and that is told."""
    answer = expect([BUNDLE, OP1, OP2, scenario("component_op1")])
    (message,) = answer.messages("R14")
    assert "does not test op1, on which others depend; without contexts it would test everything" in message


def test_scenarios_of_new_components() -> None:
    """R14: a Component that comes later is tested by the scenarios that tested all, by no other one."""
    limited = scenario("component_bundle").replace("e2e", "limited")
    both = expect([BUNDLE, OP1, OP2, scenario("application"), limited]).items[-2:]
    answer = expect([ALONE, BUNDLE, OP1, OP2, *both])
    assert contexts_of(answer.items[-2]) == ["component_alone", "component_bundle", "group"]
    assert answer.items[-1] == limited


def test_scenarios_that_are_edited() -> None:
    """R14: what a person does to contexts that were replaced stays, as far as no dependency is tested."""
    components = [ALONE, BUNDLE, OP1, OP2]
    general = expect([*components, scenario("application")]).items[-1]
    more = replaced(general, ("- name: group\n", "- name: group\n  - name: override\n  - name: push\n"))
    answer = expect([*components, more])
    assert contexts_of(answer.items[-1]) == ["component_alone", "component_bundle", "group", "override"]
    assert """'["application", "push"]'""" in answer.items[-1]
    limited = expect([*components, scenario("component_op1", "component_bundle")]).items[-1]
    text = replaced(limited, ("- name: component_bundle # of component_bundle\n", "- name: component_alone\n"))
    assert expect([*components, text]).items[-1] == text
    grouped = expect([*components, scenario("component_op1", "component_bundle", "group")]).items[-1]
    answer = expect([*components, replaced(grouped, ("  - name: group # of group\n", ""))])
    assert contexts_of(answer.items[-1]) == ["component_bundle"]
    # Of what is no dependency any more the context comes back, while others stay away.
    some = expect([*components, scenario("component_op1", "component_op2")]).items[-1]
    answer = expect([ALONE, replaced(BUNDLE, ("    - op2   # second\n", "")), OP1, OP2, some])
    assert contexts_of(answer.items[-1]) == ["component_op2"]
    assert """'["component_op1"]'""" in answer.items[-1]


@pytest.mark.parametrize("note", ["'['", "'7'", "bundle"])
def test_notes_that_cannot_be_read(note: str) -> None:
    """R14, R16: they say nothing; nothing more is tested or released than without them."""
    release = releasing('updatedComponentIs("bundle")', note)
    answer = expect([BUNDLE, OP1, OP2, scenario("component_bundle", note=note), release])
    assert contexts_of(answer.items[-2]) == ["component_bundle"]
    assert expression_of(answer.items[-1]) == 'updatedComponentIs("bundle")'


def releasing(expression: str, note: str = "") -> str:
    """A ReleasePlan with an expression of its own, and what is remembered of another one."""
    about = f"    {REPLACED}: {note}\n" if note else ""
    expression = f"    release.appstudio.openshift.io/auto-release: {expression} # why\n" if expression else ""
    return replaced(RELEASE, ("spec:\n", f"  annotations:\n    a: b\n{expression}{about}spec:\n"))


def expression_of(text: str) -> str:
    annotations = yaml.safe_load(text)["metadata"].get("annotations", {})
    return str(annotations.get("release.appstudio.openshift.io/auto-release", ""))


OURS = 'updatedComponentIs("alone") || updatedComponentIs("bundle")'
RELEASES = [
    # The expression as it is written in YAML, what becomes of it, and what is remembered.
    ("", OURS, "null"),
    (
        'shouldRelease() && updatedComponentIs("bundle")',
        f'(shouldRelease() && updatedComponentIs("bundle")) && ({OURS})',
        json.dumps('shouldRelease() && updatedComponentIs("bundle")'),
    ),
    ("'updatedComponentIs(\"op1\")'", f'(updatedComponentIs("op1")) && ({OURS})', '"updatedComponentIs(\\"op1\\")"'),
    ('"true"', f"(true) && ({OURS})", '"true"'),
    ("body.a // why", f"(body.a // why\n) && ({OURS})", '"body.a // why"'),
    ("(a) && (updatedComponentIs('b'))", f"((a) && (updatedComponentIs('b'))) && ({OURS})", None),
    (OURS, OURS, None),
    ('"false"', "false", None),
]


@pytest.mark.parametrize(("before", "after", "remembered"), RELEASES)
def test_releases(before: str, after: str, remembered: str | None) -> None:
    """R16, R6: what a person wrote holds besides; it comes back, on its line, when nothing depends on anything."""
    text = releasing(before)
    answer = expect([ALONE, BUNDLE, OP1, OP2, text])
    configured = answer.items[-1]
    assert expression_of(configured) == after
    note = yaml.safe_load(configured)["metadata"]["annotations"].get(REPLACED)
    if remembered is not None or note is None:
        assert note == remembered
    assert [one for one in answer.rules() if one == "R16"] == ["R16"] * (configured != text or "false" in before)
    free = expect([ALONE, replaced(BUNDLE, ("dependsOn", "no")), replaced(OP1, ("build", "no")), OP2, configured])
    assert free.rules() == ["R6"] * (configured != text)
    value, wanted = yaml.safe_load(free.items[-1]), yaml.safe_load(text)
    assert value == wanted
    assert "# why" in free.items[-1] or not before


def test_releases_go_back_as_they_were() -> None:
    """R6, C8: annotations and all."""
    for text in (RELEASE, releasing("shouldRelease()"), releasing("'shouldRelease() && updatedComponentIs(\"x\")'")):
        configured = expect([BUNDLE, OP2, text])
        free = expect([replaced(BUNDLE, ("dependsOn", "no")), OP2, configured.items[-1]])
        assert free.items[-1] == text


def test_releases_that_are_edited() -> None:
    """R16: what a person writes after the first run holds, and it is that what comes back."""
    components = [ALONE, BUNDLE, OP1, OP2]
    free = [ALONE, replaced(BUNDLE, ("dependsOn", "no")), replaced(OP1, ("build", "no")), OP2]
    configured = expect([*components, releasing("shouldRelease()")]).items[-1]
    inside = replaced(configured, ("(shouldRelease())", '(shouldRelease() && updatedComponentIs("bundle"))'))
    assert expression_of(expect([*components, inside]).items[-1]) == expression_of(inside)
    assert expression_of(expect([*free, inside]).items[-1]) == 'shouldRelease() && updatedComponentIs("bundle")'
    anew = releasing("body.x", json.dumps(json.dumps("shouldRelease()")))
    assert expression_of(expect([*components, anew]).items[-1]) == f"(body.x) && ({OURS})"
    assert expression_of(expect([*free, anew]).items[-1]) == "body.x"
    # Put back by hand, although it looks like ours.
    like_ours = '(body.x) && (updatedComponentIs("bundle"))'
    by_hand = releasing(f"'{like_ours}'", f"'{json.dumps(like_ours)}'")
    assert expression_of(expect([*components, by_hand]).items[-1]) == f"({like_ours}) && ({OURS})"
    # A Component more.
    gone = expect([*components[1:], configured]).items[-1]
    assert expression_of(gone) == '(shouldRelease()) && (updatedComponentIs("bundle"))'


def test_releases_that_cannot_be_read() -> None:
    """R16, C3: they are left, with a warning."""
    text = releasing("shouldRelease() && )")
    answer = expect([BUNDLE, OP1, OP2, text])
    assert answer.items[-1] == text
    assert answer.rules("warning") == ["R16"]


def test_expressions_win_over_labels() -> None:
    """R16: Konflux looks at the label only where there is no expression."""
    text = replaced(releasing("shouldRelease()"), ("'true'   # by itself", "'false'"))
    answer = expect([BUNDLE, OP1, OP2, text])
    assert expression_of(answer.items[-1]) == '(shouldRelease()) && (updatedComponentIs("bundle"))'


@pytest.mark.parametrize("place", ["label", "annotation"])
def test_releases_that_are_off_stay_off(place: str) -> None:
    """R16: nobody's "false" becomes a release."""
    name = "release.appstudio.openshift.io/auto-release"
    text = replaced(RELEASE, ("'true'   # by itself", "'false' # never"))
    if place == "annotation":
        text = replaced(RELEASE, ("spec:\n", f'  annotations: {{{name}: "false"}} # never\nspec:\n'))
    answer = expect([OP1, OP2_NUDGES, BUNDLE, text])
    assert answer.items[-1] == text
    assert answer.rules() == ["R16"]


# --- PipelineRuns in git ---------------------------------------------------------------------------------------------


def pipeline(component: str, expression: str, kind: str = "push") -> str:
    return (
        f"apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata:\n  name: {component}-on-{kind}\n  namespace: team\n"
        f"  labels: {{appstudio.openshift.io/component: {component}}} # of {component}\n"
        f"  annotations:\n    pipelinesascode.tekton.dev/on-cel-expression: {expression}\nspec: {{}} # empty\n"
    )


MONO = [of_mono("controller", "controller"), of_mono("bundle", "bundle", "controller")]
PUSH = 'event == "push" && target_branch == "main"'
PULL = 'event == "pull_request" && target_branch == "release-1"'
IN_CONTEXT = '( "controller/***".pathChanged() || ".tekton/controller-{}.yaml".pathChanged() )'
ROOT = [of_mono("controller", "."), of_mono("bundle", "bundle", "controller")]
GUARD = '( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["bundle/csv.yaml"])) )'
FILES = "{digest: {files: [bundle/csv.yaml, controller/x.yaml, other.yaml]}}"
OWN = 'event == "push" && "controller/***".pathChanged() && source_branch != "x"'

GLOBS = "{digest: {files: [bundle/manifests/*.yaml]}}"
MANIFESTS = "^bundle/manifests/[^/]*[.]yaml$"
A = 'nudged in ["bundle/a.yaml"] || '
SPELT = [of_mono("controller", "./x/../controller//"), MONO[1]]
PUSH_SINGLE = PUSH.replace('"main"', "''main''")


def guard(pattern: str, other: str = "") -> str:
    return GUARD.replace('nudged in ["bundle/csv.yaml"]', f'{other}nudged.matches("{pattern}")')


def files(*globs: str) -> str:
    return f"{{digest: {{files: {json.dumps(globs)}}}}}"


DEFAULTS = [f'nudged.matches("^bundle/{kind}")' for kind in (".*.yaml", ".*Containerfile.*", ".*Dockerfile.*")]
BY_DEFAULT = GUARD.replace('nudged in ["bundle/csv.yaml"]', " || ".join(DEFAULTS))
ODD = "bundle/[+-9].yaml"

TRIGGERS: list[tuple[list[str], str, str, str, bool]] = [
    # Components, expression, configuration, what becomes of it, whether a warning says that it may loop
    (MONO, PUSH, "", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    (MONO, PULL, "", f"{PULL} && {IN_CONTEXT.format('pull-request')}", False),
    (MONO, PUSH, FILES, f"{PUSH} && {IN_CONTEXT.format('push')} && {GUARD}", False),
    # One that somebody wrote is not evaluated, but guarded: by default against what build-service edits by default.
    (MONO, OWN, "", f"{OWN} && {BY_DEFAULT}", False),
    (MONO, OWN, FILES, f"{OWN} && {GUARD}", False),
    (MONO, 'event == "push"', "", f'event == "push" && {BY_DEFAULT}', False),
    (MONO, 'event == "push"', FILES, f'event == "push" && {GUARD}', False),
    (MONO, f"{PUSH} || {PULL}", FILES, f"( {PUSH} || {PULL} ) && {GUARD}", False),
    (MONO, 'event == "push" &&', "", 'event == "push" &&', True),
    (MONO, "unknown.thing()", "", f"unknown.thing() && {BY_DEFAULT}", False),
    (ROOT, PUSH, "", f"{PUSH} && {BY_DEFAULT}", False),
    (ROOT, PUSH, FILES, f"{PUSH} && {GUARD}", False),
    (ROOT, f"{PUSH} && {BY_DEFAULT}", FILES, f"{PUSH} && {GUARD}", False),
    (ROOT[:1], PUSH, FILES, PUSH, False),
    # Globs.
    (MONO, PUSH, GLOBS, f"{PUSH} && {IN_CONTEXT.format('push')} && {guard(MANIFESTS)}", False),
    (ROOT, PUSH, GLOBS, f"{PUSH} && {guard(MANIFESTS)}", False),
    (ROOT, f"{PUSH} && {guard(MANIFESTS)}", FILES, f"{PUSH} && {GUARD}", False),
    (
        ROOT,
        PUSH,
        files("bundle/a.yaml", "bundle/*/b.yaml"),
        f"{PUSH} && {guard('^bundle/[^/]*/b[.]yaml(?:/|$)', A)}",
        False,
    ),
    (ROOT, PUSH, files("bundle/deploy"), f"{PUSH} && {guard('^bundle/deploy(?:/|$)')}", False),
    (ROOT, PUSH, files("bundle/"), f"{PUSH} && {guard('^bundle(?:/|$)')}", False),
    # Of a glob for all directories, what is in that of the dependant.
    (ROOT, PUSH, files("**/*.yaml"), f"{PUSH} && {guard('^bundle/(?:[^/]+/)*[^/]*[.]yaml$')}", False),
    (ROOT, PUSH, files("*/csv.yaml"), f"{PUSH} && {GUARD}", False),
    (ROOT, PUSH, files("docs/*.yaml", "*.yaml"), PUSH, True),
    # What cannot be written as a test is not guarded.
    (ROOT, PUSH, files(ODD), PUSH, True),
    (ROOT, PUSH, files(ODD, "bundle/csv.yaml"), f"{PUSH} && {GUARD}", True),
    (MONO, OWN, files(ODD), OWN, True),
    (MONO, OWN, files("[+-9]*/x.yaml", "bundle/csv.yaml"), f"{OWN} && {GUARD}", False),
    # Where the dependant has the whole repository, everything may be edited, also what has to build the dependency.
    ([MONO[0], of_mono("bundle", ".", "controller")], OWN, "", OWN, True),
    # Contexts in other spellings.
    (SPELT, PUSH, "", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    ([of_mono("controller", "./"), MONO[1]], PUSH, "", f"{PUSH} && {BY_DEFAULT}", False),
    # Nothing but a condition is replaced.
    ([of_mono("controller", "."), MONO[1]], PUSH_SINGLE, FILES, f"{PUSH_SINGLE} && {GUARD}", False),
    # Of another repository nothing can loop.
    ([ROOT[0], ROOT[1].replace("acme/op2", "acme/other")], PUSH, FILES, PUSH, False),
]

ADDED = re.compile(r"    (?:build.appstudio.openshift.io/build-nudge-files|components.krm-merge.dev/replaced): .*\n")


def expression_alone(text: str) -> str:
    """A definition without what build-service is told besides."""
    return ADDED.sub("", text)


@pytest.mark.parametrize(("components", "before", "config", "after", "loops"), TRIGGERS)
def test_expressions(components: list[str], before: str, config: str, after: str, loops: bool) -> None:
    """R12, R13, C11: as build-service writes it, guarded against loops; where one cannot be excluded, that is told."""
    kind = "pull-request" if "pull_request" in before else "push"
    items = [*components, pipeline("controller", f"'{before}'", kind)]
    answer = expect(items, config or "{}")
    assert expression_alone(answer.items[-1]) == pipeline("controller", f"'{after}'", kind)
    assert answer.rules("warning") == ["R12"] * loops
    off = expect(items, "{emit: {celGuards: false}}")
    assert off.items[-1] == items[-1]


NUDGED = "build.appstudio.openshift.io/build-nudge-files"


def annotations_of(text: str) -> dict[str, str]:
    found = yaml.safe_load(text)["metadata"]["annotations"]
    return {name.rpartition("/")[2]: value for name, value in found.items()}


def test_build_service_edits_the_files_of_digest_files() -> None:
    """C10: its restriction is written on the push of the dependency, and taken out again with digest.files."""
    config = files("bundle/csv.yaml", "bundle/manifests/*.yaml", "docs/*.md", "bundle/a,b.yaml")
    items = [*MONO, pipeline("controller", f"'{PUSH}'"), pipeline("bundle", f"'{PUSH}'")]
    answer = expect(items, config)
    patterns = r"^bundle/a\x2cb[.]yaml$, ^bundle/csv[.]yaml$, ^bundle/manifests/[^/]*[.]yaml$"
    assert annotations_of(answer.items[-2])["build-nudge-files"] == patterns
    assert "build-nudge-files" not in annotations_of(answer.items[-1])
    assert f"PipelineRun team/controller-on-push: build-service edits {patterns}" in answer.messages("C10")
    again = expect(answer.items)
    assert again.items[-2] == expect(items).items[-2]
    assert "by default" in again.messages("R6")[0]
    pulls = expect([*MONO, pipeline("controller", f"'{PULL}'", "pull-request")], config)
    assert "build-nudge-files" not in annotations_of(pulls.items[-1])


def test_build_nudge_files_of_people_are_guarded_and_come_back() -> None:
    """C10, R6: without digest.files the guard covers what they name; with it they wait in an annotation."""
    own = pipeline("controller", f"'{OWN}'").replace("spec: {}", f"    {NUDGED}: deploy/.*[.]sh # ours\nspec: {{}}")
    kept = expect([*MONO, own])
    guarded = annotations_of(kept.items[-1])
    assert guarded["build-nudge-files"] == "deploy/.*[.]sh"
    assert guarded["on-cel-expression"] == f"{OWN} && {guard('deploy/.*[.]sh')}"
    replaced = expect([*MONO, own], FILES)
    made = annotations_of(replaced.items[-1])
    assert (made["build-nudge-files"], made["replaced"]) == ("^bundle/csv[.]yaml$", '"deploy/.*[.]sh"')
    assert annotations_of(expect(replaced.items).items[-1]) == guarded


def test_a_guard_is_taken_back() -> None:
    """R12: a guard that is needed no more goes, and that is told."""
    guarded = pipeline("controller", f"'{OWN} && {GUARD}'")
    answer = expect([MONO[0], guarded])
    assert answer.items[-1] == pipeline("controller", f"'{OWN}'")
    assert answer.messages("R12") == ["PipelineRun team/controller-on-push: its guard is taken out"]


def test_expressions_are_told() -> None:
    """C3, R12: what starts a pipeline now; and where a loop is possible, what to do about it."""
    answer = expect([*MONO, pipeline("controller", f"'{PUSH}'")], GLOBS)
    about = "PipelineRun team/controller-on-push: "
    guards = "changes of nothing but bundle/manifests/*.yaml do not start it"
    assert answer.messages("R12") == [f"{about}only changes in controller start it; {guards}"]
    again = "updates of bundle may build controller again; "
    answer = expect([*ROOT, pipeline("controller", f"'{PUSH}'")], files("bundle/[+-9].yaml"))
    assert answer.messages("R12") == [f"{about}{again}write bundle/[+-9].yaml in digest.files without brackets"]
    answer = expect([*ROOT, pipeline("controller", f"'{PUSH}'")])
    by_default = "changes of nothing but Dockerfiles, Containerfiles and YAML in bundle do not start it"
    assert answer.messages("R12") == [f"{about}{by_default}"]
    answer = expect([MONO[0], of_mono("bundle", ".", "controller"), pipeline("controller", f"'{OWN}'")])
    assert answer.messages("R12") == [f"{about}{again}name the files that are edited in digest.files"]


# How an expression is written before, and after: all that is new is the guard.
NEW = '&& ( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["bundle/csv.yaml"])) )'
IN_DOUBLE = NEW.replace('"', '\\"')
STYLES = {
    "plain": ('event == "push" # why', f'event == "push" {NEW} # why'),
    "plain-lines": (
        'event == "push" && target_branch\n      == "x" # why',
        f'event == "push" && target_branch\n      == "x"\n      {NEW} # why',
    ),
    "single": ("'event == \"push\"'", f"'event == \"push\" {NEW}'"),
    "single-lines": (
        "'event == \"push\" &&\n      source_branch != ''x''' # why",
        f"'event == \"push\" &&\n      source_branch != ''x''\n      {NEW}' # why",
    ),
    "double": ('"event == \\"push\\"" # why', f'"event == \\"push\\" {IN_DOUBLE}" # why'),
    "double-lines": (
        '"event == \\"push\\" &&\n      body.x"',
        f'"event == \\"push\\" &&\n      body.x\n      {IN_DOUBLE}"',
    ),
    "folded": (
        '>- # why\n      event == "push" &&\n      body.x',
        f'>- # why\n      event == "push" &&\n      body.x\n      {NEW}',
    ),
    "folded-with-end": ('>\n      event == "push"', f'>\n      event == "push"\n      {NEW}'),
    "literal": (
        '|-\n      event == "push"\n        && body.x',
        f'|-\n      event == "push"\n        && body.x {NEW}',
    ),
    "literal-with-end": ('| # why\n      event == "push"', f'| # why\n      event == "push" {NEW}'),
    # Where the style cannot be kept, another one without backslashes.
    "folded-with-breaks": (
        '>-\n      event == "push" &&\n        body.x // sic',
        f'|-\n      event == "push" &&\n        body.x // sic\n      {NEW}',
    ),
    "plain-with-comment": ("body.x // sic", f"|-\n      body.x // sic\n      {NEW}"),
}


BACK = {
    "folded-with-breaks": STYLES["folded-with-breaks"][0].replace(">-", "|-"),
    "plain-with-comment": "|-\n      body.x // sic",
}


@pytest.mark.parametrize("name", STYLES)
def test_styles_of_expressions(name: str) -> None:
    """C8: an expression stays in its quotes or its block and on its lines; without its guard it is as it was."""
    before, after = STYLES[name]
    answer = expect([*ROOT, pipeline("controller", before)], FILES)
    assert expression_alone(answer.items[-1]) == pipeline("controller", after)
    free = expect([ROOT[0], answer.items[-1]])
    assert free.items[-1] == pipeline("controller", BACK.get(name, before))


def test_expressions_that_cannot_keep_their_style() -> None:
    """C8: a plain one gets single quotes where it would end in a comment; what others refer to stays for them."""
    answer = expect([*ROOT, pipeline("controller", "'true'")], files("bundle/a #b.yaml"))
    plain = expect([*ROOT, pipeline("controller", "true && body.x")], files("bundle/a #b.yaml"))
    guarded = annotations_of(answer.items[-1])["on-cel-expression"]
    assert expression_alone(plain.items[-1]) == pipeline(
        "controller", f"'{guarded.replace('true', 'true && body.x', 1)}'"
    )
    shared = pipeline("controller", "&same |-\n      body.x\n    other: *same")
    annotations = yaml.safe_load(expect([*ROOT, shared], FILES).items[-1])["metadata"]["annotations"]
    assert list(annotations.values())[:2] == [f"body.x {NEW}", "body.x"]


def test_expressions_in_braces() -> None:
    """C8: in flow style they stay on one line."""
    text = pipeline("controller", "'true'} # why").replace("annotations:\n    ", "annotations: {")
    assert expect([*ROOT, text], FILES).items[-1] == text.replace("'true'", f"'true {NEW}'")


def test_expressions_of_releases_keep_their_style() -> None:
    """C8, R16: a block stays one, on lines that begin as conditions do."""
    text = replaced(releasing("shouldRelease()"), ("shouldRelease() # why", ">-\n      body.x &&\n      body.y"))
    after = '>-\n      (body.x\n      && body.y)\n      && (updatedComponentIs("bundle"))\n'
    assert after in expect([BUNDLE, OP1, OP2, text]).items[-1]


def test_pipelines_of_nobody() -> None:
    """R13: of a Component that is unknown, or without an expression, nothing is known."""
    others = [pipeline("ghost", PUSH), pipeline("controller", PUSH).replace("on-cel-expression", "on-event")]
    assert expect([*MONO, *others]).items[-2:] == others


# --- What else is expected -----------------------------------------------------------------------------------------


def comments_of_entries_stay() -> None:
    """C8: also of those in a list that gets another."""
    text = replaced(OP1, ("    - bundle\n", "    -   bundle  # the old one\n"))
    wanted = derived(replaced(text, ("old one\n", "old one\n    - catalog\n")), "catalog")
    assert expect([text, OP2_NUDGES + "  - catalog\n", BUNDLE, CATALOG]).items[0] == wanted


def comments_of_nudges_stay() -> None:
    """C8."""
    text = NUDGE_CONFIG.replace("from: op1\n", "from: op1 # first\n")
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false}}"
    assert "# first" in expect([OP1, OP2, BUNDLE, text], config).items[3]


def flow_lists_stay() -> None:
    """C8: a list on one line stays on one."""
    text = OP1.replace("dependsOn", "").replace("  componentName: op1\n", "  dependsOn: [gone, op2] # two\n")
    assert "  dependsOn: [op2] # two\n" in expect([text, OP2], "{removed: [gone]}").items[0]


def annotations_too() -> None:
    """R5."""
    text = OP2.replace("{name: op2,", "{name: op2, annotations: {components.krm-merge.dev/depends-on: 'gone,op1'},")
    answer = expect([OP1, text], "{removed: [gone]}")
    assert "gone" not in answer.items[1]
    assert "op1" in answer.items[1]


def unknown_nudges_stay() -> None:
    """C9."""
    text = replaced(OP1, ("    - bundle", "    - ghost\n    - bundle"))
    assert "ghost" in expect([text, BUNDLE]).items[0]


def nudges_of_other_applications_stay() -> None:
    """C9, R4: ignored is not taken out."""
    other = replaced(BUNDLE, ("application: app", "application: other"), ("dependsOn", "notDependsOn"))
    assert expect([OP1, other]).items[0] == OP1


def modes_of_nudges_stay() -> None:
    """C8: what somebody chose for an edge stays."""
    text = NUDGE_CONFIG.replace("mode: immediate", "mode: validated\n      gatingGroup: g")
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false}}"
    assert expect([OP1, BUNDLE, text], config).items[2] == text


def the_last_nudge_is_taken_out() -> None:
    """R5: also of a NudgeConfig."""
    config = "{removed: [op1], emit: {nudgeConfig: true}}"
    assert "op1" not in expect([OP1, BUNDLE.replace("dependsOn", "no"), NUDGE_CONFIG], config).items[2]


def independent_again() -> None:
    """R6: an ex-dependency is tested and released as an independent one."""
    restricted = expect([OP1, OP2, BUNDLE, SCENARIO, RELEASE]).items
    op1 = OP1.replace("  build-nudges-ref:   # who is nudged\n    - bundle\n", "")
    free = expect([op1, OP2, BUNDLE.replace("dependsOn", "no"), *restricted[3:]]).items
    assert "component_op1" in free[3] or "name: application" in free[3]
    assert 'updatedComponentIs("bundle")\n' not in free[4]


def deleted_elsewhere() -> None:
    """R4, R5: a Component that is deleted in another namespace says nothing of this one."""
    gone = OP1.replace("namespace: team", 'namespace: other\n  deletionTimestamp: "2024-01-01T00:00:00Z"')
    answer = expect([gone, BUNDLE])
    assert answer.items[1] == BUNDLE
    assert answer.messages("R5") == ["Component other/op1: spec.build-nudges-ref is now empty"]


EXPECTED: list[Callable[[], None]] = [
    comments_of_entries_stay,
    comments_of_nudges_stay,
    flow_lists_stay,
    annotations_too,
    unknown_nudges_stay,
    nudges_of_other_applications_stay,
    modes_of_nudges_stay,
    the_last_nudge_is_taken_out,
    independent_again,
    deleted_elsewhere,
]


@pytest.mark.parametrize("play", EXPECTED)
def test_expected(play: Callable[[], None]) -> None:
    """C8, C9, R4 to R6: what each row says of itself."""
    play()
