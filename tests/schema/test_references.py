"""Fields that name other resources: what counts as a name."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.krm.identity import format_path
from krm_merge.schema.references import files_in, labels_in, references_in, selectors_in, targets_in


def references_of(value: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(format_path(each.path), each.kind, each.name) for each in references_in(value)]


def role(*names: object, resources: object = ("secrets",)) -> dict[str, Any]:
    rule = {"resources": list(resources) if isinstance(resources, tuple) else resources, "resourceNames": list(names)}
    return {"kind": "Role", "metadata": {"name": "r"}, "rules": [rule]}


def test_names_in_rules_of_a_role() -> None:
    assert references_of(role("a", "b")) == [
        ("rules[0].resourceNames[0]", "Secret", "a"),
        ("rules[0].resourceNames[1]", "Secret", "b"),
    ]


@pytest.mark.parametrize("value", [1, None, {"a": "b"}])
def test_what_is_no_text_is_no_name(value: object) -> None:
    assert references_of(role("a", value)) == [("rules[0].resourceNames[0]", "Secret", "a")]


@pytest.mark.parametrize("resources", [("unknown",), (1,), "secrets", None])
def test_resources_that_are_not_known_name_nothing(resources: object) -> None:
    assert references_of(role("a", resources=resources)) == []


@pytest.mark.parametrize("kind", [None, 1, ["Role"]])
def test_an_object_without_a_kind_names_nothing(kind: object) -> None:
    value = {**role("a"), "kind": kind, "metadata": {"namespace": "shop"}}
    assert references_of(value) == []


def test_a_reference_that_says_no_kind_and_has_no_default_is_none() -> None:
    scaler = {"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": {"name": "web"}}}
    assert references_of(scaler) == []
    scaler["spec"]["scaleTargetRef"]["kind"] = "Deployment"  # type: ignore[index]
    assert references_of(scaler) == [("spec.scaleTargetRef.name", "Deployment", "web")]


def test_files_of_a_kustomization_are_those_of_one_line() -> None:
    patch = "kind: Deployment\nmetadata: {name: web}\n"
    value: dict[str, Any] = {
        "resources": ["base", 1],
        "patchesStrategicMerge": ["patch.yaml", patch],
        "configMapGenerator": [{"files": ["app.conf", "key=dir/app.conf"]}],
    }
    assert [(format_path(each.path), each.prefix, each.file) for each in files_in(value, of_kptfile=False)] == [
        ("resources[0]", "", "base"),
        ("patchesStrategicMerge[0]", "", "patch.yaml"),
        ("configMapGenerator[0].files[0]", "", "app.conf"),
        ("configMapGenerator[0].files[1]", "key=", "dir/app.conf"),
    ]


def test_files_of_a_kptfile_are_the_settings_of_its_functions() -> None:
    functions = [{"image": "a", "configPath": "a.yaml"}, {"image": "b", "configPath": 1}]
    value: dict[str, Any] = {"pipeline": {"mutators": functions, "validators": functions[:1]}, "resources": ["base"]}
    assert [(each.path, each.prefix, each.file) for each in files_in(value, of_kptfile=True)] == [
        (("pipeline", "mutators", 0, "configPath"), "", "a.yaml"),
        (("pipeline", "validators", 0, "configPath"), "", "a.yaml"),
    ]


def test_targets_of_a_kustomization() -> None:
    web, app, cluster = {"kind": "A", "name": "web"}, {"kind": "B", "name": "app"}, {"kind": "C", "name": "cluster"}
    value: dict[str, Any] = {
        "patches": [{"path": "p.yaml", "target": web}, {"target": "web"}, "p.yaml"],
        "patchesJson6902": "none",
        "replacements": [{"source": app, "targets": [{"select": cluster}, {"select": "web"}, "web"]}, {"targets": 1}],
        "vars": [{"name": "v", "objref": web}],
        "pipeline": {"mutators": [{"image": "a", "selectors": [app], "exclude": [cluster, 1]}]},
    }
    assert [(format_path(path), target) for path, target in targets_in(value)] == [
        ("patches[0].target", web),
        ("replacements[0].source", app),
        ("replacements[0].targets[0].select", cluster),
        ("vars[0].objref", web),
        ("pipeline.mutators[0].selectors[0]", app),
        ("pipeline.mutators[0].exclude[0]", cluster),
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Service", {"selector": {"app": "web", "number": 1}}, [("spec.selector", {"app": "web"}, "pods")]),
        ("Service", {"selector": {}}, []),
        ("Service", {"selector": "app"}, []),
        (
            "NetworkPolicy",
            {"podSelector": {"matchLabels": {"app": "web"}}},
            [("spec.podSelector.matchLabels", {"app": "web"}, "pods")],
        ),
        (
            "ServiceMonitor",
            {"selector": {"matchLabels": {"app": "web"}}},
            [("spec.selector.matchLabels", {"app": "web"}, "services")],
        ),
        ("Deployment", {"selector": {"matchLabels": {"app": "web"}}}, []),
        (None, {"selector": {"app": "web"}}, []),
    ],
)
def test_fields_that_select_by_labels(kind: Any, spec: dict[str, Any], expected: list[Any]) -> None:
    selectors = selectors_in({"kind": kind, "spec": spec})
    assert [(format_path(each.path), each.labels, each.of) for each in selectors] == expected


@pytest.mark.parametrize(
    ("kind", "above", "pods", "services"),
    [
        ("Service", (), {}, {"app": "web"}),
        ("Pod", (), {"app": "web"}, {}),
        ("Deployment", (), {}, {}),
        ("Deployment", ("spec", "template"), {"app": "web"}, {}),
        ("CronJob", ("spec", "jobTemplate", "spec", "template"), {"app": "web"}, {}),
    ],
)
def test_labels_that_others_select_by(kind: str, above: tuple[str, ...], pods: object, services: object) -> None:
    value: Any = {"metadata": {"labels": {"app": "web", "number": 1}}}
    for name in reversed(above):
        value = {name: value}
    assert labels_in({"kind": kind, **value}, "pods") == pods
    assert labels_in({"kind": kind, **value}, "services") == services


def test_references_of_pods_in_any_kind_but_optional_ones() -> None:
    variables = [
        {"name": "a", "valueFrom": {"secretKeyRef": {"name": "needed", "key": "k"}}},
        {"name": "b", "valueFrom": {"secretKeyRef": {"name": "optional", "key": "k", "optional": True}}},
        {"name": "c", "valueFrom": {"secretKeyRef": {"name": "", "key": "k"}}},
    ]
    pod = {"containers": [{"name": "web", "env": variables}], "serviceAccountName": "runner"}
    assert references_of({"kind": "Other", "list": [{"spec": pod}]}) == [
        ("list[0].spec.serviceAccountName", "ServiceAccount", "runner"),
        ("list[0].spec.containers[name=web].env[name=a].valueFrom.secretKeyRef.name", "Secret", "needed"),
    ]


@pytest.mark.parametrize(
    ("reference", "group", "namespace"),
    [
        ({"kind": "Gateway", "name": "g"}, "gateway.networking.k8s.io", "shop"),
        ({"kind": "Service", "group": "", "name": "g", "namespace": "other"}, "", "other"),
        ({"kind": "X", "apiVersion": "x.example/v1", "name": "g"}, "x.example", "shop"),
        ({"kind": "X", "apiGroup": "y.example", "name": "g"}, "y.example", "shop"),
    ],
)
def test_group_and_namespace_of_a_reference(reference: dict[str, Any], group: str, namespace: str) -> None:
    route: Any = {"kind": "HTTPRoute", "metadata": {"namespace": "shop"}, "spec": {"parentRefs": [reference]}}
    (parent,) = references_in(route)
    assert (parent.group, parent.kind, parent.namespace) == (group, reference["kind"], namespace)


def test_a_group_that_a_scaler_leaves_open_may_be_any() -> None:
    scaler: Any = {"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    assert [each.group for each in references_in(scaler)] == [None]


def test_of_a_role_that_a_binding_names_the_group_may_be_left_out() -> None:
    binding: Any = {"kind": "RoleBinding", "roleRef": {"kind": "Role", "name": "r"}}
    assert [(each.group, each.kind, each.name) for each in references_in(binding)] == [
        ("rbac.authorization.k8s.io", "Role", "r")
    ]
