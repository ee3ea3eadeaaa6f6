"""Compares resources by value: `python -m benchmarks.values A B`, each a YAML stream, a ResourceList or a package.

Exit code 1 and the first differences where they differ. A process of its own: what measures has to stay small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

# Where an item of a ResourceList comes from: no other tool's output has these.
FROM_KPT = ("config.kubernetes.io/", "internal.config.kubernetes.io/")
SHOWN = 5


def texts(path: Path) -> Iterator[str]:
    """The documents of a file, or of all YAML files of a package; kubectl writes no `---` between them."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.name == "Kptfile" or file.suffix == ".yaml":
                yield from texts(file)
        return
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("apiVersion:") and lines:
            yield "".join(lines)
            lines = []
        if line != "---\n":
            lines.append(line)
    yield "".join(lines)


def resources(path: Path) -> dict[str, Any]:
    """The resources by kind, namespace and name."""
    by_key: dict[str, Any] = {}
    for text in texts(path):
        value = yaml.load(text, Loader=yaml.CSafeLoader)
        for resource in value["items"] if value["kind"] == "ResourceList" else [value]:
            metadata = resource["metadata"]
            annotations = metadata.pop("annotations", {})
            if remaining := {name: text for name, text in annotations.items() if not name.startswith(FROM_KPT)}:
                metadata["annotations"] = remaining
            key = f"{resource['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
            if key in by_key:
                raise ValueError(f"{path.name} has {key} twice")
            by_key[key] = resource
    return by_key


def main() -> int:
    a, b = (resources(Path(name)) for name in sys.argv[1:])
    different = [key for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]
    for key in different[:SHOWN]:
        print(f"{key} differs:\n  {a.get(key)}\n  {b.get(key)}", file=sys.stderr)
    return 1 if different or not a else 0


if __name__ == "__main__":
    sys.exit(main())
