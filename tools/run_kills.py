"""Strikes commands at random moments, and says what is left of packages: run_kills.py KILLS INTERRUPTS [SCENE...].

KILLS trials with SIGKILL while a second process edits the package, and INTERRUPTS with SIGINT or SIGTERM, spread over
the commands. Each failure is printed with the number that `--seed NUMBER 1 0 SCENE` repeats, as far as the machine's
scheduling repeats; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kills.campaigns import CAMPAIGNS, CampaignStage, CampaignTrial
from kills.scenes import SCENES
from kills.trials import Stage, Trial


def main(kills: int, interrupts: int, number: int, names: list[str]) -> int:
    """Runs the trials, in turn for all commands."""
    broken = 0
    numbers = {"SIGKILL": range(kills), "SIGINT": range(0, interrupts, 2), "SIGTERM": range(1, interrupts, 2)}
    with tempfile.TemporaryDirectory() as directory:
        stages = [*_stages(Path(directory), names)]
        for name, trials in numbers.items():
            for at, _ in enumerate(trials):
                stage = stages[at % len(stages)]
                seed = number + at // len(stages)
                if problem := _try(stage, seed, signal.Signals[name]):
                    broken += 1
                    print(f"{stage.scene.name}, {name}, seed {seed}: {problem}", flush=True)
    print(f"{kills} kills, {interrupts} interrupts: {broken} failures")
    return 1 if broken else 0


def _stages(directory: Path, names: list[str]) -> Iterator[Stage | CampaignStage]:
    for make in SCENES:
        if not names or make.__name__ in names:
            yield Stage.build(make, directory / make.__name__)
    for campaign in CAMPAIGNS:
        if not names or campaign.__name__ in names:
            yield CampaignStage.build(campaign, directory / campaign.__name__)


def _try(stage: Stage | CampaignStage, seed: int, number: signal.Signals) -> str:
    if isinstance(stage, CampaignStage):
        return CampaignTrial(seed, number).run(stage)
    return Trial(seed, number).run(stage)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("interrupts", type=int)
    parser.add_argument("scenes", nargs="*", metavar="SCENE")
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000, help="the clock's by default")
    options = parser.parse_args()
    sys.exit(main(options.kills, options.interrupts, options.seed, options.scenes))
