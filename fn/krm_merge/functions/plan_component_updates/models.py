"""The models of PlanComponentUpdates: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.functions.models import StrictModel


class DigestModel(StrictModel):
    """Which digests are replaced, and where."""

    match: Literal["known", "any"] = Field(
        "known", description="Only digests that are known to be of the component, or any of its image."
    )
    tag: Literal["keep"] = Field("keep", description="What becomes of a tag before the digest.")
    files: list[str] = Field(
        default_factory=list, description="Globs of files to look at, from the root of the repository."
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files that are left alone.")
    multiDigestFile: Literal["refuse", "replace"] = Field(
        "refuse", description="What becomes of a file with several digests of one image, such as a catalog."
    )


class EmitModel(StrictModel):
    """The settings of `configure`."""

    buildNudgesRef: bool = Field(True, description="`build-nudges-ref` on dependencies.")
    nudgeConfig: bool = Field(False, description="A NudgeConfig for each namespace; one that is there is kept up.")
    nudgeMode: Literal["immediate", "validated"] = Field(
        "immediate", description="When Konflux nudges, of edges that `configure` adds to a NudgeConfig."
    )
    contexts: bool = Field(True, description="`spec.context` of Repositories, contexts of IntegrationTestScenarios.")
    releasePlans: bool = Field(True, description="The annotation of ReleasePlans that keeps dependencies from release.")
    celGuards: bool = Field(True, description="on-cel-expression of the PipelineRuns in .tekton.")


class _ComponentChoices(StrictModel):
    mode: Literal["validate", "configure", "plan", "simulate"] = Field(
        "plan",
        description="Check the graph; write what today's Konflux obeys; plan pull requests; or play all that follows.",
    )
    suffix: Literal["component", "repository"] = Field("component", description="What ends the names of our branches.")
    onClosed: Literal["revert", "keep"] = Field(
        "revert", description="What becomes of the digest of a pull request that is closed unmerged."
    )


class ComponentsConfigMapData(_ComponentChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PlanComponentUpdates"] = "PlanComponentUpdates"
    removed: str = Field("", description="Names of Components that are deleted, with commas between them.")


class PlanComponentUpdates(_ComponentChoices):
    """Plans the updates of components that depend on each other."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PlanComponentUpdates"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    separators: list[Literal["/", "@"]] = Field(
        default=["/"], description="What ends the group in the name of a source branch."
    )
    ignoredPrefixes: list[str] = Field(
        default_factory=lambda: ["renovate", "dependabot"],
        description="Branches below these are a group each.",
    )
    emit: EmitModel = Field(default_factory=lambda: EmitModel.model_validate({}))
    digest: DigestModel = Field(default_factory=lambda: DigestModel.model_validate({}))
    removed: list[str] = Field(default_factory=list, description="Names of Components that are deleted.")
    applySnapshots: bool = Field(
        False, description="Whether Snapshots and Releases of `simulate` may be applied to a cluster."
    )
