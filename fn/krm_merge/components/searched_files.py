"""The files that are searched for digests: usual names, or globs (C17)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

MAX_SIZE = 5 * 1024 * 1024
"""Larger files are generated or data."""

DEFAULT_FILES = (
    "*Dockerfile*",
    "*.dockerfile",
    "dockerfile",
    "*Containerfile*",
    "*.containerfile",
    "containerfile",
    "*.yaml",
    "*.yml",
    "*.json",
    "*.sh",
    "*.env",
    "*.conf",
    "*.txt",
    "*.mk",
    "*.tf",
    "[Mm]akefile",
    "GNUmakefile",
)
"""The names of files that are searched, in any directory of the context (C17).

Source: the default of build-service's build-nudge-files; Renovate's managers of container images, and its preset for
Makefiles; lists of images in texts.
"""

FOREIGN = frozenset({".git", "vendor", "node_modules"})
"""Directories with third-party content."""

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def is_candidate(path: str, data: bytes) -> bool:
    """Whether people of the repository write the file as text: not too large, not third-party, not binary."""
    if _is_foreign(PurePosixPath(path)):
        return False
    return len(data) <= MAX_SIZE and not data.startswith(_LFS_POINTER) and b"\0" not in data


def is_searched(path: str, context: str, files: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a file is searched for digests.

    `path` is relative to the root of the repository, `context` the directory of the component there. `files` are
    globs that replace the default, the usual names inside the context; `exclude` are globs of skipped files. Both
    match whole paths from the root: `*` matches within a name, `**` any directories. A glob that ends in a name
    without wildcards, or in `/`, matches a directory too, with all files in it.
    """
    file = PurePosixPath(path)
    if _is_foreign(file) or any(_matches(file, glob) for glob in exclude):
        return False
    if files:
        return any(_matches(file, glob) for glob in files)
    inside = file.is_relative_to(normpath(f"./{context}"))
    return inside and any(fnmatchcase(file.name, glob) for glob in DEFAULT_FILES)


def _is_foreign(path: PurePosixPath) -> bool:
    return not FOREIGN.isdisjoint(path.parts)


def _matches(path: PurePosixPath, glob: str) -> bool:
    # What is left to match may be nothing, or any directories.
    return any(set(rest) <= {CONTENT} for rest in rests_of(glob, path.parts))


WILDCARDS: Final = re.compile(r"[*?\[]")
CONTENT: Final = "**"


def rests_of(glob: str, parts: Iterable[str]) -> set[tuple[str, ...]]:
    """What is left of a glob, name by name, inside of a directory that its first names match; empty for none."""
    names = [name for name in glob.split("/") if name not in ("", ".")]
    if glob.endswith("/"):
        names.append(CONTENT)
    rests = {tuple(names)} if names else set()
    for part in parts:
        rests = {inside for rest in rests for inside in _rests_in(rest, part)}
    return rests


def _rests_in(names: Sequence[str], part: str) -> Iterator[tuple[str, ...]]:
    if not names:
        return
    first, *rest = names
    if first == CONTENT:
        yield (first, *rest)
        yield from _rests_in(rest, part)
    elif fnmatchcase(part, first):
        # A name without wildcards is that of a directory, too, with all that is in it.
        yield tuple(rest) if rest or WILDCARDS.search(first) else (CONTENT,)
