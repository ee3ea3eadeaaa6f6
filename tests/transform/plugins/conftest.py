"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from transform.plugins.programs import Programs, set_clock


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    set_clock(monkeypatch, tmp_path / "clock")
    return Programs(tmp_path)
