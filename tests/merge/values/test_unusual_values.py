"""Values that real packages rarely hold: elements without keys, long lists, alternatives, wrapped strings."""

from __future__ import annotations

import pytest

from krm_merge import MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import File
from krm_merge.packages.merge.trees import merge_trees

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
LIST = "apiVersion: v1\nkind: List\n"
SECRETS = "apiVersion: v1\nkind: SecretList\n"
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"
POLICY = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {name: p}\nonConflict: local\n"
CONTAINERS = "spec:\n  template:\n    spec:\n      containers: [%s]\n"
VOLUME = "spec:\n  template:\n    spec:\n      volumes:\n      - name: v\n%s"
FLOW = 'data:\n  f: |\n    {"a": "x\n      y", "b": %s, "c": %s}\n'
WRAPPED = "data:\n  a: one\n    two\n    three\n"


def merge(head: str, *sides: str) -> tuple[str, MergedPackage]:
    """The text of local after the merge; merging again changes nothing."""
    original, upstream, local = ({"a.yaml": (head + text).encode()} for text in sides)
    done = merge_packages(original, upstream, local)
    assert merge_packages(original, upstream, done.files).changes == {}
    return done.files["a.yaml"].decode().removeprefix(head), done


@pytest.mark.parametrize(
    ("head", "original", "upstream", "local", "expected", "conflicts"),
    [
        pytest.param(
            DEPLOYMENT,
            CONTAINERS % "a, b",
            CONTAINERS % "a, c",
            CONTAINERS % "d, b",
            CONTAINERS % "a, c",
            ["L3", "L1"],
            id="containers that are no maps merge as a sequence",
        ),
        pytest.param(
            LIST,
            "items: [a, b]\n",
            "items: [a, c]\n",
            "items: [d, b]\n",
            "items: [a, c]\n",
            ["L3", "L1"],
            id="items of a List that are no objects merge as a sequence",
        ),
        pytest.param(
            SECRETS, "items: a\n", "items: b\n", "items: c\n", "items: b\n", ["V4"], id="a list of Secrets that is none"
        ),
        pytest.param(
            "apiVersion: v1\nkind: ThingList\n",
            "items: a\n",
            "items: b\n",
            "items: c\n",
            "items: b\n",
            ["V4"],
            id="a list of a kind that nobody knows, which is none",
        ),
        pytest.param(
            CONFIG_MAP, "a: {b: 1}\nc: 1\n", "c: 1\n", "c: 2\n", "c: 2\n", [], id="a mapping that both sides removed"
        ),
        pytest.param(
            DEPLOYMENT,
            "spec: {template: {spec: {containers: [{name: a}]}}, replicas: 1}\n",
            "spec: {template: {spec: {}}, replicas: 1}\n",
            "spec: {template: {spec: {}}, replicas: 2}\n",
            "spec: {template: {spec: {}}, replicas: 2}\n",
            [],
            id="a keyed list that both sides removed",
        ),
        pytest.param(
            DEPLOYMENT,
            VOLUME % "        configMap: {name: c, optional: true}\n",
            VOLUME % "",
            VOLUME % "        configMap: {name: c}\n",
            VOLUME % "",
            ["V7"],
            id="an alternative that one side removed, and the other a field of it",
        ),
        pytest.param(
            DEPLOYMENT,
            VOLUME % "        configMap: {name: c}\n",
            VOLUME % "",
            VOLUME % "        configMap: {name: d}\n",
            VOLUME % "",
            ["V7"],
            id="an alternative that one side removed, and the other changed",
        ),
        pytest.param(
            CONFIG_MAP,
            WRAPPED,
            WRAPPED.replace("one", "ONE"),
            WRAPPED.replace("three", "THREE"),
            WRAPPED.replace("one", "ONE").replace("three", "THREE"),
            [],
            id="other lines of a wrapped string",
        ),
        pytest.param(
            CONFIG_MAP,
            "data:\n  a: one\n    two\n",
            "data:\n  a: ONE\n    two\n",
            "data:\n  a: one\n    TWO\n",
            "data:\n  a: ONE\n    two\n",
            ["V4"],
            id="both lines of a string of two",
        ),
        pytest.param(
            CONFIG_MAP,
            WRAPPED,
            WRAPPED.replace("two", "TWO"),
            WRAPPED.replace("two", "zwei"),
            WRAPPED.replace("two", "TWO"),
            ["V4"],
            id="one line of a wrapped string",
        ),
        pytest.param(
            CONFIG_MAP,
            WRAPPED,
            WRAPPED.replace("one", "ONE"),
            "data:\n  a: one two four\n",
            WRAPPED.replace("one", "ONE"),
            ["V4"],
            id="a wrapped string that local wrote on one line",
        ),
        pytest.param(
            CONFIG_MAP,
            "data: {{ .Values.data }}\na: 1\n",
            "data: {{ .Values.upstream }}\na: 1\n",
            "data: {{ .Values.local }}\na: 2\n",
            "data: {{ .Values.upstream }}\na: 2\n",
            ["V4"],
            id="a template that reads as a mapping",
        ),
        pytest.param(
            CONFIG_MAP,
            'a: \'{"x": 1, "y": 1}\'\nb: \'{"x": 1\'\n',
            'a: \'{"x": 2, "y": 1}\'\nb: \'{"x": 2\'\n',
            'a: \'{"x": 1, "y": 3}\'\nb: \'{"x": 3\'\n',
            'a: \'{"x": 2, "y": 3}\'\nb: \'{"x": 2\'\n',
            ["V4"],
            id="JSON on one line, and what only begins like it",
        ),
        pytest.param(
            CONFIG_MAP,
            FLOW % (1, 1),
            FLOW % (2, 1),
            FLOW % (1, 3),
            FLOW % (2, 3),
            [],
            id="a text with a string in quotes that goes on in the next line",
        ),
        pytest.param(
            CONFIG_MAP,
            "a: ['*']\n",
            "a: [get, list]\n",
            "a: [get]\n",
            "a: [get, list]\n",
            [],
            id="a list that both replaced, local by a part of upstream's",
        ),
        pytest.param(
            KUSTOMIZATION,
            "resources: [a]\n",
            "resources: [b, c]\n",
            "resources: [b]\n",
            "resources: [b, c]\n",
            [],
            id="a set that both replaced, local by a part of upstream's",
        ),
        pytest.param(
            CONFIG_MAP,
            "a: ['*']\n",
            "a: [get]\n",
            "a: [get, list]\n",
            "a: [get, list]\n",
            [],
            id="a list to which local added after the merge",
        ),
        pytest.param(
            CONFIG_MAP,
            "a: []\n",
            "a: [{name: n, b: [{c: 1, d: 1}], e: [{f: 1}]}]\n",
            "a: [{name: n, b: [{c: 2, d: 1}], e: [{g: 1}]}]\n",
            "a: [{name: n, b: [{c: 1, d: 1}], e: [{f: 1}]}]\n",
            ["L3", "L3"],
            id="lists in an element that both added, with the same fields and with others",
        ),
    ],
)
def test_what_becomes_of_it(
    head: str, original: str, upstream: str, local: str, expected: str, conflicts: list[str]
) -> None:
    text, done = merge(head, original, upstream, local)
    assert text == expected
    assert [record.rule for record in done.records if record.status != "automatic"] == conflicts


