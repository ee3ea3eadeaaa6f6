"""Which functions of a pipeline are the same on all sides (rules F1, F3, F4, F6), and conditions on a Kptfile (K3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

from krm_merge.krm import FieldPath, Step
from krm_merge.merge.values.identity import Match
from krm_merge.merge.values.images import image_repository
from krm_merge.schema import FUNCTION_ALTERNATIVES, FUNCTION_LISTS, KPTFILE_SHAPE, KptfileShape
from krm_merge.startup import frozen, replace
from krm_merge.text import Canonical, MappingNode, Node, Scalar, SequenceNode, is_null, key_text, resolved


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
        return self.name or image_repository(self.image) or self.exec or "without image or exec"

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
    if smart and not isinstance(matches := _match_smart(*sides), NotIdentified):
        return matches
    named = [bool(function.name) for side in sides for function in side]
    if all(named):
        # F1: an absent or empty list satisfies it.
        duplicate = _first_duplicate([f.name for f in side] for side in sides)
        if duplicate:
            return NotIdentified(f"the name {duplicate} appears more than once in a list")
        return _match_keys([[f.name for f in side] for side in sides], sides)
    if any(named):
        return NotIdentified("only some of the functions have a name")
    if any(not function.program for side in sides for function in side):
        return NotIdentified("a function has neither image nor exec")
    keys = [[f.program for f in side] for side in sides]
    duplicate = _first_duplicate(keys)
    if duplicate:
        return NotIdentified(f"no function has a name and {duplicate} appears more than once in a list")
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
    """F6: by name, else by image without version, repeated ones by equal configuration."""
    if any(not function.name and not function.program for side in (original, upstream, local) for function in side):
        return NotIdentified("a function has neither image nor exec")
    theirs = _pairs(original, upstream, original)
    if isinstance(theirs, NotIdentified):
        return theirs
    # After a merge local has what upstream has.
    ours = _pairs(original, local, [upstream[theirs[at]] if at in theirs else f for at, f in enumerate(original)])
    if isinstance(ours, NotIdentified):
        return ours
    added = [at for at in range(len(upstream)) if at not in theirs.values()]
    free = [at for at in range(len(local)) if at not in ours.values()]
    both: dict[int, int] = {}
    for i in added:
        same = (j for j in free if j not in both.values() and _is_one_addition(upstream[i], local[j]))
        if (j := next(same, None)) is not None:
            both[i] = j
    matches = [Match(at, theirs.get(at), ours.get(at), 0) for at in range(len(original))]
    matches += [Match(None, at, both.get(at), 0) for at in added]
    matches += [Match(None, None, at, 0) for at in free if at not in both.values()]
    steps = [steps_of(side) for side in (original, upstream, local)]
    return [replace(match, step=_first_step(match, steps)) for match in matches]


def _pairs(
    original: list[PipelineFunction], side: list[PipelineFunction], newer: list[PipelineFunction]
) -> dict[int, int] | NotIdentified:
    """The position on a side of each function of the original that is there; `newer` are versions of the original's."""
    pairs: dict[int, int] = {}
    steps = (
        (_name_trait, original),
        (_unnamed_trait, original),
        (_configuration_trait, newer),
        (_configuration_trait, original),
        (_program_trait, original),
    )
    for trait_of, functions in steps:
        before = _places_by(trait_of, functions, pairs.keys())
        after = _places_by(trait_of, side, pairs.values())
        for trait, places in before.items():
            others = after.get(trait, [])
            # Two names are two functions, whatever they run.
            if len(places) == len(others) == 1 and _may_be(original[places[0]], side[others[0]]):
                pairs[places[0]] = others[0]
    left = _places_by(_label_trait, original, pairs.keys()), _places_by(_label_trait, side, pairs.values())
    if repeated := [places[0] for label, places in left[0].items() if label in left[1]]:
        return NotIdentified(f"{original[repeated[0]].label} appears more than once, and no two are equal")
    return pairs


def _may_be(function: PipelineFunction, other: PipelineFunction) -> bool:
    return not function.name or not other.name or function.name == other.name


def _places_by(
    trait_of: Callable[[PipelineFunction], Hashable | None], side: list[PipelineFunction], paired: Collection[int]
) -> dict[Hashable, list[int]]:
    places: dict[Hashable, list[int]] = {}
    for at, function in enumerate(side):
        if at not in paired and (trait := trait_of(function)) is not None:
            places.setdefault(trait, []).append(at)
    return places


