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
    theirs = before.replace("26}", "26, note: d}")
    ours = before + "- # mine\n  {path: /b, port: 26}\n"
    merged = merge({"file.yaml": before}, {"file.yaml": theirs}, {"file.yaml": ours}, "local")
    assert merged.files["file.yaml"] == ours
    assert [(warning.rule, "discarded from upstream: note: d" in warning.message) for warning in merged.warnings()] == [
        ("L3", True)
    ]


def test_what_upstream_removed_from_an_element_that_local_moved_is_removed() -> None:
    first, second = "- groups: [apps]\n  kinds:\n  - pods\n", "- groups: ['']\n  kinds: [pods]\n  verbs:\n"
    before, theirs, ours = (
        {"file.yaml": WIDGET.format(text)} for text in (first + second, "- groups: [apps]\n" + second, second + first)
    )
    merged = merge(before, theirs, ours, "local")
    assert merged.files["file.yaml"] == WIDGET.format(second + "- groups: [apps]\n")
    assert not merged.warnings()


@pytest.mark.parametrize(
    ("numbered", "code", "warnings"),
    [
        pytest.param(5, 9, ["L3"], id="a value that no two elements share"),
        pytest.param(4, 9, [], id="too few to be a rule of the list"),
        pytest.param(5, 8, [], id="another value"),
    ],
)
def test_both_sides_gave_one_number_to_two_things(numbered: int, code: int, warnings: list[str]) -> None:
    before = WIDGET.format("".join(f"- {{code: {at}, level: info}}\n" for at in range(numbered)))
    theirs = before + "- {code: 9, level: info, text: a service has no address}\n"
    ours = before + f"- {{code: {code}, level: warning, argument: port}}\n"
    merged = merge({"file.yaml": before}, {"file.yaml": theirs}, {"file.yaml": ours}, "local")
    assert merged.files["file.yaml"] == (ours if warnings else ours + theirs.removeprefix(before))
    assert [warning.rule for warning in merged.warnings()] == warnings
    assert all("two elements with one code" in warning.message for warning in merged.warnings())


def keywords(*words: str) -> dict[str, str]:
    return {"Kptfile": kptfile(info="info:\n  keywords:\n" + "".join(f"  - {word}\n" for word in words))}


