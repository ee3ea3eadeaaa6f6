"""A campaign as people look at it: its waves, targets, equal failures and conflicts; as Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.conflicts import Group, groups_of
from krm_merge.fleet.job import STATES, TargetConflict, grouped_by
from krm_merge.fleet.ledger import LedgerEntry, LedgerUpstream, RequestState
from krm_merge.fleet.publish import WaveState, states_of
from krm_merge.report import code, plain
from krm_merge.safe_text import quantity
from krm_merge.startup import group_by_key
from krm_merge.text import Value

SHOWN_STATES = (*STATES, *get_args(RequestState))
"""What a target may be, in the order of its life."""


@dataclass(frozen=True, slots=True)
class Message:
    """Targets of which the same is said: the first of them, and how many there are."""

    first: LedgerEntry
    count: int

    def __str__(self) -> str:
        """As people read it."""
        kind = f" ({self.first.failure})" if self.first.failure else ""
        more = f" and {self.count - 1:,} more" if self.count > 1 else ""
        return f"{self.first.state}{kind}: {self.first.target}{more}: {self.first.message}"


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of a campaign."""

    campaign: Campaign
    entries: Mapping[str, LedgerEntry]
    waves: Sequence[WaveState]
    messages: Sequence[Message]
    groups: Sequence[Group]
    upstream: LedgerUpstream

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        entries: Mapping[str, LedgerEntry],
        conflicts: Iterable[tuple[str, TargetConflict]],
        upstream: LedgerUpstream,
    ) -> Overview:
        """From what the ledger has; targets that are no longer in the campaign do not count."""
        entries_of_targets = {name: entries[name] for name in campaign.targets if name in entries}
        waves = states_of(campaign, entries_of_targets) if campaign.publishing.waves else []
        messages, groups = messages_of(entries_of_targets.values()), groups_of(conflicts)
        return cls(campaign, entries_of_targets, waves, messages, groups, upstream)

    def counts(self) -> dict[str, int]:
        """How many targets are in which state."""
        by_state = Counter(entry.shown_state for entry in self.entries.values())
        by_state["pending"] += len(self.campaign.targets) - len(self.entries)
        return {state: by_state[state] for state in SHOWN_STATES if by_state[state]}

    def wave_lines(self) -> list[str]:
        """How far each wave is."""
        return [
            f"{wave.name}: {quantity(len(wave.targets), 'target')}, {wave.published:,} of "
            f"{wave.published + wave.to_publish:,} published, {wave.merged:,} merged, {wave.closed:,} closed"
            for wave in self.waves
        ]

    def to_value(self) -> dict[str, Value]:
        """As programs read it."""
        upstream = self.campaign.upstream
        value: dict[str, Value] = {
            "campaign": self.campaign.name,
            "upstream": {"repo": upstream.repository, "directory": upstream.directory, "ref": upstream.ref},
            "counts": {**self.counts()},
        }
        if self.upstream.problem:
            value["problem"] = self.upstream.problem
        if self.waves:
            value["waves"] = [_wave(wave) for wave in self.waves]
        value["targets"] = [
            _target(self.entries[name]) if name in self.entries else {"target": name, "state": "pending"}
            for name in self.campaign.targets
        ]
        return value


def messages_of(entries: Iterable[LedgerEntry]) -> list[Message]:
    """What is said of targets that failed or were refused, the most frequent first; failures before refusals."""
    to_show = (entry for entry in entries if entry.state in ("failed", "refused"))
    groups = group_by_key(((entry.state, grouped_by(entry.message, entry.target)), entry) for entry in to_show)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1])))
    return [Message(group[0], len(group)) for _, group in ordered]


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
    named = {"message": entry.message, "class": entry.failure, "commit": (entry.commits or [entry.made])[-1]}
    named |= {"mergedAt": entry.merged_at, "problem": entry.problem}
    value |= {name: text for name, text in named.items() if text}
    numbers = {} if entry.request is None else {"pullRequest": entry.request.number, "reverse": entry.request.reverse}
    return value | {name: number for name, number in numbers.items() if number}


_MOST_GROUPS = 500


def as_markdown(overview: Overview) -> str:
    """In short, for people: states, waves, messages, groups of conflicts."""
    lines = [f"## {plain(overview.campaign.name)}", "", "| state | targets |", "|---|---:|"]
    lines += [f"| {state} | {count:,} |" for state, count in overview.counts().items()]
    lines += ["", *(f"- {plain(wave)}" for wave in overview.wave_lines())] if overview.waves else []
    lines += ["", *(f"- {plain(str(message), 400)}" for message in overview.messages)] if overview.messages else []
    if overview.groups:
        lines += ["", "| packages | conflict | what happened |", "|---:|---|---|"]
    lines += [
        f"| {len(group.packages):,} | {code(group.place)} | {plain(group.conflict.message)} |"
        for group in overview.groups[:_MOST_GROUPS]
    ]
    return "\n".join(lines) + "\n"
