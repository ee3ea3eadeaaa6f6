"""Rules L2, L3 on random lists: of what one side alone did nothing is lost, doubled or put elsewhere in silence.

A list is written as `name:version` for each of its elements, all in one line.
"""

from __future__ import annotations

import re
from itertools import combinations
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from packages.merge.beside_git import Merged, Winner, merge
from packages.merge.cases import Case, assert_merges, container, kptfile, kustomization, pod, row, widget

SEEDS = st.integers(0, 2**32)
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nlist:\n{}"
LISTS = {
    "scalars": (WIDGET, "{}:{}"),
    "a set": (kustomization("resources:\n{}"), "{}:{}"),
    "mappings": (WIDGET, "{{name: {}, value: {}}}"),
    "mappings without names": (WIDGET, "{{to: {}, of: {}}}"),
    "by key": (pod(container(more="    env:\n{}")), "{{name: {}, value: {}}}"),
    "functions by image": (kptfile("{}"), "{{image: r/{}:{}}}"),
    "functions by name": (kptfile("{}"), "{{name: {}, image: r/of:{}}}"),
}
"""The file around a list, and how an element is written."""


def names(text: str) -> dict[str, str]:
    """The versions of elements by name, in order."""
    return dict(part.split(":") for part in text.split())


def change(rng: Random, text: str, fresh: list[str]) -> str:
    """A list of which some elements were removed, raised, or followed by new ones."""
    parts: list[str] = []
    for part in text.split():
        action = rng.choice(["keep", "keep", "keep", "raise", "remove", "add"])
        if action != "remove":
            parts.append(part.replace(":v1", rng.choice([":v2", ":v3"])) if action == "raise" else part)
        if action == "add":
            parts.append(f"{fresh.pop()}:v1")
    return " ".join(parts)


def written(kind: str, text: str) -> dict[str, str]:
    file, element = LISTS[kind]
    lines = "".join(f"    - {element.format(*part.split(':'))}\n" for part in text.split())
    path = "Kptfile" if "Kptfile" in file else "file.yaml"
    return {path: file.format(lines or "      []\n")}


def read(files: dict[str, str]) -> str:
    (text,) = files.values()
    return " ".join(f"{name}:{version}" for name, version in re.findall(r"(?m)^ *- .*?\b([b-t]{7})\W.*?\b(v\d)", text))


def three_sides(seed: int) -> tuple[str, str, str]:
    rng = Random(seed)
    fresh = ["".join(rng.choices("bdfgklmnprst", k=7)) for _ in range(40)]
    original = " ".join(f"{fresh.pop()}:v1" for _ in range(rng.randrange(1, 9)))
    return original, change(rng, original, fresh), change(rng, original, fresh)


def conflicting(merged: Merged, sides: tuple[str, str, str]) -> set[str]:
    """The elements that a warning names, by name or position, and those whose place one of them took."""
    messages = " ".join(result.message for result in merged.warnings())
    places = {int(at) for at in re.findall(r"\[(\d+)\]", messages)}
    conflicts: set[str] = set()
    before, *changed = map(names, sides)
    for side in (before, *changed):
        at_places = {name for at, name in enumerate(side) if at in places or name in messages}
        conflicts |= at_places if at_places <= before.keys() else at_places | before.keys() - side.keys()
    return conflicts


@pytest.mark.parametrize("kind", LISTS)
@given(SEEDS, st.sampled_from(["upstream", "local"]))
@example(975, "upstream")  # each removed one of two elements: nothing is left
@example(41262, "upstream")  # each removed two of four, upstream raised one: nothing would be left
@example(1001626, "local")  # local removed what upstream raised, upstream the other one
def test_what_one_side_did_is_there_or_a_conflict(kind: str, seed: int, winner: Winner) -> None:
    sides = three_sides(seed)
    merged = merge(written(kind, sides[0]), written(kind, sides[1]), written(kind, sides[2]), winner)
    result = read(merged.files)
    if any("each side removed what the other kept" in warning.message for warning in merged.warnings()):
        assert result == sides[1 if winner == "upstream" else 2]
        return
    conflicts = conflicting(merged, sides)
    before, theirs, ours = map(names, sides)
    both = names(result)
    assert len(both) == len(result.split()), "an element is there twice"
    for name in {**before, **theirs, **ours}.keys() - conflicts:
        values = {theirs.get(name), ours.get(name)} - {before.get(name)}
        assert len(values) < 2, f"both changed {name}"
        assert both.get(name) == (values or {before.get(name)}).pop(), name
    shared = [name for name in both if name in theirs and name in ours]
    for first, second in combinations(shared, 2):
        for side in (theirs, ours):
            assert list(side).index(first) < list(side).index(second)


FEW = st.lists(st.sampled_from("abc"), max_size=5)


@given(FEW, FEW, FEW, st.sampled_from(["upstream", "local"]))
@example(list("aaab"), list("aabb"), list("aaa"), "local")
@example(list("ab"), list("bbb"), [], "local")
@example(list("abb"), list("b"), list("aabb"), "local")
def test_a_second_merge_changes_no_list_with_equal_elements(
    original: list[str], upstream: list[str], local: list[str], winner: Winner
) -> None:
    before, theirs, ours = (
        written("scalars", " ".join(f"{name}:v1" for name in side)) for side in (original, upstream, local)
    )
    merged = merge(before, theirs, ours, winner)
    second = merge(before, theirs, merged.files, winner)
    assert second.files == merged.files


