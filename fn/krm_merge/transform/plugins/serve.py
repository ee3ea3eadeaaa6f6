"""The plugin's side: a program that answers a request on stdin. For plugins written in Python."""

from __future__ import annotations

import json
import sys
from typing import BinaryIO, Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.text import Object, Value
from krm_merge.transform.protocol import Plugin, metadata_of

FaultType: TypeAlias = Literal["PluginInvalidIOError", "PluginInvalidInputError", "PluginRunError"]


class PluginFaultError(KrmMergeError):
    """An error in crane's format."""

    def __init__(self, type_: FaultType, message: str, error: str = "") -> None:
        """`error` is the cause."""
        fields = {"type": type_, "message": message, "error": error}
        super().__init__(json.dumps(fields, separators=(",", ":")))


def serve(
    plugin: Plugin,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    stderr: BinaryIO | None = None,
) -> int:
    """Answers the request on stdin; returns the exit code. An error is written to stderr, and the exit code is 1."""
    try:
        answer = _answer(plugin, stdin or sys.stdin.buffer)
    except PluginFaultError as fault:
        (stderr or sys.stderr.buffer).write(str(fault).encode() + b"\n")
        return 1
    (stdout or sys.stdout.buffer).write(answer + b"\n")
    return 0


def _answer(plugin: Plugin, request: BinaryIO) -> bytes:
    try:
        value: Value = json.loads(request.read())
    except OSError as error:
        raise PluginFaultError("PluginInvalidIOError", "stdin cannot be read", str(error)) from None
    except ValueError as error:
        raise PluginFaultError("PluginInvalidInputError", "the request is not JSON", str(error)) from None
    if not isinstance(value, dict):
        raise PluginFaultError("PluginInvalidInputError", "the request is not a Kubernetes object")
    try:
        answer = plugin.run(*_resource(value)) if value else metadata_of(plugin)
        return json.dumps(answer.to_value(), ensure_ascii=False).encode()
    except PluginFaultError:
        raise
    except Exception as error:
        # Report every exception and every invalid answer to the caller.
        raise PluginFaultError("PluginRunError", "the plugin failed", str(error)) from error


def _resource(value: Object) -> tuple[Object, dict[str, str]]:
    """The resource of a request, and the options."""
    extras = value.pop("extras", None)
    if not all(isinstance(value.get(name), str) and value[name] for name in ("apiVersion", "kind")):
        raise PluginFaultError(
            "PluginInvalidInputError", "the request is not a Kubernetes object: apiVersion and kind are expected"
        )
    options: dict[str, str] = {}
    for name, text in extras.items() if isinstance(extras, dict) else ():
        if not isinstance(text, str):
            raise PluginFaultError("PluginInvalidIOError", f"the option {name} is not a string")
        options[name] = text
    return value, options
