"""Whole packages of one shape and size, merged by `MergePackage`: `python -m benchmarks.shapes SHAPE MEGABYTES > FILE`.

The ResourceList holds all three versions: local as items, original and upstream in the functionConfig. Every text is
made from numbers, so that the same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from benchmarks import packages
from benchmarks.resources import as_item, config_map, custom_resource_definition, dashboard, deployment, service

MEGABYTE = 1_000_000
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
CONFIG = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n  metadata:\n    name: merge\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n"
PIPELINE = """pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
    configMap: {namespace: prod, registry: registry.example.com/shop}
  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4
    configMap: {namespace: prod}
  - image: ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1
    configMap: {owner: platform}
"""
RENDERED = (("owner", "platform"),)
"""The annotations of `PIPELINE`; its namespace is `prod`."""
KINDS = (deployment, service, config_map, dashboard, deployment, service, config_map, custom_resource_definition)


@dataclass(frozen=True, slots=True)
class State:
    """What a version makes of a resource; `annotations` are those that functions and kpt add to an item."""

    tag: str = "v1"
    replicas: int = 2
    namespace: str = "shop"
    suffix: str = ""
    annotations: tuple[tuple[str, str], ...] = ()


Written: TypeAlias = Callable[[int, State], str]
"""The document of the resource with a number."""


def in_blocks(number: int, state: State) -> str:
    """A Deployment of 1 KB in block style."""
    lines = "".join(f"    {name}: '{value}'\n" for name, value in state.annotations)
    annotations = f"  annotations:\n{lines}" if lines else ""
    return packages.deployment(number, tag=state.tag, replicas=state.replicas, annotations=annotations)


def with_backslashes(number: int, state: State) -> str:
    """A Deployment that has a backslash in its metadata and in its containers."""
    text = in_blocks(number, replace(state, annotations=(("note", "C:\\"), *state.annotations)))
    return text.replace("value: info", 'value: "a\\tb"')


def of_all_kinds(number: int, state: State) -> str:
    """What real packages hold: comments, setters, quotes, scripts, JSON in block scalars, definitions of types."""
    app, kind = divmod(number, len(KINDS))
    lines = KINDS[kind](app, number).splitlines(keepends=True)
    start = lines.index("    annotations:\n") + 1
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("      "))
    annotations = (("example.com/tag", state.tag), ("example.com/replicas", str(state.replicas)), *state.annotations)
    lines[start:end] = [f"      {name}: '{value}'\n" for name, value in annotations]
    text = "".join(line[2:] if line.strip() else line for line in lines)
    text = text.replace("\n  namespace: shop", f"\n  namespace: {state.namespace}", 1)
    name = next(line for line in text.splitlines() if line.startswith("  name: "))
    return text.replace(name, name + state.suffix, 1)


def with_flow_metadata(number: int, state: State) -> str:
    """A ConfigMap whose metadata is written in braces."""
    values = ", ".join(f"{name}: '{value}'" for name, value in state.annotations)
    annotations = f", annotations: {{{values}}}" if values else ""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: app-{number}, namespace: shop{annotations}}}\n"
        f"data:\n  tag: {state.tag}\n  replicas: '{state.replicas}'\n  name: app-{number}\n"
    )


def as_json(number: int, state: State) -> str:
    """A ConfigMap as JSON, its keys in alphabetical order."""
    metadata: dict[str, object] = {"name": f"app-{number}", "namespace": "shop"}
    if state.annotations:
        metadata["annotations"] = dict(state.annotations)
    data = {"tag": state.tag, "replicas": str(state.replicas), "name": f"app-{number}"}
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def small(number: int, state: State) -> str:
    """A ConfigMap of 130 bytes."""
    lines = "".join(f"    {name}: '{value}'\n" for name, value in state.annotations)
    annotations = f"  annotations:\n{lines}" if lines else ""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{number}\n  namespace: shop\n{annotations}"
        f"data:\n  tag: {state.tag}\n  replicas: '{state.replicas}'\n"
    )


def large(number: int, state: State) -> str:
    """A ConfigMap of 100 KB: two thousand fields, and a file of two thousand lines."""
    fields = "".join(f"  field-{at}: value-{number}-{at}\n" for at in range(2000))
    lines = "".join(f"    line {at} of file {number}\n" for at in range(2000))
    return f"{small(number, state)}{fields}  file: |\n{lines}"


@dataclass(frozen=True, slots=True)
class Shape:
    """How resources are written, and which of a hundred change: upstream, and locally the same ones.

    In `conflict` both sides change one field, else two fields of their own. Upstream `renames` one of so many. A
    `rendered` package is of all kinds, and local has what the functions of its pipeline gave it.
    """

    written: Written
    percent: int = 1
    conflict: bool = False
    rendered: bool = False
    renames: int = 0

    @property
    def pipeline(self) -> str:
        """That of the Kptfile, '' without one."""
        return PIPELINE if self.rendered else ""

    def documents(self, version: str, resources: int) -> Iterator[tuple[int, State]]:
        """The resources of a version."""
        for number in range(resources):
            state = State()
            if number % 100 < self.percent and version == "upstream":
                state = State(tag="v2")
            if number % 100 < self.percent and version == "local":
                state = State(tag="v3") if self.conflict else State(replicas=5)
            if self.renames and number % self.renames == 0 and version == "upstream":
                state = replace(state, suffix="-of-shop")
            if self.rendered and version == "local":
                state = replace(state, namespace="prod", annotations=RENDERED)
            yield number, state


SHAPES = {
    "mixed": Shape(of_all_kinds),
    "block": Shape(in_blocks),
    "unchanged": Shape(in_blocks, percent=0),
    "tenth-edited": Shape(in_blocks, percent=10),
    "all-edited": Shape(in_blocks, percent=100),
    "all-in-conflict": Shape(in_blocks, percent=100, conflict=True),
    "flow-metadata": Shape(with_flow_metadata),
    "json": Shape(as_json),
    "backslashes": Shape(with_backslashes),
    "many-small": Shape(small),
    "few-large": Shape(large, percent=100),
    "rendered": Shape(of_all_kinds, rendered=True),
    "rendered-all-edited": Shape(of_all_kinds, percent=100, rendered=True),
    "rendered-all-in-conflict": Shape(of_all_kinds, percent=100, conflict=True, rendered=True),
    "rendered-third-renamed": Shape(of_all_kinds, percent=100, rendered=True, renames=3),
}


def growing(kind: str, size: int, *, conflict: bool = False) -> Shape:
    """One resource with a collection of this size, of which upstream changes a tenth, local another.

    In `conflict` both change every element.
    """

    def written(number: int, state: State) -> str:
        values = [state.tag if at % 10 == 0 else str(state.replicas) if at % 10 == 5 else "0" for at in range(size)]
        values = [state.tag] * size if conflict else values
        lines = "".join(GROWING[kind].format(at=at, value=value) for at, value in enumerate(values))
        return small(number, state) + f"{kind}:\n{lines}"

    return Shape(written, percent=100, conflict=conflict)


def functions(size: int) -> Iterator[str]:
    """A ResourceList with nothing but a Kptfile, of whose functions both sides change each; local lacks every third."""

    def pipeline(version: int, *, lacks: bool = False) -> str:
        numbers = [at for at in range(size) if not (lacks and at % 3 == 0)]
        lines = "".join(f"  - image: example.com/fn-{at}:v{version}\n    configMap: {{at: '{at}'}}\n" for at in numbers)
        return f"pipeline:\n  mutators:\n{lines}"

    local = pipeline(3, lacks=True)
    yield HEAD
    yield as_item(KPTFILE + _indent(_annotations("Kptfile", 0), 2) + local)
    yield CONFIG
    for side, version in (("original", 1), ("upstream", 2)):
        yield f"  {side}: |\n" + _indent(KPTFILE + pipeline(version), 4)


def fill(name: str, size: int) -> Shape:
    """One resource with a collection of `COLLECTIONS` that makes a ResourceList of about this size, in bytes."""
    kind, conflict = COLLECTIONS[name]
    few, more = (sum(map(len, package(growing(kind, elements, conflict=conflict), 1))) for elements in (1, 1001))
    return growing(kind, max(1, round(size * 1000 / (more - few))), conflict=conflict)


GROWING = {
    "fields": "  field-{at}: value-{value}\n",
    "comments": "  # about {at}\n  field-{at}: value-{value} # {value}\n",
    "named": "- name: item-{at}\n  value: {value}\n",
    "texts": "- text-{at}-{value}\n",
    "unnamed": "- first: {at}\n  second: {value}\n",
    "flow": "- {{first: {at}, second: {value}}}\n",
    "lists": "- [[{at}], [{value}]]\n",
    "equal": "- {value}\n",
    "images": "  field-{at}:\n    image: example.com/app:{value}\n",
    "escapes": '  field-{at}: "first\\n{value}"\n',
}
"""The lines of an element of a collection of each kind."""

COLLECTIONS = {f"one-of-{kind}": (kind, False) for kind in GROWING} | {
    f"one-of-{kind}-in-conflict": (kind, True) for kind in GROWING
}
"""Packages of one resource that is one collection: of which kind, and whether both sides change every element."""


def package(shape: Shape, resources: int) -> Iterator[str]:
    """A ResourceList with this many resources beside the Kptfile."""
    yield HEAD
    yield as_item(KPTFILE + _indent(_annotations("Kptfile", 0), 2) + shape.pipeline)
    for number, state in shape.documents("local", resources):
        place = _place(f"part-{number // 100}/app-{number}.yaml", number + 1)
        yield as_item(shape.written(number, replace(state, annotations=(*state.annotations, *place))))
    yield CONFIG
    for version in ("original", "upstream"):
        yield f"  {version}: |\n" + _indent(KPTFILE + shape.pipeline, 4)
        for number, state in shape.documents(version, resources):
            yield _indent("---\n" + shape.written(number, state), 4)


def resources_in(shape: Shape, size: int) -> int:
    """How many resources make a ResourceList of about this size, in bytes."""
    few, more = (sum(map(len, package(shape, resources))) for resources in (1, 101))
    return max(1, round(size * 100 / (more - few)))


def _place(path: str, number: int) -> tuple[tuple[str, str], ...]:
    """The annotations that kpt gives an item."""
    return (
        ("config.kubernetes.io/index", "0"),
        ("config.kubernetes.io/path", path),
        ("internal.config.kubernetes.io/index", "0"),
        ("internal.config.kubernetes.io/path", path),
        ("internal.config.kubernetes.io/id", str(number)),
        ("config.k8s.io/id", str(number)),
    )


def _annotations(path: str, number: int) -> str:
    return "annotations:\n" + "".join(f"  {name}: '{value}'\n" for name, value in _place(path, number))


def _indent(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a ResourceList that merges a whole package.")
    parser.add_argument("shape", choices=(*SHAPES, *COLLECTIONS))
    parser.add_argument("megabytes", type=float, help="the size of the list, all three versions together")
    arguments = parser.parse_args()
    size = round(arguments.megabytes * MEGABYTE)
    if arguments.shape in COLLECTIONS:
        sys.stdout.writelines(package(fill(arguments.shape, size), 1))
    else:
        shape = SHAPES[arguments.shape]
        sys.stdout.writelines(package(shape, resources_in(shape, size)))


if __name__ == "__main__":
    main()
