"""A month of a fleet on three forges: every repository ends on the last version that nobody refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest

from fleet.month import Month, Threads
from fleet.world import World
from krm_merge.cli.commands import fleet_runs
from krm_merge.fleet import ledger

DAYS = 30
WEEK = 7
OUTAGES: dict[int, Callable[[Month], AbstractContextManager[None]]] = {
    8: lambda month: month.lost_access(month.random.sample(month.teams, 3)),
    11: Month.expired_token,
}
ACCIDENTS: dict[int, Callable[[Month], None]] = {14: Month.fail, 16: Month.plan, 21: Month.limit}
KILLS = (7, 28)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.usefixtures("patient")
def test_a_month(world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_runs, "Processes", Threads)
    with Month.begin(world, 3, seed) as month:
        monkeypatch.setattr(ledger, "datetime", month.calendar)
        for day in range(DAYS):
            if day % WEEK == 0:
                month.release()
            if day in ACCIDENTS:
                ACCIDENTS[day](month)
            with OUTAGES[day](month) if day in OUTAGES else nullcontext():
                month.night(is_killed=day in KILLS)
            month.check()
            month.day()
        month.check_secrets()
        end(month)


def end(month: Month) -> None:
    """People decide about what is open, and remove branches with commits of theirs that nothing asks for any more."""
    month.release()
    refusing, *_ = month.teams
    for _ in range(3):
        month.night()
        month.check()
        for team in month.teams:
            if (pull := team.open_pull) is not None:
                (team.close if team is refusing else team.merge)(pull)
            elif team.commits_on_branch:
                team.remove_branch()
    requests = [len(team.pulls) for team in month.teams]
    last = f"a: release-{len(month.releases) - 1}"
    assert [team.version == last for team in month.teams] == [team is not refusing for team in month.teams]
    assert month.night() == (0, 0)
    assert [len(team.pulls) for team in month.teams] == requests
