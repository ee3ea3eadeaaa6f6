"""One version of a package: its files, the resources in them, read when they are needed, and kpt's notes (rule R6).

Source: kpt's `addmergecomment`, which notes from which upstream resource a local one came, and `attribution`. kpt
writes each file anew for it, so that the layout of a fetched file is kpt's, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, partial
from posixpath import basename, dirname
from typing import NamedTuple

from krm_merge.krm import KPTFILE, KPTFILE_GROUP, Resource, flaw_of, identity_of
from krm_merge.merge import (
    BLUEPRINT,
    CHART_FILE,
    CONFIG_CONNECTOR,
    MERGE_COMMENT,
    UPSTREAM_IDENTIFIER,
    CommentReader,
    Document,
    Folders,
    Member,
    Policy,
    attribute,
    attribution,
    essence,
    with_attribution,
)
from krm_merge.packages.files.tree import File, Tree, holds_resources, is_json, is_kptfile
from krm_merge.packages.merge.other_files import plain
from krm_merge.packages.references.graph import PackageGraph
from krm_merge.schema import any_object_schema, files_in
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    Comments,
    MappingNode,
    TextError,
    Value,
    documents_in,
    is_empty,
    joined,
    mapping_in,
    read,
    read_all,
    same,
    split_documents,
    to_value,
)


@frozen
class Unreadable:
    """Why a file holds no resources: a `broken` one should, others are of another kind."""

    reason: str
    broken: bool


class CommonTree(dict[str, File]):
    """A tree that many merges have in common: each of its resources is cut and read once."""

    def __init__(self, tree: Tree) -> None:
        """Takes the files of a tree."""
        super().__init__(tree)
        self.cut: dict[str, list[bytes]] = {}
        self.read: dict[tuple[str, int], Member | Unreadable | None] = {}


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
        self._common = tree if isinstance(tree, CommonTree) else CommonTree({})

    def file(self, path: str) -> File | None:
        """A file with plain line ends."""
        file = self.tree.get(path)
        return None if file is None else plain(path, file)

    def reads(self, path: str) -> bool:
        """Whether resources are read from a file of this side: YAML files, and JSON files that look like one."""
        if not is_json(path):
            return holds_resources(path)
        # By its words: most JSON files hold other things, and reading each would take long.
        data = self.tree[path].data
        return b'"apiVersion"' in data and b'"kind"' in data

    def unreadable_kptfiles(self) -> list[str]:
        """The Kptfiles that cannot be read; `kptfiles` looks for them."""
        return [path for path in self.unreadable if is_kptfile(path)]

    def kptfiles(self) -> list[Member]:
        """The Kptfiles that make packages."""
        files = [(path, plain(path, file)) for path, file in self.tree.items() if is_kptfile(path)]
        members = [(path, self._read(path, 0, file.data)) for path, file in files]
        for path, member in members:
            if member is None or not member.is_kptfile:
                # One that does not parse has a better reason already.
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
                # Read when a merge asks: most resources are equal on all sides.
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
        if path not in self._common.cut:
            self._common.cut[path] = split_documents(plain(path, file).data, path)
        return self._common.cut[path]

    def _read(self, path: str, index: int, data: bytes) -> Member | None:
        if (path, index) not in self._common.read:
            self._common.read[path, index] = _parse(path, index, data)
        document = self._common.read[path, index]
        if not isinstance(document, Unreadable):
            return document
        # A merge knows of a file what that merge has read, and nothing that another one has.
        if document.broken or path not in self.unreadable:
            self.unreadable[path] = document
        return None


def read_graph(tree: Tree) -> PackageGraph:
    """What the files of a version name, read when it is needed (law I)."""
    return PackageGraph(tree, cache(lambda: PackageVersion("merged", tree).resources(Folders((), Policy()))))


def _parse(path: str, index: int, data: bytes) -> Member | Unreadable | None:
    try:
        root = read(data.decode("utf-8"))
    except (UnicodeDecodeError, TextError) as error:
        # JSON that YAML does not read may be fine for others.
        return Unreadable(str(error) if isinstance(error, TextError) else "not UTF-8", broken=not is_json(path))
    if root is None:
        return None
    if flaw := flaw_of(root):
        return Unreadable(flaw, broken=False)
    assert isinstance(root, MappingNode)
    return Member(path, identity_of(root), root, path, index)


KRMIGNORE = ".krmignore"
_TEMPLATES = "/templates/"
"""Where Helm has the templates of the chart in the folder around it."""


class Flaw(NamedTuple):
    """What is wrong with a file; `line` counts from 1 and is 0 where no line shows it."""

    line: int
    problem: str

    def at(self, file: str) -> str:
        """For people, with the place."""
        return f"{file}:{self.line}: {self.problem}" if self.line else f"{file}: {self.problem}"


def yaml_flaw(data: bytes) -> Flaw | None:
    """Why the content of a file is not YAML."""
    try:
        for _ in read_all(data.decode("utf-8")):
            pass
    except UnicodeDecodeError:
        return Flaw(0, "not UTF-8")
    except TextError as error:
        return Flaw(error.line, error.problem)
    return None


def ignored_by_kpt(tree: Tree) -> Callable[[str], bool]:
    """Whether a .krmignore in a folder around a file excludes it."""
    files = {path: file for path, file in tree.items() if basename(path) == KRMIGNORE}
    if not files:
        return lambda path: False
    from pathspec import GitIgnoreSpec

    patterns = {
        f"{dirname(path)}/".lstrip("/"): GitIgnoreSpec.from_lines(file.data.decode("utf-8", "replace").splitlines())
        for path, file in files.items()
    }
    return lambda path: any(
        path.startswith(folder) and of_folder.match_file(path.removeprefix(folder))
        for folder, of_folder in patterns.items()
    )


def broken_files(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[str, Flaw]]:
    """Those of some files that kpt fails to read: it wants YAML in each that is not in a .krmignore."""
    flaws = [
        (path, flaw)
        for path in paths
        if holds_resources(path) and tree[path].mode != "link" and (flaw := yaml_flaw(tree[path].data)) is not None
    ]
    # Hardly any package has one: the others need not know what kpt ignores.
    if flaws:
        is_ignored = ignored_by_kpt(tree)
        yield from ((path, flaw) for path, flaw in flaws if not is_ignored(path))


def newly_broken_files(original: Tree, local: Tree) -> Iterator[tuple[str, Flaw]]:
    """The YAML files of local that do not parse, and that did when they were fetched. Templates of Helm need not."""
    edited = [path for path, file in local.items() if not _is_as_fetched(path, original.get(path), file)]
    as_fetched = {file.data for file in original.values()}
    for path, flaw in broken_files(local, edited):
        was_broken = path in original and yaml_flaw(original[path].data) is not None
        chart, folder, _ = f"/{path}".partition(_TEMPLATES)
        is_template = bool(folder) and f"{chart}/{CHART_FILE}"[1:] in local
        if not (was_broken or is_template or local[path].data in as_fetched):
            yield path, flaw


def _is_as_fetched(path: str, original: File | None, local: File) -> bool:
    if original is None or original.data == local.data:
        return original is not None
    before, now = (_LINES_OF_NOTES.sub(b"", file.data) for file in (original, local))
    return before == now


def path_of(name: str, file: File) -> str:
    """The path in a package of a single file: one that holds resources gets a name that says so."""
    roots = documents_in(file.data) or ()
    identities = [identity_of(root) for root in roots if isinstance(root, MappingNode) and not flaw_of(root)]
    if len(identities) == 1 and (identities[0].kind, identities[0].group) == (KPTFILE, KPTFILE_GROUP):
        return KPTFILE
    return name if holds_resources(name) or not identities else f"{name}.yaml"


def config_paths(kptfile: bytes) -> list[str]:
    """The files that configure the functions of a Kptfile; none where it cannot be read."""
    # Most Kptfiles configure functions without a file: these need not be read.
    if b"configPath" not in kptfile:
        return []
    root = mapping_in(kptfile)
    return [] if root is None else [named.file for named in files_in(to_value(root), of_kptfile=True)]


_DEFAULT_NAMESPACE = "default"
_BLUEPRINT = pattern(rb"%b:[ \t]*[\"']?([^\s\"']+)" % re.escape(BLUEPRINT.encode()))
_NOTES = tuple(note.encode() for note in (MERGE_COMMENT, UPSTREAM_IDENTIFIER, BLUEPRINT))
# Lines that only differ in these have the same words, in the same order.
_LAYOUT = pattern(rb"[\s\"']+|(?<=[|>])[-+0-9]+(?=[ \t]*\r?\n)")
_LINES_OF_NOTES = pattern(
    rb"^[ \t]*+(?:annotations:[ \t]*+(?:\{\})?\r?\n|[\"']?(?:%b)[\"']?:[^\n]*\n)|%b[^\n]*"
    % (b"|".join(re.escape(note) for note in _NOTES[1:]), re.escape(_NOTES[0])),
    re.MULTILINE,
)


class Notes:
    """What a merge writes of kpt's notes."""

    def __init__(self, local: Tree, fetched: frozenset[str], *, are_for_new: bool) -> None:
        """`fetched` are local's files that nobody edited since kpt fetched them.

        `are_for_new` says whether other resources that come from upstream get notes, too.
        """
        self.local, self.fetched, self.are_for_new = local, fetched, are_for_new

    @cached_property
    def attribution(self) -> str:
        """The attribution that kpt gave local's resources, '' where they have none."""
        return attribution_in(self.local)

    def on_new(self, member: Member) -> bytes | None:
        """A resource as it is added, with its notes; None where it gets none."""
        # JSON cannot have the comment.
        return self._on(member.root) if self.are_for_new and not is_json(member.place) else None

    def on_moved(self, member: Member, resource: Resource) -> bytes:
        """Local's resource as it moves to another file, with its notes where nobody edited the one that it leaves."""
        return self._on(resource.merged()) if member.place in self.fetched else resource.text().encode()

    def on_file(self, path: str, file: File) -> File:
        """A merged file, with notes on all of its resources where nobody edited it."""
        if path not in self.fetched:
            return file
        merged = with_origin(path, file, self.attribution if CONFIG_CONNECTOR.encode() in file.data else "")
        # The notes that kpt wrote keep their quotes.
        original_lines = {_without_layout(line): line for line in _LINES_OF_NOTES.findall(self.local[path].data)}
        as_local = _LINES_OF_NOTES.sub(lambda line: original_lines.get(_without_layout(line[0]), line[0]), merged.data)
        return File(as_local, merged.mode)

    def _on(self, root: MappingNode) -> bytes:
        resource = Resource.from_tree(root)
        note_origin(resource, self.attribution if CONFIG_CONNECTOR in resource.api_version else "")
        return resource.text().encode()


