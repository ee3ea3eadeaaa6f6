"""Generated packages in three versions, with disjoint edits."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterable
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
HEAD: Data = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile"}
FUNCTIONS = ("set-labels", "apply-setters", "set-namespace", "search-replace", "sync")


@dataclass
class Triple:
    """Files by name: original, upstream, local. The root Kptfile of local is without its upstream."""

    original: Files = field(default_factory=dict)
    upstream: Files = field(default_factory=dict)
    local: Files = field(default_factory=dict)

    def put(self, name: str, seed: int, sides: Iterable[Data], comments: float) -> None:
        """Adds the document of each side to a file; comments differ between the sides."""
        for at, (files, data) in enumerate(zip((self.original, self.upstream, self.local), sides, strict=True)):
            document = as_text(seed + at * (seed % 2), data, 0, comments)
            files[name] = f"{files[name]}---\n{document}" if name in files else document


def kptfile(rng: random.Random) -> Data:
    functions = [
        {"image": f"gcr.io/kpt-fn/{name}:v0.{rng.randint(1, 3)}", "configMap": generated.words(rng)}
        for name in rng.sample(FUNCTIONS, rng.randint(1, 4))
    ]
    gates = [{"conditionType": name} for name in rng.sample("ABC", rng.randint(1, 3))]
    info = {"description": rng.choice(generated.WORDS), "readinessGates": gates}
    metadata = {"name": "pkg", "labels": generated.words(rng), "annotations": generated.words(rng)}
    return HEAD | {"metadata": metadata, "info": info, "pipeline": {"mutators": functions}}


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
    places = [scalars(side, (original["kind"],), []) for side in sides]
    for at in range(len(places[0])):
        if (side := rng.choice([0, 0, 1, 2])) != 0:
            holder, name = places[side][at]
            holder[name] = other_scalar(rng, holder[name])
    for at in (1, 2):
        for holder, name in (
            (sides[at]["metadata"], "labels"),
            (sides[at]["metadata"], "annotations"),
            (sides[at], "data"),
        ):
            if rng.random() < 0.4 and (name in holder or name == "labels"):
                holder.setdefault(name, {})[f"example.com/{'_ul'[at]}"] = rng.choice(generated.WORDS)
    return sides


def disjoint_edits(seed: int) -> Triple:
    rng = random.Random(seed)
    triple = Triple()
    makers = [generated.deployment, generated.service, generated.config_map, generated.role]
    for at in range(RESOURCES):
        sides = disjoint(rng, rng.choice(makers)(rng, f"r{at}"))
        folder = rng.choice(["", "", "sub/"])
        triple.put(f"{folder}{rng.randint(1, 9)}.yaml", rng.randrange(2**32), sides, rng.choice([0, 0.2]))
    for name in ("Kptfile", "sub/Kptfile"):
        triple.put(name, 0, disjoint(rng, kptfile(rng)), 0)
    return triple
