"""`krm-merge patch apply` and `krm-merge patch create`, run as users run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT

WEB = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1 # few
  template:
    spec:
      containers:
      - name: log
        image: fluent:1.0
      - name: web # the server
        image: 'nginx:1.25'
        env:
        - {name: A, value: "1"}
        - {name: B, value: "2"}
---
# names and zones
apiVersion: v1
kind: Service
metadata:
  name: dns
spec:
  ports:
  - port: 53 # zones
    targetPort: 53
  - port: 53 # names
    targetPort: 53
    protocol: UDP
"""
IMAGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: "nginx:1.27"}]}}}
"""
PORT = """\
apiVersion: v1
kind: Service
metadata: {name: dns}
spec: {ports: [{port: 53, protocol: UDP, targetPort: 5353}]}
"""
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: %s\n"


class Place:
    """A directory, and the program in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write(**{"web.yaml": WEB, "patch.yaml": IMAGE})

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def run(self, *arguments: str, stdin: str = "", code: int = 0) -> tuple[str, str]:
        """What it writes to stdout and stderr; its exit code must be this one."""
        env = {**os.environ, "PYTHONPATH": str(ROOT / "fn"), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "krm_merge", "patch", *arguments]
        done = subprocess.run(
            command, cwd=self.directory, env=env, input=stdin.encode(), capture_output=True, check=False, timeout=60
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, (out, err)
        assert "Traceback" not in err
        if code:
            assert out == ""
        return out, err


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ---- apply -------------------------------------------------------------------------------------------------------


def test_the_result_goes_to_stdout_and_what_was_done_to_stderr(place: Place) -> None:
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB.replace("nginx:1.25", "nginx:1.27")
    assert err == "info    patch.yaml matches 1 resource, changes 1: Deployment web\n"
    assert place.read("web.yaml") == WEB


def test_several_documents_on_both_sides(place: Place) -> None:
    place.write(**{"patch.yaml": f"{IMAGE}---\n{PORT}"})
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    after = WEB.replace("nginx:1.25", "nginx:1.27")
    head, names, tail = after.partition("# names\n    targetPort: 53")
    assert out == f"{head}{names}53{tail}"
    assert err.splitlines() == [
        "info    patch.yaml document 1 (Deployment web) matches 1 resource, changes 1: Deployment web",
        "info    patch.yaml document 2 (Service dns) matches 1 resource, changes 1: Service dns",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_document_may_go(place: Place, end: str) -> None:
    place.write(**{"web.yaml": WEB.replace("\n", end), "patch.yaml": IMAGE + "$patch: delete\n"})
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB[WEB.index("---\n") :].replace("\n", end)
    assert "info    Deployment web: removed by patch.yaml\n" in err


@pytest.mark.parametrize(("arguments", "stdin"), [(("-", "patch.yaml"), WEB), (("web.yaml", "-"), IMAGE)])
def test_stdin(place: Place, arguments: tuple[str, ...], stdin: str) -> None:
    assert place.run("apply", *arguments, stdin=stdin)[0] == WEB.replace("nginx:1.25", "nginx:1.27")


def test_a_patch_that_names_nothing_is_for_every_resource(place: Place) -> None:
    out, _ = place.run("apply", "web.yaml", "-", stdin="metadata: {labels: {a: b}}")
    assert [document["metadata"]["labels"] for document in yaml.safe_load_all(out)] == [{"a": "b"}] * 2


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ('[{"op": "replace", "path": "/spec/replicas", "value": 3}]', None),
        ("spec: {replicas: 3}", "merge"),
        ("op: replace\npath: /spec/replicas\nvalue: 3\n", "json"),
    ],
)
def test_types(place: Place, patch: str, kind: str | None) -> None:
    web = WEB.partition("---\n")[0]
    place.write(**{"patch.yaml": patch})
    out, _ = place.run("apply", *(["--type", kind] if kind else []), "-", "patch.yaml", stdin=web)
    assert out == web.replace("replicas: 1", "replicas: 3")


def test_json_stays_json(place: Place) -> None:
    """As `kubectl get -o json` writes it; other programs read no YAML."""
    value = yaml.safe_load(OLD)
    place.write(**{"web.json": json.dumps(value, indent=4)})
    patch = (
        "spec: {paused: true, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, args: [a]}]}}}"
    )
    out, _ = place.run("apply", "web.json", "-", stdin=patch)
    template = json.loads(out)["spec"]["template"]
    assert template["metadata"] == {"labels": {"app": "web"}}
    assert {"name": "c", "args": ["a"]} in template["spec"]["containers"]


