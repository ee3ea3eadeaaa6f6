"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from e2e.hosts import SECONDS
from functions.transform_resources.plugins import Point, Points, Programs, children
from krm_merge.transform.plugins import limits as own_limits
from krm_merge.transform.plugins import sources as entry_points
from krm_merge.transform.plugins.sources import VARIABLE


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    entries = Points()

    def entry_points_of(*, group: str) -> list[Point]:
        assert group == "krm_merge.transform_plugins"
        return entries.all

    monkeypatch.setattr(entry_points, "entry_points", entry_points_of)
    # A busy machine may take longer than the limit for what is done at once.
    monkeypatch.setattr(entry_points, "limit_plugin", partial(own_limits.limit_plugin, SECONDS))
    return entries


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    directory = Programs(tmp_path / "plugins", tmp_path / "notes")
    directory.directory.mkdir()
    monkeypatch.setenv(VARIABLE, str(directory.directory))
    return directory


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No directory of plugins is known before a test, no process is there after it that was not there before."""
    monkeypatch.delenv(VARIABLE, raising=False)
    before = children()
    yield
    assert children() <= before
