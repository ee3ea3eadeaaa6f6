"""Ways in which a clean merge breaks what a package names, generated: each with a judge of the merged files."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

Texts = dict[str, str]
Judge = Callable[[Texts], bool]

NAMES = ("web", "api", "cache", "worker", "shop", "billing")


@dataclass(frozen=True)
class Case:
    """Three versions, whether the merged one works, and the folder that kustomize builds, if any."""

    original: Texts
    upstream: Texts
    local: Texts
    works: Judge
    build: str = ""


def objects(texts: Texts) -> list[dict[str, Any]]:
    values = []
    for path, text in texts.items():
        if path.endswith(".yaml") or path == "Kptfile":
            values += [value for value in yaml.safe_load_all(text) if isinstance(value, dict)]
    return values


def has(texts: Texts, kind: str, name: str) -> bool:
    return any(value.get("kind") == kind and value.get("metadata", {}).get("name") == name for value in objects(texts))


def resource_of(texts: Texts, kind: str, name: str) -> dict[str, Any]:
    matches = (o for o in objects(texts) if o.get("kind") == kind and o.get("metadata", {}).get("name") == name)
    return next(matches, {})


def text_of(value: dict[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False)


def resource(kind: str, name: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def deployment(
    name: str, *, containers: tuple[str, ...] = (), labels: dict[str, str] | None = None, **pod: Any
) -> dict[str, Any]:
    labels = labels or {"app": name}
    container_list = [{"name": container, "image": f"{container}:1"} for container in containers or (name,)]
    template = {"metadata": {"labels": labels}, "spec": {"containers": container_list, **pod}}
    return resource(
        "Deployment", name, "apps/v1", spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    )


def kustomization(resources: list[str], **fields: Any) -> str:
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return text_of({**head, "resources": resources, **fields})


def base(name: str, **more: dict[str, Any]) -> Texts:
    """A base with a Deployment, a Service and other objects by file."""
    service = resource("Service", name, spec={"selector": {"app": name}, "ports": [{"port": 80}]})
    resources = {
        "deployment.yaml": deployment(name),
        "service.yaml": service,
        **{f"{file}.yaml": v for file, v in more.items()},
    }
    texts = {f"base/{file}": text_of(value) for file, value in resources.items()}
    return texts | {"base/kustomization.yaml": kustomization(sorted(resources))}


def overlay(rng: random.Random, **fields: Any) -> Texts:
    return {
        f"overlays/{rng.choice(['mine', 'prod', 'lab'])}/kustomization.yaml": kustomization(["../../base"], **fields)
    }


def folder(texts: Texts) -> str:
    return next(iter(texts)).rpartition("/")[0]


def move(texts: Texts, before: str, after: str) -> Texts:
    return {path.replace(before, after, 1): text for path, text in texts.items()}


def rename(texts: Texts, kind: str, old: str, new: str) -> Texts:
    """The files with an object of another name."""
    result = dict(texts)
    for path, text in texts.items():
        value = yaml.safe_load(text)
        if isinstance(value, dict) and value.get("kind") == kind and value["metadata"]["name"] == old:
            result[path] = text.replace(f"\n  name: {old}\n", f"\n  name: {new}\n", 1)
    return result


def moved_base(rng: random.Random) -> Case:
    texts, mine = base(rng.choice(NAMES)), overlay(rng)
    after = rng.choice(["app/base", "common", "deploy/k8s/base"])
    return Case(
        texts, move(texts, "base", after), texts | mine, lambda m: f"{after}\n" in m[next(iter(mine))], folder(mine)
    )


def renamed_file(rng: random.Random) -> Case:
    """The list of files that local extended names a file that upstream renamed."""
    name = rng.choice(NAMES)
    texts = base(name)
    listing = "base/kustomization.yaml"
    upstream = {
        path.replace("deployment", "workload"): text.replace("deployment.yaml", "workload.yaml")
        for path, text in texts.items()
    }
    mine = {"base/mine.yaml": text_of(resource("ConfigMap", "mine", data={"a": "b"}))}
    edited = texts["base/deployment.yaml"].replace("replicas: 1", f"replicas: {rng.randint(2, 9)}")
    local = texts | mine | {listing: texts[listing] + "- mine.yaml\n", "base/deployment.yaml": edited}
    return Case(texts, upstream, local, lambda m: "base/workload.yaml" in m and "workload.yaml" in m[listing], "base")


def kptfile(*paths: str) -> str:
    functions = [{"image": f"example.com/fn-{at}:v1", "configPath": path} for at, path in enumerate(paths)]
    return text_of({**resource("Kptfile", "p", "kpt.dev/v1"), "pipeline": {"mutators": functions}})


def moved_config(rng: random.Random) -> Case:
    settings = {"setters.yaml": text_of(resource("ConfigMap", "setters", data={"a": "1", "b": "2"}))}
    after = rng.choice(["config/setters.yaml", "pipeline/setters.yaml"])
    texts = settings | {"Kptfile": kptfile("setters.yaml")}
    upstream = move(settings, "setters.yaml", after) | {"Kptfile": kptfile(after)}
    local = settings | {"Kptfile": kptfile("setters.yaml", "setters.yaml")}

    def works(merged: Texts) -> bool:
        functions = resource_of(merged, "Kptfile", "p")["pipeline"]["mutators"]
        return all(function["configPath"] in merged for function in functions) and len(functions) == 2

    return Case(texts, upstream, local, works)


def renamed_selected(rng: random.Random) -> Case:
    """A function that local added selects an object that upstream renamed."""
    name, field = rng.choice(NAMES), rng.choice(["selectors", "exclude"])
    texts, new = base(name) | {"Kptfile": kptfile()}, f"{name}-server"
    function = {"image": "example.com/fn:v1", field: [{"kind": "Deployment", "name": name}]}
    kptfile_of_mine = text_of({**resource("Kptfile", "p", "kpt.dev/v1"), "pipeline": {"mutators": [function]}})
    upstream = rename(texts, "Deployment", name, new)
    return Case(texts, upstream, texts | {"Kptfile": kptfile_of_mine}, lambda m: f"name: {new}" in m["Kptfile"])


def renamed_target(rng: random.Random) -> Case:
    name = rng.choice(NAMES)
    patch = f"- op: replace\n  path: /spec/replicas\n  value: {rng.randint(2, 9)}\n"
    mine = overlay(rng, patches=[{"target": {"kind": "Deployment", "name": name}, "patch": patch}])
    texts = base(name)
    new = f"{name}-server"
    return Case(
        texts,
        rename(texts, "Deployment", name, new),
        texts | mine,
        lambda m: f"name: {new}" in m[next(iter(mine))],
        folder(mine),
    )


def renamed_patched(rng: random.Random) -> Case:
    """A strategic merge patch of local's names an object that upstream renamed."""
    name = rng.choice(NAMES)
    mine = overlay(rng, patches=[{"path": "patch.yaml"}])
    patch = resource("Deployment", name, "apps/v1", spec={"replicas": rng.randint(2, 9)})
    mine |= {f"{folder(mine)}/patch.yaml": text_of(patch)}
    texts, new = base(name), f"{name}-server"
    return Case(
        texts,
        rename(texts, "Deployment", name, new),
        texts | mine,
        lambda m: f"name: {new}\n" in m[f"{folder(mine)}/patch.yaml"],
        folder(mine),
    )


