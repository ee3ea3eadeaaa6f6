"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from functions.transform_resources.plugins import Points, Programs, children
from krm_merge.functions import transform_config
from krm_merge.functions.models import PluginModel
from krm_merge.transform import Plugin
from krm_merge.transform.plugins.sources import VARIABLE, PluginDirectory


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    points, plugin_of = Points(), transform_config._plugin

    def plugin_or_point(model: PluginModel, directory: PluginDirectory) -> Plugin:
        file = model.exec.file if model.exec is not None else ""
        if file in points.all:
            return replace(points.all[file], name=model.name or file)
        return plugin_of(model, directory)

    monkeypatch.setattr(transform_config, "_plugin", plugin_or_point)
    return points


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
