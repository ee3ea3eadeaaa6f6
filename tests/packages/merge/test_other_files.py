"""Merges of files that hold no resource, and what stays byte for byte.

A row is three versions of a package, the text that must come out, and the rules of the conflicts that must be
reported. A version is a mapping of paths to texts, or one text, which then is `a.yaml`. L1, V8, ... are the rules of
docs/rules.md.
"""

from __future__ import annotations

import pytest

from packages.merge.cases import (
    A,
    B,
    Case,
    assert_merges,
    config_map,
    documents,
    kptfile,
    kustomization,
    other,
    row,
    same,
)

# ---- files that hold no resource -------------------------------------------------------------------------------------

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
        "R4 a text that took the place of a map is kept or not, never with half of the map behind it",
        "values.yaml",
        "image:\n  repository: registry.example.com/web\n  tag: v1\n",
        "image:\n  repository: mirror.example.com/web\n  tag: v1\n",
        "ima\n",
        "image:\n  repository: mirror.example.com/web\n  tag: v1\n",
        "R4",
    ),
    other(
        "V5 a template that upstream put into JSON is as upstream wrote it",
        "values.json",
        '{\n  "a": 1,\n  "b": 2\n}\n',
        '{\n  "a": 1,\n  "b": {{ .y }}\n}\n',
        '{\n  "a": 5,\n  "b": 2\n}\n',
        '{\n  "a": 5,\n  "b": {{ .y }}\n}\n',
    ),
    other(
        "V6 a line that local put among lines that upstream indented anew is a conflict",
        "run.sh",
        "if a; then\none\ntwo\nfi\n",
        "if a; then\n  one\n  two\nfi\n",
        "if a; then\none\nnew\ntwo\nfi\n",
        "if a; then\n  one\n  two\nfi\n",
        "R4",
    ),
    other(
        "H what local removed and upstream changed stays removed, though upstream has all that local added",
        "values.yaml",
        "deps:\n- conda=4.6\n- nb\n- mask\n",
        "deps:\n- conda=4.7\n- nomkl\n- fsspec\n- pip\n",
        "deps:\n- fsspec\n- pip\n",
        "deps:\n- nomkl\n- fsspec\n- pip\n",
        "F5",
    ),
    other(
        "F5 what upstream moved from the end of a list and local removed there is gone, whatever both put at the end",
        "values.yaml",
        "deps:\n- conda=4.6\n- b\n- nomkl\n",
        "deps:\n- conda=4.7\n- nomkl\n- b\n- f\n",
        "deps:\n- b\n- f\n",
        "deps:\n- b\n- f\n",
        "F5",
    ),
    other(
        "a step that upstream removed is gone where both changed the indentation of all",
        ".travis.yml",
        "script: \n- make\n- make e2e\n- export X=1 \n- make load\n- make test\n",
        "script:\n  - make\n  - make e2e\n  - make load\n  - make test\n",
        "script:\n  - make\n  - make e2e\n  - export X=1\n  - make load\n  - make test\n",
        "script:\n  - make\n  - make e2e\n  - make load\n  - make test\n",
    ),
    other(
        "L5 a value that upstream adds to indented JSON has its lines",
        "settings.json",
        '{\n  "a": {},\n  "tag": "1"\n}\n',
        '{\n  "a": {},\n  "sts": {\n    "ports": [\n      0,\n      1\n    ],\n    "none": {}\n  },\n  "tag": "1"\n}\n',
        '{\n  "a": {},\n  "tag": "2"\n}\n',
        '{\n  "a": {},\n  "sts": {\n    "ports": [\n      0,\n      1\n    ],\n    "none": {}\n  },\n  "tag": "2"\n}\n',
    ),
    other(
        "V8 what joins and leaves a list between brackets goes with its comments, and no others",
        "values.yaml",
        "args: [ # all\n  # first\n  --a,  # a\n  # second\n  --b=2, # b\n  --c\n]\n",
        "args: [ # all\n  # second\n  --b=2, # b\n  --new,\n  --c,\n  --end\n]\n",
        "args: [ # all\n  # first\n  --a,  # a\n  # second\n  --b=3, # b\n  --c  # mine\n]\n",
        "args: [ # all\n  # second\n  --b=3, # b\n  --new,\n  --c,  # mine\n  --end\n]\n",
    ),
    other(
        "V8 a comment that upstream moved is there once beside a list between brackets with comments",
        "values.yaml",
        "with:\n  # note\n  size: 1\nlist: [\n  x,  # why\n]\n",
        "with:\n  # note\n  new: 2\n  size: 1\nlist: [\n  x,  # why\n]\n",
        "with:\n  # note\n  size: 8\nlist: [\n  x,  # why\n  y,\n]\n",
        "with:\n  # note\n  new: 2\n  size: 8\nlist: [\n  x,  # why\n  y,\n]\n",
    ),
    other(
        "H a text of fields that local wrote as fields, of which upstream removed one",
        "collector.yaml",
        "config: |\n  traces:\n    receivers: [otlp]\n    processors: []\n    exporters: [debug]\n",
        "config: |\n  traces:\n    receivers: [otlp]\n    exporters: [debug]\n",
        "config:\n  traces:\n    receivers: [otlp]\n    processors: []\n    exporters: [debug]\n",
        "config:\n  traces:\n    receivers: [otlp]\n    exporters: [debug]\n",
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
        "upstream adds a licence above the mark of the only document",
        "kustomization.yaml",
        "---\nnamePrefix: a-\nresources:\n- base\n",
        "# c\n---\nnamePrefix: a-\nresources:\n- base\nnameSuffix: -u\n",
        "---\nnamePrefix: l-\nresources: # l\n- base\n",
        "# c\n---\nnamePrefix: l-\nresources: # l\n- base\nnameSuffix: -u\n",
    ),
    *(
        other(
            f"a licence above the mark of the only document: {what}",
            "values.yaml",
            f"{original}a: 1\nb: 2\n",
            f"{upstream}a: 1\nb: 3\n",
            f"{local}a: 4\nb: 2\n",
            f"{merged}a: 4\nb: 3\n",
        )
        for what, original, upstream, local, merged in [
            ("upstream adds both", "", "# u\n---\n", "", "# u\n"),
            ("upstream changes it", "# o\n---\n", "# u\n---\n", "# o\n---\n", "# u\n---\n"),
            ("upstream removes it", "# o\n\n---\n", "---\n", "# o\n\n---\n", "---\n"),
            ("local adds it", "---\n", "---\n", "# l\n---\n", "# l\n---\n"),
            ("both add one", "---\n", "# u\n---\n", "# l\n---\n", "# l\n# u\n---\n"),
            ("local has no mark", "---\n", "# u\n---\n", "", "# u\n"),
        ]
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
        kustomization("bases:\n# mine\n- ../base\n- ../role\n\nresources:\n- x.yaml\n"),
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


# ---- byte for byte ---------------------------------------------------------------------------------------------------

INFO = "info:\n  description: x\n"
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


@pytest.mark.parametrize("case", [*OTHERS, *BYTES])
def test_other_files_and_bytes(case: Case) -> None:
    assert_merges(case)
