"""The built-in plugin: removes the fields of a resource that belong to its old cluster.

Source: crane-lib's KubernetesPlugin, transform/kubernetes/kubernetes.go, as of 2026-08-07. Differences: names in paths
are escaped, an invalid option is an error, and `disable-whiteout-owned` keeps only resources with an owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from krm_merge.text.reading.values import Object
from krm_merge.transform.kubernetes.changes import operations
from krm_merge.transform.kubernetes.objects import kind_of, map_at, value_at
from krm_merge.transform.kubernetes.options import FIELDS, KubernetesSettings, settings_of
from krm_merge.transform.protocol.plugin import Metadata, Options, Response

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

    only_reads: ClassVar = True

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
    name = value_at(resource, "metadata", "name")
    if settings.only:
        if kind not in settings.only:
            return "include-only does not name its kind"
    elif kind in _WHITED_OUT:
        return _WHITED_OUT[kind]
    elif kind in settings.extra:
        return "extra-whiteouts names its kind"
    if kind == "Secret" and resource.get("type") in _MADE_SECRETS and _SERVICE_ACCOUNT in annotations:
        return "created for a ServiceAccount"
    if value_at(resource, "metadata", "ownerReferences") and not settings.keeps_owned:
        return "its owner creates it"
    if settings.strips_rbac and kind == "ServiceAccount" and name == "default":
        return "every namespace has its own default ServiceAccount"
    if settings.strips_rbac and kind == "Secret" and annotations.get(_SERVICE_ACCOUNT) == "default":
        return "created for the default ServiceAccount"
    if settings.strips_ca and kind == "ConfigMap" and name == "kube-root-ca.crt":
        return "every namespace has its own"
    return "the API group extensions was removed" if kind.endswith(".extensions") else ""
