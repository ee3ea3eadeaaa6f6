"""Expressions of Pipelines as Code: written as Konflux writes them, guarded, and evaluated without guessing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from krm_merge.components.configure.cel_evaluating import Event, Trigger, Verdict, evaluate, may_trigger
from krm_merge.components.configure.cel_reading import problems
from krm_merge.components.configure.cel_tokens import CelError
from krm_merge.components.configure.cel_values import Beginning
from krm_merge.components.configure.nudged_files import beginning, below, is_file, regular_expression
from krm_merge.components.configure.regular_expressions import regex_matches
from krm_merge.components.configure.release_expressions import released, theirs_of
from krm_merge.components.configure.trigger_expressions import expression, guarded
from krm_merge.components.digests.replacement import selected
from krm_merge.components.konflux.contexts import touches

PUSH = Event("push", "main", "main", ("foo/x.go", "docs/a.md"), title="fix: all")
PULL = Event("pull_request", "main", "feature/one", ("foo/x.go", "docs/a.md"), title="fix: all")

# --- Writing ---------------------------------------------------------------------------------------------------------

WRITTEN: list[tuple[Trigger, str, str, str, str, bool, str]] = [
    # event, branch, component, context, Dockerfile, whether that is in the context, expression
    ("push", "main", "c", "", "", True, 'event == "push" && target_branch == "main"'),
    ("push", "main", "c", ".", "", True, 'event == "push" && target_branch == "main"'),
    ("push", "main", "c", "/", "Dockerfile", False, 'event == "push" && target_branch == "main"'),
    ("pull_request", "dev", "c", "./", "", True, 'event == "pull_request" && target_branch == "dev"'),
    (
        "push",
        "main",
        "clamav-scan-v002",
        "task/clamav-scan/0.2",
        "",
        True,
        'event == "push" && target_branch == "main" && ( "task/clamav-scan/0.2/***".pathChanged() || '
        '".tekton/clamav-scan-v002-push.yaml".pathChanged() )',
    ),
    (
        "pull_request",
        "custom-branch",
        "my-component",
        "./base_context",
        "",
        True,
        'event == "pull_request" && target_branch == "custom-branch" && ( "./base_context/***".pathChanged() || '
        '".tekton/my-component-pull-request.yaml".pathChanged() )',
    ),
    (
        "push",
        "main",
        "c",
        "src/",
        "/docker/Dockerfile",
        False,
        'event == "push" && target_branch == "main" && ( "src/***".pathChanged() || ".tekton/c-push.yaml".pathChanged()'
        ' || "docker/Dockerfile".pathChanged() )',
    ),
    (
        "push",
        "main",
        "c",
        "src",
        "Dockerfile",
        True,
        'event == "push" && target_branch == "main" && ( "src/***".pathChanged() || ".tekton/c-push.yaml".pathChanged()'
        " )",
    ),
    (
        "push",
        "main",
        "c",
        "src",
        "https://example.com/Dockerfile",
        False,
        'event == "push" && target_branch == "main" && ( "src/***".pathChanged() || ".tekton/c-push.yaml".pathChanged()'
        " )",
    ),
    (
        "push",
        'a"b',
        "c",
        "[id]/x\\y",
        "",
        True,
        'event == "push" && target_branch == "a\\"b" && ( "\\\\[id]/x\\\\\\\\y/***".pathChanged() || '
        '".tekton/c-push.yaml".pathChanged() )',
    ),
]


@pytest.mark.parametrize(("event", "branch", "component", "context", "dockerfile", "inside", "expected"), WRITTEN)
def test_expressions_are_those_of_konflux(
    event: Trigger, branch: str, component: str, context: str, dockerfile: str, inside: bool, expected: str
) -> None:
    assert expression(event, branch, component, context, dockerfile, inside) == expected


SEGMENTS = st.sampled_from(["foo", "foobar", "bar", "[id]", "a*", "q?", "{x,y}", "back\\slash", 'quo"te', "ö", "x\ny"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
TRIGGERS: st.SearchStrategy[Trigger] = st.sampled_from(["push", "pull_request"])


@given(TRIGGERS, PATHS | st.just("."), st.lists(PATHS, max_size=3), st.booleans())
def test_expressions_start_for_what_touches_the_context(
    event: Trigger, context: str, files: list[str], pipeline: bool
) -> None:
    text = expression(event, "main", "c", context)
    files = [*files, f".tekton/c-{event.replace('_', '-')}.yaml"] if pipeline else files
    expected = "true" if pipeline or touches(context, files) else "false"
    assert may_trigger(text, files, "main", event) == expected
    assert may_trigger(text, files, "other", event) == "false"
    assert may_trigger(text, files, "main", "push" if event == "pull_request" else "pull_request") == "false"


S11 = [
    # context, files, verdict
    (".", ["a"], "true"),
    ("foo", ["foo/x"], "true"),
    ("foo", ["foobar/x"], "false"),
    ("foo/", ["foo/x"], "true"),
    ("foo", ["foo/deleted"], "true"),
    ("foo", ["bar/old", "foo/new"], "true"),
    ("foo", ["foo/old", "bar/new"], "true"),
    ("foo", ["bar/x"], "false"),
]


@pytest.mark.parametrize(("context", "files", "verdict"), S11)
def test_changes_of_contexts(context: str, files: list[str], verdict: Verdict) -> None:
    assert may_trigger(expression("push", "main", "c", context), files, "main", "push") == verdict


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
    assert guarded(text, files) == expected
    assert guarded(expected, files) == expected


def test_what_cannot_be_read_is_not_guarded() -> None:
    with pytest.raises(CelError, match="found the end at column 19"):
        guarded('event == "push" &&', ["a"])


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
    """R12: tests for names and for patterns are one guard, which is exchanged as a whole."""
    assert guarded(text, files, patterns) == expected
    assert guarded(expected, files, patterns) == expected


def test_what_is_no_guard_of_ours_stays() -> None:
    """R12."""
    for test in ("nudged.startsWith('a')", "nudged.matches(body.x)", 'nudged in ["a"] && body.x', 'other in ["a"]'):
        theirs = f"body.a && ( files.all.size() == 0 || files.all.exists(nudged, !({test})) )"
        assert guarded(theirs, []) == theirs


# --- Globs of digest.files -------------------------------------------------------------------------------------------

NAMES = ["a", "b", "ab", "a.yaml", "axyaml", "[id]", "x+y", "(z)", "c-d", "a\nb", "é", "A"]
WILD = ["*", "**", "a*", "**a", "?", "a?b", "*.yaml", "[ab]", "[!a]", "[a-c]*", "[[]id]", "[*]", "[", "[]", "[^a]"]
ANY_FILES = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
ANY_GLOBS = st.lists(st.sampled_from([*NAMES, *WILD, "[+-9]", "", ".", ".."]), min_size=1, max_size=4).map("/".join)


@given(ANY_GLOBS, ANY_FILES, ANY_FILES | st.just("."))
@settings(max_examples=500)
@example("bundle/manifests/*.yaml", "bundle/manifests/a.yaml", "bundle")
@example("**/*.yaml", "bundle/x/a.yaml", "bundle")
@example("bundle", "bundle/x/a.yaml", "bundle/x")
@example("a*/", "ab/x", ".")
@example("**/x", "[id]/x", "[id]")
def test_globs_mean_the_same_in_expressions(glob: str, file: str, directory: str) -> None:
    """R12, C5: in a dependant's directory, of exactly the files that `digest.files` is of."""
    inside = directory == "." or file.startswith(f"{directory}/")
    of = below(glob, directory)
    if file != directory:
        assert any(selected(file, ".", [one], []) for one in of) == (inside and selected(file, ".", [glob], []))
    for one in of:
        pattern, wanted = regular_expression(one), selected(file, ".", [one], [])
        if pattern is not None:
            assert regex_matches(pattern, file) is wanted
            # RE2 knows $ as the end alone.
            assert (re.search(pattern.replace("$", "\\Z"), file) is not None) is wanted
        if wanted:
            assert f"{file}/".startswith(beginning(one))


