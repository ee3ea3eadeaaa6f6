"""kpt's attribution of resources of Config Connector, which is nobody's edit (rule R6).

Source: kpt's `pkg/lib/util/attribution`. Commas separate the parts of the annotation. Those that name commands of kpt
are kpt's own: `kpt-pkg-fn` up to v1.0.0-beta.58, `krm-pkg-fn` since v1.0.0-beta.59. The others are the author's.
"""

from __future__ import annotations

from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.member import Member
from krm_merge.startup import pattern, replace
from krm_merge.text.reading.nodes import MappingNode, TextError

BLUEPRINT = "cnrm.cloud.google.com/blueprint"
"""The annotation in which kpt notes its commands."""

CONFIG_CONNECTOR = ".cnrm."
"""What apiVersions have to which kpt writes it."""

_FIELD = f'metadata.annotations["{BLUEPRINT}"]'
_OF_KPT = pattern(r"(?:kpt|krm)(?:-(?:pkg|fn|live))+")


def attribution(value: str) -> str:
    """The parts of the annotation that kpt wrote."""
    return ",".join(part for part in value.split(",") if _OF_KPT.fullmatch(part))


def with_attribution(member: Member | None, like: Member | None) -> Member | None:
    """The resource with the attribution that another version of it has, so that the author's parts alone differ."""
    if member is None or like is None or BLUEPRINT not in member.text + like.text:
        return member
    resource = Resource.from_tree(member.root)
    before = resource.annotations.get(BLUEPRINT, "")
    attribute(resource, attribution(Resource.from_tree(like.root).annotations.get(BLUEPRINT, "")))
    if resource.annotations.get(BLUEPRINT, "") == before:
        return member
    try:
        root = resource.merged()
    except TextError:
        return member
    assert isinstance(root, MappingNode)
    return replace(member, root=root)


def attribute(resource: Resource, local: str) -> None:
    """Writes this attribution of kpt's, '' for none, behind the author's parts."""
    now = resource.annotations.get(BLUEPRINT, "")
    author = [part for part in now.split(",") if part and not _OF_KPT.fullmatch(part)]
    value = ",".join([*author, *([local] if local else [])])
    if value and value != now:
        resource.set(_FIELD, value)
    elif now and not value:
        resource.remove(_FIELD)
