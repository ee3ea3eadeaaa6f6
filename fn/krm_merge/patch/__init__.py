"""Patches of Kubernetes objects: strategic merge patches, JSON merge patches (RFC 7386), JSON patches (RFC 6902).

All functions take and give plain values (dict, list, str, int, float, bool, None) and change none of their arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_face

if TYPE_CHECKING:
    from krm_merge.patch.json.json_patch import JsonPatch
    from krm_merge.patch.json.merge_patch import apply_merge, create_merge, create_merge_three_way
    from krm_merge.patch.model.errors import PatchConflictError, PatchError
    from krm_merge.patch.model.shape import AnyShape, Field, SchemaShape, Shape, TypeShape
    from krm_merge.patch.strategic.apply import apply
    from krm_merge.patch.strategic.combine import merge_patches
    from krm_merge.patch.strategic.conflicts import have_conflicts
    from krm_merge.patch.strategic.create import create, create_three_way
    from krm_merge.patch.strategic.keys import MergeKeys
    from krm_merge.patch.strategic.moves import Moved
    from krm_merge.patch.strategic.order import ListOrder

__all__ = [
    "AnyShape",
    "Field",
    "JsonPatch",
    "ListOrder",
    "MergeKeys",
    "Moved",
    "PatchConflictError",
    "PatchError",
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
    "merge_patches",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "krm_merge.patch.json.json_patch": "JsonPatch",
        "krm_merge.patch.json.merge_patch": "apply_merge create_merge create_merge_three_way",
        "krm_merge.patch.model.errors": "PatchConflictError PatchError",
        "krm_merge.patch.model.shape": "AnyShape Field SchemaShape Shape TypeShape",
        "krm_merge.patch.strategic.apply": "apply",
        "krm_merge.patch.strategic.combine": "merge_patches",
        "krm_merge.patch.strategic.conflicts": "have_conflicts",
        "krm_merge.patch.strategic.create": "create create_three_way",
        "krm_merge.patch.strategic.keys": "MergeKeys",
        "krm_merge.patch.strategic.moves": "Moved",
        "krm_merge.patch.strategic.order": "ListOrder",
    },
)
