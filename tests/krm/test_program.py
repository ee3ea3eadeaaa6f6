"""How a function runs: exit codes, what stands on stdout and stderr, the docs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge import __version__
from krm_merge.krm import InputError, ResourceList, process, run
from krm_merge.krm.program import Docs
from krm_merge.krm.result import ResourceRef

SOURCES = ROOT / "fn"
DATA = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  spec: {a: 1}\n- kind: B\n"
README = """\
# Title

<!--mdtogo:Short-->
Short text: é
<!--mdtogo-->

<!--mdtogo:Long-->
Long
text
<!--mdtogo:End-->

<!--mdtogo:Examples-->
example
<!--mdtogo-->
"""
METADATA = (
    "image: example.com/x\ndescription: d\ntags: [a]\nsourceURL: u\nexamplePackageURLs: []\nlicense: l\nother: o\n"
)


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def edit(resource_list: ResourceList) -> None:
    resource_list.items[0].set("spec.a", 2)


def fail(resource_list: ResourceList) -> None:
    edit(resource_list)
    del resource_list.items[1]
    resource_list.results.info("all\nis well")
    resource_list.results.error("first\nline", file="a.yaml")
    resource_list.results.error("second")


def refuse(resource_list: ResourceList) -> None:
    edit(resource_list)
    raise InputError("not like this")


def break_down(resource_list: ResourceList) -> None:
    edit(resource_list)
    raise RuntimeError("a\nbug")


def call(*argv: str, data: bytes = DATA, docs: Docs | None = None, terminal: bool = False) -> tuple[int, bytes, str]:
    """Runs `edit`: exit code, stdout, stderr."""
    out, err = io.BytesIO(), io.StringIO()
    stdin = Terminal(data) if terminal else io.BytesIO(data)
    code = run(edit, argv, docs=lambda: docs or Docs(), stdin=stdin, stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def test_a_function_that_edits() -> None:
    outcome = process(edit, DATA)
    assert (outcome.exit_code, outcome.message) == (0, "")
    assert outcome.output == DATA.replace(b"a: 1", b"a: 2")
    assert call() == (0, outcome.output, "")


def test_errors_leave_the_items_as_they_came() -> None:
    outcome = process(fail, DATA)
    assert outcome.exit_code == 1
    assert outcome.output.startswith(DATA)
    assert [result["message"] for result in yaml.safe_load(outcome.output)["results"]] == [
        "all\nis well",
        "first\nline",
        "second",
    ]
    assert outcome.message == "a.yaml: first\nline (and 1 more)"


def test_an_error_that_names_its_file_itself_is_not_given_it_twice() -> None:
    outcome = process(lambda resource_list: resource_list.results.error("a.yaml: bad", file="a.yaml"), DATA)
    assert outcome.message == "a.yaml: bad"


def test_input_errors_are_results() -> None:
    outcome = process(refuse, DATA)
    assert (outcome.exit_code, outcome.message) == (1, "not like this")
    assert outcome.output.startswith(DATA)
    assert yaml.safe_load(outcome.output)["results"] == [{"message": "not like this", "severity": "error"}]


def test_an_unreadable_item_is_a_result_with_its_file() -> None:
    data = DATA + b"- a: 1\n  a: 2\n  config.kubernetes.io/path: x.yaml\n"
    outcome = process(lambda resource_list: print(resource_list.items[2].name), data)
    assert outcome.exit_code == 1
    assert outcome.output.startswith(data)
    (result,) = yaml.safe_load(outcome.output)["results"]
    assert result["file"] == {"path": "x.yaml"}
    assert outcome.message.count("x.yaml") == 1


def test_warnings_are_no_failure() -> None:
    outcome = process(lambda resource_list: resource_list.results.warning("careful"), DATA)
    assert outcome.exit_code == 0
    assert b"careful" in outcome.output


@pytest.mark.parametrize("data", [b"hello", b"kind: X\n", b"\xff\xfe", b"a: [\n"])
def test_what_is_no_list_gives_no_output(data: bytes) -> None:
    outcome = process(edit, data)
    assert (outcome.exit_code, outcome.output) == (1, b"")
    assert outcome.message.startswith("stdin: ")


def test_stderr_is_one_line() -> None:
    err = io.StringIO()
    assert run(fail, [], stdin=io.BytesIO(DATA), stdout=io.BytesIO(), stderr=err) == 1
    assert err.getvalue() == "a.yaml: first\\nline (and 1 more)\n"


def test_an_internal_error_writes_one_line_and_nothing_else() -> None:
    out, err = io.BytesIO(), io.StringIO()
    assert run(break_down, [], stdin=io.BytesIO(DATA), stdout=out, stderr=err) == 1
    assert out.getvalue() == b""
    assert err.getvalue() == (
        "internal error, no file was changed: RuntimeError: a\\nbug; "
        "please report it with the output of KRM_MERGE_DEBUG=1: https://github.com/krm-merge/krm-merge/issues\n"
    )


def test_memory_that_runs_out_is_no_fault_of_the_program() -> None:
    def exhaust(resource_list: ResourceList) -> None:
        raise MemoryError

    out, err = io.BytesIO(), io.StringIO()
    assert run(exhaust, [], stdin=io.BytesIO(DATA), stdout=out, stderr=err) == 1
    assert out.getvalue() == b""
    assert err.getvalue() == (
        f"out of memory for an input of {len(DATA)} bytes, no file was changed; "
        "split the input, or give krm-merge more memory\n"
    )


def test_the_traceback_of_an_internal_error_is_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_DEBUG", "1")
    err = io.StringIO()
    assert run(break_down, [], stdin=io.BytesIO(DATA), stdout=io.BytesIO(), stderr=err) == 1
    assert err.getvalue().startswith("internal error, no file was changed: RuntimeError")
    assert "in break_down" in err.getvalue()


def test_what_a_terminal_would_obey_is_escaped() -> None:
    def forge(resource_list: ResourceList) -> None:
        resource_list.results.error("\x1b]0;owned\x07 a\nb\u2028c \u202e\x9b", file="\x1b[2Ja.yaml")

    err = io.StringIO()
    assert run(forge, [], stdin=io.BytesIO(DATA), stdout=io.BytesIO(), stderr=err) == 1
    assert err.getvalue() == "\\x1b[2Ja.yaml: \\x1b]0;owned\\x07 a\\nb\\u2028c \\u202e\\x9b\n"


@pytest.mark.parametrize("field", ["kind", "apiVersion"])
def test_a_long_value_is_not_quoted_whole(field: str) -> None:
    other = {"kind": "apiVersion: config.kubernetes.io/v1", "apiVersion": "kind: ResourceList"}[field]
    outcome = process(edit, f"{field}: {'x ' * 100_000}y\n{other}\nitems: []\n".encode())
    assert outcome.exit_code == 1
    assert outcome.message.startswith(f"stdin: {field} is x x x")
    assert outcome.message.count("x") <= 110


def test_credentials_in_urls_stay_out_of_results() -> None:
    def leak(resource_list: ResourceList) -> None:
        url = "https://me:hunter2@example.com/x.git?access_token=hunter2"
        resource_list.results.error(f"{url} is no repository", current=url, proposed=url, tags={"local": url})

    outcome = process(leak, DATA)
    assert "hunter2" not in outcome.message
    assert b"hunter2" not in outcome.output
    assert "https://***@example.com/x.git?access_token=*** is no repository" in outcome.message


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(flag: str) -> None:
    code, out, err = call(flag, docs=Docs(README, METADATA))
    assert (code, err) == (0, "")
    assert out.decode() == "Short text: é\n\nLong\ntext\n\nExamples:\n\nexample\n"


def test_doc() -> None:
    code, out, err = call("--doc", docs=Docs(README, METADATA))
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "short": "Short text: é",
        "long": "Long\ntext",
        "examples": "example",
        "image": "example.com/x",
        "description": "d",
        "tags": ["a"],
        "sourceURL": "u",
        "examplePackageURLs": [],
        "license": "l",
    }


def test_docs_that_are_not_there() -> None:
    assert call("--help") == (0, b"\n", "")
    assert json.loads(call("--doc")[1]) == {"short": "", "long": "", "examples": ""}
    assert json.loads(Docs("", "- a\n").json()) == {"short": "", "long": "", "examples": ""}


def test_docs_in_a_folder(tmp_path: Path) -> None:
    for name, docs in (("README.md", Docs()), ("metadata.yaml", Docs("text", "text"))):
        assert Docs.in_folder(tmp_path) == Docs()
        (tmp_path / name).write_text("text")
        assert Docs.in_folder(tmp_path) == docs


def test_a_terminal_is_not_waited_for() -> None:
    code, out, err = call(terminal=True, docs=Docs(README, METADATA))
    assert (code, out) == (2, b"")
    assert "Short text" in err


def test_an_unknown_argument() -> None:
    code, out, err = call("x", "--y")
    assert (code, out) == (2, b"")
    assert "unknown argument x" in err


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_empty_stdin(data: bytes) -> None:
    outcome = process(lambda resource_list: resource_list.results.info(str(len(resource_list.items))), data)
    assert outcome.exit_code == 0
    assert yaml.safe_load(outcome.output)["items"] == []


def test_the_real_streams_are_the_default(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DATA)))
    assert run(edit) == 0
    assert capfdbinary.readouterr().out == DATA.replace(b"a: 1", b"a: 2")


# ---- the program -----------------------------------------------------------------------------------------------------


def program(
    *argv: str,
    data: bytes = DATA,
    code: str = "import runpy; runpy.run_module('krm_merge', run_name='__main__')",
    stdout: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        input=data,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
        env={"PYTHONPATH": str(SOURCES)},
    )


def test_version() -> None:
    done = program("--version")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"krm-merge {__version__}\n", b"")


def test_the_docs_of_the_program() -> None:
    done = program("--help")
    assert done.returncode == 0
    assert b"functionConfig" in done.stdout
    doc = json.loads(program("--doc").stdout)
    assert {"short", "long", "examples", "image", "description", "tags", "sourceURL", "license"} <= doc.keys()
    assert doc["short"]


def test_a_broken_pipe_is_no_success() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    item = b"- kind: A\n  data: " + b"x" * 200_000 + b"\n"
    with os.fdopen(writing, "wb") as stdout:
        done = program(data=DATA.replace(b"items:\n", b"items:\n" + item), stdout=stdout)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, b"stdout: Broken pipe")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("argv", [[], ["--help"], ["--doc"], ["--version"]])
def test_a_full_stdout_is_no_success(argv: list[str]) -> None:
    with open("/dev/full", "wb") as stdout:
        done = program(*argv, stdout=stdout)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == b"stdout: No space left on device"
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_without_stdout_nothing_is_done() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m krm_merge >&-', sys.executable],
        input=DATA,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
        env={"PYTHONPATH": str(SOURCES)},
    )
    assert (done.returncode, done.stderr) == (3, b"stdout is closed; nothing was done\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_function_says_so(number: signal.Signals) -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import runpy; runpy.run_module('krm_merge', run_name='__main__')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(SOURCES)},
    ) as running:
        assert running.stdin is not None
        running.stdin.write(b"x" * 1_000_000)  # it has begun to read
        running.send_signal(number)
        out, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, out, err) == (130, b"", b"interrupted; no file was changed\n")


def test_text_that_the_locale_cannot_write() -> None:
    env = {"PYTHONPATH": str(SOURCES), "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    config = "functionConfig:\n  apiVersion: v1\n  kind: é\n".encode()
    command = [sys.executable, "-m", "krm_merge"]
    done = subprocess.run(command, input=DATA + config, capture_output=True, timeout=SECONDS, check=False, env=env)
    assert done.returncode == 1
    assert done.stdout.startswith(DATA + config)
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"functionConfig: kind is ")


def test_what_a_host_prints_of_results_a_terminal_only_shows() -> None:
    odd, escape = "\x1b]0;owned\x07\u2028\u202e\x9b", "\\x1b]0;owned\\x07\\u2028\\u202e\\x9b"

    def function(resource_list: ResourceList) -> None:
        about = ResourceRef("v1", f"Kind{odd}", f"name{odd}", f"space{odd}")
        resource_list.results.info(
            f"said\n{odd}", resource=about, path=f"data.{odd}", file=f"file{odd}", current=odd, tags={"local": odd}
        )

    outcome = process(function, DATA)
    [result] = yaml.safe_load(outcome.output)["results"]
    assert result["message"] == f"said\n{escape}"
    assert result["resourceRef"] == {
        "apiVersion": "v1",
        "kind": f"Kind{escape}",
        "name": f"name{escape}",
        "namespace": f"space{escape}",
    }
    # Programs read these, and kpt does not print them.
    assert result["field"] == {"path": f"data.{escape}", "currentValue": odd}
    assert (result["file"], result["tags"]) == ({"path": f"file{odd}"}, {"local": odd})
