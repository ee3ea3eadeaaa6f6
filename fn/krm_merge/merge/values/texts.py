"""The order of keys (rule L4), texts of several lines (V6, R4), and choices on single conflicts (M3 to M5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import Sides, Verdict, same
from krm_merge.merge.decisions.policy import Content, Nature, Policy, Resolution, content_of, fingerprint
from krm_merge.merge.lines.sequence import ChosenSide, Clash, Settling, come_twice, merge_sequences
from krm_merge.merge.lines.three_way import (
    AS_GIT,
    MergedText,
    Winner,
    loses_json,
    merge_added_lines,
    merge_lines,
    merge_lines_stably,
)
from krm_merge.schema import Secrecy, is_bookkeeping
from krm_merge.startup import frozen, pattern, replace
from krm_merge.text import (
    IN_COLLECTIONS,
    Canonical,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    from_value,
    read_all,
    read_wrapped,
    resolved,
    wrapped_lines,
)

if TYPE_CHECKING:
    from krm_merge.merge.values.tree import TreeMerge


Key = TypeVar("Key", bound=Hashable)


@frozen
class Order(Generic[Key]):
    """The merged order, and who had reordered."""

    keys: list[Key]
    upstream_reordered: bool
    local_reordered: bool


def merge_order(
    original: Sequence[Key], upstream: Sequence[Key], local: Sequence[Key], survivors: set[Key], *, reorder: bool = True
) -> Order[Key]:
    """Merges three orders of keys. Each key is once in a source; `survivors` are in upstream or local.

    With `reorder` False local's order is the base whatever upstream did (fields of mappings).
    """
    upstream_reordered = reorder and _has_reordered(original, upstream)
    if upstream_reordered:
        merged = [key for key in upstream if key in survivors]
        merged = _insert(merged, [key for key in local if key in survivors], local_into_upstream=True)
        return Order(merged, True, _has_reordered(original, local))
    merged = [key for key in local if key in survivors]
    merged = _insert(merged, [key for key in upstream if key in survivors], local_into_upstream=False)
    return Order(merged, False, _has_reordered(original, local))


def _has_reordered(original: Sequence[Key], side: Sequence[Key]) -> bool:
    if original == side:
        return False
    in_side, in_original = set(side), set(original)
    return [key for key in original if key in in_side] != [key for key in side if key in in_original]


def _insert(merged: list[Key], side: list[Key], *, local_into_upstream: bool) -> list[Key]:
    """The keys with those of a side that the base lacks inserted, one at a time, in the side's own order."""
    keys = set(merged)
    if keys.issuperset(side):
        return merged
    # Whose elements give way at a gap: those that only the base has, and that this side does not know.
    only_base = keys - set(side)
    # As a ring, since many may come in; None is before the first key and behind the last.
    following: dict[Key | None, Key | None] = dict(zip([None, *merged], [*merged, None], strict=True))
    before: Key | None = None
    for key in side:
        if key in keys:
            before = key
            continue
        if before is not None:
            # Where both sides added something in one gap, local's comes first.
            while not local_into_upstream and (behind := following[before]) is not None and behind in only_base:
                before = behind
        elif (after := next((later for later in side if later in keys), None)) is not None:
            before = _last_before(after, following, only_base if local_into_upstream else set())
        else:
            before = merged[-1] if merged else None
        following[key] = following[before]
        following[before] = before = key
    return _in_order(following)


def _last_before(key: Key, following: dict[Key | None, Key | None], passed: set[Key]) -> Key | None:
    """The key before this one, those passed over."""
    last: Key | None = None
    for candidate in _in_order(following):
        if candidate == key:
            break
        last = last if candidate in passed else candidate
    return last


def _in_order(following: dict[Key | None, Key | None]) -> list[Key]:
    keys: list[Key] = []
    at = following[None]
    while at is not None:
        keys.append(at)
        at = following[at]
    return keys


_SECTION = pattern(r"\s*\[([^\[\]]+)\]\s*\Z")
# Not `==`, which compares, or pins a version: such a line sets nothing.
_SETTING = pattern(r"\s*(?:export\s+)?([^\s=#;!\[\]][^\s=]*)\s*=(?!=)")
_COMMENT = pattern(r"\s*(?:[#;!]|\Z)")


