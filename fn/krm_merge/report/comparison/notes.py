"""What kpt itself writes into packages: nobody's change (R6)."""

from __future__ import annotations

import re

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar
from krm_merge.text.reading.values import Value, key_text

ANNOTATIONS = ("metadata", "annotations")
_BLUEPRINT = "cnrm.cloud.google.com/blueprint"
_ATTRIBUTION = re.compile(r"(?:^|,)(?:kpt|krm)(?:-(?:pkg|fn|live))+(?=,|$)")
"""What kpt adds to the annotation of Config Connector's resources: which of its commands wrote them."""


def is_note(path: FieldPath, first: Node | None, second: Node | None, *, in_kptfile: bool) -> bool:
    """Whether two versions of a field differ only in what kpt notes for its own use.

    In a Kptfile that is where the package comes from; the strategy of its updates is the user's own choice.
    """
    if in_kptfile and (path[:1] == ("upstreamLock",) or path[:2] in (("upstream", "git"), ("upstream", "type"))):
        return True
    if path == ("metadata",):
        annotations = [n.get("annotations") if isinstance(n, MappingNode) else None for n in (first, second)]
        others = [n for n in (first, second) if isinstance(n, MappingNode) and len(n.entries) != 1]
        return not others and _are_notes(*annotations)
    if path[:2] != ANNOTATIONS:
        return False
    if len(path) == 2:
        return _are_notes(first, second)
    return len(path) == 3 and _is_noted(str(path[2]), first, second)


def _are_notes(first: Node | None, second: Node | None) -> bool:
    """Whether two mappings of annotations have the same ones but for notes."""
    fields = [dict(_fields(node)) for node in (first, second)]
    names = sorted({*fields[0], *fields[1]})
    differing = [name for name in names if not _same(fields[0].get(name), fields[1].get(name))]
    return bool(differing) and all(_is_noted(name, fields[0].get(name), fields[1].get(name)) for name in differing)


def _fields(node: Node | None) -> list[tuple[str, Node]]:
    return [(key_text(e.key), e.value) for e in node.fields.values()] if isinstance(node, MappingNode) else []


def _same(first: Node | None, second: Node | None) -> bool:
    return first is not None and second is not None and first.canonical == second.canonical


def _is_noted(name: str, first: Node | None, second: Node | None) -> bool:
    if name != _BLUEPRINT:
        return is_bookkeeping(name)
    texts = ["" if node is None else node.text if isinstance(node, Scalar) else None for node in (first, second)]
    if None in texts:
        return False
    without = [_ATTRIBUTION.sub("", str(text)).lstrip(",") for text in texts]
    return without[0] == without[1]


def without_notes(value: Value, path: FieldPath) -> Value:
    """A copy of a resource, of its metadata or of its annotations (as `path` says) without what kpt notes there."""
    if not isinstance(value, dict):
        return value
    if path != ANNOTATIONS:
        name = ANNOTATIONS[len(path)]
        inner = without_notes(value.get(name), (*path, name))
        others = {key: other for key, other in value.items() if key != name}
        return others | {name: inner} if name in value and inner != {} else others
    kept: dict[str, Value] = {}
    for name, text in value.items():
        if name == _BLUEPRINT and isinstance(text, str):
            text = _ATTRIBUTION.sub("", text).lstrip(",")
            if not text:
                continue
        if not is_bookkeeping(name):
            kept[name] = text
    return kept
