"""`mode: configure`, on resources as Konflux has them: what is written, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

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

CEL_NAME = "    pipelinesascode.tekton.dev/on-cel-expression"
CEL_TEXT = 'event == "push" && target_branch == "main"'
CEL = f"{CEL_NAME}: {CEL_TEXT}\n".replace("branch ==", "branch\n      ==")


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
    Case("set", [OP1, OP2, BUNDLE], [OP1, derive(OP2_NUDGES, "bundle"), BUNDLE], rules=["CR1"]),
    Case(
        "sorted",
        [OP1, OP2, CATALOG, BUNDLE],
        [
            derive(replace_text(OP1, ("    - bundle\n", "    - bundle\n    - catalog\n")), "catalog"),
            derive(OP2_NUDGES + "  - catalog\n", "bundle,catalog"),
            CATALOG,
            BUNDLE,
        ],
        rules=["CR1", "CR1"],
    ),
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
        "{removed: [old]}",
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
        rules=["C9", "CR1"],
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
        rules=["CR14", "CR16"],
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
                (CEL, f"{CEL_NAME}: '{CEL_TEXT} && ( {OP2_FILES} )'\n"),
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


# --- build-nudges-ref -----------------------------------------------------------------------------------


def test_r6_the_last_edge_is_taken_out() -> None:
    """CR6: without dependsOn the derived nudges are removed; a nudge that a person wrote declares an edge."""
    before = [OP1, OP2, BUNDLE, CATALOG]
    configured = expect(before).items
    assert "- catalog" in configured[0]
    assert "- bundle\n  - catalog" in configured[1]
    only_bundle = expect([*configured[:3], replace_text(CATALOG, ("dependsOn", "notDependsOn"))])
    assert only_bundle.items[:2] == [OP1, derive(OP2_NUDGES, '"bundle"')]
    assert only_bundle.rules() == ["CR6", "CR6"]
    assert "op1: spec.build-nudges-ref is now bundle" in only_bundle.messages("CR6")[0]
    none = expect([*only_bundle.items[:2], *(replace_text(item, ("dependsOn", "no")) for item in before[2:])])
    assert none.items[:2] == [OP1, OP2]
    assert none.rules() == ["CR6"]
    assert "op2: spec.build-nudges-ref is now empty" in none.messages("CR6")[0]


def test_nudges_of_a_person_and_of_the_graph() -> None:
    """CR6: who takes a name out of the annotation declares it; what dependsOn still says is derived again."""
    ours = derive(OP2_NUDGES, "bundle")
    without = replace_text(BUNDLE, ("dependsOn", "no"))
    assert expect([ours, without]).items[0] == OP2
    assert expect([OP2_NUDGES, without]).items[0] == OP2_NUDGES
    taken_out = replace_text(ours, ("  build-nudges-ref:\n  - bundle\n", ""))
    assert expect([taken_out, BUNDLE]).items[0] == ours
    # Of another application it is no edge.
    other = replace_text(BUNDLE, ("application: app", "application: other"))
    assert expect([ours, other]).items[0] == OP2


def test_derived_nudges_of_deleted_ones() -> None:
    """CR5, CR6: a deleted Component is taken out of the annotation, too, and nudges nobody."""
    ours = derive(OP2_NUDGES, "bundle")
    config = "{removed: [bundle]}"
    answer = expect([ours, BUNDLE], config)
    assert answer.items[0] == OP2
    assert answer.rules() == ["CR5"]
    assert expect([ours, BUNDLE], config.replace("[bundle]", "[op2]")).items[0] == OP2


# --- What else is expected -----------------------------------------------------------------------------------------


def comments_of_entries_stay() -> None:
    """C8: also of those in a list that gets another."""
    text = replace_text(OP1, ("    - bundle\n", "    -   bundle  # the old one\n"))
    expected = derive(replace_text(text, ("old one\n", "old one\n    - catalog\n")), "catalog")
    assert expect([text, OP2_NUDGES + "  - catalog\n", BUNDLE, CATALOG]).items[0] == expected


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
    flow_lists_stay,
    annotations_too,
    unknown_nudges_stay,
    nudges_of_other_applications_stay,
    independent_again,
    deleted_elsewhere,
]


@pytest.mark.parametrize("play", EXPECTED)
def test_expected(play: Callable[[], None]) -> None:
    """C8, C9, CR4 to CR6: what each row says of itself."""
    play()
