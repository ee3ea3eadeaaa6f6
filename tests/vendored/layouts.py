"""Layouts of files, as people make them."""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from vendored.versions import stream

Layout = Callable[[str, str, str], str]
LAYOUTS: dict[str, Layout] = {
    "kind-name": lambda kind, name, app: f"{kind.lower()}-{name}.yaml",
    "folders of apps": lambda kind, name, app: f"{app}/{kind.lower()}.yaml",
    "files of apps": lambda kind, name, app: f"{app}.yml",
    "files of kinds": lambda kind, name, app: f"kinds/{kind.lower()}s.yaml",
    "one file": lambda kind, name, app: "all.yaml",
    "without a system": lambda kind, name, app: f"{len(name) * len(kind) % 5}.yaml",
}


def laid_out(texts: list[str], layout: Layout) -> dict[str, str]:
    """Documents in the files that a layout gives them."""
    files: dict[str, list[str]] = {}
    for text in texts:
        kind, name = (re.search(rf"^{field}: (\S+)$", text, re.MULTILINE) for field in ("kind", "  name"))
        assert kind
        assert name
        app = re.match(r"app-\d+", name[1])
        files.setdefault(layout(kind[1], name[1], app[0] if app else "base"), []).append(text)
    return {path: stream(*documents) for path, documents in files.items()}


def objects(files: dict[str, str]) -> list[object]:
    """The resources in files, in an order of their own."""
    values = [value for text in files.values() for value in yaml.safe_load_all(text) if value is not None]
    return sorted(values, key=lambda value: (value["kind"], value["metadata"]["name"]))
