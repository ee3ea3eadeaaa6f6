"""What the merge is told of Kubernetes' own types."""

from __future__ import annotations

import subprocess
import sys

import pytest

from krm_merge.krm.identity import FieldPath, parse_path
from krm_merge.schema import OBJECTS, ORDERED, SET, KeyedList, ListKind, WithListKeys, element_key
from krm_merge.schema.builtin import BuiltinSchema, ObjectListSchema, any_object_schema, builtin_schema, with_pods
from krm_merge.text import MappingNode, read

NAME = KeyedList(("name",))
TEMPLATE = "spec.template.spec"
CRON_TEMPLATE = "spec.jobTemplate.spec.template.spec"
PORTS = KeyedList(("containerPort", "protocol"), (("protocol", "TCP"),))


def schema_of(kind: str) -> BuiltinSchema:
    """`apps/v1/Deployment`, or `v1/Pod`."""
    *group, version, name = kind.split("/")
    schema = builtin_schema("/".join(group), version, name)
    assert schema is not None
    return schema


def path(text: str) -> FieldPath:
    return parse_path(text) if text else ()


LISTS: list[tuple[str, str, ListKind]] = [
    ("v1/Pod", "spec.containers", NAME),
    ("v1/Pod", "spec.ephemeralContainers[name=debug].ports", PORTS),
    ("v1/Pod", "spec.containers[name=web].args", ORDERED),
    ("v1/Pod", "spec.containers[name=web].resources.claims", NAME),
    ("v1/Pod", "spec.nodeSelector.disks", ORDERED),
    ("v1/Pod", "spec.unknown.list", ORDERED),
    ("v1/Pod", "metadata.finalizers", SET),
    ("apps/v1/Deployment", f"{TEMPLATE}.topologySpreadConstraints", KeyedList(("topologyKey", "whenUnsatisfiable"))),
    ("batch/v1/CronJob", f"{CRON_TEMPLATE}.containers[name=web].env", NAME),
    # Below a map any key will do, the names of fields among them.
    (
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        "spec.versions[0].schema.openAPIV3Schema.properties.properties.properties.spec.x-kubernetes-validations",
        KeyedList(("rule",)),
    ),
    (
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        "spec.versions[0].schema.openAPIV3Schema.properties.x-kubernetes-validations",
        ORDERED,
    ),
]
"""Ways to lists; `test_table.py` compares all lists with the source."""


@pytest.mark.parametrize(("kind", "at", "expected"), [pytest.param(*case, id="-".join(case[:2])) for case in LISTS])
def test_lists(kind: str, at: str, expected: ListKind) -> None:
    schema, full = schema_of(kind), path(at)
    assert schema.at(full).list_kind == expected
    assert schema.at(full).merge_keys == (expected.keys if isinstance(expected, KeyedList) else ())
    # Paths may leave out the steps into elements.
    assert schema.at(tuple(step for step in full if isinstance(step, str))).list_kind == expected


def test_elements_of_lists_are_no_lists() -> None:
    schema = schema_of("v1/Pod")
    assert schema.at(("spec", "containers", (("name", "web"),))).list_kind == ORDERED
    assert schema.at(("metadata", "finalizers", 0)).list_kind == ORDERED
    assert schema.at(()).list_kind == ORDERED


CONTAINER = "spec.containers[name=web]"


@pytest.mark.parametrize("at", ["", "spec", "spec.containers", CONTAINER, "metadata", "metadata.labels", "no.field"])
def test_most_mappings_have_no_alternatives(at: str) -> None:
    assert schema_of("v1/Pod").at(path(at)).alternatives == ()
    assert schema_of("v1/Pod").at(path(at)).discriminator is None


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("apps/v1/Deployment", "spec.strategy"),
        ("apps/v1/StatefulSet", "spec.updateStrategy"),
        ("apps/v1/DaemonSet", "spec.updateStrategy"),
    ],
)
def test_the_type_of_an_update_strategy_tells_its_fields(kind: str, at: str) -> None:
    discriminator = schema_of(kind).at(path(at)).discriminator
    assert discriminator == ("type", {"RollingUpdate": ("rollingUpdate",)}, "RollingUpdate")
    assert schema_of(kind).at(path(at)).alternatives == ()


