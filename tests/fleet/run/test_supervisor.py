"""Jobs are tried again, hosts are left in peace, and what kills workers is set aside."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import pytest

from krm_merge.errors import KrmMergeError
from krm_merge.fleet import worker
from krm_merge.fleet.job import Job, Settings, TargetOutcome, failure_of, grouped_by
from krm_merge.fleet.run import Supervisor
from krm_merge.fleet.worker import Engine, Processes
from krm_merge.packages.files.tree import PackageError, UnavailableError

NO_SETTINGS = cast(Settings, None)


@dataclass
class Threads:
    """Jobs in this process, so that a test sees what they do."""

    workers: int = 2
    batch: int = 1

    def executor(self, settings: Settings) -> Executor:
        return ThreadPoolExecutor(self.workers)

    def end(self, executor: Executor) -> None:
        executor.shutdown(cancel_futures=True)


def outcomes(
    work: Callable[[Job], TargetOutcome],
    names: Iterable[str],
    *,
    engine: Engine | None = None,
    host: str = "",
) -> dict[str, TargetOutcome]:
    supervisor = Supervisor(engine or Threads(), NO_SETTINGS, lambda name: host, pause=0.0, work=work)
    results = list(supervisor.outcomes([Job(name) for name in names]))
    assert len({result.target for result in results}) == len(results)
    return {result.target: result for result in results}


def test_transient_failures_are_tried_five_times() -> None:
    tries: Counter[str] = Counter()

    def work(job: Job) -> TargetOutcome:
        tries[job.target] += 1
        if job.target == "soon" and tries["soon"] == 3:
            return TargetOutcome(job.target, "clean")
        kind = "permanent" if job.target == "gone" else "transient"
        return TargetOutcome(job.target, "failed", "no answer", "permanent" if kind == "permanent" else "transient")

    results = outcomes(work, ["soon", "never", "gone"])
    assert tries == {"soon": 3, "never": 5, "gone": 1}
    assert results["soon"].state == "clean"
    assert results["never"].message == "no answer (tried 5 times)"
    assert results["gone"].message == "no answer"


def test_a_host_that_never_answers_is_left_in_peace() -> None:
    tries: Counter[str] = Counter()

    def work(job: Job) -> TargetOutcome:
        tries[job.target] += 1
        return TargetOutcome(job.target, "failed", "no answer", "transient")

    results = outcomes(work, [f"r{number}" for number in range(200)], host="git.example.com")
    assert len(results) == 200
    assert tries.total() < 200
    assert Counter(result.failure for result in results.values()) == {"transient": 200}


def test_jobs_come_in_batches_and_the_last_ones_to_all_workers() -> None:
    """A batch is a task of its engine; a host that does not answer holds up no other job of its batch."""
    sizes: list[int] = []

    @dataclass
    class Batches(Threads):
        batch: int = 10

        def executor(self, settings: Settings) -> Executor:
            pool = super().executor(settings)
            submit = pool.submit

            def count(call: Callable[..., Any], work: object, jobs: list[Job]) -> Future[Any]:
                sizes.append(len(jobs))
                return submit(call, work, jobs)

            pool.submit = count  # type: ignore[method-assign, assignment]
            return pool

    tries: Counter[str] = Counter()

    def work(job: Job) -> TargetOutcome:
        tries[job.target] += 1
        is_late = job.target == "t3" and tries["t3"] < 3
        return (
            TargetOutcome(job.target, "failed", "no answer", "transient")
            if is_late
            else TargetOutcome(job.target, "clean")
        )

    names = [f"t{number}" for number in range(200)]
    results = outcomes(work, names, engine=Batches())
    assert {result.state for result in results.values()} == {"clean"}
    assert tries.pop("t3") == 3
    assert set(tries.values()) == {1}
    assert max(sizes) == 10
    assert 20 < len(sizes) < 60


def test_a_worker_of_another_version_ends_the_run_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_refusals", ["tcp://w has krm-merge 9.9.9"])
    with pytest.raises(KrmMergeError, match=r"^tcp://w has krm-merge 9\.9\.9$"):
        outcomes(lambda job: TargetOutcome(job.target, "clean"), ["a"])


def kills_its_worker(job: Job) -> TargetOutcome:
    if job.target == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    return TargetOutcome(job.target, "clean")


def nothing(settings: Settings) -> None:
    """A worker that needs no preparation."""


def test_what_kills_workers_is_set_aside_and_nothing_else() -> None:
    names = [f"t{number}" for number in range(30)]
    names.insert(10, "killer")
    results = outcomes(kills_its_worker, names, engine=Processes(2, nothing))
    assert results.pop("killer").failure == "poison"
    assert {result.state for result in results.values()} == {"clean"}
    assert len(results) == 30


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UnavailableError("silent"), "transient"),
        (PackageError("r cannot be reached: Could not resolve host: r"), "transient"),
        (PackageError("r: The requested URL returned error: 503"), "transient"),
        (PackageError("r: The requested URL returned error: 404"), "permanent"),
        (PackageError("r: Repository not found"), "permanent"),
        (OSError(28, "No space left on device"), "permanent"),
        (OSError(24, "Too many open files"), "transient"),
        (ValueError("?"), "permanent"),
    ],
)
def test_classes_of_failures(error: Exception, kind: str) -> None:
    assert failure_of(error)[0] == kind


def test_equal_failures_of_targets_have_one_message() -> None:
    assert grouped_by("a/b: no commit 0123456789", "a/b") == grouped_by("c: no commit abcdef0123", "c")
