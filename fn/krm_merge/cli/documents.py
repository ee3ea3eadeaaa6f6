"""The documents of files as items of a list, which functions edit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from krm_merge.cli import options as common
from krm_merge.cli.output import opened_journal, print_json, say, show_diff, show_results, summary
from krm_merge.functions.edit_items import without_bookkeeping
from krm_merge.krm import (
    Function,
    InputError,
    Resource,
    ResourceList,
    Results,
    flaw_of,
)
from krm_merge.packages import Changes, Directory, File, PackageError, Tree, holds_resources, read_file
from krm_merge.report import Files
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
        self._name, self._file = name, file
        self._texts = split_documents(file.data, name)
        self._all = [_resource(name, data, path, at) for at, data in enumerate(self._texts)]

    @property
    def resources(self) -> list[Resource]:
        """The resources."""
        return [resource for resource in self._all if resource is not None]

    def rest(self, survivors: set[int]) -> bytes:
        """The file with its resources as they are now, but for those whose id is not kept. Raises PackageError (W2)."""
        out = []
        for data, resource in zip(self._texts, self._all, strict=True):
            if resource is None:
                out.append(data)
            elif id(resource) in survivors:
                try:
                    out.append(resource.data() or data)
                except TextError as error:
                    raise PackageError(f"{self._name}: {resource.ref}: {error}") from None
        return joined(out, self._file.data)


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


def edited_by(function: Function, directory: Path, tree: Tree, resource_list: ResourceList) -> Changes:
    """The changes of a package's files when a function runs on its resources, as items of a list that has none yet.

    Where a result is an error, nothing changes. Raises KrmMergeError.
    """
    documents = documents_of(directory, tree)
    before, results = items_of(documents), resource_list.results
    resource_list.items[:] = before
    function(resource_list)
    if results.errors:
        return {}
    survivors = {id(item) for item in resource_list.items}
    after = {path: file_documents.rest(survivors) for path, file_documents in documents.items()}
    changes: dict[str, File | None] = {
        path: File(data, tree[path].mode) if data.strip() else None
        for path, data in after.items()
        if data != tree[path].data
    }
    earlier = {id(item) for item in before}
    for item in (item for item in resource_list.items if id(item) not in earlier):
        # The host's annotations name the file of a new item, and stay out of it.
        path = item.file
        assert path is not None
        changes[path] = _with_document(changes.get(path, tree.get(path)), yaml_of(without_bookkeeping(item.value)))
    return changes


@dataclass(frozen=True, slots=True)
class EditOptions:
    """Options of commands that edit the resources of a directory."""

    with_diff: bool
    dry_run: bool
    quiet: bool
    form: str


def edit_options(consequence: str) -> Callable[..., Any]:
    """The options of EditOptions; help says that a dry run reports what would be the consequence."""
    dry_run = click.option("--dry-run", is_flag=True, help=f"Only report what would {consequence}.")
    return common.combined(common.show_diff, dry_run, common.quiet, common.form)


def edit_directory(directory: Path, resource_list: ResourceList, function: Function, options: EditOptions) -> None:
    """Runs a function over the resources in a directory, writes what it changes, and prints the outcome."""
    results = resource_list.results
    with opened_journal(directory, only_looks=options.dry_run) as journal:
        tree = Directory(directory)
        changes = edited_by(function, directory, tree, resource_list)
        if options.with_diff and options.form == "text":
            show_diff(tree, changes)
        if not options.dry_run:
            journal.commit(changes, tree)
    show_outcome(tree, changes, results, options)


def show_outcome(tree: Tree, changes: Changes, results: Results, options: EditOptions) -> None:
    """The results and changes of a run over a directory; exits with 1 where it was refused, so nothing was written."""
    if options.form == "json":
        files = Files.of(tree, changes).to_value()
        print_json({"files": files, "results": [result.to_value() for result in results]})
    else:
        show_results(results, quiet=options.quiet, files=tree)
        if not options.quiet:
            say("refused; nothing was written" if results.errors else summary(tree, changes, results))
    if results.errors:
        sys.exit(1)


def _with_document(file: File | None, text: str) -> File:
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
        what = " is empty" if root is None else " is not a mapping"
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
