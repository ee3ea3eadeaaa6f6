"""Rules V1, V2: what the sides have of one value, and the kind of place that a decision is about."""

from __future__ import annotations

import pytest

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import Decision, Side, Sides, same
from krm_merge.merge.decisions.policy import Nature, nature_of
from krm_merge.text import Node
from krm_merge.text.reading.nodes import from_value


def sides(values: str) -> Sides:
    """The sign of each side, `-` where it has none."""
    nodes: list[Node | None] = [None if value == "-" else from_value(value) for value in values]
    return Sides(nodes[0], nodes[1], nodes[2])


@pytest.mark.parametrize(
    ("values", "are_same", "are_local_alone", "settled"),
    [
        # What settles it, and the side that did it, or None.
        ("aaa", True, True, "a local"),
        ("aab", False, True, "b local"),
        ("aba", False, False, "b upstream"),
        ("abb", False, False, "b both"),
        ("abc", False, False, None),
        ("-aa", False, False, "a both"),
        ("-ab", False, False, None),
        ("--a", False, False, "a local"),
        ("-a-", False, False, "a upstream"),
        ("a-a", False, False, "- upstream"),
        ("aa-", False, False, "- local"),
        ("a--", False, False, "- both"),
        ("a-b", False, False, None),
        ("ab-", False, False, None),
    ],
)
def test_what_the_sides_have(values: str, are_same: bool, are_local_alone: bool, settled: str | None) -> None:
    of_value = sides(values)
    assert of_value.are_same() is are_same
    assert of_value.are_local_alone() is are_local_alone
    assert len(of_value.present) == 3 - values.count("-")
    verdict = of_value.settled()
    if settled is None:
        assert verdict is None
    else:
        assert verdict is not None
        node = "-" if verdict.node is None else verdict.node.canonical
        assert f"{node} {verdict.side}" == settled
        # Local's own node, where it has the value.
        if same(verdict.node, of_value.local):
            assert verdict.node is of_value.local


def test_absence_equals_only_absence() -> None:
    assert same(None, None)
    assert not same(None, from_value(None))
    assert not same(from_value(None), None)
    assert same(from_value("a"), from_value("a"))
    assert not same(from_value("a"), from_value("b"))


@pytest.mark.parametrize(
    ("rule", "path", "values", "side", "nature"),
    [
        ("V4", ("a",), "abc", "both", "value"),
        ("V4", ("a",), "-bc", "both", "added-twice"),
        ("V4", ("a",), "-bc", "upstream", "value"),
        ("V4", ("a",), "-b-", "both", "value"),
        ("V4", ("a",), "--c", "both", "value"),
        ("V4", ("a",), "a-c", "both", "value"),
        ("V4", ("a", 0), "a-c", "both", "element"),
        ("V4", ("a", 0), "ab-", "both", "element"),
        ("V4", ("a", 0), "abc", "both", "value"),
        ("V4", (), "a-c", "both", "value"),
        ("V10", ("a",), "abc", "both", "value"),
        ("V5", ("a",), "abc", "both", "kind"),
        ("V6", ("a",), "-bc", "both", "text"),
        ("F5", ("a", 0), "a-c", "both", "element"),
        ("F5", (), "a-c", "both", "resource"),
        ("L3", ("a",), "-bc", "both", "sequence"),
        ("F7", ("a", 0), "-bc", "both", "added-twice"),
    ],
)
def test_the_nature_of_a_decision(rule: str, path: FieldPath, values: str, side: Side, nature: Nature) -> None:
    of_value = sides(values)
    decision = Decision(rule, path, "", side, "warning", True, of_value.original, of_value.upstream, of_value.local)
    assert decision.nature == nature
    assert nature_of("F5", path, added_twice=True, one_side=True) == ("element" if path else "resource")
