"""Patches of Kubernetes objects: strategic merge patches, JSON merge patches (RFC 7386), JSON patches (RFC 6902).

All functions take and give plain values (dict, list, str, int, float, bool, None) and change none of their arguments.
"""

from krm_merge.patch.apply import apply
from krm_merge.patch.combine import merge_patches
from krm_merge.patch.conflicts import have_conflicts
from krm_merge.patch.create import create, create_three_way
from krm_merge.patch.errors import PatchConflict, PatchError
from krm_merge.patch.json_merge import apply_merge, create_merge, create_merge_three_way
from krm_merge.patch.json_patch import JsonPatch
from krm_merge.patch.keys import MergeKeys
from krm_merge.patch.moves import Moved
from krm_merge.patch.order import ListOrder
from krm_merge.patch.shape import AnyShape, Field, SchemaShape, Shape, TypeShape

__all__ = [
    "AnyShape",
    "Field",
    "JsonPatch",
    "ListOrder",
    "MergeKeys",
    "Moved",
    "PatchConflict",
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
