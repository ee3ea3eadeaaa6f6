"""The functionConfig of PlanComponentUpdates, with its choices for plans and digests."""

from __future__ import annotations

from krm_merge.components.graph.groups import BranchNames
from krm_merge.components.plan.model import PlanChoices
from krm_merge.components.plan.records.resources import DigestPolicy
from krm_merge.functions.dispatch import API_VERSION
from krm_merge.functions.plan_component_updates.models import ComponentsConfigMapData, PlanComponentUpdates
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.validation import validated
from krm_merge.text.reading.values import to_value


def config_of(resource_list: ResourceList) -> PlanComponentUpdates | None:
    """Reads the functionConfig and reports its problems."""
    values = to_value(resource_list.function_config)
    assert isinstance(values, dict)
    data = values.get("data")
    if values.get("kind") != "ConfigMap" or not isinstance(data, dict):
        return validated(resource_list, PlanComponentUpdates, values)
    short = validated(resource_list, ComponentsConfigMapData, data)
    if short is None:
        return None
    fields = {
        **short.model_dump(exclude={"function"}),
        "removed": [name.strip() for name in short.removed.split(",") if name.strip()],
    }
    return PlanComponentUpdates.model_validate({"apiVersion": API_VERSION, "kind": "PlanComponentUpdates", **fields})


def choices_of(config: PlanComponentUpdates) -> PlanChoices:
    """The choices for plans in the functionConfig."""
    branches = BranchNames(tuple(config.separators), tuple(config.ignoredPrefixes))
    return PlanChoices(branches, config.suffix, config.onClosed)


def digest_policy(config: PlanComponentUpdates) -> DigestPolicy:
    """The policy for digests in the functionConfig."""
    digest = config.digest
    return DigestPolicy(digest.match, digest.multiDigestFile, digest.tag, tuple(digest.files), tuple(digest.exclude))