PATTERNS_OF_GLOBS = [
    ("csv.yaml", "^csv[.]yaml(?:/|$)", True),
    ("bundle/Dockerfile.rhel", "^bundle/Dockerfile[.]rhel(?:/|$)", True),
    ("bundle/manifests", "^bundle/manifests(?:/|$)", False),
    ("bundle/manifests/*.yaml", "^bundle/manifests/[^/]*[.]yaml$", False),
    ("bundle/**", "^bundle(?:/|$)", False),
    ("**", "^", False),
    ("**/a?c/[!x-z].y", "^(?:[^/]+/)*a[^/]c/[^x-z/][.]y$", False),
    ("a/[+-9]", None, False),
    ("a/[z-a]*", None, False),
]


@pytest.mark.parametrize(("glob", "pattern", "file"), PATTERNS_OF_GLOBS)
def test_globs_as_patterns(glob: str, pattern: str | None, file: bool) -> None:
    """R12: readable ones, without backslashes that would have to be doubled."""
    assert (regular_expression(glob), is_file(glob)) == (pattern, file)


@dataclass(frozen=True)
class Tree:
    """A truth value, an unknown one by its number, or an operator with operands."""

    operator: str
    operands: tuple[Tree, ...] = ()


KNOWN_TRUE = ["true", 'event == "push"', '"foo/*".pathChanged()', 'target_branch in ["x", "main"]', "1 < 2", "(true)"]
KNOWN_FALSE = ["false", 'event != "push"', '"bar/*".pathChanged()', "event == 'pull_request'", "2 in [1]"]
UNKNOWN = ["body.u", 'headers["u"] == "1"', "has(body.u)", "1 + 1 == 2", "'x'.matches('(?i)x')", "custom == 'u'"]

