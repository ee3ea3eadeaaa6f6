"""`krm-merge update` beside `kpt pkg update`: equal where both changed other fields, else as the page says."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.differential.packages import HEAD, RESOURCES, Triple, disjoint_edits
from e2e.differential.updates import DOCUMENT, Outcome, command, prepare, update_all
from e2e.differential.values import read_package, same
from e2e.hosts import write_package
from effort import SEED

DISJOINT_SEEDS = range(SEED, SEED + (11 if SEED else 3))
PAGE = ROOT / "docs" / "differences-from-kpt.md"


@pytest.fixture(scope="module")
def disjoint_updates(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    return update_all(tmp_path_factory.mktemp("disjoint"), DISJOINT_SEEDS, disjoint_edits)


@pytest.mark.kpt
@pytest.mark.parametrize("seed", DISJOINT_SEEDS)
def test_disjoint_changes_give_the_same_package(disjoint_updates: dict[int, Outcome], seed: int) -> None:
    outcome = disjoint_updates[seed]
    assert len(outcome.kpt) == RESOURCES + 2
    assert outcome.kpt.keys() == outcome.ours.keys()
    for name, copies in outcome.kpt.items():
        theirs, ours = ([each.data for each in side] for side in (copies, outcome.ours[name]))
        assert same(theirs, ours), f"seed {seed}, {name}: kpt {theirs}, ours {ours}"
    assert outcome.locks[0] == outcome.locks[1]
    assert sum(not same(outcome.local[name], outcome.ours[name]) for name in outcome.local) > RESOURCES / 4


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
    triple.put("Kptfile", 0, [HEAD | {"metadata": {"name": "pkg"}}] * 3, 0)
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


# ---- what comes out different ------------------------------------------------------------------------------------


Side = str | list[tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """A row of the page: an object on three sides, and what both programs make of it.

    A text is what follows the name of the object, or the whole document; a list has the file of each document as well.
    """

    what: str
    kpt: str
    ours: str
    rule: str
    kind: str
    sides: tuple[Side, Side, Side]
    kpts: Side
    merged: Side

    def files(self, prefix: str, side: Side) -> dict[str, str]:
        """The files of a side; their names begin so, and so does that of the object."""
        api, _, kind = self.kind.rpartition(" ")
        head = f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {prefix}\n"
        return {
            f"{prefix}/Kptfile" if kind == "Kptfile" else f"{prefix}{name}.yaml": text
            if "apiVersion" in text[:10]
            else head + text
            for name, text in ([("", side)] if isinstance(side, str) else side)
        }


CONTAINERS = "spec:\n  containers:\n  - {name: a, image: i}\n"
FUNCTIONS = "pipeline:\n  mutators:\n"
A, B = "  - image: r/a:v1\n", "  - image: r/b:v1\n"
CONFIGURED = "    configMap: {a: x}\n"
SECOND = "  - {name: b, image: i, resources: {limits: {cpu: 1}}}\n"
ARGS = "spec:\n  containers:\n  - {name: a, image: i, args: [%s]}\n"
ENV = "spec:\n  containers:\n  - {name: a, image: i, env: [{name: A, value: x}%s]}\n"
ARGS_BELOW = "spec:\n  containers:\n  - name: a\n    image: i\n    args:%s\n    - x\n    - %s\n"
IMAGES = "images:\n- {name: web, newTag: %s}\n"
OBJECTS = "items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: %s, b: %s, c: x}}\n"


def config_map(name: str, value: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata: {{one: {value}, two: x, three: x}}\n"


def service(kind: str, address: str) -> str:
    return f"spec: {{type: {kind}, clusterIP: {address}}}\n"


CASES = [
    Case(
        "One side removed all fields of a mapping, or the mapping itself",
        "leaves an empty `{}` behind; if the mapping had a comment, the file is no longer YAML",
        "removes the mapping",
        "V3",
        "v1 Pod",
        (
            "spec: {hostname: x, nodeSelector: {a: b}}\n",
            "spec: {hostname: x}\n",
            "spec: {hostname: x, nodeSelector: {a: b}}\n",
        ),
        "spec: {hostname: x, nodeSelector: {}}\n",
        "spec: {hostname: x}\n",
    ),
    Case(
        "Upstream removed an element of a keyed list, and local did not change it",
        "leaves the key and the mappings of the element, so a container without image",
        "removes the element",
        "F5, V3",
        "v1 Pod",
        (CONTAINERS + SECOND, CONTAINERS, CONTAINERS + SECOND),
        CONTAINERS + "  - {name: b, resources: {limits: {}}}\n",
        CONTAINERS,
    ),
    Case(
        "Local removed an element of a keyed list",
        "restores a part of it: what upstream changed, and the mappings",
        "leaves it removed; where upstream had changed it, a result says so",
        "F5",
        "v1 Pod",
        (CONTAINERS + SECOND, CONTAINERS + SECOND.replace("image: i", "image: j"), CONTAINERS),
        CONTAINERS + "  - {name: b, image: j, resources: {limits: {}}}\n",
        CONTAINERS,
    ),
    Case(
        "Upstream removed an element of a keyed list that local had changed",
        "removes it, or those of its fields that the original had",
        "keeps local's element whole, and a result says so",
        "F5",
        "v1 Pod",
        (CONTAINERS + "  - {name: b, image: i}\n", CONTAINERS, CONTAINERS + "  - {name: b, image: j, tty: true}\n"),
        CONTAINERS + "  - {name: b, tty: true}\n",
        CONTAINERS + "  - {name: b, image: j, tty: true}\n",
    ),
    Case(
        "Upstream inserted elements of a keyed list in the middle, or reordered them",
        "keeps local's order and appends what is new",
        "puts new elements where upstream has them, and follows upstream's new order",
        "L4",
        "v1 Pod",
        (
            CONTAINERS,
            CONTAINERS.replace("  - ", "  - {name: up, image: u}\n  - "),
            CONTAINERS + "  - {name: own, image: o}\n",
        ),
        CONTAINERS + "  - {name: own, image: o}\n  - {name: up, image: u}\n",
        CONTAINERS.replace("  - ", "  - {name: up, image: u}\n  - ") + "  - {name: own, image: o}\n",
    ),
    Case(
        "Both added to a set of scalars such as finalizers, or upstream reordered it",
        "keeps local's order and appends what is new",
        "puts new values where upstream has them, and follows upstream's new order",
        "L2, L4",
        "v1 Pod",
        ("  finalizers: [a/x, b/y]\n", "  finalizers: [u/u, a/x, b/y]\n", "  finalizers: [a/x, b/y, l/l]\n"),
        "  finalizers: [a/x, b/y, l/l, u/u]\n",
        "  finalizers: [u/u, a/x, b/y, l/l]\n",
    ),
    Case(
        "One side chose another alternative: another volume source, probe handler or update strategy",
        "keeps the fields of both alternatives",
        "keeps one alternative whole",
        "V7",
        "v1 Pod",
        (
            "spec:\n  volumes:\n  - {name: v, emptyDir: {medium: Memory}}\n",
            "spec:\n  volumes:\n  - {name: v, configMap: {name: c}}\n",
            "spec:\n  volumes:\n  - {name: v, emptyDir: {medium: Memory, sizeLimit: 1Gi}}\n",
        ),
        "spec:\n  volumes:\n  - {name: v, emptyDir: {sizeLimit: 1Gi}, configMap: {name: c}}\n",
        "spec:\n  volumes:\n  - {name: v, configMap: {name: c}}\n",
    ),
    Case(
        "Both changed a list without keys",
        "takes upstream's whole list; what local added is gone",
        "merges as git merges lines, with elements for lines; a place that both changed is a conflict",
        "L3",
        "v1 Pod",
        (ARGS % "x, y, z", ARGS % "up, y, z", ARGS % "x, y, z, own"),
        ARGS % "up, y, z",
        ARGS % "up, y, z, own",
    ),
    Case(
        "Both changed a list of a custom resource that is keyed or a set by its definition, its finalizers, or "
        "`info.keywords` and `info.readinessGates` of a Kptfile",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2",
        "kpt.dev/v1 Kptfile",
        ("info:\n  keywords: [x, y]\n", "info:\n  keywords: [x, y, up]\n", "info:\n  keywords: [x, y, own]\n"),
        "info:\n  keywords: [x, y, up]\n",
        "info:\n  keywords: [x, y, own, up]\n",
    ),
    Case(
        "Local removed values of a set such as finalizers",
        "leaves an empty list, or restores some of them",
        "leaves them removed",
        "L2, F5",
        "v1 Pod",
        ("  finalizers: [a/x]\n", "  finalizers: [a/x]\n  labels: {a: b}\n", "  labels: {c: d}\n"),
        "  finalizers: []\n  labels: {a: b, c: d}\n",
        "  labels: {a: b, c: d}\n",
    ),
    Case(
        "One side removed a whole list, and the other changed it",
        "merges what is left of both, or drops local's changes",
        "keeps what local has, the list or its removal, and a result says so",
        "V3, F5",
        "v1 Pod",
        (ENV % "", CONTAINERS, ENV % ", {name: B, value: y}"),
        CONTAINERS,
        ENV % ", {name: B, value: y}",
    ),
    Case(
        "Upstream removed all functions of a pipeline, and local had added some",
        "drops local's functions",
        "keeps what local added",
        "V3, F5",
        "kpt.dev/v1 Kptfile",
        (FUNCTIONS + A, "", FUNCTIONS + A + B),
        "pipeline: {}\n",
        FUNCTIONS + B,
    ),
    Case(
        "Both added a function under one name or image, with other configuration",
        "fuses the two",
        "keeps one whole, which is a conflict; with `--function-identity smart` both",
        "F7",
        "kpt.dev/v1 Kptfile",
        ("", FUNCTIONS + A + CONFIGURED, FUNCTIONS + A + "    configMap: {b: y}\n"),
        FUNCTIONS + A + "    configMap: {a: x, b: y}\n",
        FUNCTIONS + A + CONFIGURED,
    ),
    Case(
        "One side removed a function of a pipeline",
        "leaves `{}`, or the configuration without an image: `kpt fn render` refuses the Kptfile",
        "removes the function",
        "F5",
        "kpt.dev/v1 Kptfile",
        (FUNCTIONS + A + CONFIGURED + B, FUNCTIONS + B, FUNCTIONS + A + CONFIGURED + B),
        FUNCTIONS + "  - {}\n" + B,
        FUNCTIONS + B,
    ),
    Case(
        "Upstream changed only a comment in a list that local changed, or of a value that local removed",
        "takes upstream's value or whole list; local's change is gone",
        "keeps local's value, and merges the comment",
        "V1, V8",
        "v1 Pod",
        (ARGS_BELOW % (" # old", "y"), ARGS_BELOW % ("\n    # new", "y"), ARGS_BELOW % (" # old", "own")),
        ARGS_BELOW % ("", "y"),
        ARGS_BELOW % ("", "own"),
    ),
    Case(
        "A field is `null`",
        "removes the field",
        "keeps it: null is a value",
        "V1",
        "v1 ConfigMap",
        ("data: {a: x, b: y}\n", "data: {a: null, b: y}\n", "data: {a: x, b: y}\n"),
        "data: {b: y}\n",
        "data: {a: null, b: y}\n",
    ),
    Case(
        "Both changed different lines of a text",
        "takes upstream's whole text",
        "merges line by line",
        "V6",
        "v1 ConfigMap",
        (
            "data:\n  a: |\n    x\n    y\n    z\n",
            "data:\n  a: |\n    up\n    y\n    z\n",
            "data:\n  a: |\n    x\n    y\n    own\n",
        ),
        "data:\n  a: |\n    up\n    y\n    z\n",
        "data:\n  a: |\n    up\n    y\n    own\n",
    ),
    Case(
        'One side changed the type of a value, such as `1` to `"1"`',
        "keeps local's type where upstream changed it or the value",
        "merges value and type as one",
        "V1, V2",
        "apps/v1 Deployment",
        ("spec: {replicas: 1}\n", "spec: {replicas: 2}\n", 'spec: {replicas: "1"}\n'),
        'spec: {replicas: "2"}\n',
        "spec: {replicas: 2}\n",
    ),
    Case(
        "Local moved a resource to another file",
        "drops upstream's changes of it",
        "merges it where it is",
        "R1",
        "v1 Service",
        (service("ClusterIP", "a"), service("NodePort", "a"), [("-moved", service("ClusterIP", "own"))]),
        [("-moved", service("ClusterIP", "own"))],
        [("-moved", service("NodePort", "own"))],
    ),
    Case(
        "Upstream moved a resource to another file",
        "drops local's changes, or leaves the resource twice",
        "merges it; it appears once",
        "R1, R2",
        "v1 Service",
        (service("ClusterIP", "a"), [("-moved", service("NodePort", "a"))], service("ClusterIP", "own")),
        [("", service("ClusterIP", "own")), ("-moved", service("NodePort", "a"))],
        [("-moved", service("NodePort", "own"))],
    ),
    Case(
        "Upstream removed a resource of which local changed only comments or layout",
        "keeps it",
        "removes it",
        "R2",
        "rbac.authorization.k8s.io/v1 Role",
        ("rules: [{verbs: [get]}]\n", [], "# mine\nrules: [{verbs: [get]}]\n"),
        "rules: [{verbs: [get]}]\n",
        [],
    ),
    Case(
        "One side changed the repository of an image, the other its version",
        "takes upstream's image",
        "keeps both changes",
        "V10",
        "v1 Pod",
        (
            CONTAINERS.replace(" i}", " nginx:1}"),
            CONTAINERS.replace(" i}", " nginx:2}"),
            CONTAINERS.replace(" i}", " mirror.io/nginx:1}"),
        ),
        CONTAINERS.replace(" i}", " nginx:2}"),
        CONTAINERS.replace(" i}", " mirror.io/nginx:2}"),
    ),
    Case(
        "Upstream renamed a resource that local changed",
        "leaves two: local's with the old name, upstream's with the new one",
        "merges it; it has the new name",
        "R1",
        "v1 ConfigMap",
        (config_map("web", "x"), config_map("core-web", "x"), config_map("web", "own")),
        config_map("web", "own") + "---\n" + config_map("core-web", "x"),
        config_map("core-web", "own"),
    ),
    Case(
        "Local renamed a resource, and kpt's notes on it are gone",
        "drops upstream's changes of it",
        "merges it; it has local's name",
        "R1",
        "v1 ConfigMap",
        (config_map("api", "x"), config_map("api", "up"), config_map("own-api", "x")),
        config_map("own-api", "x"),
        config_map("own-api", "up"),
    ),
    Case(
        "Both changed `images` or another list of a Kustomization",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2",
        "kustomize.config.k8s.io/v1beta1 Kustomization",
        (IMAGES % "1", IMAGES % "2", IMAGES % "1, newName: mirror/web"),
        IMAGES % "2",
        IMAGES % "2, newName: mirror/web",
    ),
    Case(
        "Both changed objects in a `List`",
        "takes upstream's whole list",
        "merges each object",
        "L1",
        "v1 List",
        (OBJECTS % ("x", "x"), OBJECTS % ("up", "x"), OBJECTS % ("x", "own")),
        OBJECTS % ("up", "x"),
        OBJECTS % ("up", "own"),
    ),
]


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages `web` and `ours`, with all cases in each, as the two programs update them."""
    triple = Triple()
    triple.put("Kptfile", 0, [HEAD | {"metadata": {"name": "pkg"}}] * 3, 0)
    for number, case in enumerate(CASES):
        for files, side in zip((triple.original, triple.upstream, triple.local), case.sides, strict=True):
            files.update(case.files(f"case{number:02}", side))
    folder = tmp_path_factory.mktemp("different") / "run"
    prepare(folder, triple)
    command("kpt", "pkg", "update", "web@v2", cwd=folder)
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT, cwd=folder)
    return folder


