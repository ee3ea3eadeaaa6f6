"""What upstream names is bounded before it is walked: trees, names and files that are small only as a pack."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.hosts import GIT_ENVIRONMENT, SECONDS, git, installed_program
from krm_merge.packages.files.tree import PackageError, leads_out
from krm_merge.packages.git import GitRepositories
from packages.repositories import KPTFILE, Repository, kptfile, write

MEMORY = 150 * 2**20
"""The most that the command and each git that it starts may take in bytes: twice what they need for a small package."""
MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, encoding="utf-8")
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
print(done.stdout + done.stderr)
sys.exit(done.returncode)
"""

Entry = tuple[str, bytes, str]
"""Mode, name and id of an object."""
FILE, FOLDER, LINK = "100644", "40000", "120000"


class Objects:
    """A repository whose version v1 is a small package, and v2 what somebody made by hand."""

    def __init__(self, place: Path) -> None:
        self.repository = Repository.at(place)
        self.first = self.repository.version("v1", {"Kptfile": KPTFILE})

    def store(self, kind: str, data: bytes) -> str:
        command = ["git", "hash-object", "-w", "-t", kind, "--literally", "--stdin"]
        env = {**os.environ, **GIT_ENVIRONMENT}
        return subprocess.check_output(command, cwd=self.repository.path, input=data, env=env).decode().strip()

    def blob(self, data: bytes = b"x\n") -> str:
        return self.store("blob", data)

    def tree(self, *entries: Entry) -> str:
        return self.store("tree", b"".join(b"%s %s\0%s" % (m.encode(), n, bytes.fromhex(o)) for m, n, o in entries))

    def commit(self, *entries: Entry) -> str:
        """Makes v2 of a Kptfile and these entries."""
        own = (FILE, b"Kptfile", self.blob(KPTFILE.encode()))
        tree = self.tree(*sorted((own, *entries), key=lambda entry: entry[1]))
        commit = git(self.repository.path, "commit-tree", tree, "-m", "2").strip()
        git(self.repository.path, "tag", "v2", commit)
        git(self.repository.path, "repack", "-adq")
        return commit


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return Objects(tmp_path / "upstream")


def nested(objects: Objects, width: int, depth: int, *inside: Entry) -> Entry:
    """Trees that hold each other `width` times."""
    tree = objects.tree(*inside)
    for _ in range(depth):
        tree = objects.tree(*[(FOLDER, b"%02d" % at, tree) for at in range(width)])
    return (FOLDER, b"d", tree)


BOMBS: dict[str, tuple[Callable[[Objects], list[Entry]], str]] = {
    "trees": (
        lambda o: [nested(o, 10, 9, (FILE, b"f", o.blob()))],
        "more than 200,000 files and folders; raise the limit with KRM_MERGE_MAX_PATHS",
    ),
    "empty folders": (lambda o: [nested(o, 10, 9)], "more than 200,000 files and folders"),
    "long paths": (
        lambda o: [
            (FOLDER, b"a" * 250, o.tree((FOLDER, b"b" * 250, o.tree(nested(o, 60, 3, (FILE, b"c" * 200, o.blob()))))))
        ],
        "more than 200,000 files and folders",
    ),
    "many names": (
        lambda o: [(FILE, b"%07d" % at, blob) for blob in [o.blob()] for at in range(300_000)],
        "more than 200,000 files",
    ),
    "one name many times": (lambda o: [(FILE, b"a", o.blob())] * 1_000_000, "more than 200,000 files and folders"),
    "deep": (lambda o: [nested(o, 1, 200, (FILE, b"f", o.blob()))], "nested deeper than 128 levels"),
    "deep for some": (
        lambda o: [(FOLDER, b"d%d" % at, nested(o, 1, at, (FILE, b"f", o.blob()))[2]) for at in (1, 70, 139)],
        "nested deeper than 128 levels",
    ),
    "a long name": (lambda o: [(FILE, b"n" * 30_000_000, o.blob())], "has more than 255 bytes"),
    "a large file": (
        lambda o: [(FILE, b"zeros", o.blob(bytes(200_000_000)))],
        "its files have more than 100 MB; raise the limit with KRM_MERGE_MAX_PACKAGE_MB",
    ),
    "one file many times": (
        lambda o: [(FILE, b"%d" % at, blob) for blob in [o.blob(bytes(2_000_000))] for at in range(60)],
        "its files have more than 100 MB",
    ),
    "a name twice": (
        lambda o: [(FILE, b"a", o.blob()), (FILE, b"a", o.blob(b"y\n"))],
        "files or folders of the name a",
    ),
    "a file and a folder": (
        lambda o: [
            (FILE, b".gitattributes", o.blob(b"* text\n")),
            (FILE, b"a", o.blob()),
            (FOLDER, b"a", o.tree((FILE, b"f", o.blob()))),
        ],
        "has two files or folders of the name a",
    ),
    "a name with a slash": (lambda o: [(FILE, b"a/../../x", o.blob())], "is damaged"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_with_little_memory(objects: Objects, tmp_path: Path, bomb: str) -> None:
    build, message = BOMBS[bomb]
    objects.commit(*build(objects))
    package = write(tmp_path / "web", {"Kptfile": kptfile(objects.repository.path, "v1", objects.first)})
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, installed_program(), "update", f"{package}@v2"],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **GIT_ENVIRONMENT, "KRM_MERGE_CACHE_DIR": str(tmp_path / "cache")},
        timeout=SECONDS,
    )
    peak, _, said = done.stdout.partition("\n")
    assert done.returncode == 3, done
    assert message in said
    assert "Traceback" not in said
    assert int(peak) < MEMORY
    assert sorted(entry.name for entry in package.iterdir()) == ["Kptfile"]