LEAVES = st.sampled_from([*KNOWN_TRUE, *KNOWN_FALSE, *UNKNOWN]).map(Tree)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["&&", "||"]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda pair: Tree(pair[0], tuple(pair[1]))
        ),
        inner.map(lambda one: Tree("!", (one,))),
        st.tuples(inner, inner, inner).map(lambda three: Tree("?", three)),
    ),
    max_leaves=8,
)
BINDING = {"?": 0, "||": 1, "&&": 2, "!": 4}


def written(tree: Tree, around: int = 0) -> str:
    """With as few brackets as precedence allows."""
    operator, operands = tree.operator, tree.operands
    binding = BINDING[operator] if operands else 3
    match operator:
        case "!":
            text = f"!{written(operands[0], 5)}"
        case "?":
            text = f"{written(operands[0], 1)} ? {written(operands[1], 1)} : {written(operands[2])}"
        case "&&" | "||":
            text = f" {operator} ".join(written(operand, binding + 1) for operand in operands)
        case _:
            text = operator
    return f"({text})" if binding < around else text


def truth(tree: Tree, unknowns: dict[str, bool]) -> bool:
    match tree.operator:
        case "!":
            return not truth(tree.operands[0], unknowns)
        case "?":
            return truth(tree.operands[1 if truth(tree.operands[0], unknowns) else 2], unknowns)
        case "&&":
            return all(truth(operand, unknowns) for operand in tree.operands)
        case "||":
            return any(truth(operand, unknowns) for operand in tree.operands)
    return unknowns[tree.operator] if tree.operator in UNKNOWN else tree.operator in KNOWN_TRUE


def unknowns_of(tree: Tree) -> set[str]:
    inner = {name for operand in tree.operands for name in unknowns_of(operand)}
    return inner | ({tree.operator} & set(UNKNOWN))


@given(TREES)
@settings(max_examples=200)
def test_a_verdict_holds_whatever_the_unknown_is(tree: Tree) -> None:
    names = sorted(unknowns_of(tree))
    possible = {
        truth(tree, dict(zip(names, values, strict=True))) for values in product((True, False), repeat=len(names))
    }
    verdict = evaluate(written(tree), PUSH)
    if not names:
        assert verdict == ("true" if possible == {True} else "false")
    elif verdict != "unknown":
        assert possible == {verdict == "true"}


NUDGED = ["bundle/csv.yaml", 'with "quotes"\\', "digests.txt"]


@given(TREES, st.lists(st.sampled_from([*NUDGED, "foo/x.go", "docs/a.md"]), max_size=4), st.sampled_from(["", " // c"]))
def test_a_guard_decides_only_about_its_files(tree: Tree, files: list[str], comment: str) -> None:
    text = written(tree) + comment
    guard = guarded(text, NUDGED)
    event = replace(PUSH, files=files)
    if files and set(files) <= set(NUDGED):
        assert evaluate(guard, event) == "false"
    else:
        assert evaluate(guard, event) == evaluate(text, event)
    assert guarded(guard, NUDGED) == guard
    assert guarded(guarded(text, ["other"]), NUDGED) == guard
    assert evaluate(guarded(guard, []), event) == evaluate(text, event)


# --- Evaluating ------------------------------------------------------------------------------------------------------

