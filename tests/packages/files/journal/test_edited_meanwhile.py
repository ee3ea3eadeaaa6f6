"""Edits of a package while it is updated, or since an update was interrupted, are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from effort import SEED
from krm_merge.packages.files import disk
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, PackageError
from packages.files.journal.failures import (
    CHANGES,
    DISK_CALLS,
    FEW,
    STEP,
    Nth,
    above,
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
    plan_of,
    recover,
    staged_of,
    watch,
    without_staged,
)
from packages.repositories import Snapshot, config_map, snapshot, write


def test_what_was_interrupted_is_completed_before_the_next_commit(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    new = change(folder, FEW)
    interrupt(folder)
    with Journal.open(folder) as journal:
        assert journal.recovered == "completed"
        assert snapshot(folder) == new
        journal.commit({"kept.yaml": None}, Directory(folder))
    assert not (folder / "kept.yaml").exists()
    assert beside(folder) == []


EDITS = [
    ("changed.yaml", "edited\n"),
    ("changed.yaml", None),
    ("gone.yaml", "edited\n"),
    ("new/folder/added.yaml", "edited\n"),
    ("Kptfile", "edited\n"),
]


@pytest.mark.parametrize(("path", "text"), EDITS)
def test_what_was_edited_since_the_interruption_stays_and_all_else_is_rolled_back(
    tmp_path: Path, path: str, text: str | None
) -> None:
    folder = interrupt(package(tmp_path / "main"))
    write(folder, {path: text})
    now = without_staged(folder)
    with Journal.open(folder) as journal:
        assert (journal.recovered, journal.because) == (
            "rolled back",
            f"{folder / path} was changed meanwhile and is kept",
        )
    assert snapshot(folder) == now
    assert beside(folder) == []


def half_done(folder: Path) -> Path:
    """A package whose update was killed when all was done but for the Kptfile."""
    assert is_killed(partial(commit, folder, FEW), Nth(2, kill, "exchange"))
    assert (folder / "changed.yaml").read_text() == config_map("a", a="new")
    assert (folder / "Kptfile").read_text() == "old\n"
    return folder


@pytest.mark.parametrize(
    ("path", "text"), [("changed.yaml", "edited\n"), ("gone.yaml", "edited\n"), ("new/folder/added.yaml", "edited\n")]
)
def test_what_was_edited_after_it_was_written_stays_and_all_else_is_completed(
    tmp_path: Path, path: str, text: str
) -> None:
    source = package(tmp_path / "source")
    new = change(source, FEW)
    folder = half_done(source)
    write(folder, {path: text})
    assert recover(folder) == "completed"
    assert difference(folder, new) == [path]
    assert (folder / path).read_text() == text
    assert beside(folder) == []


def test_edits_of_which_one_needs_the_old_and_one_the_new_version_are_both_kept(tmp_path: Path) -> None:
    folder = half_done(package(tmp_path / "main"))
    write(folder, {"Kptfile": "edited\n", "changed.yaml": "edited anew\n"})
    with Journal.open(folder) as journal:
        assert journal.recovered == "rolled back"
        assert journal.because == (
            f"{folder / 'Kptfile'} was changed meanwhile and is kept; {folder / 'changed.yaml'} was changed "
            f"after it was written and is kept, its old version is {folder / 'changed.yaml.before-update'}"
        )
    assert (folder / "Kptfile").read_text() == "edited\n"
    assert (folder / "changed.yaml").read_text() == "edited anew\n"
    assert (folder / "changed.yaml.before-update").read_text() == config_map("a", a="old")
    assert (folder / "gone.yaml").exists()
    assert not (folder / "new").exists()
    assert beside(folder) == []


@pytest.mark.parametrize("damaged", [None, b"", b"other\n"])
@pytest.mark.parametrize("interruption", [interrupt, half_done])
def test_a_prepared_file_that_is_missing_or_damaged_is_not_put_in_place(
    tmp_path: Path, damaged: bytes | None, interruption: Callable[[Path], Path]
) -> None:
    source = package(tmp_path / "main")
    old = snapshot(source)
    folder = interruption(source)
    plan = json.loads(plan_of(folder).read_text().partition("\n")[2])
    [number] = [step["number"] for step in plan["steps"] if step["path"] == "Kptfile"]
    staged = staged_of(folder) / str(number)
    staged.unlink()
    if damaged is not None:
        staged.write_bytes(damaged)
    with Journal.open(folder) as journal:
        assert journal.recovered == "rolled back"
        assert journal.because == f"what was prepared for {folder / 'Kptfile'} is missing or damaged"
    assert snapshot(folder) == old
    assert beside(folder) == []


def test_an_old_file_that_is_damaged_does_not_come_back(tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    new = change(source, FEW)
    folder = half_done(source)
    for place in staged_of(folder).iterdir():
        if place.read_text() == config_map("a", a="old"):
            place.write_text("other\n")
    assert recover(folder) == "completed"
    # It may as well be somebody's edit.
    assert difference(folder, new) == ["changed.yaml.before-update"]


def opened_before(folder: Path) -> tuple[Callable[[], object], Snapshot]:
    """An edit by a program that has opened a file before an update begins, and the package with it."""
    handle = os.open(folder / "changed.yaml", os.O_WRONLY | os.O_APPEND)
    now = snapshot(folder)
    mode, data = now["changed.yaml"]
    return lambda: os.write(handle, b"# edited\n"), {**now, "changed.yaml": (mode, data + b"# edited\n")}


@pytest.mark.parametrize("full", [False, True], ids=["alone", "and an error"])
def test_an_edit_through_a_file_that_was_opened_before_is_not_lost(tmp_path: Path, full: bool) -> None:
    folder = package(tmp_path / "main")
    edit, edited = opened_before(folder)

    def strike(name: str, arguments: tuple[Any, ...]) -> None:
        edit()
        if full:
            no_space(name, arguments)

    with pytest.MonkeyPatch.context() as patch:
        watch(patch, Nth(2, strike, "exchange"))
        with pytest.raises(PackageError, match=r"the package is as it was$"):
            commit(folder, FEW)
    assert snapshot(folder) == edited
    assert beside(folder) == []


def test_an_edit_through_a_file_that_was_opened_before_a_kill_is_not_lost(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    (folder / "changed.yaml.before-update").write_text("somebody's\n")
    new = change(folder, FEW)
    edit, edited = opened_before(folder)

    def strike(name: str, arguments: tuple[Any, ...]) -> None:
        edit()
        kill(name, arguments)

    assert is_killed(partial(commit, folder, FEW), Nth(2, strike, "exchange"))
    copy = folder / "changed.yaml.before-update.2"
    with Journal.open(folder) as journal:
        assert journal.recovered == "completed"
        assert journal.because == f"what was written to {folder / 'changed.yaml'} meanwhile is {copy}"
    assert difference(folder, new) == [copy.name]
    assert copy.read_bytes() == edited["changed.yaml"][1]
    assert beside(folder) == []


def in_place(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("edited\n")


def replace_file(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    (place.parent / "~").write_text("edited\n")
    os.rename(place.parent / "~", place)


def remove(place: Path) -> None:
    place.unlink(missing_ok=True)


PATHS = ("changed.yaml", "Kptfile", "gone.yaml", "new/folder/added.yaml", "tool")
EACH = [(edit, path, in_one) for edit in (in_place, replace_file, remove) for path in PATHS for in_one in (True, False)]


@pytest.mark.parametrize(("edit", "path", "can_exchange"), EACH if SEED else EACH[::7])
def test_an_edit_at_any_moment_of_the_exchange_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path], None], path: str, can_exchange: bool
) -> None:
    changes = {**FEW, "tool": CHANGES["tool"]}
    source = package(tmp_path / "source")
    old, new = snapshot(source), change(source, changes)
    if not can_exchange:
        monkeypatch.setattr(disk, "_rename", lambda *_: False)
    wrong = {}
    number = 0
    outcomes = set()
    while True:
        number += STEP
        folder = copy_of(source, tmp_path / str(number))
        read = dict(Directory(folder))
        busy = False

        def strike(name: str, arguments: tuple[Any, ...], folder: Path = folder) -> None:
            nonlocal busy
            if not busy:
                busy = True
                edit(folder / path)

        nth = Nth(number, strike, *DISK_CALLS, "rename", "open")
        message = ""
        try:
            with monkeypatch.context() as patch:
                watch(patch, nth)
                with Journal.open(folder) as journal:
                    journal.commit(changes, read)
        except PackageError as error:
            message = str(error)
        if nth.left > 0:
            break
        expected = {"edited\n"} if edit is not remove else {None}
        there = (folder / path).read_text() if (folder / path).exists() else None
        ways = [state for state in (old, new) if set(difference(folder, state)) <= {path, *above(path)}]
        if there not in expected and not (edit is remove and snapshot(folder) == new):
            wrong[number] = f"{path} holds {there!r}: {message}"
        elif not ways or beside(folder):
            wrong[number] = f"{difference(folder, old)}, {difference(folder, new)}, {beside(folder)}: {message}"
        elif new not in ways and path not in message:
            wrong[number] = f"the message is {message}"
        outcomes.add("new" if new in ways else "old")
    assert not wrong, lines_of(wrong)
    assert outcomes == {"old", "new"} or edit is remove


def test_what_was_edited_after_it_was_written_stays_where_another_edit_stops_the_update(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")

    def edit_both(name: str, arguments: tuple[Any, ...]) -> None:
        (folder / "changed.yaml").write_text("edited anew\n")
        (folder / "Kptfile").write_text("edited\n")

    with pytest.MonkeyPatch.context() as patch:
        watch(patch, Nth(2, edit_both, "exchange"))
        with pytest.raises(PackageError) as stopped:
            commit(folder, FEW)
    assert (folder / "Kptfile").read_text() == "edited\n"
    assert (folder / "changed.yaml").read_text() == "edited anew\n"
    assert (folder / "changed.yaml.before-update").read_text() == config_map("a", a="old")
    assert f"its old version is {folder / 'changed.yaml.before-update'}" in str(stopped.value)
    assert beside(folder) == []