PAIRED = [
    row(
        "R1 what upstream added to a mapping that local renamed is no other mapping (law D)",
        {"a.json": '{\n  "old": {\n    "a": 1,\n    "b": 2\n  }\n}\n'},
        {"a.json": '{\n  "old": {\n    "up": 1,\n    "b": 2\n  }\n}\n'},
        {"a.json": '{\n  "new": {\n    "a": 1,\n    "b": 2\n  }\n}\n'},
        {"a.json": '{\n  "new": {\n    "a": 1,\n    "b": 2\n  },\n  "old": {\n    "up": 1\n  }\n}\n'},
    ),
    row(
        "L1 what both sides renamed, and local has elsewhere by the old name, is one and an addition (law H)",
        *[
            pod(
                container(
                    more="    env:\n" + "".join(f"    - {{name: {name}, value: {value}}}\n" for name, value in side)
                )
            )
            for side in (
                ("Aa", "Bb", "Cc"),
                ("Au", "Nb", "Cc"),
                ("Aa", "No", "Cc", "Bb"),
                ("Au", "No", "Cc", "Bb"),
            )
        ],
    ),
    row(
        "L2 what both sides replaced in a set, and local has elsewhere, stays",
        *[
            kustomization("resources:\n" + "".join(f"- {name}\n" for name in side))
            for side in ("abc", "anc", "bancd", "bancd")
        ],
    ),
    row(
        "L2 what both sides replaced in a set, and local has beside it, is removed",
        *[
            kustomization("resources:\n" + "".join(f"- {name}\n" for name in side))
            for side in ("abc", "anc", "anbc", "anc")
        ],
    ),
    row(
        "L2 a set that upstream replaced and local made smaller is a conflict",
        keywords("k1", "k3"),
        keywords("k2", "k4"),
        keywords("k3"),
        keywords("k2", "k4"),
        "L3",
    ),
    row(
        "L2 a set that local removed, and that upstream replaced and made longer, is a conflict",
        kustomization("resources:\n- deployment.yaml\n"),
        kustomization("resources:\n- deployment.green\n- deployment.blue\n- job\n"),
        kustomization(""),
        kustomization("resources:\n- deployment.green\n- deployment.blue\n- job\n"),
        "V4",
    ),
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
        "L3 what neighbours have, too, makes no two elements one",
        *[
            widget(*[f"{{name: {name}, value: {value}}}" for name, value in side])
            for side in (
                (("dstbnpp", 1), ("bknkdnn", 1), ("trkkbdp", 1)),
                (("dstbnpp", 2), ("bknkdnn", 1)),
                (("trkkbdp", 1), ("mbbddgb", 1)),
                (("mbbddgb", 1),),
            )
        ],
        "F5",
    ),
    row(
        "L3 of elements that are alike otherwise, the one with more words of the text is the same",
        *[
            widget(*["\n      ".join(["name: docker\n    run: >", *words.split()]) for words in texts])
            for texts in (
                ["docker build --tag web --raw --quiet ."],
                ["docker build --tag web --quiet ."],
                ["docker create --name web", "docker buildx build --tag web --raw --quiet --all ."],
                ["docker create --name web", "docker buildx build --tag web --quiet --all ."],
            )
        ],
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
        "L3 what both sides renamed, and upstream has elsewhere by the old name, is one and an addition (law H)",
        widget("{name: a, v: 1}", "{name: b, v: 2}", "{name: c, v: 3}"),
        widget("{name: a, v: 1}", "{name: n, v: 2}", "{name: c, v: 3}", "{name: b, v: 2}"),
        widget("{name: a, v: 1}", "{name: n, v: 2}", "{name: c, v: own}"),
        widget("{name: a, v: 1}", "{name: n, v: 2}", "{name: c, v: own}", "{name: b, v: 2}"),
    ),
    row(
        "R1 a mapping to which both gave other names is there once",
        {"values.yaml": "jobs:\n  build:\n    runs: web\n    steps: [a, b]\n"},
        {"values.yaml": "jobs:\n  build-it:\n    runs: web\n    steps: [a, b]\n"},
        {"values.yaml": "jobs:\n  build_it:\n    runs: web\n    steps: [a, b]\n"},
        {"values.yaml": "jobs:\n  build-it:\n    runs: web\n    steps: [a, b]\n"},
        "V4",
        "V4",
        says="both renamed build",
    ),
    row(
        "R1 what local removed from a mapping that upstream renamed is a conflict where lines clash",
        {"values.yaml": "old:\n  a: 1\n  b: 1\n"},
        {"values.yaml": "new:\n  a: 1\n  b: 1\n"},
        {"values.yaml": "old:\n  b: 1\n"},
        {"values.yaml": "new:\n  a: 1\n  b: 1\n"},
        "V4",
    ),
    row(
        "R1 what upstream removed from a mapping that local renamed is a conflict where lines clash",
        {"values.yaml": "old:\n  a: 1\n  b: 1\n"},
        {"values.yaml": "old:\n  b: 1\n"},
        {"values.yaml": "new:\n  a: 1\n  b: 1\n"},
        {"values.yaml": "new:\n  a: 1\n  b: 1\n"},
        "F5",
    ),
    row(
        "L3 upstream exchanged one of two equal elements, and local removed one",
        *[widget(*elements) for elements in ("bb", "bd", "b", "bd")],
    ),
    row(
        "L3 upstream exchanged both of two equal elements, and local removed one",
        *[widget(*elements) for elements in ("cc", "b", "c", "b")],
    ),
    row(
        "R1 a mapping of which half is as before has its old name, whatever else is a copy of it",
        {"values.yaml": "old:\n  a: 1\n  b: 2\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 9\nnew:\n  a: 1\n  b: 2\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 2\n  c: 3\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 9\n  c: 3\nnew:\n  a: 1\n  b: 2\n"},
    ),
    row(
        "R1 upstream's mapping of a new name is the former one where half of it is",
        {"values.yaml": "old:\n  a: 1\n  b: 2\n"},
        {"values.yaml": "old:\n  a: 1\n  x: 9\n  y: 8\nnew:\n  a: 1\n  b: 7\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 2\n  c: 3\n"},
        {"values.yaml": "old:\n  a: 1\n  x: 9\n  y: 8\nnew:\n  a: 1\n  b: 7\n"},
        "V4",
        says="upstream has the former old as new, and something else as old",
    ),
    row(
        "R1 local's mapping of a new name is the former one where half of it is",
        {"values.yaml": "old:\n  a: 1\n  b: 2\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 5\n"},
        {"values.yaml": "old:\n  a: 1\n  x: 9\n  y: 8\nnew:\n  a: 1\n  b: 7\n"},
        {"values.yaml": "old:\n  a: 1\n  b: 5\nnew:\n  a: 1\n  b: 7\n"},
        "V4",
        says="local has the former old as new, and something else as old",
    ),
    row(
        "R1 a mapping that both added, each under a name with the words of the other, is one addition",
        {"values.yaml": "a: 1\n"},
        {"values.yaml": "a: 1\ngatekeeperService:\n  image:\n    name: r/gate\n"},
        {"values.yaml": "a: 1\ngatekeeper:\n  image:\n    name: r/gate\n    tag: latest\n"},
        {"values.yaml": "a: 1\ngatekeeperService:\n  image:\n    name: r/gate\n"},
        "V4",
        "V4",
        says="upstream and local added one thing, as gatekeeperService and as gatekeeper",
    ),
    row(
        "R1 the message names all pairs that both added under two names, in upstream's order",
        {"values.yaml": "a: 1\n"},
        {"values.yaml": "a: 1\nwebService:\n  x: 1\ndbService:\n  y: 1\n"},
        {"values.yaml": "a: 1\ndb:\n  y: 1\nweb:\n  x: 1\n"},
        {"values.yaml": "a: 1\nwebService:\n  x: 1\ndbService:\n  y: 1\n"},
        *["V4"] * 4,
        says="upstream and local added one thing, as webService and as web; "
        "upstream and local added one thing, as dbService and as db",
    ),
    row(
        "R1 what both added under names of which each has a word of its own are two things",
        {"values.yaml": "a: 1\n"},
        {"values.yaml": "a: 1\nlivenessProbe:\n  path: /\n  port: 80\n"},
        {"values.yaml": "a: 1\nreadinessProbe:\n  path: /\n  port: 80\n"},
        {"values.yaml": "a: 1\nreadinessProbe:\n  path: /\n  port: 80\nlivenessProbe:\n  path: /\n  port: 80\n"},
    ),
    row(
        "R1 what both added under names of the same words is two things where less than half is alike",
        {"values.yaml": "a: 1\n"},
        {"values.yaml": "a: 1\npodLimits:\n  cpu: 1\n  memory: 1Gi\n  disk: 1\n"},
        {"values.yaml": "a: 1\npod:\n  cpu: 1\n  name: web\n"},
        {"values.yaml": "a: 1\npod:\n  cpu: 1\n  name: web\npodLimits:\n  cpu: 1\n  memory: 1Gi\n  disk: 1\n"},
    ),
    row(
        "R1 a value that both added under names of the same words is two values",
        {"values.yaml": "a: 1\n"},
        {"values.yaml": "a: 1\nserviceName: web\n"},
        {"values.yaml": "a: 1\nservice: web\n"},
        {"values.yaml": "a: 1\nservice: web\nserviceName: web\n"},
    ),
    row(
        "R1 a property of a schema that both added, in the singular and in the plural, is one addition",
        *[
            "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: w}\nspec:\n"
            f"  validation:\n    openAPIV3Schema:\n      properties:\n        a: {{type: string}}\n{properties}"
            for properties in (
                "",
                "        podPhaseSelectors: {type: array, items: {type: string}}\n",
                "        phaseSelector: {type: array, items: {type: string}}\n",
                "        podPhaseSelectors: {type: array, items: {type: string}}\n",
            )
        ],
        "V4",
        "V4",
        says="upstream and local added one thing, as podPhaseSelectors and as phaseSelector",
    ),
    row(
        "R1 a variable that both added, each under a name with the words of the other, is one addition",
        *[
            pod(container(more="    env:\n" + "".join(f"    - {{name: {name}, value: task}}\n" for name in names)))
            for names in (["A"], ["A", "EVENT_TYPES"], ["A", "HTTP_EVENT_TYPES"], ["A", "EVENT_TYPES"])
        ],
        "L3",
        says="upstream and local added one thing, as EVENT_TYPES and as HTTP_EVENT_TYPES",
    ),
    row(
        "L3 equal elements of which each side removed another one",
        *[widget(*elements) for elements in ("aab", "a", "ba", "a")],
        "L3",
        says="elements that are there several times, or moved, cannot be told apart",
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
        "L3",
        says="others in the same place",
    ),
    row(
        "L3 additions of both whose texts have half of their lines in common are one",
        kustomization("resources: [a]\n"),
        *[
            kustomization(
                "resources: [a]\npatches:\n"
                + "".join(f"- patch: |\n    kind: {kind}\n    rules: [x]\n{more}" for kind in ("Pod", "Job"))
            )
            for more in ("", "    more: y\n", "")
        ],
        *("V4", "V4"),
    ),
]


@pytest.mark.parametrize("case", PAIRED)
def test_what_is_one_element(case: Case) -> None:
    assert_merges(case)
