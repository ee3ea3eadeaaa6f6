"""Decisions as results: what the user reads, with the changes of a side that the result does not have (law F)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, TypeAlias

from krm_merge.krm import FieldPath, Resource, ResourceRef, Result, Results, format_path
from krm_merge.merge.decisions.decision import Decision, FileDecision, ResourceOutcome, Side, same
from krm_merge.safe_text import REDACTED, abridge
from krm_merge.schema import Secrecy
from krm_merge.text import MappingNode, Node, Scalar, SequenceNode, is_null, key_text, resolved, to_value

MOST_SHOWN = 5
"""Fields and elements that are named; the others are counted."""

LONGEST = 60
"""Characters of a value that are shown."""

_LOST = "that the result does not have"


def losses(original: Node | None, loser: Node | None, merged: Node | None, *, secret: bool = False) -> str:
    """The fields and elements that the losing side had changed and the result lacks; '' where there are none.

    Values of secrets are left out.
    """
    if loser is None or isinstance(resolved(loser), Scalar):
        return ""
    before, after = Counter(_leaves(original, ())), Counter(_leaves(merged, ()))
    mine = Counter(_leaves(loser, ()))
    # Not by subtracting Counters, which takes many times as long.
    lost = [leaf for leaf, count in mine.items() if count > before.get(leaf, 0) + after.get(leaf, 0)]
    descriptions = [_describe(path, text, secret) for path, text in lost[:MOST_SHOWN]]
    if len(lost) > MOST_SHOWN:
        descriptions.append(f"{len(lost) - MOST_SHOWN} more")
    return ", ".join(descriptions)


def shorten(text: str) -> str:
    """A value on one line, cut where it is long."""
    line = text.strip().replace("\n", "\\n")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _describe(path: FieldPath, text: str, secret: bool) -> str:
    place = format_path(tuple(step for step in path if isinstance(step, str)))
    if secret:
        return place or "an element"
    return f"{place}: {shorten(text)}" if place else shorten(text)


def _leaves(node: Node | None, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    node = None if node is None else resolved(node)
    if isinstance(node, MappingNode):
        for entry in node.fields.values():
            yield from _leaves(entry.value, (*path, key_text(entry.key)))
    elif isinstance(node, SequenceNode):
        for item in node.items:
            # Wherever it is in its list: positions differ between the sides.
            yield from _leaves(item, (*path, 0))
    elif isinstance(node, Scalar):
        yield path, node.text


_SHOWN_CHANGES = 5


def report(outcome: ResourceOutcome, resource: Resource, results: Results, *, refused: bool) -> None:
    """Reports what became of a resource, and every decision that is worth a result; hidden values are left out."""
    # A file without resources is named by its path.
    ref = resource.ref if resource.kind else None
    is_rewritten = not refused and outcome.fate == "merged" and resource.is_changed
    if is_rewritten and (of_text := _decision_on_text(outcome, resource)) is not None:
        outcome.decisions.append(of_text)
    secrecy = Secrecy(outcome.roots)
    for result in results_of(outcome, ref, secrecy, refused=refused):
        results.add(result)
    fate = {"added": "added, as in upstream", "deleted": "deleted, as in upstream"}.get(outcome.fate)
    if fate and not refused and all(decision.rule == "V8" for decision in outcome.decisions):
        file, tags = outcome.member.file, {"side": "upstream"}
        results.info(f"{resource.ref}: {fate}", resource=resource.ref, file=file, rule="R2", tags=tags)


def report_files(decisions: Iterable[FileDecision], results: Results) -> None:
    """Reports decisions on files."""
    for decision in decisions:
        message, path = f"{decision.path}: {decision.message}", decision.path
        results.add(Result(decision.severity, message, file=path, rule=decision.rule, tags={"side": decision.side}))


def _decision_on_text(outcome: ResourceOutcome, resource: Resource) -> Decision | None:
    """A decision that reports a resource whose text changed without a change of a field."""
    if any(decision.changes_local for decision in outcome.decisions):
        return None
    from krm_merge.merge.lines.three_way import comments_in

    if Counter(comments_in(resource.source)) != Counter(comments_in(resource.text())):
        message, rule = "comments only, as in upstream", "V8"
    else:
        message, rule = "layout only, as in upstream", "W1"
    return Decision(rule, (), message, "upstream", is_reported=True)


def lost_comments_message(side: Side, comments: Sequence[str], *, is_hidden: bool = False) -> str:
    """What a result says about comments of a side that the merged text lacks."""
    what = "a comment" if len(comments) == 1 else f"{len(comments)} comments"
    quotation = "" if is_hidden else f": {abridge(comments, MOST_SHOWN, ' ')}"
    return f"{side} has {what} {_LOST}{quotation}"


def is_lost_comment(result: Result) -> bool:
    """Whether a result is about comments that the merged text lacks."""
    return result.rule == "V8" and _LOST in result.message


def in_document_order(decisions: Sequence[Decision], root: Node) -> list[Decision]:
    """Decisions by where their values are in local's document; what it lacks comes behind what is around it."""
    return sorted(decisions, key=_Places(root).of) if len(decisions) > 1 else list(decisions)


