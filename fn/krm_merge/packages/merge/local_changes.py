"""Local's changes of a package since it was fetched."""

from __future__ import annotations

from krm_merge.krm.identity import KPTFILE
from krm_merge.merge.decisions.member import Member
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.attribution import with_attribution
from krm_merge.merge.package.folders import Folders
from krm_merge.merge.package.merger import PackageMerger, essence
from krm_merge.merge.package.resources import match_resources
from krm_merge.packages.files.tree import Tree, holds_resources
from krm_merge.packages.merge.side import PackageVersion
from krm_merge.schema import KptfileSchema
from krm_merge.schema.builtin import any_object_schema


def local_changes(original: Tree, local: Tree) -> list[str]:
    """The files that differ in the value of a resource, in which resources there are, or in what other files hold.

    Comments and layout do not count, nor what stays local in any case (K1, R6).
    """
    sides = PackageVersion("original", original), PackageVersion("local", local)
    kptfiles = [side.kptfiles() for side in sides]
    folders = Folders(PackageMerger(Policy()).kptfiles(kptfiles[0], kptfiles[0], kptfiles[1]), Policy())
    members = [[d.member() for d in side.resources(folders)] for side in sides]
    before, ours = ([m for m in side if m is not None] for side in members)
    pairs = [(triple[0], triple[2]) for triple in match_resources(before, before, ours, folders).triples]
    pairs += _by_place(*kptfiles)
    changed = {member.place for pair in pairs if _differ(*pair) for member in pair if member is not None}
    for path in {**original, **local}:
        is_other = not holds_resources(path) or any(path in side.unreadable for side in sides)
        if is_other and original.get(path) != local.get(path):
            changed.add(path)
    return sorted(changed)


def _by_place(original: list[Member], local: list[Member]) -> list[tuple[Member | None, Member | None]]:
    before, ours = ({member.place: member for member in side} for side in (original, local))
    return [(before.get(place), ours.get(place)) for place in {**before, **ours}]


def _differ(original: Member | None, local: Member | None) -> bool:
    if original is None or local is None:
        # A package without a Kptfile upstream gets one when it is fetched.
        return not (local is not None and local.place == KPTFILE)
    before = with_attribution(original, local) or original
    schema = KptfileSchema(root=local.place == KPTFILE) if local.is_kptfile else any_object_schema()
    return essence(schema, before.root) != essence(schema, local.root)
