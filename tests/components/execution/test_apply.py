"""Plans that `apply` refuses, as they may come from anybody, and changes of people that it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.observations import digest
from components.world import World, change_parent, common_parent, dockerfile
from krm_merge.components.plan.model import MARK
from krm_merge.forges.interface import ForgeError
from krm_merge.forges.local import LocalForge
from krm_merge.forges.proposals import MarkedPart


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A parent image with a pull request that is built, and its child."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    common_parent(world)
    change_parent(world)
    return world


# --- Wrong plans -----------------------------------------------------------------------------------------------------

SYNTHETIC = {"kind": "synthetic", "pullRequest": "o/a#1", "headSHA": "a" * 40, "targetBranch": "main", "paths": ["a"]}
DIGEST = {"kind": "digest", "component": "parent", "repositories": ["quay.io/o/parent"], "to": digest("1")}
OPTION = "--upload-pack=touch {}; git-upload-pack"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("commits", [SYNTHETIC | {"headSHA": OPTION}], "spec.commits[0].headSHA: the full id of a commit is expected"),
        ("commits", [SYNTHETIC | {"headSHA": "main"}], "spec.commits[0].headSHA: the full id of a commit is expected"),
        ("commits", [SYNTHETIC | {"headSHA": ""}], "spec.commits[0].headSHA: the full id of a commit is expected"),
        ("commits", [SYNTHETIC | {"targetBranch": "-x"}], "spec.commits[0].targetBranch: the name of a branch is"),
        (
            "commits",
            [DIGEST | {"to": "sha256:1"}],
            "spec.commits[0].to: sha256: and 64 hexadecimal digits are expected",
        ),
        ("commits", [DIGEST | {"from": "x"}], "spec.commits[0].from: a list of strings is expected"),
        ("commits", [DIGEST | {"from": ["x"]}], "spec.commits[0].from[0]: sha256: and 64 hexadecimal digits are"),
        ("commits", [{"kind": "digests"}], "spec.commits[0].kind: synthetic or digest is expected"),
        ("commits", "x", "spec.commits: a list of mappings is expected"),
        ("components", [], "spec.components: at least one Component is expected"),
        ("components", [{"name": "a", "context": "../a"}], "spec.components[0].context: "),
        ("sourceBranch", "main", "spec.sourceBranch: it is the target branch; another one is expected"),
        ("sourceBranch", "", "spec.sourceBranch: a string is expected"),
        *(
            ("sourceBranch", name, "spec.sourceBranch: the name of a branch is expected")
            for name in ("-x/child", "HEAD", "@", "refs/heads/x", "a..b", "a b", "x.lock", "x/", "a:b", "x@{1}")
        ),
        ("targetBranch", 7, "spec.targetBranch: a string is expected; put the number in quotes"),
        ("repository", "", "spec.repository: a string is expected"),
        ("repository", "--upload-pack=touch {}", "spec.repository: the URL of a git repository is expected"),
        ("repository", "ext::sh -c 'touch {}'", "transport 'ext' not allowed"),
        ("draft", "true", "spec.draft: true or false is expected, without quotes"),
        ("state", "merged", "spec.state: open or closed is expected"),
        ("actions", "create", "spec.actions: a list of strings is expected"),
        ("description", "mine", "spec.description: the block between the two comments is missing"),
    ],
)
def test_wrong_plans(world: World, field: str, value: Any, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """C4: nothing in a plan is taken on trust; git is given no name that it would take for something else."""
    # Where addresses that are none were on a forge, git would get them.
    world.forge_options = ("--forge", "ext=github")
    mark = world.root / "executed"
    text = yaml.safe_dump(value).replace("{}", str(mark))
    spec: dict[str, Any] = {
        "repository": world.url("child"),
        "sourceBranch": "update/child",
        "targetBranch": "main",
        "components": [{"name": "child"}],
        "group": "update",
        "state": "open",
        "draft": True,
        "commits": [SYNTHETIC, DIGEST],
        "actions": ["create"],
        "title": "Update",
        "description": str(MarkedPart(MARK, "")),
        field: yaml.safe_load(text),
    }
    metadata = {"name": "child.update"}
    about = {"apiVersion": "components.krm-merge.dev/v1alpha1", "kind": "PullRequestPlan", "metadata": metadata}
    world.write("plans/one.yaml", {**about, "spec": spec})
    before = world.heads()
    assert world.apply() == 1
    output = capsys.readouterr().err
    assert message in output
    assert ("one.yaml" in output) is ("ext::" not in text)
    assert world.heads() == before
    assert not mark.exists()


# --- What is somebody else's -----------------------------------------------------------------------------------------


def test_a_branch_of_people_is_left_alone(world: World) -> None:
    """CR33: with a pull request or without; the other spelling is taken, and if that is taken too, nothing."""
    mine = world.commit("child", "update/child", {"README": "mine\n"})
    world.open("child", "update/child")
    world.go_on("parent", "child")
    assert [(pull.source_branch, pull.draft) for pull in world.pulls("child")] == [
        ("update/child", False),
        ("update@child", True),
    ]
    world.forge.close(world.url("parent"), 1)
    world.go_on("parent", "child")
    assert [pull.state for pull in world.pulls("child")] == ["open", "closed"]
    assert world.git("--git-dir", world.url("child"), "rev-parse", "update/child") == mine


def test_both_are_of_people(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR33."""
    world.commit("child", "update@child", {"README": "mine\n"})
    world.commit("child", "update/child", {"README": "mine\n"})
    world.plan("parent", "child")
    before = world.heads()
    assert world.apply() == 1
    assert "update/child belongs to somebody else" in capsys.readouterr().err
    assert world.heads() == before


