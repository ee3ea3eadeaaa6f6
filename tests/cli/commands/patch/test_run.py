"""`krm-merge patch create` of two directories, and `krm-merge patch run`, run as users run them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.commands.patch.place import CRD, OLD, WEB, Place
from e2e.hosts import SECONDS
from krm_merge.patch import AnyShape, JsonPatch
from krm_merge.patch.json_patch import create_json
from krm_merge.patch.patches import Modes, smallest_patch

CONFIG = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: PatchResources
metadata: {name: ours}
patches:
"""
IMAGE = (
    "- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n    spec: {replicas: 4}\n"
)
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {parts: [{a: 1}, {b: 2}], x: 1, y: 2}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {a: %s}\n"


def put(place: Place, **files: str) -> None:
    for path, text in files.items():
        file = place.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def directories(place: Place, old: dict[str, str], new: dict[str, str]) -> None:
    for side, files in (("old", old), ("new", new)):
        put(place, **{f"{side}/{path}": text for path, text in files.items()})


def values(directory: Path) -> dict[str, list[Any]]:
    return {path.name: [*yaml.safe_load_all(path.read_text())] for path in sorted(directory.rglob("*.yaml"))}


def patches_of(place: Place, *arguments: str) -> list[dict[str, Any]]:
    """The patches that lead from the directory `old` to `new`, proved by running them twice."""
    out, _ = place.run("create", "old", "new", *arguments)
    put(place, **{"made.yaml": out})
    work = place.directory / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place.directory / "old", work)
    for _ in range(2):
        place.run("run", "work", "--config", "made.yaml", "--quiet", "--allow-missing")
        assert values(work) == values(place.directory / "new")
    document = yaml.safe_load(out)
    assert document["metadata"]["annotations"] == {"config.kubernetes.io/local-config": "true"}
    patches: list[dict[str, Any]] = document["patches"]
    return patches


def test_the_smallest_patch_of_each_resource(place: Place) -> None:
    new = WEB.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    directories(
        place,
        {"web.yaml": WEB, "widget.yaml": WIDGET, "null.yaml": WIDGET.replace("name: w", "name: n")},
        {
            "web.yaml": new,
            "widget.yaml": WIDGET.replace("{a: 1}, ", ""),
            "null.yaml": WIDGET.replace("name: w", "name: n").replace("x: 1, y: 2", "x: null"),
        },
    )
    by_name = {}
    for patch in patches_of(place):
        body = yaml.safe_load(patch["patch"])
        by_name[patch["target"]["name"] if isinstance(body, list) else body["metadata"]["name"]] = patch
    # Strategic without an order, since the patch's own order is enough.
    assert by_name["web"].keys() == {"patch"}
    assert "$" not in by_name["web"]["patch"]
    # No schema: a JSON merge patch; where a field is to be null, a JSON patch that may run again.
    assert by_name["w"]["type"] == "merge"
    assert [operation["op"] for operation in yaml.safe_load(by_name["n"]["patch"])] == ["replace", "add", "remove"]


@pytest.mark.parametrize("kind", ["strategic", "merge", "json"])
def test_one_type_for_all(place: Place, kind: str) -> None:
    new = WEB.replace("replicas: 1", "replicas: 3").replace("      - name: log\n        image: fluent:1.0\n", "")
    directories(place, {"web.yaml": WEB}, {"web.yaml": new})
    (patch,) = patches_of(place, "--type", kind)
    assert isinstance(yaml.safe_load(patch["patch"]), list) == (kind == "json")


def test_lists_of_custom_resources_with_their_definition(place: Place) -> None:
    zone = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts: [{id: 1}, {id: 2}]\n"
    directories(place, {"crd.yaml": CRD, "z.yaml": zone}, {"crd.yaml": CRD, "z.yaml": zone.replace("{id: 1}, ", "")})
    (patch,) = patches_of(place)
    assert yaml.safe_load(patch["patch"])["parts"] == [{"id": 1, "$patch": "delete"}]


