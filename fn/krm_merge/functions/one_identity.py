"""No two resources of one identity come out of patches and plugins (P9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results
from krm_merge.krm.selector import Identity
from krm_merge.text.reading.values import Value

Names: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A resource that got another identity: what it was, as results name it, what it is now, and who did it."""

    was: str
    names: Names
    by: str


def renamed(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """What `by` made of the identity of an object; None where it is the same, or has no name."""
    names = _names(Identity.of(after))
    return Renamed(was, names, by) if names[3] and names != _names(Identity.of(before)) else None


def report_doubles(items: Sequence[Resource], changes: Iterable[Renamed], results: Results) -> None:
    """Reports an error for each renamed resource whose new identity another one of the items has, too."""
    found: dict[Names, list[Renamed]] = {}
    for change in changes:
        found.setdefault(change.names, []).append(change)
    if not found:
        return
    held: dict[Names, list[Resource]] = {}
    for item in items:
        names = _names_of(item)
        if names in found:
            held.setdefault(names, []).append(item)
    for names, holders in held.items():
        if len(holders) < 2:
            continue
        files = " and ".join(dict.fromkeys(holder.file or "an item without a file" for holder in holders))
        for change in found[names]:
            message = (
                f"{change.was}: {change.by} makes it {holders[0].ref}, which would be there {len(holders)} times "
                f"(in {files}); give it another name, or remove the other one first"
            )
            results.error(message, resource=holders[0].ref, file=holders[-1].file, tags={"rule": "P9"})


def _names(identity: Identity) -> Names:
    return identity.group, identity.kind, identity.namespace, identity.name


def _names_of(item: Resource) -> Names | None:
    try:
        return item.api_version.rpartition("/")[0], item.kind, item.namespace, item.name
    except ResourceError:
        return None
