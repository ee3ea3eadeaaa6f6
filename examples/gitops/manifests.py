#!/usr/bin/env python3
"""Reads a ResourceList on stdin and prints its resources for a cluster: without those that are for kpt alone.

Comments and layout stay; the annotations that kpt adds for its functions go. Needs krm-merge.
"""

import sys

from krm_merge.krm import Resource, ResourceList

LOCAL = "config.kubernetes.io/local-config"
OF_HOSTS = (
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
)


def is_for_a_cluster(resource: Resource) -> bool:
    """Whether a resource is applied: the Kptfile and what is marked as local configuration is not."""
    is_kptfile = resource.api_version.startswith("kpt.dev/") and resource.kind == "Kptfile"
    return not is_kptfile and resource.annotations.get(LOCAL) not in ("true", "")


def without_annotations_of_hosts(resource: Resource) -> str:
    """The text of a resource as it is in its file."""
    annotations = resource.annotations
    ours = [name for name in annotations if name in OF_HOSTS]
    if len(ours) == len(annotations):
        resource.remove("metadata.annotations") if annotations else None
    else:
        for name in ours:
            resource.remove(f'metadata.annotations["{name}"]')
    lines = resource.data().decode().splitlines()
    return "".join(f"{line[2:]}\n" if line[:2] in ("- ", "  ") else f"{line}\n" for line in lines)


def main() -> int:
    resources = ResourceList.parse(sys.stdin.buffer.read()).items
    manifests = [without_annotations_of_hosts(each) for each in resources if is_for_a_cluster(each)]
    sys.stdout.write("---\n".join(manifests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