def test_no_element_takes_the_place_of_another_where_the_other_side_added_one_of_its_name() -> None:
    before, theirs, ours = (
        {"file.yaml": WIDGET.format(text)}
        for text in (
            "- {name: a, value: 1}\n- {name: b, value: 2}\n",
            "- {name: a, value: 1}\n- {name: c, value: 3}\n",
            "- {name: c, value: 4}\n- {name: a, value: 1}\n- {name: b, value: 2}\n",
        )
    )
    merged = merge(before, theirs, ours, "upstream")
    assert merged.files["file.yaml"] == WIDGET.format("- {name: c, value: 3}\n- {name: a, value: 1}\n")
    assert [warning.rule for warning in merged.warnings()] == ["V4"]


def test_a_copy_of_an_element_is_no_version_of_what_the_other_side_made_of_it() -> None:
    before = WIDGET.format("- {}\n- {path: /b, port: 26}\n")
    theirs, copy = before.replace("26}", "26, note: d}"), "- # mine\n  {path: /b, port: 26}\n"
    merged = merge({"file.yaml": before}, {"file.yaml": theirs}, {"file.yaml": before + copy}, "local")
    assert merged.files["file.yaml"] == theirs + copy
    assert not merged.warnings()


def env(text: str) -> str:
    pairs = "".join(f"    - {{name: {pair[0]}, value: {pair[1]}}}\n" for pair in text.split())
    return pod(container(more="    env:\n" + pairs))


def resources(text: str) -> str:
    return kustomization("resources:\n" + "".join(f"- {name}\n" for name in text))


OLD = {"values.yaml": "old:\n  a: 1\n  b: 1\n"}
NEW = {"values.yaml": "new:\n  a: 1\n  b: 1\n"}
ONE = {"values.yaml": "old:\n  b: 1\n"}
ROWS = [
    row(
        "L1 what local gave the name that upstream gave another element is a conflict of that one",
        *map(env, ("Aa Bb Cc", "Au Nb Cc", "Aa No Cc Bb", "Au Nb Cc")),
        "V4",
    ),
    row(
        "L2 what upstream removed from a set goes where local moved it",
        *map(resources, ("abc", "anc", "bancd", "ancd")),
    ),
    row(
        "L2 what upstream removed from a set goes where local has another beside it",
        *map(resources, ("abc", "anc", "anbc", "anc")),
    ),
    row(
        "L2 a set of which local removed a part, and upstream exchanged all",
        *map(resources, ("ab", "cd", "b", "cd")),
        "L2",
    ),
    row(
        "F5 a set that local removed, and upstream exchanged",
        *map(resources, ("a", "bc")),
        kustomization(""),
        kustomization(""),
        "F5",
    ),
    row(
        "F5 a mapping that upstream renamed, and local changed",
        OLD,
        NEW,
        ONE,
        {"values.yaml": "old:\n  b: 1\nnew:\n  a: 1\n  b: 1\n"},
        "F5",
    ),
    row("F5 a mapping that local renamed, and upstream changed", OLD, ONE, NEW, NEW, "F5"),
    row(
        "L3 raised by upstream, which added another behind it, and removed by local is a conflict",
        widget("aaa", "nsrfffg:v1", "bbb", "fnpnlgp:v1"),
        widget("aaa", "nsrfffg:v3", "bbb", "bgdkmgp:v1", "fnpnlgp:v2"),
        widget("aaa", "bbb"),
        widget("aaa", "bbb", "bgdkmgp:v1"),
        "F5",
        "F5",
    ),
    row(
        "V6 a wrapped text in a list merges by its lines, however unlike it is as one line",
        *[
            widget("-c", ">\n" + "".join(f"    {word}\n" for word in words.split()))
            for words in (
                "docker build --tag web --raw --quiet .",
                "docker build --tag web --quiet .",
                "docker buildx build --tag web --raw --quiet --all .",
                "docker buildx build --tag web --quiet --all .",
            )
        ],
    ),
    row(
        "L3 of equal elements one exchanged, one removed",
        *[widget(*elements) for elements in ("bb", "bd", "b", "bd")],
        "L3",
    ),
    row(
        "L3 of equal elements both exchanged, one removed",
        *[widget(*elements) for elements in ("cc", "b", "c", "b")],
        "L3",
    ),
    row(
        "L3 of equal elements each side removed another one",
        *[widget(*elements) for elements in ("aab", "a", "ba", "a")],
        "L3",
    ),
    row(
        "L1 a port that got another number is known by its name, wherever it is",
        *[
            pod(container(more="    ports:\n" + "".join(f"    - {{name: {port}}}\n" for port in ports)))
            for ports in (
                ["http, containerPort: 80"],
                ["web, containerPort: 90", "http, containerPort: 81"],
                ["http, containerPort: 80, hostPort: 1"],
                ["web, containerPort: 90", "http, containerPort: 81, hostPort: 1"],
            )
        ],
    ),
    row(
        "L1 what both put in the place of an element with a key is a conflict",
        *[pod(container(name=name), container(name="side")) for name in ("web", "web-u", "web-l", "web-u")],
        "L2",
    ),
]


@pytest.mark.parametrize("case", ROWS)
def test_what_becomes_of_elements(case: Case) -> None:
    assert_merges(case)
