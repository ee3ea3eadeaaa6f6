"""Checks the identities that patches and plugins changed (P9): each is unique, and old ones are not referenced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krm_merge.functions.renames import Renamed
from krm_merge.krm.identity import Identity
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results


def report_renames(items: Sequence[Resource], changes: Iterable[Renamed], results: Results) -> None:
    """Reports new identities that several items have, and references to old ones.

    The former are errors, the latter warnings; `items` are those after all changes.
    """
    found = list(changes)
    if not found:
        return
    _report_renames(items, found, results)
    if not results.errors:
        # Renames are rare.
        from krm_merge.functions.left_references import report_left_references

        report_left_references(items, found, results)


def _report_renames(items: Sequence[Resource], changes: Sequence[Renamed], results: Results) -> None:
    found: dict[Identity, list[Renamed]] = {}
    for change in changes:
        found.setdefault(change.new, []).append(change)
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
                f"{change.was}: {change.by} renames it to {holders[0].ref}, of which there would be {len(holders)} "
                f"(in {files}); choose another name, or remove the other one first"
            )
            results.error(message, resource=holders[0].ref, file=holders[-1].file, rule="P9")


def _identity_of(item: Resource) -> Identity | None:
    try:
        return item.identity
    except ResourceError:
        return None
