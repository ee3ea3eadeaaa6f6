"""Definitions of PipelineRuns in git: what starts them."""

from __future__ import annotations

import pytest

from components.settings.resources import expect, of_mono

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
OWN = 'event == "push" && "controller/***".pathChanged() && source_branch != "x"'
SPELT = [of_mono("controller", "./x/../controller//"), MONO[1]]

TRIGGERS: list[tuple[list[str], str, str, bool]] = [
    # Components, expression, what becomes of it, whether updates of the dependant may build the dependency again
    (MONO, PUSH, f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    (MONO, PULL, f"{PULL} && {IN_CONTEXT.format('pull-request')}", False),
    (MONO, f"{PUSH} && {IN_CONTEXT.format('push')}", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    # One that somebody wrote is neither evaluated nor changed.
    (MONO, OWN, OWN, True),
    (MONO, 'event == "push"', 'event == "push"', True),
    (MONO, f"{PUSH} || {PULL}", f"{PUSH} || {PULL}", True),
    (MONO, 'event == "push" &&', 'event == "push" &&', True),
    (ROOT, PUSH, PUSH, True),
    (ROOT[:1], PUSH, PUSH, False),
    ([MONO[0], of_mono("bundle", ".", "controller")], PUSH, f"{PUSH} && {IN_CONTEXT.format('push')}", True),
    # Contexts in other spellings.
    (SPELT, PUSH, f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    # Of another repository nothing can loop.
    ([ROOT[0], ROOT[1].replace("acme/op2", "acme/other")], PUSH, PUSH, False),
]


@pytest.mark.parametrize(("components", "before", "after", "loops"), TRIGGERS)
def test_expressions(components: list[str], before: str, after: str, loops: bool) -> None:
    """CR12, CR13, C11: as build-service writes it; updates that may build the dependency again are reported."""
    kind = "pull-request" if "pull_request" in before else "push"
    items = [*components, pipeline("controller", f"'{before}'", kind)]
    answer = expect(items)
    assert answer.items[-1] == pipeline("controller", f"'{after}'", kind)
    assert [rule for rule in answer.rules() if rule == "C11"] == ["C11"] * loops


def test_expressions_are_told() -> None:
    """C3, CR12: what starts a pipeline now; and where a loop is possible, what to do about it."""
    about = "PipelineRun team/controller-on-push: "
    answer = expect([*MONO, pipeline("controller", f"'{PUSH}'")])
    assert answer.messages("CR12") == [f"{about}only changes in controller start it"]
    answer = expect([*MONO, pipeline("controller", f"'{OWN}'")])
    again = "updates of bundle may build controller again; leave the files in bundle that name its image out"
    assert answer.messages("C11") == [f"{about}{again} of its expression"]


def test_pipelines_of_nobody() -> None:
    """CR13: of a Component that is unknown, or without an expression, nothing is known."""
    others = [pipeline("ghost", PUSH), pipeline("controller", PUSH).replace("on-cel-expression", "on-event")]
    assert expect([*MONO, *others]).items[-2:] == others
