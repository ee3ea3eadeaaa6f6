"""Measures `krm-merge fleet` on many packages. `make bench PARTS=fleet` runs it, README.md explains."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from benchmarks.measuring import load, machine, program, table
from benchmarks.packages import NAME, files, kptfile, write
from benchmarks.update import GIT, git

RESOURCES = 20
ONE_IN = 100
"""One of so many packages has a conflict."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A command: its seconds, and the peaks of memory of the program itself and of the largest of its workers."""

    wall: float
    own_mb: float
    worker_mb: float
    printed: str


class Memory(threading.Thread):
    """Looks at the peaks of a process and of those that it started, while it runs."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.own = self.workers = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            self.own = max(self.own, peak_mb(self.process))
            self.workers = max([self.workers, *map(peak_mb, descendants(self.process))])


def peak_mb(process: int) -> float:
    try:
        match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(match[1]) / 1024 if match else 0.0


def descendants(process: int) -> list[int]:
    """The Python processes below one: git is none of our memory."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [
            inner
            for child in map(int, children)
            if "python" in os.readlink(f"/proc/{child}/exe")
            for inner in (child, *descendants(child))
        ]
    except OSError:
        return []


def measure(directory: Path, *command: str, settings: Mapping[str, str] | None = None) -> Measured:
    """Runs a command, whose exit code may be 1: there are conflicts. `settings` are further environment variables."""
    started = time.monotonic()
    environment = {**os.environ, **GIT, **(settings or {})}
    process = subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    memory = Memory(process.pid)
    memory.start()
    printed, complained = process.communicate()
    memory.ended.set()
    memory.join()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {complained}")
    return Measured(time.monotonic() - started, memory.own, memory.workers, printed)


# ---- what is merged --------------------------------------------------------------------------------------------------


def make_upstream(directory: Path) -> str:
    """An upstream with two versions; gives the commit of the first."""
    directory.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main", directory=directory)
    for ref in ("v1", "v2"):
        write(directory / NAME, kptfile(), files(RESOURCES, one_file=False, upstream=ref == "v2"))
        commit(directory)
        git("tag", ref, directory=directory)
    return git("rev-parse", "v1", directory=directory)


def write_package(place: Path, number: int, address: str, first: str) -> None:
    """A package that was fetched at v1 and changed; one in a hundred has changed what upstream changes, too."""
    parts = files(RESOURCES, one_file=False, local=True, fetched=True)
    if number % ONE_IN == 0:
        parts = ((path, text.replace(":v1", ":v1-own")) for path, text in parts)
    write(place, kptfile(address, "v1", first), parts)


def make_tree(directory: Path, count: int, address: str, first: str) -> None:
    directory.mkdir()
    git("init", "--quiet", "--initial-branch=main", directory=directory)
    for number in range(count):
        write_package(directory / f"team-{number // 100}" / f"shop-{number}", number, address, first)
    commit(directory)


def make_repositories(directory: Path, count: int, address: str, first: str) -> list[str]:
    addresses = []
    for number in range(count):
        place = directory / f"{number}"
        place.mkdir(parents=True)
        git("init", "--quiet", "--initial-branch=main", directory=place)
        write_package(place / NAME, number, address, first)
        commit(place)
        git("config", "core.bare", "true", directory=place)
        addresses.append(f"file://{place}/.git")
    return addresses


def commit(repository: Path) -> None:
    git("add", "--all", directory=repository)
    git("commit", "--quiet", "--message=version", directory=repository)


