"""R14: what the functions of a package write is nobody's edit."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from benchmarks.shapes import SHAPES, package

from krm_merge import MergedPackage, merge_packages
from krm_merge.functions import process
from packages.repositories import DEPLOYMENT

RECORDINGS = sorted(Path("testdata/catalog").glob("*.yaml"))
ORIGINAL = DEPLOYMENT.replace("1.25", "1.25 # the server")
PATCHES = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: PatchResources
metadata:
  name: patches
  annotations:
    config.kubernetes.io/local-config: "true"
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 5
      template:
        spec:
          containers:
          - name: proxy
            image: proxy:1
"""
RENDERED = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 5
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.25 # the server
      - name: proxy
        image: proxy:1
"""


def kptfile(*mutators: dict[str, Any]) -> str:
    """A Kptfile with these functions."""
    pipeline = {"pipeline": {"mutators": [*mutators]}} if mutators else {}
    return yaml.safe_dump({"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "web"}, **pipeline})


def merge(
    original: str, upstream: str | None, local: str, *mutators: dict[str, Any], **files: str
) -> tuple[str | None, MergedPackage]:
    """The merged `web.yaml` of a package whose local version declares functions; `files` are local's own."""
    sides = [
        {"Kptfile": kptfile(*functions).encode()} | ({} if text is None else {"web.yaml": text.encode()})
        for functions, text in (((), original), ((), upstream), (mutators, local))
    ]
    sides[2] |= {f"{name}.yaml": text.encode() for name, text in files.items()}
    merged = merge_packages(*sides)
    data = merged.files.get("web.yaml")
    return None if data is None else data.decode(), merged


