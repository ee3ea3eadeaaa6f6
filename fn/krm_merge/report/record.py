"""The public form of decisions: one document that every report is made of (docs/schemas/decisions.json)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from krm_merge.krm.result import ResourceRef
from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.text.reading.values import Value

API_VERSION: Final = "fn.kpt.dev/v1alpha1"
KIND: Final = "MergeReport"

Status: TypeAlias = Literal["automatic", "settled", "open"]
SideName: TypeAlias = Literal["original", "upstream", "local", "result"]
SIDES: Final[tuple[SideName, ...]] = ("original", "upstream", "local", "result")


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision of a merge.

    `values` are the sides that have something at this place; hidden values are left out, and `alike` has the same
    letter for sides that are equal.
    """

    id: str
    file: str
    resource: ResourceRef | None
    path: str
    rule: str
    nature: Nature
    status: Status
    settled_by: str
    message: str
    values: Mapping[SideName, Value]
    choices: tuple[Choice, ...]
    chosen: Choice | None
    fingerprint: str
    docs: str
    alike: Mapping[SideName, str] | None = None

    @property
    def is_redacted(self) -> bool:
        """Whether the values of the sides are left out, because they are hidden (M6)."""
        return self.alike is not None

    def to_value(self) -> dict[str, Value]:
        """As it is in the document; a side that has nothing at this place is left out."""
        value: dict[str, Value] = {"id": self.id, "file": self.file}
        if self.resource is not None:
            value["resource"] = resource_value(self.resource)
        value |= {"path": self.path, "rule": self.rule, "nature": self.nature, "status": self.status}
        if self.settled_by:
            value["settledBy"] = self.settled_by
        value["message"] = self.message
        value |= {side: self.values[side] for side in SIDES if side in self.values}
        if self.alike is not None:
            value |= {"redacted": True, "alike": {side: self.alike[side] for side in SIDES if side in self.alike}}
        value["choices"] = list(self.choices)
        if self.chosen is not None:
            value["chosen"] = self.chosen
        return value | {"fingerprint": self.fingerprint, "docs": self.docs}


def resource_value(resource: ResourceRef) -> dict[str, Value]:
    """A resource as documents of ours name it: with its namespace, '' included."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": resource.namespace,
        "name": resource.name,
    }


@dataclass(frozen=True, slots=True)
class Context:
    """Lines of a file around a place; those from `start` to `stop` are the place itself."""

    lines: tuple[str, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of files by what becomes of them."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    deleted: Sequence[str] = ()

    @classmethod
    def of(cls, local: Container[str], changes: Mapping[str, object]) -> Files:
        """What becomes of local's files: `changes` has the content of those that are written, None for the others."""
        added = sorted(path for path, file in changes.items() if file is not None and path not in local)
        changed = sorted(path for path, file in changes.items() if file is not None and path in local)
        return cls(added, changed, sorted(path for path, file in changes.items() if file is None))


NO_FILES: Final = Files()


@dataclass(frozen=True, slots=True)
class RecordedSide:
    """Which version a side is: what was named, and the commit that it was."""

    ref: str
    commit: str = ""

    def to_value(self) -> dict[str, Value]:
        """As it is in the document."""
        value: dict[str, Value] = {"ref": self.ref}
        return value | {"commit": self.commit} if self.commit else value

    def __str__(self) -> str:
        """As people name it."""
        return f"{self.ref} ({self.commit[:7]})" if self.commit and self.commit != self.ref else self.ref


@dataclass(frozen=True, slots=True)
class MergeReport:
    """All that was decided in one merge.

    `results` are those of the KRM functions specification: what is said beside the records is there, too. `packages`
    are the packages that an update reached, with their versions. `contexts` are the lines around the places of records,
    by their ids, for people to read: they are no part of the document.
    """

    package: str = ""
    sides: Mapping[str, RecordedSide] = field(default_factory=dict)
    records: Sequence[DecisionRecord] = ()
    files: Files = NO_FILES
    results: Sequence[Mapping[str, Value]] = ()
    packages: Sequence[Mapping[str, Value]] = ()
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def with_status(self, status: Status) -> list[DecisionRecord]:
        """The records of this status, in their order."""
        return [record for record in self.records if record.status == status]

    def notices(self) -> list[Mapping[str, Value]]:
        """The warnings and errors that no record is about."""
        said: dict[str, list[str]] = {}
        for record in self.records:
            if record.status != "automatic" or record.rule in ("R1", "R3", "K4"):
                said.setdefault(record.file, []).append(record.message)
        return [
            result for result in self.results if result.get("severity") != "info" and not _is_in_a_record(result, said)
        ]

    @property
    def is_refused(self) -> bool:
        """Whether something is an error, so that no file changes."""
        return any(result.get("severity") == "error" for result in self.results)

    def to_value(self) -> dict[str, Value]:
        """The document."""
        value: dict[str, Value] = {"apiVersion": API_VERSION, "kind": KIND, "package": self.package}
        value["sides"] = {name: side.to_value() for name, side in self.sides.items()}
        if self.packages:
            value["packages"] = [dict(package) for package in self.packages]
        value["counts"] = {
            "open": len(self.with_status("open")),
            "settled": len(self.with_status("settled")),
            "automatic": len(self.with_status("automatic")),
            "files": len(self.files.added) + len(self.files.changed) + len(self.files.deleted),
        }
        files = self.files
        value["files"] = {"added": [*files.added], "changed": [*files.changed], "deleted": [*files.deleted]}
        value["records"] = [record.to_value() for record in self.records]
        value["results"] = [dict(result) for result in self.results]
        return value


def _is_in_a_record(result: Mapping[str, Value], said: Mapping[str, Sequence[str]]) -> bool:
    file, message = result.get("file"), str(result.get("message"))
    path = str(file.get("path")) if isinstance(file, dict) else ""
    return any(text in message for text in said.get(path, ()))
