"""Programs that are plugins, one process for each request, and do what they should not (T6)."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.hosts import SECONDS
from krm_merge.transform import Metadata, Operation, Options, PluginError, Response, Runner, serve
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


READ: Final = "cat >/dev/null"
QUIET: Final = "</dev/null >/dev/null 2>&1"


def test_a_child_that_holds_the_output_is_killed(programs: Programs) -> None:
    plugin = programs.shell(READ, "sleep 600 &", f"echo $! > {programs.directory}/pids", DONE, programs.passes())
    assert str(error_of(plugin)) == LATE
    programs.assert_all_gone()


def test_a_child_that_is_left_behind_is_killed(programs: Programs) -> None:
    plugin = programs.shell(f"sleep 600 {QUIET} &", f"echo $! > {programs.directory}/pids", DONE)
    assert plugin.run(POD, {}).is_whiteout
    programs.assert_all_gone()


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
    Executable(Path(sys.argv[1]), "it", 600).run({"kind": "Pod"}, {})
"""


def test_a_plugin_that_is_just_starting_is_killed_with_us(programs: Programs) -> None:
    pids = programs.directory / "pids"
    plugin = programs.shell(f"echo $$ >> {pids}", "exec sleep 600")
    command = [sys.executable, "-c", INTERRUPTED, str(plugin.file), str(pids)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "Interrupted: SIGTERM" in done.stderr
    programs.assert_all_gone()


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
        (["echo '[]'"], "the response is not a JSON object with version, isWhiteOut and patches"),
        (["""echo '{"version": "v2"}'"""], "the response has version v2; v1 is expected"),
        (["""echo '{"isWhiteOut": 1}'"""], "isWhiteOut of the response is neither true nor false"),
        (["""echo '{"patches": {}}'"""], "patches of the response is not a list"),
        (["""echo '{"patches": [1]}'"""], "patches[0] of the response: an operation is a mapping with op and path"),
        (["""echo '{"patches": [{"op": "remove"}]}'"""], "patches[0] of the response: remove without path"),
        (
            ["""echo '{"patches": [{"op": "drop", "path": ""}]}'"""],
            "patches[0] of the response: op is drop; choose from add, remove, replace, move, copy, test",
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
        (
            ["""echo '{"newResources": [{"kind": "Build"}]}'"""],
            "the response has newResources; a plugin changes or whites out a resource, it adds none",
        ),
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


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda file: None, "No such file or directory", id="missing"),
        pytest.param(lambda file: file.mkdir(), "Permission denied", id="directory"),
        pytest.param(lambda file: file.write_text("#!/bin/sh\n"), "Permission denied", id="not-executable"),
        pytest.param(
            lambda file: write_program(file, b"#!/bin/sh\r\necho\r\n"),
            "No such file or directory; give it what its first line or its loader names, with LF as line ends",
            id="interpreter",
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
    plugin = programs.shell("echo a warning >&2", f"printf '%s' '{json.dumps(META)}'")
    assert plugin.metadata == Metadata("told", "v2")
    assert plugin.name == "told"
    # They are asked for once.
    assert programs.starts == 1


@pytest.mark.parametrize(
    ("setting", "plugin_name", "name"), [("mine", "told", "mine"), ("", "told", "told"), ("", "", "file")]
)
def test_the_name(setting: str, plugin_name: str, name: str, programs: Programs) -> None:
    plugin = programs.shell(f"printf '%s' '{json.dumps({**META, 'name': plugin_name})}'", name="file")
    plugin.given_name = setting
    assert plugin.name == name


class Wrong:
    """A plugin in Python that answers with invalid JSON, or fails when it is asked what it is."""

    name = "wrong"

    def __init__(self, metadata: Any, value: Any) -> None:
        self.told, self.value = metadata, value

    @property
    def metadata(self) -> Metadata:
        if isinstance(self.told, Exception):
            raise self.told
        return Metadata("wrong", self.told)

    def run(self, resource: Data, options: Options) -> Response:
        values: list[Any] = []
        response = Response.of(Operation("add", ("x",), value=values))
        values.append(self.value)
        return response


@pytest.mark.parametrize(
    ("metadata", "value", "request_", "error"),
    [
        ({"v1"}, 1, {}, "Object of type set is not JSON serializable"),
        (ValueError("not today \ud800"), 1, {}, "not today \ud800"),
        ("v1", {"v1"}, POD, "Object of type set is not JSON serializable"),
    ],
)
def test_a_served_plugin_that_answers_with_no_json(metadata: Any, value: Any, request_: Data, error: str) -> None:
    fault = {"type": "PluginRunError", "message": "the plugin failed", "error": error}
    request = json.dumps(request_).encode()
    stdout, stderr = io.BytesIO(), io.BytesIO()
    assert serve(Wrong(metadata, value), io.BytesIO(request), stdout, stderr) == 1
    assert (stdout.getvalue(), json.loads(stderr.getvalue())) == (b"", fault)


def test_what_a_plugin_writes_of_secrets_it_was_given_is_redacted(programs: Programs) -> None:
    plugin = programs.python(
        "given = json.load(sys.stdin)",
        "if given['kind'] == 'Secret': print('{}'); sys.exit()",
        "sys.exit('cannot log in with hunter2-and-more, aHVudGVyMi1hbmQtbW9yZQ==, second line or plain-text: pod p')",
    )
    twice = programs.python(
        "given = json.load(sys.stdin)",
        "sys.stderr.write(('x' * 100 + 'the-very-long-password-of-the-database')[-120:])",
        "sys.exit(1)",
        name="twice",
    )
    plugin.given_name, twice.given_name = "first", "second"  # none is asked for it
    secret: Data = {
        **POD,
        "kind": "Secret",
        "data": {"token": "aHVudGVyMi1hbmQtbW9yZQ=="},
        "stringData": {"a": "first line\nsecond line\n", "b": "plain-text", "c": "the"},
    }
    runner = Runner([plugin])
    assert runner.run(secret).failures == []
    [failure] = runner.run(POD).failures
    assert "cannot log in with (redacted), (redacted), (redacted) or (redacted): pod p" in failure.problem
    long = {**secret, "data": {}, "stringData": {"a": "much-longer-than-that-the-very-long-password-of-the-database"}}
    [cut] = Runner([twice]).run(long).failures
    assert "password" not in cut.problem


def test_what_a_plugin_writes_of_secret_variables_is_redacted(programs: Programs) -> None:
    plugin = programs.python("json.load(sys.stdin)", "sys.exit('cannot log in with hunter2 or 4711, level info')")
    plugin.given_name = "login"
    pairs: list[tuple[str, Any]] = [("DB_PASSWORD", "hunter2"), ("PIN_KEY", 4711), ("A", "info")]
    env: list[Any] = [{"name": name, "value": value} for name, value in pairs]
    [failure] = Runner([plugin]).run({**POD, "spec": {"containers": [{"name": "c", "env": env}]}}).failures
    assert "cannot log in with (redacted) or (redacted), level info" in failure.problem


def test_a_plugin_that_takes_too_much_memory(programs: Programs) -> None:
    # It has its limit before it has a request.
    plugin = programs.python("sys.stdin.read()", "held = bytearray(400 << 20)", memory_limit=200 << 20)
    with pytest.raises(PluginError) as caught:
        plugin.run(POD, {})
    assert "MemoryError" in caught.value.detail
