"""What `merge` and `update` print for people: in order of weight, fit for the terminal, with a recap at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from e2e.hosts import git, installed_program
from packages.repositories import Repository, kptfile, write

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\ndata:\n  value: {}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: new\n"
LONG = "a-rather-long-value-of-some-field-of-a-config-map-in-the-package-{}"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in which both changed `c`, and upstream changed `a` and added a resource."""
    upstream = Repository.at(tmp_path / "upstream")
    pipeline = "pipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/set-labels:v0.1\n"
    original = {"a.yaml": MAP.format("a", 1), "c.yaml": MAP.format("c", LONG.format(1))}
    commit = upstream.version("v1", {"Kptfile": kptfile("x"), **original})
    theirs = {"a.yaml": MAP.format("a", 2), "c.yaml": MAP.format("c", LONG.format(2)), "s.yaml": SERVICE}
    upstream.version("v2", {**theirs})
    mine = Repository.at(tmp_path / "mine")
    local = {**original, "c.yaml": MAP.format("c", LONG.format(3))}
    text = kptfile(f"file://{upstream.path}", "v1", commit, more=pipeline)
    mine.commit({"web/Kptfile": text, **{f"web/{name}": data for name, data in local.items()}})
    return mine.path


def run(place: Path, *arguments: str, code: int = 0) -> tuple[str, list[str]]:
    done = subprocess.run([installed_program(), *arguments], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr.splitlines()


def in_terminal(place: Path, columns: int, *arguments: str, **environment: str) -> str:
    """What a terminal of this width shows of a command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [installed_program(), *arguments],
        cwd=place,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**own, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown.decode()


def test_conflicts_come_first_and_again_at_the_end_with_what_settles_them(package: Path) -> None:
    stdout, stderr = run(package, "update", "web@v2")
    assert stdout.splitlines()[1] == "files: 3 changed, 1 added, 0 deleted; 1 warning"
    assert [text.split(": ")[0] for text in stderr] == [
        "warning c.yaml",
        "info    a.yaml",
        "info    c.yaml",
        "info    s.yaml",
        "1 resource is new; run the package's functions on it",
        "1 conflict",
        "settle it yourself with",
    ]
    assert stderr[4].endswith(": kpt fn render web")
    assert stderr[5:] == [
        "1 conflict: c.yaml (data.value)",
        "settle it yourself with: git stash -u -- web && krm-merge resolve web@v2",
    ]


def test_the_command_of_the_recap_meets_the_same_conflict(package: Path) -> None:
    _, stderr = run(package, "update", "web@v2")
    command = stderr[-1].partition(": ")[2].replace("krm-merge", installed_program())
    done = subprocess.run(
        f"{command} --terminal", shell=True, cwd=package, input="l\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert LONG.format(3) in (package / "web" / "c.yaml").read_text()
    assert (package / "web" / "s.yaml").is_file()


@pytest.mark.parametrize("arguments", [["--dry-run"], ["--on-conflict", "fail"]])
def test_where_nothing_is_written_the_package_can_be_resolved_as_it_is(package: Path, arguments: list[str]) -> None:
    _, stderr = run(package, "update", "web@v2", *arguments, code=int("fail" in arguments))
    assert stderr[-1] == "settle it with: krm-merge resolve web@v2"


@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_whoever_says_who_wins_is_not_asked_again(package: Path, winner: str) -> None:
    _, stderr = run(package, "update", "web@v2", "--on-conflict", winner)
    assert stderr[-1] == "1 conflict: c.yaml (data.value)"


def test_quiet_says_neither_recap_nor_what_next(package: Path) -> None:
    _, stderr = run(package, "update", "web@v2", "--quiet")
    assert [text.split(": ")[0] for text in stderr] == ["warning c.yaml"]


def test_outside_of_git_nothing_is_said_of_taking_the_merge_back(tmp_path: Path) -> None:
    for side in "oul":
        write(tmp_path / side, {"c.yaml": MAP.format("c", side)})
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place")
    assert stderr[-1] == "1 conflict: c.yaml (data.value)"


def test_of_stdin_nothing_can_be_resolved(tmp_path: Path) -> None:
    write(tmp_path, {f"{side}.yaml": MAP.format("c", side) for side in "ou"})
    done = subprocess.run(
        [installed_program(), "merge", "o.yaml", "u.yaml", "-"],
        cwd=tmp_path,
        input=MAP.format("c", "l"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "krm-merge resolve" not in done.stderr
    assert "1 conflict: " in done.stderr


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    for side in "oul":
        conflicts = {f"c{at:03}.yaml": MAP.format(f"c{at}", side) for at in range(120)}
        changes = {f"a{at:03}.yaml": MAP.format(f"a{at}", "u" if side == "u" else "o") for at in range(40)}
        write(tmp_path / side, {**conflicts, **changes})
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place")
    cut = [text for text in stderr if " more in " in text]
    assert cut == [
        "warning and 20 more in 20 files; --report FILE and --format json have all of them",
        "info    and 130 more in 130 files; --report FILE and --format json have all of them",
        "120 conflicts: c000.yaml (data.value), c001.yaml (data.value), c002.yaml (data.value), "
        "c003.yaml (data.value), c004.yaml (data.value), and 115 more in 115 more files",
    ]


def test_conflicts_of_several_resources_in_a_file_name_theirs(tmp_path: Path) -> None:
    for side in "oul":
        write(tmp_path / side, {"all.yaml": "---\n".join(MAP.format(name, side) for name in "ab")})
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place", "--quiet")
    assert [text.partition(": data")[0] for text in stderr] == [
        "warning all.yaml: ConfigMap a",
        "warning all.yaml: ConfigMap b",
    ]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_lines_fit_the_terminal(package: Path, columns: int) -> None:
    shown = ESCAPES.sub("\r", in_terminal(package, columns, "update", "web@v2", "--dry-run"))
    lines = [part for text in shown.split("\n") for part in text.split("\r") if part]
    assert max(map(len, lines)) <= columns
    # The values of all sides are there, however they are cut.
    assert all(LONG.format(side)[:55] in "".join("".join(lines).split()) for side in (1, 2, 3))


def test_colour_is_for_terminals_alone_and_can_be_turned_off(package: Path) -> None:
    arguments = ("update", "web@v2", "--dry-run")
    assert "\x1b[33m" in in_terminal(package, 80, *arguments)
    assert "\x1b[3" not in in_terminal(package, 80, *arguments, NO_COLOR="1")
    stdout, stderr = run(package, *arguments)
    assert "\x1b" not in stdout + "".join(stderr)


def test_stages_are_shown_while_it_lasts(package: Path) -> None:
    assert "merging 3 files" in in_terminal(package, 80, "update", "web@v2", "--dry-run")


def test_the_package_of_the_fixture_is_committed(package: Path) -> None:
    assert git(package, "status", "--porcelain") == ""
