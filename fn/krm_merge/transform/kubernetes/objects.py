"""Reads fields of Kubernetes objects of any shape."""

from __future__ import annotations

from krm_merge.text.reading.values import Object, Value


def kind_of(resource: Object) -> str:
    """A kind in the notation of options: `Deployment.apps`."""
    group = str(resource.get("apiVersion", "")).rpartition("/")[0]
    return f"{resource.get('kind', '')}.{group}" if group else str(resource.get("kind", ""))


def is_pod_specable(resource: Object) -> bool:
    """Whether the resource has a template of pods, for any kind."""
    template = value_at(resource, "spec", "template")
    return isinstance(template, dict) and isinstance(template.get("spec", {}), dict)


def has_status(resource: Object) -> bool:
    """Whether the resource has a status that a cluster wrote."""
    return isinstance(resource.get("status"), dict)


def has(value: Value, *path: str) -> bool:
    """Whether a path has a value, including null."""
    holder = value_at(value, *path[:-1])
    return isinstance(holder, dict) and path[-1] in holder


def value_at(value: Value, *path: str) -> Value:
    """The value at a path, None if it is missing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def map_at(value: Value, *path: str) -> Object:
    """The map at a path, an empty one for anything else."""
    found = value_at(value, *path)
    return found if isinstance(found, dict) else {}


def list_at(value: Value, *path: str) -> list[Value]:
    """The list at a path, an empty one for anything else."""
    found = value_at(value, *path)
    return found if isinstance(found, list) else []
