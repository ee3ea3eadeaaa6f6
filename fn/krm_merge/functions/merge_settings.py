"""The settings of a merge, from the functionConfig.

Importing pydantic takes longer than merging a Kptfile. So the plain form (two texts or lists, and the two choices) is
recognised without it; the models read everything else, and everything invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from krm_merge.functions import API_VERSION, CONFIG_MAP
from krm_merge.krm import Resource, ResourceList
from krm_merge.merge import ListKeys, Policy, Rule
from krm_merge.schema import Redaction
from krm_merge.startup import frozen, replace
from krm_merge.text import (
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Value,
    field_at,
    is_null,
    key_text,
    resolved,
    to_value,
)

if TYPE_CHECKING:
    from krm_merge.packages import Lock

_PLAIN_FIELDS = frozenset(("apiVersion", "kind", "metadata", "original", "upstream", "onConflict", "functionIdentity"))
_LOCK = "upstreamLock"
_LOCK_FIELDS = ("repo", "directory", "ref", "commit")
_PLAIN_DATA = frozenset(("function", "original", "upstream", "onConflict", "functionIdentity"))
_PACKAGES = ("original", "upstream")
_CHOICES = {
    "onConflict": ("upstream", "local", "fail"),
    "functionIdentity": ("document", "smart"),
    "function": ("MergePackage",),
}


@frozen
class MergeSettings:
    """The parsed functionConfig. `original` and `upstream` are nodes of it, None if it lacks them.

    `is_policy_given` says that it names a policy for conflicts itself, `lock` where upstream is.
    """

    original: Node | None = None
    upstream: Node | None = None
    policy: Policy = Policy()
    list_keys: tuple[ListKeys, ...] = ()
    smart: bool = False
    is_policy_given: bool = False
    lock: Lock | None = None


def read_settings(resource_list: ResourceList) -> MergeSettings:
    """Reads the functionConfig and reports all its errors to the results; returns the valid part in any case."""
    config = resource_list.function_config
    if config is None:
        return MergeSettings()
    holder, is_config_map = fields_of(config)
    fields = {key_text(entry.key): resolved(entry.value) for entry in holder.fields.values()}
    lock = None if is_config_map else _lock_in(fields.get(_LOCK))
    rules, redactions, list_keys = tuple[Rule, ...](), tuple[Redaction, ...](), tuple[ListKeys, ...]()
    if not _is_plain(fields, is_config_map):
        from krm_merge.functions.models import ConfigMapData, MergePackage
        from krm_merge.krm import validate
        from krm_merge.policy import list_keys_of, redactions_of, rules_of

        values: dict[str, Value] = {name: _shallow(name, node) for name, node in fields.items()}
        model = validate(resource_list, ConfigMapData if is_config_map else MergePackage, values)
        if model is None:
            usable = (n for n in _PACKAGES if n in fields and _is_package(fields[n], lists=not is_config_map))
            return replace(MergeSettings(), **{name: fields[name] for name in usable})
        if isinstance(model, MergePackage):
            rules, redactions = rules_of(model.rules), redactions_of(model.redact)
            list_keys = list_keys_of(model.listKeys)
    choices = {name: key_text(fields[name]) if name in fields else texts[0] for name, texts in _CHOICES.items()}
    policy = Policy(choices["onConflict"], rules, redactions=redactions)  # type: ignore[arg-type]
    original, upstream = (None if is_null(node := fields.get(name)) else node for name in _PACKAGES)
    smart = choices["functionIdentity"] == "smart"
    return MergeSettings(original, upstream, policy, list_keys, smart, "onConflict" in fields, lock)


def fields_of(config: MappingNode) -> tuple[MappingNode, bool]:
    """The fields of a functionConfig, and whether they are the data of a ConfigMap."""
    if Resource.from_tree(config).kind != CONFIG_MAP:
        return config, False
    data = config.get("data")
    return (data if isinstance(data, MappingNode) else MappingNode.new(True)), True


def _is_plain(fields: Mapping[str, Node], is_config_map: bool) -> bool:
    """Whether a quick check finds the fields valid."""
    if not is_config_map and _lock_in(fields.get(_LOCK)) is not None:
        fields = {name: node for name, node in fields.items() if name != _LOCK}
    if not fields.keys() <= (_PLAIN_DATA if is_config_map else _PLAIN_FIELDS):
        return False
    if not is_config_map:
        for name, expected in (("apiVersion", API_VERSION), ("kind", "MergePackage")):
            if name not in fields or fields[name].canonical != expected:
                return False
        if not isinstance(fields.get("metadata"), MappingNode | None):
            return False
    return all(
        _is_package(node, lists=not is_config_map) if name in _PACKAGES else node.canonical in _CHOICES[name]
        for name, node in fields.items()
        if name in _PACKAGES or name in _CHOICES
    )


def _lock_in(node: Node | None) -> Lock | None:
    """Where upstream is, None where a field is missing or is no text."""
    if not isinstance(node, MappingNode):
        return None
    from krm_merge.packages import Lock

    git = node.get("git")
    fields = [child for name in _LOCK_FIELDS if isinstance(child := field_at(git, name), Scalar)]
    return Lock(*map(key_text, fields)) if len(fields) == len(_LOCK_FIELDS) else None


def _is_package(node: Node, *, lists: bool) -> bool:
    if isinstance(node, Scalar):
        return type(node.canonical) is str
    return (
        lists and isinstance(node, SequenceNode) and all(isinstance(resolved(item), MappingNode) for item in node.items)
    )


def _shallow(name: str, node: Node) -> Value:
    """The value of a field; of packages only the shape is checked."""
    if name in _PACKAGES and isinstance(node, SequenceNode):
        return [{} if isinstance(resolved(item), MappingNode) else to_value(item) for item in node.items]
    return to_value(node)


FORMS = (
    "give original and upstream as fields of a MergePackage functionConfig, or as data of a ConfigMap "
    '(kpt fn eval -- original="$(cat A)" upstream="$(cat B)")'
)
