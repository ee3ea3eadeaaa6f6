"""Upstream packages from real repositories of the git program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from e2e.hosts import GIT_ENVIRONMENT, git, wait_until
from e2e.in_process import krm_merge
from krm_merge.git import program
from krm_merge.git.program import GitError, GitTimeoutError
from krm_merge.git.store import Remote, Store
from krm_merge.packages.files.tree import File, PackageError, Tree
from krm_merge.packages.git import CACHE_VARIABLE, GitRepositories, Version, uncommitted_files
from packages.repositories import KPTFILE, Repository, Text, kptfile, write

ABSENT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's settings of git nor the user's cache."""
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "default-cache"))


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    return Repository.at(tmp_path / "upstream")


@pytest.fixture
def repositories(tmp_path: Path) -> GitRepositories:
    return GitRepositories(tmp_path / "cache")


def store(tmp_path: Path) -> Path:
    [folder] = (tmp_path / "cache" / "git").iterdir()
    return folder


def commits_in(place: Path) -> int:
    objects = git(place, "cat-file", "--batch-check=%(objecttype)", "--batch-all-objects")
    return objects.split().count("commit")


def texts(tree: Tree) -> dict[str, bytes]:
    return {path: file.data for path, file in tree.items()}


class TestResolve:
    @pytest.mark.parametrize("bare", [False, True])
    @pytest.mark.parametrize(
        ("directory", "ref", "version"),
        [
            ("/", "v1", "first"),
            ("/", "v2", "second"),
            ("/", "main", "third"),
            ("/", "topic/a", "first"),
            ("/", "", "third"),
            # The package's own tag goes before the repository's.
            ("pkg", "v1", "second"),
            ("/pkg", "v1", "second"),
            ("./pkg/", "v1", "second"),
            ("other", "v1", "first"),
            ("pkg", "annotated", "first"),
        ],
    )
    def test_finds_the_commit(
        self,
        upstream: Repository,
        repositories: GitRepositories,
        tmp_path: Path,
        directory: str,
        ref: str,
        version: str,
        bare: bool,
    ) -> None:
        commits = {"first": upstream.version("v1", {"pkg/a": "1\n", "other/a": "1\n"})}
        git(upstream.path, "branch", "topic/a")
        upstream.tag("pkg/annotated", annotated=True)
        commits["second"] = upstream.commit({"pkg/a": "2\n"})
        upstream.tag("v2", annotated=True)
        upstream.tag("pkg/v1")
        commits["third"] = upstream.version("annotated", {"pkg/a": "3\n"})
        where = upstream.bare(tmp_path / "bare.git") if bare else upstream
        resolved = repositories.resolve(str(where.path), directory, ref)
        assert resolved.commit == commits[version]

    @pytest.mark.parametrize(("ref", "name"), [("v1", "pkg/v1"), ("v2", "v2"), ("main", "main"), ("", "")])
    def test_names_the_ref_that_was_found(
        self, upstream: Repository, repositories: GitRepositories, ref: str, name: str
    ) -> None:
        commit = upstream.version("v2", {"pkg/a": "1\n"})
        upstream.tag("pkg/v1")
        assert repositories.resolve(str(upstream.path), "pkg", ref) == Version(name, commit)

    def test_a_tag_goes_before_a_branch_of_its_name(self, upstream: Repository, repositories: GitRepositories) -> None:
        first = upstream.version("both", {"a": "1\n"})
        upstream.commit({"a": "2\n"})
        git(upstream.path, "branch", "both")
        assert repositories.resolve(str(upstream.path), "/", "both").commit == first

    def test_a_commit_id_stands_for_itself(self, repositories: GitRepositories) -> None:
        assert repositories.resolve("/nowhere", "/", ABSENT) == Version(ABSENT, ABSENT)

    @pytest.mark.parametrize("ref", ["v3", "v*", "refs/heads", "-v1", "--upload-pack=touch x", "v1^", "v1 v2"])
    def test_an_unknown_ref_is_named_with_the_repository(
        self, upstream: Repository, repositories: GitRepositories, ref: str
    ) -> None:
        upstream.version("v1", {"a": "1\n"})
        with pytest.raises(PackageError) as error:
            repositories.resolve(str(upstream.path), "/", ref)
        assert f"{upstream.path} has no tag or branch {ref}; " in str(error.value)
        assert f"git ls-remote {upstream.path}" in str(error.value)

    def test_a_repository_without_commits_is_an_error(
        self, upstream: Repository, repositories: GitRepositories
    ) -> None:
        with pytest.raises(PackageError, match="upstream"):
            repositories.resolve(str(upstream.path), "/", "")

    def test_a_repository_that_does_not_exist_is_named(self, repositories: GitRepositories, tmp_path: Path) -> None:
        with pytest.raises(PackageError, match=f"{tmp_path}/none cannot be reached: .*"):
            repositories.resolve(f"{tmp_path}/none", "/", "main")


