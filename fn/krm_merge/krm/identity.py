"""Which resource an object is, and paths of its fields: `spec.containers[name=web].ports[containerPort=80]`.

Steps are a field name, a position in a list, or the key fields of a list element. `*` as a field matches any one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from krm_merge.safe_text import quoted
from krm_merge.startup import pattern
from krm_merge.text import MappingNode, Node, Scalar, SequenceNode, Value, field_at, is_null, key_text, to_value

ElementKey: TypeAlias = tuple[tuple[str, str], ...]
Step: TypeAlias = "str | int | ElementKey"
FieldPath: TypeAlias = tuple[Step, ...]
"""The steps to a field: names, positions in lists, and key fields with their values; () is the whole document."""

ANY = "*"

_BARE_FIELD = pattern(r"[^.\[\]=\"',\s]+\Z")
_BARE_VALUE = pattern(r"[^\[\]\"',\s](?:[^\[\]\"',\n\t]*[^\[\]\"',\s])?\Z")
_TOKEN = pattern(
    r"""(?P<dot>\.)?(?:
        (?P<field>[^.\[\]"'\s]+)
      | \["(?P<quoted>(?:[^"\\]|\\.)*)"\]
      | \['(?P<single>[^']*)'\]
      | \[(?P<index>[0-9]+)\]
      | \[(?P<star>\*)\]
      | \[(?P<keys>[^\]"=,]+=(?:"(?:[^"\\]|\\.)*"|[^"\],]*?)(?:,[^\]"=,]+=(?:"(?:[^"\\]|\\.)*"|[^"\],]*?))*)\]
    )""",
    re.VERBOSE,
)
_KEY = pattern(r'(?:^|,)([^=,]+)=("(?:[^"\\]|\\.)*"|[^,"]*)')


def format_path(path: FieldPath) -> str:
    """The path as text; fields with dots or brackets are quoted in brackets."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif isinstance(step, tuple):
            out += "[" + ",".join(f"{name}={_value(value)}" for name, value in step) + "]"
        elif _BARE_FIELD.match(step):
            out += f".{step}" if out else step
        else:
            out += "[" + _quote(step) + "]"
    return out


def parse_path(text: str) -> FieldPath:
    """Reads a path. Raises ValueError naming the column of what it does not understand."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or bool(match["dot"]) != (bool(steps) and match["field"] is not None):
            raise ValueError(f"cannot read the field path {quoted(text)!r} at column {position + 1}")
        if match["field"] is not None:
            steps.append(match["field"])
        elif match["quoted"] is not None:
            steps.append(_unquote(match["quoted"]))
        elif match["single"] is not None:
            steps.append(match["single"])
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["star"] is not None:
            steps.append(ANY)
        else:
            keys = _KEY.findall(match["keys"])
            steps.append(tuple((name, _unquote(value[1:-1]) if value[:1] == '"' else value) for name, value in keys))
        position = match.end()
    if not steps:
        raise ValueError("a field path is empty")
    return tuple(steps)


def covers(rule: FieldPath, path: FieldPath) -> bool:
    """Whether a rule's path names this path or something above it. Element keys may be given in part."""
    return len(rule) <= len(path) and all(_step_matches(r, p) for r, p in zip(rule, path, strict=False))


def value_at(value: Value, path: Sequence[Step]) -> Value:
    """The value at a path, None where there is none. In a map, a position is the name of a field."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, tuple):
            elements = (item for item in value if all(value_at(item, (key,)) == text for key, text in step))
            value = next(elements, None)
        else:
            value = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
    return value


def _step_matches(rule: Step, step: Step) -> bool:
    if rule in (ANY, step):
        return True
    return isinstance(rule, tuple) and isinstance(step, tuple) and set(rule) <= set(step)


def _value(value: str) -> str:
    return value if _BARE_VALUE.match(value) else _quote(value)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


KPTFILE = "Kptfile"
KPTFILE_GROUP = "kpt.dev"


class Identity(NamedTuple):
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
    group, kind = _text(root, "apiVersion").rpartition("/")[0], _text(root, "kind")
    return Identity(group, kind, _text(root, "metadata", "namespace"), _text(root, "metadata", "name"))


def generate_name_of(root: MappingNode) -> str:
    """The prefix from which the cluster makes the name of an object, or ''."""
    return _text(root, "metadata", "generateName")


def is_list(root: MappingNode) -> bool:
    """Whether an object is a list of resources: a List, or one of a kind without a name, such as a RoleList.

    `kubectl get` and generators write it; kpt and kustomize split it into its objects.
    """
    kind = _text(root, "kind")
    if not kind.endswith("List") or _text(root, "metadata", "name"):
        return False
    is_any = (_text(root, "apiVersion"), kind) == ("v1", "List")
    return is_any or isinstance(field_at(root, "items"), SequenceNode)


def list_items(root: MappingNode) -> list[Node]:
    """The items of a list of resources, as its nodes; aliases are not resolved."""
    items = field_at(root, "items")
    return list(items.items) if isinstance(items, SequenceNode) else []


def flaw_of(root: Node) -> str:
    """Why an object is not a Kubernetes resource, or ''."""
    for name in ("apiVersion", "kind"):
        node = field_at(root, name)
        # A text may be tagged as binary.
        if not isinstance(node, Scalar) or not isinstance(to_value(node), str) or not node.text:
            return "is not a Kubernetes object: apiVersion and kind are expected"
    for path in (("metadata",), ("metadata", "annotations")):
        node = field_at(root, *path)
        if node is not None and not isinstance(node, MappingNode) and not is_null(node):
            return f"has no mapping in {'.'.join(path)}"
    return ""


def _text(root: Node, *path: str) -> str:
    node = field_at(root, *path)
    return key_text(node) if isinstance(node, Scalar) else ""
