"""Programs that are plugins, and do what they should not (T6). No test says how long anything takes."""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from krm_merge.transform import Metadata, Operation, Options, PluginError, Response, Runner, serve
from krm_merge.transform.plugins.process import Executable, Protocol

Data = dict[str, Any]
SHORT: Final = 0.3
"""For those that never finish."""
LONG: Final = 30.0
"""For those that do."""
POD: Final[Data] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
DONE: Final = """printf '{"version": "v1", "isWhiteOut": true}'"""
META: Final = {"name": "told", "version": "v2", "requestVersion": ["v1"], "responseVersion": ["v1"]}


@dataclass
class Programs:
    """Writes programs; each appends a line to `starts` first, and can leave numbers of processes in `pids`."""

    directory: Path
    made: list[Executable]

    def shell(self, *lines: str, **settings: Any) -> Executable:
        return self._made("#!/bin/sh", [f"echo start >> {self.directory}/starts", *lines], **settings)

    def python(self, *lines: str, **settings: Any) -> Executable:
        first = f"import json, os, sys, time; print('start', file=open('{self.directory}/starts', 'a'))"
        return self._made(f"#!{sys.executable}", [first, *lines], **settings)

    def _made(
        self,
        interpreter: str,
        lines: list[str],
        name: str = "plugin",
        protocol: Protocol | None = "crane/v1",
        time_limit: float = LONG,
        **limits: Any,
    ) -> Executable:
        file = self.directory / name
        file.write_text("\n".join([interpreter, *lines, ""]))
        file.chmod(0o755)
        self.made.append(Executable(file, "", protocol, time_limit, **limits))
        return self.made[-1]

    @property
    def starts(self) -> int:
        return len((self.directory / "starts").read_text().splitlines())

    def assert_all_gone(self, count: int = 1) -> None:
        pids = [int(pid) for pid in (self.directory / "pids").read_text().split()]
        assert len(pids) == count
        wait_until(lambda: not any(map(is_there, pids)))


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(happened: Callable[[], bool]) -> None:
    for _ in range(200):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path, [])
    yield made
    for plugin in made.made:
        plugin.close()


def refused(plugin: Executable, request: Data = POD) -> PluginError:
    with pytest.raises(PluginError) as raised:
        plugin.run(request, {})
    return raised.value


# ---- a process for each request ------------------------------------------------------------------------------------

KILLED: Final = f"did not finish within {SHORT:g} s and was killed"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["while :; do :; done"], id="loops"),
        pytest.param(["exec sleep 60"], id="sleeps"),
        pytest.param(["trap '' TERM HUP INT", "while :; do :; done"], id="ignores-signals"),
        pytest.param(["while :; do echo more >&2; done"], id="floods-stderr"),
        pytest.param([DONE, "exec sleep 60"], id="answers-and-stays"),
        pytest.param([DONE, "exec sleep 60 >/dev/null 2>&1"], id="closes-its-output-and-stays"),
        pytest.param(["sleep 60 &", DONE], id="a-child-holds-the-output"),
    ],
)
def test_the_time_limit(lines: list[str], programs: Programs) -> None:
    """What missed it is not asked again."""
    plugin = programs.shell(*lines, time_limit=SHORT)
    assert [str(refused(plugin)), str(refused(plugin))] == [KILLED, KILLED]
    assert programs.starts == 1


def test_the_time_limit_is_for_all_of_a_request(programs: Programs) -> None:
    """For the answer and the end together."""
    plugin = programs.shell("sleep 1", DONE, "exec >/dev/null 2>&1", "sleep 1", time_limit=1.5)
    assert str(refused(plugin)) == "did not finish within 1.5 s and was killed"


@pytest.mark.parametrize("lines", [["exec yes"], [f"{DONE}; exec yes"], ["exec tr '\\0' ' ' < /dev/zero"]])
def test_the_output_limit(lines: list[str], programs: Programs) -> None:
    """What flooded us is not asked again."""
    plugin = programs.shell(*lines, output_limit=100_000)
    problem = "wrote more than 100,000 bytes and was killed"
    assert [str(refused(plugin)), str(refused(plugin))] == [problem, problem]
    assert programs.starts == 1


def test_an_answer_may_be_as_long_as_the_limit(programs: Programs) -> None:
    answer = json.dumps({"version": "v1"}).ljust(100_000)
    plugin = programs.python(f"print({answer!r}, end='')", output_limit=100_000)
    assert plugin.run(POD, {}) == Response()


