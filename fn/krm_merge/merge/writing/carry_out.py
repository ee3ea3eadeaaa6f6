"""Applies the decisions on one resource, and checks the result (rules K3, G, W2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from krm_merge.krm import KPTFILE, FieldPath, Resource, Results, format_path, report_rewriting
from krm_merge.merge.decisions.decision import Comment, Decision, Edit, Replace, ResourceOutcome, apply
from krm_merge.merge.values.pipeline import faults
from krm_merge.merge.writing.presentation import Presentation, Versions
from krm_merge.schema import Redaction
from krm_merge.startup import replace
from krm_merge.text import (
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    document_of,
    key_text,
    read,
    resolved,
    source_of,
    with_separators_of,
)

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("httpGet", "tcpSocket")


def dangling(root: Node) -> dict[str, FieldPath]:
    """A fault and its place; the texts are equal for the same fault in another version of the resource."""
    broken: dict[str, FieldPath] = {}
    pending: list[tuple[FieldPath, MappingNode]] = [((), root)] if isinstance(root, MappingNode) else []
    while pending:
        path, node = pending.pop()
        if isinstance(node.get("containers"), SequenceNode):
            broken |= _in_pod(path, node)
        for entry in node.fields.values():
            if isinstance(value := resolved(entry.value), MappingNode):
                pending.append(((*path, key_text(entry.key)), value))
    return broken


def _in_pod(path: FieldPath, pod: MappingNode) -> dict[str, FieldPath]:
    broken: dict[str, FieldPath] = {}
    volumes = {_text(volume, "name") for _, volume in _elements(pod, "volumes")}
    for field in _CONTAINERS:
        for name, container in _elements(pod, field):
            at: FieldPath = (*path, field, (("name", name),))
            for _, mount in _elements(container, "volumeMounts"):
                volume = _text(mount, "name")
                if volume not in volumes:
                    broken[f"{name} mounts the volume {volume}, which the pod does not have"] = (*at, "volumeMounts")
            ports = {_text(port, "name") for _, port in _elements(container, "ports")}
            for probe, port in _probe_ports(container):
                # A number is a port itself, whether the container names it or not.
                if not port.isdigit() and port not in ports:
                    broken[f"the {probe} of {name} asks the port {port}, which the container does not name"] = (
                        *at,
                        probe,
                    )
    return broken


def _probe_ports(container: MappingNode) -> Iterator[tuple[str, str]]:
    for probe in _PROBES:
        node = container.get(probe)
        for handler in _HANDLERS:
            action = node.get(handler) if isinstance(node, MappingNode) else None
            port = _text(action, "port") if isinstance(action, MappingNode) else ""
            if port:
                yield probe, port


def _elements(node: MappingNode, field: str) -> Iterator[tuple[str, MappingNode]]:
    value = node.get(field)
    for item in value.items if isinstance(value, SequenceNode) else []:
        element = resolved(item)
        if isinstance(element, MappingNode):
            yield _text(element, "name"), element


def _text(node: MappingNode, field: str) -> str:
    value = node.get(field)
    return key_text(value) if value is not None else ""


def carry_out(
    resource: Resource,
    outcome: ResourceOutcome,
    results: Results,
    redactions: Sequence[Redaction] = (),
    *,
    fit: Callable[[str], str] | None = None,
) -> None:
    """Edits local's resource as decided; faults and references that lead nowhere are reported.

    `fit` indents the text of a document as an item of a ResourceList; None where the resource is a
    document of a file itself. `redactions` say what reports hide (M6).
    """
    try:
        text, root = merged_text(resource, outcome, fit)
        resource.present(text, root)
        _report_lost_comments(outcome, text, redactions)
        is_kptfile = outcome.member.identity.kind == KPTFILE
        if not resource.is_changed and not is_kptfile:
            return
        kptfile = resource.merged() if is_kptfile else None
    except TextError as error:
        results.error(f"{outcome.member.file}: {error}", file=outcome.member.file)
        return
    if fit is None:
        # An item is written with its list.
        report_rewriting(resource, results, outcome.member.file)
    if kptfile is not None:
        _check_kptfile(resource, outcome, kptfile, results)
    elif "containers" in text or "\\" in text:
        # No other resource has pods. What edits alone make was read again where it differs from local's.
        if root is None and all(_keeps_references(edit) for decision in outcome.decisions for edit in decision.edits):
            return
        _check_references(resource, outcome, root or resource.editor.tree(), results)


def merged_text(
    resource: Resource, outcome: ResourceOutcome, fit: Callable[[str], str] | None = None
) -> tuple[str, MappingNode | None]:
    """The text of the merged document, and its tree; None where the edits alone make it. Raises TextError."""
    fitted = fit or partial(with_separators_of, other=resource.source)

    def settled(document: str) -> tuple[str, MappingNode | None]:
        # What merging again would make of it (law D).
        again = Resource.from_tree(_read(document))
        text, _ = _present(
            again, replace(outcome, decisions=[]), partial(with_separators_of, other=document), of_items=True
        )
        text = fitted(text) if fit is None else _without_ids(fitted(text))
        return text, _read(text)

    if outcome.text is not None:
        return settled(outcome.text)
    apply(outcome.decisions, resource.editor)
    if fit is not None and resource.is_changed:
        resource.drop_ids()
    text, root = _present(resource, outcome, fitted, of_items=fit is not None)
    if fit is not None and text != resource.source and not resource.is_changed:
        # Only comments: W3 holds for these, too.
        resource.drop_ids()
        text, root = _present(resource, outcome, fitted, of_items=True)
    document = _settled_by_now(outcome, text, root)
    return (text, root) if document is None else settled(document)


def _report_lost_comments(outcome: ResourceOutcome, text: str, redactions: Sequence[Redaction]) -> None:
    """Adds the decisions on comments that are not in the text, once."""
    # Without a number sign no comment can get lost, and the module need not be imported.
    if not any(source_of(root).has_number_signs for root in outcome.roots):
        return
    from krm_merge.merge.writing.comments import lost_comments

    lost = lost_comments(outcome, text, redactions)
    outcome.decisions.extend(decision for decision in lost if decision not in outcome.decisions)


def _without_ids(text: str) -> str:
    """An item without kpt's annotations for its own use (W3)."""
    item = Resource.from_tree(_read(text))
    item.drop_ids()
    return item.text()


