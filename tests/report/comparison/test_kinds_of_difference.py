"""Packages with one kind of difference each: what the comparison says of it, as JSON and as text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import pytest

from checkout import ROOT
from krm_merge.packages.files.tree import File
from krm_merge.report.comparison.difference import HEADINGS
from krm_merge.report.forms import FORMS, as_json, render_document
from krm_merge.report.forms.terminal import comparison_lines
from report.comparison.packages import Package, kptfile_at

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "comparison.json").read_text(encoding="utf-8"))
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # ours
  annotations:
    team: shop
spec:
  # how many
  replicas: 1
  paused: "false"

  template:
    spec:
      hostAliases: [{ip: 10.0.0.1}]
      containers:
      - name: web
        image: web:1 # kpt-set: web:${tag}
        args:
        - --one
        - --two
      - name: log
        image: log:1
        command: >-
          run
          it
# the end
"""
OLD = {"d.yaml": WEB}
NEW = WEB.replace("web:1", "web:2")
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: b\n"
LATER = CONFIG.replace("a: b", "a: c")
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: web-\nspec:\n  b: 1\n"
BUCKET = """\
apiVersion: storage.cnrm.cloud.google.com/v1beta1
kind: StorageBucket
metadata:
  name: b
  annotations:
    cnrm.cloud.google.com/blueprint: kpt-pkg
spec:
  location: a
"""


@dataclass(frozen=True)
class Case:
    """A package, the findings of its comparison (what, where), and what is said of the layout and of lines."""

    package: Package
    findings: list[tuple[str, str]]
    layout: dict[str, int] = field(default_factory=dict)
    lines: dict[str, dict[str, int]] | None = None
    phrase: str = ""


def written(*replaced: tuple[str, str], phrase: str = "", lines: int = 0, **layout: int) -> Case:
    """A package of which upstream changed one line; kpt writes the same values otherwise."""
    text = NEW
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    kinds = {name.replace("_", " "): count for name, count in layout.items()}
    return Case(Package(OLD, {"d.yaml": NEW}, {}, {"d.yaml": text}), [("layout", "")], kinds, phrase=phrase)


def differing(finding: str, *replaced: tuple[str, str], path: str = "", phrase: str = "") -> Case:
    text = NEW
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return Case(Package(OLD, {"d.yaml": NEW}, {}, {"d.yaml": text}), [(finding, path)], phrase=phrase)


