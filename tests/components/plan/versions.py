"""Components with versions, and builds of them, as Konflux has them."""

from __future__ import annotations

from typing import Any

import yaml

from components.observations import digest

PAC = "pipelinesascode.tekton.dev"


def component(name: str, versions: dict[str, str] | None, *depends_on: str, context: str = "") -> str:
    source: dict[str, Any] = {"url": f"https://github.com/acme/{name}"}
    if versions is not None:
        source["versions"] = [
            {"name": each, "revision": branch, **({"context": f"{context}{each}"} if context else {})}
            for each, branch in versions.items()
        ]
    spec = {
        "application": "app",
        "containerImage": f"quay.io/acme/{name}@{digest('0')}",
        "source": source,
        "dependsOn": list(depends_on),
    }
    about = {"apiVersion": "konflux-ci.dev/v1alpha1", "kind": "Component"}
    return yaml.safe_dump({**about, "metadata": {"name": name, "namespace": "team"}, "spec": spec})


def push(letter: str, branch: str, name: str = "parent") -> str:
    labels = {"build.konflux-ci.dev/component": name, f"{PAC}/event-type": "push", f"{PAC}/sha": letter * 40}
    about = {
        "name": f"{name}-{letter}",
        "namespace": "team",
        "labels": labels,
        "annotations": {f"{PAC}/branch": branch},
    }
    status = {
        "startTime": f"2024-06-01T00:00:0{letter}Z",
        "conditions": [{"type": "Succeeded", "status": "True"}],
        "results": [{"name": "IMAGE_DIGEST", "value": digest(letter)}],
    }
    return yaml.safe_dump({"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": about, "status": status})
