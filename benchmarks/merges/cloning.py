"""Fetches what recipes name, and nothing else: two generations of commits, their folders, and the files themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.merges.triples import Recipe

SERVER = "https://github.com"
OPTIONS = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
FETCH = ("-c", "fetch.negotiationAlgorithm=noop", "fetch", *OPTIONS)
AT_ONCE = 100


def clone(mirror: Path, repository: str, recipes: Iterable[Recipe], server: str = SERVER) -> None:
    """Fetches the versions that the recipes of a repository name into MIRROR/OWNER+NAME, unless they are there."""
    directory = mirror / repository.replace("/", "+")
    missing = list(recipes)
    done, rows = directory / "recipes", {recipe.row() for recipe in missing}
    there = set(done.read_text(encoding="utf-8").splitlines()) if done.is_file() else set()
    if rows <= there:
        return
    if not (directory / "HEAD").is_file():
        directory.mkdir(parents=True)
        _git(directory, "init", "--quiet", "--bare")
        _git(directory, "remote", "add", "origin", f"{server}/{repository}")
    commits = {commit for recipe in missing for commit in (recipe.people, recipe.other)}
    _git(directory, *FETCH, "--depth=2", "--stdin", "origin", lines=sorted(commits))
    names = sorted({f"{revision}:{recipe.path}" for recipe in missing for revision in recipe.revisions()})
    files: set[str] = set()
    for start in range(0, len(names), AT_ONCE):
        files |= set(_git(directory, "rev-parse", *names[start : start + AT_ONCE]).split())
    _git(directory, *FETCH, "--stdin", "origin", lines=sorted(files))
    done.write_text("".join(f"{row}\n" for row in sorted(rows | there)), encoding="utf-8")


def _git(directory: Path, *arguments: str, lines: Sequence[str] = ()) -> str:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(["git", *arguments], cwd=directory, input=text, capture_output=True, check=False, text=True)
    if done.returncode:
        raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
