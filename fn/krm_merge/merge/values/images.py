"""References to container images: which repository, which version (rules V10, F2, F4)."""

from __future__ import annotations

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.kptfile import FUNCTION_LISTS

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def is_image(path: FieldPath) -> bool:
    """Whether a field is the image of a container or of a function."""
    if len(path) < 3 or path[-1] != "image" or isinstance(path[-2], str):
        return False
    return path[-3] in _CONTAINERS or path[:-2] in FUNCTION_LISTS


def image_repository(image: str) -> str:
    """An image without tag and digest; the port of a registry is not a tag."""
    repository = image.split("@", 1)[0]
    head, slash, last = repository.rpartition("/")
    return head + slash + last.split(":", 1)[0]


def merge_images(original: str, upstream: str, local: str) -> str | None:
    """V10: the one side's repository with the other side's version (tag and digest); None where both changed one."""
    parts = []
    for image in (original, upstream, local):
        repository = image_repository(image)
        parts.append((repository, image[len(repository) :]))
    merged = ""
    for before, theirs, ours in zip(*parts, strict=True):
        if before not in (theirs, ours) and theirs != ours:
            return None
        merged += theirs if ours == before else ours
    return merged
