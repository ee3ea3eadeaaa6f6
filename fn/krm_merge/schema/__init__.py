"""Which lists are keyed and by which fields, which fields are alternatives, which stay as they are locally."""

from krm_merge.schema.kptfile import KptfileSchema
from krm_merge.schema.model import FUNCTIONS, OBJECTS, ORDERED, SET, WHOLE, Discriminator, KeyedList, ListKind, Schema
from krm_merge.schema.user import WithListKeys

__all__ = [
    "FUNCTIONS",
    "OBJECTS",
    "ORDERED",
    "SET",
    "WHOLE",
    "Discriminator",
    "KeyedList",
    "KptfileSchema",
    "ListKind",
    "Schema",
    "WithListKeys",
]
