"""`krm-merge components` with unusual and with wrong input."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World, change_parent, common_parent
from krm_merge.cli.app import main


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    setting = World(tmp_path)
    common_parent(setting)
    return setting


def run(*arguments: str) -> int:
    try:
        return main(["components", *arguments])
    except SystemExit as stop:
        return int(stop.code or 0)


def test_nothing_is_planned(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """The round of the documentation goes on where nothing is to do; a directory that is not there is a mistake."""
    assert world.plan("parent", "child") == []
    assert run("apply", "package") == 0
    assert capsys.readouterr().err == "there is no PullRequestPlan: nothing to do\n"
    assert run("apply", "package/plans") == 3
    assert "package/plans: there is no such file or directory" in capsys.readouterr().err


def test_one_broken_plan_of_several(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C4: the others are carried out."""
    change_parent(world)
    world.plan("parent", "child")
    (world.package / "plans" / "a.yaml").write_text("kind: [\n")
    about = "apiVersion: components.krm-merge.dev/v1alpha1\nkind: PullRequestPlan\nmetadata: {name: b}\n"
    (world.package / "plans" / "b.yaml").write_text(f"{about}spec: {{state: open}}\n")
    assert run("apply", "package") == 1
    errors = capsys.readouterr().err
    assert "plans/a.yaml: " in errors
    assert "plans/b.yaml: " in errors
    assert "spec.repository" in errors
    assert "opened #1 as a draft" in errors
    assert [pull.state for pull in world.pulls("child")] == ["open"]


CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {function: PlanComponentUpdates, mode: configure}\n"
)


def test_the_command_decides_on_the_mode(world: World) -> None:
    """Also where a ConfigMap says otherwise."""
    before = (world.package / "components" / "parent.yaml").read_text()
    Path("config.yaml").write_text(CONFIG_MAP)
    assert run("plan", "package", "--config", "config.yaml") == 0
    assert (world.package / "components" / "parent.yaml").read_text() == before
    assert run("configure", "package", "--config", "config.yaml") == 0
    assert "build-nudges-ref" in (world.package / "components" / "parent.yaml").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [\n", "config.yaml: "),
        (b"\xff\xfe\x00", "config.yaml: "),
        (b"", "config.yaml is empty; a PlanComponentUpdates functionConfig is expected"),
        (b"- 1\n", "config.yaml is not a mapping; a PlanComponentUpdates functionConfig is expected"),
        (b"apiVersion: fn.kpt.dev/v1alpha1\nkind: PlanComponentUpdates\nmetadata: {name: x}\nsufix: x\n", "sufix"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "graph"])
def test_wrong_configurations(
    world: World, command: str, content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_bytes(content)
    # What can be read and is refused is 1, what cannot be read 3.
    assert run(command, "package", "--config", "config.yaml") == (1 if message == "sufix" else 3)
    assert message in capsys.readouterr().err


def test_the_graph_heeds_the_configuration(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C6, C9."""
    assert run("graph", "package") == 0
    assert "parent" in capsys.readouterr().out
    Path("config.yaml").write_text(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: PlanComponentUpdates\nmetadata: {name: x}\nremoved: [parent]\n"
    )
    assert run("graph", "package", "--config", "config.yaml") == 0
    assert "parent" not in capsys.readouterr().out


def test_circles_are_drawn_and_reported(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C6, CR3."""
    world.component("parent", "parent", "child")
    assert run("graph", "package") == 1
    output = capsys.readouterr()
    assert "team/child -> team/parent -> team/child" in output.err
    assert {"  c_parent --> c_child", "  c_child --> c_parent"} <= set(output.out.splitlines())


def test_observe_writes_to_directories(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert run("observe", world.url("child"), "-o", "file") == 3
    assert "file: " in capsys.readouterr().err
    assert Path("file").read_text() == ""


def test_a_path_needs_no_dot(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """What git takes for a path is one, and is found again under each of its names."""
    world.commit("child", "x", {"a": "1\n"})
    world.open("child", "x")
    for url in ("child.git", "./child.git", world.url("child"), f"file://{world.url('child')}"):
        assert run("observe", url) == 0
        assert "sourceBranch: x" in capsys.readouterr().out
    assert len(list((world.root / "cache" / "components").iterdir())) == 1


def test_pull_requests_have_names_of_their_own(world: World) -> None:
    """Two repositories whose owner and name read alike are two."""
    for place in ("acme", "acme-a"):
        (world.root / place).mkdir()
    for name in ("acme/a-b", "acme-a/b"):
        world.repository(name, {"a": "1\n"})
        world.commit(name, "x", {"a": "2\n"})
        world.open(name, "x")
    world.observe("acme/a-b", "acme-a/b")
    assert len(list((world.package / "observed").iterdir())) == 2


@pytest.mark.parametrize("url", ["..", "."])
def test_what_is_no_repository(world: World, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(world.root.iterdir())
    assert run("observe", url) == 3
    assert f"{url}: " in capsys.readouterr().err
    assert sorted(entry for entry in world.root.iterdir() if entry.name != "cache") == before
    assert not (world.root / "HEAD").exists()
