"""Rule R14 where a side lacks a resource: only what a function removes at every render is gone without a word."""

from __future__ import annotations

import pytest

from krm_merge import merge_packages

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2
    configMap: {team: a}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: "


@pytest.mark.parametrize("kptfile", [KPTFILE, KPTFILE.partition("pipeline")[0]], ids=["a pipeline", "none"])
def test_what_local_removed_and_upstream_changed_is_a_conflict(kptfile: str) -> None:
    local = {"Kptfile": kptfile.encode()}
    original, upstream = (local | {"c.yaml": f"{CONFIG_MAP}{value}\n".encode()} for value in (1, 2))
    merged = merge_packages(original, upstream, local)
    assert dict(merged.files) == local
    assert [(record.rule, record.message) for record in merged.records] == [
        ("F5", "local removed it, upstream changed it; it remains removed")
    ]
