"""Reading only what can change gives the merge of everything."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from generated.packages import Package, edit_package, package
from krm_merge import merge_packages
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.decision import Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.merge.package.narrow import Document, Narrowed, narrow
from krm_merge.merge.package.resources import Folders
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read


def written(rng: random.Random, resource: dict[str, object]) -> str:
    """One of the ways to write a resource."""
    text = str(yaml.safe_dump(resource, sort_keys=False, default_flow_style=rng.random() < 0.1))
    metadata = resource["metadata"]
    assert isinstance(metadata, dict)
    if "note" in metadata:
        note = metadata.pop("note")
        text = str(yaml.safe_dump(resource, sort_keys=False)).replace("metadata:", f"metadata: # kpt-merge: /{note}")
    name = str(metadata["name"])
    match rng.randrange(14):
        case 0:
            return text.replace("name: r", 'name: "r')  # broken: no resource at all
        case 3:
            return json.dumps(resource, indent=2) + "\n"
        case 4:
            return str(yaml.safe_dump(resource, sort_keys=False, default_flow_style=True, width=30))
        case 5:
            return text.replace("metadata:", 'metadata:\n  odd: "\\t"', 1)
        case 6:  # a value on several lines that look like fields
            return f'odd: "\nmetadata:\n  name: r0\n"\n{text}'
        case 7:
            return text.replace("metadata:", 'metadata:\n  odd: "\n  name: r0"', 1)
        case 8:
            return text.replace(f"name: {name}", "name: *name", 1).replace(
                "metadata:", f"odd: &name {name}\nmetadata:", 1
            )
        case 9:
            return f"base: &base\n  metadata: {{name: {name}}}\n<<: *base\nkind: Merged\napiVersion: v1\n"
        case 1:
            return text.replace("metadata:", "metadata:\n  # about it\n# and more", 1)
        case 2:
            return text.replace("\n", "\r\n")
    return text


@dataclass(frozen=True)
class Version:
    """One version of a package without Kptfiles."""

    documents: list[Document]

    @property
    def paths(self) -> set[str]:
        return {document.file for document in self.documents}

    def kptfiles(self) -> list[Member]:
        return []

    def unreadable_kptfiles(self) -> list[str]:
        return []

    def resources(self, folders: Folders) -> Sequence[Document]:
        return self.documents


def version(rng: random.Random, resources: Package, texts: dict[str, str], files: dict[str, str]) -> Version:
    documents = []
    for at, resource in enumerate(resources):
        # Equal resources are mostly equal texts.
        key = repr(resource)
        text = texts.setdefault(key, written(rng, copy.deepcopy(resource)))
        name = str(resource["metadata"]["name"])
        file = files.setdefault(name, rng.choice(["a.yaml", "b.yaml", "over/lay.yaml"]))
        documents.append(document(text, at, "moved.yaml" if rng.random() < 0.05 else file))
    return Version(documents)


def document(text: str, index: int, file: str = "a.yaml") -> Document:
    def member() -> Member | None:
        try:
            root = read(text)
        except ValueError:
            return None
        return Member(file, identity_of(root), root, file, index) if isinstance(root, MappingNode) else None

    return Document(file, text.encode(), member)


def everything(original: Sequence[Document], upstream: Sequence[Document], local: Sequence[Document]) -> Narrowed:
    """What `narrow` would give if it left nothing out."""
    return Narrowed(*([m for d in side if (m := d.member()) is not None] for side in (original, upstream, local)))


def summary(outcomes: list[ResourceOutcome]) -> list[tuple[object, ...]]:
    """What changes or is said, without what stays in silence; likely renames are named as far as they were read."""
    decisions_of_outcomes = (
        (o, [(d.rule, d.path, d.message) for d in o.decisions if d.rule != "R1"]) for o in outcomes
    )
    return sorted(
        (o.fate, str(o.member.identity), o.member.index, decisions)
        for o, decisions in decisions_of_outcomes
        if decisions or o.fate in ("added", "deleted")
    )


@given(st.integers(0, 2**48))
def test_it_is_the_merge_of_everything(seed: int) -> None:
    rng = random.Random(seed)
    original = package(rng) + [r for r in package(rng) if r["kind"] != "CustomResourceDefinition"]
    names = [str(resource["metadata"]["name"]) for resource in original]
    sides = [edit_package(rng, original, rng.randint(0, 4)) for _ in range(2)]
    for at, side in enumerate(sides):
        for resource in side:
            if at and rng.random() < 0.3:
                resource["metadata"]["note"] = rng.choice(names)
            if rng.random() < 0.2:
                resource["metadata"]["name"] = rng.choice([*names, "other"])
    texts: dict[str, str] = {}
    files: dict[str, str] = {}
    versions = [version(rng, side, texts, files) for side in (original, *sides)]
    merger = PackageMerger(Policy())
    outcomes = merger.run(*versions).resources
    with patch("krm_merge.merge.package.narrow.narrow", everything):
        expected = merger.run(*versions).resources
    assert summary(outcomes) == summary(expected)


def unread() -> Member | None:
    raise AssertionError("read")


STYLES = {
    "block": "apiVersion: v1\nkind: A\nmetadata:\n  name: %s\n",
    "block-in-a-list": "  apiVersion: v1\n  kind: A\n  metadata:\n    name: %s\n",
    "braces": "apiVersion: v1\nkind: A\nmetadata: {name: %s}\n",
    "json": '{"apiVersion": "v1", "data": {"x": "\\n"}, "kind": "A", "metadata": {"labels": {}, "name": "%s"}}\n',
    "backslash": 'apiVersion: v1\nkind: A\nmetadata:\n  labels: {a: "\\t"}\n  name: %s\n',
    "escape": 'apiVersion: v1\nkind: A\nmetadata: {name: "\\u0025%s"}\n',
    "tag": "apiVersion: v1\nkind: A\nmetadata: !!map\n  name: !!str %s\n",
    "several-lines": "apiVersion: v1\nkind: A\nx: '\nmetadata:\n  name: b'\nmetadata:\n  name: %s\n",
    "nameless": "apiVersion: v1\nkind: A\n# %s\n",
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())
def test_what_upstream_did_not_touch_is_not_read(style: str) -> None:
    column = 2 if style.startswith(" ") else 0
    text = (style % "same").encode()
    before, after = (f"kind: B\nmetadata: {{name: b}}\nx: {value}\n" for value in (1, 2))
    upstream = [[Document("", text, unread, column), document(changed, 1)] for changed in (before, after)]
    local = [Document("", text.replace(b"v1", b"v2"), unread, column), document(before, 1)]
    assert [len(side) for side in narrow(upstream[0], upstream[1], local)] == [1, 1, 1]


def test_items_of_a_list_are_found_by_name_in_any_style() -> None:
    before, after = (f"kind: B\nmetadata: {{name: b}}\nx: {value}\n" for value in (1, 2))
    item = document("  kind: B\n  metadata: {name: b}\n", 0)
    dashed = Document("", b"- kind: B\n  metadata: {name: b}\n", item.read, 2)
    other = Document("", b"- kind: B\n  metadata: {name: c}\n", unread, 2)
    sides = narrow([document(before, 0, "")], [document(after, 0, "")], [other, dashed])
    assert [len(side) for side in sides] == [1, 1, 1]


def test_a_name_that_only_reading_shows_costs_one_document() -> None:
    alias = "apiVersion: v1\nkind: A\nx: &name same\nmetadata: {name: *name}\n"
    plain = b"apiVersion: v1\nkind: A\nmetadata: {name: plain}\n"
    before, after = (f"kind: B\nmetadata: {{name: b}}\nx: {value}\n" for value in (1, 2))
    upstream = [[document(alias, 0), Document("", plain, unread), document(x, 2)] for x in (before, after)]
    local = [document(alias, 0), Document("", plain.replace(b"v1", b"v2"), unread), document(before, 2)]
    assert [len(side) for side in narrow(upstream[0], upstream[1], local)] == [2, 2, 2]


def test_a_second_copy_of_a_resource_is_new() -> None:
    once = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
    twice = once + b"---\n" + once
    assert merge_packages({"c.yaml": once}, {"c.yaml": twice}, {"c.yaml": once}).files == {"c.yaml": twice}


def test_a_second_document_that_only_upstream_has_is_read() -> None:
    text = "kind: B\nmetadata: {name: b}\n"
    sides = narrow([document(text, 0)], [document(text, 0), document(text, 1)], [document(text, 0)])
    assert [len(side) for side in sides] == [1, 2, 1]


def test_a_local_name_is_found_by_the_name_that_it_had_upstream_in_any_style() -> None:
    before, after = (f"kind: B\nmetadata: {{name: b}}\nx: {value}\n" for value in (1, 2))
    note = '{internal.kpt.dev/upstream-identifier: "|B|default|b"}'
    renamed = document(f"kind: B\nmetadata: {{name: mine, annotations: {note}}}\nx: 1\n", 0)
    assert [len(side) for side in narrow([document(before, 0)], [document(after, 0)], [renamed])] == [1, 1, 1]


def test_beside_a_removed_resource_what_local_has_under_an_old_name_is_not_read() -> None:
    before, after = (f"kind: A\nmetadata: {{name: gone}}\nx: {value}\n" for value in (1, 2))
    same = Document("", b"kind: A\nmetadata: {name: same}\n", unread)
    local = [Document("", same.data + b"x: 1\n", unread)]
    sides = narrow([document(before, 0, ""), same], [document(after, 0, ""), same], local)
    assert [len(side) for side in sides] == [1, 1, 0]
