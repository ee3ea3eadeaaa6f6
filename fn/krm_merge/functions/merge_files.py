"""The sides of a merge as files, for what is decided by files: moves (R13), lists (R11) and references (law I)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from krm_merge.functions.merge_sides import ItemsOfSide, PackageSides
from krm_merge.functions.places import FreeIndexes, default_place, new_resource, place_of_item, plain_place, set_place
from krm_merge.krm import ID_ANNOTATIONS, Resource, ResourceList, identity_of
from krm_merge.merge import Document, FileDecision, Member, Policy, ResourceOutcome, follows_upstream_move, report_files
from krm_merge.packages import File, follow, keep_references, list_new_files
from krm_merge.schema import is_bookkeeping
from krm_merge.startup import frozen, group_by_key
from krm_merge.text import MappingNode, is_empty, read, split_documents, text_of, without_separator

_METADATA = re.compile(rb"^metadata:.*?(?=^[^\s#]|\Z)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(
    rb"""^ +["']?(?:internal\.config\.kubernetes\.io/[\w.-]+|config\.kubernetes\.io/(?:path|index|merge-source)|"""
    rb"""config\.k8s\.io/id|internal\.config\.k8s\.io/kpt-resource-id)["']?:[^\n]*\n""",
    re.MULTILINE,
)


@frozen
class DocumentOfFile:
    """A document of a file: whole lines with its fields at `column`, of an item with the dash in front of the first.

    `index` says which document of the file it is.
    """

    index: int
    data: bytes
    column: int
    item: Resource | None = None

    def text(self) -> bytes:
        """The document at column 0, without the annotations that kpt makes for a list of resources."""
        data = self.data if self.item is None else self.data.replace(b"-", b" ", 1)
        # Every line begins so, but for blank ones and that of a dash alone.
        data = (b"\n" + data).replace(b"\n" + b" " * self.column, b"\n")[1:]
        return _METADATA.sub(lambda metadata: _MARK.sub(b"", metadata[0]), data, count=1)


class DocumentFiles(Mapping[str, File]):
    """Documents by file; a file is joined when somebody asks for it."""

    def __init__(self, documents: Iterable[tuple[str, DocumentOfFile]]) -> None:
        """Takes each document with its path."""
        self.documents = group_by_key(documents)
        for of_file in self.documents.values():
            of_file.sort(key=lambda document: document.index)
        self._files: dict[str, File] = {}

    def __getitem__(self, path: str) -> File:
        """The documents of a file, in their order."""
        if path not in self._files:
            self._files[path] = File(b"---\n".join(document.text() for document in self.documents[path]))
        return self._files[path]

    def __contains__(self, path: object) -> bool:
        """Whether the file has documents; joins none."""
        return path in self.documents

    def __iter__(self) -> Iterator[str]:
        """The paths, in the order of their first documents."""
        return iter(self.documents)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self.documents)

    def is_same(self, path: str, other: DocumentFiles) -> bool:
        """Whether both have the same bytes in a file; joins none."""
        mine, others = (files.documents.get(path, ()) for files in (self, other))
        return [document.data for document in mine] == [document.data for document in others]


class PackageFiles:
    """The sides of a merge as files. Made before the merge, which then finds what either side moved at its new path."""

    def __init__(self, resource_list: ResourceList, sides: PackageSides, policy: Policy) -> None:
        """Follows moved files (R13)."""
        self._list = resource_list
        self._sides = sides
        self._policy = policy
        self._there = (_files_of(sides.original), _files_of(sides.upstream), self._files_of_items())
        self._followed = follow(*self._there, policy)
        for side, moves in zip(sides, self._followed.relocated, strict=True):
            side.relocate(moves)

    def complete(self, outcomes: Sequence[ResourceOutcome]) -> list[FileDecision]:
        """Moves items, and keeps lists of files (R11) and references (law I) true, once the outcomes are written.

        Returns what it decided and reported.
        """
        results, followed, before = self._list.results, self._followed, self._there[2]
        self._move(outcomes)
        merged = self._files_of_items()
        changed = [path for path in {**before.documents, **merged.documents} if not merged.is_same(path, before)]
        documents = [side.others for side in self._sides]
        intact = keep_references(followed, self._there, documents, outcomes, merged)
        changes = {path: merged.get(path) for path in changed} | dict(intact.changes)
        for path, file in list_new_files(self._there[1], before, changes, results).items():
            if file is not None and file != merged.get(path):
                self._write(path, file, merged.documents.get(path, []))
        decisions = [*followed.decisions(self._policy), *intact.decisions(self._policy)]
        report_files(decisions, results)
        return decisions

    def _files_of_items(self) -> DocumentFiles:
        return DocumentFiles(map(self._place_of_item, self._list.items))

    def _place_of_item(self, item: Resource) -> tuple[str, DocumentOfFile]:
        """Where an item is."""
        path, index = place_of_item(item, self._sides.root_package)
        path = path or default_place(item.identity)
        return path, DocumentOfFile(index, item.data(), item.column, item)

    # ---- carrying out ----------------------------------------------------------------------------------------------

    def _move(self, outcomes: Sequence[ResourceOutcome]) -> None:
        """Gives items their new paths: those of local's files that moved, and what upstream moved alone (R2)."""
        moves, sides = self._followed.relocated[2], self._sides
        for item in self._list.items if moves else ():
            path, document = self._place_of_item(item)
            if path in moves:
                self._place(item, moves[path], document.index)
        free: FreeIndexes | None = None
        for outcome in outcomes:
            upstream, local = outcome.upstream, outcome.local
            if upstream is None or local is None or not (upstream.is_placed and local.is_placed):
                continue
            if follows_upstream_move(outcome, self._list.results):
                free = free or FreeIndexes(self._list, sides.root_package)
                self._place(sides.resource(local), upstream.place, free.take(upstream.place))

    def _place(self, item: Resource, path: str, index: int) -> None:
        item.settle(item.data())
        set_place(item, path, index, self._sides.root_package)

    def _write(self, path: str, file: File, documents: Sequence[DocumentOfFile]) -> None:
        """Gives the items of a file its texts, and adds items for those that have none."""
        items = self._list.items
        texts = [text for text in split_documents(file.data, path) if not is_empty(text)]
        for document, text in zip(documents, texts, strict=False):
            if without_separator(text) != document.text():
                assert document.item is not None
                items[items.index(document.item)] = _rewritten(document.item, text)
        for index, text in enumerate(texts[len(documents) :], len(documents)):
            root = read(text.decode())
            assert isinstance(root, MappingNode)
            member = Member(path, identity_of(root), root, path)
            items.append(new_resource(member, path, index))


def _files_of(side: ItemsOfSide) -> DocumentFiles:
    kptfiles = ((m.place, DocumentOfFile(m.index, text_of(m.root).encode(), 0)) for m in side.kptfile_members)
    others = ((*_place_of(document), document) for document in side.others)
    return DocumentFiles(
        [
            *kptfiles,
            *((path, DocumentOfFile(index, document.data, document.column)) for path, index, document in others),
        ]
    )


def _place_of(document: Document) -> tuple[str, int]:
    if (place := plain_place(document.data)) is not None:
        return place
    member = document.member()
    return (member.place, member.index) if member is not None else ("", 0)


def _rewritten(item: Resource, text: bytes) -> Resource:
    """An item with another text, and the annotations that kpt made for it."""
    new = Resource.from_document(text.decode())
    for name, value in item.annotations.items():
        if is_bookkeeping(name) and name not in ID_ANNOTATIONS:
            new.set(f'metadata.annotations["{name}"]', value)
    return new
