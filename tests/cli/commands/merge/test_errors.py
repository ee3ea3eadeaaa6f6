"""Bad input of `krm-merge update`: one clear message, and the package as it was."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import OWN_KPTFILE, V1, V2, Files, Run, Upstream, assert_unchanged, check_refusal
from e2e.hosts import git
from krm_merge.packages.files.tree import File
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import Text, config_map, snapshot, write

ABSENT = "0123456789abcdef" * 2 + "01234567"


class TestKptfile:
    @pytest.mark.parametrize(
        ("text", "phrases"),
        [
            ("apiVersion: [kpt.dev/v1\nkind: Kptfile\n", ["Kptfile: ", "line 2", "nothing was changed"]),
            (b"kind: Kptfile\nmetadata: {name: \xff}\n", ["Kptfile: ", "nothing was changed"]),
            (config_map("a"), ["Kptfile is no Kptfile: set its kind to Kptfile, "]),
            (None, ["has no Kptfile; name the directory of a package"]),
            (OWN_KPTFILE, ["Kptfile has no upstream in git; packages that `kpt pkg get` fetched have one"]),
            (OWN_KPTFILE + "upstream:\n  type: oci\n  oci: {image: a:v1}\n", ["Kptfile has no upstream in git"]),
            (OWN_KPTFILE + "upstream:\n  type: git\n", ["Kptfile has no upstream in git"]),
            (OWN_KPTFILE + "upstream:\n  type: git\n  git: {ref: v1}\n", ["Kptfile has no upstream in git"]),
        ],
    )
    def test_without_an_upstream_it_is_refused(
        self, package: Path, krm_merge: Callable[..., Run], text: Text | None, phrases: list[str]
    ) -> None:
        write(package, {"Kptfile": text})
        before = snapshot(package)
        check_refusal(krm_merge("update", f"{package}@v2"), *phrases)
        assert_unchanged(package, before)

    @pytest.mark.parametrize(
        ("old", "new", "phrases"),
        [
            ("commit: {v1}", f"commit: {ABSENT}", ["has no commit " + ABSENT, "upstreamLock in"]),
            ("commit: {v1}", "commit: v1", ["v1 is not a commit; upstreamLock in "]),
            ("commit: {v1}", "commit:", ["an empty string is not a commit; upstreamLock in "]),
            ("repo: {repo}", "repo: {tmp}/none", ["{tmp}/none cannot be reached", "correct git.repo in the Kptfile"]),
            ("repo: {repo}", "repo: {closed}/x.git", ["{closed}/x.git cannot be reached", "onnect"]),
            (
                "repo: {repo}",
                "repo: --upload-pack=false",
                ["is not the address of a git repository", "git.repo in the Kptfile"],
            ),
            ("directory: /", "directory: none", ["{repo}: there is no directory none at {v2}"]),
            ("Strategy: resource-merge", "Strategy: x", ["updateStrategy is x; choose from resource-merge, fast-"]),
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
        check_refusal(done, *(phrase.format(**names) for phrase in phrases))
        assert_unchanged(package, before)


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
        check_refusal(krm_merge("update", *words, **environment), *phrases)
        assert_unchanged(package, before)

    def test_changes_that_are_not_committed_are_refused_unless_they_are_allowed(
        self, package: Path, krm_merge: Callable[..., Run]
    ) -> None:
        git(package, "init", "--quiet")
        git(package, "add", "--all")
        git(package, "commit", "--quiet", "--message=fetched")
        write(package, {"own.yaml": config_map("own"), "a.yaml": config_map("a", color="red", size="two")})
        before = snapshot(package)
        check_refusal(
            krm_merge("update", f"{package}@v2"),
            f"{package} has uncommitted changes: a.yaml, own.yaml; commit them first, or use --allow-dirty",
            code=1,
        )
        assert_unchanged(package, before)
        assert krm_merge("update", f"{package}@v2", "--dry-run").returncode == 0
        assert_unchanged(package, before)
        assert krm_merge("update", f"{package}@v2", "--allow-dirty").returncode == 0
        assert (package / "a.yaml").read_text() == config_map("a", color="blue", size="two")
        assert (package / "own.yaml").exists()

    def test_many_changes_are_not_all_listed(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        git(package, "init", "--quiet")
        write(package, {f"own/{number}.yaml": config_map(f"own{number}") for number in range(20)})
        check_refusal(
            krm_merge("update", f"{package}@v2"), "folder/d.yaml, notes.txt and 20 more; commit them first", code=1
        )

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
        check_refusal(done, "another krm-merge is working on it; wait until it ends")
        assert_unchanged(package, before)

    def test_fast_forward_refuses_local_changes(self, package: Path, krm_merge: Callable[..., Run]) -> None:
        write(package, {"a.yaml": config_map("a", color="green", size="one")})
        before = snapshot(package)
        done = krm_merge("update", f"{package}@v2", "--strategy=fast-forward")
        assert done.returncode == 1
        assert done.stderr.startswith("error ")
        assert "local changes in a.yaml" in done.stderr.splitlines()[0]
        assert "--strategy resource-merge" in done.stderr.splitlines()[0]
        assert_unchanged(package, before)


class TestWhatUpstreamHolds:
    @pytest.mark.parametrize(("path", "is_text"), [("Kptfile", False), ("sub/Kptfile", True)])
    def test_a_kptfile_that_does_not_parse_is_that_of_local_or_merged_as_text(
        self, changing: Callable[[Files, Files], Path], krm_merge: Callable[..., Run], path: str, is_text: bool
    ) -> None:
        broken = "kind: [Kptfile\n"
        package = changing({**V1, path: OWN_KPTFILE}, {**V2, path: broken})
        done = krm_merge("update", f"{package}@v2")
        assert done.returncode == 0, done.stderr
        assert f"{path}: upstream does not parse" in done.stderr
        assert ((package / path).read_text() == broken) == is_text
        assert "blue" in (package / "a.yaml").read_text()

    @pytest.mark.parametrize(
        ("before", "after", "local", "path"),
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
        local: Files,
        path: str,
    ) -> None:
        package = write(changing({**V1, **before}, {**V2, **after}), local)
        now = snapshot(package)
        done = krm_merge("update", f"{package}@v2", "--quiet")
        assert "Traceback" not in done.stderr
        assert done.returncode == 1
        assert f"{path}: upstream has a file where local has a folder, or the other way round" in done.stderr
        assert "rename local's" in done.stderr
        assert done.stderr.startswith("error ")
        assert_unchanged(package, now)

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


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["merge", "a", "b", "c", "-o", "d", "--in-place"], ["give -o or --in-place, not both"]),
        (["merge", "-", "-", "c"], ["only one file can be -"]),
        (["merge", "a", "b", "-", "--in-place"], ["only one file can be -"]),
        (["merge", "a"], ["give ORIGINAL UPSTREAM LOCAL"]),
        (["merge", "a", "b", "c", "d"], ["give ORIGINAL UPSTREAM LOCAL"]),
        (["merge", "a", "b", "c", "--on-conflict=x"], ["'x' is not one of 'upstream', 'local', 'fail'"]),
        (["update", "--nonsense"], ["--nonsense"]),
        (["update", "--strategy=nonsense"], ["'nonsense' is not one of 'resource-merge'"]),
        (["update", "a", "b"], ["there is no directory b", "a version is given as PKG@REF: a@b"]),
        (["compare", "a", "b"], ["unexpected extra argument (b)"]),
        (["nonsense"], ["No such command 'nonsense'"]),
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