class _Places:
    def __init__(self, root: Node) -> None:
        self._source = root.source
        self._nodes: dict[FieldPath, Node | None] = {(): root}
        # A list may have thousands of elements, and a decision on each.
        self._elements: dict[tuple[FieldPath, tuple[str, ...]], dict[tuple[str | None, ...], Node]] = {}

    def of(self, decision: Decision) -> int:
        path, local = decision.path, decision.local
        # A node inside of a text that merged by its fields has positions in that text alone.
        if local is not None and local.source is self._source:
            return local.start
        if (node := self._node(path)) is not None:
            return node.start
        while (around := self._node(path)) is None:
            path = path[:-1]
        return around.end

    def _node(self, path: FieldPath) -> Node | None:
        if path not in self._nodes:
            around = self._node(path[:-1])
            self._nodes[path] = None if around is None else self._child(path, resolved(around))
        return self._nodes[path]

    def _child(self, path: FieldPath, node: Node) -> Node | None:
        step = path[-1]
        if isinstance(node, MappingNode) and isinstance(step, str):
            entry = node.entry(step)
            return None if entry is None else entry.value
        if not isinstance(node, SequenceNode):
            return None
        if isinstance(step, int):
            return node.items[step] if step < len(node.items) else None
        if not isinstance(step, tuple):
            return None
        names = tuple(name for name, _ in step)
        if (path[:-1], names) not in self._elements:
            mappings = [item for item in map(resolved, node.items) if isinstance(item, MappingNode)]
            self._elements[path[:-1], names] = {
                tuple(None if (key := item.get(name)) is None else key_text(key) for name in names): item
                for item in mappings
            }
        return self._elements[path[:-1], names].get(tuple(text for _, text in step))


def sentence_of(
    decision: Decision, outcome: ResourceOutcome, ref: ResourceRef | None, *, secret: bool, values: str = ""
) -> str:
    """The sentence about a decision in every report, with these values.

    That of a conflict in a renamed resource has the original name. A comment that a value took along is quoted (V8).
    """
    sentence, lost = decision.message, decision.discarded_comments
    if decision.is_conflict and (before := renamed_from(outcome, ref)):
        sentence += f"; renamed from {before}"
    comment = "" if lost is None or secret else f"; its comment went with it: {' '.join(lost.lines)}"
    return f"{sentence}{values}{comment}"


def renamed_from(outcome: ResourceOutcome, ref: ResourceRef | None) -> str:
    """The original kind and name of a resource that has another name now, or ''; a package is called as its folder."""
    original = outcome.original
    if ref is None or original is None or original.is_kptfile or original.identity.name in ("", ref.name):
        return ""
    before = original.identity
    return str(ResourceRef("", before.kind, before.name, before.namespace))


WinningSide: TypeAlias = Literal["upstream", "local", "parts of both"]


