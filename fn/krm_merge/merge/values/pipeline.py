"""Which functions of a pipeline are the same on the three sides (rules F1-F4, F6), and conditions on a Kptfile (K3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from krm_merge.krm import FieldPath, Step
from krm_merge.merge.decisions.decision import same
from krm_merge.merge.values.likeness import Match, image_repository
from krm_merge.schema import FUNCTION_LISTS
from krm_merge.startup import frozen, replace
from krm_merge.text import Canonical, MappingNode, Node, SequenceNode, key_text, resolved

SIMILARITY_THRESHOLD = 0.5
"""Functions of one image that are less alike than this are different functions, where there is a choice (F6)."""

MOST_COMPARED = 10_000
"""Pairs of functions that are compared (F6); of more, no one could say which are the same."""


@frozen
class NotIdentified:
    """Why the functions of a list cannot be identified (F3)."""

    reason: str


@frozen
class PipelineFunction:
    """The fields that identify a function."""

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
        """The program that it runs, without the version."""
        return image_repository(self.image) if self.image else self.exec

    def step(self, position: int) -> Step:
        """Its step in a path."""
        if self.name:
            return (("name", self.name),)
        if self.image:
            return (("image", image_repository(self.image)),)
        return (("exec", self.exec),) if self.exec else position


def read_functions(items: Iterable[Node]) -> list[PipelineFunction]:
    """The fields that identify each function of a list."""
    functions = []
    for item in items:
        node = resolved(item)
        functions.append(PipelineFunction(_text(node, "name"), _text(node, "image"), _text(node, "exec"), node))
    return functions


def steps_of(functions: Sequence[PipelineFunction]) -> list[Step]:
    """The step of each function of a list in a path: its position where another one would have the same."""
    steps = [function.step(position) for position, function in enumerate(functions)]
    count = Counter(steps)
    return [step if count[step] == 1 else position for position, step in enumerate(steps)]


def match_functions(
    original: Sequence[Node], upstream: Sequence[Node], local: Sequence[Node], *, smart: bool
) -> list[Match] | NotIdentified:
    """Pairs the functions of the three sides, or says why the list has to be taken as one value."""
    sides = [read_functions(items) for items in (original, upstream, local)]
    if smart:
        matches = _match_smart(*sides)
        return matches if isinstance(matches, NotIdentified) else _join_renamed(matches, sides)
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


def _join_renamed(matches: list[Match], sides: Sequence[Sequence[PipelineFunction]]) -> list[Match]:
    """F6: joins a function to which both sides gave other names: on each side it is the only one of its program."""
    counts = [Counter(map(_program, side)) for side in sides]
    alone: list[dict[tuple[bool, str], Match]] = [{}, {}, {}]
    for match in matches:
        # What a side did not rename is joined already, and what both have alike needs no original (law D).
        if match.places.count(None) == 2 or (match.original is None and not _is_same_on_both(match, sides)):
            for side, at in enumerate(match.places):
                if at is not None:
                    alone[side][_program(sides[side][at])] = match
    joined = dict(zip(matches, matches, strict=True))
    for program in set.intersection(*map(set, alone)):
        if program[1] and all(count[program] == 1 for count in counts):
            original, upstream, local = (of_side[program] for of_side in alone)
            joined[original] = replace(local, original=original.original, upstream=upstream.upstream)
            for match in {upstream, local}:
                del joined[match]
    return list(joined.values())


def _is_same_on_both(match: Match, sides: Sequence[Sequence[PipelineFunction]]) -> bool:
    _, upstream, local = (None if at is None else side[at].node for side, at in zip(sides, match.places, strict=True))
    return same(upstream, local)


def _program(function: PipelineFunction) -> tuple[bool, str]:
    """What a function runs, and whether that is an image."""
    return bool(function.image), function.program


def _join_moved(matches: list[Match], sides: Sequence[Sequence[PipelineFunction]]) -> list[Match]:
    """F4: joins functions of one image that moved to another registry, where that is the only way to read it."""
    places = [_places_of_images(side) for side in sides]
    # What the sides added, by its position there.
    added = [{m.places[side]: m for m in matches if m.original is None} for side in range(len(sides))]
    joined = dict(zip(matches, matches, strict=True))
    for match in matches:
        if match.original is None:
            continue
        segment = _segment(sides[0][match.original])
        is_only_one = len(places[0].get(segment, ())) == 1
        positions = list(match.places)
        for side in (1, 2):
            candidates = places[side].get(segment, ()) if is_only_one else ()
            if len(candidates) == 1 and candidates[0] in added[side]:
                positions[side] = candidates[0]
        if tuple(positions) == match.places:
            continue
        parts = {
            m for side in (1, 2) if positions[side] is not None and (m := added[side].get(positions[side])) is not None
        }
        upstreams, locals_ = ({m.places[side] for m in (match, *parts)} - {None} for side in (1, 2))
        if len(upstreams) > 1 or len(locals_) > 1:
            continue
        upstream, local = next(iter(upstreams), None), next(iter(locals_), None)
        step = match.step
        for side, position in ((2, local), (1, upstream)):
            if position is not None:
                step = sides[side][position].step(position)
                break
        for part in parts:
            del joined[part]
            for side in (1, 2):
                added[side].pop(part.places[side], None)
        joined[match] = Match(match.original, upstream, local, step, moved_registry=True)
    return list(joined.values())


def _segment(function: PipelineFunction) -> str:
    """The last segment of the image, which registries share; '' where the function has no image."""
    return function.program.rpartition("/")[2] if function.image else ""


def _places_of_images(side: Sequence[PipelineFunction]) -> dict[str, list[int]]:
    """The positions of the functions of each image, whatever its registry."""
    places: dict[str, list[int]] = {}
    for position, function in enumerate(side):
        if segment := _segment(function):
            places.setdefault(segment, []).append(position)
    return places


def _match_smart(
    original: list[PipelineFunction], upstream: list[PipelineFunction], local: list[PipelineFunction]
) -> list[Match] | NotIdentified:
    """F6: first original with upstream, then local with what these pairs hold; the most alike first.

    A function that only upstream added is one that local added if that cannot be another one (F7).
    """
    pairs = _assign([[f] for f in original], upstream)
    if isinstance(pairs, NotIdentified):
        return pairs
    groups: list[list[PipelineFunction]] = [
        [f, upstream[pairs[i]]] if i in pairs else [f] for i, f in enumerate(original)
    ]
    paired = set(pairs.values())
    free = [i for i in range(len(upstream)) if i not in paired]
    groups += [[upstream[i]] for i in free]
    locals_ = _assign(groups, local, added=range(len(original), len(groups)))
    if isinstance(locals_, NotIdentified):
        return locals_
    matches = []
    for index in range(len(groups)):
        at_local = locals_.get(index)
        in_original = index < len(original)
        at_upstream = pairs.get(index) if in_original else free[index - len(original)]
        matches.append(Match(index if in_original else None, at_upstream, at_local, 0))
    matched = set(locals_.values())
    matches += [Match(None, None, i, 0) for i in range(len(local)) if i not in matched]
    steps = [steps_of(side) for side in (original, upstream, local)]
    return [replace(match, step=_first_step(match, steps)) for match in matches]


def _first_step(match: Match, steps: Sequence[list[Step]]) -> Step:
    """The step of a function as local has it, else as upstream or the original has it."""
    pairs = zip(reversed(steps), reversed(match.places), strict=True)
    return next(side[position] for side, position in pairs if position is not None)


def _assign(
    groups: Sequence[Sequence[PipelineFunction]], side: Sequence[PipelineFunction], added: range = range(0)
) -> dict[int, int] | NotIdentified:
    """One to one: group index to position, the best scores first, ties by order; `added` are groups without original.

    A function added by both sides matches by its name, or where nothing but the version differs (F7).
    """
    candidates: list[set[int]] = []
    left = MOST_COMPARED
    for of_group in _candidates(groups, side):
        candidates.append(of_group)
        left -= len(of_group)
        # Counted before any two are compared: the limit is for the time that this takes.
        if left < 0:
            return NotIdentified(f"functions of one image are alike in more than {MOST_COMPARED:,} ways")
    configurations = {id(f): _configuration(f.node) for functions in (*groups, side) for f in functions}
    scored = []
    for g, group in enumerate(groups):
        for i in candidates[g]:
            score = max(_similarity(member, side[i], configurations) for member in group)
            if g in added and score < 2.0:
                score = 2.0 if differ_in_version_only(group[0].node, side[i].node) else 0.0
            if score > 0:
                # Sorted by this: the most alike first, then the nearest, then the earliest.
                scored.append((-score, abs(g - i), g, i))
    in_groups = Counter(program for group in groups for program in {function.program for function in group})
    in_side = Counter(function.program for function in side)
    assigned: dict[int, int] = {}
    used: set[int] = set()
    for negative, _, g, i in sorted(scored):
        if g in assigned or i in used:
            continue
        is_only_choice = in_groups[side[i].program] == 1 and in_side[side[i].program] == 1
        if -negative < SIMILARITY_THRESHOLD and not is_only_choice:
            continue
        assigned[g] = i
        used.add(i)
    return assigned


def _candidates(groups: Sequence[Sequence[PipelineFunction]], side: Sequence[PipelineFunction]) -> Iterator[set[int]]:
    """For each group the functions of a side that may be alike at all: of one name, one program or one value."""
    by_trait: dict[object, list[int]] = {}
    for i, function in enumerate(side):
        for trait in (("value", function.node.canonical), ("name", function.name), _program_trait(function)):
            by_trait.setdefault(trait, []).append(i)
    for group in groups:
        of_group: set[int] = set()
        for function in group:
            of_group.update(by_trait.get(("value", function.node.canonical), ()))
            if function.name:
                of_group.update(by_trait.get(("name", function.name), ()))
            if function.program:
                # Two names are two functions, whatever they run.
                of_group.update(by_trait.get(_program_trait(function, named=False), ()))
                of_group.update(() if function.name else by_trait.get(_program_trait(function, named=True), ()))
        yield of_group


def _program_trait(function: PipelineFunction, *, named: bool | None = None) -> tuple[object, ...]:
    """A trait that functions of one program share; functions with and without a name differ in it."""
    named = bool(function.name) if named is None else named
    return ("program", named, bool(function.image), _segment(function) or function.program)


def differ_in_version_only(first: Node, second: Node) -> bool:
    """Whether two functions are the same but for the version of their image (F7)."""
    return _without_version(first) == _without_version(second)


def _without_version(node: Node) -> object:
    if not isinstance(node, MappingNode):
        return node.canonical
    fields: dict[Canonical, object] = {key: entry.value.canonical for key, entry in node.fields.items()}
    if image := _text(node, "image"):
        fields["image"] = image_repository(image)
    return fields


def _similarity(
    first: PipelineFunction, second: PipelineFunction, configurations: dict[int, dict[str, object]]
) -> float:
    """How alike: 3 for equal ones, 2 for one name, up to 1 for one image by its configuration, 0 for different ones.

    Each entry of the configuration counts 1 if equal, 1/2 if only the field is there on both sides. `configurations`
    holds them by the id() of the functions.
    """
    if first.node.canonical == second.node.canonical:
        return 3.0
    if first.name and second.name:
        return 2.0 if first.name == second.name else 0.0
    if not first.program or not _same_program(first, second):
        return 0.0
    ours, theirs = configurations[id(first)], configurations[id(second)]
    shared = ours.keys() & theirs.keys()
    together = len(ours) + len(theirs) - len(shared)
    if not together:
        return 1.0
    points = sum(1.0 if ours[key] == theirs[key] else 0.5 for key in shared)
    # Never 0: one image with another configuration may still be the same function where nothing else can be.
    return max(points / together, 0.01)


def _same_program(first: PipelineFunction, second: PipelineFunction) -> bool:
    if bool(first.image) != bool(second.image):
        return False
    return first.program == second.program or (
        bool(first.image) and first.program.rpartition("/")[2] == second.program.rpartition("/")[2]
    )


def _configuration(node: Node) -> dict[str, object]:
    entries: dict[str, object] = {}
    if isinstance(node, MappingNode):
        for entry in node.fields.values():
            field, value = key_text(entry.key), resolved(entry.value)
            if field in ("name", "image", "exec"):
                continue
            if isinstance(value, MappingNode):
                # Each key counts alone: one changed value of a configMap does not make another function.
                entries |= {f"{field}.{key_text(e.key)}": e.value.canonical for e in value.fields.values()}
            else:
                entries[field] = value.canonical
    return entries


def _text(node: Node, field: str) -> str:
    value = node.get(field) if isinstance(node, MappingNode) else None
    return key_text(value) if value is not None and type(value.canonical) is str else ""


@frozen
class KptfileFault:
    """Something that kpt would refuse in a Kptfile. `function` names it, whatever its position."""

    kind: str
    path: FieldPath
    function: str

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for the same fault in another version of the Kptfile."""
        return (self.kind, self.path[:2], self.function)


