"""Limits of what is read and generated: each has a default, and an environment variable that overrides it."""

from __future__ import annotations

import os
from collections.abc import Iterable

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
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if not (text.isascii() and text.isdecimal()):
            raise KrmMergeError(f"{self.variable} is {text[:40]!r} in the environment; give a whole number")
        return int(text[:18])


ALIASED_NODES = Limit("ALIASED_NODES", 50_000)
"""Nodes to which all aliases of a document expand: more are an attack, not configuration."""

DOCUMENTS = Limit("DOCUMENTS", 100_000)
"""Documents of one file or text."""

COPIED_NODES = Limit("COPIED_NODES", 50_000)
"""Nodes that `copy` operations of JSON patches create in a resource: a value copied into itself doubles each time."""

COPIED_NODES_IN_ALL = Limit("COPIED_NODES_IN_ALL", 1_000_000)
"""Nodes that they create in all resources of a run."""

RULES = Limit("RULES", 1_000)
"""Rules of a MergePolicy or a functionConfig: each conflict is compared with all of them."""

RESOLUTIONS = Limit("RESOLUTIONS", 10_000)
"""Resolutions of a MergePolicy: `krm-merge resolve` writes one for each conflict that a person settles."""

COMPARISONS = Limit("COMPARISONS", 1_000_000)
"""Comparisons of resources with targets of patches that name no resource: each resource with each target."""

PATHS = Limit("PATHS", 200_000)
"""Files and folders in a commit: trees that hold each other make many from few bytes."""

PACKAGE_MB = Limit("PACKAGE_MB", 100)
"""Megabytes of files in a package from git: compressed, they may come as a few bytes."""

SUBPACKAGES = Limit("SUBPACKAGES", 1_000)
"""Packages with an upstream of their own that an update follows: they can hold each other, too."""


class CopiedInAll:
    """The nodes that JSON patches copied in a run, or in the part of it that one process does."""

    def __init__(self, nodes: int = 0) -> None:
        """`nodes` are those of other parts. Raises KrmMergeError as `add` does."""
        self.nodes = 0
        self.add(nodes)

    def add(self, nodes: int) -> None:
        """Counts nodes before they are copied. Raises KrmMergeError if the run copies too many."""
        self.nodes += nodes
        if self.nodes > (most := COPIED_NODES_IN_ALL.value()):
            remedy = f"write the values out, or {COPIED_NODES_IN_ALL.remedy}"
            raise KrmMergeError(f"copies in JSON patches make more than {most} nodes in all resources; {remedy}")


class Copies:
    """Counts what JSON patches copy in one resource."""

    def __init__(self, in_all: CopiedInAll | None = None) -> None:
        """`in_all` counts for all resources; without it, this is the only one."""
        self._in_all = in_all or CopiedInAll()
        self._left = COPIED_NODES.value()

    def afresh(self) -> Copies:
        """Counts the same operations when they are carried out once more."""
        return Copies(self._in_all)

    def flaw_of(self, value: object, levels: int) -> str:
        """Why a plain value must not be copied, or ''; then its nodes are counted.

        `levels` is how deep it may be nested. Raises KrmMergeError if the run copies too many nodes.
        """
        nodes = depth = 0
        level = [value]
        while level and nodes <= self._left:
            if depth > levels:
                return f"the value that it copies is nested deeper than {levels} levels"
            depth += 1
            nodes += len(level)
            level = [inner for outer in level for inner in _inside(outer)]
        self._left -= nodes
        if self._left < 0:
            remedy = f"write the values out, or {COPIED_NODES.remedy}"
            return f"copies make more than {COPIED_NODES.value()} nodes; {remedy}"
        self._in_all.add(nodes)
        return ""


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
