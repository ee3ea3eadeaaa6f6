"""Fuzzes the readers, the editor, the patches and the merge for some time: run_fuzzing.py SECONDS [TARGET...].

With the same seed the same texts are tried, as far as the time lets it come. `--corpus` names a folder of other YAML
files that texts are made of. Each text has 60 seconds of the processor, and all have 4 GiB of memory.

A failure is printed with the texts that make it, as small as hypothesis finds them, and how to repeat it; then the exit
code is 1. Put such a text into testdata/fuzz/, where `make test` tries it from then on.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

import effort  # noqa: F401  examples depend on the seed alone
from fuzz.mutations import manifests, seeds
from fuzz.targets import TARGETS, Target

BATCH = 100
"""Examples of one target before the next one."""


SECONDS = 60
MEMORY = 4 << 30


def main(seconds: float, number: int, names: list[str], corpus: Path | None) -> int:
    """Runs the targets in turn until the time is over or one fails."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _stop)
    targets = [target for target in TARGETS if not names or target.name in names]
    end = time.monotonic() + seconds
    tried = dict.fromkeys((target.name for target in targets), 0)
    while time.monotonic() < end:
        for target in targets:
            try:
                _batch(target, number, seeds(target.name) if corpus is None else manifests(corpus))
            except BaseException:
                more = f"{target.name} --corpus={corpus}" if corpus else target.name
                print(f"repeat: make nightly PARTS=fuzz SEED={number} COUNT=1 ARGS='{more}'", file=sys.stderr)
                raise
            number += 1
            tried[target.name] += BATCH
    print(", ".join(f"{name}: {count} examples" for name, count in tried.items()))
    return 0


def _stop(*_: object) -> None:
    raise TimeoutError(f"not done after {SECONDS} s of the processor")


def _batch(target: Target, number: int, corpus: list[str]) -> None:
    @seed(number)
    @settings(
        max_examples=BATCH, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    @given(target.make(corpus, target.texts))
    def run(texts: list[str]) -> None:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            target.run(*texts)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="the clock's by default")
    parser.add_argument("--corpus", type=Path, help="a folder of YAML files, by default each target's own texts")
    options = parser.parse_args()
    sys.exit(main(options.seconds, options.seed, options.targets, options.corpus))
