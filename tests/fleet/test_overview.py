"""`fleet status`."""

from __future__ import annotations

import json

from e2e.hosts import git
from fleet.world import World
from packages.repositories import kptfile, write


def test_a_campaign_on_one_page(world: World) -> None:
    tree = world.working_tree(5, conflicts=2)
    write(tree / "team-4/pkg-004", {"Kptfile": kptfile(world.upstream, "v1", "0" * 40, "/shop")})
    git(tree, "commit", "--quiet", "--all", "--message=broken")
    world.plan()
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("waves: {}", "waves: {canary: 1, rest: rest}"))
    world.fleet("run", "campaign")
    done = world.fleet("status", "campaign", "--report", "status.md")
    assert done.stdout.splitlines()[1:6] == [
        "        2  clean",
        "        2  conflicts",
        "        1  failed",
        "wave canary: 1 target, 0 of 0 published, 0 merged, 0 closed",
        "wave rest: 4 targets, 0 of 2 published, 0 merged, 0 closed",
    ]
    assert "| clean | 2 |" in (world.place / "status.md").read_text()
    assert "failed (permanent): team-4/pkg-004" in (world.place / "status.md").read_text()
    value = json.loads(world.fleet("status", "campaign", "--format", "json").stdout)
    assert value["waves"][0]["name"] == "canary"


def test_what_cannot_be_read_does_not_stop_others(world: World) -> None:
    tree = world.working_tree(2)
    write(tree / "broken", {"Kptfile": "upstream: [\n"})
    done = world.fleet("init", "campaign", "--upstream", f"{world.upstream}/shop", "--to", "v2", "--packages", "tree")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "2 packages")
    assert "left out: " in done.stderr
    assert "broken/Kptfile" in done.stderr
