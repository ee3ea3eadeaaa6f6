"""`krm-merge status`, and `update` to a version that nobody names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.conftest import krm_merge
from cli.commands.merge.updates import Run
from packages.repositories import Repository, Text, config_map, kptfile, write

__all__ = ["krm_merge"]

PART = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: part\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package at v1.0.0 of an upstream that has three versions more."""
    upstream = Repository.at(tmp_path / "upstream")
    versions = ("v1.0.0", "v1.1.0", "v2.0.0", "v3.0.0-rc.1")
    first, *_ = [upstream.version(tag, {"a.yaml": config_map("a", version=tag)}) for tag in versions]
    files: dict[str, Text | None] = {
        "Kptfile": kptfile(upstream.path, "v1.0.0", first),
        "a.yaml": config_map("a", version="v1.0.0"),
        "part/Kptfile": PART,
    }
    return write(tmp_path / "fork" / "web", files)


def test_newer_versions_are_named(package: Path, krm_merge: Callable[..., Run]) -> None:
    (line,) = krm_merge("status", package).stdout.splitlines()
    assert line.endswith("; newer: v2.0.0 (1 more before it)")
    first, part = json.loads(krm_merge("status", package, "--format", "json").stdout)["packages"]
    assert (first["newer"], first["behind"]) == (["v1.1.0", "v2.0.0"], False)
    assert "newer" not in part


def test_a_package_inside_is_shown_where_it_needs_attention(package: Path, krm_merge: Callable[..., Run]) -> None:
    write(package, {"part/a.yaml": "<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n"})
    done = krm_merge("status", package, "--offline")
    assert "part: no upstream; open conflicts in a.yaml" in done.stdout
    assert done.returncode == 1


def test_an_update_takes_the_newest_version(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", package, "--latest")
    assert done.returncode == 0, done.stderr
    assert (package / "a.yaml").read_text() == config_map("a", version="v2.0.0")
    again = krm_merge("update", package, "--latest", "--allow-dirty")
    assert "is at v2.0.0" in again.stdout


def test_an_update_to_the_same_version_names_a_newer_one(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", package)
    assert done.returncode == 0
    assert done.stdout.endswith("\nno file changes\n")
    assert done.stderr == f"v2.0.0 is newer; update with: krm-merge update {package} --latest\n"
    krm_merge("update", package, "--latest")
    assert "newer: " not in krm_merge("update", package).stderr


def test_a_version_and_latest_are_refused_together(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", f"{package}@v2.0.0", "--latest")
    assert done.returncode == 2
    assert "give PKG@REF or --latest, not both" in done.stderr


def test_a_kptfile_that_cannot_be_read_is_not_said_to_follow_nothing(
    tmp_path: Path, krm_merge: Callable[..., Run]
) -> None:
    (tmp_path / "Kptfile").write_text("apiVersion: [\n")
    done = krm_merge("status", tmp_path)
    assert done.returncode == 3
    assert done.stdout.startswith(f"{tmp_path}: {tmp_path / 'Kptfile'}: line 2, column 1: not valid YAML: ")


def test_a_directory_without_a_kptfile_has_no_newest_version(tmp_path: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", tmp_path, "--latest")
    assert (done.returncode, done.stderr) == (
        3,
        f"error {tmp_path} has no Kptfile; name the directory of a package\n",
    )


def test_a_branch_has_no_newest_version(package: Path, krm_merge: Callable[..., Run]) -> None:
    kptfile = (package / "Kptfile").read_text().replace("ref: v1.0.0", "ref: main")
    write(package, {"Kptfile": kptfile})
    done = krm_merge("update", package, "--latest")
    assert done.returncode == 3
    assert "follows main, which is not a version such as v1.2.3; update it without --latest" in done.stderr


def test_a_missing_version_is_reported_with_what_lists_all(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", f"{package}@v1.1")
    assert "has no tag or branch v1.1; `git ls-remote " in done.stderr


@pytest.mark.parametrize(("options", "original"), [((), "v1.0.0"), (("--from", "v1.1.0"), "v1.1.0")])
def test_a_function_config_begins_at_the_fetched_version_or_another(
    package: Path, krm_merge: Callable[..., Run], options: tuple[str, ...], original: str
) -> None:
    """After an update by kpt, upstreamLock names the new version already."""
    done = krm_merge("config", package, "--to", "v2.0.0", *options)
    before, _, after = done.stdout.partition("upstream: |")
    assert f"version: {original}" in before
    assert "version: v2.0.0" in after
