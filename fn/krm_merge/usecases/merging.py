"""Merges of files: sides and settings in, one `Outcome` out. Nothing else puts one together.

`merge_sides` merges what `MergeSides` and `PackageUpdate` hold as `MergeChoices` say; `merge_packages` is for Python.
The edges are the file of rules, which is read, and the repositories of an update.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.functions import read_pipeline
from krm_merge.krm import Results
from krm_merge.merge import (
    NO_RESOLUTIONS,
    OnConflict,
    OnDelete,
    PackageDecisions,
    PackageMerger,
    Policy,
    Resolutions,
    is_lost_comment,
)
from krm_merge.packages import (
    MARKER_SIZE,
    Changed,
    Changes,
    File,
    PackageError,
    Tree,
    leads_out,
    marked_changes,
    merge_trees,
    path_of,
    read_file,
    write_file,
)
from krm_merge.policy import (
    NO_POLICY,
    PackagePolicy,
    RulesError,
    RulesFile,
    combine,
    find_policy,
    find_policy_around,
    parse_policy,
    read_rules,
    recall_around,
    stale_messages,
)
from krm_merge.report import VERSIONS, DecisionRecord, Files, MergeReport, RecordedSide
from krm_merge.startup import fresh, frozen, replace
from krm_merge.text import Value

# The merge driver, which git starts for each file, needs neither git's repositories nor manifests.
if TYPE_CHECKING:
    from krm_merge.packages import Repositories, Updated
    from krm_merge.vendored.merging import VendoredManifests

OnConflictOrMarkers: TypeAlias = Literal["upstream", "local", "fail", "markers"]


@frozen
class MergeChoices:
    """The user's choices: how conflicts are settled, how functions are recognised, and exceptions.

    Where nothing was `option` for, it is as the `package` says, or else as `otherwise`: `fail` stops at what nobody
    decided.
    """

    option: OnConflictOrMarkers | None
    smart: bool
    rules: RulesFile = fresh(factory=RulesFile)
    rules_file: Path | None = None
    of_branches: bool = False
    otherwise: OnConflictOrMarkers = "upstream"
    package: PackagePolicy = NO_POLICY
    option_on_delete: OnDelete | None = None

    @classmethod
    def of(
        cls,
        on_conflict: OnConflictOrMarkers | None,
        function_identity: str,
        rules_file: Path | None,
        *,
        on_delete: OnDelete | None = None,
        of_branches: bool = False,
        otherwise: OnConflictOrMarkers = "upstream",
    ) -> MergeChoices:
        """From the options of a command. Raises PackageError where the file of rules cannot be used."""
        rules = RulesFile() if rules_file is None else _read_rules(rules_file)
        is_smart = function_identity == "smart"
        return cls(on_conflict, is_smart, rules, rules_file, of_branches, otherwise, option_on_delete=on_delete)

    def obeying(self, package: PackagePolicy) -> MergeChoices:
        """The choices with the MergePolicy of the package (M1)."""
        return replace(self, package=package)

    def remembering(self, earlier: Resolutions) -> MergeChoices:
        """The choices with those made elsewhere on the same conflicts: the package's own ones have precedence."""
        if not earlier.all:
            return self
        resolutions = Resolutions((*self.package.resolutions.all, *earlier.all))
        return replace(self, package=replace(self.package, resolutions=resolutions))

    @property
    def on_conflict(self) -> OnConflictOrMarkers:
        """The policy for conflicts that neither a choice nor a rule settles; markers are for what is open (M3)."""
        option = None if self.option == "markers" else self.option
        return option or self.package.on_conflict or self.option or self.otherwise

    @property
    def policy(self) -> Policy:
        """The policy that conflicts are settled by; between markers it is the one of what is not left open.

        The side that the run chose for conflicts decides existence, too, unless `option_on_delete` names another.
        """
        if self.on_conflict == "markers":
            return self.policy_won_by(None)
        option = None if self.option == "markers" else self.option
        stops = self.otherwise == "fail"
        policy = combine(option, self.rules.rules, self.package, stops=stops)
        return replace(policy, on_delete=self.option_on_delete or (None if option == "fail" else option))

    def policy_won_by(self, side: OnDelete | None) -> Policy:
        """Between markers: this side has its way wherever neither a rule nor a choice says otherwise."""
        policy = combine(None, self.rules.rules, self.package)
        on_delete = self.option_on_delete or side
        return replace(policy, on_conflict=side or "upstream", marks=side is not None, on_delete=on_delete)

    def report_unused(self, outcome: Outcome) -> None:
        """Adds a warning for each rule that matches nothing, and info results for stale resolutions (M2, I18)."""
        for number in range(len(self.rules.rules)):
            if number not in outcome.reached:
                message = (
                    f"{self.rules_file}: rules[{number}] matches nothing in the package; check its kind, name and path"
                )
                outcome.results.warning(message, path=f"rules[{number}]")
        if any(part.outcomes or part.files for part in outcome.decided):
            for number, rule in enumerate(self.package.rules, len(self.rules.rules)):
                if number not in outcome.reached:
                    message = f"{rule.place}: matches nothing in the package; check its kind, name and path"
                    outcome.results.warning(message, file=self.package.file)
            for message in stale_messages(self.package, outcome.decided):
                outcome.results.info(message, file=self.package.file)

    def merger_under(self, policy: Policy) -> PackageMerger:
        """The merge under another policy, all else as chosen."""
        return PackageMerger(policy, self.smart, self.of_branches, self.rules.list_keys, read_pipeline)


