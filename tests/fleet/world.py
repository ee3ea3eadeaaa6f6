"""A campaign made for a test: an upstream in two versions, and packages that follow it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.hosts import git, wait_until
from e2e.in_process import krm_merge
from packages.repositories import Repository, config_map, kptfile, write


def kill(process: subprocess.Popen[Any], *, when: Callable[[], object] = lambda: True) -> None:
    """Kills a process and all of its group as soon as something happens, or once it has done its work before.

    Some of the group may take a while to be gone.
    """
    wait_until(lambda: when() or process.poll() is not None)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() in (-signal.SIGKILL, 0, 1)


V1 = {"shop/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n"}


@dataclass(frozen=True)
class World:
    """An upstream `shop` with the tags v1 and v2, which changes `data.a` from 1 to 2."""

    place: Path

    @classmethod
    def at(cls, place: Path) -> World:
        upstream = Repository.at(place / "upstream")
        upstream.version("v1", {**V1, "shop/a.yaml": config_map("a", a="one", b="one")})
        upstream.version("v2", {"shop/a.yaml": config_map("a", a="two", b="one"), "shop/new.yaml": config_map("new")})
        return cls(place)

    @property
    def upstream(self) -> str:
        return f"file://{self.place}/upstream"

    @property
    def tree(self) -> Path:
        return self.place / "tree"

    def commit(self, ref: str) -> str:
        return git(self.place / "upstream", "rev-parse", f"{ref}^{{commit}}").strip()

    def package(self, *, a: str = "one", b: str = "one", ref: str = "v1") -> dict[str, Any]:
        """The files of a package that was fetched at a version, with what local made of it."""
        text = kptfile(self.upstream, ref, self.commit(ref), "/shop").replace("name: pkg", "name: shop")
        return {"Kptfile": text, "a.yaml": config_map("a", a=a, b=b)}

    def working_tree(self, count: int, *, conflicts: int = 0) -> Path:
        """So many packages in one working tree; the first ones have another value than upstream's two."""
        tree = Repository.at(self.tree)
        for number in range(count):
            a = "three" if number < conflicts else "one"
            write(self.tree / f"team-{number % 7}/pkg-{number:03}", self.package(a=a, b=f"own-{number}"))
        tree.commit({})
        return self.tree

    def repositories(self, count: int, *, conflicts: int = 0) -> list[Path]:
        """So many bare repositories with one package each."""
        places = []
        for number in range(count):
            a = "three" if number < conflicts else "one"
            work = Repository.at(self.place / "work" / f"{number:03}")
            files = self.package(a=a, b=f"own-{number}")
            work.commit({f"deploy/shop/{name}": text for name, text in files.items()} | {"README.md": f"{number}\n"})
            places.append(work.bare(self.place / "forge" / f"{number:03}.git").path)
        return places

    def fleet(self, *arguments: str | Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of `krm-merge fleet`."""
        return krm_merge("fleet", *arguments, cwd=self.place, stdin=stdin, **environment)

    def plan(self, *arguments: str | Path, directory: str = "campaign") -> str:
        """A campaign for the packages of the working tree, or for what the arguments name."""
        where = arguments or ("--packages", "tree")
        done = self.fleet("init", directory, "--upstream", f"{self.upstream}/shop", "--to", "v2", *where)
        assert done.returncode == 0, done.stderr
        return directory

    def retag(self, value: str, date: str) -> None:
        """Upstream's v2 names another commit, which was made at that time."""
        upstream = self.place / "upstream"
        write(upstream, {"shop/a.yaml": config_map("a", a=value, b="one")})
        git(upstream, "add", "--all")
        git(upstream, "-c", "user.name=u", "commit", "--quiet", f"--message={value}", f"--date={date}")
        git(upstream, "rebase", "--quiet", "--committer-date-is-author-date", "HEAD~")
        git(upstream, "tag", "--force", "v2")

    def states(self, directory: str = "campaign") -> Counter[str]:
        """How many targets are in which state."""
        return Counter(target["state"] for target in self.status(directory)["targets"])

    def status(self, directory: str = "campaign") -> dict[str, Any]:
        done = self.fleet("status", directory, "--format", "json")
        assert done.returncode == 0, done.stderr
        value: dict[str, Any] = json.loads(done.stdout)
        return value
