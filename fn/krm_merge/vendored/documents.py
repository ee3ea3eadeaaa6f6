"""The resources of one version of a package as documents, in whatever files and namespaces they are (R7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from krm_merge.krm import Resource, flaw_of, generate_name_of, identity_of, is_list, list_items
from krm_merge.merge import Member
from krm_merge.packages import PackageError, PackageVersion, Tree, is_kptfile
from krm_merge.startup import replace
from krm_merge.text import (
    MappingNode,
    Node,
    TextError,
    from_value,
    is_empty,
    read,
    resolved,
    split_documents,
    text_of,
    to_value,
    written,
)

MOST_PROBLEMS = 10
"""Of more problems in one message only their number is given."""


@dataclass(frozen=True, slots=True)
class FoundResource:
    """A resource of one version, and where it is.

    `line` is the first line of its document in the file, `item` its position in a List, None for a document.
    """

    member: Member
    line: int
    item: int | None = None

    @property
    def place(self) -> str:
        """Where it is, as people look for it."""
        position = "" if self.item is None else f" items[{self.item}]"
        return f"{self.member.place}:{self.line}{position}"


def resources_of_file(name: str, data: bytes) -> list[FoundResource]:
    """The resources in one file of manifests, `name` in messages. Everything in it must be a resource with a name.

    Raises PackageError with every problem.
    """
    resources, foreign, unreadable = _resources_in(name, data)
    if problems := [*foreign, *(f"{name}: {why}" for why in unreadable)]:
        raise PackageError(join_problems(problems))
    return resources


class ResourcesOfTree(NamedTuple):
    """The resources in the files of a directory; `unreadable` has the problem of each file that is no YAML, by path."""

    resources: list[FoundResource]
    unreadable: dict[str, str]


def resources_of_tree(tree: Tree) -> ResourcesOfTree:
    """The resources with names in the files of a directory; other documents are left out, Kptfiles too."""
    version = PackageVersion("", tree)
    found = ResourcesOfTree([], {})
    for path, file in tree.items():
        if not is_kptfile(path) and file.mode != "link" and version.reads(path):
            resources, _, unreadable = _resources_in(path, file.data)
            if unreadable:
                found.unreadable[path] = unreadable[0]
            else:
                found.resources.extend(resources)
    return found


def _resources_in(path: str, data: bytes) -> tuple[list[FoundResource], list[str], list[str]]:
    """The resources in a file, what other documents hold, and why those that are no YAML cannot be read."""
    resources: list[FoundResource] = []
    foreign: list[str] = []
    unreadable: list[str] = []
    for index, line, document in _documents(path, data):
        try:
            resources += list(_resources_of(path, index, line, document))
        except UnicodeDecodeError:
            unreadable.append("not UTF-8; save the file as UTF-8")
        except TextError as error:
            first = line - document.startswith(b"---")
            unreadable.append(str(TextError(error.problem, error.line and first + error.line - 1, error.column)))
        except PackageError as error:
            foreign.append(f"{path}:{line}: {error}")
    return resources, foreign, unreadable


def join_problems(problems: Sequence[str]) -> str:
    """Several problems as one message."""
    more = len(problems) - MOST_PROBLEMS
    return "; ".join([*problems[:MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def _documents(name: str, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, first line below the separator, and text of each document that holds anything."""
    line = 1
    for index, text in enumerate(split_documents(data, name)):
        if not is_empty(text):
            yield index, line + text.startswith(b"---"), text
        line += text.count(b"\n")


def _resources_of(path: str, index: int, line: int, document: bytes) -> Iterator[FoundResource]:
    """The resource of a document, or those in a List. Raises UnicodeDecodeError, TextError, PackageError."""
    root = read(document.decode("utf-8"))
    if not isinstance(root, MappingNode) or not is_list(root):
        yield _resource(path, index, line, root)
        return
    for item, node in enumerate(list_items(root)):
        element = resolved(node)
        alone = _as_document(element) if isinstance(element, MappingNode) else ""
        yield _resource(path, index, line, read(alone), item)


def _resource(path: str, index: int, line: int, root: Node | None, item: int | None = None) -> FoundResource:
    position = "the document " if item is None else f"items[{item}] "
    flaw = "is not a Kubernetes object: apiVersion and kind are expected" if root is None else flaw_of(root)
    if flaw:
        raise PackageError(f"{position}{flaw}")
    assert isinstance(root, MappingNode)
    identity = identity_of(root)
    if not identity.name and not generate_name_of(root):
        raise PackageError(f"{position}is a {identity.kind} without metadata.name")
    return FoundResource(Member(path, identity, root, path, index), line, item)


def _as_document(element: MappingNode) -> str:
    """The text of an item of a List as a document."""
    if not element.flow:
        text = text_of(element)
        with suppress(TextError):
            root = read(text)
            if root is not None and root.canonical == element.canonical:
                return text
    # It is JSON, or has aliases to anchors outside.
    plain = from_value(to_value(element))
    assert isinstance(plain, MappingNode)
    return written(plain)


_Name: TypeAlias = tuple[str, str, str]
"""Group, kind and name."""


def in_local_namespaces(
    original: Sequence[FoundResource], upstream: Sequence[FoundResource], local: Sequence[FoundResource]
) -> tuple[list[FoundResource], list[FoundResource]]:
    """Original and upstream, where each resource has the namespace that local gives it, or none if local gives none.

    That holds where only one of both has a namespace, neither original nor upstream changed it, and no side has
    another resource of that kind and name.
    """
    sides = original, upstream, local
    counts = [Counter(map(_name, side)) for side in sides]
    ours = {_name(resource): resource.member.identity.namespace for resource in local}
    namespaces: dict[_Name, set[str]] = {}
    for resource in (*original, *upstream):
        namespaces.setdefault(_name(resource), set()).add(resource.member.identity.namespace)

    def adopt(resource: FoundResource) -> FoundResource:
        name = _name(resource)
        theirs, namespace = resource.member.identity.namespace, ours.get(name)
        is_one = all(count[name] <= 1 for count in counts) and len(namespaces[name]) == 1
        if namespace is None or not is_one or theirs == namespace or (theirs and namespace):
            return resource
        return _in_namespace(resource, namespace)

    return list(map(adopt, original)), list(map(adopt, upstream))


def _name(resource: FoundResource) -> _Name:
    identity = resource.member.identity
    return identity.group, identity.kind, identity.name or f"{resource.member.generate_name}*"


def _in_namespace(before: FoundResource, namespace: str) -> FoundResource:
    resource = Resource.from_tree(before.member.root)
    if namespace:
        resource.set("metadata.namespace", namespace)
    else:
        resource.remove("metadata.namespace")
    root = read(resource.text())
    assert isinstance(root, MappingNode)
    return replace(before, member=replace(before.member, identity=identity_of(root), root=root))