@frozen
class Outcome:
    """What a merge decided under a policy, and what becomes of local's files; where a result is an error, nothing.

    `reached` are the numbers of the run's rules that matched something, `sides` the versions by side, `updated` the
    packages that took a new version. With `has_markers` the conflicts that neither a rule nor a choice settles are in
    `marked` places between markers; of the `binary` ones local's file is there.
    """

    local: Tree
    policy: Policy
    changes: Changes
    results: Results
    decided: Sequence[PackageDecisions]
    reached: frozenset[int] = frozenset()
    sides: Mapping[str, RecordedSide] = fresh(factory=dict)
    updated: Sequence[Updated] = ()
    has_markers: bool = False
    marked: int = 0
    binary: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether something is an error, so that nothing changes."""
        return bool(self.results.errors)

    @property
    def is_undisputed(self) -> bool:
        """Whether nothing is in conflict, so that the result is the same whoever wins."""
        return all(result.severity == "info" for result in self.results)

    @property
    def leaves_conflicts(self) -> bool:
        """Whether conflicts are left to people: between markers, or in binary files."""
        return bool(self.marked or self.binary)

    @property
    def tree(self) -> Tree:
        """The merged files."""
        return Changed(self.local, self.changes)

    @property
    def files(self) -> Files:
        """The files by what happens to them."""
        return Files.of(self.local, self.changes)

    @property
    def packages(self) -> list[Mapping[str, Value]]:
        """The updated packages as reports have them: from which version to which."""
        return [updated.to_value() for updated in self.updated]

    def records(self) -> list[DecisionRecord]:
        """A record for every decision."""
        from krm_merge.report import records_of

        return records_of(self.decided, self.policy, left_open=self.has_markers)

    def report(self, package: str, *, with_contexts: bool = False) -> MergeReport:
        """All of it, `package` by name; `with_contexts` reads the merged files for the lines around conflicts."""
        from krm_merge.report import contexts_of

        records, tree = self.records(), self.tree
        conflicts = [record for record in records if record.status != "automatic"] if with_contexts else []
        contexts = contexts_of(conflicts, lambda path: tree[path].data if path in tree else None)
        return MergeReport(package, self.sides, records, self.files, self.results, self.packages, contexts)


class Mergeable(Protocol):
    """What can be merged: three versions, or a package and what its upstream has."""

    @property
    def local(self) -> Tree:
        """The files that the merge changes."""
        ...

    def merge(self, merger: PackageMerger) -> Outcome:
        """The outcome under the policy of a merger."""
        ...


@frozen
class MergeSides:
    """Three versions of a package or of a file; `names` are how reports name them.

    `vendored` is there where one of them is a file and another a directory.
    """

    original: Tree
    upstream: Tree
    local: Tree
    names: Sequence[str] = VERSIONS
    vendored: VendoredManifests | None = None

    def merge(self, merger: PackageMerger) -> Outcome:
        """Merges them."""
        if self.vendored is not None:
            merged = self.vendored.merge(merger)
        else:
            merged = merge_trees(self.original, self.upstream, self.local, merger)
        sides: dict[str, RecordedSide] = dict(zip(VERSIONS, map(RecordedSide, self.names), strict=True))
        return Outcome(
            self.local, merger.policy, merged.changes, merged.results, [merged.decided], merged.reached, sides
        )


@frozen
class PackageUpdate:
    """A package in the place `name`, and which version of its upstream it takes, by default what its Kptfile names.

    Upstream may bring packages from the `allowed` addresses that are new.
    """

    local: Tree
    repositories: Repositories
    name: str = ""
    ref: str | None = None
    strategy: str | None = None
    allowed: Collection[str] = ()

    def merge(self, merger: PackageMerger) -> Outcome:
        """Updates it, and the packages inside that follow an upstream of their own. Raises PackageError."""
        from krm_merge.packages import update_package

        done = update_package(
            self.local,
            self.repositories,
            merger,
            name=self.name,
            ref=self.ref,
            strategy=self.strategy,
            allowed=self.allowed,
        )
        sides: dict[str, RecordedSide] = {}
        # A package that was refused before its versions were known has none.
        for root in done.packages[:1]:
            if root.before is not None:
                sides["original"] = RecordedSide(root.before.ref, root.before.commit)
            sides["upstream"] = RecordedSide(root.after.ref, root.after.commit)
        sides["local"] = RecordedSide(self.name)
        return Outcome(
            self.local, merger.policy, done.changes, done.results, done.decided, done.reached, sides, done.packages
        )


@frozen
class GitMerge:
    """A merge of one file that git asks for: its outcome for the file `path`, which is `ours` on git's own side."""

    outcome: Outcome
    path: str
    ours: File
    place: Path
    remembered: Resolutions = NO_RESOLUTIONS

    @property
    def recalled(self) -> list[DecisionRecord]:
        """The conflicts that choices settled which the repository remembers."""
        return settled_by(self.remembered, self.outcome.records()) if self.remembered.all else []

    @property
    def reported(self) -> Results:
        """The results that a person has to see: errors, warnings, and comments that the merged file lacks (V8)."""
        reported = Results()
        for result in self.outcome.results:
            if result.severity != "info" or is_lost_comment(result):
                reported.add(result)
        return reported

    @property
    def is_silent(self) -> bool:
        """Whether all is settled and there is nothing to report."""
        return not (self.outcome.leaves_conflicts or list(self.reported) or self.recalled)

    def write(self) -> None:
        """Writes the result where git reads it."""
        file = self.outcome.changes.get(self.path, self.ours)
        write_file(self.place, file if file is not None else File(b"", self.ours.mode))


