"""Commits that are signed as git's settings say, and made once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from components.world import World, digest
from krm_merge.cli.app import main

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen, which signs, is not on PATH")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    world = World(tmp_path)
    world.repository("parent", {"Dockerfile": "FROM scratch\n"})
    world.repository("child", {"Dockerfile": f"FROM quay.io/o/parent@{digest('0')}\n"})
    world.component("parent", "parent")
    world.component("child", "child", "parent", at="c")
    world.commit("parent", "update", {"Dockerfile": "FROM scratch\nRUN new\n"})
    world.build("parent", "parent", "1", world.open("parent", "update"))
    return world


@pytest.fixture
def settings(world: World) -> Path:
    """The user's settings, with a program that makes another signature each time, as OpenPGP has the time in it."""
    key = world.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    program = world.root / "sign"
    program.write_text(f'#!/bin/sh\ndate +%N >> {world.root}/signed\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    allowed = world.root / "allowed"
    allowed.write_text(f"krm-merge@users.noreply.github.com {(world.root / 'key.pub').read_text()}")
    settings = world.root / "gitconfig"
    settings.write_text(
        f"[user]\n\tsigningKey = {key}.pub\n[gpg]\n\tformat = ssh\n"
        f'[gpg "ssh"]\n\tprogram = {program}\n\tallowedSignersFile = {allowed}\n'
    )
    return settings


def signatures(world: World) -> int:
    signed = world.root / "signed"
    return len(signed.read_text().splitlines()) if signed.exists() else 0


def verify(world: World) -> str:
    return world.git("--git-dir", world.url("child"), "log", "-1", "--format=%G? %ce", "update/child")


def test_signed_where_git_signs(world: World, settings: Path) -> None:
    settings.write_text(settings.read_text() + "[commit]\n\tgpgSign = true\n")
    world.plan("parent", "child")
    assert world.apply() == 0
    assert verify(world) == "G krm-merge@users.noreply.github.com"


def test_signed_where_it_is_asked_for(world: World, settings: Path) -> None:
    world.plan("parent", "child")
    assert main(["components", "apply", str(world.package / "plans"), "--sign"]) == 0
    assert verify(world).startswith("G ")


def test_not_signed_with_a_key_alone(world: World, settings: Path) -> None:
    """A key is for those who sign: git does not, either."""
    world.plan("parent", "child")
    assert world.apply() == 0
    assert verify(world).startswith("N ")
    assert signatures(world) == 0


def test_signed_once(world: World, settings: Path) -> None:
    """C4: the same again signs and pushes nothing, also where the branch is made anew."""
    settings.write_text(settings.read_text() + "[commit]\n\tgpgSign = true\n")
    world.go_on("parent", "child")
    world.build("parent", "parent", "2", 1)
    world.commit("child", "main", {"README": "new\n"})
    world.merge_and_build("parent", "parent", 1, "9", "merge")
    world.go_on("parent", "child")
    assert world.files("child", "update/child")["Dockerfile"] == f"FROM quay.io/o/parent@{digest('9')}"
    assert verify(world).startswith("G ")
    before, signature_count = world.heads(), signatures(world)
    shutil.rmtree(world.root / "cache")
    assert world.apply() == 0
    assert (world.heads(), signatures(world)) == (before, signature_count)


def test_without_a_key(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.plan("parent", "child")
    assert main(["components", "apply", str(world.package / "plans"), "--sign"]) == 3
    assert "name one with: git config --global user.signingKey" in capsys.readouterr().err


def test_a_key_that_is_missing(world: World, settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world.root / "key").unlink()
    world.plan("parent", "child")
    with pytest.raises(SystemExit, match="1"):
        main(["components", "apply", str(world.package / "plans"), "--sign"])
    assert "child.update: " in capsys.readouterr().err
    assert world.branches("child") == {"main"}
