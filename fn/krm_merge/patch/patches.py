"""Patches of all kinds as one thing: text in, changed object out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.krm import FieldPath, Step, Target, value_at
from krm_merge.limits import Copies
from krm_merge.patch.json_patch import JsonPatch, apply_merge, create_merge, without_nulls
from krm_merge.patch.model import PatchError, Shape, text_of
from krm_merge.patch.strategic.apply import apply
from krm_merge.patch.strategic.create import create_short
from krm_merge.patch.strategic.elements import (
    PATCH,
    ListOrder,
    MergeKeys,
    Moved,
    ReplacedList,
    first_directive,
    is_directive,
)
from krm_merge.schema import hidden_in
from krm_merge.text import KeysOf, Object, TextError, Value, read_all, same, to_value

PatchType: TypeAlias = Literal["strategic", "merge", "json"]


@dataclass(frozen=True, slots=True)
class Modes:
    """How strategic merge patches order lists and match elements."""

    list_order: ListOrder = "document"
    merge_keys: MergeKeys = "multi"


@dataclass(frozen=True, slots=True)
class ParsedPatch:
    """One patch. `body` is its map, `operations` those of a JSON patch."""

    type: PatchType
    body: Object
    operations: JsonPatch | None = None

    @property
    def removes(self) -> bool:
        """Whether it removes the whole object."""
        return self.type == "strategic" and self.body.get(PATCH) == "delete"

    @property
    def is_secret(self) -> bool:
        """Whether it has values that messages must not show (M6)."""
        if self.operations is not None:
            return self.operations.is_secret
        return next(hidden_in(self.body), None) is not None

    def apply(
        self,
        document: Object,
        schema: Shape,
        modes: Modes,
        moved: list[Moved] | None = None,
        copies: Copies | None = None,
        replaced: list[ReplacedList] | None = None,
    ) -> Object:
        """The object with the patch applied; it is not changed. Raises PatchError, and what JsonPatch raises."""
        if self.operations is not None:
            return self.operations.apply(document, copies)
        if self.type == "merge":
            merged = apply_merge(document, self.body)
            assert isinstance(merged, dict)
            return merged
        if self.removes and modes.list_order == "kubernetes":
            raise PatchError("a patch of the whole object is not a deletion in kubectl; use listOrder: document")
        order, keys = modes.list_order, modes.merge_keys
        return apply(document, self.body, schema, list_order=order, merge_keys=keys, moved=moved, replaced=replaced)


def read_patches(text: str, type_: PatchType | None = None) -> list[ParsedPatch]:
    """The patches in a text of YAML or JSON: a list is one JSON patch, maps are patches of the other types.

    None where it is empty. Raises PatchError where the text cannot be read, or is of another type than it should be.
    """
    try:
        values = [to_value(root) for root in read_all(text)]
    except TextError as error:
        raise PatchError(str(error)) from None
    if not values:
        return []
    if type_ in (None, "json") and all(
        isinstance(value, dict) and "op" in value and "path" in value for value in values
    ):
        # Operations as documents or as one map: what people write for a list.
        values = [values]
    return patches_of(values, type_)


def patches_of(values: Sequence[Value], type_: PatchType | None = None) -> list[ParsedPatch]:
    """The patches from the values of documents.

    Raises PatchError where the type does not fit one of them, directives of another type included.
    """
    patches = []
    for number, value in enumerate(values, 1):
        try:
            patches.append(_patch(value, type_))
        except PatchError as error:
            if len(values) == 1:
                raise
            raise PatchError(f"document {number}: {error}") from None
    return patches


def _patch(value: Value, type_: PatchType | None) -> ParsedPatch:
    if isinstance(value, list):
        if type_ not in (None, "json"):
            raise PatchError(f"a {type_} patch is a mapping, and this is a list; JSON patches are lists")
        _check_no_directive("json", _written_directive(value))
        return ParsedPatch("json", {}, JsonPatch(value))
    if not isinstance(value, dict):
        raise PatchError("a patch is a mapping or a list of operations")
    if type_ == "json":
        raise PatchError("a json patch is a list of operations, and this is a mapping")
    if type_ == "merge":
        # A null may remove a directive that somebody left in the document.
        _check_no_directive(type_, first_directive(without_nulls(value)))
    return ParsedPatch(type_ or "strategic", value)


def _check_no_directive(type_: PatchType, place: FieldPath | None) -> None:
    """P4: a patch of this type would write a directive into the resource."""
    if place is not None:
        raise PatchError(
            f"a {type_} patch would write this directive of strategic merge patches into the resource; "
            "make its type strategic, or remove it",
            place,
        )


def _written_directive(operations: list[Value]) -> FieldPath | None:
    """Where operations add a directive first."""
    for number, operation in enumerate(operations):
        if isinstance(operation, dict) and operation.get("op") in ("add", "replace", "move", "copy"):
            name = str(operation.get("path")).rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            if is_directive(name):
                return number, "path"
            if (place := first_directive(operation.get("value"), (number, "value"))) is not None:
                return place
    return None


def patch_between(original: Object, modified: Object, schema: Shape, *, is_known: bool) -> ParsedPatch:
    """The patch that makes `modified` of `original`; a second run of it changes nothing (P6).

    It is a strategic merge patch if the schema of the type `is_known` and one leads there, else a JSON merge patch.
    Raises PatchError where neither leads there.
    """
    patches = [ParsedPatch("merge", create_merge(original, modified))]
    if is_known:
        with suppress(PatchError):
            patches.insert(0, ParsedPatch("strategic", create_short(original, modified, schema)))
    for patch in patches:
        if all(same(patch.apply(before, schema, Modes()), modified) for before in (original, modified)):
            return patch
    raise PatchError("no patch sets a field to null; remove the field, or declare other resources with --resource")


def with_names(patch: Object, document: Object) -> Object:
    """A strategic or merge patch that names the object that it is for, so that it can be declared as it is.

    One that changes a name or kind, or is empty, and one for an object without a name stays as it is.
    """
    metadata, change = document.get("metadata"), patch.get("metadata", {})
    if not patch or named_by(ParsedPatch("merge", patch)) or target_of(ParsedPatch("merge", document)) is None:
        return patch
    if not isinstance(metadata, dict) or not isinstance(change, dict):
        return patch
    names: Object = {field: metadata[field] for field in ("name", "namespace") if field in metadata}
    head: Object = {field: document[field] for field in ("apiVersion", "kind")}
    return {**head, "metadata": {**names, **change}, **{name: patch[name] for name in patch if name != "metadata"}}


def target_of(patch: ParsedPatch) -> Target | None:
    """The object that a patch names itself by apiVersion, kind and metadata.name; None where it names none."""
    version, kind, metadata = (patch.body.get(name) for name in ("apiVersion", "kind", "metadata"))
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not (isinstance(version, str) and isinstance(kind, str) and isinstance(name, str)):
        return None
    group, _, version = version.rpartition("/")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return Target(group, version, kind, name, namespace if isinstance(namespace, str) else None)


def named_by(patch: ParsedPatch) -> list[str]:
    """The fields of an object's identity that a patch has: it names its object by them, or changes them."""
    metadata = patch.body.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    fields = [name for name in ("apiVersion", "kind") if name in patch.body]
    return fields + [f"metadata.{name}" for name in ("name", "namespace") if name in inner]


