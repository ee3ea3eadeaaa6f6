"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from transform.plugins.programs import Programs


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path, [])
    yield made
    for plugin in made.made:
        plugin.close()
