"""The component for GitLab CI, its jobs run without a forge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import git
from integrations.workflows import World

TEMPLATE = ROOT / "integrations" / "gitlab" / "update.yml"
ADDRESS = "https://krm-merge:secret@gitlab.example.com/shop.git"
HOOK = """\
#!/bin/sh
for n in $(seq 0 $((GIT_PUSH_OPTION_COUNT - 1))); do
  eval "echo \\"\\$GIT_PUSH_OPTION_$n\\""
done > options
"""


def jobs(**inputs: str) -> dict[str, Any]:
    """The jobs with their inputs filled in, as GitLab does it before it reads them."""
    header, _, body = TEMPLATE.read_text(encoding="utf-8").partition("\n---\n")
    definitions = yaml.safe_load(header)["spec"]["inputs"]
    values = {name: str(value.get("default", "")) for name, value in definitions.items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    assert values.keys() == definitions.keys()
    text = re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: values[match[1]], body)
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def run(world: World, job: dict[str, Any]) -> tuple[int, str]:
    environment = {name: str(value or "") for name, value in job["variables"].items()} | {
        "CI_SERVER_HOST": "gitlab.example.com",
        "CI_SERVER_PROTOCOL": "https",
        "CI_REPOSITORY_URL": "https://gitlab-ci-token:x@gitlab.example.com/shop.git",
        "CI_DEFAULT_BRANCH": "main",
        "CI_JOB_URL": "https://gitlab.example.com/shop/-/jobs/1",
        "KRM_MERGE_TOKEN": "secret",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{world.origin}.insteadOf",
        "GIT_CONFIG_VALUE_0": ADDRESS,
    }
    done = world.run("\n".join([*job["before_script"], *job["script"]]), environment)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def world(tmp_path: Path) -> World:
    return prepare(World.create(tmp_path))


def prepare(world: World) -> World:
    world.fake_program("pip")
    git(world.origin, "config", "receive.advertisePushOptions", "true")
    hook = world.origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK, encoding="utf-8")
    hook.chmod(0o755)
    return world


def test_update_opens_a_merge_request(world: World) -> None:
    status, printed = run(world, jobs(packages="web", ref="v2")["krm-merge-update"])
    assert status == 0, printed
    assert world.calls == ["install --quiet ./.ci/krm-merge[cli]"]
    assert "replicas: '2'" in world.branch("krm-merge/update")
    assert (world.origin / "options").read_text(encoding="utf-8").splitlines() == [
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.title=Update web to v2",
        "merge_request.description=What was decided: "
        "https://gitlab.example.com/shop/-/jobs/1/artifacts/browse/krm-merge-reports",
    ]
    assert sorted(file.name for file in (world.clone / "krm-merge-reports").iterdir()) == [
        "update-1.html",
        "update-1.md",
    ]


def test_a_second_update_replaces_its_own_branch_only(world: World) -> None:
    job = jobs(packages="web", ref="v2")["krm-merge-update"]
    for _ in range(2):
        git(world.clone, "switch", "--quiet", "main")
        status, printed = run(world, job)
        assert status == 0, printed
    git(world.clone, "commit", "--quiet", "--allow-empty", "--message=by a person")
    git(world.clone, "push", "--quiet", "origin", "HEAD:krm-merge/update")
    git(world.clone, "switch", "--quiet", "main")
    status, printed = run(world, job)
    assert status == 1
    assert "somebody committed to krm-merge/update" in printed


def test_the_same_commit_is_not_pushed_again(world: World) -> None:
    job = jobs(packages="web", ref="v2")["krm-merge-update"]
    job["variables"] |= {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    assert run(world, job)[0] == 0
    (world.origin / "options").unlink()
    git(world.clone, "switch", "--quiet", "main")
    status, printed = run(world, job)
    assert status == 0, printed
    assert "krm-merge/update has this update already" in printed
    assert not (world.origin / "options").exists()


def test_markers_make_a_draft(tmp_path: Path) -> None:
    world = prepare(World.create(tmp_path, replicas="5"))
    status, printed = run(world, jobs(packages="web", ref="v2")["krm-merge-update"])
    assert status == 0, printed
    assert "merge_request.title=Draft: Update web to v2" in (world.origin / "options").read_text(encoding="utf-8")
    assert "<<<<<<< ours" in world.branch("krm-merge/update")


def test_refused_conflicts_fail(tmp_path: Path) -> None:
    world = prepare(World.create(tmp_path, replicas="5"))
    status, printed = run(world, jobs(packages="web", ref="v2", on_conflict="fail")["krm-merge-update"])
    assert status == 1, printed
    assert git(world.origin, "branch", "--list", "krm-merge/update") == ""


def test_check(world: World) -> None:
    job = jobs(packages="web")["krm-merge-check"]
    assert run(world, job)[0] == 0
    (world.clone / "web" / "b.yaml").write_text("<<<<<<< a\n=======\n>>>>>>> b\n", encoding="utf-8")
    assert run(world, job)[0] == 1
