"""Plugins that are programs: crane's protocol, and a faster one of lines.

A plugin is not trusted: its time, output, memory and processes have limits, and it is killed with all its
processes (T6).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias

from krm_merge.harmless import quoted
from krm_merge.text.reading.values import Object
from krm_merge.transform.plugins.answers import read_answer, reported_error
from krm_merge.transform.plugins.running import Running
from krm_merge.transform.plugins.usage import MEMORY_LIMIT, PROCESS_LIMIT
from krm_merge.transform.protocol.plugin import Metadata, Options, PluginError, Response

Protocol: TypeAlias = Literal["crane/v1", "jsonl/v1"]
"""crane/v1: a process for each request, which ends with stdin. jsonl/v1: one process, requests and answers by lines."""

TIME_LIMIT: Final = 10.0
OUTPUT_LIMIT: Final = 16 * 1024 * 1024
_LONGEST_FIRST_LINE: Final = 256
"""Bytes in which Linux looks for an interpreter."""


@dataclass(slots=True)
class Executable:
    """A plugin that is a program.

    `time_limit` is in seconds, for one request; the other limits are bytes and processes.

    Missing values are read from the plugin's metadata. Close it after use: it may keep a process.
    """

    file: Path
    given_name: str = ""
    given_protocol: Protocol | None = None
    time_limit: float = TIME_LIMIT
    output_limit: int = OUTPUT_LIMIT
    memory_limit: int = MEMORY_LIMIT
    process_limit: int = PROCESS_LIMIT
    only_reads: ClassVar = True
    _metadata: Metadata | None = None
    _conversation: Running | None = None
    _broken: PluginError | None = None

    @property
    def name(self) -> str:
        """The configured name, else the name in its metadata, else that of its file (T11). Raises PluginError."""
        return self.given_name or self.metadata.name or self.file.name

    @property
    def metadata(self) -> Metadata:
        """The metadata that the plugin reports. Raises PluginError."""
        if self._metadata is None:
            self._metadata = Metadata.read(read_answer(self._once(b"{}")))
        return self._metadata

    @property
    def protocol(self) -> Protocol:
        """The protocol of the plugin. Raises PluginError."""
        if self.given_protocol is not None:
            return self.given_protocol
        return "jsonl/v1" if "jsonl/v1" in self.metadata.protocols else "crane/v1"

    def run(self, resource: Object, options: Options) -> Response:
        """Sends a request to the plugin. Raises PluginError.

        After it exceeds its limit of time or output once, it is not called again: every further resource would cost
        the limit again.
        """
        if self._broken is not None:
            raise self._broken
        request = json.dumps({**resource, "extras": dict(options) or None}).encode()
        answer = read_answer(self._ask(request) if self.protocol == "jsonl/v1" else self._once(request))
        if self.protocol == "jsonl/v1" and isinstance(answer, dict) and "error" in answer:
            raise reported_error(answer["error"]) or PluginError("answered with an error that cannot be read")
        return Response.read(answer)

    def close(self) -> None:
        """Ends the process if it is still running."""
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None

    def _once(self, request: bytes) -> bytes:
        """A process for one request."""
        process = self._started()
        try:
            answer = process.exchange(request, self.output_limit, line=False)
            code = process.wait()
        except PluginError as error:
            self._broken = error
            raise
        finally:
            left = process.end()
        if code:
            raise process.failure(code)
        if left:
            self._broken = PluginError("left a process behind, which was killed")
            raise self._broken
        return answer

    def _ask(self, request: bytes) -> bytes:
        """Sends a request to the lasting process."""
        if self._conversation is None:
            self._conversation = self._started()
        process = self._conversation
        try:
            answer = process.exchange(request + b"\n", self.output_limit, line=True)
            if answer.endswith(b"\n"):
                return answer
            # It ended: its stderr is the better message.
            self._broken = process.failure(process.wait())
        except PluginError as error:
            self._broken = error
        self.close()
        raise self._broken

    def _started(self) -> Running:
        try:
            return Running(self.file.absolute(), self.time_limit, self.memory_limit, self.process_limit)
        except OSError as error:
            raise PluginError(f"cannot be started: {self._obstacle(error)}") from None

    def _obstacle(self, error: OSError) -> str:
        """Why the system did not start it. Where a file is missing that is there, what runs it is."""
        first = ""
        with suppress(OSError), self.file.open("rb") as opened:
            first = opened.readline(_LONGEST_FIRST_LINE).decode(errors="replace").rstrip("\n")
        if not first or not isinstance(error, FileNotFoundError):
            return error.strerror or str(error)
        if not first.startswith("#!"):
            return "the loader of its shared libraries is missing; link it statically, or install what it needs"
        interpreter = first[2:].lstrip(" \t").replace("\t", " ").partition(" ")[0]
        remedy = (
            "end its lines with LF" if interpreter.endswith("\r") else "name one that is installed, by its whole path"
        )
        return f"its first line names the interpreter {quoted(interpreter)!r}, which does not exist; {remedy}"
