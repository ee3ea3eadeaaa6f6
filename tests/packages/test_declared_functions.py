"""A function that is declared in a pipeline for a while, and taken out again."""

from __future__ import annotations

import pytest

from krm_merge.packages import Changed, File, Tree
from krm_merge.packages.kptfile import add_function, remove_function
from packages.repositories import KPTFILE


def without_function(package: Tree) -> Tree:
    return Changed(package, remove_function(package))


def with_function(package: Tree) -> Tree:
    return Changed(package, add_function(package, b"kind: MergePackage\n", {"image": "merge:v1"}))


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "# the end\n",
        "info:\n  description: no pipeline\n",
        "pipeline:\n  mutators:\n  - image: labels:v1\n",
        "pipeline: # ours\n  # first\n  mutators:\n    - image: labels:v1 # x\n    # last\ninfo:\n  description: web\n",
        "pipeline:\n  validators:\n  - image: kubeval:v1\n",
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_kptfile_is_as_it_was(rest: str, line_end: str) -> None:
    data = f"{KPTFILE}{rest}".replace("\n", line_end).encode()
    package: Tree = {"Kptfile": File(data)}
    declared = with_function(package)
    assert b"merge:v1" in declared["Kptfile"].data
    assert with_function(declared)["Kptfile"] == declared["Kptfile"]
    after = without_function(declared)
    assert {path: after[path].data for path in after} == {"Kptfile": data}


def test_a_comment_of_an_empty_list_stays() -> None:
    package = {"Kptfile": File(f"{KPTFILE}pipeline:\n  # none yet\n  mutators: []\n".encode())}
    assert b"# none yet" in without_function(with_function(package))["Kptfile"].data
