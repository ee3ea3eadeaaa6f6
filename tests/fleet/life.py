"""The life of a fleet on three forges: upstream releases every week, people work on what they have, things break."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from components.hosted_world import GitRepository
from components.world import branches_of
from e2e.hosts import GIT_ENVIRONMENT, SECONDS, git, installed_program, run
from fleet.world import World, kill
from forges.connected import HOSTED
from forges.fake_forge import TOKEN, FakeForge, Fault, Pull
from krm_merge import posix
from krm_merge.cli.commands import fleet_runs
from krm_merge.fleet import ledger
from krm_merge.fleet.job import Settings
from krm_merge.fleet.proposals import mark_in
from krm_merge.fleet.worker import prepare
from krm_merge.forges.hosted import transport
from packages.repositories import config_map, write

BRANCH = "krm-merge/shop-main"
SECRETS = (TOKEN, "t0k3n-of-a-url")
FEW_TEAMS = 10
MOST_HOURS = 5
START = datetime(2026, 3, 2, 2, 0, 0, tzinfo=UTC)
PACKAGE = "deploy/shop/a.yaml"


@dataclass(frozen=True)
class Threads:
    """An engine in this process: its workers have the environment of the test."""

    workers: int
    batch: int = 1

    def executor(self, settings: Settings) -> Executor:
        prepare(settings)
        return ThreadPoolExecutor(self.workers)

    def end(self, executor: Executor) -> None:
        executor.shutdown(cancel_futures=True)


class Calendar:
    """The time of the simulation, in place of `datetime` where the ledger asks for it."""

    def __init__(self) -> None:
        self.time = START

    def now(self, zone: tzinfo) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time.astimezone(zone)

    def clock(self) -> float:
        return self.time.timestamp()

    def sleep(self, seconds: float) -> None:
        """Nobody waits."""
        self.time += timedelta(seconds=seconds)

    def __str__(self) -> str:
        return f"{self.time:%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class Team:
    """A repository and the people who work on it; `refused` are the versions whose request they left closed."""

    forge: str
    server: FakeForge
    bare: Path
    work: Path
    calendar: Calendar
    random: Random
    refused: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    """What they wrote above our part of the text, by the number of the request."""
    commits: list[str] = field(default_factory=list)
    """Their own commits, on main and on our branch."""
    commits_on_branch: list[str] = field(default_factory=list)
    own_line: str = ""
    changes: int = 0
    checked: Mapping[str, str] = field(default_factory=dict)
    """The branches as they were checked last."""

    @property
    def name(self) -> str:
        return f"acme/{self.bare.stem}"

    @property
    def pulls(self) -> list[Pull]:
        repository: GitRepository | None = self.server.repositories.get(self.name)  # type: ignore[assignment]
        return [pull for pull in repository.pulls if pull.source == BRANCH] if repository else []

    @property
    def open_pull(self) -> Pull | None:
        return next((pull for pull in self.pulls if pull.state == "open"), None)

    @property
    def version(self) -> str:
        """The value that upstream's version has, on main."""
        return self.line("a")

    def line(self, key: str) -> str:
        text = git(self.bare, "show", f"main:{PACKAGE}")
        return next(line.strip() for line in text.splitlines() if line.strip().startswith(f"{key}:"))

    # ---- what people do ------------------------------------------------------------------------------------------

    def work_a_day(self) -> None:
        """Something that people do, or nothing."""
        pull, chance = self.open_pull, self.random.random()
        if self.random.random() < 0.15:
            self.change_main()
        if pull is None:
            if chance < 0.2:
                self.reopen()
            elif self.commits_on_branch:
                self.remove_branch()
        elif chance < 0.22:
            self.merge(pull)
        elif chance < 0.3:
            self.merge(pull, squash=True)
        elif chance < 0.42:
            self.close(pull)
        elif chance < 0.52:
            self.edit_text(pull)
        elif chance < 0.6:
            self.change_branch()
        elif chance < 0.65:
            self.change_branch(amend=True)

    def change_main(self) -> None:
        self._checkout("main")
        self.own_line = f"own-{self._next()}"
        lines = (self.work / PACKAGE).read_text().splitlines()
        lines = [*(line for line in lines if not line.startswith("  own:")), f"  own: {self.own_line}"]
        write(self.work, {PACKAGE: "\n".join(lines) + "\n", "README.md": f"{self._next()}\n"})
        self._push("main")

    def change_branch(self, *, amend: bool = False) -> None:
        """A commit of theirs on our branch, on top of ours or in its place."""
        self._checkout(BRANCH)
        if amend:
            self.commits_on_branch.clear()
        write(self.work, {f"notes-{self._next()}.md": "by hand\n"})
        self._push(BRANCH, *(["--amend", "--reset-author", "--no-edit"] if amend else ["--message=by hand"]))
        self.commits_on_branch.append(self.commits.pop())

    def merge(self, pull: Pull, *, squash: bool = False) -> None:
        self._checkout("main")
        git(self.work, "fetch", "--quiet", "origin", BRANCH)
        how = ["--squash"] if squash else ["--no-ff", "--message=merged"]
        if run("git", "merge", "--quiet", *how, "FETCH_HEAD", cwd=self.work).returncode != 0:
            # A forge refuses it; the next night brings the branch up to date.
            git(self.work, "reset", "--quiet", "--hard")
            return
        if squash:
            git(self.work, "commit", "--quiet", "--allow-empty", "--message=squashed")
            self.commits_on_branch.clear()
        git(self.work, "push", "--quiet", "origin", "HEAD:main")
        pull.state, pull.merged = "closed", git(self.work, "rev-parse", "HEAD").strip()
        pull.merged_at = str(self.calendar)
        if self.random.random() < 0.5:
            self.remove_branch()

    def close(self, pull: Pull) -> None:
        pull.state = "closed"
        mark = mark_in(pull.body or "")
        assert mark is not None
        self.refused[pull.number] = mark.version

    def reopen(self) -> None:
        if self.pulls and self.pulls[-1].number in self.refused and BRANCH in branches_of(self.bare):
            self.pulls[-1].state = "open"
            del self.refused[self.pulls[-1].number]

    def edit_text(self, pull: Pull) -> None:
        self.notes[pull.number] = f"Ask team {self.bare.stem} first, {self.random.random()}."
        pull.title, pull.body = f"[SHOP-{pull.number}] {self.bare.stem}", f"{self.notes[pull.number]}\n\n{pull.body}"

    def remove_branch(self) -> None:
        if BRANCH in branches_of(self.bare):
            git(self.work, "push", "--quiet", "origin", f":{BRANCH}")
        self.commits_on_branch.clear()

    def _next(self) -> int:
        self.changes += 1
        return self.changes

    def _checkout(self, branch: str) -> None:
        git(self.work, "fetch", "--quiet", "origin", branch)
        git(self.work, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")

    def _push(self, branch: str, *how: str) -> None:
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", *(how or ["--message=work"]))
        git(self.work, "push", "--quiet", "--force", "origin", f"HEAD:{branch}")
        self.commits.append(git(self.work, "rev-parse", "HEAD").strip())

    # ---- what must be so each morning ----------------------------------------------------------------------------

    def check(self) -> None:
        """Nothing of theirs is overwritten or asked again, and there is one open request at most."""
        assert [pull.state for pull in self.pulls].count("open") <= 1, self.name
        for pull in self.pulls:
            mark = mark_in(pull.body or "")
            assert mark is not None
            if pull.state == "open":
                assert mark.version not in self.refused.values(), f"{self.name}: #{pull.number} was refused"
            if pull.number in self.notes:
                assert pull.title.startswith("[SHOP-")
                assert (pull.body or "").startswith(self.notes[pull.number])
        self.check_commits()

    def check_commits(self) -> None:
        """Every commit of theirs is where they put it, if a branch moved since yesterday."""
        branches = branches_of(self.bare)
        if branches == self.checked:
            return
        self.checked = branches
        on_main = git(self.bare, "rev-list", "main").split()
        assert set(self.commits) <= set(on_main), f"{self.name} has lost commits on main"
        for commit in set(self.commits_on_branch).difference(on_main):
            git(self.bare, "merge-base", "--is-ancestor", commit, BRANCH)
        if self.own_line:
            assert self.line("own") == f"own: {self.own_line}"


@dataclass
class FleetLife:
    """The fleet, its forges, and who runs it every night."""

    world: World
    servers: Mapping[str, FakeForge]
    calendar: Calendar
    random: Random
    environment: Mapping[str, str]
    teams: list[Team] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    releases: list[str] = field(default_factory=list)
    requests: int = 0
    """How many requests the forges got, as far as these were checked for secrets."""

    @classmethod
    @contextmanager
    def begin(cls, world: World, teams: int, seed: int) -> Iterator[FleetLife]:
        """A campaign for so many repositories on each forge, whose addresses have credentials."""
        with ExitStack() as stack:
            # Small lists have several pages, too.
            page = 3 if teams < FEW_TEAMS else 100
            servers = {kind: stack.enter_context(hosted.server(TOKEN, page=page)) for kind, hosted in HOSTED.items()}
            environment = {"no_proxy": "*", "GIT_CONFIG_COUNT": str(len(servers))}
            for number, kind in enumerate(servers):
                environment |= {
                    f"KRM_MERGE_TOKEN_{kind.upper()}_TEST": TOKEN,
                    f"GIT_CONFIG_KEY_{number}": f"url.{world.place}/forge/.insteadOf",
                    f"GIT_CONFIG_VALUE_{number}": f"https://{kind}.test/acme/",
                }
            life = cls(world, servers, Calendar(), Random(seed), environment)
            for server in servers.values():
                server.quotas, server.clock = server.usual_quotas(), life.calendar.clock
            life._settle(teams)
            yield life

    def _settle(self, count: int) -> None:
        places = self.world.repositories(count * len(self.servers))
        addresses = []
        for number, place in enumerate(places):
            kind = list(self.servers)[number % len(self.servers)]
            server = self.servers[kind]
            server.repositories[f"acme/{place.stem}"] = GitRepository(bare=place)
            addresses.append(f"https://bot:{SECRETS[1]}@{kind}.test/acme/{place.name}")
            work = self.world.place / "teams" / place.stem
            git(self.world.place, "clone", "--quiet", str(place), str(work))
            self.teams.append(Team(kind, server, place, work, self.calendar, Random(self.random.random())))
        (self.world.place / "repositories.txt").write_text("".join(f"{address}\n" for address in addresses))
        self.plan()

    def plan(self) -> None:
        """Plans the campaign, which may have been lost."""
        shutil.rmtree(self.world.place / "campaign", ignore_errors=True)
        upstream = ("--upstream", f"{self.world.upstream}/shop", "--to", "main")
        self.fleet("init", "campaign", *upstream, "--repositories", "repositories.txt", "--on-conflict", "upstream")

    def release(self) -> None:
        """A new version of upstream."""
        upstream = self.world.place / "upstream"
        value = f"release-{len(self.releases)}"
        write(upstream, {"shop/a.yaml": config_map("a", a=value, b="one")})
        git(upstream, "commit", "--quiet", "--all", f"--message={value}")
        self.releases.append(git(upstream, "rev-parse", "HEAD").strip())

    def fleet(self, *arguments: str) -> int:
        """Runs a command of the nightly job, and keeps what it wrote."""
        done = self.world.fleet(*arguments, **self.environment)
        self.output.append(done.stdout + done.stderr)
        assert done.returncode in (0, 1), self.output[-1]
        return done.returncode

    def publish_options(self) -> list[str]:
        kinds = [word for kind in self.servers for word in ("--forge", f"{kind}.test={kind}")]
        apis = [word for kind, server in self.servers.items() for word in ("--api", f"{kind}.test={server.api}")]
        return [*kinds, *apis]

    def night(self, *, is_killed: bool = False) -> tuple[int, int]:
        """The job of every night; its exit codes."""
        merged = self.fleet("run", "campaign")
        if is_killed:
            self.killed_publish()
        for _ in range(MOST_HOURS):
            published = self.fleet("publish", "campaign", *self.publish_options())
            for server in self.servers.values():
                server.faults.clear()
            self.calendar.time += timedelta(hours=1)
            if "the rest waits" not in self.output[-1]:
                break
        return merged, published

    def day(self) -> None:
        """What people do until the next night."""
        for team in self.teams:
            team.work_a_day()
        self.calendar.time = (self.calendar.time + timedelta(days=1)).replace(hour=2, minute=0)

    # ---- what breaks ---------------------------------------------------------------------------------------------

    @contextmanager
    def lost_access(self, teams: list[Team]) -> Iterator[None]:
        """The forges hide repositories, and git does not reach them."""
        hidden = [(team, team.server.repositories.pop(team.name)) for team in teams]
        for team in teams:
            team.bare.rename(team.bare.with_suffix(".hidden"))
        yield
        for team, repository in hidden:
            team.server.repositories[team.name] = repository
            team.bare.with_suffix(".hidden").rename(team.bare)

    @contextmanager
    def expired_token(self) -> Iterator[None]:
        """No forge knows the token."""
        for server in self.servers.values():
            server.token = "another"
        yield
        for server in self.servers.values():
            server.token = TOKEN

    def fail(self) -> None:
        """Some answers are lost: what was asked for is done or not."""
        for server in self.servers.values():
            server.faults += [
                Fault(502, {"Retry-After": "0"}, "<html>Bad Gateway</html>", done=done, method="POST", path="acme")
                for done in (True, False)
            ]

    def killed_publish(self) -> None:
        """A publish that is killed while it opens a pull request, where there is one to open."""
        for server in self.servers.values():
            server.faults.append(Fault(broken="hang", done=True, method="POST", path="acme"))
        command = [installed_program(), "fleet", "publish", "campaign", *self.publish_options(), "--pace", "0"]
        environment = {**os.environ, **GIT_ENVIRONMENT, **self.environment}
        process = subprocess.Popen(
            command,
            cwd=self.world.place,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        kill(process, when=lambda: not all(server.faults for server in self.servers.values()))
        for server in self.servers.values():
            server.faults.clear()
            server.released.set()

    def limit(self) -> None:
        """The limits of this hour are reached at the next changing request."""
        for server in self.servers.values():
            answer: dict[str, Any] = {"message": "You have exceeded a secondary rate limit"}
            server.faults.append(Fault(429, {"Retry-After": "3600"}, answer, method="POST", path="acme"))

    # ---- what must be so -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """What must be so each morning."""
        for team in self.teams:
            team.check()

    def check_secrets(self) -> None:
        """No credential is in a file, in what was written, or in a request since the last time."""
        place = self.world.place / "campaign"
        files = [file.read_bytes() for file in place.rglob("*") if file.is_file()]
        with closing(sqlite3.connect(place / "ledger.db")) as rows:
            files.append("\n".join(rows.iterdump()).encode())
        sent = [str((seen.path, seen.query, seen.body)) for server in self.servers.values() for seen in server.seen]
        for secret in SECRETS:
            assert not any(secret.encode() in data for data in files)
            assert not any(secret in text for text in (*self.output, *sent))
        self.requests += len(sent)
        self.output.clear()
        for server in self.servers.values():
            server.seen.clear()


DAYS = 30
WEEK = 7
# By the day of each month.
OUTAGES: dict[int, Callable[[FleetLife], AbstractContextManager[None]]] = {
    8: lambda life: life.lost_access(life.random.sample(life.teams, max(3, len(life.teams) // 10))),
    11: FleetLife.expired_token,
}
ACCIDENTS: dict[int, Callable[[FleetLife], None]] = {14: FleetLife.fail, 21: FleetLife.limit}
KILLS = (7, 28)
LOSSES = (16, 100, 270)
"""The days of the year on which the directory of the campaign is lost: soon, in spring and in autumn."""


def live(
    world: World, teams: int, days: int, seed: int, report: Callable[[int, FleetLife], None] | None = None
) -> None:
    """So many days of as many teams on each forge, and what must be so at their end."""
    with pytest.MonkeyPatch.context() as patch, FleetLife.begin(world, teams, seed) as life:
        patch.setattr(fleet_runs, "Processes", Threads)
        # Commands in this process wait for killed ones as long as a busy machine needs.
        patch.setattr(posix, "PATIENCE", SECONDS)
        patch.setattr(ledger, "datetime", life.calendar)
        on_time = partial(transport.Connection, sleep=life.calendar.sleep, clock=life.calendar.clock)
        patch.setattr(transport, "Connection", on_time)
        for day in range(days):
            if day % WEEK == 0:
                life.release()
            if (accident := ACCIDENTS.get(day % DAYS)) is not None:
                accident(life)
            if day in LOSSES:
                life.plan()
            outage = OUTAGES.get(day % DAYS)
            with nullcontext() if outage is None else outage(life):
                life.night(is_killed=day % DAYS in KILLS)
            life.check()
            life.day()
            if day % DAYS == DAYS - 1:
                life.check_secrets()
            if report is not None:
                report(day, life)
        end(life)
        life.check_secrets()


def end(life: FleetLife) -> None:
    """People decide about what is open, and remove branches with commits of theirs that nothing asks for any more."""
    life.release()
    refusing, *_ = life.teams
    for _ in range(3):
        life.night()
        life.check()
        for team in life.teams:
            if (pull := team.open_pull) is not None:
                (team.close if team is refusing else team.merge)(pull)
            elif team.commits_on_branch:
                team.remove_branch()
    requests = [len(team.pulls) for team in life.teams]
    last = f"a: release-{len(life.releases) - 1}"
    assert [team.version == last for team in life.teams] == [team is not refusing for team in life.teams]
    assert life.night() == (0, 0)
    assert [len(team.pulls) for team in life.teams] == requests
