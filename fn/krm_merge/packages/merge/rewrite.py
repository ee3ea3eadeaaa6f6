"""The files of local as the outcomes of a merge leave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property

from krm_merge.krm import Identity, Resource, Results, identity_of
from krm_merge.merge import (
    MERGE_POLICY,
    FileDecision,
    Member,
    ResourceOutcome,
    carry_out,
    comments_in,
    follows_upstream_move,
    lost_comments_message,
    merge_lines,
    merge_order,
    notes_in,
    report,
)
from krm_merge.packages.files.tree import Changes, File, data_of, is_kptfile, merged_mode
from krm_merge.packages.merge.side import Notes, PackageVersion
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    BOM_BYTES,
    Child,
    MappingNode,
    SequenceNode,
    TextError,
    detached_head,
    from_value,
    is_empty,
    joined,
    mapping_in,
    read,
    same,
    split_documents,
    to_value,
    value_of,
    without_separator,
)

_COMMENTS = pattern(rb"(?:#[^\n]*\n|\s*\n)+")

Place = tuple[str, int]
"""A file, and which document of it."""


class _Plan:
    """Changes of documents: local's by their place, and those of upstream that are added to a file.

    `rows` are the places of each resource in original, upstream and local; all of them are known before a file is
    asked for.
    """

    def __init__(self) -> None:
        self.edited: dict[Place, bytes | None] = {}
        self.added: dict[str, list[tuple[Member, bytes]]] = {}
        self.rows: list[tuple[Place | None, Place | None, Place | None]] = []

    @cached_property
    def keys(self) -> Sequence[dict[Place, Hashable]]:
        """For each side by place, what its documents are known by."""
        return [
            {place: row for row, places in enumerate(self.rows) if (place := places[side]) is not None}
            for side in range(3)
        ]


@frozen
class Rewrite:
    """Turns outcomes into files. `notes` are kpt's, for resources from upstream (R6)."""

    original: PackageVersion
    upstream: PackageVersion
    local: PackageVersion
    notes: Notes

    def changes(self, outcomes: list[ResourceOutcome], touched: list[str], results: Results) -> dict[str, File | None]:
        """The files of resources that change, None for those that go; `touched` are those that upstream changed.

        Every outcome is reported. Where one is refused, no file changes.
        """
        refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
        plan = _Plan()
        for outcome in outcomes:
            resource = Resource.from_tree(outcome.member.root)
            if not refused:
                self._carry_out(outcome, resource, plan, results)
            report(outcome, resource, results, refused=refused or bool(results.errors))
        # All or nothing: a conflict in one file must not leave half a merge in others.
        if refused:
            return {}
        paths = dict.fromkeys([*(path for path, _ in plan.edited), *plan.added, *touched])
        changes = {path: self._file(path, plan) for path in paths}
        return {path: file for path, file in changes.items() if file != self.local.file(path)}

    def lost_heads(self, touched: Sequence[str], changes: Changes) -> list[FileDecision]:
        """V8: comments in front of a file's first document, which both sides changed; they are in no document."""
        lost_heads = []
        for path in touched:
            original, upstream, local = (
                _head_apart(side.file(path)) for side in (self.original, self.upstream, self.local)
            )
            before, theirs, ours = map(comments_in, (original, upstream, local))
            # What upstream had before is no loss, nor what local has as well.
            lost = [comment for comment in theirs if comment not in before and comment not in ours]
            # kpt drops these comments when it fetches a package: a file without any is nobody's edit (law U).
            if ours and lost and ours != before and changes.get(path, self.local.file(path)) is not None:
                versions = original.encode(), upstream.encode(), local.encode(), local.encode()
                message = lost_comments_message("upstream", lost)
                lost_heads.append(FileDecision(path, "V8", message, "upstream", "info", *versions))
        return lost_heads

    def _carry_out(self, outcome: ResourceOutcome, resource: Resource, plan: _Plan, results: Results) -> None:
        original, upstream, local = outcome.original, outcome.upstream, outcome.local
        plan.rows.append((_place(original), _place(upstream), _place(local)))
        if outcome.fate == "merged" and local is not None and upstream is not None:
            carry_out(resource, outcome, results)
            if results.errors:
                return  # nothing is written
            if follows_upstream_move(outcome, results):
                assert original is not None
                # W1: what local left alone moves as upstream moved it.
                plan.edited[local.place, local.index] = None
                plan.added.setdefault(upstream.place, []).append((upstream, self.notes.on_moved(local, resource)))
            elif resource.is_changed:
                plan.edited[local.place, local.index] = resource.text().encode()
        elif outcome.fate == "deleted" and local is not None:
            plan.edited[local.place, local.index] = None
        elif outcome.fate == "added" and upstream is not None:
            plan.added.setdefault(upstream.place, []).append((upstream, self._new_document(upstream)))

    def _file(self, path: str, plan: _Plan) -> File | None:
        before, theirs, ours = (side.file(path) for side in (self.original, self.upstream, self.local))
        like = ours or theirs
        if like is None:
            return None
        documents = self._documents(path, plan)
        if all(map(is_empty, documents)) and (ours is None or ours == before or any(p == path for p, _ in plan.edited)):
            # Nothing is left, or comments alone.
            comments_alone = theirs is not None and all(map(is_empty, _cut(path, theirs)))
            return theirs if ours == before and comments_alone else None
        assembled = ours.data if ours is not None and documents == _cut(path, ours) else joined(documents, like.data)
        sides = (data_of(before), self._upstream_data(path, plan), data_of(ours))
        # Where only documents changed, their own texts are merged already.
        are_merged = ours != before and self._changes_documents_alone(path, plan)
        data = assembled if are_merged else self._by_lines(*sides, assembled)
        return File(_with_upstream_head(data, *sides), merged_mode(before, theirs, like))

    def _changes_documents_alone(self, path: str, plan: _Plan) -> bool:
        """Whether all that upstream changed in a file is inside documents that merge each for itself."""
        before, theirs = (_cut(path, side.file(path)) for side in (self.original, self.upstream))
        merged = {places[0] for places in plan.rows if places[0] == places[1] and places[2] is not None}
        return len(before) == len(theirs) and all(
            document == other or ((path, at) in merged and _separated_alike(document, other))
            for at, (document, other) in enumerate(zip(before, theirs, strict=True))
        )

    def _upstream_data(self, path: str, plan: _Plan) -> bytes:
        """Upstream's file, with kpt's notes on what is added from it (R6)."""
        file = self.upstream.file(path)
        if file is None or path not in plan.added:
            return data_of(file)
        documents = split_documents(file.data, path)
        for member, data in plan.added[path]:
            if member.place == path:
                separator = documents[member.index][: -len(without_separator(documents[member.index]))]
                documents[member.index] = separator + without_separator(data)
        return (BOM_BYTES if file.data.startswith(BOM_BYTES) else b"") + b"".join(documents)

    def _by_lines(self, original: bytes, upstream: bytes, local: bytes, assembled: bytes) -> bytes:
        """The merge of the whole files by lines, where that means the same as the merged documents (W1, law H)."""
        try:
            before, theirs, ours, assembled_text = (
                data.removeprefix(BOM_BYTES).decode() for data in (original, upstream, local, assembled)
            )
        except UnicodeDecodeError:
            return assembled

        def is_meant(text: str) -> bool:
            if text == assembled_text:
                return True
            if notes_in(text) != notes_in(assembled_text) or not _mean_the_same(text, assembled_text):
                return False
            # Lines may bring a comment again that the documents have at another place.
            counts, *most = (Counter(comments_in(each)) for each in (text, theirs, ours, assembled_text))
            return counts <= most[0] | most[1] | most[2]

        if local == original and is_meant(theirs):
            # W1: its byte order mark, too.
            return upstream
        text = merge_lines(before, theirs, ours)
        if text is None or not is_meant(text):
            return assembled
        return (BOM_BYTES if local.startswith(BOM_BYTES) else b"") + text.encode()

    # ---- the documents of a file -------------------------------------------------------------------------------

    def _documents(self, path: str, plan: _Plan) -> list[bytes]:
        """The documents of the merged file, in their order (R2, L4)."""
        ours = self.local.file(path)
        local_documents = _cut(path, ours)
        merged = [plan.edited.get((path, index), data) for index, data in enumerate(local_documents)]
        added = plan.added.get(path, [])
        order = self._order(path, plan, [index for index, data in enumerate(merged) if data is not None], added)
        documents: list[bytes] = []
        for at in order:
            data = merged[at] if at >= 0 else added[-1 - at][1]
            assert data is not None
            if documents:
                documents[-1] = _with_newline(documents[-1])
            documents.append(data)
        # The first needs no separator; local's own first one keeps what it has.
        if documents and order[0] != 0:
            documents[0] = without_separator(documents[0])
        if documents and local_documents and merged[0] is None:
            # A detached comment above the first document is about the file.
            head = detached_head(local_documents[0])
            theirs = self.upstream.file(path)
            head = head if theirs is None or head in theirs.data else b""
            documents[0] = documents[0] if documents[0].startswith(head) else head + documents[0]
        return documents

    def _order(self, path: str, plan: _Plan, survivors: list[int], added: list[tuple[Member, bytes]]) -> list[int]:
        """The places of local's documents, and -1, -2 ... for the added ones, in the order of the merged file."""
        in_place = [*survivors, *(-1 - at for at in range(len(added)))]
        keys = [_Keys(side, path, plan.keys[at]) for at, side in enumerate((self.original, self.upstream, self.local))]
        # Nothing to arrange: upstream left the order alone, or one document has none.
        if not added and (keys[0].same_order(keys[1]) or len(survivors) < 2):
            return in_place
        new: dict[Hashable, list[int]] = {
            ((plan.keys[1][member.place, member.index],), 0): [-1 - at] for at, (member, _) in enumerate(added)
        }
        orders = [side.of_documents(keys[0]) for side in keys]
        front, places = keys[2].places(keys[0], set(survivors))
        places |= new
        merged = merge_order(orders[0], orders[1], orders[2], set(places))
        order = [*front, *(at for key in merged.keys for at in places[key])]
        # No document may be lost, or doubled, for the sake of an order.
        return order if sorted(order) == sorted(in_place) else in_place

    def _new_document(self, member: Member) -> bytes:
        if member.is_kptfile:
            return data_of(self.upstream.file(member.place))
        data = self.upstream.documents[member.place][member.index]
        if member.identity.group_kind == MERGE_POLICY:
            # M1: it may come without something that upstream's has.
            data = member.text.encode()
        noted = self.notes.on_new(member)
        return data if noted is None else noted