def _name_trait(function: PipelineFunction) -> Hashable | None:
    return function.name or None


def _program_trait(function: PipelineFunction) -> Hashable | None:
    """What a function runs; a registry may have moved."""
    program = _segment(function) or function.program
    return (bool(function.image), program) if program else None


def _unnamed_trait(function: PipelineFunction) -> Hashable | None:
    return None if function.name else _program_trait(function)


def _label_trait(function: PipelineFunction) -> Hashable | None:
    return function.name or _program_trait(function)


def _configuration_trait(function: PipelineFunction) -> Hashable | None:
    program = _unnamed_trait(function)
    return None if program is None else (program, _without_image(function.node))


def _without_image(node: Node) -> Hashable:
    if not isinstance(node, MappingNode):
        return node.canonical
    return frozenset((key, entry.value.canonical) for key, entry in node.fields.items() if key != "image")


def _is_one_addition(upstream: PipelineFunction, local: PipelineFunction) -> bool:
    """F7: whether both sides added one function: of one name, or nothing but the version differs."""
    if upstream.name or local.name:
        return upstream.name == local.name
    return differ_in_version_only(upstream.node, local.node)


def _first_step(match: Match, steps: Sequence[list[Step]]) -> Step:
    """The step of a function as local has it, else as upstream or the original has it."""
    pairs = zip(reversed(steps), reversed(match.places), strict=True)
    return next(side[position] for side, position in pairs if position is not None)


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


def _text(node: Node, field: str) -> str:
    value = node.get(field) if isinstance(node, MappingNode) else None
    return key_text(value) if value is not None and type(value.canonical) is str else ""


@frozen
class KptfileFault:
    """Something that kpt would refuse in a Kptfile. `function` is the name of the one that it is about."""

    problem: str
    path: FieldPath
    function: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for the same fault in another version of the Kptfile."""
        names = tuple(step for step in self.path if isinstance(step, str))
        return (self.problem, names, self.function)


def faults(root: MappingNode) -> list[KptfileFault]:
    """The faults of a Kptfile: values of other kinds than kpt reads, and functions that cannot run."""
    faults_of_kptfile = [*_shape_faults(root, KPTFILE_SHAPE, ())]
    for path in FUNCTION_LISTS:
        read = read_functions(functions_at(root, path))
        names = Counter(function.name for function in read if function.name)
        for name, count in names.items():
            if count > 1:
                problem = f"the function {name} has a name that {count} functions have"
                faults_of_kptfile.append(KptfileFault(problem, path, name))
        for function, step in zip(read, steps_of(read), strict=True):
            if isinstance(function.node, MappingNode):
                problems = _function_problems(function, function.node)
                about = f"the function {function.label} has"
                faults_of_kptfile += (KptfileFault(f"{about} {p}", (*path, step), function.label) for p in problems)
    return faults_of_kptfile


def _function_problems(function: PipelineFunction, node: MappingNode) -> Iterator[str]:
    if not function.image and not function.exec:
        yield "neither image nor exec"
    if function.image and function.exec:
        yield "both image and exec"
    configs = [name for name in FUNCTION_ALTERNATIVES[1] if node.get(name) is not None]
    if len(configs) > 1:
        yield f"both {' and '.join(configs)}"


def _shape_faults(node: Node, shape: KptfileShape, path: FieldPath) -> Iterator[KptfileFault]:
    if isinstance(shape, str):
        if not isinstance(node, Scalar):
            yield KptfileFault("a string is expected", path)
    elif isinstance(shape, list):
        if not isinstance(node, SequenceNode):
            yield KptfileFault("a list is expected", path)
            return
        for at, item in enumerate(node.items):
            yield from _shape_faults(resolved(item), shape[0], (*path, at))
    elif not isinstance(node, MappingNode):
        yield KptfileFault("a mapping is expected", path)
    else:
        for entry in node.fields.values():
            name, value = key_text(entry.key), resolved(entry.value)
            of_field = shape.get(name, shape.get("*"))
            if of_field is not None and not is_null(value):
                yield from _shape_faults(value, of_field, (*path, name))


def functions_at(root: MappingNode, path: FieldPath) -> list[Node]:
    """The functions in a list of the pipeline; none where there is no such list."""
    node: Node | None = root
    for name in path:
        value = node.get(name) if isinstance(node, MappingNode) and isinstance(name, str) else None
        node = None if value is None else resolved(value)
    return list(node.items) if isinstance(node, SequenceNode) else []
