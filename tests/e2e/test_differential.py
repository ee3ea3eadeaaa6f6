"""`krm-merge update` beside `kpt pkg update`: equal where both changed other fields, else different only on purpose.

A wrong merge does not pass as a difference on purpose: `accepted` says, without the code under test, what the rules
allow.
"""

from __future__ import annotations

import copy
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.differential.differences import Difference, package_differences, resource_differences
from e2e.differential.on_purpose import ITEMS, explanation
from e2e.differential.packages import HEAD, RESOURCES, Triple, any_edits, disjoint_edits
from e2e.differential.updates import DOCUMENT, Outcome, command, prepare, update_all
from e2e.differential.values import (
    Data,
    read_package,
    same,
)
from effort import SEED

DISJOINT_SEEDS = range(SEED, SEED + (11 if SEED else 3))
# Always the same: each item of the list must occur.
ANY_SEEDS = (*range(100, 108), 109)
PAGE = ROOT / "docs" / "differences-from-kpt.md"


# ---- running both ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disjoint_updates(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    return update_all(tmp_path_factory.mktemp("disjoint"), DISJOINT_SEEDS, disjoint_edits)


@pytest.fixture(scope="module")
def any_updates(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    return update_all(tmp_path_factory.mktemp("any"), ANY_SEEDS, any_edits)


def describe(seed: int, differences: Iterable[Difference]) -> str:
    text = f"seed {seed}"
    for d in differences:
        text += f"\n\n{d.kind} at {'.'.join(d.path)} (allowed by the rules: {d.allowed}) {d.files or ''}"
        for name, side in zip(("original", "upstream", "local", "kpt", "ours"), d.sides, strict=True):
            text += f"\n  {name:8} {side!r}"
    return text


@pytest.mark.kpt
@pytest.mark.parametrize("seed", DISJOINT_SEEDS)
def test_disjoint_changes_give_the_same_package(disjoint_updates: dict[int, Outcome], seed: int) -> None:
    outcome = disjoint_updates[seed]
    assert len(outcome.kpt) == RESOURCES + 2
    differences = list(package_differences(*outcome.sides))
    assert not differences, describe(seed, differences)
    assert same(
        *({name: [each.data for each in copies] for name, copies in side.items()} for side in outcome.sides[3:])
    )
    assert outcome.locks[0] == outcome.locks[1]
    assert sum(not same(outcome.local[name], outcome.ours[name]) for name in outcome.local) > RESOURCES / 4


@pytest.mark.kpt
@pytest.mark.parametrize("seed", ANY_SEEDS)
def test_every_other_difference_is_on_purpose(any_updates: dict[int, Outcome], seed: int) -> None:
    differences = [d for d in package_differences(*any_updates[seed].sides) if explanation(d) is None]
    assert not differences, describe(seed, differences)


# ---- what kpt refuses --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stop:
    """A row of the page: what kpt refuses, the three sides of a file, and what krm-merge makes of them."""

    what: str
    ours: str
    rule: str
    file: str
    sides: tuple[str, str, str]
    merged: Any


def config(data: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n{data}"


PIPELINE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\npipeline:\n  mutators:\n"
PLAIN_FUNCTION = "  - image: gcr.io/kpt-fn/a:v1\n"
NAMED = PLAIN_FUNCTION + "    name: a\n"
STOPS = [
    Stop(
        "A field holds another kind of value on one side, such as a mapping instead of a text",
        "takes the side that changed it; where both did, that field is a conflict",
        "V5",
        "c.yaml",
        (config("data: {a: x, b: x}\n"), config("data: {a: {c: d}, b: x}\n"), config("data: {a: x, b: y}\n")),
        {"a": {"c": "d"}, "b": "y"},
    ),
    Stop(
        "Upstream writes an alias",
        "reads it as the value that it refers to",
        "V9",
        "c.yaml",
        (
            config("data: {a: x}\nmore: {a: x}\n"),
            config("data: &a {a: z}\nmore: *a\n"),
            config("data: {a: x, b: y}\nmore: {a: x}\n"),
        ),
        {"a": "z", "b": "y"},
    ),
    Stop(
        "A YAML file is no YAML on one side, such as a template",
        "merges this file as text, with a warning",
        "R5",
        "t.yaml",
        ("a: 1\nb: {{ x }}\nc: 3\n", "a: 1\nb: {{ x }}\nc: 4\n", "a: 2\nb: {{ x }}\nc: 3\n"),
        "a: 2\nb: {{ x }}\nc: 4\n",
    ),
    Stop(
        "Local named the functions of a pipeline, and upstream did not",
        "recognises the functions; with `--function-identity document` the list is one value",
        "F3, F6",
        "sub/Kptfile",
        (PIPELINE + PLAIN_FUNCTION, PIPELINE + PLAIN_FUNCTION.replace("v1", "v2"), PIPELINE + NAMED),
        [{"image": "gcr.io/kpt-fn/a:v2"}],
    ),
    Stop(
        "A Kptfile has a field that kpt does not know",
        "merges it like any other",
        "K1",
        "sub/Kptfile",
        (PIPELINE + NAMED, PIPELINE + NAMED + "    timeout: 5\n", PIPELINE + NAMED),
        [{"image": "gcr.io/kpt-fn/a:v1", "name": "a", "timeout": 5}],
    ),
]


@pytest.mark.kpt
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.rule)
def test_what_kpt_refuses(tmp_path: Path, stop: Stop) -> None:
    triple = Triple()
    triple.put("Kptfile", 0, [[HEAD | {"metadata": {"name": "pkg"}}]] * 3, 0)
    for files, side in zip((triple.original, triple.upstream, triple.local), stop.sides, strict=True):
        files[stop.file] = side
    folder = tmp_path / "run"
    prepare(folder, triple)
    refused = command("kpt", "pkg", "update", "web@v2", cwd=folder, code=1)
    assert refused.stdout + refused.stderr
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT, cwd=folder)
    text = (folder / "ours" / stop.file).read_text(encoding="utf-8")
    if stop.rule == "R5":
        assert text == stop.merged
    else:
        data = yaml.safe_load(text)
        assert (data["pipeline"]["mutators"] if "pipeline" in data else data["data"]) == stop.merged
    locks = [yaml.safe_load((folder / at / "Kptfile").read_text(encoding="utf-8")) for at in ("web", "ours")]
    refs = [(lock["upstream"]["git"]["ref"], lock["upstreamLock"]["git"]["ref"]) for lock in locks]
    assert refs == [("v2", "v1"), ("v2", "v2")]


