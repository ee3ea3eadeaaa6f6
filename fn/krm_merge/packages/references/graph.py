"""What the files of a package name, and what there is to be named (law I); nothing is read before somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import basename, dirname, join, normpath

from krm_merge.krm.identity import Identity, flaw_of, identity_of
from krm_merge.packages.files.tree import File, Tree, holds_resources, is_json, is_kptfile
from krm_merge.schema.kustomization import FILES as KUSTOMIZATION_FILES
from krm_merge.schema.references import FileReference, files_in
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import cut, is_empty, plain_lines
from krm_merge.text.reading.values import Object, Value, to_value


@dataclass(frozen=True, slots=True)
class Found:
    """A document of a file. Without kind and apiVersion it has an empty identity."""

    path: str
    index: int
    root: MappingNode
    value: Object
    identity: Identity


class PackageGraph:
    """One version of a package."""

    def __init__(self, tree: Tree) -> None:
        """Takes its files. `naming_files` are the Kustomizations and Kptfiles."""
        self.tree = tree
        names = {*KUSTOMIZATION_FILES}
        self.naming_files = {path: None for path in tree if basename(path) in names or is_kptfile(path)}
        self._documents: dict[str, list[Found]] = {}
        self._patches: set[str] | None = None
        self._folders = {dirname(path) or "." for path in self.naming_files if not is_kptfile(path)}

    def documents(self, path: str) -> list[Found]:
        """The documents of a file that are mappings, none of one that cannot be read."""
        if path not in self._documents:
            self._documents[path] = list(_read(path, self.tree[path])) if path in self.tree else []
        return self._documents[path]

    def holding(self, *texts: str) -> Iterator[Found]:
        """The documents of the files in which all of these texts are."""
        wanted = [text.encode() for text in texts]
        for path, file in self.tree.items():
            may_hold = holds_resources(path) or is_json(path) or path in self.naming_files
            if may_hold and file.mode != "link" and all(text in file.data for text in wanted):
                yield from self.documents(path)

    def files_of(self, path: str) -> list[FileReference]:
        """The files and folders that a Kustomization or a Kptfile names."""
        values = [found.value for found in self.documents(path)[:1]]
        return [named for value in values for named in files_in(value, of_kptfile=is_kptfile(path))]

    def target(self, path: str, named: str) -> str:
        """The path of a file or folder that a file names."""
        return normpath(join(dirname(path), named))

    def has_file(self, path: str) -> bool:
        """Whether there is such a file, or a folder with a Kustomization."""
        return path in self.tree or path in self._folders

    def inside(self, path: str) -> list[str]:
        """The file, or the files in the folder."""
        return [path] if path in self.tree else [file for file in self.tree if file.startswith(f"{path}/")]

    def is_patch(self, path: str) -> bool:
        """Whether a Kustomization names the file as a patch: what it holds is no object of its own."""
        if self._patches is None:
            self._patches = {
                self.target(naming, named.file)
                for naming in self.naming_files
                if b"atches" in self.tree[naming].data
                for named in self.files_of(naming)
                if str(named.path[0]).startswith("patches")
            }
        return path in self._patches

    def find(self, kind: str, name: str, namespace: str = "", group: str | None = None) -> list[Found]:
        """The objects of this kind and name; an empty namespace fits any."""
        return [found for found in self.holding(name) if self._is(found, kind, name, namespace, group)]

    def _is(self, found: Found, kind: str, name: str, namespace: str, group: str | None) -> bool:
        identity = found.identity
        return (
            (identity.kind, identity.name) == (kind, name)
            and (not namespace or not identity.namespace or identity.namespace == namespace)
            and (group is None or group == identity.group)
            and not self.is_patch(found.path)
        )

    def generates(self, kind: str, name: str) -> bool:
        """Whether a Kustomization makes such a ConfigMap or Secret."""
        field = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}.get(kind)
        if field is None:
            return False
        values = [found.value.get(field) for path in self.naming_files for found in self.documents(path)]
        return any(
            isinstance(made, dict) and made.get("name") == name
            for value in values
            for made in (value if isinstance(value, list) else ())
        )


def _read(path: str, file: File) -> Iterator[Found]:
    if file.mode == "link":
        return
    data = plain_lines(file.data)
    for index, document in enumerate([data] if is_kptfile(path) else cut(data, path)):
        try:
            root = None if is_empty(document) else read(document.decode())
            value: Value = to_value(root) if isinstance(root, MappingNode) else None
        except (UnicodeDecodeError, TextError):
            continue
        if isinstance(root, MappingNode) and isinstance(value, dict):
            identity = Identity("", "", "", "") if flaw_of(root) else identity_of(root)
            yield Found(path, index, root, value, identity)
