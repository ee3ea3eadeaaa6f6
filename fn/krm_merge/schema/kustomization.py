"""Kustomizations and components. Source: kustomize's `api/types/kustomization.go`."""

from __future__ import annotations

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.builtin import any_object_schema
from krm_merge.schema.model import (
    SET,
    Alternatives,
    KeyedList,
    ListKind,
    is_bookkeeping_path,
    key_fields,
    patch_strategy_of,
)

GROUP = "kustomize.config.k8s.io"
KINDS = ("Kustomization", "Component")
FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of kustomize's file, which may omit apiVersion and kind."""

_LISTS: dict[str, ListKind] = {
    **dict.fromkeys(
        ("images", "replicas", "configMapGenerator", "secretGenerator", "helmCharts"), KeyedList(("name",))
    ),
    **dict.fromkeys(("resources", "components", "bases", "crds"), SET),
}


class KustomizationSchema:
    """A Kustomization; lists that are not named above are sequences."""

    __slots__ = ()

    def list_kind(self, path: FieldPath) -> ListKind:
        """Entries known by their name, and paths that are each there once."""
        if len(path) == 1 and (kind := _LISTS.get(str(path[0]))) is not None:
            return kind
        return any_object_schema().list_kind(path)

    def alternatives(self, path: FieldPath) -> Alternatives:
        """The alternatives that all objects have."""
        return any_object_schema().alternatives(path)

    def discriminator(self, path: FieldPath) -> None:
        """None: a Kustomization has no such field."""

    def is_map(self, path: FieldPath) -> bool:
        """The maps that all objects have."""
        return any_object_schema().is_map(path)

    def stays_local(self, path: FieldPath) -> bool:
        """R6."""
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
