"""Asks the choices that somebody made on single conflicts, before anything else decides (rules M3 to M5)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, TypeAlias

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import Content, Resolution, content_of, fingerprint
from krm_merge.merge.decisions.verdict import Sides, Verdict, same
from krm_merge.merge.values.texts import choose_text
from krm_merge.schema.model import is_bookkeeping
from krm_merge.schema.secrecy import Secrecy
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode, resolved
from krm_merge.text.reading.values import from_value

if TYPE_CHECKING:
    from krm_merge.merge.values.tree import TreeMerge

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


def resolved_value(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict | None:
    """The verdict on a value as it was chosen for just these sides; None where nobody chose."""
    return answer_of_choices(merge, _VALUES, path, sides, lambda resolution: _value(resolution, sides))


def resolved_side(merge: TreeMerge, natures: Collection[Nature], path: FieldPath, sides: Sides) -> Verdict | None:
    """The same where only one of the two sides can be chosen as it is."""

    def chosen(resolution: Resolution) -> Chosen:
        return {"upstream": (sides.upstream,), "local": (sides.local,)}.get(resolution.choice)

    return answer_of_choices(merge, natures, path, sides, chosen)


def answer_of_choices(
    merge: TreeMerge,
    natures: Collection[Nature],
    path: FieldPath,
    sides: Sides,
    chosen: Callable[[Resolution], Chosen],
) -> Verdict | None:
    """The verdict of the first resolution of these natures that fits; `chosen` gives what it makes of the sides."""
    for resolution in merge.policy.resolutions_at(path):
        if resolution.nature not in natures:
            continue
        fit = fit_of(merge, resolution, path, sides)
        choice = chosen(resolution) if fit else None
        if choice is None or (fit == "but-local" and not _is_in_place(resolution, choice[0], sides)):
            continue
        return Verdict(choice[0], _RULES[resolution.nature], "both", "info", explanation(resolution), resolution)
    return None


def fit_of(merge: TreeMerge, resolution: Resolution, path: FieldPath, sides: Sides) -> str:
    """How far the sides are those of a resolution. For a hidden value it is about its place alone (M6)."""
    kind = merge.policy.kind
    if merge.secrecy.hides(path, sides.nodes):
        # What is in no resource is known by its file.
        holds = (resolution.identity is not None or not kind) and resolution.choice in ("upstream", "local")
        place = merge.secrecy.place(path, sides.nodes)
        is_same_place = resolution.fingerprint == fingerprint(resolution.nature, kind or merge.file, place, None)
        return "exact" if holds and is_same_place and sides.settled() is None else ""
    return resolution.fit(kind, *map(content_of, sides.nodes))


def explanation(resolution: Resolution) -> str:
    """The message for a conflict that a choice settled."""
    return f"upstream and local differ; settled by {resolution.place or 'a resolution'}: {resolution.choice}"


def _is_in_place(resolution: Resolution, node: Node | None, sides: Sides) -> bool:
    """M5: whether local has what the resolution makes of it, so that it was carried out already."""
    if resolution.choice == "local" and (resolution.nature != "text" or _texts(sides) is None):
        # Anything that local has would do.
        return False
    return same(node, sides.local)


def _value(resolution: Resolution, sides: Sides) -> Chosen:
    choice = resolution.choice
    if choice == "recognise":
        return None
    if choice == "value":
        node = from_value(resolution.value)
        return (sides.local,) if same(node, sides.local) else (node,)
    if choice == "original":
        # Of a text, too, all of it: that it was chosen could not be seen line by line later.
        return (sides.original,) if sides.original is not None else None
    if resolution.nature == "text" and (texts := _texts(sides)) is not None:
        text = choose_text(*texts, choice)
        if text is not None:
            return (_text_node(text, sides),)
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
    return SequenceNode(None, 0, 0, False, [*map(resolved, first.items), *map(resolved, more)])


def _texts(sides: Sides) -> tuple[str, str, str] | None:
    texts = [node.text for node in sides.present if isinstance(node, Scalar) and type(node.canonical) is str]
    return (texts[0], texts[1], texts[2]) if len(texts) == 3 else None


def _text_node(text: str, sides: Sides) -> Node:
    for node in (sides.local, sides.upstream, sides.original):
        if node is not None and node.canonical == text:
            return node
    return Scalar(None, 0, 0, text, '"')


# ---- whole resources -------------------------------------------------------------------------------------------------


def resolved_existence(
    policy: Policy, original: MappingNode | None, upstream: MappingNode | None, local: MappingNode | None
) -> Resolution | None:
    """The choice on a resource that one side lacks, where it fits."""
    roots = [root for root in (original, upstream, local) if root is not None]
    secret = Secrecy(roots, policy.redactions).hides((), roots)
    contents = [resource_content(root) for root in (original, upstream, local)]
    for resolution in policy.resolutions_at(()):
        if resolution.nature != "resource" or resolution.choice not in ("upstream", "local"):
            continue
        if secret:
            is_same_place = resolution.fingerprint == fingerprint("resource", policy.kind, (), None)
            fit = "exact" if is_same_place and resolution.identity is not None and contents[1] != contents[2] else ""
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
