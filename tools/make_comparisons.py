"""Compares updates by kpt and by krm-merge, for docs/comparisons.md.

The packages in testdata/comparisons have what upstream published as `v1` and as `v2`, and what somebody made of v1 as
`local`; those of public.json are public ones that nobody changed. The real kpt fetches each. The reports are kept in
testdata/comparisons/reports, and the page is made from them.

Without arguments the reports on the packages in testdata are made, and the page; with --check nothing is written, and
the exit code is 1 where one says something else. --public MIRROR makes those on public packages: MIRROR holds clones as
OWNER+NAME, and what it lacks comes from the network. --page makes the page alone, which needs no kpt.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from krm_merge.krm.result import ResourceRef
from krm_merge.report.comparison.difference import CAUSES, OF_BYTES, Comparison, Difference
from krm_merge.report.forms.terminal import comparison_lines

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "testdata" / "comparisons"
REPORTS = PACKAGES / "reports"
PAGE = ROOT / "docs" / "comparisons.md"
ADDRESS = "https://git.example.com/packages"
OF_LOCAL = ("local-change-lost", "function-dropped", "restored")
"""Findings that are about what local changed."""
OWN = ("blog", "tenant", "monitoring")

Report = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where something is out of date")
    parser.add_argument("--public", metavar="MIRROR", type=Path, help="compare the public packages")
    parser.add_argument("--page", action="store_true", help="make the page alone")
    arguments = parser.parse_args()
    fresh = {}
    if arguments.public is not None:
        fresh = {recipe["name"]: compared_public(recipe, arguments.public) for recipe in recipes()}
    elif not arguments.page:
        fresh = {name: compare(PACKAGES / name) for name in OWN}
    files = {REPORTS / f"{name}.json": f"{json.dumps(report, indent=2)}\n" for name, report in fresh.items()}
    reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(REPORTS.glob("*.json"))}
    if all(name in reports | fresh for name in (*OWN, *(recipe["name"] for recipe in recipes()))):
        files[PAGE] = page(PAGE.read_text(encoding="utf-8"), reports | fresh)
    outdated = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if arguments.check and outdated:
        names = ", ".join(str(path.relative_to(ROOT)) for path in outdated)
        print(f"{names}: out of date; run `make comparisons`", file=sys.stderr)
        return 1
    for path in outdated:
        path.write_text(files[path], encoding="utf-8")
    return 0


def recipes() -> list[dict[str, str]]:
    """The public packages: where each is, and between which versions it is updated."""
    entries: list[dict[str, str]] = json.loads((PACKAGES / "public.json").read_text(encoding="utf-8"))
    return entries


# ---- the page -------------------------------------------------------------------------------------------------------


def page(text: str, reports: dict[str, Report]) -> str:
    """The page with its tables and reports made anew."""

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name.endswith("@v2"):
            return f"{match[1]}\n\n```text\n{_as_text(reports[name.removesuffix('@v2')])}```\n{match[3]}"
        rows = _of_own(reports) if name == "own packages" else _of_public(reports)
        return f"{match[1]}\n\n{''.join(rows)}\n{match[3]}"

    return re.sub(r"(<!-- compare ([\w@ ]+) -->).*?(<!-- end -->)", block, text, flags=re.DOTALL)


def _as_text(report: Report) -> str:
    lines = (line.text for line in comparison_lines(load(report)))
    return "".join(f"{line}\n" for line in lines)


def _of_own(reports: dict[str, Report]) -> Iterator[str]:
    yield "| package | local changes that kpt loses | brings back or leaves | comments it loses | misses of upstream "
    yield "| lines that kpt changes, of them without need | lines that krm-merge changes | unexplained |\n"
    yield f"|---{'|---' * 7}|\n"
    for name in OWN:
        counts, lines = reports[name]["counts"], reports[name]["lines"]
        cells = [
            f"[{name}](#{name})",
            _sum(counts, "local-change-lost", "function-dropped", "unchanged-lost"),
            _sum(counts, "restored", "remains", "duplicated"),
            _comments(reports[name]),
            _sum(counts, "upstream-change-missed"),
            f"{_total(lines['kpt'])}, {_needless(lines['kpt'])}",
            f"{_total(lines['krm-merge'])}, {_needless(lines['krm-merge'])}",
            _sum(counts, "unexplained"),
        ]
        yield f"| {' | '.join(map(str, cells))} |\n"


def _of_public(reports: dict[str, Report]) -> Iterator[str]:
    yield "| package | from, to | local changes that kpt is said to lose | where kpt's update is no fresh get "
    yield "| comments that kpt writes twice or moves | conflicts of krm-merge | unexplained |\n"
    yield f"|---{'|---' * 6}|\n"
    for recipe in recipes():
        report = reports[recipe["name"]]
        sides, counts = report["sides"], report["counts"]
        address = f"{recipe['repository']}/tree/{sides['upstream']['commit']}/{recipe['directory']}"
        versions = [f"{recipe[end].rpartition('/')[2]} `{sides[side]['commit'][:7]}`" for end, side in _ENDS]
        cells = [
            f"[{recipe['name']}]({address})",
            ", ".join(versions),
            _sum(counts, *OF_LOCAL),
            "; ".join(_places(report)) or "nowhere",
            _sum(counts, "comments-differ"),
            sum(difference["reported"] for difference in report["differences"]),
            _sum(counts, "unexplained"),
        ]
        yield f"| {' | '.join(map(str, cells))} |\n"


def _places(report: Report) -> Iterator[str]:
    """What kpt makes otherwise than upstream has it: finding by finding, with the first place of each."""
    groups: dict[str, list[Report]] = {}
    for difference in report["differences"]:
        if difference["finding"] not in (*OF_BYTES - {"comments-lost"}, *_BY_CHOICE):
            groups.setdefault(difference["message"].partition(":")[0], []).append(difference)
    for message, differences in groups.items():
        first = f"`{differences[0]['path'] or differences[0]['file']}`"
        times = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
        yield f"{first}{times}: {message}"


_BY_CHOICE = ("decided-otherwise", "conflict-unreported", "order")
_ENDS = (("from", "original"), ("to", "upstream"))
_NEEDLESS = ("undone", "alone", "comments", "order", "layout", "unexplained")


def _sum(counts: dict[str, int], *findings: str) -> int:
    return sum(counts.get(finding, 0) for finding in findings)


def _comments(report: Report) -> int:
    messages = (
        difference["message"] for difference in report["differences"] if difference["finding"] == "comments-lost"
    )
    return sum(int(match[0]) for message in messages if (match := re.search(r"\d+", message)))


def _total(lines: dict[str, int]) -> int:
    return sum(lines.values())


def _needless(lines: dict[str, int]) -> int:
    """The lines that neither upstream's changes nor the version in the Kptfile ask for."""
    assert set(_NEEDLESS) < set(CAUSES)
    return sum(lines.get(cause, 0) for cause in _NEEDLESS)


