"""Merges packages from Python: `krm_merge.merge_packages`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from krm_merge.errors import KrmMergeError
from krm_merge.krm.validation import check
from krm_merge.merge.decisions.policy import OnConflict
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Tree, leads_out
from krm_merge.packages.merge.trees import merge_trees
from krm_merge.policy import combine, find_policy, parse_policy
from krm_merge.policy.models import MergeRules, list_keys_of, rules_of
from krm_merge.report.reading import records_of
from krm_merge.report.record import DecisionRecord

_CHOICES = {"on_conflict": ("upstream", "local", "fail"), "function_identity": ("document", "smart")}


@dataclass(frozen=True, slots=True)
class MergedPackage:
    """A merged package.

    `files` are all of its files. `changes` are the differences to local: the new content by path, None for a deleted
    file. With `on_conflict="fail"` a conflict means that nothing changes; the records of conflicts are then open.
    """

    files: Mapping[str, bytes]
    changes: Mapping[str, bytes | None]
    records: Sequence[DecisionRecord]

    @property
    def has_conflicts(self) -> bool:
        """Whether both sides changed something differently, settled or not."""
        return any(record.status != "automatic" for record in self.records)


def merge_packages(
    original: Mapping[str, bytes],
    upstream: Mapping[str, bytes],
    local: Mapping[str, bytes],
    *,
    on_conflict: OnConflict = "upstream",
    rules: Sequence[Mapping[str, Any]] = (),
    list_keys: Sequence[Mapping[str, Any]] = (),
    function_identity: Literal["document", "smart"] = "smart",
    policy: Mapping[str, Any] | None = None,
) -> MergedPackage:
    """Merges the changes between original and upstream into local.

    Each side maps the paths of a package's files, relative and with slashes, to their contents. `rules` and `list_keys`
    are plain values as in a functionConfig. `policy` is a MergePolicy as a plain value, by default the one in local's
    root folder. Its choices and rules come first; its `onConflict` counts if `on_conflict` is "upstream". Raises
    KrmMergeError with all problems if an argument is invalid, or if the merge would not give a valid package.
    """
    trees = [_tree(name, side) for name, side in (("original", original), ("upstream", upstream), ("local", local))]
    for name, value in (("on_conflict", on_conflict), ("function_identity", function_identity)):
        if value not in _CHOICES[name]:
            raise KrmMergeError(f"{name} is {value!r}; expected one of {', '.join(_CHOICES[name])}")
    checked, problems = check(MergeRules, {"rules": [dict(r) for r in rules], "listKeys": [dict(k) for k in list_keys]})
    if checked is None:
        raise KrmMergeError("; ".join(f"{path}{problem}" for path, problem in problems))
    package = find_policy(trees[2]) if policy is None else parse_policy(dict(policy), "policy")
    obeyed = combine(None if on_conflict == "upstream" else on_conflict, rules_of(checked.rules), package)
    merger = PackageMerger(obeyed, function_identity == "smart", list_keys=list_keys_of(checked.listKeys))
    merged = merge_trees(trees[0], trees[1], trees[2], merger)
    records = records_of([merged.decided], obeyed)
    if merged.results.errors and not any(record.status == "open" for record in records):
        raise KrmMergeError("; ".join(error.message for error in merged.results.errors))
    return MergedPackage(
        {path: file.data for path, file in Changed(trees[2], merged.changes).items()},
        {path: None if file is None else file.data for path, file in merged.changes.items()},
        records,
    )


def _tree(name: str, side: Mapping[str, bytes]) -> Tree:
    for path, data in side.items():
        if leads_out(path):
            raise KrmMergeError(f"{name}: {path!r} is not the path of a file in a package; give a relative path")
        if not isinstance(data, bytes):
            raise KrmMergeError(f"{name}: {path}: bytes are expected, not {type(data).__name__}")
    return {path: File(data) for path, data in side.items()}