class _Keys:
    """Keys of the documents of a file on one side: their resource, else their text."""

    def __init__(self, side: PackageVersion, path: str, resources: dict[Place, Hashable]) -> None:
        self._documents = _cut(path, side.file(path))
        self._texts = [_without_marks(document) for document in self._documents]
        self._known_texts = set(self._texts)
        self._known = [resources.get((path, index)) for index in range(len(self._documents))]

    def same_order(self, other: _Keys) -> bool:
        """Whether the documents that both have are in the same order."""
        mine, others = self.of_documents(self), other.of_documents(self)
        both = set(mine) & set(others)
        return [key for key in mine if key in both] == [key for key in others if key in both]

    def of_documents(self, original: _Keys) -> list[Hashable]:
        """The keys, each once. A document without a known resource has its text as key, or its key in the original.

        Documents without content have none: they belong to the one before them.
        """
        unique: dict[Hashable, None] = {}
        for at, (resource, data) in enumerate(zip(self._known, self._documents, strict=True)):
            if is_empty(data):
                continue
            key = (resource,) if resource is not None else self._text_key(at, original)
            count = 0
            while (key, count) in unique:
                count += 1
            unique[key, count] = None
        return list(unique)

    def places(self, original: _Keys, survivors: set[int]) -> tuple[list[int], dict[Hashable, list[int]]]:
        """The kept places by key, each with those without content behind it; first, those in front of all others."""
        keys = iter(self.of_documents(original))
        front: list[int] = []
        places: dict[Hashable, list[int]] = {}
        current = front
        for at, data in enumerate(self._documents):
            key = None if is_empty(data) else next(keys)
            if at in survivors:
                if key is not None:
                    current = places[key] = []
                current.append(at)
        return front, places

    def _text_key(self, at: int, original: _Keys) -> Hashable:
        text = self._texts[at]
        if text not in original._known_texts and (name := _name_of(self._documents[at])) is not None:
            return original._texts_by_name.get(name, text)
        return text

    @cached_property
    def _texts_by_name(self) -> dict[Identity, bytes]:
        """The texts of documents of which no resource is known, by what names them."""
        documents = zip(self._known, self._documents, self._texts, strict=True)
        named = [(_name_of(data), text) for texts, data, text in documents if texts is None]
        return {name: text for name, text in reversed(named) if name is not None}


