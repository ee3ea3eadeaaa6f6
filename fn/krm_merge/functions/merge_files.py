"""The versions of a package in a ResourceList as trees of files, and merged files as items of the list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from posixpath import basename

from krm_merge.functions.places import (
    default_place,
    new_resource,
    place_of,
    place_of_item,
    plain_place,
    root_package,
    set_place,
)
from krm_merge.krm import (
    ID_ANNOTATIONS,
    KPTFILE,
    KPTFILE_GROUP,
    PATH,
    Identity,
    Resource,
    ResourceError,
    ResourceList,
    flaw_of,
    identity_of,
)
from krm_merge.packages import Changes, CommonTree, File, leads_out
from krm_merge.schema import is_bookkeeping
from krm_merge.startup import frozen, group_by_key, pattern
from krm_merge.text import (
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    check,
    from_value,
    is_empty,
    plain_lines,
    read,
    resolved,
    split_documents,
    text_of,
    to_value,
    without_separator,
    written,
)

_METADATA = pattern(rb"^metadata: *\n((?:(?: [^\n]*)?\n)*+)", re.MULTILINE)
_FIELDS = (b"apiVersion", b"kind", b"namespace", b"name")
_VALUE = rb""": +(?!null\b|Null\b|NULL\b)([A-Za-z][\w./-]*)(?: +#[^\n]*| *)$"""
_HEAD = pattern(rb"^(apiVersion|kind)" + _VALUE, re.MULTILINE)
_NAMES = pattern(rb"^  (name|namespace)" + _VALUE, re.MULTILINE)
_MARK = (
    rb"(?:internal\.config\.kubernetes\.io/[\w.-]+|internal\.kpt\.dev/[\w.-]+|config\.k8s\.io/id"
    rb"|config\.kubernetes\.io/(?:path|index|merge-source)|internal\.config\.k8s\.io/kpt-resource-id)"
)
_ANY_MARK = pattern(_MARK)
_MARK_LINE = pattern(rb"""^ +["']?%b["']?:[^\n]*\n""" % _MARK, re.MULTILINE)
_ID_LINE = pattern(
    rb"""^ +["']?(?:%b)["']?:[^\n]*\n""" % b"|".join(re.escape(name.encode()) for name in ID_ANNOTATIONS), re.MULTILINE
)
_EMPTY_ANNOTATIONS = pattern(rb"^( +)annotations: *\n(?!\1 )", re.MULTILINE)


@frozen
class ListedDocument:
    """A document of a version: its file, which one of it, its text at column 0; of local its item."""

    path: str
    index: int
    data: bytes
    item: Resource | None = None

    @property
    def is_kptfile(self) -> bool:
        """Whether the document makes its folder a package."""
        return basename(self.path) == KPTFILE


class ListedPackage:
    """The three versions of a package that a list holds."""

    def __init__(self, resource_list: ResourceList, original: Node, upstream: Node) -> None:
        """Reads them, and reports what cannot be merged."""
        self._list = resource_list
        self._results = resource_list.results
        self.root = root_package(resource_list)
        self.local = [document for item in resource_list.items if (document := self._of_item(item)) is not None]
        texts = [self._texts(name, node) for name, node in (("original", original), ("upstream", upstream))]
        # Where a resource without a path is: in local's file, or in the one that kpt gives it.
        places: dict[Identity, list[str]] = {}
        if any(PATH.encode() not in data for side in texts for data in side):
            for document in self.local:
                with suppress(TextError):
                    places.setdefault(listed_identity(document.data), []).append(document.path)
        self.original, self.upstream = (
            self._documents(name, side, places) for name, side in zip(("original", "upstream"), texts, strict=True)
        )

    # ---- reading ---------------------------------------------------------------------------------------------------

    def _of_item(self, item: Resource) -> ListedDocument | None:
        """An item as a document; None for one that no file of this package holds."""
        try:
            path, index = place_of_item(item, self.root)
            path = path or _default_place(item.identity)
            if basename(path) == KPTFILE and (flaw := flaw_of(item.root)):
                self._results.error(f"{path}: {flaw}", file=path)
        except ResourceError as error:
            # What nobody can read is kept as it is.
            if basename(error.file or "") == KPTFILE:
                self._results.error(str(error), file=error.file)
            return None
        if path.startswith("../"):
            return None
        return ListedDocument(path, index, _without(_ID_LINE, _at_column_0(item)), item)

    def _texts(self, name: str, node: Node) -> list[bytes]:
        """The documents of original or upstream, with all of their annotations."""
        try:
            if isinstance(node, SequenceNode):
                return [_text_of_object(resolved(item)) for item in node.items]
            assert isinstance(node, Scalar)
            check(node.text)
            documents = split_documents(plain_lines(node.text.encode()))
        except TextError as error:
            self._results.error(f"functionConfig: {name}: {error}", path=name)
            return []
        return [_ended(without_separator(data)) for data in documents if not is_empty(data)]

    def _documents(self, name: str, texts: list[bytes], places: Mapping[Identity, list[str]]) -> list[ListedDocument]:
        documents, left = [], {identity: iter(paths) for identity, paths in places.items()}
        for at, data in enumerate(texts, 1):
            try:
                path, index = _place(data, None)
                if not path:
                    identity = listed_identity(data)
                    path = _default_place(identity)
                    path = path if path == KPTFILE else next(left.get(identity, iter(())), path)
                if basename(path) == KPTFILE or _plain_fields(data) is None:
                    _read(data)
            except TextError as error:
                self._results.error(f"functionConfig: {name}: document {at}: {error}", path=name)
                continue
            if leads_out(path):
                problem = f"has the path {path}, which leads out of the package"
                self._results.error(f"functionConfig: {name}: document {at} {problem}", path=name)
            documents.append(ListedDocument(path, index, without_bookkeeping(data)))
        return documents

    @property
    def has_files(self) -> bool:
        """Whether original and upstream are whole packages."""
        return not any(all(document.is_kptfile for document in side) for side in (self.original, self.upstream))

    def keep_only_kptfiles(self) -> None:
        """Leaves everything else out of original and upstream."""
        self.original, self.upstream = (
            [document for document in side if document.is_kptfile] for side in (self.original, self.upstream)
        )

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, changes: Changes) -> int:
        """Makes the items those of the changed files; returns how many of them are new, other ones or gone."""
        items = self._list.items
        by_path = group_by_key((document.path, document) for document in self.local)
        by_place = group_by_key(((document.path, document.index), document) for document in self.local)
        before = {id(document.item) for path in changes for document in by_path.get(path, ())}
        after: set[int] = set()
        new: list[Resource] = []
        changed = 0
        for path, file in changes.items():
            same = {document.data: document for document in by_path.get(path, ())}
            last = -1
            for text in _documents_of(path, file):
                document = same.pop(text, None) or self._document(text, by_place, by_path.get(path, ()))
                if document is None or document.item is None or id(document.item) in after:
                    last += 1
                    new.append(new_resource(text.decode(), path, last))
                    continue
                item, as_it_was = document.item, document.item.data()
                after.add(id(item))
                if text != document.data:
                    item.settle(_as_item(item, text))
                    if any(name.encode() in text for name in ID_ANNOTATIONS):
                        item.drop_ids()
                        item.settle(item.data())
                index = document.index if document.index > last else last + 1
                if (path, index) != (document.path, document.index):
                    set_place(item, path, index, self.root)
                    item.settle(item.data())
                changed += item.data() != as_it_was
                last = index
        gone = before - after
        items[:] = [item for item in items if id(item) not in gone] + new
        return changed + len(gone) + len(new)

    def _document(
        self,
        text: bytes,
        by_place: Mapping[tuple[str, int], Sequence[ListedDocument]],
        of_file: Iterable[ListedDocument],
    ) -> ListedDocument | None:
        """The document of local that has become this text: its annotations say so, or else its name."""
        place = _place(text, self.root)
        if place[0]:
            candidates = by_place.get(place, ())
        else:
            candidates = [document for document in of_file if PATH.encode() not in document.data]
        if len(candidates) <= 1 and place[0]:
            return next(iter(candidates), None)
        # The host gave them no path, or several of them one place.
        identity = listed_identity(text) if candidates else None
        return next((document for document in candidates if listed_identity(document.data) == identity), None)


