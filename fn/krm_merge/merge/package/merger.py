"""Three-way merge of a package: which resource is which on the other sides, what becomes of it (rules K, R)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from posixpath import dirname
from typing import TYPE_CHECKING, Protocol

from krm_merge.krm import ANY, KPTFILE, FieldPath, Resource, Results, Step
from krm_merge.merge.decisions.decision import (
    MERGE_POLICY,
    Decision,
    Fate,
    Member,
    ResourceOutcome,
)
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.package.document import FieldMerge, Rendered, merge_document
from krm_merge.merge.package.resources import Folders, is_other_package, left_alone, with_attribution
from krm_merge.merge.values.images import image_repository
from krm_merge.merge.writing.comments import lost_comments_of
from krm_merge.schema import KeyedList, KptfileSchema, Schema, WithListKeys, any_object_schema, is_around_local
from krm_merge.startup import frozen, replace
from krm_merge.text import (
    Canonical,
    Entry,
    MappingNode,
    Node,
    SequenceNode,
    document_text,
    key_text,
    mapping_canonical,
    resolved,
)

if TYPE_CHECKING:
    from krm_merge.merge.package.narrow import Document
    from krm_merge.merge.package.pipeline_effects import Pipeline, ReadPipeline
    from krm_merge.merge.package.resources import Matched, Triple


def reaches(rule: Rule, members: Iterable[Member]) -> bool:
    """Whether the rule selects a resource of some side, and its path leads somewhere in one of them."""
    selects, path = rule.selects, rule.path
    return any(selects(member.identity) and (path is None or _leads(member.root, path)) for member in members)


def _leads(node: Node, path: FieldPath) -> bool:
    if not path:
        return True
    step, rest = path[0], path[1:]
    return any(_leads(resolved(child), rest) for child in children_at(resolved(node), step))


def children_at(node: Node, step: Step) -> list[Node]:
    """The children at a step of a path in a node that is not an alias."""
    if isinstance(node, MappingNode):
        if isinstance(step, str) and (child := node.entry(step)) is not None and step != ANY:
            return [child.value]
        # A key such as `8080` is a number, and a step of a path is a text.
        return [entry.value for entry in node.fields.values() if step in (ANY, key_text(entry.key))]
    if not isinstance(node, SequenceNode):
        return []
    if isinstance(step, int):
        return node.items[step : step + 1]
    return [item for item in node.items if step == ANY or (isinstance(step, tuple) and _has_keys(resolved(item), step))]


def node_at(root: Node | None, path: FieldPath) -> Node | None:
    """The first node at a path; None where nothing is."""
    node = root
    for step in path:
        inner = [] if node is None else children_at(resolved(node), step)
        node = inner[0] if inner else None
    return node


def _has_keys(item: Node, keys: tuple[tuple[str, str], ...]) -> bool:
    if not isinstance(item, MappingNode):
        return False
    for name, key in keys:
        value = item.get(name)
        text = key_text(value) if value is not None else None
        # Functions are named by their image without the version.
        if text != key and not (name == "image" and text is not None and image_repository(text) == key):
            return False
    return True


@frozen
class ListKeys:
    """Merge keys of a list that the schema does not know."""

    api_version: str
    kind: str
    path: FieldPath
    keys: tuple[str, ...]


class PackageSide(Protocol):
    """One version of a package, read when it is asked for."""

    def kptfiles(self) -> list[Member]:
        """The Kptfiles that make packages."""
        ...

    def unreadable_kptfiles(self) -> Iterable[str]:
        """The paths of Kptfiles that cannot be read."""
        ...

    def resources(self, folders: Folders) -> Sequence[Document]:
        """All other resources, none of them read yet."""
        ...


@frozen
class PackageOutcomes:
    """The outcomes for the Kptfiles of a package, and for all else; `again` decides on one of them once more."""

    folders: Folders
    resources: list[ResourceOutcome]
    again: Callable[[ResourceOutcome, Policy], ResourceOutcome]

    def outcomes(self, inhabited: Iterable[str]) -> list[ResourceOutcome]:
        """All outcomes; `inhabited` are the places of what local still has after the merge."""
        return self.folders.with_surviving_kptfiles(inhabited) + self.resources


@frozen
class PackageMerger:
    """Merges three versions of a package under one policy.

    `of_branches` is for two branches of one package, as git merges them: then nothing of a Kptfile stays local (K1).
    `read_pipeline` reads what functions local declares, whose changes are not local's (R14).
    """

    policy: Policy
    smart: bool = False
    of_branches: bool = False
    list_keys: tuple[ListKeys, ...] = ()
    read_pipeline: ReadPipeline | None = None

    def run(self, original: PackageSide, upstream: PackageSide, local: PackageSide) -> PackageOutcomes:
        """Decides what becomes of every resource; nothing is written."""
        sides = (original, upstream, local)
        kptfiles_of_sides = [side.kptfiles() for side in sides]
        if any(map(_keeps_nulls, kptfiles_of_sides[2])):
            self = self._under(replace(self.policy, keeps_nulls=True))
        # Before the resources, as none is merged of a package that takes nothing from upstream.
        kptfiles = self.kptfiles(*kptfiles_of_sides)
        broken = {path for side in sides for path in side.unreadable_kptfiles()}
        folders = Folders([o for o in kptfiles if o.member.place not in broken], self.policy, map(dirname, broken))
        documents = [side.resources(folders) for side in sides]
        if not any(documents[:2]):
            return PackageOutcomes(folders, [], lambda outcome, policy: self._under(policy)._kptfile(outcome))
        # A Kptfile alone is merged at every render: it does not pay for these imports.
        from krm_merge.merge.package.narrow import narrow
        from krm_merge.merge.package.resources import Schemas, definitions_in, match_resources

        # The least important first: the last definition of a type counts.
        schemas = Schemas(lambda: definitions_in(document for side in documents for document in side))
        pipeline = None if self.read_pipeline is None else self.read_pipeline(kptfiles_of_sides[2], documents[2])
        matched = match_resources(*narrow(*documents), folders, pipeline)

        def again(outcome: ResourceOutcome, policy: Policy) -> ResourceOutcome:
            merger = self._under(policy)
            if outcome.member.is_kptfile:
                return merger._kptfile(outcome)
            members = outcome.original, outcome.upstream, outcome.local
            return merger._resource(schemas.of(_nearest(members)), members, matched.likely_renames, pipeline)

        return PackageOutcomes(folders, self._resources(matched, folders, schemas.of, pipeline), again)

    def _under(self, policy: Policy) -> PackageMerger:
        return replace(self, policy=policy)

    def kptfiles(self, original: list[Member], upstream: list[Member], local: list[Member]) -> list[ResourceOutcome]:
        """Decides on the Kptfiles of the package and its subpackages, which are matched by place (R3)."""
        sides = [{member.place: member for member in side} for side in (original, upstream, local)]
        outcomes: list[ResourceOutcome] = []
        # A package comes before those inside it: what becomes of them depends on it.
        for place in sorted({**sides[0], **sides[1], **sides[2]}, key=lambda place: (place.count("/"), place)):
            members = (sides[0].get(place), sides[1].get(place), sides[2].get(place))
            if place == KPTFILE:
                outcomes.append(self._root_kptfile(*members))
            elif Folders(outcomes, self.policy).closed(dirname(place)) is not None:
                outcomes.append(ResourceOutcome("kept", *members, []))
            else:
                outcomes.append(self._subpackage_kptfile(*members))
        return outcomes

    def _resources(
        self, matched: Matched, folders: Folders, schema_of: Callable[[Member], Schema], pipeline: Pipeline | None
    ) -> list[ResourceOutcome]:
        outcomes = []
        for members in matched.triples:
            before, theirs, ours = members
            nearest = _nearest(members)
            schema = schema_of(nearest)
            if folders.closed(nearest.place) is not None:
                if theirs is not before and (theirs is None or not _same(schema, before, theirs)):
                    folders.report(nearest.place)
            elif before is not None and theirs is not None and ours is not None and _same_text(before, theirs):
                # Most resources are the same on both upstream sides: nothing to decide, comments included.
                outcomes.append(ResourceOutcome("kept", before, theirs, ours, []))
            else:
                outcomes.append(self._resource(schema, members, matched.likely_renames, pipeline))
        return outcomes

    def _resource(
        self, schema: Schema, members: Triple, likely_renames: dict[int, Member], pipeline: Pipeline | None
    ) -> ResourceOutcome:
        local = members[2]
        # R6: upstream as kpt would fetch it.
        original, upstream = (with_attribution(member, local) for member in members[:2])
        if pipeline is not None and original is not None and local is None and pipeline.rendered(original, None) == {}:
            # R14: a function removes it at every render.
            return ResourceOutcome("kept", original, upstream, local, [])
        rendered = None
        if pipeline is not None and local is not None:
            rendered = partial(_rendered, pipeline, schema, local)
            if original is not None and upstream is None:
                original = (rendered(original) or [original])[0]
        outcome = self._existence(schema, original, upstream, local, rendered)
        new = likely_renames.get(id(members[0]))
        if new is not None and outcome.decisions:
            outcome.decisions.append(_likely_rename(new))
        return outcome

    def _kptfile(self, outcome: ResourceOutcome) -> ResourceOutcome:
        """Decides on a Kptfile once more, where the packages around it are as they were."""
        of_place = self._root_kptfile if outcome.member.place == KPTFILE else self._subpackage_kptfile
        return of_place(outcome.original, outcome.upstream, outcome.local)

    def _root_kptfile(self, original: Member | None, upstream: Member | None, local: Member | None) -> ResourceOutcome:
        # K4: never added, never deleted.
        if local is None or upstream is None:
            decisions = []
            if local is not None and original is not None:
                message = "upstream has no Kptfile; local's is kept as it is"
                decisions.append(Decision("K4", (), message, "upstream", "warning", is_reported=True))
            return ResourceOutcome("kept", original, upstream, local, decisions)
        return self._merged(KptfileSchema(root=True, fork=not self.of_branches), original, upstream, local)

    def _subpackage_kptfile(
        self, original: Member | None, upstream: Member | None, local: Member | None
    ) -> ResourceOutcome:
        schema = KptfileSchema(root=False, fork=not self.of_branches)
        if local is None or not is_other_package(original or upstream, local):
            return self._existence(schema, original, upstream, local)
        alone = ResourceOutcome("kept", original, upstream, local, [])
        if upstream is not original and (upstream is None or not _same(schema, original, upstream)):
            alone.decisions.append(left_alone(alone, self.policy))
        return alone

    def _existence(
        self,
        schema: Schema,
        original: Member | None,
        upstream: Member | None,
        local: Member | None,
        rendered: Rendered | None = None,
    ) -> ResourceOutcome:
        """R2 with F5: who has the resource decides what becomes of it."""
        if self.policy.resolutions.all and (chosen := self._chosen_existence(original, upstream, local)) is not None:
            return chosen
        if upstream is not None and local is not None:
            return self._merged(schema, original, upstream, local, rendered)
        if original is None:
            if upstream is not None and upstream.identity.group_kind == MERGE_POLICY:
                upstream = _without_choices(upstream)
            return ResourceOutcome("kept" if upstream is None else "added", original, upstream, local, [])
        if upstream is None and local is None:
            return ResourceOutcome("kept", original, upstream, local, [])
        holder = local or upstream
        assert holder is not None
        if _same(schema, original, holder):
            gone = ResourceOutcome("deleted" if local is not None else "kept", original, upstream, local, [])
            # V8: the side that removed it has not seen what the other wrote.
            gone.decisions.extend(lost_comments_of(gone, ""))
            return gone
        policy = self.policy.of(original.identity, holder.identity)
        upstream_decides = policy.delete(()) == "upstream"
        fate: Fate = "kept"
        if upstream is None:
            what, outcome = "upstream removed it, local changed it", "local's is kept"
            if upstream_decides:
                fate, outcome = "deleted", "the removal is kept"
        else:
            what, outcome = "local removed it, upstream changed it", "it remains removed"
            if upstream_decides:
                fate, outcome = "added", "upstream's is added again"
        explanation = policy.explanation((), what, outcome, of_existence=True)
        severity = policy.severity((), of_existence=True)
        decision = Decision("F5", (), explanation, "both", severity, is_reported=True)
        return ResourceOutcome(fate, original, upstream, local, [decision])

    def _chosen_existence(
        self, original: Member | None, upstream: Member | None, local: Member | None
    ) -> ResourceOutcome | None:
        """The outcome for a resource that not all sides have, if a choice settles it (M3)."""
        from krm_merge.merge.values.context import explanation, resolved_existence

        if (original is None and upstream is None) or (upstream is not None and local is not None):
            return None
        members = [member for member in (original, upstream, local) if member is not None]
        policy = self.policy.of(*(member.identity for member in members))
        resolution = resolved_existence(policy, _root(original), _root(upstream), _root(local))
        if resolution is None:
            return None
        fate: Fate = "kept"
        if resolution.choice == "upstream" and (upstream is None) != (local is None):
            fate = "deleted" if upstream is None else "added"
        decision = Decision("F5", (), explanation(resolution), "both", is_reported=True, resolution=resolution)
        return ResourceOutcome(fate, original, upstream, local, [decision])

    def _merged(
        self,
        schema: Schema,
        original: Member | None,
        upstream: Member,
        local: Member,
        rendered: Rendered | None = None,
    ) -> ResourceOutcome:
        list_keys = [
            k for k in self.list_keys if (k.kind, k.api_version) == (local.identity.kind, _version(local.root))
        ]
        if list_keys:
            schema = WithListKeys(schema, tuple((k.path, KeyedList(k.keys)) for k in list_keys))
        identities = [member.identity for member in (original, upstream, local) if member is not None]
        # R1: the name that a local rename gave stays, also where there is no original to compare with.
        renamed = (local.identity.name, local.identity.namespace) != (
            upstream.identity.name,
            upstream.identity.namespace,
        )
        before = original.root if original is not None else _named_like(upstream.root) if renamed else None
        fields = FieldMerge(schema, self.policy.of(*identities), self.smart)
        return merge_document(original, upstream, local, fields, before, rendered)


def _rendered(pipeline: Pipeline, schema: Schema, local: Member, original: Member, *others: Member) -> list[Member]:
    # Hardly any package that was not rendered pays for this import.
    from krm_merge.merge.package.pipeline_effects import with_pipeline_effects

    return with_pipeline_effects(pipeline, schema, local, original, *others)


def _without_choices(policy: Member) -> Member:
    """A MergePolicy of upstream as it is added: its rules come in, its choices do not (M1)."""
    resource = Resource.from_tree(policy.root)
    if policy.root.get("resolutions") is None:
        return policy
    resource.remove("resolutions")
    return replace(policy, root=resource.merged())


def _keeps_nulls(kptfile: Member) -> bool:
    """K1: whether the Kptfile of the package says that what is null in local stays null."""
    upstream = kptfile.root.get("upstream") if kptfile.place == KPTFILE else None
    keeps = upstream.get("preserveExplicitNull") if isinstance(upstream, MappingNode) else None
    return keeps is not None and keeps.canonical == ("bool", True)


def _nearest(members: Triple) -> Member:
    return next(member for member in reversed(members) if member is not None)


def _root(member: Member | None) -> MappingNode | None:
    return None if member is None else member.root


def _version(root: MappingNode) -> str:
    node = root.get("apiVersion")
    return key_text(node) if node is not None else ""


def _same_text(first: Member, second: Member) -> bool:
    # The same text in another file is a move, which local's resource may have to follow.
    return first.place == second.place and document_text(first.root) == document_text(second.root)


def _named_like(root: MappingNode) -> MappingNode:
    """An original that holds no more than upstream's name and namespace."""
    metadata = root.entry("metadata")
    if metadata is None or not isinstance(metadata.value, MappingNode):
        return MappingNode.new(True)
    named = [e for e in metadata.value.entries if e.key.canonical in ("name", "namespace")]
    return MappingNode.new(True, [Entry(metadata.key, MappingNode.new(True, named))])


