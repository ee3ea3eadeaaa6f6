"""The functions that one program holds, selected by the kind of the functionConfig."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from krm_merge import krm
from krm_merge.krm import Function, ResourceList
from krm_merge.safe_text import quoted
from krm_merge.text import MappingNode, key_text

if TYPE_CHECKING:
    from krm_merge.functions.pipeline import DeclaredPipeline
    from krm_merge.merge import Document, Member

__all__ = ["dispatch", "process", "read_pipeline"]

API_VERSION = "fn.kpt.dev/v1alpha1"
MERGE_PACKAGE = "MergePackage"
TRANSFORM_RESOURCES = "TransformResources"
# Modules by kind, each with a function of its name: only the one that runs is imported.
KINDS = {
    MERGE_PACKAGE: "merge_package",
    "PatchResources": "patch_resources",
    TRANSFORM_RESOURCES: "transform_resources",
    "PlanComponentUpdates": "plan_component_updates",
}
CONFIG_MAP = "ConfigMap"
FUNCTION_VARIABLE = "KRM_MERGE_FUNCTION"
"""Names the function that a ConfigMap without `data.function` is for: an image of one function sets it."""


def dispatch(resource_list: ResourceList) -> None:
    """Runs the function that the functionConfig names; without one, that of the image, by default MergePackage."""
    _run(resource_list)
    # Names and values in messages come from untrusted packages.
    resource_list.results.escape(as_lines=True)


def _run(resource_list: ResourceList) -> None:
    config = resource_list.function_config
    kind = _text(config, "kind") if config is not None else CONFIG_MAP
    if kind == CONFIG_MAP:
        data = config.get("data") if config is not None else None
        named = _text(data, "function") if isinstance(data, MappingNode) else ""
        kind = named or os.environ.get(FUNCTION_VARIABLE) or MERGE_PACKAGE
        field = "data.function"
    else:
        field = "kind"
    if kind not in KINDS:
        kinds = ", ".join(KINDS)
        resource_list.results.error(
            f"functionConfig: {field} is {quoted(kind) or 'missing'}; choose from {kinds}, or "
            "ConfigMap with data.function",
            path=field,
        )
        return
    if (config is None and kind != MERGE_PACKAGE) or (field == "data.function" and kind == TRANSFORM_RESOURCES):
        problem = "is missing" if config is None else "is a ConfigMap, which has no fields for this function"
        resource_list.results.error(
            f"functionConfig {problem}; give {kind} one with --fn-config, or with configPath in the pipeline"
        )
        return
    function: Function = getattr(import_module(f"krm_merge.functions.{KINDS[kind]}"), KINDS[kind])
    function(resource_list)


def _text(node: MappingNode, field: str) -> str:
    value = node.get(field)
    return key_text(value) if value is not None else ""


def process(data: bytes) -> krm.ProgramOutcome:
    """Runs the function that the functionConfig names on the bytes of a ResourceList."""
    return krm.process(dispatch, data)


def read_pipeline(kptfiles: Sequence[Member], documents: Sequence[Document]) -> DeclaredPipeline | None:
    """The known functions of a package's pipelines (R14); None where there are none."""
    if not any(kptfile.root.get("pipeline") for kptfile in kptfiles):
        # Most merges, the merge driver's among them, do not pay for this import.
        return None
    from krm_merge.functions.pipeline import declared_pipeline

    return declared_pipeline(kptfiles, documents)
