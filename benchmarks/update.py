"""Measures `krm-merge update` beside `kpt pkg update`, and merges of git with the driver and without.

`make bench PARTS=update` runs it, README.md explains.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measuring import (
    PROGRAM,
    Bar,
    Command,
    Measured,
    Run,
    alternate,
    as_value,
    bar_table,
    case_table,
    load,
    machine,
    median,
    numbers_of,
    present,
    program,
    rounds,
    table,
)
from benchmarks.packages import NAME, changed_upstream, differing, files, kptfile, write

KPT = "kpt pkg update"
ROOT = Path(__file__).resolve().parent.parent
NOTHING = Path(os.devnull)
TINY, SMALL, MIDDLE, LARGE = 10, 100, 1000, 10_000
# Nobody's own settings of git; the same commits every time.
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@example.com",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@example.com",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}


def git(*arguments: str, directory: Path) -> str:
    """What a command of git prints."""
    # No collection in the background: a clone would copy files that it is writing.
    command = ["git", "-C", str(directory), "-c", "gc.auto=0", "-c", "maintenance.auto=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | GIT).stdout.strip()


@dataclass(frozen=True, slots=True)
class Case:
    """A package of so many resources: its upstream repository, and the repository that it was fetched into.

    Where the caches are `warm`, an earlier run has left both versions of upstream in them.
    """

    resources: int
    directory: Path
    one_file: bool = False
    warm: bool = False

    @property
    def name(self) -> str:
        return f"{self.resources:,} resources{' in one file' * self.one_file}{', caches warm' * self.warm}"

    @property
    def upstream(self) -> Path:
        return self.directory / "upstream.git"

    @property
    def address(self) -> str:
        # Without the suffix, as kpt writes it into the Kptfile.
        return f"file://{self.upstream.with_suffix('')}"

    @property
    def local(self) -> Path:
        return self.directory / "local"

    @property
    def copy(self) -> Path:
        return self.directory / "copy"

    # ---- the package ---------------------------------------------------------------------------------------------

    def make(self, *, with_kpt: bool) -> None:
        """Publishes two versions, fetches the first one with kpt or as kpt does, and commits the local changes."""
        for repository in (self.upstream, self.local):
            repository.mkdir(parents=True)
            git("init", "--quiet", "--initial-branch=main", directory=repository)
        for ref in ("v1", "v2"):
            parts = files(self.resources, one_file=self.one_file, upstream=ref == "v2")
            write(self.upstream / NAME, kptfile(), parts)
            self._commit(self.upstream)
            git("tag", ref, directory=self.upstream)
        fetched = (self.kptfile("v1"), files(self.resources, one_file=self.one_file, fetched=True))
        if with_kpt:
            command = ["kpt", "pkg", "get", f"file://{self.upstream}/{NAME}@v1", NAME]
            environment = os.environ | GIT | self.environment
            subprocess.run(command, cwd=self.local, check=True, capture_output=True, env=environment)
            if wrong := differing(self.local / NAME, *fetched):
                raise RuntimeError(f"{self.name}: kpt pkg get wrote another {wrong[0]} than expected")
        else:
            write(self.local / NAME, *fetched)
        local = files(self.resources, one_file=self.one_file, local=True, fetched=True)
        write(self.local / NAME, self.kptfile("v1"), local)
        self._commit(self.local)

    def kptfile(self, ref: str) -> str:
        """The Kptfile of the package fetched at a ref."""
        return kptfile(self.address, ref, git("rev-parse", ref, directory=self.upstream))

    @staticmethod
    def _commit(repository: Path) -> None:
        git("add", "--all", directory=repository)
        git("commit", "--quiet", "--message=version", directory=repository)
        git("repack", "-a", "-d", "--quiet", directory=repository)

    # ---- the update ----------------------------------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        """Caches of this case."""
        return GIT | {
            "KRM_MERGE_CACHE_DIR": str(self.directory / "cache"),
            "KPT_CACHE_DIR": str(self.directory / "cache"),
        }

    def prepare(self) -> None:
        """A fresh clone of the local repository, and an empty cache unless it is to be warm."""
        for used in (self.copy, self.directory / "cache"):
            if used == self.copy or not self.warm:
                shutil.rmtree(used, ignore_errors=True)
            used.mkdir(exist_ok=True)
        # kpt takes no package outside of the directory where it runs.
        os.chdir(self.directory)
        git("clone", "--quiet", str(self.local), str(self.copy), directory=self.directory)

    def command(self, name: str, argv: list[str], runs: int) -> Command:
        """The update with krm-merge or kpt."""
        whole = [*argv, f"{self.copy / NAME}@v2", *(["-q"] if name == PROGRAM else [])]
        stdout = self.directory / "stdout"
        return Command(self.name, name, whole, runs, NOTHING, stdout, self.environment, self.prepare)

    def check(self) -> None:
        """Checks that the update was done: every file byte for byte, and no more files changed than upstream did."""
        merged = files(self.resources, one_file=self.one_file, upstream=True, local=True, fetched=True)
        if wrong := differing(self.copy / NAME, self.kptfile("v2"), merged):
            raise RuntimeError(f"{self.name}: {len(wrong)} files are not as expected, the first {wrong[0]}")
        expected = 1 + (1 if self.one_file else sum(map(changed_upstream, range(self.resources))))
        changed = len(git("status", "--porcelain", directory=self.copy).splitlines())
        if changed != expected:
            raise RuntimeError(f"{self.name}: {changed} files changed, {expected} expected")


MERGED_FILES = 60
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web}}
    spec:
      containers:
      - name: web
        image: nginx:{version}
"""