def _with_upstream_head(merged: bytes, original: bytes, upstream: bytes, local: bytes) -> bytes:
    """The merged file with the head that upstream changed and local did not (V8): it is about the file."""
    head = _head_of(merged).rstrip()
    if head and head == original.rstrip() and is_empty(upstream) and upstream.strip():
        # A file of comments alone is all head of what local added below.
        return upstream.rstrip() + merged.removeprefix(head)
    before, theirs, ours, now = (_file_head(data) for data in (original, upstream, local, merged))
    if before and theirs and theirs != before == ours == now:
        return merged.replace(before, theirs, 1)
    return merged


def _file_head(data: bytes) -> bytes:
    """The comments at the head of a file that belong to none of its documents."""
    documents = split_documents(data)
    if len(documents) > 1 and is_empty(documents[0]):
        return documents[0]
    return detached_head(documents[0]) if documents else b""


def _head_apart(file: File | None) -> str:
    """The text in front of the separator of a file's first document."""
    documents = split_documents(data_of(file))
    return documents[0].decode(errors="replace") if len(documents) > 1 and is_empty(documents[0]) else ""


def _head_of(document: bytes) -> bytes:
    """The comments above a document, whatever they are about."""
    match = _COMMENTS.match(without_separator(document))
    return b"" if match is None else match.group()


