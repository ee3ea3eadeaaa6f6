"""Three-way merge of the values of one resource (rules V)."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Literal, TypeAlias

from krm_merge.krm import FieldPath, Severity
from krm_merge.merge.decisions.decision import (
    Comment,
    Decision,
    DiscardedComments,
    Edit,
    Insert,
    Remove,
    Replace,
    Side,
    Sides,
    Verdict,
    is_emptied,
    same,
)
from krm_merge.merge.decisions.policy import Nature, Policy, Resolution
from krm_merge.merge.lines.three_way import SETTER, CommentReader, Winner
from krm_merge.merge.values.likeness import are_images, contested_fields, merge_images, renamed_by_both
from krm_merge.merge.values.texts import merge_order, merge_text, merge_wrapped, texts_of
from krm_merge.schema import Discriminator, Schema, Secrecy, with_pods
from krm_merge.startup import replace
from krm_merge.text import (
    Canonical,
    Child,
    Comments,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    canonical_text,
    is_null,
    is_template,
    resolved,
    value_of,
)

DecideOnRoots: TypeAlias = Callable[[MappingNode, MappingNode, MappingNode], list[Decision]]
"""Decides on a document in three versions: original, upstream, local."""

MergeEmbedded: TypeAlias = Callable[[Sequence[str], DecideOnRoots], tuple[str, list[Decision]] | None]
"""Merges three texts as documents, and gives the text and the decisions; None where one is not a mapping."""


class TreeMerge:
    """The merge of one resource. It adds to `decisions` and writes nothing."""

    def __init__(
        self,
        schema: Schema,
        policy: Policy,
        *,
        smart: bool = False,
        file: str = "",
        embedded: MergeEmbedded | None = None,
    ) -> None:
        """For a resource of this schema under this policy; `smart` is `functionIdentity: smart` (F6).

        `file` is the path of what holds values but no resource. `embedded` merges texts that are documents themselves.
        """
        self.schema = schema
        self.policy = policy
        self.smart = smart
        self.file = file
        self.embedded = embedded
        self.verifies = False
        self.is_addition = False
        self.decisions: list[Decision] = []
        self.comments = CommentReader()
        self.secrecy = Secrecy()
        self._top: FieldPath = ()

    def verifying(self) -> TreeMerge:
        """A merge by the same rules that looks whether a result stays what it is; its own results are not verified."""
        again = TreeMerge(self.schema, self.policy, smart=self.smart, file=self.file, embedded=self.embedded)
        again.verifies, again.secrecy = True, self.secrecy  # `value` does not look for what is hidden.
        return again

    def merge(self, original: MappingNode | None, upstream: MappingNode, local: MappingNode) -> list[Decision]:
        """Decides on everything below the root of the resource."""
        roots = tuple(root for root in (original, upstream, local) if root is not None)
        self.is_addition = original is None
        texts = [root.source.text for root in roots if root.source is not None]
        if any("containers" in text or "Containers" in text for text in texts):  # One of these is in every pod.
            self.schema = with_pods(self.schema, roots)
        if self.policy.resolutions.all:  # Only choices ask what is hidden.
            self.secrecy = Secrecy(roots, self.policy.redactions)
        self._mapping((), Sides(original, upstream, local))
        return self.decisions

    def value(self, path: FieldPath, sides: Sides) -> Verdict:
        """Decides on one value; what lies inside a mapping or list is decided and recorded on the way."""
        if sides.are_same():
            # Nothing to decide, however much is inside.
            return Verdict(sides.local, side="local")
        if self.policy.keeps_nulls and is_null(sides.local):
            # K6: the Kptfile says so.
            return Verdict(sides.local, side="local")
        if (
            self._holds_local(path)
            and any(map(is_null, sides.nodes))
            and any(self._keeps_local(path, node) for node in sides.nodes)
        ):
            # Something below is local's alone (K1, R6): a null is read as the lack of a mapping, and stays where it is.
            verdict = self.value(path, Sides(*(None if is_null(node) else node for node in sides.nodes)))
            return Verdict(sides.local, side="local") if verdict.node is None and is_null(sides.local) else verdict
        present = sides.present
        if present and (chosen := self._chosen(path, sides)) is not None:
            return chosen
        if (sides.original is None and len(present) < 2) or not present:
            return Verdict(present[0] if present else None, side="local" if sides.local is not None else "upstream")
        # Before mappings, as `{{ name }}` reads as one (V5).
        if any(map(is_template, present)):
            return sides.settled() or self.conflict(path, sides, "V4")
        if all(is_emptied(node, sides.original) for node in sides.nodes[1:]):
            # V3: both removed all that it held; what local has of it, empty, stays.
            return sides.settled() or Verdict(sides.local, side="both")
        if all(isinstance(node, MappingNode) for node in present):
            return self._mapping(path, sides)
        if all(isinstance(node, SequenceNode) for node in present):
            from krm_merge.merge.values.lists import merge_list

            return merge_list(self, path, sides)
        if settled := sides.settled():  # After mappings and lists, as it takes a side's layout, too.
            return settled
        if (texts := texts_of(sides)) is not None and (by_parts := self._by_parts(path, sides, texts)) is not None:
            return by_parts
        kinds = {type(resolved(node)) for node in present}
        in_sequence = bool(path) and isinstance(path[-1], int)
        return self.conflict(path, sides, "V5" if len(kinds) > 1 else "L3" if in_sequence else "V4")

    def whole(self, path: FieldPath, sides: Sides, why: str = "") -> Verdict:
        """Decides on a value that is not merged inside (L3)."""
        # A wrapped text may be unlike another as one value, and no line of theirs overlaps.
        settled = self._chosen(path, sides) or sides.settled() or merge_wrapped(sides)
        return settled or self.conflict(path, sides, "L3", why)

    def _chosen(self, path: FieldPath, sides: Sides) -> Verdict | None:
        # Choices come first (M3). Hardly any merge has some: the others do not pay for the import.
        if not self.policy.resolutions.all:
            return None
        from krm_merge.merge.values.texts import resolved_value

        return resolved_value(self, path, sides)

    def conflict(self, path: FieldPath, sides: Sides, rule: str, why: str = "") -> Verdict:
        """V4: both changed the value as a whole; the policy decides."""
        policy = self.policy.conflict(path)
        winner: Side = "local" if policy == "local" else "upstream"
        node = sides.local if winner == "local" else sides.upstream
        did = f"upstream {_did(sides.original, sides.upstream)} it, local {_did(sides.original, sides.local)} it"
        if rule == "V5":
            did += " to another kind of value"
        what = "value" if node is not None else "removal" if sides.original is not None else "lack of it"
        outcome = f"{winner}'s {what} is kept"
        explanation = self.policy.explanation(path, f"{why + ': ' if why else ''}{did}", outcome)
        return Verdict(node, rule, "both", self.policy.severity(path), explanation)

    def _by_parts(self, path: FieldPath, sides: Sides, texts: tuple[str, str, str]) -> Verdict | None:
        return self._by_image(path, sides, texts) or self._by_lines(path, sides, texts) or merge_wrapped(sides)

    def _by_image(self, path: FieldPath, sides: Sides, texts: tuple[str, str, str]) -> Verdict | None:
        # V10: the repository and the version are two values.
        if not are_images(path, texts) or (image := merge_images(*texts)) is None:
            return None
        return Verdict(_text_node(image, sides), "V10", "both")

    def _by_lines(self, path: FieldPath, sides: Sides, texts: tuple[str, str, str]) -> Verdict | None:
        # V6: strings of more than one line on all three sides, or JSON.
        if not all(_has_lines(text) or text.startswith('{"') for text in texts):
            return None
        if (by_fields := self._by_fields(path, sides, texts)) is not None:
            return by_fields
        if not all(map(_has_lines, texts)):  # JSON on one line merges by its fields, or is one value.
            return None
        winner: Winner = "local" if self.policy.conflict(path) == "local" else "upstream"
        merged = merge_text(*texts, winner, marks=self.policy.leaves_marks(path))
        if merged is None or not (_has_lines(merged.text) or merged.text in texts):
            # Merging again would not go by lines (law D).
            return self.conflict(path, sides, "V6")
        node = _text_node(merged.text, sides)
        if not merged.conflicts:  # What local lacks as well may be elsewhere: lines know.
            return Verdict(node, "V3" if merged.text == texts[2] else "V6", "both")
        did, outcome = merged.explanation(winner)
        explanation = self.policy.explanation(path, f"upstream and local {did}", outcome)
        return Verdict(node, "V6", "both", self.policy.severity(path), explanation)

    def _by_fields(self, path: FieldPath, sides: Sides, texts: Sequence[str]) -> Verdict | None:
        """V6: texts that are YAML or JSON mappings merge as documents of their own; conflicts are those of fields."""

        def decide(original: MappingNode, upstream: MappingNode, local: MappingNode) -> list[Decision]:
            inside = TreeMerge(self.schema, self.policy, smart=self.smart, file=self.file, embedded=self.embedded)
            inside.secrecy, inside._top = self.secrecy, path  # The root of a text stays, even if it is empty.
            inside._mapping(path, Sides(original, upstream, local))
            return inside.decisions

        if self.embedded is None or (merged := self.embedded(texts, decide)) is None:
            return None
        text, decisions = merged
        self.decisions += [_about_text(decision) for decision in decisions if decision.is_reported]
        return Verdict(_text_node(text, sides), "V6", "both")

    # ---- mappings ----------------------------------------------------------------------------------------------

    def _mapping(self, path: FieldPath, sides: Sides) -> Verdict:
        original, upstream, local = sides.original, sides.upstream, sides.local
        base = local if local is not None else upstream
        if base is None:
            return Verdict(None)
        if not self._holds_local(path) and not self.policy.resolutions.all:
            # V3 in short: whole deletions of what the other side left as it was. A choice may have put it there (M5).
            if upstream is None and same(local, original):
                return Verdict(None)
            if local is None and same(upstream, original):
                return Verdict(None, side="local")
        assert isinstance(base, MappingNode)
        if original is not None and None in (upstream, local) and not self._merges_inside(path, sides):
            return self.existence(path, sides)
        fields = [_fields_of(node) for node in (original, upstream, local)]
        fields[0] = renamed_by_both(*fields)  # Else what a side removed in a renamed job comes back.
        if not any(fields) and (settled := sides.settled()):  # Only `{}` against nothing is left to decide.
            return settled
        mark = len(self.decisions)
        verdicts = self._fields(path, fields)
        survivors = {key for key, (_, verdict) in verdicts.items() if verdict.node is not None}
        if (
            path != self._top
            and not survivors
            and any(fields)
            and all(fields[i] or s is None for i, s in enumerate((original, upstream, local)))
        ):
            # V3: what had content and has none now disappears, unless a side holds it empty itself.
            for key, (field_sides, verdict) in verdicts.items():
                self.record(verdict, (*path, canonical_text(key)), field_sides, ())
            self.forget_since(mark)
            return Verdict(None, "V3", "upstream" if upstream is None else "local")
        if original is not None and None in (upstream, local):
            self._note_rest(path, sides, base, survivors)
        self._record_fields(path, sides, base, verdicts, survivors)
        return Verdict(base, side="local" if base is local else "upstream")

    def _note_rest(self, path: FieldPath, sides: Sides, base: MappingNode, survivors: Set[Canonical]) -> None:
        """V3: only what the one side added is left of what the other removed; in a map anybody expects that."""
        if self._holds_local(path) or self.schema.at(path).is_map or survivors >= set(base.fields):
            return
        remover, other = ("upstream", "local") if sides.upstream is None else ("local", "upstream")
        rest = ", ".join(canonical_text(key) for key in base.fields if key in survivors)
        self.note(path, "V3", f"{remover} removed it; what {other} added to it is kept: {rest}", sides=sides)

    def _merges_inside(self, path: FieldPath, sides: Sides) -> bool:
        """V3: whether a mapping that one side lacks merges by its fields; else half a job or schema comes back."""
        if self._holds_local(path) or self.schema.at(path).is_map:
            return True
        fields = (entry for node in sides.present for entry in _fields_of(node).values())
        return "openAPIV3Schema" not in path and all(isinstance(resolved(entry.value), Scalar) for entry in fields)

    def existence(self, path: FieldPath, sides: Sides) -> Verdict:
        """F5: of what one side removed and the other changed, the local decision about existence is kept."""
        if (chosen := self.chosen_side(("element",), path, sides)) is not None:
            return chosen
        upstream, local = sides.upstream, sides.local
        deleter: Side = "upstream" if upstream is None else "local"
        if same(sides.original, local if upstream is None else upstream):
            return Verdict(None, "F5", deleter)
        upstream_decides = self.policy.delete(path) == "upstream"
        if deleter == "upstream":
            node, outcome = (None, "the removal is kept") if upstream_decides else (local, "local's is kept")
        else:
            node, outcome = (
                (upstream, "upstream's is added again") if upstream_decides else (None, "it remains removed")
            )
        other: Side = "local" if deleter == "upstream" else "upstream"
        explanation = self.policy.explanation(
            path, f"{deleter} removed it, {other} changed it", outcome, of_existence=True
        )
        return Verdict(node, "F5", "both", self.policy.severity(path, of_existence=True), explanation)

    def _holds_local(self, path: FieldPath) -> bool:
        # Fields below stay local whatever upstream does with what holds them (K1, R6).
        return path in ((), ("metadata",), ("metadata", "annotations"))

    def _keeps_local(self, path: FieldPath, node: Node | None) -> bool:
        """Whether a node has fields that are never merged, or holds a mapping that does."""
        return isinstance(node, MappingNode) and any(
            self.schema.stays_local(step := (*path, canonical_text(key)))
            or (self._holds_local(step) and self._keeps_local(step, resolved(entry.value)))
            for key, entry in node.fields.items()
        )

    def _fields(
        self, path: FieldPath, fields: Sequence[dict[Canonical, Entry]]
    ) -> dict[Canonical, tuple[Sides, Verdict]]:
        verdicts: dict[Canonical, tuple[Sides, Verdict]] = {}
        schema = self.schema.at(path)
        # V7: what excludes each other is decided as one value before its fields are looked at.
        for group in schema.alternatives:
            names_of_sides = [tuple(name for name in group if name in side) for side in fields]
            if names_of_sides[1] != names_of_sides[2]:  # The same alternative merges inside (V7).
                verdicts |= self._one_of(path, fields, names_of_sides)
        if discriminator := schema.discriminator:
            verdicts |= self._discriminated(path, fields, discriminator)
        # In a resource, fields have names of the schema; files such as values and schemas have their own.
        are_names = self.file != "" or schema.is_map or path[-1:] == ("properties",)
        contested, why = contested_fields(fields, are_names=are_names)
        settles_early = not self.policy.resolutions.all
        for key in dict.fromkeys([*fields[2], *fields[1]]):  # What neither of them has, both removed.
            if key in verdicts:
                continue
            if _is_same_in_all(fields, key):
                # Most fields: nothing to decide, however much is inside.
                verdicts[key] = _UNCHANGED
                continue
            sides = _sides(fields, key)
            step = (*path, canonical_text(key))
            if settles_early and key not in contested and sides.are_local_alone():
                # V2 in short, however much is inside.
                verdicts[key] = sides, Verdict(sides.local, side="local")
            elif key in contested and sides.local is None and not isinstance(sides.original, Scalar | None):
                verdicts[key] = sides, self.existence(step, sides)  # Local renamed it.
            elif key in contested:
                verdicts[key] = sides, self._chosen(step, sides) or self.conflict(step, sides, "V4", why)
            elif self.schema.stays_local(step):
                verdicts[key] = sides, Verdict(sides.local, side="local")
            else:
                verdicts[key] = sides, self.value(step, sides)
        return verdicts

    def chosen_side(self, natures: Sequence[Nature], path: FieldPath, sides: Sides) -> Verdict | None:
        """The verdict of a choice for this place, where only one of the two sides can be chosen."""
        if not self.policy.resolutions.all:
            return None
        from krm_merge.merge.values.texts import resolved_side

        return resolved_side(self, natures, path, sides)

    def chosen_by(
        self,
        natures: Sequence[Nature],
        path: FieldPath,
        sides: Sides,
        chosen: Callable[[Resolution], tuple[Node | None] | None],
    ) -> Verdict | None:
        """The verdict of a choice for this place; `chosen` gives the value that a choice makes of the sides."""
        if not self.policy.resolutions.all:
            return None
        from krm_merge.merge.values.texts import answer_of_choices

        return answer_of_choices(self, natures, path, sides, chosen)

    def _discriminated(
        self, path: FieldPath, fields: Sequence[dict[Canonical, Entry]], discriminator: Discriminator
    ) -> dict[Canonical, tuple[Sides, Verdict]]:
        """V7: where a field says which of its siblings are allowed, they are one value with it."""
        names = [discriminator.field, *dict.fromkeys(m for members in discriminator.members.values() for m in members)]
        field = discriminator.field
        # The default written out, such as `type: RollingUpdate`, is no other choice than a missing field (V7).
        chosen = [side[field].value.canonical if field in side else discriminator.default for side in fields]
        if chosen[1] == chosen[2]:
            return {}
        return self._one_of(path, fields, [tuple(name for name in names if name in side) for side in fields])

    def _one_of(
        self, path: FieldPath, fields: Sequence[dict[Canonical, Entry]], names_of_sides: Sequence[tuple[Canonical, ...]]
    ) -> dict[Canonical, tuple[Sides, Verdict]]:
        """V7: a group of which one field is allowed is one value; `names_of_sides` are each side's fields of it."""
        choices = [_fields_as_one(side, holding) for side, holding in zip(fields, names_of_sides, strict=True)]
        sides = Sides(*choices)
        settled = sides.settled()
        if (chosen := self.chosen_side(("alternative",), path, sides)) is not None:
            winner = 2 if chosen.node is sides.local else 1
            self.record(chosen, path, sides, ())
        elif settled is not None:
            winner = 2 if settled.node is sides.local else 1
        elif None in choices[1:] and _only_removes(choices[0], choices[1] or choices[2]):
            # The one side removed the alternative, the other only fields of it: the removal is kept.
            winner = 1 if choices[1] is None else 2
        else:
            winner = 2 if self.policy.conflict(path) == "local" else 1
            has = [" and ".join(canonical_text(key) for key in holding) or "none of them" for holding in names_of_sides]
            what = f"upstream has {has[1]}, local has {has[2]}, and only one of them is allowed"
            message = self.policy.explanation(path, what, f"{'upstream' if winner == 1 else 'local'}'s choice is kept")
            self.record(Verdict(choices[winner], "V7", "both", self.policy.severity(path), message), path, sides, ())
        verdicts: dict[Canonical, tuple[Sides, Verdict]] = {}
        for key in dict.fromkeys(key for holding in names_of_sides for key in holding):
            field = _sides(fields, key)
            if field.upstream is not None or field.local is not None:
                node, side = (field.local, "local") if winner == 2 else (field.upstream, "upstream")
                verdicts[key] = field, Verdict(node, "V7", side)  # type: ignore[arg-type]
        return verdicts

    def _record_fields(
        self,
        path: FieldPath,
        sides: Sides,
        base: MappingNode,
        verdicts: dict[Canonical, tuple[Sides, Verdict]],
        survivors: set[Canonical],
    ) -> None:
        fields = base.fields
        original_fields, upstream_fields, local_fields = map(_fields_of, sides.nodes)
        for key, (field_sides, verdict) in verdicts.items():
            if key not in survivors:
                edits: tuple[Edit, ...] = (Remove(base, fields[key]),) if key in fields else ()
                children = original_fields.get(key), upstream_fields.get(key), local_fields.get(key)
                discarded = self.discarded_comments(verdict, sides, children)
                self.record(verdict, (*path, canonical_text(key)), field_sides, edits, discarded)
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
                if edits or verdict.is_reported or verdict.rule == "V3":
                    children = (original_fields.get(key), upstream_fields.get(key), entry)
                    discarded = self.discarded_comments(verdict, sides, children)
                    self.record(verdict, (*path, canonical_text(key)), field_sides, edits, discarded)
            else:
                theirs = upstream_fields[key]
                entry = Entry(theirs.key, verdict.node)
                comments = self.comments.of(sides.upstream, theirs)
                edits = (Insert(base, entry, previous, comments),)
                self.record(verdict, (*path, canonical_text(key)), field_sides, edits)
            # An inherited field has no line that another could follow.
            if not entry.inherited:
                previous = entry

    def discarded_comments(
        self, verdict: Verdict, sides: Sides, children: tuple[Child | None, Child | None, Child | None]
    ) -> DiscardedComments | None:
        """V8: the comments that go with a value that lost; `sides` are the collections around the children."""
        _, upstream, local = children
        if verdict.severity != "warning" and verdict.resolution is None:  # An error writes nothing: nothing is lost.
            return None
        if upstream is not None and verdict.node is resolved(value_of(upstream)):
            return self._discarded("local", sides, children)
        if local is not None and verdict.node is resolved(value_of(local)):
            return self._discarded("upstream", sides, children)
        if verdict.node is None and (upstream is None or local is None):
            return self._discarded("local" if upstream is None else "upstream", sides, children)
        return None

    def _discarded(
        self, loser: Literal["upstream", "local"], sides: Sides, children: Sequence[Child | None]
    ) -> DiscardedComments | None:
        at, other = (2, 1) if loser == "local" else (1, 2)
        child, winner = children[at], children[other]
        around = self.comments.around
        if child is None or not (inside := around(sides.nodes[at], child)):
            return None
        known_lines = {*around(sides.original, children[0]), *around(sides.nodes[other], winner)}
        lines = tuple(line for line in inside if line not in known_lines and not line.startswith(SETTER))
        if not lines:
            return None
        if winner is None:
            return DiscardedComments(loser, child, lines)
        own, others = (self.comments.of(sides.nodes[place], node) for place, node in ((at, child), (other, winner)))
        head = tuple(text for text in own.head if text not in lines)
        return DiscardedComments(loser, child, lines, Comments(head, others.line if own.line in lines else own.line))

    # ---- records -----------------------------------------------------------------------------------------------

    def record(
        self,
        verdict: Verdict,
        path: FieldPath,
        sides: Sides,
        edits: tuple[Edit, ...],
        comments: DiscardedComments | None = None,
    ) -> None:
        """Puts a verdict on record if it changes local, is worth telling, or may be another by lines (V3, law H)."""
        if not edits and not verdict.is_reported and verdict.rule != "V3":
            return
        if comments is not None and comments.side == "local" and comments.kept is not None:
            edits = (*edits, Comment(comments.child, comments.kept))
        self.decisions.append(
            Decision(
                verdict.rule,
                path,
                verdict.message or ("moved" if verdict.rule == "L4" else _what(sides, verdict.node)),
                verdict.side,
                verdict.severity,
                verdict.is_reported,
                sides.original,
                sides.upstream,
                sides.local,
                verdict.node,
                edits,
                comments,
                verdict.resolution,
            )
        )

    def note(
        self,
        path: FieldPath,
        rule: str,
        message: str,
        severity: Severity = "info",
        side: Side = "both",
        sides: Sides | None = None,
    ) -> None:
        """Puts something worth telling on record that changes nothing."""
        sides = sides or Sides(None, None, None)
        self.record(Verdict(None, rule, side, severity, message), path, sides, ())

    def forget_since(self, mark: int) -> None:
        """Drops decisions inside something that is gone; conflicts stay on record."""
        conflicts = [replace(d, edits=()) for d in self.decisions[mark:] if d.is_conflict or d.resolution]
        self.decisions[mark:] = conflicts


