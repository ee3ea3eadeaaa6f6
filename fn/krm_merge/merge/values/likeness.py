"""How alike values are: keys of elements (L1), versions of references (V10), values without either (L3, R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Final, TypeAlias, TypeVar

from krm_merge.krm import FieldPath, Step, generate_name_of, identity_of
from krm_merge.merge.decisions.decision import same
from krm_merge.schema import KeyedList, element_key
from krm_merge.startup import frozen, pattern, replace
from krm_merge.text import (
    MOST_COMPARED,
    THRESHOLD,
    Canonical,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    canonical_text,
    is_null,
    key_text,
    resolved,
    text_likeness,
)

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
_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ADDRESS = pattern(r"(?<![0-9.])[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
_LONGEST = 2000
_IN_VERSIONS = frozenset("0123456789?@:")
"""A text without any of these has no version."""
_REPOSITORY_FIELDS = ("registry", "newName", "repository", "name")
_VERSION_FIELDS = ("tag", "newTag", "digest")
FIELDS_OF_IMAGES = (*_REPOSITORY_FIELDS, *_VERSION_FIELDS)

_LEAST_LIKENESS = 1e-6
"""Less than any two likenesses differ by."""


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


def contested_fields(fields: Sequence[Entries], *, are_names: bool) -> tuple[Collection[Canonical], str]:
    """The fields that are one value in original, upstream and local, and why they are (V10, R1).

    Fields whose keys `are_names` of somebody's choice may be renamed; others are where their value is all the same.
    """
    has_version = any("tag" in side or "newTag" in side or "digest" in side for side in fields)
    if has_version and all(fields) and (contested := _contested_of_image(fields))[0]:
        return contested
    original, upstream, local = fields
    for name, side, other in (("upstream", upstream, local), ("local", local, upstream)) if are_names else ():
        if (renamed := _reused_name(side, original, other)) is not None:
            old, new = map(canonical_text, renamed)
            return renamed[:1], f"{name} has the former {old} as {new}, and something else as {old}"
    renamed_by_sides = _contested_by_renames(original, upstream, local, are_names)
    if renamed_by_sides[0] or not are_names:
        return renamed_by_sides
    return _contested_by_two_names(original, upstream, local)


def _contested_by_renames(
    original: Entries, upstream: Entries, local: Entries, are_names: bool
) -> tuple[Collection[Canonical], str]:
    """R1: both new names of a field that both renamed; else the old ones of fields that the other side made smaller."""
    names = _new_names(original, upstream, local, are_names), _new_names(original, local, upstream, are_names)
    if both := [old for old in names[0] if old in names[1]]:
        renames = ", ".join(map(canonical_text, both))
        return {of_side[old] for of_side in names for old in both}, f"both renamed {renames}"
    smaller = {
        old: new
        for of_side, other in zip(names, (local, upstream), strict=True)
        for old, new in of_side.items()
        if old in other and Counter(leaves_of(other[old].value)) < Counter(leaves_of(original[old].value))
    }
    renames = ", ".join(f"{canonical_text(old)} to {canonical_text(new)}" for old, new in smaller.items())
    return smaller, f"one side renamed {renames}"


def _contested_by_two_names(original: Entries, upstream: Entries, local: Entries) -> tuple[Collection[Canonical], str]:
    """R1: the names of mappings and lists that both added, each under a name of its own."""
    theirs, ours = (
        {
            name: node
            for name in side
            if name not in original and name not in other and not isinstance(node := _node(side, name), Scalar)
        }
        for side, other in ((upstream, local), (local, upstream))
    )
    pairs = added_under_two_names(theirs, ours)
    why = "; ".join(UNDER_TWO_NAMES.format(*map(canonical_text, pair)) for pair in pairs)
    return {name for pair in pairs for name in pair}, why


UNDER_TWO_NAMES: Final = "upstream and local added one thing, as {} and as {}"


def added_under_two_names(
    upstream: Mapping[Canonical, Node], local: Mapping[Canonical, Node]
) -> list[tuple[Canonical, Canonical]]:
    """The names of what both sides added, each under its own: all words of one are in the other, half is alike."""
    if not 0 < len(upstream) * len(local) <= MOST_COMPARED:
        return []
    words = {name: _words_of(name) for name in (*upstream, *local)}
    return [
        (theirs, ours)
        for theirs, node in upstream.items()
        for ours, other in local.items()
        if words[theirs]
        and words[ours]
        and words[theirs] & words[ours] in (words[theirs], words[ours])
        and likeness(node, other) >= THRESHOLD
    ]


def _words_of(name: Canonical) -> frozenset[str]:
    """The words of a name in camel case, or with marks between them; the plural of one is the same word."""
    return frozenset(word.lower().removesuffix("s") for word in _WORD.findall(canonical_text(name)))


def _contested_of_image(fields: Sequence[Entries]) -> tuple[set[Canonical], str]:
    """V10: the fields of an image that are one value, and why they are.

    They are where one side changed its repository and the other its version, unless the repository is only that of a
    copy in another registry; and where both changed the version, the one its tag and the other its digest.
    """
    sides = [
        {name: node.text for name in FIELDS_OF_IMAGES if name in side and isinstance(node := _node(side, name), Scalar)}
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
    return {*_REPOSITORY_FIELDS, *_VERSION_FIELDS}, "one side changed the image, the other its version"


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


Counted = TypeVar("Counted")

Leaf: TypeAlias = "tuple[tuple[Canonical, ...], Canonical]"
"""A scalar, or an empty collection, with its path; steps into lists are alike."""


def likeness(first: Node, second: Node) -> float:
    """From 0 to 1: the share of the fields and elements that both have with equal values, of all that either has.

    Fields are compared by their path, elements of lists by their values. Two texts of several lines are as alike as the
    share of their lines that both have, other strings as the share of what they begin and end with in common; two
    options (`--name=value`) with one name are alike, with two they are not.
    """
    return Traits(first).likeness(Traits(second))


def renamed_by_both(original: Entries, upstream: Entries, local: Entries) -> Entries:
    """R1: the original's fields, those that both sides renamed alike under their new names.

    Upstream says which they are, as the next merge finds in local what upstream added, and not what it removed (law D).
    """
    names = [key for key in local if key in upstream and key not in original]
    gone = [key for key in original if key not in upstream and key not in local] if names else []
    if not gone:
        return original
    new_names: dict[Canonical, Canonical] = {}
    for side, least in ((upstream, 0), (local, THRESHOLD)):
        alike = {old: new for old, new, score in _renames(original, side) if score >= least}
        new_names = {old: new for old, new in alike.items() if new not in new_names.values()} | new_names
    both = {old: new for old, new in new_names.items() if old in gone and new in names}
    return {both.get(key, key): entry for key, entry in original.items()}


def _renames(original: Entries, side: Entries) -> Iterator[tuple[Canonical, Canonical, float]]:
    """The old and the new names of fields with more than a scalar that are each other's best match, and how alike."""
    gone = [key for key in original if key not in side and not isinstance(_node(original, key), Scalar)]
    new = [key for key in side if key not in original]
    if not 0 < len(gone) * len(new) <= MOST_COMPARED:
        return
    before, after = ([Traits(fields[key].value) for key in keys] for fields, keys in ((original, gone), (side, new)))
    scores = [[traits.likeness(traits_now) for traits_now in after] for traits in before]
    best = [column.index(max(column)) for column in zip(*scores, strict=True)]
    for at, row in enumerate(scores):
        to = row.index(max(row))
        if row[to] and best[to] == at:
            yield gone[at], new[to], row[to]


