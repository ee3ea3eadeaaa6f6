"""A world for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.hosts import SECONDS
from fleet.world import World
from krm_merge import posix


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.at(tmp_path)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process wait for killed ones as long as a busy machine needs."""
    monkeypatch.setattr(posix, "PATIENCE", SECONDS)
