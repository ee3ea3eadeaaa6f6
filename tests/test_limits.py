"""Limits that small input would otherwise blow up: each gives one error with its remedy, and can be raised."""

from __future__ import annotations

import pytest

from krm_merge.functions import process

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
THING = "- {apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, a: {x: 1}}\n"
CONFIG = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  metadata: {name: c}\n"
PATCHES = f"{CONFIG}  kind: PatchResources\n  patches:\n"
KPTFILE = "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: shop}}"
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
MERGE = f"{CONFIG}  kind: MergePackage\n"


def patched(operations: str) -> str:
    """What a JSON patch of a thing ends with: its error, or its output."""
    outcome = process(f"{HEAD}items:\n{THING}{PATCHES}  - target: {{kind: Thing}}\n    patch: |\n{operations}".encode())
    return outcome.message or outcome.output.decode()


def copies(count: int) -> str:
    """Operations that each double what there is."""
    return "".join(f"      - {{op: copy, from: /a, path: /a/b{at}}}\n" for at in range(count))


def test_copies_that_double_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    error = patched(copies(40))
    assert error.startswith("Thing a: patches[0]: operation ")
    assert error.endswith(
        "copies make more than 50000 nodes; write the values out, or raise the limit with KRM_MERGE_MAX_COPIED_NODES"
    )
    # a has 2 nodes, then 4, then 8.
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "13")
    assert "copies make more than 13 nodes" in patched(copies(3))
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "14")
    assert "b1: {x: 1, b0: {x: 1}}" in patched(copies(3))


def test_patches_that_nest_deeper_than_anybody_reads() -> None:
    operations = "".join(f"      - {{op: add, path: /a{'/b' * at}, value: {{}}}}\n" for at in range(1, 300))
    assert "the patch makes an object that is nested deeper than 128 levels" in patched(operations)


def test_targets_that_name_no_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    things = "".join(THING.replace("name: a", f"name: a{at}") for at in range(3))
    targets = "".join(f"  - target: {{name: 'a[{at}]'}}\n    patch: '{{b: 1}}'\n" for at in range(2))
    text = f"{HEAD}items:\n{things}{PATCHES}{targets}".encode()
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "5")
    assert process(text).message == (
        "functionConfig: 2 targets without the name of a resource and 3 resources are more than 5 comparisons; give "
        "names that are no expressions, or raise the limit with KRM_MERGE_MAX_COMPARISONS"
    )
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "6")
    assert process(text).exit_code == 0


def test_inline_patches_of_a_transformation(monkeypatch: pytest.MonkeyPatch) -> None:
    config = PATCHES.replace("PatchResources", "TransformResources").replace("  patches:", "  plugins:")
    plugin = "  - name: p\n    patches:\n    - target: {name: 'a.*'}\n      ops: [{op: add, path: /b, value: c}]\n"
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "0")
    assert "are more than 0 comparisons" in process(f"{HEAD}items:\n{THING}{config}{plugin}".encode()).message


def test_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "  rules:\n" + "  - {kind: Thing, onConflict: local}\n" * 1001
    text = f"{HEAD}items:\n- {KPTFILE}\n{MERGE}{rules}  original: '{KPTFILE}'\n  upstream: '{KPTFILE}'\n".encode()
    assert process(text).message == (
        "functionConfig: rules: 1001 rules, more than 1000; let one rule cover more, or raise the limit with "
        "KRM_MERGE_MAX_RULES"
    )
    monkeypatch.setenv("KRM_MERGE_MAX_RULES", "1001")
    assert process(text).exit_code == 0


def test_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    side = f"|\n    ---\n    {KPTFILE}\n    ---\n    {CONFIG_MAP}\n"
    text = f"{HEAD}items:\n- {KPTFILE}\n- {CONFIG_MAP}\n{MERGE}  original: {side}  upstream: {side}".encode()
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "1")
    assert "more than 1 documents; divide it, or raise the limit with KRM_MERGE_MAX_DOCUMENTS" in process(text).message
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    assert process(text).message == ""


def test_a_limit_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "many")
    error = "KRM_MERGE_MAX_COPIED_NODES is 'many' in the environment; give a whole number"
    assert error in patched(copies(1))