def path_by_keys(path: FieldPath, value: Value, keys_of: KeysOf) -> FieldPath:
    """A path of fields and indices, with the elements of lists named by their keys if they have some."""
    steps: list[Step] = []
    for at, step in enumerate(path):
        element = value_at(value, path[: at + 1])
        keys = keys_of(tuple(name for name in path[:at] if isinstance(name, str))) if isinstance(step, int) else ()
        if keys and isinstance(element, dict) and all(key in element for key in keys):
            steps.append(tuple((key, text_of(element[key])) for key in keys))
        else:
            steps.append(step)
    return tuple(steps)


_OPERATION = re.compile(r"(operation \d+, .*?(?:\}|\.\.\.)): (.*)", re.DOTALL)
_OTHER_VALUE = " is not equal to tested value "
# The library's messages may quote the document; these messages name only places.
_PLACES = re.compile(
    r"can't (?:remove|replace) a non-existent object '.*?'|can't (?:insert|replace) outside of list"
    r"|unable to fully resolve json pointer .*|member '.*?' not found|index '.*?' is out of bounds"
    r"|copies make more than .*|the value that it copies is nested deeper than [0-9]+ levels"
)


def format_problem(error: PatchError, patch: ParsedPatch, *, secret: bool) -> str:
    """The message of an error.

    For a `secret` values were hidden already: only messages of the JSON patch library may quote any.
    """
    match = _OPERATION.fullmatch(error.problem) if secret and patch.operations is not None else None
    if match is None:
        return str(error)
    operation, words = match.groups()
    location = _PLACES.match(words)
    why = location.group() if location else "it cannot be applied"
    return f"{operation}: {'the value there differs' if _OTHER_VALUE in words else why}"


def with_labels(patches: Sequence[ParsedPatch], label: str) -> Iterator[tuple[str, ParsedPatch]]:
    """The patches of one text as messages name them (P4): several by their numbers, and the objects that they name."""
    for number, patch in enumerate(patches, 1):
        yield (label if len(patches) == 1 else f"{label} document {number}{_object(patch)}"), patch


def _object(patch: ParsedPatch) -> str:
    kind, metadata = patch.body.get("kind"), patch.body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    names = [text for text in (kind, name) if isinstance(text, str)]
    return f" ({' '.join(names)})" if names else ""
