"""KRM functions in Python: ResourceList in, ResourceList out, results beside it.

This room knows the KRM functions specification and nothing of merging.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_face

if TYPE_CHECKING:
    from krm_merge.krm.fieldpath import FieldPath, format_path, parse_path
    from krm_merge.krm.program import ProgramOutcome, process, run
    from krm_merge.krm.resource import Resource, ResourceError
    from krm_merge.krm.resource_list import InputError, ResourceList
    from krm_merge.krm.result import ResourceRef, Result, Results, Severity

__all__ = [
    "FieldPath",
    "InputError",
    "ProgramOutcome",
    "Resource",
    "ResourceError",
    "ResourceList",
    "ResourceRef",
    "Result",
    "Results",
    "Severity",
    "format_path",
    "parse_path",
    "process",
    "run",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "krm_merge.krm.fieldpath": "FieldPath format_path parse_path",
        "krm_merge.krm.program": "ProgramOutcome process run",
        "krm_merge.krm.resource": "Resource ResourceError",
        "krm_merge.krm.resource_list": "InputError ResourceList",
        "krm_merge.krm.result": "ResourceRef Result Results Severity",
    },
)
