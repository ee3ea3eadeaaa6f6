"""The options of the built-in plugin: their declarations and their parsed values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from krm_merge.harmless import quoted
from krm_merge.transform.protocol.options import list_option, map_option, switch
from krm_merge.transform.protocol.plugin import OptionalField, PluginError

_KIND_LIST = "Deployment.apps,Service,Route.route.openshift.io"
FIELDS = (
    OptionalField("add-annotations", "Annotations to add to each resource.", "annotation1=value1,annotation2=value2"),
    OptionalField("remove-annotations", "Annotations to remove.", "annotation1,annotation2"),
    OptionalField(
        "registry-replacement",
        "Image registries or paths to replace; the longest one that fits counts.",
        "docker.io/foo=quay.io/bar,registry.old:5000=registry.new:5000",
    ),
    OptionalField("extra-whiteouts", "More kinds to white out.", _KIND_LIST),
    OptionalField("include-only", "Kinds to keep: all others are whited out, extra-whiteouts is ignored.", _KIND_LIST),
    OptionalField("disable-whiteout-owned", "Keep resources that have an owner.", "true"),
    OptionalField("strip-default-rbac", "White out the default ServiceAccount and its Secrets; the default.", "true"),
    OptionalField("strip-default-cabundle", "White out the ConfigMap kube-root-ca.crt; the default.", "true"),
    OptionalField("pvc-rename-map", "PersistentVolumeClaims to rename where they are used.", "old-name:new-name"),
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


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
    claims: Mapping[str, str]


@lru_cache(maxsize=16)
def settings_of(pairs: tuple[tuple[str, str], ...]) -> KubernetesSettings:
    """Parses options. Raises PluginError for an invalid one."""
    options = dict(pairs)
    claims = map_option(options, "pvc-rename-map", ":")
    for name in (*claims, *claims.values()):
        if len(name) > _LONGEST_NAME or not _SUBDOMAIN.fullmatch(name):
            raise PluginError(f"option pvc-rename-map: {quoted(name)!r} cannot be the name of a PersistentVolumeClaim")
    return KubernetesSettings(
        map_option(options, "add-annotations"),
        tuple(list_option(options, "remove-annotations")),
        map_option(options, "registry-replacement"),
        frozenset(list_option(options, "extra-whiteouts")),
        frozenset(list_option(options, "include-only")),
        switch(options, "disable-whiteout-owned", default=False),
        switch(options, "strip-default-rbac", default=True),
        switch(options, "strip-default-cabundle", default=True),
        claims,
    )
