"""Reading only what can change gives the merge of everything."""

from __future__ import annotations

import copy
import random

import yaml
from hypothesis import given
from hypothesis import strategies as st

from generated_packages import Package, edited, package
from krm_merge.merge.folders import Folders
from krm_merge.merge.member import Member, Outcome, subject_of
from krm_merge.merge.narrow import Document, narrow
from krm_merge.merge.package import PackageMerge
from krm_merge.merge.policy import Policy
from krm_merge.schema.builtin import any_object_schema
from krm_merge.text.nodes import Mapping
from krm_merge.text.reader import read


def written(rng: random.Random, resource: dict[str, object]) -> str:
    """One of the ways to write a resource."""
    text = str(yaml.safe_dump(resource, sort_keys=False, default_flow_style=rng.random() < 0.1))
    metadata = resource["metadata"]
    assert isinstance(metadata, dict)
    if "note" in metadata:
        note = metadata.pop("note")
        text = str(yaml.safe_dump(resource, sort_keys=False)).replace("metadata:", f"metadata: # kpt-merge: /{note}")
    match rng.randrange(6):
        case 0:
            return text.replace("name: r", 'name: "r')  # broken: no resource at all
        case 1:
            return text.replace("metadata:", "metadata:\n  # about it\n# and more", 1)
        case 2:
            return text.replace("\n", "\r\n")
    return text


def documents(rng: random.Random, resources: Package, known: dict[str, str]) -> list[Document]:
    found = []
    for at, resource in enumerate(resources):
        # Equal resources are mostly equal texts.
        key = repr(resource)
        text = known.setdefault(key, written(rng, copy.deepcopy(resource)))
        found.append(document(text, at))
    return found


def document(text: str, index: int) -> Document:
    def member() -> Member | None:
        try:
            root = read(text)
        except ValueError:
            return None
        return Member("a.yaml", subject_of(root), root, "a.yaml", index) if isinstance(root, Mapping) else None

    return Document("", text.encode(), member)


def told(outcomes: list[Outcome]) -> list[tuple[object, ...]]:
    """What changes or is said, without what stays in silence."""
    return sorted(
        (o.fate, str(o.member.subject), o.member.index, [(d.rule, d.path, d.message) for d in o.decisions])
        for o in outcomes
        if o.decisions or o.fate in ("added", "deleted")
    )


@given(st.integers(0, 2**48))
def test_it_is_the_merge_of_everything(seed: int) -> None:
    rng = random.Random(seed)
    original = package(rng) + [r for r in package(rng) if r["kind"] != "CustomResourceDefinition"]
    names = [str(resource["metadata"]["name"]) for resource in original]
    sides = [edited(rng, original, rng.randint(0, 4)) for _ in range(2)]
    for resource in sides[1]:
        if rng.random() < 0.3:
            resource["metadata"]["note"] = rng.choice(names)
        if rng.random() < 0.2:
            resource["metadata"]["name"] = rng.choice([*names, "other"])
    texts: dict[str, str] = {}
    all_documents = [documents(rng, side, texts) for side in (original, *sides)]
    merge, schema = PackageMerge(Policy()), any_object_schema()
    folders = Folders([], Policy())
    every = [[m for d in side if (m := d.member()) is not None] for side in all_documents]
    found = narrow(all_documents[0], all_documents[1], all_documents[2])
    expected = merge.resources(every[0], every[1], every[2], folders, lambda _: schema)
    assert told(merge.resources(found.original, found.upstream, found.local, folders, lambda _: schema)) == told(
        expected
    )


def test_what_upstream_did_not_touch_is_not_read() -> None:
    def unread() -> Member | None:
        raise AssertionError("read")

    text = b"apiVersion: v1\nkind: A\nmetadata:\n  name: same\n"
    before, after = (f"kind: B\nmetadata: {{name: b}}\nx: {value}\n" for value in (1, 2))
    upstream = [[Document("", text, unread), document(changed, 1)] for changed in (before, after)]
    local = [Document("", text.replace(b"v1", b"v2"), unread), document(before, 1)]
    assert [len(side) for side in narrow(upstream[0], upstream[1], local)] == [1, 1, 1]