@frozen
class _Line:
    """A line that sets a key or begins a section, with the comments and blank lines above it."""

    text: str
    head: tuple[str, ...]


@frozen
class SettingLines:
    """A text of settings: by section, its lines by key, that of the section itself by ''. The first section is ''.

    `foot` are the comments and blank lines at the end.
    """

    sections: dict[str, dict[str, _Line]]
    foot: tuple[str, ...]

    def of(self, section: str) -> dict[str, _Line]:
        """The lines of a section; none where it is missing."""
        return self.sections.get(section, {})


_NOTHING = _Line("", ())


def read_settings(lines: Sequence[str]) -> SettingLines | None:
    """The settings in a text; None where a line is anything else, or a key or a section is repeated."""
    sections: dict[str, dict[str, _Line]] = {"": {}}
    section = sections[""]
    head: list[str] = []
    for line in lines:
        if _COMMENT.match(line):
            head.append(line)
            continue
        begun, setting = _SECTION.match(line), _SETTING.match(line)
        # Behind a backslash the next line is part of the value, whatever it looks like.
        if line.rstrip().endswith("\\") or (begun is None and setting is None):
            return None
        if begun is not None:
            if begun[1] in sections:
                return None
            section = sections[begun[1]] = {}
        key = "" if setting is None or begun is not None else setting[1]
        if key in section:
            return None
        section[key] = _Line(line, tuple(head))
        head = []
    return SettingLines(sections, tuple(head)) if any(sections.values()) else None


def merge_settings(original: SettingLines, upstream: SettingLines, local: SettingLines, winner: Winner) -> MergedText:
    """Merges settings; where both changed, added or removed one differently, the winner has its way."""
    clashes: list[Clash] = []
    sides = (original, upstream, local)
    by_section: dict[str, dict[str, _Line]] = {}
    for section in dict.fromkeys([*local.sections, *upstream.sections]):
        before, theirs, ours = (side.of(section) for side in sides)
        merged = {
            key: line
            for key in dict.fromkeys([*ours, *theirs])
            if (line := _merge_setting(before.get(key), theirs.get(key), ours.get(key), winner, clashes)) is not None
        }
        if section and merged and "" not in merged:
            # Local or upstream removed the section, and the other has something new in it.
            merged[""] = ours.get("") or theirs[""]
        # As for the fields of a mapping, another order is no change: local's is kept.
        keys = merge_order(list(before), list(theirs), list(ours), set(merged), reorder=False).keys
        by_section[section] = {key: merged[key] for key in sorted(keys, key=bool)}
    names = [[name for name in side.sections if by_section.get(name)] for side in sides]
    order = merge_order(names[0], names[1], names[2], {*names[1], *names[2]}, reorder=False).keys
    lines = [
        line
        for name in order
        for setting_line in by_section[name].values()
        for line in (*setting_line.head, setting_line.text)
    ]
    lines += _merged_comments(original.foot, upstream.foot, local.foot)
    return MergedText("\n".join(lines), clashes.count("changed"), 0, clashes.count("alike"))


def _merge_setting(
    original: _Line | None, upstream: _Line | None, local: _Line | None, winner: Winner, clashes: list[Clash]
) -> _Line | None:
    """The line of one key."""
    before, theirs, ours = (None if line is None else line.text for line in (original, upstream, local))
    if theirs in (before, ours):
        settings = local
    elif ours == before:
        settings = upstream
    else:
        clashes.append("changed" if original is not None else "alike")
        settings = upstream if winner == "upstream" else local
    if settings is None:
        return None
    if upstream is None or local is None:
        return settings
    return _Line(settings.text, _merged_comments((original or _NOTHING).head, upstream.head, local.head))


def _merged_comments(original: Sequence[str], upstream: Sequence[str], local: Sequence[str]) -> tuple[str, ...]:
    """Comments and blank lines; where both changed the same ones, local's are kept (V8)."""
    runs = merge_sequences(original, upstream, local, Settling("local", loose=True))
    return tuple(line for run in runs for line in (upstream if run.side == "upstream" else local)[run.start : run.stop])


