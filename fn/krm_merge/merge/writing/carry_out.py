"""Applies the decisions on one resource, and checks the result (rules K3, G, W2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from krm_merge.krm import ID_ANNOTATIONS, KPTFILE, FieldPath, Resource, Results, format_path
from krm_merge.merge.decisions.decision import Comment, Decision, Edit, Replace, ResourceOutcome, apply
from krm_merge.merge.values.pipeline import faults
from krm_merge.merge.writing.comments import lost_comments_of, with_merged_comments
from krm_merge.startup import pattern
from krm_merge.text import (
    Canonical,
    Editor,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    document_text,
    key_text,
    opaque,
    read,
    rendered,
    resolved,
    source_of,
    with_separators_of,
    without_separators,
)


def edited_text(
    local: Node, decisions: Sequence[Decision], original_text: str, upstream_text: str, local_text: str
) -> str:
    """The text of a document after decisions on its fields. Raises TextError where it cannot be written.

    Aliases of `local` may be values of their own (`opaque`). The texts are those of whole documents.
    """
    editor = Editor(local)
    apply(decisions, editor)

    def read_again(text: str) -> Node | None:
        root = read(text)
        return None if root is None else opaque(root)

    text = rendered(editor, read_again).text
    return text_with_comments(
        text, (original_text, upstream_text, local_text), decisions, editor.canonical(), read_again
    )


def _differ_in_values_alone(first: str, second: str) -> bool:
    """Whether two texts differ in nothing but what is behind a colon, on lines without comments."""
    lines, others = first.split("\n"), second.split("\n")
    return len(lines) == len(others) and all(
        "#" not in line + other and ":" in line and line.partition(":")[0] == other.partition(":")[0]
        for line, other in zip(lines, others, strict=True)
        if line != other
    )


def text_with_comments(
    text: str,
    sides: Sequence[str],
    decisions: Sequence[Decision],
    meaning: Canonical,
    read_again: Callable[[str], Node | None] = read,
) -> str:
    """A text with the comments that upstream changed and local did not, if it still means the same."""
    original, upstream, local = sides
    if _differ_in_values_alone(original, upstream):
        return text
    discarded = {
        line
        for decision in decisions
        if (comments := decision.discarded_comments) is not None and comments.side == "upstream"
        for line in comments.lines
    }
    merged = with_merged_comments(text, original, upstream, local, discarded)
    if merged == text:
        return text
    try:
        root = read_again(merged)
    except TextError:
        return text
    return merged if root is not None and root.canonical == meaning else text


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("httpGet", "tcpSocket")


def dangling(root: Node) -> dict[str, FieldPath]:
    """A fault and its place; the texts are equal for the same fault in another version of the resource.

    Containers are in pods, workflows and tasks: a volume may be in any mapping around its mount.
    """
    broken: dict[str, FieldPath] = {}
    pending: list[tuple[FieldPath, str, frozenset[str], Node]] = [((), "", frozenset(), root)]
    while pending:
        path, name, volumes, node = pending.pop()
        if isinstance(node, SequenceNode):
            for at, item in enumerate(node.items):
                element = resolved(item)
                own = _name(element) if isinstance(element, MappingNode) else ""
                pending.append(((*path, (("name", own),) if own else at), own or name, volumes, element))
        elif isinstance(node, MappingNode):
            if "volumes" in node.fields or "volumeClaimTemplates" in node.fields:
                claims = (claim.get("metadata") for claim in _elements(node, "volumeClaimTemplates"))
                defined = (*_elements(node, "volumes"), *(data for data in claims if isinstance(data, MappingNode)))
                volumes |= set(map(_name, defined))
            mounts = _elements(node, "volumeMounts") if "volumeMounts" in node.fields else ()
            for volume in [volume for volume in map(_name, mounts) if volume not in volumes]:
                broken[f"{name} mounts the volume {volume}, which is not defined around it"] = (*path, "volumeMounts")
            for probe in (probe for probe in _PROBES if probe in node.fields):
                ports = set(map(_name, _elements(node, "ports")))
                # A number is a port itself, whether the container names it or not.
                for port in (port for port in _ports_of(node, probe) if not port.isdigit() and port not in ports):
                    fault = f"the {probe} of {name} asks the port {port}, which the container does not name"
                    broken[fault] = (*path, probe)
            for entry in node.fields.values():
                value = resolved(entry.value)
                if isinstance(value, MappingNode | SequenceNode):
                    pending.append(((*path, key_text(entry.key)), name, volumes, value))
    return broken


def _ports_of(container: MappingNode, probe: str) -> Iterator[str]:
    node = container.get(probe)
    for handler in _HANDLERS:
        action = node.get(handler) if isinstance(node, MappingNode) else None
        port = _text(action, "port") if isinstance(action, MappingNode) else ""
        if port:
            yield port


def _elements(node: MappingNode, field: str) -> Iterator[MappingNode]:
    value = node.get(field)
    for item in value.items if isinstance(value, SequenceNode) else []:
        element = resolved(item)
        if isinstance(element, MappingNode):
            yield element


def _name(node: MappingNode) -> str:
    return _text(node, "name")


def _text(node: MappingNode, field: str) -> str:
    value = node.get(field)
    return key_text(value) if value is not None else ""


def carry_out(
    resource: Resource,
    outcome: ResourceOutcome,
    results: Results,
    *,
    fit: Callable[[str], str] | None = None,
) -> None:
    """Edits local's resource as decided; faults and references that lead nowhere are reported.

    `fit` indents the text of a document as an item of a ResourceList; None where the resource is a
    document of a file itself.
    """
    try:
        text, root = merged_text(resource, outcome, fit)
        # The tree may be that of the text without separators, or at another column.
        is_of_text = root is not None and source_of(root).text == text
        resource.present(text, root if is_of_text else None)
        lost = lost_comments_of(outcome, text)
        outcome.decisions.extend(decision for decision in lost if decision not in outcome.decisions)
        is_kptfile = outcome.member.identity.kind == KPTFILE
        if not resource.is_changed and not is_kptfile:
            return
        kptfile = resource.merged() if is_kptfile else None
    except TextError as error:
        message = f"{outcome.member.file}: {resource.ref}: {error}"
        results.error(message, resource=resource.ref, file=outcome.member.file, rule="W2")
        return
    if kptfile is not None:
        _check_kptfile(resource, outcome, kptfile, results)
    elif "volumeMounts" in text or "Probe" in text or "\\" in text:
        # Others refer to nothing. What edits alone make was read again where it differs from local's.
        if root is None and all(_keeps_references(edit) for decision in outcome.decisions for edit in decision.edits):
            return
        _check_references(resource, outcome, root or resource.editor.tree(), results)


def merged_text(
    resource: Resource, outcome: ResourceOutcome, fit: Callable[[str], str] | None = None
) -> tuple[str, MappingNode | None]:
    """The text of the merged document, and the tree of its fields; None where edits alone make it. Raises TextError."""
    fitted = fit or partial(with_separators_of, other=resource.source)
    if outcome.text is not None:
        if outcome.local is not None and outcome.text == without_separators(document_text(outcome.local.root)):
            return resource.source, None
        text = fitted(outcome.text) if fit is None else _without_ids(fitted(outcome.text), outcome.root)
        return text, _read(text) if outcome.root is None else outcome.root
    apply(outcome.decisions, resource.editor)
    if fit is not None and resource.is_changed:
        resource.drop_ids()
    text = resource.text()
    if outcome.original is None or outcome.upstream is None or outcome.local is None:
        return text, None
    before, theirs = (fitted(document_text(member.root)) for member in (outcome.original, outcome.upstream))
    with_comments = text_with_comments(
        text, (before, theirs, resource.source), outcome.decisions, resource.editor.canonical()
    )
    if with_comments == text:
        return text, None
    if fit is not None and not resource.is_changed:
        # Only comments: W3 holds for these, too.
        with_comments = _without_ids(with_comments)
    return with_comments, _read(with_comments)


_ID_LINES = pattern(rf"^ +(?:{'|'.join(map(re.escape, ID_ANNOTATIONS))}): (['\"]?)[0-9]+\1\n", re.MULTILINE)


def _without_ids(text: str, root: MappingNode | None = None) -> str:
    """An item without kpt's annotations for its own use (W3); `root` are its fields, where somebody read them."""
    names = [name for name in ID_ANNOTATIONS if name in text]
    if not names:
        return text
    metadata = None if root is None else root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, MappingNode) else None
    # To read it once more takes as long as all else: as kpt writes them, they are lines that only they can be.
    if isinstance(annotations, MappingNode) and len(annotations.entries) > len(names):
        shorter, count = _ID_LINES.subn("", text)
        if count == len(names) and all(text.count(name) == 1 and annotations.get(name) is not None for name in names):
            return shorter
    item = Resource.from_tree(_read(text))
    item.drop_ids()
    return item.text()


