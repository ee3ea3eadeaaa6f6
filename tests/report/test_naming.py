"""A conflict is found without opening its file: each of eight outputs names the file, the resource and the field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.in_process import krm_merge
from kptfiles import resource_list
from krm_merge.functions import process
from krm_merge.report import FORMS
from krm_merge.text import MappingNode, read, to_value
from packages.repositories import write
from resolve.packages import task_of
from resolve.serving import serve

PATH, INDEX = "internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index"
NOTE = "  annotations: {internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web-7'}\n"


def deployments(replicas: int, name: str = "web-7", note: str = "") -> str:
    """Ten of them in one file; the eighth has a name and replicas of its own."""
    documents = [(f"web-{at}", 1, "") for at in range(10)]
    documents[7] = (name, replicas, note)
    return "---\n".join(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n{note}spec:\n  replicas: {replicas}\n"
        for name, replicas, note in documents
    )


LOCAL = {"Deployment web-7": deployments(5), "Deployment shop": deployments(5, "shop", NOTE)}
"""Local's file by what the resource with the conflict is called there."""


def texts_of(place: Path, local: str) -> Iterator[tuple[str, str]]:
    """What each output has of the conflict."""
    sides = {"o/d.yaml": deployments(1), "u/d.yaml": deployments(2), "l/d.yaml": local}
    write(place, {**sides})
    reports = [word for suffix in FORMS for word in ("--report", f"r{suffix}")]
    done = krm_merge("merge", "o", "u", "l", "-o", "out", "--on-conflict", "local", *reports, cwd=place)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    yield "text", "\n".join(warnings)
    lines = (done.stdout + done.stderr).splitlines()
    yield "text, where", next(line for line in lines if line.startswith("1 conflict"))
    for suffix in FORMS:
        yield suffix, (place / f"r{suffix}").read_text(encoding="utf-8")
    stopped = krm_merge("merge", "o", "u", "l", "-o", "out2", "--on-conflict", "fail", cwd=place)
    yield "error", next(line for line in stopped.stderr.splitlines() if line.startswith("error"))
    yield "the function", function_results(sides)
    asked = krm_merge("resolve", "o", "u", "l", "--terminal", cwd=place, stdin="q\n")
    yield "resolve --terminal", asked.stdout + asked.stderr
    with serve(task_of(*({"d.yaml": text.encode()} for text in sides.values()))) as client:
        yield "the page", json.dumps(client.report())


def function_results(sides: dict[str, str]) -> str:
    """The results of the function, as a host prints them: the resource is beside the message."""
    original, upstream, local = sides.values()
    items = [
        document.replace("metadata:\n", f"metadata:\n  annotations: {{{PATH}: d.yaml, {INDEX}: '{at}'{note}}}\n")
        for at, (document, note) in enumerate(map(_without_note, local.split("---\n")))
    ]
    output = process(resource_list(items, original, upstream, onConflict="local")).output
    results: Any = to_value(output_root(output).get("results"))
    return json.dumps([result for result in results if result["severity"] == "warning"])


def _without_note(document: str) -> tuple[str, str]:
    return document.replace(NOTE, ""), f", {NOTE.split('{')[1].rstrip(chr(10))[:-1]}" if NOTE in document else ""


def output_root(output: bytes) -> MappingNode:
    root = read(output.decode())
    assert isinstance(root, MappingNode)
    return root


@pytest.mark.parametrize("name", LOCAL)
def test_every_output_names_file_resource_and_field(name: str, tmp_path: Path) -> None:
    outputs = dict(texts_of(tmp_path, LOCAL[name]))
    assert len(outputs) == 10
    kind, short = name.split()
    for output, text in outputs.items():
        assert ("d.yaml" in text, "spec.replicas" in text) == (True, True), output
        assert name in text or (kind in text and f'"name": "{short}"' in text), output
        if name != "Deployment web-7" and output != "text, where":
            assert "renamed from Deployment web-7" in text, output
        assert "web-3" not in text, output


def test_a_file_of_a_single_resource_needs_no_name(tmp_path: Path) -> None:
    for side, replicas in (("o", 1), ("u", 2), ("l", 5)):
        write(tmp_path, {f"{side}/d.yaml": deployments(replicas).split("---\n")[7]})
    done = krm_merge("merge", "o", "u", "l", "-o", "out", "--on-conflict", "local", cwd=tmp_path)
    assert "warning d.yaml: spec.replicas: upstream changed it" in done.stderr
    assert "1 conflict: d.yaml (spec.replicas)" in done.stdout + done.stderr