def _node(side: Entries, key: Canonical) -> Node:
    return resolved(side[key].value)


def _new_names(original: Entries, side: Entries, other: Entries, are_names: bool) -> dict[Canonical, Canonical]:
    """The new names of the fields with more than a scalar that a side renamed, and the other side changed, too."""
    gone = [key for key in original if key not in side]
    contested = {key for key in gone if key not in other or not same(_node(original, key), _node(other, key))}
    if not contested:  # So it is in most mappings: their new fields need not be looked for.
        return {}
    return {
        old: new
        for old, new, score in _renames(original, side)
        if old in contested
        and (score >= THRESHOLD if are_names else same(_node(original, old), _node(side, new)))
        # After a merge that kept the old name, both sides have the new one (law D).
        and (new not in other or (old in other and same(_node(side, new), _node(other, new))))
    }


def _reused_name(side: Entries, original: Entries, other: Entries) -> tuple[Canonical, Canonical] | None:
    """The old and the new name of a field that a side renamed, and whose old name it uses for something else.

    None where the other side left the field as it was: its changes would belong to the field of the new name.
    """
    new = [key for key in side if key not in original and key not in other]
    for key in original if new else ():
        if key not in side or key not in other:
            continue
        before, now, changed = (_node(fields, key) for fields in (original, side, other))
        if not isinstance(before, MappingNode) or before.canonical in (now.canonical, changed.canonical):
            continue
        # Law D: what only the other side added is left after a merge of a removal, and nothing else.
        if likeness(before, now) < THRESHOLD and not set(leaves_of(now)) <= set(leaves_of(changed)):
            alike = [name for name in new if likeness(before, _node(side, name)) >= THRESHOLD]
            if len(alike) == 1:
                return key, alike[0]
    return None


