"""What `merge` and `update` print for people: in order of weight, fit for the terminal, with a recap at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from e2e.hosts import git, installed_program
from e2e.in_process import krm_merge
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
    done = krm_merge(*arguments, cwd=place)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr.splitlines()


def in_terminal(place: Path, columns: int, *arguments: str, code: int = 0, **environment: str) -> str:
    """What a terminal of this width shows of a command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [installed_program(), *arguments],
        cwd=place,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**variables, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(ours)
    assert process.wait() == code
    return output.decode()


def test_conflicts_come_first_and_again_at_the_end(package: Path) -> None:
    stdout, stderr = run(package, "update", "web@v2", "--on-conflict", "upstream")
    assert stdout.splitlines()[1] == "files: 3 changed, 1 added, 0 deleted; 1 warning"
    assert [text.split(": ")[0] for text in stderr] == [
        "warning c.yaml",
        "info    a.yaml",
        "info    c.yaml",
        "info    s.yaml",
        "1 resource is new; run the package's functions on it",
        "1 conflict",
    ]
    assert stderr[4].endswith(": kpt fn render web")
    assert stderr[5] == "1 conflict: c.yaml (data.value)"


def ways(stderr: list[str]) -> list[str]:
    """The commands that are named behind the line that says why nothing was done."""
    start = next(at for at, text in enumerate(stderr) if text.endswith("Run one of:"))
    return [text.partition("  # ")[0].strip() for text in stderr[start + 1 :]]


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--diff"]], ids=str)
def test_a_conflict_that_nobody_settled_stops_and_names_the_ways_on(package: Path, options: list[str]) -> None:
    stdout, stderr = run(package, "update", "web@v2", *options, code=1)
    assert stdout == ""
    assert stderr[0].startswith("error   c.yaml: data.value: upstream changed it, local changed it (original a-rather")
    assert stderr[1] == "stopped at 1 conflict, the rest merges; nothing was changed. Run one of:"
    typed = " ".join(["krm-merge update web@v2", *options])
    assert ways(stderr) == [
        "krm-merge resolve web@v2",
        f"{typed} --on-conflict local",
        f"{typed} --on-conflict markers",
    ]
    assert git(package, "status", "--porcelain") == ""


@pytest.mark.parametrize(("way", "code", "value"), [(0, 0, 3), (1, 0, 3), (2, 1, 2)])
def test_each_way_on_can_be_copied(package: Path, way: int, code: int, value: int) -> None:
    _, stderr = run(package, "update", "web@v2", code=1)
    _, *words = shlex.split(ways(stderr)[way])
    done = krm_merge(*words, *(["--terminal"] if way == 0 else []), cwd=package, stdin="l\n")
    assert done.returncode == code, done.stderr
    assert LONG.format(value) in (package / "web" / "c.yaml").read_text()
    assert (package / "web" / "s.yaml").is_file()


def test_ways_on_keep_what_was_asked_for(package: Path) -> None:
    (package / "web" / "notes.txt").write_text("mine\n")
    (package / "my rules.yaml").write_text("rules:\n- {kind: Secret, onConflict: local}\n")
    options = ["--allow-dirty", "--rules", "my rules.yaml"]
    _, stderr = run(package, "update", "web@v2", *options, code=1)
    assert ways(stderr)[:2] == [
        "krm-merge resolve --rules 'my rules.yaml' --allow-dirty web@v2",
        "krm-merge update web@v2 --allow-dirty --rules 'my rules.yaml' --on-conflict local",
    ]
    _, stderr = run(package, "update", "web@v2", "--allow-dirty", "--strategy", "resource-merge", code=1)
    assert not any("krm-merge resolve" in way for way in ways(stderr))


def test_where_conflicts_are_to_fail_the_package_can_be_resolved_as_it_is(package: Path) -> None:
    _, stderr = run(package, "update", "web@v2", "--on-conflict", "fail", code=1)
    assert stderr[-1] == "settle it with: krm-merge resolve web@v2"


