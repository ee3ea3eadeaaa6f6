"""One version of a package: its files, and the resources in them, read when they are needed."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cache, partial

from krm_merge.krm import KPTFILE, KPTFILE_GROUP, flaw_of, identity_of
from krm_merge.merge import Document, Folders, Member, Policy
from krm_merge.packages.files.tree import File, Tree, holds_resources, is_json, is_kptfile
from krm_merge.packages.merge.other_files import plain
from krm_merge.packages.references.graph import PackageGraph
from krm_merge.text import MappingNode, TextError, Value, is_empty, read, read_all, split_documents, to_value


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file holds no resources: a `broken` one should, others are of another kind."""

    reason: str
    broken: bool


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What came of reading a document: a resource, nothing, a flaw of what is none, or why it cannot be read."""

    member: Member | None
    flaw: str = ""
    problem: str = ""


class CommonTree(dict[str, File]):
    """A tree that many merges have in common: each of its resources is cut and read once."""

    def __init__(self, tree: Tree) -> None:
        """Takes the files of a tree."""
        super().__init__(tree)
        self.cut: dict[str, list[bytes]] = {}
        self.read: dict[tuple[str, int], ReadDocument] = {}


class PackageVersion:
    """A version of a package. `documents` are those of each file as text, `unreadable` what was found on the way.

    `found` are the resources that `resources` gave last.
    """

    def __init__(self, name: str, tree: Tree) -> None:
        """Takes the files; `name` is original, upstream or local."""
        self.name = name
        self.tree = tree
        self.documents: dict[str, list[bytes]] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self.found: list[Document] = []

    def file(self, path: str) -> File | None:
        """A file with plain line ends."""
        file = self.tree.get(path)
        return None if file is None else plain(path, file)

    def reads(self, path: str) -> bool:
        """Whether resources are read from a file of this side: YAML files, and JSON files that look like one."""
        if not is_json(path):
            return holds_resources(path)
        data = self.tree[path].data
        return b'"apiVersion"' in data and b'"kind"' in data

    @property
    def paths(self) -> Container[str]:
        """All files."""
        return self.tree

    def unreadable_kptfiles(self) -> list[str]:
        """The Kptfiles that cannot be read; `kptfiles` looks for them."""
        return [path for path in self.unreadable if is_kptfile(path)]

    def kptfiles(self) -> list[Member]:
        """The Kptfiles that make packages."""
        files = [(path, plain(path, file)) for path, file in self.tree.items() if is_kptfile(path)]
        members = [(path, self._read(path, 0, file.data)) for path, file in files]
        for path, member in members:
            if member is None or not member.is_kptfile:
                self.unreadable.setdefault(path, Unreadable("is no Kptfile", broken=False))
        return [member for _, member in members if member is not None and member.is_kptfile]

    def resources(self, folders: Folders) -> list[Document]:
        """All other resources, none of them read yet."""
        self.found = []
        for path, file in self.tree.items():
            if is_kptfile(path) or not self.reads(path):
                continue
            self.documents[path] = self._cut(path, file)
            self.found += [
                Document(path, data, partial(self._read, path, index, data))
                for index, data in enumerate(self.documents[path])
                if not is_empty(data)
            ]
        return self.found

    def members(self) -> list[Member]:
        """The Kptfiles and all other resources; reads every file."""
        kptfiles = self.kptfiles()
        documents = self.resources(Folders((), Policy()))
        return kptfiles + [member for document in documents if (member := document.member()) is not None]

    def _cut(self, path: str, file: File) -> list[bytes]:
        if not isinstance(self.tree, CommonTree):
            return split_documents(plain(path, file).data, path)
        if path not in self.tree.cut:
            self.tree.cut[path] = split_documents(plain(path, file).data, path)
        return self.tree.cut[path]

    def _read(self, path: str, index: int, data: bytes) -> Member | None:
        if not isinstance(self.tree, CommonTree):
            document = _parse(path, index, data)
        elif (path, index) in self.tree.read:
            document = self.tree.read[path, index]
        else:
            document = self.tree.read[path, index] = _parse(path, index, data)
        # A merge knows of a file what that merge has read, and nothing that another one has.
        if document.flaw:
            self.unreadable.setdefault(path, Unreadable(document.flaw, broken=False))
        elif document.problem:
            # JSON that YAML does not read may be fine for others.
            self.unreadable[path] = Unreadable(document.problem, broken=not is_json(path))
        return document.member


def read_graph(tree: Tree) -> PackageGraph:
    """What the files of a version name, read when it is needed (law I)."""
    return PackageGraph(tree, cache(lambda: PackageVersion("merged", tree).resources(Folders((), Policy()))))


def _parse(path: str, index: int, data: bytes) -> ReadDocument:
    try:
        root = read(data.decode("utf-8"))
    except (UnicodeDecodeError, TextError) as error:
        return ReadDocument(None, problem=str(error) if isinstance(error, TextError) else "not UTF-8")
    if root is None:
        return ReadDocument(None)
    if flaw := flaw_of(root):
        return ReadDocument(None, flaw=flaw)
    assert isinstance(root, MappingNode)
    return ReadDocument(Member(path, identity_of(root), root, path, index))


def path_of(name: str, file: File) -> str:
    """The path in a package of a single file: one that holds resources gets a name that says so."""
    try:
        roots = list(read_all(file.data.decode("utf-8")))
    except (UnicodeDecodeError, TextError):
        return name
    identities = [identity_of(root) for root in roots if isinstance(root, MappingNode) and not flaw_of(root)]
    if len(identities) == 1 and (identities[0].kind, identities[0].group) == (KPTFILE, KPTFILE_GROUP):
        return KPTFILE
    return name if holds_resources(name) or not identities else f"{name}.yaml"


def config_paths(kptfile: bytes) -> list[str]:
    """The files that configure the functions of a Kptfile; none where it cannot be read."""
    if b"configPath" not in kptfile:
        return []
    try:
        pipeline = to_value(read(kptfile.decode("utf-8")))
    except (UnicodeDecodeError, TextError):
        return []
    paths = []
    for name in ("mutators", "validators"):
        functions = _field(_field(pipeline, "pipeline"), name)
        paths += [_field(function, "configPath") for function in functions] if isinstance(functions, list) else []
    return [path for path in paths if isinstance(path, str)]


def _field(value: Value, name: str) -> Value:
    return value.get(name) if isinstance(value, dict) else None
