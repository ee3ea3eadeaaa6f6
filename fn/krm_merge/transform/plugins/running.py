"""Runs a plugin as a process without a shell and our environment, within limits (T6). The edge to processes."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO

from krm_merge import interrupts
from krm_merge.posix import require_process_groups
from krm_merge.transform.plugins.answers import reported_error
from krm_merge.transform.plugins.usage import MEMORY_LIMIT, PROCESS_LIMIT, limit_memory, usage_of
from krm_merge.transform.plugins.watch import children, end_strays, kill_group, sessions, watch
from krm_merge.transform.protocol.plugin import PluginError

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

    def _read_stderr(self) -> None:
        """The unread rest of its output."""
        stderr = self._pipes[2]
        with suppress(BlockingIOError, ValueError):
            while data := os.read(stderr.fileno(), _CHUNK):
                self._stderr = (self._stderr + data)[-_STDERR_KEPT:]

    def failure(self, code: int) -> PluginError:
        """The message for a plugin that ended with this code."""
        self._read_stderr()
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
