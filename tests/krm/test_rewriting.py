"""W2: what had to be written anew is reported, whatever edited it."""

from __future__ import annotations

from pathlib import Path

import pytest

from krm_merge.cli.app import main
from krm_merge.krm.resource_list import ResourceList

COMMENTED = "data: {a: x, # one\n  b: y}\n"
ITEM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + COMMENTED
LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + ITEM.replace("\n", "\n  ").rstrip(" ")
PATCH = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: null, c: z}\n"


def test_an_item_that_is_written_anew_is_reported_once() -> None:
    resource_list = ResourceList.parse(LIST.encode())
    resource_list.items[0].remove("data.a")
    resource_list.items[0].set("data.c", "z")
    assert b"data: {b: y, c: z}" in resource_list.serialize()
    assert [(result.severity, result.rule) for result in resource_list.results] == [("warning", "W2")]


def test_an_item_that_is_edited_in_its_text_is_not() -> None:
    resource_list = ResourceList.parse(LIST.encode())
    resource_list.items[0].set("metadata.name", "b")
    assert b"# one" in resource_list.serialize()
    assert list(resource_list.results) == []


def test_the_patch_command_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(ITEM)
    (tmp_path / "patch.yaml").write_text(PATCH)
    assert main(["patch", "apply", str(tmp_path / "a.yaml"), str(tmp_path / "patch.yaml")]) == 0
    printed = capsys.readouterr()
    assert "data: {b: y, c: z}" in printed.out
    assert "comments and layout of this resource may have changed" in printed.err
