"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items. All three are merged as files, as
`krm-merge update` does.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from krm_merge.functions import read_pipeline
from krm_merge.functions.merge_files import ListedPackage, files_of, listed_identity
from krm_merge.functions.merge_settings import FORMS, MergeSettings, fields_of, read_settings
from krm_merge.krm import KPTFILE, PACKAGE_PATH, ResourceList, Result, Results
from krm_merge.merge import (
    NOTHING_DECIDED,
    PackageDecisions,
    PackageMerger,
    Policy,
    WinningSide,
    in_document_order,
    winner_of,
)
from krm_merge.packages import Changes, File, MergedTree, Tree, merge_trees
from krm_merge.safe_text import quantity
from krm_merge.startup import group_by_key, replace

if TYPE_CHECKING:
    from krm_merge.functions.declared_merge import PipelineMerge
    from krm_merge.packages import Lock
    from krm_merge.policy import PackagePolicy

_MERGE_POLICY = b"MergePolicy"


def merge_package(resource_list: ResourceList) -> None:
    """Merges the package and reports its decisions to the results: a summary, then the gravest first.

    A merge that the package declares is made once (K7).
    """
    decided = _merge(resource_list)
    # kpt shows four of them.
    results = sorted(resource_list.results, key=lambda result: _SEVERITIES.index(result.severity))
    summary = _summary(decided)
    resource_list.results = Results()
    for result in [*([] if summary is None else [summary]), *map(_without_resource, results)]:
        resource_list.results.add(result)


_SEVERITIES = ("error", "warning", "info")


def _without_resource(result: Result) -> Result:
    """Leaves the resource out of a message: hosts print it in front."""
    prefix = f"{result.resource}: "
    if result.resource is None or not result.message.startswith(prefix):
        return result
    return replace(result, message=result.message.removeprefix(prefix))


def _summary(decided: PackageDecisions) -> Result | None:
    """How many conflicts there are, and in how many files each side's values are kept; None for less than two."""
    conflicts = [
        (winner_of(decision, outcome), outcome.member.file)
        for outcome in decided.outcomes
        for decision in in_document_order(outcome.decisions, outcome.member.root)
        if decision.is_conflict
    ]
    conflicts += [(winner_of(decision), decision.path) for decision in decided.files if decision.is_conflict]
    if len(conflicts) < 2:
        return None
    files = group_by_key(dict.fromkeys(conflicts))
    counts = (f"{_KEPT[winner]}: {quantity(len(names), 'file')}" for winner, names in files.items())
    return Result("warning", f"{len(conflicts)} conflicts, {', '.join(counts)}")


_KEPT: Final[dict[WinningSide | None, str]] = {
    "upstream": "upstream's kept",
    "local": "local's kept",
    "parts of both": "parts of both kept",
    None: "left open",
}


def _merge(resource_list: ResourceList) -> PackageDecisions:
    """What was decided; nothing where that is not possible, for which there is an error."""
    results = resource_list.results
    if _has_nothing_to_do(resource_list):
        return NOTHING_DECIDED
    declaration = _declaration(resource_list)
    if declaration is not None:
        # Most runs do not pay for this import.
        from krm_merge.functions import declared_merge

        if declared_merge.is_made(declaration, resource_list):
            return NOTHING_DECIDED
    settings = read_settings(resource_list)
    package = _read_package(resource_list, settings)
    if package is None:
        return NOTHING_DECIDED
    sides: list[Tree] = [files_of(side) for side in (package.original, package.upstream)]
    local = files_of(package.local)
    if declaration is not None:
        sides = [declared_merge.with_declaration(declaration, side, local) for side in sides]
    of_package, policy = _read_policies(local, settings)
    merger = PackageMerger(policy, smart=settings.smart, list_keys=settings.list_keys, read_pipeline=read_pipeline)
    merged = merge_trees(sides[0], sides[1], local, merger)
    _report(merged, package, settings, of_package, results)
    if results.errors:
        return merged.decided
    changes = merged.changes
    if settings.lock is not None:
        changes = _follow_upstream(local, changes, settings.lock, results)
    changed = package.write(changes)
    if declaration is not None:
        declared_merge.record_merge(declaration, resource_list, changed, _count_unchosen(merged.decided, policy))
    return merged.decided


def _report(
    merged: MergedTree,
    package: ListedPackage,
    settings: MergeSettings,
    of_package: PackagePolicy | None,
    results: Results,
) -> None:
    """Reports what was decided, rules of the functionConfig that match nothing, and stale choices of the package."""
    for result in merged.results:
        if result.rule == "R5":
            # Text is no item.
            message = result.message.removesuffix("; merged as text")
            results.add(replace(result, severity="error", message=message))
        elif result.rule != "G" or package.has_files:
            # Of other lists nobody knows which files the package has (law G).
            results.add(result)
    for number in range(len(settings.policy.rules)):
        if number not in merged.reached:
            message = f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path"
            results.warning(message, path=f"rules[{number}]")
    if of_package is not None:
        from krm_merge.policy import stale_messages

        for message in stale_messages(of_package, [merged.decided]):
            results.info(message, file=of_package.file)


