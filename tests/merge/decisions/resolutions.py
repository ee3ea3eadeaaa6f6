"""Resolutions of conflicts as a policy file has them, and merges with them."""

from __future__ import annotations

from typing import Any

from krm_merge import DecisionRecord, MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import Nature
from krm_merge.report.record import resource_value
from report.conflicts import CASES

Sides = list[dict[str, bytes]]


def sides_of(nature: Nature) -> Sides:
    name, *texts = CASES[nature]
    path = "Kptfile" if name == "k" else name
    return [{"keep.txt": b"", **({} if text is None else {path: text.encode()})} for text in texts]


def resolution(record: DecisionRecord, choice: str, *, anywhere: bool = False, **more: object) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": record.path,
        "nature": record.nature,
        "fingerprint": record.fingerprint,
        "choice": choice,
        **more,
    }
    if record.resource is not None and not anywhere:
        entry["resource"] = resource_value(record.resource)
    return entry


def policy(*resolutions: dict[str, Any], **more: object) -> dict[str, Any]:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "metadata": {"name": "p"}}
    return {**head, "resolutions": list(resolutions), **more}


def merge(sides: Sides, policy: dict[str, Any] | None = None, **options: Any) -> MergedPackage:
    return merge_packages(sides[0], sides[1], sides[2], policy=policy, **options)


def again(sides: Sides, merged: MergedPackage, policy: dict[str, Any], **options: Any) -> MergedPackage:
    return merge([sides[0], sides[1], dict(merged.files)], policy, **options)


def identity(nature: Nature) -> dict[str, Any]:
    return {"function_identity": "document" if nature == "functions" else "smart"}
