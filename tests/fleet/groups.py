"""Equal conflicts of many packages, made for a test."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.fleet.campaign import Campaign, CampaignUpstream
from krm_merge.fleet.campaign_file import PublishModel
from krm_merge.fleet.conflicts import Group, groups_of
from krm_merge.fleet.job import TargetConflict
from krm_merge.krm.result import ResourceRef
from krm_merge.merge.decisions.policy import Choice, Nature, fingerprint
from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.text.reading.nodes import Value

CHOICES: tuple[Choice, ...] = ("upstream", "local", "original", "value")


def conflict(
    path: str = "spec.replicas",
    local: Value = 5,
    *,
    kind: str = "Deployment",
    nature: Nature = "value",
    choices: tuple[Choice, ...] = CHOICES,
    upstream: Value = 2,
) -> TargetConflict:
    """A conflict of a resource called web; local None has nothing there."""
    values: dict[SideName, Value] = {"original": 1, "upstream": upstream, "result": upstream}
    if local is not None:
        values["local"] = local
    sides: list[list[Value]] = [[1], [upstream], [] if local is None else [local]]
    record = DecisionRecord(
        id="",
        file=f"{kind.lower()}.yaml",
        resource=ResourceRef("apps/v1", kind, "web"),
        path=path,
        rule="V4",
        nature=nature,
        status="settled",
        settled_by="policy",
        message="upstream changed it, local changed it; upstream's value is kept",
        fingerprint=fingerprint(nature, kind, tuple(path.split(".")), sides),
        values=values,
        choices=choices,
        chosen=None,
        docs="",
    )
    return TargetConflict("", record)


def groups(*conflicts: tuple[TargetConflict, Iterable[str]]) -> list[Group]:
    """Groups of conflicts, each with the packages that have it."""
    return groups_of((name, conflict) for conflict, names in conflicts for name in names)


def teams(*numbers: int) -> list[str]:
    return [f"teams/team-{number}/web" for number in numbers]


def campaign(policy: bytes = b"") -> Campaign:
    """A campaign that brings web to v2."""
    return Campaign(
        name="web-v2",
        upstream=CampaignUpstream("https://git.example.com/packages", "/web", "v2"),
        working_tree="/work",
        on_conflict=None,
        smart=True,
        list_keys=(),
        message="",
        publishing=PublishModel.model_validate({"branch": "krm-merge/web-v2"}).to_publishing("web-v2"),
        policy_text=policy,
    )