def test_names_that_one_patch_would_mix_up(place: Place) -> None:
    def maps(first: str, second: str) -> str:
        cluster_wide = (CONFIG_MAP % ("c", "b", second)).replace(", namespace: b", "")
        return CONFIG_MAP % ("c", "a", first) + "---\n" + cluster_wide

    directories(place, {"c.yaml": maps("x", "x")}, {"c.yaml": maps("x", "z")})
    (patch,) = patches_of(place)
    assert patch["target"] == {"group": "^$", "kind": "ConfigMap", "name": "c", "namespace": "^$"}
    directories(place, {"c.yaml": maps("x", "x"), "d/c.yaml": maps("x", "x")}, {"d/c.yaml": maps("y", "x")})
    _, err = place.run("create", "old", "new", code=1)
    assert "ConfigMap a/c is defined several times, in c.yaml and d/c.yaml; no patch can tell them apart" in err


def test_what_comes_and_goes(place: Place) -> None:
    """A patch adds nothing, leaves the books of kpt alone, and may change a version."""
    books = "metadata: {annotations: {internal.kpt.dev/upstream-identifier: %s}, name: c}"
    beta = "apiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: beta}\n"
    map_ = CONFIG_MAP % ("c", "a", "x")
    books_of = {n: map_.replace("metadata: {name: c, namespace: a}", books % n) for n in "xy"}
    directories(
        place,
        {"a.yaml": map_, "b.yaml": books_of["x"], "beta.yaml": beta, "Kptfile": "kind: Kptfile\nmetadata: {name: a}\n"},
        {"b.yaml": books_of["y"], "beta.yaml": beta.replace("v1beta1", "v1"), "new.yaml": WIDGET},
    )
    out, err = place.run("create", "old", "new")
    assert err == "warning new.yaml: Widget w is new; patches add no resources, so copy new.yaml\n"
    gone, version = yaml.safe_load(out)["patches"]
    assert yaml.safe_load(gone["patch"])["$patch"] == "delete"
    assert version["options"] == {"allowKindChange": True}
    put(place, **{"made.yaml": out})
    place.run("run", "old", "--config", "made.yaml")
    assert not (place.directory / "old/a.yaml").exists()
    assert "example.com/v1\n" in place.read("old/beta.yaml")
    assert place.read("old/b.yaml") == books_of["x"]


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


def random_value(generator: random.Random, depth: int) -> Any:
    kind = generator.randrange(5 if depth else 3)
    if kind == 3:
        return {name: random_value(generator, depth - 1) for name in "abc/~" if generator.random() < 0.5}
    if kind == 4:
        return [random_value(generator, depth - 1) for _ in range(generator.randrange(4))]
    return generator.choice([7, "x", None, True, 2.5])


def test_random_pairs() -> None:
    generator = random.Random(7)
    for _ in range(400):
        before, after = ({"v": random_value(generator, 4)} for _ in range(2))
        assert JsonPatch([*create_json(before, after)]).apply(before) == after
        patch = smallest_patch(before, after, AnyShape(), is_known=generator.random() < 0.5, modes=Modes())
        assert (patch is None) == (before == after)
        if patch is not None:
            assert patch.apply(before, AnyShape(), Modes()) == after
            assert patch.apply(after, AnyShape(), Modes()) == after


@pytest.mark.kubectl
def test_kubectl_applies_a_json_patch(place: Place) -> None:
    new = OLD.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    place.write(**{"old.yaml": OLD, "new.yaml": new})
    operations = json.dumps(yaml.safe_load(place.run("create", "old.yaml", "new.yaml", "--type", "json")[0]))
    command = ["kubectl", "patch", "--local", "-o", "json", "-f", "old.yaml", "--type", "json", "-p", operations]
    done = subprocess.run(command, cwd=place.directory, capture_output=True, check=True, timeout=SECONDS)
    assert json.loads(done.stdout) == yaml.safe_load(new)
