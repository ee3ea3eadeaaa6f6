"""Plugins that are programs, run without a shell and within limits; what they print hides secrets (T6, M6).

A plugin is not trusted: its time, output, memory and processes have limits, and it is killed with all its
processes (T6).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import re
import selectors
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, ClassVar, Final, Literal, TypeAlias

from krm_merge import interrupts
from krm_merge.posix import require_process_groups
from krm_merge.safe_text import REDACTED, quoted
from krm_merge.schema import hidden_in
from krm_merge.text import Object, Value
from krm_merge.transform.plugins.limits import (
    MEMORY_LIMIT,
    PROCESS_LIMIT,
    TIME_LIMIT,
    children,
    end_strays,
    kill_group,
    limit_memory,
    sessions,
    usage_of,
    watch,
)
from krm_merge.transform.protocol import Metadata, Options, PluginError, Response

_SHORTEST: Final = 4
"""Least length of a hidden value: shorter ones also occur in unrelated words."""
_SHORTEST_END: Final = 7


class Secrets:
    """Secret values, encoded and decoded."""

    def __init__(self) -> None:
        """Starts empty."""
        self._values: set[str] = set()

    def add(self, resource: Object) -> None:
        """Records the secret values of a resource."""
        for value in hidden_in(resource):
            for leaf in _texts(value):
                self._values |= {part for text in _forms(leaf) for part in (text, *text.splitlines())}

    def hidden_in(self, text: str) -> str:
        """The text without these values, including the end of a value whose beginning was cut off."""
        for value in sorted(self._values, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                text = text.replace(value, REDACTED)
            end = next((value[at:] for at in range(1, len(value) - _SHORTEST_END) if value[at:] in text), "")
            text = text.replace(end, REDACTED) if end else text
        return text


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _forms(value: str) -> list[str]:
    """A value, what it encodes, and its encoding."""
    forms = [value, value.strip(), base64.b64encode(value.encode()).decode()]
    with suppress(binascii.Error, UnicodeDecodeError, ValueError):
        decoded = base64.b64decode(value, validate=True).decode()
        forms += [decoded, decoded.strip()]
    return forms


# An escaped lone surrogate.
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


def read_answer(answer: bytes) -> Value:
    """The JSON that a plugin answered. Raises PluginError."""
    try:
        value: Value = json.loads(answer, parse_constant=_no_json, parse_float=_finite)
        if _SURROGATE.search(answer):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        # The answer may quote the resource, which may be a Secret.
        raise PluginError(f"answered with {'invalid JSON' if answer.strip() else 'nothing'}") from None
    return value


def _no_json(text: str) -> Value:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else float(_no_json(text))  # type: ignore[arg-type]


def reported_error(value: Value) -> PluginError | None:
    """The error of a plugin in crane's format."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    type_, message, detail = (str(value.get(name) or "") for name in ("type", "message", "error"))
    return PluginError(message, type_, detail)


_STDERR_KEPT = 2000
_CHUNK = 1 << 16
_LOOK_EVERY = 0.1
"""Seconds between two measurements of a plugin's usage."""


