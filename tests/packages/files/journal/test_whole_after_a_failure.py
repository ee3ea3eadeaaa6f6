"""A package is one of its two whole states, wherever an update of it is killed, interrupted or fails."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from effort import SEED
from krm_merge import interrupts
from krm_merge.packages.files import disk
from krm_merge.packages.files.disk import collect_notes
from krm_merge.packages.files.tree import Changes, File, PackageError
from packages.files.journal.failures import (
    CHANGES,
    FEW,
    OLD,
    STEP,
    Nth,
    Strike,
    beside,
    change,
    commit,
    copy_of,
    difference,
    interrupt,
    is_killed,
    kill,
    lines_of,
    no_space,
    package,
    recover,
    watch,
    without_staged,
)
from packages.repositories import Snapshot, Text, snapshot

FEW_OLD = {path: OLD[path] for path in ("Kptfile", "changed.yaml", "gone.yaml", "kept.yaml")}
"""Enough for tests in which two things go wrong, one after the other."""
TURNED_OLD: dict[str, Text | None] = {
    "Kptfile": "old\n",
    "changed.yaml": "old\n",
    "file-then-folder": "text\n",
    "folder-then-file/gone.yaml": "text\n",
    "folder-then-file/below/gone.yaml": "text\n",
}
TO_FOLDER: Changes = {
    "Kptfile": File(b"new\n"),
    "changed.yaml": File(b"new\n"),
    "file-then-folder": None,
    "file-then-folder/below/added.yaml": File(b"added\n"),
}
TO_FILE: Changes = {
    "Kptfile": File(b"new\n"),
    "changed.yaml": File(b"new\n"),
    "folder-then-file": File(b"added\n"),
    "folder-then-file/gone.yaml": None,
    "folder-then-file/below/gone.yaml": None,
}
KINDS_OF_UPDATES = pytest.mark.parametrize(
    ("files", "changes"),
    [
        pytest.param(OLD, CHANGES, id="many"),
        pytest.param(TURNED_OLD, TO_FOLDER, id="file-to-folder"),
        pytest.param(TURNED_OLD, TO_FILE, id="folder-to-file"),
    ],
)
ORDERS = pytest.mark.parametrize("backwards", [True, False] if SEED else [True])
"""In which a directory is listed, and so removed; both at night."""
WRITES = ("exchange", "link", "mkdir", "move_to_free", "rename", "replace", "rmdir", "symlink", "unlink")
"""Between two of them a directory does not change."""


def states(
    action: Callable[[], object], folder: Path, strike: Strike | None = None, *, backwards: bool = False
) -> list[Path]:
    """What a kill would leave before each write: copies of the package with what is beside it."""
    folders: list[Path] = []
    copying = False

    def copy(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal copying
        if copying:
            return
        if name in WRITES:
            copying = True
            place = folder.parent.with_name(f"{folder.parent.name}.{len(folders) + 1}")
            shutil.copytree(folder.parent, place, symlinks=True)
            folders.append(place / folder.name)
            copying = False
        if strike is not None:
            strike(name, arguments)

    with pytest.MonkeyPatch.context() as patch, suppress(PackageError, OSError):
        watch(patch, copy, backwards=backwards)
        action()
    return folders


def torn(folder: Path, old: Snapshot, new: Snapshot) -> str:
    """What is wrong with a package right after a kill, or ''."""
    now = without_staged(folder)
    if now.get("Kptfile") not in (old["Kptfile"], new["Kptfile"]):
        return "the Kptfile is neither the old nor the new one"
    files = {path: entry for path, entry in now.items() if entry[0][0] != "d"}
    if now["Kptfile"] == new["Kptfile"] and files != {path: entry for path, entry in new.items() if entry[0][0] != "d"}:
        return "the Kptfile is the new one, other files are not"
    return ""


def not_whole(folder: Path, old: Snapshot, new: Snapshot) -> str:
    """What is wrong with a package after the next command, or ''."""
    try:
        recovered = recover(folder)
    except (PackageError, OSError) as error:
        return f"not recovered: {error!r}; differs from the new in {difference(folder, new)}"
    if beside(folder):
        return f"{beside(folder)} is left"
    if snapshot(folder) in (old, new):
        return ""
    return (
        f"{recovered}, but differs from the old in {difference(folder, old)}, from the new in {difference(folder, new)}"
    )


# ---- kills -----------------------------------------------------------------------------------------------------------


def test_a_folder_without_files_goes(tmp_path: Path) -> None:
    folder = package(tmp_path)
    commit(folder, CHANGES)
    assert not (folder / "emptied").exists()
    assert [path.name for path in (folder / "shared").iterdir()] == ["kept.yaml"]


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [
        (0o640, "file", "-rw-r-----"),
        (0o640, "executable", "-rwxr-x---"),
        (0o600, "executable", "-rwx------"),
        (0o750, "executable", "-rwxr-x---"),
        (0o750, "file", "-rw-r-----"),
        (0o444, "file", "-r--r--r--"),
    ],
)
def test_a_file_keeps_who_may_read_and_write_it(tmp_path: Path, mode: int, kind: Any, expected: str) -> None:
    folder = package(tmp_path)
    (folder / "kept.yaml").chmod(mode)
    commit(folder, {"kept.yaml": File(b"new\n", kind)})
    assert snapshot(folder)["kept.yaml"] == (expected, b"new\n")


@pytest.mark.parametrize(("mask", "expected"), [(0o077, "-rw-------"), (0o002, "-rw-rw-r--")])
def test_a_new_file_has_the_mode_of_other_new_files(tmp_path: Path, mask: int, expected: str) -> None:
    folder = package(tmp_path)
    previous = os.umask(mask)
    try:
        commit(folder, {"new.yaml": File(b"new\n")})
    finally:
        os.umask(previous)
    assert snapshot(folder)["new.yaml"] == (expected, b"new\n")


def test_a_link_to_the_package_stays_one(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    link = tmp_path / "link"
    link.symlink_to(folder)
    commit(link, FEW)
    assert link.is_symlink()
    assert (folder / "Kptfile").read_text() == "new\n"
    assert beside(folder) == []


def test_the_package_may_be_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package(tmp_path)
    monkeypatch.chdir(folder)
    commit(Path("."), FEW)
    assert (folder / "Kptfile").read_text() == "new\n"
    assert beside(folder) == []


@KINDS_OF_UPDATES
def test_a_commit_makes_all_changes(tmp_path: Path, files: dict[str, Text | None], changes: Changes) -> None:
    folder = package(tmp_path / "main", files)
    new = change(folder, changes)
    commit(folder, changes)
    assert snapshot(folder) == new
    assert beside(folder) == []


def test_killed_anywhere_it_is_whole_after_the_next_command(tmp_path: Path) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), change(source, FEW)
    wrong = {}
    number = 0
    while True:
        number += STEP
        folder = copy_of(source, tmp_path / str(number))
        if not is_killed(partial(commit, folder, FEW), Nth(number, kill)):
            break
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"killed before call {number}"] = problem
    assert snapshot(folder) == new
    assert number > 3 * len(FEW)
    assert not wrong, lines_of(wrong)


@ORDERS
@KINDS_OF_UPDATES
def test_as_it_stands_before_any_write_it_is_whole_after_the_next_command(
    tmp_path: Path, files: dict[str, Text | None], changes: Changes, backwards: bool
) -> None:
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), change(source, changes)
    wrong = {}
    for number, folder in enumerate(states(partial(commit, source, changes), source, backwards=backwards), 1):
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"before write {number}"] = problem
    assert not wrong, lines_of(wrong)


@ORDERS
def test_killed_again_while_it_is_recovered_it_is_whole_after_the_next_command(tmp_path: Path, backwards: bool) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), change(source, FEW)
    wrong = {}
    for number, first in enumerate(states(partial(commit, source, FEW), source, backwards=backwards), 1):
        for again, folder in enumerate(states(partial(recover, first), first, backwards=backwards), 1):
            if problem := torn(folder, old, new) or not_whole(folder, old, new):
                wrong[f"killed before write {number}, then before write {again}"] = problem
    assert not wrong, lines_of(wrong)


@KINDS_OF_UPDATES
def test_an_error_anywhere_leaves_the_old_package_or_comes_too_late_to_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Text | None], changes: Changes
) -> None:
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), change(source, changes)
    wrong = {}
    number = 0
    while True:
        number += STEP
        folder = copy_of(source, tmp_path / str(number))
        strike = Nth(number, no_space)
        try:
            with monkeypatch.context() as patch:
                watch(patch, strike)
                commit(folder, changes)
        except PackageError as error:
            if snapshot(folder) != old:
                wrong[number] = f"{error}, but {difference(folder, old)} differ from the old"
            elif beside(folder):
                wrong[number] = f"{error}, but {beside(folder)} is left"
            elif "No space left on device" not in str(error) or str(error).startswith("None"):
                wrong[number] = f"the message is {error}"
        except OSError as error:
            wrong[number] = f"{error!r} instead of a PackageError"
        else:
            if problem := torn(folder, old, new) or not_whole(folder, old, new):
                wrong[number] = f"no error, but {problem}"
            elif snapshot(folder) != new:
                wrong[number] = "no error, but nothing was done"
        if strike.left > 0:
            break
    assert not wrong, lines_of(wrong)


@ORDERS
def test_an_error_and_then_a_kill_leave_a_package_that_the_next_command_makes_whole(
    tmp_path: Path, backwards: bool
) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), change(source, FEW)
    wrong = {}
    number = 0
    while True:
        number += STEP
        folder = copy_of(source, tmp_path / str(number))
        error = Nth(number, no_space, *WRITES)
        for again, state in enumerate(states(partial(commit, folder, FEW), folder, error, backwards=backwards), 1):
            if again > number and (problem := torn(state, old, new) or not_whole(state, old, new)):
                wrong[f"error at write {number}, killed before write {again}"] = problem
        if error.left > 0:
            break
    assert not wrong, lines_of(wrong)


def test_an_error_while_it_is_recovered_is_told_and_the_next_command_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), change(source, FEW)
    interrupt(source)
    wrong = {}
    number = 0
    while True:
        number += STEP
        folder = copy_of(source, tmp_path / str(number))
        strike = Nth(number, no_space)
        try:
            with monkeypatch.context() as patch:
                watch(patch, strike)
                recover(folder)
        except PackageError:
            pass
        except OSError as error:
            wrong[number] = f"{error!r} instead of a PackageError"
        if strike.left > 0:
            break
        if problem := not_whole(folder, old, new):
            wrong[number] = problem
    assert not wrong, lines_of(wrong)


# ---- signals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] if SEED else [signal.SIGINT])
def test_interrupted_anywhere_it_is_as_it_was_or_as_it_is_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), change(source, FEW)
    # Whoever started the tests may have it ignored.
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    wrong = {}
    seen = set()
    at = 0
    while True:
        at += 1
        folder = copy_of(source, tmp_path / str(at))
        strike = Nth(at, lambda *_: os.kill(os.getpid(), number))
        stopped = False
        with monkeypatch.context() as patch, interrupts.as_exceptions(), collect_notes() as notes:
            watch(patch, strike)
            try:
                commit(folder, FEW)
            except interrupts.Interrupted:
                stopped = True
        if strike.left > 0:
            break
        now = "new" if snapshot(folder) == new else "old" if snapshot(folder) == old else "half"
        seen.add(now)
        if now == "half" or beside(folder) or bool(notes) != (now == "new") or not stopped:
            wrong[at] = f"{now}, {beside(folder)}, {notes}, interrupted: {stopped}"
    assert not wrong, lines_of(wrong)
    assert seen == {"old", "new"}


@KINDS_OF_UPDATES
def test_where_files_cannot_be_exchanged_in_one_step_a_kill_does_no_harm_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Text | None], changes: Changes
) -> None:
    monkeypatch.setattr(disk, "_rename", lambda *_: False)
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), change(source, changes)
    wrong = {}
    for number, folder in enumerate(states(partial(commit, source, changes), source), 1):
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"before write {number}"] = problem
    assert snapshot(source) == new
    assert not wrong, lines_of(wrong)


def test_what_was_done_but_for_the_clearing_up_is_not_said_to_be_rolled_back(tmp_path: Path) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    new = change(source, FEW)
    done = [
        folder
        for folder in states(partial(commit, source, FEW), source, backwards=True)
        if snapshot(folder) == new and beside(folder)
    ]
    assert done
    assert "rolled back" not in {recover(folder) for folder in done}
