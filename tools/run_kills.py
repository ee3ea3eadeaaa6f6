"""Strikes commands at random moments, and says what is left of packages: run_kills.py COUNT [SCENE...].

Of ten trials of a command, eight are with SIGKILL while a second process edits the package, one with SIGINT and one
with SIGTERM. Each failure is printed with what repeats it, as far as the machine's scheduling repeats; then the exit
code is 1.
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

SIGNALS = [*["SIGKILL"] * 8, "SIGINT", "SIGTERM"]


def main(count: int, number: int, names: list[str], signals: list[str]) -> int:
    """Runs the trials, in turn for all commands."""
    broken = 0
    with tempfile.TemporaryDirectory() as directory:
        stages = [*_stages(Path(directory), names)]
        for at in range(count):
            scene, stage = stages[at % len(stages)]
            turn = at // len(stages)
            name = signals[turn % len(signals)]
            if problem := _try(stage, number + turn, signal.Signals[name]):
                broken += 1
                print(f"{stage.scene.name}, {name}: {problem}")
                more = f"ARGS='{scene} --signal={name}'"
                print(f"repeat: make nightly PARTS=kills SEED={number + turn} COUNT=1 {more}", flush=True)
    print(f"{count} kills and interrupts: {broken} failures")
    return 1 if broken else 0


def _stages(directory: Path, names: list[str]) -> Iterator[tuple[str, Stage | CampaignStage]]:
    for make in SCENES:
        if not names or make.__name__ in names:
            yield make.__name__, Stage.build(make, directory / make.__name__)
    for campaign in CAMPAIGNS:
        if not names or campaign.__name__ in names:
            yield campaign.__name__, CampaignStage.build(campaign, directory / campaign.__name__)


def _try(stage: Stage | CampaignStage, seed: int, number: signal.Signals) -> str:
    if isinstance(stage, CampaignStage):
        return CampaignTrial(seed, number).run(stage)
    return Trial(seed, number).run(stage)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("scenes", nargs="*", metavar="SCENE")
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000, help="the clock's by default")
    parser.add_argument("--signal", choices=sorted({*SIGNALS}), action="append", help="by default all, in turn")
    options = parser.parse_args()
    sys.exit(main(options.count, options.seed, options.scenes, options.signal or SIGNALS))
