"""Rule L3: which elements of lists without keys are one.

What is expected names each element by its places in original, upstream and local: `0-2` is first, missing, third.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.merge.values import pairing
from krm_merge.merge.values.likeness import Match
from krm_merge.merge.values.pairing import (
    Pairs,
    added_at_one_place,
    is_narrowed_replacement,
    match_sequence,
    match_set,
    replaced_by_both,
)
from krm_merge.text.reading.nodes import Node, SequenceNode
from krm_merge.text.reading.reader import read

ELEMENTS = st.lists(
    st.sampled_from(["a", "bb", "--x=1", "--x=2", "{name: a}", "{name: a, v: 1}", "{name: b, v: 1}", "[1]"]), max_size=6
)


def elements(text: str) -> list[Node]:
    root = read(text)
    assert isinstance(root, SequenceNode)
    return list(root.items)


def match_elements(original: str, upstream: str, local: str) -> list[Match]:
    return match_sequence([elements(original), elements(upstream), elements(local)])


def pairs(original: str, upstream: str, local: str) -> set[str]:
    """Each element by its places in original, upstream and local: `0-2` stands first, nowhere, third."""
    return {
        "".join("-" if at is None else str(at) for at in match.places)
        for match in match_elements(original, upstream, local)
    }


@given(ELEMENTS, ELEMENTS, ELEMENTS)
def test_every_element_is_in_one_match(original: list[str], upstream: list[str], local: list[str]) -> None:
    sides = [f"[{', '.join(side)}]" for side in (original, upstream, local)]
    matches = match_elements(sides[0], sides[1], sides[2])
    for side, items in enumerate((original, upstream, local)):
        places = [at for match in matches if (at := match.places[side]) is not None]
        assert sorted(places) == list(range(len(items)))
    assert all(match.places != (None, None, None) for match in matches)


@given(ELEMENTS, ELEMENTS)
def test_what_a_side_left_alone_is_where_it_was(original: list[str], side: list[str]) -> None:
    lists = [f"[{', '.join(items)}]" for items in (original, side)]
    for match in match_elements(lists[0], lists[0], lists[1]):
        assert match.original == match.upstream
    for match in match_elements(lists[0], lists[1], lists[0]):
        assert match.original == match.local


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("[a, b]", "[b, a]", "[a, c, b]", {"010", "102", "--1"}, id="equal ones, moved"),
        pytest.param(
            "[{name: a, v: 1}, {name: b, v: 1}]",
            "[{name: b, v: 9}, {name: a, v: 9}]",
            "[{name: n}, {name: a, v: 5}]",
            {"011", "10-", "--0"},
            id="by name",
        ),
        pytest.param(
            "[{name: a, host: x}, {name: a, host: y}]",
            "[{name: a, host: y, v: 1}, {name: a, host: x, v: 1}]",
            "[{name: a, host: x}, {name: a, host: y}]",
            {"010", "101"},
            id="by host, where a name stands twice",
        ),
        pytest.param(
            "[{name: a, v: 1, w: 1}, {v: 2, w: 2}]",
            "[{v: 2, w: 3}, {name: a, v: 1, w: 5}]",
            "[{name: a, v: 1, w: 1}, {v: 2, w: 2}]",
            {"010", "1-1", "-0-"},
            id="not by name, where one has none: what is alike, in order",
        ),
        pytest.param(
            "[{name: null, v: 1}, {name: b, v: 1}]",
            "[{name: b, v: 1}, {name: null, v: 1}]",
            "[{name: null, v: 1}, {name: b, v: 2}]",
            {"010", "101"},
            id="null is no name",
        ),
        pytest.param("[a, --x=1, b]", "[a, new, --x=2, b]", "[a, --x=3, b]", {"000", "121", "232", "-1-"}, id="alike"),
        pytest.param("[a, old, b]", "[a, up, b]", "[a, mine, b]", {"000", "111", "222"}, id="by position"),
        pytest.param(
            "[a, old, b]", "[a, up, upper, b]", "[a, mine, b]", {"000", "1--", "-1-", "-2-", "--1", "232"}, id="nothing"
        ),
        pytest.param("[a]", "[a, n]", "[a, n]", {"000", "-11"}, id="added by both"),
        pytest.param("[a]", "[a, u, n]", "[a, n, l]", {"000", "-1-", "-21", "--2"}, id="one of several added by both"),
        pytest.param(
            "[{name: a}]",
            "[{name: a}, {name: n, v: 1}]",
            "[{name: n, v: 2}, {name: a}]",
            {"001", "-10"},
            id="added by name",
        ),
        pytest.param("[a, b]", "[n, a, b]", "[a, b, n]", {"010", "121", "-02"}, id="equal ones added in other places"),
        pytest.param(
            "[{uses: a@v1}, {uses: b@v1}]",
            "[{uses: b@v2}, {uses: a@v2}]",
            "[{uses: a@v1, with: 1}, {run: b}]",
            {"010", "101"},
            id="by what they use, in whatever version",
        ),
        pytest.param("[a:v1.0, b:v1.0]", "[b:v1.1, a:v1.1]", "[a:v1.2]", {"010", "10-"}, id="in other versions"),
        pytest.param(
            "[x, a, x, b]",
            "[a, x, b, x]",
            "[x, a, x, b]",
            {"0-0", "101", "212", "323", "-3-"},
            id="there twice: in order",
        ),
        pytest.param(
            "[{key: k, effect: e, operator: o}]",
            "[{key: k, effect: e}]",
            "[{key: k, effect: e}, {key: k, effect: f, operator: o}]",
            {"000", "--1"},
            id="what both made of it, not what is as much alike",
        ),
        pytest.param(
            "[{g: a, verbs: [a, b, c]}]",
            "[{g: a, verbs: [b]}]",
            "[{g: a, verbs: [b]}, {g: m, verbs: [a, b, c]}]",
            {"000", "--1"},
            id="what both made of it, not what is more alike",
        ),
        pytest.param("[old]", "[up]", "[]", {"0--", "-0-"}, id="alone in its gap, where the other removed it"),
        pytest.param(
            "[x]", "[x, {a: 1, b: 2, c: 3}]", "[x, {a: 1, b: 2, c: 4}]", {"000", "-11"}, id="almost equal additions"
        ),
        pytest.param("[]", "[u]", "[l]", {"-0-", "--0"}, id="from nothing"),
        pytest.param("[]", "[--x=1]", "[--y=1]", {"-0-", "--0"}, id="other options"),
        pytest.param("[]", "[--x=1]", "[--x=2]", {"-00"}, id="one option"),
        pytest.param("[{a: 1}]", "[{a: 1, b: [1, 2, 3]}]", "[]", {"00-"}, id="alone, all fields kept"),
        pytest.param("[{a: 1}]", "[{a: 2, b: [1, 2, 3]}]", "[]", {"0--", "-0-"}, id="alone, no field kept"),
        pytest.param("[{a: 1, b: [1, 2]}]", "[{a: 1}]", "[]", {"00-"}, id="alone, nothing but a field that it had"),
        pytest.param(
            "[{a: 1, c: 1}]", "[{a: 2, c: 1, b: [1, 2, 3]}]", "[]", {"0--", "-0-"}, id="alone, half of the fields kept"
        ),
        pytest.param(
            "[x, {n: 1}, {n: 1, m: 2}]",
            "[{n: 1, m: 3}]",
            "[{n: 1, m: 3}]",
            {"0--", "1--", "2--", "-00"},
            id="not what shares only what its neighbours have, too",
        ),
        pytest.param(
            "[{k: 1, run: go build all}]",
            "[{k: 1, run: docker push now}, {k: 1, run: go build most}]",
            "[]",
            {"01-", "-0-"},
            id="of two as much alike, what shares more words",
        ),
        pytest.param(
            "[{k: 1, run: a b}, {k: 1, run: c d}]", "[{k: 1, run: c e}]", "[]", {"0--", "10-"}, id="the other way round"
        ),
        pytest.param(
            "[{k: 1, l: 1, m: 1, run: a b}]",
            "[{k: 1, l: 1, m: 1, run: x}, {k: 1, l: 1, m: 2, run: a b c}, {k: 1, l: 1, m: 2, run: a b d}]",
            "[]",
            {"00-", "-1-", "-2-"},
            id="what is more alike, not what shares more words",
        ),
        pytest.param(
            "[x]",
            "[x, {uses: a@v1, p: 1}, {uses: a@v1, q: 2}]",
            "[x, {uses: a@v2, r: 1}, {uses: a@v2, s: 2}]",
            {"000", "-11", "-22"},
            id="additions that use one thing, in whatever version",
        ),
        pytest.param("[x]", "[x, aa1]", "[x, aa2]", {"000", "-1-", "--1"}, id="alike texts added"),
        pytest.param("[x]", "[x, --a=1]", "[x, --a]", {"000", "-1-", "--1"}, id="an option and a flag added"),
        pytest.param("[x]", "[x, a:v1.1]", "[x, a:v1.2]", {"000", "-11"}, id="versions of one thing added"),
        pytest.param(
            "[{a: 1, u: 1}]",
            "[{a: 1, u: 1}, {a: 1, u: 1, x: 2}]",
            "[{a: 1, u: 1}, {a: 1, u: 1, y: 3}]",
            {"000", "-1-", "--1"},
            id="additions that share what others have, too",
        ),
        pytest.param(
            "[x, y, z]",
            "[x, {a: 1, b: 2, c: 3}]",
            "[x, {a: 1, b: 2, c: 4}, y, z]",
            {"000", "1-2", "2-3", "-11"},
            id="almost equal additions behind one element",
        ),
        pytest.param(
            "[x, y, z]",
            "[{a: 1, b: 2, c: 3}, z]",
            "[x, y, {a: 1, b: 2, c: 4}, z]",
            {"0-0", "1-1", "213", "-02"},
            id="almost equal additions in front of one element",
        ),
        pytest.param(
            "[x, y, z]",
            "[x, {a: 1, b: 2, c: 3}, y, z]",
            "[x, y, {a: 1, b: 2, c: 4}, z]",
            {"000", "121", "233", "-1-", "--2"},
            id="almost equal additions at two places",
        ),
        pytest.param("[a, b]", "[a, u]", "[a]", {"000", "1--", "-1-"}, id="put in the place of what the other removed"),
        pytest.param("[a, b]", "[a, u]", "[a, b]", {"000", "111"}, id="put in the place of what the other left"),
        pytest.param(
            "[{n: 1, m: 1}, {n: 2, m: 2}]",
            "[{n: 1, m: 3}, {n: 2, m: 4}]",
            "[{n: 1, m: 3}, {n: 2, m: 2}]",
            {"000", "111"},
            id="what one side made of it, and the other kept",
        ),
        pytest.param(
            "[{n: 1, a: 1, b: 1, c: 1}]",
            "[{n: 1, a: 2, b: 2, c: 1}]",
            "[x, {n: 3, a: 2, b: 2, c: 1}]",
            {"001", "--0"},
            id="like what the other side made of it",
        ),
        pytest.param(
            "[{port: 1, a: 1}, {port: 2, a: 1}]",
            "[{port: 2, a: 2}, {port: 1, a: 2}]",
            "[{port: 1, a: 1}, {port: 2, a: 1}]",
            {"010", "101"},
            id="by ports",
        ),
        pytest.param(
            "[{name: a}, {name: b}]",
            "[{name: n, v: 1}, {name: b}]",
            "[{name: a}, {name: n, v: 2}]",
            {"0-0", "11-", "-01"},
            id="one new name in the place of two",
        ),
        pytest.param(
            "[{name: a}, {name: b}]",
            "[{name: n, v: 1}, {name: b}]",
            "[{name: n, v: 2}, {name: b}]",
            {"000", "111"},
            id="one new name in the place of one",
        ),
        pytest.param(
            "[{name: a, x: 1, y: 1}, {name: b, x: 2, y: 2}]",
            "[{name: n, x: 1, y: 1}, {name: c, x: 2, y: 2}]",
            "[{name: d, x: 1, y: 1}, {name: n, x: 2, y: 2}]",
            {"0-0", "11-", "-01"},
            id="one new name for two, where both renamed all",
        ),
        pytest.param(
            "[{k: 1, l: 1, m: 1}]",
            "[{k: 1, l: 1, m: 2}, {k: 1, l: 1, m: 3}]",
            "[{k: 1, l: 1, m: 3}, {k: 1, l: 1, m: 2}]",
            {"0--", "-01", "-10"},
            id="two that both have, in other orders",
        ),
        pytest.param(
            "[{key: k, effect: e, operator: o}]",
            "[{key: k, effect: e}]",
            "[n, {key: k, effect: e}, {key: k, effect: f, operator: o}]",
            {"001", "--0", "--2"},
            id="what both made of it, behind another in local",
        ),
        pytest.param("[x]", "[x, --a]", "[x, --a=2]", {"000", "-1-", "--1"}, id="a flag and an option added"),
        pytest.param("[x]", "[x, a=1]", "[x, {a: 1}]", {"000", "-1-", "--1"}, id="a text and a mapping added"),
        pytest.param(
            "[x]",
            "[x, {uses: a@v1, p: 1}, {uses: a@v1, q: 1}]",
            "[x, {uses: b@v1, r: 1}, {uses: b@v1, s: 1}]",
            {"000", "-1-", "-2-", "--1", "--2"},
            id="additions that use two things",
        ),
        pytest.param("[a]", "[{x: 1}]", "[]", {"0--", "-0-"}, id="a mapping in the place of a text"),
        pytest.param("[{x: 1}]", "[a]", "[]", {"0--", "-0-"}, id="a text in the place of a mapping"),
        pytest.param(
            "[{name: a, id: 1, p: 1, q: 1}, {id: 2, w: 1}]",
            "[{name: a, id: 9, r: 1, s: 1}, {name: c, id: 2}]",
            "[]",
            {"0--", "-0-", "11-"},
            id="by what identifies all, not by a name that the original lacks",
        ),
        pytest.param(
            "[{name: a, id: 1, p: 1, q: 1}, {name: c, id: 2}]",
            "[{name: a, id: 9, r: 1, s: 1}, {id: 2, w: 1}]",
            "[]",
            {"0--", "-0-", "11-"},
            id="by what identifies all, not by a name that a side lacks",
        ),
        pytest.param(
            "[{name: v1.1, x: 1}, {name: v1.2, x: 1}]",
            "[{name: v1.2, x: 2}, {name: v1.1, x: 2}]",
            "[{name: v1.1, x: 1}, {name: v1.2, x: 1}]",
            {"010", "101"},
            id="names that are versions",
        ),
        pytest.param(
            "[{image: 1, x: 1}, {image: 2, x: 1}]",
            "[{image: 2, x: 2}, {image: 1, x: 2}]",
            "[{image: 1, x: 1}, {image: 2, x: 1}]",
            {"010", "101"},
            id="images that are numbers",
        ),
        pytest.param(
            "[{name: null, v: 1}, {name: b, v: 1}]",
            "[{name: b, v: 1}, {name: null, w: 5, z: 6}]",
            "[]",
            {"0--", "10-", "-1-"},
            id="null names nothing",
        ),
    ],
)
def test_example(original: str, upstream: str, local: str, expected: set[str]) -> None:
    assert pairs(original, upstream, local) == expected


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("[a]", "[u, v]", "[u]", True),
        ("[a]", "[u]", "[u]", False),
        ("[a]", "[u, v]", "[u, l]", False),
        # Local has one that upstream removed, or upstream one that local did.
        ("[a]", "[u, v]", "[a, u]", False),
        ("[a]", "[a, u, v]", "[u]", False),
        ("[a, b]", "[u, v]", "[b, u]", False),
        ("[a]", "[u, v]", "[]", False),
    ],
)
def test_a_narrowed_replacement(original: str, upstream: str, local: str, expected: bool) -> None:
    assert is_narrowed_replacement(match_elements(original, upstream, local)) is expected


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("[a, b]", "[a, u, b]", "[a, l, b]", True),
        ("[a, b]", "[u, a, b]", "[l, a, b]", True),
        ("[a, b]", "[u, a, b]", "[a, b, l]", False),
        ("[]", "[u]", "[l]", True),
        ("[]", "[u]", "[]", False),
        ("[a, b]", "[a, n, b]", "[a, n, b]", False),
        ("[a, b]", "[a, u, b]", "[a, b]", False),
        ("[a, b]", "[a, b]", "[a, b]", False),
    ],
)
def test_added_at_one_place(original: str, upstream: str, local: str, expected: bool) -> None:
    assert added_at_one_place(match_elements(original, upstream, local)) is expected


@pytest.mark.parametrize(
    ("original", "upstream", "local", "of_upstream", "of_local"),
    [
        ("[a, b, c]", "[u, v, w, c]", "[l, c]", {0, 1, 2}, {0}),
        ("[a, b, c]", "[u, v, w, c]", "[l, k, c]", {0, 1, 2}, {0, 1}),
        ("[a, b, c]", "[u, v, w, c]", "[a, x, y, z, w]", {0, 1}, {1, 2, 3}),
        # Others in other places, or none.
        ("[a, b, c, d]", "[u, v, w, c, d]", "[a, b, l, k, m]", set(), set()),
        ("[a, b]", "[u, v, w]", "[]", set(), set()),
        ("[u, l, u, m, b]", "[l, u, l]", "[v, m]", set(), set()),
        ("[u, a, l, b]", "[m, m, b, u, a]", "[c, l, v, v, b]", set(), set()),
    ],
)
def test_what_a_side_put_in_the_place_of_what_both_replaced(
    original: str, upstream: str, local: str, of_upstream: set[int], of_local: set[int]
) -> None:
    matches = match_elements(original, upstream, local)
    assert {match.upstream for match in replaced_by_both(matches, "upstream")} == of_upstream
    assert {match.local for match in replaced_by_both(matches, "local")} == of_local


def test_paths_name_an_element_as_local_has_it() -> None:
    steps = {match.places: match.step for match in match_elements("[a, b]", "[u, a, b]", "[l, l, b]")}
    assert steps[1, 2, 2] == 2
    assert steps[None, 0, None] == 0


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("[a, b]", "[b, u]", "[a, b, l]", {"0-0", "101", "-1-", "--2"}, id="equal ones"),
        pytest.param("[a, b]", "[u, b]", "[l, b]", {"000", "111"}, id="put in the place of one"),
        pytest.param("[a]", "[a, x:v1.1]", "[a, x:v1.2]", {"000", "-11"}, id="versions of one thing added"),
        pytest.param("[a]", "[a, --x=1]", "[a, --x=2]", {"000", "-1-", "--1"}, id="no options"),
        pytest.param("[a, a]", "[a]", "[a]", None, id="twice in the original"),
        pytest.param("[a]", "[a, a]", "[a]", None, id="twice in upstream"),
        pytest.param("[a]", "[a]", "[a, a]", None, id="twice in local"),
    ],
)
def test_elements_of_a_set(original: str, upstream: str, local: str, expected: set[str] | None) -> None:
    matches = match_set([elements(original), elements(upstream), elements(local)])
    assert (matches and {"".join("-" if at is None else str(at) for at in m.places) for m in matches}) == expected


def test_with_equal_ones_alone_nothing_else_is_one() -> None:
    sides = [elements(side) for side in ("[a, --x=1, b]", "[b, --x=2]", "[a, --y=3]")]
    matches = match_sequence(sides, equal_only=True)
    assert {match.places for match in matches} == {
        (0, None, 0),
        (1, None, None),
        (2, 0, None),
        (None, 1, None),
        (None, None, 1),
    }


def numbered(*codes: int, field: str = "code") -> str:
    """A list of elements that have no name, each with a code of its own."""
    return "[" + ", ".join(f"{{{field}: {code}, v{code}: {code}, w{code}: {code}}}" for code in codes) + "]"


def test_an_addition_behind_another_shares_what_no_two_elements_do() -> None:
    before = numbered(1, 2, 3, 4, 5)[:-1]
    matches = match_elements(
        f"{before}]", f"{before}, {{code: 7, z: 1}}, {{code: 6, a: 1, b: 1}}]", f"{before}, {{code: 6, c: 1}}]"
    )
    assert [match.places for match in matches if match.original is None] == [(None, 5, None), (None, 6, 5)]


@pytest.mark.parametrize(
    ("before", "upstream", "local", "shares"),
    [
        pytest.param(numbered(1, 2, 3, 4, 5), "{code: 6, a: 1, b: 1}", "{code: 6, c: 1, d: 1}", "code", id="one code"),
        pytest.param(numbered(1, 2, 3, 4, 5), "{code: 6, a: 1, b: 1}", "{code: 7, c: 1, d: 1}", "", id="two codes"),
        pytest.param(numbered(1, 2, 3, 4), "{code: 6, a: 1, b: 1}", "{code: 6, c: 1, d: 1}", "", id="a short list"),
        pytest.param(numbered(1, 2, 3, 4, 5), "{a: 1, b: 1}", "{code: 6, c: 1, d: 1}", "", id="one without a code"),
        pytest.param(
            "[{code: 1}, {code: 1, x: 1}, {code: 2}, {code: 3}, {code: 4}]",
            "{code: 6, a: 1, b: 1}",
            "{code: 6, c: 1, d: 1}",
            "",
            id="a code that two have",
        ),
        pytest.param("[1, 2, 3, 4, 5]", "{code: 6, a: 1, b: 1}", "{code: 6, c: 1, d: 1}", "", id="no fields"),
    ],
)
def test_additions_that_share_what_no_two_elements_do(before: str, upstream: str, local: str, shares: str) -> None:
    sides = before, *(f"{before[:-1]}, {added}]" for added in (upstream, local))
    size = len(elements(before))
    added = [match for match in match_elements(*sides) if match.original is None]
    assert [(match.places, match.shares) for match in added] == (
        [((None, size, size), shares)] if shares else [((None, size, None), ""), ((None, None, size), "")]
    )
    assert not any(match.is_addition for match in added)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "whole", "additions"),
    [
        ("[a, b]", "[a, u]", "[a, l]", {1}, set()),
        ("[a, b]", "[a, u]", "[a, b]", {1}, set()),
        ("[a, b]", "[a, b]", "[a, l]", {1}, set()),
        ("[a, --x=1]", "[a, --x=2]", "[a, --x=3]", set(), set()),
        ("[a]", "[a, --x=1]", "[a, --x=2]", set(), {1}),
        ("[a]", "[a, u]", "[a, u]", set(), set()),
        ("[a]", "[a, {name: n, v: 1}]", "[a, {name: n, v: 2}]", set(), set()),
    ],
)
def test_what_only_took_a_place_and_what_both_added(
    original: str, upstream: str, local: str, whole: set[int], additions: set[int]
) -> None:
    matches = match_elements(original, upstream, local)
    assert {match.original for match in matches if match.is_whole} == whole
    assert {match.upstream for match in matches if match.is_addition} == additions


@pytest.mark.parametrize(
    ("pairs", "stretches"),
    [
        pytest.param({}, [([0, 1, 2, 3], [0, 1, 2, 3])], id="no pair"),
        pytest.param({0: 0, 3: 3}, [([1, 2], [1, 2])], id="between pairs"),
        pytest.param({0: 0, 1: 2}, [([2, 3], [3])], id="only where both have some"),
        pytest.param({1: 1}, [([0], [0]), ([2, 3], [2, 3])], id="around a pair"),
        pytest.param({0: 3, 1: 0, 2: 1}, [([3], [2])], id="without what moved"),
        pytest.param({0: 0, 1: 1, 2: 2, 3: 3}, [], id="all paired"),
    ],
)
def test_stretches_between_pairs(pairs: dict[int, int], stretches: list[tuple[list[int], list[int]]]) -> None:
    between = Pairs(4, 4)
    assert between.stretches() == [([0, 1, 2, 3], [0, 1, 2, 3])]
    between.update(pairs)
    assert between.stretches() == stretches


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, {"00", "11", "22", "33", "44"}),
        ({"MOST_COMPARED": 4, "MOST_COMPARED_IN_LIST": 8}, {"00", "11", "22", "33", "44"}),
        ({"MOST_COMPARED": 3}, {"22"}),
        # Of the whole list, the first ones.
        ({"MOST_COMPARED_IN_LIST": 7}, {"00", "11", "22"}),
        ({"MOST_COMPARED_IN_LIST": 3}, {"22"}),
    ],
)
def test_too_many_elements_are_not_compared(
    limits: dict[str, int], expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(pairing, name, limit)
    before = "[--v=1, --w=1, k, --x=1, --y=1]"
    matches = match_elements(before, before.replace("1", "2"), before)
    assert {f"{m.original}{m.upstream}" for m in matches if None not in (m.original, m.upstream)} == expected
