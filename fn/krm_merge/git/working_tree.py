"""The user's own repository around a folder, found once and then named in every call of git."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from krm_merge.git import program
from krm_merge.git.program import GitError, complaint
from krm_merge.startup import frozen


@frozen
class WorkingTree:
    """The working tree of a repository."""

    top: Path
    """Its top directory, without symbolic links on the way."""
    repository: Path
    """The git directory of this working tree."""
    common: Path
    """The git directory that all working trees of the repository share."""

    @classmethod
    def around(cls, folder: Path) -> WorkingTree | None:
        """The nearest working tree that a folder is in, None for none. Raises GitError.

        Only a folder with a `.git` in it is the top of one. No package can bring such a folder along, while one with
        `HEAD`, `objects` and `refs`, which git takes for a repository as well, may be part of any package (A1).
        """
        real = folder.resolve()
        for top in (real, *real.parents):
            if not os.path.lexists(top / ".git"):
                continue
            found = program.run_in_repository_at(
                top, ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"]
            )
            if b"not a git repository" in found.stderr:
                continue
            if b"must be run in a work tree" in found.stderr:
                return None
            if found.returncode != 0:
                raise GitError(complaint(found.stderr))
            repository, common, named = (Path(os.fsdecode(line)) for line in found.stdout.splitlines())
            return cls(named.resolve(), repository, common)
        return None

    def output(self, arguments: Sequence[str], data: bytes | None = None) -> bytes:
        """The output of git, run at the top. Raises GitError."""
        return program.output(arguments, self.repository, data, work_tree=self.top)