def inserted_container(rng: random.Random) -> Case:
    name = rng.choice(NAMES)
    containers = (name, *rng.sample(["log", "metrics"], rng.randint(0, 2)))
    at = rng.randrange(len(containers))
    path = f"/spec/template/spec/containers/{at}/image"
    patch = text_of([{"op": "replace", "path": path, "value": "corp/own:1"}])  # type: ignore[arg-type]
    mine = overlay(rng, patches=[{"target": {"kind": "Deployment", "name": name}, "patch": patch}])
    texts = base(name) | {"base/deployment.yaml": text_of(deployment(name, containers=containers))}
    after = (*containers[:at], "proxy", *containers[at:])
    upstream = texts | {"base/deployment.yaml": text_of(deployment(name, containers=after))}
    return Case(
        texts, upstream, texts | mine, lambda m: f"/containers/{at + 1}/image" in m[next(iter(mine))], folder(mine)
    )


def deleted_config(rng: random.Random) -> Case:
    """Upstream deletes what local newly names."""
    name, kind = rng.choice(NAMES), rng.choice(["ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount"])
    texts = base(name, extra=resource(kind, "extra"))
    uses: dict[str, dict[str, Any]] = {
        "ConfigMap": {"volumes": [{"name": "v", "configMap": {"name": "extra"}}]},
        "Secret": {"volumes": [{"name": "v", "secret": {"secretName": "extra"}}]},
        "PersistentVolumeClaim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "extra"}}]},
        "ServiceAccount": {"serviceAccountName": "extra"},
    }
    user = deployment(name, **uses[kind])
    lacks = {path: text.replace("- extra.yaml\n", "") for path, text in texts.items() if path != "base/extra.yaml"}
    local = texts | {"base/deployment.yaml": text_of(user)}
    return Case(texts, lacks, local, lambda m: has(m, kind, "extra"))