VERDICTS: list[tuple[str, Event, Verdict]] = [
    ('event == "push" && target_branch == "main"', PUSH, "true"),
    ('event == "push" && target_branch == "main"', PULL, "false"),
    # Precedence.
    ("true || true && false", PUSH, "true"),
    ("(true || true) && false", PUSH, "false"),
    ("false && false || true", PUSH, "true"),
    ("!false && false", PUSH, "false"),
    ("!(false && false)", PUSH, "true"),
    ("!!true", PUSH, "true"),
    ("!!!true", PUSH, "false"),
    ('!!"x"', PUSH, "unknown"),
    ('event == "push" == true', PUSH, "true"),
    ('!event.startsWith("x")', PUSH, "true"),
    ("true ? false : true", PUSH, "false"),
    ("false ? true : false ? true : true", PUSH, "true"),
    ("true || false ? false : true", PUSH, "false"),
    # Unknown things, and what logic makes of them.
    ("body.x", PUSH, "unknown"),
    ("body.x && false", PUSH, "false"),
    ("false && body.x", PUSH, "false"),
    ("body.x || true", PUSH, "true"),
    ("body.x || false", PUSH, "unknown"),
    ("body.x && true", PUSH, "unknown"),
    ("!body.x", PUSH, "unknown"),
    ("body.x == body.x", PUSH, "unknown"),
    ("body.x ? false : false", PUSH, "unknown"),
    ("unheard_of", PUSH, "unknown"),
    ("unheard_of(event)", PUSH, "unknown"),
    ("event.unheard_of()", PUSH, "unknown"),
    ("event.unheard_of", PUSH, "unknown"),
    ("event.startsWith('a', 'b')", PUSH, "unknown"),
    ("files", PUSH, "unknown"),
    ("files.other.exists(x, true)", PUSH, "unknown"),
    ("headers['x-github-event'] == 'push'", PUSH, "unknown"),
    ("body.pull_request.labels.exists(l, l.name == 'x')", PULL, "unknown"),
    ("has(body.x) || event == 'push'", PUSH, "true"),
    ("{'a': 1}['a'] == 1", PUSH, "unknown"),
    ("[1, 2][0] == 1", PUSH, "unknown"),
    ("1.5 < 2.5", PUSH, "unknown"),
    ("1u == 1u", PUSH, "unknown"),
    ("b'x' == b'x'", PUSH, "unknown"),
    ("null == null", PUSH, "unknown"),
    ("99999999999999999999999 == 1", PUSH, "unknown"),
    # What is no truth value is no verdict.
    ("", PUSH, "unknown"),
    ('"true"', PUSH, "unknown"),
    ("1", PUSH, "unknown"),
    ("event && true", PUSH, "unknown"),
    ("event && false", PUSH, "false"),
    # Types are not mixed.
    ("event == 1", PUSH, "unknown"),
    ("event != 1", PUSH, "unknown"),
    ("true == 1", PUSH, "unknown"),
    ("true < false", PUSH, "unknown"),
    ("1 in [true]", PUSH, "unknown"),
    # Literals.
    ("'a' == \"a\"", PUSH, "true"),
    (r"'it\'s' == " + '"it\'s"', PUSH, "true"),
    (r'"\x41\u0042\U00000043\104\n" == "ABCD' + '\\n"', PUSH, "true"),
    (r"r'\d' == '\\d'", PUSH, "true"),
    ('"""a\n"b" """ == \'a\\n"b" \'', PUSH, "true"),
    ('"" == ""', PUSH, "true"),
    ("0x10 == 16", PUSH, "true"),
    ("-1 < 0 && --1 == 1", PUSH, "true"),
    ("1 <= 1 && 1 >= 1 && 2 > 1 && !(1 > 1) && !(1 < 1)", PUSH, "true"),
    ("'a' < 'b' && 'b' >= 'a' && !('b' <= 'a')", PUSH, "true"),
    ("2 in [1, 2,] && !(3 in [1, 2])", PUSH, "true"),
    ("event in ['push', body.x]", PUSH, "true"),
    ("event in [body.x]", PUSH, "unknown"),
    ("event in []", PUSH, "false"),
    ("'a' in body", PUSH, "unknown"),
    # Comments and lines.
    ('event == "push" // so it is\n  && // and\n target_branch == "main"', PUSH, "true"),
    ('event == "// no comment"', PUSH, "false"),
    # Texts.
    ("source_branch.startsWith('feature/')", PULL, "true"),
    ("source_branch.endsWith('/one') && !source_branch.endsWith('two')", PULL, "true"),
    ("event_title.contains('all') && event_title.size() == 8 && size(event_title) > 7", PULL, "true"),
    ("source_branch == 'x'", replace(PULL, source_branch=""), "unknown"),
    ("event_title == ''", replace(PULL, title=""), "unknown"),
    ("event_type == 'pull_request'", PULL, "unknown"),
    ("event_type == 'retest-comment'", replace(PULL, event_type="pull_request"), "false"),
    ("target_url == 'u' && source_url == 'v'", replace(PULL, target_url="u", source_url="v"), "true"),
    # Branches of a push have their full names where a text does.
    ("target_branch == 'refs/heads/main'", PUSH, "unknown"),
    ("target_branch == 'refs/heads/main' || target_branch == 'main'", PUSH, "unknown"),
    ("target_branch == 'refs/heads/main'", PULL, "false"),
    ("target_branch.startsWith('refs/tags/')", PUSH, "false"),
    # Changed files.
    ("'foo/***'.pathChanged()", PUSH, "true"),
    ("'bar/***'.pathChanged()", PUSH, "false"),
    ("'foo/***'.pathChanged()", replace(PUSH, files=None), "unknown"),
    ("'foo/***'.pathChanged()", replace(PUSH, files=()), "false"),
    ("'[a-'.pathChanged()", PUSH, "unknown"),
    ("'foo/***'.pathChanged('x')", PUSH, "unknown"),
    ("files.all.exists(x, x.matches('^foo/'))", PUSH, "true"),
    ("files.all.exists(x, x.matches('^foo/'))", replace(PUSH, files=None), "unknown"),
    ("files.all.all(x, x.matches('^(foo|docs)/'))", PUSH, "true"),
    ("files.all.all(x, x.endsWith('.md'))", PUSH, "false"),
    ("files.all.all(x, false)", replace(PUSH, files=()), "true"),
    ("files.all.exists(x, true)", replace(PUSH, files=()), "false"),
    ("files.all.exists(x, body.x)", PUSH, "unknown"),
    ("files.all.exists(x, body.x || x == 'docs/a.md')", PUSH, "true"),
    ("files.all.size() == 2 && size(files.all) > 1", PUSH, "true"),
    ("'docs/a.md' in files.all && !('b' in files.all)", PUSH, "true"),
    # How they changed is not known, but other files did not.
    ("files.added.exists(x, x == 'foo/x.go')", PUSH, "unknown"),
    ("files.deleted.exists(x, x == 'other')", PUSH, "false"),
    ("files.modified.all(x, x.contains('/'))", PUSH, "true"),
    ("files.renamed.all(x, x.startsWith('foo'))", PUSH, "unknown"),
    ("files.added.size() == 0", PUSH, "unknown"),
    ("files.added.size() == 0", replace(PUSH, files=()), "true"),
    ("'foo/x.go' in files.added", PUSH, "unknown"),
    ("'other' in files.added", PUSH, "false"),
    # Variables of macros.
    ("files.all.exists(event, event == 'push')", PUSH, "false"),
    ("files.all.exists(files, files.all.exists(x, true))", PUSH, "unknown"),
    ("files.all.exists(x, files.all.exists(y, x != y))", PUSH, "true"),
    ("files.all.exists(x, files.all.all(x, x == 'foo/x.go'))", PUSH, "false"),
    ("files.all.exists(x, files.all.exists(x, files.all.exists(x, true)))", PUSH, "unknown"),
    ("files.all.exists(x.y, true)", PUSH, "unknown"),
    ("files.all.filter(x, true).size() == 2", PUSH, "unknown"),
    ("files.all.exists_one(x, true)", PUSH, "unknown"),
    ("files.all == []", PUSH, "unknown"),
]


