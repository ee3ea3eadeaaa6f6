"""One resource: read only when asked, edited in its own text, without the id annotations once it was edited."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from krm.resource_lists import HEAD
from krm_merge.krm import Resource, ResourceList
from krm_merge.krm.resource import ResourceError
from krm_merge.text.cut import Slice

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment   # what runs
metadata:
  name: web
  namespace: n
  annotations:
    internal.config.kubernetes.io/path: 'web.yaml'
    internal.config.kubernetes.io/index: '2'
    internal.config.kubernetes.io/id: '7'
    config.k8s.io/id: '7'
    internal.config.kubernetes.io/seqindent: compact
spec:
  replicas: 1 # few
  containers:
  # the server
  - name: web
    image: nginx:1
    ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]
  - name: log
    args: [a, b]
"""
IDS = ["    internal.config.kubernetes.io/id: '7'\n", "    config.k8s.io/id: '7'\n"]


def resource(text: str = DEPLOYMENT, column: int = 0) -> Resource:
    pad = " " * column
    lines = "".join(f"{pad}  {line}" for line in text.splitlines(keepends=True))
    (item,) = ResourceList.parse(f"{HEAD}items:\n{pad}-{lines[column + 1 :]}".encode()).items
    return item


def text_of(item: Resource, column: int = 0) -> str:
    """The item's bytes as a document."""
    text = item.data().decode()
    assert text[column] == "-"
    text = text[:column] + " " + text[column + 1 :]
    return "".join(line[column + 2 :] for line in text.splitlines(keepends=True))


def without_ids(text: str) -> str:
    for line in IDS:
        assert line in text
        text = text.replace(line, "")
    return text


def test_what_is_read() -> None:
    item = resource()
    assert (item.kind, item.api_version, item.name, item.namespace) == ("Deployment", "apps/v1", "web", "n")
    assert (item.file, item.index) == ("web.yaml", 2)
    assert item.annotations["config.k8s.io/id"] == "7"
    assert str(item.ref) == "Deployment n/web"
    assert item.value == yaml.safe_load(DEPLOYMENT)
    assert not item.is_changed


@pytest.mark.parametrize("text", ["a: 1\n", "metadata: 1\n", "metadata: {annotations: []}\n", "metadata:\nkind:\n"])
def test_what_is_not_there_is_empty(text: str) -> None:
    item = resource(text)
    assert (item.kind, item.api_version, item.name, item.namespace) == ("", "", "", "")
    assert (item.file, item.index, item.annotations) == (None, 0, {})
    assert item.ref.namespace == ""


@pytest.mark.parametrize("index", ["x", "-1", "", "1.5", "²"])
def test_an_index_that_is_none_is_the_first(index: str) -> None:
    item = resource(f"metadata:\n  annotations:\n    internal.config.kubernetes.io/index: '{index}'\n")
    assert item.index == 0


def test_legacy_annotations_tell_the_place_too() -> None:
    text = "metadata:\n  annotations:\n    config.kubernetes.io/path: a.yaml\n    config.kubernetes.io/index: '3'\n"
    assert (resource(text).file, resource(text).index) == ("a.yaml", 3)