# The same file of a ConfigMap is often in many resources. A few, as texts may be large.
@lru_cache(maxsize=16)
def merge_text(original: str, upstream: str, local: str, winner: Winner, *, marks: bool = False) -> MergedText | None:
    """Merges a text that both sides changed. None: it is one conflict as a whole.

    Where git finds no conflict, its result is taken (law H). Otherwise settings merge by their keys, all else by lines.
    It is one conflict where the result would no longer be YAML or JSON as all three texts are, where it would have
    twice what both added, and where merging again would change it (law D). With `marks`, the winner has its way
    wherever the sides cannot agree, and the result is not checked: people see both ways between markers.
    """
    sides = (original, upstream, local)
    by_git = merge_lines(original, upstream, local, AS_GIT)
    if not by_git.conflicts and _keeps_form(sides, by_git.text) and not _doubles(sides, by_git.text):
        return by_git
    if (by_keys := _merged_settings(sides, winner)) is not None:
        return by_keys
    merged = merge_lines_stably(original, upstream, local, winner)
    if merged is not None and not merged.conflicts and _doubles(sides, merged.text):
        return None
    if marks:
        settling = Settling(winner, chooses_inserted=True)
        marked = merge_lines(original, upstream, local, settling)
        is_settled = merged is not None and not merged.conflicts and _keeps_form(sides, merged.text)
        if not marked.conflicts and not is_settled:
            # A conflict that is there for law D or the form alone leaves markers, too.
            marked = merge_lines(original, upstream, local, replace(settling, splits=False))
        return marked if marked.conflicts or _keeps_form(sides, marked.text) else None
    return merged if merged is not None and _keeps_form(sides, merged.text) else None


