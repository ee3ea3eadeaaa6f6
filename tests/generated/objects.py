"""Generated documents, edits of them, and strategic merge patches, by small descriptions of types.

All take a `random.Random`: a seeded one, or one of hypothesis that shrinks.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from krm_merge.patch import AnyShape, Field

Data: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Scalar:
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Words:
    """A map of strings."""

    names: tuple[str, ...] = ("a", "b", "c")
    values: tuple[str, ...] = ("1", "2", "true")


@dataclass(frozen=True)
class Scalars:
    """A list of scalars."""

    values: tuple[Any, ...]
    merges: bool = False


@dataclass(frozen=True, repr=False)
class Record:
    """A map with known fields. Of one that is `fixed` patches only change what is inside, and it is always there."""

    fields: dict[str, Spec]
    strategy: tuple[str, ...] = ()
    fixed: bool = False


@dataclass(frozen=True)
class Records:
    """A list of maps; without `keys` it is one value. Key fields with a default may be absent."""

    item: Record
    keys: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    merge_key: str = ""
    defaults: Data = field(default_factory=dict)

    def key_of(self, item: Data) -> tuple[Any, ...]:
        return tuple(item.get(name, self.defaults.get(name)) for name in self.keys)


Spec: TypeAlias = Scalar | Words | Scalars | Record | Records


@dataclass(frozen=True)
class SpecShape:
    """What a description says to the code under test."""

    spec: Record

    def field(self, name: str) -> Field | None:
        match self.spec.fields.get(name):
            case Record() as spec:
                return Field(SpecShape(spec), spec.strategy)
            case Records(keys=keys) as spec if keys:
                return Field(
                    SpecShape(spec.item), ("merge", *spec.item.strategy), spec.merge_key, tuple(keys), spec.defaults
                )
            case Scalars(merges=True):
                return Field(AnyShape(), ("merge",))
            case None:
                return None
            case _:
                return Field(AnyShape())


# ---- documents ---------------------------------------------------------------------------------------------------


def some(rng: random.Random, values: Any) -> list[Any]:
    """Up to four different ones of the values, in any order."""
    values = list(values)
    return rng.sample(values, rng.randint(0, min(4, len(values))))


def document(rng: random.Random, spec: Spec, density: float = 0.5) -> Any:
    """A value as a document has it: keys present and unique, no nulls."""
    match spec:
        case Scalar(values=values):
            return rng.choice(values)
        case Words(names=names, values=values):
            return {name: rng.choice(values) for name in some(rng, names)}
        case Scalars(values=values):
            return some(rng, values)
        case Record(fields=fields):
            chosen = [name for name in fields if is_fixed(fields[name]) or rng.random() < density]
            return {name: document(rng, fields[name], density) for name in chosen}
        case Records(keys=keys):
            items = [element(rng, spec, density) for _ in range(rng.randint(0, 4))]
            if not keys:
                return items
            return list({spec.key_of(item): item for item in items}.values())


def is_fixed(spec: Spec) -> bool:
    return isinstance(spec, Record) and spec.fixed


def element(rng: random.Random, spec: Records, density: float) -> Data:
    item: Data = {
        name: rng.choice(values)
        for name, values in spec.keys.items()
        if name not in spec.defaults or rng.random() < density
    }
    return {**item, **document(rng, spec.item, density)}


def edit_object(rng: random.Random, spec: Spec, value: Any, rate: float = 0.3) -> Any:
    """A value with changes of all kinds, order included."""
    if rng.random() < rate / 3 and not is_fixed(spec):
        return document(rng, spec)
    match spec:
        case Record(fields=fields):
            result = {}
            for name, inner in fields.items():
                if name in value:
                    if is_fixed(inner) or rng.random() >= rate / 2:
                        result[name] = edit_object(rng, inner, value[name], rate)
                elif rng.random() < rate / 2:
                    result[name] = document(rng, inner)
            return result
        case Records(keys=keys) if keys:
            items = [
                {**edit_object(rng, spec.item, without(item, keys), rate), **respell(rng, spec, item)}
                for item in value
                if rng.random() >= rate / 2
            ]
            if rng.random() < rate:
                items.insert(rng.randint(0, len(items)), element(rng, spec, 0.5))
            if rng.random() < rate:
                rng.shuffle(items)
            return list({spec.key_of(item): item for item in reversed(items)}.values())[::-1]
        case Scalars() if rng.random() >= rate:
            return copy.deepcopy(value)
        case Words() if rng.random() >= rate:
            return copy.deepcopy(value)
        case Scalar() if rng.random() >= rate:
            return value
        case _:
            return document(rng, spec)


def respell(rng: random.Random, spec: Records, item: Data) -> Data:
    """The key fields of an element; at times a default is written out, or left out."""
    result = {name: item[name] for name in spec.keys if name in item}
    for name, default in spec.defaults.items():
        if rng.random() < 0.1:
            result = {**result, name: default} if name not in result else result
            if item.get(name) == default:
                del result[name]
    return result


def without(item: Data, names: Any) -> Data:
    return {name: value for name, value in item.items() if name not in names}


def with_doubles(rng: random.Random, value: Any) -> Any:
    """A document with some maps in lists twice."""
    if isinstance(value, dict):
        return {name: with_doubles(rng, inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    items = [with_doubles(rng, item) for item in value]
    if items and isinstance(items[0], dict) and rng.random() < 0.2:
        items.insert(rng.randint(0, len(items)), copy.deepcopy(rng.choice(items)))
    return items


def without_some_keys(rng: random.Random, spec: Spec, value: Any) -> Any:
    """A document whose elements here and there lack the merge key."""
    if isinstance(spec, Record):
        return {
            name: without_some_keys(rng, spec.fields[name], inner) if name in spec.fields else inner
            for name, inner in value.items()
        }
    if not isinstance(spec, Records) or not spec.keys:
        return value
    items = [{**item, **without_some_keys(rng, spec.item, without(item, spec.keys))} for item in value]
    if items and rng.random() < 0.05:
        rng.choice(items).pop(spec.merge_key, None)
    return items


# ---- patches -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Patches:
    """Makes patches. With `single`, lists are keyed by the one field of kubectl; `broken` is how many are wrong."""

    rng: random.Random
    single: bool = False
    broken: float = 0.0
    density: float = 0.35

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def record(self, spec: Record) -> Data:
        """Of a map."""
        if not spec.fixed:
            if self.chance(0.05):
                return {"$patch": "delete"}
            if self.chance(0.05):
                return {"$patch": "replace", **document(self.rng, spec)}
        patch = self.fields(spec)
        retains = "retainKeys" in spec.strategy
        if not spec.fixed and "replace" not in spec.strategy and self.chance(0.6 if retains else 0.04):
            self.retain(patch, spec)
        if not spec.fixed and self.chance(self.broken / 4):
            patch["$patch"] = "unknown"
        elif self.merges():
            patch["$patch"] = "merge"
        return patch

    def merges(self) -> bool:
        """Whether to say `$patch: merge`, which kubectl refuses."""
        return not self.single and self.chance(0.04)

    def fields(self, spec: Record) -> Data:
        patch: Data = {}
        for name, inner in spec.fields.items():
            if is_fixed(inner) or self.chance(self.density):
                self.field(patch, name, inner)
        return patch

    def retain(self, patch: Data, spec: Record) -> None:
        plain = [name for name, value in patch.items() if not name.startswith("$") and value is not None]
        keep = {*plain, *some(self.rng, spec.fields)}
        if plain and self.chance(self.broken):
            keep.discard(self.rng.choice(plain))
        patch["$retainKeys"] = sorted(keep)

    def field(self, patch: Data, name: str, spec: Spec) -> None:
        """All that a patch says of one field."""
        if self.chance(0.12) and not is_fixed(spec):
            patch[name] = None
            if isinstance(spec, Scalars) and spec.merges and self.chance(self.broken):
                patch[f"$setElementOrder/{name}"] = list(spec.values)
            return
        match spec:
            case Words(names=names, values=values):
                if self.chance(0.1):
                    patch[name] = {"$patch": self.rng.choice(["delete", "replace"])}
                else:
                    patch[name] = {key: self.rng.choice((*values, None)) for key in some(self.rng, names)}
            case Record():
                patch[name] = self.record(spec)
            case Scalars(merges=True):
                self.scalars(patch, name, spec)
            case Records(keys=keys) if keys:
                self.records(patch, name, spec)
            case _:
                patch[name] = document(self.rng, spec)

    def scalars(self, patch: Data, name: str, spec: Scalars) -> None:
        items = some(self.rng, spec.values)
        if self.chance(0.4):
            gone = some(self.rng, [value for value in spec.values if value not in items])
            patch[f"$deleteFromPrimitiveList/{name}"] = gone
        order = [*items, *some(self.rng, [value for value in spec.values if value not in items])]
        self.order(patch, name, items, order, lambda item: item)

    def records(self, patch: Data, name: str, spec: Records) -> None:
        keys = (spec.merge_key,) if self.single and spec.merge_key in spec.keys else tuple(spec.keys)
        defaults = {} if self.single else spec.defaults

        def key_of(item: Data) -> Any:
            return tuple(item.get(key, defaults.get(key)) for key in keys)

        def key_fields() -> Data:
            fields = {key: self.rng.choice(spec.keys[key]) for key in keys}
            return {key: value for key, value in fields.items() if key not in defaults or self.chance(0.5)}

        named = list({key_of(item): item for item in (key_fields() for _ in range(5))}.values())
        items = [self.element(spec, item) for item in named[: self.rng.randint(0, 3)]]
        if items and self.chance(self.broken):
            broken = self.rng.choice(items)
            broken.pop(keys[0]) if self.chance(0.5) else broken.update({"$patch": "unknown"})
        if self.chance(0.05):
            items.insert(self.rng.randint(0, len(items)), {"$patch": "replace"})
        self.order(patch, name, items, named, key_of)
        if named and self.chance(self.broken / 4):
            self.rng.choice(named).pop(keys[0], None)

    def element(self, spec: Records, key: Data) -> Data:
        if self.chance(0.2):
            return {**key, "$patch": "delete"}
        patch = self.fields(spec.item)
        if self.single:
            others = {name: values for name, values in spec.keys.items() if name not in key}
            patch |= {name: self.rng.choice(values) for name, values in others.items() if self.chance(0.5)}
        if self.chance(0.5 if "retainKeys" in spec.item.strategy else 0.04):
            self.retain(patch, spec.item)
            patch["$retainKeys"] = sorted({*patch["$retainKeys"], *spec.keys})
        if self.merges():
            patch["$patch"] = "merge"
        return {**key, **patch}

    def order(self, patch: Data, name: str, items: list[Any], order: list[Any], key_of: Callable[[Any], Any]) -> None:
        """The items, and an order list that names them and others; without one, or without them."""
        if self.chance(0.5):
            needed = {key_of(item) for item in items}
            order = [item for item in order if self.chance(0.8) or key_of(item) in needed]
            self.rng.shuffle(order)
            place = {key_of(item): at for at, item in enumerate(order)}
            known_items = [item for item in items if key_of(item) in place and not is_special(item)]
            if known_items and not self.chance(self.broken):
                known_items.sort(key=lambda item: place[key_of(item)])
                queue = iter(known_items)
                items = [
                    item if is_special(item) else next(queue)
                    for item in items
                    if item in known_items or is_special(item)
                ]
            if order:  # of an empty one Kubernetes sorts by a comparison that is no order
                patch[f"$setElementOrder/{name}"] = order
            if self.chance(0.2):
                return
        patch[name] = items


def is_special(item: Any) -> bool:
    """An element of a patch that does not merge, and so has no place in an order."""
    return has_directive(item) and item["$patch"] != "merge"


def has_directive(item: Any) -> bool:
    return isinstance(item, dict) and "$patch" in item


# ---- types of Kubernetes -----------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "d", "e")
NAME = {"name": NAMES}
WORD = Scalar(("x", "y", "z"))
NUMBER = Scalar((0, 1, 2, 30))
FLAG = Scalar((True, False))
SELECTOR = Record({"matchLabels": Words()})
METADATA = Record(
    {
        "labels": Words(),
        "annotations": Words(),
        "finalizers": Scalars(NAMES, merges=True),
        "ownerReferences": Records(Record({"kind": WORD, "name": WORD, "controller": FLAG}), {"uid": NAMES}, "uid"),
    },
    fixed=True,
)
PROTOCOLS = ("TCP", "UDP")
CONTAINER = Record(
    {
        "image": WORD,
        "args": Scalars(("x", "y", "z")),
        "command": Scalars(("x", "y", "z")),
        "env": Records(
            Record(
                {
                    "value": WORD,
                    "valueFrom": Record(
                        {"fieldRef": Record({"fieldPath": WORD}), "secretKeyRef": Record({"key": WORD})}
                    ),
                }
            ),
            NAME,
            "name",
        ),
        "envFrom": Records(Record({"prefix": WORD, "configMapRef": Record({"name": WORD})})),
        "ports": Records(
            Record({"name": WORD, "hostPort": NUMBER}),
            {"containerPort": (53, 80, 443), "protocol": PROTOCOLS},
            "containerPort",
            {"protocol": "TCP"},
        ),
        "resources": Record({"limits": Words(("cpu", "memory")), "requests": Words(("cpu", "memory"))}),
        "volumeMounts": Records(
            Record({"name": WORD, "readOnly": FLAG}), {"mountPath": ("/a", "/b", "/c", "/d")}, "mountPath"
        ),
        "securityContext": Record(
            {"runAsUser": NUMBER, "capabilities": Record({"add": Scalars(("x", "y")), "drop": Scalars(("x", "y"))})}
        ),
        "livenessProbe": Record(
            {
                "httpGet": Record({"path": WORD, "port": Scalar((80, "http"))}),
                "exec": Record({"command": Scalars(("x", "y"))}),
            }
        ),
        "tty": FLAG,
    }
)
POD_SPEC: dict[str, Spec] = {
    "containers": Records(CONTAINER, NAME, "name"),
    "initContainers": Records(CONTAINER, NAME, "name"),
    "volumes": Records(
        Record(
            {
                "emptyDir": Record({"medium": WORD}),
                "configMap": Record({"name": WORD, "items": Records(Record({"key": WORD, "path": WORD}))}),
                "secret": Record({"secretName": WORD, "defaultMode": NUMBER}),
            },
            ("retainKeys",),
        ),
        NAME,
        "name",
    ),
    "imagePullSecrets": Records(Record({}), NAME, "name"),
    "hostAliases": Records(Record({"hostnames": Scalars(("x", "y"))}), {"ip": ("1.1.1.1", "2.2.2.2", "3.3.3.3")}, "ip"),
    "tolerations": Records(Record({"key": WORD, "operator": WORD, "tolerationSeconds": NUMBER})),
    "topologySpreadConstraints": Records(
        Record({"maxSkew": NUMBER, "labelSelector": SELECTOR}),
        {"topologyKey": ("zone", "host"), "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")},
        "topologyKey",
    ),
    "nodeSelector": Words(),
    "hostNetwork": FLAG,
    "terminationGracePeriodSeconds": NUMBER,
}
POD = Record({"metadata": METADATA, "spec": Record(POD_SPEC)}, fixed=True)
DEPLOYMENT = Record(
    {
        "metadata": METADATA,
        "spec": Record(
            {
                "replicas": NUMBER,
                "paused": FLAG,
                "selector": SELECTOR,
                "strategy": Record(
                    {
                        "type": Scalar(("Recreate", "RollingUpdate")),
                        "rollingUpdate": Record({"maxSurge": Scalar((1, "25%")), "maxUnavailable": Scalar((0, "50%"))}),
                    },
                    ("retainKeys",),
                ),
                "template": Record({"metadata": Record({**METADATA.fields}), "spec": Record(POD_SPEC)}),
            }
        ),
    },
    fixed=True,
)
SERVICE = Record(
    {
        "metadata": METADATA,
        "spec": Record(
            {
                "type": WORD,
                "selector": Words(),
                "externalIPs": Scalars(("1.1.1.1", "2.2.2.2")),
                "ports": Records(
                    Record({"name": WORD, "targetPort": Scalar((80, "http")), "nodePort": NUMBER}),
                    {"port": (53, 80, 443), "protocol": PROTOCOLS},
                    "port",
                    {"protocol": "TCP"},
                ),
                "sessionAffinityConfig": Record({"clientIP": Record({"timeoutSeconds": NUMBER})}),
            }
        ),
    },
    fixed=True,
)
LEAF = Record({"value": WORD, "other": NUMBER})
SMALL = Record(
    {
        "word": WORD,
        "any": Scalar((0, 1, 1.0, True, False, "1", "")),
        "words": Words(),
        "list": Scalars((1, 2, 3)),
        "set": Scalars((1, 2, 10, 30), merges=True),
        "rules": Records(LEAF),
        "inner": Record({"word": WORD, "set": Scalars(NAMES, merges=True), "whole": Record(LEAF.fields, ("replace",))}),
        "items": Records(
            Record(
                {
                    "value": WORD,
                    "inner": LEAF,
                    "items": Records(Record({"value": WORD, "set": Scalars(NAMES, merges=True)}), NAME, "name"),
                }
            ),
            NAME,
            "name",
        ),
        "pairs": Records(
            Record({"value": WORD, "ports": Records(LEAF, {"port": (2, 10)}, "port")}),
            {"foo": ("a", "b"), "bar": ("x", "y", 1)},
            "foo,bar",
        ),
        "ports": Records(LEAF, {"port": (2, 10), "protocol": PROTOCOLS}, "port", {"protocol": "TCP"}),
        "whole": Record(LEAF.fields, ("replace",)),
        "kept": Record({**LEAF.fields, "items": Records(LEAF, NAME, "name")}, ("retainKeys",)),
        "keptItems": Records(Record({**LEAF.fields, "inner": LEAF}, ("retainKeys",)), NAME, "name"),
    },
    fixed=True,
)
"""Every kind of field, and lists keyed by several fields, with and without defaults."""
KUBERNETES = {("", "v1", "Pod"): POD, ("apps", "v1", "Deployment"): DEPLOYMENT, ("", "v1", "Service"): SERVICE}
