"""A plugin without code: JSON patches, each for the resources that its target selects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from krm_merge.krm.selector import Target, TargetNames, Targets
from krm_merge.text.reading.values import Object
from krm_merge.transform.protocol.plugin import Options, Patch, Response


@dataclass(frozen=True, slots=True)
class TargetedPatch:
    """A patch and its target."""

    target: Target
    patch: Patch


@dataclass(frozen=True, slots=True)
class InlinePlugin:
    """Named patches."""

    only_reads: ClassVar = True

    name: str
    patches: tuple[TargetedPatch, ...]
    targets: Targets = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Finds targets by the names in them."""
        object.__setattr__(self, "targets", Targets([one.target for one in self.patches]))

    def run(self, resource: Object, options: Options) -> Response:
        """The patches for this resource."""
        identity = TargetNames.of(resource)
        candidates = (self.patches[number] for number in self.targets.of(identity.kind, identity.name))
        return Response(tuple(one.patch for one in candidates if one.target.selects(resource, identity)))
