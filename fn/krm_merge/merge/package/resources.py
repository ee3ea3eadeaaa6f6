"""Which resource of one side is which of the others (rules R1, R3), in which packages and of which schemas.

Source: kpt's `pkg/lib/util/attribution`. Commas separate the parts of the annotation. Those that name commands of kpt
are kpt's own: `kpt-pkg-fn` up to v1.0.0-beta.58, `krm-pkg-fn` since v1.0.0-beta.59. The others are the author's.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from posixpath import dirname
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from krm_merge.krm import KPTFILE, Resource, identity_of
from krm_merge.merge.decisions.decision import MERGE_POLICY, UPSTREAM_IDENTIFIER, Decision, Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.three_way import MERGE_COMMENT, CommentReader
from krm_merge.merge.package.narrow import Document
from krm_merge.merge.package.renames import Triple, follow_renames, moved_files
from krm_merge.merge.values.likeness import likeness
from krm_merge.schema import (
    GROUP,
    KINDS,
    CrdSchema,
    KustomizationSchema,
    ObjectListSchema,
    Schema,
    WithListKeys,
    any_object_schema,
    builtin_schema,
    crd_schemas,
)
from krm_merge.startup import frozen, pattern, replace
from krm_merge.text import MappingNode, Scalar, TextError, best_pairs, from_value, key_text, resolved

if TYPE_CHECKING:
    from krm_merge.merge.package.pipeline_effects import Pipeline

BLUEPRINT = "cnrm.cloud.google.com/blueprint"
"""The annotation in which kpt notes its commands."""

CONFIG_CONNECTOR = ".cnrm."
"""What apiVersions have to which kpt writes it."""

_FIELD = f'metadata.annotations["{BLUEPRINT}"]'
_OF_KPT = pattern(r"(?:kpt|krm)(?:-(?:pkg|fn|live))+")


def attribution(value: str) -> str:
    """The parts of the annotation that kpt wrote."""
    return ",".join(part for part in value.split(",") if _OF_KPT.fullmatch(part))


def with_attribution(member: Member | None, like: Member | None) -> Member | None:
    """The resource with the attribution that another version of it has, so that the author's parts alone differ."""
    # Hardly any resource has the annotation: a search in the texts spares all others the edit.
    if member is None or like is None or BLUEPRINT not in member.text + like.text:
        return member
    resource = Resource.from_tree(member.root)
    before = resource.annotations.get(BLUEPRINT, "")
    attribute(resource, attribution(Resource.from_tree(like.root).annotations.get(BLUEPRINT, "")))
    if resource.annotations.get(BLUEPRINT, "") == before:
        return member
    try:
        return replace(member, root=resource.merged())
    except TextError:
        return member


def attribute(resource: Resource, local: str) -> None:
    """Writes this attribution of kpt's, '' for none, behind the author's parts."""
    now = resource.annotations.get(BLUEPRINT, "")
    author = [part for part in now.split(",") if part and not _OF_KPT.fullmatch(part)]
    value = ",".join([*author, *([local] if local else [])])
    if value and value != now:
        resource.set(_FIELD, value)
    elif now and not value:
        resource.remove(_FIELD)


CRD = "CustomResourceDefinition"


def definitions_in(documents: Iterable[Document]) -> Iterator[MappingNode]:
    """The CRDs among documents; what does not name the kind is not read."""
    for document in documents:
        if CRD.encode() in document.data and (member := document.member()) is not None:
            yield member.root


class Schemas:
    """Schemas by group, version and kind. The definitions are asked for when a type is not built in."""

    def __init__(self, definitions: Callable[[], Iterable[MappingNode]]) -> None:
        """Takes what gives the CRDs of all sides, the least important first: the last of a kind counts."""
        self._definitions = definitions
        self._custom: dict[tuple[str, str, str], CrdSchema] | None = None
        self._known: dict[tuple[str, str, str], Schema] = {}

    def __getstate__(self) -> dict[str, object]:
        # What the definitions say, without what would read them.
        return {**self.__dict__, "_custom": self._of_definitions(), "_definitions": tuple}

    def of(self, member: Member) -> Schema:
        """The schema of a resource."""
        node = member.root.get("apiVersion")
        version = node.text.rpartition("/")[2] if isinstance(node, Scalar) else ""
        key = (member.identity.group, version, member.identity.kind)
        schema = self._known.get(key)
        if schema is None:
            schema = self._known[key] = self._found(key)
        return schema

    def of_object(self, root: MappingNode) -> Schema:
        """The schema of an object that is no member of a package itself."""
        return self.of(Member("", identity_of(root), root, ""))

    def _found(self, key: tuple[str, str, str]) -> Schema:
        # P7: built-in types first, then definitions in the package.
        if key[0] == GROUP and key[2] in KINDS:
            return KustomizationSchema()
        if key == ("", "v1", "List"):
            return ObjectListSchema(self.of_object)
        if (key[0], key[2]) == MERGE_POLICY:
            # M1: choices on single conflicts never come from upstream.
            return WithListKeys(any_object_schema(), (), (("resolutions",),))
        if (builtin := builtin_schema(*key)) is not None:
            return builtin
        return self._of_definitions().get(key) or any_object_schema()

    def _of_definitions(self) -> dict[tuple[str, str, str], CrdSchema]:
        if self._custom is None:
            self._custom = crd_schemas(self._definitions())
        return self._custom


