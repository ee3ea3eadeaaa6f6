"""Schedulers and workers of dask for a test, each a process of its own on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fleet import tls_settings

from e2e.hosts import wait_until

_LOOPBACK = "127.0.0.1"


@dataclass
class Cluster:
    """A scheduler with workers of one thread each."""

    address: str
    environment: dict[str, str]
    place: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self, version: str = "") -> None:
        """Adds a worker, which says that it has another version of krm-merge where one is named."""
        environment = dict(self.environment)
        if version:
            metadata = self.place / "other" / f"krm_merge-{version}.dist-info" / "METADATA"
            metadata.parent.mkdir(parents=True)
            metadata.write_text(f"Metadata-Version: 2.1\nName: krm-merge\nVersion: {version}\n")
            environment["PYTHONPATH"] = os.pathsep.join([str(metadata.parents[1]), environment.get("PYTHONPATH", "")])
        command = ["worker", self.address, "--host", _LOOPBACK, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        self.workers.append(_dask([*command, "--local-directory", str(self.place)], environment, self.place))

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()

    def kill_worker(self) -> None:
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()


@contextmanager
def cluster(place: Path, workers: int, certificate: Path | None = None) -> Iterator[Cluster]:
    """A cluster that listens on this machine alone, with TLS where there is a certificate and key in a file."""
    place.mkdir()
    environment = os.environ | tls_settings(certificate)
    scheme = "tcp" if certificate is None else "tls"
    scheduler_file = place / "scheduler.json"
    listen = ["--host", f"{scheme}://{_LOOPBACK}", "--port", "0", "--dashboard-address", f"{_LOOPBACK}:0"]
    scheduler = _dask(
        ["scheduler", *listen, "--no-dashboard", "--scheduler-file", str(scheduler_file)], environment, place
    )
    running = Cluster("", environment, place, scheduler)
    try:
        wait_until(lambda: scheduler.poll() is not None or (scheduler_file.is_file() and _address(scheduler_file)))
        running.address = _address(scheduler_file)
        for _ in range(workers):
            running.add_worker()
        yield running
    finally:
        for process in [*running.workers, scheduler]:
            process.kill()
            process.wait()


def _address(file: Path) -> str:
    """The address that a scheduler writes into its file, '' before that."""
    return file.read_text().partition('"address": "')[2].partition('"')[0]


def _dask(arguments: list[str], environment: dict[str, str], place: Path) -> subprocess.Popen[bytes]:
    log = (place / f"{arguments[0]}.log").open("ab")
    with log:
        command = [str(Path(sys.executable).parent / "dask"), *arguments]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)