@dataclass(frozen=True, slots=True)
class Branches:
    """A repository in which two branches changed other fields of the same files."""

    directory: Path

    @property
    def name(self) -> str:
        return f"{MERGED_FILES} files that both branches changed"

    def make(self) -> None:
        """Makes the branches base, theirs and ours."""
        self.directory.mkdir()
        git("init", "--quiet", "--initial-branch=base", directory=self.directory)
        (self.directory / ".gitattributes").write_text("*.yaml merge=krm\n")
        for branch, replicas, version in (("base", 1, 1), ("theirs", 1, 2), ("ours", 2, 1)):
            if branch != "base":
                git("checkout", "--quiet", "-b", branch, "base", directory=self.directory)
            for number in range(MERGED_FILES):
                text = DEPLOYMENT.format(number=number, replicas=replicas, version=version)
                (self.directory / f"web-{number}.yaml").write_text(text)
            git("add", "--all", directory=self.directory)
            git("commit", "--quiet", f"--message={branch}", directory=self.directory)

    def command(self, name: str, driver: str, runs: int) -> Command:
        """The merge with a driver, '' for git's own."""
        configured = ["-c", f"merge.krm.driver={driver}"] if driver else []
        argv = ["git", "-C", str(self.directory), *configured, "merge", "--quiet", "--no-edit", "theirs"]
        return Command(self.name, name, argv, runs, NOTHING, self.directory.with_suffix(".out"), GIT, self._prepare)

    def _prepare(self) -> None:
        git("checkout", "--quiet", "--force", "-B", "merged", "ours", directory=self.directory)


def same_values(case: Case, kpt: Command) -> None:
    """Checks that kpt makes the same values of a package as krm-merge just did."""
    merged = case.directory / "merged"
    case.copy.rename(merged)
    kpt.run()
    command = [sys.executable, "-m", "benchmarks.values", str(merged / NAME), str(case.copy / NAME)]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        raise RuntimeError(f"{case.name}: kpt's result has other values")


# ---- the report --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Growth:
    """How much more the large package takes than the middle one, round by round."""

    wall: float
    cpu: float
    peak: float


