"""Mistakes in the MergePolicy of a package: rules and choices for what is not there."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.checks.problem import PackageProblem, line_of
from krm_merge.krm.fieldpath import format_path
from krm_merge.merge.decisions.policy import Rule
from krm_merge.merge.decisions.resolution import Resolution
from krm_merge.merge.package.reach import reaches
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.merge.side import PackageVersion
from krm_merge.policy import PackagePolicy
from krm_merge.text.reading.values import to_value


def policy_problems(tree: Tree, policy: PackagePolicy) -> Iterator[PackageProblem]:
    """What is wrong in a policy that can be read. Whether a choice fits an update, only the update shows (M5)."""
    if policy.root is None:
        return
    members = PackageVersion("local", tree).members()
    identities = {member.identity for member in members}
    hides = [
        Rule(one.group, one.kind, one.namespace, one.name, one.path, place=f"redact[{number}]")
        for number, one in enumerate(policy.redactions)
        # Without a resource, it may be about files that hold none.
        if any(name is not None for name in (one.group, one.kind, one.namespace, one.name))
    ]
    for rule in (*policy.rules, *hides):
        if not reaches(rule, members):
            place = _in_file(rule.place, policy)
            message = f"{place}: matches nothing in the package; check its kind, name and path"
            yield PackageProblem(policy.file, message, line_of(policy.root, place))
    for resolution in policy.resolutions.all:
        # A choice between keeping and deleting a resource holds for one that is not there any more.
        is_deletion = resolution.nature == "resource" and not resolution.path
        if resolution.identity is not None and resolution.identity not in identities and not is_deletion:
            place = _in_file(resolution.place, policy)
            message = f"{place}: {place_of(resolution)}: the package has no such resource"
            message += "; `krm-merge policy prune` removes it"
            yield PackageProblem(policy.file, message, line_of(policy.root, place))
    if "config.kubernetes.io/local-config" not in str(to_value(policy.root.get("metadata"))):
        note = 'metadata.annotations: {config.kubernetes.io/local-config: "true"}'
        yield PackageProblem(policy.file, f"add {note}, so that it is not applied to a cluster")


def _in_file(place: str, policy: PackagePolicy) -> str:
    return place.removeprefix(policy.file).strip()


def place_of(resolution: Resolution) -> str:
    """The conflict that a choice is for, as people name it."""
    named = resolution.identity
    about = "any resource"
    if named is not None:
        about = " ".join(part for part in (named.kind, named.namespace, named.name) if part)
    path = format_path(resolution.path) if resolution.path else "as a whole"
    return f"{about} {path} ({resolution.nature})"
