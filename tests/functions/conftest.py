"""Fixtures for the tests of several kinds of functionConfig."""

from __future__ import annotations

import os

import pytest

from krm_merge.krm import program


@pytest.fixture
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    monkeypatch.setattr(program, "processors", lambda: 3)
