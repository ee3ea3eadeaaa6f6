"""ResourceLists of every function, and what strangers could make of them: bytes changed, pieces repeated very often."""

from __future__ import annotations

from pathlib import Path
from random import Random
from textwrap import indent

import yaml

from fuzz.mutations import CORPUS, PIECES, mutate

_ROOT = CORPUS.parents[1]
_EXAMPLES = {
    "components-monorepo": "graph.yaml",
    "components-operator": "graph.yaml",
    "transform": "transform.yaml",
}
"""Packages of examples, and the file that holds their functionConfig."""
_HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
_REPEATED = (
    *PIECES,
    "? - ",
    "{a: ",
    "[[",
    "- - ",
    "\\",
    "&a [*a, ",
    "a: &b\n",
    "{? ",
    "x" * 64,
    "\x1b]0;\x07",
    "\udcff",
)
_OFTEN = (10, 100, 1000, 10_000)
_ODD = (
    *(
        "",
        "~",
        "true",
        "-1",
        "1e400",
        "9" * 50,
        "a.b/c",
        "../../etc/passwd",
        "/",
        "a" * 5000,
        "\x1b[2J",
        "https://u:p@h/",
    ),
    *("Kptfile", "ConfigMap", "List", "$patch", "v1", "*", "[", "(a+)+$", "spec.a[b=c]", "\u2028", "null", "local"),
)


def lists() -> list[str]:
    """ResourceLists as kpt hands them over, in a fixed order."""
    golden = (_list_of_case(case) for case in sorted((CORPUS.parent / "golden").glob("*/")))
    fuzzed = (file.read_bytes().decode() for file in sorted((CORPUS / "resource-list").iterdir()))
    examples = (_list_of_package(_ROOT / "examples" / name, config) for name, config in _EXAMPLES.items())
    return [*golden, *fuzzed, *examples]


def hostile(lists: list[str], random: Random) -> bytes:
    """One of the lists after random changes: of its values alone, or of its text, where some blow it up."""
    if random.random() < 0.6:
        return _with_other_values(random.choice(lists), random).encode()
    text = mutate(random.choice(lists), random.choice(lists), random)
    if random.random() < 0.2:
        at, piece = random.randint(0, len(text)), random.choice(_REPEATED)
        text = text[:at] + piece * random.choice(_OFTEN) + text[at:]
    data = bytearray(text.encode("utf-8", "surrogateescape"))
    if random.random() < 0.2:
        for _ in range(random.randint(1, 20)):
            data[random.randrange(len(data) or 1) : random.randrange(len(data) or 1) + 1] = random.randbytes(1)
    if random.random() < 0.1:
        del data[random.randint(0, len(data)) :]
    return bytes(data)


def _list_of_case(case: Path) -> str:
    config = case / "_fnconfig.yaml"
    return (case / "resources.yaml").read_bytes().decode() + (_config(config) if config.is_file() else "")


def _list_of_package(package: Path, config: str) -> str:
    files = sorted(file for file in package.glob("*.yaml") if file.name != config)
    documents = [document for file in files for document in file.read_text().split("\n---\n") if document.strip()]
    items = "".join("-" + indent(f"{document.strip()}\n", "  ")[1:] for document in documents)
    return f"{_HEAD}items:\n{items}{_config(package / config)}"


def _config(file: Path) -> str:
    return "functionConfig:\n" + indent(file.read_bytes().decode(), "  ")


def _with_other_values(text: str, random: Random) -> str:
    """A YAML text that can be read, but for what it holds in texts of its own."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return text
    nodes = [node for node in _below(root) if not isinstance(node, yaml.ScalarNode)]
    for _ in range(random.randint(1, 4) if nodes else 0):
        _change(random.choice(nodes), random.choice(nodes), random)
    return yaml.serialize(root, Dumper=yaml.CSafeDumper, allow_unicode=True)


def _change(node: yaml.Node, other: yaml.Node, random: Random) -> None:
    """Changes one child of a collection; the other one gives a child of its own for that."""
    children = node.value
    if not children or not other.value:
        return
    at = random.randrange(len(children))
    pair = isinstance(node, yaml.MappingNode)
    if random.random() < 0.2:
        del children[at]
    elif random.random() < 0.2:
        children.insert(at, children[at] if pair == isinstance(other, yaml.MappingNode) else children[-1])
    elif random.random() < 0.2 and pair:
        children[at] = (_scalar(random.choice(_ODD)), children[at][1])
    else:
        value = _other_value(children[at][1] if pair else children[at], other, random)
        children[at] = (children[at][0], value) if pair else value


def _other_value(value: yaml.Node, other: yaml.Node, random: Random) -> yaml.Node:
    if isinstance(value, yaml.ScalarNode) and "\n" in value.value and random.random() < 0.8:
        inner = value.value
        inner = _with_other_values(inner, random) if random.random() < 0.7 else mutate(inner, inner, random)
        return _scalar(inner)
    if random.random() < 0.1:
        for _ in range(random.choice(_OFTEN[:3])):
            value = yaml.SequenceNode("tag:yaml.org,2002:seq", [value])
        return value
    if random.random() < 0.5:
        return _scalar(random.choice(_ODD))
    child = random.choice(other.value)
    node: yaml.Node = child[random.randint(0, 1)] if isinstance(child, tuple) else child
    return node


def _scalar(text: str) -> yaml.Node:
    plain = text in ("", "~", "true", "-1", "null")
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=None if plain else '"')


def _below(node: yaml.Node | None) -> list[yaml.Node]:
    """All nodes, each where it is found first."""
    nodes: dict[int, yaml.Node] = {}
    pending = [node] if node is not None else []
    while pending:
        next_node = pending.pop()
        if id(next_node) in nodes:
            continue
        nodes[id(next_node)] = next_node
        for child in next_node.value if not isinstance(next_node, yaml.ScalarNode) else ():
            pending += child if isinstance(child, tuple) else [child]
    return list(nodes.values())
