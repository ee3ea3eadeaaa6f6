"""Repositories that people rename or give to another owner: what was said of a version there stays said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.hosts import git
from effort import SEED
from fleet.publish.hosted import BRANCH, HostedFleet
from fleet.world import World
from forges.connected import HOSTED
from forges.fake_forge import TOKEN
from packages.repositories import config_map, write


# tests/forges tries what each forge says of a repository that moved.
@pytest.fixture(params=[*HOSTED] if SEED else [*HOSTED][:1])
def fleet(world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedFleet]:
    """Three repositories with an open pull request each, whose addresses in the campaign do not change."""
    with HOSTED[request.param].server(TOKEN, page=2) as server:
        fleet = HostedFleet.after_merge(world, server, request.param, monkeypatch, 3)
        assert fleet.publish().returncode == 0
        yield fleet


def amend_and_merge(fleet: HostedFleet, number: int) -> str:
    """People change our commit, and merge it. Returns the commit of theirs."""
    place, person = fleet.places[number], fleet.world.place / f"person-{number}"
    git(fleet.world.place, "clone", "--quiet", "--branch", BRANCH, str(place), str(person))
    write(person, {"README.md": "by hand\n"})
    git(person, "commit", "--quiet", "--all", "--amend", "--reset-author", "--message=ours")
    git(person, "push", "--quiet", "--force", "origin", BRANCH)
    head = git(person, "rev-parse", "HEAD").strip()
    git(person, "push", "--quiet", "origin", "HEAD:main")
    (pull,) = fleet.pulls(number)
    pull.head = pull.merged = head
    pull.state = "closed"
    return head


def release(world: World) -> None:
    upstream = world.place / "upstream"
    write(upstream, {"shop/a.yaml": config_map("a", a="three", b="one")})
    git(upstream, "commit", "--quiet", "--all", "--message=v3")
    git(upstream, "tag", "v3")
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("ref: v2", "ref: v3"))


def states(fleet: HostedFleet) -> list[list[str]]:
    """Of each repository, the states of its pull requests."""
    pulls = [fleet.server.repositories[f"{owner}/{place.stem}"].pulls for owner, place in owners(fleet)]
    return [["merged" if pull.merged else pull.state for pull in of_repository] for of_repository in pulls]


def owners(fleet: HostedFleet) -> list[tuple[str, Path]]:
    return [*zip(("other", "other", "acme"), fleet.places, strict=True)]


@pytest.mark.parametrize("has_ledger", [True, False])
def test_what_was_said_of_a_version_is_known(fleet: HostedFleet, has_ledger: bool) -> None:
    fleet.pulls(0)[0].state = "closed"
    amend_and_merge(fleet, 1)
    fleet.server.move("acme/000", "other/000")
    fleet.server.move("acme/001", "other/001")
    if not has_ledger:
        (fleet.world.place / "campaign/ledger.db").unlink()
        shutil.rmtree(fleet.world.place / "campaign/cache")
    fleet.run()
    done = fleet.publish()
    assert (done.returncode, done.stderr) == (0, "")
    assert states(fleet) == [["closed"], ["merged"], ["open"]]
    release(fleet.world)
    fleet.run()
    done = fleet.publish()
    assert (done.returncode, done.stderr) == (0, "")
    assert states(fleet) == [["closed", "open"], ["merged", "open"], ["open"]]
    assert "a: three" in git(fleet.places[1], "show", f"{BRANCH}:deploy/shop/a.yaml")
