"""Whether a rule of the user reaches anything in the package."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.krm.fieldpath import ANY, FieldPath, Step
from krm_merge.merge.decisions.member import Member
from krm_merge.merge.decisions.policy import Rule
from krm_merge.merge.values.images import image_repository
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, resolved
from krm_merge.text.reading.values import key_text


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
        return [entry.value for entry in node.fields.values() if step in (ANY, key_text(entry.key))]
    if not isinstance(node, SequenceNode):
        return []
    if isinstance(step, int):
        return node.items[step : step + 1]
    return [item for item in node.items if step == ANY or (isinstance(step, tuple) and _has_keys(resolved(item), step))]


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
