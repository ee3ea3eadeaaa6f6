"""`krm-merge declare` and `krm-merge why`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.conftest import krm_merge
from cli.commands.merge.updates import Run
from e2e.hosts import git
from packages.repositories import Repository, Text, config_map, kptfile

__all__ = ["krm_merge"]

BY_IMAGE = ("--image", "localhost/krm-merge:test")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A committed fork with an edit."""
    upstream = Repository.at(tmp_path / "upstream")
    commit = upstream.version("v1", {"a.yaml": config_map("a", mode="slow"), "b.yaml": config_map("b", x="y")})
    files: dict[str, Text | None] = {
        "web/Kptfile": kptfile(upstream.path, "v1", commit),
        "web/a.yaml": config_map("a", mode="fast"),
        "web/b.yaml": config_map("b", x="z"),
    }
    fork = Repository.at(tmp_path / "fork")
    fork.commit(files)
    return fork.path / "web"


def test_edits_are_declared_and_taken_back(package: Path, krm_merge: Callable[..., Run]) -> None:
    before = (package / "a.yaml").read_text()
    done = krm_merge("declare", package, *BY_IMAGE)
    assert done.stdout.splitlines() == [
        "declared in patches.yaml: ConfigMap a, ConfigMap b",
        "files: 3 changed, 1 added, 0 deleted",
        "until it is rendered, the package has upstream's values",
        f"next: kpt fn render {package}",
    ]
    assert "slow" in (package / "a.yaml").read_text()
    done = krm_merge("declare", package, "--undo", "--allow-dirty")
    assert done.stdout.splitlines()[0] == "edits of the files again, from patches.yaml: ConfigMap a, ConfigMap b"
    assert (package / "a.yaml").read_text() == before
    assert not (package / "patches.yaml").exists()


def test_what_was_rendered_is_taken_back(package: Path, krm_merge: Callable[..., Run]) -> None:
    krm_merge("declare", package, *BY_IMAGE)
    for name, values in (("a", {"mode": "fast"}), ("b", {"x": "z"})):
        (package / f"{name}.yaml").write_text(config_map(name, **values))
    done = krm_merge("declare", package, "--undo", "--allow-dirty")
    assert done.stdout.splitlines()[0] == "removed patches.yaml: the files have what it declares already"
    assert "+ " not in git(package, "diff", "--unified=0", "--", "a.yaml", "b.yaml")
    assert not (package / "patches.yaml").exists()


def test_a_dry_run_shows_what_it_would_write(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("declare", package, *BY_IMAGE, "--dry-run", "--diff", "--resource", "ConfigMap/a")
    assert "+++ b/patches.yaml" in done.stdout
    assert "ConfigMap b" not in done.stdout
    assert done.stdout.endswith("nothing was changed: --dry-run\n")
    assert git(package, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--undo", "--resource", "a"], "--undo undoes everything"),
        (["--undo"], "patches.yaml: no readable PatchResources"),
        (["--patch", "a.yaml"], "a.yaml holds something other than one PatchResources"),
    ],
)
def test_refusals_name_the_remedy(
    package: Path, krm_merge: Callable[..., Run], arguments: list[str], message: str
) -> None:
    done = krm_merge("declare", package, *arguments)
    assert done.returncode in (1, 2, 3)
    assert message in done.stderr
    assert git(package, "status", "--porcelain") == ""


def test_uncommitted_changes_are_refused(package: Path, krm_merge: Callable[..., Run]) -> None:
    (package / "a.yaml").write_text(config_map("a", mode="other"))
    assert "uncommitted changes" in krm_merge("declare", package).stderr


def test_why_lists_what_is_not_upstreams(package: Path, krm_merge: Callable[..., Run]) -> None:
    commit = git(package, "rev-parse", "HEAD").strip()[:7]
    lines = krm_merge("why", package).stdout.splitlines()
    assert lines[0] == "a.yaml: ConfigMap a"
    assert lines[1].startswith('  data.mode = "fast": local: ')
    assert lines[1].endswith(f"'version' ({commit})")
    assert lines[-1] == "8 fields: 6 from upstream, 2 edited locally"
    assert '  kind = "ConfigMap": upstream v1' in krm_merge("why", package, "a.yaml").stdout.splitlines()


def test_why_of_one_field(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("why", package, "a.yaml:data.mode", "--format", "json")
    (field,) = json.loads(done.stdout)["fields"]
    assert (field["source"], field["value"], field["commit"]["subject"]) == ("local", "fast", "version")
    for place, message in (("no.yaml", "there is no such file"), ("a.yaml:data.no", "no resource in it has a field")):
        assert message in krm_merge("why", package, place).stderr
    assert "cannot read the field path" in krm_merge("why", package, "a.yaml:data[").stderr
    (package / "broken.yaml").write_text("a: [\n", encoding="utf-8")
    assert krm_merge("why", package).stderr == "not valid YAML, so not listed: broken.yaml\n"
    assert "broken.yaml: line 2, column 1: not valid YAML" in krm_merge("why", package, "broken.yaml").stderr
