"""What differs between two texts of one resource beside its values: comments and layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge.decisions.losses import shortened
from krm_merge.merge.decisions.member import UPSTREAM_IDENTIFIER, ResourceOutcome
from krm_merge.merge.lines.comments import MERGE_COMMENT, comments_in
from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.writing.carry_out import carry_out
from krm_merge.schema.secrecy import Redaction, Secrecy
from krm_merge.startup import replace
from krm_merge.text.document import document_text
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode, resolved

_MOST_NAMED = 3
_MARK = re.compile(r"(?:^|\s)#")


def lost_comments(outcome: ResourceOutcome, redactions: Sequence[Redaction] = ()) -> str:
    """The comments that the second version lacks, '' where there are none; beside hidden values only their number."""
    first, second = outcome.original, outcome.upstream
    if first is None or second is None or "#" not in first.text:
        return ""
    texts = [text for text in _texts(first.root) if "#" in text]
    lost = [
        comment
        for comment in (_comments(document_text(first.root)) - _comments(document_text(second.root))).elements()
        if not any(comment.lstrip("# ") in text for text in texts)
    ]
    if not lost or Secrecy(outcome.roots, redactions).hides((), outcome.roots):
        return _count(len(lost)) if lost else ""
    more = [f"{len(lost) - _MOST_NAMED} more"] if len(lost) > _MOST_NAMED else []
    return f"{_count(len(lost))}: {', '.join([*map(shortened, lost[:_MOST_NAMED]), *more])}"


def rewritten_lines(outcome: ResourceOutcome) -> int:
    """How many lines of the second version differ from the first one with the same values and comments."""
    # The decisions edit local, which is the first version once more.
    first, second = outcome.local, outcome.upstream
    if first is None or second is None:
        return 0
    resource = Resource.from_tree(first.root)
    # The lines themselves are what is asked about: they must not settle it.
    carry_out(resource, replace(outcome, text=None), Results())
    lines, others = (_lines(text) for text in (resource.text(), document_text(second.root)))
    return len(others) - sum(length for _, _, length in matching_blocks(lines, others))


def _comments(text: str) -> Counter[str]:
    found = (line for line in text.split("\n") if _MARK.search(line))
    return Counter(comment for line in found for comment in comments_in(line) if MERGE_COMMENT not in comment)


def _texts(node: Node) -> Iterator[str]:
    node = resolved(node)
    if isinstance(node, Scalar):
        yield node.text
    elif isinstance(node, MappingNode):
        for entry in node.fields.values():
            yield from _texts(entry.value)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _texts(item)


def _lines(text: str) -> list[str]:
    """The lines that hold something, without what kpt notes in them for its own use (R6)."""
    lines = (line.partition(MERGE_COMMENT)[0].rstrip() for line in text.split("\n") if UPSTREAM_IDENTIFIER not in line)
    return [line for line in lines if line.strip() not in ("", "---", "annotations:")]


def _count(number: int) -> str:
    return "kpt loses 1 comment" if number == 1 else f"kpt loses {number} comments"
