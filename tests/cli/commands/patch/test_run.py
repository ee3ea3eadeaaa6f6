"""`krm-merge patch run`, and JSON patches of `krm-merge patch create`, run as users run them."""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml

from cli.commands.patch.place import OLD, WEB, Place
from e2e.hosts import SECONDS

CONFIG = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: PatchResources
metadata: {name: ours}
patches:
"""
IMAGE = (
    "- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n    spec: {replicas: 4}\n"
)


def put(place: Place, **files: str) -> None:
    for path, text in files.items():
        file = place.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_run_is_what_the_function_does(place: Place) -> None:
    put(place, **{"p/web.yaml": WEB, "p/sub/item.yaml": yaml.safe_load(IMAGE)[0]["patch"]})
    put(place, **{"config.yaml": CONFIG + IMAGE})
    put(place, **{"by-path.yaml": f"{CONFIG}- path: sub/item.yaml\n"})
    out, err = place.run("run", "p", "--config", "config.yaml", "--dry-run", "--diff")
    assert "+  replicas: 4 # few" in out
    assert "info    config.yaml: patches[0] matches 2 resources" in err
    assert place.read("p/web.yaml") == WEB
    # The item is the patch, and is not patched itself.
    out, err = place.run("run", "p", "--config", "by-path.yaml", "--format", "json")
    assert "by-path.yaml: patches[0] matches 1 resource, changes 1: Deployment web" in out
    assert place.read("p/web.yaml") == WEB.replace("replicas: 1", "replicas: 4")


def test_of_a_run_that_is_refused_nothing_is_written(place: Place) -> None:
    put(place, **{"p/web.yaml": WEB, "config.yaml": CONFIG + IMAGE + IMAGE.replace("name: web", "name: webb")})
    _, err = place.run("run", "p", "--config", "config.yaml", code=1)
    assert "error   config.yaml: patches[1] matches nothing in p; check the object that it names\n" in err
    assert place.read("p/web.yaml") == WEB
    _, err = place.run("run", "p", "--config", "config.yaml", "--allow-missing")
    assert "warning config.yaml: patches[1] matches nothing in p" in err
    put(place, **{"config.yaml": CONFIG + "- {patch: 'a: ['}\n"})
    assert "patches[0]" in place.run("run", "p", "--config", "config.yaml", code=1)[1]
    assert "there is no such directory" in place.run("run", "none", "--config", "config.yaml", code=3)[1]


def test_a_json_patch_of_one_object(place: Place) -> None:
    new = OLD.replace("replicas: 1", "replicas: 3").replace("      - name: log\n        image: fluent:1.0\n", "")
    place.write(**{"old.yaml": OLD, "new.yaml": new})
    out, _ = place.run("create", "old.yaml", "new.yaml", "--type", "json")
    assert yaml.safe_load(out) == [
        {"op": "replace", "path": "/spec/replicas", "value": 3},
        {"op": "remove", "path": "/spec/template/spec/containers/0"},
    ]
    assert place.run("create", "old.yaml", "old.yaml", "--type", "json")[0] == "[]\n"


@pytest.mark.kubectl
def test_kubectl_applies_a_json_patch(place: Place) -> None:
    new = OLD.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    place.write(**{"old.yaml": OLD, "new.yaml": new})
    operations = json.dumps(yaml.safe_load(place.run("create", "old.yaml", "new.yaml", "--type", "json")[0]))
    command = ["kubectl", "patch", "--local", "-o", "json", "-f", "old.yaml", "--type", "json", "-p", operations]
    done = subprocess.run(command, cwd=place.directory, capture_output=True, check=True, timeout=SECONDS)
    assert json.loads(done.stdout) == yaml.safe_load(new)