class Folders:
    """The folders of packages. `kptfiles` is what becomes of their Kptfiles."""

    def __init__(self, kptfiles: Iterable[ResourceOutcome], policy: Policy, unreadable: Iterable[str] = ()) -> None:
        """Looks at the outcomes; `report` adds decisions to them. `unreadable` are folders with a broken Kptfile."""
        self._policy = policy
        self._unreadable = set(unreadable)
        self._kptfiles = {dirname(outcome.member.place): outcome for outcome in kptfiles}
        self._closed = {folder: outcome for folder, outcome in self._kptfiles.items() if _is_closed(outcome)}

    def of(self, place: str) -> str:
        """The package that a file belongs to; the root is ''."""
        folder = dirname(place)
        # A broken Kptfile marks a package, too: its resources are not those of the package around it.
        while folder and folder not in self._kptfiles and folder not in self._unreadable:
            folder = dirname(folder)
        return folder

    def closed(self, place: str) -> ResourceOutcome | None:
        """The Kptfile of the package around a file or folder that takes nothing from upstream, else None."""
        while place:
            if (outcome := self._closed.get(place)) is not None:
                return outcome
            place = dirname(place)
        return None

    def report(self, place: str) -> None:
        """Reports, once for each package, that a change of upstream at this place does not come in."""
        outcome = self.closed(place)
        if outcome is not None and not outcome.decisions:
            outcome.decisions.append(left_alone(outcome, self._policy))

    def with_surviving_kptfiles(self, inhabited: Iterable[str]) -> list[ResourceOutcome]:
        """The outcomes, but no subpackage loses its Kptfile while resources remain in it.

        `inhabited` are the places of what local still has after the merge; they are looked at only when it matters.
        """
        if not any(outcome.fate == "deleted" for outcome in self._kptfiles.values()):
            return list(self._kptfiles.values())
        folders = {self.of(place) for place in inhabited if not place.endswith(f"/{KPTFILE}")}
        return [
            _keep(o, self._policy) if o.fate == "deleted" and f in folders else o for f, o in self._kptfiles.items()
        ]


def is_other_package(reference: Member | None, local: Member) -> bool:
    """R3: whether the local subpackage comes from elsewhere than the original's."""
    if reference is None:
        return False
    theirs, ours = reference.root.get("upstream"), local.root.get("upstream")
    if theirs is None or ours is None:
        return theirs is not ours
    return theirs.canonical != ours.canonical


def left_alone(kptfile: ResourceOutcome, policy: Policy) -> Decision:
    """The decision that reports a subpackage that takes nothing from upstream."""
    folder = dirname(kptfile.member.place)
    if kptfile.local is None:
        what = f"the subpackage {folder}: local removed it, upstream changed what is in it"
        return _conflict(what, "upstream's changes stay out", kptfile, policy)
    message = f"the subpackage {folder} follows another upstream locally; it is left alone"
    return Decision("R3", ("upstream",), message, "upstream", "warning", is_reported=True)


def _conflict(what: str, outcome: str, kptfile: ResourceOutcome, policy: Policy) -> Decision:
    policy = policy.of(kptfile.member.identity)
    return Decision("F5", (), policy.explanation((), what, outcome), "both", policy.severity(()), is_reported=True)


def _is_closed(kptfile: ResourceOutcome) -> bool:
    if kptfile.member.place == KPTFILE or kptfile.fate == "added":
        return False
    if kptfile.local is None:
        return kptfile.original is not None
    if kptfile.original is None and kptfile.upstream is None:
        # Local's own: it takes nothing from here if it follows an upstream of its own.
        return kptfile.local.root.get("upstream") is not None
    return is_other_package(kptfile.original or kptfile.upstream, kptfile.local)


