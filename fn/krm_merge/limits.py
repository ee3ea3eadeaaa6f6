"""Limits of what is read and generated: each has a default, and an environment variable that overrides it."""

from __future__ import annotations

import os

from krm_merge.errors import KrmMergeError
from krm_merge.startup import frozen

PREFIX = "KRM_MERGE_MAX_"


@frozen
class Limit:
    """A limit. `name` is the end of the environment variable that overrides the default."""

    name: str
    default: int

    @property
    def variable(self) -> str:
        """The environment variable that overrides the default."""
        return PREFIX + self.name

    @property
    def remedy(self) -> str:
        """How to raise the limit, for messages."""
        return f"raise the limit with {self.variable}"

    def value(self) -> int:
        """The limit in force. Raises KrmMergeError if the environment variable is not a whole number."""
        given = os.environ.get(self.variable)
        if given is None:
            return self.default
        if not (given.isascii() and given.isdecimal()):
            raise KrmMergeError(f"{self.variable} is {given[:40]!r} in the environment; give a whole number")
        return int(given[:18])


ALIASED_NODES = Limit("ALIASED_NODES", 50_000)
"""Nodes to which all aliases of a document expand: more are an attack, not configuration."""

DOCUMENTS = Limit("DOCUMENTS", 100_000)
"""Documents of one file or text."""

COPIED_NODES = Limit("COPIED_NODES", 50_000)
"""Nodes that the `copy` operations of a JSON patch create: a value copied into itself doubles each time."""

RULES = Limit("RULES", 1_000)
"""Rules of a MergePolicy or a functionConfig: each conflict is compared with all of them."""

COMPARISONS = Limit("COMPARISONS", 1_000_000)
"""Comparisons of resources with targets of patches that name no resource: each resource with each target."""
