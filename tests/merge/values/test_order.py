"""Rule L4: the order of keyed lists and sets, on random triples and the examples of the rules.

Each letter is an element; a word is a list in its order.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from effort import seeds
from krm_merge.merge.lines.sequence import Order, merge_order

TRIPLES = seeds(20_000)


def random_side(rng: Random, original: list[str], new: str, shared: str) -> list[str]:
    """A side: some elements removed, some added, sometimes reordered."""
    side = [key for key in original if rng.random() < 0.75]
    if rng.random() < 0.4:
        rng.shuffle(side)
    for key in rng.sample(new, rng.randint(0, 3)) + rng.sample(shared, rng.randint(0, 2)):
        side.insert(rng.randint(0, len(side)), key)
    return side


def random_triple(seed: int) -> tuple[list[str], list[str], list[str], set[str]]:
    rng = Random(seed)
    original = rng.sample("abcdef", rng.randint(0, 6))
    upstream, local = random_side(rng, original, "uvw", "xy"), random_side(rng, original, "klm", "xy")
    # F5: what one side removed goes, unless the other changed it; what one side added stays.
    survivors = {
        key
        for key in {*upstream, *local}
        if key not in original or (key in upstream and key in local) or (key in local and rng.random() < 0.3)
    }
    return original, upstream, local, survivors


def common(first: list[str], second: list[str]) -> list[str]:
    return [key for key in first if key in second]


@pytest.mark.parametrize("reorder", [True, False])
def test_random_triples(reorder: bool) -> None:
    for seed in TRIPLES:
        original, upstream, local, survivors = random_triple(seed)
        merged = merge_order(original, upstream, local, survivors, reorder=reorder)
        assert len(merged.keys) == len(survivors), seed
        assert set(merged.keys) == survivors, seed
        # Judged by what all three have.
        orders = [[key for key in side if key in upstream and key in local] for side in (original, upstream, local)]
        upstream_reordered, local_reordered = (common(side, original) != orders[0] for side in orders[1:])
        # The side that is the base keeps its order.
        base = upstream if reorder and upstream_reordered and not local_reordered else local
        assert common(merged.keys, base) == [key for key in base if key in survivors], seed
        # D: merging again changes nothing.
        again = merge_order(original, upstream, merged.keys, survivors, reorder=reorder)
        assert again.keys == merged.keys, seed


def test_laws_a_b_c_on_random_triples() -> None:
    for seed in TRIPLES:
        original, upstream, local, _ = random_triple(seed)
        assert merge_order(original, upstream, original, set(upstream)).keys == upstream, seed  # A
        assert merge_order(original, original, local, set(local)).keys == local, seed  # B
        assert merge_order(original, local, local, set(local)).keys == local, seed  # C


def test_the_order_of_what_one_side_added_is_kept() -> None:
    for seed in TRIPLES[::4]:
        original, upstream, local, survivors = random_triple(seed)
        merged = merge_order(original, upstream, local, survivors).keys
        for side in (upstream, local):
            additions = [key for key in side if key in survivors and key not in original]
            only = [key for key in additions if not (key in upstream and key in local)]
            neighbours = [(a, b) for a, b in itertools.pairwise(only) if side.index(b) == side.index(a) + 1]
            for before, behind in neighbours:
                assert merged.index(before) < merged.index(behind), seed


Keys = str
# original, upstream, local, survivors (None: all of upstream and local), the result
EXAMPLES: list[tuple[str, Keys, Keys, Keys, Keys | None, Keys]] = [
    ("the document's: local's is kept before upstream's at one gap", "a", "ag", "an", None, "ang"),
    ("behind the nearest one before it", "abc", "abxc", "abc", None, "abxc"),
    ("before the nearest one behind it where none is before", "ab", "xab", "ab", None, "xab"),
    ("at the end where there is none", "", "x", "l", None, "lx"),
    ("at the start local's come first", "a", "ua", "la", None, "lua"),
    ("at the end local's come first", "a", "auv", "alm", None, "almuv"),
    ("added ones by their own order", "a", "auv", "a", None, "auv"),
    ("an anchor that did not survive", "ab", "abx", "a", "ax", "ax"),
    ("upstream reordered", "abc", "cba", "abc", None, "cba"),
    ("upstream reordered, local added", "abc", "cba", "abcl", None, "clba"),
    ("upstream reordered, local added first", "abc", "cba", "labc", None, "cbla"),
    ("upstream reordered and added, local added", "ab", "bua", "alb", None, "bual"),
    ("both reordered: local's", "abc", "cab", "bca", None, "bca"),
    ("local reordered, upstream added", "abc", "abxc", "cba", None, "cbxa"),
    ("both added the same", "a", "ax", "xa", None, "xa"),
    ("all removed", "ab", "", "", "", ""),
    ("local alone", "", "", "ab", None, "ab"),
    ("upstream alone", "", "ab", "", None, "ab"),
]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "survivors", "expected"),
    [row[1:] for row in EXAMPLES],
    ids=[row[0] for row in EXAMPLES],
)
def test_example(original: str, upstream: str, local: str, survivors: str | None, expected: str) -> None:
    alive = {*upstream, *local} if survivors is None else set(survivors)
    assert merge_order(original, upstream, local, alive).keys == list(expected)


def test_the_example_of_the_rules() -> None:
    merged = merge_order(
        ["apply-setters"],
        ["apply-setters", "generate-folders"],
        ["apply-setters", "set-namespace"],
        {"apply-setters", "set-namespace", "generate-folders"},
    )
    assert merged == Order(["apply-setters", "set-namespace", "generate-folders"], False)


def test_fields_of_mappings_keep_local_order() -> None:
    assert merge_order("abc", "cbax", "abc", set("abcx"), reorder=False).keys == list("axbc")
