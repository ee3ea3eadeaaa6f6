"""Generated packages in three versions, with disjoint edits."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from e2e.differential.values import Data, Files, Path_
from generated import packages as generated
from generated.kptfiles import text as as_text

KEYED = {"containers", "initContainers", "volumes", "env", "ports", "parts", "readinessGates", "mutators", "validators"}
FIXED = {"apiVersion", "kind", "name", "protocol", "port", "containerPort", "type", "conditionType"}


def scalars(value: Any, path: Path_, pairs: list[tuple[Data, str]]) -> list[tuple[Data, str]]:
    """The scalar fields that may change: no keys, nothing in a list without keys."""
    for name, item in value.items():
        if isinstance(item, dict):
            scalars(item, (*path, name), pairs)
        elif isinstance(item, list) and name in KEYED:
            for element in item:
                scalars(element, (*path, name, "*"), pairs)
        elif not isinstance(item, list) and name not in FIXED:
            pairs.append((value, name))
    return pairs


RESOURCES = 55
"""In one package: kpt takes quadratic time."""
GROUPS = 20
HEAD: Data = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile"}
IMAGES = [
    f"gcr.io/kpt-fn/{name}" for name in ("set-labels", "apply-setters", "set-namespace", "search-replace", "sync")
]


@dataclass
class Triple:
    """Files by name: original, upstream, local. The root Kptfile of local is without its upstream."""

    original: Files = field(default_factory=dict)
    upstream: Files = field(default_factory=dict)
    local: Files = field(default_factory=dict)

    def put(
        self, name: str, seed: int, sides: Iterable[list[Data]], comments: float, names: Iterable[str] = ()
    ) -> None:
        """Adds the documents of each side to a file, or to one of another name; comments differ between the sides."""
        for at, (files, side, file) in enumerate(
            zip((self.original, self.upstream, self.local), sides, [*names] or [name] * 3, strict=True)
        ):
            for data in side:
                document = as_text(seed + at * (seed % 2), data, 0, comments)
                files[file] = f"{files[file]}---\n{document}" if file in files else document


def kptfile(rng: random.Random) -> Data:
    functions = [function(rng, image) for image in rng.sample(IMAGES, rng.randint(0, 4))]
    info: Data = {
        "description": rng.choice(generated.WORDS),
        "keywords": rng.sample(["x", "y", "z"], rng.randint(1, 3)),
    }
    info["readinessGates"] = [{"conditionType": name} for name in rng.sample("ABC", rng.randint(1, 3))]
    metadata = {"name": "pkg", "labels": generated.words(rng), "annotations": generated.words(rng)}
    return HEAD | {"metadata": metadata, "info": info} | ({"pipeline": {"mutators": functions}} if functions else {})


def function(rng: random.Random, image: str) -> Data:
    result: Data = {"image": f"{image}:v0.{rng.randint(1, 3)}"}
    kind = rng.random()
    if kind < 0.6:
        result["configMap"] = generated.words(rng)
    elif kind < 0.8:
        result["configPath"] = rng.choice(["a.yaml", "b.yaml"])
    return result


def tidy(resource: Data) -> Data:
    """Ports have one key field of their own, and a name that follows from the key."""
    for name, other, ports in ports_of(resource):
        seen: set[tuple[Any, Any]] = set()
        for port in [*ports]:
            port.pop(other, None)
            key = (port.get(name, 9), port.get("protocol", "TCP"))
            if key in seen or name not in port:
                ports.remove(port)
            elif "name" in port:
                port["name"] = f"p{key[0]}{key[1].lower()}"
            seen.add(key)
    return resource


def ports_of(resource: Data) -> Iterator[tuple[str, str, list[Data]]]:
    spec = resource.get("spec", {})
    if "ports" in spec:
        yield "port", "containerPort", spec["ports"]
    pod = spec.get("template", {}).get("spec", {})
    for each in [*pod.get("containers", []), *pod.get("initContainers", [])]:
        if "ports" in each:
            yield "containerPort", "port", each["ports"]


OPEN = {"labels", "annotations", "data", "selector", "configMap"}


SINGLE = {
    "spec": {"Deployment": ("minReadySeconds", "progressDeadlineSeconds"), "Service": ("clusterIP", "sessionAffinity")},
    "containers": {"Deployment": ("imagePullPolicy", "workingDir")},
    "info": {"Kptfile": ("site", "licenseFile")},
}


def mappings(value: Any, path: Path_, pairs: list[tuple[Data, Path_]]) -> list[tuple[Data, Path_]]:
    """The mappings that take further fields."""
    pairs.append((value, path))
    for name, item in value.items():
        if isinstance(item, dict):
            mappings(item, (*path, name), pairs)
        elif isinstance(item, list) and name in KEYED:
            for element in item:
                mappings(element, (*path, name, "*"), pairs)
    return pairs


def other_scalar(rng: random.Random, value: Any) -> Any:
    if isinstance(value, int):
        return value + rng.randint(1, 9)
    if value in generated.SCRIPTS:
        return rng.choice([script for script in generated.SCRIPTS if script != value])
    if re.fullmatch(r"gcr\.io/.*:v0\.\d", value):
        return value + "1"
    return rng.choice([word for word in [*generated.WORDS, "new"] if word != value])


def disjoint(rng: random.Random, original: Data) -> list[Data]:
    """The three sides of a resource: upstream and local change and add scalar fields, never the same ones."""
    sides = [original, copy.deepcopy(original), copy.deepcopy(original)]
    path = (original["kind"],)
    places = [scalars(side, path, []) for side in sides]
    for at in range(len(places[0])):
        if (side := rng.choice([0, 0, 1, 2])) != 0:
            holder, name = places[side][at]
            holder[name] = other_scalar(rng, holder[name])
    for at in (1, 2):
        for holder, where in mappings(sides[at], path, []):
            last = where[-2] if where[-1] == "*" else where[-1]
            single = SINGLE.get(last, {}).get(path[0])
            if rng.random() < 0.4 and last in OPEN:
                holder[f"example.com/{'_ul'[at]}{rng.randint(1, 99)}"] = rng.choice(generated.WORDS)
            elif rng.random() < 0.4 and single:
                value = rng.randint(1, 99) if single[at - 1].endswith("Seconds") else "new"
                holder[single[at - 1]] = value
            elif rng.random() < 0.2 and where[1:] == ("metadata",):
                holder.setdefault("labels", {})[f"{'_ul'[at]}-new"] = "new"
    return sides


def disjoint_edits(seed: int) -> Triple:
    rng = random.Random(seed)
    triple = Triple()
    makers = [generated.deployment, generated.service, generated.config_map, generated.role]
    for at in range(RESOURCES):
        sides = disjoint(rng, tidy(rng.choice(makers)(rng, f"r{at}")))
        folder = rng.choice(["", "", "sub/"])
        triple.put(
            f"{folder}{rng.randint(1, 9)}.yaml", rng.randrange(2**32), [[s] for s in sides], rng.choice([0, 0.2])
        )
    for name in ("Kptfile", "sub/Kptfile"):
        triple.put(name, 0, [[side] for side in disjoint(rng, kptfile(rng))], 0)
    return triple
