"""The files of local as the outcomes of a merge leave them."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge.edit import edit
from krm_merge.merge.member import Member, Outcome
from krm_merge.merge.report import report
from krm_merge.packages.origin import note_origin
from krm_merge.packages.side import Side
from krm_merge.packages.tree import File, holds_resources, is_kptfile, merged_mode
from krm_merge.text.nodes import Child, Mapping, Sequence, TextError, value_of
from krm_merge.text.reader import read
from krm_merge.text.stream import cut, detached_head, in_lines_of, is_empty, joined, without_separator
from krm_merge.text.values import from_value, same, to_value

# R6: what is local's own even where the rest of the file is upstream's.
_BOOKKEEPING_MARKS = (b"kpt-merge:", b"internal.kpt.dev/", b"config.kubernetes.io/", b"config.k8s.io/id")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Turns outcomes into files. `notes_origin` has kpt's notes written on what comes from upstream (R6)."""

    original: Side
    upstream: Side
    local: Side
    notes_origin: bool

    def changes(self, outcomes: list[Outcome], touched: list[str], results: Results) -> dict[str, File | None]:
        """The files of resources that change, None for those that go; `touched` are those that upstream changed.

        Every outcome is reported. Where one is refused, no file changes.
        """
        refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
        edited: dict[str, dict[int, bytes | None]] = {}
        added: dict[str, list[Member]] = {}
        for outcome in outcomes:
            resource, local, upstream = Resource.from_tree(outcome.member.root), outcome.local, outcome.upstream
            if refused:
                pass
            elif outcome.fate == "merged" and local is not None:
                edit(resource, outcome, results)
                if resource.is_changed:
                    edited.setdefault(local.place, {})[local.index] = resource.text().encode()
            elif outcome.fate == "deleted" and local is not None:
                edited.setdefault(local.place, {})[local.index] = None
            elif outcome.fate == "added" and upstream is not None:
                added.setdefault(upstream.place, []).append(upstream)
            report(outcome, resource, results, refused=refused)
        changes: dict[str, File | None] = {}
        settled = _Settled(outcomes)
        for path in [] if refused else dict.fromkeys([*edited, *added, *filter(holds_resources, touched)]):
            if self._follows_upstream(path, settled):
                changes[path] = self._upstream_file(path, added.get(path, []))
            elif path in edited or path in added:
                changes[path] = self._edited_file(path, edited.get(path, {}), added.get(path, []))
            elif (file := self._with_mode(path)) is not None:
                changes[path] = file
        return changes

    def _follows_upstream(self, path: str, settled: _Settled) -> bool:
        """Whether the file becomes upstream's: local left it as it was, and every resource of it stays in it."""
        before, theirs, ours = (side.tree.get(path) for side in (self.original, self.upstream, self.local))
        if theirs is None or ours != before or is_kptfile(path) or path in self.upstream.unreadable:
            return False
        if any(mark in file.data for file in (theirs, ours) if file is not None for mark in _BOOKKEEPING_MARKS):
            return False
        known, wanted = self.original.documents.get(path, []), self.upstream.documents[path]
        return all(
            data in other or is_empty(data) or (path, index) in places
            for own, other, places in ((known, wanted, settled.original), (wanted, known, settled.upstream))
            for index, data in enumerate(own)
        )

    def _with_mode(self, path: str) -> File | None:
        """Local's file as another kind of file, if upstream made it one."""
        before, theirs, ours = (side.tree.get(path) for side in (self.original, self.upstream, self.local))
        if ours is None or (mode := merged_mode(before, theirs, ours)) == ours.mode:
            return None
        return File(ours.data, mode)

    def _upstream_file(self, path: str, added: list[Member]) -> File:
        file = self.upstream.tree[path]
        if not added or not self.notes_origin:
            return file
        new = {member.index: member for member in added}
        documents = [
            self._new_document(new[index]) if index in new else data
            for index, data in enumerate(self.upstream.documents[path])
        ]
        return File(joined(documents, file.data), file.mode)

    def _edited_file(self, path: str, edited: dict[int, bytes | None], added: list[Member]) -> File | None:
        """Local's file with documents replaced or removed (None), and new ones behind them (R2)."""
        before, theirs, ours = (side.tree.get(path) for side in (self.original, self.upstream, self.local))
        known = cut(ours.data) if ours is not None else []
        kept = [edited.get(index, data) for index, data in enumerate(known)]
        new = [self._new_document(member) for member in added]
        documents = [data for data in kept if data is not None]
        if documents and new:
            documents[-1] = _ended(documents[-1])
        documents += [in_lines_of(data, ours.data) for data in new] if ours is not None else new
        if all(is_empty(data) for data in documents):
            return None
        if not kept or kept[0] is None:
            documents[0] = without_separator(documents[0])
        if kept and kept[0] is None:
            # What stands apart above the first document is about the file.
            documents[0] = detached_head(known[0]) + documents[0]
        like = ours or theirs
        assert like is not None
        return File(joined(documents, like.data), merged_mode(before, theirs, like))

    def _new_document(self, member: Member) -> bytes:
        data = self.upstream.documents[member.place][member.index] if not member.is_kptfile else None
        if data is None:
            return self.upstream.tree[member.place].data
        if not self.notes_origin:
            return data
        resource = Resource.from_tree(member.root)
        note_origin(resource)
        return resource.text().encode()


def _ended(document: bytes) -> bytes:
    """A document with a newline at its end, which must not become part of its last value."""
    if document.endswith(b"\n"):
        return document
    try:
        root = read(document.decode())
        if not isinstance(root, Mapping) or same(to_value(root), to_value(read(document.decode() + "\n"))):
            return document + b"\n"
    except (UnicodeDecodeError, TextError):
        return document + b"\n"
    resource = Resource.from_tree(root)
    last: Child = root.entries[-1]
    while isinstance(value := value_of(last), Mapping | Sequence) and value.children:
        last = value.children[-1]
    resource.editor.replace(last, from_value(to_value(value_of(last))))
    return resource.text().encode()


class _Settled:
    """Where upstream's two versions have the resources that are in one file on all sides, before and after."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.original: set[tuple[str, int]] = set()
        self.upstream: set[tuple[str, int]] = set()
        for outcome in outcomes:
            sides = (outcome.original, outcome.upstream, outcome.local)
            if outcome.fate == "kept" or len({member.place for member in sides if member is not None}) > 1:
                continue
            for places, member in ((self.original, outcome.original), (self.upstream, outcome.upstream)):
                if member is not None:
                    places.add((member.place, member.index))
