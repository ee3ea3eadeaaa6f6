"""Which lists are keyed and by which fields, which fields are alternatives, which stay as they are locally."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.schema.builtin import ObjectListSchema as ObjectListSchema
    from krm_merge.schema.builtin import any_object_schema as any_object_schema
    from krm_merge.schema.builtin import builtin_schema as builtin_schema
    from krm_merge.schema.builtin import with_pods as with_pods
    from krm_merge.schema.crd import CrdSchema as CrdSchema
    from krm_merge.schema.crd import crd_schemas as crd_schemas
    from krm_merge.schema.model import FUNCTIONS as FUNCTIONS
    from krm_merge.schema.model import OBJECTS as OBJECTS
    from krm_merge.schema.model import ORDERED as ORDERED
    from krm_merge.schema.model import SET as SET
    from krm_merge.schema.model import WHOLE as WHOLE
    from krm_merge.schema.model import Discriminator as Discriminator
    from krm_merge.schema.model import KeyedList as KeyedList
    from krm_merge.schema.model import ListKind as ListKind
    from krm_merge.schema.model import Schema as Schema
    from krm_merge.schema.model import WithListKeys as WithListKeys
    from krm_merge.schema.model import element_key as element_key
    from krm_merge.schema.model import is_around_local as is_around_local
    from krm_merge.schema.model import is_bookkeeping as is_bookkeeping
    from krm_merge.schema.model import split_keys as split_keys
    from krm_merge.schema.packages import FILES as FILES
    from krm_merge.schema.packages import FUNCTION_ALTERNATIVES as FUNCTION_ALTERNATIVES
    from krm_merge.schema.packages import FUNCTION_LISTS as FUNCTION_LISTS
    from krm_merge.schema.packages import GROUP as GROUP
    from krm_merge.schema.packages import KINDS as KINDS
    from krm_merge.schema.packages import KPTFILE_SHAPE as KPTFILE_SHAPE
    from krm_merge.schema.packages import KptfileSchema as KptfileSchema
    from krm_merge.schema.packages import KptfileShape as KptfileShape
    from krm_merge.schema.packages import KustomizationSchema as KustomizationSchema
    from krm_merge.schema.references import FileReference as FileReference
    from krm_merge.schema.references import LabelSelector as LabelSelector
    from krm_merge.schema.references import Reference as Reference
    from krm_merge.schema.references import files_in as files_in
    from krm_merge.schema.references import labels_in as labels_in
    from krm_merge.schema.references import objects_at as objects_at
    from krm_merge.schema.references import references_in as references_in
    from krm_merge.schema.references import selectors_in as selectors_in
    from krm_merge.schema.references import targets_in as targets_in
    from krm_merge.schema.secrecy import Secrecy as Secrecy
    from krm_merge.schema.secrecy import hidden_in as hidden_in
    from krm_merge.schema.secrecy import is_secret_file as is_secret_file
    from krm_merge.schema.secrecy import is_secret_kind as is_secret_kind
    from krm_merge.schema.secrecy import is_telling as is_telling

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "builtin": "ObjectListSchema any_object_schema builtin_schema with_pods",
        "crd": "CrdSchema crd_schemas",
        "model": "Discriminator FUNCTIONS KeyedList ListKind OBJECTS ORDERED SET Schema WHOLE "
        "WithListKeys element_key is_around_local is_bookkeeping split_keys",
        "packages": "FILES FUNCTION_ALTERNATIVES FUNCTION_LISTS GROUP KINDS KPTFILE_SHAPE KptfileSchema "
        "KustomizationSchema KptfileShape",
        "references": "FileReference LabelSelector Reference files_in labels_in objects_at references_in "
        "selectors_in targets_in",
        "secrecy": "Secrecy hidden_in is_secret_file is_secret_kind is_telling",
    },
)
