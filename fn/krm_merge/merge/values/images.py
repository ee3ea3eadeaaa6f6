"""References with a version: what is referred to, and in which version (rules L2, L3, V10, F2, F4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.startup import pattern
from krm_merge.text.reading.scalars import Canonical

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
_REPOSITORY_FIELDS = ("registry", "newName", "repository", "name")
_VERSION_FIELDS = ("tag", "newTag", "digest")


def is_image(path: FieldPath) -> bool:
    """Whether a field holds an image, in whatever kind it is: `image`, or a name such as `sidecarImage`."""
    return bool(path) and isinstance(name := path[-1], str) and (name == "image" or name.endswith("Image"))


def without_version(text: str) -> str:
    """A reference without its versions: `?ref=`, tags, digests, commits, parts of a path."""
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
    return (value[0], without_version(inner)) if isinstance(inner, str) and len(value) > 1 else value


def are_images(path: FieldPath, texts: Sequence[str]) -> bool:
    """Whether all versions of a field are images: by its name, or each with a registry, a path, and a tag or digest."""
    return is_image(path) or all(map(_is_reference, texts))


def _is_reference(text: str) -> bool:
    return text.split() == [text] and "://" not in text and _registry(text) != "" and image_repository(text) != text


def image_repository(image: str) -> str:
    """An image without tag and digest; the port of a registry is not a tag."""
    repository = image.split("@", 1)[0]
    head, slash, last = repository.rpartition("/")
    return head + slash + last.split(":", 1)[0]


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
    is_one = all(_is_copy(parts[0][0], repository) for repository, _ in parts[1:]) and " " not in merged
    return merged if is_one or merged in (upstream, local) else None


def contested_fields(sides: Sequence[Mapping[Canonical, str]]) -> tuple[set[Canonical], str]:
    """V10: the fields of an image that are one value, and why they are.

    They are where one side changed its repository and the other its version, unless the repository is only that of a
    copy in another registry; and where both changed the version, the one its tag and the other its digest. `sides` are
    the texts of the fields that hold scalars, of original, upstream and local.
    """
    repositories = [_repository(side) for side in sides]
    versions = [[side.get(name, "") for name in _VERSION_FIELDS] for side in sides]
    if _mixes(*versions):
        return {*_VERSION_FIELDS}, "both sides changed the version"
    moved, bumped = ([side != values[0] for side in values[1:]] for values in (repositories, versions))
    if sorted([moved, bumped]) != [[False, True], [True, False]] or not all(repositories):
        return set(), ""
    if all(_is_copy(repositories[0], side) for side in repositories[1:]):
        return set(), ""
    return {*_REPOSITORY_FIELDS, *_VERSION_FIELDS}, "one side changed the image, the other its version"


def _mixes(original: list[str], upstream: list[str], local: list[str]) -> bool:
    """Whether a version merged by its fields would be that of neither side."""
    fields = list(zip(original, upstream, local, strict=True))
    merged = [theirs if ours == before else ours for before, theirs, ours in fields]
    are_apart = all(before in (theirs, ours) or theirs == ours for before, theirs, ours in fields)
    return are_apart and merged not in (upstream, local)


def _repository(side: Mapping[Canonical, str]) -> str:
    name = next((side[field] for field in _REPOSITORY_FIELDS[1:] if side.get(field)), "")
    return f"{side['registry']}/{name}" if name and side.get("registry") else name


def _is_copy(original: str, repository: str) -> bool:
    """Whether an image has the versions of another one: it has the same name, and is no fork in the same registry."""
    is_named_alike = original.rpartition("/")[2] == repository.rpartition("/")[2]
    registry = _registry(original)
    is_fork = registry != "" and registry == _registry(repository)
    return original == repository or (is_named_alike and not is_fork)


def _registry(repository: str) -> str:
    """The host of an image; '' where its name has none."""
    host, slash, _ = repository.partition("/")
    return host if slash and (host == "localhost" or "." in host or ":" in host) else ""
