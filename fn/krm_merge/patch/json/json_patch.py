"""JSON patches (RFC 6902), by the library jsonpatch."""

from __future__ import annotations

from typing import Any

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.model.errors import PatchError, shown
from krm_merge.text.reading.values import Object, Value

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
        checked: list[Object] = []
        for number, operation in enumerate(operations):
            if not isinstance(operation, dict):
                raise PatchError(f"operation {number + 1} is {shown(operation)}; a map with op and path is expected")
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

    def apply(self, document: Object) -> Object:
        """The document with all operations carried out; it is not changed. Raises PatchError naming the operation."""
        try:
            result = self._whole.apply(document)
        except self._errors:
            # The library does not say which operation it was.
            result = document
            for number, patch in enumerate(self._single):
                try:
                    result = patch.apply(result)
                except self._errors as error:
                    raise self._error(number, error) from None
        if not isinstance(result, dict):
            raise PatchError(f"the patch leaves {shown(result)} in place of the object")
        return result

    def _error(self, number: int, error: Exception) -> PatchError:
        operation = self._operations[number]
        assert isinstance(operation, dict)
        # Where comes before what: a long value is cut off.
        ordered = {name: operation[name] for name in _ORDER if name in operation} | operation
        wrong = PatchError(f"operation {number + 1}, {shown(ordered)}: {_in_words(error)}")
        wrong.path = _field_path(operation.get("path"))
        return wrong


def _field_path(pointer: Value) -> FieldPath:
    """The field that a JSON pointer names, as results name fields; nothing for what is no pointer."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        return ()
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))
    return tuple(int(token) if token.isdecimal() and len(token) < 10 else token for token in tokens)


def _in_words(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:] if text else type(error).__name__
