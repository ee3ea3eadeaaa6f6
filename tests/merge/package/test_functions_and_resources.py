"""Merges of functions, resources and documents of a file that must come out as said, by rule.

A row is three versions of a package, the text that must come out, and the rules of the conflicts that must be
reported. A version is a mapping of paths to texts, or one text, which then is `a.yaml`. L1, V8, ... are the rules of
docs/rules.md.
"""

from __future__ import annotations

import pytest

from packages.merge.cases import (
    Case,
    Texts,
    assert_merges,
    config_map,
    documents,
    functions,
    kustomization,
    row,
    service,
)

# ---- texts -----------------------------------------------------------------------------------------------------------


def deployment(replicas: int, image: str = "web:v1", name: str = "web") -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n"
        f"  template:\n    spec:\n      containers:\n      - name: c\n        image: {image}\n"
    )


def job(prefix: str, image: str) -> str:
    return f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: {prefix}-\nspec:\n  image: {image}\n"


def named(name: str, more: str = "") -> str:
    return f"  - image: r/set:v1\n    name: {name}\n" + (f"    configMap: {{{more}}}\n" if more else "")


ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: sa\n"
LABELED = "  namespace: prod\n  labels:\n    team: a\n"


def setter(name: str, registry: str = "example", comment: str = "") -> str:
    return f"  - image: {registry}.com/set:v1\n    name: {name}\n    configMap:\n      key: value{comment}\n"


# ---- functions -------------------------------------------------------------------------------------------------------

FIRST = "  - image: r/apply-setters:v0.2\n    configPath: s.yaml\n"
THEIRS = "  - image: r/set-labels:v0.2\n    configMap:\n      tier: backend\n    selectors:\n    - kind: Deployment\n"
OURS = "  - image: r/set-labels:v0.2\n    configMap:\n      cost-center: cc\n"
FUNCTIONS = [
    functions(
        "F7 two functions of one image are one conflict",
        (FIRST,),
        (FIRST, THEIRS),
        (FIRST, OURS),
        (FIRST, THEIRS),
        "F7",
        says="set-labels: two functions of one name or image: upstream added it, local added it; "
        "upstream's value is kept (discarded from local: configMap.cost-center: cc)",
    ),
    functions(
        "F7 two functions of one image, local is preferred",
        (FIRST,),
        (FIRST, THEIRS),
        (FIRST, OURS),
        (FIRST, OURS),
        "F7",
        on="local",
    ),
    functions(
        "F7 two functions of one name are one conflict",
        ("  - name: a\n    image: r/a:v1\n",),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/up:v1\n"),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/mine:v1\n"),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/up:v1\n"),
        "F7",
    ),
    functions(
        "V8 the name of a setter does not come to another function",
        (setter("a"),),
        (setter("a", comment=" # kpt-set: ${x}"),),
        (setter("b"), setter("c", "alpha")),
        (setter("b"), setter("c", "alpha")),
        "V8",
        smart=True,
    ),
    functions("F7 equal functions are one", (FIRST,), (FIRST, OURS), (FIRST, OURS), (FIRST, OURS)),
    functions(
        "F7 functions that differ in the version alone are one",
        (FIRST,),
        (FIRST, OURS),
        (FIRST, OURS.replace("v0.2", "v0.3")),
        (FIRST, OURS),
        "V4",
        says="image: upstream added it, local added it; upstream's value is kept",
    ),
    functions(
        "F7 smart: both stay",
        (FIRST,),
        (FIRST, THEIRS),
        (FIRST, OURS),
        (FIRST, OURS, THEIRS),
        smart=True,
    ),
    functions(
        "F7 smart: functions that differ in the version alone are one",
        (FIRST,),
        (FIRST, OURS),
        (FIRST, OURS.replace("v0.2", "v0.3")),
        (FIRST, OURS),
        "V4",
        smart=True,
    ),
    functions(
        "F6 smart: a function without name that only local has stays",
        ("  - image: r/a:v1\n    name: a\n",),
        ("  - image: r/a:v2\n    name: a\n",),
        ("  - image: r/a:v1\n    name: a\n", "  - image: r/b:v1\n"),
        ("  - image: r/a:v2\n    name: a\n", "  - image: r/b:v1\n"),
        smart=True,
    ),
    functions(
        "F6 a function to which both gave other names is a conflict",
        (named("a"),),
        (named("b"),),
        (named("c"),),
        (named("b"),),
        "L2",
        smart=True,
    ),
    functions(
        "F1 by name, functions to which both gave other names are a conflict",
        (named("a"),),
        (named("b"),),
        (named("c"),),
        (named("b"),),
        "L2",
    ),
    functions(
        "F6 of two functions of one image, one to which both gave other names is a conflict",
        (named("a"), named("d", "w: 1")),
        (named("b"), named("d", "w: 1")),
        (named("c"), named("d", "w: 1")),
        (named("b"), named("d", "w: 1")),
        "L2",
        smart=True,
    ),
    functions(
        "F3 a function without name that only local has stays where upstream changed nothing in the list",
        ("  - image: r/a:v1\n    name: a\n",),
        ("  - image: r/a:v2\n    name: a\n",),
        ("  - image: r/a:v1\n    name: a\n", "  - image: r/b:v1\n"),
        ("  - image: r/a:v2\n    name: a\n",),
        "F3",
        "F3",
        says="dropped from local: r/b",
    ),
]


