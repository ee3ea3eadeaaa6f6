"""What the merge of one document knows, and the verdicts that need no look inside: conflicts, existence, comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import (
    Comment,
    Decision,
    DiscardedComments,
    Edit,
    Side,
    Sides,
    Verdict,
    same,
)
from krm_merge.merge.decisions.policy import Content, Nature, Policy, Resolution, content_of, fingerprint
from krm_merge.merge.lines.three_way import SETTER, CommentReader
from krm_merge.merge.values.texts import choose_text, higher_version, text_node, texts_of
from krm_merge.schema import Schema, Secrecy, is_bookkeeping
from krm_merge.text import Child, Comments, MappingNode, Node, SequenceNode, from_value, resolved, value_of

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


class ChosenVerdicts:
    """The choices that a policy has for one document."""

    def __init__(self, policy: Policy, secrecy: Secrecy, file: str) -> None:
        """`secrecy` knows what is hidden in the document; `file` is the path of what holds values but no resource."""
        self._policy = policy
        self._secrecy = secrecy
        self._file = file

    def of_value(self, path: FieldPath, sides: Sides) -> Verdict | None:
        """The verdict on a value as it was chosen for just these sides; None where nobody chose."""

        def chosen(resolution: Resolution) -> Chosen:
            if resolution.choice != "higher":
                return _value(resolution, sides)
            higher = higher_version(self._file, path, sides)
            return None if higher is None else (sides.upstream if higher == "upstream" else sides.local,)

        return self.answer(_VALUES, path, sides, chosen)

    def of_side(self, natures: Iterable[Nature], path: FieldPath, sides: Sides) -> Verdict | None:
        """The same where only one of the two sides can be chosen as it is."""

        def chosen(resolution: Resolution) -> Chosen:
            return {"upstream": (sides.upstream,), "local": (sides.local,)}.get(resolution.choice)

        return self.answer(natures, path, sides, chosen)

    def answer(
        self,
        natures: Iterable[Nature],
        path: FieldPath,
        sides: Sides,
        chosen: Callable[[Resolution], Chosen],
    ) -> Verdict | None:
        """The verdict of the first resolution of these natures that fits; `chosen` gives what it makes of the sides."""
        if not self._policy.resolutions.all:
            return None
        for resolution in self._policy.resolutions_at(path):
            if resolution.nature not in natures:
                continue
            fit = self._fit(resolution, path, sides)
            choice = chosen(resolution) if fit else None
            if choice is None or (fit == "but-local" and not _is_in_place(resolution, choice[0], sides)):
                continue
            return Verdict(choice[0], _RULES[resolution.nature], "both", "info", explanation(resolution), resolution)
        return None

    def recognises(self, path: FieldPath, sides: Sides) -> Resolution | None:
        """The choice to recognise functions by what they are, as `functionIdentity: smart` does (M2)."""
        for resolution in self._policy.resolutions_at(path):
            is_such = (resolution.nature, resolution.choice) == ("functions", "recognise")
            if is_such and self._fit(resolution, path, sides):
                return resolution
        return None

    def _fit(self, resolution: Resolution, path: FieldPath, sides: Sides) -> str:
        """How far the sides are those of a resolution. For a hidden value it is about its place alone (M6)."""
        kind = self._policy.kind
        if self._secrecy.hides(path, sides.nodes):
            # What is in no resource is known by its file.
            holds = (resolution.resource is not None or not kind) and resolution.choice in ("upstream", "local")
            place = self._secrecy.place(path, sides.nodes)
            is_same_place = resolution.fingerprint == fingerprint(resolution.nature, kind or self._file, place, None)
            return "exact" if holds and is_same_place and sides.settled() is None else ""
        return resolution.fit(kind, *map(content_of, sides.nodes))


def explanation(resolution: Resolution) -> str:
    """The message for a conflict that a choice settled."""
    return f"upstream and local differ; settled by {resolution.place or 'a resolution'}: {resolution.choice}"


def _is_in_place(resolution: Resolution, node: Node | None, sides: Sides) -> bool:
    """M2: whether local has what the resolution makes of it, so that it was carried out already."""
    if resolution.choice == "local" and (resolution.nature != "text" or texts_of(sides) is None):
        # Anything that local has would do.
        return False
    return same(node, sides.local)


def _value(resolution: Resolution, sides: Sides) -> Chosen:
    choice = resolution.choice
    if (
        choice == "higher"
        or choice == "recognise"
        or (resolution.nature == "sequence" and choice in ("original", "value"))
    ):
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
            return (text_node(text, sides),)
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


def resolved_existence(
    policy: Policy, original: MappingNode | None, upstream: MappingNode | None, local: MappingNode | None
) -> Resolution | None:
    """The choice on a resource that one side lacks, where it fits."""
    roots = [root for root in (original, upstream, local) if root is not None]
    secret = Secrecy(roots).hides((), roots)
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


Decide: TypeAlias = Callable[[Node, Node, Node], list[Decision]]
"""Decides on a document in three versions: original, upstream, local."""

MergeEmbedded: TypeAlias = Callable[[FieldPath, Sequence[str], Decide, Secrecy], tuple[str, list[Decision]] | None]
"""Merges three texts of a field as documents, and gives the text and the decisions; None where one holds no fields."""

Decided: TypeAlias = Callable[[FieldPath, Sides], Verdict]
"""Decides on the value at a place."""

Children: TypeAlias = "tuple[Child | None, Child | None, Child | None]"


class MergeContext:
    """The schema, the policy and the choices that hold for one document; nothing in it changes during a merge."""

    def __init__(
        self,
        schema: Schema,
        policy: Policy,
        *,
        smart: bool = False,
        file: str = "",
        embedded: MergeEmbedded | None = None,
        secrecy: Secrecy | None = None,
    ) -> None:
        """For a resource of this schema under this policy; `smart` is `functionIdentity: smart` (F6).

        `file` is the path of what holds values but no resource. `embedded` merges texts that are documents themselves.
        """
        self.schema = schema
        self.policy = policy
        self.smart = smart
        self.file = file
        self.embedded = embedded
        self.secrecy = secrecy or Secrecy()
        self.choices = ChosenVerdicts(policy, self.secrecy, file)
        self.comments = CommentReader()

    def of_schema(self, schema: Schema) -> MergeContext:
        """The same for what another schema describes."""
        return MergeContext(
            schema, self.policy, smart=self.smart, file=self.file, embedded=self.embedded, secrecy=self.secrecy
        )

    def conflict(self, path: FieldPath, sides: Sides, rule: str, why: str = "") -> Verdict:
        """V4: both changed the value as a whole; the policy decides."""
        winner: Side = "local" if self.policy.conflict(path) == "local" else "upstream"
        node = sides.local if winner == "local" else sides.upstream
        did = f"upstream {_did(sides.original, sides.upstream)} it, local {_did(sides.original, sides.local)} it"
        if rule == "V5":
            did += " to another kind of value"
        if (higher := higher_version(self.file, path, sides)) is not None:
            did += f"; {higher}'s version is the higher"
        what = "value" if node is not None else "removal" if sides.original is not None else "lack of it"
        outcome = f"{winner}'s {what} is kept"
        explanation = self.policy.explanation(path, f"{why + ': ' if why else ''}{did}", outcome)
        return Verdict(node, rule, "both", self.policy.severity(path), explanation)

    def existence(self, path: FieldPath, sides: Sides) -> Verdict:
        """F5: of what one side removed and the other changed, the local decision about existence is kept, whole."""
        if (chosen := self.choices.of_side(("element",), path, sides)) is not None:
            return chosen
        upstream, local = sides.upstream, sides.local
        if upstream is None and local is None:
            return Verdict(None, "F5", "both")
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

    # ---- decisions ---------------------------------------------------------------------------------------------

    def decided(
        self,
        verdict: Verdict,
        path: FieldPath,
        sides: Sides,
        edits: tuple[Edit, ...] = (),
        comments: DiscardedComments | None = None,
    ) -> list[Decision]:
        """The decisions inside of a verdict, and that on the value itself if it changes local or is worth telling."""
        decisions = list(verdict.decisions)
        if edits or verdict.is_reported:
            if comments is not None and comments.side == "local" and comments.kept is not None:
                edits = (*edits, Comment(comments.child, comments.kept))
            decisions.append(
                Decision(
                    verdict.rule,
                    path,
                    verdict.message or ("moved" if verdict.rule == "L4" else change_word(sides, verdict.node)),
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
        return decisions

    def discarded_comments(self, verdict: Verdict, sides: Sides, children: Children) -> DiscardedComments | None:
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
        self, loser: Literal["upstream", "local"], sides: Sides, children: Children
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


def _did(original: Node | None, side: Node | None) -> str:
    if same(original, side):
        return "kept" if side is not None else "lacks"
    if side is None:
        return "removed"
    return "added" if original is None else "changed"


def change_word(sides: Sides, merged: Node | None) -> str:
    """What becomes of local's value: `removed`, `added` or `changed`."""
    if merged is None:
        return "removed"
    return "added" if sides.local is None else "changed"
