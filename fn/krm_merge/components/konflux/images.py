"""References to images: names, tags and digests."""

from __future__ import annotations

import re
from typing import Final

DIGEST_PATTERN: Final = r"sha256:[0-9a-f]{64}(?![0-9A-Za-z_])"
TAG_PATTERN: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_HUB: Final = ("docker.io", "index.docker.io")


def image_name(reference: str) -> str:
    """The name of an image without tag and digest; a port belongs to the name."""
    name = reference.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return head if colon and "/" not in tag else name


def tag_of(reference: str) -> str:
    """The tag of an image reference, '' where it has none."""
    return reference.partition("@")[0][len(image_name(reference)) + 1 :]


def is_tag(text: str) -> bool:
    """Whether the whole text is a tag."""
    return re.fullmatch(TAG_PATTERN, text) is not None


def digest_of(reference: str) -> str:
    """The digest of an image reference, '' where it has none."""
    return reference.partition("@")[2]


def is_digest(text: str) -> bool:
    """Whether the whole text is a digest."""
    return re.fullmatch(DIGEST_PATTERN, text) is not None


def spellings(repository: str) -> tuple[str, ...]:
    """All names of an image repository that always mean the same.

    Docker Hub has several: with `library/` or without, and with its two hosts. A short name (`x`, `org/x`) does not
    belong to them, since each machine resolves it by its own configuration: only the same short name matches it.
    """
    host, _, path = repository.partition("/")
    if host not in _HUB or not path:
        return (repository,)
    name = path.removeprefix("library/")
    paths = (path,) if "/" in name else (name, f"library/{name}")
    return tuple(f"{hub}/{each}" for hub in _HUB for each in paths)
