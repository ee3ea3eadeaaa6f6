"""Line ends in a merge: they are no part of the lines, and a file that has one kind of them keeps it (rule W5)."""

from __future__ import annotations

import re
from posixpath import basename
from typing import TypeAlias

from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.packages.files.tree import File, holds_resources, is_json
from krm_merge.schema.kustomization import FILES as KUSTOMIZATION_FILES
from krm_merge.startup import replace
from krm_merge.text.reading.stream import usual_line_end

FileVersions: TypeAlias = tuple[File | None, File | None, File | None]
"""A file in original, upstream and local."""

_ANY = re.compile(rb"(\r\n|\n|\r)")
_WITH_LF = re.compile(rb"(\r\n|\n)")


def is_yaml(path: str) -> bool:
    """Whether a file of this name is YAML or JSON."""
    return holds_resources(path) or is_json(path) or basename(path) in KUSTOMIZATION_FILES


def plain(path: str, file: File) -> File:
    """The file with LF at the end of each line; binary files and links as they are."""
    if b"\r" not in file.data or not _has_lines(file):
        return file
    return replace(file, data=_ends_of(path, file.data).sub(b"\n", file.data))


def plain_versions(path: str, versions: FileVersions) -> FileVersions:
    """The file with LF on all sides, so that line ends make no conflict."""
    if _are_content(path, versions):
        return versions
    original, upstream, local = (None if file is None else plain(path, file) for file in versions)
    return original, upstream, local


def _are_content(path: str, versions: FileVersions) -> bool:
    """Whether line ends are part of the lines, as for git: in a text in which all three sides mix them."""
    return not is_yaml(path) and all(file is not None and len(_kinds(path, file)) > 1 for file in versions)


def with_line_ends(path: str, merged: File, versions: FileVersions) -> File:
    """What plain versions were merged to, with the line ends of local, or of upstream where local left them alone."""
    if not _has_lines(merged) or _are_content(path, versions):
        return merged
    like = _like(path, versions)
    if like is None or b"\r" not in like.data:
        return merged
    if merged.data == plain(path, like).data:
        return replace(merged, data=like.data)
    if len(_kinds(path, like)) > 1:
        return replace(merged, data=_with_ends_of_lines(_ends_of(path, like.data).split(like.data), merged.data))
    return replace(merged, data=merged.data.replace(b"\n", usual_line_end(like.data)))


def _like(path: str, versions: FileVersions) -> File | None:
    """The version that has the line ends of the merged file."""
    original, upstream, local = versions
    if upstream is None or not _has_lines(upstream):
        return local
    if local is None or local == original or not _has_lines(local):
        return upstream
    before, theirs, ours = (len(_kinds(path, file)) for file in versions)
    # Upstream put in order what local has mixed as the original had it.
    return upstream if not ours or (ours > 1 and before > 1 and theirs == 1) else local


def _with_ends_of_lines(parts: list[bytes], merged: bytes) -> bytes:
    """A text in which the lines that another one has keep their line ends, and others get those of most lines.

    `parts` are the lines of the other text, each followed by its end.
    """
    ours, lines = [*parts[::2]], merged.split(b"\n")
    known = [*parts[1::2], b""]
    usual = usual_line_end(b"".join(parts))
    ends = [usual] * len(lines)
    for start, at, length in matching_blocks(ours, lines):
        ends[at : at + length] = [end or usual for end in known[start : start + length]]
    ends[-1] = b""
    return b"".join(piece for line in zip(lines, ends, strict=True) for piece in line)


def _has_lines(file: File) -> bool:
    return file.mode != "link" and b"\0" not in file.data


def _kinds(path: str, file: File | None) -> set[bytes]:
    """The line ends that a file has."""
    if file is None or not _has_lines(file):
        return set()
    if b"\r" not in file.data:
        return {b"\n"} if b"\n" in file.data else set()
    return set(_ends_of(path, file.data).findall(file.data))


def _ends_of(path: str, data: bytes) -> re.Pattern[bytes]:
    """What ends a line: CR alone does so in YAML, elsewhere only where nothing else does."""
    return _ANY if is_yaml(path) or b"\n" not in data else _WITH_LF
