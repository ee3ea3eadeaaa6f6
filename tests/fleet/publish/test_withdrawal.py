"""The operator's half: requests closed, merged ones rolled back, labels and reviewers, gates on checks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.hosts import git
from effort import SEED
from fleet.publish.hosted import BRANCH, HostedFleet
from fleet.world import World
from forges.connected import HOSTED
from forges.fake_forge import TOKEN
from krm_merge.fleet.proposals import mark_in
from packages.repositories import config_map, write

COUNT = 3


@pytest.fixture(params=["github"])
def fleet(world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedFleet]:
    with HOSTED[request.param].server(TOKEN, page=2) as server:
        yield HostedFleet.after_merge(world, server, request.param, monkeypatch, COUNT)


# tests/forges tries on each forge by day what these ask of it.
on_every_forge = pytest.mark.parametrize("fleet", [*HOSTED] if SEED else [*HOSTED][:1], indirect=True)


def edit_campaign(fleet: HostedFleet, before: str, after: str) -> None:
    place = fleet.world.place / "campaign/campaign.yaml"
    text = place.read_text()
    assert before in text
    place.write_text(text.replace(before, after))


def merge(fleet: HostedFleet, number: int, how: str) -> None:
    """People merge the request of a repository, in one of the three ways of forges."""
    place, (pull,) = fleet.places[number], fleet.pulls(number)
    work = fleet.world.place / f"person-{number}"
    git(fleet.world.place, "clone", "--quiet", str(place), str(work))
    options = {"merge": ["--no-ff", "--message=merged"], "squash": ["--squash"], "rebase": ["--ff-only"]}[how]
    git(work, "merge", "--quiet", *options, f"origin/{BRANCH}")
    if how == "squash":
        git(work, "commit", "--quiet", "--message=squashed")
    (work / "README.md").write_text("later\n")
    git(work, "commit", "--quiet", "--all", "--message=later")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    pull.state, pull.merged = "closed", git(work, "rev-parse", "HEAD~").strip()


@on_every_forge
def test_close_ends_what_is_open(fleet: HostedFleet) -> None:
    fleet.publish()
    pulls = [fleet.pulls(number)[0] for number in range(COUNT)]
    done = fleet.withdraw("close", "--only", "*/00[12].git", "--comment", "Not this one.", "--dry-run")
    assert done.stdout.splitlines()[-1] == "dry run: 2 closed"
    assert [pull.state for pull in pulls] == ["open"] * COUNT
    done = fleet.withdraw("close", "--only", "*/00[12].git", "--comment", "Not this one.")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 closed"), done.stderr
    assert [(pull.state, pull.comments) for pull in pulls] == [("open", []), *[("closed", ["Not this one."])] * 2]
    assert [bool(fleet.head(number)) for number in range(COUNT)] == [True, False, False]
    # A no for this version.
    assert fleet.publish().stdout == "nothing to publish\n"
    assert fleet.withdraw("close", "--only", "*/001.git").stdout == "no pull request to end\n"


def test_close_keeps_a_branch_with_commits_of_people(fleet: HostedFleet) -> None:
    fleet.publish()
    person = fleet.world.place / "person"
    git(fleet.world.place, "clone", "--quiet", "--branch", BRANCH, str(fleet.places[0]), str(person))
    git(person, "commit", "--quiet", "--allow-empty", "--message=by hand")
    git(person, "push", "--quiet")
    head = fleet.head()
    done = fleet.withdraw("close")
    assert done.returncode == 1
    assert f"has the commit {head[:12]} of somebody else, which is kept" in done.stderr
    assert (fleet.head(), fleet.pulls()[0].state) == (head, "closed")


@on_every_forge
def test_rollback_proposes_the_reverse_of_what_was_merged(fleet: HostedFleet) -> None:
    fleet.publish()
    for number, how in enumerate(("merge", "squash", "rebase")):
        merge(fleet, number, how)
    fleet.publish()
    done = fleet.withdraw("rollback")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 reverting"), done.stderr
    for number, place in enumerate(fleet.places):
        merged, reverse = fleet.pulls(number)
        assert (reverse.state, reverse.title) == ("open", "Roll back #1: Update deploy/shop to v2")
        assert git(place, "diff", "--name-only", f"main...{reverse.source}").split() == [
            "deploy/shop/Kptfile",
            "deploy/shop/a.yaml",
            "deploy/shop/new.yaml",
        ]
        assert "a: one" in git(place, "show", f"{reverse.source}:deploy/shop/a.yaml")
        assert git(place, "show", f"{reverse.source}:README.md") == "later\n"
        mark = mark_in(merged.body or "")
        assert mark is not None
        assert mark.reverse == reverse.number
    assert fleet.world.states() == {"reverting": COUNT}
    status = fleet.world.fleet("status", "campaign").stdout
    assert "000.git: #2 reverts #1; the next version waits until it is merged or closed" in status


def test_what_was_rolled_back_is_not_proposed_again(fleet: HostedFleet) -> None:
    """Neither after the reverse was merged, nor by a copy of the campaign without its ledger; the next version is."""
    fleet.publish()
    merge(fleet, 0, "merge")
    (fleet.world.place / "campaign/ledger.db").unlink()
    assert fleet.withdraw("rollback", "--only", "*/000.git").returncode == 0
    reverse = fleet.pulls()[1]
    work = fleet.world.place / "person-0"
    git(work, "fetch", "--quiet", "origin", reverse.source)
    git(work, "merge", "--quiet", "--no-ff", "--message=back", "FETCH_HEAD")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    reverse.state, reverse.merged = "closed", git(work, "rev-parse", "HEAD").strip()
    (fleet.world.place / "campaign/ledger.db").unlink()
    fleet.run()
    fleet.publish()
    assert fleet.world.states() == {"reverted": 1, "open": 2}
    upstream = fleet.world.place / "upstream"
    write(upstream, {"shop/a.yaml": config_map("a", a="three", b="one")})
    git(upstream, "commit", "--quiet", "--all", "--message=v3")
    git(upstream, "tag", "v3")
    edit_campaign(fleet, "ref: v2", "ref: v3")
    fleet.run()
    assert fleet.publish().returncode == 0
    assert [pull.state for pull in fleet.pulls()] == ["closed", "closed", "open"]
    assert "a: three" in git(fleet.places[0], "show", f"{BRANCH}:deploy/shop/a.yaml")


def test_what_was_changed_since_is_not_rolled_back(fleet: HostedFleet) -> None:
    fleet.publish()
    merge(fleet, 0, "merge")
    work = fleet.world.place / "person-0"
    place = work / "deploy/shop/a.yaml"
    place.write_text(place.read_text().replace("a: two", "a: hotfix"))
    git(work, "commit", "--quiet", "--all", "--message=hotfix")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    fleet.publish()
    done = fleet.withdraw("rollback", "--only", "*/000.git")
    assert done.returncode == 1
    problem = "deploy/shop/a.yaml was changed on both sides since; revert #1 by hand"
    assert f"000.git: {problem}" in done.stderr
    assert f"000.git: {problem}" in fleet.world.fleet("status", "campaign").stdout
    assert len(fleet.pulls()) == 1


@on_every_forge
def test_labels_reviewers_and_assignees(fleet: HostedFleet) -> None:
    edit_campaign(fleet, "  waves: {}\n", "  waves: {}\n  labels: [fleet]\n  reviewers: [kim]\n  assignees: [sam]\n")
    assert fleet.publish().returncode == 0
    (pull,) = fleet.pulls()
    assert (pull.labels, pull.reviewers, pull.assignees) == (["fleet"], ["kim"], ["sam"])
    pull.labels.clear()
    fleet.publish()
    assert pull.labels == []


def test_where_there_are_no_drafts_the_title_says_so(fleet: HostedFleet) -> None:
    edit_campaign(fleet, "  waves: {}\n", "  waves: {}\n  draft: true\n")
    fleet.server.repositories["acme/000"].drafts = False
    assert fleet.publish().returncode == 0
    title = "Update deploy/shop to v2"
    assert [(pull.draft, pull.title) for number in (0, 1) for pull in fleet.pulls(number)] == [
        (False, f"[waits] {title}"),
        (True, title),
    ]
    (pull,) = fleet.pulls()
    fleet.publish()
    assert pull.title == f"[waits] {title}"
    edit_campaign(fleet, "draft: true", "draft: false")
    fleet.world.retag("three", "2030-01-01T00:00:00Z")
    assert (fleet.run().returncode, fleet.publish().returncode) == (0, 0)
    assert (pull.draft, pull.title) == (False, title)


@on_every_forge
def test_a_gate_waits_for_checks(fleet: HostedFleet) -> None:
    gate = "{targets: 1, gate: {merged: 0%, checks: passed}}"
    edit_campaign(fleet, "waves: {}", f"waves: {{canary: {gate}, rest: rest}}")
    assert "the checks of 1 of 1 of canary have not passed" in fleet.publish().stdout
    assert [bool(fleet.head(number)) for number in range(COUNT)] == [True, False, False]
    fleet.pulls()[0].checks = {"github": "SUCCESS"}.get(fleet.kind, "success")
    assert fleet.publish().returncode == 0
    assert [bool(fleet.head(number)) for number in range(COUNT)] == [True, True, True]