@pytest.mark.parametrize(("text", "event", "verdict"), VERDICTS)
def test_verdicts(text: str, event: Event, verdict: Verdict) -> None:
    assert evaluate(text, event) == verdict


PROBLEMS = [
    ("", "expected a value, found the end at column 1"),
    ('event == "push" &&', "expected a value, found the end at column 19"),
    ('event = "push"', "cannot read '=' at column 7"),
    ("a\n  && $", "cannot read '$' at line 2, column 6"),
    ("(a", "expected ')', found the end at column 3"),
    ("a)", "cannot read what follows, found ')' at column 2"),
    ("a b", "cannot read what follows, found 'b' at column 3"),
    ("a ? b", "expected ':', found the end at column 6"),
    ("a.1", "cannot read what follows, found '.1' at column 2"),
    ("a.(b)", "expected a name, found '(' at column 3"),
    ("f(a,)", "expected a value, found ')' at column 5"),
    ("in == 1", "expected a value, found 'in' at column 1"),
    ("for", "expected a value, found 'for' at column 1"),
    ('"open', "cannot read '\"' at column 1"),
    ('a == "\\q"', "the escape \\q means nothing in the text at column 6"),
    ('"\\ud800"', "the escape \\ud800 means nothing in the text at column 1"),
    ("{'a': 1", "expected '}', found the end at column 8"),
    ("(" * 200, "the expression is nested too deeply, found '(' at column 41"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_problems(text: str, problem: str) -> None:
    assert problems(text) == [problem]
    assert evaluate(text, PUSH) == "unknown"


def test_there_are_none() -> None:
    assert problems(CONTROLLER) == []


SIGNS = [*"()[]{}.,?:!-+*/%<>\"'\\\n", "&&", "||", "==", "!=", "in", " ", "//", "0x"]
WORDS = ["x", "event", "files.all", "body", '"a"', "r'", "'(a*)*b'", "1", "true", "false"]
CALLS = [".exists(x, ", ".all(x, ", ".size()", ".pathChanged()", ".matches("]
PIECES = st.sampled_from([*SIGNS, *WORDS, *CALLS])


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=30))
@settings(max_examples=300)
@example("!" * 1500 + "true")
@example("true" + " || true" * 1500)
@example("a" + ".b" * 1500)
@example("a" + " == a" * 1500)
@example("a" + " + a" * 1500)
@example("a" + "[0]" * 1500)
@example("-" * 1501 + "1")
@example("true ? true : " * 1500)
@example("(" * 1500 + "a" + ")" * 1500)
def test_garbage_is_read_or_refused(text: str) -> None:
    verdict = evaluate(text, PUSH)
    assert verdict in ("true", "false", "unknown")
    if problems(text):
        assert verdict == "unknown"
        with pytest.raises(CelError):
            guarded(text, ["a"])
    else:
        guard = guarded(text, ["a"])
        assert guarded(guard, ["a"]) == guard
        assert may_trigger(guard, ["a"], "main", "push") == "false"