# ---- what random packages do not hold ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A row of the page: a change that random packages do not hold, and what both programs make of it."""

    what: str
    kpt: str
    ours: str
    rule: str
    sides: tuple[Data, Data, Data]
    kpts: list[Data]
    merged: list[Data]


def of_kind(api: str, kind: str, name: str, **rest: Any) -> Data:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **rest}


def pod(image: str) -> Data:
    return of_kind("v1", "Pod", "web", spec={"containers": [{"name": "web", "image": image}]})


def map_named(name: str, **data: str) -> Data:
    return of_kind("v1", "ConfigMap", name, data={"a": "1", "b": "2", "c": "3", **data})


def kustomization(*images: Data) -> Data:
    return of_kind("kustomize.config.k8s.io/v1beta1", "Kustomization", "k", images=[*images])


def list_of(**data: str) -> Data:
    return of_kind("v1", "List", "l", items=[map_named("web", **data)])


CASES = [
    Case(
        "One side changed the repository of an image, the other its version",
        "takes upstream's image",
        "keeps both changes",
        "V10",
        (pod("nginx:1.25"), pod("nginx:1.27"), pod("mirror.example.com/nginx:1.25")),
        [pod("nginx:1.27")],
        [pod("mirror.example.com/nginx:1.27")],
    ),
    Case(
        "Upstream renamed a resource that local changed",
        "leaves two: local's with the old name, upstream's with the new one",
        "merges it; it has the new name",
        "R1",
        (map_named("web"), map_named("core-web"), map_named("web", a="9")),
        [map_named("web", a="9"), map_named("core-web")],
        [map_named("core-web", a="9")],
    ),
    Case(
        "Local renamed a resource, and kpt's notes on it are gone",
        "drops upstream's changes of it",
        "merges it; it has local's name",
        "R1",
        (map_named("web"), map_named("web", a="9"), map_named("ours")),
        [map_named("ours")],
        [map_named("ours", a="9")],
    ),
    Case(
        "Both changed `images` or another list of a Kustomization",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2",
        (
            kustomization({"name": "web", "newTag": "1"}),
            kustomization({"name": "web", "newTag": "2"}),
            kustomization({"name": "web", "newTag": "1", "newName": "mirror/web"}),
        ),
        [kustomization({"name": "web", "newTag": "2"})],
        [kustomization({"name": "web", "newTag": "2", "newName": "mirror/web"})],
    ),
    Case(
        "Both changed objects in a `List`",
        "takes upstream's whole list",
        "merges each object",
        "L1",
        (list_of(), list_of(a="9"), list_of(b="9")),
        [list_of(a="9")],
        [list_of(a="9", b="9")],
    ),
]


