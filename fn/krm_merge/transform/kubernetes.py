"""The built-in plugin: removes the fields of a resource that belong to its old cluster.

Source: crane-lib's KubernetesPlugin, transform/kubernetes/kubernetes.go, as of 2026-08-07. Differences: names in paths
are escaped, an invalid option is an error, and `disable-whiteout-owned` keeps only resources with an owner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from krm_merge.krm import value_at
from krm_merge.text import Object, Value
from krm_merge.transform.protocol import (
    Metadata,
    Operation,
    OptionalField,
    Options,
    PluginError,
    Pointer,
    Response,
    list_option,
    map_option,
    switch,
)


def kind_of(resource: Object) -> str:
    """A kind in the notation of options: `Deployment.apps`."""
    group = str(resource.get("apiVersion", "")).rpartition("/")[0]
    return f"{resource.get('kind', '')}.{group}" if group else str(resource.get("kind", ""))


def is_pod_specable(resource: Object) -> bool:
    """Whether the resource has a template of pods, for any kind."""
    template = value_at(resource, ("spec", "template"))
    return isinstance(template, dict) and isinstance(template.get("spec", {}), dict)


def has_status(resource: Object) -> bool:
    """Whether the resource has a status that a cluster wrote."""
    return isinstance(resource.get("status"), dict)


def has(value: Value, *path: str) -> bool:
    """Whether a path has a value, including null."""
    holder = value_at(value, path[:-1])
    return isinstance(holder, dict) and path[-1] in holder


def map_at(value: Value, *path: str) -> Object:
    """The map at a path, an empty one for anything else."""
    node = value_at(value, path)
    return node if isinstance(node, dict) else {}


def list_at(value: Value, *path: str) -> list[Value]:
    """The list at a path, an empty one for anything else."""
    node = value_at(value, path)
    return node if isinstance(node, list) else []


_KIND_LIST = "Deployment.apps,Service,Route.route.openshift.io"
FIELDS = (
    OptionalField("add-annotations", "Annotations to add to each resource.", "annotation1=value1,annotation2=value2"),
    OptionalField("remove-annotations", "Annotations to remove.", "annotation1,annotation2"),
    OptionalField(
        "registry-replacement",
        "Image registries or paths to replace; the longest match wins.",
        "docker.io/foo=quay.io/bar,registry.old:5000=registry.new:5000",
    ),
    OptionalField("extra-whiteouts", "More kinds to white out.", _KIND_LIST),
    OptionalField("include-only", "Kinds to keep: all others are whited out, extra-whiteouts is ignored.", _KIND_LIST),
    OptionalField("disable-whiteout-owned", "Keep resources that have an owner.", "true"),
    OptionalField("strip-default-rbac", "White out the default ServiceAccount and its Secrets; the default.", "true"),
    OptionalField("strip-default-cabundle", "White out the ConfigMap kube-root-ca.crt; the default.", "true"),
)


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """The parsed options. Kinds are written as `Deployment.apps`."""

    added: Mapping[str, str]
    removed: tuple[str, ...]
    registries: Mapping[str, str]
    extra: frozenset[str]
    only: frozenset[str]
    keeps_owned: bool
    strips_rbac: bool
    strips_ca: bool


@lru_cache(maxsize=16)
def settings_of(pairs: tuple[tuple[str, str], ...]) -> KubernetesSettings:
    """Parses options. Raises PluginError for an invalid one."""
    options = dict(pairs)
    return KubernetesSettings(
        map_option(options, "add-annotations"),
        tuple(list_option(options, "remove-annotations")),
        map_option(options, "registry-replacement"),
        frozenset(list_option(options, "extra-whiteouts")),
        frozenset(list_option(options, "include-only")),
        switch(options, "disable-whiteout-owned", default=False),
        switch(options, "strip-default-rbac", default=True),
        switch(options, "strip-default-cabundle", default=True),
    )


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


def _job(job: Object) -> Iterator[Operation]:
    if value_at(job, ("spec", "manualSelector")) is not True:
        if isinstance(value_at(job, ("spec", "selector")), dict):
            # The new cluster creates another one.
            yield Operation("remove", ("spec", "selector"))
    else:
        yield from _without_uids(job, "spec", "selector", "matchLabels")
    yield from _without_uids(job, "spec", "template", "metadata", "labels")
    idempotent = value_at(job, ("metadata", "annotations", _IDEMPOTENT)) == "true"
    if (
        not idempotent
        and not value_at(job, ("metadata", "ownerReferences"))
        and value_at(job, ("spec", "suspend")) is not True
    ):
        # A finished job must not start again.
        yield Operation("add", ("spec", "suspend"), value=True)


def _without_uids(job: Object, *labels: str) -> Iterator[Operation]:
    for name in _CONTROLLER_UIDS:
        if isinstance(value_at(job, (*labels, name)), str):
            yield Operation("remove", (*labels, name))


def _role_binding(binding: Object) -> Iterator[Operation]:
    namespace = value_at(binding, ("metadata", "namespace"))
    for at, subject in enumerate(list_at(binding, "subjects")):
        kind, other = value_at(subject, ("kind",)), value_at(subject, ("namespace",))
        if kind == "ServiceAccount" and namespace is not None and other == namespace:
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
        number, name = _number(value_at(port, ("nodePort",))), value_at(port, ("name",))
        asked_for = name in names if isinstance(name, str) and name else number in numbers
        if number and not asked_for:
            yield Operation("remove", ("spec", "ports", str(at), "nodePort"))


def _node_ports_asked_for(service: Object) -> tuple[set[str], set[int]]:
    """Names (without a name, numbers) of the node ports that a user chose, not the cluster."""
    text = value_at(service, ("metadata", "annotations", _LAST_APPLIED))
    names: set[str] = set()
    numbers: set[int] = set()
    if not isinstance(text, str):
        return names, numbers
    try:
        applied = json.loads(text)
    except ValueError:
        raise PluginError(f"the annotation {_LAST_APPLIED} is not JSON") from None
    for port in list_at(applied, "spec", "ports"):
        if number := _number(value_at(port, ("nodePort",))):
            name = value_at(port, ("name",))
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
            image = value_at(container, ("image",))
            if isinstance(image, str) and (moved := _move_registry(image, registries)) is not None:
                yield Operation("replace", (*pod, containers, str(at), "image"), value=moved)


def _move_registry(image: str, registries: Mapping[str, str]) -> str | None:
    """The image in its new registry; the longest matching prefix counts."""
    prefixes = [old for old in registries if image.startswith(f"{old}/")]
    longest = max(prefixes, key=len, default=None)
    return None if longest is None else registries[longest] + image[len(longest) :]


NAME: Final = "KubernetesPlugin"
_OLM = ("Subscription", "InstallPlan", "ClusterServiceVersion", "CatalogSource", "OperatorGroup", "OperatorCondition")
_WHITED_OUT = {
    "Endpoints": "the cluster creates its own",
    "EndpointSlice.discovery.k8s.io": "the cluster creates its own",
    "PersistentVolumeClaim": "volumes move by other means",
    **{f"{kind}.operators.coreos.com": "the operator is installed again" for kind in _OLM},
}
_MADE_SECRETS = ("kubernetes.io/service-account-token", "kubernetes.io/dockercfg")
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"


@dataclass(frozen=True, slots=True)
class KubernetesPlugin:
    """Removes fields of the old cluster, whites out resources that the new one creates, and rewrites by its options."""

    name: str = NAME

    @property
    def metadata(self) -> Metadata:
        """Its name and options."""
        return Metadata(NAME, "v1", FIELDS)

    def run(self, resource: Object, options: Options) -> Response:
        """The changes, or why the resource is removed. Raises PluginError for an invalid option."""
        settings = settings_of(tuple(sorted(options.items())))
        if reason := _whiteout(resource, settings):
            return Response(is_whiteout=True, reason=reason)
        return Response.of(*operations(resource, settings))


def _whiteout(resource: Object, settings: KubernetesSettings) -> str:
    """Why the resource is removed, '' if it is kept."""
    kind, annotations = kind_of(resource), map_at(resource, "metadata", "annotations")
    name = value_at(resource, ("metadata", "name"))
    if settings.only:
        if kind not in settings.only:
            return "include-only does not name its kind"
    elif kind in _WHITED_OUT:
        return _WHITED_OUT[kind]
    elif kind in settings.extra:
        return "extra-whiteouts names its kind"
    if kind == "Secret" and resource.get("type") in _MADE_SECRETS and _SERVICE_ACCOUNT in annotations:
        return "created for a ServiceAccount"
    if value_at(resource, ("metadata", "ownerReferences")) and not settings.keeps_owned:
        return "its owner creates it"
    if settings.strips_rbac and kind == "ServiceAccount" and name == "default":
        return "every namespace has its own default ServiceAccount"
    if settings.strips_rbac and kind == "Secret" and annotations.get(_SERVICE_ACCOUNT) == "default":
        return "created for the default ServiceAccount"
    if settings.strips_ca and kind == "ConfigMap" and name == "kube-root-ca.crt":
        return "every namespace has its own"
    return "the API group extensions was removed" if kind.endswith(".extensions") else ""
