"""Findings: results about Components, without their files, which the function adds."""

from __future__ import annotations

from krm_merge.components.konflux.model import ComponentKey
from krm_merge.krm.result import ResourceRef, Result, Severity

_API_VERSION = "appstudio.redhat.com/v1alpha1"


def finding(severity: Severity, rule: str, message: str, component: ComponentKey, field: str = "") -> Result:
    """A result about a Component: the one that declares the cause. `field` is the path of a field there, '' for none.

    Its reference has Konflux's usual apiVersion; a caller that has the item replaces it by the item's.
    """
    reference = ResourceRef(_API_VERSION, "Component", component.name, component.namespace)
    return Result(severity, message, reference, path=field or None, rule=rule, tags={"component": str(component)})


def component_of(result: Result) -> ComponentKey:
    """The Component that a finding is about."""
    assert result.resource is not None
    return ComponentKey(result.resource.namespace, result.resource.name)
