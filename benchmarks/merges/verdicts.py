"""What the judges say of one merge by one program, and of the people's own answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.merges import judges
from benchmarks.merges.entrants import Entrant, Outcome, merge_lines
from benchmarks.merges.facts import facts_of
from benchmarks.merges.triples import Recipe, Triple, subject

Status = Literal["right", "different", "conflict", "failed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the people did. `kept_all`: every change that only one side made. `wrote`: something that no side had."""

    kept_all: bool
    wrote: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """One merge by one program.

    `status` is right where no conflict was reported and the values are those of the people. Faults count in silence
    only: `missing` are changes of one side alone that the people have and the result lacks. `reached` says of a
    conflict with markers whether choosing sides gives the people's answer. `as_git` compares with git's clean merge.
    """

    status: Status
    missing: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    is_sound: bool = True
    reached: bool | None = None
    as_git: Literal["", "bytes", "values", "different"] = ""
    default_is_right: bool = False
    reports: tuple[str, ...] = ()
    only_order: bool = False

    @property
    def faults(self) -> list[str]:
        """The names of the judges that found something."""
        findings = {
            "not sound": not self.is_sound,
            "one-sided change lost": self.missing,
            "two versions": self.versions,
            "doubled": self.doubled,
            "added twice": self.twice,
            "comment lost": self.comments,
        }
        return [name for name, what in findings.items() if what]


@dataclass(frozen=True, slots=True)
class Judged:
    """A recipe with the verdicts of all programs. `git_is_right` is None where git has a conflict or is not sound."""

    recipe: Recipe
    subject: str
    answer: Answer
    git_is_right: bool | None
    verdicts: dict[str, Verdict]


def answer_of(triple: Triple) -> Answer:
    """What the people did with both sides."""
    several = judges.several_kinds(triple)
    sides = [facts_of(text, several).fields for text in (triple.original, triple.upstream, triple.local)]
    people = facts_of(triple.people, several).fields
    wrote = any(
        all(value not in side.get(place, ()) for side in sides) for place, values in people.items() for value in values
    )
    return Answer(not judges.missing_changes(triple, triple.people), wrote)


def verdict_on(triple: Triple, outcome: Outcome, git: Outcome) -> Verdict:
    """Judges what a program made of a merge; `git` is what git makes of it."""
    text = outcome.text
    if text is None:
        return Verdict("failed", reports=(outcome.error[:200],))
    is_right = judges.is_same(text, triple.people)
    as_git: Literal["", "bytes", "values", "different"] = ""
    if not git.has_conflict and git.text is not None:
        as_git = "bytes" if text == git.text else "values" if judges.is_same(text, git.text) else "different"
    if outcome.has_conflict:
        is_marked = bool(judges.MARKED.search(text))
        reached = judges.is_reached(text, triple.people) if is_marked else None
        return Verdict(
            "conflict", reached=reached, as_git=as_git, default_is_right=is_right, reports=outcome.reports[:5]
        )
    status: Status = "right" if is_right else "different"
    if text == triple.people or as_git == "bytes":
        return Verdict(status, as_git=as_git)  # the faults are those of the people, or of git
    missing = [] if is_right else judges.lost_changes(triple, text)
    return Verdict(
        status,
        missing=tuple(map(str, missing)),
        versions=tuple(judges.two_versions(triple, text)),
        doubled=tuple(judges.doubled_elements(triple, text)),
        twice=tuple(judges.added_twice(triple, text)),
        comments=() if outcome.reports_comment else tuple(judges.lost_comments(triple, text)),
        is_sound=judges.is_sound(triple, text),
        as_git=as_git,
        only_order=not is_right and judges.distance(text, triple.people) == 0,
    )


def judge(triple: Triple, entrants: dict[str, Entrant]) -> Judged:
    """Has all programs merge a triple, and judges them."""
    lines = merge_lines(triple)
    is_fair = not lines.has_conflict and lines.text is not None and judges.is_sound(triple, lines.text)
    git_is_right = judges.is_same(lines.text, triple.people) if is_fair and lines.text is not None else None
    outcomes = {name: lines if entrant is merge_lines else entrant(triple) for name, entrant in entrants.items()}
    return Judged(
        triple.recipe,
        subject(triple),
        answer_of(triple),
        git_is_right,
        {name: verdict_on(triple, outcome, lines) for name, outcome in outcomes.items() if outcome is not None},
    )
