"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from transform.plugins.programs import Programs, set_clock


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    factory = Programs(tmp_path, [])
    set_clock(monkeypatch, tmp_path / "clock")
    yield factory
    for plugin in factory.plugins:
        plugin.close()
