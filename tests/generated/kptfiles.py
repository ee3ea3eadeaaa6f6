"""Generated Kptfiles: an original and edits of it, written as text with comments, for the laws of the merge."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import strategies as st

REPOSITORIES = [
    "gcr.io/kpt-fn/set-labels",
    "gcr.io/kpt-fn/apply-setters",
    "gcr.io/kpt-fn/set-namespace",
    "localhost:5000/a",
]
REPOSITORIES += ["localhost:5000/b", "ghcr.io/kptdev/krm-functions-catalog/set-labels", "search-replace"]
TAGS = ["", ":v0.1", ":v0.2", "@sha256:aaaa"]
WORDS = ["a", "b", "yes", "1.0", "x y", "0644", "null", "on", "# no comment", "k: v"]
FIELDS = ["app", "tag", "by-value", "example.com/key"]
Data = dict[str, Any]


def kptfile(rng: random.Random) -> Data:
    """A Kptfile as plain values."""
    data: Data = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "pkg"}}
    if rng.random() < 0.5:
        data["metadata"]["labels"] = config_map(rng)
    if rng.random() < 0.5:
        data["info"] = {
            "description": rng.choice(WORDS),
            "keywords": rng.sample(["k1", "k2", "k3", "k4"], rng.randint(0, 3)),
        }
        if rng.random() < 0.5:
            data["info"]["readinessGates"] = [
                {"conditionType": c} for c in rng.sample(["A", "B", "C"], rng.randint(0, 3))
            ]
    if rng.random() < 0.95:
        naming = rng.choice(["all", "all", "unique", "unique", "unique", "none", "some"])
        data["pipeline"] = {"mutators": functions(rng, naming)}
        if rng.random() < 0.3:
            data["pipeline"]["validators"] = functions(rng, naming)
    return data


def functions(rng: random.Random, naming: str) -> list[Data]:
    """Functions of a list: all with a name, none, or some."""
    count = rng.randint(0, 4)
    repositories = rng.sample(REPOSITORIES, count) if naming == "unique" else rng.choices(REPOSITORIES, k=count)
    names = rng.sample(["n1", "n2", "n3", "n4", "n5"], count)
    result = []
    for repository, name in zip(repositories, names, strict=True):
        function = {"image": repository + rng.choice(TAGS)}
        if naming == "all" or (naming == "some" and rng.random() < 0.5):
            function["name"] = name
        configure(rng, function)
        result.append(function)
    return result


def configure(rng: random.Random, function: Data) -> None:
    """Gives a function another configuration."""
    function.pop("configMap", None)
    function.pop("configPath", None)
    kind = rng.random()
    if kind < 0.5:
        function["configMap"] = config_map(rng)
    elif kind < 0.75:
        function["configPath"] = rng.choice(["a.yaml", "b.yaml"])
    if rng.random() < 0.25:
        function["selectors"] = [
            {"kind": rng.choice(["Deployment", "Service"]), "name": "wp"} for _ in range(rng.randint(1, 3))
        ]


def config_map(rng: random.Random) -> Data:
    """Some text fields."""
    return {field: rng.choice(WORDS) for field in rng.sample(FIELDS, rng.randint(1, 3))}


def edit_kptfile(rng: random.Random, data: Data, edits: int) -> Data:
    """A copy with so many edits of the kinds that people make."""
    data = copy.deepcopy(data)
    for _ in range(edits):
        edit(rng, data)
    return data


def edit(rng: random.Random, data: Data) -> None:
    """One edit in place; sometimes there is nothing to edit."""
    kind = rng.randrange(14)
    pipeline = data.get("pipeline") or {}
    lists = [pipeline[name] for name in ("mutators", "validators") if name in pipeline]
    mutators: list[Data] = rng.choice(lists) if lists else []
    function = rng.choice(mutators) if mutators else None
    if kind == 0:
        data.setdefault("metadata", {})["labels"] = config_map(rng)
    elif kind == 1:
        data["info"] = {
            "description": rng.choice(WORDS),
            "keywords": rng.sample(["k1", "k2", "k3", "k4"], rng.randint(1, 3)),
        }
    elif kind == 2 and rng.random() < 0.3:
        data.pop(rng.choice(["pipeline", "info"]), None)
    elif kind == 3 and lists and rng.random() < 0.3:
        pipeline.pop(rng.choice(list(pipeline)))
    elif kind in (4, 5):
        new = functions(rng, "all" if any("name" in f for f in mutators) else "none")
        target = data.setdefault("pipeline", {}).setdefault("mutators", [])
        for added in new[:1]:
            if not any(f.get("name", 0) == added.get("name") for f in target):
                target.insert(rng.randint(0, len(target)), added)
    elif function is None:
        return
    elif kind in (6, 7):
        mutators.remove(function)
    elif kind == 8:
        function["image"] = function["image"].split("@")[0].rsplit(":v", 1)[0] + rng.choice(TAGS)
    elif kind == 9:
        configure(rng, function)
    elif kind == 10 and "configMap" in function:
        function["configMap"][rng.choice(FIELDS)] = rng.choice(WORDS)
    elif kind == 11:
        mutators.remove(function)
        mutators.insert(rng.randint(0, len(mutators)), function)
    elif kind == 12:
        function.pop(rng.choice(list(function)) if len(function) > 1 else "nothing", None)
        function.setdefault("image", "gcr.io/kpt-fn/new:v1")
    elif kind == 13 and data["metadata"].get("labels"):
        data["metadata"]["labels"].pop(next(iter(data["metadata"]["labels"])))


def text(seed: int, value: Any, column: int = 0, comments: float = 0.0) -> str:
    """The values as block YAML, with comments above and behind some entries: the same ones for the same lines."""
    pad = " " * column
    out = ""

    def head(line: str) -> str:
        rng = random.Random(f"{seed} {column} above {line}")
        return f"{pad}# about {rng.randint(0, 99)}\n" if rng.random() < comments else ""

    def tail(line: str) -> str:
        rng = random.Random(f"{seed} {column} behind {line}")
        return f" # note {rng.randint(0, 99)}" if rng.random() < comments else ""

    if isinstance(value, dict):
        for key, item in value.items():
            out += f"{head(key)}{pad}{key}:"
            if isinstance(item, dict | list) and item:
                wide = 0 if isinstance(item, list) else 2
                out += f"{tail(key)}\n{text(seed, item, column + wide, comments)}"
            elif isinstance(item, str) and item.endswith("\n"):
                lines = "".join(f"{pad}  {line}\n" for line in item.splitlines())
                out += f" |{tail(key)}\n{lines}"
            else:
                out += f" {scalar(item)}{tail(key)}\n"
        return out
    for item in value:
        label = str(next(iter(item.values()), item)) if isinstance(item, dict) else str(item)
        if isinstance(item, dict | list) and item:
            out += f"{head(label)}{pad}- {text(seed, item, column + 2, comments).lstrip(' ')}"
        else:
            out += f"{head(label)}{pad}- {scalar(item)}{tail(label)}\n"
    return out


def scalar(value: Any) -> str:
    """A scalar or an empty collection in flow style."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace('"', '\\"') + '"' if not value.isalpha() or value in ("yes", "null", "on") else value
    return {"{}": "{}", "[]": "[]"}.get(str(value), str(value))


@st.composite
def triples(draw: st.DrawFn, upstream_edits: int = 5, local_edits: int = 5) -> tuple[str, str, str]:
    """Texts of an original, an upstream and a local Kptfile."""
    rng = random.Random(draw(st.integers(0, 2**48)))
    data = kptfile(rng)
    comments = rng.choice([0.0, 0.3])
    seed = rng.randint(0, 2**32)
    sides = [
        data,
        edit_kptfile(rng, data, rng.randint(0, upstream_edits)),
        edit_kptfile(rng, data, rng.randint(0, local_edits)),
    ]
    original, upstream, local = (text(seed, side, 0, comments) for side in sides)
    return original, upstream, local