@pytest.mark.parametrize("how", ["amended", "without a message", "with our message"])
def test_commits_of_people_stay(world: World, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    """CR23, C4: whatever is said in them."""
    world.go_on("parent", "child")
    clone, branch = world.root / "child", "update/child"
    world.in_clone("child", "fetch", "--quiet", "origin")
    world.in_clone("child", "checkout", "--quiet", "-B", branch, f"origin/{branch}")
    (clone / "README").write_text("mine\n")
    world.in_clone("child", "add", "--all")
    message = {"amended": ["--amend", "--no-edit"], "without a message": ["--allow-empty-message", "--message="]}
    ours = ["--message=Update\n\nPlanned-By: krm-merge"]
    world.in_clone("child", "commit", "--quiet", *message.get(how, ours))
    world.in_clone("child", "push", "--quiet", "--force", "origin", branch)
    world.merge_and_build("parent", "parent", 1, "9", "merge")
    world.go_on("parent", "child")
    assert world.files("child", branch)["README"] == "mine"
    assert world.files("child", branch)["Dockerfile"] == dockerfile("9")
    world.commit("child", "main", {"OTHER": "1\n"})
    world.plan("parent", "child")
    assert world.pull("child", 1).state == "open"


# --- What happened meanwhile -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "is_updated"), [("closed", False), ("closed", True), ("merged", True)])
def test_what_ended_meanwhile_stays_so(
    world: World, how: str, is_updated: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """CR34, C4: a plan that is out of date opens nothing again, and updates nothing."""
    world.plan("parent", "child")
    assert world.apply() == 0
    if is_updated:
        world.build("parent", "parent", "2", 1)
        world.plan("parent", "child")
    if how == "closed":
        world.forge.close(world.url("child"), 1)
    else:
        world.merge("child", 1)
    before = world.heads()
    assert world.apply() == 0
    assert f"#1 was {how} after the plan was made; observe and plan again" in capsys.readouterr().err
    assert world.heads() == before


def test_what_was_done_is_told_before_what_went_wrong(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C3, C4."""

    def refuse(*_: object, **__: object) -> None:
        raise ForgeError("no more today")

    world.plan("parent", "child")
    monkeypatch.setattr(LocalForge, "create", refuse)
    assert world.apply(quiet=False) == 1
    output = capsys.readouterr().err
    assert "pushed update/child at " in output
    assert "no more today" in output


def test_a_branch_that_is_not_there(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C4: with the remedy."""
    world.git("--git-dir", world.url("child"), "branch", "--move", "main", "trunk")
    world.plan("parent", "child")
    assert world.apply() == 1
    assert "has no branch main; name the branch that the Component is built from" in capsys.readouterr().err


def test_the_default_branch_is_that_of_the_repository(world: World) -> None:
    """C12: where a Component names no branch, its repository does."""
    world.git("--git-dir", world.url("child"), "branch", "-m", "main", "trunk")
    assert world.git("--git-dir", world.url("child"), "symbolic-ref", "HEAD") == "refs/heads/trunk"
    place = world.package / "components/child.yaml"
    place.write_text(place.read_text().replace("revision: main", "revision: HEAD"))
    (plan,) = world.go_on("parent", "child")
    assert "targetBranch" not in plan
    (pull,) = world.pulls("child")
    assert (pull.source_branch, pull.target_branch) == ("update/child", "trunk")
    (plan,) = world.plan("parent", "child")
    assert (plan["targetBranch"], "actions" in plan) == ("trunk", False)
