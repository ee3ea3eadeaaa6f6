"""The merge of one document: lines first, then fields (law H). `text` of an outcome is what lines made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import INPUT_SIDES, Decision, Member, ResourceOutcome, same
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.three_way import merge_lines, notes_in
from krm_merge.merge.values.context import change_word
from krm_merge.merge.values.soundness import changes_of, documents_of, is_sound_text
from krm_merge.merge.values.tree import MixedAliasesError, merge_values
from krm_merge.merge.writing.carry_out import edited_text
from krm_merge.merge.writing.comments import lost_comments, setters_in
from krm_merge.schema import Schema, Secrecy
from krm_merge.startup import frozen, replace
from krm_merge.text import (
    IN_COLLECTIONS,
    Alias,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    document_text,
    opaque,
    read,
    resolved,
    value_of,
    without_separators,
)

Decide = Callable[[Node, Node, Node], list[Decision]]

Rendered = Callable[..., list[Member]]
"""Original and others with what functions wrote in local; empty where that is nothing."""


@frozen
class FieldMerge:
    """How fields merge: by this schema, under this policy; `file` is the path of what holds values but no resource."""

    schema: Schema
    policy: Policy
    smart: bool = False
    file: str = ""

    def decide(self, original: Node | None, upstream: Node, local: Node) -> list[Decision]:
        """Decides on everything in a document, by its fields."""
        return merge_values(
            original,
            upstream,
            local,
            self.schema,
            self.policy,
            smart=self.smart,
            file=self.file,
            embedded=merge_embedded,
        )


def merge_document(
    original: Member | None,
    upstream: Member,
    local: Member,
    fields: FieldMerge,
    before: MappingNode | None = None,
    rendered: Rendered | None = None,
) -> ResourceOutcome:
    """Merges a document by its lines where these merge and are sound, else by its fields.

    `before` is what fields have as the original, where that is another than its root. `rendered` gives original and
    upstream with what functions wrote in local; where lines merge without it, they merge the same with it (R14).
    """
    by_lines = None if original is None else _by_lines(original, upstream, local, fields.schema)
    has_choices = bool(fields.policy.resolutions.all)
    if original is not None and rendered is not None:
        # What somebody chose, and whether local left alone what upstream moved (R2), is seen without functions alone.
        is_asked = has_choices or original.place != upstream.place
        if (by_lines is None or is_asked) and (members := rendered(original, upstream)):
            return merge_document(members[0], members[1], local, fields, members[0].root)
    if by_lines is None:
        return _by_fields(original, upstream, local, fields, before)
    if has_choices:
        # M2: what somebody chose is known again, also where local has it already.
        by_fields = _by_fields(original, upstream, local, fields, before)
        if any(decision.resolution for decision in by_fields.decisions):
            return by_fields
    return by_lines


def _by_fields(
    original: Member | None, upstream: Member, local: Member, fields: FieldMerge, before: MappingNode | None
) -> ResourceOutcome:
    """Merges a document by its fields. `before` is what they have as the original without one."""
    roots = (original.root if original is not None else before, upstream.root, local.root)
    if any(root is not None and _has_aliases(root) for root in roots):
        # V9: aliases merge as they are written, and an edit of an anchored value is made at its anchor.
        try:
            return _with_aliases(original, upstream, local, fields)
        except (MixedAliasesError, TextError):
            # Values count where not all sides have the alias, and where its anchor is gone.
            pass
    return ResourceOutcome("merged", original, upstream, local, fields.decide(*roots))


def _with_aliases(original: Member | None, upstream: Member, local: Member, fields: FieldMerge) -> ResourceOutcome:
    texts = _texts_of(original, upstream, local)
    before, theirs, ours = (opaque(root) if (root := read(text)) is not None else None for text in texts)
    assert theirs is not None
    assert ours is not None
    decisions = fields.decide(before, theirs, ours)
    outcome = ResourceOutcome("merged", original, upstream, local, decisions)
    if any(decision.severity == "error" for decision in decisions):
        return outcome
    return replace(outcome, text=edited_text(ours, decisions, texts[0], texts[1], texts[2]))


def _texts_of(*members: Member | None) -> list[str]:
    return ["" if member is None else without_separators(document_text(member.root)) for member in members]


def _by_lines(original: Member, upstream: Member, local: Member, schema: Schema) -> ResourceOutcome | None:
    """The document as its lines merge; None where they meet, or where the result is not sound."""
    texts = _texts_of(original, upstream, local)
    text = merge_lines(*texts)
    if text is None or notes_in(text) != notes_in(texts[2]):
        return None
    if not setters_in(text) <= setters_in(texts[1]) | setters_in(texts[2]):
        # A setter would set what no side has it set.
        return None
    is_kept = text == texts[2]
    if is_kept and texts[1] in (texts[0], texts[2]):
        return _kept_by_lines(original, upstream, local, text)
    try:
        merged = read(text)
    except TextError:
        return None
    if not isinstance(merged, MappingNode):
        return None
    roots: list[Node] = [original.root, upstream.root, local.root, merged]
    if any(map(_has_aliases, roots)):
        roots = [opaque(root) for root in roots]
    changes = changes_of(schema, *roots)
    if changes is None:
        return None
    if is_kept:
        return _kept_by_lines(original, upstream, local, text)
    decisions = [
        Decision(
            "V2", path, change_word(sides, value), "upstream", "info", False, *sides.nodes, value, is_by_lines=True
        )
        for path, sides, value in changes
    ]
    return ResourceOutcome("merged", original, upstream, local, decisions, text, merged)


def _kept_by_lines(original: Member, upstream: Member, local: Member, text: str) -> ResourceOutcome:
    # A Kptfile is looked at whatever comes in (K3), and a resource may have to follow its move (R2).
    is_kept = not local.is_kptfile and original.place == upstream.place
    return ResourceOutcome("kept" if is_kept else "merged", original, upstream, local, [], text)


def merge_embedded(
    path: FieldPath, texts: Sequence[str], decide: Decide, secrecy: Secrecy
) -> tuple[str, list[Decision]] | None:
    """Merges the texts of original, upstream and local as documents, with the comments of both (V6).

    Gives the merged text, and what was decided on its fields and comments; None where a text is not one YAML or JSON
    document, or only by chance.
    """
    # Most texts are prose or scripts: one without a sign of a collection need not be read.
    if any(map(IN_COLLECTIONS.isdisjoint, texts)):
        return None
    roots: list[Node] = []
    for text in texts:
        documents = documents_of(text)
        if documents is None or len(documents) > 1 or _is_by_chance(documents[0]):
            return None
        roots.append(documents[0])
    if len({type(root) for root in roots}) > 1:
        return None
    by_lines = merge_lines(*texts)
    if by_lines is not None and is_sound_text(texts[0], texts[1], texts[2], by_lines):
        return by_lines, []
    if any(map(_has_aliases, roots)):
        roots = [opaque(root) for root in roots]
    try:
        decisions = decide(*roots)
        if any(decision.severity == "error" for decision in decisions):
            # Nothing is written.
            return texts[2], decisions
        text = edited_text(roots[2], decisions, texts[0], texts[1], texts[2])
        # JSON has no comments: what means just what upstream has is upstream's text.
        is_upstreams = text.startswith(("{", "[")) and same(read(text), roots[1])
        if is_upstreams:
            return texts[1], decisions
        sides = dict(zip(INPUT_SIDES, zip(roots, texts, strict=True), strict=True))
        return text, [*decisions, *lost_comments(sides, text, decisions, secrecy, path)]
    except (MixedAliasesError, TextError):
        return None


def _is_by_chance(root: Node) -> bool:
    """Whether a text is YAML by chance: JSON that lacks a comma or quotes, whose words are one string to YAML."""
    if not isinstance(root, MappingNode | SequenceNode) or not root.flow:
        return False
    return any(isinstance(node, Scalar) and not node.style and _is_wrapped(node) for node in _nodes_in(root))


def _is_wrapped(node: Scalar) -> bool:
    return node.source is not None and "\n" in node.source.text[node.start : node.end].rstrip()


def _has_aliases(root: Node) -> bool:
    # Of a list of resources others may have the aliases.
    has_aliases = root.source is not None and root.source.has_aliases
    return has_aliases and any(isinstance(node, Alias) for node in _nodes_in(root, aliases=True))


def _nodes_in(root: Node, *, aliases: bool = False) -> list[Node]:
    """A node and all those inside; aliases themselves, or what they stand for."""
    nodes, pending = [], [root]
    while pending:
        node = pending.pop()
        nodes.append(node)
        node = node if aliases else resolved(node)
        if isinstance(node, MappingNode | SequenceNode):
            for child in node.children:
                pending += [child.key, child.value] if isinstance(child, Entry) else [value_of(child)]
    return nodes
