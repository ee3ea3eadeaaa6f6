"""Campaigns that live on: each version gets its pull request, and what people said of an earlier one stays said."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.hosts import git
from e2e.in_process import krm_merge
from fleet.world import World
from krm_merge.fleet.proposals import Mark, mark_in
from krm_merge.forges.proposals import with_part
from packages.repositories import config_map, write

BRANCH = "krm-merge/shop-main"


def release(world: World, value: str) -> None:
    """A new version of upstream on its branch."""
    upstream = world.place / "upstream"
    write(upstream, {"shop/a.yaml": config_map("a", a=value, b="one")})
    git(upstream, "commit", "--quiet", "--all", f"--message={value}")


def pulls(place: Path) -> list[dict[str, Any]]:
    return [record["pull"] for record in json.loads(place.with_suffix(".pulls.json").read_text())["pullRequests"]]


def end(world: World, place: Path, how: str) -> None:
    done = krm_merge("components", "pull-request", how, str(place), str(len(pulls(place))), cwd=world.place)
    assert done.returncode == 0, done.stderr


def edit(place: Path, **fields: Any) -> None:
    """What somebody does to the last pull request on the forge."""
    file = place.with_suffix(".pulls.json")
    value = json.loads(file.read_text())
    value["pullRequests"][-1]["pull"] |= fields
    file.write_text(json.dumps(value))


def night(world: World) -> str:
    assert world.fleet("run", "campaign").returncode == 0
    done = world.fleet("publish", "campaign")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def places(world: World) -> list[Path]:
    """Repositories that follow a branch, with a pull request each."""
    places = world.repositories(2)
    (world.place / "repositories.txt").write_text("".join(f"file://{place}\n" for place in places))
    plan(world)
    assert "2 open" in night(world)
    return places


def plan(world: World) -> None:
    options = ("--repositories", "repositories.txt", "--on-conflict", "upstream")
    done = world.fleet("init", "campaign", "--upstream", f"{world.upstream}/shop", "--to", "main", *options)
    assert done.returncode == 0, done.stderr


def test_every_version_gets_its_pull_request(world: World, places: list[Path]) -> None:
    for version, how in (("three", "close"), ("four", "merge")):
        end(world, places[0], "merge")
        end(world, places[1], how)
        release(world, version)
        night(world)
        assert [pull["state"] for pull in pulls(places[0])][-1] == "open"
        assert [pull["state"] for pull in pulls(places[1])][-1] == "open"
        assert f"a: {version}" in git(places[1], "show", f"{BRANCH}:deploy/shop/a.yaml")
    assert [len(pulls(place)) for place in places] == [3, 3]
    assert [pull["state"] for pull in pulls(places[1])] == ["closed", "merged", "open"]


def test_a_closed_one_is_a_no_for_its_version_without_the_directory_too(world: World, places: list[Path]) -> None:
    end(world, places[0], "close")
    work = world.place / "work/000"
    (work / "README.md").write_text("more\n")
    git(work, "commit", "--quiet", "--all", "--message=more")
    git(work, "push", "--quiet", str(places[0]), "main")
    night(world)
    assert world.states() == {"closed": 1, "open": 1}
    shutil.rmtree(world.place / "campaign")
    plan(world)
    night(world)
    assert world.states() == {"closed": 1, "open": 1}
    assert [len(pulls(place)) for place in places] == [1, 1]


def test_one_that_is_opened_again_is_open(world: World, places: list[Path]) -> None:
    end(world, places[0], "close")
    night(world)
    edit(places[0], state="open")
    night(world)
    assert world.states() == {"open": 2}
    release(world, "three")
    night(world)
    assert [len(pulls(place)) for place in places] == [1, 1]
    assert "a: three" in git(places[0], "show", f"{BRANCH}:deploy/shop/a.yaml")


def test_what_people_wrote_is_kept(world: World, places: list[Path]) -> None:
    body = pulls(places[0])[0]["body"]
    edit(places[0], title="[JIRA-7] shop", body=f"Ask Kim first.\r\n\r\n{body}\n\ntested")
    release(world, "three")
    night(world)
    (pull,) = pulls(places[0])
    assert pull["title"] == "[JIRA-7] shop"
    assert pull["body"].startswith("Ask Kim first.\n\n<!-- krm-merge {")
    assert pull["body"].endswith("<!-- /krm-merge -->\n\ntested")
    mark = mark_in(pull["body"])
    assert mark is not None
    assert mark.version == world.commit("main")
    assert pulls(places[1])[0]["title"] == "Update deploy/shop to main"
    edit(places[1], body="Ask Kim first.")
    release(world, "four")
    night(world)
    assert pulls(places[1])[0]["body"].startswith("Ask Kim first.\n\n<!-- krm-merge {")


def test_a_branch_that_was_merged_with_commits_of_people_is_used_again(world: World, places: list[Path]) -> None:
    person = world.place / "person"
    git(world.place, "clone", "--quiet", "--branch", BRANCH, str(places[0]), str(person))
    (person / "README.md").write_text("by hand\n")
    git(person, "commit", "--quiet", "--all", "--message=by hand")
    git(person, "push", "--quiet")
    end(world, places[0], "merge")
    release(world, "three")
    night(world)
    assert [pull["state"] for pull in pulls(places[0])] == ["merged", "open"]
    assert git(places[0], "show", f"{BRANCH}:README.md") == "by hand\n"


def test_a_dry_run_writes_nothing(world: World, places: list[Path]) -> None:
    end(world, places[0], "close")
    before = content(world.place / "campaign")
    done = world.fleet("publish", "campaign", "--dry-run")
    assert "closed" in done.stdout
    assert content(world.place / "campaign") == before


def content(place: Path) -> dict[str, str]:
    """The digests of a campaign's files; its ledger is compared without what sqlite keeps beside it."""
    files = (file for file in sorted(place.rglob("*")) if file.is_file() and file.suffix not in (".db-shm", ".db-wal"))
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_title_cannot_end_its_mark() -> None:
    mark = Mark("v", "r", 'a --> <!-- "b"')
    text = with_part("theirs", mark.part("body <!-- /krm-merge --> more"))
    assert mark_in(text) == mark
    again = with_part(text, Mark("w", "r", "t").part("other"))
    assert (
        again
        == 'theirs\n\n<!-- krm-merge {"version": "w", "result": "r", "title": "t"} -->\nother\n<!-- /krm-merge -->'
    )


def test_a_long_body_is_cut() -> None:
    text = str(Mark("v", "r", "t").part("a line\n" * 20_000))
    assert len(text) < 61_000
    assert text.endswith("more characters are in the report of the campaign.\n<!-- /krm-merge -->")


def test_what_campaign_yaml_says_is_what_is_published(world: World, places: list[Path]) -> None:
    release(world, "three")
    world.fleet("run", "campaign")
    file = world.place / "campaign/campaign.yaml"
    file.write_text(file.read_text().replace("Update {package} to {ref}", "Raise {package}"))
    done = world.fleet("publish", "campaign")
    assert done.returncode == 1
    assert "campaign.yaml changed since it was merged; run the campaign again" in done.stderr
    night(world)
    assert git(places[0], "log", "-1", "--format=%s", BRANCH) == "Raise deploy/shop\n"
