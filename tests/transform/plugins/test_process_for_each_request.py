"""Programs that are plugins, one process for each request, and do what they should not (T6)."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from e2e.hosts import SECONDS, wait_until
from krm_merge.transform import Metadata, PluginError, Response, Runner
from krm_merge.transform.plugins.process import Executable
from transform.plugins.programs import DONE, LARGE, LATE, POD, Data, Programs, error_of

META: Final = {"name": "told", "version": "v2", "requestVersion": ["v1"], "responseVersion": ["v1"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], ["while :; do :; done"], id="loops"),
        pytest.param([], ["exec sleep 600"], id="sleeps"),
        pytest.param(["trap '' TERM HUP INT"], ["while :; do :; done"], id="ignores-signals"),
        pytest.param([], ["while :; do echo more >&2; done"], id="floods-stderr"),
        pytest.param([DONE], ["exec sleep 600"], id="answers-and-stays"),
        pytest.param([DONE, "exec >/dev/null 2>&1"], ["exec sleep 600"], id="closes-its-output-and-stays"),
        pytest.param(["sleep 600 &", DONE], [], id="a-child-holds-the-output"),
    ],
)
def test_the_time_limit(before: list[str], after: list[str], programs: Programs) -> None:
    """A plugin that missed it is not asked again."""
    plugin = programs.shell(READ, *before, programs.passes(), *after)
    assert [str(error_of(plugin)), str(error_of(plugin))] == [LATE, LATE]
    assert programs.starts == 1


def test_the_time_limit_is_for_all_of_a_request(programs: Programs) -> None:
    """For the answer and the end together."""
    much = programs.passes(SECONDS * 2 // 3)
    plugin = programs.shell(READ, much, DONE, "exec >/dev/null 2>&1", much, "exec sleep 600")
    assert str(error_of(plugin)) == LATE


@pytest.mark.parametrize("lines", [["exec yes"], [f"{DONE}; exec yes"], ["exec tr '\\0' ' ' < /dev/zero"]])
def test_the_output_limit(lines: list[str], programs: Programs) -> None:
    """A plugin that wrote too much is not asked again."""
    plugin = programs.shell(*lines, output_limit=100_000)
    problem = "wrote more than 100,000 bytes and was killed"
    assert [str(error_of(plugin)), str(error_of(plugin))] == [problem, problem]
    assert programs.starts == 1


def test_an_answer_may_be_as_long_as_the_limit(programs: Programs) -> None:
    answer = json.dumps({"version": "v1"}).ljust(100_000)
    plugin = programs.python(f"print({answer!r}, end='')", output_limit=100_000)
    assert plugin.run(POD, {}) == Response()


LEFT: Final = "left a process behind, which was killed"
READ: Final = "cat >/dev/null"
QUIET: Final = "</dev/null >/dev/null 2>&1"
DETACHED: Final = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open(os.path.dirname(sys.argv[0]) + '/pids', 'a'))
        null = os.open('/dev/null', os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists(os.path.dirname(sys.argv[0]) + '/pids'):
    time.sleep(0.01)
"""


def test_a_child_that_holds_the_output_is_killed(programs: Programs) -> None:
    plugin = programs.shell(READ, "sleep 600 &", f"echo $! > {programs.directory}/pids", DONE, programs.passes())
    assert str(error_of(plugin)) == LATE
    programs.assert_all_gone()


def test_a_child_that_is_left_behind_is_killed(programs: Programs) -> None:
    """Its plugin had answered, and is not asked again all the same."""
    plugin = programs.shell(f"sleep 600 {QUIET} &", f"echo $! > {programs.directory}/pids", DONE)
    assert [str(error_of(plugin)), str(error_of(plugin))] == [LEFT, LEFT]
    assert programs.starts == 1
    programs.assert_all_gone()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us adopt orphans")
@pytest.mark.parametrize("stays", [False, True])
def test_a_child_in_a_session_of_its_own_is_killed(stays: bool, programs: Programs) -> None:
    ending = f"os.system({programs.passes()!r}); time.sleep(600)" if stays else "print('{}')"
    plugin = programs.python("sys.stdin.read()", DETACHED, ending)
    assert str(error_of(plugin)) == (LATE if stays else LEFT)
    programs.assert_all_gone()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us adopt orphans")
