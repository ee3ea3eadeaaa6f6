"""The protocol of plugins: requests, responses, options, JSON patch operations."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, get_args

from krm_merge.errors import KrmMergeError
from krm_merge.safe_text import quoted
from krm_merge.startup import split_names
from krm_merge.text import Object, Value

DEPTH_LIMIT: Final = 126
"""Maps and lists in each other. YAML is read to 128 levels; two of them surround an item of a ResourceList."""


def flaw_of_value(value: Value, depth: int = 0) -> str:
    """Why a value cannot be written, or ''. `depth` maps and lists surround it."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"has {value}, which JSON does not have"
    if not isinstance(value, dict | list):
        return ""
    if depth >= DEPTH_LIMIT:
        return f"is nested deeper than {DEPTH_LIMIT} levels"
    inner = value.values() if isinstance(value, dict) else value
    return next(filter(None, (flaw_of_value(item, depth + 1) for item in inner)), "")


_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def list_option(options: Options, name: str) -> list[str]:
    """The parts of `a,b`."""
    return split_names(options.get(name, ""))


def map_option(options: Options, name: str) -> dict[str, str]:
    """The pairs of `a=b,c=d`. Raises PluginError for a part without `=`."""
    pairs: dict[str, str] = {}
    for part in list_option(options, name):
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise PluginError(f"option {name}: {quoted(part)!r} is not of the form key=value")
        pairs[key] = value
    return pairs


def switch(options: Options, name: str, *, default: bool) -> bool:
    """A boolean in Go's spellings. Raises PluginError for any other text."""
    text = options.get(name, "")
    if text and text not in _TRUE | _FALSE:
        raise PluginError(f"option {name} is {quoted(text)!r}; true or false is expected")
    return text in _TRUE if text else default


OperationKind: TypeAlias = Literal["add", "remove", "replace", "move", "copy", "test"]
Pointer: TypeAlias = tuple[str, ...]
"""The tokens of a JSON pointer, unescaped."""

KINDS: Final[tuple[OperationKind, ...]] = get_args(OperationKind)
_WITH_VALUE = frozenset(("add", "replace", "test"))
_WITH_SOURCE = frozenset(("move", "copy"))
_BAD_ESCAPE = re.compile(r"~(?![01])")


class OperationError(KrmMergeError, ValueError):
    """An invalid operation, or one that cannot be applied."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `source` is where move and copy take the value from; `value` is that of add, replace and test."""

    kind: OperationKind
    path: Pointer
    source: Pointer = ()
    value: Value = None

    @classmethod
    def read(cls, value: Value) -> Operation:
        """Reads an operation in its JSON form; unknown fields are ignored. Raises OperationError."""
        if not isinstance(value, dict):
            raise OperationError("an operation is a mapping with op and path")
        kind = next((name for name in KINDS if name == value.get("op")), None)
        if kind is None:
            raise OperationError(f"op is {quoted(str(value.get('op', 'missing')))}; choose from {', '.join(KINDS)}")
        if kind in _WITH_VALUE and "value" not in value:
            raise OperationError(f"{kind} without value")
        source = _pointer(value, "from") if kind in _WITH_SOURCE else ()
        return cls(kind, _pointer(value, "path"), source, value["value"] if kind in _WITH_VALUE else None)

    @property
    def flaw(self) -> str:
        """Why the result of it cannot be written, or ''."""
        if len(self.path) > DEPTH_LIMIT:
            return f"the path of {self.kind} has more than {DEPTH_LIMIT} levels"
        flaw = flaw_of_value(self.value, len(self.path))
        return f"the value of {self} {flaw}" if flaw else ""

    def to_value(self) -> dict[str, Value]:
        """The JSON form."""
        value: dict[str, Value] = {"op": self.kind, "path": pointer_text(self.path)}
        if self.kind in _WITH_SOURCE:
            value["from"] = pointer_text(self.source)
        if self.kind in _WITH_VALUE:
            value["value"] = self.value
        return value

    def __str__(self) -> str:
        """Its text for messages: without the value, which may be secret."""
        source = f" from {pointer_text(self.source)}" if self.kind in _WITH_SOURCE else ""
        return f"{self.kind} {pointer_text(self.path) or 'the whole object'}{source}"


@dataclass(frozen=True, slots=True)
class PluginOperation:
    """An operation and the plugin that proposed it."""

    plugin: str
    operation: Operation


def equal(first: Value, second: Value) -> bool:
    """Whether two values are equal as JSON: numbers by their value, so 1 equals 1.0 but not true (RFC 6902, 4.6)."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(equal(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal, first, second))
    return first == second


def read_pointer(text: str) -> Pointer:
    """Reads a JSON pointer. Raises OperationError."""
    if text and not text.startswith("/"):
        raise OperationError(f"the path {quoted(text)!r} is not a JSON pointer: those begin with /")
    if _BAD_ESCAPE.search(text):
        raise OperationError(
            f"the path {quoted(text)!r} is not a JSON pointer: in it, ~ is written ~0 and / inside a name ~1"
        )
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def pointer_text(pointer: Pointer) -> str:
    """The text of a JSON pointer."""
    return "".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in pointer)


def _pointer(value: dict[str, Value], field: str) -> Pointer:
    text = value.get(field)
    if not isinstance(text, str):
        raise OperationError(f"{value['op']} without {field}")
    return read_pointer(text)


Options: TypeAlias = Mapping[str, str]
"""The options of a plugin by name, as the user gave them."""

VERSION = "v1"
"""The only version of crane's protocol."""


