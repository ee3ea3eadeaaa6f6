"""Full disks, closed pipes, signals, silent servers, names and texts that attack a terminal."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from e2e.hosts import GIT_ENVIRONMENT, SECONDS, Run, running, wait_until
from e2e.in_process import krm_merge
from krm_merge import interrupts
from krm_merge.cli.app import main
from krm_merge.git import program as git_program
from krm_merge.packages.files import disk
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import File
from krm_merge.packages.git import CACHE_VARIABLE
from krm_merge.safe_text import bare_address, line, without_credentials
from packages.repositories import KPTFILE, Repository, config_map, kptfile, snapshot, write

TOKEN = "hunter2-and-more"
ESCAPES = "\x1b]0;owned\x07"


@pytest.fixture
def sides(tmp_path: Path) -> list[Path]:
    """Three versions of a package; upstream changes a file and removes one whose name is no UTF-8."""
    odd = os.fsdecode(b"\xff\x1b[2J.txt")
    original = {"a.yaml": config_map("a", x="one"), odd: "old\n"}
    upstream = {"a.yaml": config_map("a", x="two"), odd: "new\n"}
    return [
        write(tmp_path / name, dict(files))
        for name, files in (("original", original), ("upstream", upstream), ("local", original))
    ]


def command(*arguments: str | Path, **environment: str) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-m", "krm_merge", *map(str, arguments)], {**os.environ, **GIT_ENVIRONMENT, **environment}


def call(*arguments: str | Path, **environment: str) -> Run:
    return krm_merge(*arguments, cwd=Path.cwd(), **environment)


def harmless(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text)


# ---- what is printed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--in-place"], ["--in-place", "--format", "json"], ["--in-place", "--diff"], []])
def test_a_name_that_is_no_utf_8_is_printed_escaped(sides: list[Path], options: list[str]) -> None:
    done = call("merge", *sides, *options)
    assert done.returncode == 0, done.stderr
    assert harmless(done.stdout + done.stderr)
    if options:
        assert snapshot(sides[2]) == snapshot(sides[1])


def test_errors_show_what_a_terminal_would_obey(tmp_path: Path) -> None:
    done = call("merge", tmp_path, tmp_path, f"{tmp_path}/{ESCAPES}\nerror forged\u2028\u202e")
    assert done.returncode == 3
    assert "\\x1b]0;owned\\x07\\nerror forged\\u2028\\u202e" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    for wrong in (f"no{ESCAPES}", f"--no{ESCAPES}"):
        assert harmless(call("merge", "a", "b", "c", wrong).stderr)


def test_results_and_differences_show_what_a_terminal_would_obey(tmp_path: Path) -> None:
    texts = [config_map("a", x=f'"{value}"') for value in ("one", "two\\e[2J\\nerror forged", "three\\u2028")]
    files = [write(tmp_path / str(at), {"a.yaml": text}) for at, text in enumerate(texts)]
    done = call("merge", *files, "--on-conflict", "upstream", "--in-place")
    assert "\\x1b[2J\\nerror forged" in done.stderr
    assert harmless(done.stderr)
    assert "error forged" not in [line.strip() for line in done.stderr.splitlines()]


def test_a_difference_on_a_terminal_is_escaped(tmp_path: Path) -> None:
    files = [write(tmp_path / name, {"n.txt": text}) for name, text in (("a", "x\n"), ("b", f"{ESCAPES}\n"))]
    argv, env = command("merge", files[0], files[1], files[0], TERM="xterm")
    ours, theirs = os.openpty()
    subprocess.run(argv, env=env, stdout=theirs, stderr=subprocess.DEVNULL, timeout=SECONDS, check=True)
    os.close(theirs)
    output = b""
    try:
        while part := os.read(ours, 65536):
            output += part
    except OSError:  # all was read
        pass
    os.close(ours)
    assert b"+\\x1b]0;owned\\x07" in output
    assert b"\x1b]" not in output


# ---- stdout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--format", "json", "--in-place"], ["--help"]])
def test_a_full_stdout_is_one_line_and_exit_code_3(sides: list[Path], options: list[str]) -> None:
    argv, env = command("merge", *sides, *options)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(argv, env=env, stdout=full, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    message = done.stderr.decode()
    assert (done.returncode, message.count("\n")) == (3, 1), message
    is_changed = snapshot(sides[2]) == snapshot(sides[1])
    assert is_changed == ("--in-place" in options)
    what = f"{sides[2]} was changed as a whole" if is_changed else "nothing was changed"
    assert message == f"stdout: No space left on device; {what}\n"


def run_without_reader(*arguments: str | Path, stream: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a command one of whose streams nobody reads, or both."""
    argv, env = command(*arguments)
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(stream.split("+"), writing)
    done = subprocess.run(argv, env=env, **streams, timeout=SECONDS, check=False)  # type: ignore[call-overload]
    os.close(writing)
    return done  # type: ignore[no-any-return]