def merge_added_text(upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges a text that both sides added; None: it is one conflict as a whole, as it would not be YAML or JSON."""
    merged = merge_added_lines(upstream, local, winner)
    return merged if _keeps_form((upstream, upstream, local), merged.text) else None


def merge_wrapped(sides: Sides) -> Verdict | None:
    """V6 for a string that all sides write on several lines, folded or quoted, where no lines of it overlap."""
    written: list[str] = []
    for node in sides.nodes:
        lines = wrapped_lines(node) if isinstance(node, Scalar) else []
        if len(lines) < 2:
            return None
        written.append("\n".join(lines))
    merged = merge_lines(written[0], written[1], written[2], Settling("local"))
    node = None if merged.conflicts else read_wrapped(merged.text.split("\n"))
    # Law D compares nodes.
    return None if node is None else Verdict(sides.local if same(node, sides.local) else node, "V6", "both")


def choose_text(original: str, upstream: str, local: str, chosen: ChosenSide) -> str | None:
    """The merged text with this choice wherever both changed the same; the whole of a side where that is not possible.

    None where merging again would change the result, or where it would no longer be YAML or JSON as all three are.
    """
    sides = (original, upstream, local)
    settling = Settling(chosen, chooses_inserted=True)

    def choose(local: str) -> str:
        if chosen == "upstream" or chosen == "local":
            by_keys = _merged_settings((original, upstream, local), chosen)
            if by_keys is not None:
                return by_keys.text
        return merge_lines(original, upstream, local, settling).text

    text = choose(local)
    return text if choose(text) == text and _keeps_form(sides, text) else None


def _merged_settings(sides: tuple[str, str, str], winner: Winner) -> MergedText | None:
    """The texts merged by keys; None where not all of them are settings."""
    original, upstream, local = (read_settings(side.split("\n")) for side in sides)
    if original is None or upstream is None or local is None:
        return None
    return merge_settings(original, upstream, local, winner)


def _keeps_form(sides: tuple[str, str, str], text: str) -> bool:
    """Whether a text is YAML, JSON or settings where all three sides are; no key may be repeated there."""

    def has_settings(text: str) -> bool:
        return read_settings(text.split("\n")) is not None

    tests: tuple[Callable[[str], bool], ...] = (_holds_collections, has_settings)
    # JSON is YAML, too: that the text is still YAML does not say that it is JSON.
    if loses_json(*sides, text):
        return False
    return all(test(text) or not all(map(test, sides)) for test in tests)


def _doubles(sides: tuple[str, str, str], text: str) -> bool:
    """Whether a mapping that both sides added to a list is there more often than on either of them (law G)."""
    # Lines first, as reading takes long.
    if not come_twice(*(side.split("\n") for side in (*sides, text))):
        return False
    before, theirs, ours, merged = map(_elements, (*sides, text))
    added = theirs.keys() & ours.keys() - before.keys()
    return any(merged[element] > max(theirs[element], ours[element]) for element in added)


def _elements(text: str) -> Counter[Canonical]:
    """The mappings in the lists of a text that is YAML."""
    elements: Counter[Canonical] = Counter()
    if IN_COLLECTIONS.isdisjoint(text):
        return elements
    try:
        pending = list(read_all(text))
    except TextError:
        return elements
    while pending:
        node = resolved(pending.pop())
        if isinstance(node, MappingNode):
            pending += (entry.value for entry in node.fields.values())
        elif isinstance(node, SequenceNode):
            pending += node.items
            elements.update(item.canonical for item in map(resolved, node.items) if isinstance(item, MappingNode))
    return elements


def _holds_collections(text: str) -> bool:
    """Whether a text is YAML that holds only mappings and lists: other texts are scalars in YAML, or do not parse."""
    if text[:1].isalnum() and IN_COLLECTIONS.isdisjoint(text):
        # Reading is most of the time that a text of a few lines takes.
        return False
    try:
        return not any(isinstance(root, Scalar) for root in read_all(text))
    except TextError:
        return False


Chosen: TypeAlias = "tuple[Node | None] | None"
"""The value under a choice, in a tuple of one; None where the choice does not fit this place."""

_RULES: Final[dict[Nature, str]] = {
    "value": "V4",
    "kind": "V5",
    "text": "V6",
    "added-twice": "V4",
    "sequence": "L3",
    "functions": "F3",
    "alternative": "V7",
    "element": "F5",
    "order": "L4",
}
_VALUES: Final = frozenset[Nature](("value", "kind", "text", "added-twice", "sequence", "functions"))


def resolved_value(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict | None:
    """The verdict on a value as it was chosen for just these sides; None where nobody chose."""
    return answer_of_choices(merge, _VALUES, path, sides, lambda resolution: _value(resolution, sides))


def resolved_side(merge: TreeMerge, natures: Collection[Nature], path: FieldPath, sides: Sides) -> Verdict | None:
    """The same where only one of the two sides can be chosen as it is."""

    def chosen(resolution: Resolution) -> Chosen:
        return {"upstream": (sides.upstream,), "local": (sides.local,)}.get(resolution.choice)

    return answer_of_choices(merge, natures, path, sides, chosen)


def answer_of_choices(
    merge: TreeMerge,
    natures: Collection[Nature],
    path: FieldPath,
    sides: Sides,
    chosen: Callable[[Resolution], Chosen],
) -> Verdict | None:
    """The verdict of the first resolution of these natures that fits; `chosen` gives what it makes of the sides."""
    for resolution in merge.policy.resolutions_at(path):
        if resolution.nature not in natures:
            continue
        fit = fit_of(merge, resolution, path, sides)
        choice = chosen(resolution) if fit else None
        if choice is None or (fit == "but-local" and not _is_in_place(resolution, choice[0], sides)):
            continue
        return Verdict(choice[0], _RULES[resolution.nature], "both", "info", explanation(resolution), resolution)
    return None


def fit_of(merge: TreeMerge, resolution: Resolution, path: FieldPath, sides: Sides) -> str:
    """How far the sides are those of a resolution. For a hidden value it is about its place alone (M6)."""
    kind = merge.policy.kind
    if merge.secrecy.hides(path, sides.nodes):
        # What is in no resource is known by its file.
        holds = (resolution.resource is not None or not kind) and resolution.choice in ("upstream", "local")
        place = merge.secrecy.place(path, sides.nodes)
        is_same_place = resolution.fingerprint == fingerprint(resolution.nature, kind or merge.file, place, None)
        return "exact" if holds and is_same_place and sides.settled() is None else ""
    return resolution.fit(kind, *map(content_of, sides.nodes))


def explanation(resolution: Resolution) -> str:
    """The message for a conflict that a choice settled."""
    return f"upstream and local differ; settled by {resolution.place or 'a resolution'}: {resolution.choice}"


def _is_in_place(resolution: Resolution, node: Node | None, sides: Sides) -> bool:
    """M5: whether local has what the resolution makes of it, so that it was carried out already."""
    if resolution.choice == "local" and (resolution.nature != "text" or texts_of(sides) is None):
        # Anything that local has would do.
        return False
    return same(node, sides.local)


def _value(resolution: Resolution, sides: Sides) -> Chosen:
    choice = resolution.choice
    if choice == "recognise":
        return None
    if choice == "value":
        node = from_value(resolution.value)
        # Local's node where it has the value: a new one would be an edit at every merge.
        return (sides.local,) if same(node, sides.local) else (node,)
    if choice == "original":
        # Of a text, too, all of it: that it was chosen could not be seen line by line later.
        return (sides.original,) if sides.original is not None else None
    if resolution.nature == "text" and (texts := texts_of(sides)) is not None:
        text = choose_text(*texts, choice)
        if text is not None:
            return (_text_node(text, sides),)
    if choice == "upstream":
        return (sides.upstream,)
    if choice == "local":
        return (sides.local,)
    if isinstance(sides.upstream, SequenceNode) and isinstance(sides.local, SequenceNode):
        first, second = sides.upstream, sides.local
        return (_append(first, second) if choice == "upstream-then-local" else _append(second, first),)
    return None


def _append(first: SequenceNode, second: SequenceNode) -> SequenceNode:
    """The elements of one list, then those that only the other has."""
    values = {item.canonical for item in first.items}
    more = [item for item in second.items if item.canonical not in values]
    return SequenceNode.new(False, [*map(resolved, first.items), *map(resolved, more)])


def texts_of(sides: Sides) -> tuple[str, str, str] | None:
    """The text of each side, None unless all three are strings."""
    texts = [node.text for node in sides.present if isinstance(node, Scalar) and type(node.canonical) is str]
    return (texts[0], texts[1], texts[2]) if len(texts) == 3 else None


def _text_node(text: str, sides: Sides) -> Node:
    for node in (sides.local, sides.upstream, sides.original):
        if node is not None and node.canonical == text:
            return node
    return Scalar.new(text, '"')


# ---- whole resources -------------------------------------------------------------------------------------------------


def resolved_existence(
    policy: Policy, original: MappingNode | None, upstream: MappingNode | None, local: MappingNode | None
) -> Resolution | None:
    """The choice on a resource that one side lacks, where it fits."""
    roots = [root for root in (original, upstream, local) if root is not None]
    secret = Secrecy(roots, policy.redactions).hides((), roots)
    contents = [resource_content(root) for root in (original, upstream, local)]
    for resolution in policy.resolutions_at(()):
        if resolution.nature != "resource" or resolution.choice not in ("upstream", "local"):
            continue
        if secret:
            is_same_place = resolution.fingerprint == fingerprint("resource", policy.kind, (), None)
            fit = "exact" if is_same_place and resolution.resource is not None and contents[1] != contents[2] else ""
        else:
            fit = resolution.fit(policy.kind, contents[0], contents[1], contents[2])
        is_in_place = resolution.choice == "upstream" and contents[1] == contents[2]
        if fit == "exact" or (fit and is_in_place):
            return resolution
    return None


def resource_content(root: MappingNode | None) -> Content:
    """A resource without what differs between packages: its name, and the annotations that are no values (R6)."""
    content = content_of(root)
    value = content[0] if content else None
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(metadata, dict):
        return content
    rest = {name: inner for name, inner in metadata.items() if name not in ("name", "namespace")}
    annotations = rest.get("annotations")
    if isinstance(annotations, dict):
        values = {name: inner for name, inner in annotations.items() if not is_bookkeeping(name)}
        rest = {name: inner for name, inner in rest.items() if name != "annotations"}
        rest |= {"annotations": values} if values else {}
    return [{**value, "metadata": rest}]
