"""JSON patches (RFC 6902), by the library jsonpatch, and JSON merge patches (RFC 7386).

Source: the RFC; for three ways k8s.io/apimachinery/pkg/util/jsonmergepatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from krm_merge.krm import FieldPath
from krm_merge.limits import Copies
from krm_merge.patch.model import (
    PatchConflictError,
    PatchError,
    hiding_values,
    is_deeper,
    render,
    same,
    shown_operation,
)
from krm_merge.patch.strategic.conflicts import have_conflicts
from krm_merge.safe_text import LONGEST_QUOTE
from krm_merge.schema import hidden_in
from krm_merge.text import MAX_DEPTH, Object, Value


def apply_merge(document: Value, patch: Value) -> Value:
    """The document with the patch applied: maps merge, null removes, all else replaces. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    changed = not isinstance(document, dict)
    for name, value in patch.items():
        if value is None:
            changed |= name in result
            result.pop(name, None)
            continue
        merged = apply_merge(result.get(name), value)
        if name not in result or not same(result[name], merged):
            result[name], changed = merged, True
    return result if changed else document


def create_merge(original: Object, modified: Object) -> Object:
    """The patch that makes `modified` of `original`."""
    patch: Object = {}
    for name, value in modified.items():
        before = original.get(name)
        if name not in original:
            patch[name] = value
        elif isinstance(before, dict) and isinstance(value, dict):
            if inner := create_merge(before, value):
                patch[name] = inner
        elif not same(before, value):
            patch[name] = value
    return patch | dict.fromkeys(name for name in original if name not in modified)


def create_merge_three_way(original: Object, modified: Object, live: Object, *, overwrite: bool = True) -> Object:
    """The patch of the live document that `kubectl apply` makes where it knows no schema.

    Without `overwrite` it is a PatchConflict where the live document was changed since, in another way.
    """
    changes = without_nulls(create_merge(live, modified))
    deletions = only_nulls(create_merge(original, modified))
    patch = _merge(deletions, changes)
    if not overwrite and have_conflicts(patch, create_merge(original, live)):
        raise PatchConflictError("the live document was changed differently")
    return patch


def only_nulls(patch: Object) -> Object:
    """The part of a patch that removes fields."""
    result: Object = {}
    for name, value in patch.items():
        if value is None:
            result[name] = None
        elif isinstance(value, dict) and (inner := only_nulls(value)):
            result[name] = inner
    return result


def without_nulls(patch: Object) -> Object:
    """The part of a patch that sets fields; lists stay as they are."""
    result: Object = {}
    for name, value in patch.items():
        if isinstance(value, dict):
            inner = without_nulls(value)
            if inner or not value:
                result[name] = inner
        elif value is not None:
            result[name] = value
    return result


def _merge(first: Object, second: Object) -> Object:
    """Two patches as one; the second wins."""
    result = dict(first)
    for name, value in second.items():
        before = result.get(name)
        result[name] = _merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def create_json(original: Object, modified: Object) -> list[Object]:
    """The operations of RFC 6902 that make `modified` of `original`."""
    import jsonpatch

    operations: list[Object] = jsonpatch.make_patch(original, modified).patch
    return operations


_ORDER = ("op", "path", "from", "value")
_NEEDED = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}


class JsonPatch:
    """The operations of one patch."""

    def __init__(self, operations: list[Value]) -> None:
        """Checks the operations. Raises PatchError naming the first that is wrong."""
        import jsonpatch

        self._errors = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError)
        self._operations = operations
        self._single: list[Any] = []
        self._pointer = jsonpatch.JsonPointer
        checked: list[Object] = []
        for number, operation in enumerate(operations):
            # It may be for a Secret; which object it is for is not known yet.
            with hiding_values(lambda: True):
                if not isinstance(operation, dict):
                    problem = f"operation {number + 1} is {render(operation)}; a mapping with op and path is expected"
                    raise PatchError(problem)
                checked.append(operation)
                try:
                    self._single.append(jsonpatch.JsonPatch([operation]))
                except self._errors as error:
                    raise self._error(number, error) from None
                # The library sees only when it applies the operation that this is missing.
                needed = _NEEDED.get(str(operation["op"]))
                if needed is not None and needed not in operation:
                    raise self._error(number, ValueError(f"the operation does not contain a '{needed}' member"))
        self._whole = jsonpatch.JsonPatch(checked)
        self._copies = any(operation["op"] == "copy" for operation in checked)

    @property
    def operations(self) -> Sequence[Value]:
        """The operations, in their order."""
        return self._operations

    @property
    def is_secret(self) -> bool:
        """Whether an operation has a value that messages must not show (M6)."""
        return next(hidden_in(self._operations), None) is not None

    def apply(self, document: Object, copies: Copies | None = None) -> Object:
        """The document with all operations applied; it is not changed. Raises PatchError naming the operation.

        `copies` counts what the patches of one resource copy; without it, this patch is the only one. Raises
        KrmMergeError if the patches of a run copy too much.
        """
        copies = copies or Copies()
        try:
            result = self._one_by_one(document, copies) if self._copies else self._whole.apply(document)
        except self._errors:
            # The library does not say which operation it was.
            result = self._one_by_one(document, copies)
        if not isinstance(result, dict):
            raise PatchError(f"the patch leaves {render(result)} in place of the object")
        if is_deeper(result, MAX_DEPTH):
            raise PatchError(f"the patch makes an object that is nested deeper than {MAX_DEPTH} levels")
        return result

    def _one_by_one(self, document: Object, copies: Copies) -> Any:
        """Applies the operations one by one. Raises PatchError naming the first that fails or copies too much."""
        result: Any = deepcopy(document)
        for number, (operation, patch) in enumerate(zip(self._operations, self._single, strict=True)):
            try:
                if problem := self._flaw_of_copy(operation, result, copies):
                    raise self._error(number, ValueError(problem))
                result = patch.apply(result, in_place=True)
            except self._errors as error:
                raise self._error(number, error) from None
        return result

    def _flaw_of_copy(self, operation: Value, document: Any, copies: Copies) -> str:
        """Why an operation must not copy its value, or ''."""
        if not isinstance(operation, dict) or operation["op"] != "copy":
            return ""
        try:
            value = self._pointer(str(operation["from"])).resolve(document)
        except self._errors:
            # The library says what is wrong with it.
            return ""
        return copies.flaw_of(value, MAX_DEPTH)

    def _error(self, number: int, error: Exception) -> PatchError:
        operation = self._operations[number]
        assert isinstance(operation, dict)
        # The place precedes the value: a long value is cut off.
        ordered = {name: operation[name] for name in _ORDER if name in operation} | operation
        wrong = PatchError(f"operation {number + 1}, {shown_operation(ordered)}: {_in_words(error)}")
        wrong.path = field_path(operation.get("path"))
        return wrong


def field_path(pointer: Value) -> FieldPath:
    """The field that a JSON pointer names, as results name fields; nothing for an invalid pointer."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        return ()
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))
    return tuple(int(token) if token.isdecimal() and len(token) < 10 else token for token in tokens)


def _in_words(error: Exception) -> str:
    text = str(error).rstrip(".")
    if len(text) > LONGEST_QUOTE:
        # What the library quotes of the document may be at either end.
        half = LONGEST_QUOTE // 2
        text = f"{text[:half]}...{text[-half:]}"
    return text[:1].lower() + text[1:] if text else type(error).__name__