class PluginError(KrmMergeError):
    """A plugin that cannot be used, or failed. `type` and `detail` are those of crane's error, if it gave one."""

    def __init__(self, problem: str, type_: str = "", detail: str = "") -> None:
        """Makes a message of all details."""
        parts = [part for part in (type_, problem, detail) if part]
        super().__init__(": ".join(parts))
        self.type = type_
        self.problem = problem
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations that are applied in order (RFC 6902). A patch with a `test` is one unit (T4).

    `skips` says that the patch is skipped if a test fails; otherwise that is an error.
    """

    operations: tuple[Operation, ...]
    skips: bool = False

    def __post_init__(self) -> None:
        """Validates the operations once, at construction. Raises PluginError."""
        if flaw := next(filter(None, (operation.flaw for operation in self.operations)), ""):
            raise PluginError(flaw)

    @property
    def is_guarded(self) -> bool:
        """Whether it has a test."""
        return any(operation.kind == "test" for operation in self.operations)


@dataclass(frozen=True, slots=True)
class Response:
    """The response of a plugin for a resource. `reason` says why the resource is whited out."""

    patches: tuple[Patch, ...] = ()
    is_whiteout: bool = False
    reason: str = ""

    @classmethod
    def of(cls, *operations: Operation) -> Response:
        """A response that is one patch, which is skipped if a test in it fails (T4)."""
        return cls((Patch(operations, skips=True),)) if operations else cls()

    @classmethod
    def read(cls, value: Value) -> Response:
        """Reads the JSON form: `version`, `isWhiteOut` and `patches`, all optional. Raises PluginError.

        Its operations are one patch, as with `of`.
        """
        if not isinstance(value, dict):
            raise PluginError("the response is not a JSON object with version, isWhiteOut and patches")
        version, whiteout, patches = (value.get(name) for name in ("version", "isWhiteOut", "patches"))
        if version not in (None, "", VERSION):
            raise PluginError(f"the response has version {quoted(str(version))}; {VERSION} is expected")
        if not isinstance(whiteout, bool | None):
            raise PluginError("isWhiteOut of the response is neither true nor false")
        if not isinstance(patches, list | None):
            raise PluginError("patches of the response is not a list")
        if value.get("newResources"):
            raise PluginError("the response has newResources; a plugin changes or whites out a resource, it adds none")
        operations = []
        for at, operation in enumerate(patches or ()):
            try:
                operations.append(Operation.read(operation))
            except OperationError as error:
                raise PluginError(f"patches[{at}] of the response: {error}") from None
        return cls(cls.of(*operations).patches, bool(whiteout))

    def to_value(self) -> Object:
        """The JSON form, without empty fields."""
        value: Object = {"version": VERSION}
        if self.is_whiteout:
            value["isWhiteOut"] = True
        if operations := [operation.to_value() for patch in self.patches for operation in patch.operations]:
            value["patches"] = list(operations)
        return value


class Plugin(Protocol):
    """Proposes changes for each resource."""

    @property
    def name(self) -> str:
        """Its name in priorities and results."""
        ...

    def run(self, resource: Object, options: Options) -> Response:
        """The proposal for a resource, which is a private copy. Raises PluginError."""
        ...


@dataclass(frozen=True, slots=True)
class OptionalField:
    """An option of a plugin."""

    name: str
    help: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a plugin."""

    name: str = ""
    version: str = ""
    fields: tuple[OptionalField, ...] = ()

    @classmethod
    def read(cls, value: Value) -> Metadata:
        """Reads the JSON form. Raises PluginError if it is invalid or of another version of the protocol."""
        if not isinstance(value, dict):
            raise PluginError("the metadata is not a JSON object")
        for field in ("requestVersion", "responseVersion"):
            versions = value.get(field)
            if not isinstance(versions, list) or VERSION not in versions:
                raise PluginError(f"{field} of the metadata does not name {VERSION}")
        fields = value.get("optionalFields") or []
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise PluginError("optionalFields of the metadata is not a list of mappings")
        return cls(
            _text(value, "name"),
            _text(value, "version"),
            tuple(OptionalField(*(_text(field, name) for name in ("flagName", "help", "example"))) for field in fields),
        )

    def to_value(self) -> Object:
        """The JSON form, without empty fields."""
        value: Object = {
            "name": self.name,
            "version": self.version,
            "requestVersion": [VERSION],
            "responseVersion": [VERSION],
        }
        if self.fields:
            value["optionalFields"] = [
                {"flagName": field.name, "help": field.help, "example": field.example} for field in self.fields
            ]
        return value


def metadata_of(plugin: Plugin) -> Metadata:
    """The metadata of a plugin; for one without metadata only its name."""
    metadata = getattr(plugin, "metadata", None)
    return metadata if isinstance(metadata, Metadata) else Metadata(getattr(plugin, "name", ""))


def _text(value: Value, field: str) -> str:
    text = value.get(field) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""