def _fields_of(node: Node | None) -> dict[Canonical, Entry]:
    return node.fields if isinstance(node, MappingNode) else {}


def _sides(fields: Sequence[dict[Canonical, Entry]], key: Canonical) -> Sides:
    return Sides(*[_value_at(side, key) for side in fields])


def _is_same_in_all(fields: Sequence[dict[Canonical, Entry]], key: Canonical) -> bool:
    """Whether all three sides have the field with one value."""
    entries = [side.get(key) for side in fields]
    if None in entries:
        return False
    original, upstream, local = [entry.value.canonical for entry in entries if entry is not None]
    return original == upstream and original == local


_UNCHANGED = Sides(None, None, None), Verdict(Scalar.new(""), side="local")
"""What is decided on a field that all sides have alike: thousands of these need no sides of their own."""


def _value_at(side: dict[Canonical, Entry], key: Canonical) -> Node | None:
    entry = side.get(key)
    return None if entry is None else resolved(entry.value)


def _fields_as_one(side: dict[Canonical, Entry], keys: Sequence[Canonical]) -> MappingNode | None:
    """The alternatives that a side has, as a value; None where it has none."""
    return MappingNode.new(True, [side[key] for key in keys]) if keys else None


def _only_removes(original: MappingNode | None, side: MappingNode | None) -> bool:
    """Whether a side holds nothing but what the original's alternative has: the same mapping, less some fields."""
    # What the original or both sides lack is settled before.
    assert original is not None
    assert side is not None
    if original.fields.keys() != side.fields.keys():
        return False
    for key, entry in side.fields.items():
        before, has = resolved(original.fields[key].value), resolved(entry.value)
        if not isinstance(before, MappingNode) or not isinstance(has, MappingNode):
            return False
        if any(not same(_value_at(before.fields, name), field.value) for name, field in has.fields.items()):
            return False
    return True


def _has_lines(text: str) -> bool:
    """Whether a text has more than one line."""
    return "\n" in text.rstrip("\n")


def _about_text(decision: Decision) -> Decision:
    """A decision on a field inside a text, as one of the document around that: it edits nothing there."""
    discarded = decision.discarded_comments
    return replace(decision, edits=(), discarded_comments=discarded and replace(discarded, kept=None))


def _text_node(text: str, sides: Sides) -> Node:
    """A string; the node of a side that has it, as law D compares nodes."""
    for node in (sides.local, sides.upstream):
        if node is not None and node.canonical == text:
            return node
    return Scalar.new(text, '"')


def _did(original: Node | None, side: Node | None) -> str:
    if same(original, side):
        return "kept" if side is not None else "lacks"
    if side is None:
        return "removed"
    return "added" if original is None else "changed"


def _what(sides: Sides, merged: Node | None) -> str:
    if merged is None:
        return "removed"
    return "added" if sides.local is None else "changed"
