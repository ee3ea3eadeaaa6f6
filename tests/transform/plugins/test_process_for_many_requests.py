"""Programs that are plugins, one process for many requests, and do what they should not (T6)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from krm_merge.transform import Metadata, Operation, Options, PluginError, Response, Runner, serve
from krm_merge.transform.plugins.process import Executable
from transform.plugins.programs import DONE, LARGE, LATE, POD, Data, Programs, error_of

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
        error = error_of(plugin, {**POD, "kind": "Bad"})
        assert str(error) == "PluginRunError: the plugin failed: not this one"
    # Once for the metadata, once for all requests.
    assert programs.starts == 2
    plugin.close()
    crane = programs.python(*program, protocol="crane/v1")
    assert crane.run(POD, {}).is_whiteout
    assert str(error_of(crane, {**POD, "kind": "Bad"})) == "PluginRunError: the plugin failed: not this one"


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
    """The caller gets the error in both protocols, and by lines the next request follows."""
    fault = {"type": "PluginRunError", "message": "the plugin failed", "error": error}
    request = json.dumps(request_).encode()
    stdout, stderr = io.BytesIO(), io.BytesIO()
    assert serve(Wrong(metadata, value), io.BytesIO(request), stdout, stderr) == 1
    assert (stdout.getvalue(), json.loads(stderr.getvalue())) == (b"", fault)
    assert serve(Wrong(metadata, value), io.BytesIO((request + b"\n") * 2), stdout, stderr) == 0
    assert [json.loads(line) for line in stdout.getvalue().splitlines()] == [{"error": fault}] * 2


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"error": {"type": "PluginRunError", "message": "no", "error": "why"}}', "PluginRunError: no: why"),
        ('{"error": "no"}', "answered with an error that cannot be read"),
        ("garbage", "answered with invalid JSON"),
        ("", "answered with nothing"),
        ('{"version": "v2"}', "the response has version v2; v1 is expected"),
    ],
)
def test_an_error_that_is_an_answer(answer: str, problem: str, programs: Programs) -> None:
    """The process answers further requests."""
    plugin = lines_of(programs, f"{EACH} echo '{answer}'; done")
    assert [str(error_of(plugin)), str(error_of(plugin))] == [problem, problem]
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
        pytest.param(["TIME PASSES", "exec sleep 600"], LATE, {}, id="silent"),
        pytest.param(["exec >/dev/null", "TIME PASSES", "exec sleep 600"], LATE, {}, id="closes-its-output"),
        pytest.param(["exec 0</dev/null", "TIME PASSES", "exec sleep 600"], LATE, {}, id="closes-its-input"),
    ],
)
def test_a_conversation_that_breaks_off(
    lines: list[str], problem: str, settings: dict[str, Any], programs: Programs
) -> None:
    """The first request is answered, the second is not; there is no third."""
    lines = [programs.passes() if line == "TIME PASSES" else line for line in lines]
    plugin = lines_of(programs, "read -r first", DONE, "echo", "read -r second", *lines, **settings)
    assert plugin.run(POD, {}).is_whiteout
    assert [str(error_of(plugin)), str(error_of(plugin))] == [problem, problem]
    assert programs.starts == 1
    programs.assert_all_gone()


def test_a_conversation_that_ends_between_requests(programs: Programs) -> None:
    plugin = lines_of(programs, "read -r first", DONE, "echo", "echo enough >&2")
    assert plugin.run(LARGE, {}).is_whiteout
    assert str(error_of(plugin, LARGE)) == "ended with exit code 0: enough"
    assert programs.starts == 1


def test_conversations_do_not_disturb_each_other(programs: Programs) -> None:
    """One that ends, by itself or at a limit, leaves the others alone."""
    talking = f"{EACH} {DONE}; echo; done"
    first = lines_of(programs, talking, name="first")
    silent = lines_of(programs, "read -r first", programs.passes(), "exec sleep 600", name="silent")
    second = lines_of(programs, talking, name="second")
    once = programs.shell(DONE, name="once")
    for plugin in (first, second, once):
        assert plugin.run(POD, {}).is_whiteout
    assert str(error_of(silent)) == LATE
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
    with subprocess.Popen(["sleep", "600"]) as process:
        plugin.close()
        left_alone = process.poll() is None
        process.kill()
    assert left_alone


def test_an_answer_is_for_its_own_request(programs: Programs) -> None:
    """Output beyond one line does not answer the next request."""
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


def test_what_a_plugin_writes_of_secret_variables_is_redacted(programs: Programs) -> None:
    plugin = programs.python("json.load(sys.stdin)", "sys.exit('cannot log in with hunter2 or 4711, level info')")
    plugin.given_name = "login"
    pairs: list[tuple[str, Any]] = [("DB_PASSWORD", "hunter2"), ("PIN_KEY", 4711), ("A", "info")]
    env: list[Any] = [{"name": name, "value": value} for name, value in pairs]
    [failure] = Runner([plugin]).run({**POD, "spec": {"containers": [{"name": "c", "env": env}]}}).failures
    assert "cannot log in with (redacted) or (redacted), level info" in failure.problem


def test_a_plugin_that_starts_too_many_processes(programs: Programs) -> None:
    plugin = programs.shell(
        "for i in 1 2 3 4 5 6; do sleep 600 & echo $! >> " + f"{programs.directory}/pids; done; wait", process_limit=5
    )
    with pytest.raises(PluginError, match=r"^started more than 4 processes and was killed$"):
        plugin.run(POD, {})
    programs.assert_all_gone(len((programs.directory / "pids").read_text().split()))


def test_a_plugin_that_takes_too_much_memory(programs: Programs) -> None:
    # It has its limit before it has a request.
    plugin = programs.python("sys.stdin.read()", "held = bytearray(400 << 20)", memory_limit=200 << 20)
    with pytest.raises(PluginError) as caught:
        plugin.run(POD, {})
    assert "MemoryError" in caught.value.detail


def test_a_plugin_whose_processes_take_too_much_memory_together(programs: Programs) -> None:
    plugin = programs.python(
        "pid = os.fork()",
        f"print(os.getpid(), file=open('{programs.directory}/pids', 'a'))",
        "held = b'x' * (70 << 20)",
        "time.sleep(600)",
        memory_limit=120 << 20,
    )
    with pytest.raises(PluginError, match=r"^used more than 120 MiB of memory and was killed$"):
        plugin.run(POD, {})
    programs.assert_all_gone(2)


IN_FILES: Final = {
    "memfd": "os.memfd_create('m')",
    "POSIX shared memory": f"os.open('/dev/shm/krm-merge-{os.getpid()}', os.O_RDWR | os.O_CREAT)",
}
WRITTEN: Final = {
    "mapped": ("held = mmap.mmap(file, 0)", "for _ in range(70): held.write(bytes(1 << 20))"),
    "not mapped": ("for _ in range(70): os.write(file, bytes(1 << 20))",),
}


@pytest.fixture
def in_files(programs: Programs) -> Iterator[Callable[..., Executable]]:
    """Makes a program whose lines may use a `file` that lives in memory."""

    def make(kind: str, *lines: str, **limits: int) -> Executable:
        begin = ("import mmap", f"file = {IN_FILES[kind]}", "os.ftruncate(file, 70 << 20)")
        return programs.python("sys.stdin.read()", *begin, *lines, **limits)

    yield make
    Path(f"/dev/shm/krm-merge-{os.getpid()}").unlink(missing_ok=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files processes have open")
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("kind", IN_FILES)
def test_a_plugin_that_takes_too_much_memory_in_files(
    kind: str, written: tuple[str, ...], in_files: Callable[..., Executable]
) -> None:
    """Which count for nobody until they are mapped."""
    plugin = in_files(kind, *written, "time.sleep(600)", memory_limit=60 << 20)
    assert str(error_of(plugin)) == "used more than 60 MiB of memory and was killed"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files processes have open")
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("kind", IN_FILES)
def test_memory_in_files_counts_once(kind: str, written: tuple[str, ...], in_files: Callable[..., Executable]) -> None:
    """Not for each process that has it open, nor where it is mapped again; and what nobody has written is none."""
    lines = [*written, "again = os.dup(file)", "os.ftruncate(os.memfd_create('empty'), 1 << 30)"]
    forks = ["pid = os.fork()", "if pid == 0: time.sleep(1); os._exit(0)", "os.waitpid(pid, 0)", "print('{}')"]
    assert in_files(kind, *lines, *forks, memory_limit=130 << 20).run(POD, {}) == Response()
