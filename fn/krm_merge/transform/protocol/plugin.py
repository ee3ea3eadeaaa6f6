"""The interface of plugins, and their responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.harmless import quoted
from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.protocol.json_value import flaw_of_value
from krm_merge.transform.protocol.operation import Operation, OperationError

Options: TypeAlias = Mapping[str, str]
"""The options of a plugin by name, as the user gave them."""

VERSION = "v1"
"""The only version of crane's protocol."""

# Of kind and name; the file of a resource is called `kind_name.yaml`, and file systems take 255 bytes.
_LONGEST_NAME = 249


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
        _check_items("operations of a patch", self.operations, Operation)
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
    new_resources: tuple[Object, ...] = ()

    def __post_init__(self) -> None:
        """Validates third-party input (T6). Raises PluginError."""
        _check_items("patches of the response", self.patches, Patch)
        _check_items("new_resources of the response", self.new_resources, dict)
        _check_type("is_whiteout of the response", self.is_whiteout, bool)
        _check_type("reason of the response", self.reason, str)
        for resource in self.new_resources:
            _check_new(resource)

    @classmethod
    def of(cls, *operations: Operation) -> Response:
        """A response that is one patch, which is skipped if a test in it fails (T4)."""
        return cls((Patch(operations, skips=True),)) if operations else cls()

    @classmethod
    def read(cls, value: Value) -> Response:
        """Reads the JSON form: `version`, `isWhiteOut`, `patches`, `newResources`, all optional. Raises PluginError.

        Its operations are one patch, as with `of`.
        """
        if not isinstance(value, dict):
            raise PluginError("the response is not a JSON object with version, isWhiteOut, patches and newResources")
        version, whiteout, patches, created = (
            value.get(name) for name in ("version", "isWhiteOut", "patches", "newResources")
        )
        if version not in (None, "", VERSION):
            raise PluginError(f"the response has version {quoted(str(version))}; {VERSION} is expected")
        if not isinstance(whiteout, bool | None):
            raise PluginError("isWhiteOut of the response is neither true nor false")
        if not isinstance(patches, list | None) or not isinstance(created, list | None):
            raise PluginError("patches and newResources of the response are lists")
        operations = []
        for at, operation in enumerate(patches or ()):
            try:
                operations.append(Operation.read(operation))
            except OperationError as error:
                raise PluginError(f"patches[{at}] of the response: {error}") from None
        resources = []
        for at, resource in enumerate(created or ()):
            if not isinstance(resource, dict):
                raise PluginError(f"newResources[{at}] of the response is not a map")
            resources.append(resource)
        return cls(cls.of(*operations).patches, bool(whiteout), new_resources=tuple(resources))

    def to_value(self) -> Object:
        """The JSON form, without empty fields."""
        value: Object = {"version": VERSION}
        if self.is_whiteout:
            value["isWhiteOut"] = True
        if operations := [operation.to_value() for patch in self.patches for operation in patch.operations]:
            value["patches"] = list(operations)
        if self.new_resources:
            value["newResources"] = list(self.new_resources)
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
class WithOptions:
    """A plugin with its own options, which override those for all plugins."""

    plugin: Plugin
    options: Options

    @property
    def name(self) -> str:
        """The plugin's."""
        return self.plugin.name

    @property
    def metadata(self) -> Metadata:
        """The plugin's."""
        return metadata_of(self.plugin)

    @property
    def only_reads(self) -> bool:
        """The plugin's."""
        return only_reads(self.plugin)

    def run(self, resource: Object, options: Options) -> Response:
        """Runs the plugin. Raises PluginError."""
        return self.plugin.run(resource, {**options, **self.options})

    def close(self) -> None:
        """Closes the plugin."""
        close(self.plugin)


@dataclass(frozen=True, slots=True)
class OptionalField:
    """An option of a plugin."""

    name: str
    help: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a plugin. `protocols` are those that it supports, if it names them."""

    name: str = ""
    version: str = ""
    fields: tuple[OptionalField, ...] = ()
    protocols: tuple[str, ...] = ()

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
            raise PluginError("optionalFields of the metadata is not a list of maps")
        return cls(
            _text(value, "name"),
            _text(value, "version"),
            tuple(OptionalField(*(_text(field, name) for name in ("flagName", "help", "example"))) for field in fields),
            tuple(str(protocol) for protocol in _list(value, "protocols")),
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
        if self.protocols:
            value["protocols"] = list(self.protocols)
        return value


def metadata_of(plugin: Plugin) -> Metadata:
    """The metadata of a plugin; for one without metadata only its name."""
    found = getattr(plugin, "metadata", None)
    return found if isinstance(found, Metadata) else Metadata(getattr(plugin, "name", ""))


def only_reads(plugin: Plugin) -> bool:
    """Whether a plugin promises, by `only_reads = True`, never to change its resource: then it needs no copy."""
    return getattr(plugin, "only_reads", False) is True


def close(plugin: Plugin) -> None:
    """Closes a plugin that has a `close`."""
    end = getattr(plugin, "close", None)
    if callable(end):
        end()


def _check_items(what: str, found: object, type_: type) -> None:
    """Raises PluginError."""
    if not isinstance(found, tuple | list) or not all(isinstance(one, type_) for one in found):
        raise PluginError(f"{what}: a tuple of {type_.__name__} is expected")


def _check_type(what: str, found: object, type_: type) -> None:
    """Raises PluginError."""
    if not isinstance(found, type_):
        raise PluginError(f"{what}: a {type_.__name__} is expected")


def _check_new(resource: Object) -> None:
    """Checks that a new resource has its identity and is JSON. Raises PluginError."""
    if flaw := flaw_of_value(resource):
        raise PluginError(f"a new resource of the response {flaw}")
    metadata = resource.get("metadata")
    for field, found in (
        ("apiVersion", resource.get("apiVersion")),
        ("kind", resource.get("kind")),
        ("name", metadata.get("name") if isinstance(metadata, dict) else None),
    ):
        if not isinstance(found, str) or not found:
            raise PluginError(f"a new resource of the response is missing {field}")
        if not found.isprintable():
            raise PluginError(
                f"{field} of a new resource of the response is {found!a}; leave out what cannot be printed"
            )
    assert isinstance(metadata, dict)
    if not isinstance(metadata.get("annotations", {}), dict):
        raise PluginError("a new resource of the response has no map in metadata.annotations")
    size = len(f"{resource['kind']}{metadata['name']}".encode())
    if size > _LONGEST_NAME:
        message = f"kind and name of a new resource of the response have {size} bytes; a file name has room for"
        raise PluginError(f"{message} {_LONGEST_NAME}")


def _text(value: Value, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _list(value: Object, field: str) -> Sequence[Value]:
    found = value.get(field)
    return found if isinstance(found, list) else ()
