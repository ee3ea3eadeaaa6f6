"""KRM functions in Python: ResourceList in, ResourceList out, results beside it.

This layer knows the KRM functions specification and nothing of merging.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.krm.identity import ANY as ANY
    from krm_merge.krm.identity import KPTFILE as KPTFILE
    from krm_merge.krm.identity import KPTFILE_GROUP as KPTFILE_GROUP
    from krm_merge.krm.identity import NO_RESOURCE as NO_RESOURCE
    from krm_merge.krm.identity import FieldPath, format_path, parse_path
    from krm_merge.krm.identity import Identity as Identity
    from krm_merge.krm.identity import Step as Step
    from krm_merge.krm.identity import covers as covers
    from krm_merge.krm.identity import flaw_of as flaw_of
    from krm_merge.krm.identity import generate_name_of as generate_name_of
    from krm_merge.krm.identity import identity_of as identity_of
    from krm_merge.krm.identity import is_list as is_list
    from krm_merge.krm.identity import list_items as list_items
    from krm_merge.krm.identity import value_at as value_at
    from krm_merge.krm.program import Docs as Docs
    from krm_merge.krm.program import Function as Function
    from krm_merge.krm.program import ProgramOutcome, process, run
    from krm_merge.krm.program import in_parallel as in_parallel
    from krm_merge.krm.program import processors as processors
    from krm_merge.krm.resource import ID_ANNOTATIONS as ID_ANNOTATIONS
    from krm_merge.krm.resource import INDEX as INDEX
    from krm_merge.krm.resource import LEGACY_INDEX as LEGACY_INDEX
    from krm_merge.krm.resource import LEGACY_PATH as LEGACY_PATH
    from krm_merge.krm.resource import PACKAGE_PATH as PACKAGE_PATH
    from krm_merge.krm.resource import PATH as PATH
    from krm_merge.krm.resource import Resource, ResourceError
    from krm_merge.krm.resource_list import InputError, ResourceList
    from krm_merge.krm.result import ResourceRef, Result, Results, Severity
    from krm_merge.krm.selector import Pattern as Pattern
    from krm_merge.krm.selector import Selector as Selector
    from krm_merge.krm.selector import Target as Target
    from krm_merge.krm.selector import TargetNames as TargetNames
    from krm_merge.krm.selector import Targets as Targets
    from krm_merge.krm.selector import pattern_of as pattern_of
    from krm_merge.krm.validation import DocumentModel as DocumentModel
    from krm_merge.krm.validation import StrictModel as StrictModel
    from krm_merge.krm.validation import check as check
    from krm_merge.krm.validation import too_many as too_many
    from krm_merge.krm.validation import validate as validate

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

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "identity": "ANY FieldPath Identity KPTFILE KPTFILE_GROUP NO_RESOURCE Step covers flaw_of "
        "format_path generate_name_of identity_of is_list list_items parse_path value_at",
        "program": "Docs Function ProgramOutcome in_parallel process processors run",
        "resource": "ID_ANNOTATIONS INDEX LEGACY_INDEX LEGACY_PATH PACKAGE_PATH PATH Resource ResourceError",
        "resource_list": "InputError ResourceList",
        "result": "ResourceRef Result Results Severity",
        "selector": "Pattern Selector Target TargetNames Targets pattern_of",
        "validation": "DocumentModel StrictModel check too_many validate",
    },
)
