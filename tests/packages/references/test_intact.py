"""What held on original, upstream and local holds in the merged package, or is a conflict (law I)."""

from __future__ import annotations

import random
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml

from effort import calls, seeds
from krm_merge import MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Directory
from krm_merge.packages.merge.trees import merge_trees
from packages.references.breaches import (
    CLASSES,
    Case,
    Texts,
    base,
    deployment,
    kustomization,
    rename,
    resource,
    text_of,
)


def merge(
    original: Texts, upstream: Texts, local: Texts, on_conflict: OnConflict = "upstream", **more: object
) -> MergedPackage:
    sides = [{path: text.encode() for path, text in side.items()} for side in (original, upstream, local)]
    return merge_packages(sides[0], sides[1], sides[2], on_conflict=on_conflict, **more)  # type: ignore[arg-type]


def texts_of(merged: MergedPackage) -> Texts:
    return {path: data.decode() for path, data in merged.files.items()}


def is_reported(merged: MergedPackage) -> bool:
    return any(record.nature == "reference" and record.status != "automatic" for record in merged.records)


def builds(texts: Texts, folder: str, place: Path) -> bool:
    shutil.rmtree(place, ignore_errors=True)
    for path, text in texts.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    return subprocess.run(["kubectl", "kustomize", str(place / folder)], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_merge_breaks_is_mended_or_reported(name: str) -> None:
    for seed in seeds(50):
        case = CLASSES[name](random.Random(f"{name}{seed}"))
        merged = merge(case.original, case.upstream, case.local)
        texts = texts_of(merged)
        assert case.works(texts) or is_reported(merged), (seed, texts, [r.message for r in merged.records])
        again = merge(case.original, case.upstream, texts)
        assert texts_of(again) == texts, seed


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_is_changed_where_a_conflict_fails(name: str) -> None:
    case = CLASSES[name](random.Random(name))
    if is_reported(merge(case.original, case.upstream, case.local)):
        assert not merge(case.original, case.upstream, case.local, "fail").changes


@pytest.mark.parametrize("name", CLASSES)
def test_a_choice_settles_it(name: str) -> None:
    case = CLASSES[name](random.Random(name))
    records = merge(case.original, case.upstream, case.local, "fail").records
    broken = [record for record in records if record.nature == "reference" and record.status == "open"]
    for choice in broken[0].choices if broken else ():
        chosen = [{"nature": "reference", "fingerprint": record.fingerprint, "choice": choice} for record in broken]
        metadata = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "metadata": {"name": "p"}}
        policy = {**metadata, "resolutions": chosen}
        settled = merge(case.original, case.upstream, case.local, "fail", policy=policy)
        assert not [record for record in settled.records if record.status == "open"]
        # A side that has nothing there accepts that it is gone.


