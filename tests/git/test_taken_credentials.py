"""Credentials in addresses serve git, and are nowhere else."""

from __future__ import annotations

import os
import subprocess

import pytest

from krm_merge.git.program import take_credentials


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of the test's own."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    os.environ.pop("GIT_CONFIG_COUNT", None)


def fill(host: str) -> str:
    command = ["git", "-c", "credential.interactive=false", "credential", "fill"]
    requests = f"protocol=https\nhost={host}\n\n"
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ASKPASS": "", "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(command, input=requests, env=environment, capture_output=True, text=True, check=False).stdout


def test_git_finds_them_for_their_host_alone() -> None:
    assert take_credentials("https://oauth2:a%2Fb@git.test/o/r.git") == "https://git.test/o/r.git"
    assert take_credentials("https://bot:other@more.test:8443/o/r.git") == "https://more.test:8443/o/r.git"
    assert "username=oauth2\npassword=a/b\n" in fill("git.test")
    assert "username=bot\npassword=other\n" in fill("more.test:8443")
    assert "password" not in fill("else.test")


@pytest.mark.parametrize(
    "url", ["git@git.test:o/r.git", "ssh://git@git.test/o/r.git", "/srv/x@y/r.git", "https://a/b@c", "https://[a"]
)
def test_other_addresses_are_kept(url: str) -> None:
    assert take_credentials(url) == url
