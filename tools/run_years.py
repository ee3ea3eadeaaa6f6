"""Leads the life of a fleet on three forges, of which the fakes are on this machine, for a year of nights.

PYTHONPATH=tests python tools/run_years.py 500                    # repositories on each forge
PYTHONPATH=tests python tools/run_years.py 20 --days 60 --seed 7
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from fleet.life import DAYS, FleetLife, live
from fleet.world import World

YEAR = 365


def main() -> int:
    """Returns 0 where every repository is on the last version that nobody refused; what is not so raises."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=int, help="on each of the three forges")
    parser.add_argument("--days", type=int, default=YEAR)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()

    def report(day: int, life: FleetLife) -> None:
        if day % DAYS == DAYS - 1 or day + 1 == options.days:
            pulls = Counter("merged" if pull.merged else pull.state for team in life.teams for pull in team.pulls)
            counts = ", ".join(f"{count:,} {state}" for state, count in sorted(pulls.items()))
            print(f"day {day + 1}: {counts}; {_seconds():.0f} s of CPU, {time.monotonic() - began:.0f} s", flush=True)

    with TemporaryDirectory() as place:
        try:
            live(World.at(Path(place)), options.repositories, options.days, options.seed, report)
        except BaseException:
            more = f"COUNT={options.repositories} ARGS=--days={options.days}"
            print(f"repeat: make nightly PARTS=years SEED={options.seed} {more}", file=sys.stderr)
            raise
    print(f"every repository is on the last version that nobody refused; {_seconds():.0f} s of CPU")
    return 0


def _seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    raise SystemExit(main())