@pytest.mark.kubectl
@pytest.mark.parametrize("name", [name for name in CLASSES if CLASSES[name](random.Random(0)).build])
def test_kustomize_builds_what_was_mended(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        case = CLASSES[name](random.Random(seed))
        merged = texts_of(merge(case.original, case.upstream, case.local))
        assert builds(merged, case.build, tmp_path / "merged"), (seed, merged)


def test_nothing_is_said_of_what_was_broken_on_local() -> None:
    case = CLASSES["an object that upstream renamed"](random.Random(1))
    local = {
        path: text.replace("-settings\n", "-missing\n") if path == "mine.yaml" else text
        for path, text in case.local.items()
    }
    merged = merge(case.original, case.upstream, local)
    assert texts_of(merged)["mine.yaml"] == local["mine.yaml"]
    assert not is_reported(merged)


def test_nothing_is_said_of_what_upstream_broke_itself() -> None:
    case = CLASSES["an object that upstream deleted"](random.Random(1))
    merged = merge(case.local, case.upstream | {"base/deployment.yaml": case.local["base/deployment.yaml"]}, case.local)
    assert not is_reported(merged)


def test_a_reference_that_followed_is_reported_as_an_edit() -> None:
    case: Case = CLASSES["the target of a patch, renamed"](random.Random(1))
    records = merge(case.original, case.upstream, case.local).records
    followed = [record for record in records if record.nature == "reference"]
    assert [record.status for record in followed] == ["automatic"]
    assert "the reference follows" in followed[0].message


@pytest.mark.parametrize("name", CLASSES)
def test_what_one_side_left_alone_is_as_the_other_has_it(name: str) -> None:
    for seed in seeds(10):
        case = CLASSES[name](random.Random(f"{name}{seed}"))
        for side in (case.upstream, case.local):
            for merged in (merge(case.original, side, case.original), merge(case.original, side, side)):
                assert texts_of(merged) == side
                assert not [record for record in merged.records if record.nature == "reference"]
        assert not merge(case.original, case.original, case.local).records


def test_a_file_is_not_followed_to_where_kustomize_does_not_read_it() -> None:
    listing, moved = {"a/kustomization.yaml": "resources: [cm.yaml]\n"}, text_of(resource("ConfigMap", "c"))
    original = listing | {"a/cm.yaml": moved}
    local = {"a/kustomization.yaml": "resources: [cm.yaml] # ours\n", "a/cm.yaml": moved}
    merged = merge(original, {"b/cm.yaml": moved}, local)
    assert texts_of(merged)["a/kustomization.yaml"] == local["a/kustomization.yaml"]
    assert is_reported(merged)


def test_the_key_of_a_generator_stays_where_its_file_is_renamed() -> None:
    generator = "configMapGenerator:\n- name: g\n  files: [{}]\n"
    texts = {"kustomization.yaml": generator.format("a.txt"), "a.txt": "one\ntwo\nthree\n"}
    upstream = {"kustomization.yaml": generator.format("b.txt"), "b.txt": "one\ntwo\nthree\n"}
    local = texts | {"kustomization.yaml": texts["kustomization.yaml"] + "- name: h\n  files: [a.txt]\n"}
    merged = texts_of(merge(texts, upstream, local))["kustomization.yaml"]
    assert "files: [a.txt=b.txt]" in merged.rpartition("name: h")[2]


@pytest.mark.parametrize("in_file", [True, False])
def test_a_position_stays_and_is_reported_where_another_element_is_there(in_file: bool) -> None:
    case = CLASSES["the position of a container"](random.Random(1))
    path = next(path for path, text in case.local.items() if "corp/own:1" in text)
    local = dict(case.local)
    if in_file:
        value = yaml.safe_load(local[path])
        local[path.replace("kustomization", "patch")] = value["patches"][0].pop("patch")
        value["patches"][0]["path"] = "patch.yaml"
        local[path] = text_of(value)
    merged = merge(case.original, case.upstream, local)
    assert {place: text for place, text in texts_of(merged).items() if place in local} == {
        **local,
        "base/deployment.yaml": case.upstream["base/deployment.yaml"],
    }
    assert is_reported(merged)


@pytest.mark.parametrize("field", ["patches", "patchesStrategicMerge"])
def test_a_patch_that_is_a_text_in_a_kustomization_is_reported(field: str) -> None:
    texts, patch = base("web"), text_of(resource("Deployment", "web", "apps/v1", spec={"replicas": 5}))
    mine = {
        "o/kustomization.yaml": kustomization(
            ["../base"], **{field: [{"patch": patch} if field == "patches" else patch]}
        )
    }
    merged = merge(texts, rename(texts, "Deployment", "web", "web-server"), texts | mine)
    assert texts_of(merged)["o/kustomization.yaml"] == mine["o/kustomization.yaml"]
    assert is_reported(merged)
    deleted = {path: text for path, text in texts.items() if path != "base/deployment.yaml"}
    assert is_reported(merge(texts, deleted, texts | mine))


def test_a_namespace_of_local_alone_does_not_become_another() -> None:
    """Law F: upstream gives an object a namespace; a patch that names another one keeps it, and leads nowhere."""
    web = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
    texts = {
        "base/deployment.yaml": web,
        "base/kustomization.yaml": kustomization(["deployment.yaml"]),
        "o/kustomization.yaml": kustomization(["../base"], patches=[{"path": "patch.yaml"}]),
        "o/patch.yaml": f"{web}spec:\n  replicas: 5\n",
    }
    upstream = texts | {"base/deployment.yaml": f"{web}  namespace: theirs\n"}
    local = texts | {"o/patch.yaml": f"{web}  namespace: mine\nspec:\n  replicas: 6\n"}
    merged = merge(texts, upstream, local)
    assert texts_of(merged) == upstream | {"o/patch.yaml": local["o/patch.yaml"]}
    assert is_reported(merged)


def test_an_optional_reference_is_not_judged() -> None:
    config = {"c.yaml": text_of(resource("ConfigMap", "c"))}
    pod = {"containers": [{"name": "a", "envFrom": [{"configMapRef": {"name": "c", "optional": True}}]}]}
    merged = merge(config, {}, config | {"p.yaml": text_of(resource("Pod", "p", spec=pod))})
    assert not is_reported(merged)


@pytest.mark.parametrize("kind", ["deleted", "renamed", "relabelled", "moved"])
def test_work_grows_with_the_number_of_references(kind: str) -> None:
    work = [calls(partial(merge, *many(kind, count))) for count in (10, 40)]
    assert work[1] < 5 * work[0]


def many(kind: str, count: int) -> tuple[Texts, Texts, Texts]:
    """A package whose upstream lost many things that local names."""
    configs = {f"c{at}.yaml": text_of(resource("ConfigMap", f"c{at}", data={"a": str(at)})) for at in range(count)}
    pods = {f"d{at}.yaml": text_of(deployment(f"d{at}")) for at in range(count)}
    listing = {"kustomization.yaml": kustomization([*configs, *pods])}
    original = configs | pods | listing
    upstream = dict(original)
    for at in range(count):
        if kind == "relabelled":
            upstream[f"d{at}.yaml"] = text_of(deployment(f"d{at}", labels={"app": f"e{at}"}))
        elif kind == "renamed":
            upstream[f"c{at}.yaml"] = configs[f"c{at}.yaml"].replace(f"name: c{at}\n", f"name: new{at}\n")
        else:
            file = upstream.pop(f"c{at}.yaml")
            upstream |= {f"new/c{at}.yaml": file} if kind == "moved" else {}
    uses = [[{"name": "v", "configMap": {"name": f"c{at}"}}] for at in range(count)]
    mine = {f"d{at}.yaml": text_of(deployment(f"d{at}", volumes=uses[at])) for at in range(count)}
    services = {
        f"s{at}.yaml": text_of(resource("Service", f"s{at}", spec={"selector": {"app": f"d{at}"}}))
        for at in range(count)
    }
    over = {"o/kustomization.yaml": kustomization([f"../c{at}.yaml" for at in range(count)])}
    return original, upstream, original | services | over | ({} if kind == "relabelled" else mine)


def test_nothing_is_said_of_what_local_broke_and_upstream_renamed() -> None:
    original = base("web")
    upstream = rename(original, "Service", "web", "front")
    local = {path: text for path, text in original.items() if path != "base/deployment.yaml"}
    assert not is_reported(merge(original, upstream, local))


def test_a_file_that_one_side_renamed_and_the_other_deleted_is_missing() -> None:
    listing, gone = {"a/kustomization.yaml": "resources: [cm.yaml]\n"}, text_of(resource("ConfigMap", "c"))
    local = {"a/kustomization.yaml": "resources: [own.yaml] # ours\n", "a/own.yaml": gone}
    merged = merge(listing | {"a/cm.yaml": gone}, {"b.yaml": text_of(resource("Secret", "b"))}, local)
    assert is_reported(merged) or "own.yaml" not in texts_of(merged).get("a/kustomization.yaml", "")


def test_folders_on_disk_are_judged_as_files_in_memory_are(tmp_path: Path) -> None:
    case = CLASSES["an object that upstream deleted"](random.Random(1))
    sides = []
    for name, side in (("original", case.original), ("upstream", case.upstream), ("local", case.local)):
        lists = "resources: [../base/extra.yaml]\n"
        texts = side | ({"mine/kustomization.yaml": lists} if name == "local" else {})
        for path, text in texts.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        sides.append(Directory(tmp_path / name))
    merged = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    broken = [result.file for result in merged.results if result.severity == "warning"]
    assert broken == ["mine/kustomization.yaml", "base/deployment.yaml"]
