"""The functions that one program holds, selected by the kind of the functionConfig."""

from __future__ import annotations

from krm_merge import krm
from krm_merge.functions.dispatch import dispatch

__all__ = ["dispatch", "process"]


def process(data: bytes) -> krm.ProgramOutcome:
    """Runs the function that the functionConfig names on the bytes of a ResourceList."""
    return krm.process(dispatch, data)
