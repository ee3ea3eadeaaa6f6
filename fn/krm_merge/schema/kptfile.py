"""The Kptfile (kpt.dev/v1). Source: kpt's `api/kptfile/v1` types."""

from __future__ import annotations

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.model import (
    FUNCTIONS,
    ORDERED,
    SET,
    WHOLE,
    Alternatives,
    KeyedList,
    ListKind,
    is_bookkeeping_path,
    key_fields,
    patch_strategy_of,
)
from krm_merge.startup import frozen

FUNCTION_LISTS = (("pipeline", "mutators"), ("pipeline", "validators"))
FUNCTION_ALTERNATIVES = (("image", "exec"), ("configPath", "configMap"))

_LISTS: dict[FieldPath, ListKind] = {
    **dict.fromkeys(FUNCTION_LISTS, FUNCTIONS),
    ("info", "keywords"): SET,
    ("info", "emails"): SET,
    ("info", "readinessGates"): KeyedList(("conditionType",)),
}
_LOCAL = frozenset((("metadata", "name"), ("metadata", "namespace"), ("inventory",), ("status",)))
_LOCAL_OF_ROOT = frozenset((("upstream",), ("upstreamLock",)))


@frozen
class KptfileSchema:
    """`root` is False for the Kptfile of a subpackage, whose upstream is merged like everything else (R3).

    `fork` is False where both sides are branches of one package: then nothing stays local.
    """

    root: bool = True
    fork: bool = True

    def list_kind(self, path: FieldPath) -> ListKind:
        """Functions by F1-F6, `selectors` and `exclude` as one value (L3), the sets and keyed lists of K5."""
        if len(path) == 4 and path[:2] in FUNCTION_LISTS:
            return WHOLE if path[3] in ("selectors", "exclude") else ORDERED
        return _LISTS.get(path, ORDERED)

    def alternatives(self, path: FieldPath) -> Alternatives:
        """The ways to run a function, and the ways to configure it (V7)."""
        return FUNCTION_ALTERNATIVES if len(path) == 3 and path[:2] in FUNCTION_LISTS else ()

    def discriminator(self, path: FieldPath) -> None:
        """None: a Kptfile has no such field."""

    def is_map(self, path: FieldPath) -> bool:
        """`info` and `pipeline`, too: each of their fields is of use alone."""
        return path in (("info",), ("pipeline",))

    def stays_local(self, path: FieldPath) -> bool:
        """K1 and R6."""
        if self.fork and (path in _LOCAL or (self.root and path in _LOCAL_OF_ROOT)):
            return True
        return is_bookkeeping_path(path)

    def merge_keys(self, path: FieldPath) -> tuple[str, ...]:
        """The keys of the lists that have fixed ones."""
        return key_fields(self.list_kind(path))

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """Keyed lists and sets merge."""
        return patch_strategy_of(self.list_kind(path))

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """The one key."""
        return next(iter(self.merge_keys(path)), None)
