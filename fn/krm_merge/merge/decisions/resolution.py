"""Choices on single conflicts, kept in a package's MergePolicy, and how a conflict is known again (rules M2, M5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath, Step
from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.nature import Nature
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import Node
from krm_merge.text.reading.values import Value, to_value

Choice: TypeAlias = Literal[
    "upstream", "local", "original", "upstream-then-local", "local-then-upstream", "value", "recognise"
]

Content: TypeAlias = "list[Value]"
"""A side's value at a place, as a list of one; an empty list where it has none."""


_HALF = 32
_ANY_POSITION = "[]"


@frozen
class Resolution:
    """A person's choice for one conflict. `place` says where it is written, `number` is its position there.

    Without an `identity` it is for every place with this fingerprint.
    """

    nature: Nature
    path: FieldPath
    fingerprint: str
    choice: Choice
    value: Value = None
    identity: Identity | None = None
    place: str = ""
    number: int = 0

    def fit(self, kind: str, original: Content, upstream: Content, local: Content) -> Fit:
        """How far the sides are those that the choice was made for (M5)."""
        now = fingerprint(self.nature, kind, self.path, (original, upstream, local))
        if now == self.fingerprint:
            return "exact"
        return "but-local" if now[:_HALF] == self.fingerprint[:_HALF] else ""


Fit: TypeAlias = Literal["exact", "but-local", ""]
"""Whether all three sides are as recorded, or all but local's, which may be what the resolution made it."""


class Resolutions:
    """Resolutions by place."""

    def __init__(self, resolutions: Iterable[Resolution]) -> None:
        """Takes them in the order in which they are asked."""
        self.all = tuple(resolutions)
        self._by_place: dict[tuple[Identity | None, tuple[Step, ...]], list[Resolution]] = {}
        for resolution in self.all:
            key = (resolution.identity, without_positions(resolution.path))
            self._by_place.setdefault(key, []).append(resolution)

    def at(self, identities: Sequence[Identity], path: FieldPath) -> list[Resolution]:
        """The resolutions that may apply to a place of a resource that has any of these identities."""
        if not self._by_place:
            return []
        place = without_positions(path)
        keys = (*dict.fromkeys(identities), None)
        return [resolution for key in keys for resolution in self._by_place.get((key, place), ())]


NO_RESOLUTIONS = Resolutions(())


def fingerprint(nature: Nature, kind: str, path: FieldPath, sides: Sequence[Content] | None) -> str:
    """The key of a conflict, in this package and in others: 64 hexadecimal digits.

    The first half is made of all but local's value, so that a conflict is recognised when local has the chosen value.
    Names do not count, nor do positions in lists. `sides` are original, upstream and local, None where they are
    hidden: then they do not even leave as a hash (M6). Without a resource, `kind` is the file of what is hidden.
    """
    import json
    from hashlib import sha256

    about: list[object] = [
        nature,
        kind,
        [list(step) if isinstance(step, tuple) else step for step in _mask_positions(path)],
    ]
    digests = []
    for values in ((), ()) if sides is None else (sides[:2], sides):
        text = json.dumps([*about, *values], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        digests.append(sha256(text.encode()).hexdigest()[:_HALF])
    return "".join(digests)


def is_of_place(digits: str) -> bool:
    """Whether a fingerprint is for a place alone: with values, its halves differ."""
    return digits[:_HALF] == digits[_HALF:]


def file_content(data: bytes | None) -> Content:
    """The content of a file that is merged as such: its digest."""
    from hashlib import sha256

    return [] if data is None else [sha256(data).hexdigest()]


def content_of(node: Node | None) -> Content:
    """A side's value at a place, as JSON can hold it: numbers that JSON lacks become texts."""
    return [] if node is None else [_plain(to_value(node))]


def _plain(value: Value) -> Value:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def without_positions(path: FieldPath) -> tuple[Step, ...]:
    """A path in which positions in lists do not count: they differ between packages, and after a merge."""
    return tuple(_mask_positions(path))


def _mask_positions(path: FieldPath) -> list[Step]:
    return [_ANY_POSITION if isinstance(step, int) else step for step in path]