# --- Patterns --------------------------------------------------------------------------------------------------------

YES, NO, WHO_KNOWS = "true", "false", "unknown"
GLOBS: list[tuple[str, str, str]] = [
    # glob, path, whether it matches
    ("foo/x", "foo/x", YES),
    ("foo", "foo/x", NO),
    ("foo/*", "foo/x", YES),
    ("foo/*", "foo/a/b", YES),
    ("foo/**", "foo/a/b", YES),
    ("foo/***", "foo/a/b", YES),
    ("foo/***", "foobar/x", NO),
    ("foo/***", "foo/", YES),
    ("*.md", "docs/a.md", YES),
    ("*", "", YES),
    ("", "a", NO),
    ("**/*.go", "a/b/c.go", YES),
    ("**/*.go", "c.go", NO),
    ("?oo/x", "foo/x", YES),
    ("foo?x", "foo/x", YES),
    ("foo?", "foo", NO),
    ("[fg]oo", "goo", YES),
    ("[fg]oo", "hoo", NO),
    ("[!fg]oo", "hoo", YES),
    ("[!fg]oo", "foo", NO),
    ("[a-f]oo", "foo", YES),
    ("[!a-f]oo", "foo", NO),
    ("{foo,bar}/*", "bar/x", YES),
    ("{foo,bar}/*", "baz/x", NO),
    ("*.{yaml,yml}", "a/b.yml", YES),
    ("a,b}", "a,b}", YES),
    ("foo]", "foo]", YES),
    (r"\*", "*", YES),
    (r"\*", "x", NO),
    (r"[\]]", "]", YES),
    (r"{a\,b,c}", "a,b", YES),
    ("a.c", "abc", NO),
    ("ö/*", "ö/x", YES),
    # What releases do differently, or nobody can tell.
    ("a*ant", "an ant", YES),
    ("a*ant", "ant", WHO_KNOWS),
    ("a*ant", "bee", NO),
    ("{a,}b", "b", WHO_KNOWS),
    ("{a,a}b", "ab", WHO_KNOWS),
    ("{**/a,b}/c", "b/c", WHO_KNOWS),
    ("{a,{b,c}}", "b", WHO_KNOWS),
    ("{a,b", "a", WHO_KNOWS),
    ("?/x", "ö/x", WHO_KNOWS),
    ("{ö,p}/x", "ö/x", WHO_KNOWS),
    ("[a-zA-Z]", "a", WHO_KNOWS),
    ("[^a]", "b", WHO_KNOWS),
    ("[z-a]", "b", WHO_KNOWS),
    ("[]", "b", WHO_KNOWS),
    ("[a", "a", WHO_KNOWS),
    ("a\\", "a", WHO_KNOWS),
    ("{a,b}" * 9, "a" * 9, WHO_KNOWS),
]


@pytest.mark.parametrize(("glob", "path", "matches"), GLOBS)
def test_globs(glob: str, path: str, matches: str) -> None:
    literal = '"' + glob.replace("\\", "\\\\") + '"'
    assert may_trigger(f"{literal}.pathChanged()", [path], "main", "push") == matches


GLOB_PIECES = st.sampled_from(["a", "b", "/", "*", "**", "?", "[ab]", "[!a]", "{a,bb}"])
IN_REGEX = {"*": ".*", "**": ".*", "?": ".", "[!a]": "[^a]", "{a,bb}": "(?:a|bb)"}


@given(st.lists(GLOB_PIECES, max_size=6), st.text("ab/", max_size=6))
@settings(max_examples=300)
def test_globs_agree_with_regular_expressions(pieces: list[str], path: str) -> None:
    verdict = may_trigger(f"'{''.join(pieces)}'.pathChanged()", [path], "main", "push")
    expected = re.fullmatch("".join(IN_REGEX.get(piece, piece) for piece in pieces), path) is not None
    assert verdict == ("true" if expected else "false") or (verdict == "unknown" and not expected)


