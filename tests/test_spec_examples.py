"""The examples of the design document "Pipeline Merge" of kpt, through the whole function."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from checkout import ROOT
from krm_merge.functions import process

EXAMPLES = ROOT / "testdata" / "spec" / "pipeline-merge.yaml"
HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n"
LOCAL_HEAD = HEAD + "  annotations:\n    internal.config.kubernetes.io/path: Kptfile\n"

Case = dict[str, str]


def load_examples() -> list[Case]:
    cases: list[Case] = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    return cases


def indent(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


def resource_list(case: Case) -> bytes:
    """What kpt gives to the function: the local Kptfile as the item, original and upstream as the configuration."""
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    text += "- " + indent(LOCAL_HEAD + case["local"], 2)[2:]
    text += "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n  metadata:\n    name: merge\n"
    for side in ("original", "upstream"):
        # Upstream renames the package, too: the name is local's.
        text += f"  {side}: |\n" + indent(HEAD.replace("pkg", side) + case[side], 4)
    return text.encode()


def merge(case: Case) -> dict[str, Any]:
    """Runs the function and gives the one item that comes out."""
    outcome = process(resource_list(case))
    assert outcome.exit_code == 0, outcome
    output = yaml.safe_load(outcome.output)
    assert len(output["items"]) == 1
    item: dict[str, Any] = output["items"][0]
    return item


def test_all_nine_examples_are_there() -> None:
    assert len(load_examples()) == 9


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: str(case["name"]))
def test_example(case: Case) -> None:
    assert merge(case)["pipeline"] == yaml.safe_load(case["expected"])["pipeline"]


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: str(case["name"]))
def test_the_rest_of_the_kptfile_stays(case: Case) -> None:
    merged = merge(case)
    del merged["pipeline"]
    assert merged == yaml.safe_load(LOCAL_HEAD)


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: str(case["name"]))
def test_keys_of_the_example_stand_in_its_order(case: Case) -> None:
    # yaml.dump keeps the order of keys: `image, tag, new-setter`, not sorted.
    merged = yaml.safe_dump(merge(case)["pipeline"], sort_keys=False)
    assert merged == yaml.safe_dump(yaml.safe_load(case["expected"])["pipeline"], sort_keys=False)


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: str(case["name"]))
def test_merging_again_changes_nothing(case: Case) -> None:
    again = case | {"local": yaml.safe_dump({"pipeline": merge(case)["pipeline"]}, sort_keys=False)}
    assert merge(again) == merge(case)
