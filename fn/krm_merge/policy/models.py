"""The models of MergePolicy and of files of rules: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from krm_merge.krm import DocumentModel, ResourceRef, StrictModel, parse_path
from krm_merge.merge import Choice, ListKeys, Nature, OnConflict, Rule
from krm_merge.schema import is_secret_kind, split_keys


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


Path = Annotated[str, AfterValidator(_checked_path)]


class RuleModel(StrictModel):
    """Narrows the policy to part of the package. Fields that are left out match everything; the first match wins."""

    group: str | None = Field(None, description="API group of the resource, e.g. apps; empty for the core group.")
    kind: str | None = Field(None, description="Kind of the resource.")
    namespace: str | None = Field(None, description="Namespace of the resource.")
    name: str | None = Field(None, description="Name of the resource.")
    path: Path | None = Field(None, description="Field path; covers all below it. `*` matches one step.")
    onConflict: OnConflict | None = Field(None, description="Which side wins if both changed a value.")
    onDelete: Literal["upstream", "local"] | None = Field(
        None, description="Which side wins if one deleted what the other changed."
    )


def _split(value: Any) -> Any:
    """The key fields from a text or from texts; anything else as it is, for the model to refuse."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return value
    return [name for text in texts for name in split_keys(text)]


_AsGiven = Annotated[list[str], Field(min_length=1)] | Annotated[str, Field(min_length=1)]
Keys = Annotated[list[str], BeforeValidator(_split, json_schema_input_type=_AsGiven)]


class ListKeysModel(StrictModel):
    """Merge keys of a list that the schema does not know."""

    apiVersion: str = Field(description="apiVersion of the resources that hold the list.")
    kind: str = Field(description="Kind of the resources that hold the list.")
    path: Path = Field(description="Path of the list; steps into list elements are left out: `spec.groups.parts`.")
    keys: Keys = Field(
        min_length=1, description="Fields that together identify an element, as a list or as one string: `k1,k2`."
    )


RulesField = Annotated[
    list[RuleModel], Field(default_factory=list, description="Exceptions from the policy; the first match wins.")
]
ListKeysField = Annotated[
    list[ListKeysModel], Field(default_factory=list, description="Merge keys that the schema does not know.")
]


class MergeRules(BaseModel):
    """Rules and merge keys in a separate file, or in a MergePackage, whose other fields are ignored."""

    model_config = ConfigDict(strict=True)

    rules: RulesField
    listKeys: ListKeysField


class ResolvedResource(StrictModel):
    """The resource of a resolution."""

    apiVersion: str = Field(description="Its apiVersion; only the group matters.")
    kind: str = Field(description="Its kind.")
    namespace: str = Field("", description="Its namespace; empty if it has none.")
    name: str = Field(description="Its name.")

    @property
    def ref(self) -> ResourceRef:
        """How choices name it."""
        return ResourceRef(self.apiVersion, self.kind, self.name, self.namespace)


class ResolutionModel(StrictModel):
    """The choice for one conflict; without `resource`, for every conflict with this fingerprint."""

    resource: ResolvedResource | None = Field(None, description="The resource that the conflict is in.")
    packages: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None,
        min_length=1,
        description="In `policy.yaml` of a campaign: its packages, by name or pattern.",
    )
    path: Annotated[str, AfterValidator(lambda text: text and _checked_path(text))] = Field(
        "", description="The path of the conflict; empty for a resource or file as a whole."
    )
    nature: Nature = Field(description="The nature of the conflict, as in a report.")
    fingerprint: str = Field(pattern="^[0-9a-f]{64}$", description="The fingerprint, as in a report.")
    choice: Choice = Field(description="What was chosen.")
    value: Any = Field(None, description="The value, if the choice is `value`.")
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


class MergePolicy(DocumentModel):
    """How conflicts of a package are settled; the policy is a file of the package."""

    kind: Literal["MergePolicy"]
    onConflict: OnConflict | None = Field(
        None, description="Which side wins if neither a choice nor a rule decides; an option of the merge overrides it."
    )
    rules: RulesField
    resolutions: list[ResolutionModel] = Field(
        default_factory=list, description="Choices for single conflicts. They override all rules and are not merged."
    )


def rules_of(models: Sequence[RuleModel], file: str = "") -> tuple[Rule, ...]:
    """The user's exceptions from the policy; `file` is where they are written, "" for the functionConfig."""
    return tuple(
        Rule(
            group=rule.group,
            kind=rule.kind,
            namespace=rule.namespace,
            name=rule.name,
            path=parse_path(rule.path) if rule.path is not None else None,
            on_conflict=rule.onConflict,
            on_delete=rule.onDelete,
            place=f"{file} rules[{number}]".strip(),
        )
        for number, rule in enumerate(models)
    )


def list_keys_of(models: Iterable[ListKeysModel]) -> tuple[ListKeys, ...]:
    """The user's merge keys."""
    return tuple(ListKeys(k.apiVersion, k.kind, parse_path(k.path), tuple(k.keys)) for k in models)
