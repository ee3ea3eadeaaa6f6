"""The merge of the packages of one target with the campaign's upstream, by the policies of both. Nothing is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import join

from krm_merge.fleet.campaign import Campaign, folder_of
from krm_merge.fleet.job import LEFT_ALONE, Settings, TargetConflict, TargetOutcome, TargetState
from krm_merge.forges.interface import same_repository
from krm_merge.functions import read_pipeline
from krm_merge.krm import covers, parse_path
from krm_merge.merge import PackageMerger, Policy, Resolution, Resolutions, Rule
from krm_merge.packages import (
    Changed,
    Changes,
    CommonTree,
    GitRepositories,
    Subtree,
    Tree,
    Version,
)
from krm_merge.policy import PackagePolicy, combine, find_policy
from krm_merge.report import DecisionRecord, MergeReport, RecordedSide
from krm_merge.report import render as as_markdown
from krm_merge.safe_text import abridge
from krm_merge.usecases import Outcome, PackageUpdate


def policy_for(campaign: Campaign, package: PackagePolicy, name: str) -> Policy:
    """How the conflicts of a package are settled: by its own choices, then by the campaign's for it, then for all.

    What none of them settles leaves the package as it is.
    """
    ours = campaign.policy
    exceptions = [exception.resolution for exception in campaign.exceptions if exception.is_for(name)]
    everything = PackagePolicy(
        package.on_conflict or ours.on_conflict,
        (*package.rules, *ours.rules),
        Resolutions((*package.resolutions.all, *exceptions, *ours.resolutions.all)),
        package.file,
        package.root,
    )
    return combine(campaign.on_conflict, (), everything, stops=True)


def choices_digest(campaign: Campaign, target: str, conflicts: Iterable[TargetConflict]) -> str:
    """What the campaign says of these conflicts of a target: where that changes, the target is merged again."""
    touching: list[object] = []
    policy = campaign.policy
    for conflict in conflicts:
        touching.append(conflict.record.fingerprint)
        package = join(target, conflict.package).rstrip("/")
        exceptions = [exception.resolution for exception in campaign.exceptions if exception.is_for(package)]
        chosen = [resolution for resolution in (*exceptions, *policy.resolutions.all) if _is_for(resolution, conflict)]
        if chosen:
            # Of several, the one for this very resource comes first. What comes after a choice does not matter.
            touching.append(_choice(min(chosen, key=lambda resolution: resolution.identity is None)))
            continue
        touching += [(rule.on_conflict, rule.on_delete) for rule in policy.rules if _selects(rule, conflict)]
        touching.append((campaign.on_conflict, policy.on_conflict))
    return hashlib.sha256(repr(touching).encode()).hexdigest()[:16] if touching else ""


def _is_for(resolution: Resolution, conflict: TargetConflict) -> bool:
    same = resolution.fingerprint == conflict.record.fingerprint
    return same and (resolution.identity is None or resolution.identity == conflict.resource.identity)


def _selects(rule: Rule, conflict: TargetConflict) -> bool:
    path = parse_path(conflict.record.path) if conflict.record.path else ()
    return rule.selects(conflict.resource.identity) and (rule.path is None or covers(rule.path, path))


def _choice(resolution: Resolution) -> tuple[object, ...]:
    return (resolution.fingerprint, str(resolution.identity), resolution.choice, repr(resolution.value))


class CampaignRepositories:
    """Repositories of which one is the campaign's upstream: however it is spelt, it is asked for once.

    Packages inside that follow something else are updated from there, as `update` does.
    """

    def __init__(self, settings: Settings) -> None:
        """Copies of repositories are in the campaign's cache."""
        self._upstream = settings.campaign.upstream
        self._same = same_repository(self._upstream.repository)
        self._commit = settings.commit
        self._trees: dict[tuple[str, str, str], CommonTree] = {}
        self._fetched: set[tuple[str, tuple[str, ...]]] = set()
        self._repositories = GitRepositories(Path(settings.cache))

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit that a ref names; of the campaign's version the one that was found when the run began."""
        is_same = ref == self._upstream.ref and folder_of(directory) == self._upstream.folder
        if is_same and self._is_ours(repository):
            return Version(ref, self._commit)
        return self._repositories.resolve(self._address(repository), directory, ref)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        """Prepares for `tree` of several commits, once."""
        request = (self._address(repository), tuple(commits))
        if request not in self._fetched:
            self._repositories.fetch(*request)
            self._fetched.add(request)

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit, whose resources are read once."""
        key = (self._address(repository), directory, commit)
        if key not in self._trees:
            self._trees[key] = CommonTree(self._repositories.tree(*key))
        return self._trees[key]

    def _is_ours(self, repository: str) -> bool:
        return same_repository(repository) == self._same

    def _address(self, repository: str) -> str:
        return self._upstream.repository if self._is_ours(repository) else repository


@dataclass(frozen=True, slots=True)
class TargetPackage:
    """One package of a target that was merged: its directory in the target, and the outcome."""

    package: str
    outcome: Outcome

    @property
    def changes(self) -> Changes:
        """What becomes of its files, by their paths in the target."""
        return {join(self.package, path): file for path, file in self.outcome.changes.items()}

    def report(self, name: str, records: Sequence[DecisionRecord]) -> MergeReport:
        """The report of this package."""
        sides = {**self.outcome.sides, "local": RecordedSide(name)}
        ordered: dict[str, RecordedSide] = {
            side: sides[side] for side in ("original", "local", "upstream") if side in sides
        }
        return MergeReport(name, ordered, records, self.outcome.files, self.outcome.results)


class Merging:
    """Merges as one campaign wants it."""

    def __init__(self, settings: Settings) -> None:
        """Reads upstream's trees when they are needed, and each of them once."""
        self.settings = settings
        self._repositories = CampaignRepositories(settings)

    def merge(self, base: Tree, target: str, packages: Iterable[str]) -> list[TargetPackage]:
        """The packages of a target one after the other, each with what was merged before. Raises KrmMergeError."""
        done: list[TargetPackage] = []
        tree = base
        for package in packages:
            local = Subtree(tree, package) if package else tree
            merged = TargetPackage(package, self._outcome_of(local, join(target, package) if package else target))
            tree = Changed(tree, merged.changes) if merged.outcome.changes else tree
            done.append(merged)
        return done

    def _outcome_of(self, local: Tree, name: str) -> Outcome:
        campaign = self.settings.campaign
        policy = policy_for(campaign, find_policy(local), name)
        sides = PackageUpdate(local, self._repositories, name, campaign.upstream.ref)
        return sides.merge(
            PackageMerger(policy, campaign.smart, list_keys=campaign.list_keys, read_pipeline=read_pipeline)
        )

    def outcome(self, target: str, merged: Sequence[TargetPackage], *, with_body: bool = False) -> TargetOutcome:
        """What became of a target; `with_body` writes the text of a pull request."""
        pairs = [(package, package.outcome.records()) for package in merged]
        conflicts = [conflict for package, records in pairs for conflict in _conflicts_in(package.package, records)]
        state = _state_of(merged, conflicts)
        reports = [package.report(join(target, package.package).rstrip("/"), records) for package, records in pairs]
        return TargetOutcome(
            target=target,
            state=state,
            message=abridge([error.message for package in merged for error in package.outcome.results.errors], 1),
            files=0 if state in LEFT_ALONE else sum(len(package.outcome.changes) for package in merged),
            packages=tuple(package.package for package in merged),
            conflicts=tuple(conflicts),
            body="\n".join(map(as_markdown, reports)) if with_body else "",
        )


def after(base: Tree, merged: Iterable[TargetPackage]) -> Tree:
    """A target with all of its packages merged."""
    together = {path: file for package in merged for path, file in package.changes.items()}
    return Changed(base, together) if together else base


def _state_of(merged: Sequence[TargetPackage], conflicts: Sequence[TargetConflict]) -> TargetState:
    """What became of a target. A conflict that a rule, a choice or the policy settled needs nobody's attention."""
    if any(conflict.record.status == "open" for conflict in conflicts):
        return "conflicts"
    if any(package.outcome.is_refused for package in merged):
        return "refused"
    return "clean" if any(package.outcome.changes for package in merged) else "unchanged"


def _conflicts_in(package: str, records: Sequence[DecisionRecord]) -> list[TargetConflict]:
    """The conflicts among records, settled or not. What nobody can choose and nothing waits for is none."""
    return [
        TargetConflict(package, record)
        for record in records
        if record.status == "open" or (record.choices and record.status != "automatic")
    ]