def files_of(documents: Iterable[ListedDocument]) -> CommonTree:
    """The documents of one version as files, which are cut already."""
    in_order = sorted(documents, key=lambda document: document.index)
    by_path = group_by_key((document.path, document.data) for document in in_order)
    cut = {path: [first, *(b"---\n" + data for data in rest)] for path, (first, *rest) in by_path.items()}
    tree = CommonTree({path: File(b"".join(of_file)) for path, of_file in cut.items()})
    tree.cut = cut
    return tree


# ---- texts -----------------------------------------------------------------------------------------------------------


def _read(data: bytes) -> MappingNode:
    """The object in a text. Raises TextError for anything else."""
    root = read(data.decode())
    if flaw := ("is not a Kubernetes object" if root is None else flaw_of(root)):
        raise TextError(f"it {flaw}")
    assert isinstance(root, MappingNode)
    return root


def _place(data: bytes, root: str | None) -> tuple[str, int]:
    """The file in the annotations of a resource, '' where they name none, and which document of it it is."""
    if not _has_marks(data):
        return "", 0
    if (place := plain_place(data, root)) is not None:
        return place
    resource = Resource.from_tree(_read(data))
    return place_of(resource.annotations, root) or "", resource.index


def listed_identity(data: bytes) -> Identity:
    """The identity of the resource in a text, seen without parsing where it is plain. Raises TextError."""
    fields = _plain_fields(data)
    if fields is None or b"name" not in fields:
        return identity_of(_read(data))
    version, kind, namespace, name = (fields.get(field, b"").decode() for field in _FIELDS)
    return Identity(version.rpartition("/")[0], kind, namespace, name)


