"""Merges that people made, made again by programs and judged; docs/real-merges.md explains.

MIRROR holds a clone of each repository as OWNER+NAME: of the whole, or of what the recipes name, as `clone` makes it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.merges import ledger, page
from benchmarks.merges.cloning import SERVER, clone
from benchmarks.merges.entrants import DRIVER, ENTRANTS, GIT, PACKAGE, ZDIFF3, merge_package
from benchmarks.merges.figures import figures_of, silent_in_driver
from benchmarks.merges.running import KPT, choose, judge_all
from benchmarks.merges.triples import (
    RECIPES,
    MissingError,
    Recipe,
    by_repository,
    git_directory,
    recipes_of,
    store_triples,
    stored_triples,
    triples_of,
    write_recipes,
)
from benchmarks.merges.verdicts import Judged

SEEN, UNSEEN = "seen", "unseen"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merges", description=__doc__)
    parser.add_argument("--recipes", type=Path, default=RECIPES, help="the folder of recipes")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("clone", help="fetch what the recipes name, a few MB a repository")
    command.add_argument("mirror", type=Path)
    command.add_argument("--ledger", action="store_true", help="only what testdata/merges/ledger.tsv names")
    command.add_argument("--server", default=SERVER, help="where the repositories are (default: %(default)s)")
    command = commands.add_parser("mine", help="find merges in whole clones, and write their recipes")
    command.add_argument("mirror", type=Path)
    command.add_argument("repositories", nargs="+", metavar="OWNER/NAME")
    command.add_argument("--seconds", type=float, default=600, help="at most so many for each repository")
    command = commands.add_parser("judge", help="merge with programs, and print the figures")
    _add_choices(command)
    command.add_argument("--repository", action="append", default=[], metavar="OWNER/NAME")
    command.add_argument("--sample", type=int, default=0, help="only so many of git's conflicts, and no clean merges")
    command.add_argument("--swap", action="store_true", help="exchange upstream and local")
    command.add_argument("--failures", action="store_true", help="list what krm-merge made otherwise than people")
    command = commands.add_parser("page", help="merge all, and write docs/real-merges.md")
    _add_choices(command)
    command = commands.add_parser("show", help="print both sides' changes of a merge, and how the answers differ")
    command.add_argument("mirror", type=Path)
    command.add_argument("id")
    command = commands.add_parser("ledger", help="compare with testdata/merges/ledger.tsv; 1 where it differs")
    command.add_argument("mirror", type=Path, nargs="?", help="where to read the merges anew, into triples.zip")
    command.add_argument("--update", action="store_true", help="write the ledger")
    options = parser.parse_args()
    run = {"clone": _clone, "mine": _mine, "judge": _judge, "page": _page, "show": _show, "ledger": _ledger}
    try:
        return run[options.command](options)
    except (MissingError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2


def _add_choices(command: argparse.ArgumentParser) -> None:
    command.add_argument("mirror", type=Path)
    names = ", ".join([*ENTRANTS, KPT])
    what = f"{names}, or NAME=COMMAND, which is called with O U L OUT"
    command.add_argument("--entrant", action="append", default=[], help=what)


def _clone(options: argparse.Namespace) -> int:
    recipes = [line.recipe for line in ledger.read()] if options.ledger else recipes_of(options.recipes)
    for repository, its_recipes in by_repository(recipes).items():
        if is_whole(options.mirror, repository):
            continue
        clone(options.mirror, repository, its_recipes, options.server)
    return 0


def is_whole(mirror: Path, repository: str) -> bool:
    """Whether a mirror has a clone of a repository that `clone` did not make."""
    try:
        return not (git_directory(mirror, repository) / "recipes").is_file()
    except MissingError:
        return False


def _mine(options: argparse.Namespace) -> int:
    from benchmarks.merges.mining import Miner

    for repository in options.repositories:
        start = time.monotonic()
        recipes = Miner(options.mirror, repository, options.seconds).recipes()
        write_recipes(repository, recipes, options.recipes)
        clean = sum(recipe.is_clean for recipe in recipes)
        took = time.monotonic() - start
        print(f"{repository}: {clean} clean, {len(recipes) - clean} conflicts, {took:.0f} s", flush=True)
    return 0


def _judge_all(recipes: Sequence[Recipe], mirror: Path, names: Sequence[str], *, swap: bool = False) -> list[Judged]:
    triples = triples_of(recipes, mirror)
    return list(judge_all((triple.swap() if swap else triple for triple in triples), choose(names)))


def _judge(options: argparse.Namespace) -> int:
    recipes = recipes_of(options.recipes, options.repository)
    if options.sample:
        recipes = sorted((recipe for recipe in recipes if not recipe.is_clean), key=lambda recipe: recipe.id)
        recipes = sorted(recipes[: options.sample], key=lambda recipe: recipe.repository)
    names = options.entrant or [GIT, PACKAGE, DRIVER]
    judged = _judge_all(recipes, options.mirror, names, swap=options.swap)
    right = sum(case.answer.kept_all for case in judged if not case.recipe.is_clean)
    print(f"{len(judged)} merges; of git's conflicts the people kept every one-sided change in {right}")
    for label in choose(names):
        print(f"\n{label}")
        figures = figures_of(judged, label)
        for key in figures.__dataclass_fields__:
            value = getattr(figures, key)
            print(f"  {key.replace('_', ' '):18} {dict(value) if hasattr(value, 'items') else value}")
    if {PACKAGE, DRIVER} <= {*choose(names)}:
        print(f"\nconflicts that the driver settles without markers: {silent_in_driver(judged)}")
    if options.failures:
        print(f"\n{page.failures(judged)}")
    return 0


def _page(options: argparse.Namespace) -> int:
    parts = {}
    names = options.entrant or [GIT, ZDIFF3, PACKAGE, DRIVER, KPT]
    for kind in (SEEN, UNSEEN):
        judged = _judge_all(recipes_of(options.recipes / kind), options.mirror, names)
        parts[f"repositories: {kind}"] = page.repositories_table(judged)
        parts[f"conflicts: {kind}"] = page.conflicts_table(judged)
        parts[f"clean: {kind}"] = page.clean_table(judged)
        if kind == SEEN:
            parts["failures"] = page.failures(judged)
    page.write(parts)
    return 0


def _show(options: argparse.Namespace) -> int:
    recipes = [recipe for recipe in recipes_of(options.recipes) if recipe.id.startswith(options.id)]
    for triple in triples_of(recipes, options.mirror):
        outcome = merge_package(triple)
        texts = {"original": triple.original, "upstream": triple.upstream, "local": triple.local}
        texts |= {"people": triple.people, "krm-merge": outcome.text or b""}
        print(triple.recipe.address, triple.recipe.path, sep="\n", flush=True)
        with tempfile.TemporaryDirectory(prefix="krm-merge-merges-") as folder:
            for name, text in texts.items():
                Path(folder, name).write_bytes(text)
            for side, other in (("original", "upstream"), ("original", "local"), ("people", "krm-merge")):
                words = ["git", "diff", "--no-index", "--no-color", "--unified=2", side, other]
                subprocess.run(words, cwd=folder, check=False)
        print(*outcome.reports, outcome.error, sep="\n")
    return 0 if recipes else 1


def _ledger(options: argparse.Namespace) -> int:
    lines = ledger.read()
    recipes = [line.recipe for line in lines]
    if options.mirror is not None:
        store_triples(triples_of(recipes, options.mirror))
    judged = list(judge_all(stored_triples(recipes), choose([PACKAGE])))
    compared = ledger.compare(lines, judged)
    for title, rows in (("worse", compared.worse), ("better", compared.better)):
        if rows:
            print(f"{len(rows)} {title} than in {ledger.LEDGER.name}:", *rows, sep="\n  ")
    if options.update:
        ledger.write(compared.now)
        return 0
    if compared.better:
        print(f"Write them down: {ledger.UPDATE}")
    return 1 if compared.worse or compared.better else 0


if __name__ == "__main__":
    sys.exit(main())