def _read(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def _settled_by_now(outcome: ResourceOutcome, text: str, root: MappingNode | None) -> str | None:
    """Law D: what lines settle as soon as all else is merged, they would settle when merging again."""
    original, upstream, decide = outcome.original, outcome.upstream, outcome.decide
    if original is None or upstream is None or decide is None or outcome.member.is_kptfile:
        return None
    has_conflicts = any(decision.severity == "warning" for decision in outcome.decisions)
    # Lines know better only of conflicts and of added aliases.
    if not (has_conflicts or any(map(_has_anchors, outcome.roots))):
        return None
    # What somebody chose is not settled once more by lines.
    if any(decision.resolution for decision in outcome.decisions):
        return None
    if has_conflicts and all(map(_is_settled, outcome.decisions)):
        # Merging again would find no conflict that lines could settle.
        return None
    from krm_merge.merge.writing.presentation import settled_by_lines, with_aliases

    now = root if root is not None else _read(text)
    if not has_conflicts:
        assert outcome.local is not None
        return with_aliases(original.root, upstream.root, outcome.local.root, now, decide)
    return settled_by_lines(original.root, upstream.root, now, decide, decide(now))


def _is_settled(decision: Decision) -> bool:
    """Whether merging again would find no conflict here: there was none, or upstream's value is now local's."""
    if decision.severity != "warning":
        return True
    is_upstreams = decision.upstream is not None and decision.merged is decision.upstream
    return decision.rule == "V4" and is_upstreams and not any(isinstance(step, int) for step in decision.path)


def _has_anchors(root: MappingNode) -> bool:
    text = source_of(root).text
    return "&" in text and "*" in text


def _present(
    resource: Resource, outcome: ResourceOutcome, fit: Callable[[str], str], *, of_items: bool
) -> tuple[str, MappingNode | None]:
    original, upstream = outcome.original, outcome.upstream
    if original is None or upstream is None or outcome.decide is None:
        return resource.text(), None
    discarded = [decision.discarded_comments for decision in outcome.decisions if decision.discarded_comments]
    before, theirs = (document_of(member.root) if of_items else member.root for member in (original, upstream))
    versions = Versions(
        before,
        theirs,
        resource.root,
        outcome.decide,
        fit,
        tuple(
            (comments.child, comments.kept)
            for comments in discarded
            if comments.side == "upstream" and comments.kept is not None
        ),
    )
    presentation = Presentation(versions, resource.editor)
    text = presentation.merged(resource.text)
    return text, presentation.root_of(text)


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
            f"{path}: the function {fault.function} {fault.kind}; kpt refuses such a Kptfile",
            resource=resource.ref,
            file=outcome.member.file,
            path=path,
            rule="K3",
            tags={"side": "both"},
        )
