"""`campaign.yaml` and `targets.yaml` as pydantic models: the contract with users, the source of the JSON schemas."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from krm_merge.krm.validation import StrictModel
from krm_merge.merge.decisions.policy import OnConflict
from krm_merge.policy.models import ListKeysModel

_SHARE = re.compile(r"(?:100|[1-9]?[0-9])%")
_BRANCH = re.compile(r"(?!/|-)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[^\s\x00-\x1f\x7f~^:?*\[\\]+(?<![/.])")
_AUTHOR = re.compile(r"[^<>\n]*[^<>\s] <[^<>\s]+>")


def _checked_share(text: str) -> str:
    if _SHARE.fullmatch(text) is None:
        raise ValueError("a share like 10% is expected")
    return text


def _checked_branch(text: str) -> str:
    if _BRANCH.fullmatch(text) is None:
        raise ValueError("git knows no branch of such a name")
    return text


def _checked_author(text: str) -> str:
    if _AUTHOR.fullmatch(text) is None:
        raise ValueError("a name and an address are expected, like: Name <mail@example.com>")
    return text


Share = Annotated[str, AfterValidator(_checked_share), Field(json_schema_extra={"pattern": f"^{_SHARE.pattern}$"})]
Count = Annotated[int, Field(ge=1)]


class UpstreamModel(StrictModel):
    """The version that all targets take."""

    repo: str = Field(min_length=1, description="The repository of the upstream package.")
    directory: str = Field("/", description="The directory of the package in it; `/` for every package in it.")
    ref: str = Field(min_length=1, description="The tag, branch or commit that targets are updated to.")


class SelectionModel(StrictModel):
    """Where targets were looked for. `targets.yaml` holds what was found, and decides."""

    workingTree: str | None = Field(None, description="The working tree that the targets are directories of.")
    packages: list[str] = Field(default_factory=list, description="Patterns of directories of the working tree.")
    forge: str | None = Field(None, description="The address of the forge whose repositories are the targets.")
    owner: str | None = Field(None, description="The organisation, group or user that owns the repositories.")
    topic: str | None = Field(None, description="The topic that the repositories carry.")
    from_: str | None = Field(None, alias="from", description="Only packages that are at this version of upstream.")


class CampaignPolicyModel(StrictModel):
    """How packages are merged, as with the options of `krm-merge update`. Choices for all are in `policy.yaml`."""

    onConflict: OnConflict | None = Field(
        None,
        description="Who wins where both sides changed a value; without it, as the package or policy.yaml says. A "
        "package with a conflict that nothing settles is left as it is.",
    )
    functionIdentity: Literal["document", "smart"] = Field(
        "smart", description="How functions of a pipeline without names are recognised."
    )
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class GateModel(StrictModel):
    """What has to be so of a wave before the next one is published."""

    merged: Share = Field("100%", description="The share of its pull requests that is merged.")
    closed: int = Field(0, ge=0, description="How many of them may be closed without being merged.")


class WaveModel(StrictModel):
    """A wave with a gate of its own."""

    targets: Count | Share | Literal["rest"] = Field(description="Its targets: 5, 10% or rest.")
    gate: GateModel = Field(description="What has to be so of this wave before the next one is published.")


class PublishModel(StrictModel):
    """How results are published."""

    branch: Annotated[str, AfterValidator(_checked_branch)] = Field(description="The branch that is pushed.")
    author: Annotated[str, AfterValidator(_checked_author)] = Field(
        "krm-merge <krm-merge@users.noreply.github.com>",
        description="The author of the commits, like `Name <mail@example.com>`.",
        json_schema_extra={"pattern": f"^{_AUTHOR.pattern}$"},
    )
    title: str = Field("Update {packages} to {ref}", min_length=1, description="The title of pull requests.")
    waves: dict[str, Count | Share | Literal["rest"] | WaveModel] = Field(
        default_factory=dict,
        description="Names of waves in their order, and the targets of each: 5, 10% or rest, or a mapping with a gate.",
    )
    gate: GateModel = Field(GateModel(merged="100%", closed=0), description="The gate of waves without one.")
    maxOpen: Count | None = Field(None, description="How many pull requests are open at most.")
    perHour: Count = Field(400, description="Changing calls an hour to one host.")


class MergeCampaign(StrictModel):
    """One upstream, many packages, one command: all of them take a version."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergeCampaign"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    upstream: UpstreamModel = Field(description="The version that all targets take.")
    selection: SelectionModel = Field(description="Where targets were looked for.")
    policy: CampaignPolicyModel = CampaignPolicyModel(onConflict=None, functionIdentity="smart")
    message: str = Field(
        "Update {package} to {ref}", min_length=1, description="The message of the commit of each package."
    )
    publish: PublishModel = Field(description="How results are published.")


class TargetModel(StrictModel):
    """One target: a directory of the working tree, or a repository."""

    directory: str | None = Field(None, min_length=1, description="The directory, relative to the working tree.")
    repository: str | None = Field(None, min_length=1, description="The address of the repository.")
    branch: str | None = Field(None, description="The branch of the repository; by default its own.")
    packages: list[str] = Field(
        default_factory=list,
        description="The packages in it; without any, all that follow the upstream.",
    )
    at: str | None = Field(None, description="The version that it was at when it was found.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.directory is None) == (self.repository is None):
            raise ValueError("give either directory or repository")
        return self


class MergeTargets(StrictModel):
    """What a campaign is for: found by `krm-merge fleet init`, to be reviewed and edited."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergeTargets"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    targets: list[TargetModel] = Field(description="The targets, each with its directory or repository.")
