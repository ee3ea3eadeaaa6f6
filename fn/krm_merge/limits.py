"""Limits of what is read and made: each has a default, and an environment variable that sets another one."""

from __future__ import annotations

import os

from krm_merge.errors import KrmMergeError
from krm_merge.startup import frozen

PREFIX = "KRM_MERGE_MAX_"


@frozen
class Limit:
    """How much of something is taken. `name` is the end of the environment variable that sets another limit."""

    name: str
    default: int

    @property
    def variable(self) -> str:
        """The environment variable that sets another limit."""
        return PREFIX + self.name

    @property
    def remedy(self) -> str:
        """What messages say of raising the limit."""
        return f"raise the limit by {self.variable}"

    def value(self) -> int:
        """The limit that holds. Raises KrmMergeError where the environment names no number."""
        given = os.environ.get(self.variable)
        if given is None:
            return self.default
        if not (given.isascii() and given.isdecimal()):
            raise KrmMergeError(f"{self.variable} is {given[:40]!r} in the environment; give a whole number")
        return int(given[:18])


ALIASED_NODES = Limit("ALIASED_NODES", 50_000)
"""Nodes that the aliases of a document stand for altogether: more are an attack, not configuration."""

DOCUMENTS = Limit("DOCUMENTS", 100_000)
"""Documents of one file or text."""

COPIED_NODES = Limit("COPIED_NODES", 50_000)
"""Nodes that the `copy` operations of a JSON patch make: what is copied into itself doubles each time."""

RULES = Limit("RULES", 1_000)
"""Rules of a MergePolicy or a functionConfig: each conflict is compared with all of them."""

COMPARISONS = Limit("COMPARISONS", 1_000_000)
"""Resources times the targets of patches that name none of them: each has to be compared with each."""
