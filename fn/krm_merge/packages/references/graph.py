"""What the files of a package name, and what there is to be named (law I); nothing is read before somebody asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import basename, dirname, join, normpath

from krm_merge.krm import NO_RESOURCE
from krm_merge.merge import Document, Member
from krm_merge.packages.files.tree import File, Tree, folders_around, is_kptfile
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.schema import FileReference, LabelSelector, files_in, labels_in, objects_at
from krm_merge.startup import group_by_key, pattern
from krm_merge.text import Object, Value, documents_in, mapping_in, plain_lines, to_value

_WORD = pattern(rb"[\w.-]+")
# For more words, one pass over the words of the text is faster than a search for each.
_MOST_SEARCHED = 32
_GENERATORS = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}


class PackageGraph:
    """One version of a package. A Kustomization or a Kptfile is known by its place, and has no identity."""

    def __init__(
        self,
        tree: Tree,
        documents: Callable[[], Sequence[Document]],
        paths: Mapping[str, str] | None = None,
        there: Tree | None = None,
    ) -> None:
        """Takes its files, and its resources, which are made at the first use.

        `paths` are the paths that the files have on the side itself, where these are others; `there` is the tree with
        those.
        """
        self.tree, self.documents, self.paths, self.there = tree, documents, paths or {}, there or tree
        self._naming: dict[str, Member | None] = {}
        self._labels: dict[tuple[str, frozenset[bytes]], dict[tuple[str, str], list[dict[str, str]]]] = {}

    def find(self, name: str) -> list[Member]:
        """The objects of this name; patches of objects are none."""
        return [document for document in self._objects_named(name) if document.place not in self.patches]

    def same(self, document: Member) -> Member | None:
        """This document of another version: by its path where it has no name."""
        if document.identity == NO_RESOURCE:
            return self.naming(document.place)
        named = self._objects_named(document.identity.name)
        alike = [candidate for candidate in named if candidate.identity == document.identity]
        return next((each for each in alike if each.place == document.place), alike[0] if alike else None)

    def holds(self, kind: str, name: str, namespace: str, group: str | None) -> bool:
        """Whether there is such an object, or a generator makes it; no kind, no namespace and no group fit any."""
        return name in self._generated_names.get(kind, ()) or any(
            kind in ("", document.identity.kind)
            and (not namespace or document.identity.namespace in ("", namespace))
            and group in (None, document.identity.group)
            for document in self.find(name)
        )

    def naming(self, path: str) -> Member | None:
        """A Kustomization or a Kptfile, None where it cannot be read."""
        if path not in self._naming:
            self._naming[path] = _naming(path, self.tree[path]) if is_naming(path) and path in self.tree else None
        return self._naming[path]

    def files_of(self, path: str) -> Iterator[tuple[FileReference, str]]:
        """The files and folders that a Kustomization or a Kptfile names, with their paths on the side itself."""
        kustomization = self.naming(path)
        folder = dirname(self.paths.get(path, path))
        for named in files_in(kustomization.value, of_kptfile=is_kptfile(path)) if kustomization is not None else ():
            yield named, normpath(join(folder, named.file))

    def declaring(self, path: str) -> list[Member]:
        """The documents of a file, or the Kustomization that it is."""
        if is_naming(path):
            return [kustomization for kustomization in (self.naming(path),) if kustomization is not None]
        members = (document.member() for document in self.documents() if document.file == path)
        return [member for member in members if member is not None]

    def selects(self, selector: LabelSelector, words: frozenset[bytes]) -> bool:
        """Whether there is an object with these labels, in whose text one of the words is."""
        key = selector.of, words
        if key not in self._labels:
            members = (document.member() for document in self.mentioning(words))
            of_members = (labels_in(member.value, selector.of) for member in members if member is not None)
            self._labels[key] = group_by_key((label, labels) for labels in of_members for label in labels.items())
        # The rarest of the labels leaves the fewest objects to compare.
        candidates = min((self._labels[key].get(label, []) for label in selector.labels.items()), key=len)
        return any(selector.labels.items() <= labels.items() for labels in candidates)

    def positions(self, path: str) -> dict[tuple[str, str, str], tuple[str, ...]]:
        """What the JSON patches that a file declares name by a position: the names of these elements.

        By kind and name of the object, and the path in it; '' for an element without a name, or none.
        """
        data = self.tree[path].data
        may_declare = b"patches" in data and (is_naming(path) or b"PatchResources" in data)
        named: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for document in self.declaring(path) if may_declare else ():
            value = document.value
            for _, entry in (*objects_at(value, "patches.*"), *objects_at(value, "patchesJson6902.*")):
                target = entry.get("target")
                kind, name = (str(target.get(key)) if isinstance(target, dict) else "" for key in ("kind", "name"))
                members = [member for member in self.find(name) if member.identity.kind == kind]
                for operation, at in self._operations(document, entry) if len(members) == 1 else ():
                    # An insertion in front of an element means the place.
                    names = _elements_at(members[0].value, dirname(at) if operation == "add" else at)
                    named |= {(kind, name, at): names} if names else {}
        return named

    def _operations(self, document: Member, entry: Object) -> Iterator[tuple[Value, str]]:
        """The operations of a JSON patch with their paths; none of another kind of patch."""
        path, text = entry.get("path"), entry.get("patch")
        file = self.tree.get(normpath(join(dirname(document.place), path))) if isinstance(path, str) else None
        data = text.encode() if isinstance(text, str) else file.data if file is not None else b""
        for root in documents_in(data) or ():
            operations = to_value(root)
            for operation in operations if isinstance(operations, list) else ():
                if isinstance(operation, dict) and isinstance(at := operation.get("path"), str):
                    yield operation.get("op"), at

    def has_file(self, path: str) -> bool:
        """Whether the side has such a file, or a folder with files."""
        return path in self.there or path in self._folders

    def mentioning(self, words: frozenset[bytes]) -> Iterator[Document]:
        """The resources in whose text one of these words is."""
        return (document for document in self.documents() if mentions(document.data, words))

    @cached_property
    def patches(self) -> frozenset[str]:
        """The files that Kustomizations name as patches: what they hold is no object of its own."""
        # By its words first: most Kustomizations patch nothing, and need not be read.
        naming = [path for path in self.tree if is_naming(path) and b"atches" in self.tree[path].data]
        files = ((path, named) for path in naming for named, _ in self.files_of(path))
        return frozenset(
            normpath(join(dirname(path), named.file))
            for path, named in files
            if str(named.path[0]).startswith("patches")
        )

    def _objects_named(self, name: str) -> list[Member]:
        """The documents of this name."""
        candidates = (document.member() for document in self.by_name.get(name.encode(), ()))
        return [
            candidate
            for candidate in (*candidates, *self._unseen.get(name, ()))
            if candidate is not None and candidate.identity.name == name
        ]

    @cached_property
    def _unseen(self) -> dict[str, list[Member]]:
        """The documents whose names are only known when they are read."""
        members = (document.member() for document in self.by_name.get(b"", ()))
        return group_by_key((member.identity.name, member) for member in members if member is not None)

    @cached_property
    def by_name(self) -> dict[bytes, list[Document]]:
        """The documents by each name that they may have, empty where only reading one shows its name."""
        return group_by_key((name, document) for document in self.documents() for name in document.names() or (b"",))

    @cached_property
    def _generated_names(self) -> dict[str, set[str]]:
        """The names that generators make, by kind."""
        names: dict[str, set[str]] = defaultdict(set)
        # The same: most generate nothing.
        naming = [path for path in self.tree if is_naming(path) and b"Generator" in self.tree[path].data]
        values = [document.value for path in naming if (document := self.naming(path)) is not None]
        for value in values:
            for kind, generator in _GENERATORS.items():
                for _, entry in objects_at(value, f"{generator}.*"):
                    if isinstance(name := entry.get("name"), str):
                        names[kind].add(name)
        return names

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(folder for path in self.there for folder in (*folders_around(path), "."))


def is_naming(path: str) -> bool:
    """Whether a file of this name is a Kustomization or a Kptfile."""
    return is_kptfile(path) or basename(path) in KUSTOMIZATION_FILES


def mentions(data: bytes, words: frozenset[bytes]) -> bool:
    """Whether one of these words is in a text."""
    # It may say yes too often: a word is found inside of others, and the document is read then.
    if len(words) <= _MOST_SEARCHED:
        return any(word in data for word in words)
    return not words.isdisjoint(_WORD.findall(data))


def words_of(names: Iterable[str]) -> frozenset[bytes]:
    """What `mentions` looks for where one of these names may be."""
    words_of_names = (_WORD.findall(name.encode()) for name in names)
    # The longest word of a name is in the fewest texts.
    return frozenset(max(words, key=len) for words in words_of_names if words)


def call_document(document: Member) -> str:
    """What messages call a document."""
    return f"{document.identity.kind} {document.identity.name}".strip() or document.place


def _elements_at(value: Value, path: str) -> tuple[str, ...]:
    """The names of the elements that a path of a JSON patch goes through."""
    names: tuple[str, ...] = ()
    for part in path.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
            names = (*names, str(value.get("name", "")) if isinstance(value, dict) else "")
        else:
            value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return names


def _naming(path: str, file: File) -> Member | None:
    root = None if file.mode == "link" else mapping_in(plain_lines(file.data))
    return None if root is None else Member(path, NO_RESOURCE, root, path)
