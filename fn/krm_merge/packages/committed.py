"""Reads what git has committed in a working tree on this disk, without a copy."""

from __future__ import annotations

from pathlib import Path
from posixpath import normpath

from krm_merge.git.objects import GitObjects
from krm_merge.git.program import GitError
from krm_merge.git.working_tree import WorkingTree
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import File, Tree, belongs
from krm_merge.packages.git import MODES


class CommittedFiles:
    """The files of directories as the commit that is checked out has them."""

    def __init__(self, working_tree: Path) -> None:
        """Reads the working tree with this top directory. Raises PackageError if it is not one."""
        try:
            found = WorkingTree.around(working_tree)
        except GitError as error:
            raise PackageError(f"{working_tree}: {error}") from None
        if found is None:
            raise PackageError(f"{working_tree}: not a git repository")
        self._objects = GitObjects(found.repository)
        self._working_tree = working_tree

    def tree(self, directory: str) -> Tree:
        """The files of a directory, none where nothing of it is committed. Raises PackageError."""
        folder = normpath(f"/{directory}").lstrip("/")
        try:
            (root,) = self._objects.read([f"HEAD:{folder}"])
            if root is None or root.kind != "tree":
                return {}
            entries = [
                entry
                for entry in self._objects.files(root)
                if entry.mode in MODES and all(map(belongs, entry.path.split("/")))
            ]
            names = list(dict.fromkeys(entry.name for entry in entries))
            blobs = dict(zip(names, self._objects.read(names), strict=True))
        except GitError as error:
            raise PackageError(f"{self._working_tree}: {error}") from None
        contents = {name: blob.data for name, blob in blobs.items() if blob is not None}
        return {
            entry.path: File(contents[entry.name], MODES[entry.mode]) for entry in entries if entry.name in contents
        }
