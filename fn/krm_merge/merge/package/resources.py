"""Which resource of one side is which of the others (rules R1, R3), in which packages and of which schemas.

Source: kpt's `pkg/lib/util/attribution`. Commas separate the parts of the annotation. Those that name commands of kpt
are kpt's own: `kpt-pkg-fn` up to v1.0.0-beta.58, `krm-pkg-fn` since v1.0.0-beta.59. The others are the author's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from posixpath import dirname
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from krm_merge.krm import KPTFILE, Resource, identity_of, is_list
from krm_merge.merge.decisions.decision import MERGE_POLICY, UPSTREAM_IDENTIFIER, Decision, Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.three_way import MERGE_COMMENT, CommentReader
from krm_merge.merge.package.narrow import Document
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
from krm_merge.startup import pattern, replace
from krm_merge.text import Canonical, MappingNode, Scalar, TextError, from_value, key_text, mapping_canonical, resolved

Triple: TypeAlias = tuple[Member | None, Member | None, Member | None]
"""A resource in original, upstream and local."""

_Row: TypeAlias = list[Member | None]

# `operator.v2.31.0`, `web-1.2`: not a number alone, by which people count.
_RELEASE = pattern(r"[.-]v?[0-9]+\.[0-9][\w.-]*")
_NAMES = ("name", "namespace", "generateName")


def follow_renames(triples: list[Triple], package_of: Callable[[str], str]) -> tuple[list[Triple], dict[int, Member]]:
    """Joins what is one resource under two names: one that a side no longer has, and one that only this side has.

    Equal but for name and namespace, and in no third resource that comes or goes on that side; or in one file another
    release: the group of the API, or the version at the end of the name; or renamed by both alike, as the only one of
    its kind that goes and comes in the file. Returns the resources, and by id() of the original the one new resource of
    its kind in its file, which it may have become. `package_of` gives the package around a file: none leaves it.
    """
    rows: list[_Row | None] = [list(triple) for triple in triples]
    _join_common(rows)
    likely: dict[int, Member] = {}
    for side in (1, 2):
        lost = [at for at, row in enumerate(rows) if row and row[0] is not None and row[side] is None]
        new = [at for at, row in enumerate(rows) if row and row[0] is None and row[side] is not None]
        if not lost or not new:
            continue
        joined = _join_equal(rows, lost, new, side, package_of) | _join_versions(rows, lost, new, side)
        for old in lost:
            member = _member(rows, old, 0) if old not in joined else None
            if member is None:
                continue
            # C: what neither side has any more did not become what both have.
            is_gone = not _has(rows, old, 3 - side)
            others = [at for at in new if at not in joined and not (is_gone and _has(rows, at, 3 - side))]
            candidates = [at for at in others if _may_be(member, _member(rows, at, side))]
            if len(candidates) != 1:
                continue
            if is_gone and _join(rows, old, candidates[0]):
                # F5: this side changed what the other one removed.
                joined |= {old, candidates[0]}
            else:
                likely.setdefault(id(member), _member(rows, candidates[0], side))
    return [(row[0], row[1], row[2]) for row in rows if row is not None], likely


def _join_common(rows: list[_Row | None]) -> None:
    """Joins what neither side has any more with what both have instead."""
    gone: dict[Hashable, list[int]] = {}
    come: dict[Hashable, list[int]] = {}
    for at, row in enumerate(rows):
        original, upstream, local = row or (None, None, None)
        if original is not None and upstream is None and local is None:
            gone.setdefault((original.place, original.identity.group_kind), []).append(at)
        elif original is None and upstream is not None and local is not None and upstream.place == local.place:
            come.setdefault((local.place, local.identity.group_kind), []).append(at)
    for key, olds in gone.items():
        news = come.get(key, [])
        if len(olds) == len(news) == 1:
            _join(rows, olds[0], news[0])


def _join_equal(
    rows: list[_Row | None], lost: Sequence[int], new: Sequence[int], side: int, package_of: Callable[[str], str]
) -> set[int]:
    """Joins rows whose resources are equal but for their names; returns both rows of each."""
    now: dict[Hashable, list[int]] = {}
    for at in new:
        now.setdefault(_content(_member(rows, at, side), package_of), []).append(at)
    before: dict[Hashable, set[int]] = {}
    for at in lost:
        # After a merge local has what upstream changed in it.
        for member in (rows[at] or ())[:side]:
            if member is not None:
                before.setdefault(_content(member, package_of), set()).add(at)
    joined: set[int] = set()
    for content, olds in before.items():
        news = now.get(content, [])
        if content is not None and len(olds) == len(news) == 1 and _join(rows, next(iter(olds)), news[0]):
            joined |= {*olds, news[0]}
    return joined


def _join_versions(rows: list[_Row | None], lost: Sequence[int], new: Sequence[int], side: int) -> set[int]:
    """Joins rows of one file, kind, namespace and name without its version."""
    by_label: dict[Hashable, list[int]] = {}
    for at in new:
        if rows[at] is not None:
            by_label.setdefault(_label(_member(rows, at, side)), []).append(at)
    joined: set[int] = set()
    for old in lost:
        row = rows[old]
        others = by_label.get(_label(_member(rows, old, 0)), []) if row is not None and row[side] is None else []
        if len(others) == 1 and _join(rows, old, others[0]):
            joined |= {old, others[0]}
    return joined


def _label(member: Member) -> Hashable:
    identity = member.identity
    return member.place, identity.kind, identity.namespace, _RELEASE.sub("", identity.name or member.generate_name)


def _join(rows: list[_Row | None], old: int, new: int) -> bool:
    """Makes one row of two, unless a side has both: then they are two."""
    row, other = rows[old], rows[new]
    if row is None or other is None or any(a is not None and b is not None for a, b in zip(row, other, strict=True)):
        return False
    rows[old], rows[new] = [a if a is not None else b for a, b in zip(row, other, strict=True)], None
    return True


def _may_be(old: Member, new: Member) -> bool:
    return old.place == new.place and old.identity.group_kind == new.identity.group_kind


def _member(rows: Sequence[_Row | None], at: int, side: int) -> Member:
    row = rows[at]
    member = row[side] if row is not None else None
    assert member is not None
    return member


def _has(rows: Sequence[_Row | None], at: int, side: int) -> bool:
    row = rows[at]
    return row is not None and row[side] is not None


def _content(member: Member, package_of: Callable[[str], str]) -> Hashable | None:
    """A resource without what names it; None where nothing else is in it: of two empty ones nothing says that."""
    fields: dict[Canonical, Canonical] = {}
    has_content = False
    for key, entry in member.root.fields.items():
        value = resolved(entry.value)
        if key == "metadata" and isinstance(value, MappingNode):
            inner = {name: e.value.canonical for name, e in value.fields.items() if name not in _NAMES}
            if inner:
                fields[key] = mapping_canonical(inner)
            continue
        has_content = has_content or key not in ("apiVersion", "kind")
        fields[key] = value.canonical
    if not has_content:
        return None
    return package_of(member.place), member.identity.group_kind, mapping_canonical(fields)


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
        if is_list(member.root):
            return ObjectListSchema(self.of_object)
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


class Matched(NamedTuple):
    """Original, upstream and local of each resource; by id() of an original, what it may have been renamed to."""

    triples: list[Triple]
    likely_renames: dict[int, Member]


def match_resources(
    original: Sequence[Member],
    upstream: Sequence[Member],
    local: Sequence[Member],
    folders: Folders,
    pipeline: Pipeline | None = None,
) -> Matched:
    """Original, upstream and local of each resource, in local's order, then upstream's (R1).

    A resource is matched within its package. Where a side has an identity in more than one place, it is matched within
    one file. Renames are followed by kpt's notes, by what local's `pipeline` does, and where they are nothing else.
    """
    members = (*original, *upstream, *local)
    unplaced = {(m.identity.group, m.identity.kind) for m in members if not m.is_placed and _is_nameless(m)}
    sides: list[dict[PlacedIdentity, list[Member]]] = [{}, {}, {}]

    def identity_of(member: Member) -> PlacedIdentity:
        if not _is_nameless(member):
            return _identity(member, folders)
        # Only its file distinguishes it from others of its kind.
        group, kind = member.identity.group, member.identity.kind
        return ("" if (group, kind) in unplaced else member.place, group, kind, "", "")

    for at, side_members in enumerate((original, upstream)):
        for member in side_members:
            sides[at].setdefault(identity_of(member), []).append(member)
    identities = sides[0].keys() | sides[1].keys()
    local_identities = {identity_of(member) for member in local} & identities
    missing = [] if pipeline is None else [m for m in original if identity_of(m) not in local_identities]
    rendered = {} if pipeline is None else _rendered_identities(missing, pipeline, folders)
    for member in local:
        identity = identity_of(member)
        if identity not in local_identities and not _is_nameless(member):
            # A resource that has the name itself is it, whatever another one's note says.
            noted = rendered.get(identity) or _upstream_identity(member, folders, identities)
            identity = identity if noted in local_identities else noted
        sides[2].setdefault(identity, []).append(member)
    triples: list[Triple] = []
    for identity in dict.fromkeys([*sides[2], *sides[1], *sides[0]]):
        triples += _align([side.get(identity, []) for side in sides])
    return Matched(*follow_renames(triples, folders.of))


def _align(sides: list[list[Member]]) -> list[Triple]:
    """Aligns the members of one identity: where a side has several, those of one file."""
    # Where the identity is there once on each side, the file does not matter, and need not be looked at.
    if max(len(side) for side in sides) == 1:
        row = [side[0] if side else None for side in sides]
        return [(row[0], row[1], row[2])]
    if not all(member.is_placed for side in sides for member in side):
        # Where nobody said which file they are in, they count as of one.
        return list(_aligned_in_file(*sides))
    by_file: dict[str, list[list[Member]]] = {}
    for at, side in enumerate(sides):
        for member in side:
            by_file.setdefault(member.place, [[], [], []])[at].append(member)
    return [triple for members in by_file.values() for triple in _aligned_in_file(*members)]


def _aligned_in_file(original: list[Member], upstream: list[Member], local: list[Member]) -> Iterator[Triple]:
    """The original's members with those of each side, then what both sides added, then what one side added."""
    theirs, ours = _pairs(original, upstream), _pairs(original, local)
    for at, member in enumerate(original):
        yield member, theirs.pop(at, None), ours.pop(at, None)
    added, local_rest = list(theirs.values()), list(ours.values())
    both = _pairs(added, local_rest)
    for at, member in enumerate(added):
        yield None, member, both.pop(at, None)
    for member in both.values():
        yield None, None, member


def _pairs(first: Sequence[Member], second: Sequence[Member]) -> dict[int, Member]:
    """Members of one identity and file by the number of the one they are: equal ones, the others in their order.

    Those that are none of the first have a number behind theirs.
    """
    pairs: dict[int, Member] = {}
    free = dict(enumerate(first))
    rest: list[Member] = []
    for member in second:
        equal = next((at for at, m in free.items() if m.root.canonical == member.root.canonical), None)
        if equal is None:
            rest.append(member)
        else:
            del free[equal]
            pairs[equal] = member
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
    """The identities of resources of the original by those that functions give them (R14)."""
    identities = {}
    for member in original:
        if not _is_nameless(member) and (value := pipeline.rendered(member, None)):
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
