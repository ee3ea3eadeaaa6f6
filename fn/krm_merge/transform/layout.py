"""Where crane keeps what it decided about the resources of a directory: a file beside each, in another directory.

Source: crane's internal/file, 2022.
"""

from __future__ import annotations

from posixpath import dirname, join

from krm_merge.transform.operation import Operation
from krm_merge.transform.plugin import Object
from krm_merge.transform.settle import Settlement


def transform_path(path: str) -> str:
    """The JSON patch of what stands."""
    return _beside(path, "transform-")


def whiteout_path(path: str) -> str:
    """An empty file: the resource is left out of what is applied."""
    return _beside(path, ".wh.")


def ignored_path(path: str) -> str:
    """The operations that were ignored, with their plugins."""
    return _beside(path, "ignored-")


def new_path(path: str) -> str:
    """A resource that plugins want added; crane's versions with a directory like this one knew none."""
    return _beside(path, "new-")


def patch_of(settlement: Settlement, hidden: Object) -> list[Object]:
    """What stands as a JSON patch for the resource with the annotations that no plugin saw."""
    return [_with_hidden(one.operation, hidden).to_value() for one in settlement.patch]


def _with_hidden(operation: Operation, hidden: Object) -> Operation:
    if (
        not hidden
        or operation.path != ("metadata", "annotations")
        or operation.kind not in ("add", "replace", "remove")
    ):
        return operation
    value = operation.value if isinstance(operation.value, dict) else {}
    return Operation("replace", operation.path, value={**hidden, **value})


def ignored_operations(settlement: Settlement) -> list[Object]:
    """The form in which crane writes them."""
    return [
        {"PluginName": one.operation.plugin, "Operation": one.operation.operation.to_value()}
        for one in settlement.ignored
    ]


def _beside(path: str, prefix: str) -> str:
    return join(dirname(path), prefix + path[len(dirname(path)) :].lstrip("/"))
