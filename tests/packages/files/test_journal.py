"""A package is one of its two whole states, wherever an update of it is killed or fails."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from krm_merge import interrupts
from krm_merge.packages.files import disk
from krm_merge.packages.files.directory import Directory, PackageError
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, File
from krm_merge.packages.files.written import noted
from packages.repositories import Snapshot, Text, config_map, snapshot, write

OLD: dict[str, Text | None] = {
    "Kptfile": "old\n",
    "changed.yaml": config_map("a", a="old"),
    "gone.yaml": config_map("b"),
    "emptied/gone.yaml": config_map("c"),
    "emptied/below/gone.yaml": config_map("d"),
    "kept.yaml": config_map("e"),
    "shared/gone.yaml": config_map("f"),
    "shared/kept.yaml": config_map("g"),
    "tool": File(b"#!/bin/sh\n", "executable"),
    "becomes-tool": "#!/bin/sh\n",
    "tool-no-more": File(b"text\n", "executable"),
    "link": File(b"kept.yaml", "link"),
    "link-then-file": File(b"kept.yaml", "link"),
    "file-then-link": "text\n",
    "dangling": File(b"nowhere", "link"),
}
CHANGES: Changes = {
    "Kptfile": File(b"new\n"),
    "changed.yaml": File(config_map("a", a="new").encode()),
    "gone.yaml": None,
    "emptied/gone.yaml": None,
    "emptied/below/gone.yaml": None,
    "shared/gone.yaml": None,
    "tool": File(b"#!/bin/bash\n", "executable"),
    "becomes-tool": File(b"#!/bin/sh\n", "executable"),
    "tool-no-more": File(b"text\n"),
    "link": File(b"changed.yaml", "link"),
    "link-then-file": File(b"text\n"),
    "file-then-link": File(b"kept.yaml", "link"),
    "dangling": None,
    "added.yaml": File(config_map("h").encode()),
    "new/folder/added.yaml": File(config_map("i").encode()),
    "new/tool": File(b"#!/bin/sh\n", "executable"),
}
FEW: Changes = {path: CHANGES[path] for path in ("Kptfile", "changed.yaml", "gone.yaml", "new/folder/added.yaml")}
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
ORDERS = pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
"""In which a directory is listed, and so removed."""

Strike = Callable[[str, tuple[Any, ...]], None]

WRITES = ("exchange", "link", "mkdir", "move_to_free", "rename", "replace", "rmdir", "symlink", "unlink")
"""Between two of them a directory does not change."""
CALLS = [
    "chmod",
    "fsync",
    "link",
    "listdir",
    "mkdir",
    "open",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "scandir",
    "symlink",
    "truncate",
    "unlink",
    "write",
]
DISK_CALLS = ("exchange", "move_to_free", "sync")


@pytest.fixture(autouse=True)
def known_on_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests copy packages with their journals, which a journal takes for a forged one."""
    monkeypatch.setattr(Journal, "_identity", lambda _: [1, 2])


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def package(place: Path, files: dict[str, Text | None] = OLD) -> Path:
    folder = write(place / "pkg", files)
    (folder / "changed.yaml").chmod(0o640)
    return folder


def changed(folder: Path, changes: Changes) -> Snapshot:
    """What the package is with the changes, by other means than the journal's."""
    expected = shutil.copytree(folder, folder.parent.with_name("expected") / "pkg", symlinks=True)
    for path in changes:
        if (expected / path).is_symlink() or (expected / path).is_file():
            (expected / path).unlink()
        for above in (expected / path).parents:
            if above == expected or not above.is_dir() or any(above.iterdir()):
                break
            above.rmdir()
    for path, file in changes.items():
        if file is not None:
            write(expected, {path: file})
    (expected / "changed.yaml").chmod(0o640)
    return snapshot(expected)


def commit(folder: Path, changes: Changes) -> None:
    with Journal.opened(folder) as journal:
        journal.commit(changes, Directory(folder))


def recover(folder: Path) -> str:
    with Journal.opened(folder) as journal:
        return journal.recovered


def beside(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.parent.iterdir() if entry != folder)


class _Listed:
    """Entries of a directory in an order that does not depend on the file system."""

    def __init__(self, entries: list[os.DirEntry[str]]) -> None:
        self.entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self.entries

    def __next__(self) -> os.DirEntry[str]:
        return next(self.entries)

    def close(self) -> None:
        pass

    def __enter__(self) -> _Listed:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass


