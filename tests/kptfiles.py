"""Kptfiles in a ResourceList: the input of a merge as text, and the Kptfile and the results of its output."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import yaml

from checkout import ROOT

CASES = ROOT / "testdata" / "kptfile"
PLACE = {
    "internal.config.kubernetes.io/path": "Kptfile",
    "internal.config.kubernetes.io/index": "'0'",
    "config.kubernetes.io/path": "Kptfile",
    "config.kubernetes.io/index": "'0'",
}
"""The annotations by which the host tells the file of an item, with their values as written."""

BYSTANDER = textwrap.dedent("""\
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: bystander
    """)
"""What a package holds that has no Kptfile."""

NAME = "name: pkg\n"
Case = dict[str, Any]


def cases() -> list[Case]:
    """All cases of the tables, file by file."""
    return [case for path in sorted(CASES.glob("*.yaml")) for case in yaml.safe_load(path.read_text())]


def indent(text: str, by: int) -> str:
    """The text moved right; blank lines stay empty."""
    return textwrap.indent(text, " " * by)


def kptfile(body: str, metadata: str = NAME) -> str:
    """A whole Kptfile of what stands below metadata and of what stands in it."""
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n{indent(metadata, 2)}{body}"


def with_place(metadata: str, place: dict[str, str] | None = None) -> str:
    """The text of a metadata mapping with the annotations of its place, beside those it has."""
    pairs = [f"{key}: {value}" for key, value in (PLACE if place is None else place).items()]
    lines = metadata.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if re.match(r"annotations:\s*\{", line):
            lines[number] = line.replace("{", "{" + ", ".join(pairs) + ", ", 1)
            return "".join(lines)
        if re.match(r"annotations:\s*(#.*)?$", line):
            depth = next((indent_of(below) for below in lines[number + 1 :] if below.lstrip()[:1] not in ("", "#")), 2)
            lines.insert(number + 1, indent("\n".join(pairs) + "\n", depth))
            return "".join(lines)
    return metadata + "annotations:\n" + indent("\n".join(pairs) + "\n", 2)


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def as_item(text: str) -> str:
    """A document as an element of `items`."""
    return "- " + indent(text, 2)[2:]


def resource_list(items: list[str], original: str, upstream: str, **options: str) -> bytes:
    """A ResourceList of documents and of a MergePackage with the two packages as text."""
    config = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePackage\nmetadata:\n  name: merge\n"
    config += f"original: |\n{indent(original, 2)}upstream: |\n{indent(upstream, 2)}"
    config += "".join(f"{key}: {value}\n" for key, value in options.items())
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    return (text + "".join(map(as_item, items)) + "functionConfig:\n" + indent(config, 2)).encode()


def request(case: Case, local: str | None = None, **options: str) -> bytes:
    """The ResourceList of a case; `local` replaces the local Kptfile."""
    original = kptfile(case["original"], case.get("original_metadata", NAME))
    if local is None:
        local = kptfile(case["local"], with_place(case.get("local_metadata", NAME)))
    items = [local]
    if case["upstream"] is None:
        original, upstream = original + "---\n" + BYSTANDER, BYSTANDER
        place = {key: "bystander.yaml" if key.endswith("path") else value for key, value in PLACE.items()}
        items.append(BYSTANDER + indent(with_place("", place), 2))
    else:
        upstream = kptfile(case["upstream"], case.get("upstream_metadata", NAME))
    if "onConflict" in case:
        options["onConflict"] = case["onConflict"]
    return resource_list(items, original, upstream, **options)


def item_text(output: bytes) -> str:
    """The text of the only Kptfile among the items of a ResourceList, as a document of its own."""
    text = output.decode()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    items = field(root, "items")
    assert isinstance(items, yaml.SequenceNode), "the output has no list of items"
    [item] = [item for item in items.value if getattr(field(item, "kind"), "value", None) == "Kptfile"]
    lines = text.split("\n")
    first = item.start_mark.line
    assert lines[first].startswith("- "), f"an item begins with {lines[first]!r}"
    lines_taken = ["  " + lines[first][2:]]
    for line in lines[first + 1 :]:
        if line and not line.startswith("  "):
            break
        lines_taken.append(line)
    return "\n".join(line[2:] for line in lines_taken).rstrip("\n") + "\n"


def body_text(document: str) -> str:
    """What stands below metadata in the text of a Kptfile."""
    metadata = field(yaml.compose(document, Loader=yaml.SafeLoader), "metadata")
    assert metadata is not None, "the Kptfile has no metadata"
    return "".join(document.splitlines(keepends=True)[last_line(metadata) + 1 :])


def last_line(node: yaml.Node) -> int:
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return last_line(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return last_line(node.value[-1])
    return int(node.end_mark.line)


def field(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """The value of a field; None where the node is no mapping or has no such field."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def canonical(node: yaml.Node | None) -> Any:
    """A document as values that know their type: 1, "1" and true differ; the order of fields does not count, and
    aliases and merge keys are what they stand for."""
    if isinstance(node, yaml.MappingNode):
        merged: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for source in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
                    merged |= canonical(source)
            else:
                fields[" ".join(canonical(key))] = canonical(value)
        return dict(sorted((merged | fields).items()))
    if isinstance(node, yaml.SequenceNode):
        return [canonical(element) for element in node.value]
    return None if node is None else (node.tag.removeprefix("tag:yaml.org,2002:"), node.value)


def values(document: str) -> Any:
    """The canonical form of a Kptfile without the annotations of its place."""
    data = canonical(yaml.compose(document, Loader=yaml.SafeLoader))
    metadata = data["str metadata"]
    annotations = metadata.get("str annotations")
    if isinstance(annotations, dict) and any(f"str {key}" in annotations for key in PLACE):
        metadata["str annotations"] = {
            key: value for key, value in annotations.items() if key.removeprefix("str ") not in PLACE
        }
        if not metadata["str annotations"]:
            del metadata["str annotations"]
    return data


SUMMARY = re.compile(r"\d+ conflicts, ")


def results(output: bytes) -> list[dict[str, str | None]]:
    """The results of a ResourceList but for its summary: severity, rule, path of the field, side."""
    entries = (yaml.safe_load(output) or {}).get("results") or []
    return [
        {
            "severity": result.get("severity"),
            "rule": (result.get("tags") or {}).get("rule"),
            "path": (result.get("field") or {}).get("path"),
            "side": (result.get("tags") or {}).get("side"),
        }
        for result in entries
        if not SUMMARY.match(result["message"])
    ]


def empty_mappings(document: str) -> int:
    """How many `{}` a document has."""

    def count(data: Any) -> int:
        if isinstance(data, dict):
            return sum(map(count, data.values())) if data else 1
        return sum(map(count, data)) if isinstance(data, list) else 0

    return count(values(document))


def bare_functions(document: str) -> int:
    """How many functions of a Kptfile have neither image nor exec."""
    pipeline = field(yaml.compose(document, Loader=yaml.SafeLoader), "pipeline")
    lists = [field(pipeline, name) for name in ("mutators", "validators")]
    functions = [function for each in lists if isinstance(each, yaml.SequenceNode) for function in each.value]
    return sum(field(function, "image") is None and field(function, "exec") is None for function in functions)
