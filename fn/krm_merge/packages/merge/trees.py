"""Three-way merge of packages as files: resources by their rules, all other files by lines (rules R)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from posixpath import basename
from typing import TypeAlias

from krm_merge.krm import KPTFILE, Results
from krm_merge.merge import (
    CHART_FILE,
    NOTHING_DECIDED,
    Decision,
    Document,
    FileDecision,
    PackageDecisions,
    PackageMerger,
    Policy,
    ResourceOutcome,
    reaches,
    report_files,
)
from krm_merge.packages.files.tree import Changed, Changes, File, Tree, clash, is_kptfile
from krm_merge.packages.merge.moved import Followed, follow
from krm_merge.packages.merge.other_files import (
    FileVersions,
    MergedFile,
    merge_other_file,
    plain,
    plain_versions,
    with_line_ends,
)
from krm_merge.packages.merge.rewrite import Rewrite
from krm_merge.packages.merge.side import Notes, PackageVersion, as_fetched, is_only_fetched, read_graph
from krm_merge.packages.references.edits import list_new_files
from krm_merge.packages.references.graph import PackageGraph
from krm_merge.packages.references.intact import SIDES, Intact, MergedVersions, keep_intact
from krm_merge.startup import frozen, replace
from krm_merge.text import Scalar, is_empty, mapping_in

Mend: TypeAlias = Callable[[Tree, Changes, Results], Changes]
"""Completes the changes of a local package, and reports what it does."""


@frozen
class MergedTree:
    """Changes of local's files, and every decision worth reporting. If one is an error, nothing changes.

    `reached` are the numbers of the user's rules that matched something, `decided` all that was decided.
    """

    changes: Changes
    results: Results
    reached: frozenset[int] = frozenset()
    decided: PackageDecisions = NOTHING_DECIDED


def merge_trees(
    original: Tree,
    upstream: Tree,
    local: Tree,
    merge: PackageMerger,
    *,
    notes_origin: bool = False,
    mend: Mend | None = None,
) -> MergedTree:
    """Merges the files of three versions of a package. `mend` completes the changes before they are judged (law I).

    `notes_origin` writes kpt's comment and annotations on resources that come from upstream, so that they are known
    again after a local rename (R6). What cannot be read as resources is merged as text (R5).
    """
    results = Results()
    changed = [path for path in {**original, **upstream} if original.get(path) != upstream.get(path)]
    if not changed:
        # Law B: nothing to merge, whatever local holds.
        return MergedTree({}, results)
    fetched = frozenset(path for path in changed if is_only_fetched(path, original.get(path), local.get(path)))
    notes = Notes(local, fetched, are_for_new=notes_origin)
    if fetched:
        # Law U: nobody edited these. What kpt wrote in them comes back at the end.
        local = Changed(local, {path: original[path] for path in fetched})
    there = original, upstream
    # Moves come first: all rules below are about what has one path.
    followed = follow(original, upstream, local, merge.policy)
    if any(followed.relocated):
        original, upstream, local = followed.original, followed.upstream, followed.local
        changed = [path for path in {**original, **upstream} if original.get(path) != upstream.get(path)]
    # Line ends are merged last (W5): until then only lines count.
    lines = {path: plain_versions(path, (original.get(path), upstream.get(path), local.get(path))) for path in changed}
    touched = [path for path, (before, theirs, _) in lines.items() if before != theirs]
    sides = PackageVersion("original", original), PackageVersion("upstream", upstream), PackageVersion("local", local)
    merged = merge.run(*sides)
    folders = merged.folders
    # What one side cannot read as resources is text on all sides.
    as_text = {path for path in touched if any(_is_text(path, side) for side in sides)}
    if KPTFILE in sides[1].unreadable:
        # K4: an upstream without one counts as unchanged.
        as_text.discard(KPTFILE)
        flaw = sides[1].unreadable[KPTFILE]
        what = f"upstream does not parse ({flaw.reason})" if flaw.broken else f"upstream's {flaw.reason}"
        message = f"{KPTFILE}: {what}; local's is kept as it is"
        results.warning(message, file=KPTFILE, rule="K4", tags={"side": "upstream"})
    resources, tangled = _apart(merged.resources, as_text)
    closed = {path for path in as_text if folders.closed(path) is not None}
    for path in closed:
        folders.report(path)
    outcomes = folders.with_surviving_kptfiles(_files_only_local_has(sides, resources)) + resources
    others = [path for path in touched if path not in as_text and folders.closed(path) is None]
    rewrite = Rewrite(*sides, notes)
    changes: dict[str, File | None] = dict(rewrite.changes(outcomes, others, results))
    for path in sorted(tangled & sides[2].tree.keys()):
        message = f"{path}: does not parse, and resources of it are in other files elsewhere; local's is kept"
        results.warning(message, file=path, rule="R5", tags={"side": "both"})
    _report_duplicates(resources, results)
    _report_equal_versions(sides, touched, results)
    files = rewrite.lost_heads(others, changes)
    report_files(files, results)
    for path in sorted(as_text - closed - tangled):
        of_file = _merge_text(path, lines[path], sides, merge, changes, results)
        files += of_file.decisions
        outcomes += [] if of_file.outcome is None else [of_file.outcome]
    _write_line_ends(sides, [path for path in changed if folders.closed(path) is None], touched, changes, results)
    refuse_clash(local, changes, results)
    changes = {path: None if file is None else notes.on_file(path, file) for path, file in changes.items()}
    changes = followed.changes(notes.local, changes)
    intact = Intact()
    if changes and not results.errors:
        # Before references are judged: it may bring what they name.
        changes = dict(changes if mend is None else mend(notes.local, changes, results))
        documents, now = [side.found for side in sides], Changed(notes.local, changes)
        intact = keep_references(followed, (*there, notes.local), documents, outcomes, now)
        # After them: references that follow may be in the same Kustomizations.
        changes = dict(list_new_files(upstream, notes.local, changes | dict(intact.changes), results))
        changes = {path: file for path, file in changes.items() if file != notes.local.get(path)}

    def file_decisions(policy: Policy) -> list[FileDecision]:
        return [*followed.decisions(policy), *intact.decisions(policy)]

    files += (of_files := file_decisions(merge.policy))
    report_files(of_files, results)

    def again(decided: ResourceOutcome | FileDecision, policy: Policy) -> PackageDecisions:
        if isinstance(decided, ResourceOutcome) and decided.member.identity.kind:
            return PackageDecisions([merged.again(decided, policy)])
        path = decided.path if isinstance(decided, FileDecision) else decided.member.place
        if isinstance(decided, FileDecision) and decided.rule in ("R13", "I"):
            key = path, decided.rule, decided.original
            return PackageDecisions(
                (),
                [
                    decision
                    for decision in file_decisions(policy)
                    if (decision.path, decision.rule, decision.original) == key
                ],
            )
        of_file = merge_other_file(path, *lines[path], policy)
        return PackageDecisions([] if of_file.outcome is None else [of_file.outcome], of_file.decisions)

    reached, decided = _matched_rules(merge.policy, sides), PackageDecisions(outcomes, files, again=again)
    return MergedTree({} if results.errors else changes, results, reached, decided)


def refuse_clash(local: Tree, changes: Changes, results: Results) -> None:
    """Reports an error where a path would be both a file and a folder."""
    if path := clash(local, changes):
        problem = "upstream has a file where local has a folder, or the other way round; rename local's"
        results.error(f"{path}: {problem}", file=path)


def _matched_rules(policy: Policy, sides: Iterable[PackageVersion]) -> frozenset[int]:
    """The numbers of the rules that match something on some side; reads all resources where there are rules."""
    if not policy.rules:
        return frozenset()
    members = [member for side in sides for member in side.members()]
    return frozenset(number for number, rule in enumerate(policy.rules) if reaches(rule, members))


def _is_text(path: str, side: PackageVersion) -> bool:
    return path in side.tree and (not side.reads(path) or path in side.unreadable)


def _report_duplicates(resources: list[ResourceOutcome], results: Results) -> None:
    """Warns of resources that are added although local keeps those that upstream moved to another package."""
    places = {
        o.local.identity: o.local.place
        for o in resources
        if o.local and o.original and not o.upstream and o.fate == "kept"
    }
    for outcome in resources:
        member = outcome.member
        if outcome.fate == "added" and (place := places.get(member.identity)) is not None:
            message = f"{member.place}: {member.identity.kind} {member.identity.name} is in {place}, too; keep one"
            results.warning(message, file=member.place, rule="R1", tags={"side": "both"})


def _report_equal_versions(sides: Sequence[PackageVersion], touched: Iterable[str], results: Results) -> None:
    """V4: warns of a Helm chart that both sides raised to the same version, with different contents."""
    for path in touched:
        if basename(path) != CHART_FILE:
            continue
        before, theirs, ours = (_version_in(side.file(path)) for side in sides)
        folder, (_, upstream, local) = path.removesuffix(CHART_FILE), sides
        paths = {name for name in {**upstream.tree, **local.tree} if name.startswith(folder) and not is_kptfile(name)}
        if before != theirs == ours != "" and any(upstream.file(name) != local.file(name) for name in paths):
            message = f"{path}: upstream and local raised version to {ours}, with different contents; raise it again"
            results.warning(message, file=path, rule="V4", tags={"side": "both"})


def _version_in(chart: File | None) -> str:
    root = None if chart is None else mapping_in(chart.data)
    version = None if root is None else root.get("version")
    return version.text if isinstance(version, Scalar) else ""


def keep_references(
    followed: Followed,
    there: Sequence[Tree],
    documents: Sequence[Sequence[Document]],
    outcomes: Sequence[ResourceOutcome],
    merged: Tree,
) -> Intact:
    """Judges the references of a merged package (law I).

    Of original, upstream and local, `there` are the files where that side has them, `documents` its resources.
    """

    def side(at: int) -> PackageGraph:
        tree = (followed.original, followed.upstream, followed.local)[at]
        origins = {new: old for old, new in followed.relocated[at].items()}
        return PackageGraph(tree, lambda: documents[at], origins, there[at])

    renamed = dict(zip(SIDES, followed.renamed, strict=True))
    versions = MergedVersions(side(0), side(1), side(2), renamed, outcomes, read_graph)
    return keep_intact(versions, merged)


def _apart(outcomes: list[ResourceOutcome], as_text: set[str]) -> tuple[list[ResourceOutcome], set[str]]:
    """The outcomes of resources outside of the files that merge as text, and those of these files that cannot.

    Text cannot be merged if another side has one of its resources in another file: it would be lost or doubled.
    """
    apart: list[ResourceOutcome] = []
    tangled: set[str] = set()
    for outcome in outcomes:
        places = {m.place for m in (outcome.original, outcome.upstream, outcome.local) if m is not None}
        if not places & as_text:
            apart.append(outcome)
        elif len(places) > 1:
            tangled |= places & as_text
            if outcome.local is not None and outcome.local.place not in as_text:
                apart.append(outcome)
    return apart, tangled


def _files_only_local_has(
    sides: tuple[PackageVersion, PackageVersion, PackageVersion], resources: Iterable[ResourceOutcome]
) -> set[str]:
    """The places of the files in which only local has resources after the merge."""
    local, upstream = sides[2], sides[1].tree
    gone = {(o.local.place, o.local.index) for o in resources if o.fate == "deleted" and o.local is not None}
    return {
        path
        for path, documents in local.documents.items()
        if path not in upstream
        and any((path, index) not in gone and not is_empty(data) for index, data in enumerate(documents))
    }


def _merge_text(
    path: str,
    versions: FileVersions,
    sides: tuple[PackageVersion, PackageVersion, PackageVersion],
    merge: PackageMerger,
    changes: dict[str, File | None],
    results: Results,
) -> MergedFile:
    broken = [(s.name, s.unreadable[path].reason) for s in sides if path in s.unreadable and s.unreadable[path].broken]
    merged = merge_other_file(path, *versions, merge.policy)
    if broken:
        names = " and ".join(name for name, _ in broken)
        do = "does" if len(broken) == 1 else "do"
        message = f"{path}: {names} {do} not parse ({broken[0][1]}); merged as text"
        results.warning(message, file=path, rule="R5", tags={"side": "both"})
    for result in merged.results:
        results.add(result)
    report_files(merged.decisions, results)
    if merged.file != versions[2]:
        changes[path] = merged.file
    return merged


def _write_line_ends(
    sides: tuple[PackageVersion, PackageVersion, PackageVersion],
    changed: Iterable[str],
    touched: Iterable[str],
    changes: dict[str, File | None],
    results: Results,
) -> None:
    """Gives the changed files their line ends (W5), and what upstream `changed` without touching a line, too."""
    for path, file in changes.items():
        if file is not None:
            before, theirs, ours = (side.tree.get(path) for side in sides)
            changes[path] = with_line_ends(path, file, (before, theirs, ours))
    for path in sorted({*changed} - {*touched, *changes}):
        before, theirs, ours = (side.tree.get(path) for side in sides)
        if ours is not None and (restored := with_line_ends(path, plain(path, ours), (before, theirs, ours))) != ours:
            changes[path] = restored
            message = f"{path}: line endings only, as in upstream"
            results.info(message, file=path, rule="W5", tags={"side": "upstream"})


ALL_TAKEN = Policy()
"""The policy of that merge: nothing collides in it."""


def differences(before: Tree, after: Tree) -> MergedTree:
    """What differs from `before` to `after`, with a decision for each resource that moved to another file."""
    merged = merge_trees(before, after, before, PackageMerger(ALL_TAKEN, smart=True, of_branches=True))
    return replace(merged, decided=replace(merged.decided, outcomes=[*map(_with_move, merged.decided.outcomes)]))


def _with_move(outcome: ResourceOutcome) -> ResourceOutcome:
    """The outcome with a decision that reports the file to which upstream moved the resource."""
    original, upstream = outcome.original, outcome.upstream
    if original is None or upstream is None or original.place == upstream.place:
        return outcome
    moved = Decision("R1", (), f"moved from {original.place} to {upstream.place}", "upstream", is_reported=True)
    return replace(outcome, decisions=[moved, *outcome.decisions])


def local_changes(original: Tree, local: Tree) -> list[str]:
    """The files that differ in the value of a resource, in which resources there are, or in what other files hold.

    Comments and layout do not count, nor what stays local in any case (K1, R6).
    """
    fetched = as_fetched(original, local)
    decided = merge_trees(fetched, local, fetched, PackageMerger(ALL_TAKEN, smart=True)).decided
    changed = {
        (outcome.upstream or outcome.member).place
        for outcome in decided.outcomes
        if outcome.fate != "merged" or any(decision.rule not in _NO_VALUES for decision in outcome.decisions)
    }
    changed |= {decision.path for decision in decided.files if decision.rule not in _NO_VALUES}
    # A package without a Kptfile upstream gets one when it is fetched.
    return sorted(changed - {KPTFILE} if KPTFILE in local and KPTFILE not in original else changed)


_NO_VALUES = ("V8", "W1")
"""The rules of decisions on comments and layout."""
