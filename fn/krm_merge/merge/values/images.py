"""Versions of references, and images in two parts: the repository and the version (V10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.startup import pattern
from krm_merge.text import Canonical, Entry, Scalar, resolved

Entries: TypeAlias = "dict[Canonical, Entry]"

# In a reference only one of these follows another; longer texts are prose.
_VERSION = pattern(
    r"\?ref=[^&#\s]*"
    r"|@sha256:[0-9a-f]*"
    r"|@(?:main|master|latest|stable|nightly)(?![\w.-])"
    r"|:(?:latest|stable|main|master|edge|nightly)(?![\w.-])"
    r"|(?<![\w.])v?[0-9]+(?:\.[0-9]+)+(?:-(?:alpha|beta|rc|dev|pre|snapshot|build)[\w.]*|-[0-9]+)?(?![\w])"
    r"|(?<![\w.])v[0-9]+(?:(?:alpha|beta)[0-9]+)?(?![\w.])"
    r"|(?<![\w.])[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?![\w])"
    r"|(?<![\w.])[0-9a-f]{7,64}(?![\w.])"
)
_ADDRESS = pattern(r"(?<![0-9.])[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
_LONGEST = 2000
_IN_VERSIONS = frozenset("0123456789?@:")
"""A text without any of these has no version."""
_VERSION_FIELDS = ("tag", "newTag", "digest")
_REPOSITORY_FIELDS = ("registry", "newName", "repository", "name")


def is_image(path: FieldPath) -> bool:
    """Whether a field holds an image, in whatever kind it is: `image`, or a name such as `sidecarImage` (V10)."""
    return bool(path) and isinstance(name := path[-1], str) and (name == "image" or name.endswith("Image"))


def without_version(text: str) -> str:
    """A reference without its versions: `?ref=`, tags, digests, commits, parts of a path."""
    # An IP address only looks like a version.
    if len(text) > _LONGEST or _IN_VERSIONS.isdisjoint(text) or _ADDRESS.search(text):
        return text
    return _VERSION.sub("\0", text)


def blind_to_versions(value: Canonical) -> Canonical:
    """A value with all its texts without versions."""
    if type(value) is str:
        return without_version(value)
    inner = value[-1]
    if isinstance(inner, tuple):
        return value[0], tuple(map(blind_to_versions, inner))
    if isinstance(inner, frozenset):
        return value[0], frozenset((key, blind_to_versions(of)) for key, of in inner)
    return (value[0], without_version(inner)) if isinstance(inner, str) else value


def are_images(path: FieldPath, texts: Sequence[str]) -> bool:
    """Whether all versions of a field are images (V10).

    By its name, or because each has a registry, a path, and a tag or digest.
    """
    return is_image(path) or all(map(_is_reference, texts))


def _is_reference(text: str) -> bool:
    # The colon of a URL's scheme would make a registry of `https:`.
    return text.split() == [text] and "://" not in text and _registry(text) != "" and image_repository(text) != text


def image_repository(image: str) -> str:
    """An image without tag and digest; the port of a registry is not a tag."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    return head + slash + last.partition(":")[0]


def merge_images(original: str, upstream: str, local: str) -> str | None:
    """V10: the one side's repository with the other side's version (tag and digest); None where that is a conflict.

    It is one where both sides changed the repository or the version, and where the repository is not that of a copy in
    another registry: another image has versions of its own.
    """
    parts = []
    for image in (original, upstream, local):
        repository = image_repository(image)
        parts.append((repository, image[len(repository) :]))
    merged = ""
    for before, theirs, ours in zip(*parts, strict=True):
        if before not in (theirs, ours) and theirs != ours:
            return None
        merged += theirs if ours == before else ours
    is_one = " " not in merged and all(
        _is_copy(parts[0][0], repository, has_digest="@" in merged) for repository, _ in parts[1:]
    )
    return merged if is_one or merged in (upstream, local) else None


def contested_fields(fields: Sequence[Entries], *, is_kustomize: bool) -> tuple[set[Canonical], str]:
    """V10: the fields of an image in original, upstream and local that are one value, and why they are.

    An image is a `repository` beside a `tag` or `digest`, or an element of a Kustomization's `images` (`is_kustomize`).
    One side changed its repository and the other its version, and it is no copy in another registry, or both changed
    the version, the one its tag and the other its digest.
    """
    if not all(fields) or not any(name in side for side in fields for name in _VERSION_FIELDS):
        return set(), ""
    if not is_kustomize and not all("repository" in side for side in fields):
        return set(), ""
    names = (*_REPOSITORY_FIELDS, *_VERSION_FIELDS) if is_kustomize else ("registry", "repository", "tag", "digest")
    sides = [
        {name: node.text for name in names if name in side and isinstance(node := resolved(side[name].value), Scalar)}
        for side in fields
    ]
    repositories = [_repository(side) for side in sides]
    versions = [[side.get(name, "") for name in _VERSION_FIELDS] for side in sides]
    if _mixes(*versions):
        return {*_VERSION_FIELDS}, "both sides changed the version"
    moved, bumped = ([side != values[0] for side in values[1:]] for values in (repositories, versions))
    if sorted([moved, bumped]) != [[False, True], [True, False]] or not all(repositories):
        return set(), ""
    has_digest = any(side.get("digest") for side in sides)
    if all(_is_copy(repositories[0], side, has_digest=has_digest) for side in repositories[1:]):
        return set(), ""
    return {*names}, "one side changed the image, the other its version"


def _mixes(original: list[str], upstream: list[str], local: list[str]) -> bool:
    """Whether a version merged by its fields would be that of neither side."""
    fields = list(zip(original, upstream, local, strict=True))
    merged = [theirs if ours == before else ours for before, theirs, ours in fields]
    are_apart = all(before in (theirs, ours) or theirs == ours for before, theirs, ours in fields)
    return are_apart and merged not in (upstream, local)


def _repository(side: Mapping[str, str]) -> str:
    name = next((side[field] for field in _REPOSITORY_FIELDS[1:] if side.get(field)), "")
    return f"{side['registry']}/{name}" if name and side.get("registry") else name


def _is_copy(original: str, repository: str, *, has_digest: bool) -> bool:
    """Whether an image has the versions of another one: it has the same name, and is no fork in the same registry.

    A digest is that of one build: of another path nobody knows whether it has that, unless a mirror only adds to it.
    """
    if original == repository:
        return True
    registry, other = _registry(original), _registry(repository)
    if (registry and registry == other) or original.rpartition("/")[2] != repository.rpartition("/")[2]:
        return False
    path, other_path = f"/{original[len(registry) :].strip('/')}", f"/{repository[len(other) :].strip('/')}"
    return not has_digest or path.endswith(other_path) or other_path.endswith(path)


def _registry(repository: str) -> str:
    """The host of an image; '' where its name has none."""
    host, slash, _ = repository.partition("/")
    return host if slash and (host == "localhost" or "." in host or ":" in host) else ""