LEFT: Final = "left a process behind, which was killed"
QUIET: Final = "</dev/null >/dev/null 2>&1"
DETACHED: Final = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open(os.path.dirname(sys.argv[0]) + '/pids', 'a'))
        null = os.open('/dev/null', os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists(os.path.dirname(sys.argv[0]) + '/pids'):
    time.sleep(0.01)
"""


def test_a_child_that_holds_the_output_is_killed(programs: Programs) -> None:
    plugin = programs.shell("sleep 60 &", f"echo $! > {programs.directory}/pids", DONE, time_limit=SHORT)
    assert str(refused(plugin)) == KILLED
    programs.assert_all_gone()


def test_a_child_that_is_left_behind_is_killed(programs: Programs) -> None:
    """Its plugin had answered, and is not asked again all the same."""
    plugin = programs.shell(f"sleep 60 {QUIET} &", f"echo $! > {programs.directory}/pids", DONE)
    assert [str(refused(plugin)), str(refused(plugin))] == [LEFT, LEFT]
    assert programs.starts == 1
    programs.assert_all_gone()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us adopt orphans")
@pytest.mark.parametrize("ending", ["print('{}')", "time.sleep(60)"])
def test_a_child_in_a_session_of_its_own_is_killed(ending: str, programs: Programs) -> None:
    stays = "sleep" in ending
    # Long enough to have its children started.
    plugin = programs.python(DETACHED, ending, time_limit=3.0 if stays else LONG)
    assert str(refused(plugin)) == ("did not finish within 3 s and was killed" if stays else LEFT)
    programs.assert_all_gone()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us adopt orphans")
@pytest.mark.parametrize("before", [0, 1])
def test_orphans_are_adopted_only_while_a_plugin_runs(before: int, programs: Programs) -> None:
    """Those of other programs are none of ours; a caller that adopts them goes on with that."""
    library, found = ctypes.CDLL(None), ctypes.c_int()
    library.prctl(36, before, 0, 0, 0)
    plugin = programs.shell(DONE)
    missing = Executable(programs.directory / "missing")
    try:
        assert plugin.run(POD, {}).is_whiteout
        refused(missing)
        library.prctl(37, ctypes.byref(found), 0, 0, 0)
        assert found.value == before
    finally:
        library.prctl(36, 0, 0, 0, 0)


IN_PARALLEL: Final = """
import signal, sys
from pathlib import Path
from krm_merge.krm import parallel
from krm_merge.transform.plugins.process import Executable

signal.signal(int(sys.argv[2]), signal.SIG_DFL)
parallel.WORTH_IT = 1
parallel._processors = lambda: int(sys.argv[3])
work = lambda items: Executable(Path(sys.argv[1]), "it", "crane/v1", 60).run({"kind": "Pod"}, {})
parallel.in_parallel(work, range(2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose children there are")
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_us_ends_plugins(number: signal.Signals, processes: int, programs: Programs) -> None:
    """Those of all processes that work, with all that they started, in whatever session."""
    pids = programs.directory / "pids"
    children = (f"sleep 60 {QUIET} &", "child=$!", f"setsid sleep 60 {QUIET} &")
    plugin = programs.shell(*children, f"echo $$ $child $! >> {pids}", "wait")
    command = [sys.executable, "-c", IN_PARALLEL, str(plugin.file), str(int(number)), str(processes)]
    with subprocess.Popen(command) as program:
        wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == processes)
        program.send_signal(number)
        assert program.wait() == -number
    programs.assert_all_gone(3 * processes)


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
        (["echo garbage"], "answered with what is no JSON"),
        (["printf '\\377\\376'"], "answered with what is no JSON"),
        (["true"], "answered with nothing at all"),
        (
            [f"{DONE}; {DONE}"],
            "answered with what is no JSON",
        ),
        (["exec head -c 100000 /dev/zero | tr '\\0' '['"], "answered with what is no JSON"),
        (["echo '[]'"], "the response is no JSON object with version, isWhiteOut, patches and newResources"),
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
            "patches[0] of the response: the path 'x' is no JSON pointer: it begins with /",
        ),
        (
            ["""echo '{"patches": [{"op": "remove", "path": "/x"}, {"op": "add", "path": "/x"}]}'"""],
            "patches[1] of the response: add without value",
        ),
        (["""echo '{"newResources": [1]}'"""], "newResources[0] of the response is no map"),
    ],
)
def test_what_a_program_does_wrong_is_told(lines: list[str], problem: str, programs: Programs) -> None:
    """It may do better with the next resource: it is asked again."""
    plugin = programs.shell(*lines)
    assert [str(refused(plugin)), str(refused(plugin))] == [problem, problem]
    assert programs.starts == 2


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '"\\\\ud800"'])
def test_a_value_that_nobody_can_write_is_refused(value: str, programs: Programs) -> None:
    answer = f"""{{"patches": [{{"op": "add", "path": "/x", "value": {value}}}]}}"""
    refused(programs.shell(f"printf '{answer}'"))