def watch(patch: pytest.MonkeyPatch, strike: Strike, *, backwards: bool = False) -> None:
    """Has `strike` called before each call of the file system, with its name and arguments."""

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **named: Any) -> Any:
            strike(name, arguments)
            return call(*arguments, **named)

        return instead

    def ordered(*arguments: Any) -> _Listed:
        with scandir(*arguments) as entries:
            return _Listed(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

    scandir = os.scandir
    patch.setattr(os, "scandir", ordered)
    for name in CALLS:
        patch.setattr(os, name, watched(name, getattr(os, name)))
    patch.setattr(io, "open", watched("open", io.open))
    for name in DISK_CALLS:
        patch.setattr(disk, name, watched(name, getattr(disk, name)))


class Nth:
    """Strikes at one call, counted from 1, of those with the names."""

    def __init__(self, number: int, then: Strike, *names: str) -> None:
        self.left = number
        self.then = then
        self.names = names or (*CALLS, *DISK_CALLS)

    def __call__(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in self.names:
            self.left -= 1
            if self.left == 0:
                self.then(name, arguments)


def kill(name: str, arguments: tuple[Any, ...]) -> None:
    if name == "sync":
        # What was not synced need not be there.
        for place in arguments[0]:
            if place.is_file() and not place.is_symlink():
                os.truncate(place, place.stat().st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


def no_space(name: str, arguments: tuple[Any, ...]) -> None:
    filename = arguments[0] if arguments and isinstance(arguments[0], str | os.PathLike) else None
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), filename)


def states(
    action: Callable[[], object], folder: Path, strike: Strike | None = None, *, backwards: bool = False
) -> list[Path]:
    """What a kill would leave before each write: copies of the package with what is beside it."""
    made: list[Path] = []
    copying = False

    def copy(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal copying
        if copying:
            return
        if name in WRITES:
            copying = True
            place = folder.parent.with_name(f"{folder.parent.name}.{len(made) + 1}")
            shutil.copytree(folder.parent, place, symlinks=True)
            made.append(place / folder.name)
            copying = False
        if strike is not None:
            strike(name, arguments)

    with pytest.MonkeyPatch.context() as patch, suppress(PackageError, OSError):
        watch(patch, copy, backwards=backwards)
        action()
    return made


def killed(action: Callable[[], object], strike: Strike) -> bool:
    """Does it in a process of its own; whether that was killed."""
    child = os.fork()
    if child == 0:
        try:
            watch(pytest.MonkeyPatch(), strike)
            action()
            os._exit(0)
        except PackageError:
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), "the process ended with a traceback"
    return code != 0


def torn(folder: Path, old: Snapshot, new: Snapshot) -> str:
    """What is wrong with a package right after a kill, or ''."""
    now = snapshot(folder)
    if now.get("Kptfile") not in (old["Kptfile"], new["Kptfile"]):
        return "the Kptfile is neither the old nor the new one"
    files = {path: held for path, held in now.items() if held[0][0] != "d"}
    if now["Kptfile"] == new["Kptfile"] and files != {path: held for path, held in new.items() if held[0][0] != "d"}:
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


def listed(wrong: Mapping[Any, str]) -> str:
    return "\n".join(f"{where}: {what}" for where, what in wrong.items())


def difference(folder: Path, expected: Snapshot) -> list[str]:
    now = snapshot(folder)
    return sorted(path for path in now | expected if now.get(path) != expected.get(path))


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
    os.umask(mask)
    commit(folder, {"new.yaml": File(b"new\n")})
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
    new = changed(folder, changes)
    commit(folder, changes)
    assert snapshot(folder) == new
    assert beside(folder) == []


def test_a_folder_that_was_empty_before_stays_when_a_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path)
    (folder / "empty").mkdir()
    old = snapshot(folder)
    with monkeypatch.context() as patch:
        # It is the Kptfile's; the other file is there by then.
        watch(patch, Nth(1, no_space, "exchange"))
        with pytest.raises(PackageError):
            commit(folder, {"empty/added.yaml": File(b"added\n"), "Kptfile": File(b"new\n")})
    assert snapshot(folder) == old


def test_killed_anywhere_it_is_whole_after_the_next_command(tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    old, new = snapshot(source), changed(source, CHANGES)
    wrong = {}
    number = 0
    while True:
        number += 1
        folder = shutil.copytree(source, tmp_path / str(number) / "pkg", symlinks=True)
        if not killed(partial(commit, folder, CHANGES), Nth(number, kill)):
            break
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"killed before call {number}"] = problem
    assert snapshot(folder) == new
    assert number > 3 * len(CHANGES)
    assert not wrong, listed(wrong)


