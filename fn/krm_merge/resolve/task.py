"""What a session is about, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.errors import KrmMergeError
from krm_merge.krm.result import Results
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolutions
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.policy import FILE, NO_POLICY, PackagePolicy, RecordedChoice
from krm_merge.report.record import DecisionRecord, Files, RecordedSide
from krm_merge.schema.secrecy import Redaction
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge decided under one policy, and what becomes of local's files."""

    changes: Changes
    results: Results
    decided: Sequence[PackageDecisions]
    sides: Mapping[str, RecordedSide]
    packages: Sequence[Mapping[str, Value]] = ()

    def files(self, local: Tree) -> Files:
        """The files by what becomes of them."""
        added = sorted(path for path, file in self.changes.items() if file is not None and path not in local)
        changed = sorted(path for path, file in self.changes.items() if file is not None and path in local)
        return Files(added, changed, sorted(path for path, file in self.changes.items() if file is None))


@dataclass(frozen=True, slots=True)
class Task:
    """What a session is about: three versions of a package or of a file, and how they merge under a policy.

    `rules` are those of the command line, `package` is the MergePolicy of local. `earlier` are choices that were made
    elsewhere on the same conflicts; they come last. `writes_policy` says that what is chosen is written into the
    package. `redactions` are those of the command line (M6).
    """

    name: str
    local: Tree
    merge: Callable[[Policy], Merge]
    rules: tuple[Rule, ...] = ()
    package: PackagePolicy = NO_POLICY
    earlier: Resolutions = NO_RESOLUTIONS
    writes_policy: bool = True
    redactions: tuple[Redaction, ...] = ()

    @property
    def policy_file(self) -> str:
        """Where the package has its MergePolicy, or gets it."""
        return self.package.file or FILE


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step changed: records that are new or other ones, and the ids of those that are gone."""

    records: Sequence[DecisionRecord]
    removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """What saving writes: local's files, and all that was chosen; `results` is what there is to say of it."""

    changes: Changes
    made: tuple[RecordedChoice, ...]
    results: Results


class NotSettledError(KrmMergeError):
    """Why nothing can be saved yet."""
