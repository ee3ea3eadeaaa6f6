"""Never worse than git (law H): a merge by lines that holds what both sides changed settles what fields cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.decision import Decision, is_doubtful
from krm_merge.merge.decisions.member import Decide
from krm_merge.merge.decisions.report import shown_paths
from krm_merge.merge.writing.presentation import merged_by_lines, notes_in
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.document import document_text, without_separators
from krm_merge.text.reading.nodes import Alias, MappingNode, Node, Scalar, SequenceNode, TextError, resolved
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import key_text

SETTLED = frozenset(("V4", "V5", "V6", "L3", "F5"))
"""Rules whose conflicts may be none by lines; alternatives and functions are one value whatever lines say."""


def has_all_by_lines(original: MappingNode, upstream: MappingNode, local: MappingNode) -> bool:
    """Whether local already has, line by line, all that upstream changed: then there is nothing to merge (law D)."""
    before, theirs, ours = (_bare_text(root) for root in (original, upstream, local))
    return merged_by_lines(before, theirs, ours, lambda text: text == ours) is not None


def settled_by_lines(
    original: MappingNode, upstream: MappingNode, local: MappingNode, decide: Decide, decisions: list[Decision]
) -> str | None:
    """The text of a document with conflicts, where its lines merge without any and hold the changes of both sides.

    A field that one side renamed while the other changed what is in it is such a case: by fields it was removed.
    None where there is no conflict among the `decisions` of local, or one by lines, or where merging again would change
    the result (law D).
    """
    if (text := _merge_fields(original, upstream, local, decisions)) is None:
        return None
    root = read(text)
    assert isinstance(root, MappingNode)
    again = decide(root)
    if any(decision.is_conflict for decision in again):
        return text if _merge_fields(original, upstream, root, again) == text else None
    if not any(decision.edits for decision in again):
        return text
    return text if any(map(is_doubtful, again)) and has_all_by_lines(original, upstream, root) else None


def with_aliases(
    original: MappingNode, upstream: MappingNode, local: MappingNode, merged: MappingNode, decide: Decide
) -> str | None:
    """V9: the lines of a document without conflicts, where an alias that a side added means another value in them."""
    aliases = [Counter(name for name in _scalars(root) if _is_alias(name)) for root in (original, upstream, local)]
    if not (aliases[1] | aliases[2]) - aliases[0]:
        return None
    text = _by_lines(original, upstream, local)
    root = None if text is None else read(text)
    if not isinstance(root, MappingNode) or root.canonical == merged.canonical:
        return None
    return None if any(decision.edits or decision.is_conflict for decision in decide(root)) else text


def decision_by_lines(local: MappingNode, text: str) -> Decision:
    """The decision that a text settles a document: what it takes from upstream."""
    root = read(text)
    assert isinstance(root, MappingNode)
    paths = list(dict.fromkeys(_differences(local, root, ())))
    took = f"; taken from upstream: {shown_paths(paths)}" if paths else ""
    message = f"merged with upstream's by lines, which hold what both sides changed{took}"
    return Decision("H", (), message, "upstream", is_reported=True)


def _differences(first: Node, second: Node, path: FieldPath) -> Iterator[FieldPath]:
    """The places in which two values differ; of a list whose length differs, the list."""
    first, second = resolved(first), resolved(second)
    if first.canonical == second.canonical:
        return
    if isinstance(first, MappingNode) and isinstance(second, MappingNode):
        for key in dict.fromkeys([*first.fields, *second.fields]):
            first_entry, other_entry = first.fields.get(key), second.fields.get(key)
            entry = first_entry or other_entry
            assert entry is not None
            step = (*path, key_text(entry.key))
            yield from (
                (step,)
                if first_entry is None or other_entry is None
                else _differences(first_entry.value, other_entry.value, step)
            )
    elif isinstance(first, SequenceNode) and isinstance(second, SequenceNode) and len(first.items) == len(second.items):
        for at, items in enumerate(zip(first.items, second.items, strict=True)):
            yield from _differences(*items, (*path, at))
    else:
        yield path


def _merge_fields(
    original: MappingNode, upstream: MappingNode, local: MappingNode, decisions: list[Decision]
) -> str | None:
    conflicts = {decision.rule for decision in decisions if decision.is_conflict}
    if not conflicts or not conflicts <= SETTLED:
        return None
    return _by_lines(original, upstream, local)


def _by_lines(original: MappingNode, upstream: MappingNode, local: MappingNode) -> str | None:
    before, theirs, ours = (_bare_text(root) for root in (original, upstream, local))
    return merged_by_lines(before, theirs, ours, lambda text: _holds_both(text, ours, original, upstream, local))


def _bare_text(root: MappingNode) -> str:
    return without_separators(document_text(root))


def _holds_both(
    text: str, merged_by_fields: str, original: MappingNode, upstream: MappingNode, local: MappingNode
) -> bool:
    if text == merged_by_fields:
        # By lines, local has all that upstream changed.
        return True
    try:
        merged = read(text)
    except TextError:
        return False
    if not isinstance(merged, MappingNode) or notes_in(text) != notes_in(merged_by_fields):
        return False
    if _bookkeeping(merged) != _bookkeeping(local) or _doubles(merged) - _doubles(upstream) - _doubles(local):
        return False
    before, theirs, ours, both = (Counter(_scalars(root)) for root in (original, upstream, local, merged))
    return all(
        _adds_up(theirs[scalar] - count, ours[scalar] - count, both[scalar] - count)
        for scalar in before | theirs | ours | both
        for count in (before[scalar],)
    )


def _adds_up(upstream: int, local: int, merged: int) -> bool:
    """Whether a scalar is there as often as it must be; what both sides did alike may be done once."""
    alike = upstream * local > 0 and merged == max(upstream, local, key=abs)
    return merged == upstream + local or alike


def _scalars(node: Node) -> Iterator[object]:
    """Keys and values as they are written, texts by their lines; what an alias stands for is at its anchor (V9)."""
    if isinstance(node, Alias):
        yield "alias", node.name
    elif isinstance(node, MappingNode):
        for entry in node.entries:
            yield "key", entry.key.canonical
            yield from _scalars(entry.value)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _scalars(item)
    else:
        yield from node.canonical.split("\n") if type(node.canonical) is str else (node.canonical,)


def _is_alias(scalar: object) -> bool:
    return isinstance(scalar, tuple) and scalar[0] == "alias"


def _doubles(node: Node) -> Counter[str]:
    """The names that occur more than once in a list: no merge may add one (law G)."""
    counts: Counter[str] = Counter()
    pending = [node]
    while pending:
        current = resolved(pending.pop())
        if isinstance(current, MappingNode):
            pending.extend(entry.value for entry in current.fields.values())
        elif isinstance(current, SequenceNode):
            pending.extend(current.items)
            elements = (resolved(item) for item in current.items)
            names = Counter(_name_of(item) for item in elements if isinstance(item, MappingNode))
            counts.update(name for name, count in names.items() if name is not None and count > 1)
    return counts


def _name_of(element: MappingNode) -> str | None:
    """The name in a list of functions or containers; of an object in a `List`, with its kind and namespace."""
    name = element.get("name")
    if isinstance(name, Scalar):
        return name.text
    identity = identity_of(element)
    return "/".join((identity.group, identity.kind, identity.namespace, identity.name)) if identity.name else None


def _bookkeeping(root: MappingNode) -> dict[str, object]:
    """The annotations that are local's alone (R6)."""
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, MappingNode) else None
    if not isinstance(annotations, MappingNode):
        return {}
    entries = ((key_text(entry.key), entry.value.canonical) for entry in annotations.fields.values())
    return {name: value for name, value in entries if is_bookkeeping(name)}
