"""Commits of a campaign that are signed as git's settings say, and pushed once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.hosts import git
from fleet.world import World

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen, which signs, is not on PATH")
BRANCH = "krm-merge/shop-v2"


@pytest.fixture
def signs(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each signature; the program makes another one each time, as OpenPGP does."""
    place = world.place
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / "key"], check=True)
    program = place / "sign"
    program.write_text(f'#!/bin/sh\n[ "$2" != sign ] || date +%N >> {place}/signatures\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    public = (place / "key.pub").read_text()
    (place / "allowed").write_text(f"krm-merge@users.noreply.github.com {public}")
    settings = {
        "user.signingKey": f"{place}/key.pub",
        "gpg.format": "ssh",
        "gpg.ssh.program": str(program),
        "gpg.ssh.allowedSignersFile": f"{place}/allowed",
    }
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (name, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    (place / "signatures").touch()
    return place / "signatures"


def test_commits_of_repositories_are_signed_once(world: World, signs: Path) -> None:
    (place,) = world.repositories(1)
    (world.place / "repositories.txt").write_text(f"file://{place}\n")
    world.plan("--repositories", "repositories.txt")
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign", "--push-only", "--sign")
    assert done.returncode == 0, done.stderr
    assert git(place, "log", "-1", "--format=%G? %s", BRANCH) == "G Update deploy/shop to v2\n"
    pushed = git(place, "rev-parse", BRANCH)
    signatures = signs.read_text()
    assert signatures.count("\n") == 1
    # Nothing is known any more but what is in git.
    shutil.rmtree(world.place / "campaign")
    world.plan("--repositories", "repositories.txt")
    world.fleet("run", "campaign")
    for options in (["--sign"], []):
        assert world.fleet("publish", "campaign", "--push-only", *options).returncode == 0
    assert (git(place, "rev-parse", BRANCH), signs.read_text()) == (pushed, signatures)


def test_commits_of_a_working_tree_are_signed(world: World, signs: Path) -> None:
    tree = world.working_tree(3)
    world.plan()
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign", "--direct", "--sign")
    assert done.returncode == 0, done.stderr
    assert git(tree, "log", "-3", "--format=%G? %an").splitlines() == ["G krm-merge"] * 3
    assert git(tree, "status", "--porcelain") == ""
    assert signs.read_text().count("\n") == 3


def test_without_a_key_nothing_is_pushed(world: World) -> None:
    world.working_tree(1)
    world.plan()
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign", "--direct", "--sign")
    assert done.returncode != 0
    assert "commits cannot be signed without a key; name one with: git config --global user.signingKey" in done.stderr
