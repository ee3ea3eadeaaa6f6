"""Runs the function on changed ResourceLists, and reports what breaks its promises: run_hostile_lists.py COUNT.

Of each list the function must make a whole ResourceList, or refuse it with one line and the items as they came: without
a traceback, in 5 s of a processor, with 500 MB. Of every fortieth the program must, too. What breaks a promise is kept
in the directory of --keep, and printed with how to repeat it; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from types import FrameType

from fuzz.lists import hostile, lists
from krm_merge.functions import process
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.resource_list import ResourceList

SECONDS = 5.0
MEGABYTES = 500
PROGRAM = 40
"""The program is started for the lists with multiples of this number."""
LAUNCHER = """\
import json, os, sys
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
found = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
os.write(int(sys.argv[1]), json.dumps(found).encode())
"""
"""Starts the program from a small process: the peak of a process begins with the size of the one that started it."""


class Hang(BaseException):
    """The time is over."""


def main(count: int, number: int, keep: Path) -> int:
    """Tries so many lists; the number of the first one names them all."""
    sources = lists()
    broken = 0
    slowest = largest = 0.0
    for at in range(number, number + count):
        data = hostile(sources, Random(at))
        for run in (in_this_process, in_process_of_its_own) if at % PROGRAM == 0 else (in_this_process,):
            problem, seconds, megabytes = run(data)
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            if problem:
                broken += 1
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{at}.yaml").write_bytes(data)
                print(f"{keep / str(at)}.yaml: {problem}", flush=True)
                print(f"repeat: make nightly PARTS=lists SEED={at} COUNT=1", flush=True)
    print(f"{count} lists, {broken} broke a promise; slowest {slowest:.1f} s, largest {largest:.0f} MB")
    return 1 if broken else 0


def in_this_process(data: bytes) -> tuple[str, float, float]:
    """What is wrong, '' if nothing is, with the seconds of a processor and the megabytes that it took."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, stop)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    problem, began = "", time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        outcome = process(data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        problem = flaw(data, outcome.output, outcome.exit_code, outcome.message)
    except Hang:
        problem = "hangs"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return _with_limits(problem, time.process_time() - began, _peak())


def in_process_of_its_own(data: bytes) -> tuple[str, float, float]:
    """The same with the program."""
    program = Path(sys.executable).with_name("krm-merge")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as usage:
        launcher = [sys.executable, "-IS", "-c", LAUNCHER, str(usage.fileno()), str(program)]
        subprocess.run(launcher, input=data, stdout=out, stderr=err, pass_fds=[usage.fileno()], check=True)
        for file in (out, err, usage):
            file.seek(0)
        exit_code, seconds, megabytes = json.load(usage)
        message = err.read().decode()
        problem = flaw(data, out.read(), exit_code, message)
        problem = problem or ("more than one line on stderr" if message.count("\n") > 1 else "")
    return _with_limits(problem, seconds, megabytes)


def flaw(data: bytes, output: bytes, exit_code: int, message: str) -> str:
    """What is wrong with an answer."""
    if "Traceback" in message or "internal error" in message:
        return message[:200]
    if exit_code not in (0, 1):
        return f"exit code {exit_code}: {message[:200]}"
    if exit_code and not message:
        return "refused without a word"
    if not output:
        return "" if exit_code else "no output"
    items = _items(output)
    if exit_code and items != _items(data):
        return "refused, and items changed"
    return ""


def _items(data: bytes) -> object:
    return [_value(item) for item in ResourceList.parse(data).items]


def _value(item: Resource) -> object:
    """What an item holds; one that nobody had to read may be anything."""
    try:
        return item.value
    except ResourceError as error:
        return str(error)


def _with_limits(problem: str, seconds: float, megabytes: float) -> tuple[str, float, float]:
    if not problem and seconds > SECONDS:
        problem = f"takes {seconds:.1f} s"
    if not problem and megabytes > MEGABYTES:
        problem = f"takes {megabytes:.0f} MB"
    return problem, seconds, megabytes


def _peak() -> float:
    """The most memory that this process had, in megabytes. Source: proc_pid_status(5)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000, help="the clock's by default")
    parser.add_argument("--keep", type=Path, default=Path("hostile-lists"))
    options = parser.parse_args()
    sys.exit(main(options.count, options.seed, options.keep))
