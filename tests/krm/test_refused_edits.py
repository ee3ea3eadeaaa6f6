"""W2: what cannot be edited in its text is refused with its file, field and remedy, whatever edits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from krm_merge.cli.app import main
from krm_merge.krm.program import process
from krm_merge.krm.resource_list import ResourceList

COMMENTED = "data: {a: x, # one\n  b: y}\n"
ITEM = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: a.yaml\n"
    + COMMENTED
)
LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + ITEM.replace("\n", "\n  ").rstrip(" ")
REFUSED = (
    "data: cannot edit a collection in brackets with comments between elements on one line; give each a line of its own"
)
PATCH = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: null, c: z}\n"


def test_an_item_whose_layout_allows_no_edit_is_refused_and_stays() -> None:
    def edit(resource_list: ResourceList) -> None:
        resource_list.items[0].remove("data.a")

    outcome = process(edit, LIST.encode())
    assert outcome.exit_code == 1
    assert outcome.output.startswith(LIST.encode())
    assert outcome.message == f"a.yaml: ConfigMap a: {REFUSED}"
    assert b"rule: W2" in outcome.output


def test_an_item_that_is_edited_in_its_text_is_not() -> None:
    resource_list = ResourceList.parse(LIST.encode())
    resource_list.items[0].set("metadata.name", "b")
    assert b"# one" in resource_list.serialize()
    assert list(resource_list.results) == []


def test_the_patch_command_refuses_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(ITEM)
    (tmp_path / "patch.yaml").write_text(PATCH)
    with pytest.raises(SystemExit, match="1"):
        main(["patch", "apply", str(tmp_path / "a.yaml"), str(tmp_path / "patch.yaml")])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"a.yaml: ConfigMap a: {REFUSED}" in " ".join(printed.err.split())
