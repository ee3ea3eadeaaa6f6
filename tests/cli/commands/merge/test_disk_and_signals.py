"""`krm-merge update` without permissions, on a full disk, and interrupted: the package is as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import Files, Run, assert_unchanged, check_refusal
from krm_merge.packages.files import disk
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, File
from packages.repositories import config_map, snapshot, write

# Root may write anywhere, unless it gives that up; it stays the owner of its Python.
UNPRIVILEGED = """
import ctypes, os, sys
if os.geteuid() == 0:
    PR_CAPBSET_DROP = 24
    CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "krm_merge", *sys.argv[1:]])
"""
# No file may grow beyond that: for the program it is as if the disk were full.
SMALL_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from krm_merge.__main__ import main
sys.exit(main())
"""


class TestPermissions:
    @pytest.mark.parametrize("place", ["own/pkg", "own/pkg/folder"])
    def test_a_folder_that_cannot_be_written_to_is_named(
        self, package: Path, krm_merge: Callable[..., Run], tmp_path: Path, place: str
    ) -> None:
        folder = tmp_path / place
        folder.chmod(0o555)
        before = snapshot(package)
        try:
            done = krm_merge("update", f"{package}@v2", code=UNPRIVILEGED)
            check_refusal(done, str(folder), "Permission denied", "nothing was changed")
            assert_unchanged(package, before)
        finally:
            folder.chmod(0o755)

    @pytest.mark.parametrize(
        ("path", "strategy"),
        [
            ("own.txt", "resource-merge"),
            ("own.txt", "force-delete-replace"),
            ("a.yaml", "copy-merge"),
            ("b.yaml", "force-delete-replace"),
            ("notes.txt", "fast-forward"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_named(
        self, package: Path, krm_merge: Callable[..., Run], path: str, strategy: str
    ) -> None:
        write(package, {"own.txt": "own\n"})
        before = snapshot(package)
        (package / path).chmod(0)
        done = krm_merge("update", f"{package}@v2", f"--strategy={strategy}", code=UNPRIVILEGED)
        (package / path).chmod(0o644)
        assert "Traceback" not in done.stderr
        if done.returncode == 0:
            # It need not be read when nothing becomes of it.
            assert path == "own.txt"
        else:
            check_refusal(done, f"/{path}: Permission denied")
            assert_unchanged(package, before)

    def test_a_folder_that_cannot_be_read_is_named(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        before = snapshot(package)
        (package / "folder").chmod(0)
        done = krm_merge("update", f"{package}@v2", code=UNPRIVILEGED)
        (package / "folder").chmod(0o755)
        check_refusal(done, "/pkg/folder: Permission denied")
        assert_unchanged(package, before)


class TestFullDisk:
    LARGE = "".join(f"line {number}\n" for number in range(4_000))

    def test_a_package_is_as_it_was(self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]) -> None:
        sides = three({"upstream": {"large.txt": self.LARGE}})
        before = snapshot(sides[2])
        done = krm_merge("merge", *sides, "--in-place", code=SMALL_FILES)
        check_refusal(done, "File too large", "nothing was changed")
        assert_unchanged(sides[2], before)

    def test_a_file_is_as_it_was(self, tmp_path: Path, krm_merge: Callable[..., Run]) -> None:
        files: Files = {"original": "1\n", "upstream": "1\n" + self.LARGE, "local": "0\n1\n"}
        folder = write(tmp_path / "files", files)
        before = snapshot(folder)
        done = krm_merge("merge", *(folder / name for name in files), "--in-place", code=SMALL_FILES)
        check_refusal(done, "/local: File too large; nothing was written")
        assert snapshot(folder) == before

    def test_no_half_package_is_left_in_a_new_directory(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run], tmp_path: Path
    ) -> None:
        sides = three({"upstream": {"large.txt": self.LARGE}})
        done = krm_merge("merge", *sides, "-o", tmp_path / "target", code=SMALL_FILES)
        check_refusal(done, "File too large")
        assert not (tmp_path / "target").exists()


class TestInterrupted:
    """Every command on a package first completes what was interrupted."""

    @pytest.fixture
    def half_done(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(disk, "exchange", stop)
            changes = {"new.yaml": File(config_map("new").encode()), "notes.txt": File(b"half\n")}
            with pytest.raises(KeyboardInterrupt), Journal.open(package) as journal:
                journal.commit(changes, Directory(package))
        # Half of it is done.
        assert (package / "new.yaml").exists()
        assert (package / "notes.txt").read_text() == "one\n"
        return package

    @pytest.mark.parametrize(
        "words",
        [
            ["update", "{package}@v2", "--dry-run"],
            ["update", "{package}@v2"],
            ["update", "{package}@v9"],
            ["merge", "{original}", "{upstream}", "{package}", "--in-place"],
            ["merge", "{original}", "{upstream}", "{package}", "-o", "{target}"],
            ["merge", "{original}", "{upstream}", "{package}"],
            ["config", "{package}", "--to", "v2"],
        ],
        ids=" ".join,
    )
    def test_a_command_completes_it_first(
        self,
        half_done: Path,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        tmp_path: Path,
        words: list[str],
    ) -> None:
        original, upstream, _ = three()
        names = {"package": half_done, "original": original, "upstream": upstream, "target": tmp_path / "target"}
        done = krm_merge(*(word.format(**names) for word in words))
        assert "Traceback" not in done.stderr
        assert [entry.name for entry in half_done.parent.iterdir()] == ["pkg"]

    def test_the_command_says_so(self, half_done: Path, krm_merge: Callable[..., Run]) -> None:
        done = krm_merge("update", f"{half_done}@v2")
        assert f"an interrupted update of {half_done} was completed" in done.stderr

    def test_a_file_that_was_edited_since_is_not_overwritten(
        self, half_done: Path, krm_merge: Callable[..., Run]
    ) -> None:
        write(half_done, {"notes.txt": "edited\n"})
        before = snapshot(half_done)
        done = krm_merge("update", f"{half_done}@v9")
        why = f"{half_done}/notes.txt was changed meanwhile"
        assert f"an interrupted update of {half_done} was rolled back: {why}" in done.stderr
        # Neither what was new nor what was prepared is left.
        remaining = {name: entry for name, entry in before.items() if name != "new.yaml" and ".krm-merge" not in name}
        assert_unchanged(half_done, remaining)
