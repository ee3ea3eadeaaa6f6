"""Three versions with a conflict of every nature, and Secrets in every form."""

from __future__ import annotations

import json

from checkout import ROOT
from krm_merge import DecisionRecord, MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import Nature

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "decisions.json").read_text(encoding="utf-8"))
"""The schema of a report as JSON."""
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline:\n  mutators:\n"


def containers(*names_and_images: str) -> str:
    pairs = (pair.partition("=") for pair in names_and_images)
    items = "".join(f"      - name: {name}\n        image: {image}\n" for name, _, image in pairs)
    return DEPLOYMENT + "      containers:\n" + items


def functions(*images: str) -> str:
    return KPTFILE + "".join(f"  - image: {image}\n" for image in images)


CASES: dict[Nature, tuple[str, str | None, str | None, str | None]] = {
    "value": ("c.yaml", HEAD + "data: {a: b}\n", HEAD + "data: {a: c}\n", HEAD + "data: {a: d}\n"),
    "kind": ("w.yaml", WIDGET + "spec: 1\n", WIDGET + "spec: [2]\n", WIDGET + "spec: {a: 3}\n"),
    "text": (
        "c.yaml",
        HEAD + "data:\n  f: |\n    a\n    b\n    c\n",
        HEAD + "data:\n  f: |\n    a\n    u\n    c\n",
        HEAD + "data:\n  f: |\n    a\n    l\n    c\n",
    ),
    "order": (
        "d.yaml",
        containers("a=a", "b=b", "c=c"),
        containers("c=c", "b=b", "a=a"),
        containers("b=b", "a=a", "c=c"),
    ),
    "sequence": ("w.yaml", WIDGET + "spec: [a, a, b]\n", WIDGET + "spec: [a, a, x]\n", WIDGET + "spec: [a, a, p, q]\n"),
    "element": ("d.yaml", containers("a=a", "b=b"), containers("a=a"), containers("a=a", "b=other")),
    "resource": ("c.yaml", HEAD + "data: {a: b}\n", None, HEAD + "data: {a: d}\n"),
    "alternative": (
        "k",
        functions("a") + "    configMap: {x: y}\n",
        functions("a") + "    configMap: {x: z}\n",
        functions("a") + "    configPath: f.yaml\n",
    ),
    "functions": (
        "k",
        functions("a:1", "a:2") + "    configMap: {x: y}\n",
        functions("a:1", "a:3") + "    configMap: {x: y}\n",
        functions("a:1", "a:4") + "    configMap: {x: y}\n",
    ),
    "file": ("README.md", "a\nb\nc\n", "a\nu\nc\n", "a\nl\nc\n"),
    "reference": (
        "d.yaml",
        containers("a=a") + "---\n" + HEAD,
        containers("a=a"),
        containers("a=a") + "        envFrom:\n        - configMapRef: {name: c}\n---\n" + HEAD,
    ),
    "added-twice": ("c.yaml", HEAD + "data: {x: y}\n", HEAD + "data: {x: y, a: c}\n", HEAD + "data: {x: y, a: d}\n"),
}


def merged_case(nature: Nature, **options: object) -> MergedPackage:
    name, *texts = CASES[nature]
    sides = [
        {"keep.txt": b"", **({} if text is None else {"Kptfile" if name == "k" else name: text.encode()})}
        for text in texts
    ]
    if nature == "functions":
        options["function_identity"] = "document"
    return merge_packages(sides[0], sides[1], sides[2], **options)  # type: ignore[arg-type]


def conflicts(merged: MergedPackage) -> list[DecisionRecord]:
    return [record for record in merged.records if record.status != "automatic"]


SECRETS = {
    "a Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: VALUE\n",
    "of several lines": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: |\n    VALUE\n    b\n",
    "a List": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n"
    "  stringData: {p: VALUE}\n",
    "a generator": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nsecretGenerator:\n- name: s\n"
    "  literals: [VALUE]\n",
    "a text": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: VALUE}\nbroken: [\n",
    "a comment": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: VALUE # VALUE\n",
}
