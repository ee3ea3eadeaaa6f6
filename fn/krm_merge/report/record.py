"""The public form of decisions: one document that every report is made of, with its schema."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from krm_merge.krm import ResourceRef, Result
from krm_merge.merge import Choice, Nature
from krm_merge.startup import fresh, frozen, group_by_key
from krm_merge.text import Value

API_VERSION: Final = "fn.kpt.dev/v1alpha1"
KIND: Final = "MergeReport"

Status: TypeAlias = Literal["automatic", "settled", "open"]
SideName: TypeAlias = Literal["original", "upstream", "local", "result"]
SIDES: Final[tuple[SideName, ...]] = ("original", "upstream", "local", "result")
VERSIONS: Final = SIDES[:-1]
"""The versions that are merged."""


@frozen
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
    renamed_from: str = ""

    @property
    def is_redacted(self) -> bool:
        """Whether the values of the sides are left out, because they are hidden (M6)."""
        return self.alike is not None

    def to_value(self) -> dict[str, Value]:
        """As it is in the document; a side that has nothing at this place is left out."""
        value: dict[str, Value] = {"id": self.id, "file": self.file}
        if self.resource is not None:
            value["resource"] = resource_value(self.resource)
        if self.renamed_from:
            value["renamedFrom"] = self.renamed_from
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


@frozen
class Context:
    """Lines of a file around a place; those from `start` to `stop` are the place itself."""

    lines: tuple[str, ...]
    start: int
    stop: int


@frozen
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

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.added) + len(self.changed) + len(self.deleted)

    def to_value(self) -> dict[str, Value]:
        """As it is in documents."""
        return {"added": [*self.added], "changed": [*self.changed], "deleted": [*self.deleted]}


NO_FILES: Final = Files()


@frozen
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


@frozen
class MergeReport:
    """All decisions of one merge.

    `results` has what is said beside the records, too. `packages` are the packages that an update reached, with their
    versions. `contexts` are the lines around the places of records, by their ids, and `rules` the texts of rules by
    their numbers, for people to read: they are no part of the document.
    """

    package: str = ""
    sides: Mapping[str, RecordedSide] = fresh(factory=dict)
    records: Sequence[DecisionRecord] = ()
    files: Files = NO_FILES
    results: Iterable[Result] = ()
    packages: Sequence[Mapping[str, Value]] = ()
    contexts: Mapping[str, Context] = fresh(factory=dict)
    rules: Mapping[str, str] = fresh(factory=dict)

    def with_status(self, status: Status) -> list[DecisionRecord]:
        """The records of this status, in their order."""
        return [record for record in self.records if record.status == status]

    @property
    def counts(self) -> dict[str, int]:
        """How many records there are of each status, and how many files."""
        statuses: tuple[Status, ...] = ("open", "settled", "automatic")
        return {status: len(self.with_status(status)) for status in statuses} | {"files": self.files.count}

    def notices(self) -> list[Result]:
        """The warnings and errors that no record is about."""
        messages = group_by_key(
            (record.file, record.message)
            for record in self.records
            if record.status != "automatic" or record.rule in ("R3", "K4")
        )
        places = {(record.file, record.path) for record in self.records if record.path and record.status != "automatic"}
        return [
            result
            for result in self.results
            if result.severity != "info"
            and (result.file, result.path) not in places
            and not any(message in result.message for message in messages.get(result.file or "", ()))
        ]

    def to_value(self) -> dict[str, Value]:
        """The document."""
        value: dict[str, Value] = {"apiVersion": API_VERSION, "kind": KIND, "package": self.package}
        value["sides"] = {name: side.to_value() for name, side in self.sides.items()}
        if self.packages:
            value["packages"] = [dict(package) for package in self.packages]
        value["counts"] = {**self.counts}
        value["files"] = self.files.to_value()
        value["records"] = [record.to_value() for record in self.records]
        value["results"] = [result.to_value() for result in self.results]
        return value


Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def schema() -> Schema:
    """The schema, without an address of its own."""
    statuses = dict.fromkeys(get_args(Status), _COUNT)
    return closed_object(
        "All decisions of one merge.",
        {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "package": {**_TEXT, "description": "The package as it was named."},
            "sides": sides_schema(),
            "packages": {
                "type": "array",
                "items": {"type": "object"},
                "description": "The packages that an update reached: path, from, to.",
            },
            "counts": closed_object("The numbers of records and files.", {**statuses, "files": _COUNT}),
            "files": files_schema(),
            "records": {"type": "array", "items": _record()},
            "results": {
                "type": "array",
                "items": {"type": "object", "required": ["message", "severity"]},
                "description": "Results as the KRM functions specification has them.",
            },
        },
        required=["apiVersion", "kind", "package", "sides", "counts", "files", "records", "results"],
    )


def files_schema() -> Schema:
    """The schema of the files by what becomes of them."""
    names = ("added", "changed", "deleted")
    return closed_object(
        "The files by what happens to them.", {name: {"type": "array", "items": _TEXT} for name in names}
    )


def sides_schema() -> Schema:
    """The schema of the versions of the package."""
    side = closed_object("A version of the package.", {"ref": _TEXT, "commit": _TEXT}, required=["ref"])
    return {"type": "object", "additionalProperties": side}


def resource_schema() -> Schema:
    """The schema of the resource that a record is about."""
    return closed_object("", dict.fromkeys(("apiVersion", "kind", "namespace", "name"), _TEXT))


def _record() -> Schema:
    values: Schema = {side: {"description": f"The value of {side}; absent if there is none."} for side in VERSIONS}
    letters: Schema = {side: {"enum": list("ABCD")} for side in SIDES}
    return closed_object(
        "One decision.",
        {
            "id": {**_TEXT, "description": "Stable in a run, and between runs on the same input."},
            "file": _TEXT,
            "resource": resource_schema(),
            "renamedFrom": {**_TEXT, "description": "Original kind and name of a resource that has another name now."},
            "path": {**_TEXT, "description": "The field; empty for the resource or file as a whole."},
            "rule": {**_TEXT, "description": "The number of the rule."},
            "nature": {"enum": list(get_args(Nature))},
            "status": {"enum": list(get_args(Status))},
            "settledBy": {
                "type": "string",
                "pattern": "^(policy|rule( .+)?|resolution( .+)?)$",
                "description": "What settled a conflict; rules and resolutions with their place.",
            },
            "message": _TEXT,
            **values,
            "result": {"description": "What the package has now; absent where there is nothing, or while it is open."},
            "redacted": {"const": True, "description": "The values are secret and left out."},
            "alike": closed_object(
                "Where values are left out: sides with the same letter are equal.", letters, required=[]
            ),
            "choices": {"type": "array", "items": {"enum": list(get_args(Choice))}},
            "chosen": {"enum": list(get_args(Choice))},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "docs": {**_TEXT, "description": "The page and anchor that explain the rule."},
        },
        required=["id", "file", "path", "rule", "nature", "status", "message", "choices", "fingerprint", "docs"],
    )


def closed_object(description: str, properties: Schema, *, required: list[str] | None = None) -> Schema:
    """An object with these fields and no others, all of them required unless said otherwise."""
    about: Schema = {"description": description} if description else {}
    return {
        **about,
        "type": "object",
        "required": list(properties) if required is None else required,
        "properties": properties,
        "additionalProperties": False,
    }