def test_a_package_that_only_local_made_one_keeps_its_kptfile() -> None:
    done = merge_packages({"a.txt": b"1"}, {"a.txt": b"2"}, {"a.txt": b"1", "Kptfile": KPTFILE.encode()})
    assert done.changes == {"a.txt": b"2"}
    assert done.files["Kptfile"].decode() == KPTFILE


@pytest.mark.parametrize("original", ["[a]", "[]"])
def test_functions_that_are_no_maps_are_one_value(original: str) -> None:
    head = KPTFILE + "pipeline:\n"
    sides = [{"Kptfile": f"{head}  mutators: {functions}\n".encode()} for functions in (original, "[b]", "[c]")]
    done = merge_packages(*sides)
    assert done.files == sides[1]
    assert {record.rule for record in done.records if record.status == "settled"} == {"F3"}


def test_a_probe_that_asks_a_renamed_port_is_reported() -> None:
    """Law G: upstream renamed the port, local added the probe."""
    container = DEPLOYMENT + "spec:\n  template:\n    spec:\n      containers:\n      - name: c\n        image: i\n"
    ports = "        ports:\n        - {name: %s, containerPort: 80}\n"
    probe = "        livenessProbe:\n          httpGet: {path: /, port: http}\n"
    texts = (container + ports % "http", container + ports % "web", container + ports % "http" + probe)
    original, upstream, local = ({"a.yaml": File(text.encode())} for text in texts)
    done = merge_trees(original, upstream, local, PackageMerger(Policy()))
    warnings = [result.message for result in done.results if result.severity == "warning"]
    assert len(warnings) == 1
    assert "the livenessProbe of c asks the port http, which the container does not name" in warnings[0]


