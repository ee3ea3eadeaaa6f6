"""An update by the real kpt beside ours, both on copies. Edges: kpt, git, the repositories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from posixpath import join
from typing import TypeAlias

from krm_merge.krm import format_path, parse_path
from krm_merge.merge import PackageMerger, Policy, Rule
from krm_merge.packages import File, RefusedError, Tree, git_difference, merge_trees, updated_by_kpt
from krm_merge.policy import find_policy
from krm_merge.report import ComparedPlace, Comparison, DecisionRecord, SideName, VersionName, records_of
from krm_merge.schema import is_secret_file
from krm_merge.text import Value
from krm_merge.usecases.merging import MergeChoices, Outcome, PackageUpdate

_ALL_TAKEN = Policy(rules=(Rule(on_delete="upstream"),))
"""Whatever upstream changed is taken, removals too."""

_Subject: TypeAlias = tuple[str, str, str]
"""File, resource and path."""


def compare_with_kpt(place: Path, update: PackageUpdate) -> Comparison:
    """Compares an update of the package in a place by kpt with ours; where ours asks, local's way is compared.

    Raises KrmMergeError, where kpt is missing, too.
    """
    local = update.local
    choices = MergeChoices("markers", smart=True, package=find_policy(local))
    outcome = update.merge(choices.merger_under(choices.policy_won_by("local")))
    if errors := outcome.results.errors:
        raise RefusedError(f"{place}: krm-merge refuses the update: {'; '.join(error.message for error in errors)}")
    records = records_of(outcome.decided, choices.policy, left_open=True)
    asked = {_subject(record): record for record in records if record.status == "open"}
    kpt = updated_by_kpt(place, local, ref=update.ref or "", strategy=update.strategy)
    if kpt.refusal:
        return Comparison(package=str(place), refusal=kpt.refusal, places=_places({}, asked))
    original, ours = _original(update, outcome), outcome.tree
    lacking, ours_lacks = (_changes_lacking(tree, original, local, _ALL_TAKEN) for tree in (kpt.tree, ours))
    lost = {subject: record for subject, record in lacking.items() if subject not in ours_lacks}
    differing = [path for path in sorted({*ours, *kpt.tree}) if ours.get(path) != kpt.tree.get(path)]
    hidden = [path for path in differing if _is_secret(path, (ours, kpt.tree))]
    shown = [path for path in differing if path not in hidden]
    before, after = ({path: tree[path] for path in shown if path in tree} for tree in (ours, kpt.tree))
    difference = git_difference(before, after, ("krm-merge", "kpt")).decode("utf-8", "surrogateescape")
    return Comparison(package=str(place), places=_places(lost, asked), difference=difference, hidden=hidden)


def _original(update: PackageUpdate, outcome: Outcome) -> Tree:
    """The files of the versions that the updated packages had."""
    files: dict[str, File] = {}
    for updated in outcome.updated:
        if (lock := updated.before) is not None:
            tree = update.repositories.tree(lock.repository, lock.directory, lock.commit)
            files |= {join(updated.folder, path): file for path, file in tree.items()}
    return files


def _changes_lacking(result: Tree, original: Tree, local: Tree, policy: Policy) -> dict[_Subject, DecisionRecord]:
    """Which of local's changes a result lacks: what a merge would change that took them into it."""
    merged = merge_trees(original, local, result, PackageMerger(policy, smart=True, of_branches=True))
    changed: dict[_Subject, DecisionRecord] = {}
    for record in records_of([merged.decided], policy):
        file, resource, path = subject = _subject(record)
        steps = parse_path(path) if path else ()
        around = (steps[:end] for end in range(len(steps)))
        if record.nature != "comment" and not any((file, resource, format_path(outer)) in changed for outer in around):
            changed[subject] = record
    return changed


def _subject(record: DecisionRecord) -> _Subject:
    return record.file, str(record.resource or ""), record.path


def _places(lost: Mapping[_Subject, DecisionRecord], asked: Mapping[_Subject, DecisionRecord]) -> list[ComparedPlace]:
    places = []
    for subject in sorted({**lost, **asked}):
        records = lost.get(subject), asked.get(subject)
        values: dict[VersionName, Value] = {}
        for record, versions in zip(records, _VERSIONS, strict=True):
            if record is not None:
                values |= {versions[side]: value for side, value in record.values.items() if side in versions}
        file, resource, path = subject
        places.append(
            ComparedPlace(
                file=file,
                resource=resource,
                path=path,
                lost=subject in lost,
                asked=subject in asked,
                redacted=any(record is not None and record.is_redacted for record in records),
                values=values,
            )
        )
    return places


_VERSIONS: tuple[Mapping[SideName, VersionName], Mapping[SideName, VersionName]] = (
    {"result": "local", "local": "kpt"},
    {"upstream": "upstream", "local": "local"},
)
"""The sides of a record: of a lost change, where local's is merged into kpt's result, and of a conflict."""


def _is_secret(path: str, trees: Iterable[Tree]) -> bool:
    return any(path in tree and is_secret_file(tree[path].data) for tree in trees)
