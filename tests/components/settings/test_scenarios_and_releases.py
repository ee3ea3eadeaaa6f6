"""Repositories, IntegrationTestScenarios and ReleasePlans: what they are about."""

from __future__ import annotations

import json

import pytest
import yaml

from components.settings.resources import (
    ALONE,
    BUNDLE,
    OP1,
    OP2,
    OP2_NUDGES,
    RELEASE,
    REPLACED,
    REPOSITORY,
    SCENARIO,
    expect,
    of_mono,
    releasing,
    replace_text,
)

# --- Repository, IntegrationTestScenario, ReleasePlan ----------------------------------------------------------------


CONTEXTS = [
    ([("a", "op/a"), ("b", "op/b")], "op", True),
    ([("a", "op"), ("b", "op/b")], "op", True),
    ([("a", "./op/"), ("b", "op")], "op", False),
    ([("a", "x"), ("b", "y")], ".", True),
    ([("a", "x"), ("b", ".")], ".", True),
    ([("a", "x")], "x", False),
]


@pytest.mark.parametrize(("contexts", "expected", "has_notice"), CONTEXTS)
def test_repository_contexts(contexts: list[tuple[str, str]], expected: str, has_notice: bool) -> None:
    """CR13, I7: for several Components the directory that contains all, which is reported; `.` needs no field."""
    components = [of_mono(name, context) for name, context in contexts]
    answer = expect([*components, REPOSITORY])
    assert answer.items[-1] == (REPOSITORY if expected == "." else f"{REPOSITORY}  context: {expected}\n")
    assert answer.rules() == ["CR13"] * (expected != ".") + ["I7"] * has_notice
    # A later change of the Component is propagated.
    changed = expect([*components, REPOSITORY + "  context: before # odd\n"])
    written = '"."' if expected == "." else expected
    assert changed.items[-1] == f"{REPOSITORY}  context: {written} # odd\n"
    assert f"spec.context is now {expected}" in changed.messages("CR13")[0]


def test_of_another_repository() -> None:
    answer = expect([OP1, BUNDLE, REPOSITORY])
    assert answer.items[-1] == REPOSITORY


def test_without_edges_nothing_is_restricted() -> None:
    """CR6, CR18: independent Components are tested and released as ever."""
    items = [OP2, ALONE, SCENARIO, RELEASE]
    assert expect(items).items == items


@pytest.mark.parametrize("of", ["other-app", ""])
def test_scenarios_of_others(of: str) -> None:
    """CR4, CR10."""
    scenario, release = (text.replace("application: app", f"application: {of}") for text in (SCENARIO, RELEASE))
    assert expect([OP1, OP2_NUDGES, BUNDLE, scenario, release]).items[-2:] == [scenario, release]


def test_all_that_is_tested() -> None:
    """CR14, CR16 to CR18: dependants and independent ones, sorted; a scenario without contexts gets them."""
    scenario = SCENARIO.partition("  contexts:")[0]
    answer = expect([ALONE, BUNDLE, OP1, OP2, scenario, RELEASE])
    names = ("component_alone", "component_bundle", "group")
    note = f'  annotations:\n    {REPLACED}: "[]"\nspec:'
    contexts = "  contexts:\n" + "".join(f"  - name: {name}\n" for name in names)
    assert answer.items[-2] == replace_text(scenario, ("spec:", note)) + contexts
    expected = 'updatedComponentIs("alone") || updatedComponentIs("bundle")'
    assert f"auto-release: '{expected}'\n" in answer.items[-1]
    (message,) = answer.messages("CR14")
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
    return [context["name"] for context in yaml.safe_load(text)["spec"].get("contexts", [])]


# The contexts before and after, of an application where bundle depends on op1 and op2; and what is remembered.
SCENARIOS = [
    ([], "component_alone component_bundle group", []),
    (["push"], "component_alone component_bundle group", ["push"]),
    (["disabled", "component"], "component_alone component_bundle group disabled", ["component"]),
    (
        ["component_op1", "pull_request", "component_far", "group"],
        "component_alone component_bundle group component_far",
        ["component_op1", "pull_request", "component_far", "group"],
    ),
]


@pytest.mark.parametrize(("before", "after", "remembered"), SCENARIOS)
def test_scenarios(before: list[str], after: str, remembered: list[str]) -> None:
    """CR14, CR6: those that test all; without dependencies they get back what they had."""
    answer = expect([ALONE, BUNDLE, OP1, OP2, scenario(*before)])
    text = answer.items[-1]
    assert contexts_of(text) == after.split()
    annotations = yaml.safe_load(text)["metadata"].get("annotations", {})
    assert annotations == {REPLACED: json.dumps(remembered)}
    remaining = [name for name in after.split() if name in before]
    assert all(f"- name: {name} # of {name}\n" in text for name in remaining)
    free = expect([ALONE, replace_text(BUNDLE, ("dependsOn", "no")), replace_text(OP1, ("build", "no")), OP2, text])
    assert sorted(contexts_of(free.items[-1])) == sorted(before)
    assert REPLACED not in free.items[-1]
    assert free.rules() == ["CR6"]


LIMITED = [
    (["component_bundle"], ""),
    (["group"], ""),
    (["override", "disabled"], ""),
    (["component_op1", "component_bundle"], "op1"),
    (["component_op1", "component_op2", "group"], "op1, op2"),
]


