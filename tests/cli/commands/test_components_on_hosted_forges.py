"""The commands on forges over HTTP: servers that speak as they do, and branches in real git repositories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from components.hosted_world import HostedWorld, environment
from components.world import change_parent, common_parent, dockerfile
from forges.fake_forge import TOKEN, Fault
from forges.fake_github import FakeGitHub
from krm_merge.cli.app import main
from krm_merge.forges.interface import Patience
from krm_merge.git.program import NO_CREDENTIALS, Credentials, credentials_for, run


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[FakeGitHub]:
    with FakeGitHub(TOKEN, getattr(request, "param", "")) as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> HostedWorld:
    environment(tmp_path, monkeypatch)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    options = ("--forge", "127.0.0.1=github", "--api", f"127.0.0.1={server.api}", "--pace", "0")
    return HostedWorld(tmp_path, forge_options=options, server=server)


@pytest.fixture
def components(world: HostedWorld) -> HostedWorld:
    """Use case 1, a common parent image; nobody has changed it yet."""
    common_parent(world)
    return world


@pytest.fixture
def parent(components: HostedWorld) -> HostedWorld:
    """With a pull request of a person to the parent, which is built."""
    change_parent(components)
    return components


@pytest.mark.parametrize("server", ["/api/v3"], indirect=True)
def test_s7_closed_on_an_enterprise(parent: HostedWorld) -> None:
    """S7, C4."""
    world = parent
    world.go_on("parent", "child")
    world.on_server("parent").pulls[0].state = "closed"
    world.go_on("parent", "child")
    (pull,) = world.on_server("child").pulls
    assert pull.state == "closed"
    (comment,) = pull.comments
    assert comment.startswith("Closed: ")
    assert world.plan("parent", "child") == []


def test_a_fork_is_not_taken_for_ours(parent: HostedWorld) -> None:
    """CR21, CR26: somebody else's branch of the same name, with our description, stays as it is."""
    world = parent
    (plan,) = world.plan("parent", "child")
    other = world.open_from_fork("child", "someone", "update/child", str(plan["description"]))
    before = repr(other)
    world.go_on("parent", "child")
    world.build("parent", "parent", "2", 1)
    world.go_on("parent", "child")
    assert repr(other) == before
    assert [pull.source_branch for pull in world.pulls("child")] == ["someone:update/child", "update/child"]
    assert world.files("child", "update/child") == {"Dockerfile": dockerfile("2")}


@pytest.mark.parametrize(("token", "remedy"), [("", "set GITHUB_TOKEN"), ("wr0ng", "GITHUB_TOKEN has expired or is")])
def test_without_a_token(
    parent: HostedWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    remedy: str,
) -> None:
    """C4: what to do is said, nothing is pushed, and the token is nowhere."""
    world = parent
    world.plan("parent", "child")
    monkeypatch.setenv("GITHUB_TOKEN", token)
    capsys.readouterr()
    observed = world.root / "observed"
    assert main(["components", "observe", world.address("child"), "-o", str(observed), *world.forge_options]) == 3
    errors = capsys.readouterr().err
    assert f"acme/child: listing the pull requests: GitHub says: Bad credentials (401); {remedy}" in errors
    assert not observed.exists()
    assert world.apply() == 1
    errors += capsys.readouterr().err
    assert errors.count(remedy) == 2
    assert "wr0ng" not in errors
    assert world.branches("child") == {"main"}
    assert world.writes() == []


def test_one_repository_that_fails(parent: HostedWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """C4: plans are independent; the one that was not carried out is the next time."""
    world = parent
    world.repository("sibling", {"Dockerfile": dockerfile("0")})
    world.component("sibling", "sibling", "parent", at="d")
    names = ("parent", "child", "sibling")
    world.plan(*names)
    # Tried again at once, as the server says.
    world.server.faults += [Fault(500, {"Retry-After": "0"}, path="/acme/child/")] * Patience().attempts
    assert world.apply() == 1
    message = (
        "child.update: acme/child: listing the open pull requests: GitHub fails with 500, 5 times; try again later"
    )
    assert message in capsys.readouterr().err
    assert world.server.faults == []
    assert (world.branches("child"), world.pulls("child")) == ({"main"}, [])
    assert [pull.source_branch for pull in world.pulls("sibling")] == ["update/sibling"]
    assert world.apply() == 0
    assert [pull.source_branch for pull in world.pulls("child")] == ["update/child"]
    assert len(world.pulls("sibling")) == 1


def test_a_repository_without_drafts(parent: HostedWorld) -> None:
    """C13, CR27: an ordinary pull request waits by its title, until it need not."""
    world = parent
    world.on_server("child").drafts = False
    world.go_on("parent", "child")
    (pull,) = world.on_server("child").pulls
    assert (pull.draft, pull.title) == (False, "[waits] Update parent in child (update)")
    before = world.heads()
    (plan,) = world.plan("parent", "child")
    assert "actions" not in plan
    assert world.apply() == 0
    assert world.heads() == before
    world.build("parent", "parent", "2", 1)
    world.go_on("parent", "child")
    assert pull.title == "[waits] Update parent in child (update)"
    commit = world.merge("parent", 1)
    world.build("parent", "parent", "9", 1, commit=commit, event="push", branch="main")
    world.go_on("parent", "child")
    assert (pull.draft, pull.title) == (False, "Update parent in child (update)")
    assert not world.server.requests("POST", "/graphql")


def fill(url: str, credentials: Credentials) -> str:
    """What git finds for a repository."""
    address = urlsplit(url)
    request = f"protocol={address.scheme}\nhost={address.netloc}\n\n".encode()
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ASKPASS": "/bin/false"}
    answer = run(
        [*credentials.options, "credential", "fill"], data=request, environment={**credentials.environment, **alone}
    )
    return answer.stdout.decode()


def test_git_gets_the_token_of_the_forge() -> None:
    """C13: of the forge's host alone, and over https alone; never as an argument."""
    url = "https://github.com/acme/app.git"
    credentials = credentials_for(url, TOKEN)
    assert f"username=x-access-token\npassword={TOKEN}\n" in fill(url, credentials)
    assert TOKEN not in "".join(credentials.options)
    assert TOKEN not in fill("https://evil.example.com/acme/app", credentials)
    for other in ("http://github.com/acme/app", "git@github.com:acme/app.git", "https://me@github.com/acme/app"):
        assert credentials_for(other, TOKEN) == NO_CREDENTIALS
