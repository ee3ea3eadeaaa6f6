"""Upstream packages from git repositories, with the `git` program. Only the commits that are asked for are fetched."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from posixpath import join, normpath

from krm_merge import git_program
from krm_merge.git_program import GitError, GitTimeout, blobs, complaint
from krm_merge.harmless import quoted, without_credentials
from krm_merge.packages.directory import PackageError, UnavailableError, read_file, reason
from krm_merge.packages.tree import File, Mode, Tree, leads_out

CACHE_VARIABLE = "KRM_MERGE_CACHE_DIR"

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MODES: dict[bytes, Mode] = {b"100644": "file", b"100755": "executable", b"120000": "link"}
_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, slots=True)
class Version:
    """A commit, and the ref by which it was found."""

    ref: str
    commit: str


class GitRepositories:
    """Repositories by address, each with a bare copy in the user's cache."""

    def __init__(self, cache: Path | None = None) -> None:
        """Keeps the copies in `cache`, by default in the user's cache directory."""
        self._cache = cache or cache_directory()
        self._blobs: dict[str, bytes] = {}

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit of a ref: a tag of the package (`directory/ref`), a tag, a branch or a whole commit id, as in kpt.

        Without a ref it is the default branch. Raises PackageError.
        """
        if _COMMIT.fullmatch(ref):
            return Version(ref, ref)
        _check_address(repository)
        folder = _folder(directory)
        names = [f"{folder}/{ref}", ref] if folder else [ref]
        refs = [form for name in names for form in _forms(name)] if ref else ["HEAD"]
        answer = _git(["ls-remote", "--quiet", repository, *refs], about=f"{repository} cannot be reached")
        found = {name: commit for commit, _, name in (line.partition("\t") for line in answer.decode().splitlines())}
        for name in refs:
            if name in found:
                return Version(_short(name) if ref else ref, found[name])
        about = (
            "commit ids must be whole" if re.fullmatch("[0-9a-f]+", ref) else f"`git ls-remote {repository}` lists them"
        )
        raise PackageError(f"{repository} has no tag or branch {quoted(ref)}; {about}")

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit. Raises PackageError."""
        _check_address(repository)
        if not _COMMIT.fullmatch(commit):
            raise PackageError(
                f"{quoted(commit) or 'an empty text'} is no commit; correct upstreamLock.git.commit in the Kptfile"
            )
        store = self._store(repository)
        with _locked(store):
            if not (store / "HEAD").is_file():
                _git(["init", "--quiet", "--bare", str(store)], about=f"{store}: no cache can be made")
            self._fetch(store, repository, commit)
            return self._read(store, repository, directory, commit)

    def _store(self, repository: str) -> Path:
        store = self._cache / "git" / hashlib.sha256(repository.encode()).hexdigest()[:32]
        try:
            store.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PackageError(f"{store}: {reason(error)}; set {CACHE_VARIABLE} to another directory") from None
        return store

    def _fetch(self, store: Path, repository: str, commit: str) -> None:
        if _has(store, commit):
            return
        fetch = ["-c", "gc.auto=0", "fetch", "--progress", "--no-tags"]
        missing = f"{repository}: the commit {commit} cannot be fetched"
        try:
            _git([*fetch, "--depth=1", repository, commit], store, about=missing)
            return
        except UnavailableError:
            raise
        except PackageError:
            # Not every server gives a commit by its id: then with all branches and tags, and their history.
            everything = ["+refs/heads/*:refs/upstream/heads/*", "+refs/tags/*:refs/upstream/tags/*"]
            _git([*fetch, repository, *everything], store, about=missing)
        if not _has(store, commit):
            raise PackageError(f"{repository} has no commit {commit}")

    def _read(self, store: Path, repository: str, directory: str, commit: str) -> Tree:
        folder = _folder(directory)
        about = f"{repository}: there is no directory {folder or '/'} at {commit}"
        listing = _git(["ls-tree", "-r", "-z", "--full-tree", f"{commit}:{folder}"], store, about=about)
        found: dict[str, tuple[Mode, str]] = {}
        for line in listing.split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path and (mode := _MODES.get(head[:6])) is not None:  # a submodule is no file
                name = os.fsdecode(path)
                if leads_out(name):
                    raise PackageError(f"{repository} has the file {name!r} at {commit}, which no package may have")
                found[name] = (mode, head.split()[2].decode())
        wanted = {name: path for path, (_, name) in found.items() if name not in self._blobs}
        if _has_attributes(store, commit, folder, found):
            return self._converted(store, commit, folder, found)
        names = "".join(f"{name}\n" for name in wanted).encode()
        self._blobs |= zip(wanted, blobs(_git(["cat-file", "--batch"], store, names)), strict=True)
        return {path: File(self._blobs[name], mode) for path, (mode, name) in found.items()}

    def _converted(self, store: Path, commit: str, folder: str, found: dict[str, tuple[Mode, str]]) -> Tree:
        """The files as a checkout writes them, by .gitattributes."""
        with tempfile.TemporaryDirectory(prefix="krm-merge-") as directory:
            tree = Path(directory, "tree")
            tree.mkdir()
            checkout = {"GIT_INDEX_FILE": f"{directory}/index", "GIT_DIR": str(store), "GIT_WORK_TREE": str(tree)}
            _git(["read-tree", commit], environment=checkout)
            names = b"".join(os.fsencode(join(folder, path)) + b"\0" for path in found)
            _git(["checkout-index", "--quiet", "-z", "--stdin"], None, names, environment=checkout)
            return {path: read_file(tree / folder / path, mode) for path, (mode, _) in found.items()}


