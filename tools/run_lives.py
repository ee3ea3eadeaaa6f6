"""Runs random lives of Components, and prints the seeds of those that do not come to rest or break a law.

PYTHONPATH=tests python tools/run_lives.py 10000       # all seeds from 0
PYTHONPATH=tests python tools/run_lives.py 1 --seed 7  # one life, with its events
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from components.plan.planner.life import Life, is_planned, live


def main() -> int:
    """Returns 1 if a life broke a law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lives", type=int, help="how many lives")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--length", type=int, default=40, help="how many events a life has before its last rounds")
    options = parser.parse_args()
    figures = Counter[str]()
    for seed in range(options.seed, options.seed + options.lives):
        life, problems = live(seed, options.length)
        figures.update(_figures(life))
        figures["broken"] += bool(problems)
        if problems:
            print(f"seed {seed}: {'; '.join(problems)}")
            more = f"ARGS=--length={options.length}"
            print(f"repeat: make nightly PARTS=lives SEED={seed} COUNT=1 {more}", flush=True)
        if options.lives == 1:
            print("\n".join(life.events))
    print(f"{options.lives} lives: " + ", ".join(f"{name} {number}" for name, number in sorted(figures.items())))
    return 1 if figures["broken"] else 0


def _figures(life: Life) -> Counter[str]:
    figures = Counter(
        {"builds": len(life.builds), "distinct updates": len(life.opened_for), "last rounds": life.rounds}
    )
    for hosted in life.forge.hosted.values():
        for pull in hosted.pulls.values():
            figures[f"pull requests of {'plans' if is_planned(pull) else 'people'}"] += 1
    return figures


if __name__ == "__main__":
    sys.exit(main())
