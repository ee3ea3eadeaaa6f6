"""The files in which crane keeps its decisions about the resources of a directory: one each, in another directory.

Source: crane's internal/file, 2022.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname, join

from krm_merge.text.reading.values import Object
from krm_merge.transform.protocol.operation import PluginOperation


def transform_path(path: str) -> str:
    """The JSON patch of the accepted operations."""
    return _beside(path, "transform-")


def whiteout_path(path: str) -> str:
    """An empty file: the resource is not applied."""
    return _beside(path, ".wh.")


def ignored_path(path: str) -> str:
    """The operations that were ignored, with their plugins."""
    return _beside(path, "ignored-")


def new_path(path: str) -> str:
    """A new resource of plugins; the versions of crane that have this directory do not write it."""
    return _beside(path, "new-")


def ignored_operations(operations: Iterable[PluginOperation]) -> list[Object]:
    """The format in which crane writes them."""
    return [{"PluginName": one.plugin, "Operation": one.operation.to_value()} for one in operations]


def _beside(path: str, prefix: str) -> str:
    return join(dirname(path), prefix + path[len(dirname(path)) :].lstrip("/"))