@pytest.mark.kpt
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_cases_that_random_packages_do_not_hold(tmp_path: Path, case: Case) -> None:
    triple = Triple()
    triple.put("Kptfile", 0, [[HEAD | {"metadata": {"name": "pkg"}}]] * 3, 0)
    triple.put("a.yaml", 0, [[side] for side in case.sides], 0)
    folder = tmp_path / "run"
    prepare(folder, triple)
    command("kpt", "pkg", "update", "web@v2", cwd=folder)
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT[2:], cwd=folder)
    for name, expected in (("web", case.kpts), ("ours", case.merged)):
        resources = [copy.data for copies in read_package(folder / name).values() for copy in copies]
        assert [data for data in resources if data["kind"] != "Kptfile"] == expected


# ---- the list of differences itself ------------------------------------------------------------------------------


@pytest.mark.kpt
def test_wrong_merges_are_not_explained(any_updates: dict[int, Outcome]) -> None:
    """One random fault in our result, in resources where kpt's differs already and in others."""
    rng = random.Random(1)
    told_apart: Counter[tuple[bool, bool]] = Counter()
    for outcome in any_updates.values():
        for identity in outcome.ours:
            for _ in range(4):
                o, u, loc, k, m = (side.get(identity, []) for side in outcome.sides)
                differed = any(resource_differences(identity, o, u, loc, k, m))
                wrong = m[0]._replace(data=damage(rng, m[0].data))
                if same(wrong.data, m[0].data) or (k and same(wrong.data, k[0].data)):
                    continue
                faulty = resource_differences(identity, o, u, loc, k, [wrong])
                told_apart[differed, any(explanation(d) is None for d in faulty)] += 1
    for differed in (True, False):
        seen, missed = told_apart[differed, True], told_apart[differed, False]
        assert seen + missed > 100
        assert seen >= 0.9 * (seen + missed), told_apart


def damage(rng: random.Random, resource: Data) -> Data:
    """A copy in which one field or element is another, is gone, is new, is there twice or stands elsewhere."""
    resource = copy.deepcopy(resource)
    holders: list[Any] = []
    pending: list[Any] = [resource]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            holders.append(value)
            pending.extend(value.values() if isinstance(value, dict) else value)
    holder = rng.choice([each for each in holders if each] or [resource])
    at = rng.choice([*(holder if isinstance(holder, dict) else range(len(holder)))])
    kind = rng.randrange(4)
    if kind == 0:
        holder.pop(at)
    elif kind == 1:
        holder[at] = {} if rng.random() < 0.2 else f"{holder[at]}!" if isinstance(holder[at], str) else "wrong"
    elif isinstance(holder, dict):
        holder["wrong"] = {} if kind == 2 else "wrong"
    elif kind == 2:
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[at]))
    else:
        holder.insert(rng.randrange(len(holder)), holder.pop(at))
    return resource


@pytest.mark.kpt
def test_each_item_of_the_list_occurs(any_updates: dict[int, Outcome]) -> None:
    counts = Counter(explanation(d) for outcome in any_updates.values() for d in package_differences(*outcome.sides))
    assert not [item.what for item in ITEMS if item not in counts]


PAGE_HEAD = """\
# Differences from kpt

Where upstream and local changed or added different scalar fields, and neither removed anything, `krm-merge update` and
`kpt pkg update` make the same package. Elsewhere they differ as these tables say: a test compares both on random
packages (`tests/e2e/test_differential.py`, with kpt 1.0.0-beta.56) and fails on a difference that is not here. There
krm-merge runs with `--function-identity document`, as kpt recognises functions; with its default, `smart`, what F6 and
F7 say comes on top. The numbers are those of the [rules](rules.md).

`krm-merge compare PKG@REF` says what you would lose in a package of yours, with the kpt that you have
([command line](command-line.md#krm-merge-compare)).

The tables are about values and the order of lists, not about comments and layout, which krm-merge keeps and kpt
writes anew in part; `compare --diff` shows these, too.
"""


def page() -> str:
    rows = [f"| {item.what} | {item.kpt} | {item.ours} | {item.rule} |" for item in ITEMS]
    cases = [f"| {case.what} | {case.kpt} | {case.ours} | {case.rule} |" for case in CASES]
    stops = [f"| {stop.what} | {stop.ours} | {stop.rule} |" for stop in STOPS]
    return "\n".join(
        [
            PAGE_HEAD,
            "## What comes out different\n",
            "| what happens | kpt | krm-merge | rule |\n|---|---|---|---|",
            *rows,
            "\nThese are not in random packages; each was tried with both programs:\n",
            "| what happens | kpt | krm-merge | rule |\n|---|---|---|---|",
            *cases,
            "\n## What kpt refuses\n",
            "kpt stops with an error, and the Kptfile names the new version while the files are the old ones.\n",
            "| what happens | krm-merge | rule |\n|---|---|---|",
            *stops,
            "",
        ]
    )


def test_the_page_has_the_list() -> None:
    """Write the page anew with WRITE_GOLDEN_OUTPUT=1."""
    if os.environ.get("WRITE_GOLDEN_OUTPUT"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
