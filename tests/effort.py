"""What random tests try: the same in every run on every machine, or what a seed says; and how much work is."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from cProfile import Profile
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

SEED: Final = int(os.environ.get("KRM_MERGE_SEED") or 0)
"""0 but for `make nightly`, which tries other examples each time."""
MANY: Final = 500
FEW: Final = 8
LEAST: Final = 3

# How fast the machine is, and what failed on it before, has no say in it.
settings.register_profile(
    "krm-merge",
    settings.get_profile("default"),
    database=None,
    deadline=None,
    derandomize=not SEED,
    max_examples=MANY if SEED else FEW,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("krm-merge")

# Hypothesis takes constants of our modules as examples, of those that were imported by then: of whatever ran before.
providers._get_local_constants = lambda: providers._local_constants


def scaled(full: int) -> int:
    """How many examples of `full` this run tries: few by day, all at night."""
    return full if SEED else min(full, max(full * FEW // MANY, LEAST))


def seeds(full: int) -> range:
    """The seeds of so many examples."""
    return range(SEED, SEED + scaled(full))


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of libraries too: the same number in every run and on every machine."""
    profile = Profile()
    # Where a collection falls depends on what ran before.
    gc.disable()
    try:
        profile.runcall(work)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


def calls_of(function: Callable[..., object], work: Callable[[], object]) -> int:
    """How often this function is called."""
    profile = Profile()
    profile.runcall(work)
    code = function.__code__
    return sum(entry.callcount for entry in profile.getstats() if entry.code is code)
