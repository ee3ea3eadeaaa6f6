"""Replaces the digests of an image in one file: bytes in, bytes out; only hex characters and tags differ (rule C5)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Literal, TypeAlias

from krm_merge.components.digests.references import HEX_LENGTH, ImageIdentity, ImageReference, references
from krm_merge.components.konflux.model import is_digest
from krm_merge.krm.result import Result, Severity

__all__ = [
    "EditedFile",
    "ImageReference",
    "Replacement",
    "ReplacementPolicy",
    "is_candidate",
    "is_searched",
    "references",
    "replace_digests",
]

RULE = "C5"
_KEPT = "it is kept. Write a known one, or set digest.match to any"

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


TagPolicy: TypeAlias = Literal["keep", "drop", "replace"]


@dataclass(frozen=True, slots=True)
class ReplacementPolicy:
    """Which digests may be replaced.

    `match`: only digests that are known to be of the component, or any. `multiple`: whether a file with several digests
    of one repository is refused, or has those replaced that are known, whatever `match` says. `tag` is what happens to
    a tag before a replaced digest: it is kept, dropped where the reference is one word, or replaced by the new image's.
    """

    match: Literal["known", "any"] = "known"
    multiple: Literal["refuse", "replace"] = "refuse"
    tag: TagPolicy = "keep"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A digest that was replaced. `line` counts from 1."""

    line: int
    repository: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class EditedFile:
    """The result for a file. `problems` are digests that were kept, and warnings; with an error `data` is unchanged."""

    data: bytes
    replaced: tuple[Replacement, ...] = ()
    problems: tuple[Result, ...] = ()


def replace_digests(
    data: bytes,
    repositories: Sequence[str],
    identity: ImageIdentity,
    new: str,
    policy: ReplacementPolicy,
    path: str,
    new_tag: str = "",
) -> EditedFile:
    """Replaces the digests of all references to an image by `new`, and their tags as the policy says.

    `repositories` are the names of the image, without tag and digest. `identity` has its known digests: the promoted
    one, those of earlier builds and plans; if other components have an image of that name, it decides to which of them
    a reference belongs. `path` is how messages name the file, with the line behind it; `new_tag` is the tag of the new
    image, '' where it is unknown.
    """
    if not is_digest(new):
        return EditedFile(data, problems=(_problem("error", f"{new!r} is not a sha256 digest; {path} is not changed"),))
    occurrences = references(data, repositories)
    ours = [ref for ref in occurrences if identity.matches(ref)]
    replaced: list[ImageReference] = []
    problems = list(_unclear(occurrences, identity, path))
    for repository, group in groupby(sorted(ours, key=lambda ref: ref.repository), key=lambda ref: ref.repository):
        chosen, others = _choose(repository, list(group), identity.digests, new, policy, path)
        replaced += chosen
        problems += others
    if errors := [problem for problem in problems if problem.severity == "error"]:
        return EditedFile(data, problems=tuple(errors))
    replaced.sort(key=lambda ref: ref.hex_start)
    expected = {ref: _update_reference(ref, new, policy.tag, new_tag) for ref in replaced}
    edited = _edit(data, expected)
    after = [expected.get(ref, ref) for ref in occurrences]
    if flaw := _flaw(data, occurrences, edited, references(edited, repositories), after):
        return EditedFile(data, problems=(_problem("error", f"{flaw}; {path} is not changed"),))
    problems += _elsewhere(edited, occurrences, {*identity.digests, *(ref.digest for ref in replaced)} - {new}, path)
    return EditedFile(
        edited,
        tuple(Replacement(ref.line, ref.repository, ref.digest, new) for ref in replaced),
        tuple(problems),
    )


def _problem(severity: Severity, message: str) -> Result:
    return Result(severity, message, rule=RULE)


def _unclear(occurrences: Sequence[ImageReference], identity: ImageIdentity, path: str) -> Iterator[Result]:
    """A warning for each digest whose references cannot be attributed to one component."""
    unclear = dict[str, ImageReference]()
    for ref in occurrences:
        if identity.matches(ref) is None:
            unclear.setdefault(ref.digest, ref)
    for ref in unclear.values():
        message = (
            f"{ref.digest} of {ref.repository} in {path}:{ref.line} may belong to another Component whose image has "
            f"this name; it is kept. Write a digest or a tag that only one of them has"
        )
        yield _problem("warning", message)


