"""Expressions of Pipelines as Code: as Konflux writes them, and with conditions added."""

from __future__ import annotations

import pytest

from krm_merge.components.expressions import (
    CelError,
    TriggerEvent,
    expression,
    release_condition,
    theirs_of,
)

# --- Writing ---------------------------------------------------------------------------------------------------------

WRITTEN: list[tuple[TriggerEvent, str, str, str, str]] = [
    # event, branch, component, context, expression
    ("push", "main", "c", "", 'event == "push" && target_branch == "main"'),
    ("push", "main", "c", ".", 'event == "push" && target_branch == "main"'),
    ("push", "main", "c", "/", 'event == "push" && target_branch == "main"'),
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
        "main",
        "c",
        "src",
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


READABLE = [
    "a",
    "!a && -1 < b",
    'f() || x.exists(y, y in ["a", r"\\d"])',
    "a ? [] : {'b': 1}",
    '"a ( \\" b" == c // why (',
]


@pytest.mark.parametrize("text", READABLE)
def test_readable(text: str) -> None:
    """C11."""
    assert theirs_of(release_condition(text, ["a"])) == text


# --- Expressions of ReleasePlans -------------------------------------------------------------------------------------

RELEASED = [
    ("", 'updatedComponentIs("a") || updatedComponentIs("b")'),
    ("shouldRelease()", '(shouldRelease()) && (updatedComponentIs("a") || updatedComponentIs("b"))'),
    ("x // why", '(x // why\n) && (updatedComponentIs("a") || updatedComponentIs("b"))'),
    ('updatedComponentIs("a")', '(updatedComponentIs("a")) && (updatedComponentIs("a") || updatedComponentIs("b"))'),
    (
        '(x) && (updatedComponentIs("a"))',
        '((x) && (updatedComponentIs("a"))) && (updatedComponentIs("a") || updatedComponentIs("b"))',
    ),
]


@pytest.mark.parametrize(("theirs", "expected"), RELEASED)
def test_expressions_of_releases(theirs: str, expected: str) -> None:
    """CR16, CR6: what a person wrote holds besides, and is found again."""
    assert release_condition(theirs, ["a", "b"]) == expected
    assert theirs_of(expected) == theirs
    # Of other Components, too, as an earlier run wrote it.
    assert theirs_of(release_condition(theirs, ["c"])) == theirs


NOT_OURS = [
    "shouldRelease()",
    "true",
    "(x) && (y)",
    '(x) || (y) && (updatedComponentIs("a"))',
    '!updatedComponentIs("a")',
]


@pytest.mark.parametrize("text", NOT_OURS)
def test_expressions_of_releases_of_others(text: str) -> None:
    """CR16: they are theirs as a whole."""
    assert theirs_of(text) == text


@pytest.mark.parametrize("text", ["(a", "a)", "a[b)]", '"open', "a) || (b", "f('it's')"])
def test_expressions_that_brackets_do_not_hold(text: str) -> None:
    """CR16."""
    with pytest.raises(CelError, match="is unbalanced"):
        release_condition(text, ["a"])
