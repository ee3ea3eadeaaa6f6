"""Fixtures of these tests."""

from __future__ import annotations

import pytest

from krm_merge.packages.files.journal import Journal


@pytest.fixture(autouse=True)
def known_on_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests copy packages with their journals, which a journal takes for a forged one."""
    monkeypatch.setattr(Journal, "_identity", lambda _: [1, 2])