class TestTree:
    @pytest.mark.parametrize(
        ("directory", "paths"),
        [
            ("/", ["Kptfile", "pkg/Kptfile", "pkg/sub/a b.yaml"]),
            (".", ["Kptfile", "pkg/Kptfile", "pkg/sub/a b.yaml"]),
            ("", ["Kptfile", "pkg/Kptfile", "pkg/sub/a b.yaml"]),
            ("pkg", ["Kptfile", "sub/a b.yaml"]),
            ("/pkg", ["Kptfile", "sub/a b.yaml"]),
            ("pkg/", ["Kptfile", "sub/a b.yaml"]),
            ("./pkg/sub", ["a b.yaml"]),
        ],
    )
    def test_holds_the_files_of_the_directory(
        self, upstream: Repository, repositories: GitRepositories, directory: str, paths: list[str]
    ) -> None:
        commit = upstream.commit({"Kptfile": "root\n", "pkg/Kptfile": "pkg\n", "pkg/sub/a b.yaml": "a\n"})
        assert sorted(repositories.tree(str(upstream.path), directory, commit)) == paths

    @pytest.mark.parametrize("directory", ["none", "pkg/none", "pkg/Kptfile", "PKG"])
    def test_a_missing_directory_is_named_with_the_commit(
        self, upstream: Repository, repositories: GitRepositories, directory: str
    ) -> None:
        commit = upstream.commit({"pkg/Kptfile": "pkg\n"})
        with pytest.raises(PackageError, match=f"there is no directory {directory} at {commit}"):
            repositories.tree(str(upstream.path), directory, commit)

    @pytest.mark.parametrize(
        "data", [b"", b"no line end", b"\r\n\r\n", b"\0\xff\n", "\N{LATIN SMALL LETTER E WITH ACUTE}\n".encode()]
    )
    def test_holds_the_bytes_as_they_are(
        self, upstream: Repository, repositories: GitRepositories, data: bytes
    ) -> None:
        commit = upstream.commit({"a": data, "same": data, "z": "last\n"})
        files = repositories.tree(str(upstream.path), "/", commit)
        assert texts(files) == {"a": data, "same": data, "z": b"last\n"}

    def test_holds_files_of_any_name(self, upstream: Repository, repositories: GitRepositories) -> None:
        names = ["a\nb", 'quo"te', "-dash", "\N{SNOWMAN}", "tab\t", " blank "]
        commit = upstream.commit({name: name for name in names})
        files = repositories.tree(str(upstream.path), "/", commit)
        assert {path: file.data.decode() for path, file in files.items()} == {name: name for name in names}

    def test_knows_what_may_be_run_and_what_is_a_link(
        self, upstream: Repository, repositories: GitRepositories
    ) -> None:
        files = {
            "tool": File(b"#!/bin/sh\n", "executable"),
            "file": File(b"text\n"),
            "link": File(b"file", "link"),
            "dangling": File(b"../no where", "link"),
        }
        commit = upstream.commit({**files})
        assert repositories.tree(str(upstream.path), "/", commit) == files

    def test_leaves_submodules_out(self, upstream: Repository, repositories: GitRepositories, tmp_path: Path) -> None:
        upstream.commit({"pkg/a": "1\n"})
        git(upstream.path, "update-index", "--add", "--cacheinfo", f"160000,{ABSENT},pkg/module")
        git(upstream.path, "commit", "--quiet", "--message=module")
        commit = git(upstream.path, "rev-parse", "HEAD").strip()
        assert list(repositories.tree(str(upstream.path), "pkg", commit)) == ["a"]

    def test_line_ends_are_those_of_the_commit(self, upstream: Repository, repositories: GitRepositories) -> None:
        attributes = "*.txt text eol=crlf\n"
        commit = upstream.commit({".gitattributes": attributes, "a.txt": "a\nb\n"})
        files = repositories.tree(str(upstream.path), "/", commit)
        assert texts(files) == {".gitattributes": attributes.encode(), "a.txt": b"a\nb\n"}

    def test_a_commit_may_have_no_branch_or_tag(
        self, upstream: Repository, repositories: GitRepositories, tmp_path: Path
    ) -> None:
        first = upstream.commit({"a": "1\n"})
        upstream.commit({"a": "2\n"})
        upstream.commit({"a": "3\n"})
        bare = upstream.bare(tmp_path / "bare.git")
        files = repositories.tree(f"file://{bare.path}", "/", first)
        assert texts(files) == {"a": b"1\n"}

    def test_only_the_commits_that_are_asked_for_are_fetched(
        self, upstream: Repository, repositories: GitRepositories, tmp_path: Path
    ) -> None:
        commits = [upstream.commit({"a": f"{number}\n"}) for number in range(6)]
        address = f"file://{upstream.path}"
        for content, number in ((4, 1), (1, 2), (4, 2)):
            assert texts(repositories.tree(address, "/", commits[content])) == {"a": f"{content}\n".encode()}
            assert commits_in(store(tmp_path)) == number

    def test_a_server_that_gives_no_commits_by_id_gives_its_branches(
        self, upstream: Repository, repositories: GitRepositories, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Servers of the first protocol give what a branch or tag names, unless they are told otherwise.
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.version")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "0")
        first = upstream.commit({"a": "1\n"})
        upstream.commit({"a": "2\n"})
        assert texts(repositories.tree(f"file://{upstream.path}", "/", first)) == {"a": b"1\n"}

    def test_what_was_fetched_once_needs_no_repository(
        self, upstream: Repository, repositories: GitRepositories, tmp_path: Path
    ) -> None:
        commit = upstream.commit({"a": "1\n"})
        repositories.tree(str(upstream.path), "/", commit)
        shutil.rmtree(upstream.path)
        for again in (repositories, GitRepositories(tmp_path / "cache")):
            assert texts(again.tree(str(upstream.path), "/", commit)) == {"a": b"1\n"}

    def test_a_commit_that_the_repository_lost_is_an_error_with_a_remedy(
        self, upstream: Repository, repositories: GitRepositories
    ) -> None:
        upstream.commit({"a": "1\n"})
        with pytest.raises(PackageError) as error:
            repositories.tree(str(upstream.path), "/", ABSENT)
        assert f"{upstream.path} has no commit {ABSENT}" in str(error.value)

    @pytest.mark.parametrize(
        "commit", ["", "main", "v1", "--output=x", "0123abc", ABSENT.upper(), ABSENT + "0", "HEAD"]
    )
    def test_what_is_no_commit_id_is_refused(self, repositories: GitRepositories, tmp_path: Path, commit: str) -> None:
        with pytest.raises(PackageError, match="is not a commit"):
            repositories.tree(str(tmp_path), "/", commit)

    @pytest.mark.parametrize("address", ["", "--upload-pack=touch pwned", "-x"])
    def test_an_address_that_git_would_take_for_an_option_is_refused(
        self, repositories: GitRepositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(PackageError, match="is not the address of a git repository"):
            repositories.tree(address, "/", ABSENT)
        with pytest.raises(PackageError, match="is not the address of a git repository"):
            repositories.resolve(address, "/", "main")
        assert list(tmp_path.iterdir()) == []

    def test_an_address_that_starts_a_program_is_refused(self, repositories: GitRepositories, tmp_path: Path) -> None:
        with pytest.raises(PackageError, match="cannot be reached"):
            repositories.resolve(f"ext::touch {tmp_path}/pwned", "/", "main")
        assert not (tmp_path / "pwned").exists()

    def test_a_cache_that_cannot_be_made_is_an_error_with_a_remedy(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(PackageError, match=f"Not a directory; set {CACHE_VARIABLE} to another directory"):
            GitRepositories(tmp_path / "file").tree(str(tmp_path), "/", ABSENT)

    def test_a_cache_whose_making_was_killed_is_made_again(
        self, upstream: Repository, repositories: GitRepositories, tmp_path: Path
    ) -> None:
        commit = upstream.commit({"a": "1\n"})
        repositories.tree(str(upstream.path), "/", commit)
        for entry in store(tmp_path).iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        assert texts(repositories.tree(str(upstream.path), "/", commit)) == {"a": b"1\n"}


class Calls:
    """Which commands of git are run, one for each process that is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[str] = []
        run, start = program.run, program.start

        def counted_run(arguments: Sequence[str], *more: Any, **named: Any) -> subprocess.CompletedProcess[bytes]:
            self.commands.append(
                next(word for word in arguments if word in ("fetch", "init", "ls-remote", "read-tree"))
            )
            return run(arguments, *more, **named)

        def counted_start(arguments: Sequence[str], store: Path) -> subprocess.Popen[bytes]:
            self.commands.append(arguments[0])
            return start(arguments, store)

        monkeypatch.setattr(program, "run", counted_run)
        monkeypatch.setattr(program, "start", counted_start)


class TestProcesses:
    @pytest.fixture
    def commits(self, upstream: Repository) -> list[str]:
        return [upstream.commit({"pkg/a": f"{number}\n"}) for number in range(2)]

    def trees(self, repositories: GitRepositories, upstream: Repository, commits: list[str]) -> list[dict[str, bytes]]:
        repositories.fetch(f"file://{upstream.path}", commits)
        return [texts(repositories.tree(f"file://{upstream.path}", "pkg", commit)) for commit in commits]

    def test_both_commits_are_fetched_by_one_process_and_read_by_another(
        self, upstream: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: list[str]
    ) -> None:
        calls = Calls(monkeypatch)
        expected = [{"a": b"0\n"}, {"a": b"1\n"}]
        assert self.trees(GitRepositories(tmp_path / "cache"), upstream, commits) == expected
        assert calls.commands == ["init", "cat-file", "fetch"]
        calls.commands.clear()
        assert self.trees(GitRepositories(tmp_path / "cache"), upstream, commits) == expected
        assert calls.commands == ["cat-file"]

    def test_a_commit_that_cannot_be_fetched_does_not_keep_the_other_away(
        self, upstream: Repository, repositories: GitRepositories, commits: list[str]
    ) -> None:
        repositories.fetch(str(upstream.path), [ABSENT, commits[0]])
        assert texts(repositories.tree(str(upstream.path), "pkg", commits[0])) == {"a": b"0\n"}
        with pytest.raises(PackageError, match=f"has no commit {ABSENT}"):
            repositories.tree(str(upstream.path), "pkg", ABSENT)

    def test_more_objects_than_a_pipe_takes_names(self, upstream: Repository, repositories: GitRepositories) -> None:
        files: dict[str, Text | None] = {f"{number % 40}/{number}": f"{number}\n" for number in range(2000)}
        commit = upstream.commit(files)
        contents = texts(repositories.tree(str(upstream.path), "/", commit))
        assert contents == {path: str(text).encode() for path, text in files.items()}
        listed = git(upstream.path, "ls-tree", "-r", "--name-only", commit).splitlines()
        assert list(contents) == listed

    def test_a_git_that_ended_is_an_error(self, upstream: Repository, tmp_path: Path) -> None:
        objects = Store(upstream.path / "none")
        with pytest.raises(GitError, match="ended before it answered"):
            objects.read([ABSENT])

    def test_what_a_git_started_may_remove_its_locks_before_it_is_killed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def silent(*_: object) -> None:
            wait_until(lock.exists)
            raise TimeoutError

        lock = tmp_path / "lock"
        tidy = f"trap 'sleep 0.5; rm {lock}; exit' TERM; : > {lock}; while :; do sleep 0.1; done"
        write(tmp_path / "bin", {"git": File(f"#!/bin/sh\n({tidy}) &\nexec sleep 600\n".encode(), "executable")})
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        monkeypatch.setattr(program, "_exchange", silent)
        with pytest.raises(GitTimeoutError):
            program.run(["fetch"])
        assert not lock.exists()


def test_the_cache_is_where_the_environment_says(upstream: Repository, tmp_path: Path) -> None:
    GitRepositories().tree(str(upstream.path), "/", upstream.commit({"a": "1\n"}))
    assert (tmp_path / "default-cache" / "git").is_dir()


def test_the_repository_of_a_hook_around_is_not_touched(
    upstream: Repository, repositories: GitRepositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = upstream.version("v1", {"pkg/a": "1\n"})
    around = Repository.at(tmp_path / "around")
    around.commit({"b": "1\n"})
    write(around.path, {"b": "2\n"})
    before = git(around.path, "cat-file", "--batch-check", "--batch-all-objects")
    index = (around.path / ".git" / "index").read_bytes()
    package = write(tmp_path / "outside", {"a": "1\n"})
    with monkeypatch.context() as patch:
        patch.setenv("GIT_DIR", str(around.path / ".git"))
        patch.setenv("GIT_WORK_TREE", str(around.path))
        patch.setenv("GIT_INDEX_FILE", str(around.path / ".git" / "index"))
        patch.setenv("GIT_PREFIX", "pkg/")
        patch.setenv("GIT_OBJECT_DIRECTORY", str(around.path / ".git" / "objects"))
        assert repositories.resolve(str(upstream.path), "pkg", "v1").commit == commit
        assert texts(repositories.tree(str(upstream.path), "pkg", commit)) == {"a": b"1\n"}
        assert uncommitted_files(package) == []
        assert uncommitted_files(upstream.path) == []
    assert git(around.path, "cat-file", "--batch-check", "--batch-all-objects") == before
    assert (around.path / ".git" / "index").read_bytes() == index


class TestUncommitted:
    @pytest.fixture
    def package(self, upstream: Repository) -> Path:
        upstream.commit({".gitignore": "*.ignored\n", "pkg/a": "1\n", "pkg/b": "1\n", "other": "1\n"})
        return upstream.path / "pkg"

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            ({}, []),
            ({"other": "2\n", "pkg/c.ignored": "1\n"}, []),
            ({"pkg/a": "2\n"}, ["pkg/a"]),
            ({"pkg/a": None}, ["pkg/a"]),
            ({"pkg/new/c d": "1\n"}, ["pkg/new/c d"]),
            ({"pkg/\N{SNOWMAN}": "1\n", "pkg/b": "2\n"}, ["pkg/b", "pkg/\N{SNOWMAN}"]),
        ],
    )
    @pytest.mark.parametrize("staged", [False, True])
    def test_files_of_the_package_are_listed(
        self, package: Path, files: dict[str, Text | None], expected: list[str], staged: bool
    ) -> None:
        write(package.parent, files)
        if staged:
            git(package, "add", "--all", "..")
        assert uncommitted_files(package) == expected

    def test_a_rename_is_listed_by_both_names(self, package: Path) -> None:
        git(package, "mv", "a", "ab  c")
        assert uncommitted_files(package) == ["pkg/a", "pkg/ab  c"]

    def test_a_single_file_is_looked_at_alone(self, package: Path) -> None:
        write(package, {"a": "2\n", "b": "2\n"})
        assert uncommitted_files(package / "a") == ["pkg/a"]

    def test_outside_of_a_repository_there_are_none(self, tmp_path: Path) -> None:
        assert uncommitted_files(write(tmp_path / "outside", {"a": "1\n"})) == []

    def test_without_git_nothing_can_be_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        (tmp_path / ".git").mkdir()
        with pytest.raises(PackageError, match="git is not on PATH; install it"):
            uncommitted_files(tmp_path)

    def test_a_folder_that_git_takes_for_a_repository_is_none(self, tmp_path: Path) -> None:
        fake: dict[str, Text | None] = {
            "HEAD": "ref: refs/heads/main\n",
            "config": "[core]\nbare = false\nworktree = .\n",
            "a": "1\n",
        }
        user = Repository.at(tmp_path / "user")
        user.commit({f"web/{name}": text for name, text in (fake | {"objects/k": "", "refs/k": ""}).items()})
        write(user.path / "web", {"a": "2\n"})
        assert uncommitted_files(user.path / "web") == ["web/a"]


def test_two_at_once_share_the_cache(upstream: Repository, tmp_path: Path) -> None:
    commit = upstream.commit({"a": "1\n"})
    code = (
        "import sys, pathlib; from krm_merge.packages.git import GitRepositories as G; "
        "print(G(pathlib.Path(sys.argv[1])).tree(sys.argv[2], '/', sys.argv[3])['a'].data)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cache"), str(upstream.path), commit]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate() for process in started] == [(b"b'1\\n'\n", b"")] * 3


def test_a_commit_that_arrives_while_it_is_pushed_is_pushed(upstream: Repository, tmp_path: Path) -> None:
    """As the git of a killed command pushes it."""
    commit = upstream.commit({"a": "1\n"})
    bare = upstream.bare(tmp_path / "upstream.git").path
    other = f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/new {commit}\n"
    write(bare / "hooks", {"pre-receive": File(other.encode(), "executable")})
    remote = Remote(f"file://{bare}", Store.open(tmp_path / "store"))
    remote.refresh()
    remote.fetch(commit)
    remote.push(commit, "new")
    assert git(bare, "rev-parse", "new").strip() == commit
    write(bare / "hooks", {"pre-receive": File(b"#!/bin/sh\necho 'error: GH006: no' >&2\nexit 1\n", "executable")})
    with pytest.raises(GitError, match="newer cannot be pushed: pre-receive hook declined: GH006: no"):
        remote.push(commit, "newer")


class TestTimeLimit:
    """The time limit of git is for an update as a whole."""

    @pytest.fixture
    def slow(self, tmp_path: Path, upstream: Repository, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
        """Makes a package, and a git that does `pause` before some of its commands."""

        def make(pause: str) -> Path:
            real = shutil.which("git")
            first = upstream.version("v1", {"Kptfile": KPTFILE})
            upstream.version("v2", {"a.txt": "a\n"})
            script = f'#!/bin/sh\ncase "$*" in {pause};; esac\nexec {real} "$@"\n'
            write(tmp_path / "bin", {"git": File(script.encode(), "executable")})
            monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
            return write(tmp_path / "web", {"Kptfile": kptfile(upstream.path, "v1", first)})

        return make

    @pytest.mark.parametrize("pause", ["*cat-file*) exec sleep 600", "*ls-remote*) while echo x; do sleep 0.1; done"])
    def test_what_never_ends_is_stopped(self, slow: Callable[[str], Path], tmp_path: Path, pause: str) -> None:
        """A read of objects, and a command that makes progress without end."""
        done = krm_merge("update", f"{slow(pause)}@v2", cwd=tmp_path, KRM_MERGE_GIT_TIMEOUT="1")
        assert done.returncode == 3
        assert "took longer than 1 s and was stopped; set KRM_MERGE_GIT_TIMEOUT" in done.stderr

    def test_calls_count_together(self, slow: Callable[[str], Path], tmp_path: Path) -> None:
        package = slow("*ls-remote*|*fetch*) sleep 3")
        done = krm_merge("update", f"{package}@v2", "--latest", cwd=tmp_path, KRM_MERGE_GIT_TIMEOUT="5")
        assert done.returncode == 2
        done = krm_merge("update", f"{package}@v2", cwd=tmp_path, KRM_MERGE_GIT_TIMEOUT="5")
        assert done.returncode == 3
        assert "5 s and was stopped" in done.stderr

    def test_a_server_that_answers_without_end_is_stopped(self, slow: Callable[[str], Path], tmp_path: Path) -> None:
        done = krm_merge("update", f"{slow('*ls-remote*) exec yes')}@v2", cwd=tmp_path)
        assert done.returncode == 3
        assert "git ls-remote answered more than 33,554,432 bytes and was stopped" in done.stderr