class Traits:
    """The traits by which a value is compared, computed once for all comparisons."""

    __slots__ = ("_leaves", "_paths", "_size", "_words", "node")

    def __init__(self, node: Node, usual: Set[Leaf] = frozenset(), *, by_lines: bool = False) -> None:
        """Looks through the whole value; leaves that are `usual` do not count, of texts their lines do `by_lines`."""
        self.node = resolved(node)
        # Not as Counters: these are many times as slow to make from a few leaves.
        self._leaves: dict[Leaf, int] = {}
        self._paths: dict[tuple[Canonical, ...], int] = {}
        self._size = 0
        self._words: frozenset[str] | None = None
        for leaf in _lines_of((), self.node.canonical) or leaves_of(self.node, by_lines=by_lines):
            if leaf in usual:
                continue
            self._leaves[leaf] = self._leaves.get(leaf, 0) + 1
            self._paths[leaf[0]] = self._paths.get(leaf[0], 0) + 1
            self._size += 1

    @property
    def words(self) -> frozenset[str]:
        """The words of all texts in the value."""
        if self._words is None:
            texts = (value for _, value in leaves_of(self.node) if isinstance(value, str))
            self._words = frozenset(word for text in texts for word in text.split())
        return self._words

    def shares_more(self, other: Traits, usual: Traits) -> bool:
        """Whether two mappings share more than what a list of others has as well; True of other values."""
        if not isinstance(self.node, MappingNode) or not isinstance(other.node, MappingNode):
            return True
        shares_leaf = any(
            leaf in other._leaves and (((), *leaf[0]), leaf[1]) not in usual._leaves for leaf in self._leaves
        )
        return shares_leaf or bool((self.words & other.words) - usual.words)

    def likeness(self, other: Traits) -> float:
        """From 0 to 1, see there."""
        first, second = self.node, other.node
        is_text = isinstance(first, Scalar)
        if is_text != isinstance(second, Scalar) or (is_text and not (self._size and other._size)):
            return _of_scalars(first, second)
        if isinstance(first, MappingNode) != isinstance(second, MappingNode):
            return 0.0
        # A field that both have counts once, with whatever values.
        together = self._size + other._size - _count_shared(self._paths, other._paths)
        if not together:
            # All that they hold is usual.
            return float(first.canonical == second.canonical)
        return _count_shared(self._leaves, other._leaves) / together


def weigh(
    scores: list[list[float]], ours: Sequence[Traits], theirs: Sequence[Traits], around: Sequence[Sequence[Node]]
) -> None:
    """Makes those of equally alike elements more alike that share more words: a changed script is one unequal value.

    What elements `around` one of ours have as well does not tell it apart: those that share nothing else are not alike.
    """
    columns = [Counter(column) for column in zip(*scores, strict=True)]
    for row, of_ours, neighbours in zip(scores, ours, around, strict=True):
        usual: Traits | None = None
        in_row = Counter(row)
        for at, score in enumerate(row):
            if not THRESHOLD <= score < 1:
                continue
            # Most gaps hold nothing that is only alike.
            usual = usual or Traits(SequenceNode.new(False, [*neighbours]))
            if not of_ours.shares_more(theirs[at], usual):
                row[at] = 0.0
            elif max(in_row[score], columns[at][score]) > 1:
                shared, every = of_ours.words & theirs[at].words, of_ours.words | theirs[at].words
                row[at] += _LEAST_LIKENESS * len(shared - usual.words) / max(1, len(every))