def test_only_the_end_of_stderr_is_kept(programs: Programs) -> None:
    plugin = programs.python("sys.stderr.write('x' * 1_000_000 + 'the end')", "sys.exit(1)")
    detail = refused(plugin).detail
    assert detail.endswith("xthe end")
    assert len(detail) < 10_000


def test_the_error_that_crane_tells(programs: Programs) -> None:
    told = json.dumps({"type": "PluginRunError", "message": "some message", "error": "some cause"})
    error = refused(programs.shell(f"echo '{told}' >&2", "exit 1"))
    assert str(error) == "PluginRunError: some message: some cause"
    assert (error.type, error.problem, error.detail) == ("PluginRunError", "some message", "some cause")


def test_a_failure_reaches_the_outcome(programs: Programs) -> None:
    plugin = programs.shell("echo broken >&2", "exit 7", name="named-by-its-file")
    plugin.given_name = "it"
    outcome = Runner([plugin]).run(POD)
    assert [(one.plugin, one.problem) for one in outcome.failures] == [("it", "ended with exit code 7: broken")]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda file: None, "No such file or directory", id="missing"),
        pytest.param(lambda file: file.mkdir(), "Permission denied", id="directory"),
        pytest.param(lambda file: file.write_text("#!/bin/sh\n"), "Permission denied", id="not-executable"),
        pytest.param(
            lambda file: write_program(file, "#!/no/such/shell\n"), "No such file or directory", id="interpreter"
        ),
        pytest.param(lambda file: write_program(file, "\0\0\0\0"), "Exec format error", id="no-program"),
    ],
)
def test_what_cannot_be_started(make: Callable[[Path], Any], problem: str, tmp_path: Path) -> None:
    make(tmp_path / "plugin")
    plugin = Executable(tmp_path / "plugin", "it")
    with pytest.raises(PluginError, match=f"cannot be started: {problem}"):
        plugin.run(POD, {})
    with pytest.raises(PluginError, match=f"cannot be started: {problem}"):
        _ = plugin.metadata


def write_program(file: Path, text: str) -> None:
    file.write_text(text)
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
    told: Any = patch.operations[0].value
    environment, arguments, directory, files, leads, request = told
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


LARGE: Final = {**POD, "data": {"text": "x" * 5_000_000}}


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


@pytest.mark.parametrize(("given", "told", "name"), [("mine", "told", "mine"), ("", "told", "told"), ("", "", "file")])
def test_the_name(given: str, told: str, name: str, programs: Programs) -> None:
    plugin = programs.shell(f"printf '%s' '{json.dumps({**META, 'name': told})}'", name="file")
    plugin.given_name = given
    assert plugin.name == name


# ---- one process for many requests ---------------------------------------------------------------------------------

EACH: Final = "while read -r request; do"


def lines_of(programs: Programs, *lines: str, **settings: Any) -> Executable:
    return programs.shell(f"echo $$ >> {programs.directory}/pids", *lines, protocol="jsonl/v1", **settings)


def test_one_process_answers_all(programs: Programs) -> None:
    plugin = programs.python(
        f"print(os.getpid(), file=open('{programs.directory}/pids', 'a'))",
        "for line in sys.stdin:",
        "    name = json.loads(line)['metadata']['name']",
        "    value = {'op': 'add', 'path': '/told', 'value': name}",
        "    print(json.dumps({'patches': [value]}), flush=True)",
        protocol="jsonl/v1",
    )
    names = [f"name\n{number} ü" for number in range(20)]
    responses = [plugin.run({"kind": "Pod", "metadata": {"name": name}}, {}) for name in names]
    assert [response.patches[0].operations[0].value for response in responses] == names
    assert programs.starts == 1
    plugin.close()
    programs.assert_all_gone()
    # Once closed, it can be asked again.
    assert plugin.run(POD, {}).patches
    assert programs.starts == 2


