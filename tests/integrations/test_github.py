"""The composite action, its steps run without a forge."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from checkout import ROOT
from e2e.hosts import git
from integrations.workflows import Action, World, definition

EXPRESSION = re.compile(r"\$\{\{.*?\}\}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    setting = World.create(tmp_path)
    setting.fake_program("gh")
    return setting


@pytest.fixture
def conflicting(tmp_path: Path) -> World:
    setting = World.create(tmp_path, replicas="5")
    setting.fake_program("gh")
    return setting


def test_updates_and_summarises(world: World) -> None:
    action = Action.with_inputs(world, packages="web", ref="v2")
    status, printed = action.run()
    assert (status, world.calls) == (0, []), printed
    assert "replicas: '2'" in (world.clone / "web" / "a.yaml").read_text(encoding="utf-8")
    assert action.value("steps.update.outputs.changed") == "true"
    assert action.value("steps.update.outputs.conflicts") == "false"
    assert "v2" in action.summary
    assert {file.suffix for file in action.reports.iterdir()} == {".md", ".html", ".sarif"}


def test_opens_a_pull_request_with_the_report(world: World) -> None:
    action = Action.with_inputs(world, packages="web", ref="v2", pull_request="true", token="secret")
    status, printed = action.run()
    assert status == 0, printed
    assert "replicas: '2'" in world.branch("krm-merge/update")
    assert "replicas: '1'" in world.branch("main")
    listed, created = world.calls
    assert listed.startswith("pr list --head krm-merge/update --state open")
    assert created == (
        "pr create --head krm-merge/update --base main --title Update web to v2 "
        f"--body-file {action.reports / 'pull-request.md'}"
    )
    assert (action.reports / "pull-request.md").read_text(encoding="utf-8") == action.summary
    assert git(world.origin, "log", "-1", "--format=%an %s", "krm-merge/update").strip() == (
        "github-actions[bot] Update web to v2"
    )


def test_updates_the_pull_request_that_is_open(world: World) -> None:
    for number in ("", "7"):
        git(world.clone, "switch", "--quiet", "main")
        git(world.clone, "reset", "--hard", "--quiet", "origin/main")
        action = Action.with_inputs(world, packages="web", ref="v2", pull_request="true")
        status, printed = action.run(FAKE_OPEN=number)
        assert status == 0, printed
        shutil.rmtree(world.folder / "runner")
    assert world.calls[-1].startswith("pr edit 7 --title Update web to v2 --body-file ")


def test_a_commit_of_somebody_else_is_kept(world: World) -> None:
    git(world.clone, "push", "--quiet", "origin", "main:krm-merge/update")
    status, printed = Action.with_inputs(world, packages="web", ref="v2", pull_request="true").run()
    assert status == 1
    assert "::error::somebody committed to krm-merge/update" in printed
    assert world.calls == []
    assert "replicas: '1'" in world.branch("krm-merge/update")


def test_nothing_to_update_opens_nothing(world: World) -> None:
    status, _ = Action.with_inputs(world, packages="web", ref="v1", pull_request="true").run()
    assert (status, world.calls) == (0, [])


def test_refused_conflicts_fail_behind_the_summary(conflicting: World) -> None:
    action = Action.with_inputs(conflicting, packages="web", ref="v2", on_conflict="fail", pull_request="true")
    status, printed = action.run()
    assert status == 1
    assert "::error::conflicts are open; the summary of the job shows them" in printed
    assert "data.replicas" in action.summary
    assert conflicting.calls == []
    tolerant = Action(action.world, {**action.inputs, "fail-on-conflicts": "false"}, dict(action.context))
    assert tolerant.run()[0] == 0


def test_what_the_package_leaves_open_makes_a_draft(conflicting: World) -> None:
    action = Action.with_inputs(conflicting, packages="web", ref="v2", pull_request="true")
    status, printed = action.run()
    assert status == 0, printed
    assert conflicting.calls[-1].endswith(" --draft")
    assert "<<<<<<< ours" in conflicting.branch("krm-merge/update")


def test_the_policy_of_the_package_comes_first(conflicting: World) -> None:
    policy = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: merge-policy\nonConflict: local\n"
    (conflicting.clone / "web" / "merge-policy.yaml").write_text(policy, encoding="utf-8")
    git(conflicting.clone, "add", "web")
    git(conflicting.clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=policy")
    action = Action.with_inputs(conflicting, packages="web", ref="v2")
    status, printed = action.run()
    assert status == 0, printed
    assert action.value("steps.update.outputs.conflicts") == "false"
    assert "replicas: '5'" in (conflicting.clone / "web" / "a.yaml").read_text(encoding="utf-8")


def test_uploads_conflicts_with_their_paths_in_the_repository(conflicting: World) -> None:
    action = Action.with_inputs(conflicting, packages="web", ref="v2", on_conflict="upstream", sarif="true")
    status, printed = action.run()
    assert status == 0, printed
    (call,) = conflicting.calls
    assert call.startswith("api --method POST --silent repos/example/shop/code-scanning/sarifs")
    assert f"commit_sha={'a' * 40} --raw-field ref=refs/heads/main" in call
    sarif = json.loads((conflicting.folder / "calls.stdin").read_text(encoding="utf-8"))
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "web/a.yaml"


def test_a_package_that_cannot_be_read_fails_at_once(world: World) -> None:
    status, printed = Action.with_inputs(world, packages="web\n\nnothing", ref="v2").run()
    assert status == 3
    assert "::error::nothing was not updated" in printed


def test_check_annotates_the_lines(world: World) -> None:
    action = Action.with_inputs(world, command="check")
    assert action.run()[0] == 0
    assert "1 package checked, no problems" in action.summary
    (world.clone / "web" / "b.yaml").write_text("<<<<<<< a\n=======\n>>>>>>> b\n", encoding="utf-8")
    status, printed = action.run()
    assert status == 1
    assert "::error file=web/b.yaml,line=1::a conflict between markers; settle it" in printed
    assert "web/b.yaml:1: a conflict between markers" in action.summary


def test_an_unknown_command_is_refused(world: World) -> None:
    status, printed = Action.with_inputs(world, command="updat").run()
    assert status == 2
    assert "::error::there is no command updat; choose from update, check, fleet" in printed


def test_a_campaign(world: World) -> None:
    upstream = f"{world.folder / 'upstream'}"
    done = world.run(f"krm-merge fleet init campaign --upstream {upstream} --to v2 --packages 'web'", {})
    assert done.returncode == 0, done.stderr
    action = Action.with_inputs(world, command="fleet", campaign="campaign")
    status, printed = action.run()
    assert status == 0, printed
    assert "v2" in action.summary
    assert {file.name for file in action.reports.iterdir()} == {"fleet.md"}


def test_scripts_get_inputs_as_variables_only() -> None:
    """An expression in a script would run what somebody wrote into an input."""
    for step in definition()["runs"]["steps"]:
        assert not EXPRESSION.search(step["run"]), step["name"]
        assert step["shell"] == "bash"


def test_every_input_and_output_is_on_the_page() -> None:
    page = (ROOT / "docs" / "integrations" / "github.md").read_text(encoding="utf-8")
    action = definition()
    assert [name for name in [*action["inputs"], *action["outputs"]] if f"`{name}`" not in page] == []
