"""Runs the real `kpt pkg update` on a copy of a package, and asks the engine of kpt's functions for images."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath

from krm_merge.git import program as git_program
from krm_merge.git.program import GitError
from krm_merge.packages.files.disk import write_new
from krm_merge.packages.files.tree import Directory, File, PackageError, Tree, reason
from krm_merge.posix import temporary_directory
from krm_merge.safe_text import without_credentials

_INSTALL = "install it: https://kpt.dev/installation"
_NAMELESS = "package"
_BRANCH = "main"
_COPIES = re.compile(r"(?<!\S)/\S*?/kpt-get-\d+/")
"""Directories in which kpt has copies of its own; a message about a file there is about that file."""

_TITLE = re.compile(r"^Error:\s*", re.MULTILINE)
# The user's settings have no part in a commit that nobody keeps.
_COMMITTER = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "krm-merge"), ("EMAIL", "krm-merge@localhost"))
}


@dataclass(frozen=True, slots=True)
class KptUpdate:
    """The package as kpt leaves it, and why kpt refused to update it: '' where it did."""

    tree: Tree
    refusal: str = ""


def updated_by_kpt(package: Path, local: Tree, *, ref: str = "", strategy: str | None = None) -> KptUpdate:
    """Updates a copy of the package with kpt; `package` names the copy, and stays as it is.

    The copy is in a git repository of its own, and kpt's cache of upstream repositories beside it, so that
    nothing of the user's is written. Raises PackageError where kpt is missing, or no copy can be made.
    """
    try:
        with temporary_directory() as directory:
            # kpt calls the package by the name of its folder.
            copy = directory / "repository" / (package.resolve().name or _NAMELESS)
            copy.mkdir(parents=True)
            # kpt would write through them.
            links_out = {path: file for path, file in local.items() if _leads_out(path, file)}
            for path, file in local.items():
                if path not in links_out:
                    write_new(copy / path, file)
            _commit(copy.parent)
            cache = directory / "cache"
            cache.mkdir()
            refusal = _refusal(_update(copy, cache, ref, strategy), directory)
            # Read all of it: the copy is about to be removed.
            return KptUpdate(links_out | dict(Directory(copy)), refusal)
    except OSError as error:
        raise PackageError(f"{package}: no copy of it can be made for kpt: {reason(error)}") from None


def _leads_out(path: str, file: File) -> bool:
    """Whether a file is a link out of the package: kpt must not write through it."""
    target = os.fsdecode(file.data) if file.mode == "link" else ""
    return target.startswith("/") or normpath(join(dirname(path), target)).startswith("..")


def _commit(repository: Path) -> None:
    """Makes a repository with all files in one commit: kpt refuses what is not committed."""
    commands = [
        ["init", "--template=", f"--initial-branch={_BRANCH}"],
        ["add", "--all", "--force"],
        ["commit", "--allow-empty", "--message=local"],
    ]
    try:
        for command, *options in commands:
            quiet = [command, *([] if command == "add" else ["--quiet"]), *options]
            git_program.output(quiet, repository / ".git", None, _COMMITTER, work_tree=repository, alone=True)
    except GitError as error:
        raise PackageError(f"no copy of the package can be committed for kpt: {error}") from None


def _update(copy: Path, cache: Path, ref: str, strategy: str | None) -> subprocess.CompletedProcess[str]:
    # kpt takes no package outside of its working directory.
    command = ["update", f"./{copy.name}@{ref}" if ref else f"./{copy.name}"]
    try:
        return subprocess.run(
            ["kpt", "pkg", *command, *([f"--strategy={strategy}"] if strategy else [])],
            cwd=copy.parent,
            env=git_program.safe_environment() | {"KPT_CACHE_DIR": str(cache)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise PackageError(f"the program kpt is not on PATH, and the comparison needs it; {_INSTALL}") from None


def _refusal(done: subprocess.CompletedProcess[str], directory: Path) -> str:
    """Kpt's error message in one line, without the place of the copy; '' where it made the update."""
    if done.returncode == 0:
        return ""
    message = _COPIES.sub("", _TITLE.split(done.stderr)[-1].replace(f"{directory}/repository/", ""))
    return without_credentials(" ".join(message.split())) or f"exit code {done.returncode}"


def has_image(image: str) -> bool:
    """Whether the container engine that kpt would use has an image on this machine."""
    try:
        command = [os.environ.get("KRM_FN_RUNTIME") or "docker", "image", "inspect", image]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
