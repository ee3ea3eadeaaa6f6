"""A campaign as people look at it: its waves, what became of targets, equal failures, equal conflicts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.fleet.campaign.campaign import Campaign
from krm_merge.fleet.conflicts.groups import Group, groups_of
from krm_merge.fleet.entry import LedgerEntry
from krm_merge.fleet.merging.failures import grouped_by
from krm_merge.fleet.merging.job import STATES, TargetConflict
from krm_merge.fleet.publishing.waves import WaveState, states_of
from krm_merge.text.reading.values import Value

SHOWN_STATES = (*STATES, "pushed", "open", "merged", "closed", "unknown")
"""What a target may be, in the order of its life."""


@dataclass(frozen=True, slots=True)
class Message:
    """Targets of which the same is said: one of them, and how many there are."""

    first: LedgerEntry
    text: str
    targets: tuple[str, ...]

    def __str__(self) -> str:
        """As people read it."""
        kind = f" ({self.first.failure})" if self.first.failure else ""
        more = f" and {len(self.targets) - 1:,} more" if len(self.targets) > 1 else ""
        return f"{self.first.state}{kind}: {self.first.target}{more}: {self.text}"


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of a campaign."""

    campaign: Campaign
    entries: Mapping[str, LedgerEntry]
    waves: Sequence[WaveState]
    messages: Sequence[Message]
    groups: Sequence[Group]

    @classmethod
    def of(
        cls, campaign: Campaign, entries: Mapping[str, LedgerEntry], conflicts: Iterable[tuple[str, TargetConflict]]
    ) -> Overview:
        """From what the ledger has; targets that are no longer in the campaign do not count."""
        known = {name: entries[name] for name in campaign.targets if name in entries}
        waves = states_of(campaign, known) if campaign.publishing.waves else []
        return cls(campaign, known, waves, messages_of(known.values()), groups_of(conflicts))

    def counts(self) -> dict[str, int]:
        """How many targets are in which state."""
        found = Counter(entry.shown_state for entry in self.entries.values())
        found["pending"] += len(self.campaign.targets) - len(self.entries)
        return {state: found[state] for state in SHOWN_STATES if found[state]}

    def to_value(self) -> dict[str, Value]:
        """As programs read it."""
        upstream = self.campaign.upstream
        value: dict[str, Value] = {
            "campaign": self.campaign.name,
            "upstream": {"repo": upstream.repository, "directory": upstream.directory, "ref": upstream.ref},
            "counts": {**self.counts()},
        }
        if self.waves:
            value["waves"] = [_wave(wave) for wave in self.waves]
        value["targets"] = [
            _target(self.entries[name]) if name in self.entries else {"target": name, "state": "pending"}
            for name in self.campaign.targets
        ]
        return value


def messages_of(entries: Iterable[LedgerEntry]) -> list[Message]:
    """What is said of targets that failed or were refused, the most frequent first; failures before refusals."""
    groups: dict[tuple[str, str], list[LedgerEntry]] = {}
    for entry in entries:
        if entry.state in ("failed", "refused"):
            groups.setdefault((entry.state, grouped_by(entry.message, entry.target)), []).append(entry)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1])))
    return [Message(found[0], found[0].message, tuple(entry.target for entry in found)) for _, found in ordered]


def _wave(wave: WaveState) -> Value:
    return {
        "name": wave.name,
        "targets": len(wave.targets),
        "toPublish": wave.to_publish,
        "published": wave.published,
        "merged": wave.merged,
        "closed": wave.closed,
    }


def _target(entry: LedgerEntry) -> dict[str, Value]:
    value: dict[str, Value] = {"target": entry.target, "state": entry.shown_state}
    value |= {"outcome": entry.state, "files": entry.files}
    named = {"message": entry.message, "class": entry.failure, "commit": entry.commit or entry.made}
    named |= {"mergedAt": entry.merged_at, "lookedAt": entry.looked_at, "problem": entry.problem}
    value |= {name: text for name, text in named.items() if text}
    return value | ({"pullRequest": entry.request.number} if entry.request and entry.request.number else {})