KINDS = [
    ("kind: A\n", "A"),
    ("x: 1\nkind:   A  # why\n", "A"),
    ("x: 1\nkind: 'A'\n", "A"),
    ('"kind": A\n', "A"),
    ("spec:\n  kind: B\nkind: A\n", "A"),
    ("spec:\n  kind: B\n", ""),
    ("spec:\n- kind: B\nkind: A\n", "A"),
    ("- kind: B\n", None),
    ("text: |\n  kind: B\n", ""),
    ("text: |-\n  x\n\n  kind: B\nkind: A", "A"),
    ("# kind: B\nkind: A\n", "A"),
    ("kind: A#b\n", "A#b"),
    ("kind: A-b\n", "A-b"),
    ("kind: A B\n", "A B"),
    ("kind: A\n  B\n", "A B"),
    ("kind:\n  A\n", "A"),
    ("kind: 12\n", "12"),
    ("kind: null\n", ""),
    ("kind: {}\n", ""),
    ("kind: A\r\nx: 1\r\n", "A"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
@pytest.mark.parametrize("column", [0, 2])
def test_the_kind_without_parsing_is_the_kind(text: str, kind: str | None, column: int) -> None:
    item = resource(text, column)
    if kind is None:
        with pytest.raises(ResourceError):
            _ = item.kind
        return
    assert item.kind == kind
    assert item.root is not None
    assert item.kind == kind


@pytest.mark.parametrize(
    "dash", ["-   kind: A\n    x: 1\n", "- x: 1\n  kind: A\n", "-\n  kind: A\n", "- # c\n  kind: A\n"]
)
def test_the_kind_at_any_distance_of_the_dash(dash: str) -> None:
    (item,) = ResourceList.parse(f"{HEAD}items:\n{dash}".encode()).items
    assert item.kind == "A"


def test_the_kind_does_not_need_a_readable_item() -> None:
    item = resource("kind: A\nkind2: 1\nkind2: 2\n")
    assert item.kind == "A"
    with pytest.raises(ResourceError, match="twice"):
        _ = item.name


BAD = {
    "twice": (
        b"- a: 1\n  a: 2\n  config.kubernetes.io/path: 'dir/a.yaml' # x\n",
        "dir/a.yaml: .*a appears twice",
        "dir/a.yaml",
    ),
    "not UTF-8": (b"- a: \xff\n", "not UTF-8", None),
    "not UTF-8, with a path": (b"- a: \xff\n  config.kubernetes.io/path: \xff.yaml\n", "not UTF-8", "\ufffd.yaml"),
    "a word": (b"- a\n", "not a Kubernetes object", None),
    "a list": (b"- - a\n", "not a Kubernetes object", None),
    "nothing": (b"-\n", "not a Kubernetes object", None),
}


@pytest.mark.parametrize(("data", "problem", "file"), BAD.values(), ids=BAD)
def test_items_that_cannot_be_read_name_their_file(data: bytes, problem: str, file: str | None) -> None:
    with pytest.raises(ResourceError, match=problem) as raised:
        _ = Resource(Slice(data, proved=True)).name
    assert raised.value.file == file


EDITS: list[tuple[str, Any, str, str]] = [
    ("spec.replicas", 3, "replicas: 1 # few", "replicas: 3 # few"),
    ("spec.containers[name=log].args[1]", "c", "[a, b]", "[a, c]"),
    ("spec.containers[0].image", "nginx:2", "nginx:1", "nginx:2"),
    ('spec.containers[name="web"].image', "1", "image: nginx:1", 'image: "1"'),
    ("spec.containers[name=web].ports[containerPort=80,protocol=UDP].protocol", "SCTP", "UDP", "SCTP"),
    ("spec.containers[1].args", [], "[a, b]", "[]"),
    ("spec.strategy.type", "Recreate", "    args: [a, b]\n", "    args: [a, b]\n  strategy:\n    type: Recreate\n"),
    ("spec.paused", True, "    args: [a, b]\n", "    args: [a, b]\n  paused: true\n"),
    ("metadata.annotations['a.b/c']", "d", "seqindent: compact\n", "seqindent: compact\n    a.b/c: d\n"),
    ("spec.replicas", None, "replicas: 1 # few", "replicas: null # few"),
    ("data", {"a": {"b": [1, {"c": None}]}}, "[a, b]\n", "[a, b]\ndata:\n  a:\n    b:\n    - 1\n    - c: null\n"),
]


@pytest.mark.parametrize(("path", "value", "old", "new"), EDITS)
@pytest.mark.parametrize("column", [0, 2, 4])
def test_set(path: str, value: Any, old: str, new: str, column: int) -> None:
    item = resource(column=column)
    item.set(path, value)
    assert item.is_changed
    assert text_of(item, column) == without_ids(DEPLOYMENT).replace(old, new)
    assert item.value == yaml.safe_load(text_of(item, column))


REMOVALS = [
    ("spec.replicas", "  replicas: 1 # few\n"),
    ("spec.containers[0]", DEPLOYMENT[DEPLOYMENT.index("  # the server") : DEPLOYMENT.index("  - name: log")]),
    ("spec.containers[name=log].args", "    args: [a, b]\n"),
    ("spec.containers[1].args[0]", "a, "),
    (
        "metadata.annotations['internal.config.kubernetes.io/seqindent']",
        "    internal.config.kubernetes.io/seqindent: compact\n",
    ),
]


@pytest.mark.parametrize(("path", "gone"), REMOVALS)
def test_remove(path: str, gone: str) -> None:
    item = resource()
    item.remove(path)
    assert text_of(item) == without_ids(DEPLOYMENT).replace(gone, "", 1)


@pytest.mark.parametrize(
    "path",
    [
        "spec.containers[name=none].image",
        "spec.containers[7].image",
        "spec.containers[name=web,image=x].image",
        "spec.containers.name",
        "spec.containers[name=web].ports.name",
        "spec[0]",
        "spec[name=x].y",
        "spec.replicas.x",
        "spec.none[0]",
        "spec.none[0].x",
    ],
)
def test_paths_that_lead_nowhere(path: str) -> None:
    item = resource()
    with pytest.raises(KeyError):
        item.set(path, 1)
    with pytest.raises(KeyError):
        item.remove(path)
    assert item.data() == resource().data()


@pytest.mark.parametrize("path", ["spec.none", "none.a", "spec.containers[0].none.a"])
def test_what_is_not_there_cannot_be_removed(path: str) -> None:
    with pytest.raises(KeyError):
        resource().remove(path)


@pytest.mark.parametrize("path", ["", "spec..a", "a[", "a b"])
def test_unreadable_paths(path: str) -> None:
    with pytest.raises(ValueError, match="field path"):
        resource().set(path, 1)


def test_edits_build_on_each_other() -> None:
    item = resource()
    item.set("spec.new.a", 1)
    item.set("spec.new.b", [{"name": "x"}])
    item.set("spec.new.b[name=x].y", 2)
    item.remove("spec.new.a")
    item.set("spec.containers[name=web].name", "renamed")
    item.set("spec.containers[name=renamed].image", "i")
    value: Any = item.value
    assert value["spec"]["new"] == {"b": [{"name": "x", "y": 2}]}
    assert value["spec"]["containers"][0] == {
        **yaml.safe_load(DEPLOYMENT)["spec"]["containers"][0],
        "name": "renamed",
        "image": "i",
    }
    item.remove("spec.new")
    with pytest.raises(KeyError):
        item.remove("spec.new")


def test_what_is_read_after_an_edit_is_what_was_written() -> None:
    item = resource()
    item.set("metadata.name", "other")
    item.set("kind", "StatefulSet")
    item.set("metadata.annotations.a", "b")
    assert (item.name, item.kind, item.annotations["a"]) == ("other", "StatefulSet", "b")


def test_the_last_annotation_removed() -> None:
    item = resource("kind: A\nmetadata:\n  name: x\n  annotations:\n    a: b\n")
    item.remove("metadata.annotations.a")
    value: Any = item.value
    assert not value["metadata"].get("annotations")
    assert yaml.safe_load(item.data())[0]["metadata"]["name"] == "x"
    item.set("metadata.annotations.c", "d")
    assert yaml.safe_load(item.data())[0]["metadata"]["annotations"] == {"c": "d"}


def test_w3_the_ids_go_although_they_are_the_last_annotations() -> None:
    item = resource("kind: A\nmetadata:\n  name: x\n  annotations:\n    config.k8s.io/id: '1'\nspec: {a: 1}\n")
    item.set("spec.a", 2)
    written = yaml.safe_load(item.data())[0]
    assert not written["metadata"].get("annotations")
    assert written["spec"] == {"a": 2}


@pytest.mark.parametrize(
    "annotations",
    [
        "{internal.config.kubernetes.io/id: '1', config.k8s.io/id: '1', a: b}",
        "\n    'config.k8s.io/id': '1'\n    a: b # c\n    \"internal.config.kubernetes.io/id\": '1'",
        "\n    a: b\n    # above\n    config.k8s.io/id: '1' # behind",
    ],
)
def test_w3_only_edited_items_lose_the_ids(annotations: str) -> None:
    text = f"kind: A\nmetadata:\n  annotations: {annotations}\nspec: 1\n".replace(": \n", ":\n")
    untouched, edited = resource(text), resource(text)
    edited.set("spec", 2)
    assert untouched.data() == untouched.slice.data
    assert yaml.safe_load(edited.data())[0]["metadata"]["annotations"] == {"a": "b"}
    assert edited.data() == edited.data()


def test_setting_what_stands_changes_no_byte() -> None:
    item = resource()
    item.set("spec.replicas", 1)
    assert item.data() == item.slice.data


def test_a_resource_of_a_tree_is_to_look_at() -> None:
    item = Resource.from_tree(resource().root)
    assert (item.kind, item.name) == ("Deployment", "web")


def test_merged_is_the_object_after_the_edits() -> None:
    item = resource()
    assert item.merged() is item.root
    item.set("spec.replicas", 5)
    spec = item.merged().get("spec")
    assert spec is not None
    assert spec.canonical != item.root.get("spec").canonical  # type: ignore[union-attr]


def test_edits_where_fields_are_inherited() -> None:
    text = "base: &b {x: 1, y: 2}\nspec:\n  <<: *b\n  z: 3\n"
    item = resource(text)
    item.set("spec.x", 9)
    item.remove("spec.y")
    assert yaml.safe_load(item.data())[0] == {"base": {"x": 1, "y": 2}, "spec": {"x": 9, "z": 3}}


def test_edits_inside_an_alias_change_that_place_only() -> None:
    item = resource("a: &a {x: 1}\nb: *a\n")
    item.set("b.x", 2)
    assert item.value == {"a": {"x": 1}, "b": {"x": 2}}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("- kind: A\n", 2),
        ("-   kind: A\n    spec: 1\n", 4),
        ("-\n  kind: A\n", 2),
        ("  - # why\n\n    # how\n      kind: A\n", 6),
        ("- {kind: A}\n", 2),
    ],
)
def test_the_column_of_fields_is_that_of_the_first_line_with_one(text: str, column: int) -> None:
    dash = text.index("-")
    assert Resource(Slice(text.encode(), proved=False), dash).column == column
