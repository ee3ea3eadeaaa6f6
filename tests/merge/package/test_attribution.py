"""Rule R6 for Config Connector: kpt's parts of the attribution are local's, the author's parts are merged."""

from __future__ import annotations

import pytest

from krm_merge import merge_packages

BUCKET = """\
apiVersion: storage.cnrm.cloud.google.com/v1beta1
kind: StorageBucket
metadata:
  name: b
  annotations:
    cnrm.cloud.google.com/blueprint: %s
"""


@pytest.mark.parametrize(
    ("original", "upstream", "local", "merged"),
    [
        ("cnrm/web:v1", "cnrm/web:v2", "cnrm/web:v1,kpt-pkg-fn", "cnrm/web:v2,kpt-pkg-fn"),
        ("cnrm/web:v1,kpt-pkg", "cnrm/web:v2,kpt-pkg", "cnrm/web:v1,kpt-pkg-fn", "cnrm/web:v2,kpt-pkg-fn"),
    ],
)
def test_authors_parts_are_merged_and_those_of_kpt_are_as_local_has_them(
    original: str, upstream: str, local: str, merged: str
) -> None:
    done = merge_packages(*({"b.yaml": (BUCKET % value).encode()} for value in (original, upstream, local)))
    assert f"/blueprint: {merged}\n" in done.files["b.yaml"].decode().replace('"', "")
    assert [record.rule for record in done.records] == ["V2"]


@pytest.mark.parametrize(
    ("upstream", "local"),
    [
        ("kpt-pkg", ""),
        ("cnrm/web:v1,kpt-pkg", "cnrm/web:v1"),
        ("", "kpt-pkg-fn"),
        ("cnrm/web:v1", "cnrm/web:v1,kpt-pkg"),
    ],
)
def test_where_only_parts_of_kpt_differ_nobody_changed_anything(upstream: str, local: str) -> None:
    theirs, ours = ((BUCKET % value) if value else BUCKET.partition("  annotations")[0] for value in (upstream, local))
    done = merge_packages(*({"b.yaml": text.encode()} for text in (theirs, f"{theirs}spec: {{}}\n", ours)))
    assert [record.path for record in done.records] == ["spec"]
