"""Many plans at a glance (C7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.world import World, digest
from krm_merge.cli.app import main


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A parent with two pull requests that are built, and twelve children."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.repository("parent", {"Dockerfile": "FROM scratch\n"})
    world.component("parent", "parent")
    for number in range(12):
        world.component(f"child{number:02}", f"child{number:02}", "parent", at="c")
    for number, branch in enumerate(("a/x", "b"), 1):
        world.commit("parent", branch, {"Dockerfile": f"FROM scratch\nRUN {branch}\n"})
        assert world.open("parent", branch) == number
        world.build("parent", "parent", str(number), number)
    world.plan("parent")
    return world


def test_what_waits_for_what(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C7: the first entries of each view, or all of one."""
    assert main(["components", "summary", str(world.package)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("24 plans: 0 ready, 24 draft, 0 to close; 24 with actions\n")
    name = f"{world.root.name}/parent"
    some = "child00, child01, child02, child03, child04 and 7 more"
    assert f"Waiting for:\n  the merge of {name}#1: 12 plans for {some}\n" in output
    assert f"Groups:\n  a: 12 plans for {some}\n  b: 12 plans for {some}\n" in output
    first = f"child00: a/child00 (draft, waits for the merge of {name}#1); b/child00 (draft, waits for the merge of"
    assert f"Dependants:\n  {first} {name}#2)\n" in output
    assert output.endswith("  and 2 more: --by dependant\n")
    assert main(["components", "summary", str(world.package), "--by", "dependant"]) == 0
    output = capsys.readouterr().out
    assert "  child11: " in output
    assert "Groups:" not in output


def test_for_programs(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C7."""
    assert main(["components", "summary", str(world.package), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["plans"]) == 24
    assert summary["byGroup"]["a"] == [f"child{number:02}.a" for number in range(12)]
    assert summary["plans"]["child03.b"]["waitsFor"] == [f"the merge of {world.root.name}/parent#2"]


def test_what_is_built_next_and_what_is_closed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR27, S7: the build after a merge, and the reason why something is closed."""
    plan = next((world.package / "plans").glob("child00.a*"))
    text = plan.read_text().replace("until: merged", "until: mergeBuild")
    plan.write_text(text.replace("state: open", "state: closed\n  reason: it is <over>", 1))
    assert main(["components", "summary", str(plan)]) == 0
    output = capsys.readouterr().out
    assert "1 plan: 0 ready, 0 draft, 1 to close" in output
    assert f"the build of parent after {world.root.name}/parent#1: 1 plan for child00" in output
    assert "child00: a/child00 (to close: it is <over>)" in output
    assert digest("1") not in output
