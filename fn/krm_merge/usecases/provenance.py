"""Where each value of a package comes from (D3): its upstream, a commit, a function of its pipeline, a choice.

Computed from the Kptfile, the pipeline, the MergePolicy and git's history; nothing is kept beside them. git is the
edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from posixpath import join
from threading import Lock
from typing import Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.functions import read_pipeline
from krm_merge.functions.edit_items import without_bookkeeping
from krm_merge.git.program import GitError, WorkingTree
from krm_merge.krm import FieldPath, Resource, Step, format_path
from krm_merge.merge import (
    Folders,
    Member,
    PackageDecisions,
    Policy,
    Schemas,
    definitions_in,
    match_resources,
    node_at,
    same,
    with_attribution,
)
from krm_merge.packages import PackageError, PackageVersion, Tree
from krm_merge.policy import PackagePolicy, find_policy
from krm_merge.safe_text import REDACTED
from krm_merge.schema import Schema, Secrecy, is_bookkeeping
from krm_merge.startup import replace
from krm_merge.text import (
    MappingNode,
    Node,
    Object,
    SequenceNode,
    Value,
    from_value,
    key_text,
    resolved,
    split_documents,
    to_value,
)

ValueSource: TypeAlias = Literal["upstream", "local", "function", "choice"]


@dataclass(frozen=True, slots=True)
class LineCommit:
    """A commit that wrote lines of a package; `time` is in seconds since 1970."""

    id: str
    author: str
    time: int
    subject: str


@dataclass(frozen=True, slots=True)
class FieldOrigin:
    """A field of a resource, and the source of its value.

    `by` is the name of the function, or the file of the choice; `commit` wrote the line, None where it is upstream's,
    or not committed.
    """

    file: str
    resource: str
    path: FieldPath
    value: Value
    source: ValueSource
    by: str = ""
    commit: LineCommit | None = None

    def to_value(self) -> dict[str, Value]:
        """As JSON has it."""
        return asdict(self) | {"path": format_path(self.path)}


LineHistory: TypeAlias = Callable[[str], Sequence[LineCommit | None]]
"""The commit of each line of a file of a package; None for lines that are not committed."""


class RenderedPackage:
    """A version of a package with the known functions of its pipelines; reads all of its resources."""

    def __init__(self, name: str, tree: Tree) -> None:
        """Takes the files; `name` is original, upstream or local."""
        version = PackageVersion(name, tree)
        self.tree = tree
        self.kptfiles = version.kptfiles()
        self.documents = version.resources(Folders((), Policy()))
        self.texts = version.documents
        self.pipeline = read_pipeline(self.kptfiles, self.documents)
        self.members = [member for document in self.documents if (member := document.member()) is not None]
        self.unreadable = version.unreadable

    def rendered(self, member: Member, local: Member | None) -> Object:
        """The value of a resource after the functions, as they wrote local's; empty where one removes it."""
        value = None if self.pipeline is None else self.pipeline.rendered(member, local)
        return without_bookkeeping(member.value if value is None else value)


def field_origins(
    local: RenderedPackage, original: Tree, history: LineHistory, is_asked: Callable[[str], bool]
) -> Iterator[FieldOrigin]:
    """The origin of every field of the resources in the files that are asked for, in the order of the files.

    `original` is the version of upstream that the package was merged with last, empty where it follows none.
    """
    pipeline, policy = local.pipeline, find_policy(local.tree)
    schemas = Schemas(lambda: definitions_in(local.documents))
    before = RenderedPackage("original", original).members
    matched = match_resources(before, before, local.members, Folders((), Policy()), pipeline)
    upstream_of = {member: upstream for upstream, _, member in matched.triples}
    for member in local.members:
        if not is_asked(member.place):
            continue
        # R6: what kpt notes is nobody's change.
        upstream = with_attribution(upstream_of.get(member), member)
        versions: list[_Version] = [("", None if upstream is None else upstream.root)]
        if pipeline is not None and upstream is not None:
            # The render reports what fails.
            with suppress(KrmMergeError, ValueError):
                versions += [(name, from_value(value)) for name, value in pipeline.steps(upstream, member)]
        first_line = sum(document.count(b"\n") for document in local.texts[member.place][: member.index])
        lines = _Lines(partial(history, member.place), first_line)
        fields = _Fields(member, schemas.of(member), policy, lines)
        yield from fields.below(member.root, versions, ())


