"""Which functions of a pipeline are the same on the three sides (rules F1-F4, F6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from krm_merge.krm.fieldpath import Step
from krm_merge.merge.values.images import image_repository
from krm_merge.merge.values.matching import Match
from krm_merge.startup import frozen, replace
from krm_merge.text.reading.nodes import Canonical, Mapping, Node, resolved, text_canonical
from krm_merge.text.reading.values import key_text

SIMILARITY_THRESHOLD = 0.5
"""Functions of one image that are less alike than this are different functions, where there is a choice (F6)."""


@frozen
class NotIdentified:
    """Why the functions of a list cannot be told apart (F3)."""

    reason: str


@frozen
class PipelineFunction:
    """What identifies a function."""

    name: str
    image: str
    exec: str
    node: Node

    @property
    def label(self) -> str:
        """How messages name it."""
        return self.name or image_repository(self.image) or self.exec or "function without image or exec"

    @property
    def program(self) -> str:
        """What it runs, without the version."""
        return image_repository(self.image) if self.image else self.exec

    def step(self, position: int) -> Step:
        """Its step in a path."""
        if self.name:
            return (("name", self.name),)
        if self.image:
            return (("image", image_repository(self.image)),)
        return (("exec", self.exec),) if self.exec else position


def read_functions(items: Iterable[Node]) -> list[PipelineFunction]:
    """What identifies each function of a list."""
    functions = []
    for item in items:
        node = resolved(item)
        functions.append(PipelineFunction(_text(node, "name"), _text(node, "image"), _text(node, "exec"), node))
    return functions


def match_functions(
    original: Sequence[Node], upstream: Sequence[Node], local: Sequence[Node], *, smart: bool
) -> list[Match] | NotIdentified:
    """Pairs the functions of the three sides, or says why the list has to be taken as one value."""
    sides = [read_functions(items) for items in (original, upstream, local)]
    if smart:
        return _match_smart(*sides)
    named = [bool(function.name) for side in sides for function in side]
    if all(named):
        # F1: an absent or empty list satisfies it.
        duplicate = _first_duplicate([f.name for f in side] for side in sides)
        if duplicate:
            return NotIdentified(f"the name {duplicate} is there more than once in a list")
        return _match_keys([[f.name for f in side] for side in sides], sides)
    if any(named):
        return NotIdentified("only some of the functions have a name")
    if any(not function.program for side in sides for function in side):
        return NotIdentified("a function has neither image nor exec")
    keys = [[f.program for f in side] for side in sides]
    duplicate = _first_duplicate(keys)
    if duplicate:
        return NotIdentified(f"no function has a name and {duplicate} is there more than once in a list")
    return _join_moved(_match_keys(keys, sides), sides)


def _first_duplicate(sides: Iterable[list[str]]) -> str:
    for keys in sides:
        for key, count in Counter(keys).items():
            if count > 1:
                return key
    return ""


def _match_keys(keys: Sequence[Sequence[str]], sides: Sequence[Sequence[PipelineFunction]]) -> list[Match]:
    """Pairs by equal keys, each unique in its side."""
    places = [{key: index for index, key in enumerate(side)} for side in keys]
    matches = []
    for key in dict.fromkeys(key for side in keys for key in side):
        at = [place.get(key) for place in places]
        side = next(i for i in (2, 1, 0) if at[i] is not None)
        index = at[side]
        assert index is not None
        matches.append(Match(at[0], at[1], at[2], sides[side][index].step(index)))
    return matches


def _join_moved(matches: list[Match], sides: Sequence[Sequence[PipelineFunction]]) -> list[Match]:
    """F4: joins functions of one image that moved to another registry, where that is the only way to read it."""
    joined = list(matches)
    for match in matches:
        if match.original is None:
            continue
        program = sides[0][match.original]
        upstream, local = match.upstream, match.local
        if upstream is None:
            upstream = _moved(program, joined, sides, 1)
        if local is None:
            local = _moved(program, joined, sides, 2)
        if (upstream, local) == (match.upstream, match.local):
            continue
        parts = [m for m in joined if m.original is None and (_has(m, 1, upstream) or _has(m, 2, local))]
        upstreams = {m.upstream for m in [match, *parts]} - {None}
        locals_ = {m.local for m in [match, *parts]} - {None}
        if len(upstreams) > 1 or len(locals_) > 1:
            continue
        upstream, local = next(iter(upstreams), None), next(iter(locals_), None)
        step = match.step
        for side, position in ((2, local), (1, upstream)):
            if position is not None:
                step = sides[side][position].step(position)
                break
        joined = [m for m in joined if m not in parts]
        joined[joined.index(match)] = Match(match.original, upstream, local, step, moved_registry=True)
    return joined


def _has(match: Match, side: int, position: int | None) -> bool:
    return position is not None and (match.upstream if side == 1 else match.local) == position


def _moved(
    function: PipelineFunction, matches: list[Match], sides: Sequence[Sequence[PipelineFunction]], side: int
) -> int | None:
    """The one function of a side that is this one from another registry, or None."""
    if not function.image:
        return None
    segment = function.program.rpartition("/")[2]
    if sum(1 for other in sides[0] if other.image and other.program.rpartition("/")[2] == segment) != 1:
        return None
    candidates = [i for i, f in enumerate(sides[side]) if f.image and f.program.rpartition("/")[2] == segment]
    if len(candidates) != 1:
        return None
    free = any(m.original is None and _has(m, side, candidates[0]) for m in matches)
    return candidates[0] if free else None


def _match_smart(
    original: list[PipelineFunction], upstream: list[PipelineFunction], local: list[PipelineFunction]
) -> list[Match]:
    """F6: first original with upstream, then local with what these pairs hold; the most alike first.

    A function that only upstream added is one that local added if that cannot be another one (F7).
    """
    pairs = _assign([[f] for f in original], upstream)
    groups: list[list[PipelineFunction]] = [
        [f, upstream[pairs[i]]] if i in pairs else [f] for i, f in enumerate(original)
    ]
    free = [i for i in range(len(upstream)) if i not in pairs.values()]
    groups += [[upstream[i]] for i in free]
    locals_ = _assign(groups, local, added=range(len(original), len(groups)))
    matches = []
    for index in range(len(groups)):
        at_local = locals_.get(index)
        in_original = index < len(original)
        at_upstream = pairs.get(index) if in_original else free[index - len(original)]
        matches.append(Match(index if in_original else None, at_upstream, at_local, 0))
    matches += [Match(None, None, i, 0) for i in range(len(local)) if i not in locals_.values()]
    return [replace(match, step=_smart_step(match, original, upstream, local)) for match in matches]


def _smart_step(
    match: Match, original: list[PipelineFunction], upstream: list[PipelineFunction], local: list[PipelineFunction]
) -> Step:
    for side, position in ((local, match.local), (upstream, match.upstream), (original, match.original)):
        if position is not None:
            step = side[position].step(position)
            unique = sum(1 for i, f in enumerate(side) if f.step(i) == step) == 1
            return step if unique else position
    raise AssertionError("a match without a function")


def _assign(
    groups: Sequence[Sequence[PipelineFunction]], side: Sequence[PipelineFunction], added: range = range(0)
) -> dict[int, int]:
    """One to one: group index to position, the best scores first, ties by order; `added` are groups without original.

    A function added by both sides matches by its name, or where nothing but the version differs (F7).
    """
    scored = []
    for g, group in enumerate(groups):
        for i, function in enumerate(side):
            score = max(_similarity(member, function) for member in group)
            if g in added and score < 2.0:
                score = 2.0 if differ_in_version_only(group[0].node, function.node) else 0.0
            if score > 0:
                scored.append((-score, abs(g - i), g, i))
    taken: dict[int, int] = {}
    used: set[int] = set()
    for negative, _, g, i in sorted(scored):
        if g in taken or i in used:
            continue
        if -negative < SIMILARITY_THRESHOLD and not _only_choice(groups, side, g, i):
            continue
        taken[g] = i
        used.add(i)
    return taken


def differ_in_version_only(first: Node, second: Node) -> bool:
    """Whether two functions are the same but for the version of their image (F7)."""
    return _without_version(first) == _without_version(second)


def _without_version(node: Node) -> object:
    if not isinstance(node, Mapping):
        return node.canonical
    fields: dict[Canonical, object] = {key: entry.value.canonical for key, entry in node.fields.items()}
    if image := _text(node, "image"):
        fields[text_canonical("image")] = image_repository(image)
    return fields


def _only_choice(
    groups: Sequence[Sequence[PipelineFunction]], side: Sequence[PipelineFunction], g: int, i: int
) -> bool:
    program = side[i].program
    alike = sum(1 for group in groups if any(f.program == program for f in group))
    return alike == 1 and sum(1 for f in side if f.program == program) == 1 and bool(groups[g])


def _similarity(first: PipelineFunction, second: PipelineFunction) -> float:
    """How alike: 3 for equal ones, 2 for one name, up to 1 for one image by its configuration, 0 for different ones.

    Each entry of the configuration counts 1 if equal, 1/2 if only the field is there on both sides.
    """
    if first.node.canonical == second.node.canonical:
        return 3.0
    if first.name and second.name:
        return 2.0 if first.name == second.name else 0.0
    if not first.program or not _same_program(first, second):
        return 0.0
    ours, theirs = _configuration(first.node), _configuration(second.node)
    keys = ours.keys() | theirs.keys()
    if not keys:
        return 1.0
    points = sum(1.0 if ours.get(k) == theirs.get(k) else 0.5 for k in keys if k in ours and k in theirs)
    # Never 0: one image with another configuration may still be the same function where nothing else can be.
    return max(points / len(keys), 0.01)


def _same_program(first: PipelineFunction, second: PipelineFunction) -> bool:
    if bool(first.image) != bool(second.image):
        return False
    return first.program == second.program or (
        bool(first.image) and first.program.rpartition("/")[2] == second.program.rpartition("/")[2]
    )


def _configuration(node: Node) -> dict[str, object]:
    entries: dict[str, object] = {}
    if isinstance(node, Mapping):
        for entry in node.fields.values():
            field, value = key_text(entry.key), resolved(entry.value)
            if field in ("name", "image", "exec"):
                continue
            if isinstance(value, Mapping):
                entries |= {f"{field}.{key_text(e.key)}": e.value.canonical for e in value.fields.values()}
            else:
                entries[field] = value.canonical
    return entries


def _text(node: Node, field: str) -> str:
    value = node.get(field) if isinstance(node, Mapping) else None
    return key_text(value) if value is not None and value.canonical[0] == "str" else ""
