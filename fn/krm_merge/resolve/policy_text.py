"""The text of a package's MergePolicy with what was chosen; all else in it stays as it is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from krm_merge.errors import KrmMergeError
from krm_merge.functions.policy.merge_policy import KIND, is_policy
from krm_merge.functions.validation import too_many
from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.policy import Rule
from krm_merge.packages.files.tree import File
from krm_merge.resolve.choices import Made
from krm_merge.text.document import document_text
from krm_merge.text.reading import nodes
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read_all
from krm_merge.text.reading.values import Value, to_value

_NEW = f"""\
apiVersion: fn.kpt.dev/v1alpha1
kind: {KIND}
metadata:
  name: merge-policy
  annotations:
    config.kubernetes.io/local-config: "true"
"""

_SAME_RULE = ("group", "kind", "namespace", "name", "path")
_SAME_CHOICE = ("resource", "packages", "path", "nature", "fingerprint")


def with_choices(file: File | None, name: str, made: Sequence[Made], rules: Iterable[Rule]) -> File:
    """The file with the choices and rules, each in the place of the one that it replaces. Raises KrmMergeError."""
    return with_values(file, name, [one.to_value() for one in made], [rule_value(rule) for rule in rules])


def with_values(
    file: File | None,
    name: str,
    resolutions: Sequence[Mapping[str, Value]],
    rules: Sequence[Mapping[str, Value]],
    dropped: Sequence[Mapping[str, Value]] = (),
) -> File:
    """The same with plain values, as a MergePolicy has them; resolutions for what is `dropped` are removed.

    Raises KrmMergeError also if there would be more than the limits allow: nobody could read the policy then.
    """
    text = _NEW if file is None else file.data.decode("utf-8")
    root = _policy(text, name)
    value = to_value(root)
    assert isinstance(value, dict)
    new = dict(value)
    # The first match wins, so what was said last comes first.
    if rules:
        new["rules"] = [*map(dict, rules), *_without(value.get("rules"), rules, _SAME_RULE)]
    kept = _without(value.get("resolutions"), [*resolutions, *dropped], _SAME_CHOICE)
    if resolutions or "resolutions" in value:
        new["resolutions"] = [*kept, *map(dict, resolutions)]
    for field, problem in too_many(new):
        raise KrmMergeError(f"{name}: {field}{problem}")
    resource = Resource.from_tree(root)
    resource.change(value, new)
    before = document_text(root)
    return File(text.replace(before, resource.text(), 1).encode(), "file" if file is None else file.mode)


def _policy(text: str, name: str) -> nodes.MappingNode:
    try:
        roots = [root for root in read_all(text) if isinstance(root, nodes.MappingNode) and is_policy(root)]
    except TextError as error:
        raise KrmMergeError(f"{name}: {error}") from None
    if not roots:
        raise KrmMergeError(f"{name} is there and holds no {KIND}; rename it, so that choices can be written there")
    return roots[0]


def rule_value(rule: Rule) -> dict[str, Value]:
    """A rule as a MergePolicy has it."""
    fields: dict[str, Value] = {
        "group": rule.group,
        "kind": rule.kind,
        "namespace": rule.namespace,
        "name": rule.name,
        "path": format_path(rule.path) if rule.path is not None else None,
        "onConflict": rule.on_conflict,
        "onDelete": rule.on_delete,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _without(known: Value, new: Sequence[Mapping[str, Value]], fields: Sequence[str]) -> list[Value]:
    """What is written, less what the new ones replace."""
    replaced = {_key(value, fields) for value in new}
    return [value for value in known if _key(value, fields) not in replaced] if isinstance(known, list) else []


def _key(value: object, fields: Sequence[str]) -> str:
    return json.dumps([value.get(name) for name in fields] if isinstance(value, Mapping) else value, default=str)
