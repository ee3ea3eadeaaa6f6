"""The YAML around the place of a record, in the files as the merge leaves them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from krm_merge.harmless import REDACTED, without_credentials
from krm_merge.krm.fieldpath import FieldPath, parse_path
from krm_merge.krm.identity import identity_of
from krm_merge.merge.package.reach import children_at
from krm_merge.report.record import Context, DecisionRecord
from krm_merge.schema.secrecy import Redaction, Secrecy
from krm_merge.text.reading.nodes import MappingNode, Node, Source, TextError, resolved
from krm_merge.text.reading.reader import read_all

AROUND = 3
"""Lines before and behind the place."""

_MOST_LINES = 12


def contexts_of(
    records: Iterable[DecisionRecord],
    content: Callable[[str], bytes | None],
    redactions: Sequence[Redaction] = (),
) -> dict[str, Context]:
    """The context of each record that has one, by its id. `content` gives a file, None where there is none.

    No hidden value is among them (M6).
    """
    documents: dict[str, list[_Document]] = {}
    found: dict[str, Context] = {}
    for record in records:
        if not record.path or record.is_redacted:
            continue
        if record.file not in documents:
            documents[record.file] = _documents(content(record.file), redactions)
        for document in documents[record.file]:
            context = document.around(parse_path(record.path)) if document.is_of(record) else None
            if context is not None:
                found[record.id] = context
                break
    return found


class _Document:
    """One document of a file."""

    def __init__(self, root: MappingNode, source: Source, redactions: Sequence[Redaction]) -> None:
        self._root = root
        self._source = source
        self._subject = identity_of(root)
        secrecy = Secrecy((root,), redactions)
        self._is_secret = secrecy.is_whole
        self._starts = list(accumulate((len(line) + 1 for line in source.text.split("\n")), initial=0))
        hidden = () if self._is_secret else secrecy.values()
        self._lines = _without(source.text, (node for node in hidden if node.source is source)).split("\n")

    def is_of(self, record: DecisionRecord) -> bool:
        """Whether the record may be about it, and it may be shown."""
        own, resource = self._subject, record.resource
        if self._is_secret or resource is None:
            return not self._is_secret
        return (own.kind, own.namespace, own.name) == (resource.kind, resource.namespace, resource.name)

    def around(self, path: FieldPath) -> Context | None:
        """The lines around a place; None where it is not in this text."""
        node: Node = self._root
        for step in path:
            inner = children_at(resolved(node), step)
            if not inner:
                return None
            node = inner[0]
        if node.source is not self._source:
            return None
        # A block ends behind its last line break.
        end = node.start + len(self._source.text[node.start : node.end].rstrip())
        first, last = self._line(node.start), self._line(end)
        top, bottom = self._line(self._root.start), self._line(max(self._root.start, self._root.end - 1))
        before, last = max(top, first - AROUND), min(last, first + _MOST_LINES)
        shown = self._lines[before : min(bottom, last + AROUND) + 1]
        return Context(
            tuple(without_credentials(line.rstrip("\r")) for line in shown), first - before, last - before + 1
        )

    def _line(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1


def _without(text: str, hidden: Iterable[Node]) -> str:
    """A text without the values of these nodes and what is behind them on their last lines; all lines are kept."""
    parts, done = [], 0
    for node in sorted(hidden, key=lambda node: node.start):
        if node.start >= done:
            end = node.start + len(text[node.start : node.end].rstrip())
            breaks = text.count("\n", node.start, end)
            parts += [text[done : node.start], REDACTED, "\n" * breaks]
            done = end if (line_end := text.find("\n", end)) < 0 else line_end
    return "".join([*parts, text[done:]])


def _documents(data: bytes | None, redactions: Sequence[Redaction]) -> list[_Document]:
    try:
        roots = list(read_all((data or b"").decode()))
    except (UnicodeDecodeError, TextError):
        return []
    return [
        _Document(root, root.source, redactions)
        for root in roots
        if isinstance(root, MappingNode) and root.source is not None
    ]
