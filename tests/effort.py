"""How much random tests try: all in continuous integration, a twentieth where people wait for them."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

MANY: Final = settings.get_profile("fuzz").max_examples
LEAST: Final = 10
THOROUGH: Final = settings().max_examples >= MANY
"""Whether this run is one of continuous integration, or looks for new failures."""


def scaled(full: int) -> int:
    """How many examples of `full` this run tries: under the profile `dev` few, under `ci` and `fuzz` all."""
    return min(full, max(full * settings().max_examples // MANY, LEAST))
