"""Resources whose namespace one side leaves to whoever applies them (rule R9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from krm_merge.krm.identity import identity_of
from krm_merge.krm.resource import Resource
from krm_merge.startup import replace
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read
from krm_merge.vendored.documents import FoundResource

_Name: TypeAlias = tuple[str, str, str]
"""Group, kind and name."""


def in_local_namespaces(
    original: Sequence[FoundResource], upstream: Sequence[FoundResource], local: Sequence[FoundResource]
) -> tuple[list[FoundResource], list[FoundResource]]:
    """Original and upstream, where each resource has the namespace that local gives it, or none if local gives none.

    That holds where only one of both has a namespace, neither original nor upstream changed it, and no side has
    another resource of that kind and name.
    """
    sides = original, upstream, local
    counts = [Counter(map(_name, side)) for side in sides]
    ours = {_name(found): found.member.identity.namespace for found in local}
    given: dict[_Name, set[str]] = {}
    for found in (*original, *upstream):
        given.setdefault(_name(found), set()).add(found.member.identity.namespace)

    def changed(found: FoundResource) -> FoundResource:
        name = _name(found)
        theirs, namespace = found.member.identity.namespace, ours.get(name)
        is_one = all(count[name] <= 1 for count in counts) and len(given[name]) == 1
        if namespace is None or not is_one or theirs == namespace or (theirs and namespace):
            return found
        return _in_namespace(found, namespace)

    return list(map(changed, original)), list(map(changed, upstream))


def _name(found: FoundResource) -> _Name:
    identity = found.member.identity
    return identity.group, identity.kind, identity.name or f"{found.member.generate_name}*"


def _in_namespace(found: FoundResource, namespace: str) -> FoundResource:
    resource = Resource.from_tree(found.member.root)
    if namespace:
        resource.set("metadata.namespace", namespace)
    else:
        resource.remove("metadata.namespace")
    text = resource.text()
    root = read(text)
    assert isinstance(root, MappingNode)
    member = replace(found.member, identity=identity_of(root), root=root)
    return replace(found, member=member, text=text)