def test_a_merge_patch_replaces_lists(place: Place) -> None:
    out, _ = place.run("apply", "web.yaml", "patch.yaml", "--type", "merge")
    (container,) = next(yaml.safe_load_all(out))["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "web", "image": "nginx:1.27"}


def test_files_to_write(place: Place) -> None:
    wanted = WEB.replace("nginx:1.25", "nginx:1.27")
    assert place.run("apply", "web.yaml", "patch.yaml", "-o", "new.yaml")[0] == ""
    assert (place.read("new.yaml"), place.read("web.yaml")) == (wanted, WEB)
    (place.directory / "web.yaml").chmod(0o755)
    assert place.run("apply", "web.yaml", "patch.yaml", "--in-place", "--quiet") == ("", "")
    assert place.read("web.yaml") == wanted
    assert (place.directory / "web.yaml").stat().st_mode & 0o777 == 0o755


def test_a_difference(place: Place) -> None:
    out, _ = place.run("apply", "web.yaml", "patch.yaml", "--diff")
    lines = [line for line in out.splitlines() if line.startswith(("-", "+", "diff"))]
    assert lines == [
        "diff --git a/web.yaml b/web.yaml",
        "--- a/web.yaml",
        "+++ b/web.yaml",
        "-        image: 'nginx:1.25'",
        "+        image: 'nginx:1.27'",
    ]
    assert place.read("web.yaml") == WEB
    again, _ = place.run("apply", "web.yaml", "patch.yaml", "--diff", "--in-place")
    assert again == out
    assert place.read("web.yaml") != WEB
    assert place.run("apply", "web.yaml", "patch.yaml", "--diff")[0] == ""


def test_a_patch_that_matches_nothing(place: Place) -> None:
    out, err = place.run("apply", "web.yaml", "-", stdin=IMAGE.replace("name: web}", "name: web2}", 1), code=0)
    assert out == WEB
    assert err == "warning stdin matches nothing in web.yaml; check the object that it names\n"


def test_modes(place: Place) -> None:
    place.write(**{"patch.yaml": PORT})
    ports = [
        {"port": 53, "targetPort": 5353, "protocol": "UDP"},
        {"port": 53, "targetPort": 53, "protocol": "UDP"},
    ]
    out, _ = place.run("apply", "web.yaml", "patch.yaml", "--merge-keys", "single", "--list-order", "kubernetes")
    assert [*yaml.safe_load_all(out)][1]["spec"]["ports"] == ports
    patch = IMAGE.replace('image: "nginx:1.27"', "$setElementOrder/env: [{name: A}], env: [{name: A}]")
    place.write(**{"patch.yaml": patch})
    assert "moves B in" in place.run("apply", "web.yaml", "patch.yaml")[1]
    out, err = place.run("apply", "web.yaml", "patch.yaml", "--list-order", "kubernetes")
    assert out == WEB
    assert "moves" not in err


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: zones.example.com}
spec:
  group: example.com
  names: {kind: Zone}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}
