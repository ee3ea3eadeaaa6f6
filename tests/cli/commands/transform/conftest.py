"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands.transform.place import Place, replicas
from krm_merge.transform.plugins.sources import VARIABLE


@pytest.fixture
def place(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv(VARIABLE, raising=False)
    return Place(tmp_path, capfd)


@pytest.fixture
def three(place: Place) -> Place:
    """With three plugins that disagree."""
    for number, name in enumerate("abc"):
        place.plugin(f"{name * number}/{name}" if number else name, {"Deployment": {"patches": [replicas(number + 3)]}})
    return place


@pytest.fixture
def two_plugins(place: Place) -> Place:
    fields = [
        {"flagName": "color", "help": "Which one.", "example": "red"},
        {"flagName": "size", "help": "How big."},
    ]
    place.plugin("deep/er/p", {}, name="Painter", version="v2", optionalFields=fields)
    place.plugin("plain", {})
    place.write(**{"plugins/README": "not a program\n"})
    return place
