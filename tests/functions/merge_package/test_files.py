"""The function decides by the paths of its items what the program decides by files: moves, lists, references."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from effort import seeds
from functions.streams import as_item
from krm_merge.functions import process
from packages.references.breaches import CLASSES, Texts, deployment, kustomization, resource, text_of

PATH = "internal.config.kubernetes.io/path"
INDEX = "internal.config.kubernetes.io/index"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"


def items_of(texts: Texts) -> list[str]:
    """The resources of files as `kpt fn source` lists them: those that have a kind, with their places."""
    items = []
    for path, text in {"Kptfile": KPTFILE, **texts}.items():
        values = list(yaml.safe_load_all(text)) if path.endswith(".yaml") or path == "Kptfile" else []
        for index, value in enumerate(values):
            if isinstance(value, dict) and "kind" in value:
                metadata = {"name": "x", **value.get("metadata", {})} if "metadata" in value else {}
                marks = {**metadata.get("annotations", {}), PATH: path, INDEX: str(index)}
                items.append(text_of({**value, "metadata": {**metadata, "annotations": marks}}))
    return items


class Merged:
    """The merge of three versions by the function, as files."""

    def __init__(
        self, original: Texts | str, upstream: Texts | str, local: Texts, items: Sequence[str] = (), **config: Any
    ) -> None:
        packages = [side if isinstance(side, str) else "---\n".join(items_of(side)) for side in (original, upstream)]
        sides = dict(zip(("original", "upstream"), packages, strict=True))
        function = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "metadata": {"name": "m"}}
        head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        listed = "".join(items or map(as_item, items_of(local)))
        config_text = yaml.safe_dump({"functionConfig": {**function, **sides, **config}})
        self.outcome = process((head + listed + config_text).encode())
        output = yaml.safe_load(self.outcome.output)
        self.results = output.get("results", [])
        self.texts: Texts = {}
        for item in sorted(output["items"], key=lambda item: int(item["metadata"]["annotations"][INDEX])):
            annotations = item["metadata"]["annotations"]
            path = annotations.pop(PATH)
            annotations.pop(INDEX)
            if not annotations:
                del item["metadata"]["annotations"]
            if not item["metadata"]:
                del item["metadata"]
            self.texts[path] = self.texts.get(path, "") + ("---\n" if path in self.texts else "") + text_of(item)

    @property
    def is_reported(self) -> bool:
        return any(result["tags"]["rule"] == "I" and result["severity"] != "info" for result in self.results)


def move(texts: Texts, before: str, after: str) -> Texts:
    return {path.replace(before, after, 1): text for path, text in texts.items()}


PACKAGE = {
    "base/kustomization.yaml": kustomization(["deployment.yaml"]),
    "base/deployment.yaml": text_of(deployment("web")),
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_merge_breaks_is_mended_or_reported(name: str) -> None:
    for seed in seeds(20):
        case = CLASSES[name](random.Random(f"{name}{seed}"))
        sides = case.original, case.upstream, case.local
        if any(not text.startswith(("apiVersion", "kind")) for side in sides for text in side.values()):
            # The function is not given files without resources.
            continue
        merged = Merged(*sides)
        assert merged.outcome.exit_code == 0
        assert case.works(merged.texts) or merged.is_reported, (seed, merged.texts, merged.results)
        again = Merged(case.original, case.upstream, merged.texts)
        assert again.texts == merged.texts, seed
        failed = Merged(*sides, onConflict="fail")
        assert failed.outcome.exit_code == int(merged.is_reported)


def test_a_resource_that_local_changed_moves_with_its_file() -> None:
    local = {**PACKAGE, "base/deployment.yaml": PACKAGE["base/deployment.yaml"].replace("replicas: 1", "replicas: 5")}
    kustomization_of_local = {"overlay/kustomization.yaml": kustomization(["../base"])}
    merged = Merged(PACKAGE, move(PACKAGE, "base", "app/base"), local | kustomization_of_local)
    assert merged.texts.keys() == {
        "Kptfile",
        "app/base/kustomization.yaml",
        "app/base/deployment.yaml",
        "overlay/kustomization.yaml",
    }
    assert "replicas: 5" in merged.texts["app/base/deployment.yaml"]
    assert yaml.safe_load(merged.texts["overlay/kustomization.yaml"])["resources"] == ["../app/base"]


def test_an_edited_reference_keeps_its_comments() -> None:
    kustomization_of_local = kustomization(["../base"]).replace("- ../base", "# all of it\n- ../base # ours")
    sides = PACKAGE, move(PACKAGE, "base", "app/base"), PACKAGE
    items = [as_item(text) for text in items_of(sides[2])] + [
        as_item(
            kustomization_of_local
            + f"metadata:\n  annotations:\n    {PATH}: overlay/kustomization.yaml\n    {INDEX}: '0'\n"
        )
    ]
    merged = Merged(*sides, items=items)
    assert "  # all of it\n  - ../app/base # ours\n" in merged.outcome.output.decode()


def test_what_local_moved_takes_changes_at_its_own_place() -> None:
    upstream = {
        **PACKAGE,
        "base/deployment.yaml": PACKAGE["base/deployment.yaml"].replace("web:1", "web:2"),
        "base/service.yaml": text_of(resource("Service", "web")),
    }
    merged = Merged(PACKAGE, upstream, move(PACKAGE, "base", "mine"))
    assert "web:2" in merged.texts["mine/deployment.yaml"]
    assert "mine/service.yaml" in merged.texts
    assert not [path for path in merged.texts if path.startswith("base")]


@pytest.mark.parametrize("lists_all", [True, False])
def test_a_kustomization_of_local_alone_lists_new_files(lists_all: bool) -> None:
    original = {f"{name}.yaml": text_of(resource("ConfigMap", name)) for name in ("a", "c")}
    upstream = original | {"b.yaml": text_of(resource("ConfigMap", "b"))}
    listed = ["a.yaml", "c.yaml"] if lists_all else ["a.yaml"]
    merged = Merged(original, upstream, original | {"kustomization.yaml": kustomization(listed)})
    expected = ["a.yaml", "b.yaml", "c.yaml"] if lists_all else ["a.yaml"]
    assert yaml.safe_load(merged.texts["kustomization.yaml"])["resources"] == expected


def test_resources_without_a_path_are_merged_where_local_has_them() -> None:
    def bare(texts: Texts) -> str:
        return "---\n".join([KPTFILE, *texts.values()])

    upstream = {**PACKAGE, "base/deployment.yaml": PACKAGE["base/deployment.yaml"].replace("web:1", "web:2")}
    merged = Merged(bare(PACKAGE), bare(upstream), PACKAGE)
    assert merged.texts.keys() == {"Kptfile", *PACKAGE}
    assert "web:2" in merged.texts["base/deployment.yaml"]
