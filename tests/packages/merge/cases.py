"""Small packages in three versions, and what must come of their merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Tree
from krm_merge.packages.merge.trees import MergedTree, merge_trees

Texts = dict[str, str]
Row = Any
"""A parameter that holds a Case."""


@dataclass(frozen=True)
class Case:
    """Three versions, and what must come of them."""

    original: Texts
    upstream: Texts
    local: Texts
    expected: Texts
    conflicts: list[str]
    """The rules of all warnings and errors."""
    says: str
    """What a message must name."""
    on: OnConflict
    smart: bool


def files_of(texts: str | Texts) -> Texts:
    return texts if isinstance(texts, dict) else {"a.yaml": texts}


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
    before, theirs, ours, result = map(files_of, (original, upstream, local, expected))
    return pytest.param(Case(before, theirs, ours, result, sorted(conflicts), says, on, smart), id=name)


def tree(texts: Texts) -> dict[str, File]:
    return {path: File(text.encode()) for path, text in texts.items()}


def merge(original: Tree, upstream: Tree, local: Tree, on: OnConflict, smart: bool) -> MergedTree:
    return merge_trees(original, upstream, local, PackageMerger(Policy(on), smart=smart))


def config_map(data: str, name: str = "a", metadata: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{metadata}data:\n{data}"


def service(value: str, name: str = "web", namespace: str = "", port: int = 80, kind: str = "Service") -> str:
    inside = f"  namespace: {namespace}\n" if namespace else ""
    return (
        f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{inside}"
        f"spec:\n  type: {value}\n  selector:\n    app: web\n  ports:\n  - name: http\n    port: {port}\n"
    )


def kptfile(*functions: str, info: str = "") -> str:
    lines = "".join(functions)
    pipeline = f"pipeline:\n  mutators:\n{lines}" if lines else ""
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n{info}{pipeline}"


def kustomization(fields: str, prefix: str = "") -> str:
    name = f"namePrefix: {prefix}-\n" if prefix else ""
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{name}{fields}"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def functions(
    name: str,
    original: tuple[str, ...],
    upstream: tuple[str, ...],
    local: tuple[str, ...],
    expected: tuple[str, ...],
    *conflicts: str,
    **options: Any,
) -> Row:
    before, theirs, ours, result = ({"Kptfile": kptfile(*side)} for side in (original, upstream, local, expected))
    return row(name, before, theirs, ours, result, *conflicts, **options)


def other(
    name: str, path: str, original: str, upstream: str, local: str, expected: str, *conflicts: str, **options: Any
) -> Row:
    before, theirs, ours, result = ({path: text} for text in (original, upstream, local, expected))
    return row(f"R4 {name}", before, theirs, ours, result, *conflicts, **options)


def pod(*containers: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n{more}  containers:\n{''.join(containers)}"


def container(image: str = "web:v1", name: str = "c", more: str = "") -> str:
    return f"  - name: {name}\n    image: {image}\n{more}"


def widget(*elements: str) -> str:
    """An object of which no schema is known, with a list."""
    lines = "".join(f"  - {element}\n" for element in elements)
    return f"apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  list:\n{lines}"


A, B = config_map("  x: y\n"), config_map("  x: y\n", "b")


def same(name: str, before: str | Texts, now: str | Texts) -> Row:
    """Local left the original alone."""
    return row(f"W1 {name}", before, now, before, now)


def assert_merges(case: Case) -> None:
    """The case merges to what it expects, with the conflicts that it names, and merging again changes nothing."""
    before, theirs, ours = tree(case.original), tree(case.upstream), tree(case.local)
    merged = merge(before, theirs, ours, case.on, case.smart)
    texts = {path: file.data.decode() for path, file in Changed(ours, merged.changes).items()}
    messages = [(result.severity, result.rule, result.message) for result in merged.results]
    assert texts == case.expected, messages
    assert sorted(str(rule) for severity, rule, _ in messages if severity != "info") == case.conflicts, messages
    assert any(case.says in message for _, _, message in messages) or not case.says, messages
    # Law D, also where a conflict was refused.
    again = merge(before, theirs, tree(texts), case.on, case.smart)
    assert again.changes == {}
