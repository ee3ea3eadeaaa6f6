"""Rule L3: which elements of lists without keys are one.

What is expected names each element by its places in original, upstream and local: `0-2` is first, missing, third.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.merge.values.likeness import Match
from krm_merge.merge.values.pairing import added_at_one_place, is_narrowed_replacement, match_sequence, replaced_by_both
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
        pytest.param(
            "[{a: 1, c: 1}]", "[{a: 2, c: 1, b: [1, 2, 3]}]", "[]", {"0--", "-0-"}, id="alone, half of the fields kept"
        ),
        pytest.param(
            "[x, {n: 1}, {n: 1, m: 2}]",
            "[{n: 1, m: 3}]",
            "[{n: 1, m: 3}]",
            {"0--", "100", "2--"},
            id="what both made of one of two that are as much alike",
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
