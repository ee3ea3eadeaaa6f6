"""The public form of decisions: one document that every report is made of, with its schema."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from krm_merge.krm import ResourceRef
from krm_merge.merge import Choice, Nature
from krm_merge.text import MappingNode, Value, from_value, same, written

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
        messages: dict[str, list[str]] = {}
        for record in self.records:
            if record.status != "automatic" or record.rule in ("R1", "R3", "K4"):
                messages.setdefault(record.file, []).append(record.message)
        return [
            result
            for result in self.results
            if result.get("severity") != "info" and not _is_in_a_record(result, messages)
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


def _is_in_a_record(result: Mapping[str, Value], messages: Mapping[str, Sequence[str]]) -> bool:
    file, message = result.get("file"), str(result.get("message"))
    path = str(file.get("path")) if isinstance(file, dict) else ""
    return any(text in message for text in messages.get(path, ()))


Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def schema() -> Schema:
    """The schema, without an address of its own."""
    statuses = dict.fromkeys(get_args(Status), _COUNT)
    return closed_object(
        "All that was decided in one merge.",
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
            "counts": closed_object("How many records and files there are.", {**statuses, "files": _COUNT}),
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
        "The files by what becomes of them.", {name: {"type": "array", "items": _TEXT} for name in names}
    )


def sides_schema() -> Schema:
    """The schema of the versions of the package."""
    side = closed_object("A version of the package.", {"ref": _TEXT, "commit": _TEXT}, required=["ref"])
    return {"type": "object", "additionalProperties": side}


def resource_schema() -> Schema:
    """The schema of the resource that a record is about."""
    return closed_object("", dict.fromkeys(("apiVersion", "kind", "namespace", "name"), _TEXT))


def _record() -> Schema:
    values: Schema = {
        side: {"description": f"The value of {side}; absent where there is nothing."} for side in SIDES[:3]
    }
    letters: Schema = {side: {"enum": list("ABCD")} for side in SIDES}
    return closed_object(
        "One decision.",
        {
            "id": {**_TEXT, "description": "Stable in a run, and between runs on the same input."},
            "file": _TEXT,
            "resource": resource_schema(),
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


Name = TypeVar("Name", bound=str)

LONGEST_COMPARED = 4_000
"""Characters of a value up to which words are compared."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


def yaml_text(value: Value) -> str:
    """A value as it is written in YAML; a text is shown as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        root = from_value(value)
        assert isinstance(root, MappingNode)
        return written(root).rstrip("\n")
    root = from_value({"value": value})
    assert isinstance(root, MappingNode)
    return written(root).removeprefix("value:").strip(" \n")


def flow_text(value: Value) -> str:
    """A value on one line: a text or number as it is, a list or mapping as YAML in flow style."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {flow_text(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_text, value))}]"
    return yaml_text(value).rstrip("\n").replace("\n", "\\n")


def differing_part(values: Mapping[Name, Value]) -> Mapping[Name, Value]:
    """The part of some values in which they differ; what all have alike is left out, and `…` in a list or text.

    Fields that name an element stay. Values of different kinds are returned as they are.
    """
    all_values = list(values.values())
    if len(all_values) < 2 or all(same(all_values[0], value) for value in all_values):
        return values
    mappings = {name: value for name, value in values.items() if isinstance(value, dict)}
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    lines = {name: value.split("\n") for name, value in values.items() if isinstance(value, str) and "\n" in value}
    if len(mappings) == len(all_values):
        return _of_mappings(mappings)
    if len(lists) == len(all_values):
        return _between(lists)
    if len(lines) == len(all_values):
        between = _between({name: [*map(str, of)] for name, of in lines.items()})
        return {name: "\n".join(map(str, of)) if isinstance(of, list) else of for name, of in between.items()}
    return values


def _of_mappings(mappings: Mapping[Name, dict[str, Value]]) -> Mapping[Name, Value]:
    parts: dict[Name, dict[str, Value]] = {name: {} for name in mappings}
    for key in dict.fromkeys(key for value in mappings.values() for key in value):
        having = {name: value[key] for name, value in mappings.items() if key in value}
        first = next(iter(having.values()))
        if key == "name" or len(having) < len(mappings) or not all(same(first, value) for value in having.values()):
            for name, part in differing_part(having).items():
                parts[name][key] = part
    return {**parts}


