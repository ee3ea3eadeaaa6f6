"""Patches of Kubernetes objects: strategic merge patches, JSON merge patches (RFC 7386), JSON patches (RFC 6902).

All functions take and give plain values (dict, list, str, int, float, bool, None) and change none of their arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.patch.json_patch import JsonPatch, apply_merge, create_merge, create_merge_three_way
    from krm_merge.patch.model import AnyShape, Field, PatchConflictError, PatchError, SchemaShape, Shape, TypeShape
    from krm_merge.patch.strategic.apply import apply
    from krm_merge.patch.strategic.conflicts import have_conflicts
    from krm_merge.patch.strategic.create import create, create_three_way
    from krm_merge.patch.strategic.elements import ListOrder, MergeKeys, Moved, ReplacedList

__all__ = [
    "AnyShape",
    "Field",
    "JsonPatch",
    "ListOrder",
    "MergeKeys",
    "Moved",
    "PatchConflictError",
    "PatchError",
    "ReplacedList",
    "SchemaShape",
    "Shape",
    "TypeShape",
    "apply",
    "apply_merge",
    "create",
    "create_merge",
    "create_merge_three_way",
    "create_three_way",
    "have_conflicts",
]

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "json_patch": "JsonPatch apply_merge create_merge create_merge_three_way",
        "model": "AnyShape Field PatchConflictError PatchError SchemaShape Shape TypeShape",
        "strategic.apply": "apply",
        "strategic.conflicts": "have_conflicts",
        "strategic.create": "create create_three_way",
        "strategic.elements": "ListOrder MergeKeys Moved ReplacedList",
    },
)
