"""Expressions of Pipelines as Code: as Konflux writes them; and of ReleasePlans."""

from __future__ import annotations

import pytest

from krm_merge.components.expressions import (
    TriggerEvent,
    expression,
    is_release_condition,
    release_condition,
)

# --- Writing ---------------------------------------------------------------------------------------------------------

WRITTEN: list[tuple[TriggerEvent, str, str, str, str]] = [
    # event, branch, component, context, expression
    ("push", "main", "c", "", 'event == "push" && target_branch == "main"'),
    ("pull_request", "dev", "c", "./", 'event == "pull_request" && target_branch == "dev"'),
    (
        "push",
        "main",
        "clamav-scan-v002",
        "task/clamav-scan/0.2",
        'event == "push" && target_branch == "main" && ( "task/clamav-scan/0.2/***".pathChanged() || '
        '".tekton/clamav-scan-v002-push.yaml".pathChanged() )',
    ),
    (
        "pull_request",
        "custom-branch",
        "my-component",
        "./base_context",
        'event == "pull_request" && target_branch == "custom-branch" && ( "./base_context/***".pathChanged() || '
        '".tekton/my-component-pull-request.yaml".pathChanged() )',
    ),
    (
        "push",
        "main",
        "c",
        "src/",
        'event == "push" && target_branch == "main" && ( "src/***".pathChanged() || ".tekton/c-push.yaml".pathChanged()'
        " )",
    ),
    (
        "push",
        'a"b',
        "c",
        "[id]/x\\y",
        'event == "push" && target_branch == "a\\"b" && ( "\\\\[id]/x\\\\\\\\y/***".pathChanged() || '
        '".tekton/c-push.yaml".pathChanged() )',
    ),
]


@pytest.mark.parametrize(("event", "branch", "component", "context", "expected"), WRITTEN)
def test_expressions_are_those_of_konflux(
    event: TriggerEvent, branch: str, component: str, context: str, expected: str
) -> None:
    assert expression(event, branch, component, context) == expected


# --- Expressions of ReleasePlans -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ['a"b\\']])
def test_expressions_of_releases(names: list[str]) -> None:
    """CR16: an expression of an earlier run, for other Components, is found again."""
    text = release_condition(names)
    assert text.count("updatedComponentIs(") == len(names)
    assert is_release_condition(text)


@pytest.mark.parametrize("text", ["", "true", '!updatedComponentIs("a")', 'updatedComponentIs("a") && x', "x || y"])
def test_expressions_of_releases_of_others(text: str) -> None:
    """CR16."""
    assert not is_release_condition(text)
