"""Rules in a separate file: the fields `rules`, `listKeys` and `redact` of a functionConfig."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.errors import KrmMergeError
from krm_merge.merge.decisions.policy import Rule
from krm_merge.merge.package.merger import ListKeys
from krm_merge.schema.secrecy import Redaction
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import to_value


class RulesError(KrmMergeError, ValueError):
    """A file of rules that cannot be used; the message names every invalid field."""


@dataclass(frozen=True, slots=True)
class RulesFile:
    """The exceptions from a policy, the merge keys that no schema knows, and what reports hide."""

    rules: tuple[Rule, ...] = ()
    list_keys: tuple[ListKeys, ...] = ()
    redactions: tuple[Redaction, ...] = ()


def read_rules(text: str, file: str = "") -> RulesFile:
    """Reads `rules`, `listKeys` and `redact`; a whole MergePackage may hold them, too. Raises RulesError.

    `file` names the rules in reports.
    """
    from krm_merge.functions.policy.models import MergeRules
    from krm_merge.functions.validation import check, list_keys_of, redactions_of, rules_of

    try:
        root = read(text)
    except TextError as error:
        raise RulesError(str(error)) from None
    value = to_value(root)
    if not isinstance(root, MappingNode) or not isinstance(value, dict):
        raise RulesError("a mapping with rules, listKeys or redact is expected")
    known = {"rules", "listKeys", "redact"}
    unknown = sorted(value.keys() - known) if value.get("kind") is None else []
    model, problems = check(MergeRules, {name: inner for name, inner in value.items() if name in known})
    flaws = [f"{path}{problem}" for path, problem in problems]
    flaws += [f"{name} is an unknown field; known are rules, listKeys and redact" for name in unknown]
    if model is None or flaws:
        raise RulesError("; ".join(flaws))
    redactions = redactions_of(model.redact)
    return RulesFile(rules_of(model.rules, file), list_keys_of(model.listKeys), redactions)
