"""What is said of a place where kpt has something else: every case of the sides, by itself."""

from __future__ import annotations

import pytest

from krm_merge.report.comparison.difference import GRAVITY, HEADINGS, Comparison, Difference, FindingName, summary
from krm_merge.report.comparison.judgement import JudgedPlace, judge

CASES: list[tuple[str, FindingName, str]] = [
    # original, upstream, local, kpt, krm-merge; - is nothing
    ("a a b a b", "local-change-lost", "local changed it; kpt puts the original's value back"),
    ("a a b c b", "local-change-lost", "local changed it; kpt has another value"),
    ("a b c b c", "local-change-lost", "both sides changed it; kpt takes upstream's, krm-merge keeps local's"),
    ("a b c b d", "local-change-lost", "both sides changed it; kpt takes upstream's, krm-merge merges both"),
    ("- - b - b", "local-change-lost", "local added it; kpt removes it"),
    ("a - b - b", "local-change-lost", "local changed it; kpt removes it"),
    ("a b a a b", "upstream-change-missed", "upstream changed it; kpt keeps the old value"),
    ("a b a c b", "upstream-change-missed", "upstream changed it; kpt has another value"),
    ("- b - - b", "upstream-change-missed", "upstream added it; kpt leaves it out"),
    ("a b a - b", "upstream-change-missed", "upstream changed it; kpt removes it"),
    ("a b c c d", "upstream-change-missed", "both sides changed it; kpt keeps local's, krm-merge merges both"),
    ("a b c c b", "decided-otherwise", "both sides changed it; kpt keeps local's, krm-merge takes upstream's"),
    ("a b c e d", "decided-otherwise", "both sides changed it; kpt merges it otherwise"),
    ("a - b b -", "decided-otherwise", "kpt keeps it, krm-merge does not"),
    ("a b - b -", "restored", "local removed it; kpt brings it back"),
    ("a b - c -", "restored", "local removed it; kpt brings a part of it back"),
    ("a - - a -", "restored", "local removed it, as upstream did; kpt brings it back"),
    ("a - a a -", "remains", "upstream removed it; kpt leaves it"),
    ("a - a c -", "remains", "upstream removed it; kpt leaves a part of it"),
    ("a a a - a", "unchanged-lost", "neither side removed it; kpt does"),
    ("a a a b a", "changed-alone", "neither side changed it; kpt does"),
    ("- - - b -", "changed-alone", "no side has it; kpt adds it"),
]


@pytest.mark.parametrize(("sides", "finding", "message"), CASES, ids=[case[0] for case in CASES])
def test_the_sides_say_what_kpt_does(sides: str, finding: FindingName, message: str) -> None:
    original, upstream, local, kpt, merged = (None if side == "-" else side for side in sides.split())
    assert judge(JudgedPlace(original, upstream, local, kpt, merged)) == (finding, message)


def test_an_empty_value_remains_of_what_was_removed_unless_a_side_has_it() -> None:
    assert judge(JudgedPlace("a", "b", None, (), None, kpt_has_nothing_in_it=True))[0] == "remains"
    assert judge(JudgedPlace("a", (), None, (), None, kpt_has_nothing_in_it=True))[0] == "restored"


def comparison(*findings: FindingName) -> Comparison:
    is_same = {*findings} <= {"conflict-unreported"}
    return Comparison(
        "web", is_same=is_same, differences=[Difference(finding, "a.yaml", None, "", "") for finding in findings]
    )


@pytest.mark.parametrize(
    ("findings", "sentences"),
    [
        ((), ["kpt and krm-merge make the same package, byte for byte"]),
        (("layout", "order"), ["kpt and krm-merge differ only in order and layout"]),
        (("notes", "comments-differ"), ["kpt and krm-merge differ only in comments and kpt's own notes"]),
        (("layout", "unexplained"), ["1 difference is unexplained"]),
        (("comments-missed",), ["krm-merge would lose comments in 1 resource"]),
        (("local-change-lost",) * 4, ["kpt would lose 4 of your changes; krm-merge keeps them"]),
        (
            ("local-change-lost", "restored"),
            ["kpt would lose 1 of your changes and bring back 1 thing that you removed; krm-merge does not"],
        ),
        (
            ("local-change-lost", "restored", "remains", "comments-lost", "upstream-change-missed"),
            [
                "kpt would lose 1 of your changes, bring back 1 thing that you removed, leave remains of 1 removed "
                "thing and differ in 2 more places; krm-merge does not"
            ],
        ),
        (
            ("conflict-unreported", "conflict-unreported"),
            [
                "kpt and krm-merge make the same package, byte for byte",
                "2 conflicts are decided alike: krm-merge stops at them or reports them, kpt does neither",
            ],
        ),
        (("decided-otherwise",), ["1 conflict is decided otherwise"]),
    ],
)
def test_the_summary_is_in_front(findings: tuple[FindingName, ...], sentences: list[str]) -> None:
    assert summary(comparison(*findings)) == sentences


def test_every_finding_has_a_heading_and_its_gravity() -> None:
    from typing import get_args

    assert set(HEADINGS) == set(GRAVITY) == set(get_args(FindingName))
