"""Decisions as results: what the user reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from krm_merge.harmless import REDACTED
from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import ResourceRef, Result, Results
from krm_merge.merge.decisions.decision import Decision, FileDecision
from krm_merge.merge.decisions.losses import losses, shorten
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.schema.secrecy import Redaction, Secrecy
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode
from krm_merge.text.reading.values import to_value

_SHOWN_CHANGES = 5


def report(
    outcome: ResourceOutcome,
    resource: Resource,
    results: Results,
    redactions: Sequence[Redaction] = (),
    *,
    refused: bool,
) -> None:
    """Reports what became of a resource, and every decision that is worth a result; hidden values are left out."""
    # A file without resources is named by its path.
    ref = resource.ref if resource.kind else None
    is_rewritten = not refused and outcome.fate == "merged" and resource.is_changed
    if is_rewritten and (of_text := _decision_on_text(outcome, resource)) is not None:
        outcome.decisions.append(of_text)
    secrecy = Secrecy(outcome.roots, redactions)
    for result in results_of(outcome.decisions, outcome.member, ref, secrecy, refused=refused):
        results.add(result)
    fate = {"added": "added, as upstream has it", "deleted": "deleted, as upstream deleted it"}.get(outcome.fate)
    if fate and not refused and not outcome.decisions:
        file, tags = outcome.member.file, {"side": "upstream"}
        results.info(f"{resource.ref}: {fate}", resource=resource.ref, file=file, rule="R2", tags=tags)


def report_files(decisions: Iterable[FileDecision], results: Results) -> None:
    """Reports decisions on files."""
    for decision in decisions:
        message, path = f"{decision.path}: {decision.message}", decision.path
        results.add(Result(decision.severity, message, file=path, rule=decision.rule, tags={"side": decision.side}))


def _decision_on_text(outcome: ResourceOutcome, resource: Resource) -> Decision | None:
    """A decision that reports a resource whose text changed without a change of a field."""
    if any(decision.edits for decision in outcome.decisions):
        return None
    from krm_merge.merge.lines.comments import comments_in

    if outcome.text is not None:
        # That is decided, and reported, by law H.
        return None
    if Counter(comments_in(resource.source)) != Counter(comments_in(resource.text())):
        message, rule = "comments only, as upstream has them", "V8"
    else:
        message, rule = "layout only, as upstream has it", "W1"
    return Decision(rule, (), message, "upstream", is_reported=True)


def results_of(
    decisions: list[Decision], member: Member, ref: ResourceRef | None, secrecy: Secrecy, *, refused: bool
) -> list[Result]:
    """A result for every decision that is worth one, and one that sums up the changes unless all is refused."""
    file, index = member.file, member.index
    results = [_result(decision, member, ref, secrecy) for decision in decisions if decision.is_reported]
    changes = [decision for decision in decisions if decision.edits]
    if changes and not refused:
        paths = list(dict.fromkeys(decision.path for decision in changes))
        names = shown_paths(paths)
        count = "1 change" if len(paths) == 1 else f"{len(paths)} changes"
        message = f"{ref or file}: {count} from upstream: {names}"
        results.append(Result("info", message, ref, file, index, rule="V2", tags={"side": "upstream"}))
    return results


def _result(decision: Decision, member: Member, ref: ResourceRef | None, secrecy: Secrecy) -> Result:
    secret = secrecy.hides(decision.path, (decision.original, decision.upstream, decision.local))
    path = format_path(decision.path)
    tags: dict[str, str] = {"side": decision.side}
    values = ""
    if decision.is_conflict:
        sides = [("original", decision.original), ("upstream", decision.upstream), ("local", decision.local)]
        tags |= {name: as_text(node, secret) for name, node in sides if node is not None}
        values = _values(decision, secret)
    if decision.discarded_comments is not None and not secret:
        lost = " ".join(decision.discarded_comments.lines)
        values += f"; its comment went with it: {lost}"
    # A refused conflict leaves everything as local has it.
    merged_node = decision.local if decision.severity == "error" else decision.merged
    return Result(
        decision.severity,
        f"{_thing(decision.path) or ref or member.file}: {decision.message}{values}",
        ref,
        member.file,
        member.index,
        path or None,
        None if decision.local is None else as_text(decision.local, secret),
        None if merged_node is None else as_text(merged_node, secret),
        tags,
        decision.rule,
    )


def _values(decision: Decision, secret: bool) -> str:
    """The sides' values; of lists and mappings, the parts that the result lacks."""
    sides = [("original", decision.original), ("upstream", decision.upstream), ("local", decision.local)]
    if not secret and all(node is None or isinstance(node, Scalar) for _, node in sides):
        texts = [f"{name} {shorten(as_text(node))}" for name, node in sides if node is not None]
        return f" ({', '.join(texts)})" if texts else ""
    if decision.severity == "error":
        return ""
    lost = [
        f"discarded from {name}: {what}"
        for name, node in sides[1:]
        if (what := losses(decision.original, node, decision.merged, secret=secret))
    ]
    return f" ({'; '.join(lost)})" if lost else ""


def shown_paths(paths: Sequence[FieldPath]) -> str:
    """The first places of several, and how many more there are."""
    names = ", ".join(_thing(path) for path in paths[:_SHOWN_CHANGES])
    return f"{names} and {len(paths) - _SHOWN_CHANGES} more" if len(paths) > _SHOWN_CHANGES else names


def _thing(path: FieldPath) -> str:
    """The place as people would name it; the whole path is in the result's field."""
    for at in range(len(path) - 1, -1, -1):
        step = path[at]
        if isinstance(step, tuple):
            label = " ".join(value.rpartition("/")[2] for _, value in step)
            rest = format_path(path[at + 1 :])
            return f"{label} {rest}" if rest else label
    return format_path(path)


def as_text(node: Node, redacted: bool = False) -> str:
    """A value as text: a scalar as it is, a list or mapping as compact JSON."""
    if redacted:
        return REDACTED
    if isinstance(node, Scalar):
        return "null" if node.canonical == ("null",) else node.text
    assert isinstance(node, MappingNode | SequenceNode)
    return _json_encoder()(to_value(node))


@cache
def _json_encoder() -> Callable[[object], str]:
    """Made once: with options of its own, `json.dumps` makes one for every value."""
    import json

    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
