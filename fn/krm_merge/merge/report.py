"""Decisions as results: what the user reads."""

from __future__ import annotations

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import ResourceRef, Result, Results
from krm_merge.merge.decision import Decision
from krm_merge.merge.member import Member, Outcome
from krm_merge.text.nodes import Mapping, Node, Scalar, Sequence
from krm_merge.text.values import to_value

_SHOWN_CHANGES = 5
_SHORT = 60
_OPEN_FIELDS = (("metadata", "name"), ("metadata", "namespace"), ("metadata", "labels"))
_REDACTED = "(redacted)"


def report(outcome: Outcome, resource: Resource, results: Results, *, refused: bool) -> None:
    """Reports what became of a resource, and every decision that is worth a result."""
    # What is no resource is named by its file.
    ref = resource.ref if resource.kind else None
    for result in results_of(outcome.decisions, outcome.member, ref, refused=refused):
        results.add(result)
    told = {"added": "added, as upstream has it", "deleted": "deleted, as upstream deleted it"}.get(outcome.fate)
    if told and not refused and not outcome.decisions:
        file, tags = outcome.member.file, {"rule": "R2", "side": "upstream"}
        results.info(f"{resource.ref}: {told}", resource=resource.ref, file=file, tags=tags)


def results_of(decisions: list[Decision], member: Member, ref: ResourceRef | None, *, refused: bool) -> list[Result]:
    """A result for every decision that is worth one, and one that sums up the changes unless all is refused."""
    file, index = member.file, member.index
    results = [_told(decision, member, ref) for decision in decisions if decision.told]
    changes = [decision for decision in decisions if decision.edits]
    if changes and not refused:
        paths = list(dict.fromkeys(decision.path for decision in changes))
        shown = ", ".join(_thing(path) for path in paths[:_SHOWN_CHANGES])
        more = f" and {len(paths) - _SHOWN_CHANGES} more" if len(paths) > _SHOWN_CHANGES else ""
        count = "1 change" if len(paths) == 1 else f"{len(paths)} changes"
        message = f"{ref or file}: {count} from upstream: {shown}{more}"
        results.append(Result("info", message, ref, file, index, tags={"rule": "V2", "side": "upstream"}))
    return results


def _told(decision: Decision, member: Member, ref: ResourceRef | None) -> Result:
    secret = _is_secret(member, decision)
    path = format_path(decision.path)
    tags = {"rule": decision.rule, "side": decision.side}
    values = ""
    if decision.is_conflict:
        sides = [("original", decision.original), ("upstream", decision.upstream), ("local", decision.local)]
        tags |= {name: as_text(node, secret) for name, node in sides if node is not None}
        if not secret and all(node is None or _is_short(node) for _, node in sides):
            had = [f"{name} {as_text(node)}" for name, node in sides if node is not None]
            values = f" ({', '.join(had)})" if had else ""
    # A refused conflict leaves everything as local has it.
    stands = decision.local if decision.severity == "error" else decision.merged
    return Result(
        decision.severity,
        f"{_thing(decision.path) or ref or member.file}: {decision.message}{values}",
        ref,
        member.file,
        member.index,
        path or None,
        None if decision.local is None else as_text(decision.local, secret),
        None if stands is None else as_text(stands, secret),
        tags,
    )


def _thing(path: FieldPath) -> str:
    """The place as people would name it; the whole path stands in the result's field."""
    for at in range(len(path) - 1, -1, -1):
        step = path[at]
        if isinstance(step, tuple):
            label = " ".join(value.rpartition("/")[2] for _, value in step)
            rest = format_path(path[at + 1 :])
            return f"{label} {rest}" if rest else label
    return format_path(path)


def _is_short(node: Node) -> bool:
    return isinstance(node, Scalar) and len(node.text) <= _SHORT and "\n" not in node.text


def _is_secret(member: Member, decision: Decision) -> bool:
    # Annotations, too, may hold all of it: kubectl's last-applied-configuration.
    return member.subject.kind in ("Secret", "SecretList") and decision.path[:2] not in _OPEN_FIELDS


def as_text(node: Node, redacted: bool = False) -> str:
    """A value as text: a scalar as it is, a list or mapping as compact JSON."""
    if redacted:
        return _REDACTED
    if isinstance(node, Scalar):
        return "null" if node.canonical == ("null",) else node.text
    import json

    assert isinstance(node, Mapping | Sequence)
    return json.dumps(to_value(node), ensure_ascii=False, separators=(",", ":"))
