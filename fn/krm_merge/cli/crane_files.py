"""What plugins decided, as the files that crane keeps beside its export."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from krm_merge.cli.documents import Documents
from krm_merge.functions.bookkeeping import patch_of
from krm_merge.functions.transforming import Transformer
from krm_merge.packages.directory import PackageError, reason
from krm_merge.packages.tree import File
from krm_merge.packages.write import write_file
from krm_merge.transform.layout import (
    ignored_operations,
    ignored_path,
    new_path,
    transform_path,
    whiteout_path,
)
from krm_merge.transform.plugin import Object


@dataclass(slots=True)
class CraneFiles:
    """Files to be written, None for those of an earlier run that must go: what stands, and what was ignored."""

    kept: dict[str, bytes | None] = field(default_factory=dict)
    ignored: dict[str, bytes | None] = field(default_factory=dict)

    def add_new(self, documents: Mapping[str, Sequence[str]]) -> None:
        """Adds new resources, by the files that they would have in place."""
        for path, texts in documents.items():
            self.kept[new_path(path)] = "---\n".join(texts).encode()

    def write(self, directory: Path, ignored: Path | None) -> None:
        """Writes the files to a directory, the ignored ones to another if there is one. Raises PackageError."""
        places = {directory / path: data for path, data in self.kept.items()}
        if ignored is not None:
            places |= {ignored / path: data for path, data in self.ignored.items()}
        try:
            for place, data in places.items():
                if data is None:
                    place.unlink(missing_ok=True)
                else:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    write_file(place, File(data))
        except OSError as error:
            raise PackageError(f"{error.filename}: {reason(error)}") from None


def crane_files(documents: Mapping[str, Documents], transformer: Transformer) -> CraneFiles:
    """Patches and whiteouts of the resources, and what was ignored.

    Raises PackageError for a file of several resources: there is one patch file for each file.
    """
    files = CraneFiles()
    for path, one in documents.items():
        if len(one.resources) > 1:
            raise PackageError(f"{path} holds several resources; with --transform-dir each has a file of its own")
        for item in one.resources:
            decided = transformer.decide(item)
            if decided is None:
                continue
            settlement, whiteouts = decided.outcome.settlement, decided.outcome.whiteouts
            if whiteouts:
                decided.tell.whiteouts(whiteouts, "error" if transformer.refuses_whiteouts else "exclude")
            decided.tell.losses(settlement)
            if settlement.operations:
                decided.tell.applied(settlement)
            files.kept[whiteout_path(path)] = b"" if whiteouts else None
            patch = [operation.to_value() for operation in patch_of(settlement, decided.before)]
            files.kept[transform_path(path)] = None if whiteouts else _json(patch)
            lost = [one.operation for one in settlement.ignored]
            lost += (one.operation for one in decided.meddling if one.whole)
            files.ignored[ignored_path(path)] = _json(ignored_operations(lost)) if lost else None
    return files


def _json(value: Sequence[Object]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