# ---- what is measured ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bench:
    """Where packages are made and commands run; `rows` is what was measured."""

    place: Path
    path: str
    first: str
    rows: list[list[str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"file://{self.place}/upstream"

    def fleet(self, *arguments: str, settings: Mapping[str, str] | None = None) -> Measured:
        return measure(self.place, self.path, "fleet", *arguments, settings=settings)

    def plan(self, campaign: str, *selection: str) -> Measured:
        return self.fleet("init", campaign, "--upstream", f"{self.address}/{NAME}", "--to", "v2", *selection)

    def add(self, what: str, count: int, run: Measured, limit: str = "") -> None:
        each = run.wall / count * 1000
        memory = [f"{mb:.0f} MB" if mb else "" for mb in (run.own_mb, run.worker_mb)]
        self.rows.append([what, f"{run.wall:.1f} s", f"{each:.1f} ms", limit, *memory])

    def working_tree(self, count: int) -> None:
        """One working tree: the commonest case."""
        make_tree(self.place / "tree", count, self.address, self.first)
        many = f"{count:,} packages"
        self.add(f"{many}: init", count, self.plan("campaign", "--packages", "tree"))
        run = self.fleet("run", "campaign")
        self.add(f"{many}: run", count, run, "18 ms")
        again = self.fleet("run", "campaign")
        self.add(f"{many}: nothing to do", count, again, "3 ms")
        expect(run, f"{-(-count // ONE_IN):,} conflicts")
        expect(again, "0 merged")
        self.add(f"{many}: report", count, self.fleet("status", "campaign", "--report", "report.html"))

    def repositories(self, count: int) -> None:
        """A repository for each package."""
        listed = make_repositories(self.place / "repositories", count, self.address, self.first)
        (self.place / "repositories.txt").write_text("".join(f"{address}\n" for address in listed))
        many = f"{count:,} repositories"
        self.plan("forks", "--repositories", "repositories.txt")
        self.add(f"{many}: run", count, self.fleet("run", "forks"))
        pushed = self.fleet("publish", "forks", "--push-only")
        self.add(f"{many}: publish --push-only", count, pushed, "60 ms with run")
        # What is in conflict waits for a choice.
        expect(pushed, f"{count - -(-count // ONE_IN):,} pushed")
        again = self.fleet("run", "forks")
        self.add(f"{many}: nothing to do", count, again, "5 ms")
        expect(again, "0 merged")

    def engines(self, count: int) -> None:
        """The same packages over processes, and over dask with as many workers, without TLS and with it.

        In turn, and the faster of two runs: a machine that others use, too, is slower now and then.
        """
        make_tree(self.place / "engines", count, self.address, self.first)
        certificate = certificate_at(self.place)
        fastest: dict[str, Measured] = {}
        for number, name in itertools.product(range(2), ("processes", "dask", "dask over TLS")):
            campaign = f"{name} {number}"
            self.plan(campaign, "--packages", "engines")
            if name == "processes":
                run = self.fleet("run", campaign)
            else:
                with dask_cluster(certificate if name.endswith("TLS") else None) as (scheduler, settings):
                    engine = ["--scheduler", scheduler]
                    run = self.fleet("run", campaign, *engine, settings=settings)
            expect(run, f"{-(-count // ONE_IN):,} conflicts")
            fastest[name] = min(run, fastest.get(name, run), key=attrgetter("wall"))
            git("checkout", "--quiet", ".", directory=self.place / "engines")
            git("clean", "--force", "-d", "--quiet", directory=self.place / "engines")
        for name, run in fastest.items():
            slower = f"+10 % ({100 * run.wall / fastest['processes'].wall - 100:+.0f} %)"
            self.add(f"{count:,} packages: {name}", count, run, "" if name == "processes" else slower)

    def loops(self, count: int) -> None:
        """What there is without campaigns: one update after the other."""
        commands = {"krm-merge update": f"{self.path} update $package@v2 --on-conflict upstream --quiet"}
        if shutil.which("kpt"):
            commands["kpt pkg update"] = "kpt pkg update $package@v2"
        for name, command in commands.items():
            tree = f"loop-{name.partition(' ')[0]}"
            make_tree(self.place / tree, count, self.address, self.first)
            updated = "grep -l 'ref: v2' */*/Kptfile | wc -l"
            script = f"cd {tree}; for package in */*; do {command} >/dev/null 2>&1; done; {updated}"
            loop = measure(self.place, "sh", "-c", script)
            expect(loop, f"{count}\n")
            self.add(f"{count:,} packages: a loop of {name}", count, loop)


def expect(run: Measured, text: str) -> None:
    """What is measured is the whole work."""
    if text not in run.printed:
        raise RuntimeError(f"{text!r} is expected: {run.printed}")


def certificate_at(place: Path) -> Path:
    """A file with a certificate that is its own authority, for this machine, and with its key."""
    parts = [place / "key.pem", place / "certificate.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=krm-merge"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(parts[0]), "-out", str(parts[1])]
    subprocess.run(command, check=True, capture_output=True)
    both = place / "both.pem"
    both.write_text("".join(part.read_text() for part in parts))
    return both


def tls_settings(certificate: Path | None) -> dict[str, str]:
    """The variables by which dask's scheduler, workers and clients take a certificate; none without one."""
    names = () if certificate is None else ("CA_FILE", "CLIENT__CERT", "SCHEDULER__CERT", "WORKER__CERT")
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(certificate) for name in names}


@contextmanager
def dask_cluster(certificate: Path | None) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The address of a scheduler on this machine, with a worker for each processor, and the variables of its users."""
    protocol = "tcp" if certificate is None else "tls"
    settings = tls_settings(certificate)
    program = (
        "import sys\n"
        "from distributed import LocalCluster\n"
        "from distributed.security import Security\n"
        "if __name__ == '__main__':\n"
        f"    options = {{'protocol': '{protocol}', 'security': Security()}}\n"
        "    local = {'host': '127.0.0.1', 'dashboard_address': '127.0.0.1:0'}\n"
        "    cluster = LocalCluster(**local, **options, threads_per_worker=1)\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    sys.stdin.read()\n"
        "    cluster.close()\n"
    )
    with tempfile.TemporaryDirectory(prefix="krm-merge-dask-") as directory:
        script = Path(directory, "cluster.py")
        script.write_text(program)
        command = [sys.executable, str(script)]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=directory, env=os.environ | settings, stdin=pipe, stdout=pipe, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield process.stdout.readline().strip(), settings
            process.stdin.close()


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures krm-merge fleet.")
    parser.add_argument("--packages", type=int, default=10_000, help="packages in one working tree")
    parser.add_argument("--repositories", type=int, default=1_000, help="repositories with one package each")
    parser.add_argument("--engines", type=int, default=2_000, help="packages that processes and dask merge")
    parser.add_argument("--loop", type=int, default=100, help="packages that loops of other commands update")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as temporary:
        place = Path(temporary)
        bench = Bench(place, path, make_upstream(place / "upstream"))
        bench.working_tree(arguments.packages)
        bench.repositories(arguments.repositories)
        bench.engines(arguments.engines)
        bench.loops(arguments.loop)
    print(machine(before))
    print(table(["what", "wall", "each", "limit", "memory", "of a worker"], bench.rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
