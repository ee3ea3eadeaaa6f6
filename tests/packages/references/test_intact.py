"""What held on original, upstream and local holds in the merged package, or is a conflict (law I)."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from effort import scaled
from krm_merge import MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import OnConflict
from packages.references.breaches import CLASSES, Case, Texts


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
    for seed in range(scaled(50)):
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
        assert case.works(texts_of(settled)) == (dict(broken[0].values).get(str(choice)) is not None)


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