PATCHING = {"image": "krm-merge", "configPath": "patches.yaml"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_deletions_of_rendered_resources_take_effect(recording: Path) -> None:
    # kpt #1438: what was only rendered kept each of them alive.
    case = yaml.safe_load(recording.read_text())
    config = {"config": yaml.safe_dump(case["config"])} if case["config"] else {}
    text, merged = merge(
        case["resources"], None, case["rendered"], {"image": case["image"], "configPath": "config.yaml"}, **config
    )
    assert not merged.has_conflicts
    assert text is None


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_rendered_resources_take_the_changes_of_upstream(recording: Path) -> None:
    case = yaml.safe_load(recording.read_text())
    config = {"config": yaml.safe_dump(case["config"])} if case["config"] else {}
    changed = "\n---\n".join(f"{text.strip()}\nchanged: upstream" for text in case["resources"].split("\n---\n"))
    text, merged = merge(
        case["resources"], changed, case["rendered"], {"image": case["image"], "configPath": "config.yaml"}, **config
    )
    assert not merged.has_conflicts
    expected = [{**value, "changed": "upstream"} for value in yaml.safe_load_all(case["rendered"])]
    key = str
    assert text is not None
    assert sorted(yaml.safe_load_all(text), key=key) == sorted(expected, key=key)


def test_values_that_a_function_writes_are_upstreams() -> None:
    upstream = ORIGINAL.replace("replicas: 1", "replicas: 2").replace("1.25", "1.27")
    text, merged = merge(ORIGINAL, upstream, RENDERED, PATCHING, patches=PATCHES)
    assert not merged.has_conflicts
    assert text == RENDERED.replace("replicas: 5", "replicas: 2").replace("1.25", "1.27")


def test_a_patch_in_a_config_map_is_known() -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n"
    function = {"image": "krm-merge", "configMap": {"function": "PatchResources", "patch": patch}}
    upstream, local = (ORIGINAL.replace("replicas: 1", f"replicas: {n}") for n in (2, 5))
    text, merged = merge(ORIGINAL, upstream, local, function)
    assert (text, merged.has_conflicts) == (upstream, False)


def test_the_file_of_a_patch_belongs_to_the_function() -> None:
    config = dedent("""\
        apiVersion: fn.kpt.dev/v1alpha1
        kind: PatchResources
        metadata: {name: patches}
        patches:
        - path: scale.yaml
    """)
    scale = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n"
    local = ORIGINAL.replace("replicas: 1", "replicas: 5")
    text, merged = merge(
        ORIGINAL, ORIGINAL.replace("replicas: 1", "replicas: 2"), local, PATCHING, patches=config, scale=scale
    )
    assert not merged.has_conflicts
    assert text == ORIGINAL.replace("replicas: 1", "replicas: 2")


def test_a_declared_value_that_local_changed_by_hand_is_an_edit() -> None:
    local = RENDERED.replace("replicas: 5", "replicas: 7")
    text, merged = merge(ORIGINAL, ORIGINAL.replace("replicas: 1", "replicas: 2"), local, PATCHING, patches=PATCHES)
    (conflict,) = [record for record in merged.records if record.status != "automatic"]
    assert conflict.path == "spec.replicas"
    assert [conflict.values[side] for side in ("original", "upstream", "local")] == [1, 2, 7]
    assert text == local.replace("replicas: 7", "replicas: 2")
    _, merged = merge(ORIGINAL, None, local, PATCHING, patches=PATCHES)
    assert merged.has_conflicts


def test_an_element_that_a_patch_removes_is_whole_or_not_there() -> None:
    two = ORIGINAL + "      - name: log\n        image: log:1\n"
    removal = PATCHES.replace("- name: proxy", "- name: log").replace("image: proxy:1", "$patch: delete")
    text, merged = merge(
        two, two.replace("log:1", "log:2"), ORIGINAL.replace("replicas: 1", "replicas: 5"), PATCHING, patches=removal
    )
    assert not merged.has_conflicts
    assert text is not None
    containers = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    assert all(container.keys() == {"name", "image"} for container in containers)


def test_a_package_that_was_not_rendered_merges_as_it_is() -> None:
    upstream = ORIGINAL.replace("replicas: 1", "replicas: 2")
    text, merged = merge(ORIGINAL, upstream, ORIGINAL, PATCHING, patches=PATCHES)
    assert (text, merged.has_conflicts) == (upstream, False)


def test_an_edit_beside_rendered_fields_keeps_the_resource() -> None:
    local = RENDERED.replace("proxy:1", "proxy:2")
    _, merged = merge(ORIGINAL, None, local, PATCHING, patches=PATCHES)
    assert merged.has_conflicts


def test_only_selected_resources_are_rendered() -> None:
    upstream = ORIGINAL.replace("replicas: 1", "replicas: 2")
    for choice, has_conflicts in (
        ({"selectors": [{"kind": "Service"}]}, True),
        ({"selectors": [{"kind": "Service"}, {"kind": "Deployment", "name": "web"}]}, False),
        ({"selectors": [{"labels": {"app": "web"}}]}, True),
        ({"exclude": [{"name": "other"}]}, False),
        ({"exclude": [{"apiVersion": "apps/v1"}]}, True),
    ):
        _, merged = merge(ORIGINAL, upstream, RENDERED, {**PATCHING, **choice}, patches=PATCHES)
        assert merged.has_conflicts is has_conflicts, choice


@pytest.mark.parametrize(
    "function",
    [
        {"image": "example.com/unknown:v1", "configMap": {"replicas": "5"}},
        {"image": "krm-merge", "configPath": "missing.yaml"},
        {"image": "gcr.io/kpt-fn/set-namespace:v1"},
        {"image": "gcr.io/kpt-fn/apply-setters:v1", "configMap": {"a": "${b}"}},
    ],
)
def test_functions_of_which_nothing_is_known_change_nothing(function: dict[str, Any]) -> None:
    _, merged = merge(ORIGINAL, None, RENDERED, function)
    assert merged.has_conflicts


LABELS = {"image": "gcr.io/kpt-fn/set-labels:v0.2", "configMap": {"team": "a"}}
WITH_LABEL = ORIGINAL.replace("name: web\nspec", "name: web\n  labels:\n    team: a\nspec")


@pytest.mark.parametrize(
    ("more", "is_known"),
    [
        ({}, True),
        ({"name": "labels"}, True),
        ({"selectors": [{"kind": "Deployment"}]}, True),
        ({"when": 'resources.exists(r, r.kind == "Service")'}, False),
        ({"exclude": [{"resourceFileRegexp": ".*/other.yaml"}]}, False),
        ({"selectors": [{"newField": "x"}]}, False),
    ],
)
def test_a_function_that_may_not_have_run_is_not_known(more: dict[str, Any], is_known: bool) -> None:
    _, merged = merge(ORIGINAL, None, WITH_LABEL, {**LABELS, **more})
    assert merged.has_conflicts is not is_known


POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web
spec:
  podSelector:
    matchLabels:
      app: web
"""


@pytest.mark.parametrize(
    ("function", "original", "local"),
    [
        # Values that are not those of the configuration.
        (LABELS, ORIGINAL, WITH_LABEL.replace("team: a", "team: b")),
        (LABELS, ORIGINAL, WITH_LABEL.replace("labels", "annotations")),
        # Places that the function does not write: it adds no label to the selector of a policy.
        (LABELS, POLICY, POLICY + "      team: a\n"),
        (LABELS, ORIGINAL, ORIGINAL + "  team: a\n"),
        # Another image than the function's, and another tag.
        *(
            (
                {"image": "gcr.io/kpt-fn/set-image:v0.1", "configMap": {"name": name, "newTag": "2"}},
                ORIGINAL,
                ORIGINAL.replace("nginx:1.25", image),
            )
            for name, image in (("nginx", "nginx:3"), ("apache", "nginx:2"))
        ),
        # A prefix where no name is.
        (
            {"image": "gcr.io/kpt-fn/ensure-name-substring:v0.1", "configMap": {"prepend": "dev-"}},
            ORIGINAL,
            ORIGINAL.replace("- name: web", "- name: dev-web"),
        ),
        # No setter, or another value.
        *(
            (
                {"image": "gcr.io/kpt-fn/apply-setters:v0.2", "configMap": {"replicas": "5"}},
                ORIGINAL.replace("replicas: 1", f"replicas: 1{comment}"),
                ORIGINAL.replace("replicas: 1", f"replicas: {number}{comment}"),
            )
            for comment, number in (("", 5), (" # kpt-set: ${replicas}", 6), (" # kpt-set: ${other}", 5))
        ),
    ],
)
def test_an_edit_by_hand_is_never_taken_for_a_functions(function: dict[str, Any], original: str, local: str) -> None:
    _, merged = merge(original, None, local, function)
    assert merged.has_conflicts


def test_a_package_renders_what_is_inside_it_after_its_subpackages() -> None:
    first = {"image": "gcr.io/kpt-fn/set-namespace:v1", "configMap": {"namespace": "inner"}}
    second = {"image": "gcr.io/kpt-fn/set-namespace:v1", "configMap": {"namespace": "outer"}}
    sides = [
        {"Kptfile": kptfile(), "sub/Kptfile": kptfile(), "sub/web.yaml": ORIGINAL},
        {"Kptfile": kptfile(), "sub/Kptfile": kptfile()},
        {
            "Kptfile": kptfile(second),
            "sub/Kptfile": kptfile(first),
            "sub/web.yaml": ORIGINAL.replace("name: web\nspec", "name: web\n  namespace: outer\nspec"),
        },
    ]
    merged = merge_packages(*({path: text.encode() for path, text in side.items()} for side in sides))
    assert not merged.has_conflicts
    assert "sub/web.yaml" not in merged.files


def test_the_function_knows_the_pipeline_too() -> None:
    def item(text: str, path: str) -> dict[str, Any]:
        value: dict[str, Any] = yaml.safe_load(text)
        value["metadata"].setdefault("annotations", {})["internal.config.kubernetes.io/path"] = path
        return value

    original = [item(kptfile(), "Kptfile"), item(ORIGINAL, "web.yaml")]
    resource_list = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": {
            "apiVersion": "fn.kpt.dev/v1alpha1",
            "kind": "MergePackage",
            "metadata": {"name": "merge"},
            "original": yaml.safe_dump_all(original),
            "upstream": yaml.safe_dump_all([item(kptfile(), "Kptfile"), item(PATCHES, "other.yaml")]),
        },
        "items": [
            item(kptfile(PATCHING), "Kptfile"),
            item(PATCHES, "patches.yaml"),
            item(RENDERED, "web.yaml"),
        ],
    }
    outcome = process(yaml.safe_dump(resource_list).encode())
    results = yaml.safe_load(outcome.output)
    assert "Deployment" not in [value["kind"] for value in results["items"]]
    assert not [r for r in results.get("results", ()) if r["severity"] != "info"]


def test_rendered_resources_are_known_where_a_list_names_no_files() -> None:
    merged = yaml.safe_load(process("".join(package(SHAPES["rendered-all-edited"], 16)).encode()).output)
    assert {result["severity"] for result in merged["results"]} == {"info"}
    namespaces = {item["metadata"].get("namespace") for item in merged["items"] if item["kind"] != "Kptfile"}
    tags = {item["metadata"]["annotations"]["example.com/tag"] for item in merged["items"] if item["kind"] != "Kptfile"}
    assert namespaces >= {"prod"}
    assert tags == {"v2"}