def test_the_protocol_that_the_metadata_tell(programs: Programs) -> None:
    program = [
        "from krm_merge.transform import Metadata, Response, serve",
        "class Plugin:",
        "    name = 'served'",
        "    metadata = Metadata('served', 'v3')",
        "    def run(self, resource, options):",
        "        if resource['kind'] == 'Bad': raise ValueError('not this one')",
        "        return Response(is_whiteout=True)",
        "sys.exit(serve(Plugin()))",
    ]
    plugin = programs.python(*program, protocol=None)
    assert (plugin.name, plugin.protocol) == ("served", "jsonl/v1")
    for _ in range(3):
        assert plugin.run(POD, {}).is_whiteout
        error = refused(plugin, {**POD, "kind": "Bad"})
        assert str(error) == "PluginRunError: the plugin failed: not this one"
    # Once for the metadata, once for all requests.
    assert programs.starts == 2
    plugin.close()
    crane = programs.python(*program, protocol="crane/v1")
    assert crane.run(POD, {}).is_whiteout
    assert str(refused(crane, {**POD, "kind": "Bad"})) == "PluginRunError: the plugin failed: not this one"


class Wrong:
    """A plugin in Python that answers with what is no JSON, or fails when it is asked what it is."""

    name = "wrong"

    def __init__(self, told: Any, value: Any) -> None:
        self.told, self.value = told, value

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
    ("told", "value", "request_", "error"),
    [
        ({"v1"}, 1, {}, "Object of type set is not JSON serializable"),
        (ValueError("not today \ud800"), 1, {}, "not today \ud800"),
        ("v1", {"v1"}, POD, "Object of type set is not JSON serializable"),
    ],
)
def test_a_served_plugin_that_answers_with_no_json(told: Any, value: Any, request_: Data, error: str) -> None:
    """The caller is told, in both protocols, and by lines the next request comes."""
    fault = {"type": "PluginRunError", "message": "the plugin failed", "error": error}
    request = json.dumps(request_).encode()
    stdout, stderr = io.BytesIO(), io.BytesIO()
    assert serve(Wrong(told, value), io.BytesIO(request), stdout, stderr) == 1
    assert (stdout.getvalue(), json.loads(stderr.getvalue())) == (b"", fault)
    assert serve(Wrong(told, value), io.BytesIO((request + b"\n") * 2), stdout, stderr) == 0
    assert [json.loads(line) for line in stdout.getvalue().splitlines()] == [{"error": fault}] * 2


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"error": {"type": "PluginRunError", "message": "no", "error": "why"}}', "PluginRunError: no: why"),
        ('{"error": "no"}', "answered with an error that cannot be read"),
        ("garbage", "answered with what is no JSON"),
        ("", "answered with nothing at all"),
        ('{"version": "v2"}', "the response has version v2; v1 is expected"),
    ],
)
def test_an_error_that_is_an_answer(answer: str, problem: str, programs: Programs) -> None:
    """The conversation goes on."""
    plugin = lines_of(programs, f"{EACH} echo '{answer}'; done")
    assert [str(refused(plugin)), str(refused(plugin))] == [problem, problem]
    assert programs.starts == 1
    plugin.close()
    programs.assert_all_gone()


@pytest.mark.parametrize(
    ("lines", "problem", "settings"),
    [
        pytest.param(["echo gone >&2", "exit 3"], "ended with exit code 3: gone", {}, id="dies"),
        pytest.param(["exit 0"], "ended with exit code 0", {}, id="ends"),
        pytest.param(["printf '{'", "exit 0"], "ended with exit code 0", {}, id="half-a-line"),
        pytest.param(["kill -9 $$"], "was ended by signal 9", {}, id="killed"),
        pytest.param(
            ["while :; do printf x; done"],
            "wrote more than 10,000 bytes and was killed",
            {"output_limit": 10_000},
            id="endless-line",
        ),
        pytest.param(["exec sleep 60"], "did not finish within 1 s and was killed", {"time_limit": 1}, id="silent"),
        pytest.param(
            ["exec sleep 60 >/dev/null"],
            "did not finish within 1 s and was killed",
            {"time_limit": 1},
            id="closes-its-output",
        ),
        pytest.param(
            ["read -r more", "exec 0</dev/null", "exec sleep 60"],
            "did not finish within 1 s and was killed",
            {"time_limit": 1},
            id="closes-its-input",
        ),
    ],
)
def test_a_conversation_that_breaks_off(
    lines: list[str], problem: str, settings: dict[str, Any], programs: Programs
) -> None:
    """The first request is answered, the second is not; there is no third."""
    plugin = lines_of(programs, "read -r first", DONE, "echo", "read -r second", *lines, **settings)
    assert plugin.run(POD, {}).is_whiteout
    assert [str(refused(plugin)), str(refused(plugin))] == [problem, problem]
    assert programs.starts == 1
    programs.assert_all_gone()