def test_bookkeeping_stays_local_and_status_does_not() -> None:
    schema = schema_of("apps/v1/Deployment")
    assert schema.stays_local(("metadata", "annotations", "config.kubernetes.io/path"))
    assert not schema.stays_local(("metadata", "labels", "config.kubernetes.io/path"))
    assert not schema.stays_local(("metadata", "annotations", "note"))
    assert not schema.stays_local(("status",))


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [("", "v1", "Deployment"), ("apps", "v1", "Pod"), ("example.com", "v1", "Widget"), ("", "v1", "PodList")],
)
def test_unknown_kinds(group: str, version: str, kind: str) -> None:
    assert builtin_schema(group, version, kind) is None
    assert builtin_schema("*", "*", "*") is None


def test_kinds_that_nobody_knows_have_metadata() -> None:
    schema = any_object_schema()
    assert schema.at(("metadata", "finalizers")).list_kind == SET
    assert schema.at(("metadata", "ownerReferences")).list_kind == KeyedList(("uid",))
    assert schema.at(("spec", "containers")).list_kind == ORDERED


def test_a_pod_in_a_custom_resource_has_the_lists_of_a_pod() -> None:
    root = read("spec:\n  pods:\n  - spec:\n      containers: [{name: web}]\n")
    schema = with_pods(any_object_schema(), [root])
    containers: FieldPath = ("spec", "pods", 0, "spec", "containers")
    assert schema.at(containers).list_kind == NAME
    assert schema.at((*containers, (("name", "web"),))).list_kind == ORDERED
    assert schema.at((*containers, (("name", "web"),), "ports")).list_kind == PORTS
    assert schema.at((*containers, (("name", "web"),), "env", 0)).alternatives == (("value", "valueFrom"),)
    assert schema.at(("spec", "containers")).list_kind == ORDERED


def test_a_list_of_objects_has_the_lists_of_an_item_below_it() -> None:
    item = read("apiVersion: v1\nkind: Pod\n")
    assert isinstance(item, MappingNode)
    objects = ObjectListSchema(lambda _: schema_of("v1/Pod"))
    assert objects.at(("items",)).list_kind == OBJECTS
    assert objects.at(("others",)).list_kind == ORDERED
    below = objects.of_item(("items", 0), item)
    assert below.at(("items", 0, "spec", "containers")).list_kind == NAME
    assert below.at(("items", 1, "spec", "containers")).list_kind == ORDERED
    assert below.at(("items",)).list_kind == ORDERED


def test_an_unknown_version_is_read_as_the_newest() -> None:
    def metrics(version: str) -> bool:
        schema = builtin_schema("autoscaling", version, "HorizontalPodAutoscaler")
        assert schema is not None
        return schema.at(("spec", "metrics")).discriminator is not None

    # v1 has no metrics.
    assert [metrics(version) for version in ("v1", "v2", "v2beta2", "v3")] == [False, True, True, True]
    assert builtin_schema("apps", "v1beta1", "Deployment") is not None


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "ReplicaSet"])
def test_kinds_that_were_in_extensions(kind: str) -> None:
    schema = builtin_schema("extensions", "v1beta1", kind)
    assert schema is not None
    assert schema.at(path(f"{TEMPLATE}.containers")).list_kind == NAME
    assert builtin_schema("extensions", "v1beta1", "NetworkPolicy") is not None
    assert builtin_schema("extensions", "v1beta1", "Widget") is None


