"""P9: references that a rename leaves behind, of patches and of plugins."""

from __future__ import annotations

import pytest

from functions.streams import Done, Value

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n"
CLAIM = SETTINGS.replace("ConfigMap", "PersistentVolumeClaim")
SECRET = SETTINGS.replace("ConfigMap", "Secret")
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: old, namespace: shop}\n"
ACCOUNT = SERVICE.replace("Service", "ServiceAccount")
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: old}\n"
WORKLOAD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: old, namespace: shop}\n"
NAMESPACE = SETTINGS.replace("ConfigMap", "Namespace")

HEAD = "apiVersion: {}\nkind: {}\nmetadata: {{name: web, namespace: {}}}\n"
POD = HEAD.format("v1", "Pod", "shop") + "spec:\n  containers: [{name: c, image: i}]\n  "
BINDING = HEAD.format("rbac.authorization.k8s.io/v1", "RoleBinding", "shop")
INGRESS = HEAD.format("networking.k8s.io/v1", "Ingress", "shop")
HOOKS = HEAD.format("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "''")
SCALER = HEAD.format("autoscaling/v2", "HorizontalPodAutoscaler", "shop")
ROUTE = HEAD.format("gateway.networking.k8s.io/v1", "HTTPRoute", "shop")
SETS = HEAD.format("apps/v1", "StatefulSet", "shop")


def rename(**more: Value | bool) -> Value:
    """A patch of every resource named old."""
    options = {"allowNameChange": True, **more}
    return {"target": {"name": "old"}, "patch": "metadata: {name: new}", "options": options}


def apply_patches(items: list[str], *patches: Value) -> Done:
    config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "PatchResources", "patches": list(patches)}
    done = Done(items, config)
    assert done.exit_code == 0, done.message
    return done


@pytest.mark.parametrize(
    ("item", "other", "place"),
    [
        (SETTINGS, POD + "volumes: [{name: v, configMap: {name: old}}]\n", "spec.volumes[name=v].configMap.name"),
        (
            SETTINGS,
            POD + "volumes: [{name: v, projected: {sources: [{configMap: {name: old}}]}}]\n",
            "spec.volumes[name=v].projected.sources[0].configMap.name",
        ),
        (
            SETTINGS,
            POD + "initContainers: [{name: c, envFrom: [{configMapRef: {name: old}}]}]\n",
            "spec.initContainers[name=c].envFrom[0].configMapRef.name",
        ),
        (SECRET, POD + "volumes: [{name: v, secret: {secretName: old}}]\n", "spec.volumes[name=v].secret.secretName"),
        (SECRET, POD + "imagePullSecrets: [{name: old}]\n", "spec.imagePullSecrets[name=old].name"),
        (SECRET, INGRESS + "spec: {tls: [{secretName: old}]}\n", "spec.tls[0].secretName"),
        (
            ACCOUNT,
            BINDING.replace("shop", "x") + "subjects: [{kind: ServiceAccount, name: old, namespace: shop}]\n",
            "subjects[name=old].name",
        ),
        (
            CLAIM,
            POD + "volumes: [{name: v, persistentVolumeClaim: {claimName: old}}]\n",
            "spec.volumes[name=v].persistentVolumeClaim.claimName",
        ),
        (
            SERVICE,
            INGRESS + "spec: {rules: [{http: {paths: [{backend: {service: {name: old}}}]}}]}\n",
            "spec.rules[0].http.paths[0].backend.service.name",
        ),
        (
            SERVICE,
            HOOKS + "webhooks: [{name: h, clientConfig: {service: {name: old, namespace: shop}}}]\n",
            "webhooks[name=h].clientConfig.service.name",
        ),
        (SERVICE, SETS + "spec: {serviceName: old}\n", "spec.serviceName"),
        (
            SERVICE,
            ROUTE + "spec: {rules: [{backendRefs: [{name: old}]}]}\n",
            "spec.rules[0].backendRefs[name=old].name",
        ),
        (NAMESPACE, SERVICE.replace("old", "web").replace("shop", "old"), "metadata.namespace"),
    ],
)
def test_a_reference_that_is_left_behind_is_named(item: str, other: str, place: str) -> None:
    (warning,) = apply_patches([other, item], rename()).messages("warning")
    assert "patches[0] renames it to" in warning
    assert f"web in {place}; change these fields, too" in warning


