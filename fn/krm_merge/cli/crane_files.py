"""Writes the plugins' decisions as the files that crane keeps beside its export (rule T9)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join

from krm_merge import interrupts
from krm_merge.cli.documents import Documents
from krm_merge.cli.show import opened_journal
from krm_merge.functions.transform_resources.bookkeeping import patch_of
from krm_merge.functions.transform_resources.new_resources import ProposedResource
from krm_merge.functions.transform_resources.transforming import Transformer
from krm_merge.krm.resource import Resource
from krm_merge.packages.files.directory import PackageError, read_file, reason
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, File, Tree, is_kptfile
from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import Object, from_value
from krm_merge.transform.layout import (
    ignored_operations,
    ignored_path,
    new_path,
    transform_path,
    whiteout_path,
)

_MADE_FOR = "# Added by krm-merge transform for "


@dataclass(slots=True)
class CraneFiles:
    """Files of applied and of ignored changes, None for those of an earlier run that are removed.

    `sources` are the files whose resources were transformed, `outcome` the resources that patches and new files make.
    """

    sources: Collection[str]
    outcome: list[Resource] = field(default_factory=list)
    kept: dict[str, bytes | None] = field(default_factory=dict)
    ignored: dict[str, bytes | None] = field(default_factory=dict)

    def add_new(self, added: Mapping[str, Sequence[ProposedResource]]) -> None:
        """Adds new resources, by the files that they would have in place."""
        for path, new in added.items():
            texts = "---\n".join(written(one.tree) for one in new)
            self.outcome += [Resource.from_tree(one.tree, path) for one in new]
            made_for = sorted({one.created.file or "" for one in new})
            self.kept[new_path(path)] = f"{_MADE_FOR}{json.dumps(made_for)}\n{texts}".encode()

    def write(self, directory: Path, ignored: Path | None, held: Journal) -> None:
        """Writes the files to a directory, the ignored ones to another if there is one: all of them or none.

        `held` is the journal of a package, which may be one of the two. Raises PackageError.
        """
        with ExitStack() as stack:
            # What was interrupted there is ended before anything there is read.
            journals = {
                place: held if place == held.package else stack.enter_context(_journal(place))
                for place in dict.fromkeys(one.resolve() for one in (directory, ignored) if one is not None)
            }
            files = {directory.resolve(): dict.fromkeys(self._stale(directory)) | self.kept}
            if ignored is not None:
                files.setdefault(ignored.resolve(), {}).update(self.ignored)
            places = [_Place(place, wanted) for place, wanted in files.items()]
            # Both directories change, or none does.
            stack.enter_context(interrupts.held())
            done: list[tuple[Journal, _Place]] = []
            try:
                for place in places:
                    journals[place.directory].commit(place.changes, place.before)
                    done.append((journals[place.directory], place))
            except PackageError:
                for journal, place in done:
                    journal.commit(place.undone, place.after)
                raise

    def _stale(self, directory: Path) -> Iterator[str]:
        """New resources of an earlier run, made for what was transformed now; other files are not ours.

        Where the directory is that of the resources they were transformed themselves, and stay.
        """
        for folder in {dirname(path) for path in self.sources}:
            for place in (directory / folder).glob(new_path("*")):
                if join(folder, place.name) in self.sources:
                    continue
                with suppress(OSError, ValueError, TypeError), place.open(encoding="utf-8") as opened:
                    first = opened.readline()
                    if first.startswith(_MADE_FOR) and set(json.loads(first[len(_MADE_FOR) :])) <= set(self.sources):
                        yield join(folder, place.name)


class _Place:
    """A directory that is written to, with its files before and after. Raises PackageError."""

    def __init__(self, directory: Path, wanted: Mapping[str, bytes | None]) -> None:
        self.directory = directory
        there = {path: _file_at(directory / path) for path in wanted}
        self.before = {path: file for path, file in there.items() if file is not None}
        self.changes: dict[str, File | None] = {}
        for path, data in wanted.items():
            file = None if data is None else File(data)
            if file != there[path]:
                self.changes[path] = file

    @property
    def after(self) -> Tree:
        """The files that exist after the changes."""
        return {path: file for path, file in self.changes.items() if file is not None}

    @property
    def undone(self) -> Changes:
        """The changes that undo these."""
        return {path: self.before.get(path) for path in self.changes}


@contextmanager
def _journal(directory: Path) -> Iterator[Journal]:
    """The journal of a directory, which is created where it is missing, and removed if nothing was written to it."""
    made = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PackageError(f"{error.filename}: {reason(error)}; nothing was written") from None
        with opened_journal(directory) as journal:
            yield journal
    finally:
        with suppress(OSError):  # what is there stays
            for folder in made:
                folder.rmdir()


def _file_at(place: Path) -> File | None:
    try:
        if place.is_symlink():
            return read_file(place, "link")
        if place.is_dir():
            # The journal would take an empty one away for the file.
            raise PackageError(f"{place}: Is a directory; nothing was written")
        if not place.is_file():
            return None
        return read_file(place, "executable" if place.stat().st_mode & 0o100 else "file")
    except OSError as error:
        raise PackageError(f"{place}: {reason(error)}; nothing was written") from None


def crane_files(documents: Mapping[str, Documents], transformer: Transformer) -> CraneFiles:
    """Patches and whiteouts of the resources, and what was ignored.

    Raises PackageError for a file of several resources: there is one patch file for each file.
    """
    files = CraneFiles(documents.keys())
    for path, one in documents.items():
        if len(one.resources) > 1:
            raise PackageError(f"{path} holds several resources; with --transform-dir each has a file of its own")
        for item in one.resources:
            decided = transformer.decide(item)
            if decided is None:
                if not is_kptfile(path):
                    # No plugin is shown it any more, as it became local-config.
                    files.kept |= dict.fromkeys((whiteout_path(path), transform_path(path)))
                    files.ignored[ignored_path(path)] = None
                files.outcome.append(item)
                continue
            settlement, whiteouts = decided.outcome.settlement, decided.outcome.whiteouts
            if whiteouts:
                decided.reporter.whiteouts(whiteouts, "error" if transformer.refuses_whiteouts else "exclude")
            decided.reporter.losses(settlement)
            if settlement.operations:
                decided.reporter.applied(settlement)
            if not whiteouts:
                files.outcome.append(_with_value(item, settlement.value))
            files.kept[whiteout_path(path)] = b"" if whiteouts else None
            patch = [operation.to_value() for operation in patch_of(settlement, decided.before)]
            files.kept[transform_path(path)] = None if whiteouts else _json(patch)
            lost = [one.operation for one in settlement.ignored]
            lost += (one.operation for one in decided.protected_changes if one.whole)
            files.ignored[ignored_path(path)] = _json(ignored_operations(lost)) if lost else None
    return files


def _with_value(item: Resource, value: Object) -> Resource:
    root = from_value(value)
    assert isinstance(root, MappingNode)
    return Resource.from_tree(root, item.file, item.index)


def _json(value: Sequence[Object]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
