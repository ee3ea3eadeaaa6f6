"""Which side wins a conflict at a path, how it is reported, and what is said of it (M2, M3, F5)."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.krm import FieldPath
from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.policy import (
    Policy,
    Rule,
    content_of,
    fingerprint,
    nature_of,
    without_positions,
)
from krm_merge.text import read

DATA: FieldPath = ("data",)
LOCAL, FAIL, DELETES = Rule(on_conflict="local"), Rule(on_conflict="fail"), Rule(on_delete="upstream")
ELSEWHERE = Rule(path=("spec",), on_conflict="local", on_delete="upstream")


@pytest.mark.parametrize(
    ("rules", "winner", "severity", "of_existence", "deletes"),
    [
        ([], "upstream", "warning", "warning", "local"),
        ([LOCAL], "local", "warning", "warning", "local"),
        ([FAIL], "fail", "error", "error", "local"),
        # The first that says something counts.
        ([LOCAL, FAIL], "local", "warning", "warning", "local"),
        ([FAIL, LOCAL], "fail", "error", "error", "local"),
        ([Rule(kind="A"), FAIL], "fail", "error", "error", "local"),
        # A `fail` behind a rule for deletions does not concern them.
        ([DELETES, FAIL], "fail", "error", "warning", "upstream"),
        ([FAIL, DELETES], "fail", "error", "error", "upstream"),
        ([ELSEWHERE, FAIL], "fail", "error", "error", "local"),
        ([ELSEWHERE], "upstream", "warning", "warning", "local"),
    ],
)
def test_rules_in_their_order(rules: list[Rule], winner: str, severity: str, of_existence: str, deletes: str) -> None:
    policy = Policy(rules=tuple(rules))
    assert policy.conflict(DATA) == winner
    assert (policy.severity(DATA), policy.severity(DATA, of_existence=True)) == (severity, of_existence)
    assert policy.delete(DATA) == deletes


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Policy(), "both changed it; upstream's is kept"),
        (Policy("fail"), "both changed it; refused by onConflict: fail"),
        # Nobody chose it: there is no setting to look for.
        (Policy("fail", stops=True), "both changed it"),
        (Policy("fail", (FAIL,), stops=True), "both changed it; refused by onConflict: fail"),
        (Policy(marks=True), "both changed it; both are between conflict markers"),
        (Policy(rules=(LOCAL,), marks=True), "both changed it; upstream's is kept"),
    ],
)
def test_a_conflict_in_words(policy: Policy, text: str) -> None:
    assert policy.explanation(DATA, "both changed it", "upstream's is kept") == text


@pytest.mark.parametrize(
    ("rule", "path", "one_side", "nature"),
    [
        ("V4", ("spec", "a"), False, "value"),
        ("V4", ("spec", "a"), True, "value"),
        ("V4", ("list", 0), True, "element"),
        ("V4", ("list", 0), False, "value"),
        ("V4", (), True, "value"),
        ("F5", (), True, "resource"),
        ("F5", ("list", 0), False, "element"),
    ],
)
def test_what_a_conflict_is_about(rule: str, path: FieldPath, one_side: bool, nature: str) -> None:
    assert nature_of(rule, path, added_twice=False, one_side=one_side) == nature
    assert nature_of("V4", path, added_twice=True, one_side=one_side) == "added-twice"


def test_between_markers_is_only_what_has_a_place() -> None:
    policy = Policy(marks=True)
    assert policy.explanation(DATA, "both changed it", "local's is kept", has_place=False).endswith("local's is kept")


@pytest.mark.parametrize(
    ("fields", "selects"),
    [({}, True), ({"kind": "A"}, True), ({"kind": "B"}, False), ({"name": "x"}, True), ({"namespace": "n"}, False)],
)
def test_a_resource_has_the_rules_that_select_it(fields: dict[str, Any], selects: bool) -> None:
    rule = Rule(on_conflict="local", **fields)
    identity = Identity("", "A", "", "x")
    assert (Policy(rules=(rule,)).of(identity).rules == (rule,)) is selects
    # By any of its names.
    assert Policy(rules=(rule,)).of(Identity("", "C", "", "y"), identity).rules == ((rule,) if selects else ())


def test_rules_are_equal_by_what_they_say() -> None:
    assert Rule(kind="A", on_conflict="local", place="one") == Rule(kind="A", on_conflict="local", place="two")
    assert len({Rule(kind="A", place="one"), Rule(kind="A", place="two"), Rule(kind="B")}) == 2
    assert Rule(kind="A") != Rule(name="A")
    assert Rule() != "a rule"


def test_contents_are_what_json_can_hold() -> None:
    assert content_of(None) == []
    assert content_of(read("{a: .inf, b: [.nan, 1.5, null]}")) == [{"a": "inf", "b": ["nan", 1.5, None]}]


def test_positions_in_lists_do_not_count_in_choices() -> None:
    assert without_positions(("a", 1, "b")) == without_positions(("a", 2, "b"))
    assert without_positions(("a", (("name", "x"),))) != without_positions(("a", (("name", "y"),)))


def test_a_fingerprint_is_of_all_but_names_and_its_first_half_of_all_but_local() -> None:
    sides: list[Any] = [["o"], ["u"], ["l"]]
    digits = fingerprint("value", "A", ("a", 0), sides)
    assert digits == fingerprint("value", "A", ("a", 5), sides)
    assert len(digits) == 64
    other_local = fingerprint("value", "A", ("a", 0), [["o"], ["u"], ["m"]])
    assert (other_local[:32] == digits[:32], other_local[32:] == digits[32:]) == (True, False)
    others = [
        fingerprint("text", "A", ("a", 0), sides),
        fingerprint("value", "B", ("a", 0), sides),
        fingerprint("value", "A", ("b", 0), sides),
        fingerprint("value", "A", ("a", 0), [["p"], ["u"], ["l"]]),
        fingerprint("value", "A", ("a", 0), [["o"], ["v"], ["l"]]),
    ]
    assert digits[:32] not in {other[:32] for other in others}
    # Hidden values are for their place alone.