@pytest.mark.parametrize("before", [0, 1])
def test_orphans_are_adopted_only_while_a_plugin_runs(before: int, programs: Programs) -> None:
    """Orphans of other programs are left alone; a caller that adopts them still does."""
    library, setting = ctypes.CDLL(None), ctypes.c_int()
    library.prctl(36, before, 0, 0, 0)
    plugin = programs.shell(DONE)
    missing = Executable(programs.directory / "missing")
    try:
        assert plugin.run(POD, {}).is_whiteout
        error_of(missing)
        library.prctl(37, ctypes.byref(setting), 0, 0, 0)
        assert setting.value == before
    finally:
        library.prctl(36, 0, 0, 0, 0)


IN_PARALLEL: Final = """
import signal, sys
from pathlib import Path
from krm_merge.krm import program
from krm_merge.transform.plugins.process import Executable

signal.signal(int(sys.argv[2]), signal.SIG_DFL)
program.WORTH_IT = 1
program.processors = lambda: int(sys.argv[3])
work = lambda items: Executable(Path(sys.argv[1]), "it", "crane/v1", 600).run({"kind": "Pod"}, {})
program.in_parallel(work, range(2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose children there are")
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_us_ends_plugins(number: signal.Signals, processes: int, programs: Programs) -> None:
    """Those of all processes that work, with all that they started, in whatever session."""
    pids = programs.directory / "pids"
    children = (f"sleep 600 {QUIET} &", "child=$!", f"setsid sleep 600 {QUIET} &")
    plugin = programs.shell(*children, f"echo $$ $child $! >> {pids}", "wait")
    command = [sys.executable, "-c", IN_PARALLEL, str(plugin.file), str(int(number)), str(processes)]
    with subprocess.Popen(command) as program:
        wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == processes)
        program.send_signal(number)
        assert program.wait() == -number
    programs.assert_all_gone(3 * processes)


INTERRUPTED: Final = """
import os, signal, subprocess, sys, time
from pathlib import Path
from krm_merge import interrupts
from krm_merge.transform.plugins.process import Executable

