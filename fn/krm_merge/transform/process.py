"""Plugins that are programs: crane's protocol, and a faster one of lines. The edge to processes.

A plugin is not trusted: it runs without a shell and without our environment, has a time limit and an output limit, and
is killed with all that it started (T6).
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, ClassVar, Final, Literal, TypeAlias

from krm_merge.text.values import Value
from krm_merge.transform.plugin import Metadata, Object, Options, PluginError, Response

Protocol: TypeAlias = Literal["crane/v1", "jsonl/v1"]
"""crane/v1: a process for each request, which ends with stdin. jsonl/v1: one process, requests and answers by lines."""

TIME_LIMIT: Final = 10.0
OUTPUT_LIMIT: Final = 16 * 1024 * 1024
_STDERR_KEPT = 2000
_CHUNK = 1 << 16
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_ENDS_US = (signal.SIGTERM, signal.SIGHUP)
# Half a character, written as an escape.
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


@dataclass(slots=True)
class Executable:
    """A plugin that is a program. `time_limit` is in seconds, for one request.

    What is not given, the plugin's metadata tell. Close it after use: it may keep a process.
    """

    file: Path
    given_name: str = ""
    given_protocol: Protocol | None = None
    time_limit: float = TIME_LIMIT
    output_limit: int = OUTPUT_LIMIT
    only_reads: ClassVar = True
    _metadata: Metadata | None = None
    _conversation: _Process | None = None
    _broken: PluginError | None = None

    @property
    def name(self) -> str:
        """The name given, else that of its metadata, else that of its file (T11). Raises PluginError."""
        return self.given_name or self.metadata.name or self.file.name

    @property
    def metadata(self) -> Metadata:
        """What the plugin tells of itself. Raises PluginError."""
        if self._metadata is None:
            self._metadata = Metadata.read(_read(self._once(b"{}")))
        return self._metadata

    @property
    def protocol(self) -> Protocol:
        """How to talk to it. Raises PluginError."""
        if self.given_protocol is not None:
            return self.given_protocol
        return "jsonl/v1" if "jsonl/v1" in self.metadata.protocols else "crane/v1"

    def run(self, resource: Object, options: Options) -> Response:
        """Asks the plugin. Raises PluginError.

        After it once missed its time limit or flooded us, it is not asked again: the rest of the package would cost
        the limit for each resource.
        """
        if self._broken is not None:
            raise self._broken
        request = json.dumps({**resource, "extras": dict(options) or None}).encode()
        answer = _read(self._ask(request) if self.protocol == "jsonl/v1" else self._once(request))
        if self.protocol == "jsonl/v1" and isinstance(answer, dict) and "error" in answer:
            raise _told(answer["error"]) or PluginError("answered with an error that cannot be read")
        return Response.read(answer)

    def close(self) -> None:
        """Ends the process that may still be there."""
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
        """A request to the process that stays."""
        if self._conversation is None:
            self._conversation = self._started()
        process = self._conversation
        try:
            answer = process.exchange(request + b"\n", self.output_limit, line=True)
            if answer.endswith(b"\n"):
                return answer
            # It ended: what it wrote to stderr is the better message.
            self._broken = process.failure(process.wait())
        except PluginError as error:
            self._broken = error
        self.close()
        raise self._broken

    def _started(self) -> _Process:
        try:
            return _Process(self.file.absolute(), self.time_limit)
        except OSError as error:
            raise PluginError(f"cannot be started: {error.strerror or error}") from None


class _Process:
    """A running plugin in a session of its own. `time_limit` is in seconds, for one request and all that follows it."""

    def __init__(self, file: Path, time_limit: float) -> None:
        _watch.begin()
        self._others = _children()
        try:
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
        except OSError:
            _watch.end()
            raise
        self._time_limit = time_limit
        self._deadline = 0.0
        self._stderr = b""
        _sessions.add(self._process.pid)
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def _pipes(self) -> list[IO[bytes]]:
        return [pipe for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe is not None]

    def exchange(self, request: bytes, output_limit: int, *, line: bool) -> bytes:
        """Sends a request; gives the answer: the next line, or all that comes. Raises PluginError at the limits.

        A line that ends without its newline says that the plugin ended.
        """
        stdin, stdout, stderr = self._pipes
        self._deadline = time.monotonic() + self._time_limit
        answer = bytearray()
        waiting = memoryview(request)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            if line and any(key.fileobj is stdout for key, _ in selector.select(0)):
                if not os.read(stdout.fileno(), 1):
                    return b""
                # Answers and questions would get out of step.
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
                ready = selector.select(remaining) if remaining else []
                if not ready:
                    raise self._too_late()
                for key, _ in ready:
                    if key.fileobj is stdin:
                        waiting = self._send(stdin, waiting)
                        if not waiting:
                            selector.unregister(stdin)
                            if not line:
                                stdin.close()
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
    def _send(stdin: IO[bytes], waiting: memoryview) -> memoryview:
        try:
            return waiting[os.write(stdin.fileno(), waiting[:_CHUNK]) :]
        except BrokenPipeError:
            # It need not read all; what it answers counts.
            return memoryview(b"")

    def wait(self) -> int:
        """The exit code. Raises PluginError where the plugin does not end in time although it closed its output."""
        try:
            return self._process.wait(self._remaining)
        except subprocess.TimeoutExpired:
            raise self._too_late() from None

    @property
    def _remaining(self) -> float:
        """The seconds that are left of the limit."""
        return max(0.0, self._deadline - time.monotonic())

    def _too_late(self) -> PluginError:
        return PluginError(f"did not finish within {self._time_limit:g} s and was killed")

    def _read_stderr(self) -> None:
        """What it wrote there before it ended, and nobody read."""
        stderr = self._pipes[2]
        with suppress(BlockingIOError, ValueError):
            while data := os.read(stderr.fileno(), _CHUNK):
                self._stderr = (self._stderr + data)[-_STDERR_KEPT:]

    def failure(self, code: int) -> PluginError:
        """What is told of a plugin that ended with this code."""
        self._read_stderr()
        stderr = self._stderr.decode("utf-8", "replace").strip()
        with suppress(ValueError):
            if (told := _told(json.loads(stderr))) is not None:
                return told
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        return PluginError(how, detail=stderr)

    def end(self) -> bool:
        """Ends the plugin and all that it started; whether anything was left of it when it had ended itself."""
        ended = self._process.poll() is not None
        _kill_group(self._process.pid)
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()
        _sessions.discard(self._process.pid)
        # Whoever left the group came to us when its parent died.
        had_strays = _end_strays(self._others)
        _watch.end()
        return had_strays and ended


def _read(answer: bytes) -> Value:
    try:
        value: Value = json.loads(answer, parse_constant=_no_json, parse_float=_finite)
        if _SURROGATE.search(answer):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        # What it says may hold what it was asked about, a Secret for one.
        raise PluginError(f"answered with {'what is no JSON' if answer.strip() else 'nothing at all'}") from None
    return value


def _no_json(text: str) -> Value:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else float(_no_json(text))  # type: ignore[arg-type]


def _told(value: Value) -> PluginError | None:
    """The error that a plugin tells in crane's form."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    type_, message, detail = (str(value.get(name) or "") for name in ("type", "message", "error"))
    return PluginError(message, type_, detail)


