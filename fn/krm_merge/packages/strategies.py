"""The ways to take a new version of upstream, by kpt's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import Final

from krm_merge.krm.identity import KPTFILE
from krm_merge.krm.result import Result, Results
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import File, Tree, is_kptfile
from krm_merge.packages.kptfile import STRATEGIES, upstream_of
from krm_merge.packages.merge.local_changes import local_changes
from krm_merge.packages.merge.origin import attribution_in, noted
from krm_merge.packages.merge.trees import MergedTree, merge_trees, refuse_clash
from krm_merge.startup import replace

_SHOWN = 10


def resource_merge(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """The three-way merge of all resources and files."""
    return merge_trees(original, upstream, local, merge, notes_origin=True)


def fast_forward(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Takes upstream's files for a package without local changes; refuses any other package."""
    changed = local_changes(original, _without_own_packages(original, local))
    if not changed:
        return resource_merge(original, upstream, local, merge)
    results = Results()
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    results.error(
        f"local changes in {', '.join(changed[:_SHOWN])}{more}; fast-forward takes none, update with --strategy "
        "resource-merge to keep them",
        file=changed[0],
    )
    return MergedTree({}, results)


def force_delete_replace(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Upstream's package in place of local's; only the root's Kptfile is merged."""
    rest = _without_own_packages(original, local)
    return _replaced(original, upstream, local, merge, [path for path in rest if path not in upstream])


def copy_merge(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Upstream's files in place of local's of those names; the root's Kptfile is merged, local's own files stay."""
    rest = _without_own_packages(original, local)
    gone = [path for path in original if path not in upstream and path in rest]
    return _replaced(original, upstream, local, merge, gone)


BY_NAME: Final[Mapping[str, Callable[[Tree, Tree, Tree, PackageMerger], MergedTree]]] = dict(
    zip(STRATEGIES, (resource_merge, fast_forward, force_delete_replace, copy_merge), strict=True)
)


def _replaced(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger, gone: list[str]) -> MergedTree:
    merged = merge_trees(_only_kptfile(original), _only_kptfile(upstream), _only_kptfile(local), merge)
    changes: dict[str, File | None] = {path: None for path in gone if path != KPTFILE}
    own, attribution = _own_packages(original, local), attribution_in(local)
    for path, file in upstream.items():
        if own and path.startswith(own):
            message = f"{path}: stays out; local has a package with an upstream of its own there"
            merged.results.warning(message, file=path, rule="R3", tags={"side": "upstream"})
        elif path != KPTFILE and (marked := noted(path, file, attribution)) != local.get(path):
            changes[path] = marked
    lost = set(local_changes(original, local))
    # Whoever asks for this strategy has decided, unless conflicts are to fail.
    policy = replace(merge.policy, on_conflict="upstream", stops=False) if merge.policy.stops else merge.policy
    decided: list[FileDecision] = []
    for path, new in changes.items():
        did = "deleted" if new is None else "replaced by upstream's" if path in local else "added, as upstream has it"
        versions = (original.get(path), upstream.get(path), local.get(path), new)
        before, theirs, ours, after = (None if file is None else file.data for file in versions)
        if path in lost and path in local:
            # Law F: asked for, but on record.
            message, severity = policy.explanation((), "local changed it", f"it is {did}"), policy.severity(())
            merged.results.add(Result(severity, f"{path}: {message}", file=path, rule="F", tags={"side": "both"}))
            decided.append(FileDecision(path, "F", message, "both", severity, before, theirs, ours, after))
        else:
            merged.results.info(f"{path}: {did}", file=path)
            decided.append(FileDecision(path, "F", did, "upstream", "info", before, theirs, ours, after))
    changes |= merged.changes
    refuse_clash(local, changes, merged.results)
    all_decided = replace(merged.decided, files=[*merged.decided.files, *decided])
    return MergedTree({} if merged.results.errors else changes, merged.results, merged.reached, all_decided)


def _without_own_packages(original: Tree, local: Tree) -> Tree:
    """Local's files without the packages inside that follow an upstream of their own, which the original has not."""
    own = _own_packages(original, local)
    return {path: local[path] for path in local if not path.startswith(own)} if own else local


def _own_packages(original: Tree, local: Tree) -> tuple[str, ...]:
    inside = (path for path in local if is_kptfile(path) and path != KPTFILE and path not in original)
    return tuple(f"{dirname(path)}/" for path in inside if upstream_of(local[path].data) is not None)


def _only_kptfile(tree: Tree) -> Tree:
    return {KPTFILE: tree[KPTFILE]} if KPTFILE in tree else {}
