"""Kustomizations list what is there (rule R11)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from generated.manifests import documents, release
from vendored.layouts import LAYOUTS, laid_out, objects
from vendored.versions import config_map, merge, stream

SORTED = "# Ours.\nresources:\n- configmap-a.yaml # first\n- configmap-c.yaml\nnamespace: web\n"


def test_a_new_file_is_listed_in_its_place() -> None:
    local = {"configmap-a.yaml": config_map("a"), "configmap-c.yaml": config_map("c"), "kustomization.yaml": SORTED}
    done = merge(
        stream(config_map("a"), config_map("c")), stream(config_map("a"), config_map("b"), config_map("c")), local
    )
    assert done.files["kustomization.yaml"] == SORTED.replace(
        "- configmap-c.yaml", "- configmap-b.yaml\n- configmap-c.yaml"
    )
    assert "kustomization.yaml: lists configmap-b.yaml" in done.messages


def test_a_list_without_an_order_gets_a_new_file_at_its_end() -> None:
    text = "resources:\n  - configmap-c.yaml\n  - configmap-a.yaml\n"
    local = {"configmap-a.yaml": config_map("a"), "configmap-c.yaml": config_map("c"), "kustomization.yaml": text}
    done = merge(
        stream(config_map("a"), config_map("c")), stream(config_map("a"), config_map("b"), config_map("c")), local
    )
    assert done.files["kustomization.yaml"] == text + "  - configmap-b.yaml\n"


@pytest.mark.parametrize("entry", ["configmap-c.yaml", "./configmap-c.yaml"])
def test_a_deleted_file_is_no_longer_listed(entry: str) -> None:
    text = f"resources:\n- configmap-a.yaml\n- {entry}\n"
    local = {"configmap-a.yaml": config_map("a"), "configmap-c.yaml": config_map("c"), "kustomization.yml": text}
    done = merge(stream(config_map("a"), config_map("c")), config_map("a"), local)
    assert done.files == {"configmap-a.yaml": config_map("a"), "kustomization.yml": "resources:\n- configmap-a.yaml\n"}
    assert f"kustomization.yml: no longer lists {entry}" in done.messages


def test_the_nearest_kustomization_lists_a_file() -> None:
    local = {
        "kustomization.yaml": "resources:\n- web\n",
        "web/kustomization.yaml": "resources:\n- parts/configmap-a.yaml\n",
        "web/parts/configmap-a.yaml": config_map("a"),
    }
    done = merge(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["web/kustomization.yaml", "web/parts/configmap-b.yaml"]
    assert done.files["web/kustomization.yaml"] == "resources:\n- parts/configmap-a.yaml\n- parts/configmap-b.yaml\n"


def test_an_overlay_that_lists_a_deleted_file_of_its_base_is_mended() -> None:
    local = {
        "base/configmap-a.yaml": config_map("a"),
        "base/configmap-b.yaml": config_map("b"),
        "overlay/kustomization.yaml": "resources:\n- ../base/configmap-a.yaml\n- x\n",
    }
    done = merge(stream(config_map("a"), config_map("b")), config_map("b"), local)
    assert done.files["overlay/kustomization.yaml"] == "resources:\n- x\n"


@pytest.mark.parametrize("text", ["namePrefix: x-\n", "resources: {}\n", "resources: [\n", "a: 1\n---\nb: 2\n"])
def test_what_lists_no_resources_is_left_alone(text: str) -> None:
    local = {"configmap-a.yaml": config_map("a"), "kustomization.yaml": text}
    done = merge(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["configmap-b.yaml"]


def test_a_file_that_is_listed_already_is_listed_once() -> None:
    local = {
        "configmap-a.yaml": config_map("a"),
        "kustomization.yaml": "resources:\n- configmap-a.yaml\n- configmap-b.yaml\n",
    }
    done = merge(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["configmap-b.yaml"]


def test_a_new_document_in_a_listed_file_changes_no_list() -> None:
    before = stream(config_map("a"), config_map("b"))
    done = merge(
        before, stream(before, config_map("c")), {"all.yaml": before, "kustomization.yaml": "resources:\n- all.yaml\n"}
    )
    assert done.changed == ["all.yaml"]


@pytest.mark.kubectl
def test_kustomize_builds_a_base_before_and_after(tmp_path: Path) -> None:
    before, after = release(1, 3), release(2, 3)
    files = laid_out(documents(before), LAYOUTS["folders of apps"])
    local = {**files, "kustomization.yaml": "resources:\n" + "".join(f"- {path}\n" for path in sorted(files))}
    done = merge(before, after, local)
    for package, expected in ((local, before), (done.files, after)):
        folder = tmp_path / f"{len(package)}"
        for path, text in package.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, check=True, text=True).stdout
        assert objects({"": built}) == objects({"": expected})
