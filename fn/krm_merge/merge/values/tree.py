"""Three-way merge of the values of one document by its fields (rules V). Pure: values in, verdicts out."""

from __future__ import annotations

from collections.abc import Sequence

from krm_merge.errors import KrmMergeError
from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import Decision, Edit, Insert, Remove, Replace, Sides, Verdict
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.sequence import merge_order
from krm_merge.merge.lines.three_way import Winner
from krm_merge.merge.values.context import MergeContext, MergeEmbedded
from krm_merge.merge.values.images import are_images, contested_fields, merge_images
from krm_merge.merge.values.lists import merge_list
from krm_merge.merge.values.texts import has_lines, merge_whole_text, text_node, texts_of
from krm_merge.schema import (
    Discriminator,
    KustomizationSchema,
    ObjectListSchema,
    Schema,
    Secrecy,
    is_around_local,
    with_pods,
)
from krm_merge.startup import replace
from krm_merge.text import (
    MERGE_KEY,
    Canonical,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    canonical_text,
    is_null,
    is_opaque,
    is_template,
    resolved,
)

_FREE_MAPS = frozenset(
    (
        "labels",
        "annotations",
        "data",
        "stringData",
        "binaryData",
        "matchLabels",
        "nodeSelector",
        "selector",
        "commonLabels",
        "commonAnnotations",
        "podLabels",
        "podAnnotations",
        "configMap",
    )
)
"""Mappings whose keys somebody chose, wherever they are: each is there or not by itself."""


def merge_values(
    original: Node | None,
    upstream: Node,
    local: Node,
    schema: Schema,
    policy: Policy,
    *,
    smart: bool = False,
    file: str = "",
    embedded: MergeEmbedded | None = None,
) -> list[Decision]:
    """Decides on everything in a document, by its fields.

    `smart` is `functionIdentity: smart` (F6), `file` the path of what holds values but no resource. `embedded` merges
    texts that are documents themselves.
    """
    roots = tuple(root for root in (original, upstream, local) if isinstance(root, MappingNode))
    schema = with_pods(schema, roots)
    secrecy = Secrecy(roots)
    context = MergeContext(schema, policy, smart=smart, file=file, embedded=embedded, secrecy=secrecy)
    verdict = _Fields(context).root((), Sides(original, upstream, local))
    return list(verdict.decisions)


def _introduces_alias(sides: Sides) -> bool:
    """Whether a side has an alias where the original, or else the other side, has a value written out."""
    original, upstream, local = sides.nodes
    if original is not None:
        return not is_opaque(original) and (is_opaque(upstream) or is_opaque(local))
    return upstream is not None and local is not None and is_opaque(upstream) != is_opaque(local)


class MixedAliasesError(KrmMergeError):
    """One side has an alias where another has a value: what is meant there is known by values alone."""