def _likely_rename(new: Member) -> Decision:
    name = "/".join(part for part in (new.identity.namespace, new.identity.name or new.generate_name) if part)
    message = f"it may have become {new.identity.kind} {name}, which is kept as another resource"
    return Decision("R1", (), message, "both", "warning", is_reported=True)


def follows_upstream_move(outcome: ResourceOutcome, results: Results) -> bool:
    """Whether local's resource goes to the file that upstream moved it to, as local left it alone (R2); reports it."""
    original, upstream, local = outcome.original, outcome.upstream, outcome.local
    if outcome.fate != "merged" or original is None:
        return False
    assert upstream is not None
    assert local is not None
    if not upstream.place != original.place == local.place:
        return False
    follows = _same(any_object_schema(), original, local)
    where = "moved" if follows else f"kept in {local.place}, as local changed it; upstream moved it"
    ref = Resource.from_tree(local.root).ref
    message, tags = f"{ref}: {where} to {upstream.place}", {"side": "upstream"}
    results.info(message, resource=ref, file=local.place, rule="R2", tags=tags)
    return follows


def _same(schema: Schema, first: Member | None, second: Member) -> bool:
    return first is not None and essence(schema, first.root) == essence(schema, second.root)


def essence(schema: Schema, root: MappingNode, path: tuple[str, ...] = ()) -> Canonical:
    """The value of a resource without what is never compared (K1, R6)."""
    fields = {}
    for key, entry in root.fields.items():
        at = (*path, key_text(entry.key))
        if schema.stays_local(at):
            continue
        value = resolved(entry.value)
        if isinstance(value, MappingNode) and is_around_local(at):
            inner = essence(schema, value, at)
            # Annotations that hold nothing but kpt's notes are as good as none.
            if inner != mapping_canonical({}):
                fields[key] = inner
        else:
            fields[key] = value.canonical
    return mapping_canonical(fields)