@ORDERS
@KINDS_OF_UPDATES
def test_as_it_stands_before_any_write_it_is_whole_after_the_next_command(
    tmp_path: Path, files: dict[str, Text | None], changes: Changes, backwards: bool
) -> None:
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), changed(source, changes)
    wrong = {}
    for number, folder in enumerate(states(partial(commit, source, changes), source, backwards=backwards), 1):
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"before write {number}"] = problem
    assert not wrong, listed(wrong)


@ORDERS
def test_killed_again_while_it_is_recovered_it_is_whole_after_the_next_command(tmp_path: Path, backwards: bool) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), changed(source, FEW)
    wrong = {}
    for number, first in enumerate(states(partial(commit, source, FEW), source, backwards=backwards), 1):
        for again, folder in enumerate(states(partial(recover, first), first, backwards=backwards), 1):
            if problem := torn(folder, old, new) or not_whole(folder, old, new):
                wrong[f"killed before write {number}, then before write {again}"] = problem
    assert not wrong, listed(wrong)


@KINDS_OF_UPDATES
def test_an_error_anywhere_leaves_the_old_package_or_comes_too_late_to_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Text | None], changes: Changes
) -> None:
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), changed(source, changes)
    wrong = {}
    number = 0
    while True:
        number += 1
        folder = shutil.copytree(source, tmp_path / str(number) / "pkg", symlinks=True)
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
    assert not wrong, listed(wrong)


@ORDERS
def test_an_error_and_then_a_kill_leave_a_package_that_the_next_command_makes_whole(
    tmp_path: Path, backwards: bool
) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), changed(source, FEW)
    wrong = {}
    number = 0
    while True:
        number += 1
        folder = shutil.copytree(source, tmp_path / str(number) / "pkg", symlinks=True)
        error = Nth(number, no_space, *WRITES)
        for again, state in enumerate(states(partial(commit, folder, FEW), folder, error, backwards=backwards), 1):
            if again > number and (problem := torn(state, old, new) or not_whole(state, old, new)):
                wrong[f"error at write {number}, killed before write {again}"] = problem
        if error.left > 0:
            break
    assert not wrong, listed(wrong)


def test_an_error_while_it_is_recovered_is_told_and_the_next_command_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = interrupted(package(tmp_path / "source", FEW_OLD))
    new = changed(source, FEW)
    wrong = {}
    number = 0
    while True:
        number += 1
        shutil.copytree(source.parent, tmp_path / str(number), symlinks=True)
        folder = tmp_path / str(number) / "pkg"
        old = snapshot(folder)
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
    assert not wrong, listed(wrong)


def interrupted(folder: Path, changes: Changes = FEW) -> Path:
    """A package whose update was killed when the plan stood and nothing was done yet."""
    assert killed(partial(commit, folder, changes), Nth(2, kill, "rename"))
    assert beside(folder) == [".pkg.krm-merge"]
    return folder


def test_what_was_interrupted_is_completed_before_the_next_commit(tmp_path: Path) -> None:
    folder = interrupted(package(tmp_path / "main"))
    new = changed(folder, FEW)
    with Journal.opened(folder) as journal:
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
    folder = interrupted(package(tmp_path / "main"))
    write(folder, {path: text})
    now = snapshot(folder)
    with Journal.opened(folder) as journal:
        assert (journal.recovered, journal.because) == ("rolled back", f"{folder / path} was changed since")
    assert snapshot(folder) == now
    assert beside(folder) == []


def half_done(folder: Path) -> Path:
    """A package whose update was killed when all was done but for the Kptfile."""
    assert killed(partial(commit, folder, FEW), Nth(2, kill, "exchange"))
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
    new = changed(source, FEW)
    folder = half_done(source)
    write(folder, {path: text})
    assert recover(folder) == "completed"
    assert difference(folder, new) == [path]
    assert (folder / path).read_text() == text
    assert beside(folder) == []


def test_edits_of_which_one_needs_the_old_and_one_the_new_version_are_both_kept(tmp_path: Path) -> None:
    folder = half_done(package(tmp_path / "main"))
    write(folder, {"Kptfile": "edited\n", "changed.yaml": "edited anew\n"})
    with Journal.opened(folder) as journal:
        assert journal.recovered == "rolled back"
        assert journal.because == (
            f"{folder / 'Kptfile'} was changed since; {folder / 'changed.yaml'} was changed after it was written, and "
            f"stays, its old version is {folder / 'changed.yaml.before-update'}"
        )
    assert (folder / "Kptfile").read_text() == "edited\n"
    assert (folder / "changed.yaml").read_text() == "edited anew\n"
    assert (folder / "changed.yaml.before-update").read_text() == config_map("a", a="old")
    assert (folder / "gone.yaml").exists()
    assert not (folder / "new").exists()
    assert beside(folder) == []


