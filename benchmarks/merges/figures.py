"""The figures of many verdicts, and the bars that krm-merge is held to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.merges.entrants import DRIVER, PACKAGE
from benchmarks.merges.verdicts import Judged, Verdict

FAULTS = ("two versions", "doubled", "added twice", "comment lost", "one-sided change lost", "not sound")


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part} of {self.whole}" + (f" ({100 * self.part / self.whole:.1f} %)" if self.whole else "")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one program made of all merges.

    `right` counts those that it settled as the people did, of git's conflicts that it settled; `right_of_kept` of those
    in which the people kept every one-sided change; `only_order` those that differ in the order of elements. `clean_*`
    are about merges that git makes without a conflict.
    """

    conflicts: int
    settled: Share
    right: Share
    right_of_kept: Share
    only_order: int
    right_by_default: int
    reached: Share
    failed: int
    faults: Counter[str]
    faults_when_clean: Counter[str]
    clean: int
    clean_as_git: Share
    clean_right: Share
    clean_worse: int
    clean_better: int


def figures_of(judged: Sequence[Judged], name: str) -> Figures:
    """Counts the verdicts on one program."""
    by = [(case, case.verdicts[name]) for case in judged if name in case.verdicts]
    hard = [(case, verdict) for case, verdict in by if not case.recipe.is_clean]
    clean = [(case, verdict) for case, verdict in by if case.git_is_right is not None]
    settled = [(case, verdict) for case, verdict in hard if verdict.status in ("right", "different")]
    verdicts_of_kept = [verdict for case, verdict in settled if case.answer.kept_all]
    conflicts = [verdict for _, verdict in hard if verdict.status == "conflict"]
    marked = [verdict for verdict in conflicts if verdict.reached is not None]
    return Figures(
        conflicts=len(hard),
        settled=Share(len(settled), len(hard)),
        right=Share(sum(verdict.status == "right" for _, verdict in settled), len(settled)),
        right_of_kept=Share(sum(verdict.status == "right" for verdict in verdicts_of_kept), len(verdicts_of_kept)),
        only_order=sum(verdict.only_order for _, verdict in settled),
        right_by_default=sum(verdict.default_is_right for verdict in conflicts),
        reached=Share(sum(bool(verdict.reached) for verdict in marked), len(marked)),
        failed=sum(verdict.status == "failed" for _, verdict in by),
        faults=Counter(fault for _, verdict in settled for fault in verdict.faults),
        faults_when_clean=Counter(
            fault for _, verdict in clean if verdict.as_git != "bytes" for fault in verdict.faults
        ),
        clean=len(clean),
        clean_as_git=Share(sum(verdict.as_git == "bytes" for _, verdict in clean), len(clean)),
        clean_right=Share(sum(verdict.status == "right" for _, verdict in clean), len(clean)),
        clean_worse=sum(is_worse(case, verdict) for case, verdict in clean),
        clean_better=sum(not case.git_is_right and verdict.status == "right" for case, verdict in clean),
    )


def is_worse(case: Judged, verdict: Verdict) -> bool:
    """Whether git's clean merge is the people's answer, and this one is a conflict, something else, or has a fault."""
    if not case.git_is_right or (verdict.as_git == "bytes" and verdict.status == "right"):
        return False
    return verdict.status != "right" or bool(verdict.faults)


def class_of(case: Judged, verdict: Verdict) -> str:
    """Why a merge was settled otherwise than the people did, the gravest first."""
    for fault in FAULTS:
        if fault in verdict.faults:
            return fault
    if not case.answer.kept_all:
        return "people dropped a change"
    if verdict.only_order:
        return "order only"
    return "people wrote something new" if case.answer.wrote else "other"


def silent_in_driver(judged: Sequence[Judged]) -> int:
    """How many conflicts that krm-merge reports its merge driver settles without markers."""
    pairs = [(case.verdicts[PACKAGE].status, case.verdicts[DRIVER].status) for case in judged]
    return sum(reported == "conflict" and driven in ("right", "different") for reported, driven in pairs)
