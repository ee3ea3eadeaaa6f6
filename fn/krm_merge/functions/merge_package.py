"""`kind: MergePackage`: three-way merge of a package; outcomes become items, each with its index (rule R2).

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from krm_merge.errors import KrmMergeError
from krm_merge.functions import read_pipeline
from krm_merge.functions.merge_sides import (
    FORMS,
    MergeSettings,
    PackageSides,
    fields_of,
    read_settings,
    read_sides,
)
from krm_merge.functions.places import FreeIndexes, new_resource, place_of, place_of_item, root_package
from krm_merge.krm import (
    KPTFILE,
    PACKAGE_PATH,
    Resource,
    ResourceList,
    Result,
    Results,
    in_parallel,
)
from krm_merge.merge import (
    NOTHING_DECIDED,
    PackageDecisions,
    PackageMerger,
    Policy,
    ResourceOutcome,
    WinningSide,
    carry_out,
    in_document_order,
    reaches,
    report,
    winner_of,
)
from krm_merge.safe_text import quantity
from krm_merge.startup import group_by_key, pattern, replace

if TYPE_CHECKING:
    from krm_merge.functions.declared_merge import PipelineMerge
    from krm_merge.packages import Lock
    from krm_merge.policy import PackagePolicy


_SEPARATORS = pattern(r"\A(?:---[^\n]*\n|[ \t]*\n)*")


def write_outcomes(
    resource_list: ResourceList,
    sides: PackageSides,
    outcomes: Sequence[ResourceOutcome],
) -> None:
    """Applies the outcomes to the list and reports them; with an error among the decisions, only reports them."""
    refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
    adds = not refused and any(outcome.fate == "added" for outcome in outcomes)
    free = FreeIndexes(resource_list, sides.root_package) if adds else None
    merging = [] if refused else [outcome for outcome in outcomes if outcome.fate == "merged"]
    parts = in_parallel(lambda part: [_merge_item(sides, outcome) for outcome in part], merging)
    merged = dict(zip(map(id, merging), (item for part in parts for item in part), strict=True))
    for outcome in outcomes:
        member = outcome.member
        resource = Resource.from_tree(member.root) if outcome.local is None else sides.resource(outcome.local)
        if id(outcome) in merged:
            data, results = merged[id(outcome)]
            if data is not None:
                resource.settle(data)
            for result in results:
                resource_list.results.add(result)
            continue
        if outcome.fate == "added" and free is not None:
            resource = new_resource(member, member.place, free.take(member.place))
            resource_list.items.append(resource)
        elif outcome.fate == "deleted" and not refused:
            resource_list.items.remove(resource)
        report(outcome, resource, resource_list.results, refused=refused)


def _merge_item(sides: PackageSides, outcome: ResourceOutcome) -> tuple[bytes | None, list[Result]]:
    """The new bytes of an item, None if it is unchanged or cannot be written, and its results.

    The item itself is not changed, as this may run in another process.
    """
    assert outcome.local is not None
    resource, results = sides.resource(outcome.local), Results()
    carry_out(resource, outcome, results, fit=partial(_indent_document, resource.column))
    report(outcome, resource, results, refused=bool(results.errors))
    data = resource.data() if resource.is_changed and not results.errors else None
    resource.forget()
    return data, list(results)


def _indent_document(column: int, document: str) -> str:
    """The text of a document in the lines of an item, indented to the column of the item's fields."""
    text = _SEPARATORS.sub("", document, count=1).removesuffix("\n")
    pad = " " * column
    return "\n".join([pad + line if line.strip() else line for line in text.split("\n")]) + "\n"


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
    if _has_nothing_to_do(resource_list):
        return NOTHING_DECIDED
    declaration = _declaration(resource_list)
    if declaration is not None:
        # Most runs do not pay for this import.
        from krm_merge.functions import declared_merge

        if declared_merge.is_made(declaration, resource_list):
            return NOTHING_DECIDED
    settings = read_settings(resource_list)
    sides = read_sides(resource_list, settings)
    if sides is None:
        return NOTHING_DECIDED
    if declaration is not None:
        declared_merge.keep_declaration(declaration, sides)
    package, policy = _read_policies(resource_list, settings)
    if policy is None:
        return NOTHING_DECIDED
    merger = PackageMerger(policy, smart=settings.smart, list_keys=settings.list_keys, read_pipeline=read_pipeline)
    if sides.has_whole_packages and not sides.local.others:
        # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
        resource_list.results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
        for side in sides:
            side.is_whole = False
    files = None
    if sides.has_files:
        # A Kptfile alone does not pay for these imports.
        from krm_merge.functions.merge_files import PackageFiles

        files = PackageFiles(resource_list, sides, policy)
    before = _data_by_place(resource_list, sides) if declaration is not None else {}
    merged = merger.run(*sides)
    if resource_list.results.errors:
        return NOTHING_DECIDED
    outcomes = merged.outcomes(sides.remaining_places(merged.resources))
    write_outcomes(resource_list, sides, outcomes)
    of_files = files.complete(outcomes) if files is not None and not resource_list.results.errors else []
    decided = PackageDecisions(outcomes, of_files)
    _report_notices(resource_list, sides, settings.policy, package, decided)
    if resource_list.results.errors:
        return decided
    if settings.lock is not None:
        _follow_upstream(resource_list, sides, settings.lock)
    if declaration is not None:
        after = _data_by_place(resource_list, sides)
        changed = sum(before.get(place) != after.get(place) for place in before | after)
        declared_merge.record_merge(declaration, resource_list, changed, _count_unchosen(decided, policy))
    return decided


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
            "functionConfig: it is not in a file of the package, so this merge runs at every render and would undo "
            "later local edits of what upstream changed; put it into a file, and set configPath to that file (K7)"
        )
    return declaration