def note_origin(resource: Resource, note: str) -> None:
    """Writes comment and annotations on a resource that upstream has as it is here.

    `note` is the attribution that resources of Config Connector get. A Kptfile, and a resource without any metadata,
    gets none, as from kpt.
    """
    metadata = resource.root.entry("metadata")
    if metadata is None or not isinstance(metadata.value, MappingNode) or not (resource.name or resource.namespace):
        return
    comments = CommentReader().of(resource.root, metadata)
    # A comment of upstream's own on that line stays: the annotation says the same.
    if not resource.root.flow and (comments.line is None or comments.line.startswith(MERGE_COMMENT)):
        line = f"{MERGE_COMMENT} {resource.namespace}/{resource.name}"
        resource.editor.comment(metadata, Comments(comments.head, line))
    group = resource.api_version.rpartition("/")[0]
    identifier = "|".join((group, resource.kind, resource.namespace or _DEFAULT_NAMESPACE, resource.name))
    resource.set(f'metadata.annotations["{UPSTREAM_IDENTIFIER}"]', identifier)
    if note and CONFIG_CONNECTOR in resource.api_version:
        attribute(resource, note)


def attribution_in(tree: Tree) -> str:
    """The attribution that kpt gave the resources of a package, '' without one."""
    values = (value.decode(errors="replace") for file in tree.values() for value in _BLUEPRINT.findall(file.data))
    return next((text for value in values if (text := attribution(value))), "")


