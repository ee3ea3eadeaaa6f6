"""Finds the comments of a side that are not in the merged document, although that side kept them (rules V8, F)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.krm.result import Severity
from krm_merge.merge.decisions.decision import Decision, Side
from krm_merge.merge.decisions.losses import MOST_SHOWN
from krm_merge.merge.decisions.member import ResourceOutcome
from krm_merge.merge.lines.comments import MERGE_COMMENT, SETTER, comments_in
from krm_merge.schema.secrecy import Redaction, Secrecy
from krm_merge.startup import pattern
from krm_merge.text.document import document_text
from krm_merge.text.reading.layout import is_block_scalar, source_of
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode
from krm_merge.text.reading.values import key_text

_NUMBER_SIGN = pattern(r"(?:^|(?<=\s))#")


def lost_comments(outcome: ResourceOutcome, text: str, redactions: Sequence[Redaction]) -> list[Decision]:
    """A decision for each place with comments that a side has, the other did not remove, and the text lacks.

    Comments that were discarded with a value are part of that decision. One that names a setter makes a warning: the
    setter no longer sets the value.
    """
    members = outcome.members
    counts = {side: Counter(comments_in(document_text(member.root))) for side, member in members.items()}
    before, theirs, ours = (counts.get(side, Counter()) for side in ("original", "upstream", "local"))
    now = Counter(comments_in(text))
    for decision in outcome.decisions:
        if decision.discarded_comments is not None:
            now.update(decision.discarded_comments.lines)
    lost: dict[tuple[Side, FieldPath], list[str]] = {}
    for comment in theirs | ours:
        missing = _together(before[comment], theirs[comment], ours[comment]) - now[comment]
        side: Side = "upstream" if theirs[comment] > max(before[comment], ours[comment]) else "local"
        if missing > 0 and MERGE_COMMENT not in comment and side in members:
            for path in [path for line, path in placed_comments(members[side].root) if line == comment][-missing:]:
                lost.setdefault((side, path), []).append(comment)
    secrecy = Secrecy(outcome.roots, redactions)
    return [_decision(secrecy, side, path, comments) for (side, path), comments in lost.items()]


def _together(original: int, upstream: int, local: int) -> int:
    """How often something is there after both sides' changes; what both did alike is done once."""
    theirs, ours = upstream - original, local - original
    return original + (max(theirs, ours, key=abs) if theirs * ours > 0 else theirs + ours)


def _decision(secrecy: Secrecy, side: Side, path: FieldPath, comments: Sequence[str]) -> Decision:
    quotation = ""
    if not secrecy.hides(path, ()):
        more = f" and {len(comments) - MOST_SHOWN} more" if len(comments) > MOST_SHOWN else ""
        quotation = f": {' '.join(comments[:MOST_SHOWN])}{more}"
    severity: Severity = "warning" if any(comment.startswith(SETTER) for comment in comments) else "info"
    what = "a comment" if len(comments) == 1 else f"{len(comments)} comments"
    message = f"{side} has {what} that the result does not have{quotation}"
    return Decision("V8", path, message, side, severity, is_reported=True)


def placed_comments(root: MappingNode) -> Iterator[tuple[str, FieldPath]]:
    """The comments of a document, each with the field that is on its line, or on the next one with a field."""
    source = source_of(root)
    starts: list[int] = []
    paths: list[FieldPath] = []
    scalars: list[tuple[int, int]] = []
    for node, path in _in_order(root):
        if isinstance(node, Scalar) and "#" in node.text:
            scalars.append((source.line_end(node.start) if is_block_scalar(node) else node.start, node.end))
        if path and (not starts or starts[-1] != node.start):
            starts.append(node.start)
            paths.append(path)
    position = 0
    while (sign := _NUMBER_SIGN.search(source.text, position)) is not None:
        at = bisect_right(scalars, (sign.start(), len(source.text))) - 1
        if at >= 0 and sign.start() < scalars[at][1]:
            position = max(scalars[at][1], sign.end())
            continue
        position = source.line_end(sign.start())
        on_line = bisect_left(starts, sign.start()) - 1
        if on_line < 0 or starts[on_line] < source.line_start(sign.start()):
            on_line += 1
        yield source.text[sign.start() : position].rstrip(), paths[on_line] if on_line < len(paths) else ()


def _in_order(root: MappingNode) -> Iterator[tuple[Node, FieldPath]]:
    """The nodes of a document in the order of its text, keys before their values, each with the path of its field."""
    pending: list[tuple[Node, FieldPath]] = [(root, ())]
    while pending:
        node, path = pending.pop()
        yield node, path
        if isinstance(node, MappingNode):
            for entry in reversed(node.entries):
                step = (*path, key_text(entry.key))
                pending += ((entry.value, step), (entry.key, step))
        elif isinstance(node, SequenceNode):
            pending += ((item, (*path, at)) for at, item in reversed([*enumerate(node.items)]))