@pytest.mark.kpt
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].what)
def test_what_comes_out_different(different: Path, number: int, tmp_path: Path) -> None:
    case, prefix = CASES[number], f"case{number:02}"
    for package, side in (("web", case.kpts), ("ours", case.merged)):
        write_package(tmp_path / package, case.files(prefix, side))
        assert documents_of(different / package, prefix) == documents_of(tmp_path / package, prefix), package


def documents_of(package: Path, prefix: str) -> list[str]:
    """The documents of a case, each with its file; as texts, which differ where types do."""
    copies = [copy for copies in read_package(package).values() for copy in copies]
    return sorted(
        f"{copy.file} {json.dumps(copy.data, sort_keys=True)}" for copy in copies if copy.file.startswith(prefix)
    )


PAGE_HEAD = """\
# Differences from kpt

Where upstream and local changed or added different scalar fields, and neither removed anything, `krm-merge update` and
`kpt pkg update` make the same package; a test compares them on random packages. Elsewhere they differ as these tables
say. Each row was tried with both programs (`tests/e2e/test_differential.py`, kpt 1.0.0-beta.56), krm-merge with
`--function-identity document`, which recognises functions as kpt does; its default, `smart`, adds what F6 and F7 say.
The numbers are those of the [rules](rules.md).

`krm-merge compare PKG@REF` shows what your kpt would lose in your own package
([command line](command-line.md#krm-merge-compare)).

The tables are about values and the order of lists, not about comments and layout, which krm-merge keeps and kpt
partly rewrites; `compare --diff` shows these, too.
"""


def page() -> str:
    cases = [f"| {case.what} | {case.kpt} | {case.ours} | {case.rule} |" for case in CASES]
    stops = [f"| {stop.what} | {stop.ours} | {stop.rule} |" for stop in STOPS]
    return "\n".join(
        [
            PAGE_HEAD,
            "## What comes out different\n",
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
    """Write the page anew with WRITE_GOLDEN_OUTPUT=1; what is below, on kpt's own tables, has its own test."""
    _, heading, tables = PAGE.read_text(encoding="utf-8").partition("\n## kpt's own tables\n")
    if os.environ.get("WRITE_GOLDEN_OUTPUT"):
        PAGE.write_text(page() + heading + tables, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page() + heading + tables
