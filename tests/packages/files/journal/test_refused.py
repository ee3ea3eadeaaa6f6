"""Journals and changes that are refused: damaged, forged, or about what is outside of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, File, PackageError
from packages.files.journal.failures import beside, commit, interrupt, package, recover
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
    place = tmp_path / ".pkg.krm-merge"
    (place / "plan.json").write_bytes(plan.encode(errors="surrogateescape"))
    with pytest.raises(PackageError, match=r"not a plan for this package; remove .*/\.pkg\.krm-merge"):
        recover(folder)
    assert snapshot(folder) == old


def test_only_one_process_has_the_journal(tmp_path: Path) -> None:
    folder = package(tmp_path)
    with (
        Journal.open(folder),
        pytest.raises(PackageError, match="another krm-merge is at work"),
        Journal.open(folder),
    ):
        pass
    assert recover(folder) == "nothing"


def test_a_package_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="missing: No such file"), Journal.open(tmp_path / "missing"):
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
    with Journal.open(folder) as journal, pytest.raises(PackageError, match="was changed meanwhile"):
        journal.commit({"changed.yaml": File(b"new\n")}, read)
    assert (folder / "changed.yaml").read_text() == "edited meanwhile\n"
    assert beside(folder) == []
