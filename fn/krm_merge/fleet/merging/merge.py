"""The merge of the packages of one target, and its outcome. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import join

from krm_merge.fleet.merging.job import LEFT_ALONE, Outcome, Settings
from krm_merge.fleet.merging.policy import policy_for
from krm_merge.fleet.merging.reading import TargetPackage, conflicts_in, message_of, state_of
from krm_merge.fleet.merging.upstream import CampaignRepositories
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, Changes, Subtree, Tree
from krm_merge.packages.update import update
from krm_merge.policy import find_policy
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.forms.markdown import render as as_markdown


class Merging:
    """Merges as one campaign wants it."""

    def __init__(self, settings: Settings) -> None:
        """Reads upstream's trees when they are needed, and each of them once."""
        self.settings = settings
        self._repositories = CampaignRepositories(settings)

    def merged(self, base: Tree, target: str, packages: Iterable[str]) -> list[TargetPackage]:
        """The packages of a target one after the other, each with what was merged before. Raises KrmMergeError."""
        done: list[TargetPackage] = []
        tree = base
        for package in packages:
            local = Subtree(tree, package) if package else tree
            one = self._merged(local, package, join(target, package) if package else target)
            tree = Changed(tree, _placed(one)) if one.changes else tree
            done.append(one)
        return done

    def _merged(self, local: Tree, package: str, name: str) -> TargetPackage:
        campaign = self.settings.campaign
        policy = policy_for(campaign, find_policy(local), name)
        merger = PackageMerger(policy, campaign.smart, list_keys=campaign.list_keys)
        done = update(local, self._repositories, merger, name=name, ref=campaign.upstream.ref)
        return TargetPackage(package, local, done, policy)

    def outcome(self, target: str, merged: Sequence[TargetPackage], *, with_body: bool = False) -> Outcome:
        """What became of a target; `with_body` writes the text of a pull request."""
        records = [one.records() for one in merged]
        conflicts = [
            conflict
            for one, of_one in zip(merged, records, strict=True)
            for conflict in conflicts_in(one.package, of_one)
        ]
        state = state_of(merged, conflicts)
        is_left = state in LEFT_ALONE
        reports = [
            one.report(join(target, one.package).rstrip("/"), of_one)
            for one, of_one in zip(merged, records, strict=True)
            if conflicts or is_left or with_body
        ]
        return Outcome(
            target=target,
            state=state,
            message=message_of(merged),
            files=0 if is_left else sum(len(one.changes) for one in merged),
            packages=tuple(one.package for one in merged),
            conflicts=tuple(conflicts),
            report="".join(map(as_json, reports)) if conflicts or is_left else "",
            body="\n".join(map(as_markdown, reports)) if with_body else "",
        )


def after(base: Tree, merged: Iterable[TargetPackage]) -> Tree:
    """A target with all of its packages merged."""
    together = {path: file for one in merged for path, file in _placed(one).items()}
    return Changed(base, together) if together else base


def _placed(one: TargetPackage) -> Changes:
    return {join(one.package, path): file for path, file in one.changes.items()}
