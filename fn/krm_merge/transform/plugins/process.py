"""Plugins that are programs, run without a shell and within limits; what they print hides secrets (T6, M6).

Its time, its output and the memory of each of its processes have limits, and it is killed with its process group (T6).
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Final

from krm_merge import interrupts
from krm_merge.posix import require_process_groups
from krm_merge.safe_text import REDACTED
from krm_merge.schema import hidden_in
from krm_merge.text import Object, Value
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


def read_answer(answer: bytes) -> Value:
    """The JSON that a plugin answered. Raises PluginError."""
    try:
        value: Value = json.loads(answer)
        # Python reads what JSON does not have: NaN, infinite numbers, halves of characters.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        # The answer may quote the resource, which may be a Secret.
        raise PluginError(f"answered with {'invalid JSON' if answer.strip() else 'nothing'}") from None
    return value


def reported_error(value: Value) -> PluginError | None:
    """The error of a plugin in crane's format."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    type_, message, detail = (str(value.get(name) or "") for name in ("type", "message", "error"))
    return PluginError(message, type_, detail)


_STDERR_KEPT = 2000
_CHUNK = 1 << 16
_LOOK_EVERY = 0.1
"""Seconds between two looks at the time."""

TIME_LIMIT: Final = 10.0
"""Seconds that a plugin may take for one request."""
OUTPUT_LIMIT: Final = 16 * 1024 * 1024
MEMORY_LIMIT: Final = 1 << 30
"""Bytes of memory that each process of a plugin may have."""


@dataclass(slots=True)
class _Running:
    """A plugin that answers one request. `deadline` is when its time is over; `stderr` is the end of what it wrote."""

    process: subprocess.Popen[bytes]
    time_limit: float
    deadline: float
    stderr: bytes = b""

    def answer(self, request: bytes, output_limit: int) -> bytes:
        """Sends the request and returns all output. Raises PluginError at the limits."""
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        answer = bytearray()
        waiting = memoryview(request)
        with selectors.DefaultSelector() as selector:
            for pipe, event in (
                (stdin, selectors.EVENT_WRITE),
                (stdout, selectors.EVENT_READ),
                (stderr, selectors.EVENT_READ),
            ):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            while stdout in selector.get_map() or stderr in selector.get_map():
                if not (remaining := self._remaining):
                    raise self._too_late()
                for key, _ in selector.select(min(remaining, _LOOK_EVERY)):
                    if key.fileobj is stdin:
                        waiting = _send(stdin, waiting)
                        if not waiting:
                            selector.unregister(stdin)
                            stdin.close()
                        continue
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stdout:
                        answer += data
                    else:
                        self.stderr = (self.stderr + data)[-_STDERR_KEPT:]
                if len(answer) > output_limit:
                    raise PluginError(f"wrote more than {output_limit:,} bytes and was killed")
        return bytes(answer)

    def wait(self) -> int:
        """The exit code. Raises PluginError if the plugin closed its output but does not end in time."""
        while remaining := self._remaining:
            with suppress(subprocess.TimeoutExpired):
                return self.process.wait(min(remaining, _LOOK_EVERY))
        raise self._too_late()

    @property
    def _remaining(self) -> float:
        """The seconds that are left of the limit."""
        return max(0.0, self.deadline - monotonic())

    def _too_late(self) -> PluginError:
        return PluginError(f"did not finish within {self.time_limit:g} s and was killed")

    def failure(self, code: int) -> PluginError:
        """The message for a plugin that ended with this code."""
        stderr = self.stderr.decode("utf-8", "replace").strip()
        with suppress(ValueError):
            if (error := reported_error(json.loads(stderr))) is not None:
                return error
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        return PluginError(how, detail=stderr)


def _send(stdin: IO[bytes], waiting: memoryview) -> memoryview:
    try:
        return waiting[os.write(stdin.fileno(), waiting[:_CHUNK]) :]
    except BrokenPipeError:
        # It may end without reading all; only its answer counts.
        return memoryview(b"")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills a plugin and the processes in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _limit_memory(process: int, limit: int) -> None:
    """Limits the memory of a process, and of each process that it starts."""
    import resource

    if hasattr(resource, "prlimit"):
        # Reserved memory does not count: programs in Go reserve much.
        with suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_DATA, (limit, limit))


@dataclass(slots=True)
class Executable:
    """A plugin that is a program, with a process for each request.

    `time_limit` is in seconds, for one request; the other limits are bytes. Missing values are read from the plugin's
    metadata.
    """

    file: Path
    given_name: str = ""
    time_limit: float = TIME_LIMIT
    output_limit: int = OUTPUT_LIMIT
    memory_limit: int = MEMORY_LIMIT
    _metadata: Metadata | None = None
    _broken: PluginError | None = None

    @property
    def name(self) -> str:
        """The configured name, else the name in its metadata, else that of its file (T11). Raises PluginError."""
        return self.given_name or self.metadata.name or self.file.name

    @property
    def metadata(self) -> Metadata:
        """The metadata that the plugin reports. Raises PluginError."""
        if self._metadata is None:
            self._metadata = Metadata.read(read_answer(self._ask(b"{}")))
        return self._metadata

    def run(self, resource: Object, options: Options) -> Response:
        """Sends a request to the plugin. Raises PluginError.

        After it exceeds its limit of time or output once, it is not called again: every further resource would cost
        the limit again.
        """
        if self._broken is not None:
            raise self._broken
        return Response.read(read_answer(self._ask(json.dumps({**resource, "extras": dict(options) or None}).encode())))

    def _ask(self, request: bytes) -> bytes:
        process = None
        try:
            # A signal that arrives while it starts would leave a plugin that nobody knows.
            with interrupts.held():
                process = self._start()
            _limit_memory(process.pid, self.memory_limit)
            running = _Running(process, self.time_limit, monotonic() + self.time_limit)
            answer = running.answer(request, self.output_limit)
            code = running.wait()
        except PluginError as error:
            self._broken = error
            raise
        finally:
            if process is not None:
                _end(process)
        if code:
            raise running.failure(code)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        """Starts it in a session of its own. Raises PluginError, UnsupportedSystemError."""
        require_process_groups("a plugin")
        try:
            return subprocess.Popen(
                [self.file.absolute()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env={},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            is_there = isinstance(error, FileNotFoundError) and self.file.exists()
            remedy = "; give it what its first line or its loader names, with LF as line ends" if is_there else ""
            raise PluginError(f"cannot be started: {error.strerror}{remedy}") from None
