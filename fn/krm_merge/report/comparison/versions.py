"""The five versions of a package that a comparison looks at: the three sides, and what both programs make of them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import basename
from typing import Protocol, TypeAlias

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.krm.identity import KPTFILE, Identity, flaw_of, identity_of
from krm_merge.report.comparison.difference import VersionName
from krm_merge.report.comparison.spots import ANNOTATIONS, without_notes
from krm_merge.text.reading.nodes import MappingNode, Node, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import cut, is_empty
from krm_merge.text.reading.values import to_value


class FileContent(Protocol):
    """A file: its bytes, and whether it is a link or executable."""

    @property
    def data(self) -> bytes:
        """The bytes; of a link, its target."""
        ...

    @property
    def mode(self) -> str:
        """file, executable or link."""
        ...


Package: TypeAlias = Mapping[str, FileContent]
"""The files of one version by path."""


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document of a file. `root` is None where it holds only comments, `identity` where it is no resource."""

    text: str
    root: MappingNode | None
    identity: Identity | None

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())


class ComparedVersion:
    """One version, read when it is asked for."""

    def __init__(self, files: Package) -> None:
        """Takes the files."""
        self.files = files
        self._read: dict[str, list[ComparedDocument] | None] = {}

    def documents(self, path: str) -> list[ComparedDocument] | None:
        """The documents of a YAML file; none where there is no such file, None where it is not read as YAML."""
        if path not in self._read:
            self._read[path] = _documents(path, self.files[path]) if path in self.files else []
        return self._read[path]

    def resource(self, place: str, identity: Identity) -> MappingNode | None:
        """A resource: that in its file comes first. There is one Kptfile in a file of that name."""
        for document in self.documents(place) or ():
            if document.identity == identity or (basename(place) == KPTFILE and document.identity is not None):
                return document.root
        return self._anywhere.get(identity) if identity.kind else None

    def has(self, place: str, identity: Identity) -> bool:
        """Whether a file holds a resource."""
        return any(document.identity == identity for document in self.documents(place) or ())

    @cached_property
    def _anywhere(self) -> dict[Identity, MappingNode]:
        roots: dict[Identity, MappingNode] = {}
        for path in self.files:
            for document in self.documents(path) or ():
                if document.identity is not None and document.root is not None:
                    roots.setdefault(document.identity, document.root)
        return roots


ComparedVersions: TypeAlias = Mapping[VersionName, ComparedVersion]


def pairs(
    first: list[ComparedDocument], second: list[ComparedDocument]
) -> Iterator[tuple[ComparedDocument | None, ComparedDocument | None]]:
    """The documents of two versions of a file that are the same one; those that only one has, with None."""
    keys = [[*_keys(documents)] for documents in (first, second)]
    others = dict(zip(keys[1], second, strict=True))
    for key, document in zip(keys[0], first, strict=True):
        yield document, others.pop(key, None)
    yield from ((None, document) for document in others.values())


def meaning(node: Node | None, path: FieldPath = ()) -> Hashable | None:
    """A value that can be compared, without kpt's notes in it; None where there is nothing."""
    if node is None:
        return None
    if path not in ((), ANNOTATIONS[:1], ANNOTATIONS):
        return node.canonical
    return json.dumps(without_notes(to_value(node), path), sort_keys=True)


def _keys(documents: list[ComparedDocument]) -> Iterator[Hashable]:
    """What a document is known by in its file; the second of a name is another one."""
    seen: dict[Hashable, int] = {}
    for document in documents:
        key = document.identity if document.identity is not None else document.root is None
        seen[key] = seen.get(key, 0) + 1
        yield key, seen[key]


def _documents(path: str, file: FileContent) -> list[ComparedDocument] | None:
    if file.mode == "link" or not (path.endswith((".yaml", ".yml")) or basename(path) == KPTFILE):
        return None
    documents = []
    try:
        for data in cut(file.data, path):
            text = data.decode("utf-8")
            root = None if is_empty(data) else read(text)
            if not (root is None or isinstance(root, MappingNode)):
                return None
            is_resource = root is not None and not flaw_of(root)
            documents.append(
                ComparedDocument(text, root, identity_of(root) if is_resource and root is not None else None)
            )
    except (UnicodeDecodeError, TextError):
        return None
    return documents
