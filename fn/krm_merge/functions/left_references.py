"""References that a rename leaves behind (P9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from krm_merge.functions.renames import Renamed
from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.identity import Identity
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import ResourceRef, Results
from krm_merge.schema.references import Reference, references_in

_SHOWN = 5

_Key: TypeAlias = "tuple[str | None, str, str, str | None]"
"""Group, kind, name and namespace; None is any."""


def report_left_references(items: Sequence[Resource], changes: Sequence[Renamed], results: Results) -> None:
    """Warns of references to the old names of renamed resources, if no resource has such a name any more."""
    wanted = {key: change for change in reversed(changes) for key in _keys_of(change.old)}
    there: set[_Key] = set()
    found: list[tuple[Resource, Reference]] = []
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
            found += ((item, one) for one in references_in(value) if any(key in wanted for key in _keys_for(one)))
    left: dict[Renamed, list[str]] = {}
    for item, reference in found:
        if any(key in there for key in _keys_for(reference)):
            continue
        change = next(wanted[key] for key in _keys_for(reference) if key in wanted)
        left.setdefault(change, []).append(f"{item.ref} in {format_path(reference.path)}")
    for change, places in left.items():
        more = f", and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        message = (
            f"{change.was}: {change.by} renames it to {_named(change.new)}, but the package still refers to "
            f"{_named(change.old)}: {', '.join(places[:_SHOWN])}{more}; change these fields, too"
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


def _named(identity: Identity) -> str:
    return str(ResourceRef(identity.group, identity.kind, identity.name, identity.namespace))
