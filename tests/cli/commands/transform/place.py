"""A package, plugins beside it, and `krm-merge transform` on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from checkout import ROOT
from krm_merge.cli.app import main

TABLES: Final = yaml.safe_load((ROOT / "testdata" / "transform" / "crane.yaml").read_text(encoding="utf-8"))
Value = dict[str, Any]
WEB = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: abc}
spec:
  replicas: 1 # few
  template:
    spec:
      containers:
      - name: web # the server
        image: 'nginx:1.25'
        args: [-a,   "-b"]
"""
DNS = """\
apiVersion: v1
kind: Service
metadata:
  name: dns
spec:
  ports:
  - port: 53 # zones
"""
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data # of the database\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: pkg, uid: abc}\n"
VALUES = "# for a chart\nreplicas:   3\n"
FILES = {"web.yaml": WEB, "names/dns.yml": DNS, "Kptfile": KPTFILE, "values.yaml": VALUES, "notes.txt": "kind: [\n"}
REPLICAS = {"op": "replace", "path": "/spec/replicas", "value": 3}
IMAGE = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:1.27"}
STRIPPED = WEB.replace(", uid: abc", "")


def replicas(number: int) -> Value:
    return {**REPLICAS, "value": number}


class Place:
    """A package, a directory of plugins, and the program beside them."""

    def __init__(self, directory: Path, output: pytest.CaptureFixture[str]) -> None:
        self.directory, self.output = directory, output
        self.write(**{f"pkg/{name}": text for name, text in FILES.items()})
        (directory / "plugins").mkdir()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def files(self, folder: str) -> dict[str, str]:
        """All that is in a folder."""
        root = self.directory / folder
        return {str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}

    def plugin(self, file: str, answers: Mapping[str, Value], /, *lines: str, **meta: Any) -> None:
        """A program that answers by kind; the lines come first."""
        metadata = json.dumps({"requestVersion": ["v1"], "responseVersion": ["v1"], **meta})
        cases = [f"""*'"kind": "{kind}"'*) echo '{json.dumps(answer)}' ;;""" for kind, answer in answers.items()]
        text = ["#!/bin/sh", *lines, "request=$(cat)", 'case "$request" in', f"'{{}}') echo '{metadata}' ;;"]
        self.program(file, *text, *cases, "*) echo '{}' ;;", "esac")

    def program(self, file: str, *lines: str) -> None:
        """A program in the directory of plugins."""
        self.write(**{f"plugins/{file}": "\n".join([*lines, ""])})
        (self.directory / "plugins" / file).chmod(0o755)

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """What it writes to stdout and stderr; its exit code must be this one."""
        with chdir(self.directory):
            try:
                done: object = main(["transform", *arguments])
            except SystemExit as stop:
                done = stop.code
        out, err = self.output.readouterr()
        assert done == code, (out, err)
        assert not code or not out or "json" in arguments
        return out, err

    def transform(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """With the plugins."""
        return self.run("pkg", "--plugin-dir", "plugins", *arguments, code=code)
