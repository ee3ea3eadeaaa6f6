"""Which targets are published together, and when the next ones may be. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.fleet.campaign.campaign import Campaign, Gate, Wave
from krm_merge.fleet.entry import LedgerEntry

_ALL = Wave("all")


@dataclass(frozen=True, slots=True)
class WaveState:
    """A wave: its targets, how many of them have something to publish, and what became of these."""

    name: str
    targets: tuple[str, ...]
    published: int
    merged: int
    closed: int
    unknown: int
    to_publish: int

    def obstacle(self, gate: Gate) -> str:
        """Why the next wave has to wait, '' where it need not."""
        if self.closed > gate.closed:
            return f"{self.closed} of {self.name} closed without being merged; {gate.closed} may be"
        of = self.published + self.to_publish
        if self.unknown:
            return f"{self.unknown} of {self.name} cannot be seen: the forge does not show their pull requests"
        if self.merged * 100 < gate.merged * of:
            return f"{self.merged} of {of} of {self.name} merged; {gate.merged}% are to be"
        return ""


def assigned(campaign: Campaign) -> dict[str, str]:
    """The wave of each target: they are taken as `targets.yaml` has them. What no wave takes is in none."""
    left = list(campaign.targets)
    total = len(left)
    found: dict[str, str] = {}
    for wave in campaign.publishing.waves or (_ALL,):
        size = wave.size(total, len(left))
        found |= dict.fromkeys(left[:size], wave.name)
        left = left[size:]
    return found


def states_of(campaign: Campaign, entries: Mapping[str, LedgerEntry]) -> list[WaveState]:
    """The waves in their order, and how far each is."""
    by_wave: dict[str, list[str]] = {wave.name: [] for wave in campaign.publishing.waves or (_ALL,)}
    for target, wave in assigned(campaign).items():
        by_wave[wave].append(target)
    return [_state(name, targets, entries) for name, targets in by_wave.items()]


def _state(name: str, targets: Sequence[str], entries: Mapping[str, LedgerEntry]) -> WaveState:
    known = [entries[target] for target in targets if target in entries]
    states = Counter(entry.request.state for entry in known if entry.request is not None)
    return WaveState(
        name,
        tuple(targets),
        published=states.total(),
        merged=states["merged"],
        closed=states["closed"],
        unknown=states["unknown"],
        to_publish=sum(1 for entry in known if entry.is_to_publish),
    )


def due(campaign: Campaign, waves: Iterable[WaveState], only: str | None) -> tuple[list[str], str]:
    """The targets that may be published now, and why no more: '' where that is all of them.

    `only` is the one wave that is asked for.
    """
    gates = {wave.name: wave.gate for wave in campaign.publishing.waves}
    known = list(waves)
    found: list[str] = []
    for number, wave in enumerate(known):
        if only in (None, wave.name):
            found += wave.targets
        if only == wave.name:
            return found, ""
        obstacle = wave.obstacle(gates.get(wave.name, Gate()))
        if only is None and obstacle and any(later.to_publish for later in known[number + 1 :]):
            # What of this wave is due is published; what comes behind it waits.
            return found, obstacle
    return found, ""
