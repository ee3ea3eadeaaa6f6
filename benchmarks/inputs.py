"""Generates the inputs of the benchmarks, the same bytes at every run: `python -m benchmarks.inputs DIRECTORY`.

The ResourceLists look as `kpt fn eval` hands them to a function: lists at the column of their key, scalars on one line
or in block style, annotations for path, index and id on every item, the functionConfig last.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.resources import config_map, custom_resource_definition, dashboard, deployment, kptfile_item, service

KPTFILE_FILE = "kptfile.yaml"
LARGE_FILE = "package-10mb.yaml"
JSON_FILE = "package-1mb.json"

LARGE_SIZE = 10_000_000
JSON_SIZE = 1_000_000

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"

ORIGINAL = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
info:
  description: The shop's front end
pipeline:
  mutators:
  # Everything lives in one namespace.
  - image: gcr.io/kpt-fn/set-namespace:v0.4.1
    configMap:
      namespace: example
  - image: gcr.io/kpt-fn/set-labels:v0.2.0
    configMap:
      app: shop
      tier: front
  - image: gcr.io/kpt-fn/apply-setters:v0.2.0
    configPath: setters.yaml
  validators:
  - image: gcr.io/kpt-fn/kubeval:v0.3.0
    configMap:
      strict: 'true'
"""

UPSTREAM = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
info:
  description: The shop's front end
pipeline:
  mutators:
  # Everything lives in one namespace.
  - image: gcr.io/kpt-fn/set-namespace:v0.4.2
    configMap:
      namespace: example
  - image: gcr.io/kpt-fn/set-labels:v0.2.1
    configMap:
      app: shop
      tier: web
      owner: platform
  - image: gcr.io/kpt-fn/apply-setters:v0.2.1
    configPath: setters.yaml
  - image: gcr.io/kpt-fn/set-annotations:v0.1.5 # who gets the alarms
    configMap:
      contact: shop@example.com
  validators:
  - image: gcr.io/kpt-fn/kubeconform:v0.1.1
    configMap:
      strict: 'true'
"""

LOCAL = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
{annotations}
upstream:
  type: git
  git:
    repo: https://git.example.com/packages
    directory: shop
    ref: v1.4.0
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://git.example.com/packages
    directory: shop
    ref: v1.4.0
    commit: 4d2b2a9c41f8f0f6b3c7e9d85a1f0e6b7c3d2a19
info:
  description: The shop's front end
pipeline:
  mutators:
  # Everything lives in one namespace.
  - image: gcr.io/kpt-fn/set-namespace:v0.4.1
    configMap:
      namespace: shop-production # ours
  - image: gcr.io/kpt-fn/set-labels:v0.2.0
    configMap:
      app: shop
      tier: storefront
  # Quotas come from the platform team; ask them first.
  - image: gcr.io/kpt-fn/starlark:v0.5.0
    configPath: quotas.yaml
  - image: gcr.io/kpt-fn/apply-setters:v0.2.0
    configPath: setters.yaml
  validators:
  - image: gcr.io/kpt-fn/kubeval:v0.3.0
    configMap:
      strict: 'true'
"""


def function_config() -> str:
    """The functionConfig: upstream changed five functions, one change meets a local one."""
    return (
        "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n  metadata:\n    name: merge\n"
        f"  original: |\n{_indent(ORIGINAL)}  upstream: |\n{_indent(UPSTREAM)}"
    )


def resource_list(size: int) -> Iterator[str]:
    """A ResourceList of a Kptfile and as many other items as make `size` bytes; 0 for the Kptfile alone."""
    end = function_config()
    written = len(HEAD) + len(end)
    for number, text in enumerate(_items()):
        if number == 0:
            yield HEAD
        elif written + len(text) > size:
            break
        yield text
        written += len(text)
    yield end


def _items() -> Iterator[str]:
    yield kptfile_item(LOCAL)
    number, app = 1, 0
    while True:
        makers = [deployment, service, config_map]
        if app % 8 == 3:
            makers.append(dashboard)
        if app % 12 == 5:
            makers.append(custom_resource_definition)
        for maker in makers:
            yield maker(app, number)
            number += 1
        app += 1


def _indent(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def _write_json(path: Path, size: int) -> None:
    """A ResourceList as pretty-printed JSON of at most `size` bytes."""
    import yaml

    # The indented JSON of these items is about a third larger than their YAML.
    document = yaml.load("".join(resource_list(size)), Loader=yaml.CSafeLoader)
    document = {key: document[key] for key in ("apiVersion", "kind", "functionConfig", "items")}
    while len(text := json.dumps(document, indent=2)) > size:
        keep = len(document["items"]) * size // len(text)
        del document["items"][keep:]
    path.write_text(text + "\n", encoding="utf-8")


def write_inputs(directory: Path) -> None:
    """Writes all inputs into a directory."""
    for name, size in ((KPTFILE_FILE, 0), (LARGE_FILE, LARGE_SIZE)):
        with (directory / name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(resource_list(size))
    _write_json(directory / JSON_FILE, JSON_SIZE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the inputs of the benchmarks.")
    parser.add_argument("directory", type=Path, help="an existing directory")
    write_inputs(parser.parse_args().directory)


if __name__ == "__main__":
    main()