def uncommitted(package: Path) -> list[str]:
    """The files of a package with changes that git has not committed; none where it is in no repository."""
    status = ["-C", str(package), "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", "."]
    try:
        done = git_program.run(status)
    except GitError as error:
        raise PackageError(str(error)) from None
    if b"not a git repository" in done.stderr or b"must be run in a work tree" in done.stderr:
        return []
    if done.returncode != 0:
        raise PackageError(f"{package}: git status: {complaint(done.stderr)}")
    return [os.fsdecode(entry[3:]) for entry in done.stdout.split(b"\0") if entry[2:3] == b" "]


def _forms(name: str) -> tuple[str, str, str]:
    """How a server lists a name: what an annotated tag stands for, a tag, a branch."""
    return f"refs/tags/{name}^{{}}", f"refs/tags/{name}", f"refs/heads/{name}"


def _check_address(repository: str) -> None:
    # What looks like an option of git would be one, and some of those start programs.
    if not repository or repository.startswith("-") or _CONTROL.search(repository):
        raise PackageError(
            f"{quoted(without_credentials(repository)) or 'an empty text'} is no address of a git repository; "
            "correct git.repo in the Kptfile"
        )


def _short(ref: str) -> str:
    return ref.removesuffix("^{}").removeprefix("refs/tags/").removeprefix("refs/heads/")


def _folder(directory: str) -> str:
    if _CONTROL.search(directory):
        raise PackageError(f"{quoted(directory)!r} is no directory; correct git.directory in the Kptfile")
    folder = normpath(f"/{directory}").lstrip("/")
    return "" if folder == "." else folder


def _has(store: Path, commit: str) -> bool:
    return git_program.run(["cat-file", "-e", f"{commit}^{{commit}}"], store).returncode == 0


def _has_attributes(store: Path, commit: str, folder: str, found: dict[str, tuple[Mode, str]]) -> bool:
    if any(path.rpartition("/")[2] == _ATTRIBUTES for path in found):
        return True
    parents = folder.split("/")
    above = ["/".join([*parents[:depth], _ATTRIBUTES]) for depth in range(len(parents))] if folder else []
    return bool(above) and bool(_git(["ls-tree", "--full-tree", commit, "--", *above], store))


@contextmanager
def _locked(store: Path) -> Iterator[None]:
    """Two updates at once share the cache."""
    handle = os.open(store, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for lock in store.glob("*.lock"):
            # A git that was killed left it: under our lock no other one runs here.
            lock.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)


def _git(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    *,
    about: str = "",
    environment: dict[str, str] | None = None,
) -> bytes:
    try:
        return git_program.output(arguments, store, data, environment)
    except GitTimeout as error:
        raise UnavailableError(str(error)) from None
    except GitError as error:
        raise PackageError(f"{about or 'git ' + arguments[0]}: {error}") from None


def cache_directory() -> Path:
    """Where copies of repositories are kept."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "krm-merge"
