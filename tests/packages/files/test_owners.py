"""Who updates another user's files changes what is in them, and not whose they are."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from krm_merge.packages.files.disk import write_file
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, File, PackageError
from krm_merge.posix import keep_owner
from packages.repositories import snapshot, write

OTHERS = (12345, 12346)
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can have files of two users; the others are simulated"
)


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    places = [folder, *folder.rglob("*")]
    return {str(place.relative_to(folder)): (place.lstat().st_uid, place.lstat().st_gid) for place in places}


def given_to_others(folder: Path) -> Path:
    for place in (folder, *folder.rglob("*")):
        os.chown(place, *OTHERS, follow_symlinks=False)
    return folder


@as_root
def test_root_keeps_the_owner_of_a_package(tmp_path: Path) -> None:
    package = given_to_others(
        write(tmp_path / "p", {"a.yaml": "a: b\n", "c/d.yaml": "a: b\n", "gone/e.yaml": "a: b\n"})
    )
    (package / "a.yaml").chmod(0o2755)
    changes = {
        "a.yaml": File(b"a: c\n", "executable"),
        "new/in/f.yaml": File(b"a: b\n"),
        "new/link": File(b"f.yaml", "link"),
        "gone/e.yaml": None,
    }
    with Journal.open(package) as journal:
        journal.commit(changes, dict(Directory(package)))
    assert set(owners(package).values()) == {OTHERS}
    assert {"a.yaml", "new/in/f.yaml", "new/link"} < owners(package).keys()
    assert (package / "a.yaml").stat().st_mode & 0o7777 == 0o2755


@as_root
def test_files_of_several_owners_keep_theirs(tmp_path: Path) -> None:
    package = write(tmp_path / "p", {"a.yaml": "a: b\n", "b.yaml": "a: b\n"})
    os.chown(package / "b.yaml", *OTHERS)
    with Journal.open(package) as journal:
        journal.commit({"a.yaml": File(b"x"), "b.yaml": File(b"x"), "c.yaml": File(b"x")}, dict(Directory(package)))
    assert {name: owner[0] for name, owner in owners(package).items()} == {
        ".": 0,
        "a.yaml": 0,
        "b.yaml": OTHERS[0],
        "c.yaml": 0,
    }


@as_root
@pytest.mark.parametrize("before", [None, File(b"a: b\n")])
def test_root_keeps_the_owner_of_a_file(tmp_path: Path, before: File | None) -> None:
    place = given_to_others(write(tmp_path / "p", {"a.yaml": "a: b\n"})) / "a.yaml"
    write_file(place, File(b"a: c\n"), before)
    assert owners(tmp_path / "p") == {".": OTHERS, "a.yaml": OTHERS}
    assert place.read_bytes() == b"a: c\n"


def test_an_owner_that_cannot_be_kept_is_a_reason_to_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write(tmp_path / "p", {"a.yaml": "a: b\n"})
    before = snapshot(tmp_path)
    seen = Path.lstat

    def of_others(place: Path) -> os.stat_result:
        status = seen(place)
        if place.name != "a.yaml":
            return status
        return os.stat_result((*status[:4], *OTHERS, *status[6:]))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "lstat", of_others)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", refuse)
    with Journal.open(package) as journal, pytest.raises(PackageError) as caught:
        journal.commit({"a.yaml": File(b"x")}, dict(Directory(package)))
    why = f"{package}/a.yaml: owner 12345 and group 12346 cannot be kept (Operation not permitted)"
    assert str(caught.value) == f"{why}; run krm-merge as that user; nothing was changed"
    with pytest.raises(PackageError, match="nothing was written"):
        write_file(package / "a.yaml", File(b"x"))
    # Somebody else cannot, and replaces the file as git does.
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    keep_owner(package, package / "a.yaml")
    monkeypatch.undo()
    assert snapshot(tmp_path) == before