def _read(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def _keeps_references(edit: Edit) -> bool:
    """Whether an edit cannot make a reference lead nowhere: it gives a field another text that no reference has."""
    if isinstance(edit, Comment):
        return True
    if not isinstance(edit, Replace) or not isinstance(edit.child, Entry):
        return False
    are_scalars = isinstance(edit.child.value, Scalar) and isinstance(edit.value, Scalar)
    return are_scalars and edit.child.key.canonical not in ("name", "port")


def _check_references(resource: Resource, outcome: ResourceOutcome, merged: Node, results: Results) -> None:
    if not (broken := dangling(merged)):
        return
    # What led nowhere on a side is no fault of the merge.
    broken_before = {text for root in outcome.roots for text in dangling(root)}
    for text, at in broken.items():
        if text not in broken_before:
            path = format_path(at)
            results.warning(
                f"{path}: {text}",
                resource=resource.ref,
                file=outcome.member.file,
                path=path,
                rule="G",
                tags={"side": "both"},
            )


def _check_kptfile(resource: Resource, outcome: ResourceOutcome, merged: MappingNode, results: Results) -> None:
    # K3: what kpt would refuse; ours are errors, those that an input brought are warnings.
    inherited = {fault.identity for root in outcome.roots for fault in faults(root)}
    for fault in faults(merged):
        path = format_path(fault.path)
        report = results.warning if fault.identity in inherited else results.error
        report(
            f"{path}: {fault.problem}; kpt refuses such a Kptfile",
            resource=resource.ref,
            file=outcome.member.file,
            path=path,
            rule="K3",
            tags={"side": "both"},
        )
