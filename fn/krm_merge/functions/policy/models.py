"""The models of MergePolicy and of files of rules: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from krm_merge.functions.models import ListKeysModel, RedactionModel, RuleModel, StrictModel
from krm_merge.krm.fieldpath import parse_path
from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.policy import OnConflict
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.schema.secret_names import is_secret_kind


def _checked_path_or_none(text: str) -> str:
    if text:
        parse_path(text)
    return text


class MergeRules(BaseModel):
    """Rules, merge keys and redactions in a separate file, or in a MergePackage, whose other fields are ignored."""

    model_config = ConfigDict(strict=True)

    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")
    redact: list[RedactionModel] = Field(
        default_factory=list, description="What no report shows, beside the values that are always hidden."
    )


class ResolvedResource(StrictModel):
    """The resource of a resolution."""

    apiVersion: str = Field(description="Its apiVersion, of which only the group counts.")
    kind: str = Field(description="Its kind.")
    namespace: str = Field("", description="Its namespace, empty where it has none.")
    name: str = Field(description="Its name.")

    @property
    def identity(self) -> Identity:
        """Group, kind, namespace and name."""
        return Identity(self.apiVersion.rpartition("/")[0], self.kind, self.namespace, self.name)


class ResolutionModel(StrictModel):
    """The choice for one conflict; without `resource`, for every conflict with this fingerprint."""

    resource: ResolvedResource | None = Field(None, description="The resource that the conflict is in.")
    packages: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None,
        min_length=1,
        description="In `policy.yaml` of a campaign: its packages, by name or pattern.",
    )
    path: Annotated[str, AfterValidator(_checked_path_or_none)] = Field(
        "", description="The path of the conflict; empty for a resource or file as a whole."
    )
    nature: Nature = Field(description="The nature of the conflict, as a report has it.")
    fingerprint: str = Field(pattern="^[0-9a-f]{64}$", description="The fingerprint, as a report has it.")
    choice: Choice = Field(description="What was chosen.")
    value: Any = Field(None, description="The value, where the choice is `value`.")
    reason: str | None = Field(None, description="Why.")
    by: str | None = Field(None, description="Who chose.")
    at: str | None = Field(None, description="When.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.choice == "value" and "value" not in self.model_fields_set:
            raise ValueError("the choice is value, but the field value is missing; add it")
        if self.choice != "value" and "value" in self.model_fields_set:
            raise ValueError(f"the field value is given, but the choice is {self.choice}; remove one of the two")
        if self.choice == "value" and self.resource is not None and is_secret_kind(self.resource.kind):
            raise ValueError("values of Secrets are not recorded; choose upstream or local")
        return self


class MergePolicy(StrictModel):
    """How conflicts of a package are settled; the policy is a file of the package."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergePolicy"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    onConflict: OnConflict | None = Field(
        None, description="Who wins where neither a choice nor a rule says so; an option of the merge overrides it."
    )
    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    redact: list[RedactionModel] = Field(
        default_factory=list, description="What no report shows, beside the values that are always hidden."
    )
    resolutions: list[ResolutionModel] = Field(
        default_factory=list, description="Choices for single conflicts. They override all rules, and are not merged."
    )
