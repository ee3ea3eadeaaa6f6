"""Merges of small packages that must come out as said, grouped by the rule that says so.

A row is three versions of a package, the text that must come out, and the rules of the conflicts that must be told.
A version is a mapping of paths to texts, or one text, which then is `a.yaml`. Merging again must change nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Tree
from krm_merge.packages.merge.trees import MergedTree, merge_trees

Texts = dict[str, str]
Row = Any


def row(
    name: str,
    original: str | Texts,
    upstream: str | Texts,
    local: str | Texts,
    expected: str | Texts,
    *conflicts: str,
    says: str = "",
    on: OnConflict = "upstream",
    smart: bool = False,
) -> Row:
    """`conflicts` are the rules of all warnings and errors, `says` is what a message must name."""
    versions = [texts if isinstance(texts, dict) else {"a.yaml": texts} for texts in (original, upstream, local)]
    wanted = expected if isinstance(expected, dict) else {"a.yaml": expected}
    return pytest.param(*versions, wanted, sorted(conflicts), says, on, smart, id=name)


def tree(texts: Texts) -> dict[str, File]:
    return {path: File(text.encode()) for path, text in texts.items()}


def merge(original: Tree, upstream: Tree, local: Tree, on: OnConflict, smart: bool) -> MergedTree:
    return merge_trees(original, upstream, local, PackageMerger(Policy(on), smart=smart))


# ---- texts -------------------------------------------------------------------------------------------------------


def config_map(data: str, name: str = "a", metadata: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{metadata}data:\n{data}"


def widget(*elements: str) -> str:
    """An object of which no schema is known, with a list."""
    lines = "".join(f"  - {element}\n" for element in elements)
    return f"apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  list:\n{lines}"


def pod(*containers: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n{more}  containers:\n{''.join(containers)}"


def container(image: str = "web:v1", name: str = "c", more: str = "") -> str:
    return f"  - name: {name}\n    image: {image}\n{more}"


def service(value: str, name: str = "web", namespace: str = "", port: int = 80, kind: str = "Service") -> str:
    inside = f"  namespace: {namespace}\n" if namespace else ""
    return (
        f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{inside}"
        f"spec:\n  type: {value}\n  selector:\n    app: web\n  ports:\n  - name: http\n    port: {port}\n"
    )


def deployment(replicas: int, image: str = "web:v1", name: str = "web") -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n"
        f"  template:\n    spec:\n      containers:\n      - name: c\n        image: {image}\n"
    )


def job(prefix: str, image: str) -> str:
    return f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: {prefix}-\nspec:\n  image: {image}\n"


def kptfile(*functions: str, info: str = "") -> str:
    lines = "".join(functions)
    pipeline = f"pipeline:\n  mutators:\n{lines}" if lines else ""
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n{info}{pipeline}"


def kustomization(fields: str, prefix: str = "") -> str:
    name = f"namePrefix: {prefix}-\n" if prefix else ""
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{name}{fields}"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


# ---- lists without keys ------------------------------------------------------------------------------------------

RULES = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n" + "".join(
    f"- {{apiGroups: [{group}], resources: [x], verbs: [get]}}\n" for group in "abcd"
)
INGRESS = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web\nspec:\n  rules:\n  - host: example.com\n"
    "    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend:\n          service:\n"
    "            name: web\n            port:\n              number: 80\n"
)
WEAK_KEYS = [
    row(
        f"L3 elements are known by {key}, if each has one of its own",
        widget(f"{{{key}: a, v: 1}}", f"{{{key}: b, v: 1}}"),
        widget(f"{{{key}: b, v: 2}}", f"{{{key}: a, v: 1}}"),
        widget(f"{{{key}: a, v: 3}}", f"{{{key}: b, v: 1}}"),
        widget(f"{{{key}: b, v: 2}}", f"{{{key}: a, v: 3}}"),
    )
    for key in ("name", "host", "path", "id", "key", "target")
]
LISTS = [
    row(
        "L1 each side changes another element of a keyed list",
        pod(container(), container(name="d")),
        pod(container("web:v2"), container(name="d")),
        pod(container(), container("own:v3", name="d")),
        pod(container("web:v2"), container("own:v3", name="d")),
    ),
    row(
        "L1 a key field that is null counts as its default",
        service("A"),
        service("A", port=80).replace("port: 80", "port: 80\n    targetPort: up"),
        service("A").replace("port: 80", "port: 80\n    protocol: null"),
        service("A").replace("port: 80", "port: 80\n    protocol: null\n    targetPort: up"),
    ),
    *WEAK_KEYS,
    row(
        "L3 one side changes the first element, the other the second",
        RULES,
        RULES.replace("[a], resources: [x]", "[a], resources: [up]"),
        RULES.replace("[b], resources: [x]", "[b], resources: [mine]"),
        RULES.replace("[a], resources: [x]", "[a], resources: [up]").replace(
            "[b], resources: [x]", "[b], resources: [mine]"
        ),
    ),
    row(
        "L3 both change the first element, and local's own one stays",
        RULES,
        RULES.replace("[a], resources: [x]", "[a], resources: [up]"),
        RULES.replace("[a], resources: [x]", "[a], resources: [mine]") + "- {apiGroups: [own]}\n",
        RULES.replace("[a], resources: [x]", "[a], resources: [up]") + "- {apiGroups: [own]}\n",
        "L3",
        says="rules[0].resources[0]: upstream changed it, local changed it; upstream's value is kept "
        "(original x, upstream up, local mine)",
    ),
    row(
        "L3 both change the first element, local is preferred, and upstream's new one comes",
        RULES,
        RULES.replace("[a], resources: [x]", "[a], resources: [up]") + "- {apiGroups: [new]}\n",
        RULES.replace("[a], resources: [x]", "[a], resources: [mine]"),
        RULES.replace("[a], resources: [x]", "[a], resources: [mine]") + "- {apiGroups: [new]}\n",
        "L3",
        on="local",
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
        says="spec.list[0].v: upstream changed it, local changed it; upstream's value is kept "
        "(original 1, upstream 2, local 3)",
    ),
    row(
        "L3 where a name stands twice the most alike elements are one",
        widget("{name: a, v: 1, w: 1}", "{name: a, v: 7, w: 7}", "{name: c}"),
        widget("{name: a, v: 1, w: 2}", "{name: a, v: 7, w: 7}", "{name: c}"),
        widget("{name: c}", "{name: a, v: 1, w: 1}", "{name: a, v: 7, w: 8}"),
        widget("{name: c}", "{name: a, v: 1, w: 2}", "{name: a, v: 7, w: 8}"),
    ),
    row(
        "L3 elements that are alike in nothing are one by their position",
        widget("first", "b", "last"),
        widget("first", "up", "last", "end"),
        widget("first", "mine", "last"),
        widget("first", "up", "last", "end"),
        "L3",
        says="spec.list[1]: upstream changed it, local changed it; upstream's value is kept "
        "(original b, upstream up, local mine)",
    ),
    row(
        "L3 upstream adds an element beside the one that local changed",
        widget("first", "--level=1", "last"),
        widget("first", "--new", "--level=1", "last"),
        widget("first", "--level=2", "last"),
        widget("first", "--new", "--level=2", "last"),
    ),
    row(
        "L3 both change an option and add one beside it",
        widget("first", "--level=1", "last"),
        widget("first", "--new", "--level=2", "last"),
        widget("first", "--level=3", "--own", "last"),
        widget("first", "--new", "--level=2", "--own", "last"),
        "L3",
        says="(original --level=1, upstream --level=2, local --level=3)",
    ),
    row(
        "L3 upstream removes an element that local left alone",
        widget("a", "b", "c"),
        widget("a", "c"),
        widget("a", "b", "c", "own"),
        widget("a", "c", "own"),
    ),
    row(
        "F5 upstream removes an element that local changed: it stays",
        widget("{name: a, v: 1}", "{name: b, v: 1}"),
        widget("{name: b, v: 1}"),
        widget("{name: a, v: 2}", "{name: b, v: 1}"),
        widget("{name: a, v: 2}", "{name: b, v: 1}"),
        "F5",
        says="spec.list[0]: upstream removed it, local changed it; local's is kept",
    ),
    row(
        "F5 local removes an element that upstream changed: it remains removed",
        widget("{name: a, v: 1}", "{name: b, v: 1}"),
        widget("{name: a, v: 2}", "{name: b, v: 1}"),
        widget("{name: b, v: 1}"),
        widget("{name: b, v: 1}"),
        "F5",
        says="local removed it, upstream changed it; it remains removed (discarded from upstream: v: 2)",
    ),
    row(
        "L3 both add elements at one place: local's come first, and that is no conflict",
        widget("a", "b"),
        widget("a", "up", "b"),
        widget("a", "mine", "b"),
        widget("a", "mine", "up", "b"),
        says="spec.list: upstream and local added elements at the same place; local's come before upstream's",
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
        "L3 both replace an element by several others: a conflict of these alone",
        widget("a", "old", "z"),
        widget("a", "up", "upper", "z", "end"),
        widget("own", "a", "mine", "z"),
        widget("own", "a", "up", "upper", "z", "end"),
        "L3",
    ),
    row(
        "L3 equal elements: each side changes another one",
        widget("x", "x", "x", "end"),
        widget("y", "x", "x", "end"),
        widget("x", "x", "x", "end", "own"),
        widget("y", "x", "x", "end", "own"),
    ),
    row(
        "H equal elements: each side changes another of them, which lines settle",
        widget("x", "x", "x"),
        widget("y", "x", "x"),
        widget("x", "x", "z"),
        widget("y", "x", "z"),
    ),
    row(
        "L3 a list that cannot be merged so that it stays what it is, is one value",
        widget("a", "b"),
        widget("a"),
        widget("b"),
        widget("a"),
        "L3",
    ),
    row(
        "L3 lists inside of elements merge, too",
        widget("[1, 2]", "[3]"),
        widget("[1, 5]", "[3]"),
        widget("[0, 2]", "[3]"),
        widget("[0, 5]", "[3]"),
    ),
    row(
        "L3 a conflict inside of an element refuses all",
        widget("{name: a, v: 1}", "b"),
        widget("{name: a, v: 2}", "b", "up"),
        widget("{name: a, v: 3}", "b"),
        widget("{name: a, v: 3}", "b"),
        "V4",
        says="spec.list[0].v: upstream changed it, local changed it; refused by onConflict: fail",
        on="fail",
    ),
    row(
        "L3 a scalar that both changed under onConflict: local",
        widget("a", "b", "c"),
        widget("a", "up", "c", "end"),
        widget("a", "mine", "c"),
        widget("a", "mine", "c", "end"),
        "L3",
        on="local",
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
        "L3 items of a List are resources",
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: 1\n"
        "- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: 1\n",
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: 1\n"
        "- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: up\n",
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: 1\n"
        "- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: mine\n",
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n  metadata: {name: b}\n  x: mine\n"
        "- kind: A\n  apiVersion: v1\n  metadata: {name: a}\n  x: up\n",
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

# ---- values ------------------------------------------------------------------------------------------------------

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
        "W1 odd line separators of an untouched value stay as they are",
        config_map('  x: y\n  s: "a\u2028b"\n'),
        config_map('  x: z\n  s: "a\u2028b"\n'),
        config_map('  x: y\n  s: "a\u2028b"\n  own: 1\n'),
        config_map('  x: z\n  s: "a\u2028b"\n  own: 1\n'),
    ),
    row(
        "R5 a file with a YAML directive is YAML",
        "%YAML 1.2\n---\n" + config_map("  x: 1\n  y: 1\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 2\n  y: 1\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 1\n  y: 3\n"),
        "%YAML 1.2\n---\n" + config_map("  x: 2\n  y: 3\n"),
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
        "V8 a comment below a lone dash is not written again",
        LONE_DASH,
        LONE_DASH.replace("  - name: c", "  -\n    # note\n    name: c"),
        LONE_DASH.replace("  name: p", "  name: p # mine"),
        LONE_DASH.replace("  - name: c", "  -\n    # note\n    name: c").replace("  name: p", "  name: p # mine"),
    ),
    row(
        "L5 a new element keeps its comments above blank lines",
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
        "W2 where comments in a flow collection cannot stay, that is told",
        config_map("  x: 1\n", metadata=FLOW),
        config_map("  x: 1\n", metadata=FLOW.replace("b]", "b, c]")),
        config_map("  x: 1\n", metadata=FLOW.replace("[a", "[own, a")),
        config_map("  x: 1\n", metadata="  finalizers: [own, a, b, c]\n"),
        "W2",
        says="comments and layout of this resource may have changed",
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

# ---- images ------------------------------------------------------------------------------------------------------

DIGEST = "@sha256:" + "0" * 64


def images(name: str, original: str, upstream: str, local: str, expected: str, *conflicts: str) -> Row:
    return row(f"V10 {name}", *[pod(container(image)) for image in (original, upstream, local, expected)], *conflicts)


IMAGES = [
    images(
        "local's registry, upstream's tag", "quay.io/a/web:v1", "quay.io/a/web:v2", "own.io/a/web:v1", "own.io/a/web:v2"
    ),
    images(
        "local's tag, upstream's registry", "quay.io/a/web:v1", "new.io/a/web:v1", "quay.io/a/web:v3", "new.io/a/web:v3"
    ),
    images("a digest is part of the version", "web:v1", f"web:v2{DIGEST}", "own.io/web:v1", f"own.io/web:v2{DIGEST}"),
    images("a digest instead of a tag", "web:v1", f"web{DIGEST}", "own.io/web:v1", f"own.io/web{DIGEST}"),
    images("a port is part of the registry", "a:5000/web:v1", "a:5000/web:v2", "b:6000/web:v1", "b:6000/web:v2"),
    images("a port and no tag", "a:5000/web", "a:5000/web:v2", "b:6000/web", "b:6000/web:v2"),
    images("both raised the tag", "web:v1", "web:v2", "web:v3", "web:v2", "V4"),
    images("both moved the registry", "web:v1", "a.io/web:v1", "b.io/web:v1", "a.io/web:v1", "V4"),
    images("both moved it, one raised the tag", "web:v1", "a.io/web:v2", "b.io/web:v1", "a.io/web:v2", "V4"),
    images("a tag and a digest of one tag", "web:v1", f"web:v1{DIGEST}", "web:v2", f"web:v1{DIGEST}", "V4"),
    row(
        "V10 images of init containers",
        *[
            pod(container(), more=f"  initContainers:\n  - name: i\n    image: {i}\n")
            for i in ("a/i:1", "a/i:2", "b/i:1", "b/i:2")
        ],
    ),
    row(
        "V10 images of functions",
        {"Kptfile": kptfile("  - name: f\n    image: gcr.io/f:v1\n")},
        {"Kptfile": kptfile("  - name: f\n    image: gcr.io/f:v2\n")},
        {"Kptfile": kptfile("  - name: f\n    image: own.io/f:v1\n")},
        {"Kptfile": kptfile("  - name: f\n    image: own.io/f:v2\n")},
    ),
    row(
        "V10 no other field of that name is an image",
        *[config_map(f"  image: {i}\n") for i in ("a/i:1", "a/i:2", "b/i:1", "a/i:2")],
        "V4",
    ),
]

# ---- functions ---------------------------------------------------------------------------------------------------

FIRST = "  - image: r/apply-setters:v0.2\n    configPath: s.yaml\n"
THEIRS = "  - image: r/set-labels:v0.2\n    configMap:\n      tier: backend\n    selectors:\n    - kind: Deployment\n"
OURS = "  - image: r/set-labels:v0.2\n    configMap:\n      cost-center: cc\n"


def functions(
    name: str,
    original: tuple[str, ...],
    upstream: tuple[str, ...],
    local: tuple[str, ...],
    expected: tuple[str, ...],
    *conflicts: str,
    **options: Any,
) -> Row:
    before, theirs, ours, wanted = ({"Kptfile": kptfile(*side)} for side in (original, upstream, local, expected))
    return row(name, before, theirs, ours, wanted, *conflicts, **options)


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
        "F7 two functions of one image, refused",
        (FIRST,),
        (FIRST, THEIRS),
        (FIRST, OURS),
        (FIRST, OURS),
        "F7",
        on="fail",
    ),
    functions(
        "F7 two functions of one name are one conflict",
        ("  - name: a\n    image: r/a:v1\n",),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/up:v1\n"),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/mine:v1\n"),
        ("  - name: a\n    image: r/a:v1\n", "  - name: n\n    image: r/up:v1\n"),
        "F7",
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
    functions("F7 smart: equal functions are one", (FIRST,), (FIRST, OURS), (FIRST, OURS), (FIRST, OURS), smart=True),
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

# ---- which resource is which -------------------------------------------------------------------------------------

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
        "R1 each side changes another overlay",
        OVERLAYS,
        OVERLAYS | overlay("dev", 2),
        OVERLAYS | overlay("prod", 10),
        BASE | overlay("dev", 2) | overlay("prod", 10),
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
        | {"overlays/prod/patch.yaml": deployment(10, "web:v2")},
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
        "R1 upstream moved a file that local changed: it stays where it is",
        {"a.yaml": config_map("  x: 1\n  y: 1\n")},
        {"conf/a.yaml": config_map("  x: 2\n  y: 1\n")},
        {"a.yaml": config_map("  x: 1\n  y: 3\n")},
        {"a.yaml": config_map("  x: 2\n  y: 3\n")},
    ),
    row(
        "R1 upstream moved a document to the end of another file, where local changed it",
        {"a.yaml": config_map("  x: 1\n  y: 1\n")},
        {"all.yaml": documents(config_map("  n: 1\n", "new"), config_map("  x: 2\n  y: 1\n"))},
        {"a.yaml": config_map("  x: 1\n  y: 3\n")},
        {"a.yaml": config_map("  x: 2\n  y: 3\n"), "all.yaml": config_map("  n: 1\n", "new")},
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
        "R1 both renamed a resource alike",
        service("ClusterIP", name="dns"),
        service("NodePort", name="core-dns"),
        service("ClusterIP", name="core-dns", port=8080),
        service("NodePort", name="core-dns", port=8080),
    ),
    row(
        "R1 both renamed a resource, each in its own way",
        service("ClusterIP", name="dns"),
        service("NodePort", name="core-dns"),
        service("ClusterIP", name="mine", port=8080),
        service("NodePort", name="core-dns", port=8080),
        "V4",
        says="metadata.name: upstream changed it, local changed it; upstream's value is kept "
        "(original dns, upstream core-dns, local mine)",
    ),
    row(
        "R1 upstream renamed a resource and moved it: not sure enough, and the likely rename is named",
        {"dns.yaml": service("ClusterIP", name="dns")},
        {"core.yaml": service("NodePort", name="core-dns")},
        {"dns.yaml": service("ClusterIP", name="dns", port=8080)},
        {
            "dns.yaml": service("ClusterIP", name="dns", port=8080),
            "core.yaml": service("NodePort", name="core-dns"),
        },
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
        "R1",
    ),
    row(
        "R1 a resource of another name that is not alike is another one",
        config_map("  a: 1\n  b: 2\n", "old"),
        config_map("  y: 8\n  z: 9\n", "new"),
        config_map("  a: 1\n  b: 3\n", "old"),
        documents(config_map("  a: 1\n  b: 3\n", "old"), config_map("  y: 8\n  z: 9\n", "new")),
        "F5",
    ),
    row(
        "R1 a resource whose kind changed in its place",
        service("ClusterIP"),
        service("ClusterIP", kind="Gateway"),
        service("NodePort"),
        service("NodePort", kind="Gateway"),
    ),
    row(
        "R1 the order of two that are renamed alike does not matter",
        documents(config_map("  a: 1\n  b: 1\n  c: 1\n", "x"), config_map("  r: 5\n  s: 5\n  t: 5\n", "y")),
        documents(config_map("  r: 5\n  s: 5\n  t: 5\n", "up-y"), config_map("  a: 1\n  b: 1\n  c: 1\n", "up-x")),
        documents(config_map("  a: 1\n  b: 1\n  c: 3\n", "x"), config_map("  r: 5\n  s: 5\n  t: 7\n", "y")),
        documents(config_map("  r: 5\n  s: 5\n  t: 7\n", "up-y"), config_map("  a: 1\n  b: 1\n  c: 3\n", "up-x")),
    ),
]

# ---- documents of a file -----------------------------------------------------------------------------------------


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
    row(
        "R2 upstream removes a document that local changed",
        maps("a1", "b1"),
        maps("a1"),
        maps("a1", "b2"),
        maps("a1", "b2"),
        "F5",
    ),
    row(
        "R2 local removes a document that upstream changed",
        maps("a1", "b1"),
        maps("a1", "b2"),
        maps("a1"),
        maps("a1"),
        "F5",
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
    row(
        "R2 upstream removes the file of a resource that local changed",
        {"a.yaml": maps("a1"), "b.yaml": maps("b1")},
        {"a.yaml": maps("a1")},
        {"a.yaml": maps("a1"), "b.yaml": maps("b2")},
        {"a.yaml": maps("a1"), "b.yaml": maps("b2")},
        "F5",
    ),
]

# ---- files that hold no resource ---------------------------------------------------------------------------------


def other(
    name: str, path: str, original: str, upstream: str, local: str, expected: str, *conflicts: str, **options: Any
) -> Row:
    before, theirs, ours, wanted = ({path: text} for text in (original, upstream, local, expected))
    return row(f"R4 {name}", before, theirs, ours, wanted, *conflicts, **options)


JSON = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j"},"data":{"a":"1","b":"1"}}\n'
INDENTED = '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ],\n  "c": 3\n}\n'
OTHERS = [
    other(
        "both add one value in different places: it stands once",
        "values.yaml",
        "a: 1\nb: 2\nc: 3\n",
        "a: 1\nb: 2\nc: 3\ndebug: false\n",
        "debug: true\na: 1\nb: 2\nc: 3\n",
        "debug: false\na: 1\nb: 2\nc: 3\n",
        "V4",
    ),
    other(
        "values merge by fields where lines overlap",
        "values.yaml",
        "a: 1\nb: 2\n",
        "a: 5\nb: 2\n",
        "a: 1\nb: 7\n",
        "a: 5\nb: 7\n",
    ),
    other(
        "values of a chart deep inside",
        "values.yaml",
        "image:\n  tag: v1\n  pull: Always\nextra: []\n",
        "image:\n  tag: v2\n  pull: Always\nextra: []\n",
        "image:\n  tag: v1\n  pull: Never\nextra: [own]\n",
        "image:\n  tag: v2\n  pull: Never\nextra: [own]\n",
    ),
    other(
        "a value that both changed",
        "values.yaml",
        "a: 1\nb: 2\n",
        "a: 5\nb: 2\n",
        "a: 6\nb: 2\n",
        "a: 5\nb: 2\n",
        "V4",
        says="a: upstream changed it, local changed it; upstream's value is kept (original 1, upstream 5, local 6)",
    ),
    other(
        "a value that both changed, refused",
        "values.yaml",
        "a: 1\nb: 2\n",
        "a: 5\nb: 3\n",
        "a: 6\nb: 2\n",
        "a: 6\nb: 2\n",
        "V4",
        on="fail",
    ),
    other(
        "comments of values merge",
        "values.yaml",
        "# one\na: 1\nb: 2\n",
        "# up\na: 1\nb: 2\n",
        "# one\na: 1\nb: 7\n",
        "# up\na: 1\nb: 7\n",
    ),
    other(
        "a kustomization without kind: its lists are known",
        "kustomization.yaml",
        "images:\n- name: x\n  newTag: v1\n- name: y\n  newTag: v1\nresources:\n- a.yaml\n",
        "images:\n- name: y\n  newTag: v1\n- name: x\n  newTag: v2\nresources:\n- a.yaml\n- b.yaml\n",
        "images:\n- name: x\n  newTag: v1\n- name: y\n  newTag: own\nresources:\n- own.yaml\n- a.yaml\n",
        "images:\n- name: y\n  newTag: own\n- name: x\n  newTag: v2\nresources:\n- own.yaml\n- a.yaml\n- b.yaml\n",
    ),
    other(
        "a kustomization that gets apiVersion and kind",
        "kustomization.yaml",
        "bases:\n- ../crds\n- ../base\n",
        kustomization("\nbases:\n- ../base\n- ../role\n\nresources:\n- x.yaml\n"),
        "bases:\n- ../crds\n# mine\n- ../base\n",
        kustomization("bases:\n# mine\n- ../base\n- ../role\nresources:\n- x.yaml\n"),
    ),
    other(
        "a resource in a JSON file merges by fields",
        "c.json",
        JSON,
        JSON.replace('"a":"1"', '"a":"2"'),
        JSON.replace('"b":"1"', '"b":"3"'),
        JSON.replace('"a":"1"', '"a":"2"').replace('"b":"1"', '"b":"3"'),
    ),
    other(
        "JSON without a resource merges by fields",
        "d.json",
        INDENTED,
        INDENTED.replace('"a": 1', '"a": 5'),
        INDENTED.replace('"c": 3', '"c": 7, "d": 8'),
        INDENTED.replace('"a": 1', '"a": 5').replace('"c": 3', '"c": 7, "d": 8'),
    ),
    other(
        "JSON keeps its lines",
        "d.json",
        INDENTED,
        INDENTED.replace("    2\n", "    2,\n    3\n"),
        INDENTED.replace('"a": 1', '"a": 5'),
        INDENTED.replace("    2\n", "    2,\n    3\n").replace('"a": 1', '"a": 5'),
    ),
    other(
        "JSON: both change neighbours",
        "d.json",
        '{"a": 1, "b": 1}\n',
        '{"a": 2, "b": 1}\n',
        '{"a": 1, "b": 2}\n',
        '{"a": 2, "b": 2}\n',
    ),
    other("text merges by lines", "README.md", "a\nb\nc\nd\n", "up\nb\nc\nd\n", "a\nb\nc\nmine\n", "up\nb\nc\nmine\n"),
    other(
        "text that both changed in one line", "README.md", "a\nb\nc\n", "a\nup\nc\n", "a\nmine\nc\n", "a\nup\nc\n", "R4"
    ),
    other(
        "a template merges by lines",
        "templates/t.yaml",
        "{{- if .a }}\na: 1\nb: 1\nc: 1\n{{- end }}\n",
        "{{- if .up }}\na: 1\nb: 1\nc: 1\n{{- end }}\n",
        "{{- if .a }}\na: 1\nb: 1\nc: 3\n{{- end }}\n",
        "{{- if .up }}\na: 1\nb: 1\nc: 3\n{{- end }}\n",
        "R5",
    ),
    other(
        "keys that are no text are named as they are written",
        "t.yaml",
        "a: {{ .x }}\nb: 1\n",
        "a: {{ .x }}\nb: 2\n",
        "a: {{ .x }}\nb: 1\nc: 3\n",
        "a: {{ .x }}\nb: 2\nc: 3\n",
    ),
    other(
        "a last line without a line break is another line, as for git",
        "README.md",
        "a\nb\nc\n",
        "up\nb\nc\n",
        "a\nb\nc",
        "up\nb\nc",
    ),
    other(
        "what both added at one place is kept, and named so",
        "README.md",
        "a\n",
        "a\nup\n",
        "a\nmine\n",
        "a\nmine\nup\n",
        "R4",
        says="both are kept, local's first",
    ),
    row(
        "R4 a text that both sides added has its common lines once",
        {},
        {"README.md": "# a\nup\nb\n"},
        {"README.md": "# a\nb\nmine\n"},
        {"README.md": "# a\nup\nb\nmine\n"},
    ),
    row(
        "R4 a text that both sides added with other lines",
        {},
        {"README.md": "# a\nup\nb\n"},
        {"README.md": "# a\nmine\nb\n"},
        {"README.md": "# a\nup\nb\n"},
        "R4",
    ),
    row(
        "R4 values that both sides added merge by fields",
        {},
        {"values.yaml": "a: 1\nb: 2\nd: up\n"},
        {"values.yaml": "a: 1\nc: 3\nd: mine\n"},
        {"values.yaml": "a: 1\nc: 3\nb: 2\nd: up\n"},
        "V4",
    ),
    other(
        "values of which both sides removed the rest",
        "values.yaml",
        "a: 1\nb: 2\n",
        "a: 1\n",
        "b: 2\n",
        "{}\n",
    ),
    other(
        "a comment at the separator",
        "values.yaml",
        "---\na: 1\nb: 2\n",
        "--- # up\na: 1\nb: 2\n",
        "---\na: 1\n",
        "--- # up\na: 1\n",
    ),
    row(
        "F5 a file that upstream removed and local changed",
        {"README.md": "a\n"},
        {},
        {"README.md": "a\nmine\n"},
        {"README.md": "a\nmine\n"},
        "F5",
    ),
    row(
        "F5 a file that local removed and upstream changed",
        {"README.md": "a\n"},
        {"README.md": "a\nup\n"},
        {},
        {},
        "F5",
    ),
]

# ---- byte for byte -----------------------------------------------------------------------------------------------

A, B = config_map("  x: y\n"), config_map("  x: y\n", "b")
INFO = "info:\n  description: x\n"


def same(name: str, before: str | Texts, now: str | Texts) -> Row:
    """Local left the original alone."""
    return row(f"W1 {name}", before, now, before, now)


BYTES = [
    same("a licence header above a blank line", "# 2020\n\n" + A, "# 2024\n\n" + A),
    same("a header of the second document", documents(A, B), documents(A, "# new\n\n" + B)),
    same("a document in front", A, documents(B, A)),
    same("other order of documents", documents(A, B), documents(B, A)),
    same("a leading separator", A, "---\n" + A),
    same("no leading separator", "---\n" + A, A),
    same("a trailing separator", A, A + "---\n"),
    same("no final line end", A, A[:-1]),
    same("comments on separators", documents(A, B), A + "--- # b\n" + B),
    same("an empty document between", documents(A, B), documents(A, "# nothing\n", B)),
    same("other layout", A, A.replace("x: y", 'x:   "y"  # why')),
    same("other order of fields", config_map("  a: 1\n  b: 2\n"), config_map("  b: 2\n  a: 1\n")),
    same(
        "flow style",
        config_map("  a: 1\n  b: 2\n"),
        config_map("  a: 1\n  b: 2\n").replace("data:\n  a: 1\n  b: 2\n", "data: {a: 1, b: 2}\n"),
    ),
    same("other line ends", A, A.replace("\n", "\r\n")),
    same("a byte order mark", A, "\ufeff" + A),
    same("anchors", config_map("  a: 1\n  b: 1\n"), config_map("  a: &x 1\n  b: *x\n")),
    same("a renamed file", {"a.yaml": A}, {"b.yaml": A}),
    same("a renamed file with other text", {"a.yaml": A}, {"conf/b.yaml": "# new\n" + A.replace("y\n", "z\n")}),
    same("a split file", {"a.yaml": documents(A, B)}, {"a.yaml": A, "b.yaml": B}),
    same("files put together", {"a.yaml": A, "b.yaml": B}, {"a.yaml": "# all\n" + documents(A, B)}),
    same("a renamed resource", A, A.replace("name: a", "name: z")),
    same("another kind", A, A.replace("ConfigMap", "Secret")),
    same("values", {"values.yaml": "a: 1\n"}, {"values.yaml": "# v\n\na:   2\n"}),
    same("a JSON file", {"c.json": JSON}, {"c.json": JSON.replace(",", ", ")}),
    same(
        "a Kptfile", {"Kptfile": kptfile(info=INFO)}, {"Kptfile": kptfile(info='info:\n  # c\n\n  description: "y"\n')}
    ),
    same("a file that goes", {"a.yaml": A, "b.yaml": B}, {"b.yaml": B}),
    same("comments alone are left", {"a.yaml": "# head\n\n" + A}, {"a.yaml": "# head\n"}),
]

ROWS = [*LISTS, *VALUES, *LAYOUT, *IMAGES, *FUNCTIONS, *IDENTITY, *DOCUMENTS, *OTHERS, *BYTES]


def test_names_of_rows_are_unique() -> None:
    names = [row.id for row in ROWS]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(("original", "upstream", "local", "expected", "conflicts", "says", "on", "smart"), ROWS)
def test_row(
    original: Texts,
    upstream: Texts,
    local: Texts,
    expected: Texts,
    conflicts: list[str],
    says: str,
    on: OnConflict,
    smart: bool,
) -> None:
    before, theirs, ours = tree(original), tree(upstream), tree(local)
    merged = merge(before, theirs, ours, on, smart)
    found = {path: file.data.decode() for path, file in Changed(ours, merged.changes).items()}
    told = [(result.severity, result.rule, result.message) for result in merged.results]
    assert found == expected, told
    assert sorted(str(rule) for severity, rule, _ in told if severity != "info") == conflicts, told
    assert any(says in message for _, _, message in told) or not says, told
    # Law D, also where a conflict was refused.
    again = merge(before, theirs, tree(found), on, smart)
    assert again.changes == {}