CASES: dict[str, Case] = {
    "the same bytes": Case(
        Package(OLD, {"d.yaml": NEW}),
        [],
        lines={"kpt": {"notes": 6, "upstream": 2}, "krm-merge": {"notes": 6, "upstream": 2}},
        phrase="the same package, byte for byte",
    ),
    # ---- layout
    "quotes that come": written(
        ("team: shop", "team: 'shop'"), quotes=1, phrase="kpt writes the same otherwise: quotes"
    ),
    "quotes that change": written(('"false"', "'false'"), quotes=1),
    "indentation of a list": written(
        ("      - name: web\n        image: web:2", "        - name: web\n          image: web:2"),
        ("        args:\n        - --one\n        - --two", "          args:\n          - --one\n          - --two"),
        ("      - name: log\n        image", "        - name: log\n          image"),
        ("        command: >-\n          run\n          it", "          command: >-\n            run\n            it"),
        spacing=9,
        phrase="spacing (9)",
    ),
    "spaces before a comment": written(("web # ours", "web  # ours"), spacing=1),
    "spaces behind a colon": written(("replicas: 1", "replicas:   1"), spacing=1),
    "a blank line less": written(('"false"\n\n', '"false"\n'), spacing=1),
    "a folded text in other lines": written(("run\n          it", "run it"), folding=1),
    "a folded text in one line": written((">-\n          run\n          it", "run it"), folding=1),
    "a flow mapping with spaces": written(("[{ip: 10.0.0.1}]", "[{ip: 10.0.0.1} ]"), spacing=1),
    "a flow list in block style": written(
        ("hostAliases: [{ip: 10.0.0.1}]", "hostAliases:\n      - ip: 10.0.0.1"), flow_style=2, phrase="flow style (2)"
    ),
    "a block list in flow style": written(
        ("args:\n        - --one\n        - --two", "args: [--one, --two]"), flow_style=1
    ),
    "an order of fields": written(
        ('  # how many\n  replicas: 1\n  paused: "false"\n', '  paused: "false"\n  # how many\n  replicas: 1\n'),
        field_order=1,
    ),
    "a separator at the head": written(("apiVersion: apps", "---\napiVersion: apps"), document_marks=1),
    "no line end at the end": written(("# the end\n", "# the end"), spacing=1),
    "a tag": written(("team: shop", "team: !!str shop"), anchors=1),
    "a number in another notation": Case(
        Package(
            {"c.yaml": CONFIG + "  n: 16\n"}, {"c.yaml": LATER + "  n: 16\n"}, {}, {"c.yaml": LATER + "  n: 0x10\n"}
        ),
        [("layout", "")],
        {"notation": 1},
    ),
    "an anchor written out": Case(
        Package(
            {"c.yaml": CONFIG + "  x: &x y\n  z: *x\n"},
            {"c.yaml": LATER + "  x: &x y\n  z: *x\n"},
            {},
            {"c.yaml": LATER + "  x: y\n  z: y\n"},
        ),
        [("layout", "")],
        {"anchors": 2},
    ),
    "a merge key written out": Case(
        Package(
            {"c.yaml": CONFIG + "x: &x\n  y: z\nw:\n  <<: *x\n"},
            {"c.yaml": LATER + "x: &x\n  y: z\nw:\n  <<: *x\n"},
            {},
            {"c.yaml": LATER + "x: &x\n  y: z\nw:\n  y: z\n"},
        ),
        [("layout", "")],
        {"anchors": 2},
    ),
    "line ends": Case(
        Package({"c.yaml": CONFIG}, {"c.yaml": LATER}, {}, {"c.yaml": LATER.replace("\n", "\r\n")}),
        [("layout", "")],
        {"line ends": 6},
        {"kpt": {"layout": 10, "notes": 6, "upstream": 2}, "krm-merge": {"notes": 6, "upstream": 2}},
    ),
    "a byte order mark": Case(
        Package({"c.yaml": CONFIG}, {"c.yaml": LATER}, {}, {"c.yaml": "\ufeff" + LATER}),
        [("layout", "")],
        {"document marks": 1},
    ),
    # ---- comments
    "a comment at the end of a line": differing("comments-lost", (" # ours", ""), phrase="kpt loses 1 comment: # ours"),
    "a comment above a field": differing("comments-lost", ("  # how many\n", ""), phrase="# how many"),
    "a comment at the end": differing("comments-lost", ("# the end\n", ""), phrase="# the end"),
    "a comment at another place": differing(
        "comments-differ",
        (" # ours", ""),
        ("  # how many\n", "  # how many\n  # ours\n"),
        phrase="kpt has 1 comment at another place: # ours",
    ),
    "a setter": differing("comments-lost", (" # kpt-set: web:${tag}", ""), phrase="# kpt-set: web:${tag}"),
    "a setter at another field": differing(
        "comments-differ", (" # kpt-set: web:${tag}", ""), ("log:1", "log:1 # kpt-set: web:${tag}"), phrase="kpt-set"
    ),
    "a setter that krm-merge loses": Case(
        Package(
            {"d.yaml": WEB.replace(" # kpt-set: web:${tag}", "")},
            {"d.yaml": WEB},
            {},
            {"d.yaml": WEB},
            {"d.yaml": WEB.replace(" # kpt-set: web:${tag}", "")},
        ),
        [("comments-missed", "")],
        phrase="krm-merge would lose comments in 1 resource",
    ),
    "a comment twice": differing(
        "comments-differ",
        ("  # how many\n", "  # how many\n  # how many\n"),
        phrase="kpt writes 1 comment too many: # how many",
    ),
    "a document of comments": Case(
        Package(
            {"c.yaml": "# licence\n---\n" + CONFIG},
            {"c.yaml": "# licence\n---\n" + LATER},
            {},
            {"c.yaml": LATER},
        ),
        [("comments-lost", ""), ("layout", "")],
        {"document marks": 1},
        phrase="# licence",
    ),
    # ---- order
    "an order of arguments, which is their value": differing(
        "changed-alone",
        ("        - --one\n        - --two\n", "        - --two\n        - --one\n"),
        path="spec.template.spec.containers[name=web].args",
    ),
    "an order of documents": Case(
        Package(
            {"c.yaml": CONFIG + "---\n" + CONFIG.replace("name: c", "name: d")},
            {"c.yaml": LATER + "---\n" + CONFIG.replace("name: c", "name: d")},
            {},
            {"c.yaml": CONFIG.replace("name: c", "name: d") + "---\n" + LATER},
        ),
        [("layout", ""), ("layout", ""), ("order", "")],
        {"document marks": 1},
        phrase="kpt has the documents of the file in another order",
    ),
    # ---- kpt's own books
    "the comment of kpt": differing(
        "notes", ("metadata:\n", "metadata: # kpt-merge: /web\n"), phrase="# kpt-merge: /web"
    ),
    "the annotation of kpt": differing(
        "notes",
        (
            "    team: shop\n",
            "    team: shop\n    internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web'\n",
        ),
        phrase="internal.kpt.dev/upstream-identifier",
    ),
    "the first annotation of all": Case(
        Package(
            {"c.yaml": CONFIG},
            {"c.yaml": LATER},
            {},
            {
                "c.yaml": LATER.replace(
                    "\ndata:", "\n  annotations:\n    internal.kpt.dev/upstream-identifier: x\ndata:"
                )
            },
        ),
        [("notes", "")],
        phrase="metadata.annotations",
    ),
    "the attribution of kpt": Case(
        Package(
            {"b.yaml": BUCKET.replace("kpt-pkg", "x")},
            {"b.yaml": BUCKET.replace("kpt-pkg", "x").replace("location: a", "location: b")},
            {},
            {"b.yaml": BUCKET.replace("kpt-pkg", "x,kpt-pkg-fn").replace("location: a", "location: b")},
        ),
        [("notes", "")],
        phrase="cnrm.cloud.google.com/blueprint",
    ),
    "where the package comes from": Case(
        Package(
            {"c.yaml": CONFIG}, {"c.yaml": LATER}, {}, {"Kptfile": kptfile_at("v2").replace("commit: v2", "commit: v3")}
        ),
        [("notes", "")],
        phrase="upstreamLock.git.commit",
    ),
    "a strategy that kpt overwrites": Case(
        Package(
            {"c.yaml": CONFIG},
            {"c.yaml": LATER},
            {"Kptfile": kptfile_at("v1", strategy="copy-merge")},
            {"Kptfile": kptfile_at("v2")},
        ),
        [("local-change-lost", "upstream.updateStrategy")],
        phrase="kpt puts the original's value back",
    ),
    # ---- files and resources
    "a file that kpt moves": Case(
        Package({"c.yaml": CONFIG}, {"c.yaml": LATER}, {}, {"c.yaml": None, "e.yaml": LATER}),
        [("changed-alone", "")],
        phrase="kpt has it in e.yaml",
    ),
    "a file that upstream moved and kpt leaves": Case(
        Package({"c.yaml": CONFIG}, {"c.yaml": None, "e.yaml": CONFIG}, {}, {"c.yaml": CONFIG}),
        [("duplicated", "")],
        phrase="kpt has it in e.yaml and in c.yaml",
    ),
    "a resource that local deleted": Case(
        Package({"c.yaml": CONFIG, **OLD}, {"d.yaml": NEW}, {"c.yaml": None}, {"c.yaml": CONFIG}),
        [("restored", "")],
        phrase="local removed it; kpt brings it back",
    ),
    "a resource that upstream deleted": Case(
        Package({"c.yaml": CONFIG, **OLD}, {"c.yaml": None}, {}, {"c.yaml": CONFIG}),
        [("remains", "")],
        phrase="upstream removed it; kpt leaves it",
    ),
    "a resource that upstream did not touch": Case(
        Package({"c.yaml": CONFIG, **OLD}, {"d.yaml": NEW}, {"c.yaml": LATER}, {"c.yaml": CONFIG}),
        [("local-change-lost", "data.a")],
        lines={"kpt": {"notes": 6, "undone": 2, "upstream": 2}, "krm-merge": {"notes": 6, "upstream": 2}},
        phrase="local changed it; kpt puts the original's value back",
    ),
    "a text": Case(
        Package({"a.txt": "a\n"}, {"a.txt": "b\n"}, {}, {"a.txt": "a\n"}),
        [("upstream-change-missed", "")],
        phrase="upstream changed it; kpt keeps the old value",
    ),
    "values that kpt writes otherwise": Case(
        Package(
            {"v.yaml": "a: 1\nl: []\n"},
            {"v.yaml": "a: 1\nl: [ x ]\n"},
            {"v.yaml": "a: 2\nl: []\n"},
            {"v.yaml": "a: 2\nl: [x]\n"},
        ),
        [("layout", "")],
    ),
    "a comment that kpt does not fetch": Case(
        Package({"v.yaml": "a: 1\n"}, {"v.yaml": "a: 2\n"}, {}, {"v.yaml": "a: 2\n"}, ours={"v.yaml": "# u\na: 2\n"}),
        [("comments-lost", "")],
        phrase="kpt loses 1 comment when it fetches upstream: # u",
    ),
    "a file without meaning for kpt": Case(
        Package({"run.sh": File(b"x", "executable")}, {"run.sh": File(b"y", "executable")}, {}, {"run.sh": File(b"y")}),
        [("changed-alone", "")],
        phrase="kind of file: neither side changed it; kpt does",
    ),
    "a file that is broken": Case(
        Package({"c.yaml": CONFIG}, {"c.yaml": LATER}, {}, {"c.yaml": LATER + "  }"}),
        [("unreadable", "")],
        phrase="kpt leaves a file that cannot be read",
    ),
    # ---- values
    "a null": Case(
        Package({"c.yaml": CONFIG + "  n: null\n"}, {"c.yaml": LATER + "  n: null\n"}, {}, {"c.yaml": LATER}),
        [("unchanged-lost", "data.n")],
        phrase="neither side removed it; kpt does",
    ),
    "a value of local": Case(
        Package(OLD, {"d.yaml": NEW}, {"d.yaml": WEB.replace("replicas: 1", "replicas: 5")}, {"d.yaml": NEW}),
        [("local-change-lost", "spec.replicas")],
        lines={"kpt": {"notes": 6, "undone": 2, "upstream": 2}, "krm-merge": {"notes": 6, "upstream": 2}},
        phrase="kpt changes 10 lines of the package: 2 as upstream has them, 2 that undo your changes",
    ),
    "a value of upstream": Case(
        Package(OLD, {"d.yaml": NEW}, {}, OLD),
        [("upstream-change-missed", "spec.template.spec.containers[name=web].image")],
        lines={"kpt": {"notes": 6}, "krm-merge": {"notes": 6, "upstream": 2}},
    ),
    "a value of nobody": differing("changed-alone", ("replicas: 1", "replicas: 3"), path="spec.replicas"),
    "an argument of local": Case(
        Package(
            OLD, {"d.yaml": NEW}, {"d.yaml": WEB.replace("- --two\n", "- --two\n        - --three\n")}, {"d.yaml": NEW}
        ),
        [("local-change-lost", "spec.template.spec.containers[name=web].args")],
    ),
    "a conflict": Case(
        Package(OLD, {"d.yaml": NEW}, {"d.yaml": WEB.replace("web:1", "web:3")}, {}),
        [("conflict-unreported", "spec.template.spec.containers[name=web].image")],
        lines={"kpt": {"notes": 6, "both": 2}, "krm-merge": {"notes": 6, "both": 2}},
    ),
    "a conflict in an object without a name": Case(
        Package(
            {"j.yaml": JOB}, {"j.yaml": JOB + "  a: 2\n"}, {"j.yaml": JOB + "  a: 3\n"}, {"j.yaml": JOB + "  a: 3\n"}
        ),
        [("decided-otherwise", "spec.a")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_comparison_says_what_differs(name: str) -> None:
    case = CASES[name]
    comparison = case.package.compare()
    document: dict[str, Any] = json.loads(as_json(comparison))
    jsonschema.validate(document, SCHEMA)
    text = "\n".join(line.text for line in comparison_lines(comparison))
    differences = document["differences"]
    assert sorted((difference["finding"], difference["path"]) for difference in differences) == sorted(case.findings), (
        text
    )
    if case.layout:
        assert (
            next(difference["layout"] for difference in differences if difference["finding"] == "layout") == case.layout
        ), text
    if case.lines is not None:
        assert document["lines"] == case.lines, text
    assert all("unexplained" not in counts for counts in document["lines"].values()) or name == "a value of nobody", (
        text
    )
    assert document["same"] == (name in ("the same bytes", "a conflict"))
    # The text names all that the document has.
    assert case.phrase in text
    assert all(
        f"{HEADINGS[difference['finding']]}:" in text and difference["message"] in text for difference in differences
    )


@pytest.mark.parametrize("suffix", FORMS)
def test_every_form_has_every_difference(suffix: str) -> None:
    for name in ("an order of documents", "a setter that krm-merge loses", "a conflict"):
        comparison = CASES[name].package.compare()
        text = render_document(comparison, suffix)
        assert all(
            difference.file in text and (difference.finding in text or HEADINGS[difference.finding] in text)
            for difference in comparison.differences
        )