"""


def test_definitions_in_the_file(place: Place) -> None:
    zone = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts:\n- id: 1 # one\n- id: 2\n"
    place.write(**{"web.yaml": f"{zone}---\n{CRD}"})
    patch = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts: [{id: 2, x: 1}]\n"
    out, _ = place.run("apply", "web.yaml", "-", stdin=patch)
    assert out == f"{zone}  x: 1\n---\n{CRD}"


REFUSED = [
    # what web.yaml and patch.yaml hold, what is said; None: as it is
    (None, "spec: {ports: [{name: dns}]}", ["Service dns: patch.yaml: spec.ports: ", "declared merge key: port"]),
    (None, "- {op: remove, path: /none}", ["Deployment web: patch.yaml: operation 1", "Service dns: patch.yaml"]),
    (
        None,
        f"{IMAGE}---\n{PORT.replace('port: 53, ', '')}",
        ["Service dns: patch.yaml document 2 (Service dns): spec.ports"],
    ),
    ("apiVersion: v1\nkind: List\nitems: []\n", None, ["error web.yaml holds a List: ", "a document of its own"]),
]
UNREADABLE = [
    (None, "text", ["error patch.yaml: a patch is a map or a list of operations"]),
    (None, "", ["error patch.yaml: the patch is empty"]),
    (None, f"{PORT}---\n- text\n", ["error patch.yaml: document 2: operation 1 is"]),
    (None, f"{PORT}---\ntext\n", ["error patch.yaml: document 2: a patch is a map or a list of operations"]),
    (None, "a: [", ["error patch.yaml: ", "not valid YAML"]),
    (None, "- {op: jump, path: /a}", ["error patch.yaml: operation 1, "]),
    ("a: [", None, ["error web.yaml: ", "not valid YAML"]),
    ("a: 1\na: 2\n", None, ["error web.yaml: ", "the key a is there twice"]),
    ("text", None, ["error web.yaml"]),
    ("a: 1", None, ["error web.yaml"]),
]


@pytest.mark.parametrize(
    ("web", "patch", "says", "code"),
    [(*case, code) for cases, code in ((REFUSED, 1), (UNREADABLE, 3)) for case in cases],
)
def test_refused_input(place: Place, web: str | None, patch: str | None, says: list[str], code: int) -> None:
    given = {"web.yaml": web, "patch.yaml": patch}
    place.write(**{name: text for name, text in given.items() if text is not None})
    before = place.read("web.yaml")
    _, err = place.run("apply", "web.yaml", "patch.yaml", "--in-place", code=code)
    assert [text for text in says if text not in err] == [], err
    assert place.read("web.yaml") == before


def test_a_list_beside_what_a_patch_is_for(place: Place) -> None:
    list_ = "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
    place.write(**{"web.yaml": WEB + list_})
    out, _ = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB.replace("nginx:1.25", "nginx:1.27") + list_


HALF_NAMED = [
    # a patch, by what it names its object
    ("{kind: Deployment, metadata: {name: web}}", "kind and metadata.name"),
    ("{apiVersion: apps/v1, kind: Deployment}", "apiVersion and kind"),
    ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: null}}", "apiVersion and kind and metadata.name"),
    ("{metadata: {name: {a: b}}}", "metadata.name"),
    ("{metadata: {namespace: prod}}", "metadata.namespace"),
]


@pytest.mark.parametrize(("patch", "named"), HALF_NAMED)
@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_a_patch_that_names_its_object_by_halves_is_refused(place: Place, patch: str, named: str, kind: str) -> None:
    place.write(**{"patch.yaml": f"{PORT}---\n{patch}\n---\n{patch}\n"})
    _, err = place.run("apply", "web.yaml", "patch.yaml", "--type", kind, code=1)
    assert len(err.splitlines()) == 2
    assert err.startswith("error   patch.yaml document 2")
    assert f" has {named}: a patch names its object by apiVersion, kind and metadata.name" in err
    assert "--allow-name-change" in err


def test_names_and_kinds_change_only_where_that_is_allowed(place: Place) -> None:
    operations = "[{op: replace, path: /metadata/name, value: new}, {op: replace, path: /kind, value: DaemonSet}]"
    place.write(**{"web.yaml": OLD, "patch.yaml": operations})
    assert place.run("apply", "web.yaml", "patch.yaml")[0] == OLD
    name, _ = place.run("apply", "web.yaml", "patch.yaml", "--allow-name-change")
    assert name == OLD.replace("{name: web}", "{name: new}")
    kind, _ = place.run("apply", "web.yaml", "patch.yaml", "--allow-kind-change")
    assert kind == OLD.replace("kind: Deployment", "kind: DaemonSet")
    place.write(**{"new.yaml": OLD.replace("{name: web}", "{name: new, namespace: prod}")})
    patch, _ = place.run("create", "web.yaml", "new.yaml")
    out, _ = place.run("apply", "web.yaml", "-", "--allow-name-change", stdin=patch)
    assert yaml.safe_load(out) == yaml.safe_load(place.read("new.yaml"))


def test_two_resources_of_one_identity_are_refused(place: Place) -> None:
    both = OBJECT % "{x: y}" + "---\n" + (OBJECT % "{x: z}").replace("name: a", "name: b")
    place.write(**{"maps.yaml": both, "patch.yaml": "[{op: replace, path: /metadata/name, value: b}]"})
    _, err = place.run("apply", "maps.yaml", "patch.yaml", "--allow-name-change", "--in-place", code=1)
    assert err.splitlines()[0] == (
        "error   maps.yaml: ConfigMap a: patch.yaml makes it ConfigMap b, which would be there 2 times (in maps.yaml); "
        "give it another name, or remove the other one first"
    )
    assert place.read("maps.yaml") == both


def test_limits_name_the_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = "---\n".join([OBJECT % "{x: y}"] * 3)
    place.write(**{"maps.yaml": maps, "patch.yaml": "data: {x: z}\n---\ndata: {y: z}\n"})
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    _, err = place.run("apply", "maps.yaml", "patch.yaml", "--in-place", code=3)
    assert err == (
        "error maps.yaml holds more than 2 documents; divide it, or raise the limit by KRM_MERGE_MAX_DOCUMENTS\n"
    )
    monkeypatch.delenv("KRM_MERGE_MAX_DOCUMENTS")
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "5")
    _, err = place.run("apply", "maps.yaml", "patch.yaml", "--in-place", code=3)
    assert err.startswith("error patch.yaml: 2 targets without the name of a resource and 3 resources are more than 5")
    assert place.read("maps.yaml") == maps


def test_references_that_a_rename_leaves_behind_are_a_warning(place: Place) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{envFrom: [{configMapRef: {name: a}}]}]}\n"
    )
    rename = "[{op: replace, path: /metadata/name, value: b}]"
    place.write(**{"all.yaml": OBJECT % "{x: y}" + "---\n" + pod, "patch.yaml": rename})
    _, err = place.run("apply", "all.yaml", "patch.yaml", "--allow-name-change")
    assert (
        "warning all.yaml: ConfigMap a: patch.yaml makes it ConfigMap b, but the package still refers to ConfigMap a: "
        "Pod b in spec.containers[0].envFrom[0].configMapRef.name; change these fields, too\n"
    ) in err


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ("metadata: {name: null}", "metadata.name"),
        ("metadata: {name: {a: b}}", "metadata.name"),
        ("metadata: {annotations: [a]}", "metadata.annotations"),
        ("metadata: null", "metadata.name"),
    ],
)
def test_what_leaves_no_object_is_refused(place: Place, patch: str, path: str) -> None:
    place.write(**{"web.yaml": OLD})
    _, err = place.run("apply", "web.yaml", "-", "--allow-name-change", stdin=patch, code=1)
    assert f"Deployment web: stdin: {path}: " in err


def test_what_is_no_file_stays_what_it_is(place: Place) -> None:
    """A pipe here; `-o /dev/null` by root must leave a device."""
    pipe = place.directory / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    place.run("apply", "web.yaml", "patch.yaml", "-o", "pipe")
    with open(reader, encoding="utf-8") as source:
        assert source.read() == place.run("apply", "web.yaml", "patch.yaml")[0]
    assert pipe.is_fifo()


@pytest.mark.parametrize("how", [["-o", "new.yaml"], ["--diff"], []])
def test_of_what_is_refused_nothing_is_written(place: Place, how: list[str]) -> None:
    place.run("apply", "web.yaml", "-", *how, stdin="- {op: remove, path: /none}", code=1)
    assert sorted(os.listdir(place.directory)) == ["patch.yaml", "web.yaml"]


@pytest.mark.parametrize("arguments", [("none.yaml", "patch.yaml"), ("web.yaml", "none.yaml"), (".", "patch.yaml")])
def test_files_that_are_none(place: Place, arguments: tuple[str, ...]) -> None:
    _, err = place.run("apply", *arguments, code=3)
    assert err.startswith("error ")
    assert next(name for name in arguments if name in ("none.yaml", ".")) in err


def test_bytes_that_are_no_text(place: Place) -> None:
    (place.directory / "patch.yaml").write_bytes(b"a: \xff\n")
    assert place.run("apply", "web.yaml", "patch.yaml", code=3)[1].startswith("error patch.yaml: ")
    (place.directory / "web.yaml").write_bytes(b"a: \xff\n")
    place.write(**{"patch.yaml": IMAGE})
    assert place.run("apply", "web.yaml", "patch.yaml", code=3)[1].startswith("error web.yaml: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "-", "-"),
        ("apply", "-", "patch.yaml", "--in-place"),
        ("apply", "web.yaml", "patch.yaml", "--in-place", "-o", "new.yaml"),
        ("apply", "web.yaml"),
        ("apply", "web.yaml", "patch.yaml", "--type", "strategicmerge"),
        ("apply", "web.yaml", "patch.yaml", "--list-order", "kubectl"),
        ("apply", "web.yaml", "patch.yaml", "--merge-keys", "all"),
        ("create", "-", "-"),
        ("create", "web.yaml"),
        ("create", "web.yaml", "web.yaml", "--type", "json"),
        ("make", "web.yaml"),
    ],
)
def test_wrong_usage(place: Place, arguments: tuple[str, ...]) -> None:
    place.run(*arguments, code=2)
    assert place.read("web.yaml") == WEB


@pytest.mark.parametrize("command", ["apply", "create"])
def test_help(place: Place, command: str) -> None:
    assert f"krm-merge patch {command} [OPTIONS]" in place.run(command, "--help")[0]


# ---- create ------------------------------------------------------------------------------------------------------

OLD = WEB.partition("---\n")[0].replace("# the shop\n", "")
NEW = (
    OLD.replace("replicas: 1 # few", "replicas: 2")
    .replace("nginx:1.25", "nginx:1.27")
    .replace('        - {name: A, value: "1"}\n', "")
    .replace("      - name: log\n        image: fluent:1.0\n", "")
    + '        - {name: C, value: "3"}\n      - name: log\n        image: fluent:2.0\n'
)
PATCH = """\
spec:
  replicas: 2
  template:
    spec:
      $setElementOrder/containers:
      - name: web
      - name: log
      containers:
      - $setElementOrder/env:
        - name: B
        - name: C
        env:
        - name: C
          value: "3"
        - name: A
          $patch: delete
        image: nginx:1.27
        name: web
      - image: fluent:2.0
        name: log
