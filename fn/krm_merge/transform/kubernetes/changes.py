"""Changes of the built-in plugin to kept resources: removes fields of the old cluster, and applies the options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.kubernetes.objects import has, has_status, is_pod_specable, kind_of, list_at, map_at, value_at
from krm_merge.transform.kubernetes.options import KubernetesSettings
from krm_merge.transform.protocol.operation import Operation, Pointer
from krm_merge.transform.protocol.plugin import PluginError

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTROLLER_UIDS = ("batch.kubernetes.io/controller-uid", "controller-uid")
_IDEMPOTENT = "crane.konveyor.io/job-idempotent"
_STRIPPED: tuple[Pointer, ...] = (
    *(
        ("metadata", field)
        for field in ("uid", "selfLink", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    ),
    ("metadata", "annotations", _LAST_APPLIED),
    *(("metadata", "annotations", name) for name in _CONTROLLER_UIDS),
    *(("metadata", "labels", name) for name in _CONTROLLER_UIDS),
)
_POD_OF: dict[str, Pointer] = {
    "Pod": ("spec",),
    "CronJob.batch": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        (
            "DaemonSet.apps",
            "Deployment.apps",
            "DeploymentConfig.apps.openshift.io",
            "Job.batch",
            "ReplicaSet.apps",
            "ReplicationController",
            "StatefulSet.apps",
        ),
        ("spec", "template", "spec"),
    ),
}


def operations(resource: Object, settings: KubernetesSettings) -> Iterator[Operation]:
    """The operations for a resource. Raises PluginError if it cannot be read."""
    kind = kind_of(resource)
    for path in _STRIPPED:
        if has(resource, *path):
            yield Operation("remove", path)
    if has_status(resource):
        yield Operation("remove", ("status",))
    for name, text in settings.added.items():
        yield Operation("add", ("metadata", "annotations", name), value=text)
    for name in settings.removed:
        yield Operation("remove", ("metadata", "annotations", name))
    if kind == "Pod":
        for name in ("nodeName", "nodeSelector", "priority"):
            yield Operation("remove", ("spec", name))
    yield from _renamed_claims(resource, kind, settings.claims)
    match kind:
        case "Job.batch":
            yield from _job(resource)
        case "RoleBinding.rbac.authorization.k8s.io":
            yield from _role_binding(resource)
        case "ServiceAccount" if isinstance(resource.get("secrets"), list):
            yield Operation("remove", ("secrets",))
        case "Service":
            yield from _service(resource)
    yield from _images(resource, kind, settings.registries)


def _renamed_claims(resource: Object, kind: str, claims: Mapping[str, str]) -> Iterator[Operation]:
    if not claims or kind not in _POD_OF:
        return
    volumes = (*_POD_OF[kind], "volumes")
    for at, volume in enumerate(list_at(resource, *volumes)):
        name = value_at(volume, "persistentVolumeClaim", "claimName")
        if isinstance(name, str) and name in claims:
            yield Operation("replace", (*volumes, str(at), "persistentVolumeClaim", "claimName"), value=claims[name])
    if kind == "StatefulSet.apps":
        for at, template in enumerate(list_at(resource, "spec", "volumeClaimTemplates")):
            name = value_at(template, "metadata", "name")
            if isinstance(name, str) and name in claims:
                path = ("spec", "volumeClaimTemplates", str(at), "metadata", "name")
                yield Operation("replace", path, value=claims[name])


def _job(job: Object) -> Iterator[Operation]:
    if value_at(job, "spec", "manualSelector") is not True:
        if isinstance(value_at(job, "spec", "selector"), dict):
            # The new cluster creates another one.
            yield Operation("remove", ("spec", "selector"))
    else:
        yield from _without_uids(job, "spec", "selector", "matchLabels")
    yield from _without_uids(job, "spec", "template", "metadata", "labels")
    idempotent = value_at(job, "metadata", "annotations", _IDEMPOTENT) == "true"
    if (
        not idempotent
        and not value_at(job, "metadata", "ownerReferences")
        and value_at(job, "spec", "suspend") is not True
    ):
        # A finished job must not start again.
        yield Operation("add", ("spec", "suspend"), value=True)


def _without_uids(job: Object, *labels: str) -> Iterator[Operation]:
    for name in _CONTROLLER_UIDS:
        if isinstance(value_at(job, *labels, name), str):
            yield Operation("remove", (*labels, name))


def _role_binding(binding: Object) -> Iterator[Operation]:
    own = value_at(binding, "metadata", "namespace")
    for at, subject in enumerate(list_at(binding, "subjects")):
        if value_at(subject, "kind") == "ServiceAccount" and own is not None and value_at(subject, "namespace") == own:
            yield Operation("remove", ("subjects", str(at), "namespace"))


def _service(service: Object) -> Iterator[Operation]:
    spec = map_at(service, "spec")
    if spec.get("type") == "LoadBalancer":
        yield Operation("remove", ("spec", "externalIPs"))
    if spec.get("clusterIP", "None") != "None":
        yield Operation("remove", ("spec", "clusterIP"))
    addresses = spec.get("clusterIPs", ["None"])
    if not isinstance(addresses, list) or not addresses or addresses[0] != "None":
        yield Operation("remove", ("spec", "clusterIPs"))
    if "type" not in spec or spec["type"] == "ExternalName":
        return
    names, numbers = _node_ports_asked_for(service)
    for at, port in enumerate(list_at(service, "spec", "ports")):
        number, name = _number(value_at(port, "nodePort")), value_at(port, "name")
        asked_for = name in names if isinstance(name, str) and name else number in numbers
        if number and not asked_for:
            yield Operation("remove", ("spec", "ports", str(at), "nodePort"))


def _node_ports_asked_for(service: Object) -> tuple[set[str], set[int]]:
    """Names (without a name, numbers) of the node ports that a user chose, not the cluster."""
    text = value_at(service, "metadata", "annotations", _LAST_APPLIED)
    names: set[str] = set()
    numbers: set[int] = set()
    if not isinstance(text, str):
        return names, numbers
    try:
        applied = json.loads(text)
    except ValueError:
        raise PluginError(f"the annotation {_LAST_APPLIED} is not JSON") from None
    for port in list_at(applied, "spec", "ports"):
        if number := _number(value_at(port, "nodePort")):
            name = value_at(port, "name")
            if isinstance(name, str):
                names.add(name)
            else:
                numbers.add(number)
    return names, numbers


def _number(value: Value) -> int:
    if isinstance(value, str):
        return int(value) if value.isdecimal() else 0
    return int(value) if isinstance(value, int | float) else 0


def _images(resource: Object, kind: str, registries: Mapping[str, str]) -> Iterator[Operation]:
    if not registries:
        return
    if kind == "Pod":
        pod: Pointer = ("spec",)
    elif is_pod_specable(resource):
        pod = ("spec", "template", "spec")
    else:
        return
    for containers in ("containers", "initContainers"):
        for at, container in enumerate(list_at(resource, *pod, containers)):
            image = value_at(container, "image")
            if isinstance(image, str) and (moved := _moved(image, registries)) is not None:
                yield Operation("replace", (*pod, containers, str(at), "image"), value=moved)


def _moved(image: str, registries: Mapping[str, str]) -> str | None:
    """The image in its new registry; the longest matching prefix counts."""
    found = [old for old in registries if image.startswith(f"{old}/")]
    longest = max(found, key=len, default=None)
    return None if longest is None else registries[longest] + image[len(longest) :]
