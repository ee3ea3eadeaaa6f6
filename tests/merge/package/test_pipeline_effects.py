"""Rule R14 where a side lacks a resource: only what a function removes at every render is gone without a word."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from krm_merge import merge_packages
from krm_merge.krm import identity_of
from krm_merge.merge import Member, with_change
from krm_merge.schema.builtin import builtin_schema
from krm_merge.text import MappingNode, from_value, read, yaml_of

Side: TypeAlias = tuple[str, int] | None

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2
    configMap: {team: a}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: "


@pytest.mark.parametrize("kptfile", [KPTFILE, KPTFILE.partition("pipeline")[0]], ids=["a pipeline", "none"])
def test_what_local_removed_and_upstream_changed_is_a_conflict(kptfile: str) -> None:
    local = {"Kptfile": kptfile.encode()}
    original, upstream = (local | {"c.yaml": f"{CONFIG_MAP}{value}\n".encode()} for value in (1, 2))
    merged = merge_packages(original, upstream, local)
    assert dict(merged.files) == local
    assert [(record.rule, record.message) for record in merged.records] == [
        ("F5", "local removed it, upstream changed it; it remains removed")
    ]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
{metadata}spec:
  replicas: {replicas}
"""
LABELS = "  labels:\n    team: a\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "merged", "conflicts"),
    [
        # What the function wrote is nobody's edit.
        (("", 1), ("", 2), (LABELS, 1), (LABELS, 2), []),
        (("", 1), None, (LABELS, 1), None, []),
        (("", 1), None, (LABELS, 5), (LABELS, 5), ["F5"]),
        # Upstream changed it, too: the next render writes it again.
        (("", 1), ("  labels:\n    team: b\n", 1), (LABELS, 1), ("  labels:\n    team: b\n", 1), []),
        # Another value is an edit of local's.
        (
            ("", 1),
            ("  labels:\n    team: b\n", 1),
            ("  labels:\n    team: c\n", 1),
            ("  labels:\n    team: b\n", 1),
            ["V4"],
        ),
        # Without an original, functions wrote nothing into it.
        (None, ("", 1), None, ("", 1), []),
        (None, ("", 1), (LABELS, 1), (LABELS, 1), []),
        (None, ("", 2), (LABELS, 1), (LABELS, 2), ["V4"]),
        # Local was not rendered since.
        (("", 1), ("", 2), ("", 1), ("", 2), []),
        (("", 1), ("", 2), ("  labels:\n    own: l\n", 1), ("  labels:\n    own: l\n", 2), []),
    ],
)
def test_what_functions_wrote_is_nobodys_edit(
    original: Side, upstream: Side, local: Side, merged: Side, conflicts: list[str]
) -> None:
    def files(side: Side) -> dict[str, bytes]:
        text = "" if side is None else DEPLOYMENT.format(metadata=side[0], replicas=side[1])
        return {"Kptfile": KPTFILE.encode(), **({"web.yaml": text.encode()} if side else {})}

    done = merge_packages(files(original), files(upstream), files(local))
    assert done.files == files(merged)
    assert [record.rule for record in done.records if record.status != "automatic"] == conflicts


REMOVAL = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: removal
data:
  function: PatchResources
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    $patch: delete
"""


@pytest.mark.parametrize(("local", "merged"), [(("", 1), ("", 2)), (None, None)])
def test_what_a_function_removes_is_gone_only_where_it_was_rendered(local: Side, merged: Side) -> None:
    kptfile = KPTFILE.partition("  - image")[0] + "  - image: krm-merge\n    configPath: removal.yaml\n"
    sides = [
        {"Kptfile": kptfile, "removal.yaml": REMOVAL}
        | ({} if side is None else {"web.yaml": DEPLOYMENT.format(metadata=side[0], replicas=side[1])})
        for side in (("", 1), ("", 2), local, merged)
    ]
    original, upstream, own, expected = ({path: text.encode() for path, text in side.items()} for side in sides)
    done = merge_packages(original, upstream, own)
    assert done.files == expected
    assert not done.has_conflicts


def containers(*names: str, **images: str) -> Any:
    return {"spec": {"template": {"spec": {"containers": [{"name": n, "image": images.get(n, "i")} for n in names]}}}}


@pytest.mark.parametrize(
    ("value", "before", "after", "expected"),
    [
        ({"a": 1, "own": 1}, {"a": 1}, {"a": 2}, {"a": 2, "own": 1}),
        ({"a": 3}, {"a": 1}, {"a": 2}, {"a": 3}),
        ({"a": 1}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 2}),
        # What one side removed and another changed is whole, or not there at all.
        ({}, {"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, {}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {}, {"a": {"x": 1, "y": 2}}),
        # What both added has the parts of both.
        ({"a": {"x": 1}}, {}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ({"a": "text"}, {"a": {"x": 1}}, {"a": {"x": 2}}, {"a": "text"}),
        # 1 and true are equal in Python alone.
        ({"a": 1}, {"a": 1}, {"a": True}, {"a": True}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1, True]}, {"a": [1, 2, True]}),
        (
            containers("a", "b", b="own"),
            containers("a", "b"),
            containers("new", "a", "b", a="j"),
            containers("new", "a", "b", a="j", b="own"),
        ),
        (containers("b", "a"), containers("a", "b"), containers("a", "b", "c"), containers("b", "c", "a")),
    ],
)
def test_a_change_is_carried_where_a_value_has_no_other_itself(
    value: Any, before: Any, after: Any, expected: Any
) -> None:
    schema, root = builtin_schema("apps", "v1", "Deployment"), read(yaml_of(value))
    assert schema is not None
    assert isinstance(root, MappingNode)
    member = Member("", identity_of(root), root, "")
    assert with_change(member, from_value(before), from_value(after), schema).value == expected
