"""Publishing on GitHub, GitLab and Forgejo over HTTP: at their pace, through their faults, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.hosts import git
from effort import SEED
from fleet.publish.hosted import BRANCH, TOKEN_VARIABLE, HostedFleet
from fleet.world import World, kill
from forges.connected import HOSTED
from forges.fake_forge import TOKEN, FakeForge, Fault
from krm_merge.fleet.job import about_target

COUNT = 3
ADDRESS = "https://git.test/acme/000.git"


on_every_forge = pytest.mark.parametrize("kind", [*HOSTED], indirect=True)
# Waits and kills take a quarter of a minute; tests/forges tries each forge's own answers.
on_one_forge_by_day = pytest.mark.parametrize("kind", [*HOSTED] if SEED else [*HOSTED][:1], indirect=True)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """GitHub, unless a test is for others as well."""
    name: str = getattr(request, "param", "github")
    return name


@pytest.fixture
def server(kind: str) -> Iterator[FakeForge]:
    with HOSTED[kind].server(TOKEN, page=2) as server:
        yield server


@pytest.fixture
def fleet(world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch) -> HostedFleet:
    return HostedFleet.after_merge(world, server, kind, monkeypatch, COUNT)


@on_every_forge
def test_pull_requests_are_opened_once(fleet: HostedFleet) -> None:
    for number in range(5):
        # More than a page has; each takes a number.
        pull = fleet.server.repositories["acme/000"].open_pull(BRANCH, "main", f"old {number}", "", draft=False)
        pull.state = "closed"
    done = fleet.publish()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 open"), done.stderr
    ours = [pull for pull in fleet.pulls() if pull.state == "open"]
    assert [(pull.title, pull.target, pull.draft) for pull in ours] == [("Update deploy/shop to v2", "main", False)]
    assert ours[0].head == fleet.head()
    changes = fleet.changes()
    assert fleet.publish().stdout == "nothing to publish\n"
    assert fleet.changes() == changes
    assert fleet.world.states() == {"open": COUNT}


FAULTS = (
    Fault(403, {"Retry-After": "1"}, {"message": "You have exceeded a secondary rate limit"}),
    Fault(429, {"Retry-After": "1"}, {"message": "Too Many Requests"}),
    Fault(502, {}, "<html>Bad Gateway</html>"),
    Fault(502, {}, "<html>Bad Gateway</html>", done=True),
    Fault(broken="reset"),
    Fault(broken="reset", done=True),
    Fault(broken="cut", done=True),
)


@on_one_forge_by_day
def test_what_a_forge_fails_at_is_tried_again_and_not_done_twice(
    world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = HostedFleet.after_merge(world, server, kind, monkeypatch, len(FAULTS))
    for number, fault in enumerate(FAULTS):
        for method in ("GET", "POST"):
            server.faults.append(Fault(**{**vars(fault), "method": method, "path": f"00{number}/"}))
    done = fleet.publish()
    assert done.returncode == 0, done.stderr
    # Reads of all repositories at once are not about one of them.
    assert [fault for fault in server.faults if fault.method != "GET"] == []
    assert [len(fleet.pulls(number)) for number in range(len(FAULTS))] == [1] * len(FAULTS)
    assert world.states() == {"open": len(FAULTS)}


@on_one_forge_by_day
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("done", [False, True], ids=["not-opened", "opened"])
def test_a_kill_between_pushed_and_opened(fleet: HostedFleet, done: bool) -> None:
    fleet.server.faults.append(Fault(broken="hang", method="POST", path="000/", done=done))
    process = fleet.start()
    kill(process, when=lambda: not fleet.server.faults)
    fleet.server.released.set()
    pushed = fleet.head()
    assert pushed
    assert fleet.world.states() == {"clean": COUNT}
    again = fleet.publish()
    assert again.returncode == 0, again.stderr
    assert fleet.head() == pushed
    assert [len(fleet.pulls(number)) for number in range(COUNT)] == [1] * COUNT
    assert fleet.world.states() == {"open": COUNT}


def test_a_commit_of_a_person_on_our_branch_is_kept(fleet: HostedFleet) -> None:
    fleet.publish()
    person = fleet.world.place / "person"
    git(fleet.world.place, "clone", "--quiet", "--branch", BRANCH, str(fleet.places[0]), str(person))
    (person / "README.md").write_text("by hand\n")
    git(person, "commit", "--quiet", "--all", "--message=by hand")
    git(person, "push", "--quiet")
    theirs = fleet.head()
    work = fleet.world.place / "work/000"
    (work / "README.md").write_text("more\n")
    git(work, "commit", "--quiet", "--all", "--message=more")
    git(work, "push", "--quiet", str(fleet.places[0]), "main")
    fleet.run()
    changes = fleet.changes()
    done = fleet.publish()
    assert done.returncode == 1
    assert f"{BRANCH} has the commit {theirs[:12]} of somebody else, which is kept" in done.stderr
    assert (fleet.head(), fleet.changes()) == (theirs, changes)


@on_one_forge_by_day
def test_an_expired_token_names_its_remedy_and_is_not_tried_for_all(
    world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = HostedFleet.after_merge(world, server, kind, monkeypatch, 8)
    server.token = "another"
    done = fleet.publish()
    assert done.returncode == 1
    assert done.stderr.count(f"{TOKEN_VARIABLE} has expired or is wrong; make a new one") == 1
    assert TOKEN not in done.stdout + done.stderr
    assert "the rest waits: 127.0.0.1 refuses all requests" in done.stdout
    server.token = TOKEN
    assert fleet.publish().returncode == 0
    assert [len(fleet.pulls(number)) for number in range(8)] == [1] * 8
    status = world.fleet("status", "campaign")
    assert "not published" not in status.stdout


@on_one_forge_by_day
def test_lost_access_says_nothing_about_a_pull_request(fleet: HostedFleet) -> None:
    fleet.publish()
    place = fleet.world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("waves: {}", "waves: {canary: 1, rest: rest}"))
    hidden = fleet.server.repositories.pop("acme/000")
    done = fleet.publish()
    assert done.returncode == 1
    assert "give the token access to it" in done.stderr
    assert fleet.world.states() == {"unknown": 1, "open": 2}
    assert (
        "wave canary: 1 target, 1 of 1 published, 0 merged, 0 closed" in fleet.world.fleet("status", "campaign").stdout
    )
    fleet.server.repositories["acme/000"] = hidden
    assert fleet.publish().returncode == 0
    assert fleet.world.states() == {"open": 3}
    assert [len(fleet.pulls(number)) for number in range(COUNT)] == [1] * COUNT


def test_credentials_in_addresses_stay_here(
    world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRM_MERGE_LOGIN_127_0_0_1", "")
    fleet = HostedFleet.after_merge(world, server, kind, monkeypatch, 1, "https://bot:t0k3n-of-a-url@127.0.0.1/acme/")
    done = fleet.publish()
    assert done.returncode == 0, done.stderr
    world.fleet("status", "campaign", "--report", "campaign/report.md")
    status = world.fleet("status", "campaign", "--format", "json").stdout
    assert "https://127.0.0.1/acme/000.git" in status
    outputs = [status, done.stdout, str(fleet.pulls()), str([vars(seen) for seen in server.seen])]
    files = [file.read_bytes() for file in (world.place / "campaign").rglob("*") if file.is_file()]
    assert not any("t0k3n" in text for text in outputs)
    assert not any(b"t0k3n" in data for data in files)


def test_the_changes_of_an_hour_are_used_up(fleet: HostedFleet) -> None:
    place = fleet.world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("perHour: 400", "perHour: 2"))
    done = fleet.publish()
    assert done.returncode == 0, done.stderr
    assert "the rest waits: 127.0.0.1 accepts no more requests until" in done.stdout
    assert fleet.world.states() == {"open": 2, "clean": 1}
    assert fleet.publish().returncode == 0
    assert fleet.world.states() == {"open": 3}


def test_a_limit_that_leaves_nothing_done_is_a_failure(fleet: HostedFleet) -> None:
    answer = {"message": "API rate limit exceeded"}
    fleet.server.faults.append(Fault(429, {"Retry-After": "3600"}, answer))
    done = fleet.publish()
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "nothing was published"
    assert "the rest waits: 127.0.0.1 accepts no more requests until" in done.stdout
    assert "127.0.0.1: " not in done.stderr


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("acme/000: closing pull request #1: GitHub says: no", "closing pull request #1: GitHub says: no"),
        (f"{ADDRESS}: {ADDRESS}: no refs", "no refs"),
        (f"unable to access '{ADDRESS}/': Could not resolve", "unable to access the repository: Could not resolve"),
        (f"repository '{ADDRESS}' not found", "the repository not found"),
        ("acme/0001: no", "acme/0001: no"),
    ],
)
def test_no_message_names_an_address_twice(message: str, expected: str) -> None:
    assert about_target(message, ADDRESS) == expected


def test_a_wave_waits_for_the_gate_of_the_one_before(fleet: HostedFleet) -> None:
    place = fleet.world.place / "campaign/campaign.yaml"
    canary, early = "{targets: 1, gate: {merged: 100%}}", "{targets: 1, gate: {merged: 0%}}"
    waves = f"waves: {{canary: {canary}, early: {early}, rest: rest}}"
    place.write_text(place.read_text().replace("waves: {}", waves))
    assert "0 of 1 of canary merged; 100% must be" in fleet.publish().stdout
    assert [bool(fleet.head(number)) for number in range(COUNT)] == [True, False, False]
    fleet.pulls(0)[0].state = "closed"
    assert "1 of canary closed or reverted; 0 may be" in fleet.publish().stdout
    place.write_text(place.read_text().replace("gate: {merged: 100%}", "gate: {merged: 0%, closed: 1}"))
    # The gate of `early` asks for nothing: the rest follows at once.
    assert fleet.publish().returncode == 0
    assert [bool(fleet.head(number)) for number in range(COUNT)] == [True, True, True]
