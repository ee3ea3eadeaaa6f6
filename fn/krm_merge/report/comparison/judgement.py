"""Judges one place: what kpt does there, by what the sides of the merge have."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from krm_merge.report.comparison.difference import VERSIONS, FindingName, VersionName


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """What each version has at one place, as values that can be compared; None where it has nothing.

    `kpt_has_nothing_in_it` says that kpt leaves an empty mapping or list.
    """

    original: Hashable | None
    upstream: Hashable | None
    local: Hashable | None
    kpt: Hashable | None
    merged: Hashable | None
    kpt_has_nothing_in_it: bool = False

    @classmethod
    def of(cls, versions: Mapping[VersionName, Hashable | None], *, kpt_has_nothing_in_it: bool = False) -> JudgedPlace:
        """The place as the versions have it."""
        original, upstream, local, kpt, merged = (versions.get(name) for name in VERSIONS)
        return cls(original, upstream, local, kpt, merged, kpt_has_nothing_in_it)

    @property
    def changed_locally(self) -> bool:
        """Whether local differs from the original."""
        return self.local != self.original

    @property
    def changed_upstream(self) -> bool:
        """Whether upstream differs from the original."""
        return self.upstream != self.original


class Judgement(NamedTuple):
    """What kpt does, and a sentence on how it comes about."""

    finding: FindingName
    message: str


def judged(place: JudgedPlace) -> Judgement:
    """The judgement on a place where kpt has something else than the merge."""
    if place.merged is None:
        return _kept_by_kpt(place)
    if place.kpt is None:
        return _removed_by_kpt(place)
    if place.changed_locally and place.changed_upstream:
        return _changed_by_both(place)
    if place.changed_locally:
        back = "puts the original's value back" if place.kpt == place.original else "has another value"
        return Judgement("local-change-lost", f"{_by('local', place)}; kpt {back}")
    if place.changed_upstream:
        old = "keeps the old value" if place.kpt == place.original else "has another value"
        return Judgement("upstream-change-missed", f"{_by('upstream', place)}; kpt {old}")
    return Judgement("changed-alone", "neither side changed it; kpt does")


def _kept_by_kpt(place: JudgedPlace) -> Judgement:
    """The merge has nothing here."""
    original, upstream, local = place.original, place.upstream, place.local
    part = "it" if place.kpt in (original, upstream) else "a part of it"
    if place.kpt_has_nothing_in_it and place.kpt not in (upstream, local):
        return Judgement("remains", "kpt leaves an empty value")
    if original is not None and local is None:
        also = ", as upstream did" if upstream is None else ""
        return Judgement("restored", f"local removed it{also}; kpt brings {part} back")
    if original is not None and upstream is None and not place.changed_locally:
        return Judgement("remains", f"upstream removed it; kpt leaves {part}")
    if local is None and upstream is None:
        return Judgement("changed-alone", "no side has it; kpt adds it")
    return Judgement("decided-otherwise", "kpt keeps it, krm-merge does not")


def _removed_by_kpt(place: JudgedPlace) -> Judgement:
    """Kpt has nothing here."""
    if place.local is not None and place.changed_locally:
        return Judgement("local-change-lost", f"{_by('local', place)}; kpt removes it")
    if place.upstream is None:
        return Judgement("decided-otherwise", "kpt removes it, krm-merge keeps it")
    if place.changed_upstream or place.local is None:
        leaves = "leaves it out" if place.local is None else "removes it"
        return Judgement("upstream-change-missed", f"{_by('upstream', place)}; kpt {leaves}")
    return Judgement("unchanged-lost", "neither side removed it; kpt does")


def _changed_by_both(place: JudgedPlace) -> Judgement:
    theirs, ours = place.kpt == place.upstream, place.kpt == place.local
    if place.merged == place.local:
        takes = "takes upstream's" if theirs else "has another value"
        return Judgement("local-change-lost", f"both sides changed it; kpt {takes}, krm-merge keeps local's")
    if place.merged == place.upstream:
        keeps = "keeps local's" if ours else "has another value"
        return Judgement("decided-otherwise", f"both sides changed it; kpt {keeps}, krm-merge takes upstream's")
    if theirs:
        return Judgement("local-change-lost", "both sides changed it; kpt takes upstream's, krm-merge merges both")
    if ours:
        return Judgement("upstream-change-missed", "both sides changed it; kpt keeps local's, krm-merge merges both")
    return Judgement("decided-otherwise", "both sides changed it; kpt merges it otherwise")


def _by(side: str, place: JudgedPlace) -> str:
    return f"{side} {'added' if place.original is None else 'changed'} it"