def test_a_folder_outside_of_the_package_may_be_of_any_size(objects: Objects, tmp_path: Path) -> None:
    inside = objects.tree((FILE, b"a.txt", objects.blob()))
    bomb = nested(objects, 10, 9, (FILE, b"f", objects.blob()))
    commit = objects.commit((FOLDER, b"pkg", inside), bomb)
    tree = GitRepositories(tmp_path / "cache").tree(str(objects.repository.path), "pkg", commit)
    assert tree["a.txt"].data == b"x\n"


def test_the_limits_are_those_of_the_environment(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = objects.commit(nested(objects, 2, 2, (FILE, b"f", objects.blob())))
    address = str(objects.repository.path)
    # The Kptfile, d, 2 + 4 folders, 4 files.
    monkeypatch.setenv("KRM_MERGE_MAX_PATHS", "12")
    assert len(GitRepositories(tmp_path / "cache").tree(address, "/", commit)) == 5
    monkeypatch.setenv("KRM_MERGE_MAX_PATHS", "11")
    with pytest.raises(PackageError, match="more than 11 files and folders"):
        GitRepositories(tmp_path / "cache").tree(address, "/", commit)


NAMES = [
    *(
        b".git",
        b".GIT",
        b".g\xe2\x80\x8cit",
        b"\xef\xbb\xbf.git",
        b".gi\xe2\x81\xaft",
        b".git\xe2\x80\xae",
        b".git\xff",
    ),
    *(
        b"git~1",
        b"GIT~1",
        b"git~1.",
        b"git~1 ",
        b"git~1:x",
        b".git ",
        b".git.",
        b".git . .",
        b".git::$INDEX_ALLOCATION",
    ),
    *(
        b".git:x\ny",
        b".git..:",
        b"git~2",
        b"git~11",
        b"git~1x",
        b".gitx",
        b".git x",
        b".git.x",
        b"x.git",
        b".gi",
        b"...",
    ),
    *(b" .git", b".g it", b".git\xe2\x80\x8b", b".g\xc4\xb1t", b"\xc2\xa0.git", b".gitignore", b".gitmodules"),
    *(b".g\xffit", b".git\xef\xbf\xbf", b".git\xed\xa0\x80", b"con", b"a ", b"a.", b"~1", b"g~1"),
]
LINKS = [
    *(
        b".gitmodules",
        b".GITmodules ",
        b".gitmodules:x",
        b"gitmod~1",
        b"GITMOD~4.",
        b"gitmod~5",
        b"gi7eba~1",
        b"gi7eb~12",
    ),
    *(
        b"gi7eba~0",
        b"~1000000",
        b"~1000000.x",
        b"gi7e~123 ",
        b"gi7eba~12",
        b".git\xe2\x80\x8cmodules",
        b".gitmodules\xff",
    ),
    *(b".gitattributes", b"gi~12345", b"g~123456", b"gi7eba~1:", b"xi7eba~1", b".gitmodule"),
]


@pytest.mark.parametrize(
    ("name", "mode"), [*((name, FILE) for name in NAMES), *((name, LINK) for name in [*NAMES, *LINKS])]
)
def test_a_name_is_refused_where_git_refuses_it(objects: Objects, tmp_path: Path, name: bytes, mode: str) -> None:
    """Git with the protection of both kinds of disks, in the root and in a folder."""
    blob = objects.blob()
    for path in (name, b"folder/" + name, name + b"/file" if mode == FILE else b"a/b/" + name):
        done = subprocess.run(
            ["git", "-c", "core.protectNTFS=true", "-c", "core.protectHFS=true", "update-index", "-z", "--index-info"],
            cwd=objects.repository.path,
            input=f"{mode} {blob}\t".encode() + path + b"\0",
            env={**os.environ, **GIT_ENVIRONMENT, "GIT_INDEX_FILE": str(tmp_path / "index")},
            capture_output=True,
        )
        is_refused = done.returncode != 0 or b"Ignoring path" in done.stderr
        assert leads_out(os.fsdecode(path), is_link=mode == LINK) == is_refused, path


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, FILE) for name in (b".g\xe2\x80\x8cit", b"git~1", b".git ", b".git.", b"a\\b", b"C:x")),
        *((name, FOLDER) for name in (b".git::$INDEX_ALLOCATION", b"git~1")),
        (b".gitmodules", LINK),
    ],
)
def test_a_refused_name_is_named_with_its_path(objects: Objects, tmp_path: Path, name: bytes, mode: str) -> None:
    inside = objects.tree((FILE, b"f", objects.blob())) if mode == FOLDER else objects.blob()
    in_folder = not name.startswith(b"C:")
    entry = (mode, name, inside)
    commit = objects.commit((FOLDER, b"deep", objects.tree(entry)) if in_folder else entry)
    with pytest.raises(PackageError) as error:
        GitRepositories(tmp_path / "cache").tree(str(objects.repository.path), "/", commit)
    path = os.fsdecode((b"deep/" if in_folder else b"") + name + (b"/f" if mode == FOLDER else b""))
    assert f"has the file {path!r} at {commit}, which no package may have" in str(error.value)
