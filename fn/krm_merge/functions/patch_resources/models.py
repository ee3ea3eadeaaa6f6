"""The models of PatchResources: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.krm.validation import StrictModel
from krm_merge.policy.models import ListKeysModel


class PatchTarget(StrictModel):
    """Selects resources. Fields are RE2 expressions that match as a whole; those empty or left out match everything."""

    group: str | None = Field(None, description="API group, e.g. apps; `^$` for the core group.")
    version: str | None = Field(None, description="API version, e.g. v1.")
    kind: str | None = Field(None, description="Kind.")
    name: str | None = Field(None, description="Name.")
    namespace: str | None = Field(None, description="Namespace.")
    labelSelector: str | None = Field(None, description="Label selector, e.g. `app=web,tier!=db,env in (a, b),!old`.")
    annotationSelector: str | None = Field(None, description="The same for annotations.")


class PatchOptions(StrictModel):
    """What a patch may change of a resource's identity."""

    allowNameChange: bool = Field(False, description="Whether the patch may change name and namespace.")
    allowKindChange: bool = Field(False, description="Whether the patch may change apiVersion and kind.")


class PatchModel(StrictModel):
    """One patch, or several strategic merge patches in one text."""

    target: PatchTarget | None = Field(
        None, description="What it patches; a strategic merge patch may name its object instead."
    )
    patch: str | None = Field(None, description="The patch as YAML or JSON text.")
    path: str | None = Field(
        None, description="Instead of `patch`: the file of an item of the package that is the patch."
    )
    type: Literal["strategic", "merge", "json"] | None = Field(
        None, description="strategic merge patch (the default for a mapping), RFC 7386, or RFC 6902 (for a list)."
    )
    options: PatchOptions = PatchOptions(allowNameChange=False, allowKindChange=False)


class _PatchChoices(StrictModel):
    listOrder: Literal["document", "kubernetes"] = Field(
        "document", description="How strategic merge patches order lists: as the specification says, or as kubectl."
    )
    mergeKeys: Literal["multi", "single"] = Field(
        "multi", description="Whether all key fields identify an element of a list, or the one that kubectl knows."
    )


class PatchConfigMapData(_PatchChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PatchResources"] = "PatchResources"
    patch: str = Field(description="Strategic merge patches that name their objects, as YAML text.")


class PatchResources(_PatchChoices):
    """Patches the resources of a package: strategic merge patches, JSON merge patches and JSON patches."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PatchResources"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    patches: list[PatchModel] = Field(min_length=1, description="The patches, in the order in which they are applied.")
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")