# ---- which resource is which -----------------------------------------------------------------------------------------

BASE = {"base/deployment.yaml": deployment(1)}


def overlay(name: str, replicas: int, image: str = "web:v1") -> Texts:
    return {
        f"overlays/{name}/kustomization.yaml": kustomization("resources:\n- ../../base\n", prefix=name),
        f"overlays/{name}/patch.yaml": deployment(replicas, image),
    }


OVERLAYS = BASE | overlay("dev", 1) | overlay("prod", 9)
OTHER = service("ClusterIP", name="other", port=1).replace("app: web", "app: other")
IDENTITY = [
    row(
        "R1 each side adds an overlay",
        OVERLAYS,
        OVERLAYS | overlay("staging", 4),
        OVERLAYS | overlay("mine", 33),
        OVERLAYS | overlay("staging", 4) | overlay("mine", 33),
    ),
    row(
        "R1 upstream replaces an overlay by another one",
        OVERLAYS,
        BASE | overlay("prod", 9) | overlay("staging", 4),
        OVERLAYS,
        BASE | overlay("prod", 9) | overlay("staging", 4),
    ),
    row(
        "R1 only local has an overlay: upstream's change reaches the base alone",
        BASE,
        {"base/deployment.yaml": deployment(1, "web:v2")},
        BASE | overlay("mine", 3),
        {"base/deployment.yaml": deployment(1, "web:v2")} | overlay("mine", 3),
    ),
    row(
        "R1 upstream moves the files of an overlay that local changed",
        OVERLAYS,
        BASE | overlay("dev", 1) | {k.replace("prod/", "live/"): v for k, v in overlay("prod", 9, "web:v2").items()},
        OVERLAYS | overlay("prod", 10),
        BASE
        | overlay("dev", 1)
        | {"overlays/live/kustomization.yaml": kustomization("resources:\n- ../../base\n", prefix="prod")}
        | {"overlays/live/patch.yaml": deployment(10, "web:v2")},
    ),
    row(
        "R1 local moved a file that upstream changed",
        {"a.yaml": config_map("  x: 1\n")},
        {"a.yaml": config_map("  x: 2\n")},
        {"conf/a.yaml": config_map("  x: 1\n")},
        {"conf/a.yaml": config_map("  x: 2\n")},
    ),
    row(
        "R1 local put two files into one",
        {"a.yaml": config_map("  x: 1\n"), "b.yaml": config_map("  x: 1\n", "b")},
        {"a.yaml": config_map("  x: 2\n"), "b.yaml": config_map("  x: 1\n", "b")},
        {"all.yaml": documents(config_map("  x: 1\n"), config_map("  x: 1\n", "b"))},
        {"all.yaml": documents(config_map("  x: 2\n"), config_map("  x: 1\n", "b"))},
    ),
    row(
        "R1 local split a file",
        {"all.yaml": documents(config_map("  x: 1\n"), config_map("  x: 1\n", "b"))},
        {"all.yaml": documents(config_map("  x: 2\n"), config_map("  x: 1\n", "b"))},
        {"a.yaml": config_map("  x: 1\n"), "b.yaml": config_map("  x: 1\n", "b")},
        {"a.yaml": config_map("  x: 2\n"), "b.yaml": config_map("  x: 1\n", "b")},
    ),
    row(
        "R1 upstream moved a file that local left alone",
        {"a.yaml": config_map("  x: 1\n")},
        {"conf/a.yaml": "# moved\n" + config_map("  x: 2\n")},
        {"a.yaml": config_map("  x: 1\n")},
        {"conf/a.yaml": "# moved\n" + config_map("  x: 2\n")},
    ),
    row(
        "R13 upstream moved a file that local changed",
        {"a.yaml": config_map("  x: 1\n  y: 1\n")},
        {"conf/a.yaml": config_map("  x: 2\n  y: 1\n")},
        {"a.yaml": config_map("  x: 1\n  y: 3\n")},
        {"conf/a.yaml": config_map("  x: 2\n  y: 3\n")},
    ),
    row(
        "R13 upstream moved a file and put another document in front, where local changed it",
        {"a.yaml": config_map("  x: 1\n  y: 1\n")},
        {"all.yaml": documents(config_map("  n: 1\n", "new"), config_map("  x: 2\n  y: 1\n"))},
        {"a.yaml": config_map("  x: 1\n  y: 3\n")},
        {"all.yaml": documents(config_map("  n: 1\n", "new"), config_map("  x: 2\n  y: 3\n"))},
    ),
    row(
        "R1 upstream moved a file and put its documents in another order, local removed one",
        {"a.yaml": documents(config_map("  x: 1\n"), OTHER)},
        {"conf/a.yaml": documents(OTHER.replace("ClusterIP", "NodePort"), config_map("  x: 1\n"))},
        {"a.yaml": config_map("  x: 1\n")},
        {"conf/a.yaml": config_map("  x: 1\n")},
        "F5",
    ),
    row(
        "R1 generateName tells resources apart: upstream reorders",
        documents(job("a", "1"), job("b", "2")),
        documents(job("b", "2"), job("a", "1")),
        documents(job("a", "mine"), job("b", "2")),
        documents(job("b", "2"), job("a", "mine")),
    ),
    row(
        "R1 generateName tells resources apart: upstream adds one in front",
        job("a", "1"),
        documents(job("z", "0"), job("a", "1")),
        job("a", "mine"),
        documents(job("z", "0"), job("a", "mine")),
    ),
    row(
        "R1 local set a namespace",
        service("ClusterIP", namespace="a"),
        service("NodePort", namespace="a"),
        service("ClusterIP", namespace="mine"),
        service("NodePort", namespace="mine"),
    ),
    row(
        "R1 local gave a namespace to what had none",
        service("ClusterIP"),
        service("NodePort"),
        service("ClusterIP", namespace="mine"),
        service("NodePort", namespace="mine"),
    ),
    row(
        "R1 an account got a namespace and a label, upstream removed it",
        documents(ACCOUNT, OTHER),
        OTHER,
        documents(ACCOUNT + LABELED, OTHER),
        documents(ACCOUNT + LABELED, OTHER),
        "F5",
    ),
    row(
        "R1 an account got a namespace and a label from upstream, local removed it",
        documents(ACCOUNT, OTHER),
        documents(ACCOUNT + LABELED, OTHER),
        OTHER,
        OTHER,
        "F5",
    ),
    row(
        "R1 of two with one name in one file the equal ones are the same",
        documents(config_map("  k: one\n"), config_map("  k: two\n")),
        config_map("  k: two\n"),
        documents(config_map("  k: mine\n"), config_map("  k: two\n")),
        documents(config_map("  k: mine\n"), config_map("  k: two\n")),
        "F5",
    ),
    row(
        "R1 local renamed a resource",
        documents(service("ClusterIP"), OTHER),
        documents(service("NodePort"), OTHER),
        documents(service("ClusterIP", name="mine"), OTHER),
        documents(service("NodePort", name="mine"), OTHER),
    ),
    row(
        "R1 local renamed a resource as another one of the package is called",
        documents(deployment(1), service("ClusterIP", name="svc")),
        documents(deployment(1), service("NodePort", name="svc")),
        documents(deployment(1), service("ClusterIP", name="web")),
        documents(deployment(1), service("NodePort", name="web")),
    ),
    row(
        "R1 upstream renamed a resource",
        service("ClusterIP", name="dns"),
        service("ClusterIP", name="core-dns"),
        service("ClusterIP", name="dns", port=8080),
        service("ClusterIP", name="core-dns", port=8080),
    ),
    row(
        "R1 both renamed a resource alike, and each changed something else",
        service("ClusterIP", name="dns"),
        service("NodePort", name="core-dns"),
        service("ClusterIP", name="core-dns", port=8080),
        service("NodePort", name="core-dns", port=8080),
    ),
    row(
        "R1 both renamed a resource, each in its own way: they are two",
        service("ClusterIP", name="dns"),
        service("NodePort", name="core-dns"),
        service("ClusterIP", name="mine", port=8080),
        service("ClusterIP", name="mine", port=8080),
        "F5",
        "R1",
    ),
    row(
        "R1 upstream renamed a resource, moved and changed it: they are two",
        {"dns.yaml": service("ClusterIP", name="dns")},
        {"core.yaml": service("NodePort", name="core-dns")},
        {"dns.yaml": service("ClusterIP", name="dns", port=8080)},
        {
            "dns.yaml": service("ClusterIP", name="dns", port=8080),
            "core.yaml": service("NodePort", name="core-dns"),
        },
        "F5",
    ),
    row(
        "R1 another program is another resource, however alike the rest is",
        documents(deployment(1, "redis:7", "cache"), OTHER),
        documents(deployment(1, "memcached:1", "store"), OTHER),
        documents(deployment(3, "redis:7", "cache"), OTHER),
        documents(deployment(3, "redis:7", "cache"), deployment(1, "memcached:1", "store"), OTHER),
        "F5",
        "R1",
    ),
    row(
        "F5 upstream renamed what local removed: it remains removed",
        documents(service("ClusterIP", name="dns"), OTHER),
        documents(service("ClusterIP", name="core-dns"), OTHER),
        OTHER,
        OTHER,
        "F5",
    ),
    row(
        "F5 upstream removed what local renamed: it stays",
        documents(service("ClusterIP", name="dns"), OTHER),
        OTHER,
        documents(service("ClusterIP", name="mine"), OTHER),
        documents(service("ClusterIP", name="mine"), OTHER),
        "F5",
    ),
    row(
        "R1 of two that it may have become none is taken, and the likely rename is named",
        service("ClusterIP", name="dns"),
        documents(service("ClusterIP", name="dns-a"), service("ClusterIP", name="dns-b")),
        service("ClusterIP", name="dns", port=8080),
        documents(
            service("ClusterIP", name="dns", port=8080),
            service("ClusterIP", name="dns-a"),
            service("ClusterIP", name="dns-b"),
        ),
        "F5",
    ),
    row(
        "R1 a resource of another name that is not alike is another one",
        config_map("  a: 1\n  b: 2\n", "old"),
        config_map("  y: 8\n  z: 9\n", "new"),
        config_map("  a: 1\n  b: 3\n", "old"),
        documents(config_map("  a: 1\n  b: 3\n", "old"), config_map("  y: 8\n  z: 9\n", "new")),
        "F5",
        "R1",
    ),
    row(
        "R1 a resource of another kind is another one",
        service("ClusterIP"),
        service("ClusterIP", kind="Gateway"),
        service("NodePort"),
        documents(service("NodePort"), service("ClusterIP", kind="Gateway")),
        "F5",
    ),
    row(
        "R1 the order of two that are renamed alike does not matter",
        documents(config_map("  a: 1\n  b: 1\n  c: 1\n", "x"), config_map("  r: 5\n  s: 5\n  t: 5\n", "y")),
        documents(config_map("  r: 5\n  s: 5\n  t: 5\n", "up-y"), config_map("  a: 1\n  b: 1\n  c: 1\n", "up-x")),
        documents(config_map("  a: 1\n  b: 1\n  c: 3\n", "x"), config_map("  r: 5\n  s: 5\n  t: 7\n", "y")),
        documents(config_map("  r: 5\n  s: 5\n  t: 7\n", "up-y"), config_map("  a: 1\n  b: 1\n  c: 3\n", "up-x")),
    ),
]


