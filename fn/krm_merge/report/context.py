"""The YAML around the place of a record, in the files as the merge leaves them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate

from krm_merge.harmless import without_credentials
from krm_merge.krm.fieldpath import FieldPath, parse_path
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.secrecy import is_secret
from krm_merge.merge.package.reach import children_at
from krm_merge.report.record import Context, DecisionRecord
from krm_merge.text.reading.nodes import MappingNode, Node, Source, TextError, resolved
from krm_merge.text.reading.reader import read_all

AROUND = 3
"""Lines before and behind the place."""

_MOST_LINES = 12


def contexts_of(records: Iterable[DecisionRecord], content: Callable[[str], bytes | None]) -> dict[str, Context]:
    """The context of each record that has one, by its id. `content` gives a file, None where there is none.

    Nothing of a Secret is among them.
    """
    documents: dict[str, list[_Document]] = {}
    found: dict[str, Context] = {}
    for record in records:
        if not record.path or record.is_redacted:
            continue
        if record.file not in documents:
            documents[record.file] = _documents(content(record.file))
        for document in documents[record.file]:
            context = document.around(parse_path(record.path)) if document.is_of(record) else None
            if context is not None:
                found[record.id] = context
                break
    return found


class _Document:
    """One document of a file."""

    def __init__(self, root: MappingNode, source: Source) -> None:
        self._root = root
        self._source = source
        self._subject = identity_of(root)
        self._is_secret = is_secret(self._subject.kind, (), (root,))
        self._lines = source.text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))

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


def _documents(data: bytes | None) -> list[_Document]:
    try:
        roots = list(read_all((data or b"").decode()))
    except (UnicodeDecodeError, TextError):
        return []
    return [_Document(root, root.source) for root in roots if isinstance(root, MappingNode) and root.source is not None]