def test_a_conversation_that_ends_between_requests(programs: Programs) -> None:
    plugin = lines_of(programs, "read -r first", DONE, "echo", "echo enough >&2")
    assert plugin.run(LARGE, {}).is_whiteout
    assert str(refused(plugin, LARGE)) == "ended with exit code 0: enough"
    assert programs.starts == 1


def test_conversations_do_not_disturb_each_other(programs: Programs) -> None:
    """One that ends, by itself or at a limit, leaves the others alone."""
    talking = f"{EACH} {DONE}; echo; done"
    first = lines_of(programs, talking, name="first")
    silent = lines_of(programs, "exec sleep 60", name="silent", time_limit=1)
    second = lines_of(programs, talking, name="second")
    once = programs.shell(DONE, name="once")
    for plugin in (first, second, once):
        assert plugin.run(POD, {}).is_whiteout
    assert str(refused(silent)) == "did not finish within 1 s and was killed"
    assert second.run(POD, {}).is_whiteout
    assert once.run(POD, {}).is_whiteout
    assert first.run(POD, {}).is_whiteout
    first.close()
    assert second.run(POD, {}).is_whiteout
    second.close()
    programs.assert_all_gone(3)
    assert programs.starts == 5


def test_what_is_no_plugin_is_left_alone(programs: Programs) -> None:
    """A process that the caller started meanwhile."""
    plugin = lines_of(programs, f"{EACH} {DONE}; echo; done")
    assert plugin.run(POD, {}).is_whiteout
    with subprocess.Popen(["sleep", "60"]) as own:
        plugin.close()
        left_alone = own.poll() is None
        own.kill()
    assert left_alone


def test_an_answer_is_for_its_own_request(programs: Programs) -> None:
    """What a plugin writes beyond one line is no answer to the next request."""
    twice = """printf '{"patches": [{"op": "remove", "path": "/a"}]}\\n{"isWhiteOut": true}\\n'"""
    plugin = lines_of(programs, f"{EACH} {twice}; done")
    first = Response.of(Operation("remove", ("a",)))
    answers = []
    for _ in range(2):
        with suppress(PluginError):
            answers.append(plugin.run(POD, {}))
    assert answers in ([], [first], [first, first])


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


def test_a_plugin_that_starts_too_many_processes(programs: Programs) -> None:
    plugin = programs.shell(
        "for i in 1 2 3 4 5 6; do sleep 60 & echo $! >> " + f"{programs.directory}/pids; done; wait", process_limit=5
    )
    with pytest.raises(PluginError, match=r"^started more than 4 processes and was killed$"):
        plugin.run(POD, {})
    programs.assert_all_gone(len((programs.directory / "pids").read_text().split()))


def test_a_plugin_that_takes_too_much_memory(programs: Programs) -> None:
    plugin = programs.python("held = bytearray(400 << 20)", memory_limit=200 << 20)
    with pytest.raises(PluginError) as caught:
        plugin.run(POD, {})
    assert "MemoryError" in caught.value.detail


def test_a_plugin_whose_processes_take_too_much_memory_together(programs: Programs) -> None:
    plugin = programs.python(
        "pid = os.fork()",
        f"print(os.getpid(), file=open('{programs.directory}/pids', 'a'))",
        "held = b'x' * (70 << 20)",
        "time.sleep(60)",
        memory_limit=100 << 20,
    )
    with pytest.raises(PluginError, match=r"^used more than 100 MiB of memory and was killed$"):
        plugin.run(POD, {})
    programs.assert_all_gone(2)
