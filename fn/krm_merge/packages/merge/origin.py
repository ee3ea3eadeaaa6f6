"""What kpt writes on the resources of a package that it fetches (rule R6).

Source: kpt's `addmergecomment`, which notes from which upstream resource a local one came, and `attribution`. kpt
writes each file anew for it, so that the layout of a fetched file is kpt's, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from krm_merge.krm import Resource, flaw_of, identity_of
from krm_merge.merge import (
    BLUEPRINT,
    CONFIG_CONNECTOR,
    MERGE_COMMENT,
    UPSTREAM_IDENTIFIER,
    CommentReader,
    Member,
    attribute,
    attribution,
    essence,
    with_attribution,
)
from krm_merge.packages.files.tree import File, Tree, holds_resources, is_json, is_kptfile
from krm_merge.schema import any_object_schema
from krm_merge.text import Comments, MappingNode, TextError, is_empty, joined, read, split_documents

_DEFAULT_NAMESPACE = "default"
_BLUEPRINT = re.compile(rb"%b:[ \t]*[\"']?([^\s\"']+)" % re.escape(BLUEPRINT.encode()))
_NOTES = tuple(note.encode() for note in (MERGE_COMMENT, UPSTREAM_IDENTIFIER, BLUEPRINT))
# Lines that only differ in these have the same words, in the same order.
_LAYOUT = re.compile(rb"[\s\"']+|(?<=[|>])[-+0-9]+(?=[ \t]*\r?\n)")
_LINES_OF_NOTES = re.compile(
    rb"^[ \t]*+(?:annotations:[ \t]*+(?:\{\})?\r?\n|[\"']?(?:%b)[\"']?:[^\n]*\n)|%b[^\n]*"
    % (b"|".join(re.escape(note) for note in _NOTES[1:]), re.escape(_NOTES[0])),
    re.MULTILINE,
)


@dataclass(frozen=True)
class Notes:
    """What a merge writes of kpt's notes.

    `fetched` are local's files that nobody edited since kpt fetched them; `are_for_new` says whether other resources
    that come from upstream get notes, too.
    """

    local: Tree
    fetched: frozenset[str]
    are_for_new: bool

    @cached_property
    def attribution(self) -> str:
        """The attribution that kpt gave local's resources, '' where they have none."""
        return attribution_in(self.local)

    def on_new(self, member: Member) -> bytes | None:
        """A resource as it is added, with its notes; None where it gets none."""
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


def notes_for(original: Tree, local: Tree, paths: Iterable[str], *, are_for_new: bool) -> Notes:
    """The notes of a merge that changes some of these files."""
    fetched = frozenset(path for path in paths if _is_only_fetched(path, original.get(path), local.get(path)))
    return Notes(local, fetched, are_for_new)


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


def _is_only_fetched(path: str, original: File | None, local: File | None) -> bool:
    """Whether local's file is the original's but for what kpt wrote when it fetched that (law U)."""
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
    if len(members) < len(roots):
        return roots[0] is roots[1]
    original, local = with_attribution(members[0], members[1]), members[1]
    assert original is not None
    schema = any_object_schema()
    return essence(schema, original.root) == essence(schema, local.root)