def _between(lists: Mapping[Name, list[Value]]) -> Mapping[Name, Value]:
    """What is between the elements with which all begin and those with which all end."""
    shortest = min(map(len, lists.values()))
    first = next(iter(lists.values()))

    def alike(at: int) -> bool:
        return all(same(first[at], items[at]) for items in lists.values())

    start = next((at for at in range(shortest) if not alike(at)), shortest)
    end = next((at for at in range(shortest - start) if not alike(-1 - at)), shortest - start)
    middle = {name: items[start : len(items) - end] for name, items in lists.items()}
    if all(len(items) == 1 for items in middle.values()):
        parts = differing_part({name: items[0] for name, items in middle.items()})
        middle = {name: [part] for name, part in parts.items()}
    around: tuple[list[Value], list[Value]] = ["…"] if start else [], ["…"] if end else []
    return {name: [*around[0], *items, *around[1]] for name, items in middle.items()}


def shorten(text: str, longest: int) -> str:
    """The start of a long text, and how much of it is left out."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest:,} more characters)"


def words_changed(before: str, after: str) -> Iterator[tuple[str, bool]]:
    """The pieces of `after`, each with whether `before` lacks it."""
    if before == after or max(len(before), len(after)) > LONGEST_COMPARED:
        yield after, False
        return
    ours, theirs = _WORD.findall(before), _WORD.findall(after)
    for kind, _, _, start, stop in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if start < stop:
            yield "".join(theirs[start:stop]), kind != "equal"


NATURES: Final[dict[Nature, str]] = {
    "value": "Value",
    "kind": "Kinds of value",
    "text": "Lines of a text",
    "order": "Order of a list",
    "sequence": "List without keys",
    "element": "Element of a list",
    "resource": "Resource",
    "alternative": "Alternatives",
    "functions": "Functions of a pipeline",
    "file": "File",
    "reference": "Reference",
    "added-twice": "Added on both sides",
    "comment": "Comments",
}

CONFLICTS: Final[tuple[tuple[Status, str], ...]] = (("open", "Open conflicts"), ("settled", "Settled conflicts"))
"""What reports show first."""

CHOICES: Final[dict[Choice, str]] = {
    "upstream": "upstream's",
    "local": "local's",
    "original": "the original's",
    "upstream-then-local": "both, upstream's first",
    "local-then-upstream": "both, local's first",
    "value": "a value of your own",
    "recognise": "recognise the functions by what they are",
}

RULES: Final = {
    "F": "No local change is lost silently",
    "G": "No fault of our own",
    "H": "Never worse than git",
    "I": "What held on all sides holds in the result",
    "V2": "The side that changed the value has it",
    "V3": "A removal removes what was there",
    "V4": "Both changed a value: `onConflict` decides",
    "V5": "The sides hold different kinds of values",
    "V6": "Text of several lines merges line by line",
    "V7": "Alternatives are one value",
    "V8": "Comments merge as the text that they are",
    "V9": "Aliases and merge keys are read as what they stand for",
    "V10": "An image is two values: its repository and its version",
    "L1": "Keyed lists: elements with equal keys are the same",
    "L2": "Sets: each value is there once",
    "L3": "Other lists: elements are paired, and pairs merge",
    "L4": "The order of lists",
    "F3": "Otherwise the list is one value",
    "F4": "An image that moved to another registry is the same function",
    "F5": "Whether something is there is decided locally",
    "F7": "A function that both sides added is never put together from two",
    "K3": "The result is checked",
    "K4": "The Kptfile of the package is never added or deleted",
    "R1": "Which resources are the same",
    "R2": "What becomes of a resource",
    "R3": "Subpackages",
    "R4": "Files that are no Kubernetes resources",
    "R5": "YAML that cannot be read",
    "R13": "Files are followed",
    "W1": "What did not change stays as it was",
    "W2": "What is written is read again",
    "W5": "Line ends are local's",
}
"""The rules that decisions and results name, with their headings in docs/rules.md."""

_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
RULES_PAGE: Final = "docs/rules.md"
HOME: Final = "https://github.com/krm-merge/krm-merge"


def anchor_of(rule: str) -> str:
    """Where the rule is explained: the page and the anchor of its heading."""
    title = RULES.get(rule)
    if title is None:
        return RULES_PAGE
    heading = _NOT_IN_ANCHORS.sub("", f"{rule}. {title}".lower()).replace(" ", "-")
    return f"{RULES_PAGE}#{heading}"


def address_of(anchor: str) -> str:
    """Where a page of the documentation is on the web."""
    return f"{HOME}/blob/main/{anchor}"