def merge_for_git(
    versions: Sequence[Path], name: str, choices: MergeChoices, marker_size: int = MARKER_SIZE
) -> GitMerge:
    """Merges git's %O, %A and %B for its %P, `name`, as the package around it and earlier choices say.

    Raises KrmMergeError and OSError.
    """
    base, ours, theirs = (read_file(place) for place in versions)
    path = path_of(Path(name or versions[1]).name, ours)
    original, local, upstream = ({path: file} if file.data else {} for file in (base, ours, theirs))
    choices = choices.obeying(find_policy_around(Path(name)) if name else NO_POLICY)
    remembered = recall_around(Path(), name)
    outcome = merge_sides(MergeSides(original, upstream, local), choices.remembering(remembered), marker_size)
    return GitMerge(outcome, path, ours, versions[1], remembered)


def settled_by(choices: Resolutions, records: Iterable[DecisionRecord]) -> list[DecisionRecord]:
    """The records that these choices settled."""
    places = {f"resolution {choice.place}" for choice in choices.all}
    return [record for record in records if record.settled_by in places]


def merge_sides(sides: Mergeable, choices: MergeChoices, marker_size: int = MARKER_SIZE) -> Outcome:
    """Merges; with markers twice if need be, and what the two results differ in is marked. Raises KrmMergeError."""

    def won_by(side: OnDelete) -> Outcome:
        # The winner also decides deletions: between markers both ways are shown.
        outcome = sides.merge(choices.merger_under(choices.policy_won_by(side)))
        return replace(outcome, policy=choices.policy, has_markers=True)

    if choices.on_conflict != "markers":
        return sides.merge(choices.merger_under(choices.policy))
    ours = won_by("local")
    if ours.is_undisputed:
        return ours
    theirs = won_by("upstream")
    if ours.is_refused or theirs.is_refused:
        return replace(ours if ours.is_refused else theirs, changes={})
    changes, marked, binary = marked_changes(sides.local, ours.changes, theirs.changes, marker_size)
    return replace(ours, changes=changes, marked=marked, binary=binary)


