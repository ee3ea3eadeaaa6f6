"""Items and plugins through TransformResources, and what came of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from functions import streams
from functions.streams import ID, PATH, Value
from krm_merge.transform import Options, Response

LOCAL_CONFIG = "config.kubernetes.io/local-config"
Run = Callable[[Value, dict[str, str]], Response | Value]
BARE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bare}\ndata: {}\n"
CLAIM = f"""\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: # of the database
  name: data
  annotations:
    {PATH}: data.yaml
    {ID}: '5'
"""


def config_of(*plugins: Value, **fields: Any) -> Value:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "metadata": {"name": "transform"}}
    return {**head, "plugins": list(plugins), **fields}


def op(kind: str, path: str, value: Any = None, **more: Any) -> Value:
    return {"op": kind, "path": path, **({"value": value} if kind in ("add", "replace", "test") else {}), **more}


def patches(name: str, *ops: Value, **fields: Any) -> Value:
    """A plugin without code; `fields` are the fields of its only patch."""
    return {"name": name, "patches": [{"ops": list(ops), **fields}]}


def sets(name: str, value: Any, path: str = "/spec/replicas", kind: str = "Deployment") -> Value:
    return patches(name, op("replace", path, value), target={"kind": kind})


class Done(streams.Done):
    """The output for items and plugins."""

    def losses(self) -> list[tuple[str, str, str]]:
        """The ignored changes: loser, winner, reason."""
        tags = [result["tags"] for result in self.events("ignored")]
        return [(result["plugin"], result["winner"], result["reason"]) for result in tags]


def transform(items: list[str], *plugins: Value, **fields: Any) -> Done:
    done = Done(items, config_of(*plugins, **fields))
    assert done.exit_code == 0, done.message
    return done


def refuse(items: list[str], *plugins: Value, **fields: Any) -> list[str]:
    done = Done(items, config_of(*plugins, **fields))
    assert done.exit_code == 1, done.output
    return done.messages("error")


@dataclass(frozen=True)
class Point:
    """A plugin of Python, as a program of the plugin directory would answer."""

    name: str
    answer: Run

    def run(self, resource: Value, options: Options) -> Response:
        answer = self.answer(resource, dict(options))
        return answer if isinstance(answer, Response) else Response.read(answer)


@dataclass
class Points:
    """Plugins in this process by the names of their files, and what they saw."""

    all: dict[str, Point] = field(default_factory=dict)
    seen: list[Value] = field(default_factory=list)
    options: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, run: Run | Response | Value) -> Value:
        """A plugin by what it does, or always answers."""

        def runs(resource: Value, options: dict[str, str]) -> Response | Value:
            self.seen.append(json.loads(json.dumps(resource)))
            self.options.append(dict(options))
            return run(resource, options) if callable(run) else run

        self.all[name] = Point(name, runs)
        return {"name": name, "exec": {"file": name}}


LONGEST: Final = 300
"""The longest time limit that a program can have, in seconds."""


@dataclass
class Programs:
    """The plugin directory."""

    directory: Path
    notes: Path

    def add(self, name: str, *lines: str, mode: int = 0o555, meta: Value | None = None, **fields: Any) -> Value:
        """A shell script that tells its metadata, then does what the lines say; `$request` is what it was asked.

        It has the longest time that there is.
        """
        metadata = {"requestVersion": ["v1"], "responseVersion": ["v1"], **(meta or {})}
        text = [
            "#!/bin/sh",
            "request=$(cat)",
            f"if [ \"$request\" = '{{}}' ]; then echo '{json.dumps(metadata)}'; exit; fi",
        ]
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([*text, *lines, ""]))
        file.chmod(mode)
        return {"name": name, "exec": {"file": name, "timeoutSeconds": LONGEST, **fields}}


def children() -> set[str]:
    """Our processes, also those that ended and that nobody asked for; none where the system does not tell."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(listed.read_text().split()) if listed.exists() else set()


def without_ids(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if "/id: " not in line)


BUILTIN: Final[Value] = {"name": "KubernetesPlugin", "builtin": "kubernetes"}
SECRET = f"""\
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    {PATH}: s.yaml
data: {{password: c2VjcmV0, list: [c2VjcmV0]}}
stringData: {{}}
"""


def resource(name: str = "extra", kind: str = "ConfigMap", **fields: Any) -> Value:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}
