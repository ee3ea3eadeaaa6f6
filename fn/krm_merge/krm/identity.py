"""Which resource an object is: group, kind, namespace and name."""

from __future__ import annotations

from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar
from krm_merge.text.reading.values import key_text

KPTFILE = "Kptfile"
KPTFILE_GROUP = "kpt.dev"


@frozen
class Identity:
    """Identity of an object in a package, whatever its API version. Empty texts where an object lacks a field."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> tuple[str, str]:
        """Group and kind."""
        return self.group, self.kind

    def fits(self, group: str | None, kind: str | None, namespace: str | None, name: str | None) -> bool:
        """Whether it is one of those that a rule selects; None matches everything."""
        return (
            (name is None or name == self.name)
            and (kind is None or kind == self.kind)
            and (namespace is None or namespace == self.namespace)
            and (group is None or group == self.group)
        )


NO_RESOURCE = Identity("", "", "", "")
"""The identity that rules and choices use for a file without resources."""


def identity_of(root: MappingNode) -> Identity:
    """The identity of an object."""
    metadata = root.get("metadata")
    name, namespace = (
        ("", "") if not isinstance(metadata, MappingNode) else (_text(metadata, "name"), _text(metadata, "namespace"))
    )
    return Identity(_text(root, "apiVersion").rpartition("/")[0], _text(root, "kind"), namespace, name)


def generate_name_of(root: MappingNode) -> str:
    """The prefix from which the cluster makes the name of an object, or ''."""
    metadata = root.get("metadata")
    return _text(metadata, "generateName") if isinstance(metadata, MappingNode) else ""


def flaw_of(root: Node) -> str:
    """Why an object is not a Kubernetes resource, or ''."""
    if not isinstance(root, MappingNode) or not _text(root, "kind") or not _text(root, "apiVersion"):
        return "is not a Kubernetes object: apiVersion and kind are expected"
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, MappingNode) else None
    for name, node in (("metadata", metadata), ("metadata.annotations", annotations)):
        if node is not None and not isinstance(node, MappingNode) and node.canonical != ("null",):
            return f"has no mapping in {name}"
    return ""


def _text(root: MappingNode, name: str) -> str:
    node = root.get(name)
    return key_text(node) if isinstance(node, Scalar) else ""
