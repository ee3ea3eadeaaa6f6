"""Patches of Kubernetes objects: strategic merge patches, JSON merge patches (RFC 7386), JSON patches (RFC 6902).

All functions take and give plain values (dict, list, str, int, float, bool, None) and change none of their arguments.
"""

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
