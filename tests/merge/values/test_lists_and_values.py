"""Merges of lists, values and layouts that must come out as said, by rule.

A row is three versions of a package, the text that must come out, and the rules of the conflicts that must be
reported. A version is a mapping of paths to texts, or one text, which then is `a.yaml`. L1, V8, ... are the rules of
docs/rules.md.
"""

from __future__ import annotations

import pytest

from packages.merge.cases import (
    Case,
    assert_merges,
    config_map,
    container,
    kptfile,
    kustomization,
    pod,
    row,
    service,
    widget,
)

# ---- texts -----------------------------------------------------------------------------------------------------------


def job(version: str, arguments: str = "") -> str:
    """An item of a List that the cluster gives a name."""
    return f"- apiVersion: {version}\n  kind: Job\n  metadata:\n    generateName: db-\n  args:\n{arguments}"


# ---- lists without keys ----------------------------------------------------------------------------------------------

RULES = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n" + "".join(
    f"- {{apiGroups: [{group}], resources: [x], verbs: [get]}}\n" for group in "abcd"
)
INGRESS = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web\nspec:\n  rules:\n  - host: example.com\n"
    "    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend:\n          service:\n"
    "            name: web\n            port:\n              number: 80\n"
)
ITEMS = (
    "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: 1\n"
    "- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: 1\n",
    "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: 1\n"
    "- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: up\n",
    "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: 1\n"
    "- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: mine\n",
    "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: mine\n"
    "- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: up\n",
)
LIST = "apiVersion: v1\nkind: List\nitems:\n"
JOB = "jobs:\n  old:\n    on: x\n    steps:\n    - run: a\n    - run: b\n    - run: c\n"
RENAMED = JOB.replace("old:", "new:") + "  old:\n    needs: [new]\n    if: always()\n"
NAMED = [
    row(
        f"L3 elements are known by {key}, if each has one of its own",
        widget(f"{{{key}: a, v: 1}}", f"{{{key}: b, v: 1}}"),
        widget(f"{{{key}: b, v: 2}}", f"{{{key}: a, v: 1}}"),
        widget(f"{{{key}: a, v: 3}}", f"{{{key}: b, v: 1}}"),
        widget(f"{{{key}: b, v: 2}}", f"{{{key}: a, v: 3}}"),
    )
    for key in ("name", "host", "path", "id", "key")
]
LISTS = [
    row(
        "L1 a key field that is null counts as its default",
        service("A"),
        service("A", port=80).replace("port: 80", "port: 80\n    targetPort: up"),
        service("A").replace("port: 80", "port: 80\n    protocol: null"),
        service("A").replace("port: 80", "port: 80\n    protocol: null\n    targetPort: up"),
    ),
    *NAMED,
    row(
        "L3 an element that no field names, moved by one side and changed by the other",
        widget("{target: a, v: 1}", "{target: b, v: 1}"),
        widget("{target: b, v: 1}", "{target: a, v: 1}"),
        widget("{target: a, v: 3}", "{target: b, v: 1}"),
        widget("{target: b, v: 1}", "{target: a, v: 1}"),
        "L3",
    ),
    row(
        "L3 an element that upstream removed, and local changed with its neighbour: by lines, local has the removal",
        widget("a", "b:v1", "c", "d"),
        widget("a", "c", "d"),
        widget("a", "b:v2", "x", "d"),
        widget("a", "b:v2", "x", "d"),
        "F5",
    ),
    row(
        "L3 both change the first element, and local's own one stays",
        RULES,
        RULES.replace("[a], resources: [x]", "[a], resources: [up]"),
        RULES.replace("[a], resources: [x]", "[a], resources: [mine]") + "- {apiGroups: [own]}\n",
        RULES.replace("[a], resources: [x]", "[a], resources: [up]") + "- {apiGroups: [own]}\n",
        "L2",
    ),
    row(
        "L3 one element: local changed its key, upstream what is inside",
        INGRESS,
        INGRESS.replace("80", "8080"),
        INGRESS.replace("example.com", "shop.example.com"),
        INGRESS.replace("80", "8080").replace("example.com", "shop.example.com"),
    ),
    row(
        "L3 the same field of an element changed by both",
        widget("{name: a, v: 1, w: 1}", "{name: b, v: 1}"),
        widget("{name: a, v: 2, w: 1}", "{name: b, v: 2}"),
        widget("{name: a, v: 3, w: 3}", "{name: b, v: 1}"),
        widget("{name: a, v: 2, w: 3}", "{name: b, v: 2}"),
        "V4",
        says="a v: upstream changed it, local changed it",
    ),
    row(
        "L3 where a name stands twice, elements that one side moved and the other changed",
        widget("{name: a, v: 1, w: 1}", "{name: a, v: 7, w: 7}", "{name: c}"),
        widget("{name: a, v: 1, w: 2}", "{name: a, v: 7, w: 7}", "{name: c}"),
        widget("{name: c}", "{name: a, v: 1, w: 1}", "{name: a, v: 7, w: 8}"),
        widget("{name: a, v: 1, w: 2}", "{name: a, v: 7, w: 7}", "{name: c}"),
        "L3",
    ),
    row(
        "L3 upstream adds an option beside the one that local changed",
        widget("first", "--level=1", "last"),
        widget("first", "--new", "--level=1", "last"),
        widget("first", "--level=2", "last"),
        widget("first", "--new", "--level=1", "last"),
        "L3",
    ),
    row(
        "L3 both change an option and add one beside it",
        widget("first", "--level=1", "last"),
        widget("first", "--new", "--level=2", "last"),
        widget("first", "--level=3", "--own", "last"),
        widget("first", "--new", "--level=2", "last"),
        "L3",
    ),
    row(
        "L2 both add elements at one place: local's come first, and that is no conflict",
        widget("a", "b"),
        widget("a", "up", "b"),
        widget("a", "mine", "b"),
        widget("a", "mine", "up", "b"),
        on="fail",
    ),
    row(
        "L3 both add elements at one place, some of them alike",
        widget("a", "b"),
        widget("a", "both", "up", "b"),
        widget("a", "both", "b"),
        widget("a", "both", "up", "b"),
    ),
    row(
        "L3 both add an element of one name: it stands once",
        widget("{name: a}"),
        widget("{name: a}", "{name: n, v: 1, x: 1}"),
        widget("{name: a}", "{name: n, v: 1, y: 1}"),
        widget("{name: a}", "{name: n, v: 1, y: 1, x: 1}"),
    ),
    row(
        "L3 equal elements: each side changes another one",
        widget("x", "x", "x", "end"),
        widget("y", "x", "x", "end"),
        widget("x", "x", "x", "end", "own"),
        widget("y", "x", "x", "end", "own"),
    ),
    row(
        "L2 replaced elements come behind local's where nothing is left that they were beside",
        widget("A", "B", "C"),
        widget("A2", "B", "C"),
        widget("A", "C2"),
        "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  list:\n  - C2\n  - A2\n",
    ),
    row(
        "L3 an element of which each side changed half is a conflict, which refuses all",
        widget("{name: a, v: 1}", "b"),
        widget("{name: a, v: 2}", "b", "up"),
        widget("{name: a, v: 3}", "b"),
        widget("{name: a, v: 3}", "b"),
        "L3",
        on="fail",
    ),
    row(
        "L3 selectors of a function stay one value",
        {"Kptfile": kptfile("  - image: r/a:v1\n    selectors:\n    - kind: A\n      name: a\n")},
        {"Kptfile": kptfile("  - image: r/a:v1\n    selectors:\n    - kind: A\n      name: up\n")},
        {"Kptfile": kptfile("  - image: r/a:v1\n    selectors:\n    - kind: Mine\n      name: a\n")},
        {"Kptfile": kptfile("  - image: r/a:v1\n    selectors:\n    - kind: A\n      name: up\n")},
        "V4",
        says="(discarded from local: kind: Mine)",
    ),
    row(
        "L3 images of a Kustomization are known by their name",
        kustomization("images:\n- name: app\n  newTag: v1\n- name: db\n  newTag: v1\n"),
        kustomization("images:\n- name: db\n  newTag: v1\n- name: app\n  newTag: v2\n"),
        kustomization("images:\n- name: app\n  newTag: v1\n- name: db\n  newTag: mine\n"),
        kustomization("images:\n- name: db\n  newTag: mine\n- name: app\n  newTag: v2\n"),
    ),
    row(
        "L3 resources of a Kustomization are a set",
        kustomization("resources:\n- a.yaml\n- b.yaml\n"),
        kustomization("resources:\n- a.yaml\n- up.yaml\n- both.yaml\n"),
        kustomization("resources:\n- a.yaml\n- b.yaml\n- both.yaml\n- own.yaml\n"),
        kustomization("resources:\n- a.yaml\n- up.yaml\n- both.yaml\n- own.yaml\n"),
    ),
    row(
        "L2 an ending alone does not make files alike",
        kustomization("resources:\n- sa.yaml\n"),
        kustomization("resources:\n- sa.yaml\n- up.yaml\n"),
        kustomization("resources:\n- sa.yaml\n- own.yaml\n"),
        kustomization("resources:\n- sa.yaml\n- own.yaml\n- up.yaml\n"),
    ),
    row("L3 items of a List are resources", *ITEMS),
    row("L3 items of a list of a kind are resources", *(text.replace("List", "AList") for text in ITEMS)),
    row(
        "G items of a List that have a generateName are not there twice, as lines would have them",
        LIST + job("batch/v1"),
        LIST + job("jobs.example.com/v1", "  - up\n"),
        LIST + job("batch/v1", "  - mine\n"),
        LIST + job("batch/v1", "  - mine\n") + job("jobs.example.com/v1", "  - up\n"),
        "F5",
    ),
    row(
        "L3 items of a List merge by the schema of their kind",
        "apiVersion: v1\nkind: List\nitems:\n- " + pod(container()).replace("\n", "\n  ").rstrip(" "),
        "apiVersion: v1\nkind: List\nitems:\n- "
        + pod(container("web:v2"), container("side:v1", "side")).replace("\n", "\n  ").rstrip(" "),
        "apiVersion: v1\nkind: List\nitems:\n- "
        + pod(container("own:v1", "own"), container("mirror/web:v1")).replace("\n", "\n  ").rstrip(" "),
        "apiVersion: v1\nkind: List\nitems:\n- "
        + pod(container("own:v1", "own"), container("mirror/web:v2"), container("side:v1", "side"))
        .replace("\n", "\n  ")
        .rstrip(" "),
    ),
]