def winner_of(decision: Decision | FileDecision, outcome: ResourceOutcome | None = None) -> WinningSide | None:
    """Whose value a conflict left, of a resource or of a file; None for one that is open."""
    if decision.severity == "error":
        return None
    if isinstance(decision, FileDecision):
        is_left = [decision.merged == side for side in (decision.upstream, decision.local)]
    elif outcome is not None and not decision.path and decision.nature == "resource":
        is_left = [outcome.fate in ("added", "deleted"), outcome.fate not in ("added", "deleted")]
    else:
        is_left = [same(decision.merged, side) for side in (decision.upstream, decision.local)]
    # A decision that leaves local alone may have no values.
    return "local" if is_left[1] else "upstream" if is_left[0] else "parts of both"


def results_of(outcome: ResourceOutcome, ref: ResourceRef | None, secrecy: Secrecy, *, refused: bool) -> list[Result]:
    """A result for every decision that is worth one, and one that sums up the changes unless all is refused."""
    file, index = outcome.member.file, outcome.member.index
    decisions = in_document_order(outcome.decisions, outcome.member.root)
    results = [_result(decision, outcome, ref, secrecy) for decision in decisions if decision.is_reported]
    changes = [decision for decision in decisions if decision.changes_local]
    if changes and not refused:
        paths = list(dict.fromkeys(decision.path for decision in changes))
        names = shown_paths(paths)
        count = "1 change" if len(paths) == 1 else f"{len(paths)} changes"
        message = f"{ref or file}: {count} from upstream: {names}"
        results.append(Result("info", message, ref, file, index, rule="V2", tags={"side": "upstream"}))
    return results


def _result(decision: Decision, outcome: ResourceOutcome, ref: ResourceRef | None, secrecy: Secrecy) -> Result:
    member = outcome.member
    lost = "\n".join(decision.discarded_comments.lines) if decision.discarded_comments is not None else None
    secret = secrecy.hides(decision.path, (decision.original, decision.upstream, decision.local, lost))
    path = format_path(decision.path)
    tags: dict[str, str] = {"side": decision.side}
    values = ""
    if decision.is_conflict:
        sides = [("original", decision.original), ("upstream", decision.upstream), ("local", decision.local)]
        tags |= {name: as_text(node, secret) for name, node in sides if node is not None}
        values = _values(decision, secret)
    sentence = sentence_of(decision, outcome, ref, secret=secret, values=values)
    # A refused conflict leaves everything as local has it.
    merged_node = decision.local if decision.severity == "error" else decision.merged
    return Result(
        decision.severity,
        f"{_thing(decision.path, path) or ref or member.file}: {sentence}",
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
    # Nothing is written, so that nothing is discarded.
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
    shown = [_thing(path) for path in paths[:_SHOWN_CHANGES]]
    # Elements of two lists may have one name.
    names = [name if shown.count(name) == 1 else format_path(path) for name, path in zip(shown, paths, strict=False)]
    # The others are only counted.
    return abridge([*names, *([""] * (len(paths) - len(names)))], _SHOWN_CHANGES)


def _thing(path: FieldPath, text: str | None = None) -> str:
    """The place as people would name it; the whole path, which `text` may be already, is in the result's field."""
    for at in range(len(path) - 1, -1, -1):
        step = path[at]
        if isinstance(step, tuple):
            label = " ".join(value.rpartition("/")[2] for _, value in step)
            rest = format_path(path[at + 1 :])
            return f"{label} {rest}" if rest else label
    return format_path(path) if text is None else text


def as_text(node: Node, redacted: bool = False) -> str:
    """A value as text: a scalar as it is, a list or mapping as compact JSON."""
    if redacted:
        return REDACTED
    if isinstance(node, Scalar):
        return "null" if is_null(node) else node.text
    assert isinstance(node, MappingNode | SequenceNode)
    return _json_encoder()(to_value(node))


@cache
def _json_encoder() -> Callable[[object], str]:
    """Made once: with options of its own, `json.dumps` makes one for every value."""
    import json

    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
