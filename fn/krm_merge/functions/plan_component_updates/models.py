"""The models of PlanComponentUpdates: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.components.digests.replacement import TagPolicy
from krm_merge.krm.validation import StrictModel


class DigestModel(StrictModel):
    """Which digests are replaced, and where."""

    match: Literal["known", "any"] = Field(
        "known", description="Only digests that are known to be of the component, or any of its image."
    )
    tag: TagPolicy = Field(
        "keep",
        description="What happens to a tag before a replaced digest: kept, dropped, or replaced by the new image's.",
    )
    files: list[str] = Field(
        default_factory=list, description="Globs of files to look at, from the root of the repository."
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files that are not searched.")
    multiDigestFile: Literal["refuse", "replace"] = Field(
        "refuse",
        description="Refuse a file with several digests of one image, such as a catalog, or replace known ones.",
    )


class EmitModel(StrictModel):
    """The settings of `configure`."""

    buildNudgesRef: bool = Field(True, description="`build-nudges-ref` on dependencies.")
    nudgeConfig: bool = Field(
        False, description="A NudgeConfig for each namespace; an existing one is updated in any case."
    )
    nudgeMode: Literal["immediate", "validated"] = Field(
        "immediate",
        description="Whether new edges of a NudgeConfig nudge after a build, or after its tests.",
    )
    contexts: bool = Field(True, description="`spec.context` of Repositories, contexts of IntegrationTestScenarios.")
    releasePlans: bool = Field(True, description="The annotation of ReleasePlans that keeps dependencies from release.")
    celGuards: bool = Field(True, description="on-cel-expression of the PipelineRuns in .tekton.")


class _ComponentChoices(StrictModel):
    mode: Literal["validate", "configure", "plan", "simulate"] = Field(
        "plan",
        description="Check the graph; write what makes today's Konflux follow it; plan pull requests; or also simulate "
        "the snapshots, tests and releases that follow.",
    )
    suffix: Literal["component", "repository"] = Field("component", description="The end of the names of our branches.")
    onClosed: Literal["revert", "keep"] = Field(
        "revert",
        description="Whether the digest of a pull request that is closed unmerged is reset or kept.",
    )


class ComponentsConfigMapData(_ComponentChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PlanComponentUpdates"] = "PlanComponentUpdates"
    removed: str = Field("", description="Names of deleted Components, separated by commas.")


class PlanComponentUpdates(_ComponentChoices):
    """Plans the updates of components that depend on each other."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PlanComponentUpdates"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    separators: list[Literal["/", "@"]] = Field(
        default=["/"], description="What separates the group from the rest of a source branch's name."
    )
    ignoredPrefixes: list[str] = Field(
        default_factory=lambda: ["renovate", "dependabot"],
        description="Prefixes of branches that are a group each, such as those of other programs.",
    )
    emit: EmitModel = Field(default_factory=lambda: EmitModel.model_validate({}))
    digest: DigestModel = Field(default_factory=lambda: DigestModel.model_validate({}))
    removed: list[str] = Field(default_factory=list, description="Names of deleted Components.")
    applySnapshots: bool = Field(
        False, description="Whether Snapshots and Releases of `simulate` may be applied to a cluster."
    )
