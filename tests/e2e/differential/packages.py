"""Generated packages in three versions, with disjoint edits or with any."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from e2e.differential.allowed import (
    keys_of,
)
from e2e.differential.values import (
    NULL,
    Data,
    Files,
    Path_,
)
from generated import packages as generated
from generated.kptfiles import text as as_text

FIXED = {"apiVersion", "kind", "name", "protocol", "port", "containerPort", "type", "conditionType"}


def scalars(value: Any, path: Path_, pairs: list[tuple[Data, str]]) -> list[tuple[Data, str]]:
    """The scalar fields that may change: no keys, nothing in a list without keys."""
    for name, item in value.items():
        if isinstance(item, dict):
            scalars(item, (*path, name), pairs)
        elif isinstance(item, list) and keys_of((*path, name)):
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


def edit_kptfile(rng: random.Random, data: Data) -> None:
    """One edit of a kind that people make."""
    kind = rng.randrange(7)
    mutators: list[Data] = data.get("pipeline", {}).get("mutators", [])
    if kind == 0:
        data["info"]["description"] = rng.choice(generated.WORDS)
    elif kind == 1:
        kinds: list[tuple[str, Any]] = [("keywords", "w"), ("readinessGates", {"conditionType": "D"})]
        name, fresh = rng.choice(kinds)
        values: list[Any] = data["info"][name]
        if fresh not in values:
            values.insert(rng.randint(0, len(values)), fresh)
        elif len(values) > 1:
            values.pop(rng.randrange(len(values)))
    elif kind == 2:
        data["metadata"][rng.choice(["labels", "annotations"])] = generated.words(rng)
    elif kind == 3:
        free = [image for image in IMAGES if not any(image in function["image"] for function in mutators)]
        if free:
            mutators = data.setdefault("pipeline", {}).setdefault("mutators", [])
            mutators.insert(rng.randint(0, len(mutators)), function(rng, rng.choice(free)))
    elif mutators and kind == 4:
        mutators.pop(rng.randrange(len(mutators)))
        if not mutators:
            del data["pipeline"]
    elif mutators and kind == 5:
        mutators.insert(rng.randrange(len(mutators)), mutators.pop(rng.randrange(len(mutators))))
    elif mutators:
        changed = rng.choice(mutators)
        image = changed["image"].partition(":")[0]
        changed.clear()
        changed.update(function(rng, image))


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


def rename(package: list[Data], group: int) -> list[Data]:
    for resource in package:
        resource["metadata"]["name"] = f"g{group}-{resource['metadata']['name']}"
    return [tidy(resource) for resource in package]


def any_edits(seed: int) -> Triple:
    """Groups of resources and subpackages with edits of all kinds on both sides."""
    rng = random.Random(seed)
    triple = Triple()
    root = HEAD | {"metadata": {"name": "pkg"}}
    triple.put("Kptfile", 0, [[root]] * 3, 0)
    triple.put("crd.yaml", 0, [[generated.CRD]] * 3, 0)
    for group in range(GROUPS):
        sides = any_group(rng, group)
        names = [f"g{group}.yaml"] * 3
        if rng.random() < 0.12:
            names[rng.choice([1, 2])] = f"g{group}-moved.yaml"
        triple.put("", rng.randrange(2**32), sides, rng.choice([0, 0.25]), names)
    for number in range(GROUPS // 2):
        original = kptfile(rng)
        edited = [original, copy.deepcopy(original), copy.deepcopy(original)]
        for side in edited[1:]:
            for _ in range(rng.randint(0, 4)):
                edit_kptfile(rng, side)
        triple.put(f"sub{number}/Kptfile", rng.randrange(2**32), [[side] for side in edited], 0)
    return triple


def any_group(rng: random.Random, group: int) -> list[list[Data]]:
    original = [r for r in generated.package(rng) if r["kind"] != "CustomResourceDefinition"]
    sides = [original, *(generated.edit_package(rng, original, rng.randint(0, 5)) for _ in range(2))]
    sides = [rename(copy.deepcopy(side), group) for side in sides]
    if rng.random() < 0.3:
        rewrite(rng, sides)
    for side in sides[1:]:
        for resource in side:
            if rng.random() < 0.1 and resource.get("data"):
                resource["data"][rng.choice([*resource["data"]])] = NULL
            if rng.random() < 0.05 and isinstance(resource.get("spec", {}).get("replicas"), int):
                resource["spec"]["replicas"] = str(resource["spec"]["replicas"])
    return sides


OPEN = {"labels", "annotations", "data", "selector", "configMap"}


def rewrite(rng: random.Random, sides: list[list[Data]]) -> None:
    """Both change the same text or list in other places."""
    by_name = [{resource["metadata"]["name"]: resource for resource in side} for side in sides]
    for name in sorted(by_name[0].keys() & by_name[1].keys() & by_name[2].keys()):
        o, u, loc = (side[name] for side in by_name)
        if "script" in u.get("data", {}) and "script" in loc.get("data", {}):
            o["data"]["script"] = generated.SCRIPTS[0]
            u["data"]["script"], loc["data"]["script"] = rng.sample(generated.SCRIPTS[1:], 2)
        elif u.get("rules") and loc.get("rules"):
            u["rules"].insert(0, generated.rule(rng))
            loc["rules"].append(generated.rule(rng))
        elif o["kind"] == "Deployment":
            pods = [side.get("spec", {}).get("template", {}).get("spec", {}) for side in (o, u, loc)]
            if all("volumes" in pod for pod in pods):
                for pod in pods:
                    pod["volumes"].insert(0, {"name": "v0", "configMap": {"name": "c"}})
                pods[rng.choice([1, 1, 2])]["volumes"].pop(0)
        for side in (o, u, loc):
            side["metadata"]["finalizers"] = ["a.io/x", "b.io/y"]
        u["metadata"]["finalizers"].insert(rng.choice([0, 1]), "u.io/u")
        loc["metadata"]["finalizers"].append("l.io/l")
        if (removed := rng.choice([o, u, loc])) is not o:
            del removed["metadata"]["finalizers"]


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
        elif isinstance(item, list) and keys_of((*path, name)):
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