def _read_package(resource_list: ResourceList, settings: MergeSettings) -> ListedPackage | None:
    """The three versions; None where they cannot be merged, for which there is an error."""
    results = resource_list.results
    for name, node in (("original", settings.original), ("upstream", settings.upstream)):
        if node is None and not any((error.path or "").endswith(name) for error in results.errors):
            results.error(f"functionConfig: {name} is missing; {FORMS}", path=name)
    if settings.original is None or settings.upstream is None:
        return None
    package = ListedPackage(resource_list, settings.original, settings.upstream)
    if not results.errors:
        _check(package, results)
    return None if results.errors else package


def _check(package: ListedPackage, results: Results) -> None:
    sides = {"original": package.original, "upstream": package.upstream, "local": package.local}
    for name, side in sides.items():
        for path, count in Counter(document.path for document in side if document.is_kptfile).items():
            if count > 1:
                what = "two root Kptfiles" if path == KPTFILE else "two Kptfiles"
                where = "the items" if name == "local" else f"functionConfig: {name}"
                results.error(f"{path}: {where} hold {what}; each package has one", file=path)
    has_kptfile = {name: any(document.is_kptfile for document in side) for name, side in sides.items()}
    whole = [name for name in ("original", "upstream") if not all(document.is_kptfile for document in sides[name])]
    for name in ("original", "upstream"):
        # K4: a whole package need not have one.
        if not has_kptfile[name] and len(whole) < 2:
            kinds = ", ".join(listed_identity(document.data).kind for document in sides[name])
            results.error(
                f"functionConfig: {name} holds {kinds or 'nothing'}; a Kptfile (kpt.dev/v1) is expected", path=name
            )
    if len(whole) == 1:
        results.info(
            f"functionConfig: {whole[0]} holds a whole package, the other side only Kptfiles; "
            "all other resources count as missing there"
        )
    if not has_kptfile["local"] and (has_kptfile["original"] or has_kptfile["upstream"]):
        results.error(
            "Kptfile: no Kptfile (kpt.dev/v1) among the items; run on a package, as `kpt fn eval DIR` does",
            file=KPTFILE,
        )
    elif whole and all(document.is_kptfile for document in package.local):
        # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
        results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
        package.keep_only_kptfiles()


def _declaration(resource_list: ResourceList) -> PipelineMerge | None:
    """The merge that a pipeline declares; reports one that cannot be recorded, since no file holds it."""
    needle = PACKAGE_PATH.encode()
    if not any(needle in item.slice.data for item in resource_list.items):
        # Only `kpt fn render` gives package paths.
        return None
    from krm_merge.functions.declared_merge import read_declaration

    declaration = read_declaration(resource_list)
    if declaration is None:
        resource_list.results.info(
            "functionConfig: no file of the package that declares it, so this merge runs at every render and would "
            "undo later local edits of what upstream changed; put it into a file and name that as configPath (K7)"
        )
    return declaration


def _count_unchosen(decided: PackageDecisions, policy: Policy) -> int:
    """How many conflicts took a side that neither a rule nor a choice names."""
    from krm_merge.report import records_of

    return sum(record.settled_by == "policy" for record in records_of([decided], policy))


def _follow_upstream(local: Tree, changes: Changes, lock: Lock, results: Results) -> Changes:
    """The changes, with the version of its upstream that the Kptfile has now, as `krm-merge update` writes it (K2)."""
    from krm_merge.packages import Changed, KptfileText

    file = Changed(local, changes).get(KPTFILE)
    kptfile = None if file is None else KptfileText(file.data, KPTFILE)
    upstream = None if kptfile is None else kptfile.upstream
    address = None if upstream is None else (upstream.repository, upstream.directory)
    if kptfile is None or address != (lock.repository, lock.directory):
        problem = (
            "is not among the items"
            if kptfile is None
            else "names another upstream than the functionConfig; upstream and upstreamLock are left as they are"
        )
        results.warning(f"{KPTFILE}: {problem}", file=KPTFILE, rule="K2")
        return changes
    return {**changes, KPTFILE: File(kptfile.following(lock.ref, lock, None))}


def _has_nothing_to_do(resource_list: ResourceList) -> bool:
    config = resource_list.function_config
    holder, is_config_map = (None, True) if config is None else fields_of(config)
    if not is_config_map or (holder is not None and holder.fields):
        return False
    if resource_list.items:
        resource_list.results.error(f"functionConfig: nothing to merge; {FORMS}")
    else:
        resource_list.results.info(f"functionConfig: nothing to merge and no items; {FORMS}")
    return True


def _read_policies(local: Tree, settings: MergeSettings) -> tuple[PackagePolicy | None, Policy]:
    """The package's own MergePolicy, if it may have one, and the combined policy (M3). Raises PolicyError."""
    if not any(_MERGE_POLICY in file.data for path, file in local.items() if "/" not in path):
        return None, settings.policy
    from krm_merge.policy import combine, find_policy

    package = find_policy(local)
    option = settings.policy.on_conflict if settings.is_policy_given else None
    return package, combine(option, settings.policy.rules, package, settings.policy.redactions)
