"""Expressions of Pipelines as Code: written as Konflux writes them, and guarded."""

from __future__ import annotations

import pytest

from krm_merge.components.expressions import (
    CelError,
    TriggerEvent,
    add_guard,
    check,
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


# --- Guards ----------------------------------------------------------------------------------------------------------

CONTROLLER = expression("push", "main", "controller", "controller")
ONE = '( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["bundle/csv.yaml"])) )'
TWO = '( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["a", "b"])) )'

GUARDS = [
    # expression, files, guarded expression
    ('event == "push"', ["bundle/csv.yaml"], f'event == "push" && {ONE}'),
    ('event == "push"', [], 'event == "push"'),
    ('event == "push"\n', ["b", "a", "b"], f'event == "push" && {TWO}'),
    (CONTROLLER, ["bundle/csv.yaml"], f"{CONTROLLER} && {ONE}"),
    (f"{CONTROLLER} && {ONE}", ["a", "b"], f"{CONTROLLER} && {TWO}"),
    (f"{CONTROLLER} && {ONE}", [], CONTROLLER),
    (f"{CONTROLLER} && {ONE} && {TWO}", [], CONTROLLER),
    (f'{ONE} && event == "push"', ["a", "b"], f'event == "push" && {TWO}'),
    (f'event == "push" && {ONE} && body.x', ["a", "b"], f'event == "push" && body.x && {TWO}'),
    (f'event == "push"\n  && {ONE}'.replace("|| ", "||\n    "), ["a", "b"], f'event == "push" && {TWO}'),
    ("body.a || body.b", ["a", "b"], f"( body.a || body.b ) && {TWO}"),
    (f"( body.a || body.b ) && {ONE}", ["a", "b"], f"( body.a || body.b ) && {TWO}"),
    ("body.a ? body.b : body.c", ["a", "b"], f"( body.a ? body.b : body.c ) && {TWO}"),
    ("body.a // why", ["a", "b"], f"body.a // why\n&& {TWO}"),
    ("body.a || body.b // why", ["a", "b"], f"( body.a || body.b // why\n) && {TWO}"),
    (f"body.a // why\n&& {ONE}\n&& body.b", ["a", "b"], f"body.a // why\n\n&& body.b && {TWO}"),
    (ONE, ["a", "b"], f"true && {TWO}"),
]


@pytest.mark.parametrize(("text", "files", "expected"), GUARDS)
def test_guards(text: str, files: list[str], expected: str) -> None:
    assert add_guard(text, files) == expected
    assert add_guard(expected, files) == expected


def test_what_cannot_be_read_is_not_guarded() -> None:
    with pytest.raises(CelError, match="found the end at column 19"):
        add_guard('event == "push" &&', ["a"])


GLOB = '( files.all.size() == 0 || files.all.exists(nudged, !(nudged.matches("^b/[^/]*[.]yaml$"))) )'
BOTH = GLOB.replace("!(", '!(nudged in ["a"] || ').replace('$")', '$") || nudged.matches("x\\\\+")')

GLOB_GUARDS = [
    # expression, files, patterns, guarded expression
    ("body.a", [], ["^b/[^/]*[.]yaml$"], f"body.a && {GLOB}"),
    ("body.a", ["a"], ["x\\+", "^b/[^/]*[.]yaml$"], f"body.a && {BOTH}"),
    (f"body.a && {GLOB}", ["a", "b"], [], f"body.a && {TWO}"),
    (f"{BOTH.replace(' || ', chr(10) + '  || ')} && body.a", [], ["^b/[^/]*[.]yaml$"], f"body.a && {GLOB}"),
    (f"body.a && {BOTH}", [], [], "body.a"),
]


@pytest.mark.parametrize(("text", "files", "patterns", "expected"), GLOB_GUARDS)
def test_guards_for_globs(text: str, files: list[str], patterns: list[str], expected: str) -> None:
    """CR12: tests for names and for patterns are one guard, which is exchanged as a whole."""
    assert add_guard(text, files, patterns) == expected
    assert add_guard(expected, files, patterns) == expected


def test_what_is_no_guard_of_ours_stays() -> None:
    """CR12."""
    for test in ("nudged.startsWith('a')", "nudged.matches(body.x)", 'nudged in ["a"] && body.x', 'other in ["a"]'):
        theirs = f"body.a && ( files.all.size() == 0 || files.all.exists(nudged, !({test})) )"
        assert add_guard(theirs, []) == theirs


# --- What cannot be read ---------------------------------------------------------------------------------------------

PROBLEMS = [
    ("", "expected a value, found the end at column 1"),
    ('event == "push" &&', "expected a value, found the end at column 19"),
    ('event = "push"', "cannot read '=' at column 7"),
    ("a\n  && $", "cannot read '$' at line 2, column 6"),
    ("a && || b", "expected a value, found '||' at column 6"),
    ("(a", "the bracket '(' is never closed, it opens at column 1"),
    ("a)", "this bracket closes nothing, ')' at column 2"),
    ("a[b)]", "this bracket closes nothing, ')' at column 4"),
    ("f(a,)", "expected a value, found ')' at column 5"),
    ('"open', "cannot read '\"' at column 1"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_problems(text: str, problem: str) -> None:
    """C11: no more is read of an expression than a condition beside it needs."""
    with pytest.raises(CelError) as caught:
        check(text)
    assert str(caught.value) == problem


READABLE = [
    "a",
    "!a && -1 < b",
    'f() || x.exists(y, y in ["a", r"\\"])',
    "a ? [] : {'b': 1}",
    '"""a\n&&""" == b // why',
]


@pytest.mark.parametrize("text", READABLE)
def test_readable(text: str) -> None:
    """C11."""
    assert check(text)
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


def test_expressions_of_releases_that_cannot_be_read() -> None:
    """CR16."""
    with pytest.raises(CelError):
        release_condition("a) || (b", ["a"])