_CHOICES = {"on_conflict": ("upstream", "local", "fail"), "function_identity": ("document", "smart")}


@frozen
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
    from krm_merge.krm import check
    from krm_merge.policy import MergeRules, list_keys_of, rules_of

    trees = [_tree(name, side) for name, side in (("original", original), ("upstream", upstream), ("local", local))]
    for name, value in (("on_conflict", on_conflict), ("function_identity", function_identity)):
        if value not in _CHOICES[name]:
            raise KrmMergeError(f"{name} is {value!r}; expected one of {', '.join(_CHOICES[name])}")
    checked, problems = check(MergeRules, {"rules": [dict(r) for r in rules], "listKeys": [dict(k) for k in list_keys]})
    if checked is None:
        raise KrmMergeError("; ".join(f"{path}{problem}" for path, problem in problems))
    package = find_policy(trees[2]) if policy is None else parse_policy(dict(policy), "policy")
    choices = MergeChoices(
        None if on_conflict == "upstream" else on_conflict,
        function_identity == "smart",
        RulesFile(rules_of(checked.rules), list_keys_of(checked.listKeys)),
        package=package,
    )
    outcome = merge_sides(MergeSides(trees[0], trees[1], trees[2]), choices)
    records = outcome.records()
    if outcome.is_refused and not any(record.status == "open" for record in records):
        raise KrmMergeError("; ".join(error.message for error in outcome.results.errors))
    return MergedPackage(
        {path: file.data for path, file in outcome.tree.items()},
        {path: None if file is None else file.data for path, file in outcome.changes.items()},
        records,
    )


def _read_rules(place: Path) -> RulesFile:
    data = sys.stdin.buffer.read() if str(place) == "-" else read_file(place).data
    try:
        return read_rules(data.decode("utf-8"), place.name)
    except UnicodeDecodeError:
        raise PackageError(f"{place}: not UTF-8; save the file as UTF-8") from None
    except RulesError as error:
        raise PackageError(f"{place}: {error}") from None


def _tree(name: str, side: Mapping[str, bytes]) -> Tree:
    for path, data in side.items():
        if leads_out(path):
            raise KrmMergeError(f"{name}: {path!r} is not the path of a file in a package; give a relative path")
        if not isinstance(data, bytes):
            raise KrmMergeError(f"{name}: {path}: bytes are expected, not {type(data).__name__}")
    return {path: File(data) for path, data in side.items()}
