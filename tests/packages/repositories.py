"""Upstream repositories and packages made for a test, and what a package is on the disk."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from e2e.hosts import git
from krm_merge.packages.files.tree import File

Text = str | bytes | File
Snapshot = dict[str, tuple[str, bytes]]
"""Modes as `ls` prints them and contents, by path."""

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.25
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 80
"""


@dataclass(frozen=True)
class Repository:
    """A git repository; `commit` writes on top of what is checked out."""

    path: Path

    @classmethod
    def at(cls, path: Path) -> Repository:
        path.mkdir(parents=True)
        git(path, "init", "--quiet", "--initial-branch=main")
        return cls(path)

    def commit(self, files: dict[str, Text | None]) -> str:
        """Writes the files, removes those that are None, and gives the id of the commit."""
        write(self.path, files)
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--allow-empty", "--message=version")
        return git(self.path, "rev-parse", "HEAD").strip()

    def version(self, tag: str, files: dict[str, Text | None]) -> str:
        """A commit with a tag."""
        commit = self.commit(files)
        self.tag(tag)
        return commit

    def tag(self, name: str, *, annotated: bool = False) -> None:
        git(self.path, "tag", *(["--annotate", "--message=release"] if annotated else []), name)

    def bare(self, path: Path) -> Repository:
        """A bare copy."""
        git(self.path, "clone", "--quiet", "--bare", str(self.path), str(path))
        return Repository(path)


def write(folder: Path, files: dict[str, Text | None]) -> Path:
    """Writes the files into a folder: text, bytes, or a File with its mode.

    Removes those that are None, and folders that are empty then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for place in (folder / name for name, text in files.items() if text is None):
        place.unlink()
        if place.parent != folder and not any(place.parent.iterdir()):
            place.parent.rmdir()
    for name, text in files.items():
        place = folder / name
        if text is None:
            continue
        file = text if isinstance(text, File) else File(text.encode() if isinstance(text, str) else text)
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.mode == "link":
            place.symlink_to(os.fsdecode(file.data))
        else:
            place.write_bytes(file.data)
            place.chmod(0o755 if file.mode == "executable" else 0o644)
    return folder


def snapshot(folder: Path) -> Snapshot:
    """All that is below a folder, folders too: the mode as `ls` prints it, and what a file or link holds."""
    entries = {}
    for place in sorted(folder.rglob("*")):
        relative = place.relative_to(folder)
        if relative.parts[0] == ".git":
            continue
        mode = stat.filemode(place.lstat().st_mode)
        if place.is_symlink():
            entries[str(relative)] = (mode, os.fsencode(os.readlink(place)))
        else:
            entries[str(relative)] = (mode, b"" if place.is_dir() else place.read_bytes())
    return entries


def kptfile(repository: str | Path, ref: str = "v1", commit: str = "", directory: str = "/", more: str = "") -> str:
    """A Kptfile that follows `ref`; with a commit, it was fetched from there."""
    git_fields = f"    repo: {repository}\n    directory: {directory}\n    ref: {ref}\n"
    lock = f"upstreamLock:\n  type: git\n  git:\n{git_fields}    commit: {commit}\n" if commit else ""
    return (
        f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\nupstream:\n  type: git\n  git:\n{git_fields}"
        f"  updateStrategy: resource-merge\n{lock}{more}"
    )


def config_map(name: str, **data: str) -> str:
    values = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{values}"
