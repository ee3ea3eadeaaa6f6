"""Work on all processors: every item is done once, in order, also where a process dies or cannot answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from krm_merge.krm import program
from krm_merge.krm.program import in_parallel

HERE = os.getpid()
Part = tuple[int, list[int]]


@pytest.fixture
def four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    monkeypatch.setattr(program, "processors", lambda: 4)
    monkeypatch.setattr(program, "WORTH_IT", 2)


def double(part: Sequence[int]) -> Part:
    return os.getpid(), [2 * item for item in part]


def all_of(parts: list[Part]) -> list[int]:
    return [item for _, items in parts for item in items]


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize(
    ("count", "processes"), [(0, 1), (1, 1), (3, 1), (4, 2), (7, 3), (8, 4), (9, 3), (100, 4), (1001, 4)]
)
def test_parts_are_all_items_in_their_order(count: int, processes: int) -> None:
    parts = in_parallel(double, range(count))
    assert all_of(parts) == [2 * item for item in range(count)]
    assert len({process for process, _ in parts}) == len(parts) == processes
    assert parts[0][0] == HERE


def test_few_items_are_done_here() -> None:
    assert in_parallel(double, range(program.WORTH_IT)) == [(HERE, [2 * n for n in range(program.WORTH_IT)])]


def dies(part: Sequence[int]) -> Part:
    if 5 in part and os.getpid() != HERE:
        os._exit(3)
    return double(part)


def is_killed(part: Sequence[int]) -> Part:
    if os.getpid() != HERE:
        os.kill(os.getpid(), 9)
    return double(part)


def raises(part: Sequence[int]) -> Part:
    if os.getpid() != HERE:
        raise RuntimeError("only there")
    return double(part)


def runs_out_of_memory(part: Sequence[int]) -> Part:
    if os.getpid() != HERE:
        raise MemoryError
    return double(part)


def cannot_be_pickled(part: Sequence[int]) -> object:
    return (lambda: None) if os.getpid() != HERE else double(part)


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize("work", [dies, is_killed, raises, runs_out_of_memory, cannot_be_pickled])
def test_a_process_that_fails_loses_nothing(
    work: Callable[[Sequence[int]], Part], capfd: pytest.CaptureFixture[str]
) -> None:
    parts = in_parallel(work, range(10))
    assert all_of(parts) == [2 * item for item in range(10)]
    assert len(parts) == 4
    # kpt shows what a function writes to stderr.
    assert capfd.readouterr() == ("", "")


def children() -> set[str]:
    """Processes that this one started and has not waited for; tests before may have left some on purpose."""
    return {number for file in Path("/proc/self/task").glob("*/children") for number in file.read_text().split()}


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize("wrong", [0, 5, 9])
def test_what_the_work_raises_is_raised_here(wrong: int) -> None:
    def refuses(part: Sequence[int]) -> Part:
        if wrong in part:
            raise ValueError(f"not {wrong}")
        return double(part)

    before = children()
    with pytest.raises(ValueError, match=f"not {wrong}"):
        in_parallel(refuses, range(10))
    assert children() == before


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize("work", [double, raises])
def test_no_process_and_no_pipe_is_left(work: Callable[[Sequence[int]], Part]) -> None:
    before = len(os.listdir("/proc/self/fd")), children()
    in_parallel(work, range(10))
    assert (len(os.listdir("/proc/self/fd")), children()) == before


def much(part: Sequence[int]) -> Part:
    return os.getpid(), [item for item in part for _ in range(200_000)]


@pytest.mark.usefixtures("four_processors")
def test_more_than_a_pipe_holds() -> None:
    parts = in_parallel(much, range(8))
    assert sum(len(items) for _, items in parts) == 8 * 200_000


def test_where_no_process_can_be_made_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert in_parallel(list, range(1000)) == [list(range(1000))]
