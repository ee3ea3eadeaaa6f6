"""Which element of a keyed list is which (rules L1, P3): the one place that says it for merges, patches and plugins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping


def element_key(
    fields: Iterable[str], value_of: Callable[[str], Hashable | None], defaults: Mapping[str, Hashable]
) -> tuple[Hashable | None, ...]:
    """The identity of an element: its key fields, in the order of the schema.

    `value_of` gives a field as something hashable, None where it is absent or null; then its default counts.
    """
    return tuple(defaults.get(name) if (value := value_of(name)) is None else value for name in fields)
