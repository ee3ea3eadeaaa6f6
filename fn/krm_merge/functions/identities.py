"""Checks the identities that patches and plugins changed (P9): unique, and old ones not referenced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.identity import Identity
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import ResourceRef, Results
from krm_merge.krm.selector import TargetNames
from krm_merge.schema.references import Reference, references_in
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Renamed:
    """A renamed resource. `was` is its old name in results, `by` the patch or plugin that renamed it."""

    was: str
    old: Identity
    new: Identity
    by: str


def rename_of(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """The change of an object's identity, None if it is the same or has no name."""
    old, new = TargetNames.of(before).identity, TargetNames.of(after).identity
    return Renamed(was, old, new, by) if new.name and new != old else None


_SHOWN = 5

_Key: TypeAlias = "tuple[str | None, str, str, str | None]"
"""Group, kind, name and namespace; None is any."""


def report_left_references(items: Sequence[Resource], changes: Sequence[Renamed], results: Results) -> None:
    """Warns of references to the old names of renamed resources, if no resource has such a name any more."""
    change_by_key = {key: change for change in reversed(changes) for key in _keys_of(change.old)}
    there: set[_Key] = set()
    references: list[tuple[Resource, Reference]] = []
    now: dict[Identity, tuple[ResourceRef, str | None]] = {}
    renamed = {change.new for change in changes}
    for item in items:
        try:
            identity, value = item.identity, item.value
        except ResourceError:
            continue
        there.update(_keys_of(identity))
        if identity in renamed:
            now[identity] = item.ref, item.file
        if isinstance(value, dict):
            references += (
                (item, reference)
                for reference in references_in(value)
                if any(key in change_by_key for key in _keys_for(reference))
            )
    left: dict[Renamed, list[str]] = {}
    for item, reference in references:
        if any(key in there for key in _keys_for(reference)):
            continue
        change = next(change_by_key[key] for key in _keys_for(reference) if key in change_by_key)
        left.setdefault(change, []).append(f"{item.ref} in {format_path(reference.path)}")
    for change, places in left.items():
        more = f", and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        message = (
            f"{change.was}: {change.by} renames it to {_name_of(change.new)}, but the package still refers to "
            f"{_name_of(change.old)}: {', '.join(places[:_SHOWN])}{more}; change these fields, too"
        )
        # A later patch may have renamed or removed it.
        ref, file = now.get(change.new, (None, None))
        results.warning(message, resource=ref, file=file, rule="P9")


def _keys_of(identity: Identity) -> Iterator[_Key]:
    for group in (identity.group, None):
        for namespace in (identity.namespace, None):
            yield group, identity.kind, identity.name, namespace


def _keys_for(reference: Reference) -> Iterator[_Key]:
    """The keys of resources that a reference may mean; without a namespace it may mean any."""
    for namespace in (reference.namespace, "") if reference.namespace else (None,):
        yield reference.group, reference.kind, reference.name, namespace


def _name_of(identity: Identity) -> str:
    return str(ResourceRef(identity.group, identity.kind, identity.name, identity.namespace))


def report_renames(items: Sequence[Resource], changes: Iterable[Renamed], results: Results) -> None:
    """Reports new identities that several items have, and references to old ones.

    The former are errors, the latter warnings; `items` are those after all changes.
    """
    all_changes = list(changes)
    if not all_changes:
        return
    _report_renames(items, all_changes, results)
    if not results.errors:
        # Renames are rare.

        report_left_references(items, all_changes, results)


def _report_renames(items: Sequence[Resource], changes: Sequence[Renamed], results: Results) -> None:
    changes_by_identity: dict[Identity, list[Renamed]] = {}
    for change in changes:
        changes_by_identity.setdefault(change.new, []).append(change)
    items_by_identity: dict[Identity, list[Resource]] = {}
    for item in items:
        identity = _identity_of(item)
        if identity in changes_by_identity:
            items_by_identity.setdefault(identity, []).append(item)
    for identity, holders in items_by_identity.items():
        if len(holders) < 2:
            continue
        files = " and ".join(dict.fromkeys(holder.file or "an item without a file" for holder in holders))
        for change in changes_by_identity[identity]:
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