def test_a_mount_of_a_removed_volume_is_reported_in_any_kind() -> None:
    """Law G: upstream removed a volume of the workflow, local added a template that mounts it; lines merge both."""
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  volumes:\n"
    work, cache = "  - {name: work, emptyDir: {}}\n", "  - {name: cache, emptyDir: {}}\n"
    mount = "  - name: %s\n    container:\n      volumeMounts:\n      - {name: %s, mountPath: /m}\n"
    end = "  entrypoint: a\n  templates:\n" + mount % ("a", "work")
    texts = (head + work + cache + end, head + work + end, head + work + cache + end + mount % ("b", "cache"))
    original, upstream, local = ({"a.yaml": File(text.encode())} for text in texts)
    done = merge_trees(original, upstream, local, PackageMerger(Policy()))
    place = "spec.templates[name=b].container.volumeMounts"
    (warning,) = [result for result in done.results if result.severity == "warning"]
    assert (warning.path, warning.rule) == (place, "G")
    assert warning.message == f"{place}: b mounts the volume cache, which is not defined around it"


def test_a_function_that_both_added_in_two_versions_is_a_conflict_of_its_version() -> None:
    head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"
    sides = [head, *(f"{head}pipeline:\n  mutators:\n  - image: r/a:{version}\n    name: a\n" for version in "12")]
    original, upstream, local = ({"Kptfile": text.encode()} for text in sides)
    merged = merge_packages(original, upstream, local, function_identity="document")
    assert [record.rule for record in merged.records] == ["V4"]
    assert b"image: r/a:1\n" in merged.files["Kptfile"]


def test_what_is_in_a_subpackage_of_another_upstream_is_left_alone() -> None:
    def package(repo: str, value: int, description: str) -> dict[str, bytes]:
        upstream = f"upstream: {{type: git, git: {{repo: {repo}, directory: /, ref: v1}}}}\n"
        texts = {
            "Kptfile": KPTFILE,
            "sub/Kptfile": KPTFILE + upstream,
            "sub/inner/Kptfile": KPTFILE + f"info: {{description: {description}}}\n",
            "sub/same.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same}\n",
            "sub/changed.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b}}\ndata: {{a: {value}}}\n",
        }
        return {path: text.encode() for path, text in texts.items()}

    done = merge_packages(package("ours", 1, "a"), package("ours", 2, "b"), package("theirs", 3, "a"))
    assert done.changes == {}
    assert [(record.rule, record.file) for record in done.records] == [("R3", "sub/Kptfile")]


def test_both_values_are_between_markers_where_they_are_asked_for() -> None:
    texts = [CONFIG_MAP + f"data:\n  a: {value}\n" for value in "oul"]
    original, upstream, local = ({"a.yaml": File(text.encode())} for text in texts)
    done = merge_trees(original, upstream, local, PackageMerger(Policy(marks=True)))
    (conflict,) = [result for result in done.results if result.severity == "warning"]
    assert "both are between conflict markers" in conflict.message