def _plain_fields(data: bytes) -> dict[bytes, bytes] | None:
    """What a plain text begins with that names a resource; None where only reading the text shows that."""
    metadata = _METADATA.search(data)
    if metadata is None:
        return None
    head, names = _HEAD.findall(data, 0, metadata.start()), _NAMES.findall(metadata[1])
    fields = dict(head + names)
    is_plain = len(fields) == len(head) + len(names) and len(head) == 2
    return fields if is_plain and (b"namespace" in fields or b"namespace" not in metadata[1]) else None


def _has_marks(data: bytes) -> bool:
    # A search for the expression alone takes many times as long.
    return (b"config.k" in data or b"internal.kpt" in data) and _ANY_MARK.search(data) is not None


def _default_place(identity: Identity) -> str:
    is_kptfile = (identity.kind, identity.group) == (KPTFILE, KPTFILE_GROUP)
    return KPTFILE if is_kptfile else default_place(identity)


def _text_of_object(root: Node) -> bytes:
    """An object of a list as a document; what it shares with others of the functionConfig is written out."""
    if not isinstance(root, MappingNode):
        raise TextError("an object is expected in each element of the list")
    text = text_of(root)
    if "*" in text:
        try:
            read(text)
        except TextError:
            text = written(from_value(to_value(root)))
    return _ended(text.encode())


def without_bookkeeping(data: bytes) -> bytes:
    """The text of a resource without the annotations that kpt made for a list (R6)."""
    data = _without(_MARK_LINE, data) if _has_marks(data) else data
    if not _has_marks(data):
        return data
    resource = Resource.from_tree(_read(data))
    for name in resource.annotations:
        if is_bookkeeping(name):
            resource.remove(f'metadata.annotations["{name}"]')
    return resource.text().encode()


def _without(lines: re.Pattern[bytes], data: bytes) -> bytes:
    """A text without some lines of its metadata, and without what is empty then."""

    def shorten(metadata: re.Match[bytes]) -> bytes:
        shorter, count = lines.subn(b"", metadata[0])
        shorter = _EMPTY_ANNOTATIONS.sub(b"", shorter) if count else shorter
        return b"" if count and shorter.count(b"\n") == 1 else shorter

    return _METADATA.sub(shorten, data, count=1)


def _at_column_0(item: Resource) -> bytes:
    """The text of an item as a document of a file."""
    data = b"\n" + item.data().replace(b"-", b" ", 1)
    return _ended(data.replace(b"\n" + b" " * item.column, b"\n")[1:])


def _as_item(item: Resource, document: bytes) -> bytes:
    """A document in the lines of an item; lines that the item has left of its fields are kept there."""
    data, margin = item.data(), b" " * item.column
    outside = {line for line in data.split(b"\n")[1:] if not line.startswith(margin)}
    first, *rest = document.split(b"\n")
    # The dash may be alone on its line.
    lines = [margin + first if first.strip() else first]
    lines += [line if not line or line in outside else margin + line for line in rest]
    dash = data.index(b"-")
    lines[0] = lines[0][:dash] + b"-" + lines[0][dash + 1 :]
    return b"\n".join(lines)


def _documents_of(path: str, file: File | None) -> list[bytes]:
    documents = [] if file is None else split_documents(file.data, path)
    return [_ended(without_separator(data)) for data in documents if not is_empty(data)]


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"
