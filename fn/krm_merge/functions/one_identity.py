"""Refuses patches and plugins that give two resources the same identity (P9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krm_merge.krm.identity import Identity
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results
from krm_merge.krm.selector import TargetNames
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Renamed:
    """A resource with a changed identity: its old name in results, its new identity, and the cause."""

    was: str
    identity: Identity
    by: str


def renamed(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """The change that `by` made to the identity of an object; None if it is unchanged, or has no name."""
    now = TargetNames.of(after).identity
    return Renamed(was, now, by) if now.name and now != TargetNames.of(before).identity else None


def report_doubles(items: Sequence[Resource], changes: Iterable[Renamed], results: Results) -> None:
    """Reports an error for each renamed resource whose new identity another one of the items has, too."""
    found: dict[Identity, list[Renamed]] = {}
    for change in changes:
        found.setdefault(change.identity, []).append(change)
    if not found:
        return
    held: dict[Identity, list[Resource]] = {}
    for item in items:
        identity = _identity_of(item)
        if identity in found:
            held.setdefault(identity, []).append(item)
    for identity, holders in held.items():
        if len(holders) < 2:
            continue
        files = " and ".join(dict.fromkeys(holder.file or "an item without a file" for holder in holders))
        for change in found[identity]:
            message = (
                f"{change.was}: {change.by} makes it {holders[0].ref}, which would be there {len(holders)} times "
                f"(in {files}); give it another name, or remove the other one first"
            )
            results.error(message, resource=holders[0].ref, file=holders[-1].file, tags={"rule": "P9"})


def _identity_of(item: Resource) -> Identity | None:
    try:
        return item.identity
    except ResourceError:
        return None
