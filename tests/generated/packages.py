"""Generated packages of resources of many types, and edits of the kinds that people make."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]
Package = list[Data]

CRD: Data = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "parts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name", "side"],
                                        "items": {
                                            "type": "object",
                                            "properties": {"name": {"type": "string"}, "side": {"type": "string"}},
                                        },
                                    },
                                    "tags": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
WORDS = ["a", "b", "yes", "1.0", "x y", "null", "# no", "k: v"]
SCRIPTS = ["one\ntwo\nthree\n", "one\n2\nthree\n", "one\ntwo\n3\n", "zero\none\ntwo\nthree\n"]


def package(rng: random.Random) -> Package:
    """Up to five resources, a CRD among them where there is an instance of it."""
    makers: list[Callable[[random.Random, str], Data]] = [deployment, service, config_map, role, widget]
    resources = [rng.choice(makers)(rng, f"r{number}") for number in range(rng.randint(1, 4))]
    return [copy.deepcopy(CRD), *resources] if any(r["kind"] == "Widget" for r in resources) else resources


def head(api_version: str, kind: str, rng: random.Random, name: str) -> Data:
    metadata: Data = {"name": name}
    if rng.random() < 0.5:
        metadata["labels"] = words(rng)
    if rng.random() < 0.2:
        metadata["finalizers"] = rng.sample(["a.io/x", "b.io/y", "c.io/z"], rng.randint(1, 3))
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def words(rng: random.Random) -> Data:
    return {key: rng.choice(WORDS) for key in rng.sample(["app", "tier", "example.com/key", "on"], rng.randint(1, 3))}


def container(rng: random.Random, name: str) -> Data:
    result: Data = {"name": name, "image": f"img:{rng.randint(1, 3)}"}
    if rng.random() < 0.5:
        result["env"] = [env(rng, key) for key in rng.sample(["A", "B", "C", "D"], rng.randint(1, 3))]
    if rng.random() < 0.5:
        pairs = rng.sample([(80, "TCP"), (80, "UDP"), (53, None), (443, None)], rng.randint(1, 3))
        result["ports"] = [{"containerPort": port} | ({"protocol": p} if p else {}) for port, p in pairs]
    if rng.random() < 0.4:
        result["args"] = [rng.choice(["-v", "--x", "--y=1", "run"]) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        result["livenessProbe"] = probe(rng)
    return result


def env(rng: random.Random, key: str) -> Data:
    if rng.random() < 0.3:
        return {"name": key, "valueFrom": {"secretKeyRef": {"name": "s", "key": rng.choice(["k", "l"])}}}
    return {"name": key, "value": rng.choice(WORDS)}


def probe(rng: random.Random) -> Data:
    handler: Data = rng.choice(
        [{"httpGet": {"path": "/", "port": 80}}, {"tcpSocket": {"port": 80}}, {"exec": {"command": ["x"]}}]
    )
    return handler | {"periodSeconds": rng.randint(1, 3)}


def volume(rng: random.Random, name: str) -> Data:
    return {"name": name} | rng.choice(
        [{"emptyDir": {}}, {"configMap": {"name": "c"}}, {"secret": {"secretName": "s"}}]
    )


def strategy(rng: random.Random) -> Data:
    if rng.random() < 0.4:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.randint(1, 3)}}


def deployment(rng: random.Random, name: str) -> Data:
    data = head("apps/v1", "Deployment", rng, name)
    pod: Data = {"containers": [container(rng, c) for c in rng.sample(["web", "side", "log"], rng.randint(1, 3))]}
    if rng.random() < 0.4:
        pod["initContainers"] = [container(rng, c) for c in rng.sample(["i1", "i2", "i3"], rng.randint(1, 3))]
    if rng.random() < 0.5:
        pod["volumes"] = [volume(rng, v) for v in rng.sample(["v1", "v2", "v3"], rng.randint(1, 3))]
    data["spec"] = {"replicas": rng.randint(1, 3), "strategy": strategy(rng), "template": {"spec": pod}}
    return data


def service(rng: random.Random, name: str) -> Data:
    data = head("v1", "Service", rng, name)
    pairs = rng.sample([(53, "TCP"), (53, "UDP"), (80, None), (443, None)], rng.randint(1, 4))
    ports = [{"port": port, "name": f"p{at}"} | ({"protocol": p} if p else {}) for at, (port, p) in enumerate(pairs)]
    data["spec"] = {"ports": ports, "selector": words(rng)}
    return data


def config_map(rng: random.Random, name: str) -> Data:
    data = head("v1", "ConfigMap", rng, name)
    data["data"] = words(rng) | {"script": rng.choice(SCRIPTS)}
    return data


def role(rng: random.Random, name: str) -> Data:
    data = head("rbac.authorization.k8s.io/v1", "Role", rng, name)
    data["rules"] = [rule(rng) for _ in range(rng.randint(1, 3))]
    return data


def rule(rng: random.Random) -> Data:
    return {
        "apiGroups": [""],
        "resources": [rng.choice(["pods", "secrets", "nodes"])],
        "verbs": [rng.choice(["get", "list"])],
    }


def widget(rng: random.Random, name: str) -> Data:
    data = head("example.com/v1", "Widget", rng, name)
    pairs = rng.sample([("a", "l"), ("a", "r"), ("b", "l"), ("b", "r")], rng.randint(1, 3))
    data["spec"] = {
        "parts": [{"name": part, "side": side, "v": rng.randint(1, 3)} for part, side in pairs],
        "tags": rng.sample(["x", "y", "z"], rng.randint(1, 3)),
        "free": [{"name": rng.choice("abc")} for _ in range(rng.randint(1, 3))],
    }
    return data


FRESH: dict[str, Callable[[random.Random], Any]] = {
    "containers": lambda rng: container(rng, rng.choice(["web", "side", "log", "new"])),
    "initContainers": lambda rng: container(rng, rng.choice(["i1", "i2", "i3", "i4"])),
    "env": lambda rng: env(rng, rng.choice("ABCDE")),
    "volumes": lambda rng: volume(rng, rng.choice(["v1", "v2", "v3", "v4"])),
    "rules": rule,
    "args": lambda rng: rng.choice(["-v", "--x", "--z"]),
    "parts": lambda rng: {"name": rng.choice("abc"), "side": rng.choice("lr"), "v": rng.randint(1, 3)},
    "tags": lambda rng: rng.choice("wxyz"),
    "finalizers": lambda rng: rng.choice(["a.io/x", "d.io/w"]),
    "free": lambda rng: {"name": rng.choice("abcd")},
    "ports": lambda rng: {
        "port": rng.randint(1, 3),
        "containerPort": rng.randint(1, 3),
        "name": f"n{rng.randint(1, 9)}",
    },
}
IDENTITY = {
    **dict.fromkeys(("containers", "initContainers", "env", "volumes"), ("name",)),
    "parts": ("name", "side"),
    "ports": ("port", "containerPort", "protocol"),
}


def edit_package(rng: random.Random, data: Package, edits: int) -> Package:
    """A copy with so many edits."""
    data = copy.deepcopy(data)
    for number in range(edits):
        edit(rng, data, number)
    return data


def edit(rng: random.Random, data: Package, number: int) -> None:
    if rng.random() < 0.06:
        data.append(config_map(rng, f"new{rng.randint(1, 3)}{number}"))
        return
    candidates = [resource for resource in data if resource["kind"] != "CustomResourceDefinition"]
    if not candidates:
        return
    resource = rng.choice(candidates)
    if rng.random() < 0.06:
        data.remove(resource)
        return
    edit_inside(rng, resource)


def edit_inside(rng: random.Random, resource: Data) -> None:
    """Changes, adds or removes one field or list element somewhere below the identity of the resource."""
    holders: list[tuple[str, Any]] = []
    pending: list[tuple[str, Any]] = [
        (key, value) for key, value in resource.items() if key not in ("apiVersion", "kind")
    ]
    pending = [(k, {x: y for x, y in v.items() if x != "name"} if k == "metadata" else v) for k, v in pending]
    for key, value in resource.items():
        if key == "metadata":
            holders.append((key, value))
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict | list):
            if name != "metadata":
                holders.append((name, value))
            pending.extend(value.items() if isinstance(value, dict) else [(name, item) for item in value])
    name, holder = rng.choice(holders)
    if isinstance(holder, list):
        edit_list(rng, name, holder)
        return
    keys = [
        key for key in holder if key not in ("name", "port", "containerPort", "protocol", "side", "containers", "type")
    ]
    if not keys:
        return
    key = rng.choice(keys)
    if key == "strategy":
        holder[key] = strategy(rng)
    elif key == "livenessProbe":
        holder[key] = probe(rng)
    elif key == "script":
        holder[key] = rng.choice(SCRIPTS)
    elif rng.random() < 0.35 and key != "spec":
        del holder[key]
    elif isinstance(holder[key], str | int):
        holder[key] = rng.choice(WORDS) if isinstance(holder[key], str) else rng.randint(1, 5)


def edit_list(rng: random.Random, name: str, holder: list[Any]) -> None:
    kind = rng.randrange(3)
    if kind == 0 and len(holder) > 1:
        holder.pop(rng.randrange(len(holder)))
    elif kind == 1 and len(holder) > 1:
        holder.insert(rng.randrange(len(holder)), holder.pop(rng.randrange(len(holder))))
    elif name in FRESH:
        fresh = FRESH[name](rng)
        keys = IDENTITY.get(name)
        if isinstance(fresh, dict) and keys:
            keys_in_use = {tuple(item.get(key) for key in keys) for item in holder}
            if tuple(fresh.get(key) for key in keys) in keys_in_use:
                return
        elif name in ("tags", "finalizers") and fresh in holder:
            return
        holder.insert(rng.randint(0, len(holder)), fresh)
