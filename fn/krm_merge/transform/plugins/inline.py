"""A plugin without code: JSON patches, each for the resources that its target selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from krm_merge.krm.selector import Target
from krm_merge.text.reading.values import Object
from krm_merge.transform.protocol.plugin import Options, Patch, Response


@dataclass(frozen=True, slots=True)
class TargetedPatch:
    """A patch and what it is for."""

    target: Target
    patch: Patch


@dataclass(frozen=True, slots=True)
class InlinePlugin:
    """Patches under a name of their own."""

    only_reads: ClassVar = True

    name: str
    patches: tuple[TargetedPatch, ...]

    def run(self, resource: Object, options: Options) -> Response:
        """The patches for this resource."""
        kind = str(resource.get("kind", ""))
        candidates = [one for one in self.patches if one.target.may_match_kind(kind)]
        if not candidates:
            return Response()
        return Response(tuple(one.patch for one in candidates if one.target.selects(resource)))