def with_origin(path: str, file: File, note: str) -> File:
    """A file of upstream with kpt's notes on its resources (R6)."""
    if not holds_resources(path) or is_kptfile(path) or file.mode == "link":
        return file
    documents = []
    for data in split_documents(file.data, path):
        try:
            root = None if is_empty(data) else read(data.decode("utf-8"))
        except (UnicodeDecodeError, TextError):
            return file
        if root is None:
            documents.append(data)
            continue
        if flaw_of(root):
            return file
        assert isinstance(root, MappingNode)
        resource = Resource.from_tree(root)
        note_origin(resource, note)
        documents.append(resource.text().encode())
    return File(joined(documents, file.data), file.mode)


def as_fetched(original: Tree, local: Tree) -> Tree:
    """The original as kpt wrote it when it fetched local's files: with kpt's notes, and local's name and upstream."""
    tree = dict(original)
    if any(note in file.data for file in local.values() for note in _NOTES):
        note = attribution_in(local)
        tree = {
            path: local[path] if is_only_fetched(path, file, local.get(path)) else with_origin(path, file, note)
            for path, file in original.items()
        }
    roots = [mapping_in(side[KPTFILE].data) if KPTFILE in side else None for side in (original, local)]
    if roots[0] is None or roots[1] is None:
        return tree
    before, now = (to_value(root) for root in roots if root is not None)
    assert isinstance(before, dict)
    assert isinstance(now, dict)
    fetched: dict[str, Value] = {**before, **{name: now[name] for name in ("upstream", "upstreamLock") if name in now}}
    metadata, own = before.get("metadata"), now.get("metadata")
    if isinstance(metadata, dict) and isinstance(own, dict) and "name" in own:
        fetched["metadata"] = dict(metadata, name=own["name"])
    if same(fetched, now):
        return {**tree, KPTFILE: local[KPTFILE]}
    resource = Resource.from_tree(roots[0])
    resource.change(before, fetched)
    return {**tree, KPTFILE: File(resource.text().encode(), original[KPTFILE].mode)}