def _choose(
    repository: str,
    occurrences: Sequence[ImageReference],
    known_digests: Collection[str],
    new: str,
    policy: ReplacementPolicy,
    path: str,
) -> tuple[list[ImageReference], list[Result]]:
    """The references to one repository that are replaced, and the problems of the others."""
    digests = {ref.digest for ref in occurrences}
    old = [ref for ref in occurrences if ref.digest != new]
    if not old:
        return [], []
    if len(digests) == 1 and (policy.match == "any" or digests & set(known_digests)):
        return old, []
    replaceable = [ref for ref in old if ref.digest in known_digests]
    is_any = policy.match == "any" and policy.multiple == "refuse"
    if len(digests) > 1 and not replaceable and not is_any:
        # C15: a file in which nothing is replaced stops no update.
        examples = ", ".join(sorted(ref.digest[:19] for ref in old)[:3])
        message = (
            f"{path}:{old[0].line} has {len(digests)} digests of {repository}, of which {len(digests - {new})} are "
            f"unknown ({examples}); the file is kept"
        )
        return [], [_problem("info", message)]
    if len(digests) > 1 and policy.multiple == "refuse":
        message = (
            f"{path}:{occurrences[0].line} holds {len(digests)} digests of {repository}, as a catalog of versions "
            f"does, and it is unknown which to replace; the file is not changed. Exclude it, or set "
            f"digest.multiDigestFile to replace known digests"
        )
        return [], [_problem("error", message)]
    unknown = dict[str, ImageReference]()
    for ref in old:
        if ref.digest not in known_digests:
            unknown.setdefault(ref.digest, ref)
    return replaceable, [
        _problem("warning", f"{ref.digest} of {repository} in {path}:{ref.line} is not known to be of it; {_KEPT}")
        for ref in unknown.values()
    ]


def _update_reference(reference: ImageReference, new: str, policy: TagPolicy, new_tag: str) -> ImageReference:
    """The reference after the update."""
    tag = reference.tag
    if tag and reference.tag_start:
        if policy == "replace" and new_tag:
            tag = new_tag
        elif policy == "drop" and reference.is_word:
            tag = ""
    return replace(reference, digest=new, tag=tag)


def _edit(data: bytes, expected: Mapping[ImageReference, ImageReference]) -> bytes:
    edits: dict[tuple[int, int], str] = {}
    for before, after in expected.items():
        edits[before.hex_start, before.hex_start + HEX_LENGTH] = after.digest[-HEX_LENGTH:]
        if after.tag != before.tag:
            # A dropped tag goes with its colon. One field may be the tag of several digests.
            edits[before.tag_start - (not after.tag), before.tag_start + len(before.tag)] = after.tag
    return _splice(data, edits)


def _splice(data: bytes, edits: Mapping[tuple[int, int], str]) -> bytes:
    """A text with others in the place of these spans, which do not overlap."""
    pieces: list[bytes] = []
    at = 0
    for (start, end), text in sorted(edits.items()):
        pieces += (data[at:start], text.encode())
        at = end
    return b"".join([*pieces, data[at:]])


def _flaw(
    before: bytes,
    references_before: Sequence[ImageReference],
    after: bytes,
    references_after: Sequence[ImageReference],
    expected: Sequence[ImageReference],
) -> str:
    """Why an edit is wrong, '' if it changed only the digests and tags that it had to change."""
    if list(map(_identity, references_after)) != list(map(_identity, expected)):
        return "after the edit the references are not those expected"
    if _without_images(before, references_before) != _without_images(after, references_after):
        return "the edit changed more than digests and tags"
    return ""


def _identity(reference: ImageReference) -> tuple[int, str, str, str]:
    return reference.line, reference.repository, reference.tag, reference.digest


def _without_images(data: bytes, occurrences: Sequence[ImageReference]) -> bytes:
    """The text without the hex characters and tags of these references."""
    spans = {(ref.hex_start, ref.hex_start + HEX_LENGTH) for ref in occurrences}
    spans |= {
        (ref.tag_start - ref.is_word, ref.tag_start + len(ref.tag)) for ref in occurrences if ref.tag and ref.tag_start
    }
    return _splice(data, dict.fromkeys(spans, ""))


def _elsewhere(data: bytes, occurrences: Sequence[ImageReference], stale: Collection[str], path: str) -> list[Result]:
    """Warnings for replaced digests that the file also holds outside of references to the image."""
    starts = {ref.hex_start for ref in occurrences}
    first: dict[str, int] = {}
    for match in re.finditer(rb"(?<=sha256:)[0-9a-f]{64}", data):
        digest = f"sha256:{match[0].decode()}"
        if digest in stale and match.start() not in starts and digest not in first:
            first[digest] = data.count(b"\n", 0, match.start()) + 1
    return [
        _problem("warning", f"{path}:{line} has {digest} outside of references to the image, too; it is kept there")
        for digest, line in first.items()
    ]


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
    globs = [each for each in glob.split("/") if each not in ("", ".")]
    if glob.endswith("/"):
        globs.append("**")
    if not globs:
        return False
    is_name = not any(mark in globs[-1] for mark in "*?[")
    return _parts_match(path.parts, globs, with_content=is_name)


def _parts_match(parts: Sequence[str], globs: Sequence[str], *, with_content: bool) -> bool:
    """Whether names match globs one by one; `with_content` also accepts names below what the globs match."""
    if not globs:
        return with_content or not parts
    if globs[0] == "**":
        return any(_parts_match(parts[at:], globs[1:], with_content=with_content) for at in range(len(parts) + 1))
    if not parts or not fnmatchcase(parts[0], globs[0]):
        return False
    return _parts_match(parts[1:], globs[1:], with_content=with_content)
