"""Upstream packages from git repositories, of which only the asked commits are fetched, and committed packages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from posixpath import normpath

from krm_merge.git import program
from krm_merge.git.program import GitError, GitTimeoutError, WorkingTree, list_refs
from krm_merge.git.store import EXECUTABLE, FILE, LINK, Store, TreeEntry
from krm_merge.limits import PACKAGE_MB
from krm_merge.packages.files.disk import write_new
from krm_merge.packages.files.tree import (
    File,
    Mode,
    PackageError,
    Tree,
    UnavailableError,
    belongs,
    leads_out,
    reason,
)
from krm_merge.packages.kptfile import Upstream, newer_versions
from krm_merge.posix import file_locks, is_at, is_own, temporary_directory
from krm_merge.safe_text import quantity, quoted, without_credentials
from krm_merge.startup import frozen

MODES: dict[str, Mode] = {FILE: "file", EXECUTABLE: "executable", LINK: "link"}
"""The package's modes of tree entries, by git's mode; directories and submodules are left out."""
CACHE_VARIABLE = "KRM_MERGE_CACHE_DIR"
_REMEDY = f"set {CACHE_VARIABLE} to another directory"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Progress is a sign of life: git is stopped where it is silent for too long.
_FETCH = ("-c", "core.bigFileThreshold=16m", "fetch", "--progress", "--no-tags")
# What upstream compressed is unpacked in pieces, or refused: files in pieces, all other objects at once.
_LITTLE_MEMORY = {"GIT_ALLOC_LIMIT": "128m"}
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,63}")
_INFINITE = 2**31 - 1
"""The depth that is all of the history, also where a part of it was fetched before."""
_EVERYTHING = ("+refs/heads/*:refs/upstream/heads/*", "+refs/tags/*:refs/upstream/tags/*")


@contextmanager
def _package_errors(about: str = "", remedy: str = "") -> Iterator[None]:
    """Errors of git as those of a package; messages begin with what they are about, and end with the remedy."""
    try:
        yield
    except GitTimeoutError as error:
        raise UnavailableError(str(error)) from None
    except GitError as error:
        problem = f"{about}: {error}" if about else str(error)
        raise PackageError(f"{problem}; {remedy}" if remedy else problem) from None


_SCHEME = re.compile(r"([A-Za-z0-9+.-]+)://")


def scheme_of(address: str) -> str:
    """How git reaches an address: `file` for a path, `ssh` also for `host:path`, '' where it starts a helper."""
    if address.startswith("-") or _HELPER.match(address):
        return ""
    if scheme := _SCHEME.match(address):
        return scheme[1]
    # Source: git's url_is_local_not_ssh.
    return "ssh" if ":" in address.partition("/")[0] else "file"


def _list_refs(repository: str, names: Iterable[str]) -> dict[str, str]:
    """The commits of the refs that names and patterns mean. Raises PackageError."""
    _check_address(repository)
    remedy = "correct git.repo in the Kptfile if this is not its address"
    with _package_errors(f"{repository} cannot be reached", remedy):
        return list_refs(repository, names)[0]


def files_of(store: Store, entries: Iterable[TreeEntry]) -> Tree:
    """Files and symbolic links with their contents, by path; those whose content is missing are left out.

    Raises GitError.
    """
    files = list(entries)
    contents = store.contents(files)
    return {entry.path: File(contents[entry.name], MODES[entry.mode]) for entry in files if entry.name in contents}


class CommittedFiles:
    """The files of directories as the commit that is checked out has them."""

    def __init__(self, working_tree: Path) -> None:
        """Reads the working tree with this top directory. Raises PackageError if it is not one."""
        with _package_errors(str(working_tree)):
            tree = WorkingTree.around(working_tree)
        if tree is None:
            raise PackageError(f"{working_tree}: not a git repository")
        self._store = Store(tree.repository)
        self._working_tree = working_tree

    def tree(self, directory: str) -> Tree:
        """The files of a directory, none where nothing of it is committed. Raises PackageError."""
        folder = normpath(f"/{directory}").lstrip("/")
        with _package_errors(str(self._working_tree)):
            (root,) = self._store.look([f"HEAD:{folder}"])
            if root is None or root.kind != "tree":
                return {}
            entries = (entry for entry in self._store.files(root) if entry.mode in MODES)
            return files_of(self._store, (entry for entry in entries if all(map(belongs, entry.path.split("/")))))


@frozen
class Version:
    """A commit, and the ref by which it was found."""

    ref: str
    commit: str


class GitCache:
    """The cache in a directory."""

    def __init__(self, place: Path | None = None) -> None:
        """Takes a directory, by default the user's own one."""
        self.place = place or cache_directory()

    @contextmanager
    def open(self, name: str) -> Iterator[Path]:
        """The directory of a copy, for this process alone; it may be empty. Raises PackageError."""
        place = self._folder("git") / name
        handle = _lock(place)
        try:
            for lock in place.glob("*.lock"):
                # A git that was killed left it: under our lock no other one runs here.
                lock.unlink(missing_ok=True)
            yield place
        finally:
            os.close(handle)

    def directory_of(self, name: str) -> Path:
        """The directory of a copy of `krm-merge components`. Raises PackageError."""
        return self._folder("components") / name

    def _folder(self, name: str) -> Path:
        """A folder for copies that is private: they may be of private repositories."""
        folder = self.place / name
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            for private in (self.place, folder):
                if not private.exists():
                    private.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(exist_ok=True)
            if not is_own(folder):
                raise PackageError(f"{folder} belongs to another user, whose copies are not trusted; {_REMEDY}")
            for private in (folder, *([] if os.environ.get(CACHE_VARIABLE) else [self.place])):
                if private.stat().st_mode & 0o077:
                    private.chmod(0o700)
        except OSError as error:
            raise PackageError(f"{folder}: {reason(error)}; {_REMEDY}") from None
        return folder


