"""Bad input of `krm-merge update` and `krm-merge merge`: one clear message, and the package as it was."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.hosts import GIT_ENVIRONMENT, SECONDS, git
from krm_merge.packages.files import disk
from krm_merge.packages.files.directory import Directory
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import File
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import Repository, Snapshot, Text, config_map, kptfile, snapshot, write

Run = subprocess.CompletedProcess[str]
Files = dict[str, Text | None]

ABSENT = "0123456789abcdef" * 2 + "01234567"
OWN_KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: upstream\n"
V1: Files = {
    "Kptfile": OWN_KPTFILE,
    "a.yaml": config_map("a", color="red", size="one"),
    "b.yaml": config_map("b", x="one"),
    "folder/d.yaml": config_map("d", x="one"),
    "notes.txt": "one\n",
}
V2: Files = {
    "a.yaml": config_map("a", color="blue", size="one"),
    "b.yaml": None,
    "c.yaml": config_map("c"),
    "folder/d.yaml": config_map("d", x="two"),
    "notes.txt": "two\n",
}

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


@dataclass(frozen=True)
class Upstream:
    """A repository with a package in its root, and the commits of its tags v1 and v2."""

    path: Path
    commits: dict[str, str]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    made = Repository.at(tmp_path_factory.mktemp("upstream") / "repository")
    return Upstream(made.path, {tag: made.version(tag, files) for tag, files in (("v1", V1), ("v2", V2))})


@pytest.fixture
def package(upstream: Upstream, tmp_path: Path) -> Path:
    own = {"Kptfile": kptfile(upstream.path, "v1", upstream.commits["v1"])}
    return write(tmp_path / "own" / "pkg", {**V1, **own})


@pytest.fixture
def krm_merge(tmp_path: Path) -> Callable[..., Run]:
    def run(*arguments: str | Path, code: str = "", **environment: str) -> Run:
        start = ["-c", code] if code else ["-m", "krm_merge"]
        cache = {CACHE_VARIABLE: str(tmp_path / "cache"), "no_proxy": "*"}
        return subprocess.run(
            [sys.executable, *start, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **GIT_ENVIRONMENT, **cache, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )

    return run


def refused(done: Run, *phrases: str, code: int = 3) -> None:
    """It failed with one line on stderr, which holds the phrases."""
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr + done.stdout
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("error ")
    for phrase in phrases:
        assert phrase in line


def untouched(package: Path, before: Snapshot) -> None:
    assert snapshot(package) == before
    assert [entry.name for entry in package.parent.iterdir()] == [package.name]


def test_the_package_of_these_tests_can_be_updated(package: Path, krm_merge: Callable[..., Run]) -> None:
    done = krm_merge("update", f"{package}@v2")
    assert done.returncode == 0, done.stderr
    assert (package / "a.yaml").read_text() == config_map("a", color="blue", size="one")
    assert not (package / "b.yaml").exists()
    assert [entry.name for entry in package.parent.iterdir()] == [package.name]


class TestKptfile:
    @pytest.mark.parametrize(
        ("text", "phrases"),
        [
            ("apiVersion: [kpt.dev/v1\nkind: Kptfile\n", ["Kptfile: ", "line 2", "nothing was changed"]),
            (b"kind: Kptfile\nmetadata: {name: \xff}\n", ["Kptfile: ", "nothing was changed"]),
            (config_map("a"), ["Kptfile: no Kptfile (kpt.dev/v1)"]),
            (None, ["has no Kptfile; name the directory of a package"]),
            (OWN_KPTFILE, ["Kptfile names no upstream in git; packages that `kpt pkg get` fetched have one"]),
            (OWN_KPTFILE + "upstream:\n  type: oci\n  oci: {image: a:v1}\n", ["Kptfile names no upstream in git"]),
            (OWN_KPTFILE + "upstream:\n  type: git\n", ["Kptfile names no upstream in git"]),
            (OWN_KPTFILE + "upstream:\n  type: git\n  git: {ref: v1}\n", ["Kptfile names no upstream in git"]),
        ],
    )
    def test_without_an_upstream_it_is_refused(
        self, package: Path, krm_merge: Callable[..., Run], text: Text | None, phrases: list[str]
    ) -> None:
        write(package, {"Kptfile": text})
        before = snapshot(package)
        refused(krm_merge("update", f"{package}@v2"), *phrases)
        untouched(package, before)

    @pytest.mark.parametrize(
        ("old", "new", "phrases"),
        [
            ("commit: {v1}", f"commit: {ABSENT}", ["has no commit " + ABSENT, "upstreamLock in"]),
            ("commit: {v1}", "commit: v1", ["v1 is no commit; correct upstreamLock.git.commit"]),
            ("commit: {v1}", "commit:", ["an empty text is no commit; correct upstreamLock.git.commit"]),
            ("repo: {repo}", "repo: {tmp}/none", ["{tmp}/none cannot be reached"]),
            ("repo: {repo}", "repo: {closed}/x.git", ["{closed}/x.git cannot be reached", "onnect"]),
            (
                "repo: {repo}",
                "repo: --upload-pack=false",
                ["is no address of a git repository", "git.repo in the Kptfile"],
            ),
            ("directory: /", "directory: none", ["{repo}: there is no directory none at {v2}"]),
            ("Strategy: resource-merge", "Strategy: x", ["updateStrategy is x; known are resource-merge, fast-"]),
        ],
    )
    def test_what_its_upstream_does_not_have_is_named(
        self,
        package: Path,
        upstream: Upstream,
        krm_merge: Callable[..., Run],
        tmp_path: Path,
        old: str,
        new: str,
        phrases: list[str],
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            closed = f"http://127.0.0.1:{free.getsockname()[1]}"
            names = {"repo": str(upstream.path), "tmp": str(tmp_path), "closed": closed, **upstream.commits}
            text = (package / "Kptfile").read_text()
            assert old.format(**names) in text
            write(package, {"Kptfile": text.replace(old.format(**names), new.format(**names))})
            before = snapshot(package)
            done = krm_merge("update", f"{package}@v2")
        refused(done, *(phrase.format(**names) for phrase in phrases))
        untouched(package, before)


class TestUpdate:
    @pytest.mark.parametrize(
        ("arguments", "environment", "phrases"),
        [
            (["{package}@v9"], {}, ["has no tag or branch v9; `git ls-remote "]),
            (["{package}@" + ABSENT], {}, ["has no commit " + ABSENT]),
            (["{package}/none"], {}, ["/pkg/none: there is no such directory"]),
            (["{package}/a.yaml"], {}, ["/pkg/a.yaml: there is no such directory"]),
            (["{package}/folder"], {}, ["has no Kptfile; name the directory of a package"]),
            (["{package}@v2"], {"PATH": "/nowhere"}, ["git is not on PATH; install it"]),
            (["{package}@v2", "--diff"], {"PATH": "/nowhere"}, ["git is not on PATH; install it"]),
            (["{package}@v9", "--dry-run"], {}, ["has no tag or branch v9"]),
            (["{package}@v2"], {CACHE_VARIABLE: "/dev/null"}, [f"set {CACHE_VARIABLE} to another directory"]),
        ],
    )
    def test_what_cannot_be_done_is_refused(
        self,
        package: Path,
        krm_merge: Callable[..., Run],
        arguments: list[str],
        environment: dict[str, str],
        phrases: list[str],
    ) -> None:
        before = snapshot(package)
        words = [word.format(package=package) for word in arguments]
        refused(krm_merge("update", *words, **environment), *phrases)
        untouched(package, before)

    def test_changes_that_are_not_committed_are_refused_unless_they_are_allowed(
        self, package: Path, krm_merge: Callable[..., Run]
    ) -> None:
        git(package, "init", "--quiet")
        git(package, "add", "--all")
        git(package, "commit", "--quiet", "--message=fetched")
        write(package, {"own.yaml": config_map("own"), "a.yaml": config_map("a", color="red", size="two")})
        before = snapshot(package)
        refused(
            krm_merge("update", f"{package}@v2"),
            f"{package} has uncommitted changes: a.yaml, own.yaml; commit them first, or use --allow-dirty",
            code=1,
        )
        untouched(package, before)
        assert krm_merge("update", f"{package}@v2", "--dry-run").returncode == 0
        untouched(package, before)
        assert krm_merge("update", f"{package}@v2", "--allow-dirty").returncode == 0
        assert (package / "a.yaml").read_text() == config_map("a", color="blue", size="two")
        assert (package / "own.yaml").exists()

    def test_many_changes_are_not_all_listed(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        git(package, "init", "--quiet")
        write(package, {f"own/{number}.yaml": config_map(f"own{number}") for number in range(20)})
        refused(krm_merge("update", f"{package}@v2"), "folder/d.yaml, notes.txt and 20 more; commit them first", code=1)

    def test_another_process_at_work_is_waited_for_by_the_user(
        self, package: Path, krm_merge: Callable[..., Run]
    ) -> None:
        before = snapshot(package)
        handle = os.open(package, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            done = krm_merge("update", f"{package}@v2")
        finally:
            os.close(handle)
        refused(done, "another krm-merge is at work on it; wait for its end")
        untouched(package, before)

    def test_with_on_conflict_fail_a_conflict_changes_nothing(
        self, package: Path, krm_merge: Callable[..., Run]
    ) -> None:
        write(package, {"a.yaml": config_map("a", color="green", size="one"), "notes.txt": "own\n"})
        before = snapshot(package)
        done = krm_merge("update", f"{package}@v2", "--on-conflict=fail")
        assert done.returncode == 1
        assert done.stderr.startswith("error ")
        assert done.stderr.splitlines()[-1] == "refused; nothing was changed"
        errors = [line for line in done.stderr.splitlines() if line.startswith("error ")]
        assert len(errors) == 2
        assert "a.yaml" in errors[0]
        assert "data.color" in errors[0]
        assert "notes.txt" in errors[1]
        assert done.stdout == ""
        untouched(package, before)

    def test_fast_forward_refuses_local_changes(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        write(package, {"a.yaml": config_map("a", color="green", size="one")})
        before = snapshot(package)
        done = krm_merge("update", f"{package}@v2", "--strategy=fast-forward")
        assert done.returncode == 1
        assert done.stderr.startswith("error ")
        assert "local changes in a.yaml" in done.stderr.splitlines()[0]
        assert "--strategy resource-merge" in done.stderr.splitlines()[0]
        untouched(package, before)


@pytest.fixture
def changing(tmp_path: Path) -> Callable[[Files, Files], Path]:
    """Makes a package whose upstream goes from files with the tag v1 to others with v2."""

    def make(before: Files, after: Files) -> Path:
        made = Repository.at(tmp_path / "other upstream")
        first = made.version("v1", before)
        made.version("v2", after)
        return write(tmp_path / "own" / "pkg", {**before, "Kptfile": kptfile(made.path, "v1", first)})

    return make


class TestWhatUpstreamHolds:
    def test_a_kptfile_that_does_not_parse_leaves_locals(
        self, changing: Callable[[Files, Files], Path], krm_merge: Callable[..., Run]
    ) -> None:
        package = changing(V1, {**V2, "Kptfile": "kind: [Kptfile\n"})
        done = krm_merge("update", f"{package}@v2")
        assert done.returncode == 0, done.stderr
        assert "Kptfile: upstream does not parse" in done.stderr
        assert "kind: Kptfile" in (package / "Kptfile").read_text()
        assert "blue" in (package / "a.yaml").read_text()

    def test_the_kptfile_of_a_package_inside_that_does_not_parse_is_merged_as_text(
        self, changing: Callable[[Files, Files], Path], krm_merge: Callable[..., Run]
    ) -> None:
        broken = "kind: [Kptfile\n"
        package = changing({**V1, "sub/Kptfile": OWN_KPTFILE}, {**V2, "sub/Kptfile": broken})
        done = krm_merge("update", f"{package}@v2")
        assert done.returncode == 0, done.stderr
        assert "sub/Kptfile: upstream does not parse" in done.stderr
        assert (package / "sub/Kptfile").read_text() == broken
        assert "blue" in (package / "a.yaml").read_text()

    @pytest.mark.parametrize(
        ("before", "after", "own", "path"),
        [
            ({}, {"x": "a file\n"}, {"x/own.txt": "own\n"}, "x"),
            ({}, {"x/new.yaml": config_map("x")}, {"x": "own\n"}, "x"),
            ({}, {"x/new.yaml": config_map("x")}, {"x": File(b"folder", "link")}, "x"),
            ({"x/gone": "1\n"}, {"x/gone": None, "x": "a file\n"}, {"x/own.txt": "own\n"}, "x"),
        ],
    )
    def test_a_file_where_local_has_a_folder_is_refused_and_the_other_way_round(
        self,
        changing: Callable[[Files, Files], Path],
        krm_merge: Callable[..., Run],
        before: Files,
        after: Files,
        own: Files,
        path: str,
    ) -> None:
        package = write(changing({**V1, **before}, {**V2, **after}), own)
        now = snapshot(package)
        done = krm_merge("update", f"{package}@v2", "--quiet")
        assert "Traceback" not in done.stderr
        assert done.returncode == 1
        assert f"{path}: upstream has a file where local has a folder, or the other way round" in done.stderr
        assert "rename local's" in done.stderr
        assert done.stderr.startswith("error ")
        untouched(package, now)

    @pytest.mark.parametrize(
        ("before", "after", "strategy"),
        [
            ({"x": "a file\n"}, {"x": None, "x/new.txt": "new\n"}, "resource-merge"),
            ({"x/gone.txt": "gone\n"}, {"x/gone.txt": None, "x": "a file\n"}, "resource-merge"),
            ({"x/gone.txt": "gone\n"}, {"x/gone.txt": None, "x": "a file\n"}, "copy-merge"),
        ],
    )
    def test_a_file_that_becomes_a_folder_and_the_other_way_round_is_followed(
        self,
        changing: Callable[[Files, Files], Path],
        krm_merge: Callable[..., Run],
        before: Files,
        after: Files,
        strategy: str,
    ) -> None:
        package = changing({**V1, **before}, {**V2, **after})
        done = krm_merge("update", f"{package}@v2", f"--strategy={strategy}")
        assert done.returncode == 0, done.stderr
        [(path, text)] = [(path, text) for path, text in after.items() if path[:1] == "x" and text is not None]
        assert (package / path).read_text() == text


class TestResourcesTwice:
    TWICE = config_map("a", color="red", size="one") + "---\n" + config_map("a", color="red", size="two")

    @pytest.mark.parametrize("side", ["original", "upstream", "local"])
    def test_no_side_aborts_the_merge_or_loses_a_resource(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run], side: str
    ) -> None:
        sides = three({side: {"a.yaml": self.TWICE}})
        done = krm_merge("merge", *sides, "--in-place")
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1)
        text = (sides[2] / "a.yaml").read_text()
        if done.returncode == 1:
            assert done.stderr.startswith("error ")
        if side != "original":
            # What only one side has twice is there twice.
            assert text.count("name: a\n") == 2
            assert "size: two" in text


@pytest.fixture
def three(tmp_path: Path) -> Callable[..., list[Path]]:
    """Makes the directories of a merge; upstream has V2, the others V1, each with what is given for it."""

    def make(more: dict[str, Files] | None = None) -> list[Path]:
        sides: dict[str, Files] = {"original": V1, "upstream": {**V1, **V2}, "local": V1}
        for name, files in sides.items():
            both = {**files, **((more or {}).get(name, {}))}
            write(tmp_path / name / name, {path: text for path, text in both.items() if text is not None})
        return [tmp_path / name / name for name in sides]

    return make


def lines(first: str, last: str) -> str:
    return config_map("x", first=first, a="a", b="b", c="c", last=last)


class TestWhatDoesNotParse:
    @pytest.mark.parametrize(
        ("side", "original", "upstream", "local", "expected", "broken"),
        [
            ("original", ("BROKEN", "one"), ("two", "one"), ("BROKEN", "own"), ("two", "own"), "[one"),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), "[one"),
            ("local", ("one", "one"), ("two", "one"), ("one", "BROKEN"), ("two", "BROKEN"), "[one"),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), '"\\q"'),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), "\t@"),
        ],
    )
    def test_it_is_merged_by_lines_and_all_else_as_usual(
        self,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        side: str,
        original: tuple[str, str],
        upstream: tuple[str, str],
        local: tuple[str, str],
        expected: tuple[str, str],
        broken: str,
    ) -> None:
        texts = [lines(*pair).replace("BROKEN", broken) for pair in (original, upstream, local, expected)]
        names = ("original", "upstream", "local")
        sides = three({name: {"x.yaml": text} for name, text in zip(names, texts, strict=False)})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning ")]
        assert any(re.search(rf"x\.yaml: .*\b{side}\b.* not parse .*; merged as text", line) for line in warnings)
        assert (sides[2] / "x.yaml").read_text() == texts[3]
        assert (sides[2] / "a.yaml").read_text() == config_map("a", color="blue", size="one")
        assert (sides[2] / "c.yaml").exists()
        assert not (sides[2] / "b.yaml").exists()

    def test_what_is_not_utf_8_is_merged_by_lines(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        texts = [lines("one", "one"), lines("\xff", "one"), lines("one", "own"), lines("\xff", "own")]
        names = ("original", "upstream", "local")
        sides = three({name: {"x.yaml": text.encode("latin-1")} for name, text in zip(names, texts, strict=False)})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        assert "x.yaml: upstream does not parse (not UTF-8); merged as text" in done.stderr
        assert (sides[2] / "x.yaml").read_bytes() == texts[3].encode("latin-1")

    def test_it_is_told_where_it_does_not_parse(
        self, changing: Callable[[Files, Files], Path], krm_merge: Callable[..., Run]
    ) -> None:
        package = changing({**V1, "x.yaml": lines("one", "one")}, {**V2, "x.yaml": lines("[two", "one")})
        done = krm_merge("update", f"{package}@v2")
        assert done.returncode == 0, done.stderr
        [warning] = [line for line in done.stderr.splitlines() if line.startswith("warning ")]
        assert "x.yaml: upstream does not parse (" in warning
        assert "line " in warning
        assert (package / "x.yaml").read_text() == lines("[two", "one")
        assert (package / "a.yaml").read_text() == config_map("a", color="blue", size="one")

    def test_what_upstream_did_not_change_is_no_matter(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        same = lines("[one", "one")
        sides = three({"original": {"x.yaml": same}, "upstream": {"x.yaml": same}, "local": {"x.yaml": "'"}})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        assert (sides[2] / "x.yaml").read_text() == "'"
        assert (sides[2] / "c.yaml").exists()


class TestMerge:
    @pytest.mark.parametrize(
        ("arguments", "phrases"),
        [
            (["{o}", "{u}", "{l}/a.yaml"], ["is a file and", "give three files or three directories"]),
            (["{o}/a.yaml", "{u}", "{l}", "--in-place"], ["is a file and", "give three files or three directories"]),
            (["{o}", "-", "{l}"], ["- is a file and", "give three files or three directories"]),
            (["{o}", "{u}", "{l}/none"], ["/none: there is no such file or directory"]),
            (["{o}/none", "{u}", "{l}", "--in-place"], ["/none: there is no such file or directory"]),
            (["{o}/a.yaml", "{u}/none.yaml", "{l}/a.yaml"], ["/none.yaml: there is no such file or directory"]),
            (["{o}", "{u}", "{l}", "-o", "{o}"], ["is not empty; name a new directory, or use --in-place"]),
            (["{o}", "{u}", "{l}", "-o", "{l}"], ["is not empty; name a new directory, or use --in-place"]),
            (["{o}", "{u}", "{l}", "-o", "{o}/a.yaml"], ["a.yaml"]),
            (["{o}/a.yaml", "{u}/a.yaml", "{l}/a.yaml", "-o", "{l}/none/a.yaml"], ["/none/a.yaml: No such file"]),
            (["{o}/a.yaml", "{u}/a.yaml", "{l}/a.yaml", "-o", "{l}/folder"], ["/folder: Is a directory"]),
        ],
    )
    def test_what_cannot_be_done_is_refused(
        self,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        arguments: list[str],
        phrases: list[str],
    ) -> None:
        sides = three()
        before = [snapshot(side) for side in sides]
        names = dict(zip("oul", sides, strict=True))
        done = krm_merge("merge", *(word.format(**names) for word in arguments), "--quiet")
        refused(done, *phrases)
        assert [snapshot(side) for side in sides] == before

    def test_with_on_conflict_fail_a_conflict_changes_nothing(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        sides = three({"local": {"a.yaml": config_map("a", color="green", size="one")}})
        before = snapshot(sides[2])
        done = krm_merge("merge", *sides, "--in-place", "--on-conflict=fail")
        assert done.returncode == 1
        assert done.stderr.startswith("error ")
        assert done.stderr.splitlines()[-1] == "refused; nothing was written"
        untouched(sides[2], before)
        target = sides[0].parent / "target"
        assert krm_merge("merge", *sides, "-o", target, "--on-conflict=fail").returncode == 1
        assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["merge", "a", "b", "c", "-o", "d", "--in-place"], ["give -o or --in-place, not both"]),
        (["merge", "-", "-", "c"], ["only one file can be -"]),
        (["merge", "a", "b", "-", "--in-place"], ["only one file can be -"]),
        (["merge", "a", "b"], ["Missing argument 'LOCAL'"]),
        (["merge", "a", "b", "c", "d"], ["unexpected extra argument"]),
        (["merge", "a", "b", "c", "--on-conflict=x"], ["'x' is not one of 'upstream', 'local', 'fail'"]),
        (["update", "--nonsense"], ["--nonsense"]),
        (["update", "--strategy=nonsense"], ["'nonsense' is not one of 'resource-merge'"]),
        (["update", "a", "b"], ["unexpected extra argument"]),
        (["nonsense"], ["there is no command nonsense; known are merge, update"]),
    ],
)
def test_wrong_usage_is_told_with_exit_code_2(
    krm_merge: Callable[..., Run], tmp_path: Path, arguments: list[str], phrases: list[str]
) -> None:
    done = krm_merge(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Usage: krm-merge") or arguments == ["nonsense"]
    assert "Traceback" not in done.stderr
    for phrase in phrases:
        assert phrase in done.stderr
    assert list(tmp_path.iterdir()) == []


class TestPermissions:
    @pytest.mark.parametrize("place", ["own/pkg", "own", "own/pkg/folder"])
    def test_a_folder_that_cannot_be_written_to_is_named(
        self, package: Path, krm_merge: Callable[..., Run], tmp_path: Path, place: str
    ) -> None:
        folder = tmp_path / place
        folder.chmod(0o555)
        before = snapshot(package)
        try:
            done = krm_merge("update", f"{package}@v2", code=UNPRIVILEGED)
            refused(done, str(folder), "Permission denied", "nothing was changed")
            untouched(package, before)
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
            refused(done, f"/{path}: Permission denied")
            untouched(package, before)

    def test_a_folder_that_cannot_be_read_is_named(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        before = snapshot(package)
        (package / "folder").chmod(0)
        done = krm_merge("update", f"{package}@v2", code=UNPRIVILEGED)
        (package / "folder").chmod(0o755)
        refused(done, "/pkg/folder: Permission denied")
        untouched(package, before)


class TestFullDisk:
    LARGE = "".join(f"line {number}\n" for number in range(4_000))

    def test_a_package_is_as_it_was(self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]) -> None:
        sides = three({"upstream": {"large.txt": self.LARGE}})
        before = snapshot(sides[2])
        done = krm_merge("merge", *sides, "--in-place", code=SMALL_FILES)
        refused(done, "File too large", "nothing was changed")
        untouched(sides[2], before)

    def test_a_file_is_as_it_was(self, tmp_path: Path, krm_merge: Callable[..., Run]) -> None:
        files: Files = {"original": "1\n", "upstream": "1\n" + self.LARGE, "local": "0\n1\n"}
        folder = write(tmp_path / "files", files)
        before = snapshot(folder)
        done = krm_merge("merge", *(folder / name for name in files), "--in-place", code=SMALL_FILES)
        refused(done, "/local: File too large; nothing was written")
        assert snapshot(folder) == before

    def test_no_half_package_is_left_in_a_new_directory(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run], tmp_path: Path
    ) -> None:
        sides = three({"upstream": {"large.txt": self.LARGE}})
        done = krm_merge("merge", *sides, "-o", tmp_path / "target", code=SMALL_FILES)
        refused(done, "File too large")
        assert not (tmp_path / "target").exists()


class TestInterrupted:
    """Every command on a package first completes what was interrupted."""

    @pytest.fixture
    def interrupted(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(disk, "exchange", stop)
            changes = {"new.yaml": File(config_map("new").encode()), "notes.txt": File(b"half\n")}
            with pytest.raises(KeyboardInterrupt), Journal.opened(package) as journal:
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
        interrupted: Path,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        tmp_path: Path,
        words: list[str],
    ) -> None:
        original, upstream, _ = three()
        names = {"package": interrupted, "original": original, "upstream": upstream, "target": tmp_path / "target"}
        done = krm_merge(*(word.format(**names) for word in words))
        assert "Traceback" not in done.stderr
        assert [entry.name for entry in interrupted.parent.iterdir()] == ["pkg"]

    def test_the_command_says_so(self, interrupted: Path, krm_merge: Callable[..., Run]) -> None:
        done = krm_merge("update", f"{interrupted}@v2", "--dry-run")
        assert f"an interrupted update of {interrupted} was completed" in done.stderr

    def test_a_file_that_was_edited_since_is_not_overwritten(
        self, interrupted: Path, krm_merge: Callable[..., Run]
    ) -> None:
        write(interrupted, {"notes.txt": "edited\n"})
        before = snapshot(interrupted)
        done = krm_merge("update", f"{interrupted}@v2", "--dry-run")
        assert done.returncode == 0, done.stderr
        why = f"{interrupted}/notes.txt was changed since"
        assert f"an interrupted update of {interrupted} was rolled back: {why}" in done.stderr
        del before["new.yaml"]
        untouched(interrupted, before)
