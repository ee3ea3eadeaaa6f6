"""Compares updates by kpt and by krm-merge on the packages in testdata/comparisons, for docs/comparisons.md.

Each package has what upstream published as `v1` and as `v2`, and what somebody made of v1 as `local`. The real kpt
fetches v1, so the resources have its notes. Without arguments the page is written; with --check nothing is written, and
the exit code is 1 where the page shows something else.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "testdata" / "comparisons"
PAGE = ROOT / "docs" / "comparisons.md"
ADDRESS = "https://git.example.com/packages"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is out of date")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    new = re.sub(
        r"(?<=<!-- krm-merge compare )(\w+)@v2 -->\n\n```text\n.*?```\n",
        lambda block: f"{block[1]}@v2 -->\n\n```text\n{compared(PACKAGES / block[1])}```\n",
        page,
        flags=re.DOTALL,
    )
    if check and new != page:
        print("docs/comparisons.md is out of date; run `make comparisons`", file=sys.stderr)
        return 1
    if new != page:
        PAGE.write_text(new, encoding="utf-8")
    return 0


def compared(package: Path) -> str:
    """What `krm-merge compare` prints about a package."""
    with TemporaryDirectory() as place:
        machine = Machine(Path(place))
        for version in ("v1", "v2"):
            machine.publish(package, version)
        machine.fetch(package)
        return machine.run("krm-merge", "compare", f"{package.name}@v2")


class Machine:
    """A home, an upstream repository, and a repository with the package; commits have the same id everywhere."""

    def __init__(self, place: Path) -> None:
        self.upstream, self.deploy, home = place / "packages", place / "deploy", place / "home"
        for folder in (self.upstream, self.deploy, home):
            folder.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\nname = We\nemail = we@example.com\n[init]\ndefaultBranch = main\n"
            f'[url "file://{self.upstream}"]\ninsteadOf = {ADDRESS}.git\ninsteadOf = {ADDRESS}\n'
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
        _copied(package / version, target)
        self._commit(self.upstream, version)
        self.run("git", "tag", version, at=self.upstream)

    def fetch(self, package: Path) -> None:
        """Fetches v1 as kpt does, and makes the local changes."""
        self.run("kpt", "pkg", "get", f"{ADDRESS}.git/{package.name}@v1", package.name)
        self._commit(self.deploy, "v1")
        sides = [_copied(package / side, self.deploy.parent / side) for side in ("v1", "local")]
        # Our changes are merged into what kpt fetched: kpt's notes stay.
        self.run("krm-merge", "merge", *map(str, sides), package.name, "--in-place", "--on-conflict", "fail")
        self._commit(self.deploy, "our changes")

    def run(self, *command: str, at: Path | None = None) -> str:
        """Runs a program in the deploying repository, and returns what it prints."""
        done = subprocess.run(command, cwd=at or self.deploy, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _commit(self, repository: Path, message: str) -> None:
        self.run("git", "add", "--all", at=repository)
        self.run("git", "commit", "--quiet", f"--message={message}", at=repository)


def _copied(version: Path, target: Path) -> Path:
    """A copy of a version; a Kptfile has another name in this repository, so that kpt does not render it."""
    # Files with times of their own: git takes one of the same size and time for unchanged.
    shutil.copytree(version, target, copy_function=shutil.copyfile)
    (target / "local.Kptfile").rename(target / "Kptfile")
    return target


if __name__ == "__main__":
    sys.exit(main())