def growth(small: list[Run], large: list[Run]) -> Growth:
    """The growth between two cases."""
    peak = max(run.peak_mb for run in large) / max(run.peak_mb for run in small)
    return Growth(median(rounds(large, small)), median(rounds(large, small, "cpu_ms")), peak)


def report(numbers: list[Measured], grown: Growth, bars: list[Bar], before: float) -> str:
    """All numbers as markdown."""
    out = machine(before)
    for case in dict.fromkeys(row.case for row in numbers):
        out += "\n" + case_table([row for row in numbers if row.case == case], seconds=True)
    row = [f"{MIDDLE:,} to {LARGE:,} resources", f"{grown.wall:.1f}", f"{grown.cpu:.1f}", f"{grown.peak:.1f}"]
    out += "\n" + table([f"`{PROGRAM}` grows by", "wall", "CPU", "peak"], [row])
    return out + "\n" + bar_table(bars)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures krm-merge update beside kpt pkg update.")
    parser.add_argument("--runs", type=int, default=5, help="runs of krm-merge, and of kpt for the small packages")
    parser.add_argument("--kpt-runs", type=int, default=2, help=f"runs of kpt for {MIDDLE} resources, a minute each")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    with_kpt = present("kpt")
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        cold, warm = Case(TINY, Path(directory, "cold")), Case(TINY, Path(directory, "warm"), warm=True)
        middle, large = Case(MIDDLE, Path(directory, "middle")), Case(LARGE, Path(directory, "large"))
        branches = Branches(Path(directory, "branches"))
        small, one_file = Case(SMALL, Path(directory, "small")), Case(MIDDLE, Path(directory, "file"), one_file=True)
        commands = []
        try:
            for case in (cold, warm, small, middle, one_file, large):
                compared = with_kpt and case.resources < LARGE
                case.make(with_kpt=compared)
                command = case.command(PROGRAM, [path, "update"], arguments.runs)
                command.run()
                case.check()
                commands.append(command)
                if compared:
                    runs = arguments.runs if case.resources <= SMALL else arguments.kpt_runs
                    kpt = case.command(KPT, ["kpt", "pkg", "update"], runs)
                    commands.append(kpt)
                    if case.resources == SMALL:
                        same_values(case, kpt)
            branches.make()
            driver = f"{path} merge-driver --marker-size %L -- %O %A %B %P"
            commands += [branches.command(PROGRAM, driver, arguments.runs), branches.command("git", "", arguments.runs)]
            runs_by_case = alternate(commands)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, getattr(error, "stderr", None) or "", file=sys.stderr)
            return 1
    numbers = [numbers_of(case, name, runs) for case, runs in runs_by_case.items() for name in runs]
    of_middle, of_large = (runs_by_case[case.name][PROGRAM] for case in (middle, large))
    grown = growth(of_middle, of_large)
    to_kpt = {row.case: row.ratios[KPT] for row in numbers if KPT in row.ratios}
    wall, for_git = (
        median([run.wall_ms for run in runs]) / 1000 for runs in (of_middle, runs_by_case[branches.name][PROGRAM])
    )
    bars = [
        *(Bar(f"update of {case.name}, wall to kpt's", to_kpt[case.name], 0.5, "x") for case in (cold, warm) if to_kpt),
        Bar(f"update of {middle.name}, wall (median)", wall, 1.5, " s"),
        Bar(f"from {MIDDLE:,} to {LARGE:,} resources, wall", grown.wall, 12, "x"),
        Bar(f"{branches.name}, wall (median)", for_git, 3, " s"),
        Bar(f"update of {large.name}, peak", max(run.peak_mb for run in of_large), 300, " MB"),
    ]
    if arguments.json:
        print(
            json.dumps(
                as_value(numbers, load=[before, load()], growth=asdict(grown), bars=[asdict(bar) for bar in bars]),
                indent=2,
            )
        )
    else:
        print(report(numbers, grown, bars, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
