"""Signals at the moments at which Python itself would answer them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge import interrupts

SOURCES = ROOT / "fn"
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@pytest.fixture(autouse=True)
def not_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever started the tests may have them ignored."""
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)


def run(code: str) -> subprocess.CompletedProcess[str]:
    begin = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", begin + code]
    return subprocess.run(
        command, env={"PYTHONPATH": str(SOURCES)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_only_the_first_signal_counts() -> None:
    with interrupts.as_exceptions():
        with pytest.raises(interrupts.Interrupted):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)


def test_what_is_over_is_not_interrupted() -> None:
    with interrupts.as_exceptions():
        interrupts.ignore_further()
        os.kill(os.getpid(), signal.SIGINT)
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_a_thread_holds_reaches_the_main_thread() -> None:
    held, arrived = threading.Event(), threading.Event()

    def work() -> str:
        with interrupts.held():
            held.set()
            arrived.wait()
        return "done"

    def release() -> None:
        arrived.set()
        # A signal that comes just before the system call of a sleep does not end it.
        for _ in range(SECONDS * 100):
            time.sleep(0.01)

    with interrupts.as_exceptions(), ThreadPoolExecutor(1) as threads:
        result = threads.submit(work)
        held.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(interrupts.Interrupted, match="SIGTERM"):
            release()
        assert result.result() == "done"


def test_a_signal_while_python_tidies_up_an_object_comes_again(capsys: pytest.CaptureFixture[str]) -> None:
    class Thing:
        pass

    def tidy_up() -> None:
        weakref.finalize(Thing(), os.kill, os.getpid(), signal.SIGTERM)
        time.sleep(SECONDS)

    with interrupts.as_exceptions(), pytest.raises(interrupts.Interrupted, match="SIGTERM"):
        tidy_up()
    assert capsys.readouterr().err == ""


def test_a_signal_while_python_makes_a_class_comes_as_it_is() -> None:
    class Attribute:
        def __set_name__(self, owner: type, name: str) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    def make() -> None:
        type("Owner", (), {"attribute": Attribute()})
        for _ in range(SECONDS * 100):
            time.sleep(0.01)

    with interrupts.as_exceptions(), pytest.raises(interrupts.Interrupted, match="SIGTERM"):
        make()


@SIGNALS
def test_while_modules_are_imported_it_ends_without_a_traceback(number: signal.Signals) -> None:
    code = f"""
class Finder:
    def find_spec(self, name, *rest):
        if name == "krm_merge.interrupts":
            os.kill(os.getpid(), {int(number)})

sys.meta_path.insert(0, Finder())
from krm_merge.__main__ import program
sys.exit(program())
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")


@SIGNALS
def test_when_all_is_said_it_changes_nothing(number: signal.Signals) -> None:
    code = f"""
import atexit, time
from krm_merge.__main__ import program

class Last:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})

sys.last = Last()
atexit.register(os.kill, os.getpid(), {int(number)})
sys.argv = ["krm-merge", "--version"]
code = program()
os.kill(os.getpid(), {int(number)})
assert signal.getsignal({int(number)}) is signal.SIG_IGN
# A signal in a finalizer comes again by a timer, which may be left.
signal.setitimer(signal.ITIMER_REAL, 0.001)
time.sleep(0.01)
sys.exit(code)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("krm-merge ")