def is_only_fetched(path: str, original: File | None, local: File | None) -> bool:
    """Whether local's file is the original's but for what kpt wrote when it fetched that (law U)."""
    # The cheapest questions first: only files with the same words are read.
    if original is None or local is None or original.data == local.data or original.mode != local.mode:
        return False
    if not holds_resources(path) or is_kptfile(path) or not any(note in local.data for note in _NOTES):
        return False
    if _words(original.data) != _words(local.data):
        return False
    documents = split_documents(original.data, path), split_documents(local.data, path)
    return len(documents[0]) == len(documents[1]) and all(map(_mean_the_same, *documents))


def _without_layout(line: bytes) -> tuple[int, bytes]:
    """The indentation and the words of a line."""
    return len(line) - len(line.lstrip(b" ")), _LAYOUT.sub(b"", line)


def _words(data: bytes) -> bytes:
    return _LAYOUT.sub(b"", _LINES_OF_NOTES.sub(b"", data))


def _mean_the_same(before: bytes, after: bytes) -> bool:
    if before == after:
        return True
    try:
        roots = [read(data.decode()) for data in (before, after)]
    except (UnicodeDecodeError, TextError):
        return False
    members = [Member("", identity_of(root), root, "") for root in roots if isinstance(root, MappingNode)]
    # Only two documents without content are equal then.
    if len(members) < len(roots):
        return roots[0] is roots[1]
    original, local = with_attribution(members[0], members[1]), members[1]
    assert original is not None
    schema = any_object_schema()
    return essence(schema, original.root) == essence(schema, local.root)
