"""Whole packages through the function: files, subpackages, renames and what must not get lost between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from benchmarks.shapes import SHAPES, package

from kptfiles import resource_list
from krm_merge.functions import process
from krm_merge.krm import program
from krm_merge.text.reading.nodes import MappingNode, to_value
from krm_merge.text.reading.reader import read

PATH = "internal.config.kubernetes.io/path"
PACKAGE = "internal.config.kubernetes.io/package-path"
INDEX = "internal.config.kubernetes.io/index"


def kptfile(path: str = "Kptfile", upstream: str = "", **annotations: str) -> str:
    ref = f"upstream: {{type: git, git: {{ref: {upstream}}}}}\n" if upstream else ""
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n{place(path, **annotations)}{ref}"


def place(path: str, **annotations: str) -> str:
    pairs = {PATH: path, **{PACKAGE if key == "package" else key: value for key, value in annotations.items()}}
    return "  annotations:\n" + "".join(f"    {key}: {value}\n" for key, value in pairs.items())


def config_map(name: str, value: str, path: str, note: str = "", **annotations: str) -> str:
    head = f"metadata:{f' # kpt-merge: {note}' if note else ''}\n  name: {name}\n"
    return f"apiVersion: v1\nkind: ConfigMap\n{head}{place(path, **annotations)}data:\n  a: {value}\n"


def merge(
    local: list[str], original: list[str], upstream: list[str], **options: str
) -> tuple[dict[str, Any], list[Any]]:
    """The values of the ConfigMaps by file and name, and the results."""
    outcome = process(resource_list(local, "---\n".join(original), "---\n".join(upstream), **options))
    assert outcome.exit_code == 0, outcome.message
    root = read(outcome.output.decode())
    assert isinstance(root, MappingNode)
    values: dict[str, Any] = {}
    items: Any = to_value(root.get("items"))
    for item in items:
        annotations = item["metadata"].get("annotations", {})
        if item["kind"] == "ConfigMap":
            values[f"{annotations.get(PATH)}#{item['metadata']['name']}"] = item["data"]["a"]
    results: Any = to_value(root.get("results")) or []
    return values, results


def warnings(results: list[Any]) -> list[str]:
    return [result["tags"]["rule"] for result in results if result["severity"] == "warning"]


def test_of_two_with_one_name_the_one_in_the_file_goes() -> None:
    both = [kptfile(), config_map("x", "q", "base/x.yaml"), config_map("x", "a", "x.yaml")]
    values, _ = merge(both, both, [kptfile(), config_map("x", "a", "x.yaml")])
    assert values == {"x.yaml#x": "a"}


def test_a_local_copy_in_another_file_does_not_take_the_change() -> None:
    local = [kptfile(), config_map("x", "a", "base/x.yaml"), config_map("x", "a", "x.yaml")]
    values, _ = merge(local, [kptfile(), config_map("x", "a", "x.yaml")], [kptfile(), config_map("x", "b", "x.yaml")])
    assert values == {"base/x.yaml#x": "a", "x.yaml#x": "b"}


def test_the_summary_counts_a_whole_resource_for_the_side_that_is_kept() -> None:
    original = [kptfile(), *(config_map(name, "a", f"{name}.yaml") for name in "xyz")]
    upstream = [kptfile(), *(config_map(name, "b", f"{name}.yaml") for name in "xy")]
    local = [kptfile(), config_map("y", "c", "y.yaml"), config_map("z", "c", "z.yaml")]
    _, results = merge(local, original, upstream)
    # Local removed x, both changed y, and upstream removed z.
    assert results[0]["message"] == "3 conflicts, upstream's kept: 1 file, local's kept: 2 files"


def test_the_summary_takes_the_winner_from_decisions_and_not_from_what_results_show() -> None:
    original, upstream, local = (
        [kptfile(), *(config_map(name, value, f"{name}.yaml").replace("ConfigMap", "Secret") for name in "xy")]
        for value in ("hunter1", "hunter2", "hunter3")
    )
    _, results = merge(local, original, upstream, onConflict="local")
    assert results[0]["message"] == "2 conflicts, local's kept: 2 files"
    assert [result["field"]["proposedValue"] for result in results[1:3]] == ["(redacted)", "(redacted)"]


def test_a_possible_rename_is_no_conflict() -> None:
    original, upstream = ([kptfile(), config_map("x", value, "x.yaml")] for value in "ab")
    _, results = merge([kptfile(), config_map("renamed", "c", "x.yaml")], original, upstream)
    assert warnings(results) == ["F5", "R1"]
    assert "conflicts" not in results[0]["message"]


@pytest.mark.parametrize("empty", ["annotations:\n", "annotations: null\n"])
def test_annotations_without_a_value_are_none(empty: str) -> None:
    bare = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  {empty}data:\n  a: b\n"
    local = config_map("x", "a", "x.yaml")
    values, _ = merge([kptfile(), local], [kptfile(), local], [kptfile(), bare, bare.replace("name: x", "name: n")])
    assert values == {"x.yaml#x": "b", "configmap_n.yaml#n": "b"}


def test_under_render_an_added_document_takes_the_next_index_of_its_file() -> None:
    root, sub = {"package": "/p"}, {"package": "/p/sub"}
    local = [kptfile(**root), kptfile("Kptfile", **sub), config_map("x", "a", "x.yaml", **sub)]
    original = [kptfile(), kptfile("sub/Kptfile"), config_map("x", "a", "sub/x.yaml")]
    outcome = process(
        resource_list(local, "---\n".join(original), "---\n".join([*original, config_map("y", "y", "sub/x.yaml")]))
    )
    assert (
        b'internal.config.kubernetes.io/path: sub/x.yaml\n      internal.config.kubernetes.io/index: "1"'
        in outcome.output
    )


def test_a_rule_speaks_of_a_resource_by_its_name_on_any_side() -> None:
    local = [kptfile(), config_map("mine", "l", "x.yaml", note="/x")]
    rules = "[{name: x, onConflict: local}]"
    values, _ = merge(
        local, [kptfile(), config_map("x", "a", "x.yaml")], [kptfile(), config_map("x", "b", "x.yaml")], rules=rules
    )
    assert values == {"x.yaml#mine": "l"}


def test_a_copy_with_the_note_of_another_does_not_take_its_place() -> None:
    local = [kptfile(), config_map("copy", "a", "x.yaml", note="/x"), config_map("x", "a", "x.yaml")]
    values, _ = merge(local, [kptfile(), config_map("x", "a", "x.yaml")], [kptfile(), config_map("x", "b", "x.yaml")])
    assert values == {"x.yaml#copy": "a", "x.yaml#x": "b"}


def test_added_by_both_a_local_rename_stays() -> None:
    values, _ = merge(
        [kptfile(), config_map("mine", "a", "x.yaml", note="/x")],
        [kptfile()],
        [kptfile(), config_map("x", "a", "x.yaml")],
    )
    assert values == {"x.yaml#mine": "a"}


def test_the_comments_at_the_head_of_an_added_file_arrive() -> None:
    added = "# Copyright\n\n# about n\n" + config_map("n", "n", "n.yaml") + "# the end\n"
    keep = config_map("k", "k", "k.yaml")
    outcome = process(
        resource_list([kptfile(), keep], f"{kptfile()}---\n{keep}", f"{kptfile()}---\n{keep}---\n{added}")
    )
    text = outcome.output.decode()
    assert "- # Copyright\n\n  # about n\n  apiVersion: v1" in text
    assert "# the end" in text


def test_a_path_that_leads_out_of_the_package_is_refused() -> None:
    away = f"{kptfile()}---\n{config_map('x', 'a', '../../x.yaml')}"
    outcome = process(resource_list([kptfile(), config_map("k", "k", "k.yaml")], kptfile(), away))
    assert outcome.exit_code == 1
    assert "is outside the package" in outcome.message


@pytest.mark.parametrize("ids", ["", "    config.k8s.io/id: '1'\n    internal.config.kubernetes.io/id: '1'\n"])
@pytest.mark.parametrize("value", ["a", "ours"])
def test_comments_alone_come_from_upstream(value: str, ids: str) -> None:
    # What kpt notes of an item for its own use goes when the item changes.
    before = config_map("x", "a", "x.yaml")
    local_item = before.replace("\ndata:", f"\n{ids}data:").replace("a: a", f"a: {value}")
    outcome = process(
        resource_list(
            [kptfile(), local_item], f"{kptfile()}---\n{before}", f"{kptfile()}---\n# new\n{before[:-1]} # why\n"
        )
    )
    output = outcome.output.decode()
    assert "\n- # new\n  apiVersion: v1\n" in output
    assert f"\n    a: {value} # why\n" in output
    assert "/id: '1'" not in output
    assert "comments only, as in upstream" in output


@pytest.mark.parametrize("refused", [False, True])
def test_all_processors_give_what_one_gives(refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(package(replace(SHAPES["mixed"], percent=100, conflict=True), 16)).encode()
    if refused:
        data += b"  onConflict: fail\n"
    monkeypatch.setattr(program, "processors", lambda: 3)
    outcomes = []
    for worth_it in (10**9, 2):
        monkeypatch.setattr(program, "WORTH_IT", worth_it)
        outcomes.append(process(data))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].exit_code == int(refused), outcomes[0].message
    assert outcomes[0].output.count(b"\n- message: ") >= 16


def test_what_a_pipeline_wrote_is_no_local_edit_of_versions_that_are_lists_of_objects() -> None:
    """R14; the objects of a list are read from the text of the whole functionConfig."""

    def objects(team: str, replicas: int) -> list[dict[str, Any]]:
        head: dict[str, Any] = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile"}
        labels = {"image": "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0", "configMap": {"team": "a"}}
        head |= {"metadata": {"name": "p", "annotations": {PATH: "Kptfile"}}, "pipeline": {"mutators": [labels]}}
        metadata = {"name": "web", "labels": {"team": team}, "annotations": {PATH: "d.yaml"}}
        return [
            head,
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas}},
        ]

    config: dict[str, Any] = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "metadata": {"name": "m"}}
    config |= {"original": objects("o", 1), "upstream": objects("u", 2)}
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    stream = yaml.safe_dump(head | {"items": objects("a", 1), "functionConfig": config}, sort_keys=False)
    outcome = process(stream.encode())
    merged = yaml.safe_load(outcome.output)
    assert merged["items"][1]["spec"] == {"replicas": 2}
    assert {result["severity"] for result in merged["results"]} == {"info"}
