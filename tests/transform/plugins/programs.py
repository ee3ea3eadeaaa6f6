"""Programs that are plugins, and what is left of their processes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pytest

from e2e.hosts import SECONDS, wait_until
from krm_merge.transform import PluginError
from krm_merge.transform.plugins import process as running
from krm_merge.transform.plugins.process import Executable

Data = dict[str, Any]
LATE: Final = f"did not finish within {SECONDS} s and was killed"
POD: Final[Data] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
DONE: Final = """printf '{"version": "v1", "isWhiteOut": true}'"""


@dataclass
class Programs:
    """Writes programs; each appends a line to `starts` first, and can leave numbers of processes in `pids`.

    Each has SECONDS for a request.
    """

    directory: Path

    def shell(self, *lines: str, **settings: Any) -> Executable:
        return self._make("#!/bin/sh", [f"echo start >> {self.directory}/starts", *lines], **settings)

    def python(self, *lines: str, **settings: Any) -> Executable:
        first = f"import json, os, sys, time; print('start', file=open('{self.directory}/starts', 'a'))"
        return self._make(f"#!{sys.executable}", [first, *lines], **settings)

    def _make(
        self,
        interpreter: str,
        lines: list[str],
        name: str = "plugin",
        time_limit: float = SECONDS,
        **limits: Any,
    ) -> Executable:
        file = self.directory / name
        file.write_text("\n".join([interpreter, *lines, ""]))
        file.chmod(0o755)
        return Executable(file, "", time_limit, **limits)

    def passes(self, seconds: int = SECONDS) -> str:
        """A line of the shell with which so many seconds pass on the clock of limits, after a request was read."""
        return f"echo {seconds} >> {self.directory}/clock"

    @property
    def starts(self) -> int:
        return len((self.directory / "starts").read_text().splitlines())

    def assert_all_gone(self, count: int = 1) -> None:
        pids = [int(pid) for pid in (self.directory / "pids").read_text().split()]
        assert len(pids) == count
        wait_until(lambda: not any(map(is_there, pids)))


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def set_clock(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Sets the clock of limits ahead by the numbers in a file, which may come.

    A program is late when it says so: on a busy machine not before it has done what it should not, and at once.
    """

    def clock() -> float:
        return monotonic() + (sum(map(int, file.read_text().split())) if file.exists() else 0)

    monkeypatch.setattr(running, "monotonic", clock)


def error_of(plugin: Executable, request: Data = POD) -> PluginError:
    with pytest.raises(PluginError) as raised:
        plugin.run(request, {})
    return raised.value


LARGE: Final = {**POD, "data": {"text": "x" * 5_000_000}}