REGEXES: list[tuple[str, str, str]] = [
    # regular expression, text, whether it matches
    ("", "x", YES),
    ("oo", "foo", YES),
    ("^oo", "foo", NO),
    ("^foo$", "foo", YES),
    ("^foo$", "foo\n", NO),
    ("^foo/.*\\.go$", "foo/a/b.go", YES),
    ("^(foo|bar)/", "bar/x", YES),
    ("^(?:foo|bar)/", "baz/x", NO),
    ("a{2}", "aa", YES),
    ("^a{2,3}$", "aaaa", NO),
    ("^a{2,}$", "aaaa", YES),
    ("^a+?b*$", "aab", YES),
    ("[a-c]x", "bx", YES),
    ("^[^a-c]$", "b", NO),
    ("[\\w.-]+", "-", YES),
    ("^\\d+\\s\\S\\D\\W$", "1 xx-", YES),
    ("^\\d$", "٣", NO),
    ("\\bfoo\\b", "a foo b", YES),
    ("\\Boo", "foo", YES),
    ("\\Afoo\\z", "foo", YES),
    ("^.$", "\n", NO),
    ("^[\\t\\n]$", "\n", YES),
    ("^(a*)*$", "aaaa", YES),
    ("(a+)+$", "a" * 200 + "b", NO),
    ("a|", "x", YES),
    ("x{1000}", "x", NO),
    # Flags, names, other escapes, and what RE2 refuses.
    ("(?i)foo", "foo", WHO_KNOWS),
    ("(?P<n>a)", "a", WHO_KNOWS),
    ("[[:alpha:]]", "a", WHO_KNOWS),
    ("\\pL", "a", WHO_KNOWS),
    ("\\x41", "A", WHO_KNOWS),
    ("(a)\\1", "aa", WHO_KNOWS),
    ("(?=a)", "a", WHO_KNOWS),
    ("a**", "a", WHO_KNOWS),
    ("a*+", "a", WHO_KNOWS),
    ("*a", "a", WHO_KNOWS),
    ("a{,2}", "a", WHO_KNOWS),
    ("a{02}", "aa", WHO_KNOWS),
    ("a{3,2}", "aaa", WHO_KNOWS),
    ("a{1001}", "a", WHO_KNOWS),
    ("(a{100}){100}", "a", WHO_KNOWS),
    ("(a", "a", WHO_KNOWS),
    ("a)", "a", WHO_KNOWS),
    ("[a", "a", WHO_KNOWS),
    ("[]a]", "a", WHO_KNOWS),
    ("[z-a]", "a", WHO_KNOWS),
    ("[\\d-z]", "a", WHO_KNOWS),
    ("a\\", "a", WHO_KNOWS),
    ("(" * 100 + ")" * 100, "a", WHO_KNOWS),
]


def matches(pattern: str, text: str) -> Verdict:
    return evaluate("event_title.matches(source_branch)", replace(PULL, title=text, source_branch=pattern or "(?:)"))


@pytest.mark.parametrize(("pattern", "text", "expected"), REGEXES)
def test_regular_expressions(pattern: str, text: str, expected: str) -> None:
    assert matches(pattern, text) == expected


ATOMS = st.sampled_from(["a", "b", "/", ".", "[ab]", "[^a]", "\\w", "\\.", "(?:^)", "(?:$)", "(?:\\b)"])
TIMES = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
PATTERNS = st.recursive(
    st.tuples(ATOMS, TIMES).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(st.lists(inner, min_size=1, max_size=3).map("|".join), TIMES).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=5,
)


@given(PATTERNS, st.text("ab/.", min_size=1, max_size=6))
@settings(max_examples=300)
def test_regular_expressions_agree_with_others(pattern: str, text: str) -> None:
    expected = re.search(pattern.replace("$", "\\Z"), text, re.ASCII) is not None
    assert matches(pattern, text) == ("true" if expected else "false")


@given(st.text("ab(){}[]|*+?^$\\.-,12:", max_size=15), st.text(max_size=5))
@settings(max_examples=300)
def test_no_pattern_breaks(pattern: str, text: str) -> None:
    assert matches(pattern, text or "a") in ("true", "false", "unknown")
    literal = '"' + pattern.replace("\\", "\\\\") + '"'
    assert may_trigger(f"{literal}.pathChanged()", [text], "main", "push") in ("true", "false", "unknown")


# --- Files of which only the beginning is known ----------------------------------------------------------------------