@pytest.mark.parametrize(("contexts", "dependencies"), LIMITED)
def test_scenarios_that_a_person_limited(contexts: list[str], dependencies: str) -> None:
    """CR14, C3: they are kept; those that test dependencies are reported."""
    text = scenario(*contexts)
    answer = expect([ALONE, BUNDLE, OP1, OP2, text])
    assert answer.items[-1] == text
    messages = [message.partition(": ")[2] for message in answer.messages("CR14")]
    remedy = f"tests {dependencies}, which others depend on; name group instead"
    assert [message.endswith(remedy) for message in messages] == [True] * bool(dependencies)


def test_scenarios_of_new_components() -> None:
    """CR14: a Component that comes later is tested by the scenarios that tested all, by no other one."""
    limited = scenario("component_bundle").replace("e2e", "limited")
    both = expect([BUNDLE, OP1, OP2, scenario("application"), limited]).items[-2:]
    answer = expect([ALONE, BUNDLE, OP1, OP2, *both])
    assert contexts_of(answer.items[-2]) == ["component_alone", "component_bundle", "group"]
    assert answer.items[-1] == limited


def test_scenarios_that_are_edited() -> None:
    """CR14: what a person does to contexts that were replaced stays, as far as no dependency is tested."""
    components = [ALONE, BUNDLE, OP1, OP2]
    general = expect([*components, scenario("application")]).items[-1]
    more = replace_text(general, ("- name: group\n", "- name: group\n  - name: override\n  - name: push\n"))
    answer = expect([*components, more])
    assert contexts_of(answer.items[-1]) == ["component_alone", "component_bundle", "group", "override"]
    assert """'["application", "push"]'""" in answer.items[-1]


@pytest.mark.parametrize("note", ["'['", "'7'", "bundle"])
def test_notes_that_cannot_be_read(note: str) -> None:
    """CR14: they say nothing; nothing more is tested than without them."""
    answer = expect([BUNDLE, OP1, OP2, scenario("component_bundle", note=note)])
    assert contexts_of(answer.items[-1]) == ["component_bundle"]


def expression_of(text: str) -> str:
    annotations = yaml.safe_load(text)["metadata"].get("annotations", {})
    return str(annotations.get("release.appstudio.openshift.io/auto-release", ""))


OURS = 'updatedComponentIs("alone") || updatedComponentIs("bundle")'
COMPONENTS = [ALONE, BUNDLE, OP1, OP2]
WITHOUT_EDGES = [ALONE, replace_text(BUNDLE, ("dependsOn", "no")), replace_text(OP1, ("build", "no")), OP2]


def test_releases() -> None:
    """CR16, CR6, C8: what was written goes when nothing depends on anything, annotations and all."""
    text = releasing("")
    configured = expect([*COMPONENTS, text]).items[-1]
    assert expression_of(configured) == OURS
    assert yaml.safe_load(configured)["metadata"]["annotations"][REPLACED] == "null"
    free = expect([*WITHOUT_EDGES, configured])
    assert free.rules() == ["CR6"]
    assert yaml.safe_load(free.items[-1]) == yaml.safe_load(text)
    # A Component less.
    fewer = expect([*COMPONENTS[1:], configured])
    assert expression_of(fewer.items[-1]) == 'updatedComponentIs("bundle")'


THEIRS = [
    "shouldRelease()",
    '"true"',
    "'updatedComponentIs(\"op1\")'",
    "'updatedComponentIs(\"bundle\")'",
    "shouldRelease() && )",
]


@pytest.mark.parametrize("expression", THEIRS)
def test_releases_with_an_expression_of_a_person(expression: str) -> None:
    """CR16: it is kept, and a warning says what to write; with that, there is nothing to say."""
    text = releasing(expression)
    answer = expect([*COMPONENTS, text])
    assert answer.items[-1] == text
    (message,) = answer.messages("CR16")
    remedy = f"({expression_of(text)}) && ({OURS})"
    assert message.endswith(f"write {remedy}")
    followed = releasing(json.dumps(remedy))
    answer = expect([*COMPONENTS, followed])
    assert (answer.items[-1], answer.messages("CR16")) == (followed, [])
    assert expect([*WITHOUT_EDGES, followed]).items[-1] == followed


def test_releases_that_are_edited() -> None:
    """CR16, CR6: what a person writes after the first run is theirs."""
    edited = releasing("body.x", "'null'")
    answer = expect([*COMPONENTS, edited])
    assert (answer.items[-1], answer.rules("warning")) == (edited, ["CR16"])
    assert expression_of(expect([*WITHOUT_EDGES, edited]).items[-1]) == "body.x"


def test_expressions_win_over_labels() -> None:
    """CR16: Konflux looks at the label only where there is no expression."""
    text = replace_text(releasing("shouldRelease()"), ("'true'   # by itself", "'false'"))
    (message,) = expect([BUNDLE, OP1, OP2, text]).messages("CR16")
    assert "its expression is kept" in message


@pytest.mark.parametrize("place", ["label", "annotation"])
def test_releases_that_are_off_stay_off(place: str) -> None:
    """CR16: nobody's "false" becomes a release."""
    name = "release.appstudio.openshift.io/auto-release"
    text = replace_text(RELEASE, ("'true'   # by itself", "'false' # never"))
    if place == "annotation":
        text = replace_text(RELEASE, ("spec:\n", f'  annotations: {{{name}: "false"}} # never\nspec:\n'))
    answer = expect([OP1, OP2_NUDGES, BUNDLE, text])
    assert answer.items[-1] == text
    assert answer.rules() == ["CR16"]
