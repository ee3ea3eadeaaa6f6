"""References between files that a merge breaks are told (law G)."""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import File
from krm_merge.packages.merge.trees import merge_trees

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
FUNCTION = "pipeline:\n  mutators:\n  - image: set-labels:v1\n    configPath: labels.yaml\n"
LABELS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\n"


def tree(kptfile: str, **files: str) -> dict[str, File]:
    return {"Kptfile": File(kptfile.encode())} | {f"{name}.yaml": File(text.encode()) for name, text in files.items()}


@pytest.mark.parametrize(
    ("local", "is_reported"),
    [
        (tree(KPTFILE + FUNCTION, labels=LABELS), True),
        (tree(KPTFILE, labels=LABELS), False),
        (tree(KPTFILE + FUNCTION, labels=LABELS + "data: {a: b}\n"), False),
        (tree(KPTFILE + FUNCTION), False),
    ],
    ids=["upstream removed the file", "local removed the function", "local changed the file", "local removed it"],
)
def test_a_config_path_to_a_file_that_went(local: dict[str, File], is_reported: bool) -> None:
    original = tree(KPTFILE + FUNCTION, labels=LABELS)
    upstream = tree(KPTFILE + FUNCTION + "info:\n  description: x\n")
    merged = merge_trees(original, upstream, local, PackageMerger(Policy()))
    warnings = [result.message for result in merged.results if "configPath" in result.message]
    expected = ["Kptfile: configPath labels.yaml names a file that the package does not have"]
    assert warnings == (expected if is_reported else [])