# ---- documents of a file ---------------------------------------------------------------------------------------------


def maps(*values: str) -> str:
    """A file of ConfigMaps: `a1` is one named a with the value 1."""
    return documents(
        *[config_map(f"  x: {value[1:]}\n  unlike-{value[0]}: {value[0] * 9}\n", value[0]) for value in values]
    )


DOCUMENTS = [
    row(
        "R2 upstream adds a document in the middle",
        maps("a1", "b1"),
        maps("a1", "n1", "b1"),
        maps("a1", "b2"),
        maps("a1", "n1", "b2"),
    ),
    row("R2 upstream adds a document in front", maps("a1"), maps("n1", "a1"), maps("a2"), maps("n1", "a2")),
    row("R2 upstream adds a document at the end", maps("a1"), maps("a1", "n1"), maps("a2"), maps("a2", "n1")),
    row(
        "R2 both add a document at the end: local's comes first",
        maps("a1"),
        maps("a1", "u1"),
        maps("a1", "l1"),
        maps("a1", "l1", "u1"),
    ),
    row(
        "R2 both add a document in front: local's comes first",
        maps("a1"),
        maps("u1", "a1"),
        maps("l1", "a1"),
        maps("l1", "u1", "a1"),
    ),
    row(
        "R2 upstream reorders documents, local changes one",
        maps("a1", "b1", "c1"),
        maps("c1", "a1", "b1"),
        maps("a1", "b2", "c1"),
        maps("c1", "a1", "b2"),
    ),
    row(
        "R2 local reorders documents, upstream changes one",
        maps("a1", "b1", "c1"),
        maps("a1", "b2", "c1"),
        maps("c1", "a1", "b1"),
        maps("c1", "a1", "b2"),
    ),
    row(
        "R2 upstream reorders documents, local adds one behind the first",
        maps("a1", "b1"),
        maps("b1", "a1"),
        maps("a1", "l1", "b1"),
        maps("b1", "a1", "l1"),
    ),
    row(
        "R2 upstream removes a document that local left alone",
        maps("a1", "b1", "c1"),
        maps("a1", "c1"),
        maps("a2", "b1", "c1"),
        maps("a2", "c1"),
    ),
    row("R2 both add the same document", maps("a1"), maps("a1", "n1"), maps("n1", "a1"), maps("n1", "a1")),
    row("R2 both add a document of one name", maps("a1"), maps("a1", "n1"), maps("a1", "n2"), maps("a1", "n1"), "V4"),
    row(
        "R2 upstream moves a document to another file, local changes one beside it",
        {"a.yaml": maps("a1", "b1")},
        {"a.yaml": maps("a1"), "b.yaml": maps("b1")},
        {"a.yaml": maps("a2", "b1")},
        {"a.yaml": maps("a2"), "b.yaml": maps("b1")},
    ),
]


@pytest.mark.parametrize("case", [*FUNCTIONS, *IDENTITY, *DOCUMENTS])
def test_functions_and_resources(case: Case) -> None:
    assert_merges(case)
