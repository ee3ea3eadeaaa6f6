"""The ledger of testdata/merges: real merges with what krm-merge makes of each, which may only get better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.merges.entrants import PACKAGE
from benchmarks.merges.triples import Recipe, recipe_of
from benchmarks.merges.verdicts import Judged

LEDGER = Path(__file__).resolve().parents[2] / "testdata" / "merges" / "ledger.tsv"
HEADER = "grade\trepository\tkind\tpeople\tother\tgit\tpath"
GRADES = ("fault", "different", "conflict", "right")
"""From the worst: settled with a fault, settled otherwise than the people, a conflict, settled as the people."""
UPDATE = "make merges-ledger UPDATE=1"


@dataclass(frozen=True, slots=True)
class Line:
    """One merge with its grade."""

    recipe: Recipe
    grade: str

    def row(self) -> str:
        """Its line in the ledger."""
        return f"{self.grade}\t{self.recipe.repository}\t{self.recipe.row()}"


def read(ledger: Path = LEDGER) -> list[Line]:
    """The lines of the ledger; raises ValueError for a grade that there is not."""
    lines = []
    for row in ledger.read_text(encoding="utf-8").splitlines()[1:]:
        grade, repository, recipe = row.split("\t", 2)
        if grade not in GRADES:
            raise ValueError(f"{ledger}: {grade!r} is not a grade; expected one of {', '.join(GRADES)}")
        lines.append(Line(recipe_of(repository, recipe), grade))
    return lines


def write(lines: Iterable[Line], ledger: Path = LEDGER) -> None:
    """Writes the ledger, in the order of repositories, files and commits."""
    rows = sorted(lines, key=lambda line: (line.recipe.repository, line.recipe.path, line.recipe.people))
    ledger.write_text("\n".join([HEADER, *(line.row() for line in rows), ""]), encoding="utf-8")


def grade_of(judged: Judged) -> str:
    """The grade of a merge by krm-merge."""
    verdict = judged.verdicts[PACKAGE]
    return "fault" if verdict.faults or verdict.status == "failed" else verdict.status


@dataclass(frozen=True, slots=True)
class Compared:
    """The ledger beside what krm-merge makes now; `worse` and `better` say of each what it was and is."""

    now: Sequence[Line]
    worse: Sequence[str]
    better: Sequence[str]


def compare(lines: Sequence[Line], judged: Iterable[Judged]) -> Compared:
    """Compares the grades of the ledger with verdicts on the same merges."""
    grades = {case.recipe: grade_of(case) for case in judged}
    now = [Line(line.recipe, grades[line.recipe]) for line in lines]
    worse: list[str] = []
    better: list[str] = []
    for before, after in zip(lines, now, strict=True):
        step = GRADES.index(after.grade) - GRADES.index(before.grade)
        recipe = before.recipe
        line = f"{recipe.id} {recipe.repository} {recipe.path}: was {before.grade}, is {after.grade}"
        if step:
            (worse if step < 0 else better).append(line)
    return Compared(now, worse, better)
