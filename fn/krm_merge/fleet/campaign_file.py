"""The files of a campaign: their models, and the directory that they are in. The edge to the disk."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, model_validator

from krm_merge.fleet.campaign import (
    CAMPAIGN_FILE,
    POLICY_FILE,
    TARGETS_FILE,
    Campaign,
    CampaignTarget,
    CampaignUpstream,
    Gate,
    PackageChoice,
    Publishing,
    Split,
    Wave,
)
from krm_merge.forges.interface import Attention
from krm_merge.git.program import take_credentials
from krm_merge.krm import DocumentModel, StrictModel, check
from krm_merge.merge import OnConflict, Resolutions
from krm_merge.packages import File, PackageError, UnavailableError, read_file, reason, write_file
from krm_merge.policy import NO_POLICY, ListKeysField, MergePolicy, PackagePolicy, list_keys_of, policy_from_model
from krm_merge.posix import file_locks, locked_soon
from krm_merge.startup import replace
from krm_merge.text import MappingNode, Object, TextError, Value, from_value, read, to_value, written

_SHARE = re.compile(r"(?:100|[1-9]?[0-9])%")
_BRANCH = re.compile(r"(?!/|-)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[^\s\x00-\x1f\x7f~^:?*\[\\]+(?<![/.])")
_AUTHOR = re.compile(r"[^<>\n]*[^<>\s] <[^<>\s]+>")


def _like(match: Callable[[str], object], problem: str) -> AfterValidator:
    """Refuses texts that an expression does not match."""

    def check(text: str) -> str:
        if match(text) is None:
            raise ValueError(problem)
        return text

    return AfterValidator(check)


_IsShare = _like(_SHARE.fullmatch, "a percentage such as 10% is expected")
_IsBranch = _like(_BRANCH.fullmatch, "this is not a valid name of a git branch")
_IsAuthor = _like(_AUTHOR.fullmatch, "a name and an address are expected, like: Name <mail@example.com>")
Share = Annotated[str, _IsShare, Field(json_schema_extra={"pattern": f"^{_SHARE.pattern}$"})]
Count = Annotated[int, Field(ge=1)]


class UpstreamModel(StrictModel):
    """The version that all targets are updated to."""

    repo: str = Field(min_length=1, description="The repository of the upstream package.")
    directory: str = Field("/", description="The directory of the package in it; `/` for every package in it.")
    ref: str = Field(min_length=1, description="The tag, branch or commit that targets are updated to.")


class SelectionModel(StrictModel):
    """Where the targets of `targets.yaml` are."""

    workingTree: str | None = Field(None, description="The working tree that the targets are directories of.")


class CampaignPolicyModel(StrictModel):
    """How packages are merged, as with the options of `krm-merge update`. Choices for all are in `policy.yaml`."""

    onConflict: OnConflict | None = Field(
        None,
        description="Which side wins if both changed a value; by default as the package or policy.yaml says. A "
        "package with a conflict that nothing settles stays unchanged.",
    )
    functionIdentity: Literal["document", "smart"] = Field(
        "smart", description="How to recognise functions of a pipeline that have no names."
    )
    listKeys: ListKeysField


class GateModel(StrictModel):
    """What has to be so of a wave before the next one is published."""

    merged: Share = Field("100%", description="The share of its pull requests that must be merged.")
    closed: int = Field(0, ge=0, description="How many of them may be closed without a merge.")
    checks: Literal["passed"] | None = Field(
        None, description="With `passed`, the checks of open ones must have passed."
    )


_USUAL_GATE = GateModel(merged="100%", closed=0, checks=None)


class WaveModel(StrictModel):
    """A wave with a gate of its own."""

    targets: Count | Share | Literal["rest"] = Field(description="Its targets: 5, 10% or rest.")
    gate: GateModel = Field(description="What must be true of this wave before the next one is published.")


class PublishModel(StrictModel):
    """How results are published."""

    branch: Annotated[str, _IsBranch] | None = Field(
        None, description="The branch that is pushed; by default `krm-merge/` and the name of the campaign."
    )
    author: Annotated[str, _IsAuthor] = Field(
        "krm-merge <krm-merge@users.noreply.github.com>",
        description="The author of the commits, like `Name <mail@example.com>`.",
        json_schema_extra={"pattern": f"^{_AUTHOR.pattern}$"},
    )
    title: str = Field("Update {packages} to {ref}", min_length=1, description="The title of pull requests.")
    waves: dict[str, Count | Share | Literal["rest"] | WaveModel] = Field(
        default_factory=dict,
        description="Names of waves in their order, and the targets of each: 5, 10% or rest, or a mapping with a gate.",
    )
    gate: GateModel = Field(_USUAL_GATE, description="The gate of waves without one.")
    split: Split | None = Field(
        None,
        description="In a working tree, what gets a pull request of its own: each package, or each "
        "top-level directory; by default one pull request has all.",
    )
    draft: bool | None = Field(None, description="Whether pull requests are opened as drafts.")
    labels: list[str] | None = Field(None, description="Labels of new pull requests.")
    reviewers: list[str] | None = Field(
        None, description="Users, and teams like `org/team`, who are asked to review new pull requests."
    )
    assignees: list[str] | None = Field(None, description="Users to whom new pull requests are assigned.")
    maxOpen: Count | None = Field(None, description="The maximum number of open pull requests.")
    perHour: Count = Field(400, description="The maximum number of changes per hour on one host.")

    def to_publishing(self, name: str) -> Publishing:
        """How the results of a campaign of this name are published."""
        waves: list[Wave] = []
        for wave_name, wave in self.waves.items():
            targets, gate = (wave.targets, wave.gate) if isinstance(wave, WaveModel) else (wave, self.gate)
            waves.append(Wave(wave_name, targets, Gate(gate.merged, gate.closed, gate.checks is not None)))
        return Publishing(
            self.branch or f"krm-merge/{name}",
            self.author,
            self.title,
            tuple(waves),
            self.split,
            bool(self.draft),
            Attention(tuple(self.labels or ()), tuple(self.reviewers or ()), tuple(self.assignees or ())),
            self.maxOpen,
            self.perHour,
        )


class MergeCampaign(DocumentModel):
    """One upstream, many packages, one command: all of them take a version."""

    kind: Literal["MergeCampaign"]
    upstream: UpstreamModel = Field(description="The version that all targets are updated to.")
    selection: SelectionModel = Field(
        default_factory=lambda: SelectionModel.model_validate({}), description="Where the targets are."
    )
    policy: CampaignPolicyModel = CampaignPolicyModel(onConflict=None, functionIdentity="smart", listKeys=[])
    message: str = Field(
        "Update {package} to {ref}", min_length=1, description="The message of the commit of each package."
    )
    publish: PublishModel = Field(
        default_factory=lambda: PublishModel.model_validate({}), description="How results are published."
    )


class TargetModel(StrictModel):
    """One target: a directory of the working tree, or a repository."""

    directory: str | None = Field(None, min_length=1, description="The directory, relative to the working tree.")
    repository: str | None = Field(None, min_length=1, description="The address of the repository.")
    branch: str | None = Field(None, description="The branch of the repository; by default its default branch.")
    packages: list[str] = Field(
        default_factory=list,
        description="The packages in it; by default all that follow the upstream.",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.directory is None) == (self.repository is None):
            raise ValueError("give either directory or repository")
        return self


class MergeTargets(DocumentModel):
    """What a campaign is for: found by `krm-merge fleet init`, to be reviewed and edited."""

    kind: Literal["MergeTargets"]
    targets: list[TargetModel] = Field(description="The targets, each with its directory or repository.")


_NOT_COMMITTED = "/cache/\n/ledger.db*\n/lock\n/reports/\n/tmp/\n"

Model = TypeVar("Model", bound=BaseModel)


class CampaignDirectory:
    """The directory in which everything of a campaign lies. It may be removed at any time."""

    def __init__(self, path: Path) -> None:
        """Takes the directory as users name it; nothing is read."""
        self.path = path
        # Workers may have another working directory.
        self._place = path.resolve()
        self.ledger = self._place / "ledger.db"
        self._reports = self._place / "reports"
        self.cache = self._place / "cache"
        self.temporary = self._place / "tmp"

    def report_of(self, target: CampaignTarget) -> Path:
        """The text of the pull request of a target."""
        return self._reports / f"{target.id}.md"

    # ---- what users edit -----------------------------------------------------------------------------------------

    def read(self) -> Campaign:
        """The campaign. Raises PackageError naming all that is wrong."""
        model = self._read(CAMPAIGN_FILE, MergeCampaign)
        targets = self._read(TARGETS_FILE, MergeTargets)
        policy_text = read_file(self.path / POLICY_FILE).data if (self.path / POLICY_FILE).is_file() else b""
        policy, exceptions = self._policy() if policy_text else (NO_POLICY, ())
        tree = model.selection.workingTree
        name = str(model.metadata.get("name", self._place.name))
        return Campaign(
            name=name,
            upstream=CampaignUpstream(
                take_credentials(model.upstream.repo), model.upstream.directory, model.upstream.ref
            ),
            working_tree="" if tree is None else os.path.normpath(self._place / tree),
            on_conflict=model.policy.onConflict,
            smart=model.policy.functionIdentity == "smart",
            list_keys=list_keys_of(model.policy.listKeys),
            message=model.message,
            publishing=model.publish.to_publishing(name),
            targets=self._targets(targets, tree),
            policy=policy,
            exceptions=exceptions,
            policy_text=policy_text,
        )

    def write(self, campaign: MergeCampaign, targets: list[CampaignTarget]) -> None:
        """Writes a new campaign. Raises PackageError where there is one already."""
        if (self.path / CAMPAIGN_FILE).exists():
            raise PackageError(f"{self.path / CAMPAIGN_FILE} already exists; choose another directory, or remove it")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PackageError(f"{self.path}: {reason(error)}") from None
        self._write(CAMPAIGN_FILE, campaign.model_dump(by_alias=True, exclude_none=True))
        head: Object = {"apiVersion": campaign.apiVersion, "kind": "MergeTargets", "metadata": campaign.metadata}
        self._write(TARGETS_FILE, head | {"targets": [_as_value(target) for target in targets]})
        write_file(self.path / ".gitignore", File(_NOT_COMMITTED.encode()))

    def _read(self, name: str, model: type[Model]) -> Model:
        place = self.path / name
        if not place.is_file():
            raise PackageError(f"{place}: there is no such file; `krm-merge fleet init` makes a campaign")
        try:
            root = read(read_file(place).data.decode("utf-8"))
        except (UnicodeDecodeError, TextError) as error:
            raise PackageError(f"{place}: {error}") from None
        checked, problems = check(model, to_value(root) if isinstance(root, MappingNode) else {})
        if checked is None:
            raise PackageError(f"{place}: {'; '.join(f'{path}{problem}' for path, problem in problems)}")
        return checked

    def _policy(self) -> tuple[PackagePolicy, tuple[PackageChoice, ...]]:
        """The choices for all packages, and those for some."""
        model = self._read(POLICY_FILE, MergePolicy)
        everything = policy_from_model(model, POLICY_FILE)
        pairs = list(zip(everything.resolutions.all, model.resolutions, strict=True))
        for_all = Resolutions(resolution for resolution, choice in pairs if choice.packages is None)
        exceptions = (
            PackageChoice.of(choice.packages, resolution) for resolution, choice in pairs if choice.packages is not None
        )
        return replace(everything, resolutions=for_all), tuple(exceptions)

    def _targets(self, model: MergeTargets, tree: str | None) -> dict[str, CampaignTarget]:
        targets: dict[str, CampaignTarget] = {}
        for number, entry in enumerate(model.targets):
            place = f"{self.path / TARGETS_FILE}: targets[{number}]"
            target = _target(entry)
            if not target.is_repository and tree is None:
                raise PackageError(f"{place} is a directory, and selection.workingTree in {CAMPAIGN_FILE} is missing")
            if any(part == ".." for name in (entry.directory or "", *entry.packages) for part in name.split("/")):
                raise PackageError(f"{place} is outside the working tree")
            if target.name in targets:
                raise PackageError(f"{place}: {target.name} appears twice; remove one of them")
            targets[target.name] = target
        return targets

    def _write(self, name: str, value: Object) -> None:
        write_file(self.path / name, File(written(from_value(value)).encode()))

    # ---- while something is done ---------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Meanwhile no other process works on the campaign. Raises UnavailableError naming the one that does."""
        fcntl = file_locks()
        place = self.path / "lock"
        with place.open("a+") as handle:
            if not locked_soon(handle.fileno(), fcntl):
                handle.seek(0)
                raise UnavailableError(f"{self.path}: {_holder(handle.read())}; wait until it ends")
            try:
                handle.truncate(0)
                json.dump({"process": os.getpid(), "host": socket.gethostname()}, handle)
                handle.flush()
                # What a killed run left is removed.
                shutil.rmtree(self.temporary, ignore_errors=True)
                for folder in (self.temporary, self._reports, self.cache):
                    folder.mkdir(exist_ok=True)
            except OSError as error:
                raise UnavailableError(f"{self.path}: {reason(error)}; nothing was changed") from None
            try:
                yield
            finally:
                shutil.rmtree(self.temporary, ignore_errors=True)
                handle.truncate(0)


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['process']} on {holder['host']} is working on this campaign"
    except (ValueError, KeyError, TypeError):
        return "another process is working on this campaign"


def _target(model: TargetModel) -> CampaignTarget:
    name = (
        take_credentials(model.repository) if model.repository is not None else os.path.normpath(model.directory or ".")
    )
    is_repository = model.repository is not None
    packages = tuple(os.path.normpath(package) if package else "" for package in model.packages)
    packages = tuple("" if package == "." else package for package in packages)
    return CampaignTarget(name, is_repository, packages or (() if is_repository else ("",)), model.branch or "")


def _as_value(target: CampaignTarget) -> dict[str, Value]:
    value: dict[str, Value] = {"repository" if target.is_repository else "directory": target.name}
    if target.branch:
        value["branch"] = target.branch
    if target.packages not in ((), ("",)):
        value["packages"] = [package or "." for package in target.packages]
    return value
