"""`mode: configure`, on resources as Konflux has them: what is written, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from components.observations import run
from components.settings.resources import (
    BUNDLE,
    CATALOG,
    OP1,
    OP2,
    OP2_NUDGES,
    PIPELINE,
    RELEASE,
    REPLACED,
    REPOSITORY,
    SCENARIO,
    expect,
    replace_text,
)

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
    rules: list[str] = field(default_factory=list)


DERIVED = "components.krm-merge.dev/derived-nudges"


def derive(text: str, names: str) -> str:
    """A Component, op1 or op2, whose annotation says who is nudged because of the graph alone."""
    names = f'"{names}"' if "," in names else names
    if text.startswith(OP1[:20]):
        return replace_text(text, ("has it\n", f"has it\n    {DERIVED}: {names}\n"))
    return replace_text(text, ("namespace: team}", f"namespace: team, annotations: {{{DERIVED}: {names}}}}}"))


NUDGES = "{emit: {contexts: false, releasePlans: false, expressions: false}}"
NOTHING = "{emit: {buildNudgesRef: false, contexts: false, releasePlans: false, expressions: false}}"
OP2_FILES = '"src/***".pathChanged() || ".tekton/op2-push.yaml".pathChanged()'
ONLY_BUNDLE = """'updatedComponentIs("bundle")'"""
SCENARIO_AFTER = replace_text(
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
    Case("set", [OP1, OP2, BUNDLE], [OP1, derive(OP2_NUDGES, "bundle"), BUNDLE], NUDGES, ["CR1"]),
    Case(
        "sorted",
        [OP1, OP2, CATALOG, BUNDLE],
        [
            derive(replace_text(OP1, ("    - bundle\n", "    - bundle\n    - catalog\n")), "catalog"),
            derive(OP2_NUDGES + "  - catalog\n", "bundle,catalog"),
            CATALOG,
            BUNDLE,
        ],
        NUDGES,
        ["CR1", "CR1"],
    ),
    Case("nothing", [OP1, OP2, BUNDLE, SCENARIO, RELEASE], [OP1, OP2, BUNDLE, SCENARIO, RELEASE], NOTHING),
    Case(
        "CR5: deleted, taken out of all lists",
        [
            replace_text(OP1, ("    - bundle", "    - old\n    - bundle")),
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replace_text(
                BUNDLE, ("    - op1\n", "    - op1\n  depends-on: [op2]\n  depends on:\n    - old\n    - op1\n")
            ),
        ],
        [
            OP1,
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replace_text(
                BUNDLE, ("    - op2   # second\n", ""), ("    - op1\n", "    - op1\n  depends on:\n    - op1\n")
            ),
        ],
        "{removed: [old], emit: {contexts: false, releasePlans: false, expressions: false}}",
        ["CR5"] * 7,
    ),
    Case(
        "C9: unknown, left",
        [OP1, OP2, replace_text(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n"))],
        [
            OP1,
            derive(OP2_NUDGES, "bundle"),
            replace_text(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n")),
        ],
        NUDGES,
        ["C9", "CR1"],
    ),
    Case(
        "scenario, release",
        [OP1, OP2_NUDGES, BUNDLE, SCENARIO, RELEASE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            SCENARIO_AFTER,
            replace_text(
                RELEASE,
                (
                    "spec:\n",
                    f"  annotations:\n    release.appstudio.openshift.io/auto-release: {ONLY_BUNDLE}\n"
                    f'    {REPLACED}: "null"\nspec:\n',
                ),
            ),
        ],
        "{emit: {expressions: false}}",
        ["CR14", "CR16"],
    ),
    Case(
        "repository, pipeline",
        [OP1, OP2_NUDGES, BUNDLE, REPOSITORY, PIPELINE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            REPOSITORY + "  context: src\n",
            replace_text(
                PIPELINE,
                (CEL, f"{CEL}      && ( {OP2_FILES} )\n"),
            ),
        ],
        rules=["CR12", "CR13"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_written(case: Case) -> None:
    """CR5, CR13, CR14, C1, C8, C9: exactly this; all other bytes stay, and a second run changes nothing."""
    answer = expect(case.before, case.config)
    assert answer.items == case.after
    assert answer.rules() == case.rules


# --- build-nudges-ref, NudgeConfig -----------------------------------------------------------------------------------


def test_r6_the_last_edge_is_taken_out() -> None:
    """CR6: without dependsOn the derived nudges are removed; a nudge that a person wrote declares an edge."""
    before = [OP1, OP2, BUNDLE, CATALOG]
    configured = expect(before, NUDGES).items
    assert "- catalog" in configured[0]
    assert "- bundle\n  - catalog" in configured[1]
    only_bundle = expect([*configured[:3], replace_text(CATALOG, ("dependsOn", "notDependsOn"))], NUDGES)
    assert only_bundle.items[:2] == [OP1, derive(OP2_NUDGES, '"bundle"')]
    assert only_bundle.rules() == ["CR6", "CR6"]
    assert "op1: spec.build-nudges-ref is now bundle" in only_bundle.messages("CR6")[0]
    none = expect([*only_bundle.items[:2], *(replace_text(item, ("dependsOn", "no")) for item in before[2:])], NUDGES)
    assert none.items[:2] == [OP1, OP2]
    assert none.rules() == ["CR6"]
    assert "op2: spec.build-nudges-ref is now empty" in none.messages("CR6")[0]


def test_what_follows_from_edges_declares_none() -> None:
    """C1, CR6: neither build-nudges-ref nor a NudgeConfig keeps alive an edge that nothing else declares."""
    config = "{emit: {nudgeConfig: true}}"
    before = [OP2, BUNDLE]
    configured = expect(before, config).items
    free = [configured[0], replace_text(BUNDLE, ("dependsOn", "no")), *configured[2:]]
    assert run(free, "validate").results == []
    answer = expect(free, config)
    assert answer.items[0] == OP2
    assert answer.items[2].endswith("spec:\n  nudges: []\n")
    assert DERIVED not in answer.items[2]
    assert answer.rules() == ["CR6", "CR6"]


def test_nudges_of_a_person_and_of_the_graph() -> None:
    """CR6: who takes a name out of the annotation declares it; what dependsOn still says is derived again."""
    ours = derive(OP2_NUDGES, "bundle")
    without = replace_text(BUNDLE, ("dependsOn", "no"))
    assert expect([ours, without], NUDGES).items[0] == OP2
    assert expect([OP2_NUDGES, without], NUDGES).items[0] == OP2_NUDGES
    taken_out = replace_text(ours, ("  build-nudges-ref:\n  - bundle\n", ""))
    assert expect([taken_out, BUNDLE], NUDGES).items[0] == ours
    # Of another application it is no edge.
    other = replace_text(BUNDLE, ("application: app", "application: other"))
    assert expect([ours, other], NUDGES).items[0] == OP2


def test_derived_nudges_of_deleted_ones() -> None:
    """CR5, CR6: a deleted Component is taken out of the annotation, too, and nudges nobody."""
    ours = derive(OP2_NUDGES, "bundle")
    config = NUDGES.replace("{emit", "{removed: [bundle], emit")
    answer = expect([ours, BUNDLE], config)
    assert answer.items[0] == OP2
    assert answer.rules() == ["CR5"]
    assert expect([ours, BUNDLE], config.replace("[bundle]", "[op2]")).items[0] == OP2
    nudge_config = expect([OP1, OP2, BUNDLE], "{emit: {nudgeConfig: true}}").items[-1]
    answer = expect([OP1, OP2, BUNDLE, nudge_config], "{removed: [op2]}")
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
    """C1, C8: an existing one is edited, a missing one is created."""
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false, contexts: false}}"
    pair = "      to: bundle\n      mode: immediate\n"
    answer = expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], config)
    note = f'  annotations:\n    {DERIVED}: "op2>bundle"\nspec:'
    expected = replace_text(NUDGE_CONFIG, ("spec:", note)) + f"    - from: op2\n{pair}"
    assert answer.items == [OP1, OP2, BUNDLE, expected]
    assert answer.rules() == ["CR1"]
    assert "spec.nudges is now op1>bundle, op2>bundle" in answer.messages("CR1")[0]
    # CR6: what a person chose for an edge that follows from others stays as long as the edge.
    chosen = expected.replace("from: op2\n      to: bundle\n      mode: immediate", MODE)
    assert expect([OP1, OP2, BUNDLE, chosen], config).items[3] == chosen
    again = expect([OP1, OP2, replace_text(BUNDLE, ("dependsOn", "no")), chosen], config)
    assert (again.items[3], again.rules()) == (NUDGE_CONFIG, ["CR6"])
    *rest, nudge_config = expect([OP1, OP2, BUNDLE], config).items
    assert rest == [OP1, OP2, BUNDLE]
    assert f'{DERIVED}: "op1>bundle,op2>bundle"\n' in nudge_config
    assert "nudges:\n  - from: op1\n    to: bundle\n    mode: immediate\n  - from: op2\n" in nudge_config
    assert "apiVersion: appstudio.redhat.com/v1beta2\nkind: NudgeConfig\n" in nudge_config
    assert "namespace: team" in nudge_config
    assert expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], NOTHING).items[-1] == NUDGE_CONFIG


# --- What else is expected -----------------------------------------------------------------------------------------


def comments_of_entries_stay() -> None:
    """C8: also of those in a list that gets another."""
    text = replace_text(OP1, ("    - bundle\n", "    -   bundle  # the old one\n"))
    expected = derive(replace_text(text, ("old one\n", "old one\n    - catalog\n")), "catalog")
    assert expect([text, OP2_NUDGES + "  - catalog\n", BUNDLE, CATALOG]).items[0] == expected


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
    """CR5."""
    text = OP2.replace("{name: op2,", "{name: op2, annotations: {components.krm-merge.dev/depends-on: 'gone,op1'},")
    answer = expect([OP1, text], "{removed: [gone]}")
    assert "gone" not in answer.items[1]
    assert "op1" in answer.items[1]


def unknown_nudges_stay() -> None:
    """C9."""
    text = replace_text(OP1, ("    - bundle", "    - ghost\n    - bundle"))
    assert "ghost" in expect([text, BUNDLE]).items[0]


def nudges_of_other_applications_stay() -> None:
    """C9, CR4: ignored is not taken out."""
    other = replace_text(BUNDLE, ("application: app", "application: other"), ("dependsOn", "notDependsOn"))
    assert expect([OP1, other]).items[0] == OP1


def modes_of_nudges_stay() -> None:
    """C8: what somebody chose for an edge stays."""
    text = NUDGE_CONFIG.replace("mode: immediate", "mode: validated\n      gatingGroup: g")
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false}}"
    assert expect([OP1, BUNDLE, text], config).items[2] == text


def the_last_nudge_is_taken_out() -> None:
    """CR5: also of a NudgeConfig."""
    config = "{removed: [op1], emit: {nudgeConfig: true}}"
    assert "op1" not in expect([OP1, BUNDLE.replace("dependsOn", "no"), NUDGE_CONFIG], config).items[2]


def independent_again() -> None:
    """CR6: an ex-dependency is tested and released as an independent one."""
    restricted = expect([OP1, OP2, BUNDLE, SCENARIO, RELEASE]).items
    op1 = OP1.replace("  build-nudges-ref:   # who is nudged\n    - bundle\n", "")
    free = expect([op1, OP2, BUNDLE.replace("dependsOn", "no"), *restricted[3:]]).items
    assert "component_op1" in free[3] or "name: application" in free[3]
    assert 'updatedComponentIs("bundle")\n' not in free[4]


def deleted_elsewhere() -> None:
    """CR4, CR5: a Component that is deleted in another namespace says nothing of this one."""
    gone = OP1.replace("namespace: team", 'namespace: other\n  deletionTimestamp: "2024-01-01T00:00:00Z"')
    answer = expect([gone, BUNDLE])
    assert answer.items[1] == BUNDLE
    assert answer.messages("CR5") == ["Component other/op1: spec.build-nudges-ref is now empty"]


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
    """C8, C9, CR4 to CR6: what each row says of itself."""
    play()
