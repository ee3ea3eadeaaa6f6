"""Fuzzes the readers, the editor, the patches and the merge for some time: run_fuzzing.py SECONDS [TARGET...].

With the same seed the same texts are tried, as far as the time lets it come.

Each failure is printed with the texts that make it, as small as hypothesis finds them; then the exit code is 1. Put
such a text into testdata/fuzz/, where `make test` tries it from then on.
"""

from __future__ import annotations

import argparse
import sys
import time

from hypothesis import HealthCheck, given, seed, settings

from fuzz.mutations import texts
from fuzz.targets import TARGETS, Target

BATCH = 100
"""Examples of one target before the next one."""


def main(seconds: float, number: int, names: list[str]) -> int:
    """Runs the targets in turn until the time is over or one fails."""
    targets = [target for target in TARGETS if not names or target.name in names]
    end = time.monotonic() + seconds
    tried = dict.fromkeys((target.name for target in targets), 0)
    while time.monotonic() < end:
        for target in targets:
            number += 1
            try:
                _batch(target, number)
            except BaseException:
                print(f"{target.name} failed (seed {number})", file=sys.stderr)
                raise
            tried[target.name] += BATCH
    print(", ".join(f"{name}: {count} examples" for name, count in tried.items()))
    return 0


def _batch(target: Target, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=BATCH, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    @given(texts(target.name, target.texts))
    def run(found: list[str]) -> None:
        target.run(*found)

    run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="the clock's by default")
    options = parser.parse_args()
    sys.exit(main(options.seconds, options.seed, options.targets))