def _keep(kptfile: ResourceOutcome, policy: Policy) -> ResourceOutcome:
    folder = dirname(kptfile.member.place)
    what = f"the subpackage {folder}: upstream removed it, local has resources of its own in it"
    decision = _conflict(what, "its Kptfile stays", kptfile, policy)
    return ResourceOutcome("kept", kptfile.original, kptfile.upstream, kptfile.local, [decision])


_CLUSTER_SCOPED = "~C"
_DEFAULT_NAMESPACE = "default"

PlacedIdentity: TypeAlias = tuple[str, str, str, str, str]
"""Package folder (of what has no name its file), group, kind, namespace and name."""


@frozen
class Paths:
    """The files of each side."""

    original: Container[str]
    upstream: Container[str]
    local: Container[str]


class Matched(NamedTuple):
    """Original, upstream and local of each resource; by id() of an original, what it may have been renamed to."""

    triples: list[Triple]
    likely_renames: dict[int, Member]


def match_resources(
    original: Sequence[Member],
    upstream: Sequence[Member],
    local: Sequence[Member],
    folders: Folders,
    paths: Paths | None = None,
    pipeline: Pipeline | None = None,
) -> Matched:
    """Original, upstream and local of each resource, in local's order, then upstream's (R1).

    A resource is matched within its package. Where a side has an identity in more than one place, it is matched within
    one file; files that a side moved as a whole are followed, and so are renames, local's `pipeline` included. `paths`
    are the files of each side, by default those of the members.
    """
    paths = paths or Paths(*({member.place for member in side} for side in (original, upstream, local)))

    @cache
    def places() -> Sequence[Mapping[str, str]]:
        # Where names tell all resources apart, nobody has to look which files were moved.
        moved_upstream = moved_files(original, upstream, paths.original, paths.upstream, paths.local)
        moved_locally = moved_files(original, local, paths.original, paths.local, paths.upstream)
        # After a merge, a file of local's own may look like one that upstream deleted: local's is kept (law D).
        moved = set(moved_upstream.values())
        return {}, moved_upstream, {n: o for n, o in moved_locally.items() if o in paths.upstream or o in moved}

    members = (*original, *upstream, *local)
    unplaced = {(m.identity.group, m.identity.kind) for m in members if not m.is_placed and _is_nameless(m)}
    sides: list[dict[PlacedIdentity, list[Member]]] = [{}, {}, {}]

    def identity_of(member: Member, side: int) -> PlacedIdentity:
        if not _is_nameless(member):
            return _identity(member, folders)
        # Only its file distinguishes it from others of its kind.
        group, kind = member.identity.group, member.identity.kind
        place = "" if (group, kind) in unplaced else places()[side].get(member.place, member.place)
        return (place, group, kind, "", "")

    for at, side_members in enumerate((original, upstream)):
        for member in side_members:
            sides[at].setdefault(identity_of(member, at), []).append(member)
    identities = sides[0].keys() | sides[1].keys()
    local_identities = {identity_of(member, 2) for member in local} & identities
    rendered = {} if pipeline is None else _rendered_identities(original, pipeline, folders)
    for member in local:
        identity = identity_of(member, 2)
        if identity not in local_identities and not _is_nameless(member):
            # A resource that has the name itself is it, whatever another one's note says.
            noted = rendered.get(identity) or _upstream_identity(member, folders, identities)
            identity = identity if noted in local_identities else noted
        sides[2].setdefault(identity, []).append(member)
    triples: list[Triple] = []
    for identity in dict.fromkeys([*sides[2], *sides[1], *sides[0]]):
        triples += _align([side.get(identity, []) for side in sides], places)
    return Matched(*follow_renames(triples, places))


def _align(sides: list[list[Member]], places: Callable[[], Sequence[Mapping[str, str]]]) -> list[Triple]:
    """Aligns the members of one identity: where a side has several, those of one file."""
    # Where the identity is there once on each side, the file does not matter, and need not be looked at.
    if max(len(side) for side in sides) == 1:
        row = [side[0] if side else None for side in sides]
        return [(row[0], row[1], row[2])]
    by_file: dict[str, list[list[Member]]] = {}
    for at, side in enumerate(sides):
        for member in side:
            by_file.setdefault(places()[at].get(member.place, member.place), [[], [], []])[at].append(member)
    return [triple for members in by_file.values() for triple in _aligned_in_file(*members)]


