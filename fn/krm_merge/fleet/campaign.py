"""A campaign: what was asked for, as values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Literal, TypeAlias

from krm_merge.forges.interface import Attention, host_of
from krm_merge.merge import ListKeys, OnConflict, Resolution
from krm_merge.policy import NO_POLICY, PackagePolicy

Split: TypeAlias = Literal["none", "package", "directory"]

CAMPAIGN_FILE = "campaign.yaml"
TARGETS_FILE = "targets.yaml"
POLICY_FILE = "policy.yaml"


@dataclass(frozen=True, slots=True)
class CampaignTarget:
    """A directory of the working tree, or a repository.

    `name` is the directory or the address. `packages` are directories in it, '' for its root; of a repository none
    means all that follow the upstream.
    """

    name: str
    is_repository: bool
    packages: tuple[str, ...] = ()
    branch: str = ""

    @property
    def id(self) -> str:
        """A name for files about it."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]

    @property
    def host(self) -> str:
        """The host that its repository is on, '' for this machine."""
        return host_of(self.name) if self.is_repository else ""


@dataclass(frozen=True, slots=True)
class CampaignUpstream:
    """The version that all targets are updated to."""

    repository: str
    directory: str
    ref: str

    @property
    def folder(self) -> str:
        """The directory as git names it, '' for the root: every package in it."""
        return folder_of(self.directory)


def folder_of(directory: str) -> str:
    """A directory of a repository as git names it, however a Kptfile spells it."""
    return normpath(f"/{directory}").lstrip("/")


@dataclass(frozen=True, slots=True)
class Gate:
    """What has to be so of a wave before the next one is published.

    `merged` is a share like 100%, `closed` how many requests may be closed without being merged.
    """

    merged: str = "100%"
    closed: int = 0
    checks: bool = False


@dataclass(frozen=True, slots=True)
class Wave:
    """A part of the targets that is published together: a count, a share of all like 10%, or the rest."""

    name: str
    targets: int | str = "rest"
    gate: Gate = Gate()

    def size(self, targets: int, left: int) -> int:
        """How many targets it has, of `targets` altogether of which so many are left."""
        if isinstance(self.targets, int):
            return min(self.targets, left)
        return left if self.targets == "rest" else min(-(-targets * int(self.targets.rstrip("%")) // 100), left)


@dataclass(frozen=True, slots=True)
class Publishing:
    """How results are published; `waves` are in their order, none where all targets are published at once.

    `max_open` is for open requests, `per_hour` for changing calls to one host.
    """

    branch: str
    author: str
    title: str
    waves: tuple[Wave, ...]
    split: Split | None
    is_draft: bool
    attention: Attention
    max_open: int | None
    per_hour: int


@dataclass(frozen=True, slots=True)
class PackageChoice:
    """A choice on a conflict for some packages, by name or pattern."""

    names: frozenset[str]
    patterns: tuple[str, ...]
    resolution: Resolution

    @classmethod
    def of(cls, packages: Iterable[str], resolution: Resolution) -> PackageChoice:
        """Takes names and patterns as they are written."""
        names = frozenset(packages)
        return cls(names, tuple(name for name in sorted(names) if any(sign in name for sign in "*?[")), resolution)

    def is_for(self, package: str) -> bool:
        """Whether it is for a package of this name."""
        return package in self.names or any(fnmatchcase(package, pattern) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was asked for. `working_tree` is an absolute path, '' for repositories.

    `policy` has the choices for all packages, `exceptions` those for some; they come first.
    """

    name: str
    upstream: CampaignUpstream
    working_tree: str
    on_conflict: OnConflict | None
    smart: bool
    list_keys: tuple[ListKeys, ...]
    message: str
    publishing: Publishing
    targets: Mapping[str, CampaignTarget] = field(default_factory=dict)
    policy: PackagePolicy = NO_POLICY
    exceptions: tuple[PackageChoice, ...] = ()
    policy_text: bytes = b""

    @property
    def settings_digest(self) -> str:
        """What every merge and its report depend on, but for choices on conflicts."""
        # Of a working tree the commits are made when it is published.
        commits = () if self.working_tree else (self.message, self.publishing.author)
        parts = (self.upstream, self.smart, self.list_keys, *commits)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
