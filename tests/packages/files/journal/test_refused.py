"""Journals and changes that are refused: damaged, forged, or about what is outside of the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from krm_merge.errors import KrmMergeError
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, File, PackageError
from packages.files.journal.failures import beside, commit, interrupt, package, plan_of, recover, staged_of
from packages.repositories import snapshot, write


def test_edits_of_other_files_stay(tmp_path: Path) -> None:
    folder = interrupt(package(tmp_path))
    write(folder, {"kept.yaml": "edited\n", "own.yaml": "own\n"})
    assert recover(folder) == "completed"
    assert (folder / "kept.yaml").read_text() == "edited\n"
    assert (folder / "own.yaml").read_text() == "own\n"


@pytest.mark.parametrize("plan", ["", "{", "[]", "{}", '{"steps": [1]}', '{"steps": [{"path": "a"}]}', "\udcff"])
def test_a_plan_that_cannot_be_read_is_refused(tmp_path: Path, plan: str) -> None:
    folder = interrupt(package(tmp_path))
    old = snapshot(folder)
    plan_of(folder).write_bytes(b"1\n" + plan.encode(errors="surrogateescape"))
    with pytest.raises(PackageError, match=r"\.git/krm-merge/\w+\.plan: not a plan for this package; remove it"):
        recover(folder)
    assert snapshot(folder) == old


def test_only_one_process_has_the_journal(tmp_path: Path) -> None:
    folder = package(tmp_path)
    with (
        Journal.open(folder),
        pytest.raises(PackageError, match="another krm-merge is working"),
        Journal.open(folder),
    ):
        pass
    assert recover(folder) == "nothing"


def test_a_package_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="missing: No such file"), Journal.open(tmp_path / "missing"):
        pass


def test_a_plan_that_an_archive_brought_in_a_git_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can have each name and each content, but not the number that its file gets on this disk."""
    folder = interrupt(package(tmp_path / "main"))
    old = snapshot(folder)
    plan = plan_of(folder)
    text = plan.read_text().partition("\n")[2]
    monkeypatch.undo()
    for number in ("", "0\n", "1\n", f"{plan.stat().st_ino}"):
        plan.write_text(f"{number}{text}")
        with pytest.raises(KrmMergeError, match=r"\.plan was not written here by krm-merge; .*: remove it"):
            recover(folder)
        assert snapshot(folder) == old
    plan.write_text(f"{plan.stat().st_ino}\n{text}")
    assert recover(folder) == "completed"


def test_prepared_files_that_somebody_replaced_are_refused(tmp_path: Path) -> None:
    folder = interrupt(package(tmp_path / "main"))
    victim = write(tmp_path / "victim", {"0": "precious\n", "1": "precious\n"})
    staged = staged_of(folder)
    shutil.rmtree(staged)
    staged.symlink_to(victim)
    with pytest.raises(PackageError, match=f"{staged} was replaced by something else; remove it"):
        recover(folder)
    staged.unlink()
    assert recover(folder) == "rolled back"
    assert sorted(entry.name for entry in victim.iterdir()) == ["0", "1"]


@pytest.mark.parametrize(
    "path", ["../out", "a/../../out", "/out", ".git/config", "a/.GIT/hooks/x", ".sub.krm-merge/plan.json"]
)
def test_nothing_is_written_outside_of_the_package(path: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "main")
    before = snapshot(folder)
    with pytest.raises(PackageError, match="is outside the package"):
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
    with Journal.open(folder) as journal, pytest.raises(PackageError, match="was changed meanwhile"):
        journal.commit({"changed.yaml": File(b"new\n")}, read)
    assert (folder / "changed.yaml").read_text() == "edited meanwhile\n"
    assert beside(folder) == []