class GitRepositories:
    """Repositories by address, each with a bare copy in the user's cache; asked once for each version and each tree."""

    def __init__(self, cache: Path | None = None, report: Callable[[str], None] = lambda _: None) -> None:
        """Keeps the copies in `cache`, by default in the user's cache directory; `report` gets what is done now."""
        self._cache = GitCache(cache)
        self._report = report
        self._versions: dict[tuple[str, str, str], Version] = {}
        self._trees: dict[tuple[str, str, str], Tree] = {}
        self._tags: dict[str, list[str]] = {}
        self._stores: dict[tuple[int, int], Store] = {}

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit of a ref: a tag of the package (`directory/ref`), a tag, a branch or a whole commit id, as in kpt.

        Without a ref it is the default branch. It is the commit that the ref named at the first call. Raises
        PackageError.
        """
        # Asked twice, a branch could name two commits within one command.
        key = (repository, directory, ref)
        if key not in self._versions:
            self._report(f"looking for {ref} in {repository}")
            self._versions[key] = self._resolve(*key)
        return self._versions[key]

    def _resolve(self, repository: str, directory: str, ref: str) -> Version:
        if _COMMIT.fullmatch(ref):
            return Version(ref, ref)
        folder = _folder(directory)
        names = [f"{folder}/{ref}", ref] if folder else [ref]
        refs = [form for name in names for form in _forms(name)] if ref else ["HEAD"]
        commits = _list_refs(repository, refs)
        for name in refs:
            if name in commits:
                return Version(_short(name) if ref else ref, commits[name])
        if _SHORT_COMMIT.fullmatch(ref):
            commit = self._whole_id(repository, ref)
            return Version(commit, commit)
        remedy = f"`git ls-remote {repository}` lists all"
        raise PackageError(f"{repository} has no tag or branch {quoted(ref)}; {remedy}")

    def _whole_id(self, repository: str, beginning: str) -> str:
        """The id of the only commit of a repository that begins so. Raises PackageError."""
        with self._open(repository) as store, _package_errors(f"{repository}: {beginning}"):
            # Servers know whole ids only, so branches and tags are fetched with all of their history.
            _fetch(store, f"--depth={_INFINITE}", repository, *_EVERYTHING)
            names = store.text("rev-parse", f"--disambiguate={beginning}").split()
            commits = [name for name, is_commit in zip(names, store.has_each(names), strict=True) if is_commit]
        if len(commits) != 1:
            number = "several commits whose ids begin" if commits else "no tag, branch or commit whose id begins"
            raise PackageError(
                f"{repository} has {number} with {beginning}; `git ls-remote {repository}` lists all names"
            )
        return commits[0]

    def newer(self, upstream: Upstream) -> list[str]:
        """The versions after the one that a package follows, the newest last; a repository is asked once for its tags.

        Raises PackageError.
        """
        repository = upstream.repository
        if repository not in self._tags:
            self._tags[repository] = list(map(_short, _list_refs(repository, ["refs/tags/*"])))
        return newer_versions(upstream.ref, upstream.directory, self._tags[repository])

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        """Fetches commits together; one that cannot be fetched so is fetched alone by `tree`, which says what is wrong.

        Raises PackageError where there can be no cache.
        """
        self._report(f"fetching {quantity(len(set(commits)), 'commit')} of {repository}")
        _check_address(repository)
        full_ids = list(dict.fromkeys(commit for commit in commits if _COMMIT.fullmatch(commit)))
        with self._open(repository) as store, _package_errors():
            present = zip(full_ids, store.has_each(full_ids), strict=True)
            missing = [commit for commit, is_present in present if not is_present]
            # `tree` fetches a single one as well, and says why it cannot.
            if len(missing) > 1:
                with suppress(GitError):
                    _fetch(store, "--depth=1", repository, *missing)

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit. Raises PackageError."""
        key = (repository, directory, commit)
        if key not in self._trees:
            tree = self._trees[key] = self._tree(*key)
            self._report(f"merging {quantity(len(tree), 'file')} of {directory.strip('/') or repository}")
        return self._trees[key]

    def _tree(self, repository: str, directory: str, commit: str) -> Tree:
        _check_address(repository)
        if not _COMMIT.fullmatch(commit):
            raise PackageError(f"{quoted(commit) or 'an empty string'} is not a commit")
        with self._open(repository) as store, _package_errors():
            self._fetch(store, repository, commit)
            return self._read(store, repository, directory, commit)

    def committed_at(self, repository: str, commit: str) -> str:
        """When a commit was made: seconds since 1970 and the offset from UTC. Raises PackageError."""
        _check_address(repository)
        with self._open(repository) as store, _package_errors():
            self._fetch(store, repository, commit)
            return store.text("show", "--no-patch", "--format=%cd", "--date=raw", commit)

    @contextmanager
    def _open(self, repository: str) -> Iterator[Store]:
        """The copy of a repository, for this program alone as long as it is used."""
        # An address has characters that no file name may have.
        with self._cache.open(hashlib.sha256(repository.encode()).hexdigest()[:32]) as directory:
            status = directory.stat()
            # A copy that somebody removed meanwhile is another one.
            identity = (status.st_dev, status.st_ino)
            if identity not in self._stores or not (directory / "HEAD").is_file():
                with _package_errors(f"{directory}: no cache can be made"):
                    self._stores[identity] = Store.open(directory)
            yield self._stores[identity]

    def _fetch(self, store: Store, repository: str, commit: str) -> None:
        """Fetches a commit that is not there yet. Raises PackageError."""
        if store.has(commit):
            return
        with _package_errors(f"{repository}: the commit {commit} cannot be fetched"):
            try:
                # A merge needs the files of a commit, never its history.
                _fetch(store, "--depth=1", repository, commit)
            # A server that does not answer is not asked for more.
            except GitTimeoutError:
                raise
            except GitError:
                # Not every server gives a commit by its id: then with all branches and tags, and their history.
                _fetch(store, repository, *_EVERYTHING)
        if not store.has(commit):
            raise PackageError(f"{repository} has no commit {commit}")

    def _read(self, store: Store, repository: str, directory: str, commit: str) -> Tree:
        folder = _folder(directory)
        (root,) = store.look([f"{commit}:{folder}"])
        if root is None or root.kind != "tree":
            raise PackageError(f"{repository}: there is no directory {folder or '/'} at {commit}")
        with _package_errors(f"{repository} at {commit}"):
            # Submodules are other repositories.
            files = [entry for entry in store.files(root) if entry.mode in MODES]
        for file in files:
            # A tree object can have any names, `..` and `.git` among them.
            if leads_out(file.path, is_link=file.mode == LINK):
                raise PackageError(f"{repository} has the file {file.path!r} at {commit}, which no package may have")
        self._refuse_large(store, f"{repository} at {commit}", files)
        tree = files_of(store, files)
        if len(tree) < len(files):
            raise PackageError(f"{store.directory} lacks an object of {repository}; remove that directory")
        return tree

    def _refuse_large(self, store: Store, about: str, files: list[TreeEntry]) -> None:
        """Raises PackageError before more bytes are read than a package may have (A13)."""
        names = list({file.name for file in files})
        sizes = {each.name: each.size for each in store.look(names) if each is not None}
        if sum(sizes.get(file.name, 0) for file in files) > PACKAGE_MB.value() * 10**6:
            raise PackageError(f"{about}: its files have more than {PACKAGE_MB.value():,} MB; {PACKAGE_MB.remedy}")