def _data_by_place(resource_list: ResourceList, sides: PackageSides) -> dict[Hashable, bytes]:
    return {place_of_item(item, sides.root_package): item.data() for item in resource_list.items}


def _count_unchosen(decided: PackageDecisions, policy: Policy) -> int:
    """How many conflicts took a side that neither a rule nor a choice names."""
    from krm_merge.report import records_of

    return sum(record.settled_by == "policy" for record in records_of([decided], policy))


def _follow_upstream(resource_list: ResourceList, sides: PackageSides, lock: Lock) -> None:
    from krm_merge.functions.declared_merge import follow_upstream, own_kptfile

    kptfile = own_kptfile(resource_list, sides.root_package)
    problem = "is not among the items" if kptfile is None else follow_upstream(kptfile, lock)
    if problem:
        resource_list.results.warning(f"{KPTFILE}: {problem}", file=KPTFILE, rule="K2")


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


def _read_policies(resource_list: ResourceList, settings: MergeSettings) -> tuple[PackagePolicy | None, Policy | None]:
    """The package's own MergePolicy, if it has one, and the combined policy (M3); None if the package's is invalid."""
    items = [item for item in resource_list.items if _MERGE_POLICY in item.slice.data]
    if not items:
        return None, settings.policy
    from krm_merge.policy import NO_POLICY, combine, is_policy, read_policy

    root = root_package(resource_list)
    places = ((place_of(item.annotations, root) or "", item) for item in items)
    policies = [(place, item.root) for place, item in places if "/" not in place and is_policy(item.root)]
    try:
        if len(policies) > 1:
            raise KrmMergeError(
                f"{policies[1][0]}: a second MergePolicy; the package has one in {policies[0][0]}, keep one"
            )
        package = read_policy(policies[0][0] or "MergePolicy", policies[0][1]) if policies else NO_POLICY
    except KrmMergeError as error:
        resource_list.results.error(str(error), file=policies[0][0] or None)
        return None, None
    option = settings.policy.on_conflict if settings.is_policy_given else None
    return package, combine(option, settings.policy.rules, package)


def _report_notices(
    resource_list: ResourceList,
    sides: PackageSides,
    policy: Policy,
    package: PackagePolicy | None,
    decided: PackageDecisions,
) -> None:
    """Reports rules of the functionConfig (`policy`) that match nothing, and stale choices of the package's policy."""
    members = sides.members if policy.rules else []
    for number, rule in enumerate(policy.rules):
        if not reaches(rule, members):
            resource_list.results.warning(
                f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path",
                path=f"rules[{number}]",
            )
    if package is not None:
        from krm_merge.policy import stale_messages

        for message in stale_messages(package, [decided]):
            resource_list.results.info(message, file=package.file)