@pytest.mark.parametrize("damaged", [None, b"", b"other\n"])
@pytest.mark.parametrize("interruption", [interrupted, half_done])
def test_a_prepared_file_that_is_missing_or_damaged_is_not_put_in_place(
    tmp_path: Path, damaged: bytes | None, interruption: Callable[[Path], Path]
) -> None:
    source = package(tmp_path / "main")
    old = snapshot(source)
    folder = interruption(source)
    plan = json.loads((tmp_path / "main" / ".pkg.krm-merge" / "plan.json").read_text())
    [number] = [step["number"] for step in plan["steps"] if step["path"] == "Kptfile"]
    staged = tmp_path / "main" / ".pkg.krm-merge" / "files" / str(number)
    staged.unlink()
    if damaged is not None:
        staged.write_bytes(damaged)
    with Journal.opened(folder) as journal:
        assert journal.recovered == "rolled back"
        assert journal.because == f"what was prepared for {folder / 'Kptfile'} is missing or damaged"
    assert snapshot(folder) == old
    assert beside(folder) == []


def test_an_old_file_that_is_damaged_does_not_come_back(tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    new = changed(source, FEW)
    folder = half_done(source)
    for place in (folder.parent / ".pkg.krm-merge" / "files").iterdir():
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
    new = changed(folder, FEW)
    edit, edited = opened_before(folder)

    def strike(name: str, arguments: tuple[Any, ...]) -> None:
        edit()
        kill(name, arguments)

    assert killed(partial(commit, folder, FEW), Nth(2, strike, "exchange"))
    kept = folder / "changed.yaml.before-update.2"
    with Journal.opened(folder) as journal:
        assert journal.recovered == "completed"
        assert journal.because == f"what was written to {folder / 'changed.yaml'} meanwhile is {kept}"
    assert difference(folder, new) == [kept.name]
    assert kept.read_bytes() == edited["changed.yaml"][1]
    assert beside(folder) == []


def in_place(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("edited\n")


def replaced(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    (place.parent / "~").write_text("edited\n")
    os.rename(place.parent / "~", place)


def removed(place: Path) -> None:
    place.unlink(missing_ok=True)


@pytest.mark.parametrize("edit", [in_place, replaced, removed])
@pytest.mark.parametrize("path", ["changed.yaml", "Kptfile", "gone.yaml", "new/folder/added.yaml", "tool"])
@pytest.mark.parametrize("can_exchange", [True, False], ids=["one-step", "several-steps"])
def test_an_edit_at_any_moment_of_the_exchange_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path], None], path: str, can_exchange: bool
) -> None:
    changes = {**FEW, "tool": CHANGES["tool"]}
    source = package(tmp_path / "source")
    old, new = snapshot(source), changed(source, changes)
    if not can_exchange:
        monkeypatch.setattr(disk, "_renamed", lambda *_: False)
    wrong = {}
    number = 0
    outcomes = set()
    while True:
        number += 1
        folder = shutil.copytree(source, tmp_path / str(number) / "pkg", symlinks=True)
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
                with Journal.opened(folder) as journal:
                    journal.commit(changes, read)
        except PackageError as error:
            message = str(error)
        if nth.left > 0:
            break
        expected = {"edited\n"} if edit is not removed else {None}
        there = (folder / path).read_text() if (folder / path).exists() else None
        ways = [state for state in (old, new) if set(difference(folder, state)) <= {path, *above(path)}]
        if there not in expected and not (edit is removed and snapshot(folder) == new):
            wrong[number] = f"{path} holds {there!r}: {message}"
        elif not ways or beside(folder):
            wrong[number] = f"{difference(folder, old)}, {difference(folder, new)}, {beside(folder)}: {message}"
        elif new not in ways and path not in message:
            wrong[number] = f"the message is {message}"
        outcomes.add("new" if new in ways else "old")
    assert not wrong, listed(wrong)
    assert outcomes == {"old", "new"} or edit is removed


def above(path: str) -> list[str]:
    return [str(folder) for folder in Path(path).parents]


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_anywhere_it_is_as_it_was_or_as_it_is_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    old, new = snapshot(source), changed(source, FEW)
    # Whoever started the tests may have it ignored.
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    wrong = {}
    seen = set()
    at = 0
    while True:
        at += 1
        folder = shutil.copytree(source, tmp_path / str(at) / "pkg", symlinks=True)
        strike = Nth(at, lambda *_: os.kill(os.getpid(), number))
        stopped = False
        with monkeypatch.context() as patch, interrupts.as_exceptions(), noted() as notes:
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
    assert not wrong, listed(wrong)
    assert seen == {"old", "new"}