def local_commit(
    decided: PackageDecisions, path: FieldPath, local: Tree, policy: PackagePolicy, history: LineHistory
) -> LineCommit | None:
    """The newest commit that made what local has at a path, and its original has not, of one resource or file.

    None where local removed it, and where a part of it is not committed.
    """
    for outcome in decided.outcomes:
        if (member := outcome.local) is None or (node := node_at(member.root, path)) is None:
            continue
        place = join(decided.folder, member.place)
        documents = split_documents(local[place].data, place) if place in local else []
        lines = _Lines(partial(history, place), sum(document.count(b"\n") for document in documents[: member.index]))
        fields = _Fields(member, Schemas(lambda: ()).of(member), policy, lines)
        before = None if outcome.original is None else node_at(outcome.original.root, path)
        before = None if before is None else resolved(before)
        return _newest([o.commit for o in fields.below(resolved(node), [("", before)], path) if o.source != "upstream"])
    for file in decided.files:
        if file.local is not None:
            before_lines = set((file.original or b"").splitlines())
            commits = history(join(decided.folder, file.path))
            pairs = zip(file.local.splitlines(), commits, strict=False)
            return _newest([commit for text, commit in pairs if text not in before_lines])
    return None


def _newest(commits: Sequence[LineCommit | None]) -> LineCommit | None:
    known = [commit for commit in commits if commit is not None]
    return max(known, key=lambda commit: commit.time) if known and len(known) == len(commits) else None


_Version: TypeAlias = tuple[str, "Node | None"]
"""What one function made of a node, by its name; upstream's comes first and has none."""


class _Lines:
    """The commits of the lines of a document."""

    def __init__(self, commits: Callable[[], Sequence[LineCommit | None]], first_line: int) -> None:
        self._commits_of_file = commits
        self._first_line = first_line

    @cached_property
    def _commits(self) -> Sequence[LineCommit | None]:
        return self._commits_of_file()[self._first_line :]

    def commit(self, node: Node) -> LineCommit | None:
        """The newest commit of the lines of a value."""
        if node.source is None:
            return None
        text = node.source.text
        first = text.count("\n", 0, node.start)
        last = first + text.rstrip("\n").count("\n", node.start, max(node.start, node.end - 1))
        return _newest(self._commits[first : last + 1])


class _Fields:
    """The fields of one resource, beside what upstream has there and what each function makes of it."""

    def __init__(self, member: Member, schema: Schema, policy: PackagePolicy, lines: _Lines) -> None:
        self._member = member
        self._schema = schema
        self._policy = policy
        self._lines = lines
        self._resource = str(Resource.from_tree(member.root).ref)
        self._secrecy = Secrecy((member.root,))

    def below(self, node: Node, versions: Sequence[_Version], path: FieldPath) -> Iterator[FieldOrigin]:
        """The fields of a node, kpt's notes left out."""
        if isinstance(node, MappingNode) and node.fields:
            for entry in node.fields.values():
                name = key_text(entry.key)
                if path != ("metadata", "annotations") or not is_bookkeeping(name):
                    inside = [(by, _field(version, name)) for by, version in versions]
                    yield from self.below(resolved(entry.value), inside, (*path, name))
        elif isinstance(node, SequenceNode) and node.items:
            keys = self._schema.at(path).merge_keys
            for at, item in enumerate(map(resolved, node.items)):
                key = _key(item, keys)
                step: Step = at if key is None else tuple(zip(keys, key, strict=True))
                inside = [(by, _element(version, item, at, keys)) for by, version in versions]
                yield from self.below(item, inside, (*path, step))
        else:
            source, by = self._source(node, versions, path)
            commit = self._lines.commit(node) if source != "upstream" else None
            value = to_value(node)
            if self._secrecy.hides(path, (node,)):
                # M6: who set a password may have written it into the subject, too.
                value, commit = REDACTED, None if commit is None else replace(commit, subject=REDACTED)
            yield FieldOrigin(self._member.place, self._resource, path, value, source, by, commit)

    def _source(self, node: Node, versions: Sequence[_Version], path: FieldPath) -> tuple[ValueSource, str]:
        """The last function that made the value, else upstream, else a choice, else an edit."""
        if same(node, versions[-1][1]):
            makers = [by for (_, before), (by, after) in pairwise(versions) if not same(after, before)]
            return ("function", makers[-1]) if makers else ("upstream", "")
        if same(node, versions[0][1]):
            # It was not rendered since.
            return "upstream", ""
        chosen = self._policy.resolutions.at([self._member.identity], path)
        return ("choice", self._policy.file) if chosen else ("local", "")


