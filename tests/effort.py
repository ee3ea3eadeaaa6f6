"""How much random tests try, few where people wait and more in continuous integration, and how much work is."""

from __future__ import annotations

import gc
from collections.abc import Callable
from cProfile import Profile
from typing import Final

from hypothesis import settings

MANY: Final = settings.get_profile("fuzz").max_examples
LEAST: Final = 10
THOROUGH: Final = settings().max_examples >= settings.get_profile("ci").max_examples
"""Whether this run is one of continuous integration, or looks for new failures."""


def scaled(full: int) -> int:
    """How many examples of `full` this run tries: under the profile `dev` few, under `ci` more, under `fuzz` all."""
    return min(full, max(full * settings().max_examples // MANY, LEAST))


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
