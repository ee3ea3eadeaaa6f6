"""Pull requests of repositories on this machine, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World
from krm_merge.cli.app import main


@pytest.fixture
def world(tmp_path: Path) -> World:
    setting = World(tmp_path)
    setting.repository("app", {"a": "1\n"})
    setting.commit("app", "x", {"a": "2\n"})
    return setting


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["components", "pull-request", *arguments]) == 0
    return capsys.readouterr().out


def test_from_open_to_merged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    url = world.url("app")
    assert output_of(capsys, "list", url) == ""
    assert output_of(capsys, "open", url, "x", "--title", "A change", "--draft") == "#1\n"
    assert output_of(capsys, "list", url) == "#1 x -> main (open, draft): A change\n"
    assert main(["components", "pull-request", "merge", url, "1"]) == 3
    assert "#1 is a draft; take it out of draft first" in capsys.readouterr().err
    commit = output_of(capsys, "merge", url, "1", "--how", "squash", "--force").strip()
    assert world.git("--git-dir", url, "rev-parse", "main") == commit
    assert world.subjects("app", "main", f"{commit}^") == ["A change (#1)"]
    assert output_of(capsys, "list", url) == "#1 x -> main (merged): A change\n"


def test_closed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    url = world.url("app")
    output_of(capsys, "open", url, "x")
    output_of(capsys, "close", url, "1")
    assert output_of(capsys, "list", url) == "#1 x -> main (closed): x\n"


def test_refused(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)
    assert main(["components", "pull-request", "open", "app.git", "x", "--into", "y"]) == 3
    assert "there is no branch y; push it first" in capsys.readouterr().err