class _Fields:
    """Decides on values by their fields; what lies inside is decided on the way, and is part of the verdict."""

    def __init__(self, context: MergeContext) -> None:
        self._context = context
        self._policy = context.policy

    def root(self, path: FieldPath, sides: Sides) -> Verdict:
        """Decides on a whole document, which stays whatever it holds."""
        if isinstance(sides.local, MappingNode) and isinstance(sides.upstream, MappingNode):
            return self._mapping(path, sides, is_root=True)
        verdict = self.value(path, sides)
        local, upstream = sides.local, sides.upstream
        if verdict.node is local or not isinstance(local, SequenceNode) or not isinstance(upstream, SequenceNode):
            return replace(verdict, decisions=self._context.decided(verdict, path, sides))
        # Another list at the root is written element by element.
        edits: list[Edit] = [Remove(local, item) for item in local.items]
        previous: Node | None = None
        for item in upstream.items:
            edits.append(Insert(local, item, previous, self._context.comments.of(upstream, item)))
            previous = item
        return replace(verdict, decisions=self._context.decided(verdict, path, sides, tuple(edits)))

    def value(self, path: FieldPath, sides: Sides) -> Verdict:
        """Decides on one value. Raises MixedAliasesError."""
        if sides.are_same():
            # Nothing to decide, however much is inside.
            return Verdict(sides.local, side="local")
        if _introduces_alias(sides):
            raise MixedAliasesError
        was_null = is_null(sides.original) and sides.upstream is not None
        if self._policy.keeps_nulls and is_null(sides.local) and not was_null:
            # K1: the Kptfile says so of a null that local wrote.
            return Verdict(sides.local, side="local")
        if (
            is_around_local(path)
            and any(map(is_null, sides.nodes))
            and any(self._context.schema.holds_local(path, node) for node in sides.nodes)
        ):
            # Something below is local's alone (K1, R6): a null is read as the lack of a mapping, and stays where it is.
            verdict = self.value(path, Sides(*(None if is_null(node) else node for node in sides.nodes)))
            return Verdict(sides.local, side="local") if verdict.node is None and is_null(sides.local) else verdict
        present = sides.present
        if present and (chosen := self._context.choices.of_value(path, sides)) is not None:
            return chosen
        if (sides.original is None and len(present) < 2) or not present:
            return Verdict(present[0] if present else None, side="local" if sides.local is not None else "upstream")
        # Before mappings, as `{{ name }}` reads as one (V5).
        if any(map(is_template, present)):
            return sides.settled() or self._context.conflict(path, sides, "V4")
        if not isinstance(sides.original, Scalar | None) and all(map(_is_nothing, sides.nodes[1:])):
            # Both removed all that it held; what local has of it, empty, stays.
            return sides.settled() or Verdict(sides.local, side="both")
        if all(isinstance(node, MappingNode) for node in present):
            return self._mapping(path, sides)
        if all(isinstance(node, SequenceNode) for node in present):
            return merge_list(self._context, self._element, path, sides)
        if settled := sides.settled():  # After mappings and lists, as it takes a side's layout, too.
            return settled
        if (texts := texts_of(sides)) is not None and (by_parts := self._by_parts(path, sides, texts)) is not None:
            return by_parts
        if sides.original is not None and None in sides.nodes:
            return self._context.conflict(path, sides, "V4")
        kinds = {type(resolved(node)) for node in present}
        in_sequence = bool(path) and isinstance(path[-1], int)
        return self._context.conflict(path, sides, "V5" if len(kinds) > 1 else "L3" if in_sequence else "V4")

    def _element(self, path: FieldPath, sides: Sides) -> Verdict:
        """Decides on an element of a list; each item of a `List` merges by the schema of its own kind (L1)."""
        holder, node = self._context.schema, sides.local or sides.upstream
        is_object = isinstance(holder, ObjectListSchema) and isinstance(node, MappingNode) and path[:-1] == ("items",)
        if not is_object:
            return self.value(path, sides)
        assert isinstance(holder, ObjectListSchema)
        assert isinstance(node, MappingNode)
        return _Fields(self._context.of_schema(holder.of_item(path, node))).value(path, sides)

    # ---- texts -------------------------------------------------------------------------------------------------

    def _by_parts(self, path: FieldPath, sides: Sides, texts: tuple[str, str, str]) -> Verdict | None:
        # V10: the repository and the version are two values.
        if are_images(path, texts) and (image := merge_images(*texts)) is not None:
            return Verdict(text_node(image, sides), "V10", "both")
        # V6: strings of more than one line on all three sides, or JSON.
        if not all(has_lines(text) or text.startswith(('{"', "[")) for text in texts):
            return None
        if (by_fields := self._by_fields(path, sides, texts)) is not None:
            return by_fields
        if not all(map(has_lines, texts)):  # JSON on one line merges by its fields, or is one value.
            return None
        winner: Winner = "local" if self._policy.conflict(path) == "local" else "upstream"
        merged = merge_whole_text(*texts, winner)
        if merged is None:
            return self._context.conflict(path, sides, "V6")
        node = text_node(merged.text, sides)
        if not merged.conflicts:
            return Verdict(node, "V6", "both")
        did, outcome = merged.explanation(winner)
        explanation = self._policy.explanation(path, f"upstream and local {did}", outcome)
        return Verdict(node, "V6", "both", self._policy.severity(path), explanation)

    def _by_fields(self, path: FieldPath, sides: Sides, texts: Sequence[str]) -> Verdict | None:
        """V6: texts that are YAML or JSON merge as documents of their own; conflicts are those of fields."""

        def decide(original: Node, upstream: Node, local: Node) -> list[Decision]:
            return list(self.root(path, Sides(original, upstream, local)).decisions)

        merge = self._context.embedded
        if merge is None or (merged := merge(path, texts, decide, self._context.secrecy)) is None:
            return None
        text, decisions = merged
        about_text = [_about_text(decision) for decision in decisions if decision.is_reported]
        return Verdict(text_node(text, sides), "V6", "both", decisions=about_text)

    # ---- mappings ----------------------------------------------------------------------------------------------

    def _mapping(self, path: FieldPath, sides: Sides, *, is_root: bool = False) -> Verdict:
        original, upstream, local = sides.original, sides.upstream, sides.local
        base = local if local is not None else upstream
        if base is None:
            return Verdict(None)
        assert isinstance(base, MappingNode)
        if original is not None and None in (upstream, local) and not self._is_free(path):
            return self._context.existence(path, sides)
        fields = [_fields_of(node) for node in sides.nodes]
        inherits = {MERGE_KEY in of_side for of_side, node in zip(fields, sides.nodes, strict=True) if node is not None}
        if len(inherits) > 1 and sides.settled() is None:
            raise MixedAliasesError
        if not any(fields) and (settled := sides.settled()):  # Only `{}` against nothing is left to decide.
            return settled
        verdicts, decisions = self._fields(path, fields)
        survivors = {key for key, (_, verdict) in verdicts.items() if verdict.node is not None}
        if not survivors and not is_root and any(fields):
            if fields[1] and fields[2]:
                # N: two narrowings that leave nothing are a conflict.
                return self._context.choices.of_value(path, sides) or self._context.conflict(
                    path, sides, "V4", "each side removed what the other kept"
                )
            if None in (upstream, local):
                # Nothing is left of what one side removed; what was in question inside stays on record.
                inside: list[Decision] = []
                for key, (field_sides, verdict) in verdicts.items():
                    inside += self._context.decided(verdict, (*path, canonical_text(key)), field_sides)
                questions = [replace(d, edits=()) for d in inside if d.is_question]
                return Verdict(None, "V3", "upstream" if upstream is None else "local", decisions=questions)
        decisions += self._decisions_on_fields(path, sides, base, verdicts, survivors)
        return Verdict(base, side="local" if base is local else "upstream", decisions=decisions)

    def _is_free(self, path: FieldPath) -> bool:
        """V3: whether the keys of a mapping are there one by one; all others are whole or not at all."""
        return (
            is_around_local(path)
            or (path[-1:] != () and path[-1] in _FREE_MAPS)
            or self._context.schema.at(path).is_map
        )

    def _fields(
        self, path: FieldPath, fields: Sequence[dict[Canonical, Entry]]
    ) -> tuple[dict[Canonical, tuple[Sides, Verdict]], list[Decision]]:
        """The verdict on each field that upstream or local has, and the decisions on groups of them."""
        verdicts: dict[Canonical, tuple[Sides, Verdict]] = {}
        decisions: list[Decision] = []
        schema = self._context.schema.at(path)
        # V7: what excludes each other is decided as one value before its fields are looked at.
        groups = [
            (group, [tuple(name for name in group if name in side) for side in fields]) for group in schema.alternatives
        ]
        # The same alternative merges inside.
        chosen = [names_of_sides for _, names_of_sides in groups if names_of_sides[1] != names_of_sides[2]]
        if discriminator := schema.discriminator:
            chosen += _discriminated(fields, discriminator)
        for names_of_sides in chosen:
            of_group, about_group = self._one_of(path, fields, names_of_sides)
            verdicts |= of_group
            decisions += about_group
        is_kustomize = isinstance(self._context.schema, KustomizationSchema) and path[:1] == ("images",)
        contested, why = contested_fields(fields, is_kustomize=is_kustomize)
        settles_early = not self._policy.resolutions.all
        for key in dict.fromkeys([*fields[2], *fields[1]]):  # What neither of them has, both removed.
            if key in verdicts:
                continue
            sides = _sides(fields, key)
            if sides.are_same():
                # Most fields: nothing to decide, however much is inside.
                verdicts[key] = _UNCHANGED
                continue
            step = (*path, canonical_text(key))
            if settles_early and key not in contested and sides.are_local_alone() and not is_opaque(sides.local):
                # V2 in short, however much is inside.
                verdicts[key] = sides, Verdict(sides.local, side="local")
            elif key in contested:
                verdict = self._context.choices.of_value(step, sides) or self._context.conflict(step, sides, "V4", why)
                verdicts[key] = sides, verdict
            elif self._context.schema.stays_local(step):
                verdicts[key] = sides, Verdict(sides.local, side="local")
            else:
                verdicts[key] = sides, self.value(step, sides)
        return verdicts, decisions

    def _one_of(
        self, path: FieldPath, fields: Sequence[dict[Canonical, Entry]], names_of_sides: Sequence[tuple[str, ...]]
    ) -> tuple[dict[Canonical, tuple[Sides, Verdict]], list[Decision]]:
        """V7: a group of which one field is allowed is one value; `names_of_sides` are each side's fields of it."""
        choices = [_fields_as_one(side, names) for side, names in zip(fields, names_of_sides, strict=True)]
        sides = Sides(*choices)
        settled = sides.settled()
        decisions: list[Decision] = []
        if (chosen := self._context.choices.of_side(("alternative",), path, sides)) is not None:
            winner = 2 if chosen.node is sides.local else 1
            decisions = self._context.decided(chosen, path, sides)
        elif settled is not None:
            winner = 2 if settled.node is sides.local else 1
        else:
            winner = 2 if self._policy.conflict(path) == "local" else 1
            has = [" and ".join(canonical_text(key) for key in names) or "none of them" for names in names_of_sides]
            what = f"upstream has {has[1]}, local has {has[2]}, and only one of them is allowed"
            message = self._policy.explanation(path, what, f"{'upstream' if winner == 1 else 'local'}'s choice is kept")
            verdict = Verdict(choices[winner], "V7", "both", self._policy.severity(path), message)
            decisions = self._context.decided(verdict, path, sides)
        verdicts: dict[Canonical, tuple[Sides, Verdict]] = {}
        for key in dict.fromkeys(key for names in names_of_sides for key in names):
            field = _sides(fields, key)
            if field.upstream is not None or field.local is not None:
                node, side = (field.local, "local") if winner == 2 else (field.upstream, "upstream")
                verdicts[key] = field, Verdict(node, "V7", side)  # type: ignore[arg-type]
        return verdicts, decisions

    def _decisions_on_fields(
        self,
        path: FieldPath,
        sides: Sides,
        base: MappingNode,
        verdicts: dict[Canonical, tuple[Sides, Verdict]],
        survivors: set[Canonical],
    ) -> list[Decision]:
        context, fields = self._context, base.fields
        decisions: list[Decision] = []
        original_fields, upstream_fields, local_fields = map(_fields_of, sides.nodes)
        for key, (field_sides, verdict) in verdicts.items():
            if key not in survivors:
                edits: tuple[Edit, ...] = (Remove(base, fields[key]),) if key in fields else ()
                children = original_fields.get(key), upstream_fields.get(key), local_fields.get(key)
                discarded = context.discarded_comments(verdict, sides, children)
                decisions += context.decided(verdict, (*path, canonical_text(key)), field_sides, edits, discarded)
        order = list(filter(survivors.__contains__, fields))
        if len(order) < len(survivors):  # Else local's order is the merged one: the order of fields is no value.
            keys = [list(side) for side in (original_fields, upstream_fields, fields)]
            order = merge_order(keys[0], keys[1], keys[2], survivors, reorder=False).keys
        previous: Entry | None = None
        for key in order:
            field_sides, verdict = verdicts[key]
            assert verdict.node is not None
            if verdict is _UNCHANGED[1]:
                entry = fields[key]
            elif key in fields:
                entry = fields[key]
                edits = (Replace(entry, verdict.node),) if verdict.node is not resolved(entry.value) else ()
                if edits or verdict.is_reported or verdict.decisions:
                    children = (original_fields.get(key), upstream_fields.get(key), entry)
                    discarded = context.discarded_comments(verdict, sides, children)
                    decisions += context.decided(verdict, (*path, canonical_text(key)), field_sides, edits, discarded)
            else:
                theirs = upstream_fields[key]
                entry = Entry(theirs.key, verdict.node)
                edits = (Insert(base, entry, previous, context.comments.of(sides.upstream, theirs)),)
                decisions += context.decided(verdict, (*path, canonical_text(key)), field_sides, edits)
            # An inherited field has no line that another could follow.
            if not entry.inherited:
                previous = entry
        return decisions


