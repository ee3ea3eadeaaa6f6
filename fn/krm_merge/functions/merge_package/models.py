"""The models of MergePackage: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.krm.validation import StrictModel
from krm_merge.merge.decisions.policy import OnConflict
from krm_merge.policy.models import ListKeysModel, RedactionModel, RuleModel


class _Choices(StrictModel):
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
    redact: list[RedactionModel] = Field(
        default_factory=list, description="What no report shows, beside the values that are always hidden."
    )
