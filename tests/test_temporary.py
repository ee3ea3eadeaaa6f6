"""Temporary directories, those of killed processes too."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_merge.packages.files.disk import write_tree
from krm_merge.packages.files.tree import Directory, File
from krm_merge.posix import temporary_directory


@pytest.fixture(autouse=True)
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_for_us_alone_and_then_gone(around: Path) -> None:
    with temporary_directory() as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        (directory / "file").write_text("text\n")
        assert list(around.iterdir()) == [directory]
    assert list(around.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_one(around: Path) -> None:
    child = os.fork()
    if child == 0:
        with temporary_directory() as directory:
            (directory / "file").write_text("text\n")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = around.iterdir()
    with temporary_directory():
        assert not left.exists()


@pytest.mark.parametrize("step", ["pathlib.Path.mkdir", "os.open"])
def test_one_that_another_process_took_for_left_is_made_anew(
    around: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Without its lock, which comes after both steps, a directory looks as those of killed processes do."""
    real: Callable[..., object] = Path.mkdir if step.endswith("mkdir") else os.open
    removed: list[Path] = []

    def removed_after(*arguments: object) -> object:
        done = real(*arguments)
        if not removed:
            [new] = around.iterdir()
            new.rmdir()
            removed.append(new)
        return done

    monkeypatch.setattr(step, removed_after)
    with temporary_directory() as directory:
        assert directory.is_dir()
        assert directory not in removed
    assert removed


def test_those_of_others_stay(around: Path) -> None:
    (around / "krm-merge-of-somebody").mkdir()
    (around / "target").mkdir()
    (around / "target" / "file").write_text("text\n")
    (around / ".temporary-link.krm-merge").symlink_to(around / "target")
    with temporary_directory() as first, temporary_directory() as second:
        assert first.is_dir()
        assert first != second
    assert (around / "krm-merge-of-somebody").is_dir()
    assert (around / "target" / "file").is_file()


def test_a_new_package_removes_what_was_left_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `merge -o` leaves it, which writes beside its target."""
    around = tmp_path / "packages"
    tree = {"a.yaml": File(b"a: 1\n"), "b/c.yaml": File(b"c: 1\n")}
    child = os.fork()
    if child == 0:
        monkeypatch.setattr("os.replace", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        write_tree(around / "new", tree)
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    [left] = around.iterdir()
    assert not dict(Directory(around))
    write_tree(around / "new", tree)
    assert not left.exists()
    assert [place.name for place in around.iterdir()] == ["new"]
    assert dict(Directory(around / "new")) == tree