def _is_nothing(node: Node | None) -> bool:
    """Whether a value is gone, null or empty."""
    if node is None or is_null(node):
        return True
    return isinstance(node, MappingNode | SequenceNode) and not node.children


def _discriminated(
    fields: Sequence[dict[Canonical, Entry]], discriminator: Discriminator
) -> list[list[tuple[str, ...]]]:
    """V7: where a field says which of its siblings are allowed, they are one value with it."""
    names = [discriminator.field, *dict.fromkeys(m for members in discriminator.members.values() for m in members)]
    field = discriminator.field
    # The default written out, such as `type: RollingUpdate`, is no other choice than a missing field (V7).
    chosen = [side[field].value.canonical if field in side else discriminator.default for side in fields]
    if chosen[1] == chosen[2]:
        return []
    return [[tuple(name for name in names if name in side) for side in fields]]


def _fields_of(node: Node | None) -> dict[Canonical, Entry]:
    return node.fields if isinstance(node, MappingNode) else {}


def _sides(fields: Sequence[dict[Canonical, Entry]], key: Canonical) -> Sides:
    return Sides(*[_value_at(side, key) for side in fields])


_UNCHANGED = Sides(None, None, None), Verdict(Scalar.new(""), side="local")
"""What is decided on a field that all sides have alike: thousands of these need no sides of their own."""


def _value_at(side: dict[Canonical, Entry], key: Canonical) -> Node | None:
    entry = side.get(key)
    return None if entry is None else resolved(entry.value)


def _fields_as_one(side: dict[Canonical, Entry], keys: Sequence[str]) -> MappingNode | None:
    """The alternatives that a side has, as a value; None where it has none."""
    return MappingNode.new(True, [side[key] for key in keys]) if keys else None


def _about_text(decision: Decision) -> Decision:
    """A decision on a field inside a text, as one of the document around that: it edits nothing there."""
    discarded = decision.discarded_comments
    return replace(
        decision, edits=(), is_by_lines=False, discarded_comments=discarded and replace(discarded, kept=None)
    )