BEGINNINGS: list[tuple[str, Verdict]] = [
    ('"controller/***".pathChanged()', "false"),
    ('".tekton/bundle-push.yaml".pathChanged() || "bundles/***".pathChanged()', "false"),
    ('"bundle/***".pathChanged()', "unknown"),
    ('"b*".pathChanged()', "unknown"),
    ('"bundle/manifests/csv.yaml".pathChanged()', "unknown"),
    ('"{controller,bundle}/***".pathChanged()', "unknown"),
    ('"\\\\bundle/***".pathChanged()', "unknown"),
    ('files.all.exists(x, x.startsWith("controller/"))', "false"),
    ('!files.all.all(x, x.startsWith("bundle"))', "false"),
    ('files.all.exists(x, !x.startsWith("bundle/"))', "false"),
    ('files.all.exists(x, x.startsWith("bundle/manifests/"))', "unknown"),
    ("files.all.exists(x, x.startsWith(body.x))", "unknown"),
    ('files.modified.exists(x, x.startsWith("bundle/"))', "unknown"),
    # How many there are is not known, nor what is in the rest of a path.
    ("files.all.size() == 1", "unknown"),
    ("files.all.exists(x, size(x) == 7)", "unknown"),
    ("files.all.all(x, files.all.all(y, x == y))", "unknown"),
    ("files.all.exists(x, x in ['docs/a'])", "unknown"),
    ("files.all.exists(x, x.endsWith('.go'))", "unknown"),
    ("files.all.exists(x, x.matches('^docs/'))", "unknown"),
    ('event == "pull_request" && "bundle/***".pathChanged()', "false"),
]


@pytest.mark.parametrize(("text", "verdict"), BEGINNINGS)
def test_files_below_a_directory(text: str, verdict: Verdict) -> None:
    """R12: what holds for all files below a directory is told, everything else is unknown."""
    assert may_trigger(text, [Beginning("bundle/")], "main", "push") == verdict


OF_FILES = [
    '"a/***".pathChanged()',
    '"a/b*".pathChanged()',
    '"*c".pathChanged()',
    '"a/b/c".pathChanged()',
    'files.all.exists(x, x.startsWith("a/"))',
    'files.all.all(x, x.startsWith("a/b"))',
    "files.all.exists(x, x == 'a/b/c')",
    "files.all.exists(x, x.endsWith('c'))",
    "files.all.size() == 1",
]
FILE_TREES = st.recursive(
    st.sampled_from(OF_FILES).map(Tree),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["&&", "||"]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda pair: Tree(pair[0], tuple(pair[1]))
        ),
        inner.map(lambda one: Tree("!", (one,))),
    ),
    max_leaves=4,
)


@given(FILE_TREES, st.text("abc/", max_size=4), st.lists(st.text("abc/", max_size=4), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_verdict_holds_whatever_the_files_are(tree: Tree, start: str, rests: list[str]) -> None:
    """R12: a loop is excluded only where no file below a directory can start a build."""
    verdict = may_trigger(written(tree), [Beginning(start)], "main", "push")
    if verdict != "unknown":
        assert may_trigger(written(tree), [start + rest for rest in rests], "main", "push") == verdict


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
    """R16, R6: what a person wrote holds besides, and is found again."""
    assert released(theirs, ["a", "b"]) == expected
    assert theirs_of(expected) == theirs
    # Of other Components, too, as an earlier run wrote it.
    assert theirs_of(released(theirs, ["c"])) == theirs


NOT_OURS = [
    "shouldRelease()",
    "true",
    "(x) && (y)",
    '(x) || (y) && (updatedComponentIs("a"))',
    '!updatedComponentIs("a")',
]


@pytest.mark.parametrize("text", NOT_OURS)
def test_expressions_of_releases_of_others(text: str) -> None:
    """R16: they are theirs as a whole."""
    assert theirs_of(text) == text


def test_expressions_of_releases_that_cannot_be_read() -> None:
    """R16."""
    with pytest.raises(CelError):
        released("a) || (b", ["a"])


LOOPS: list[tuple[Sequence[str], Verdict]] = [
    (["bundle/csv.yaml"], "false"),
    (["bundle/csv.yaml", "bundle/b.yaml"], "false"),
    (["controller/main.go"], "true"),
    (["controller/main.go", "bundle/csv.yaml"], "true"),
    (["controllers/main.go"], "false"),
]


@pytest.mark.parametrize(("files", "verdict"), LOOPS)
def test_whether_digests_start_the_dependency_again(files: Sequence[str], verdict: Verdict) -> None:
    assert may_trigger(CONTROLLER, files, "main", "push") == verdict


def test_a_guard_ends_a_loop() -> None:
    whole = expression("push", "main", "controller", ".")
    assert may_trigger(whole, ["bundle/csv.yaml"], "main", "push") == "true"
    assert may_trigger(guarded(whole, ["bundle/csv.yaml"]), ["bundle/csv.yaml"], "main", "push") == "false"
    assert may_trigger(guarded(whole, ["bundle/csv.yaml"]), ["bundle/csv.yaml", "x"], "main", "push") == "true"
    assert may_trigger(guarded(whole, ["bundle/csv.yaml"]), [], "main", "push") == "true"
    assert may_trigger(f"{whole} && body.x", ["bundle/csv.yaml"], "main", "push") == "unknown"
