"""Finds the references to an image that carry a digest, and the components that references of one name belong to.

In a text the reference is matched whole, as one word. In YAML, JSON included, the digest may have a field of its
own: `images` of a kustomization, and `registry`, `repository`, `tag`, `digest` and `sha` of Helm values. Elsewhere it
may have a variable of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.components.konflux.model import DIGEST_PATTERN, TAG_PATTERN, image_name, spellings, tag_of
from krm_merge.text.reading import nodes
from krm_merge.text.reading.reader import BOM, read_all
from krm_merge.text.reading.values import key_text


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """Digests and tags of a component's image, and those of other components whose images have the same name."""

    digests: frozenset[str]
    tags: frozenset[str] = frozenset()
    other_digests: frozenset[str] = frozenset()
    other_tags: frozenset[str] = frozenset()

    def matches(self, reference: ImageReference) -> bool | None:
        """Whether a reference is to the component's image; None if tag and digest are unknown, or disagree."""
        if not self.other_digests and not self.other_tags:
            return True
        signs = {
            _sign(reference.tag, self.tags, self.other_tags),
            _sign(reference.digest, self.digests, self.other_digests),
        } - {None}
        return signs.pop() if len(signs) == 1 else None


def _sign(text: str, values: Collection[str], other_values: Collection[str]) -> bool | None:
    """Whether only `values` have the text (True) or only `other_values` (False); None if neither or both have it."""
    return None if (text in values) == (text in other_values) else text in values


@dataclass(frozen=True, slots=True)
class ImageReference:
    """A reference to an image with a digest.

    `start` and `end` are the byte offsets of the whole reference with its transport (`docker://`), or of the digest
    where that has a field of its own; `hex_start` is where its 64 characters begin. `repository` is the image's name as
    it was asked for, which may be another spelling; `tag` is '' for none, `tag_start` where it begins, 0 where it is
    not to be changed: in a variable, or an anchored field. `line` counts from 1.
    """

    start: int
    end: int
    hex_start: int
    repository: str
    tag: str
    digest: str
    line: int
    tag_start: int = 0

    @property
    def is_word(self) -> bool:
        """Whether the reference is one word of the text, which holds its tag."""
        return self.start < self.tag_start < self.hex_start


HEX_LENGTH = 64
_ALGORITHM = "sha256:"
_HEX = rf"[0-9a-f]{{{HEX_LENGTH}}}(?![0-9A-Za-z_])"

_WORD = rb"A-Za-z0-9._/@:})$%+~\\-"
"""Characters before a name that make it a part of another: a longer name, or a registry in a variable."""
_BEHIND_DEFAULT = rb"(?<=:-)"
"""`${IMAGE:-name@digest}`, of shells and of Dockerfiles: a name does not continue with these characters."""
_BEHIND_COLON = rb"(?<=:)(?=[0-9.]*[A-Za-z-][A-Za-z0-9.-]*(?::[0-9]+)?/)"
"""`oci::name@digest`, `rule:name@digest`: text with a slash is not a tag, and text with a letter is not a port."""