def _aligned_in_file(original: list[Member], upstream: list[Member], local: list[Member]) -> Iterator[Triple]:
    """The original's members with those of each side, then what both sides added, then what one side added."""
    theirs = _pairs(original, upstream, {})
    ours = _pairs(original, local, theirs)
    for at, member in enumerate(original):
        yield member, theirs.pop(at, None), ours.pop(at, None)
    added, local_rest = list(theirs.values()), list(ours.values())
    both = _pairs(added, local_rest, {})
    for at, member in enumerate(added):
        yield None, member, both.pop(at, None)
    for member in both.values():
        yield None, None, member


def _pairs(first: Sequence[Member], second: Sequence[Member], upstream: Mapping[int, Member]) -> dict[int, Member]:
    """Members of one identity and file by the number of the one they are: equal ones, then alike, then in order.

    Those that are none of the first have a number behind theirs. After a merge local may have one as `upstream` has it,
    by the same numbers (law D).
    """
    pairs: dict[int, Member] = {}
    free = dict(enumerate(first))
    rest: list[Member] = []
    for member in second:
        value = member.root.canonical
        versions = ((at, version) for members in (free, upstream) for at, version in members.items() if at in free)
        equal = next((at for at, version in versions if version.root.canonical == value), None)
        if equal is None:
            rest.append(member)
        else:
            del free[equal]
            pairs[equal] = member
    # One of each is the same resource, however unlike they are: nothing has to be compared.
    if len(free) * len(rest) > 1:
        alike = best_pairs([[likeness(candidate.root, other.root) for other in rest] for candidate in free.values()])
        numbers = [*free]
        pairs |= {numbers[row]: rest[column] for row, column in alike}
        free = {at: member for at, member in free.items() if at not in pairs}
        rest = [candidate for column, candidate in enumerate(rest) if column not in {other for _, other in alike}]
    return pairs | dict(zip([*free, *range(len(first), len(first) + len(rest))], rest, strict=False))


def _is_nameless(member: Member) -> bool:
    return not member.identity.name and not member.generate_name


def _identity(member: Member, folders: Folders) -> PlacedIdentity:
    identity = member.identity
    name = identity.name or f"{member.generate_name}*"
    return (folders.of(member.place), identity.group, identity.kind, identity.namespace, name)


def _rendered_identities(
    original: Iterable[Member], pipeline: Pipeline, folders: Folders
) -> dict[PlacedIdentity, PlacedIdentity]:
    """The original's identities by those that functions give its resources (R14)."""
    identities = {}
    for member in original:
        if not _is_nameless(member) and (value := pipeline.rendered(member)):
            root = from_value(value)
            identities[_identity(replace(member, identity=identity_of(root)), folders)] = _identity(member, folders)
    return identities


def _upstream_identity(member: Member, folders: Folders, identities: set[PlacedIdentity]) -> PlacedIdentity:
    """R1: a local rename is followed by kpt's comment, else by its annotation."""
    folder, group, kind, namespace, name = plain = _identity(member, folders)
    noted = _noted_in_comment(member.root)
    if noted is None:
        identifier = _noted_in_annotation(member.root)
        if identifier is None:
            return plain
        group, kind, *noted = identifier
    namespace, name = noted
    # kpt notes `default` where a resource has no namespace.
    for candidate in (namespace, "" if namespace == _DEFAULT_NAMESPACE else namespace):
        identity = (folder, group, kind, candidate, name)
        if identity in identities:
            return identity
    return plain


def _noted_in_comment(root: MappingNode) -> list[str] | None:
    """Namespace and name of `# kpt-merge: namespace/name`."""
    entry = root.entry("metadata")
    line = CommentReader().of(root, entry).line if entry is not None else None
    if line is None or not line.startswith(MERGE_COMMENT):
        return None
    namespace, _, name = line.removeprefix(MERGE_COMMENT).strip().partition("/")
    return [namespace, name] if name else None


def _noted_in_annotation(root: MappingNode) -> list[str] | None:
    """Group, kind, namespace and name of kpt's annotation."""
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, MappingNode) else None
    node = annotations.get(UPSTREAM_IDENTIFIER) if isinstance(annotations, MappingNode) else None
    parts = key_text(resolved(node)).split("|") if isinstance(node, Scalar) else []
    if len(parts) != 4:
        return None
    return [part if part != _CLUSTER_SCOPED else "" for part in parts]