def load(report: Report) -> Comparison:
    """A report as it was before it was written."""
    differences = []
    for difference in report["differences"]:
        about = difference.get("resource")
        resource = about and ResourceRef(about["apiVersion"], about["kind"], about["name"], about["namespace"])
        fields = (
            difference["finding"],
            difference["file"],
            resource,
            difference["path"],
            difference["message"],
            difference.get("values", {}),
        )
        more = difference.get("rule", ""), difference.get("redacted", False), difference.get("layout", {})
        differences.append(Difference(*fields, *more))
    options = {name: report[name] for name in ("package", "lines") if name in report}
    return Comparison(**options, differences=differences, refusal=report.get("refusal", ""), is_same=report["same"])


# ---- the reports ----------------------------------------------------------------------------------------------------


def compare(package: Path) -> Report:
    """What `krm-merge compare` says of a package in testdata."""
    with TemporaryDirectory() as place:
        machine = Machine(Path(place))
        for version in ("v1", "v2"):
            machine.publish(package, version)
        machine.fetch(package)
        return machine.compare(f"{package.name}@v2")


def compared_public(recipe: dict[str, str], mirror: Path) -> Report:
    """What it says of a public package, as kpt fetches it: nothing is committed or changed."""
    owner, name = recipe["repository"].split("/")[-2:]
    clones = [clone for clone in (mirror / f"{owner}+{name}" / "repo", mirror / f"{owner}+{name}") if clone.exists()]
    with TemporaryDirectory() as place:
        machine = Machine(Path(place), {recipe["repository"]: str(clones[0].resolve())} if clones else {})
        source = f"{recipe['repository']}.git/{recipe['directory']}@{recipe['from']}"
        machine.run("kpt", "pkg", "get", source, recipe["name"])
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

    def compare(self, package: str) -> Report:
        """The report on an update."""
        report: Report = json.loads(self.run("krm-merge", "compare", package, "--format", "json"))
        return report

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
