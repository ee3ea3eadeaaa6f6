"""The difference between a package and what becomes of it, as git prints it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from krm_merge.packages.directory import PackageError
from krm_merge.packages.tree import Changes, Tree
from krm_merge.packages.write import write_new


def show_diff(local: Tree, changes: Changes) -> None:
    """Prints the difference on stdout, in colour on a terminal."""
    with tempfile.TemporaryDirectory(prefix="krm-merge-") as directory:
        for path, file in changes.items():
            if path in local:
                write_new(Path(directory, "a", path), local[path])
            if file is not None:
                write_new(Path(directory, "b", path), file)
        for side in "ab":
            Path(directory, side).mkdir(exist_ok=True)
        color = "always" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else "never"
        options = ["--no-index", "--no-ext-diff", "--no-prefix", f"--color={color}"]
        command = ["git", "--no-pager", "diff", *options, "a", "b"]
        sys.stdout.flush()
        try:
            # 1 says that there is a difference.
            if subprocess.run(command, cwd=directory).returncode > 1:
                raise PackageError("git diff failed; nothing was changed")
        except FileNotFoundError:
            raise PackageError("the program git is not on PATH; install it to see differences") from None