def test_loading_is_measured() -> None:
    code = (
        "import time, krm_merge.schema\n"
        "a = time.perf_counter()\n"
        "from krm_merge.schema.builtin import builtin_schema\n"
        "b = time.perf_counter()\n"
        "builtin_schema('apps', 'v1', 'Deployment').at(('spec', 'template', 'spec', 'containers')).list_kind\n"
        "print(f'module {(b - a) * 1e3:.2f} ms, table {(time.perf_counter() - b) * 1e3:.2f} ms')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    print(run.stdout)


def test_a_pod_in_a_custom_resource_is_one_in_all_that_a_schema_says() -> None:
    root = read("kind: Rollout\nspec: {template: {spec: {containers: [{name: a}]}}, strategy: {type: a}}\n")
    schema = with_pods(any_object_schema(), [None, root])
    pod = ("spec", "template", "spec")
    deployment = builtin_schema("apps", "v1", "Deployment")
    assert deployment is not None
    for at in (
        (*pod, "volumes", 0),
        (*pod, "volumes"),
        (*pod, "nodeSelector"),
        (*pod, "securityContext", "seccompProfile"),
    ):
        assert schema.at(at).alternatives == deployment.at(at).alternatives
        assert schema.at(at).discriminator == deployment.at(at).discriminator
        assert schema.at(at).is_map == deployment.at(at).is_map
    assert schema.at((*pod, "volumes", 0)).alternatives
    # Patches know nothing of shapes.
    assert schema.at((*pod, "containers")).patch_strategy == ()
    assert schema.at((*pod, "containers")).patch_merge_key is None
    assert schema.stays_local(("metadata", "annotations", "config.kubernetes.io/index"))
    assert not schema.stays_local(pod)


@pytest.mark.parametrize(
    "text",
    [
        "kind: A\nspec: {containers: []}\n",
        "kind: A\nspec: {containers: [web]}\n",
        "kind: A\nspec: {containers: [{size: 1}]}\n",
        "kind: A\nspec: {containers: {name: a}}\n",
    ],
)
def test_what_only_has_the_name_of_containers_is_no_pod(text: str) -> None:
    schema = with_pods(any_object_schema(), [read(text)])
    assert schema.at(("spec", "containers")).list_kind == ORDERED
    assert schema is any_object_schema()


def test_built_in_types_say_themselves_where_their_pods_are() -> None:
    deployment = builtin_schema("apps", "v1", "Deployment")
    assert deployment is not None
    assert with_pods(deployment, [read("spec: {other: {containers: [{name: a}]}}\n")]) is deployment


def test_keys_that_a_user_names_are_those_of_a_list_in_all_that_a_schema_says() -> None:
    deployment = builtin_schema("apps", "v1", "Deployment")
    assert deployment is not None
    strategy: FieldPath = ("spec", "strategy")
    schema = WithListKeys(deployment, ((("spec", "list"), KeyedList(("a", "b"))),), local=(strategy,))
    for at in (("spec", "list"), ("spec", 0, "list")):
        assert schema.at(at).list_kind == KeyedList(("a", "b"))
        assert schema.at(at).merge_keys == ("a", "b")
        assert schema.at(at).patch_strategy == ("merge",)
        assert schema.at(at).patch_merge_key == "a,b"
    containers: FieldPath = ("spec", "template", "spec", "containers")
    assert schema.at(containers).list_kind == NAME
    assert schema.at(containers).patch_strategy == ("merge",)
    assert schema.at(containers).patch_merge_key == "name"
    assert schema.at(strategy).discriminator == deployment.at(strategy).discriminator
    assert schema.at((*containers[:-1], "volumes", 0)).alternatives
    assert schema.at(("spec", "selector")).is_map == deployment.at(("spec", "selector")).is_map
    assert schema.stays_local(strategy)
    assert schema.stays_local(("metadata", "annotations", "config.kubernetes.io/index"))
    assert not schema.stays_local(containers)


def test_a_key_field_that_an_element_lacks_has_its_default() -> None:
    fields, defaults = ("containerPort", "protocol", "hostIP"), {"protocol": "TCP"}
    assert element_key(fields, {"containerPort": 80}.get, defaults) == (80, "TCP", None)
    assert element_key(fields, {"containerPort": 80, "protocol": "UDP"}.get, defaults) == (80, "UDP", None)
