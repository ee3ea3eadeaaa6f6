"""The functions that one program holds, selected by the kind of the functionConfig."""

from __future__ import annotations

from krm_merge.functions.dispatch import dispatch
from krm_merge.krm import program
from krm_merge.krm.program import ProgramOutcome

__all__ = ["dispatch", "process"]


def process(data: bytes) -> ProgramOutcome:
    """Runs the function that the functionConfig names on the bytes of a ResourceList."""
    return program.process(dispatch, data)