def faults(root: MappingNode) -> list[KptfileFault]:
    """The faults of a Kptfile's pipeline."""
    faults_of_pipeline: list[KptfileFault] = []
    for path in FUNCTION_LISTS:
        read = read_functions(functions_at(root, path))
        names = Counter(function.name for function in read if function.name)
        for name, count in names.items():
            if count > 1:
                faults_of_pipeline.append(KptfileFault(f"has a name that {count} functions have", path, name))
        for function, step in zip(read, steps_of(read), strict=True):
            at = (*path, step)
            node = function.node
            if not isinstance(node, MappingNode):
                faults_of_pipeline.append(KptfileFault("is not a mapping", at, function.label))
                continue
            if not function.image and not function.exec:
                faults_of_pipeline.append(KptfileFault("has neither image nor exec", at, function.label))
            if function.image and function.exec:
                faults_of_pipeline.append(KptfileFault("has both image and exec", at, function.label))
            if node.get("configPath") is not None and node.get("configMap") is not None:
                faults_of_pipeline.append(KptfileFault("has both configPath and configMap", at, function.label))
    return faults_of_pipeline


def functions_at(root: MappingNode, path: FieldPath) -> list[Node]:
    """The functions in a list of the pipeline; none where there is no such list."""
    node: Node | None = root
    for name in path:
        value = node.get(name) if isinstance(node, MappingNode) and isinstance(name, str) else None
        node = None if value is None else resolved(value)
    return list(node.items) if isinstance(node, SequenceNode) else []
