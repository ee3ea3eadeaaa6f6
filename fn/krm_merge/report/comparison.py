"""How kpt's update of a package differs from ours: local changes that it lacks, and what ours asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from krm_merge.report.record import API_VERSION
from krm_merge.report.words import differing_part, flow_text, shorten
from krm_merge.safe_text import quantity

VersionName: TypeAlias = Literal["upstream", "local", "kpt"]

_LONGEST_VALUES = 200
"""Characters of all values of a place; of longer ones the part in which they differ is shown."""

_NOTHING: Final = "nothing"


class ComparedPlace(BaseModel):
    """A place in which kpt's result lacks what local changed, or of which krm-merge asks, or both.

    `values` has the versions that hold something there; hidden values are left out (M6).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    resource: str = Field(description="Kind and name, with the namespace in front; empty for other files.")
    path: str = Field(description="The field; empty for the resource or file as a whole.")
    lost: bool = Field(description="kpt's result lacks a local change that krm-merge's has.")
    asked: bool = Field(description="Both sides changed it, and krm-merge asks who wins.")
    redacted: bool = Field(description="The values are secret and left out.")
    values: dict[VersionName, Any] = Field(description="A version is absent if it has no value.")

    def __str__(self) -> str:
        """The sentence about it."""
        what = ", ".join(text for text in ("kpt loses it" * self.lost, "krm-merge asks" * self.asked) if text)
        return ": ".join(part for part in (what, self.path, self._sides()) if part)

    def _sides(self) -> str:
        if self.redacted:
            return "secret values"
        names: tuple[VersionName, ...] = ("local", "kpt") if self.lost else ("local", "upstream")
        values = {name: self.values[name] for name in names if name in self.values}
        if not self.path:
            return ", ".join(f"{name} has {'it' if name in values else _NOTHING}" for name in names)
        texts = {name: flow_text(value) for name, value in values.items()}
        if sum(map(len, texts.values())) > _LONGEST_VALUES:
            differing = differing_part(values)
            texts = {name: shorten(flow_text(value), _LONGEST_VALUES // 2) for name, value in differing.items()}
        return ", ".join(f"{name} has {texts.get(name, _NOTHING)}" for name in names)


class Comparison(BaseModel):
    """Two updates of a package beside each other; where kpt refuses, its message is all there is of kpt's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    apiVersion: Literal["fn.kpt.dev/v1alpha1"] = API_VERSION
    kind: Literal["ComparisonReport"] = "ComparisonReport"
    package: str = Field(description="The package as it was named.")
    refusal: str = Field(default="", description="Why kpt does not update it.")
    places: Sequence[ComparedPlace] = ()
    difference: str = Field(default="", description="The git diff from krm-merge's files to kpt's.")
    hidden: Sequence[str] = Field(default=(), description="Files that differ and hold secret values.")

    @property
    def summary(self) -> str:
        """The whole in one line."""
        if self.refusal:
            return f"kpt refuses the update: {self.refusal}"
        lost, asked = sum(place.lost for place in self.places), sum(place.asked for place in self.places)
        return f"kpt loses {_changes(lost)}; krm-merge {_questions(asked)}"


def _changes(count: int) -> str:
    return f"{count:,} of your changes" if count else "none of your changes"


def _questions(count: int) -> str:
    return f"asks about {quantity(count, 'conflict')}" if count else "has no questions"
