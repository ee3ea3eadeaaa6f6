"""T6: limits of plugins that run in our own process."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Set
from contextlib import _GeneratorContextManager, suppress
from types import FrameType

import pytest

from e2e.hosts import SECONDS
from krm_merge.text.reading.nodes import Object
from krm_merge.transform.plugins import limits as own_limits
from krm_merge.transform.plugins.limits import Usage, children, limit_plugin
from krm_merge.transform.plugins.sources import Installed
from krm_merge.transform.protocol import Metadata, Options, PluginError, Response

MEBIBYTE = 1 << 20


def test_what_keeps_the_limits_is_left_alone() -> None:
    before = (signal.getsignal(signal.SIGALRM), resource.getrlimit(resource.RLIMIT_DATA))
    with limit_plugin(SECONDS):
        assert subprocess.run(["echo", "done"], capture_output=True, check=True).stdout == b"done\n"
    assert (signal.getsignal(signal.SIGALRM), resource.getrlimit(resource.RLIMIT_DATA)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("busy", [True, False], ids=["works", "sleeps"])
def test_time_also_where_a_plugin_catches_every_error(busy: bool) -> None:
    def run() -> None:
        while True:
            with suppress(Exception):
                sum(range(1000)) if busy else time.sleep(SECONDS)

    with pytest.raises(PluginError, match=r"^did not finish within 0\.2 s and was stopped$"), limit_plugin(0.2):
        run()


def test_nothing_is_raised_once_a_plugin_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look in that moment would leave the timer on, which would raise anywhere, later."""
    monkeypatch.setattr(own_limits, "_LOOK_EVERY", SECONDS)
    count = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        if event == "call" and frame.f_code is _GeneratorContextManager.__exit__.__code__ and callable(look):
            look(signal.SIGALRM, frame)
            count += 1

    with limit_plugin(0):
        look = signal.getsignal(signal.SIGALRM)
        sys.setprofile(profile)
    sys.setprofile(None)
    assert count
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_slow_look_is_not_interrupted_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, reading all processes takes longer than the time between two looks."""
    monkeypatch.setattr(own_limits, "_LOOK_EVERY", 0.01)
    looks, depth, deepest = 0, 0, 0

    def usage_of(process: int, others: Set[int]) -> Usage:
        nonlocal looks, depth, deepest
        looks, depth = looks + 1, depth + 1
        deepest = max(deepest, depth)
        if depth < 3:
            time.sleep(0.05)
        depth -= 1
        return Usage(0, 0)

    monkeypatch.setattr(own_limits, "usage_of", usage_of)
    with limit_plugin(SECONDS):
        while looks < 2:
            time.sleep(0.01)
    assert deepest == 1


def test_memory() -> None:
    with pytest.raises(PluginError, match="used more than 64 MiB of memory"), limit_plugin(SECONDS, 64 * MEBIBYTE):
        bytearray(256 * MEBIBYTE)
    assert len(bytearray(256 * MEBIBYTE)) == 256 * MEBIBYTE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files processes have open")
@pytest.mark.parametrize("is_mapped", [True, False])
def test_memory_in_files(is_mapped: bool) -> None:
    def run() -> None:
        file = os.memfd_create("m")
        try:
            os.ftruncate(file, 256 * MEBIBYTE)
            with mmap.mmap(file, 0) as mapped:
                for _ in range(256):
                    mapped.write(bytes(MEBIBYTE)) if is_mapped else os.write(file, bytes(MEBIBYTE))
                time.sleep(SECONDS)
        finally:
            os.close(file)

    with pytest.raises(PluginError, match="used more than 64 MiB of memory"), limit_plugin(SECONDS, 64 * MEBIBYTE):
        run()


def test_processes() -> None:
    def run() -> None:
        while True:
            os.posix_spawnp("sleep", ["sleep", "600"], os.environ)

    before = children()
    with pytest.raises(PluginError, match="started more than 3 processes"), limit_plugin(SECONDS, process_limit=4):
        run()
    assert children() == before


def test_processes_do_not_outlive_it() -> None:
    before = children()
    with limit_plugin(SECONDS):
        left = subprocess.Popen(["sleep", "600"])
    assert children() == before
    left.wait()


def test_a_plugin_that_exceeded_a_limit_is_not_asked_again() -> None:
    requests = []

    def run(resource: Object, options: Options) -> Response:
        requests.append(resource)
        bytearray(2 << 30)
        return Response()

    plugin = Installed("big", run, Metadata("big"))
    for name in ("a", "b"):
        with pytest.raises(PluginError, match="used more than 1,024 MiB of memory"):
            plugin.run({"kind": name}, {})
    assert requests == [{"kind": "a"}]
