"""Hides values of Secrets, wherever they are written."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.krm.identity import identity_of
from krm_merge.startup import pattern
from krm_merge.text.reading.nodes import MappingNode, SequenceNode, resolved

SECRET = "Secret"
SECRET_LIST = "SecretList"
SECRET_GENERATOR = "secretGenerator"

_OPEN_FIELDS = (("metadata", "name"), ("metadata", "namespace"), ("metadata", "labels"))
_SECRET_TEXT = pattern(rb"""kind["']?\s*:\s*["']?Secret(List)?\b|\b%s\b""" % SECRET_GENERATOR.encode())


def is_secret(kind: str, path: FieldPath, roots: Iterable[MappingNode] = ()) -> bool:
    """Whether the value at a place of a resource is one of a Secret; `roots` is the resource on all sides.

    A list of objects is secret as a whole if one of them is a Secret.
    """
    if kind in (SECRET, SECRET_LIST):
        # Annotations, too, may hold all of it: kubectl's last-applied-configuration.
        return path[:2] not in _OPEN_FIELDS
    if path[:1] == (SECRET_GENERATOR,) or (not path and any(root.get(SECRET_GENERATOR) for root in roots)):
        return True
    if kind.endswith("List") and path[:1] in ((), ("items",)):
        return any(_holds_secret(root) for root in roots)
    return False


def is_secret_text(data: bytes) -> bool:
    """Whether a text that was not read as resources looks as if it held a Secret."""
    return _SECRET_TEXT.search(data) is not None


def _holds_secret(root: MappingNode) -> bool:
    items = root.get("items")
    if not isinstance(items, SequenceNode):
        return False
    objects = (resolved(item) for item in items.items)
    return any(identity_of(item).kind in (SECRET, SECRET_LIST) for item in objects if isinstance(item, MappingNode))