def test_quiet_says_neither_recap_nor_what_next(package: Path) -> None:
    _, stderr = run(package, "update", "web@v2", "--quiet", code=1)
    assert [text.split(": ")[0] for text in stderr] == ["error   c.yaml"]
    _, stderr = run(package, "update", "web@v2", "--quiet", "--on-conflict", "upstream")
    assert [text.split(": ")[0] for text in stderr] == ["warning c.yaml"]


def test_of_stdin_nothing_can_be_resolved(tmp_path: Path) -> None:
    write(tmp_path, {f"{side}.yaml": MAP.format("c", side) for side in "ou"})
    done = krm_merge("merge", "o.yaml", "u.yaml", "-", cwd=tmp_path, stdin=MAP.format("c", "l"))
    assert done.returncode == 1
    assert ways(done.stderr.splitlines()) == [
        "krm-merge merge o.yaml u.yaml - --on-conflict local",
        "krm-merge merge o.yaml u.yaml - --on-conflict markers",
    ]


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    for side in "oul":
        conflicts = {f"c{at:03}.yaml": MAP.format(f"c{at}", side) for at in range(120)}
        changes = {f"a{at:03}.yaml": MAP.format(f"a{at}", "u" if side == "u" else "o") for at in range(40)}
        write(tmp_path / side, {**conflicts, **changes})
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place", code=1)
    counts = (
        "120 conflicts: c000.yaml (data.value), c001.yaml (data.value), c002.yaml (data.value), "
        "c003.yaml (data.value), c004.yaml (data.value), and 115 more in 115 more files"
    )
    assert [text for text in stderr if " more in " in text] == [
        "error   and 90 more in 90 files; --report FILE and --format json have all of them",
        counts,
    ]
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place", "--on-conflict", "upstream")
    cut = [text for text in stderr if " more in " in text]
    assert cut == [
        "warning and 20 more in 20 files; --report FILE and --format json have all of them",
        "info    and 130 more in 130 files; --report FILE and --format json have all of them",
        counts,
    ]


def test_conflicts_of_several_resources_in_a_file_name_theirs(tmp_path: Path) -> None:
    for side in "oul":
        write(tmp_path / side, {"all.yaml": "---\n".join(MAP.format(name, side) for name in "ab")})
    _, stderr = run(tmp_path, "merge", "o", "u", "l", "--in-place", "--quiet", code=1)
    assert [text.partition(": data")[0] for text in stderr] == [
        "error   all.yaml: ConfigMap a",
        "error   all.yaml: ConfigMap b",
    ]


@pytest.mark.parametrize(("columns", "winner"), [(60, "upstream"), (80, None), (200, "upstream")])
def test_lines_fit_the_terminal(package: Path, columns: int, winner: str | None) -> None:
    options = [] if winner is None else ["--on-conflict", winner]
    printed = in_terminal(package, columns, "update", "web@v2", "--dry-run", *options, code=winner is None)
    text = ESCAPES.sub("\r", printed)
    lines = [part for row in text.split("\n") for part in row.split("\r") if part]
    assert max(map(len, lines)) <= columns
    # The values of all sides are there, however they are cut.
    assert all(LONG.format(side)[:55] in "".join("".join(lines).split()) for side in (1, 2, 3))


def test_colour_is_for_terminals_alone_and_can_be_turned_off(package: Path) -> None:
    arguments = ("update", "web@v2", "--dry-run", "--on-conflict", "upstream")
    assert "\x1b[33m" in in_terminal(package, 80, *arguments)
    assert "\x1b[3" not in in_terminal(package, 80, *arguments, NO_COLOR="1")
    stdout, stderr = run(package, *arguments)
    assert "\x1b" not in stdout + "".join(stderr)


def test_stages_are_shown_while_it_lasts(package: Path) -> None:
    assert "reading 3 files of web" in in_terminal(package, 80, "update", "web@v2", "--dry-run", code=1)