# The sessions of plugins that run; each leads its own.
_sessions: set[int] = set()


def _ours() -> set[int]:
    """The sessions that are none of a plugin's strays: ours, with all that we start otherwise, and other plugins'."""
    return {os.getsid(0), *_sessions}


def _session(process: int) -> int:
    """The session of a process; 0, which is nobody's, where it is gone."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return 0


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _end_strays(others: set[int]) -> bool:
    """Kills who left a plugin's session: our children, but others, in a session that is neither ours nor a plugin's."""
    found = False
    while strays := {child for child in _children() - others if _session(child) not in _ours()}:
        for stray in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray, signal.SIGKILL)
            with suppress(ChildProcessError):
                _, status = os.waitpid(stray, 0)
                found = found or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    return found


class _Watch:
    """While plugins run, nothing of them is left behind: we adopt their orphans, and no signal ends us without them."""

    def __init__(self) -> None:
        self._was_so = 0
        self._others: set[int] = set()
        self._signals: list[signal.Signals] = []

    def begin(self) -> None:
        """For the first plugin that runs."""
        if not _sessions:
            was_so = ctypes.c_int(0)
            self._call(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was_so))
            self._was_so = was_so.value
            self._call(_PR_SET_CHILD_SUBREAPER, 1)
            self._others = _children()
            # Whoever handles or ignores one knows what to do. Only the main thread may handle any.
            self._signals = [number for number in _ENDS_US if signal.getsignal(number) == signal.SIG_DFL]
            self._on_signals(self._end_all)

    def end(self) -> None:
        """For the last one. Orphans of other programs are none of ours."""
        if not _sessions:
            self._on_signals(signal.SIG_DFL)
            self._call(_PR_SET_CHILD_SUBREAPER, self._was_so)

    def _on_signals(self, action: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        with suppress(ValueError):
            for number in self._signals:
                signal.signal(number, action)

    def _end_all(self, number: int, _: FrameType | None) -> None:
        """Plugins have sessions of their own: what ends us does not reach them (T6)."""
        for leader in _sessions:
            _kill_group(leader)
            with suppress(ChildProcessError):
                os.waitpid(leader, 0)
        _sessions.clear()
        _end_strays(self._others)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The first process of a container lives on.
        os._exit(128 + number)

    @staticmethod
    def _call(option: int, argument: object) -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


_watch = _Watch()


def _children() -> set[int]:
    """The processes whose parent we are; none where the system does not tell."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return set()
    return {int(child) for child in listed.split()}
