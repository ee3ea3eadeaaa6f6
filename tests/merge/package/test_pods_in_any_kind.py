"""Pods merge alike in all kinds (L1, V7, V10): the same change of a Deployment and of a custom resource."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import yaml

from effort import seeds
from krm_merge import merge_packages

POD = """
containers:
- name: web
  image: r/web:1
  args: [--a=1, --b, x]
  env: [{name: A, value: "1"}, {name: B, value: "2"}]
  ports: [{containerPort: 80}, {containerPort: 81, protocol: UDP}]
  livenessProbe: {httpGet: {path: /, port: 80}}
- name: side
  image: r/side:1
volumes: [{name: v, emptyDir: {}}, {name: w, configMap: {name: x}}]
"""
SOURCES = [{"configMap": {"name": "c"}}, {"secret": {"secretName": "s"}}, {"emptyDir": {"medium": "Memory"}}]
HANDLERS = [{"tcpSocket": {"port": 1}}, {"exec": {"command": ["x"]}}, {"httpGet": {"path": "/h", "port": 80}}]
Edit = Callable[[dict[str, Any], dict[str, Any], Random], object]
EDITS: list[Edit] = [
    lambda pod, web, chance: web.update(image=chance.choice(["r/web:2", "m/web:1", "m/web:3", "r/other:1"])),
    lambda pod, web, chance: web["env"].append({"name": chance.choice("CD"), "value": chance.choice("12")}),
    lambda pod, web, chance: web["env"].pop(),
    lambda pod, web, chance: web["ports"].append({"containerPort": chance.choice([82, 83]), "protocol": "TCP"}),
    lambda pod, web, chance: web["args"].insert(chance.randrange(3), chance.choice(["--n", "--a=2"])),
    lambda pod, web, chance: web.update(livenessProbe=chance.choice(HANDLERS)),
    lambda pod, web, chance: pod["volumes"].__setitem__(0, {"name": "v", **chance.choice(SOURCES)}),
    lambda pod, web, chance: pod["containers"].append({"name": chance.choice("mn"), "image": "r/n:1"}),
    lambda pod, web, chance: pod["containers"].reverse(),
    lambda pod, web, chance: pod["containers"].remove(
        next(container for container in pod["containers"] if container is not web)
    ),
]


def random_pod(chance: Random) -> dict[str, Any]:
    pod: dict[str, Any] = yaml.safe_load(POD)
    web = pod["containers"][0]
    for edit in chance.sample(EDITS, chance.randrange(1, 4)):
        edit(pod, web, chance)
    return pod


def package(kind: str, version: str, pod: dict[str, Any]) -> dict[str, bytes]:
    spec = {"replicas": 1, "template": {"spec": pod}}
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, "spec": spec}
    return {"w.yaml": yaml.safe_dump(document, sort_keys=False).encode()}


@pytest.mark.parametrize("seed", seeds(1000))
def test_a_custom_resource_merges_as_a_deployment(seed: int) -> None:
    chance = Random(seed)
    sides = [yaml.safe_load(POD), random_pod(chance), random_pod(chance)]
    results = []
    for kind, version in (("Deployment", "apps/v1"), ("Rollout", "argoproj.io/v1alpha1")):
        merged = merge_packages(*(package(kind, version, pod) for pod in sides))
        decisions = sorted((record.rule, record.path, record.status) for record in merged.records)
        results.append((yaml.safe_load(merged.files["w.yaml"])["spec"], decisions))
    assert results[0] == results[1]


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_one_list_of_containers_makes_a_pod(field: str) -> None:
    head = f"apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  {field}:\n"
    container = "  - name: web\n    image: web\n    env:\n    - {{name: A, value: {}}}\n"
    original, upstream, local = ({"w.yaml": (head + container.format(value)).encode()} for value in "oul")
    (conflict,) = merge_packages(original, upstream, local).records
    assert conflict.path == f"spec.{field}[name=web].env[name=A].value"


def test_objects_of_a_list_merge_by_the_schemas_of_their_kinds() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n"
    item = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: %s}\n  spec:\n    template:\n      spec:\n"
    container = "        containers:\n        - name: web\n          env:\n          - {name: A, value: %s}\n"
    port = "- apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n  spec:\n    ports: [{port: 80, nodePort: %s}]\n"
    sides = [
        {"l.yaml": (text + item % "w" + container % value + port % number).encode()}
        for value, number in zip("oul", "123", strict=True)
    ]
    assert [record.path for record in merge_packages(*sides).records if record.status != "automatic"] == [
        "items[0].spec.template.spec.containers[name=web].env[name=A].value",
        "items[1].spec.ports[port=80].nodePort",
    ]
