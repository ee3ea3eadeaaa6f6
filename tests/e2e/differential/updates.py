"""Updates of a package with kpt and with krm-merge, one beside the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.differential.packages import Triple
from e2e.differential.values import (
    Contents,
    read_package,
)
from e2e.hosts import SECONDS, Run, write_package
from packages.repositories import Repository

DOCUMENT = ("--function-identity", "document", "--on-conflict", "upstream", "--on-delete", "local")
"""The options that make our update of a package comparable with kpt's."""


@dataclass(frozen=True)
class Outcome:
    """The packages of one seed: local, kpt's result, ours."""

    seed: int
    local: Contents
    kpt: Contents
    ours: Contents
    locks: tuple[Any, Any]


def command(*words: str | Path, cwd: Path, code: int = 0) -> Run:
    """Runs a program that must end with this code."""
    caches = {"KPT_CACHE_DIR": str(cwd / ".kpt"), "KRM_MERGE_CACHE_DIR": str(cwd / ".cache")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **caches},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done


def prepare(folder: Path, triple: Triple) -> None:
    """Repositories with two versions, fetched by kpt; the folders `web` and `ours` are local's package."""
    folder.mkdir()
    source = Repository.at(folder / "source")
    source.version("v1", {f"dir/{name}": text for name, text in triple.original.items()})
    files = {**dict.fromkeys(triple.original), **triple.upstream}
    source.version("v2", {f"dir/{name}": text for name, text in files.items()})
    source.bare(folder / "repo.git")
    command("kpt", "pkg", "get", f"file://{folder}/repo.git/dir@v1", "web", cwd=folder)
    web = folder / "web"
    fetched = yaml.safe_load((web / "Kptfile").read_text(encoding="utf-8"))
    shutil.rmtree(web)
    origin = {name: fetched[name] for name in ("upstream", "upstreamLock")}
    write_package(web, triple.local)
    root = triple.local["Kptfile"] + yaml.safe_dump(origin)
    (web / "Kptfile").write_text(root, encoding="utf-8")
    shutil.copytree(web, folder / "ours")


def update(folder: Path, seed: int, triple: Triple) -> Outcome:
    """What kpt and krm-merge make of the same package."""
    prepare(folder, triple)
    web = folder / "web"
    local = read_package(web)
    command("kpt", "pkg", "update", "web@v2", cwd=folder)
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT, cwd=folder)
    locks = [yaml.safe_load((folder / at / "Kptfile").read_text(encoding="utf-8")) for at in ("web", "ours")]
    return Outcome(
        seed,
        local,
        read_package(web),
        read_package(folder / "ours"),
        (locks[0]["upstreamLock"], locks[1]["upstreamLock"]),
    )


def update_all(folder: Path, seeds: Iterable[int], triples: Callable[[int], Triple]) -> dict[int, Outcome]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda seed: update(folder / str(seed), seed, triples(seed)), seeds)
        return {outcome.seed: outcome for outcome in done}
