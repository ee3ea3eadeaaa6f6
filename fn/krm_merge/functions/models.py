"""The functionConfig kinds as pydantic models: the contract with users, the source of the JSON schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from krm_merge.krm.fieldpath import parse_path

OnConflict = Literal["upstream", "local", "fail"]


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


Path = Annotated[str, AfterValidator(_checked_path)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RuleModel(_Strict):
    """Narrows the policy to part of the package. Fields that are left out match everything; the first match wins."""

    group: str | None = Field(None, description="API group of the resource, e.g. apps; empty for the core group.")
    kind: str | None = Field(None, description="Kind of the resource.")
    namespace: str | None = Field(None, description="Namespace of the resource.")
    name: str | None = Field(None, description="Name of the resource.")
    path: Path | None = Field(None, description="Field path; covers all below it. `*` matches one step.")
    onConflict: OnConflict | None = Field(None, description="Who wins where both sides changed a value.")
    onDelete: Literal["upstream", "local"] | None = Field(
        None, description="Whose decision stands where one side deleted what the other changed."
    )


class ListKeysModel(_Strict):
    """Merge keys of a list that the schema does not know."""

    apiVersion: str = Field(description="apiVersion of the resources that hold the list.")
    kind: str = Field(description="Kind of the resources that hold the list.")
    path: Path = Field(description="Path of the list; steps into list elements are left out: `spec.groups.parts`.")
    keys: list[str] = Field(min_length=1, description="Fields that together identify an element.")


class _Choices(_Strict):
    onConflict: OnConflict = Field("upstream", description="Who wins where both sides changed a value.")
    functionIdentity: Literal["document", "smart"] = Field(
        "document", description="How functions of a pipeline without names are recognised."
    )


class ConfigMapData(_Choices):
    """`data` of a ConfigMap given as functionConfig, as `kpt fn eval -- key=value` makes it."""

    function: Literal["MergePackage"] = Field("MergePackage", description="The function to run.")
    original: str | None = Field(None, description="The package as last fetched, as YAML text.")
    upstream: str | None = Field(None, description="The updated package, as YAML text.")


class MergePackage(_Choices):
    """Three-way merge of a package: original and upstream from here, local from the items."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergePackage"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    original: str | list[dict[str, Any]] | None = Field(
        None, description="The package as last fetched: YAML text of one or more documents, or a list of objects."
    )
    upstream: str | list[dict[str, Any]] | None = Field(None, description="The updated package, in the same forms.")
    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class PatchTarget(_Strict):
    """Selects resources. Fields are regular expressions that match as a whole; those left out match everything."""

    group: str | None = Field(None, description="API group, e.g. apps; empty for the core group.")
    version: str | None = Field(None, description="API version, e.g. v1.")
    kind: str | None = Field(None, description="Kind.")
    name: str | None = Field(None, description="Name.")
    namespace: str | None = Field(None, description="Namespace.")
    labelSelector: str | None = Field(None, description="Label selector, e.g. `app=web,tier!=db,env in (a, b),!old`.")
    annotationSelector: str | None = Field(None, description="The same for annotations.")


class PatchOptions(_Strict):
    """What a patch may change of a resource's identity."""

    allowNameChange: bool = Field(False, description="Whether the patch may change name and namespace.")
    allowKindChange: bool = Field(False, description="Whether the patch may change apiVersion and kind.")


class PatchModel(_Strict):
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


class _PatchChoices(_Strict):
    listOrder: Literal["document", "kubernetes"] = Field(
        "document", description="How strategic merge patches order lists: as the specification says, or as kubectl."
    )
    mergeKeys: Literal["multi", "single"] = Field(
        "multi", description="Whether all key fields identify an element of a list, or the one that kubectl knows."
    )


class PatchConfigMapData(_PatchChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PatchResources"]
    patch: str = Field(description="Strategic merge patches that name their objects, as YAML text.")


class PatchResources(_PatchChoices):
    """Patches the resources of a package: strategic merge patches, JSON merge patches and JSON patches."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PatchResources"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    patches: list[PatchModel] = Field(min_length=1, description="The patches, in the order in which they are applied.")
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")
