"""What is compared to see whether a directory changed: its content, and before that, times and sizes of its files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from krm_merge.packages.files.tree import Tree, belongs


def digest_of(tree: Tree) -> str:
    """The digest of the files of a package."""
    digest = hashlib.sha256()
    for path in sorted(tree):
        file = tree[path]
        digest.update(f"{len(path)} {path} {file.mode} {len(file.data)} ".encode("utf-8", "surrogateescape"))
        digest.update(file.data)
    return digest.hexdigest()[:32]


def look_at(directory: Path) -> str:
    """What a look at a directory shows without reading a file; '' where there is none."""
    digest = hashlib.sha256()
    pending = [os.fspath(directory)]
    try:
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if not belongs(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    found = entry.stat(follow_symlinks=False)
                    # Of a folder its times say nothing about the files.
                    times = (found.st_size, found.st_mtime_ns) if not entry.is_dir(follow_symlinks=False) else ()
                    digest.update(repr((entry.name, found.st_ino, found.st_mode, times)).encode())
    except OSError:
        return ""
    return digest.hexdigest()[:32]
