"""The merge that the options of a command ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from krm_merge.krm.result import Results
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.merge.decisions.policy import OnDelete, Policy, Rule
from krm_merge.merge.decisions.resolution import Resolutions
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.directory import PackageError, read_file
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.packages.merge.conflict_markers import MARKER_SIZE, marked_changes
from krm_merge.policy import (
    NO_POLICY,
    PackagePolicy,
    RulesError,
    RulesFile,
    combine,
    read_rules,
    stale_message,
    stale_resolutions,
)
from krm_merge.startup import replace

OnConflictOrMarkers: TypeAlias = Literal["upstream", "local", "fail", "markers"]


class Merged(Protocol):
    """The decisions of a merge: changes of files, results, and the user's rules that matched something."""

    @property
    def changes(self) -> Changes:
        """The changes of files."""
        ...

    @property
    def results(self) -> Results:
        """Every decision worth reporting."""
        ...

    @property
    def reached(self) -> frozenset[int]:
        """The numbers of the rules that matched something."""
        ...


SomeMerge = TypeVar("SomeMerge", bound=Merged)


@dataclass(frozen=True, slots=True)
class MergeChoices:
    """The user's choices: how conflicts are settled, how functions are recognised, and exceptions.

    Where nothing was `asked` for, it is as the `package` says, or else as `otherwise`: `fail` stops at what nobody
    decided.
    """

    asked: OnConflictOrMarkers | None
    smart: bool
    rules: RulesFile = field(default_factory=RulesFile)
    rules_file: Path | None = None
    of_branches: bool = False
    otherwise: OnConflictOrMarkers = "upstream"
    package: PackagePolicy = NO_POLICY

    @classmethod
    def of(
        cls,
        on_conflict: OnConflictOrMarkers | None,
        function_identity: str,
        rules_file: Path | None,
        *,
        of_branches: bool = False,
        otherwise: OnConflictOrMarkers = "upstream",
    ) -> MergeChoices:
        """From the options of a command. Raises PackageError where the file of rules cannot be used."""
        rules = RulesFile() if rules_file is None else _read_rules(rules_file)
        return cls(on_conflict, function_identity == "smart", rules, rules_file, of_branches, otherwise)

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
        asked = None if self.asked == "markers" else self.asked
        return asked or self.package.on_conflict or self.asked or self.otherwise

    def merger(self) -> PackageMerger:
        """The merge under the chosen policy; not for markers."""
        assert self.on_conflict != "markers"
        return self.merger_under(self.policy)

    def merge(
        self, run: Callable[[PackageMerger], SomeMerge], local: Tree, size: int = MARKER_SIZE
    ) -> Conflicts[SomeMerge]:
        """Merges; with markers twice, and what the two results differ in is marked.

        `size` is the length of the markers.
        """
        if self.on_conflict != "markers":
            merged = run(self.merger())
            return Conflicts(merged, merged.changes)
        # Whoever wins has its way in what was deleted, too: between markers both ways are shown.
        ours, theirs = (run(self.merger_under(self._won_by(side))) for side in ("local", "upstream"))
        if ours.results.errors or theirs.results.errors:
            refused = ours if ours.results.errors else theirs
            return Conflicts(refused, {})
        changes, places, binary = marked_changes(local, ours.changes, theirs.changes, size)
        return Conflicts(ours, changes, places, binary)

    @property
    def policy(self) -> Policy:
        """The policy that conflicts are settled by; between markers it is the one of what is not left open."""
        if self.on_conflict == "markers":
            return self._won_by(None)
        asked = None if self.asked == "markers" else self.asked
        return combine(asked, self.rules.rules, self.package, self.rules.redactions, stops=self.otherwise == "fail")

    def _won_by(self, side: OnDelete | None) -> Policy:
        """Between markers: this side has its way wherever neither a rule nor a choice says otherwise."""
        policy = combine(None, self.rules.rules, self.package, self.rules.redactions)
        rules = policy.rules if side is None else (*policy.rules, Rule(on_delete=side))
        return replace(policy, on_conflict=side or "upstream", rules=rules, marks=side is not None)

    def warn_of_idle_rules(self, merged: Merged) -> None:
        """Adds a warning for each rule that matches nothing."""
        for number in range(len(self.rules.rules)):
            if number not in merged.reached:
                message = (
                    f"{self.rules_file}: rules[{number}] matches nothing in the package; check its kind, name and path"
                )
                merged.results.warning(message, path=f"rules[{number}]")

    def report_stale_choices(self, merged: Merged, decided: Iterable[PackageDecisions]) -> None:
        """Adds an info result for each resolution of the package that fitted nowhere (M5)."""
        parts = list(decided)
        if any(part.outcomes or part.files for part in parts):
            for resolution in stale_resolutions(self.package, parts):
                merged.results.info(stale_message(resolution), file=self.package.file)

    def merger_under(self, policy: Policy) -> PackageMerger:
        """The merge under another policy, all else as chosen."""
        return PackageMerger(policy, self.smart, self.of_branches, self.rules.list_keys)


@dataclass(frozen=True, slots=True)
class Conflicts(Generic[SomeMerge]):
    """A merge, its changes, and what is left to people: places between conflict markers, and binary files."""

    merged: SomeMerge
    changes: Changes
    marked: int = 0
    binary: tuple[str, ...] = ()

    @property
    def are_left(self) -> bool:
        """Whether anything is left to people."""
        return bool(self.marked or self.binary)


def _read_rules(place: Path) -> RulesFile:
    data = sys.stdin.buffer.read() if str(place) == "-" else read_file(place).data
    try:
        return read_rules(data.decode("utf-8"), place.name)
    except UnicodeDecodeError:
        raise PackageError(f"{place}: not UTF-8; save the file as UTF-8") from None
    except RulesError as error:
        raise PackageError(f"{place}: {error}") from None