@pytest.mark.parametrize(
    ("item", "other"),
    [
        (SERVICE, INGRESS.replace("shop", "x") + "spec: {defaultBackend: {service: {name: old}}}\n"),
        (
            SERVICE.replace("apiVersion: v1", "apiVersion: serving.knative.dev/v1"),
            INGRESS + "spec: {defaultBackend: {service: {name: old}}}\n",
        ),
        (SECRET, POD + "volumes: [{name: v, configMap: {name: old}}]\n"),
        (ROLE, BINDING + "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: old}\n"),
        (WORKLOAD, SCALER + "spec: {scaleTargetRef: {apiVersion: x/v1, kind: Deployment, name: old}}\n"),
        (SETTINGS, POD + "volumes: wrong\n  imagePullSecrets: [wrong]\n  priorityClassName: {a: b}\n"),
    ],
    ids=["another namespace", "another group", "another kind", "another role", "another workload", "no text"],
)
def test_what_refers_to_something_else_is_no_warning(item: str, other: str) -> None:
    assert apply_patches([other, item], rename()).messages("warning") == []


MOUNTS = POD + "volumes: [{name: v, configMap: {name: old}}]\n"


@pytest.mark.parametrize("first", [True, False])
def test_references_that_are_patched_too_are_no_warning(first: bool) -> None:
    follows = {"target": {"kind": "Pod"}, "patch": "spec: {volumes: [{name: v, configMap: {name: new}}]}"}
    both = [rename(), follows] if first else [follows, rename()]
    assert apply_patches([MOUNTS, SETTINGS], *both).messages("warning") == []


def test_another_resource_may_take_the_old_name() -> None:
    takes = {"target": {"name": "next"}, "patch": "metadata: {name: old}", "options": {"allowNameChange": True}}
    assert apply_patches([MOUNTS, SETTINGS, SETTINGS.replace("old", "next")], rename(), takes).messages("warning") == []


def test_many_references_are_counted() -> None:
    pods = [MOUNTS.replace("name: web", f"name: p{number}") for number in range(8)]
    (warning,) = apply_patches([*pods, SETTINGS], rename()).messages("warning")
    assert "Pod shop/p4 in spec.volumes[name=v].configMap.name and 3 more; change" in warning
    assert "p5" not in warning


def test_a_new_namespace_leaves_references_behind() -> None:
    moves = {
        "target": {"kind": "Service"},
        "patch": "metadata: {namespace: mall}",
        "options": {"allowNameChange": True},
    }
    other = INGRESS + "spec: {defaultBackend: {service: {name: old}}}\n"
    (warning,) = apply_patches([other, SERVICE], moves).messages("warning")
    assert warning == (
        "Service shop/old: patches[0] renames it to Service mall/old, but the package still refers to "
        "Service shop/old: "
        "Ingress shop/web in spec.defaultBackend.service.name; change these fields, too"
    )


def test_plugins_leave_references_behind_too() -> None:
    operation = {"op": "replace", "path": "/metadata/name", "value": "new"}
    plugin = {"name": "renames", "patches": [{"target": {"kind": "ConfigMap"}, "ops": [operation]}]}
    config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "plugins": [plugin]}
    done = Done([MOUNTS, SETTINGS], config)
    assert done.exit_code == 0, done.message
    (warning,) = done.messages("warning")
    assert warning.startswith("ConfigMap old: renames renames it to ConfigMap new, but the package still refers to")