def _count_shared(first: Mapping[Counted, int], second: Mapping[Counted, int]) -> int:
    """How many both have."""
    # The loop is as long as the shorter one.
    if len(first) > len(second):
        first, second = second, first
    return sum(min(count, second[leaf]) for leaf, count in first.items() if leaf in second)


def _of_scalars(first: Node, second: Node) -> float:
    if first.canonical == second.canonical:
        return 1.0
    ours, theirs = first.canonical, second.canonical
    if type(ours) is not str or type(theirs) is not str:
        return 0.0
    if "=" in ours and "=" in theirs:
        return float(ours.partition("=")[0] == theirs.partition("=")[0])
    return text_likeness(ours, theirs)


def leaves_of(node: Node, *, by_lines: bool = False) -> Iterator[Leaf]:
    """The leaves of a mapping or list, with `by_lines` each line of a text inside; a scalar has none."""
    node = resolved(node)
    if isinstance(node, Scalar):
        return iter(())
    leaves = _leaves(node, ())
    return (line for leaf in leaves for line in _lines_of(*leaf) or [leaf]) if by_lines else leaves


def have_same_fields(first: Node, second: Node) -> bool:
    """Whether two mappings have values at the same paths, so that they differ in scalars alone."""
    if not isinstance(first, MappingNode) or not isinstance(second, MappingNode):
        return False
    paths, other_paths = ([path for path, _ in leaves_of(node)] for node in (first, second))
    return Counter(paths) == Counter(other_paths)


def _lines_of(path: tuple[Canonical, ...], text: Canonical) -> list[Leaf]:
    """The lines of a text that has several, as leaves; what is inside of a script may change without its beginning."""
    if type(text) is not str or "\n" not in text.rstrip("\n"):
        return []
    return [(path, line) for line in text.split("\n") if line.strip()]


def _leaves(node: Node, path: tuple[Canonical, ...]) -> Iterator[Leaf]:
    node = resolved(node)
    if isinstance(node, MappingNode):
        for key, entry in node.fields.items():
            yield from _leaves(entry.value, (*path, key))
        if not node.fields:
            yield path, node.canonical
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _leaves(item, (*path, ()))
        if not node.items:
            yield path, node.canonical
    else:
        yield path, node.canonical


@frozen
class Match:
    """One element on the three sides, by its position there; None where a side lacks it. `step` names it in paths."""

    original: int | None
    upstream: int | None
    local: int | None
    step: Step
    moved_registry: bool = False
    is_addition: bool = False
    """Whether both sides added nearly the same to a list without keys, so that it is one thing (L3)."""
    is_whole: bool = False
    """Whether one only took the place of another, so that they merge as one value and not by their fields (L3)."""
    shares: str = ""
    """The field of which two additions that are no version of each other have one value, and else no two elements."""

    @property
    def places(self) -> tuple[int | None, int | None, int | None]:
        """The positions in original, upstream and local."""
        return self.original, self.upstream, self.local


def part_renamed(matches: list[Match]) -> list[Match]:
    """Pairs an element with what both sides put in its place, where one side has an element like the old one elsewhere.

    That one is an addition: the other side never had it, and did not remove it (law H).
    """
    gone = [m for m in matches if m.original is not None and (m.upstream is None) != (m.local is None)]
    new = [m for m in matches if m.original is None and m.upstream is not None and m.local is not None] if gone else []
    if not new:
        return matches
    on_sides = [{at: match for match in matches if (at := match.places[side]) is not None} for side in range(3)]

    def place(match: Match, side: int) -> tuple[Match | None, Match | None]:
        """The elements before and behind one."""
        at = match.places[side]
        assert at is not None
        return on_sides[side].get(at - 1), on_sides[side].get(at + 1)

    # Between two others: at the end of a list, what both added took nobody's place.
    at_one_place = {
        place(match, 1): match for match in new if place(match, 1) == place(match, 2) and None not in place(match, 1)
    }
    parted: dict[Match, Match] = {}
    for match in gone:
        if (renamed := at_one_place.get(place(match, 0))) is not None:
            parted[match] = replace(match, original=None)
            parted[renamed] = replace(renamed, original=match.original, is_addition=False)
    return [parted.get(match, match) for match in matches]


