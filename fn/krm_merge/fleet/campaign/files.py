"""The directory of a campaign: reads and writes the files in it. The edge to the disk."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from krm_merge.fleet.campaign.campaign import (
    CAMPAIGN_FILE,
    POLICY_FILE,
    TARGETS_FILE,
    Campaign,
    CampaignTarget,
    CampaignUpstream,
    Gate,
    PackageChoice,
    Publishing,
    Wave,
)
from krm_merge.fleet.campaign.models import GateModel, MergeCampaign, MergeTargets, TargetModel, WaveModel
from krm_merge.git.credentials import take_credentials
from krm_merge.krm.validation import check
from krm_merge.merge.decisions.resolution import Resolutions
from krm_merge.packages.files.directory import PackageError, UnavailableError, read_file, reason
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.policy import NO_POLICY, PackagePolicy, policy_from_model
from krm_merge.policy.models import MergePolicy, list_keys_of
from krm_merge.posix import file_locks, locked_soon
from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import Value, from_value, to_value

_NOT_COMMITTED = "/.policy.yaml.choices.krm-merge\n/cache/\n/ledger.db*\n/lock\n/reports/\n/tmp/\n"

Model = TypeVar("Model", bound=BaseModel)


class CampaignDirectory:
    """The directory in which everything of a campaign lies. It may be removed at any time."""

    def __init__(self, path: Path) -> None:
        """Takes the directory as users name it; nothing is read."""
        self.path = path
        # Workers may have another working directory.
        self._place = path.resolve()
        self.ledger = self._place / "ledger.db"
        self.reports = self._place / "reports"
        self.cache = self._place / "cache"
        self.temporary = self._place / "tmp"

    # ---- what users edit -----------------------------------------------------------------------------------------

    def read(self) -> Campaign:
        """The campaign. Raises PackageError naming all that is wrong."""
        model = self._read(CAMPAIGN_FILE, MergeCampaign)
        targets = self._read(TARGETS_FILE, MergeTargets)
        policy_text = read_file(self.path / POLICY_FILE).data if (self.path / POLICY_FILE).is_file() else b""
        policy, exceptions = self._policy() if policy_text else (NO_POLICY, ())
        tree = model.selection.workingTree
        return Campaign(
            name=str(model.metadata.get("name", self._place.name)),
            upstream=CampaignUpstream(
                take_credentials(model.upstream.repo), model.upstream.directory, model.upstream.ref
            ),
            working_tree="" if tree is None else os.path.normpath(self._place / tree),
            from_=model.selection.from_ or "",
            on_conflict=model.policy.onConflict,
            smart=model.policy.functionIdentity == "smart",
            list_keys=list_keys_of(model.policy.listKeys),
            message=model.message,
            publishing=_publishing(model),
            targets=self._targets(targets, tree),
            policy=policy,
            exceptions=exceptions,
            policy_text=policy_text,
        )

    def write(self, campaign: MergeCampaign, targets: list[CampaignTarget]) -> None:
        """Writes a new campaign. Raises PackageError where there is one already."""
        if (self.path / CAMPAIGN_FILE).exists():
            raise PackageError(f"{self.path / CAMPAIGN_FILE} is there already; name another directory, or remove it")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PackageError(f"{self.path}: {reason(error)}") from None
        self._write(CAMPAIGN_FILE, campaign.model_dump(by_alias=True, exclude_none=True))
        head: dict[str, Value] = {
            "apiVersion": campaign.apiVersion,
            "kind": "MergeTargets",
            "metadata": campaign.metadata,
        }
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
        value = to_value(root) if isinstance(root, MappingNode) else {}
        assert isinstance(value, dict)
        checked, problems = check(model, value)
        if checked is None:
            raise PackageError(f"{place}: {'; '.join(f'{path}{problem}' for path, problem in problems)}")
        return checked

    def _policy(self) -> tuple[PackagePolicy, tuple[PackageChoice, ...]]:
        model = self._read(POLICY_FILE, MergePolicy)
        return _split(policy_from_model(model, POLICY_FILE), model)

    def _targets(self, model: MergeTargets, tree: str | None) -> dict[str, CampaignTarget]:
        found: dict[str, CampaignTarget] = {}
        for number, one in enumerate(model.targets):
            place = f"{self.path / TARGETS_FILE}: targets[{number}]"
            target = _target(one)
            if not target.is_repository and tree is None:
                raise PackageError(f"{place} is a directory, and selection.workingTree in {CAMPAIGN_FILE} is missing")
            if any(part == ".." for name in (one.directory or "", *one.packages) for part in name.split("/")):
                raise PackageError(f"{place} leads out of the working tree")
            if target.name in found:
                raise PackageError(f"{place}: {target.name} is there twice; remove one of them")
            found[target.name] = target
        return found

    def _write(self, name: str, value: Value) -> None:
        root = from_value(value)
        assert isinstance(root, MappingNode)
        write_file(self.path / name, File(written(root).encode()))

    # ---- while something is done ---------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Meanwhile no other process works on the campaign. Raises UnavailableError naming the one that does."""
        fcntl = file_locks()
        place = self.path / "lock"
        with place.open("a+") as handle:
            if not locked_soon(handle.fileno(), fcntl):
                handle.seek(0)
                raise UnavailableError(f"{self.path}: {_holder(handle.read())}; wait for its end")
            try:
                handle.truncate(0)
                json.dump({"process": os.getpid(), "host": socket.gethostname()}, handle)
                handle.flush()
                self._prepare()
            except OSError as error:
                raise UnavailableError(f"{self.path}: {reason(error)}; nothing was changed") from None
            try:
                yield
            finally:
                shutil.rmtree(self.temporary, ignore_errors=True)
                handle.truncate(0)

    def _prepare(self) -> None:
        """What a killed run left is removed."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        for folder in (self.temporary, self.reports, self.cache):
            folder.mkdir(exist_ok=True)


def _holder(text: str) -> str:
    try:
        found = json.loads(text)
        return f"process {found['process']} on {found['host']} is at work on this campaign"
    except (ValueError, KeyError, TypeError):
        return "another process is at work on this campaign"


def _split(everything: PackagePolicy, model: MergePolicy) -> tuple[PackagePolicy, tuple[PackageChoice, ...]]:
    """The choices for all packages, and those for some."""
    pairs = list(zip(everything.resolutions.all, model.resolutions, strict=True))
    for_all = Resolutions(resolution for resolution, given in pairs if given.packages is None)
    exceptions = (
        PackageChoice.of(given.packages, resolution) for resolution, given in pairs if given.packages is not None
    )
    return replace(everything, resolutions=for_all), tuple(exceptions)


def _publishing(model: MergeCampaign) -> Publishing:
    given = model.publish
    return Publishing(
        branch=given.branch,
        author=given.author,
        title=given.title,
        waves=tuple(_wave(name, one, given.gate) for name, one in given.waves.items()),
        max_open=given.maxOpen,
        per_hour=given.perHour,
    )


def _wave(name: str, given: int | str | WaveModel, usual: GateModel) -> Wave:
    size, its_gate = (given.targets, given.gate) if isinstance(given, WaveModel) else (given, usual)
    gate = Gate(int(its_gate.merged.rstrip("%")), its_gate.closed)
    if isinstance(size, int):
        return Wave(name, count=size, gate=gate)
    return Wave(name, gate=gate) if size == "rest" else Wave(name, percent=int(size.rstrip("%")), gate=gate)


def _target(model: TargetModel) -> CampaignTarget:
    name = (
        take_credentials(model.repository) if model.repository is not None else os.path.normpath(model.directory or ".")
    )
    is_repository = model.repository is not None
    packages = tuple(os.path.normpath(package) if package else "" for package in model.packages)
    packages = tuple("" if package == "." else package for package in packages)
    return CampaignTarget(
        name, is_repository, packages or (() if is_repository else ("",)), model.branch or "", model.at or ""
    )


def _as_value(target: CampaignTarget) -> dict[str, Value]:
    value: dict[str, Value] = {"repository" if target.is_repository else "directory": target.name}
    if target.branch:
        value["branch"] = target.branch
    if target.packages not in ((), ("",)):
        value["packages"] = [package or "." for package in target.packages]
    return value | {"at": target.at} if target.at else value