def _field(node: Node | None, name: str) -> Node | None:
    node = None if node is None else resolved(node)
    value = node.get(name) if isinstance(node, MappingNode) else None
    return None if value is None else resolved(value)


def _element(node: Node | None, item: Node, at: int, keys: Sequence[str]) -> Node | None:
    """The element of another version that an item is: by its keys, else equal to it, else at its position."""
    node = None if node is None else resolved(node)
    items = list(map(resolved, node.items)) if isinstance(node, SequenceNode) else []
    if (key := _key(item, keys)) is not None:
        return next((other for other in items if _key(other, keys) == key), None)
    equal = next((other for other in items if same(other, item)), None)
    return equal if equal is not None or at >= len(items) else items[at]


def _key(item: Node, keys: Sequence[str]) -> tuple[str, ...] | None:
    values = [item.get(key) if isinstance(item, MappingNode) else None for key in keys]
    texts = [key_text(resolved(value)) for value in values if value is not None]
    return tuple(texts) if keys and len(texts) == len(keys) else None


def line_history(package: Path) -> LineHistory:
    """The history of a package's files from git; of files outside of a repository no line is committed.

    Every file is asked about once, from whatever thread. Raises PackageError.
    """
    try:
        working_tree = WorkingTree.around(package)
    except GitError as error:
        raise PackageError(f"{package}: {error}") from None
    folder = "" if working_tree is None else package.resolve().relative_to(working_tree.top).as_posix()

    @cache
    def commits(path: str) -> list[LineCommit | None]:
        if working_tree is None:
            return []
        try:
            place = join(folder, path).removeprefix("./")
            answer = working_tree.output(["blame", "-w", "--porcelain", "--no-textconv", "--", place])
        except GitError:
            # It is not committed.
            return []
        return _read_blame(answer.decode("utf-8", "replace"))

    lock = Lock()

    def of_file(path: str) -> Sequence[LineCommit | None]:
        with lock:
            return commits(path)

    return of_file


def _read_blame(answer: str) -> list[LineCommit | None]:
    """The commit of each line; git describes a commit where it names it first."""
    commits: dict[str, LineCommit | None] = {}
    lines: list[LineCommit | None] = []
    name, about = "", dict[str, str]()
    for line in answer.split("\n")[:-1]:
        if not name:
            name, about = line.partition(" ")[0], {}
        elif line.startswith("\t"):
            if name not in commits:
                # Of lines that are not committed, the name is of zeros.
                commits[name] = _commit(name, about) if name.strip("0") else None
            lines.append(commits[name])
            name = ""
        else:
            field, _, text = line.partition(" ")
            about[field] = text
    return lines


def _commit(name: str, about: dict[str, str]) -> LineCommit:
    return LineCommit(name, about.get("author", ""), int(about.get("author-time", 0)), about.get("summary", ""))