@KINDS_OF_UPDATES
def test_where_files_cannot_be_exchanged_in_one_step_a_kill_does_no_harm_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Text | None], changes: Changes
) -> None:
    monkeypatch.setattr(disk, "_renamed", lambda *_: False)
    source = package(tmp_path / "source", files)
    old, new = snapshot(source), changed(source, changes)
    wrong = {}
    for number, folder in enumerate(states(partial(commit, source, changes), source), 1):
        if problem := torn(folder, old, new) or not_whole(folder, old, new):
            wrong[f"before write {number}"] = problem
    assert snapshot(source) == new
    assert not wrong, listed(wrong)


def test_what_was_done_but_for_the_clearing_up_is_not_said_to_be_rolled_back(tmp_path: Path) -> None:
    source = package(tmp_path / "source", FEW_OLD)
    new = changed(source, FEW)
    done = [
        folder
        for folder in states(partial(commit, source, FEW), source, backwards=True)
        if snapshot(folder) == new and beside(folder)
    ]
    assert done
    assert "rolled back" not in {recover(folder) for folder in done}


def test_edits_of_other_files_stay(tmp_path: Path) -> None:
    folder = interrupted(package(tmp_path))
    write(folder, {"kept.yaml": "edited\n", "own.yaml": "own\n"})
    assert recover(folder) == "completed"
    assert (folder / "kept.yaml").read_text() == "edited\n"
    assert (folder / "own.yaml").read_text() == "own\n"


@pytest.mark.parametrize("plan", ["", "{", "[]", "{}", '{"steps": [1]}', '{"steps": [{"path": "a"}]}', "\udcff"])
def test_a_plan_that_cannot_be_read_is_refused(tmp_path: Path, plan: str) -> None:
    folder = interrupted(package(tmp_path))
    old = snapshot(folder)
    place = tmp_path / ".pkg.krm-merge"
    (place / "plan.json").write_bytes(plan.encode(errors="surrogateescape"))
    with pytest.raises(PackageError, match=r"not a plan for this package; remove .*/\.pkg\.krm-merge"):
        recover(folder)
    assert snapshot(folder) == old


def test_only_one_process_has_the_journal(tmp_path: Path) -> None:
    folder = package(tmp_path)
    with (
        Journal.opened(folder),
        pytest.raises(PackageError, match="another krm-merge is at work"),
        Journal.opened(folder),
    ):
        pass
    assert recover(folder) == "nothing"


def test_a_package_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="missing: No such file"), Journal.opened(tmp_path / "missing"):
        pass


def test_a_journal_that_came_with_a_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    folder = package(tmp_path / "main")
    (tmp_path / "outside").write_text("precious\n")
    shipped = Journal(folder).directory
    (shipped / "new").mkdir(parents=True)
    (shipped / "new" / "0").write_text("evil\n")
    step = {"number": 0, "path": "../../outside", "before": None, "after": None}
    (shipped / "plan.json").write_text(json.dumps({"journal": [1, 2], "steps": [step], "created": []}))
    with pytest.raises(PackageError, match="not a plan for this package; remove"):
        recover(folder)
    assert (tmp_path / "outside").read_text() == "precious\n"


@pytest.mark.parametrize(
    "path", ["../out", "a/../../out", "/out", ".git/config", "a/.GIT/hooks/x", ".sub.krm-merge/plan.json"]
)
def test_nothing_is_written_outside_of_the_package(path: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    before = snapshot(folder)
    with pytest.raises(PackageError, match="leads out of the package"):
        commit(folder, {path: File(b"evil\n")})
    assert snapshot(folder) == before
    assert beside(folder) == []


def test_nothing_is_written_behind_a_link(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    (tmp_path / "outside").mkdir()
    (folder / "conf").symlink_to(tmp_path / "outside")
    with pytest.raises(PackageError, match="conf is a link"):
        commit(folder, {"conf/x": File(b"evil\n")})
    assert list((tmp_path / "outside").iterdir()) == []


def test_what_changed_after_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    read = dict(Directory(folder))
    (folder / "changed.yaml").write_text("edited meanwhile\n")
    with Journal.opened(folder) as journal, pytest.raises(PackageError, match="was changed meanwhile"):
        journal.commit({"changed.yaml": File(b"new\n")}, read)
    assert (folder / "changed.yaml").read_text() == "edited meanwhile\n"
    assert beside(folder) == []
