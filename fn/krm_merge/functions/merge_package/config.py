"""The functionConfig of MergePackage: the pydantic models are the contract, their errors name the field.

Importing pydantic takes longer than merging a Kptfile. So the plain form (two texts or lists, and the two choices) is
recognised without it; the models read everything else, and everything invalid.
"""

from __future__ import annotations

from krm_merge.functions.dispatch import API_VERSION
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.package.merger import ListKeys
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode, resolved
from krm_merge.text.reading.values import Value, key_text, to_value

_PLAIN_FIELDS = frozenset(("apiVersion", "kind", "metadata", "original", "upstream", "onConflict", "functionIdentity"))
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

    `is_policy_given` says that it names a policy for conflicts itself.
    """

    original: Node | None = None
    upstream: Node | None = None
    policy: Policy = Policy()
    list_keys: tuple[ListKeys, ...] = ()
    smart: bool = False
    is_policy_given: bool = False


def read_settings(resource_list: ResourceList) -> MergeSettings:
    """Reads the functionConfig and reports all its errors to the results; returns the valid part in any case."""
    config = resource_list.function_config
    if config is None:
        return MergeSettings()
    is_config_map = config.get("kind") is not None and key_text(config.get("kind")) == "ConfigMap"  # type: ignore[arg-type]
    holder = config
    if is_config_map:
        data = config.get("data")
        holder = data if isinstance(data, MappingNode) else MappingNode(None, 0, 0, True)
    plain = _plain(holder, is_config_map)
    return plain if plain is not None else _validated(resource_list, holder, is_config_map)


def _plain(holder: MappingNode, is_config_map: bool) -> MergeSettings | None:
    fields = {key_text(entry.key): resolved(entry.value) for entry in holder.fields.values()}
    if not fields.keys() <= (_PLAIN_DATA if is_config_map else _PLAIN_FIELDS):
        return None
    if not is_config_map:
        for name, wanted in (("apiVersion", API_VERSION), ("kind", "MergePackage")):
            if name not in fields or fields[name].canonical != wanted:
                return None
        metadata = fields.get("metadata")
        if metadata is not None and not isinstance(metadata, MappingNode):
            return None
    for name in _PACKAGES:
        if name in fields and not _is_package(fields[name], lists=not is_config_map):
            return None
    for name, choices in _CHOICES.items():
        if name in fields and fields[name].canonical not in choices:
            return None
    return _settings(fields, Policy(on_conflict=_choice(fields, "onConflict")), ())  # type: ignore[arg-type]


def _is_package(node: Node, *, lists: bool) -> bool:
    if isinstance(node, Scalar):
        return type(node.canonical) is str
    return (
        lists and isinstance(node, SequenceNode) and all(isinstance(resolved(item), MappingNode) for item in node.items)
    )


def _choice(fields: dict[str, Node], name: str) -> str:
    return key_text(fields[name]) if name in fields else _CHOICES[name][0]


def _settings(fields: dict[str, Node], policy: Policy, list_keys: tuple[ListKeys, ...]) -> MergeSettings:
    smart = _choice(fields, "functionIdentity") == "smart"
    original, upstream = (None if _is_null(fields.get(name)) else fields[name] for name in _PACKAGES)
    return MergeSettings(original, upstream, policy, list_keys, smart, "onConflict" in fields)


def _is_null(node: Node | None) -> bool:
    return node is None or node.canonical == ("null",)


def _validated(resource_list: ResourceList, holder: MappingNode, is_config_map: bool) -> MergeSettings:
    from krm_merge.functions.merge_package.models import ConfigMapData, MergePackage
    from krm_merge.krm.validation import validated
    from krm_merge.policy.models import list_keys_of, redactions_of, rules_of

    fields = {key_text(entry.key): resolved(entry.value) for entry in holder.fields.values()}
    values: dict[str, Value] = {name: _shallow(name, node) for name, node in fields.items()}
    model = validated(resource_list, ConfigMapData if is_config_map else MergePackage, values)
    if model is None:
        usable = {n: fields[n] for n in _PACKAGES if n in fields and _is_package(fields[n], lists=not is_config_map)}
        return MergeSettings(usable.get("original"), usable.get("upstream"))
    rules: tuple[Rule, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    list_keys: tuple[ListKeys, ...] = ()
    if isinstance(model, MergePackage):
        rules = rules_of(model.rules)
        redactions = redactions_of(model.redact)
        list_keys = list_keys_of(model.listKeys)
    return _settings(fields, Policy(model.onConflict, rules, redactions=redactions), list_keys)


def _shallow(name: str, node: Node) -> Value:
    """The value of a field; of packages only the shape is checked."""
    if name in _PACKAGES and isinstance(node, SequenceNode):
        return [{} if isinstance(resolved(item), MappingNode) else to_value(item) for item in node.items]
    return to_value(node)
