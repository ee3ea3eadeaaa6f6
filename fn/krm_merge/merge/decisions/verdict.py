"""The values of three sides at one place, and the verdict on them."""

from __future__ import annotations

from krm_merge.krm.result import Severity
from krm_merge.merge.decisions.decision import Side
from krm_merge.merge.decisions.resolution import Resolution
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import Node


@frozen
class Verdict:
    """The merged value at one place, and why. `message` is empty where the values explain it."""

    node: Node | None
    rule: str = "V2"
    side: Side = "upstream"
    severity: Severity = "info"
    message: str = ""
    resolution: Resolution | None = None

    @property
    def is_reported(self) -> bool:
        """Whether the verdict is worth a result of its own."""
        return bool(self.message)


@frozen
class Sides:
    """The values of the three sides at one place; None where a side has none."""

    original: Node | None
    upstream: Node | None
    local: Node | None

    @property
    def nodes(self) -> tuple[Node | None, Node | None, Node | None]:
        """Original, upstream, local."""
        return self.original, self.upstream, self.local

    @property
    def present(self) -> list[Node]:
        """The values of the sides that have one."""
        return [node for node in (self.original, self.upstream, self.local) if node is not None]

    def are_same(self) -> bool:
        """Whether all three sides have one value."""
        original, upstream, local = self.original, self.upstream, self.local
        if original is None or upstream is None or local is None:
            return False
        value = original.canonical
        return value == upstream.canonical and value == local.canonical

    def settled(self) -> Verdict | None:
        """V2: the verdict where at most one side changed the value, else None."""
        if same(self.upstream, self.original):
            return Verdict(self.local, side="local")
        if same(self.local, self.original):
            return Verdict(self.upstream)
        if same(self.upstream, self.local):
            return Verdict(self.local, side="both")
        return None


def same(first: Node | None, second: Node | None) -> bool:
    """V1: absence equals only absence."""
    if first is None or second is None:
        return first is second
    return first.canonical == second.canonical
