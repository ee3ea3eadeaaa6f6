"""Finds the references to an image that carry a digest, in any text and in the fields of YAML that hold one in pieces.

In a text the reference is matched whole, as one word. In YAML, JSON included, the digest may stand in a field of its
own: `images` of a kustomization, and `registry`, `repository`, `tag` and `digest` of Helm values.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.components.konflux.images import DIGEST_PATTERN, image_name, spellings
from krm_merge.text import nodes
from krm_merge.text.reader import BOM, read_all
from krm_merge.text.values import key_text


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an image with a digest.

    `start` and `end` are the byte offsets of the whole reference with its transport (`docker://`), or of the digest
    where that has a field of its own; `digest_start` is where the digest begins. `repository` is the image's name as it
    was asked for, which may be another spelling; `tag` is '' for none. `line` counts from 1.
    """

    start: int
    end: int
    digest_start: int
    repository: str
    tag: str
    digest: str
    line: int


DIGEST_LENGTH = len("sha256:") + 64

_TAG = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"

_WORD = rb"A-Za-z0-9._/@:})$%+~\\-"
"""What in front of a name makes it a part of another: of a longer name, or behind a variable that is a registry."""
_BEHIND_DEFAULT = rb"(?<=:-)"
"""`${IMAGE:-name@digest}`, of shells and of Dockerfiles: no name goes on with these characters."""

_DETACHED = re.compile(rf"(?:(?P<tag>{_TAG})@)?(?P<digest>{DIGEST_PATTERN})")
_HAS_DETACHED = re.compile(rf"(?:digest|tag)[\"']?\s*:\s*[\"']?(?:{_TAG}@)?sha256:".encode())
"""Whether it is worth the while to read a file as YAML."""


def references(data: bytes, repositories: Sequence[str]) -> list[Reference]:
    """Every reference to one of these image repositories that carries a digest, in the order of their digests.

    `repositories` are names without tag and digest; of two that mean the same the first counts.
    """
    names: dict[str, str] = {}
    for repository in filter(None, map(image_name, repositories)):
        for spelling in spellings(repository):
            names.setdefault(spelling, repository)
    if not names or b"sha256:" not in data:
        return []
    breaks = [found.start() for found in re.finditer(b"\n", data)]
    found = [*_words(data, names, breaks), *_fields(data, names, breaks)]
    return sorted({one.digest_start: one for one in found}.values(), key=lambda one: one.digest_start)


def _words(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[Reference]:
    """The references that stand as one word."""
    any_name = b"|".join(re.escape(name.encode()) for name in names)
    pattern = re.compile(
        rb"(?:(?<![%b])|%b)(?:docker://|oci://)?(?P<name>%b)(?::(?P<tag>%b))?@(?P<digest>%b)"
        % (_WORD, _BEHIND_DEFAULT, any_name, _TAG.encode(), DIGEST_PATTERN.encode())
    )
    for match in pattern.finditer(data):
        yield Reference(
            match.start(),
            match.end(),
            match.start("digest"),
            names[match["name"].decode()],
            (match["tag"] or b"").decode(),
            match["digest"].decode(),
            bisect_left(breaks, match.start()) + 1,
        )


def _fields(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[Reference]:
    """The digests that stand in a field of their own; none where the file is not YAML."""
    if not _HAS_DETACHED.search(data):
        return
    try:
        text = data.decode()
        documents = list(read_all(text))
    except (UnicodeDecodeError, nodes.TextError):
        return
    found = (
        (at, repository, tag, digest)
        for document in documents
        for mapping, place in _mappings(document, "")
        if (repository := names.get(_image_of(mapping, place))) is not None
        for at, tag, digest in _digests_of(mapping)
    )
    # Nodes do not count the byte order mark.
    shown = text.removeprefix(BOM)
    start, counted = len(data) - len(shown.encode()), 0
    for at, repository, tag, digest in sorted(found):
        start, counted = start + len(shown[counted:at].encode()), at
        line = bisect_left(breaks, start) + 1
        yield Reference(start, start + DIGEST_LENGTH, start, repository, tag, digest, line)


def _mappings(node: nodes.Node, place: str) -> Iterator[tuple[nodes.Mapping, str]]:
    """All mappings as they stand in the text; `place` is the key that they stand under, `key[]` in a list."""
    if isinstance(node, nodes.Mapping):
        yield node, place
        for entry in node.entries:
            yield from _mappings(entry.value, key_text(entry.key))
    elif isinstance(node, nodes.Sequence):
        for item in node.items:
            yield from _mappings(item, f"{place}[]")


def _image_of(mapping: nodes.Mapping, place: str) -> str:
    """The name of the image that the fields of a mapping tell, '' for none."""
    if repository := _text(mapping, "repository"):
        registry = _text(mapping, "registry").rstrip("/")
        return f"{registry}/{repository}" if registry else repository
    # A kustomization's digest is of the new name, where an image gets one.
    return _text(mapping, "newName") or _text(mapping, "name") if place == "images[]" else ""


def _text(mapping: nodes.Mapping, key: str) -> str:
    value = mapping.get(key)
    return value.text if isinstance(value, nodes.Scalar) and value.canonical[0] == "str" else ""


def _digests_of(mapping: nodes.Mapping) -> Iterator[tuple[int, str, str]]:
    """Where a mapping's own digests begin, in characters, with tag and digest.

    An alias and what it stands for are left out: the same text may belong to another image.
    """
    for entry in mapping.entries:
        value = entry.value
        if key_text(entry.key) not in ("digest", "tag") or not isinstance(value, nodes.Scalar) or value.anchor:
            continue
        match = _DETACHED.fullmatch(value.text)
        if match is None or value.source is None:
            continue
        at = value.source.text.find(match["digest"], value.start, value.end)
        if at >= 0:
            yield at, match["tag"] or _text(mapping, "tag") or _text(mapping, "newTag"), match["digest"]
