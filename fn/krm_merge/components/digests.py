"""References to images with a digest, in any file: found, attributed to components, and replaced (rule C5).

In a text the reference is matched whole, as one word. In YAML, JSON included, the digest may have a field of its
own: `images` of a kustomization, and `registry`, `repository`, `tag` and `digest` of Helm values. Elsewhere it may have
a variable of its own, with which `name@${DIGEST}` names the image.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from krm_merge.components.konflux.model import DIGEST_PATTERN, TAG_PATTERN, is_digest, spellings
from krm_merge.krm import Result, Severity
from krm_merge.merge import image_repository
from krm_merge.startup import group_by_key
from krm_merge.text import BOM, MappingNode, Node, Scalar, SequenceNode, TextError, key_text, read_all


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
    it was asked for, which may be another spelling; `tag` is '' for none. `line` counts from 1.
    """

    start: int
    end: int
    hex_start: int
    repository: str
    tag: str
    digest: str
    line: int


HEX_LENGTH = 64
_ALGORITHM = "sha256:"
_HEX = rf"[0-9a-f]{{{HEX_LENGTH}}}(?![0-9A-Za-z_])"

_WORD = rb"A-Za-z0-9._/@:})$%+~\\-"
"""Characters before a name that make it a part of another: a longer name, or a registry in a variable."""
_BEHIND_DEFAULT = rb"(?<=:-)"
"""`${IMAGE:-name@digest}`, of shells and of Dockerfiles: a name does not continue with these characters."""
_BEHIND_COLON = rb"(?<=:)(?=(?:[0-9.]*[A-Za-z-][A-Za-z0-9.-]*(?::[0-9]+)?|(?:docker|oci):/)/)"
"""`oci::name@digest`, `rule:docker://name@digest`: text with a slash is not a tag, text with a letter is not a port."""

