"""Compares updates by kpt and by krm-merge, for docs/comparisons.md.

The packages in testdata/comparisons have what upstream published as `v1` and as `v2`, and what somebody made of v1 as
`local`; public.json has public ones, with the edits of somebody who deploys them. The real kpt fetches each, and the
page has what `krm-merge compare` prints.

Without arguments the packages in testdata are compared; with --check nothing is written, and the exit code is 1 where
something else is printed. --public MIRROR compares the public ones: MIRROR holds clones as OWNER+NAME, and what it
lacks comes from the network.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "testdata" / "comparisons"
PAGE = ROOT / "docs" / "comparisons.md"
ADDRESS = "https://git.example.com/packages"
OWN = ("blog", "tenant", "monitoring")
BLOCK = re.compile(r"(<!-- compare ([\w-]+) -->\n\n```text\n)(.*?)(```\n\n<!-- end -->)", re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is out of date")
    parser.add_argument("--public", metavar="MIRROR", type=Path, help="compare the public packages")
    arguments = parser.parse_args()
    if arguments.public is None:
        outputs = {name: compare(PACKAGES / name) for name in OWN}
    else:
        outputs = {recipe["name"]: compare_public(recipe, arguments.public) for recipe in recipes()}
    text = PAGE.read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda match: f"{match[1]}{outputs.get(match[2], match[3])}{match[4]}", text)
    if arguments.check and fresh != text:
        print(f"{PAGE.relative_to(ROOT)}: out of date; run `make comparisons`", file=sys.stderr)
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


def recipes() -> list[dict[str, Any]]:
    """The public packages: where each is, between which versions it is updated, and what was edited in which file."""
    entries: list[dict[str, Any]] = json.loads((PACKAGES / "public.json").read_text(encoding="utf-8"))
    return entries


def compare(package: Path) -> str:
    """What `krm-merge compare` says of a package in testdata."""
    with TemporaryDirectory() as place:
        machine = Machine(Path(place))
        for version in ("v1", "v2"):
            machine.publish(package, version)
        machine.fetch(package)
        return machine.compare(f"{package.name}@v2")


def compare_public(recipe: dict[str, Any], mirror: Path) -> str:
    """What it says of a public package, fetched by kpt and edited; nothing is committed."""
    owner, name = recipe["repository"].split("/")[-2:]
    clones = [clone for clone in (mirror / f"{owner}+{name}" / "repo", mirror / f"{owner}+{name}") if clone.exists()]
    with TemporaryDirectory() as place:
        machine = Machine(Path(place), {recipe["repository"]: str(clones[0].resolve())} if clones else {})
        source = f"{recipe['repository']}.git/{recipe['directory']}@{recipe['from']}"
        machine.run("kpt", "pkg", "get", source, recipe["name"])
        for file, before, after in recipe["edits"]:
            edited = machine.deploy / recipe["name"] / file
            text = edited.read_text(encoding="utf-8")
            if text.count(before) != 1:
                raise SystemExit(f"{recipe['name']}: {file} has {before!r} {text.count(before)} times, not once")
            edited.write_text(text.replace(before, after), encoding="utf-8")
        return machine.compare(f"{recipe['name']}@{recipe['to']}")


class Machine:
    """A home, an upstream repository, and a repository with the package; commits have the same id everywhere.

    `mirrored` are clones on this machine by the address of the repository.
    """

    def __init__(self, place: Path, mirrored: dict[str, str] | None = None) -> None:
        self.upstream, self.deploy, home = place / "packages", place / "deploy", place / "home"
        for folder in (self.upstream, self.deploy, home):
            folder.mkdir()
        insteads = "".join(
            f'[url "file://{clone}"]\ninsteadOf = {address}.git\ninsteadOf = {address}\n'
            for address, clone in {ADDRESS: str(self.upstream), **(mirrored or {})}.items()
        )
        (home / ".gitconfig").write_text(
            "[user]\nname = We\nemail = we@example.com\n[init]\ndefaultBranch = main\n[safe]\ndirectory = *\n"
            + insteads
        )
        self.env = {name: text for name, text in os.environ.items() if not name.startswith(("GIT_", "KRM_", "XDG_"))}
        self.env |= {f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")}
        self.env |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
        for repository in (self.upstream, self.deploy):
            self.run("git", "init", "--quiet", at=repository)

    def publish(self, package: Path, version: str) -> None:
        """Commits and tags a version upstream."""
        target = self.upstream / package.name
        shutil.rmtree(target, ignore_errors=True)
        _copy(package / version, target)
        self._commit(self.upstream, version)
        self.run("git", "tag", version, at=self.upstream)

    def fetch(self, package: Path) -> None:
        """Fetches v1 as kpt does, and makes the local changes."""
        self.run("kpt", "pkg", "get", f"{ADDRESS}.git/{package.name}@v1", package.name)
        self._commit(self.deploy, "v1")
        sides = [_copy(package / side, self.deploy.parent / side) for side in ("v1", "local")]
        # Our changes are merged into what kpt fetched: kpt's notes stay.
        self.run("krm-merge", "merge", *map(str, sides), package.name, "--in-place", "--on-conflict", "fail")
        self._commit(self.deploy, "our changes")

    def compare(self, package: str) -> str:
        """What is printed about an update."""
        return self.run("krm-merge", "compare", package)

    def run(self, *command: str, at: Path | None = None) -> str:
        """Runs a program in the deploying repository, and returns what it prints."""
        done = subprocess.run(command, cwd=at or self.deploy, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _commit(self, repository: Path, message: str) -> None:
        self.run("git", "add", "--all", at=repository)
        self.run("git", "commit", "--quiet", f"--message={message}", at=repository)


def _copy(version: Path, target: Path) -> Path:
    """A copy of a version; a Kptfile has another name in this repository, so that kpt does not render it."""
    # Files with times of their own: git takes one of the same size and time for unchanged.
    shutil.copytree(version, target, copy_function=shutil.copyfile)
    (target / "local.Kptfile").rename(target / "Kptfile")
    return target


if __name__ == "__main__":
    sys.exit(main())
