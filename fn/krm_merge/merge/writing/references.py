"""References inside a resource that lead nowhere (law G): mounts of volumes, named ports of probes."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, resolved
from krm_merge.text.reading.values import key_text

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("httpGet", "tcpSocket")


def dangling(root: Node) -> dict[str, FieldPath]:
    """A fault and its place; the texts are equal for the same fault in another version of the resource."""
    broken: dict[str, FieldPath] = {}
    pending: list[tuple[FieldPath, MappingNode]] = [((), root)] if isinstance(root, MappingNode) else []
    while pending:
        path, node = pending.pop()
        if isinstance(node.get("containers"), SequenceNode):
            broken |= _in_pod(path, node)
        for entry in node.fields.values():
            if isinstance(value := resolved(entry.value), MappingNode):
                pending.append(((*path, key_text(entry.key)), value))
    return broken


def _in_pod(path: FieldPath, pod: MappingNode) -> dict[str, FieldPath]:
    broken: dict[str, FieldPath] = {}
    volumes = {_text(volume, "name") for _, volume in _elements(pod, "volumes")}
    for field in _CONTAINERS:
        for name, container in _elements(pod, field):
            at: FieldPath = (*path, field, (("name", name),))
            for _, mount in _elements(container, "volumeMounts"):
                volume = _text(mount, "name")
                if volume not in volumes:
                    broken[f"{name} mounts the volume {volume}, which the pod does not have"] = (*at, "volumeMounts")
            ports = {_text(port, "name") for _, port in _elements(container, "ports")}
            for probe, port in _probe_ports(container):
                if not port.isdigit() and port not in ports:
                    broken[f"the {probe} of {name} asks the port {port}, which the container does not name"] = (
                        *at,
                        probe,
                    )
    return broken


def _probe_ports(container: MappingNode) -> Iterator[tuple[str, str]]:
    for probe in _PROBES:
        node = container.get(probe)
        for handler in _HANDLERS:
            action = node.get(handler) if isinstance(node, MappingNode) else None
            port = _text(action, "port") if isinstance(action, MappingNode) else ""
            if port:
                yield probe, port


def _elements(node: MappingNode, field: str) -> Iterator[tuple[str, MappingNode]]:
    value = node.get(field)
    for item in value.items if isinstance(value, SequenceNode) else []:
        element = resolved(item)
        if isinstance(element, MappingNode):
            yield _text(element, "name"), element


def _text(node: MappingNode, field: str) -> str:
    value = node.get(field)
    return key_text(value) if value is not None else ""