class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        pids = Path(sys.argv[2])
        while not (pids.exists() and pids.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Interrupted
with interrupts.as_exceptions():
    Executable(Path(sys.argv[1]), "it", "crane/v1", 600).run({"kind": "Pod"}, {})
"""


def test_a_plugin_that_is_just_starting_is_killed_with_us(programs: Programs) -> None:
    pids = programs.directory / "pids"
    plugin = programs.shell(f"echo $$ >> {pids}", "exec sleep 600")
    command = [sys.executable, "-c", INTERRUPTED, str(plugin.file), str(pids)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "Interrupted: SIGTERM" in done.stderr
    programs.assert_all_gone()


def test_what_handles_signals_itself_goes_on_with_it(programs: Programs) -> None:
    def handle(number: int, frame: FrameType | None) -> None:
        """Of the caller."""

    before = signal.signal(signal.SIGTERM, handle)
    try:
        plugin = programs.shell(f"kill -TERM {os.getpid()}", DONE)
        assert plugin.run(POD, {}).is_whiteout
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)
    assert programs.shell(DONE).run(POD, {}).is_whiteout
    assert signal.getsignal(signal.SIGTERM) is before


def test_children_that_end_with_their_plugin_are_none_left(programs: Programs) -> None:
    plugin = programs.shell(f"true {QUIET} &", "wait", DONE)
    assert plugin.run(POD, {}).is_whiteout


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["echo broken >&2", DONE, "exit 7"], "ended with exit code 7: broken"),
        (["exit 7"], "ended with exit code 7"),
        (["kill -9 $$"], "was ended by signal 9"),
        (["printf '\\377\\376' >&2", "exit 1"], "ended with exit code 1: \ufffd\ufffd"),
        (["echo '[1]' >&2", "exit 1"], "ended with exit code 1: [1]"),
        (["""echo '{"type": 1}' >&2""", "exit 1"], 'ended with exit code 1: {"type": 1}'),
        (["echo garbage"], "answered with invalid JSON"),
        (["printf '\\377\\376'"], "answered with invalid JSON"),
        (["true"], "answered with nothing"),
        (
            [f"{DONE}; {DONE}"],
            "answered with invalid JSON",
        ),
        (["exec head -c 100000 /dev/zero | tr '\\0' '['"], "answered with invalid JSON"),
        (["echo '[]'"], "the response is not a JSON object with version, isWhiteOut, patches and newResources"),
        (["""echo '{"version": "v2"}'"""], "the response has version v2; v1 is expected"),
        (["""echo '{"isWhiteOut": 1}'"""], "isWhiteOut of the response is neither true nor false"),
        (["""echo '{"patches": {}}'"""], "patches and newResources of the response are lists"),
        (["""echo '{"patches": [1]}'"""], "patches[0] of the response: an operation is a map with op and path"),
        (["""echo '{"patches": [{"op": "remove"}]}'"""], "patches[0] of the response: remove without path"),
        (
            ["""echo '{"patches": [{"op": "drop", "path": ""}]}'"""],
            "patches[0] of the response: op is drop; known are add, remove, replace, move, copy, test",
        ),
        (["""echo '{"patches": [{"op": "add", "path": "/x"}]}'"""], "patches[0] of the response: add without value"),
        (
            ["""echo '{"patches": [{"op": "remove", "path": "x"}]}'"""],
            "patches[0] of the response: the path 'x' is not a JSON pointer: those begin with /",
        ),
        (
            ["""echo '{"patches": [{"op": "remove", "path": "/x"}, {"op": "add", "path": "/x"}]}'"""],
            "patches[1] of the response: add without value",
        ),
        (["""echo '{"newResources": [1]}'"""], "newResources[0] of the response is not a map"),
    ],
)
def test_what_a_program_does_wrong_is_told(lines: list[str], problem: str, programs: Programs) -> None:
    """It may do better with the next resource: it is asked again."""
    plugin = programs.shell(*lines)
    assert [str(error_of(plugin)), str(error_of(plugin))] == [problem, problem]
    assert programs.starts == 2


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '"\\\\ud800"'])
def test_a_value_that_nobody_can_write_is_refused(value: str, programs: Programs) -> None:
    answer = f"""{{"patches": [{{"op": "add", "path": "/x", "value": {value}}}]}}"""
    error_of(programs.shell(f"printf '{answer}'"))


def test_only_the_end_of_stderr_is_kept(programs: Programs) -> None:
    plugin = programs.python("sys.stderr.write('x' * 1_000_000 + 'the end')", "sys.exit(1)")
    detail = error_of(plugin).detail
    assert detail.endswith("xthe end")
    assert len(detail) < 10_000


def test_the_error_that_crane_tells(programs: Programs) -> None:
    fault = json.dumps({"type": "PluginRunError", "message": "some message", "error": "some cause"})
    error = error_of(programs.shell(f"echo '{fault}' >&2", "exit 1"))
    assert str(error) == "PluginRunError: some message: some cause"
    assert (error.type, error.problem, error.detail) == ("PluginRunError", "some message", "some cause")


def test_a_failure_reaches_the_outcome(programs: Programs) -> None:
    plugin = programs.shell("echo broken >&2", "exit 7", name="named-by-its-file")
    plugin.given_name = "it"
    outcome = Runner([plugin]).run(POD)
    assert [(failure.plugin, failure.problem) for failure in outcome.failures] == [
        ("it", "ended with exit code 7: broken")
    ]


NO_LOADER: Final = b"\x7fELF" + struct.pack(
    "<12x HHI QQQ I HHHHHH II QQQQQQ 16s",
    *(2, {"x86_64": 62, "aarch64": 183}.get(platform.machine(), 0), 1),
    *(0, 64, 0, 0, 64, 56, 1, 0, 0, 0),
    *(3, 4, 120, 120, 120, 16, 16, 1),
    b"/no/such/loader\0",
)
"""A program that another one must load, and which there is not."""


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda file: None, "No such file or directory", id="missing"),
        pytest.param(lambda file: file.mkdir(), "Permission denied", id="directory"),
        pytest.param(lambda file: file.write_text("#!/bin/sh\n"), "Permission denied", id="not-executable"),
        pytest.param(
            lambda file: write_program(file, b"#! /no/such/shell -e\n"),
            "its first line names the interpreter '/no/such/shell', which does not exist; name one that is installed, "
            "by its whole path",
            id="interpreter",
        ),
        pytest.param(
            lambda file: write_program(file, b"#!/bin/sh\r\necho\r\n"),
            r"its first line names the interpreter '/bin/sh\r', which does not exist; end its lines with LF",
            id="line-ends",
        ),
        pytest.param(
            lambda file: write_program(file, b"#!/\x1b[2J\n"),
            r"its first line names the interpreter '/\x1b[2J', which",
            id="escape-sequence",
        ),
        pytest.param(
            lambda file: write_program(file, NO_LOADER),
            "the loader of its shared libraries is missing; link it statically, or install what it needs",
            id="loader",
            marks=pytest.mark.skipif(NO_LOADER[18:20] == b"\0\0", reason="needs the number of this processor"),
        ),
        pytest.param(lambda file: write_program(file, b"\0\0\0\0"), "Exec format error", id="no-program"),
    ],
)
def test_what_cannot_be_started(make: Callable[[Path], Any], problem: str, tmp_path: Path) -> None:
    make(tmp_path / "plugin")
    plugin = Executable(tmp_path / "plugin", "it")
    message = f"cannot be started: {problem}"
    assert str(error_of(plugin))[: len(message)] == message
    with pytest.raises(PluginError, match=re.escape(message)):
        _ = plugin.metadata


def write_program(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    file.chmod(0o755)


def test_nothing_of_ours_reaches_a_program(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment, no arguments, no open files, not our working directory; stdin holds the request alone."""
    monkeypatch.setenv("PASSWORD", "secret")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        plugin = programs.python(
            "request = json.load(sys.stdin)",
            "files, leads = sorted(os.listdir('/dev/fd')), os.getsid(0) == os.getpid()",
            "value = [dict(os.environ), sys.argv[1:], os.getcwd(), files, leads, request]",
            "print(json.dumps({'patches': [{'op': 'add', 'path': '/told', 'value': value}]}))",
        )
        (patch,) = plugin.run(POD, {"a": "b"}).patches
    finally:
        os.close(reading)
        os.close(writing)
    surroundings: Any = patch.operations[0].value
    environment, arguments, directory, files, leads, request = surroundings
    # Python itself sets LC_CTYPE where there is none.
    assert environment.keys() <= {"LC_CTYPE"}
    assert (arguments, directory, leads) == ([], "/", True)
    # The last one is the list itself.
    assert files == ["0", "1", "2", "3"]
    assert request == {**POD, "extras": {"a": "b"}}


def test_no_options_are_null(programs: Programs) -> None:
    """As crane sends it."""
    plugin = programs.shell("""[ "$(cat)" = '{"kind": "Pod", "extras": null}' ] || exit 9""", DONE)
    assert plugin.run({"kind": "Pod"}, {}).is_whiteout


@pytest.mark.parametrize("request_", [POD, LARGE], ids=["small", "large"])
def test_a_program_need_not_read_its_request(request_: Data, programs: Programs) -> None:
    assert programs.shell(DONE).run(request_, {}).is_whiteout


def test_a_program_may_answer_before_it_reads(programs: Programs) -> None:
    """Neither waits for the other, however much both have to say."""
    plugin = programs.python(
        "value = 'y' * 1_000_000",
        "print(json.dumps({'patches': [{'op': 'add', 'path': '/told', 'value': value}]}), flush=True)",
        "print('z' * 1_000_000, file=sys.stderr, flush=True)",
        "assert len(sys.stdin.read()) > 5_000_000",
    )
    (patch,) = plugin.run(LARGE, {}).patches
    assert patch.operations[0].value == "y" * 1_000_000


def test_what_is_written_to_stderr_is_no_error(programs: Programs) -> None:
    """Crane took it for one where metadata were asked for."""
    plugin = programs.shell("echo a warning >&2", f"printf '%s' '{json.dumps(META)}'", protocol=None)
    assert plugin.metadata == Metadata("told", "v2")
    assert (plugin.name, plugin.protocol) == ("told", "crane/v1")
    # They are asked for once.
    assert programs.starts == 1


@pytest.mark.parametrize(
    ("setting", "plugin_name", "name"), [("mine", "told", "mine"), ("", "told", "told"), ("", "", "file")]
)
def test_the_name(setting: str, plugin_name: str, name: str, programs: Programs) -> None:
    plugin = programs.shell(f"printf '%s' '{json.dumps({**META, 'name': plugin_name})}'", name="file")
    plugin.given_name = setting
    assert plugin.name == name