def cache_directory() -> Path:
    """Where copies of repositories are kept."""
    if override := os.environ.get(CACHE_VARIABLE):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "krm-merge"


def _lock(place: Path) -> int:
    """The handle that locks a directory, which is made where it is missing. Raises PackageError."""
    fcntl = file_locks()
    while True:
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(place, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PackageError(f"{place}: {reason(error)}; {_REMEDY}") from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        if is_at(handle, place):
            return handle
        # Somebody removed it before it was locked.
        os.close(handle)


def uncommitted_files(package: Path) -> list[str]:
    """The files of a package with changes that git has not committed; none where it is in no repository.

    A single file is looked at alone.
    """
    real = package.resolve() if package.is_dir() else package.parent.resolve() / package.name
    with _package_errors(f"{package}: git status"):
        tree = WorkingTree.around(real if package.is_dir() else real.parent)
        if tree is None:
            return []
        status = ["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
        listed = tree.output([*status, "--", os.path.relpath(real, tree.top)])
    return [os.fsdecode(entry[3:]) for entry in listed.split(b"\0") if entry[2:3] == b" "]


def ignored_files(package: Path, paths: Iterable[str]) -> list[str]:
    """Those of a package's files that git ignores, by their paths in it; none where it is in no repository."""
    real = package.resolve()
    with _package_errors(f"{package}: git check-ignore"):
        tree = WorkingTree.around(real)
        if tree is None:
            return []
        names = {os.fsencode(os.path.relpath(real / path, tree.top)): path for path in paths}
        listed = b"".join(name + b"\0" for name in names)
        # It fails where none is ignored.
        found = program.run(["check-ignore", "-z", "--stdin"], tree.repository, listed, work_tree=tree.top)
    return [names[name] for name in found.stdout.split(b"\0") if name in names]


def _forms(name: str) -> tuple[str, str, str]:
    """How a server lists a name: as the object of an annotated tag, a tag, a branch."""
    return f"refs/tags/{name}^{{}}", f"refs/tags/{name}", f"refs/heads/{name}"


def _check_address(repository: str) -> None:
    # What looks like an option of git would be one, and some of those start programs, as `HELPER::` does (A14).
    if not repository or repository.startswith("-") or _HELPER.match(repository) or _CONTROL.search(repository):
        address = quoted(without_credentials(repository)) or "an empty text"
        problem = "cannot be reached: it is not the address of a git repository; correct git.repo in the Kptfile"
        raise PackageError(f"{address} {problem}")


def _fetch(store: Store, *arguments: str) -> None:
    program.output([*_FETCH, *arguments], store.directory, environment=_LITTLE_MEMORY)


def _short(ref: str) -> str:
    return ref.removesuffix("^{}").removeprefix("refs/tags/").removeprefix("refs/heads/")


def _folder(directory: str) -> str:
    if _CONTROL.search(directory):
        raise PackageError(f"{quoted(directory)!r} is not a directory; correct git.directory in the Kptfile")
    folder = normpath(f"/{directory}").lstrip("/")
    return "" if folder == "." else folder


def git_difference(before: Tree, after: Tree, names: tuple[str, str] = ("a", "b")) -> bytes:
    """What git says differs between two trees, which it calls by these names. Raises PackageError."""
    with temporary_directory() as directory:
        for name, tree, other in ((names[0], before, after), (names[1], after, before)):
            (directory / name).mkdir()
            for path, file in tree.items():
                if other.get(path) != file:
                    write_new(directory / name / path, file)
        options = ["--no-index", "--no-ext-diff", "--no-textconv", "--no-prefix", "--color=never"]
        done = program.run(["--no-pager", "diff", *options, *names], directory=directory)
    if done.returncode > 1:  # 1 says that there is a difference
        raise PackageError("git diff failed; nothing was changed")
    return done.stdout