class Running:
    """A running plugin in its own session. `time_limit` is in seconds, for one request until its end.

    `memory_limit`, in bytes, and `process_limit` are for the plugin and all its processes together.
    """

    def __init__(
        self,
        file: Path,
        time_limit: float,
        memory_limit: int = MEMORY_LIMIT,
        process_limit: int = PROCESS_LIMIT,
    ) -> None:
        """Starts it. Raises OSError, UnsupportedSystemError."""
        require_process_groups("a plugin")
        watch.begin()
        self._others = children()
        try:
            # A signal that arrives while it starts would leave a plugin that nobody knows.
            with interrupts.held():
                self._process = subprocess.Popen(
                    [file],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd="/",
                    env={},
                    start_new_session=True,
                    bufsize=0,
                )
                sessions.add(self._process.pid)
        except OSError:
            watch.end()
            raise
        limit_memory(self._process.pid, memory_limit)
        self._time_limit = time_limit
        self._memory_limit = memory_limit
        self._process_limit = process_limit
        self._looked = 0.0
        self._deadline = 0.0
        self._stderr = b""
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def _pipes(self) -> list[IO[bytes]]:
        return [pipe for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe is not None]

    def exchange(self, request: bytes, output_limit: int, *, line: bool) -> bytes:
        """Sends a request and returns the answer: the next line, or all output. Raises PluginError at the limits.

        A line that ends without its newline says that the plugin ended.
        """
        stdin, stdout, stderr = self._pipes
        self._deadline = monotonic() + self._time_limit
        answer = bytearray()
        waiting = memoryview(request)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            if line and any(key.fileobj is stdout for key, _ in selector.select(0)):
                if not os.read(stdout.fileno(), 1):
                    return b""
                # Later answers would not match their requests.
                raise PluginError("wrote without being asked and was killed")
            if not stderr.closed:
                selector.register(stderr, selectors.EVENT_READ)
            while True:
                if line and (end := answer.find(b"\n")) >= 0:
                    if end + 1 < len(answer):
                        raise PluginError("answered with more than one line and was killed")
                    return bytes(answer)
                if stdout not in selector.get_map() and (line or stderr not in selector.get_map()):
                    return bytes(answer)
                remaining = self._remaining
                if not remaining:
                    raise self._too_late()
                ready = selector.select(min(remaining, _LOOK_EVERY))
                self._look()
                for key, _ in ready:
                    if key.fileobj is stdin:
                        waiting = self._send(stdin, waiting)
                        if not waiting:
                            selector.unregister(stdin)
                            self._end_requests(stdin, more_follow=line)
                        continue
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stdout:
                        answer += data
                    else:
                        self._stderr = (self._stderr + data)[-_STDERR_KEPT:]
                if len(answer) > output_limit:
                    raise PluginError(f"wrote more than {output_limit:,} bytes and was killed")

    @staticmethod
    def _end_requests(stdin: IO[bytes], *, more_follow: bool) -> None:
        if not more_follow:
            stdin.close()

    @staticmethod
    def _send(stdin: IO[bytes], waiting: memoryview) -> memoryview:
        try:
            return waiting[os.write(stdin.fileno(), waiting[:_CHUNK]) :]
        except BrokenPipeError:
            # It may end without reading all; only its answer counts.
            return memoryview(b"")

    def wait(self) -> int:
        """The exit code. Raises PluginError if the plugin closed its output but does not end in time."""
        while True:
            remaining = self._remaining
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(min(remaining, _LOOK_EVERY))
            if not remaining:
                raise self._too_late()
            self._look()

    def _look(self) -> None:
        """Measures the plugin's usage regularly. Raises PluginError if it exceeds a limit."""
        now = monotonic()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        usage = usage_of(self._process.pid, self._others | sessions)
        if usage.processes > self._process_limit:
            raise PluginError(f"started more than {self._process_limit - 1} processes and was killed")
        if usage.memory > self._memory_limit:
            raise PluginError(f"used more than {self._memory_limit >> 20:,} MiB of memory and was killed")

    @property
    def _remaining(self) -> float:
        """The seconds that are left of the limit."""
        return max(0.0, self._deadline - monotonic())

    def _too_late(self) -> PluginError:
        return PluginError(f"did not finish within {self._time_limit:g} s and was killed")

    def failure(self, code: int) -> PluginError:
        """The message for a plugin that ended with this code."""
        with suppress(BlockingIOError, ValueError):
            # What is still unread.
            while data := os.read(self._pipes[2].fileno(), _CHUNK):
                self._stderr = (self._stderr + data)[-_STDERR_KEPT:]
        stderr = self._stderr.decode("utf-8", "replace").strip()
        with suppress(ValueError):
            if (error := reported_error(json.loads(stderr))) is not None:
                return error
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        return PluginError(how, detail=stderr)

    def end(self) -> bool:
        """Ends the plugin and its processes. Returns whether any of them outlived the plugin."""
        ended = self._process.poll() is not None
        kill_group(self._process.pid)
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()
        sessions.discard(self._process.pid)
        # A process that left the group is re-parented to us when its parent dies (subreaper).
        had_strays = end_strays(self._others)
        watch.end()
        return had_strays and ended


Protocol: TypeAlias = Literal["crane/v1", "jsonl/v1"]
"""crane/v1: a process for each request, which ends with stdin. jsonl/v1: one process, requests and answers by lines."""

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
        process = self._start()
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
            self._conversation = self._start()
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

    def _start(self) -> Running:
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
