"""The documents of a file as resources that are edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path

from krm_merge.functions.edit_items import (
    CHANGED,
    REMOVED,
    SAME,
    ItemEditor,
    ItemFate,
    Summary,
    edits_of,
    without_bookkeeping,
)
from krm_merge.krm import (
    Function,
    InputError,
    Resource,
    ResourceList,
    Results,
    flaw_of,
    report_rewriting,
)
from krm_merge.packages import Changes, File, PackageError, Tree, holds_resources, read_file
from krm_merge.text import (
    MappingNode,
    TextError,
    in_lines_of,
    is_empty,
    joined,
    read,
    split_documents,
    text_of,
    yaml_of,
)


class Documents:
    """The documents of a file. Raises PackageError for text that cannot be read or is not a resource.

    One that is given by its `path` in a package may hold other things; these are left alone.
    """

    def __init__(self, name: str, file: File, path: str | None = None) -> None:
        """Reads the file; messages name it by `name`, results by its path."""
        self._file = file
        self._texts = split_documents(file.data, name)
        self._all = [_resource(name, data, path, at) for at, data in enumerate(self._texts)]

    @property
    def resources(self) -> list[Resource]:
        """The resources."""
        return [resource for resource in self._all if resource is not None]

    def rest(self, survivors: set[int], results: Results) -> bytes:
        """The file with its resources as they are now, but for those whose id is not kept. Adds to the results."""
        out = []
        for data, resource in zip(self._texts, self._all, strict=True):
            if resource is None or id(resource) in survivors:
                out.append(data if resource is None or not resource.is_changed else _text(resource, results))
        return joined(out, self._file.data)

    def edit(self, editor: ItemEditor[object]) -> bytes:
        """The file after the edits of its resources, one by one."""
        fates = ((editor.edit(resource), resource) for resource in self.resources)
        return self.with_edits(
            (fate, _text(resource, editor.results) if fate == CHANGED else b"") for fate, resource in fates
        )

    def with_edits(self, edits: Iterable[tuple[ItemFate, bytes]]) -> bytes:
        """The file with these edits of its resources, in order."""
        out, edit = [], iter(edits)
        for data, resource in zip(self._texts, self._all, strict=True):
            fate, edited = (SAME, b"") if resource is None else next(edit)
            if fate != REMOVED:
                out.append(edited if fate == CHANGED else data)
        return joined(out, self._file.data)


def _text(resource: Resource, results: Results) -> bytes:
    text = resource.text()
    report_rewriting(resource, results)
    return text.encode()


def documents_of(directory: Path, tree: Tree) -> dict[str, Documents]:
    """The documents of the files of a package that hold resources, by path. Raises PackageError."""
    return {
        path: Documents(str(directory / path), file, path)
        for path, file in tree.items()
        if holds_resources(path) and file.mode != "link"
    }


def items_of(files: Mapping[str, Documents]) -> list[Resource]:
    """The resources of files, in order."""
    return [item for documents in files.values() for item in documents.resources]


def edited_by_parts(
    files: Mapping[str, Documents], editor: Callable[[], ItemEditor[Summary]], results: Results
) -> tuple[dict[str, bytes], list[Summary]]:
    """The files after the edits of their resources, made on all processors; and the summaries of the parts, in order.

    The results of the editors are added to those given.
    """
    edits, summaries = edits_of(items_of(files), editor, results, _text)
    items = iter(edits)
    data = {path: documents.with_edits(islice(items, len(documents.resources))) for path, documents in files.items()}
    return data, summaries


def changes_of(files: Mapping[str, bytes], tree: Tree) -> dict[str, File | None]:
    """The changes of files that have new bytes; one without resources is removed."""
    return {
        path: File(data, tree[path].mode) if data.strip() else None
        for path, data in files.items()
        if data != tree[path].data
    }


def resources_after(directory: Path, documents: Mapping[str, Documents], changes: Changes) -> list[Resource]:
    """The resources of a package as they will be written (P9)."""
    written = {path: file for path, file in changes.items() if file is not None}
    unchanged = {path: file_documents for path, file_documents in documents.items() if path not in changes}
    return items_of(unchanged | {path: Documents(str(directory / path), file, path) for path, file in written.items()})


def edited_by(function: Function, directory: Path, tree: Tree, config: str, results: Results) -> Changes:
    """The changes of a package's files when a function runs on its resources, with this functionConfig as YAML.

    The results are added to those given; where one is an error, nothing changes. Raises KrmMergeError.
    """
    documents = documents_of(directory, tree)
    resource_list = ResourceList.with_config(config)
    before = items_of(documents)
    resource_list.items[:] = before
    function(resource_list)
    for result in resource_list.results:
        results.add(result)
    if results.errors:
        return {}
    survivors = {id(item) for item in resource_list.items}
    after = {path: file_documents.rest(survivors, results) for path, file_documents in documents.items()}
    changes = changes_of(after, tree)
    earlier = {id(item) for item in before}
    for item in (item for item in resource_list.items if id(item) not in earlier):
        # The host's annotations name the file of a new item, and stay out of it.
        path = item.file
        assert path is not None
        changes[path] = with_document(changes.get(path, tree.get(path)), yaml_of(without_bookkeeping(item.value)))
    return changes


def with_document(file: File | None, text: str) -> File:
    """A file with one more document; a new one where there is none."""
    if file is None:
        return File(text.encode())
    first = split_documents(file.data)
    return File(joined([*first, in_lines_of(text.encode(), file.data)], file.data), file.mode)


def configure(file: Path, kind: str) -> ResourceList:
    """A list without items, with the functionConfig in a file, which should be of this kind. Raises PackageError."""
    try:
        root = read(read_file(file).data.decode("utf-8"))
    except UnicodeDecodeError:
        raise PackageError(f"{file}: not UTF-8; save the file as UTF-8") from None
    except TextError as error:
        raise PackageError(f"{file}: {error}") from None
    if not isinstance(root, MappingNode):
        what = " is empty" if root is None else ": this is no map"
        raise PackageError(f"{file}{what}; a {kind} functionConfig is expected")
    try:
        resource_list = ResourceList.with_config(text_of(root))
        resource_list.function_config  # noqa: B018 - raises the errors that belong to this file
    except InputError as error:
        raise PackageError(f"{file}: {str(error).removeprefix('stdin: ')}") from None
    return resource_list


def _resource(name: str, data: bytes, path: str | None, index: int) -> Resource | None:
    try:
        root = None if is_empty(data) else read(data.decode())
    except (TextError, UnicodeDecodeError) as error:
        raise PackageError(f"{name}: {error}") from None
    if root is None:
        return None
    if flaw := flaw_of(root):
        if path is not None:
            return None
        raise PackageError(f"{name} {flaw}")
    assert isinstance(root, MappingNode)
    return Resource.from_tree(root, path, index)
