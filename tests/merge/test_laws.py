"""The laws A-G of the merge, on generated Kptfiles, through the whole function: bytes in, bytes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from generated.kptfiles import triples
from kptfiles import resource_list
from krm_merge.functions import process
from krm_merge.krm.identity import parse_path
from krm_merge.merge.values.pipeline import faults
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, key_text, resolved, to_value
from krm_merge.text.reading.reader import read

IDENTITIES = st.sampled_from(["document", "smart"])
POLICIES = st.sampled_from(["upstream", "local"])
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Merged:
    """The merged Kptfile's text and the results."""

    text: str
    results: list[dict[str, Any]]

    @property
    def root(self) -> MappingNode:
        return tree(self.text)


def tree(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def merge(original: str, upstream: str, local: str, identity: str = "document", policy: str = "upstream") -> Merged:
    data = resource_list([local], original, upstream, functionIdentity=identity, onConflict=policy)
    outcome = process(data)
    output = outcome.output.decode()
    assert outcome.exit_code == 0, outcome.message
    results = to_value(tree(output).get("results"))
    item = output[output.index("items:\n") + 7 : output.index("functionConfig:")]
    text = "".join(line[2:] for line in f"  {item[2:]}".splitlines(keepends=True))
    return Merged(text, results if isinstance(results, list) else [])  # type: ignore[arg-type]


@given(triples(), IDENTITIES, POLICIES)
def test_a_b_c_what_one_side_changed_is_the_result(triple: Triple, identity: str, policy: str) -> None:
    original, upstream, local = triple
    assert merge(original, upstream, original, identity, policy).root.canonical == tree(upstream).canonical  # A
    assert merge(original, original, local, identity, policy).text == local  # B: byte for byte
    assert merge(original, local, local, identity, policy).root.canonical == tree(local).canonical  # C


@given(triples(), IDENTITIES, POLICIES)
def test_d_merging_again_changes_nothing(triple: Triple, identity: str, policy: str) -> None:
    original, upstream, local = triple
    merged = merge(original, upstream, local, identity, policy).text
    assert merge(original, upstream, merged, identity, policy).text == merged


def kptfile_with(description: str, *keywords: str) -> str:
    lines = "".join(f"  - {keyword}\n" for keyword in keywords)
    head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\ninfo:\n"
    return f"{head}  description: {description}\n  keywords:\n{lines}"


@pytest.mark.parametrize(
    ("edited", "is_conflict", "result"),
    [
        (kptfile_with("two", "a", "c"), False, kptfile_with("two", "a", "c")),
        (kptfile_with("three", "a", "c"), True, kptfile_with("two", "a", "c")),
        (kptfile_with("one", "a", "c"), False, kptfile_with("two", "a", "c")),
        (kptfile_with("two", "a"), True, kptfile_with("two", "a", "c")),
        (kptfile_with("two", "a", "c", "b"), False, kptfile_with("two", "a", "c")),
        (kptfile_with("two", "a", "c", "mine"), False, kptfile_with("two", "a", "c", "mine")),
    ],
    ids=["none", "another value", "the original's value", "removed again", "added again", "elsewhere"],
)
def test_d_a_merge_that_stays_declared_undoes_edits_of_what_upstream_changed(
    edited: str, is_conflict: bool, result: str
) -> None:
    original, upstream = kptfile_with("one", "a", "b"), kptfile_with("two", "a", "c")
    assert merge(original, upstream, original).text == upstream
    again = merge(original, upstream, edited)
    assert again.text == result
    assert any(result["severity"] == "warning" for result in again.results) == is_conflict


@given(triples(), POLICIES)
def test_e_what_one_side_changed_stands_and_nothing_else_changes(triple: Triple, policy: str) -> None:
    original, upstream, local = (leaves_of(tree(text)) for text in triple)
    assume(identified_alike(original, upstream, local))
    merged = leaves(merge(*triple, "document", policy).root)
    assert merged is not None
    elements = [{path[:3] for path in side if path[0] == "pipeline"} for side in (original, upstream, local)]
    everywhere = elements[0] & elements[1] & elements[2]
    for path in set(original) | set(upstream) | set(local):
        # Fields whose neighbours decide with them (V7) and elements that not all have (F5) have laws of their own.
        if path[0] == "pipeline" and (path[:3] not in everywhere or path[3] in ("configPath", "configMap")):
            continue
        before, theirs, ours = (side.get(path) for side in (original, upstream, local))
        if theirs in (before, ours):
            assert merged.get(path) == ours, path
        elif ours == before:
            assert merged.get(path) == theirs, path
        else:
            assert merged.get(path) in (theirs, ours), path


@given(triples(), POLICIES)
def test_f_no_local_change_disappears_without_a_result(triple: Triple, policy: str) -> None:
    original, _, local = (leaves_of(tree(text)) for text in triple)
    result = merge(*triple, "document", policy)
    merged = leaves_of(result.root)
    paths = [parse_path(r["field"]["path"]) for r in result.results if r["severity"] == "warning" and "field" in r]
    told_steps = [tuple(str(dict(step)) if isinstance(step, tuple) else step for step in path) for path in paths]
    for path, value in local.items():
        if original.get(path) != value and merged.get(path) != value:
            names = tuple(str(dict(step)) if isinstance(step, tuple) else step for step in path)
            covered = any(names[: len(steps)] == steps or names[: len(steps) - 1] == steps[:-1] for steps in told_steps)
            assert covered, (path, paths)


@given(triples(), IDENTITIES, POLICIES)
def test_g_the_result_has_no_fault_that_no_input_had(triple: Triple, identity: str, policy: str) -> None:
    inherited = {fault.problem for text in triple for fault in faults(tree(text))}
    merged = merge(*triple, identity, policy)
    assert {fault.problem for fault in faults(merged.root)} <= inherited
    assert shells(merged.root) <= set().union(*(shells(tree(text)) for text in triple))


def shells(root: Node) -> set[str]:
    """The names of the fields that hold an empty mapping or list."""
    names = set()
    pending: list[tuple[str, Node]] = [("", root)]
    while pending:
        name, node = pending.pop()
        node = resolved(node)
        if isinstance(node, MappingNode | SequenceNode) and not node.children:
            names.add(name)
        elif isinstance(node, MappingNode):
            pending.extend((key_text(entry.key), entry.value) for entry in node.fields.values())
        elif isinstance(node, SequenceNode):
            pending.extend((name, item) for item in node.items)
    return names


def leaves_of(root: MappingNode) -> dict[tuple[Any, ...], object]:
    """The leaves of a Kptfile; one without any that can be told apart is no example."""
    values = leaves(root)
    assume(values is not None)
    assert values is not None
    return values


def leaves(root: MappingNode) -> dict[tuple[Any, ...], object] | None:
    """The scalars by path, functions by name or image; None where they cannot be told apart by the document's rules."""
    values: dict[tuple[Any, ...], object] = {}
    value: Any = to_value(root)
    for name in ("mutators", "validators"):
        functions = (value.get("pipeline") or {}).pop(name, None) or []
        named = ["name" in function for function in functions]
        if len(set(named)) > 1 or not all("image" in function for function in functions):
            return None
        key = "name" if any(named) else "image"
        identities = [((key, identity(function[key]) if key == "image" else function[key]),) for function in functions]
        if len(set(identities)) < len(identities):
            return None
        for step, function in zip(identities, functions, strict=True):
            flatten(("pipeline", name, step), function, values)
    for field in ("keywords", "readinessGates"):
        (value.get("info") or {}).pop(field, None)
    flatten((), value, values)
    return values


def identified_alike(*sides: dict[tuple[Any, ...], object]) -> bool:
    """Whether all sides tell the functions of each list apart in the same way (F1 or F1)."""
    kinds = {(path[1], path[2][0][0]) for side in sides for path in side if path[0] == "pipeline"}
    return len(kinds) == len({name for name, _ in kinds})


def identity(image: str) -> str:
    head, slash, last = image.split("@")[0].rpartition("/")
    return head + slash + last.split(":")[0]


def flatten(path: tuple[Any, ...], value: Any, values: dict[tuple[Any, ...], object]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            flatten((*path, key), item, values)
    else:
        values[path] = repr(value)