def _separated_alike(document: bytes, other: bytes) -> bool:
    separators = [document[: len(document) - len(without_separator(document))] for document in (document, other)]
    return separators[0] == separators[1]


def _without_marks(document: bytes) -> bytes:
    return without_separator(document).strip()


def _name_of(document: bytes) -> Identity | None:
    """The identity of a document's resource, None where it cannot be read."""
    root = mapping_in(document)
    return identity_of(root) if root is not None and root.get("metadata") is not None else None


def _place(member: Member | None) -> Place | None:
    return None if member is None else (member.place, member.index)


def _cut(path: str, file: File | None) -> list[bytes]:
    """The documents of a file; a Kptfile is a single one, whatever precedes its separator."""
    if file is None:
        return []
    return [file.data.removeprefix(BOM_BYTES)] if is_kptfile(path) else split_documents(file.data, path)


def _mean_the_same(text: str, assembled: str) -> bool:
    """Whether a file holds the resources of another, in one order, and all comments inside of them."""
    documents = [[data for data in split_documents(side.encode()) if not is_empty(data)] for side in (text, assembled)]
    return len(documents[0]) == len(documents[1]) and all(map(_same_document, *documents))


def _same_document(data: bytes, assembled: bytes) -> bool:
    if _without_marks(data) == _without_marks(assembled):
        return True
    try:
        texts = data.decode(), assembled.decode()
        roots = [read(text) for text in texts]
    except (UnicodeDecodeError, TextError):
        return False
    if roots[0] is None or roots[1] is None or roots[0].canonical != roots[1].canonical:
        return False
    # Those above a document may go with it, or be about the file; those inside of it are merged already (V8).
    inside = without_separator(assembled).removeprefix(_head_of(assembled)).decode()
    return "#" not in inside or Counter(comments_in(inside)) <= Counter(comments_in(texts[0]))


def _with_newline(document: bytes) -> bytes:
    """A document with a newline at its end, which must not become part of its last value."""
    if document.endswith(b"\n"):
        return document
    try:
        root = read(document.decode())
        if not isinstance(root, MappingNode) or same(to_value(root), to_value(read(document.decode() + "\n"))):
            return document + b"\n"
    except (UnicodeDecodeError, TextError):
        return document + b"\n"
    resource = Resource.from_tree(root)
    last: Child = root.entries[-1]
    while isinstance(value := value_of(last), MappingNode | SequenceNode) and value.children:
        last = value.children[-1]
    resource.editor.replace(last, from_value(to_value(value_of(last))))
    return resource.text().encode()
