"""Writes the tables of docs/real-merges.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measuring import table
from benchmarks.merges.entrants import PACKAGE
from benchmarks.merges.figures import FAULTS, class_of, figures_of, is_worse, silent_in_driver
from benchmarks.merges.triples import by_repository
from benchmarks.merges.verdicts import Judged, Verdict

PAGE = Path(__file__).resolve().parents[2] / "docs" / "real-merges.md"
OURS = {
    "worse than git": "git merged it as the people did",
    "two versions": "A list holds one reference in two versions",
    "doubled": "A list holds an element more often than on any side",
    "added twice": "Both sides added nearly the same element; the people kept one, the result has both",
    "comment lost": "A comment that one side added and the people kept is missing",
    "one-sided change lost": "A change that only one side made and the people kept is missing",
    "not sound": "The result does not parse, or repeats a key",
    "order only": "The same elements in another order",
    "other": "The people kept every one-sided change, and the result differs otherwise",
}
THEIRS = {
    "people dropped a change": "The people left out what only one side had changed",
    "people wrote something new": "The people's answer has what no side had",
}


def write(parts: Mapping[str, str], page: Path = PAGE) -> None:
    """Puts each part between its comments; raises ValueError where the page has no place for it."""
    text = page.read_text(encoding="utf-8")
    for name, content in parts.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->\n)", re.DOTALL)
        if not block.search(text):
            raise ValueError(f"{page}: no comment <!-- {name} -->")
        text = block.sub(lambda match, content=content: f"{match[1]}\n{content}\n{match[2]}", text)  # type: ignore[misc]
    page.write_text(text, encoding="utf-8")


def conflicts_table(judged: Sequence[Judged]) -> str:
    """What the programs make of merges in which git reports a conflict."""
    header = ["", "settled", "as the people", "where they kept all", "order only", "answer among the sides", *FAULTS]
    rows = []
    for name in _names(judged):
        figures = figures_of(judged, name)
        shares = (figures.settled, figures.right, figures.right_of_kept)
        row = [name, *map(str, shares), str(figures.only_order), str(figures.reached)]
        rows.append(row + [str(figures.faults[fault]) for fault in FAULTS])
    silent = silent_in_driver(judged)
    words = "Conflicts that `krm-merge` reports and `krm-merge merge-driver` settles without markers"
    return f"{table(header, rows)}\n{words}: {silent}\n"


def clean_table(judged: Sequence[Judged]) -> str:
    """What the programs make of merges that git makes without a conflict."""
    header = ["", "merges", "git's bytes", "as the people", "better than git", "worse than git"]
    rows = []
    for name in _names(judged):
        figures = figures_of(judged, name)
        shares = (str(figures.clean_as_git), str(figures.clean_right))
        rows.append([name, str(figures.clean), *shares, str(figures.clean_better), str(figures.clean_worse)])
    return table(header, rows)


def repositories_table(judged: Sequence[Judged]) -> str:
    """Which merges come from where."""
    cases = by_repository(case.recipe for case in judged)
    rows = [
        [f"[{name}](https://github.com/{name})", str(sum(r.is_clean for r in rs)), str(sum(not r.is_clean for r in rs))]
        for name, rs in cases.items()
    ]
    return table(["repository", "git merges", "git reports a conflict"], rows)


def failures(judged: Sequence[Judged]) -> str:
    """Every merge that krm-merge settled otherwise than the people did, by class, the gravest first."""
    by_class: dict[str, list[str]] = {}
    for case in judged:
        verdict = case.verdicts[PACKAGE]
        if is_worse(case, verdict):
            by_class.setdefault("worse than git", []).append(_line(case, verdict))
        elif not case.recipe.is_clean and (verdict.status == "different" or verdict.faults):
            by_class.setdefault(class_of(case, verdict), []).append(_line(case, verdict))
    parts = []
    for title, classes in (("Ours", OURS), ("Nobody could know", THEIRS)):
        parts.append(f"### {title}\n")
        for name, meaning in classes.items():
            lines = by_class.get(name, [])
            listed = "\n".join([*lines, ""]) if lines else ""
            parts += [f"#### {name}: {len(lines)}\n", f"{meaning}.\n", listed]
    return "\n".join(part for part in parts if part)


def _line(case: Judged, verdict: Verdict) -> str:
    recipe = case.recipe
    details = (
        *verdict.versions,
        *verdict.doubled,
        *verdict.twice,
        *verdict.comments,
        *verdict.missing,
        *verdict.reports,
    )
    detail = f": `{details[0][:90].replace('`', '')}`" if details else ""
    return f"- {recipe.id} [{recipe.repository} {recipe.people[:7]}]({recipe.address}) `{recipe.path}`{detail}"


def _names(judged: Sequence[Judged]) -> list[str]:
    return list(dict.fromkeys(name for case in judged for name in case.verdicts))
