"""A month of a fleet on three forges: every repository ends on the last version that nobody refused.

For longer, with as many repositories on each forge:
    python tests/fleet/test_month.py REPOSITORIES DAYS [SEED]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.hosts import SECONDS
from fleet.month import Month, Threads
from fleet.world import World
from krm_merge import posix
from krm_merge.cli.commands import fleet_runs
from krm_merge.fleet import ledger

DAYS = 30
WEEK = 7
# By the day of each month.
OUTAGES: dict[int, Callable[[Month], AbstractContextManager[None]]] = {
    8: lambda month: month.lost_access(month.random.sample(month.teams, 3)),
    11: Month.expired_token,
}
ACCIDENTS: dict[int, Callable[[Month], None]] = {14: Month.fail, 16: Month.plan, 21: Month.limit}
KILLS = (7, 28)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_month(world: World, seed: int) -> None:
    live(world, 3, DAYS, seed)


def live(world: World, teams: int, days: int, seed: int, report: Callable[[int, Month], None] | None = None) -> None:
    """So many days of as many teams on each forge, and what must be so at their end."""
    with pytest.MonkeyPatch.context() as patch, Month.begin(world, teams, seed) as month:
        patch.setattr(fleet_runs, "Processes", Threads)
        # Commands in this process wait for killed ones as long as a busy machine needs.
        patch.setattr(posix, "PATIENCE", SECONDS)
        patch.setattr(ledger, "datetime", month.calendar)
        for day in range(days):
            if day % WEEK == 0:
                month.release()
            if (accident := ACCIDENTS.get(day % DAYS)) is not None:
                accident(month)
            outage = OUTAGES.get(day % DAYS)
            with nullcontext() if outage is None else outage(month):
                month.night(is_killed=day % DAYS in KILLS)
            month.check()
            month.day()
            if report is not None:
                report(day, month)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=int, help="on each of the three forges")
    parser.add_argument("days", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    options = parser.parse_args()
    began = time.monotonic()

    def report(day: int, month: Month) -> None:
        if day % WEEK == WEEK - 1:
            states = Counter(pull.state for team in month.teams for pull in team.pulls)
            print(f"day {day + 1}: {dict(states)} after {time.monotonic() - began:.0f} s", flush=True)

    with TemporaryDirectory() as place:
        live(World.at(Path(place)), options.repositories, options.days, options.seed, report)
    print("every repository is on the last version that nobody refused")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