_ANY_HEX = re.compile(_HEX.encode())
_ASSIGNMENT = re.compile(
    rb"^[ \t]*(?:(?:export|readonly|local|ARG|ENV)[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*[:?]?=[ \t]*"
    rb"(?P<quote>[\"']?)(?P<value>[^\s\"'#]+)(?P=quote)[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
_IN_FIELD = re.compile(rf"(?:(?P<tag>{TAG_PATTERN})@)?(?P<digest>{_ALGORITHM}{_HEX})")
_HAS_FIELD = re.compile(rf"(?:digest|tag)[\"']?\s*:\s*[\"']?(?:{TAG_PATTERN}@)?{_ALGORITHM}{_HEX}".encode())
"""Whether a file may hold a digest in a YAML field; a cheap test before it is parsed."""


def references(data: bytes, repositories: Sequence[str]) -> list[ImageReference]:
    """Every reference to one of these image repositories that carries a digest, in the order of their digests.

    `repositories` are names without tag and digest; of two that mean the same the first counts.
    """
    names: dict[str, str] = {}
    for repository in filter(None, map(image_repository, repositories)):
        for spelling in spellings(repository):
            names.setdefault(spelling, repository)
    if not names or not _ANY_HEX.search(data):
        return []
    breaks = [newline.start() for newline in re.finditer(b"\n", data)]
    candidates = [*_words(data, names, breaks), *_fields(data, names, breaks), *_variables(data, names, breaks)]
    return sorted({ref.hex_start: ref for ref in candidates}.values(), key=lambda ref: ref.hex_start)


def _words(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The references that are one word of the text."""
    for match in _named(names, DIGEST_PATTERN.encode()).finditer(data):
        yield ImageReference(
            match.start(),
            match.end(),
            match.start("digest") + len(_ALGORITHM),
            names[match["name"].decode()],
            (match["tag"] or b"").decode(),
            match["digest"].decode(),
            bisect_left(breaks, match.start()) + 1,
        )


def _named(names: Iterable[str], digest: bytes) -> re.Pattern[bytes]:
    """References with one of these names, and a digest of this pattern, as one word."""
    any_name = b"|".join(re.escape(name.encode()) for name in names)
    return re.compile(
        rb"(?:(?<![%b])|%b|%b)(?:docker://|oci://)?(?P<name>%b)(?::(?P<tag>%b))?@(?P<digest>%b)"
        % (_WORD, _BEHIND_DEFAULT, _BEHIND_COLON, any_name, TAG_PATTERN.encode(), digest)
    )


def _fields(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The digests that have a field of their own; empty if the file is not YAML."""
    if not _HAS_FIELD.search(data):
        return
    try:
        text = data.decode()
        documents = list(read_all(text))
    except (UnicodeDecodeError, TextError):
        return
    digests = [
        (at, repository, tag, digest)
        for document in documents
        for mapping, place in _mappings(document, "")
        if (repository := names.get(_image_of(mapping, place))) is not None
        for at, tag, digest in _digests_of(mapping)
    ]
    # Nodes do not count the byte order mark.
    content = text.removeprefix(BOM)
    start, counted = len(data) - len(content.encode()), 0
    for at, repository, tag, digest in sorted(digests):
        start, counted = start + len(content[counted:at].encode()), at
        line = bisect_left(breaks, start) + 1
        yield ImageReference(start, start + HEX_LENGTH, start, repository, tag, digest, line)


def _mappings(node: Node, place: str) -> Iterator[tuple[MappingNode, str]]:
    """All mappings in the order of the text; `place` is the key that holds them, `key[]` in a list."""
    if isinstance(node, MappingNode):
        yield node, place
        for entry in node.entries:
            yield from _mappings(entry.value, key_text(entry.key))
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _mappings(item, f"{place}[]")


def _image_of(mapping: MappingNode, place: str) -> str:
    """The name of the image in the fields of a mapping, '' for none."""
    if repository := _text(mapping, "repository"):
        registry = _text(mapping, "registry").rstrip("/")
        return f"{registry}/{repository}" if registry else repository
    # A kustomization's digest is of the new name, where an image gets one.
    return _text(mapping, "newName") or _text(mapping, "name") if place == "images[]" else ""


def _text(mapping: MappingNode, key: str) -> str:
    value = mapping.get(key)
    return value.text if isinstance(value, Scalar) and type(value.canonical) is str else ""


def _digests_of(mapping: MappingNode) -> Iterator[tuple[int, str, str]]:
    """Where the hex characters of a mapping's own digests begin, counted in characters, tag and digest.

    Aliases and anchored nodes are left out: the same text may belong to another image.
    """
    for entry in mapping.entries:
        value = entry.value
        if key_text(entry.key) not in ("digest", "tag") or not isinstance(value, Scalar) or value.anchor:
            continue
        match = _IN_FIELD.fullmatch(value.text)
        at = value.source.text.find(value.text, value.start, value.end) if match and value.source else -1
        if match and at >= 0:
            tag = match["tag"] or _text(mapping, "tag") or _text(mapping, "newTag")
            yield at + match.start("digest") + len(_ALGORITHM), tag, match["digest"]


_VARIABLE = rb"\$\{?(?P<variable>[A-Za-z_][A-Za-z0-9_]*)"
_USE = re.compile(b"@" + _VARIABLE)


def _variables(data: bytes, names: Mapping[str, str], breaks: Sequence[int]) -> Iterator[ImageReference]:
    """The digests that have a variable of their own, with which `name@${DIGEST}` names the image."""
    values = group_by_key((match["name"], match) for match in _ASSIGNMENT.finditer(data))
    all_uses = Counter(match["variable"] for match in _USE.finditer(data))
    uses_by_variable = group_by_key((match["variable"], match) for match in _named(names, _VARIABLE).finditer(data))
    for variable, uses in uses_by_variable.items():
        repositories = {names[use["name"].decode()] for use in uses}
        assigned = values.get(variable, ())
        # With several names or values, which of them belong together is unknown.
        if len(repositories) > 1 or len(uses) < all_uses[variable] or len(assigned) != 1:
            continue
        digest = assigned[0]["value"].decode(errors="replace")
        if is_digest(digest):
            start = assigned[0].end("value") - HEX_LENGTH
            tag, line = (uses[0]["tag"] or b"").decode(), bisect_left(breaks, start) + 1
            yield ImageReference(start, start + HEX_LENGTH, start, repositories.pop(), tag, digest, line)


RULE = "C5"
_KEPT = "it is kept. Replace it by a known one"


@dataclass(frozen=True, slots=True)
class EditedFile:
    """The result for a file: `replaced` are the references before.

    `problems` are digests that were kept, and warnings; with an error `data` is unchanged.
    """

    data: bytes
    replaced: tuple[ImageReference, ...] = ()
    problems: tuple[Result, ...] = ()


def replace_digests(
    data: bytes,
    repositories: Sequence[str],
    identity: ImageIdentity,
    new: str,
    path: str,
) -> EditedFile:
    """Replaces the digests of all references to an image by `new`.

    `repositories` are the names of the image, without tag and digest. `identity` has its known digests: the promoted
    one, those of earlier builds and plans; if other components have an image of that name, it decides to which of them
    a reference belongs. `path` is how messages name the file, with the line behind it.
    """
    if not is_digest(new):
        return EditedFile(data, problems=(_problem("error", f"{new!r} is not a sha256 digest; {path} is not changed"),))
    occurrences = references(data, repositories)
    ours = [ref for ref in occurrences if identity.matches(ref)]
    replaced: list[ImageReference] = []
    problems = list(_unclear(occurrences, identity, path))
    for repository, group in sorted(group_by_key((ref.repository, ref) for ref in ours).items()):
        chosen, others = _choose(repository, group, identity.digests, new, path)
        replaced += chosen
        problems += others
    if errors := [problem for problem in problems if problem.severity == "error"]:
        return EditedFile(data, problems=tuple(errors))
    replaced.sort(key=lambda ref: ref.hex_start)
    expected = {ref: replace(ref, digest=new) for ref in replaced}
    edited = _with_hex(data, dict.fromkeys((ref.hex_start for ref in replaced), new[-HEX_LENGTH:]))
    after = [expected.get(ref, ref) for ref in occurrences]
    if list(map(_identity, references(edited, repositories))) != list(map(_identity, after)):
        flaw = f"the edit would change other references; {path} is not changed"
        return EditedFile(data, problems=(_problem("error", flaw),))
    problems += _elsewhere(edited, occurrences, {*identity.digests, *(ref.digest for ref in replaced)} - {new}, path)
    return EditedFile(edited, tuple(replaced), tuple(problems))


def _problem(severity: Severity, message: str) -> Result:
    return Result(severity, message, rule=RULE)


def _unclear(occurrences: Sequence[ImageReference], identity: ImageIdentity, path: str) -> Iterator[Result]:
    """A warning for each digest whose references cannot be attributed to one component."""
    unclear = group_by_key((ref.digest, ref) for ref in occurrences if identity.matches(ref) is None)
    for ref, *_ in unclear.values():
        message = (
            f"{ref.digest} of {ref.repository} in {path}:{ref.line} may belong to another Component whose image has "
            f"this name; it is kept. Use a digest or a tag that only one of them has"
        )
        yield _problem("warning", message)


def _choose(
    repository: str,
    occurrences: Sequence[ImageReference],
    known_digests: Collection[str],
    new: str,
    path: str,
) -> tuple[list[ImageReference], list[Result]]:
    """The references to one repository that are replaced, and the problems of the others."""
    digests = {ref.digest for ref in occurrences}
    old = [ref for ref in occurrences if ref.digest != new]
    if not old:
        return [], []
    replaceable = [ref for ref in old if ref.digest in known_digests]
    if len(digests) > 1 and not replaceable:
        # C15: a file in which nothing is replaced stops no update.
        examples = ", ".join(sorted(ref.digest[:19] for ref in old)[:3])
        message = (
            f"{path}:{old[0].line} has {len(digests)} digests of {repository}, of which {len(digests - {new})} are "
            f"unknown ({examples}); the file is kept"
        )
        return [], [_problem("info", message)]
    if len(digests) > 1:
        message = (
            f"{path}:{occurrences[0].line} holds {len(digests)} digests of {repository}, like a catalog of "
            f"versions, and it is unclear which to replace; the file is not changed. Exclude it (digest.exclude)"
        )
        return [], [_problem("error", message)]
    unknown = group_by_key((ref.digest, ref) for ref in old if ref.digest not in known_digests)
    return replaceable, [
        _problem("warning", f"{ref.digest} of {repository} in {path}:{ref.line} is not a known digest of it; {_KEPT}")
        for ref, *_ in unknown.values()
    ]


def _with_hex(data: bytes, digits: Mapping[int, str]) -> bytes:
    """A text with other hex characters of digests, by where these begin."""
    pieces: list[bytes] = []
    at = 0
    for start, text in sorted(digits.items()):
        pieces += (data[at:start], text.encode())
        at = start + HEX_LENGTH
    return b"".join([*pieces, data[at:]])


def _identity(reference: ImageReference) -> tuple[int, str, str, str]:
    return reference.line, reference.repository, reference.tag, reference.digest


def _elsewhere(data: bytes, occurrences: Sequence[ImageReference], stale: Collection[str], path: str) -> list[Result]:
    """Warnings for replaced digests that the file also holds outside of references to the image."""
    starts = {ref.hex_start for ref in occurrences}
    first: dict[str, int] = {}
    # Names hold digests without `sha256:`, too, such as those of relatedImages.
    for match in re.finditer(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", data):
        digest = f"sha256:{match[0].decode()}"
        if digest in stale and match.start() not in starts and digest not in first:
            first[digest] = data.count(b"\n", 0, match.start()) + 1
    return [
        _problem("warning", f"{path}:{line} has {digest} outside references to the image too; it is kept there")
        for digest, line in first.items()
    ]
