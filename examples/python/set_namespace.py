#!/usr/bin/env python3
"""A KRM function: `kpt fn eval PACKAGE --exec ./set_namespace.py -- namespace=prod`."""

from krm_merge.krm import Resource, ResourceList, run

NOT_NAMESPACED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Kptfile", "Namespace"}


def set_namespace(resource_list: ResourceList) -> None:
    config = resource_list.function_config
    match Resource.from_tree(config).value if config else None:
        case {"data": {"namespace": str(namespace)}}:
            for resource in resource_list.items:
                if resource.kind not in NOT_NAMESPACED and resource.namespace != namespace:
                    message = f"{resource.ref}: moved to the namespace {namespace}"
                    resource_list.results.info(message, resource=resource.ref, file=resource.file)
                    resource.set("metadata.namespace", namespace)
        case _:
            resource_list.results.error("functionConfig: data.namespace is missing", path="data.namespace")


if __name__ == "__main__":
    raise SystemExit(run(set_namespace))