def match_by_key(items: Sequence[Sequence[Node]], kind: KeyedList) -> list[Match] | None:
    """Pairs elements by all key fields; None where that is not possible: a key twice, or elements without fields."""
    if not all(isinstance(item, MappingNode) for side in items for item in side):
        return None
    matches = _pair(
        [[_key(item, kind) for item in side] for side in items], lambda side, at: _step(items, kind, side, at)
    )
    # With a single key, another key is another element, whatever its name is.
    if matches is None or len(kind.keys) == 1:
        return matches
    return _joined_by_name(matches, items)


def match_objects(items: Sequence[Sequence[Node]]) -> list[Match] | None:
    """Pairs the objects of a `List` by what identifies a resource, those of one identity in order (R1)."""
    keys: list[list[Canonical]] = []
    for side in items:
        count: Counter[Canonical] = Counter()
        keys.append([])
        for item in side:
            if not isinstance(item, MappingNode):
                return None
            key = (identity_of(item), generate_name_of(item))
            keys[-1].append((*key, count[key]))
            count[key] += 1
    return _pair(keys, lambda side, at: at)


def _key(item: Node, kind: KeyedList) -> Canonical:
    def value_of(name: str) -> Canonical | None:
        value = item.get(name) if isinstance(item, MappingNode) else None
        return None if value is None or is_null(value) else value.canonical

    return element_key(kind.keys, value_of, dict(kind.defaults))


def _step(items: Sequence[Sequence[Node]], kind: KeyedList, side: int, at: int) -> Step:
    item = items[side][at]
    fields = [(name, item.get(name)) for name in kind.keys] if isinstance(item, MappingNode) else []
    return tuple((name, key_text(value)) for name, value in fields if value is not None) or at


def _pair(keys: list[list[Canonical]], step: Callable[[int, int], Step]) -> list[Match] | None:
    """Pairs by key; None where a side has a key twice."""
    places = [{key: at for at, key in enumerate(side)} for side in keys]
    if any(len(place) < len(side) for place, side in zip(places, keys, strict=True)):
        return None
    matches = []
    for key in dict.fromkeys(key for side in keys for key in side):
        original, upstream, local = (place.get(key) for place in places)
        # Paths name an element as local has it, else as upstream does.
        side, at = next((s, at) for s, at in ((2, local), (1, upstream), (0, original)) if at is not None)
        matches.append(Match(original, upstream, local, step(side, at)))
    return matches


def _joined_by_name(matches: list[Match], items: Sequence[Sequence[Node]]) -> list[Match]:
    """L1: elements that match by no key but carry one name, unique in each source, are one whose key changed."""
    names = [[_name(item) for item in side] for side in items]
    unique = [{name for name, count in Counter(side).items() if name and count == 1} for side in names]
    joined: dict[str, Match] = {}
    places: dict[str, int] = {}
    result: list[Match] = []
    for match in matches:
        positions = [(side, at) for side, at in enumerate(match.places) if at is not None]
        name = names[positions[0][0]][positions[0][1]]
        earlier = joined.get(name)
        fits = name and all(names[side][at] == name and name in unique[side] for side, at in positions)
        if not fits or (earlier is not None and any(earlier.places[side] is not None for side, _ in positions)):
            result.append(match)
        elif earlier is None:
            joined[name], places[name] = match, len(result)
            result.append(match)
        else:
            held_by = [a if a is not None else b for a, b in zip(earlier.places, match.places, strict=True)]
            # Paths name the element as local has it, else as upstream has it.
            step = earlier.step if earlier.local is not None or match.local is None else match.step
            joined[name] = result[places[name]] = Match(held_by[0], held_by[1], held_by[2], step)
    return result


def _name(item: Node) -> str:
    value = item.get("name") if isinstance(item, MappingNode) else None
    return key_text(value) if value is not None else ""