_ANY_HEX = re.compile(_HEX.encode())
_ASSIGNMENT = re.compile(
    rb"^[ \t]*(?:(?:export|readonly|local|ARG|ENV)[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*[:?]?=[ \t]*"
    rb"(?P<quote>[\"']?)(?P<value>[^\s\"'#]+)(?P=quote)[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
_VARIABLE_DIGEST = re.compile(rf"(?:{_ALGORITHM})?{_HEX}".encode())
_IMAGE_WORDS = frozenset((b"IMAGE", b"IMG", b"REPOSITORY", b"REPO", b"NAME", b"DIGEST", b"SHA", b"SHA256"))
"""Words in names of variables for the part of an image that they hold."""

_DETACHED = re.compile(rf"(?:(?P<tag>{TAG_PATTERN})@)?{_ALGORITHM}(?P<hex>{_HEX})")
_DETACHED_HEX = re.compile(rf"(?P<tag>)(?:{_ALGORITHM})?(?P<hex>{_HEX})")
_DETACHED_BY_KEY = {"digest": _DETACHED, "tag": _DETACHED, "sha": _DETACHED_HEX}
_HAS_DETACHED = re.compile(rf"(?:digest|tag|sha)[\"']?\s*:\s*[\"']?(?:{TAG_PATTERN}@)?(?:{_ALGORITHM})?{_HEX}".encode())
"""Whether a file may hold a digest in a YAML field; a cheap test before it is parsed."""


def references(data: bytes, repositories: Sequence[str]) -> list[ImageReference]:
    """Every reference to one of these image repositories that carries a digest, in the order of their digests.

    `repositories` are names without tag and digest; of two that mean the same the first counts.
    """
    names: dict[str, str] = {}
    for repository in filter(None, map(image_name, repositories)):
        for spelling in spellings(repository):
            names.setdefault(spelling, repository)
    if not names or not _ANY_HEX.search(data):
        return []
    breaks = [newline.start() for newline in re.finditer(b"\n", data)]
    candidates = [*_words(data, names, breaks), *_fields(data, names, breaks), *_variables(data, names, breaks)]
    return sorted({ref.hex_start: ref for ref in candidates}.values(), key=lambda ref: ref.hex_start)


def _words(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The references that are one word of the text."""
    any_name = b"|".join(re.escape(name.encode()) for name in names)
    pattern = re.compile(
        rb"(?:(?<![%b])|%b|%b)(?:docker://|oci://)?(?P<name>%b)(?::(?P<tag>%b))?@(?P<digest>%b)"
        % (_WORD, _BEHIND_DEFAULT, _BEHIND_COLON, any_name, TAG_PATTERN.encode(), DIGEST_PATTERN.encode())
    )
    for match in pattern.finditer(data):
        yield ImageReference(
            match.start(),
            match.end(),
            match.start("digest") + len(_ALGORITHM),
            names[match["name"].decode()],
            (match["tag"] or b"").decode(),
            match["digest"].decode(),
            bisect_left(breaks, match.start()) + 1,
            max(match.start("tag"), 0),
        )


def _fields(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The digests that have a field of their own; empty if the file is not YAML."""
    if not _HAS_DETACHED.search(data):
        return
    try:
        text = data.decode()
        documents = list(read_all(text))
    except (UnicodeDecodeError, nodes.TextError):
        return
    digests = (
        (at, repository, tag, digest, tag_at)
        for document in documents
        for mapping, place in _mappings(document, "")
        if (repository := names.get(_image_of(mapping, place))) is not None
        for at, tag, digest, tag_at in _digests_of(mapping)
    )
    # Nodes do not count the byte order mark.
    content = text.removeprefix(BOM)
    start, counted = len(data) - len(content.encode()), 0
    for at, repository, tag, digest, tag_at in sorted(digests):
        start, counted = start + len(content[counted:at].encode()), at
        line = bisect_left(breaks, start) + 1
        # The tag is before the digest or behind it.
        between = len(content[min(at, tag_at) : max(at, tag_at)].encode()) * (1 if tag_at > at else -1)
        tag_start = start + between if tag_at >= 0 else 0
        yield ImageReference(start, start + HEX_LENGTH, start, repository, tag, digest, line, tag_start)


def _mappings(node: nodes.Node, place: str) -> Iterator[tuple[nodes.MappingNode, str]]:
    """All mappings in the order of the text; `place` is the key that holds them, `key[]` in a list."""
    if isinstance(node, nodes.MappingNode):
        yield node, place
        for entry in node.entries:
            yield from _mappings(entry.value, key_text(entry.key))
    elif isinstance(node, nodes.SequenceNode):
        for item in node.items:
            yield from _mappings(item, f"{place}[]")


def _image_of(mapping: nodes.MappingNode, place: str) -> str:
    """The name of the image in the fields of a mapping, '' for none."""
    if repository := _text(mapping, "repository"):
        registry = _text(mapping, "registry").rstrip("/")
        return f"{registry}/{repository}" if registry else repository
    # A kustomization's digest is of the new name, where an image gets one.
    return _text(mapping, "newName") or _text(mapping, "name") if place == "images[]" else ""


def _text(mapping: nodes.MappingNode, key: str) -> str:
    value = mapping.get(key)
    return value.text if isinstance(value, nodes.Scalar) and type(value.canonical) is str else ""


def _digests_of(mapping: nodes.MappingNode) -> Iterator[tuple[int, str, str, int]]:
    """Where the hex characters of a mapping's own digests begin, counted in characters, tag and digest, and the tag's.

    A tag that must not be changed where it is begins at -1.

    Aliases and anchored nodes are left out: the same text may belong to another image.
    """
    for entry in mapping.entries:
        value = entry.value
        pattern = _DETACHED_BY_KEY.get(key_text(entry.key))
        if pattern is None or not isinstance(value, nodes.Scalar) or value.anchor:
            continue
        match = pattern.fullmatch(value.text)
        if match is None or value.source is None:
            continue
        at = value.source.text.find(match["hex"], value.start, value.end)
        if at < 0:
            continue
        if tag := match["tag"] or "":
            tag_at = value.source.text.find(f"{tag}@", value.start, at)
        else:
            tag, tag_at = next(filter(None, (_field_with(mapping, key) for key in ("tag", "newTag"))), ("", -1))
        yield at, tag, f"{_ALGORITHM}{match['hex']}", tag_at


def _field_with(mapping: nodes.MappingNode, key: str) -> tuple[str, int] | None:
    """The text of a field and where it begins, -1 if it is written otherwise or shared; None without a text."""
    value = mapping.get(key)
    if not isinstance(value, nodes.Scalar) or not (text := _text(mapping, key)):
        return None
    is_own = value.source is not None and not value.anchor
    return text, value.source.text.find(text, value.start, value.end) if is_own and value.source else -1


def _variables(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The digests that have a variable of their own beside that of the image: `APP_IMAGE=name`, `APP_DIGEST=sha256:…`.

    Two variables belong together if their names differ only in such words, and no third name does.
    """
    assigned = list(_ASSIGNMENT.finditer(data))
    digests = [assignment for assignment in assigned if _VARIABLE_DIGEST.fullmatch(assignment["value"])]
    images: dict[tuple[bytes, ...], set[bytes]] = {}
    for assignment in assigned if digests else ():
        if not _VARIABLE_DIGEST.fullmatch(assignment["value"]) and _is_of_image(assignment["name"]):
            images.setdefault(_stem(assignment["name"]), set()).add(assignment["value"])
    for assignment in digests:
        beside = images.get(_stem(assignment["name"]), set())
        if not _is_of_image(assignment["name"]) or len(beside) != 1:
            continue
        (image,) = (value.decode(errors="replace") for value in beside)
        repository = names.get(image_name(image))
        if repository is not None and "@" not in image:
            start = assignment.end("value") - HEX_LENGTH
            digest = f"{_ALGORITHM}{data[start : start + HEX_LENGTH].decode()}"
            line = bisect_left(breaks, start) + 1
            yield ImageReference(start, start + HEX_LENGTH, start, repository, tag_of(image), digest, line)


def _stem(name: bytes) -> tuple[bytes, ...]:
    """The words of a variable's name without those for the part of an image."""
    words = name.upper().split(b"_")
    return tuple(word for word in words if word not in _IMAGE_WORDS)


def _is_of_image(name: bytes) -> bool:
    return not _IMAGE_WORDS.isdisjoint(name.upper().split(b"_"))
