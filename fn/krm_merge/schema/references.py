"""Fields that name something else in a package: resources, files, and labels of pods (law I).

Sources: the Kubernetes API reference 1.32, Gateway API v1, kustomize's `api/types/kustomization.go`, the Kptfile. Most
are a name alone (`secretName`); maps such as `scaleTargetRef` hold kind, group or namespace beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from krm_merge.krm import FieldPath, Step, value_at
from krm_merge.text import Object, Value


class Reference(NamedTuple):
    """An object that a field names. `group` is None and `namespace` is '' where the resource leaves them open."""

    path: FieldPath
    group: str | None
    kind: str
    namespace: str
    name: str


class _Kind(NamedTuple):
    """The kind that a field names unless its siblings say so. Without a kind, only the siblings count."""

    kind: str
    group: str = ""


_CONFIG_MAP, _SECRET, _SERVICE = _Kind("ConfigMap"), _Kind("Secret"), _Kind("Service")
_ACCOUNT, _CLAIM, _VOLUME = _Kind("ServiceAccount"), _Kind("PersistentVolumeClaim"), _Kind("PersistentVolume")
_STORAGE_CLASS = _Kind("StorageClass", "storage.k8s.io")
_INGRESS_CLASS = _Kind("IngressClass", "networking.k8s.io")
_GATEWAY = _Kind("Gateway", "gateway.networking.k8s.io")
_NAMED_THERE = _Kind("")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_ITEMS = "*"

_POD = {
    "serviceAccountName": _ACCOUNT,
    "serviceAccount": _ACCOUNT,
    "imagePullSecrets.*.name": _SECRET,
    "priorityClassName": _Kind("PriorityClass", "scheduling.k8s.io"),
    "runtimeClassName": _Kind("RuntimeClass", "node.k8s.io"),
    "volumes.*.configMap.name": _CONFIG_MAP,
    "volumes.*.secret.secretName": _SECRET,
    "volumes.*.persistentVolumeClaim.claimName": _CLAIM,
    "volumes.*.projected.sources.*.configMap.name": _CONFIG_MAP,
    "volumes.*.projected.sources.*.secret.name": _SECRET,
    "volumes.*.csi.nodePublishSecretRef.name": _SECRET,
    **{
        f"{containers}.*.{field}": kind
        for containers in _CONTAINERS
        for field, kind in (
            ("env.*.valueFrom.configMapKeyRef.name", _CONFIG_MAP),
            ("env.*.valueFrom.secretKeyRef.name", _SECRET),
            ("envFrom.*.configMapRef.name", _CONFIG_MAP),
            ("envFrom.*.secretRef.name", _SECRET),
        )
    },
}
_BINDING = {
    "roleRef.name": _Kind("", "rbac.authorization.k8s.io"),
    "subjects.*.name": _NAMED_THERE,
}
_WEBHOOKS = {"webhooks.*.clientConfig.service.name": _SERVICE}
_ROUTE = {"spec.parentRefs.*.name": _GATEWAY, "spec.rules.*.backendRefs.*.name": _SERVICE}
_OF_KIND = {
    "StatefulSet": {
        "spec.serviceName": _SERVICE,
        "spec.volumeClaimTemplates.*.spec.storageClassName": _STORAGE_CLASS,
    },
    "ServiceAccount": {"secrets.*.name": _SECRET, "imagePullSecrets.*.name": _SECRET},
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "HorizontalPodAutoscaler": {"spec.scaleTargetRef.name": _NAMED_THERE},
    "VerticalPodAutoscaler": {"spec.targetRef.name": _NAMED_THERE},
    "Ingress": {
        "spec.ingressClassName": _INGRESS_CLASS,
        "spec.defaultBackend.service.name": _SERVICE,
        "spec.rules.*.http.paths.*.backend.service.name": _SERVICE,
        "spec.tls.*.secretName": _SECRET,
    },
    "PersistentVolumeClaim": {"spec.volumeName": _VOLUME, "spec.storageClassName": _STORAGE_CLASS},
    "PersistentVolume": {"spec.claimRef.name": _CLAIM, "spec.storageClassName": _STORAGE_CLASS},
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "CustomResourceDefinition": {"spec.conversion.webhook.clientConfig.service.name": _SERVICE},
    "APIService": {"spec.service.name": _SERVICE},
    "Gateway": {"spec.listeners.*.tls.certificateRefs.*.name": _SECRET},
    "HTTPRoute": _ROUTE,
    "GRPCRoute": _ROUTE,
    "TLSRoute": _ROUTE,
    "TCPRoute": _ROUTE,
    "Certificate": {"spec.issuerRef.name": _Kind("Issuer", "cert-manager.io")},
    "ExternalSecret": {"spec.secretStoreRef.name": _Kind("SecretStore", "external-secrets.io")},
    "ScaledObject": {"spec.scaleTargetRef.name": _Kind("Deployment", "apps")},
    "Rollout": {"spec.workloadRef.name": _NAMED_THERE},
}
_GENERATORS = tuple(
    f"{generator}.*.{field}"
    for generator in ("configMapGenerator", "secretGenerator")
    for field in ("files.*", "envs.*", "env")
)
_FILES_OF_KUSTOMIZATION = (
    *(
        f"{field}.*"
        for field in ("resources", "components", "bases", "crds", "configurations", "generators", "transformers")
    ),
    "validators.*",
    "patchesStrategicMerge.*",
    "patches.*.path",
    "patchesJson6902.*.path",
    "replacements.*.path",
    *_GENERATORS,
    "openapi.path",
    "helmCharts.*.valuesFile",
    "helmCharts.*.additionalValuesFiles.*",
)
_FILES_OF_KPTFILE = ("pipeline.mutators.*.configPath", "pipeline.validators.*.configPath")
_SELECTED = (
    "vars.*.objref",
    *(
        f"pipeline.{functions}.*.{field}.*"
        for functions in ("mutators", "validators")
        for field in ("selectors", "exclude")
    ),
)
_PODS, _SERVICES = "pods", "services"
_SELECTORS = {
    "Service": (("spec.selector", _PODS),),
    "ReplicationController": (("spec.selector", _PODS),),
    "NetworkPolicy": (("spec.podSelector.matchLabels", _PODS),),
    "PodDisruptionBudget": (("spec.selector.matchLabels", _PODS),),
    "PodMonitor": (("spec.selector.matchLabels", _PODS),),
    "ServiceMonitor": (("spec.selector.matchLabels", _SERVICES),),
}
# `resourceNames` of a role name what its `resources` are.
_RESOURCES = {
    "configmaps": _CONFIG_MAP,
    "secrets": _SECRET,
    "services": _SERVICE,
    "serviceaccounts": _ACCOUNT,
    "persistentvolumeclaims": _CLAIM,
}


class FileReference(NamedTuple):
    """A file or folder that a field names, as it is written there; `prefix` is text in front of the path."""

    path: FieldPath
    prefix: str
    file: str


class LabelSelector(NamedTuple):
    """Labels that a field selects, of `pods` or of `services`."""

    path: FieldPath
    labels: dict[str, str]
    of: str


def files_in(value: Object, *, of_kptfile: bool) -> Iterator[FileReference]:
    """The files and folders that a Kustomization or a Kptfile names; what is no path is among them."""
    for field in _FILES_OF_KPTFILE if of_kptfile else _FILES_OF_KUSTOMIZATION:
        *above, last = field.split(".")
        if last == _ITEMS:
            for path, holder in _holders(value, above[:-1], ()):
                listed = holder.get(above[-1])
                for at, file in enumerate(listed if isinstance(listed, list) else ()):
                    if isinstance(file, str) and "\n" not in file:
                        key, equals, name = file.rpartition("=") if above[-1] == "files" else ("", "", file)
                        yield FileReference((*path, above[-1], at), key + equals, name)
        else:
            for path, holder in _holders(value, above, (), by_name=False):
                if isinstance(file := holder.get(last), str):
                    yield FileReference((*path, last), "", file)


def targets_in(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    """The objects that patches, replacements and variables of a Kustomization, a PatchResources or functions select."""
    for name in ("patches", "patchesJson6902", "replacements"):
        for path, entry in objects_at(value, f"{name}.*"):
            for field in ("target", "source", "targets.*.select"):
                yield from _holders(entry, field.split("."), path, by_name=False)
    for field in _SELECTED:
        yield from objects_at(value, field)


def objects_at(value: Object, field: str) -> Iterator[tuple[FieldPath, Object]]:
    """The objects that a path with dots leads to, where `*` is each element of a list; elements by their positions."""
    return _holders(value, field.split("."), (), by_name=False)


def selectors_in(value: Object) -> Iterator[LabelSelector]:
    """The fields of an object that select others by labels."""
    kind = value.get("kind")
    for field, of in _SELECTORS.get(kind, ()) if isinstance(kind, str) else ():
        *above, last = field.split(".")
        for path, holder in _holders(value, above, ()):
            if labels := _labels(holder.get(last)):
                yield LabelSelector((*path, last), labels, of)


def labels_in(value: Object, of: str) -> dict[str, str]:
    """The labels by which an object is selected, of its pods or its own; none where it is not selected so."""
    if of == _SERVICES:
        return _labels(value_at(value, ("metadata", "labels"))) if value.get("kind") == "Service" else {}
    if value.get("kind") == "Pod":
        return _labels(value_at(value, ("metadata", "labels")))
    for above in (("spec", "template"), ("spec", "jobTemplate", "spec", "template")):
        if labels := _labels(value_at(value, (*above, "metadata", "labels"))):
            return labels
    return {}


def _labels(value: Value) -> dict[str, str]:
    return {name: label for name, label in value.items() if isinstance(label, str)} if isinstance(value, dict) else {}


def references_in(value: Object) -> Iterator[Reference]:
    """The fields of an object that name other resources, as far as the table knows them."""
    namespace = value_at(value, ("metadata", "namespace"))
    namespace_of_value = namespace if isinstance(namespace, str) else ""
    kind = value.get("kind")
    if isinstance(kind, str):
        yield from _find_references(value, _OF_KIND.get(kind, {}), (), namespace_of_value)
        if kind in ("Role", "ClusterRole"):
            yield from _names_in_rules(value, namespace_of_value)
    for path, pod in _pods(value):
        yield from _find_references(pod, _POD, path, namespace_of_value)


def _pods(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    """The specs of pods, wherever a workload or a custom resource has them."""
    pending: list[tuple[FieldPath, Value]] = [((), value)]
    while pending:
        path, pod = pending.pop()
        if isinstance(pod, dict):
            if isinstance(pod.get("containers"), list):
                yield path, pod
            else:
                pending += [((*path, name), inner) for name, inner in pod.items()]
        elif isinstance(pod, list):
            pending += [((*path, _step(at, inner)), inner) for at, inner in enumerate(pod)]


def _find_references(
    value: Object, fields: dict[str, _Kind], at: FieldPath, default_namespace: str
) -> Iterator[Reference]:
    for field, default in fields.items():
        *above, last = field.split(".")
        for path, holder in _holders(value, above, at):
            name = holder.get(last)
            if not isinstance(name, str) or not name or holder.get("optional") is True:
                continue
            # The holder of a plain field has none of these.
            kind, namespace = _text(holder, "kind") or default.kind, _text(holder, "namespace") or default_namespace
            if kind:
                yield Reference((*path, last), _group_of(holder, default), kind, namespace, name)


def _group_of(holder: Object, default: _Kind) -> str | None:
    if "apiVersion" in holder:
        return _text(holder, "apiVersion").rpartition("/")[0]
    for name in ("apiGroup", "group"):
        if name in holder:
            return _text(holder, name)
    return default.group if default.kind or default.group else None


def _holders(
    value: Value, steps: list[str], path: FieldPath, *, by_name: bool = True
) -> Iterator[tuple[FieldPath, Object]]:
    if not steps:
        if isinstance(value, dict):
            yield path, value
    elif steps[0] == _ITEMS:
        for at, inner in enumerate(value if isinstance(value, list) else ()):
            yield from _holders(inner, steps[1:], (*path, _step(at, inner) if by_name else at), by_name=by_name)
    elif isinstance(value, dict) and steps[0] in value:
        yield from _holders(value[steps[0]], steps[1:], (*path, steps[0]), by_name=by_name)


def _names_in_rules(value: Object, namespace: str) -> Iterator[Reference]:
    for path, rule in _holders(value, ["rules", _ITEMS], ()):
        resources, names = rule.get("resources"), rule.get("resourceNames")
        for resource in resources if isinstance(resources, list) else ():
            kind = _RESOURCES.get(resource) if isinstance(resource, str) else None
            if kind is None or not isinstance(names, list):
                continue
            for at, name in enumerate(names):
                if isinstance(name, str):
                    yield Reference((*path, "resourceNames", at), kind.group, kind.kind, namespace, name)


def _step(at: int, element: Value) -> Step:
    """An element as paths name it: by its name where it has one."""
    name = element.get("name") if isinstance(element, dict) else None
    return (("name", name),) if isinstance(name, str) else at


def _text(holder: Object, field: str) -> str:
    text = holder.get(field)
    return text if isinstance(text, str) else ""