"""


def written(place: Place, **files: str) -> None:
    place.write(**{f"{name}.yaml": text for name, text in files.items()})


def test_create_and_apply(place: Place) -> None:
    written(place, old=OLD, new=NEW)
    out, err = place.run("create", "old.yaml", "new.yaml")
    assert (yaml.safe_load(out), err) == (yaml.safe_load(PATCH), "")
    merged, _ = place.run("apply", "old.yaml", "-", stdin=out)
    assert yaml.safe_load(merged) == yaml.safe_load(NEW)
    assert "# the server" in merged
    again, _ = place.run("apply", "-", "patch.yaml", stdin=merged)
    assert again == merged


@pytest.mark.parametrize("modes", [[], ["--merge-keys", "single", "--list-order", "kubernetes"], ["--type", "merge"]])
def test_round_trips(place: Place, modes: list[str]) -> None:
    written(place, old=OLD, new=NEW)
    patch, _ = place.run("create", "old.yaml", "new.yaml", *modes)
    merged, _ = place.run("apply", "old.yaml", "-", *modes, stdin=patch)
    assert yaml.safe_load(merged) == yaml.safe_load(NEW)


def test_nothing_to_patch(place: Place) -> None:
    written(place, old=OLD)
    assert place.run("create", "old.yaml", "old.yaml") == ("{}\n", "")
    assert place.run("create", "-", "old.yaml", stdin=OLD) == ("{}\n", "")
    assert place.run("create", "old.yaml", "-", "--type", "merge", stdin=OLD) == ("{}\n", "")
    assert place.run("apply", "old.yaml", "-", stdin="{}\n")[0] == OLD


def test_definitions_beside_the_object(place: Place) -> None:
    """A deletion in a list that merges is told by a directive; one that is left out of the patch would stay."""
    old = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts: [{id: 1}, {id: 2}]\n"
    written(place, old=f"{CRD}---\n{old}", new=old.replace(", {id: 2}", ""))
    patch, _ = place.run("create", "old.yaml", "new.yaml")
    assert {"id": 2, "$patch": "delete"} in yaml.safe_load(patch)["parts"]
    out, _ = place.run("apply", "old.yaml", "-", stdin=old.partition("parts:")[0] + patch)
    assert [*yaml.safe_load_all(out)][1]["parts"] == [{"id": 1}]
    written(place, old=CRD, new=CRD.replace("Zone", "Area"))
    assert yaml.safe_load(place.run("create", "old.yaml", "new.yaml")[0]) == {"spec": {"names": {"kind": "Area"}}}
    written(place, old=f"{old}---\n{old}")
    assert "old.yaml: one object is expected" in place.run("create", "old.yaml", "new.yaml", code=3)[1]


def objects(place: Place, old: Any, new: Any, live: Any) -> None:
    written(place, **{name: OBJECT % json.dumps(data) for name, data in (("old", old), ("new", new), ("live", live))})


@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_three_ways(place: Place, kind: str) -> None:
    """What the new object lacks and the old one had goes, what only the live one has stays, its changes go."""
    objects(place, {"a": "1", "b": "1", "c": "1"}, {"a": "2", "c": "1"}, {"a": "1", "b": "1", "c": "9", "d": "9"})
    out, _ = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind)
    assert yaml.safe_load(out) == {"data": {"a": "2", "b": None, "c": "1"}}
    merged, _ = place.run("apply", "live.yaml", "-", "--type", kind, stdin=out)
    assert yaml.safe_load(merged)["data"] == {"a": "2", "c": "1", "d": "9"}


@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_conflicts_with_the_live_object(place: Place, kind: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "9"})
    arguments = ["create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind]
    _, err = place.run(*arguments, "--no-overwrite", code=1)
    assert err.startswith("error live.yaml: ")
    assert yaml.safe_load(place.run(*arguments, "--overwrite")[0]) == {"data": {"a": "2"}}
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1", "b": "9"})
    assert yaml.safe_load(place.run(*arguments, "--no-overwrite")[0]) == {"data": {"a": "2"}}


@pytest.mark.parametrize("kind", ["strategic", "merge"])
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("apiVersion: v1", "apiVersion: v2", "apiVersion is v1, in new.yaml it is v2"),
        ("kind: ConfigMap", "kind: Secret", "kind is ConfigMap, in new.yaml it is Secret"),
        ("name: ", "label: ", "in new.yaml it is missing"),
        ("name: ", "name: an", "metadata.name is "),
    ],
)
def test_the_live_object_is_another_one(place: Place, kind: str, old: str, new: str, says: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1"})
    changed = (OBJECT % '{"a": "2"}').replace(old, new)
    assert changed != OBJECT % '{"a": "2"}'
    written(place, new=changed)
    _, err = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind, code=3)
    assert err.startswith("error live.yaml: ")
    assert says in err
    # Without a live object it is a patch that makes another object of this one.
    place.run("create", "old.yaml", "new.yaml", "--type", kind)


def test_a_patch_that_does_not_lead_there_names_file_and_path(place: Place) -> None:
    written(place, old=OLD, new=NEW.replace("- name: log\n", "- name: web\n"))
    _, err = place.run("create", "old.yaml", "new.yaml", code=1)
    assert err.startswith("error new.yaml: spec.template.spec.containers: no strategic merge patch leads there")
    assert yaml.safe_load(place.run("create", "old.yaml", "new.yaml", "--type", "merge")[0])


@pytest.mark.kubectl
def test_kubectl_applies_what_was_created(place: Place) -> None:
    written(place, old=OLD, new=NEW)
    modes = ["--merge-keys", "single", "--list-order", "kubernetes"]
    patch = yaml.safe_load(place.run("create", "old.yaml", "new.yaml", *modes)[0])
    command = [
        "kubectl",
        "patch",
        "--local",
        "-o",
        "json",
        "-f",
        "old.yaml",
        "--type",
        "strategic",
        "-p",
        json.dumps(patch),
    ]
    done = subprocess.run(command, cwd=place.directory, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == yaml.safe_load(NEW)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "not valid YAML"),
        ("- a", "one object is expected"),
        ("", "one object is expected"),
        ("a: 1\n---\nb: 1\n", ""),
    ],
)
@pytest.mark.parametrize("name", ["old", "new", "live"])
def test_objects_that_are_none(place: Place, text: str, says: str, name: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1"})
    written(place, **{name: text})
    _, err = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", code=3)
    assert err.startswith(f"error {name}.yaml: ")
    assert says in err


def test_a_missing_merge_key_names_file_and_path(place: Place) -> None:
    written(place, old=OLD, new=NEW.replace("- name: log\n", "- title: log\n"))
    _, err = place.run("create", "old.yaml", "new.yaml", code=1)
    assert err.startswith("error new.yaml: spec.template.spec.containers: ")
    assert "does not contain declared merge key: name" in err
