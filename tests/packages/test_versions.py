"""Versions among a repository's tags."""

from __future__ import annotations

import pytest

from krm_merge.packages.kptfile import is_version, newer_versions

TAGS = [
    "v1.9.0",
    "v1.10.0",
    "v2.0.0-rc.2",
    "v2.0.0-rc.10",
    "v2.0.0",
    "v3.0.0-alpha",
    "latest",
    "web/v0.8.0",
    "web/v0.9.0",
    "landing-zone-v0.5.2",
    "landing-zone-v0.10.0",
    "landing-zone/v0.6.0",
    "landing-zone/v0.10.0",
    "landing-zone-v2-v1.0.0",
    "zone-v9.0.0",
]


@pytest.mark.parametrize(
    ("ref", "directory", "newer"),
    [
        ("v1.9.0", "", ["v1.10.0", "v2.0.0"]),
        ("1.9.0", "", ["v1.10.0", "v2.0.0"]),
        ("v1.9", "", ["v1.10.0", "v2.0.0"]),
        ("v1", "", ["v1.9.0", "v1.10.0", "v2.0.0"]),
        ("v2.0.0", "", []),
        # Versions before a release, for those who follow one; numbers in them are compared as numbers.
        ("v2.0.0-rc.2", "", ["v2.0.0-rc.10", "v2.0.0", "v3.0.0-alpha"]),
        # Tags of the package, written as the ref is.
        ("v0.8.0", "/web", ["v0.9.0"]),
        ("web/v0.8.0", "web", ["web/v0.9.0"]),
        ("v1.9.0", "web", ["v1.10.0", "v2.0.0"]),
        # NAME-v1.2.3 and NAME/v1.2.3 are versions of NAME, and of nothing else.
        ("landing-zone-v0.5.2", "catalog/landing-zone", ["landing-zone/v0.6.0", "landing-zone-v0.10.0"]),
        ("landing-zone/v0.5.0", "", ["landing-zone-v0.5.2", "landing-zone/v0.6.0", "landing-zone/v0.10.0"]),
        ("landing-zone-v2-v0.9.0", "", ["landing-zone-v2-v1.0.0"]),
        ("web-v0.8.0", "", ["web/v0.9.0"]),
        ("main", "", []),
        ("latest", "", []),
        ("", "", []),
    ],
)
def test_newer_versions(ref: str, directory: str, newer: list[str]) -> None:
    assert newer_versions(ref, directory, TAGS) == newer


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("v1.2", True),
        ("pkg/v1.2.3", True),
        ("v1", True),
        ("pkg-v1.2.3", True),
        ("a-b-v1.2.3-rc.1", True),
        ("a-2", False),
        ("2024", False),
        ("1.x.0", False),
    ],
)
def test_what_is_a_version(ref: str, expected: bool) -> None:
    assert is_version(ref) is expected