@pytest.mark.parametrize("stream", ["stdout", "stderr", "stdout+stderr"])
@pytest.mark.parametrize("options", [[], ["--diff", "--in-place"], ["--format", "json", "--in-place"]], ids=str)
def test_a_command_that_nobody_reads_comes_to_its_end(sides: list[Path], options: list[str], stream: str) -> None:
    done = run_without_reader("merge", *sides, *options, stream=stream)
    assert done.returncode == 0
    assert b"Broken pipe" not in (done.stderr or b"") + (done.stdout or b"")
    assert (snapshot(sides[2]) == snapshot(sides[1])) == ("--in-place" in options)


PRINTING = [
    ["--help"],
    ["--version"],
    ["--doc"],
    ["help", "V4"],
    ["merge", "--help"],
    ["completion", "bash"],
    ["nothing"],
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_what_nobody_reads_to_its_end_is_no_error(arguments: list[str]) -> None:
    done = run_without_reader(*arguments, stream="stdout")
    assert done.returncode == (2 if arguments == ["nothing"] else 0)
    assert b"Broken pipe" not in done.stderr
    assert b"Exception ignored" not in done.stderr


# ---- signals, and errors of ours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("is_done", [False, True])
def test_an_interrupted_command_says_what_it_changed(
    sides: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_done: bool
) -> None:
    def interrupt(journal: Journal, *arguments: object) -> None:
        if is_done:
            commit(journal, *arguments)  # type: ignore[arg-type]
        raise interrupts.Interrupted

    commit = Journal.commit
    monkeypatch.setattr(Journal, "commit", interrupt)
    assert main(["merge", *map(str, sides), "--in-place"]) == 130
    what = f"{sides[2]} was changed as a whole" if is_done else "nothing was changed"
    assert capsys.readouterr().err == f"interrupted; {what}\n"


def test_an_internal_error_of_a_command_is_one_line(
    sides: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("x" * 1000 + "\n")

    monkeypatch.setattr(Journal, "commit", fail)
    assert main(["merge", *map(str, sides), "--in-place"]) == 3
    message = capsys.readouterr().err
    assert message.startswith("internal error, nothing was changed: RuntimeError: xxx")
    assert "x" * 201 not in message
    assert message.count("\n") == 1
    assert "KRM_MERGE_DEBUG=1" in message
    assert message.endswith("https://github.com/krm-merge/krm-merge/issues\n")
    monkeypatch.setenv("KRM_MERGE_DEBUG", "1")
    assert main(["merge", *map(str, sides), "--in-place"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_memory_that_runs_out_is_an_error(
    sides: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhaust(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Journal, "commit", exhaust)
    assert main(["merge", *map(str, sides), "--in-place"]) == 3
    message = "out of memory, nothing was changed; split the input, or give krm-merge more memory\n"
    assert capsys.readouterr().err == message


def test_an_edit_that_comes_between_is_exit_code_3(
    sides: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(journal: Journal, *arguments: object) -> None:
        (sides[2] / "a.yaml").write_text("edited\n")
        commit(journal, *arguments)  # type: ignore[arg-type]

    commit = Journal.commit
    monkeypatch.setattr(Journal, "commit", edit)
    assert main(["merge", *map(str, sides), "--in-place"]) == 3
    assert f"{sides[2] / 'a.yaml'} was changed meanwhile" in capsys.readouterr().err
    assert (sides[2] / "a.yaml").read_text() == "edited\n"


@pytest.mark.parametrize("program", ["merge", "patch"])
@pytest.mark.parametrize("is_edited", [False, True])
def test_an_edit_of_a_single_file_that_comes_between_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: str,
    is_edited: bool,
) -> None:
    texts = {"o": config_map("a", x="one"), "u": config_map("a", x="two"), "l": config_map("a", x="one", y="own")}
    places = {name: write(tmp_path / name, {"a.yaml": text}) / "a.yaml" for name, text in texts.items()}
    place = places["l"]
    arguments = {
        "merge": ["merge", *map(str, places.values()), "--in-place"],
        "patch": ["patch", "apply", str(place), str(places["u"]), "--in-place"],
    }

    def edit(file: Path, other: Path) -> None:
        if is_edited and not edits:
            edits.append(place.write_text("edited\n"))
        exchange(file, other)

    edits: list[int] = []
    exchange = disk.exchange
    monkeypatch.setattr(disk, "exchange", edit)
    assert main(arguments[program]) == (3 if is_edited else 0)
    assert place.read_text() == ("edited\n" if is_edited else config_map("a", x="two", y="own"))
    assert [entry.name for entry in place.parent.iterdir()] == ["a.yaml"]
    assert ("was changed meanwhile; that change is kept" in capsys.readouterr().err) == is_edited


def test_an_update_that_is_waiting_for_a_server_ends_with_its_git(tmp_path: Path, silent: int) -> None:
    package = write(tmp_path / "pkg", {"Kptfile": kptfile(f"git://127.0.0.1:{silent}/x.git", "v1", "0" * 40)})
    before = snapshot(package)
    argv, env = command("update", f"{package}@v2", KRM_MERGE_CACHE_DIR=str(tmp_path / "cache"))
    with subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as update:
        wait_until(lambda: asking(silent))
        update.send_signal(signal.SIGTERM)
        _, message = update.communicate(timeout=SECONDS)
    assert (update.returncode, message) == (130, "interrupted; nothing was changed\n")
    wait_until(lambda: not asking(silent))
    assert snapshot(package) == before


def test_a_git_that_is_just_starting_ends_with_its_update(
    tmp_path: Path, silent: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            os.kill(os.getpid(), signal.SIGTERM)

    package = write(tmp_path / "pkg", {"Kptfile": kptfile(f"git://127.0.0.1:{silent}/x.git", "v1", "0" * 40)})
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    assert main(["update", f"{package}@v2"]) == 130
    assert capsys.readouterr().err == "interrupted; nothing was changed\n"
    wait_until(lambda: not asking(silent))


# ---- secrets, and git --------------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def asking(port: int) -> list[str]:
    """The gits that talk to this port."""
    return [command for command in running(about=f":{port}/") if command.partition(" ")[0].endswith("git")]


def test_a_silent_server_is_named_and_no_git_is_left(
    tmp_path: Path, silent: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"git://127.0.0.1:{silent}/x.git"
    package = write(tmp_path / "pkg", {"Kptfile": kptfile(url, "v1", "0" * 40)})
    passed = 0

    def clock() -> float:
        """At each look the limit is over once git asks the server, and not before, however long that takes."""
        nonlocal passed
        passed += SECONDS if asking(silent) else 0
        return time.monotonic() + passed

    monkeypatch.setattr(git_program, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("KRM_MERGE_GIT_TIMEOUT", f"{SECONDS - 0.5}")
    assert main(["update", f"{package}@v2"]) == 3
    message = capsys.readouterr().err
    assert message.startswith(f"error {url}: git ls-remote made no progress for 599.5 s and was stopped; set KRM_")
    assert message.count("\n") == 1
    wait_until(lambda: not asking(silent))


def test_a_time_limit_of_git_that_is_no_number(tmp_path: Path) -> None:
    package = write(tmp_path / "pkg", {"Kptfile": kptfile("git://127.0.0.1:1/x.git", "v1", "0" * 40)})
    done = call("update", f"{package}@v2", KRM_MERGE_GIT_TIMEOUT="soon")
    assert "KRM_MERGE_GIT_TIMEOUT is soon; a number of seconds is expected" in done.stderr


@pytest.mark.parametrize("program", ["update", "observe"])
@pytest.mark.parametrize("user", [f"me:{TOKEN}", TOKEN])
def test_credentials_in_addresses_are_not_printed(tmp_path: Path, program: str, user: str) -> None:
    url = f"http://{user}@127.0.0.1:1/owner/x.git"
    package = write(tmp_path / "pkg", {"Kptfile": kptfile(url, "v1", "0" * 40)})
    arguments = ["update", f"{package}@v2"] if program == "update" else ["components", "observe", url]
    done = call(*arguments, no_proxy="*", KRM_MERGE_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 3
    assert "http://***@127.0.0.1:1/owner/x.git" in done.stderr
    assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("url", "masked", "bare"),
    [
        ("https://me:pa@ss@h/x", "https://***@h/x", "https://h/x"),
        ("https://me:pa/s?s@h/x", "https://***@h/x", "https://h/x"),
        ("https://me:pass@h/x@v1", "https://***@h/x@v1", "https://h/x@v1"),
        ("https://h:8080/x@v1", "https://h:8080/x@v1", "https://h:8080/x@v1"),
        ("https://[::1]:80/x@v1", "https://[::1]:80/x@v1", "https://[::1]:80/x@v1"),
        ("https://token@h/x?ref=v1", "https://***@h/x?ref=v1", "https://h/x?ref=v1"),
        ("ssh://git@h/x", "ssh://git@h/x", "ssh://git@h/x"),
        ("ssh://git:secret@h/x", "ssh://git:***@h/x", "ssh://git@h/x"),
        ("git@h:owner/x", "git@h:owner/x", "git@h:owner/x"),
        ("https://h/x@v1", "https://h/x@v1", "https://h/x@v1"),
        ("https://h/x?private_token=abc&b=c", "https://h/x?private_token=***&b=c", "https://h/x?private_token=abc&b=c"),
        ("/srv/x.git", "/srv/x.git", "/srv/x.git"),
    ],
)
def test_addresses_without_credentials(url: str, masked: str, bare: str) -> None:
    assert without_credentials(f"cannot read {url}: no") == f"cannot read {masked}: no"
    assert line(f"({url})\n") == f"({masked})\\n"
    assert bare_address(url) == bare


def test_a_lock_that_a_killed_git_left_in_the_cache_is_no_obstacle(tmp_path: Path) -> None:
    origin = Repository.at(tmp_path / "origin")
    first = origin.version("v1", {"Kptfile": KPTFILE})
    cache = {CACHE_VARIABLE: str(tmp_path / "cache")}
    package = write(tmp_path / "pkg", {"Kptfile": kptfile(origin.path, "v1", first)})
    assert call("update", package, **cache).returncode == 0
    [store] = (tmp_path / "cache" / "git").iterdir()
    origin.version("v2", {"n.txt": "n\n"})
    (store / "shallow.lock").write_text("")
    done = call("update", f"{package}@v2", **cache)
    assert done.returncode == 0, done.stderr
    assert File((package / "n.txt").read_bytes()) == File(b"n\n")


def test_what_plugins_tell_of_themselves_is_escaped(tmp_path: Path) -> None:
    metadata = (
        '{"name": "a\\u001b]0;owned\\u0007", "version": "v1", "requestVersion": ["v1"], "responseVersion": ["v1"]}'
    )
    write(tmp_path / "plugins", {"a": File(f"#!/bin/sh\necho '{metadata}'\n".encode(), "executable")})
    done = call("transform", "list-plugins", "--plugin-dir", tmp_path / "plugins")
    assert "a\\x1b]0;owned\\x07 v1" in done.stdout
    assert harmless(done.stdout + done.stderr)
