"""The laws A-D and G on generated packages: Deployments, Services, ConfigMaps, RBAC, CRDs with their instances."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from generated.kptfiles import text
from generated.packages import Package, edit_package, package
from kptfiles import PLACE, resource_list
from krm_merge.functions import process
from krm_merge.text.reading.nodes import MappingNode, SequenceNode, to_value
from krm_merge.text.reading.reader import read

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n"
FILE = "resources.yaml"
VOLUME_SOURCES = {"emptyDir", "configMap", "secret"}
HANDLERS = {"httpGet", "tcpSocket", "exec"}


@dataclass(frozen=True)
class Case:
    """Three versions of a package, how often they carry comments, and a policy."""

    original: Package
    upstream: Package
    local: Package
    seed: int
    comments: float
    policy: str


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = random.Random(draw(st.integers(0, 2**48)))
    original = package(rng)
    upstream, local = (edit_package(rng, original, rng.randint(0, 6)) for _ in range(2))
    return Case(
        original, upstream, local, rng.randrange(2**32), rng.choice([0, 0.25]), rng.choice(["upstream", "local"])
    )


@dataclass(frozen=True)
class Merged:
    """The items as text and as values, without the annotations of their places."""

    items: list[str]
    exit_code: int

    @property
    def values(self) -> dict[tuple[str, str], Any]:
        return by_name([to_value(read(item)) for item in self.items])


def by_name(resources: list[Any]) -> dict[tuple[str, str], Any]:
    return {(r["kind"], r["metadata"]["name"]): without_place(r) for r in resources if r["kind"] != "Kptfile"}


def without_place(resource: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(resource["metadata"])
    annotations = {key: value for key, value in metadata.pop("annotations", {}).items() if key not in PLACE}
    return {**resource, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def merge(case: Case, original: Package, upstream: Package, items: list[str]) -> Merged:
    sides = (
        KPTFILE + "".join(f"---\n{document(case, resource)}" for resource in side) for side in (original, upstream)
    )
    outcome = process(resource_list(items, *sides, onConflict=case.policy))
    output = outcome.output.decode()
    root = read(output)
    assert isinstance(root, MappingNode)
    sequence = root.get("items")
    assert isinstance(sequence, SequenceNode)
    lines = output[output.index("items:\n") + 7 : output.index("functionConfig:\n")].splitlines(keepends=True)
    texts: list[str] = []
    for line in lines:
        if line.startswith("- "):
            texts.append("")
        texts[-1] += line if line == "\n" else line[2:]
    assert len(texts) == len(sequence.items)
    return Merged(texts, outcome.exit_code)


def document(case: Case, resource: dict[str, Any]) -> str:
    return text(case.seed, resource, 0, case.comments)


def as_items(case: Case, resources: Package) -> list[str]:
    items = [
        KPTFILE.replace("  name: pkg\n", "  name: pkg\n  annotations: {internal.config.kubernetes.io/path: Kptfile}\n")
    ]
    for index, resource in enumerate(resources):
        place = {"internal.config.kubernetes.io/path": FILE, "internal.config.kubernetes.io/index": str(index)}
        metadata = {"name": resource["metadata"]["name"], "annotations": place} | resource["metadata"]
        items.append(document(case, {**resource, "metadata": metadata}))
    return items


@given(cases())
def test_a_where_local_is_the_original_the_result_is_upstream(case: Case) -> None:
    assume(case.original)
    merged = merge(case, case.original, case.upstream, as_items(case, case.original))
    assert merged.values == by_name(case.upstream)


@given(cases())
def test_b_where_upstream_is_the_original_the_result_is_local_byte_for_byte(case: Case) -> None:
    items = as_items(case, case.local)
    assert merge(case, case.original, case.original, items).items == items


@given(cases())
def test_c_where_both_made_the_same_changes_they_are_the_result(case: Case) -> None:
    assume(case.local)
    assert merge(case, case.original, case.local, as_items(case, case.local)).values == by_name(case.local)


@given(cases())
def test_d_g_merging_again_changes_nothing_and_nothing_is_broken(case: Case) -> None:
    assume(case.local)
    merged = merge(case, case.original, case.upstream, as_items(case, case.local))
    assert merged.exit_code == 0
    assert merge(case, case.original, case.upstream, merged.items).items == merged.items
    inherited = {fault for side in (case.original, case.upstream, case.local) for fault in faults(side)}
    assert set(faults(list(merged.values.values()))) <= inherited


def faults(value: Any, name: str = "") -> Iterator[str]:
    """What no merge may bring about: shells, containers without name or image, two alternatives at once."""
    if isinstance(value, list):
        for item in value:
            yield from faults(item, name)
    if not isinstance(value, dict):
        return
    if not value and name != "emptyDir":
        yield f"{name}: an empty shell"
    if name in ("containers", "initContainers") and not {"name", "image"} <= value.keys():
        yield "a container without name or image"
    if name == "volumes" and len(VOLUME_SOURCES & value.keys()) != 1:
        yield "a volume of two kinds"
    if name == "livenessProbe" and len(HANDLERS & value.keys()) != 1:
        yield "a probe of two kinds"
    if value.get("type") == "Recreate" and "rollingUpdate" in value:
        yield "a strategy of two kinds"
    for key, item in value.items():
        yield from faults(item, key)
