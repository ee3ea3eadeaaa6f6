"""Targets of patches: patterns that match as a whole, and Kubernetes' selectors of labels."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]

from krm_merge.krm.selector import Selector, Target, TargetNames, Targets, pattern_of

WEB = {"app": "web", "tier": "front", "example.com/env": "prod", "empty": ""}

SELECTORS = [
    # selector, whether it selects WEB
    ("", True),
    ("   ", True),
    ("app=web", True),
    ("app==web", True),
    (" app = web ", True),
    ("app=db", False),
    ("app=we", False),
    ("app=", False),
    ("empty=", True),
    ("none=", False),
    ("app!=web", False),
    ("app!=db", True),
    ("none!=x", True),
    ("app", True),
    ("none", False),
    ("!none", True),
    ("! none", True),
    ("!app", False),
    ("empty", True),
    ("app in (web)", True),
    ("app in (db, web)", True),
    ("app in (db,cache)", False),
    ("none in (web)", False),
    ("empty in ()", True),
    ("app notin (db)", True),
    ("app notin (db, web)", False),
    ("none notin (web)", True),
    ("app=web,tier=front", True),
    ("app=web, tier=back", False),
    ("app in (web, db),tier notin (back),!old,example.com/env", True),
    ("app in (web, db),tier notin (front)", False),
    ("example.com/env=prod", True),
    ("in=web", False),
    ("notin", False),
]


@pytest.mark.parametrize(("text", "selected"), SELECTORS)
def test_selectors(text: str, selected: bool) -> None:
    assert Selector.parse(text).matches(WEB) is selected


@pytest.mark.parametrize(("text", "selected"), [("app=web", False), ("app!=web", True), ("!app", True), ("", True)])
def test_selectors_of_what_has_no_labels(text: str, selected: bool) -> None:
    assert Selector.parse(text).matches({}) is selected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("app in", 1),
        ("app in web", 1),
        ("app in (web", 1),
        ("app=web tier=front", 1),
        ("app=web,tier in (", 9),
        ("=web", 1),
        (",app", 1),
        ("app,,tier", 5),
        ("app=web)", 1),
        ("app>1", 1),
        ("!", 1),
        ("a=b=c", 1),
    ],
)
def test_what_is_no_selector(text: str, column: int) -> None:
    with pytest.raises(ValueError, match=rf"cannot read the selector .* at column {column}$"):
        Selector.parse(text)


DEPLOYMENT = TargetNames("apps", "v1", "Deployment", "web-1", "shop")

PATTERNS = [
    ({}, True),
    ({"group": "apps"}, True),
    ({"group": "app"}, False),
    ({"group": "apps|batch"}, True),
    ({"group": ""}, False),
    ({"version": "v1"}, True),
    ({"version": "v1.*"}, True),
    ({"version": "1"}, False),
    ({"kind": "Deployment|StatefulSet"}, True),
    ({"kind": "Deploy"}, False),
    ({"kind": "Deploy.*"}, True),
    ({"kind": "deployment"}, False),
    ({"name": "web"}, False),
    ({"name": "web-[0-9]+"}, True),
    ({"name": "^web-1$"}, True),
    ({"name": ".*"}, True),
    ({"name": "web|web-1"}, True),
    ({"namespace": "shop"}, True),
    ({"namespace": ""}, False),
    ({"namespace": "s|h|o|p"}, False),
    ({"kind": "Deployment", "name": "db"}, False),
]


@pytest.mark.parametrize(("patterns", "matches"), PATTERNS)
@pytest.mark.parametrize("read", [re2.compile, pattern_of])
def test_patterns_match_as_a_whole(patterns: dict[str, str], matches: bool, read: Any) -> None:
    target = Target(**{field: read(text) for field, text in patterns.items()})
    assert target.matches(DEPLOYMENT, {}, {}) is matches


def test_the_targets_that_may_be_for_a_name() -> None:
    """In their order, and only those: a look at each of many would take long for many resources."""
    names = [None, "web-1", "web-2", "web-.*", "web-1", "web.1", "", "web-1"]
    targets = Targets([Target(kind="Deployment", name=None if name is None else pattern_of(name)) for name in names])
    numbers, start = [], 0
    while (number := targets.next(start, "web-1")) is not None:
        numbers.append(number)
        start = number + 1
    assert numbers == [0, 1, 3, 4, 5, 7]
    assert targets.next(6, "db") is None
    assert targets.may_match_kind("Deployment")
    assert not targets.may_match_kind("Service")


def test_an_empty_pattern_is_the_core_group() -> None:
    target = Target(group=re2.compile(""), namespace=re2.compile(""))
    assert target.matches(TargetNames("", "v1", "Namespace", "shop", ""), {}, {})


@pytest.mark.parametrize(("kind", "may"), [("Deployment", True), ("Service", False), ("", False)])
def test_a_closer_look(kind: str, may: bool) -> None:
    assert Target(kind=re2.compile("Deployment")).may_match_kind(kind) is may
    assert Target().may_match_kind(kind)


def test_selectors_of_a_target_all_hold() -> None:
    target = Target(labels=Selector.parse("app=web"), annotations=Selector.parse("!skip"))
    assert target.matches(DEPLOYMENT, {"app": "web"}, {})
    assert not target.matches(DEPLOYMENT, {"app": "db"}, {})
    assert not target.matches(DEPLOYMENT, {"app": "web"}, {"skip": "yes"})
    assert not target.matches(DEPLOYMENT, {}, {"app": "web"})


@pytest.mark.parametrize("text", ["(a)\\1", "(?=web)web", "(?<!a)b", "x{1001}", "a\\Z"])
def test_expressions_of_python_alone_are_refused(text: str) -> None:
    """P8: kustomize would refuse them, too."""
    with pytest.raises(ValueError, match="not a regular expression of RE2: "):
        pattern_of(text)


def test_an_expression_takes_time_in_proportion_to_the_text() -> None:
    """With an engine that backtracks this test would not end."""
    pattern = pattern_of("(x+x+)+y|(a|aa)+$")
    assert not isinstance(pattern, str)
    assert pattern.fullmatch("x" * 5000) is None
    assert pattern.fullmatch("a" * 5000) is not None


def test_only_expressions_need_their_library() -> None:
    code = (
        "import sys; from krm_merge.krm.selector import pattern_of; pattern_of('web-1'); pattern_of('apps/v1'); "
        "print('re2' in sys.modules); pattern_of('web.*'); print('re2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
