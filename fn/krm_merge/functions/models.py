"""Shared models of several kinds: rules, merge keys, paths."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from krm_merge.krm.fieldpath import parse_path
from krm_merge.merge.decisions.policy import OnConflict


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


Path = Annotated[str, AfterValidator(_checked_path)]


class StrictModel(BaseModel):
    """A model that refuses unknown fields and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RuleModel(StrictModel):
    """Narrows the policy to part of the package. Fields that are left out match everything; the first match wins."""

    group: str | None = Field(None, description="API group of the resource, e.g. apps; empty for the core group.")
    kind: str | None = Field(None, description="Kind of the resource.")
    namespace: str | None = Field(None, description="Namespace of the resource.")
    name: str | None = Field(None, description="Name of the resource.")
    path: Path | None = Field(None, description="Field path; covers all below it. `*` matches one step.")
    onConflict: OnConflict | None = Field(None, description="Who wins where both sides changed a value.")
    onDelete: Literal["upstream", "local"] | None = Field(
        None, description="Which side wins where one deleted what the other changed."
    )


class RedactionModel(StrictModel):
    """Hides values in all that is printed and reported; what only selects resources hides all of them."""

    group: str | None = Field(None, description="API group of the resource, e.g. apps; empty for the core group.")
    kind: str | None = Field(None, description="Kind of the resource.")
    namespace: str | None = Field(None, description="Namespace of the resource.")
    name: str | None = Field(None, description="Name of the resource.")
    path: Path | None = Field(None, description="Field path; hides all below it. `*` matches one step.")
    field: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="Pattern of the names of fields, and of elements with `name` or `key` beside `value`. "
        "`*` is any text; upper case, `-` and `.` count as lower case and `_`.",
    )

    @model_validator(mode="after")
    def _hides_something(self) -> Self:
        if all(value is None for _, value in self):
            raise ValueError("says nothing; give path, field, or the kind of a resource")
        return self


class ListKeysModel(StrictModel):
    """Merge keys of a list that the schema does not know."""

    apiVersion: str = Field(description="apiVersion of the resources that hold the list.")
    kind: str = Field(description="Kind of the resources that hold the list.")
    path: Path = Field(description="Path of the list; steps into list elements are left out: `spec.groups.parts`.")
    keys: list[str] = Field(min_length=1, description="Fields that together identify an element.")