def renamed_config(rng: random.Random) -> Case:
    """Upstream renames what an object of local's own names."""
    name, kind = rng.choice(NAMES), rng.choice(["ConfigMap", "Secret"])
    data: dict[str, Any] = {"data": {"a": "1", "b": "2", "c": "3"}}
    texts = base(name, settings=resource(kind, f"{name}-settings", **data))
    reference = "configMapRef" if kind == "ConfigMap" else "secretRef"
    job = resource(
        "Job",
        "mine",
        "batch/v1",
        spec={
            "template": {
                "spec": {
                    "containers": [
                        {"name": "c", "image": "c:1", "envFrom": [{reference: {"name": f"{name}-settings"}}]}
                    ]
                }
            }
        },
    )
    upstream = rename(texts, kind, f"{name}-settings", f"{name}-config")
    return Case(
        texts, upstream, texts | {"mine.yaml": text_of(job)}, lambda m: f"name: {name}-config" in m["mine.yaml"]
    )


def relabel(rng: random.Random) -> Case:
    """Upstream changes the labels that an object of local's own selects."""
    name = rng.choice(NAMES)
    texts = base(name)
    new = deployment(name, labels={"app.kubernetes.io/name": name})
    service = yaml.safe_load(texts["base/service.yaml"])
    service["spec"]["selector"] = {"app.kubernetes.io/name": name}
    upstream = texts | {"base/deployment.yaml": text_of(new), "base/service.yaml": text_of(service)}
    kind, spec, version = rng.choice(
        [
            ("Service", {"selector": {"app": name}, "ports": [{"port": 8080}]}, "v1"),
            ("NetworkPolicy", {"podSelector": {"matchLabels": {"app": name}}}, "networking.k8s.io/v1"),
            ("PodDisruptionBudget", {"selector": {"matchLabels": {"app": name}}, "minAvailable": 1}, "policy/v1"),
        ]
    )
    return Case(
        texts, upstream, texts | {"mine.yaml": text_of(resource(kind, "mine", version, spec=spec))}, lambda _: False
    )


def other_namespace(rng: random.Random) -> Case:
    name, new = rng.choice(NAMES), rng.choice(["system", "infra"])
    account = resource("ServiceAccount", "runner")
    account["metadata"]["namespace"] = "apps"
    account["metadata"]["annotations"] = {"owner": name}
    texts = base(name, account=account)
    upstream = {path: text.replace("namespace: apps", f"namespace: {new}") for path, text in texts.items()}
    binding = resource(
        "ClusterRoleBinding",
        "mine",
        "rbac.authorization.k8s.io/v1",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[{"kind": "ServiceAccount", "name": "runner", "namespace": "apps"}],
    )
    return Case(
        texts, upstream, texts | {"mine.yaml": text_of(binding)}, lambda m: f"namespace: {new}" in m["mine.yaml"]
    )


def deleted_workload(rng: random.Random) -> Case:
    """Upstream deletes the object that one of local's own scales, serves or routes to."""
    name = rng.choice(NAMES)
    texts = base(name)
    kind, file = rng.choice([("HorizontalPodAutoscaler", "deployment"), ("Ingress", "service")])
    if kind == "Ingress":
        backend = {"service": {"name": name, "port": {"number": 80}}}
        rules = [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]
        mine = resource(kind, "mine", "networking.k8s.io/v1", spec={"rules": rules})
    else:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        mine = resource(kind, "mine", "autoscaling/v2", spec={"scaleTargetRef": target, "maxReplicas": 3})
    lacks = {path: text.replace(f"- {file}.yaml\n", "") for path, text in texts.items() if path != f"base/{file}.yaml"}
    missing_kind = "Service" if kind == "Ingress" else "Deployment"
    return Case(texts, lacks, texts | {"mine.yaml": text_of(mine)}, lambda m: has(m, missing_kind, name))


def deleted_here(rng: random.Random) -> Case:
    """Local deleted what upstream newly names."""
    case = deleted_config(rng)
    return Case(case.original, case.local, case.upstream, case.works)


CLASSES: dict[str, Callable[[random.Random], Case]] = {
    "a base that moved": moved_base,
    "a file that was renamed": renamed_file,
    "a configPath that moved": moved_config,
    "the target of a patch, renamed": renamed_target,
    "the selector of a function": renamed_selected,
    "the object of a strategic merge patch, renamed": renamed_patched,
    "the position of a container": inserted_container,
    "an object that upstream deleted": deleted_config,
    "an object that upstream renamed": renamed_config,
    "labels that a selector names": relabel,
    "the namespace of a subject": other_namespace,
    "a workload or service that upstream deleted": deleted_workload,
    "an object that local deleted": deleted_here,
}
