"""The Kptfile and Kustomizations. Sources: kpt's `api/kptfile/v1`, kustomize's `api/types/kustomization.go`."""

from __future__ import annotations

from typing import TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.schema.builtin import any_object_schema
from krm_merge.schema.model import (
    FUNCTIONS,
    ORDERED,
    SET,
    WHOLE,
    KeyedList,
    ListKind,
    Schema,
    ValueSchema,
    is_bookkeeping_path,
    list_schema,
)
from krm_merge.startup import frozen

FUNCTION_LISTS = (("pipeline", "mutators"), ("pipeline", "validators"))
FUNCTION_ALTERNATIVES = (("image", "exec"), ("configPath", "configMap", "configRef"))

KptfileShape: TypeAlias = "str | list[KptfileShape] | dict[str, KptfileShape]"
"""The kind of a value: a text, which may be any scalar, a list, or a map; `*` are all fields of one."""


def _texts(names: str) -> dict[str, KptfileShape]:
    return dict.fromkeys(names.split(), "text")


_MAP: KptfileShape = {"*": "text"}
_LABELS: dict[str, KptfileShape] = {"labels": _MAP, "annotations": _MAP}
_GIT = _texts("repo directory ref")
_SELECTORS: KptfileShape = [_texts("apiVersion kind name namespace resourceFileRegexp") | _LABELS]
_FUNCTIONS: KptfileShape = [
    _texts("name image exec tag configPath when")
    | {"configMap": _MAP, "configRef": _texts("apiVersion kind name namespace")}
    | {"selectors": _SELECTORS, "exclude": _SELECTORS}
]
KPTFILE_SHAPE: KptfileShape = {
    **_texts("apiVersion kind"),
    "metadata": _texts("name namespace") | _LABELS,
    "upstream": _texts("type updateStrategy preserveExplicitNull") | {"git": _GIT},
    "upstreamLock": _texts("type")
    | {"git": _GIT | _texts("commit"), "generic": _texts("storeID resourceID resourceVersion")},
    "info": _texts("site license licenseFile description man")
    | {"emails": ["text"], "keywords": ["text"], "readinessGates": [_texts("conditionType")]},
    "pipeline": {"mutators": _FUNCTIONS, "validators": _FUNCTIONS},
    "inventory": _texts("name namespace inventoryID") | _LABELS,
}
"""What kpt reads of a Kptfile, as `krm-merge schema Kptfile` has it in full; it refuses other kinds of values."""

_KPTFILE_LISTS: dict[FieldPath, ListKind] = {
    **dict.fromkeys(FUNCTION_LISTS, FUNCTIONS),
    ("info", "keywords"): SET,
    ("info", "emails"): SET,
    ("info", "readinessGates"): KeyedList(("conditionType",)),
}
_LOCAL = frozenset((("metadata", "name"), ("metadata", "namespace"), ("inventory",), ("status",)))
_LOCAL_OF_ROOT = frozenset((("upstream",), ("upstreamLock",)))


@frozen
class KptfileSchema(Schema):
    """`root` is False for the Kptfile of a subpackage, whose upstream is merged like everything else (R3).

    `fork` is False where both sides are branches of one package: then nothing stays local.
    """

    root: bool = True
    fork: bool = True

    def at(self, path: FieldPath) -> ValueSchema:
        """Functions by F1 and F3 to F6, `selectors` and `exclude` whole (L3), the sets and keyed lists of L1 and L2.

        Of the ways to run a function only one is allowed, and of the ways to configure it (V7). `info` and `pipeline`
        are maps, too: each of their fields is of use alone.
        """
        if path[:2] in FUNCTION_LISTS and len(path) > 2:
            is_whole = len(path) == 4 and path[3] in ("selectors", "exclude")
            alternatives = FUNCTION_ALTERNATIVES if len(path) == 3 else ()
            return ValueSchema(WHOLE if is_whole else ORDERED, alternatives)
        return list_schema(_KPTFILE_LISTS.get(path, ORDERED))._replace(is_map=path in (("info",), ("pipeline",)))

    def stays_local(self, path: FieldPath) -> bool:
        """K1 and R6."""
        if self.fork and (path in _LOCAL or (self.root and path in _LOCAL_OF_ROOT)):
            return True
        return is_bookkeeping_path(path)


GROUP = "kustomize.config.k8s.io"
KINDS = ("Kustomization", "Component")
FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of kustomize's file, which may omit apiVersion and kind."""

_KUSTOMIZATION_LISTS: dict[str, ListKind] = {
    **dict.fromkeys(
        ("images", "replicas", "configMapGenerator", "secretGenerator", "helmCharts"), KeyedList(("name",))
    ),
    **dict.fromkeys(("resources", "components", "bases", "crds"), SET),
}


class KustomizationSchema(Schema):
    """A Kustomization; lists that are not named above are sequences."""

    __slots__ = ()

    def at(self, path: FieldPath) -> ValueSchema:
        """Entries known by their name, and paths that are each there once; else as all objects."""
        kind = _KUSTOMIZATION_LISTS.get(str(path[0])) if len(path) == 1 else None
        return any_object_schema().at(path) if kind is None else list_schema(kind)
