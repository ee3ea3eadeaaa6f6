"""Kustomizations list what is there (rule R11)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from generated.manifests import documents, release
from vendored.layouts import LAYOUTS, laid_out, objects
from vendored.versions import config_map, merged, stream

SORTED = "# Ours.\nresources:\n- a.yaml # first\n- c.yaml\nnamespace: web\n"


def test_a_new_file_is_listed_in_its_place() -> None:
    local = {"a.yaml": config_map("a"), "c.yaml": config_map("c"), "kustomization.yaml": SORTED}
    done = merged(
        stream(config_map("a"), config_map("c")), stream(config_map("a"), config_map("b"), config_map("c")), local
    )
    assert done.files["kustomization.yaml"] == SORTED.replace("- c.yaml", "- b.yaml\n- c.yaml")
    assert "kustomization.yaml: lists b.yaml" in done.messages


def test_a_list_without_an_order_gets_a_new_file_at_its_end() -> None:
    text = "resources:\n  - c.yaml\n  - a.yaml\n"
    local = {"a.yaml": config_map("a"), "c.yaml": config_map("c"), "kustomization.yaml": text}
    done = merged(
        stream(config_map("a"), config_map("c")), stream(config_map("a"), config_map("b"), config_map("c")), local
    )
    assert done.files["kustomization.yaml"] == text + "  - b.yaml\n"


@pytest.mark.parametrize("entry", ["c.yaml", "./c.yaml"])
def test_a_deleted_file_is_no_longer_listed(entry: str) -> None:
    text = f"resources:\n- a.yaml\n- {entry}\n"
    local = {"a.yaml": config_map("a"), "c.yaml": config_map("c"), "kustomization.yml": text}
    done = merged(stream(config_map("a"), config_map("c")), config_map("a"), local)
    assert done.files == {"a.yaml": config_map("a"), "kustomization.yml": "resources:\n- a.yaml\n"}
    assert f"kustomization.yml: no longer lists {entry}" in done.messages


def test_the_nearest_kustomization_lists_a_file() -> None:
    local = {
        "kustomization.yaml": "resources:\n- web\n",
        "web/kustomization.yaml": "resources:\n- parts/a.yaml\n",
        "web/parts/a.yaml": config_map("a"),
    }
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["web/kustomization.yaml", "web/parts/b.yaml"]
    assert done.files["web/kustomization.yaml"] == "resources:\n- parts/a.yaml\n- parts/b.yaml\n"


def test_an_overlay_that_lists_a_deleted_file_of_its_base_is_mended() -> None:
    local = {
        "base/a.yaml": config_map("a"),
        "base/b.yaml": config_map("b"),
        "overlay/kustomization.yaml": "resources:\n- ../base/a.yaml\n- x\n",
    }
    done = merged(stream(config_map("a"), config_map("b")), config_map("b"), local)
    assert done.files["overlay/kustomization.yaml"] == "resources:\n- x\n"


@pytest.mark.parametrize("text", ["namePrefix: x-\n", "resources: {}\n", "resources: [\n", "a: 1\n---\nb: 2\n"])
def test_what_lists_no_resources_is_left_alone(text: str) -> None:
    local = {"a.yaml": config_map("a"), "kustomization.yaml": text}
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["b.yaml"]


def test_a_file_that_is_listed_already_is_listed_once() -> None:
    local = {"a.yaml": config_map("a"), "kustomization.yaml": "resources:\n- a.yaml\n- b.yaml\n"}
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["b.yaml"]


def test_a_new_document_in_a_listed_file_changes_no_list() -> None:
    local = {"all.yaml": config_map("a"), "kustomization.yaml": "resources:\n- all.yaml\n"}
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["all.yaml"]


@pytest.mark.kubectl
def test_kustomize_builds_a_base_before_and_after(tmp_path: Path) -> None:
    before, after = release(1, 3), release(2, 3)
    files = laid_out(documents(before), LAYOUTS["folders of apps"])
    local = {**files, "kustomization.yaml": "resources:\n" + "".join(f"- {path}\n" for path in sorted(files))}
    done = merged(before, after, local)
    for held, expected in ((local, before), (done.files, after)):
        folder = tmp_path / f"{len(held)}"
        for path, text in held.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, check=True, text=True).stdout
        assert objects({"": built}) == objects({"": expected})