# ---- values ----------------------------------------------------------------------------------------------------------

NOTED = "  annotations: {x: y}\n"
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names:
    kind: Widget
    plural: widgets
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          a:
            type: string
            description: one
          b:
            type: string
            description: two
"""
VALUES = [
    row(
        "V6 a blank line that local removed makes no conflict",
        config_map("  run: |\n    #!/bin/sh\n    set -e\n\n    exec server --all   # really\n"),
        config_map("  run: |\n\n    exec server --all\n"),
        config_map("  run: |\n    #!/bin/sh\n    set -e\n    exec server --all   # really\n"),
        config_map("  run: |\n\n    exec server --all\n"),
    ),
    row(
        "C both made annotations null",
        *[
            config_map("  x: y\n", metadata=m)
            for m in (NOTED, "  annotations: null\n", "  annotations: null\n", "  annotations: null\n")
        ],
    ),
    row(
        "A upstream made annotations null",
        *[config_map("  x: y\n", metadata=m) for m in (NOTED, "  annotations: null\n", NOTED, "  annotations: null\n")],
    ),
    row(
        "B local made annotations null",
        *[config_map("  x: y\n", metadata=m) for m in (NOTED, NOTED, "  annotations: null\n", "  annotations: null\n")],
    ),
    row(
        "V3 upstream made annotations null, local changed another value",
        config_map("  x: y\n", metadata=NOTED),
        config_map("  x: y\n", metadata="  annotations: null\n"),
        config_map("  x: z\n", metadata=NOTED),
        config_map("  x: z\n", metadata="  annotations: null\n"),
    ),
    row(
        "V1 annotations are null on all sides",
        *[config_map(f"  x: {x}\n", metadata="  annotations: null\n") for x in (1, 2, 1, 2)],
    ),
    row(
        "V2 a definition of a type changed in two places",
        CRD,
        CRD.replace("one", "up"),
        CRD.replace("two", "mine"),
        CRD.replace("one", "up").replace("two", "mine"),
    ),
    row(
        "V9 an anchor whose value changes stays an anchor",
        config_map("  base: &b hello\n  two: *b\n"),
        config_map("  base: &b bye\n  two: *b\n"),
        config_map("  base: &b hello\n  two: *b\n  own: 1\n"),
        config_map("  base: &b bye\n  two: *b\n  own: 1\n"),
    ),
    row(
        "V9 a change that an anchor shares with its alias is written once, with its comment",
        "z: 1\nr: &s\n  m: 1\nq:\n  r: *s\n",
        "z: 2\nr: &s\n  # u\n  n: 1\n  m: 1\nq:\n  r: *s\n",
        "own: 1\nz: 1\nr: &s\n  m: 1\nq:\n  r: *s\n",
        "own: 1\nz: 2\nr: &s\n  # u\n  n: 1\n  m: 1\nq:\n  r: *s\n",
    ),
    row(
        "W1 odd line separators of an untouched value stay as they are",
        config_map('  x: y\n  s: "a\u2028b"\n'),
        config_map('  x: z\n  s: "a\u2028b"\n'),
        config_map('  x: y\n  s: "a\u2028b"\n  own: 1\n'),
        config_map('  x: z\n  s: "a\u2028b"\n  own: 1\n'),
    ),
    row(
        "V6 a text of fields merges by them, a comment goes with its field",
        config_map("  f: |\n    a: 1\n    b: 1\n    c: 1\n"),
        config_map("  f: |\n    a: 1\n    # up\n    b: 1\n    c: 2\n"),
        config_map("  f: |\n    a: 2\n    c: 1\n"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  f: |\n    a: 2\n    c: 2\n",
    ),
    row(
        "V6 a text that is JSON no more, and YAML by chance, merges by lines",
        config_map('  f.json: |\n    {\n      "a": 1\n    }\n'),
        config_map('  f.json: |\n    {\n      "a": 1\n      see below\n    }\n'),
        config_map('  f.json: |\n    {\n      "a": 1,\n      "b": 2\n    }\n'),
        config_map('  f.json: |\n    {\n      "a": 1\n      see below\n    }\n'),
        "V6",
    ),
    row(
        "R5 a file with a YAML directive is YAML",
        "%YAML 1.2\n---\n" + config_map("  x: 1\n  y: 1\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 2\n  y: 1\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 1\n  y: 3\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 2\n  y: 3\n"),
    ),
    *(
        row(
            f"V4 a key such as {key} is shown as YAML",
            *[config_map(f"  {key}: {value}\n") for value in ("one", "two", "three", "two")],
            "V4",
            says=f"data{path}: upstream changed it",
        )
        for key, path in (
            ("{b: [x, true], a: null}", '["{a: null, b: [x, true]}"]'),
            ("[1.5, {}]", '["[1.5, {}]"]'),
            ("true", ".true"),
        )
    ),
    row(
        "V4 conflicts name the values of all sides",
        config_map("  x: one\n"),
        config_map("  x: two\n"),
        config_map("  x: three\n"),
        config_map("  x: two\n"),
        "V4",
        says="data.x: upstream changed it, local changed it; upstream's value is kept "
        "(original one, upstream two, local three)",
    ),
]
LONE_DASH = pod("  - name: c\n    image: i\n")
FLOW = "  finalizers: [a, # one\n    b]\n"
LAYOUT = [
    row(
        "V8 a blank line that upstream added at the end of a file without comments",
        kustomization("resources:\n- a.yaml\ncomponents:\n- c\n"),
        kustomization("resources:\n- a.yaml\n- up.yaml\ncomponents:\n- c\n\n"),
        kustomization("resources:\n- a.yaml\n- own.yaml\ncomponents:\n- c\n"),
        kustomization("resources:\n- a.yaml\n- own.yaml\n- up.yaml\ncomponents:\n- c\n\n"),
    ),
    row(
        "V8 a comment below a lone dash is not written again",
        LONE_DASH,
        LONE_DASH.replace("  - name: c", "  -\n    # note\n    name: c"),
        LONE_DASH.replace("  name: p", "  name: p # mine"),
        LONE_DASH.replace("  - name: c", "  -\n    # note\n    name: c").replace("  name: p", "  name: p # mine"),
    ),
    row(
        "L4 a new element keeps its comments above blank lines",
        pod(container()),
        pod(container()) + "  # side\n\n  - name: side\n    env:\n    # first\n\n    - name: A\n",
        pod(container("web:v9")),
        pod(container("web:v9")) + "  # side\n\n  - name: side\n    env:\n    # first\n\n    - name: A\n",
    ),
    row(
        "W1 comments in a flow collection stay",
        config_map("  x: 1\n", metadata=FLOW),
        config_map("  x: 1\n", metadata=FLOW.replace("b]", "b, c]")),
        config_map("  x: 2\n", metadata=FLOW),
        config_map("  x: 2\n", metadata=FLOW.replace("b]", "b, c]")),
    ),
    row(
        "W2 where comments in a flow collection cannot stay, it is refused",
        config_map("  x: 1\n", metadata=FLOW),
        config_map("  x: 1\n", metadata=FLOW.replace("b]", "b, c]")),
        config_map("  x: 1\n", metadata=FLOW.replace("[a", "[own, a")),
        config_map("  x: 1\n", metadata=FLOW.replace("[a", "[own, a")),
        "W2",
        says="a.yaml: ConfigMap a: metadata.finalizers: cannot edit a collection in brackets with comments",
    ),
    row(
        "R5 a Kptfile of a subpackage that does not parse is not one that local removed",
        {"sub/Kptfile": kptfile()},
        {"sub/Kptfile": kptfile(info="info: {description: up}\n")},
        {"sub/Kptfile": kptfile().replace("metadata:", "metadata: [")},
        {"sub/Kptfile": kptfile(info="info: {description: up}\n").replace("metadata:", "metadata: [")},
        "R5",
    ),
]


@pytest.mark.parametrize("case", [*LISTS, *VALUES, *LAYOUT])
def test_lists_and_values(case: Case) -> None:
    assert_merges(case)
