"""Equal conflicts of many packages as one group. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from posixpath import join

from krm_merge.fleet.merging.job import TargetConflict
from krm_merge.krm.result import ResourceRef
from krm_merge.report.record import SIDES, DecisionRecord, MergeReport
from krm_merge.text.reading.values import Value

_EXAMPLES = 3
_LENGTH_OF_ID = 12


@dataclass(frozen=True, slots=True)
class Group:
    """Conflicts that are one: one of them, and the packages that have it.

    They have the same API group, kind and path, and equal values. `resources` has the packages by resource. A group
    `is_alone` if no other has its fingerprint; `name` is that of the resource if the packages have several.
    """

    conflict: TargetConflict
    packages: tuple[str, ...]
    resources: Mapping[ResourceRef, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    is_alone: bool = True

    @property
    def key(self) -> str:
        """What distinguishes it from other groups."""
        return f"{self.conflict.fingerprint} {self.api_group} {self.name}".rstrip()

    @property
    def id(self) -> str:
        """The id of its record."""
        return sha256(self.key.encode()).hexdigest()[:_LENGTH_OF_ID]

    @property
    def api_group(self) -> str:
        """The API group of its kind, '' for the core."""
        return self.conflict.api_version.rpartition("/")[0]

    @property
    def is_by_place(self) -> bool:
        """Whether a choice has to name the resources: hidden values have no fingerprint of their own (M6)."""
        return bool(self.resources) and (self.conflict.alike is not None or not self.is_alone)

    @property
    def place(self) -> str:
        """Where the conflict is, as people name it."""
        one = self.conflict
        kind = f"{one.kind}.{self.api_group}" if self.api_group and not self.is_alone else one.kind
        return " ".join(part for part in (kind, self.name, one.path or one.file) if part)

    @property
    def examples(self) -> str:
        """How many packages there are, and some of them."""
        shown = ", ".join(self.packages[:_EXAMPLES])
        more = f" and {len(self.packages) - _EXAMPLES:,} more" if len(self.packages) > _EXAMPLES else ""
        count = "1 package" if len(self.packages) == 1 else f"{len(self.packages):,} packages"
        return f"{count}: {shown}{more}"

    def record(self) -> DecisionRecord:
        """The group as a record, for reports."""
        return self.conflict.record_for(self.id, self.examples)


def groups_of(conflicts: Iterable[tuple[str, TargetConflict]], *, decided: bool = False) -> list[Group]:
    """The groups, the largest first: of conflicts that nothing but the policy settles, or of the others."""
    held: dict[tuple[str, str], dict[str, list[tuple[str, TargetConflict]]]] = {}
    for target, conflict in conflicts:
        package = join(target, conflict.package).rstrip("/")
        group = conflict.fingerprint, conflict.api_version.rpartition("/")[0]
        held.setdefault(group, {}).setdefault(conflict.name, []).append((package, conflict))
    several = Counter(fingerprint for fingerprint, _ in held)
    groups: list[Group] = []
    for (fingerprint, _), by_name in held.items():
        is_split = _is_split(by_name)
        parts = by_name if is_split else {"": [one for members in by_name.values() for one in members]}
        is_alone = several[fingerprint] == 1 and not is_split
        for name, members in parts.items():
            wanted = [(package, one) for package, one in members if one.is_undecided != decided]
            if wanted:
                groups.append(_group(wanted, name, is_alone=is_alone))
    return sorted(groups, key=lambda group: (-len(group.packages), group.place, group.conflict.fingerprint))


def _is_split(by_name: Mapping[str, Sequence[tuple[str, TargetConflict]]]) -> bool:
    """Whether each name is a group: a package has several of the resources, and packages call them the same."""
    packages = Counter(package for members in by_name.values() for package in {package for package, _ in members})
    return len(by_name) > 1 and max(packages.values()) > 1 and len(by_name) <= max(packages.values())


def _group(members: Sequence[tuple[str, TargetConflict]], name: str, *, is_alone: bool) -> Group:
    resources: dict[ResourceRef, dict[str, None]] = {}
    for package, one in members:
        if one.kind:
            resource = ResourceRef(one.api_version, one.kind, one.name, one.namespace)
            resources.setdefault(resource, {})[package] = None
    packages = tuple(dict.fromkeys(package for package, _ in members))
    named = {resource: tuple(its_packages) for resource, its_packages in resources.items()}
    return Group(members[0][1], packages, named, name, is_alone)


def report_of(name: str, groups: Sequence[Group]) -> MergeReport:
    """The groups as a report, in the same forms as that of a merge."""
    return MergeReport(name, records=[group.record() for group in groups])


def values_of(group: Group) -> list[tuple[str, Value]]:
    """The values of a group, side by side; an open conflict has no result."""
    values, is_open = group.conflict.values, group.conflict.status == "open"
    return [(side, values[side]) for side in SIDES if side in values and not (is_open and side == "result")]
