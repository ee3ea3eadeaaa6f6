"""Groups of pull requests, named by their source branches (rules R7 to R11, C2)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class BranchNames:
    """How branches name their group.

    `separators` end the name of the group. Branches that begin with one of `ignored_prefixes`, such as those of
    other programs, are a group each (I6). `dependants` are the names after `@` in the branches that we write.
    """

    separators: tuple[str, ...] = ("/",)
    ignored_prefixes: tuple[str, ...] = ("renovate", "dependabot")
    dependants: Collection[str] = ()

    def group(self, branch: str) -> str:
        """The group of a branch; without a separator it is the whole name (R8)."""
        # A fork's branch comes with its owner; git allows no colon in a name.
        owner, colon, plain = branch.partition(":")
        if colon:
            # As in Konflux, the main branches of forks are not one group.
            branch = f"{plain}-{owner}" if plain in ("main", "master") else plain
        first = branch.partition("/")[0]
        if first in self.ignored_prefixes and first != branch:
            head, _, rest = branch.replace("@", "/").rpartition("/")
            return branch[: len(head)] if rest in self.dependants else branch
        for separator in self.separators:
            head, sign, _ = branch.partition(separator)
            if sign and head:
                branch = head
        # C2: `@` may be part of a name; it is a separator only in the branches that we write.
        while (parts := branch.rpartition("@"))[0] and parts[2] in self.dependants:
            branch = parts[0]
        return branch


def branch_names(group: str, suffix: str) -> tuple[str, str]:
    """The two branch names for a group's digests to a dependant: the preferred name, and the fallback."""
    return f"{group}/{suffix}", f"{group}@{suffix}"


def branch_for(group: str, suffix: str, taken: Collection[str], separators: Collection[str] = ("/",)) -> str:
    """The branch to write, with the group as its prefix (I8): git cannot have both `x/y` and `x` (I5).

    `taken` are the branches of the repository. If `/` is not a separator, it is not written: the group could not be
    read from the branch again.
    """
    preferred, other = branch_names(group, suffix)
    return preferred if "/" in separators and is_possible(preferred, taken) else other


def is_possible(branch: str, taken: Collection[str]) -> bool:
    """Whether git can hold a branch beside others."""
    parents = branch.split("/")
    above = {"/".join(parents[:at]) for at in range(1, len(parents))}
    return above.isdisjoint(taken) and not any(one.startswith(f"{branch}/") for one in taken)


def group_label(group: str) -> str:
    """The value of the label pr-group-sha. Source: integration-service, tekton/build_pipeline.go."""
    return sha256(group.encode()).hexdigest()[:62]


def resource_name(*parts: str) -> str:
    """A unique name for a resource, made of several parts.

    Dots separate the parts, and only the last part may contain dots; a part that is not a valid name gets a hash.
    """
    filled = [part for part in parts if part]
    text = ".".join(filled)
    if _NAME.fullmatch(text) and len(text) <= _LONGEST_NAME and not any("." in part for part in filled[:-1]):
        return text
    mark = sha256("\0".join(filled).encode()).hexdigest()[:8]
    readable = _NOT_IN_NAMES.sub("-", text.lower()).strip("-")[: _LONGEST_NAME - 9].rstrip("-")
    return f"{readable}-{mark}"
