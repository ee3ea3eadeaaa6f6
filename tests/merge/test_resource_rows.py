"""The tables of testdata/resources: how the resources of a package merge, row by row."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

import kptfiles
from checkout import ROOT
from findings import Finding, by_text, cut_to_expected
from kptfiles import PLACE, Case
from krm_merge.functions import process

TABLES = ROOT / "testdata" / "resources"
KPTFILE = kptfiles.kptfile("")
FILE = "internal.config.kubernetes.io/path"
TWIN = "config.kubernetes.io/path"
IDENTIFIER = "internal.kpt.dev/upstream-identifier"
OPTIONS = ("onConflict", "rules", "listKeys")

CASES: list[Case] = [case for path in sorted(TABLES.glob("*.yaml")) for case in yaml.safe_load(path.read_text())]
written_cases = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.get("exit")], ids=lambda case: case["name"]
)


def test_names_of_cases_are_unique() -> None:
    names = [case["name"] for case in CASES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_row(case: Case) -> None:
    done = process(request(case))
    merged = items(done.output)
    text = "---\n".join(merged)
    assert list(map(values, merged)) == list(map(values, documents(case["expected"]))), text
    if case.get("exact"):
        assert list(map(without_place, merged)) == list(map(without_place, documents(case["expected"])))
    places = {f"{kind}/{name}": places_of(item) for item in merged for kind, name in [identity(item)[::2]]}
    for name, place in case.get("places", {}).items():
        assert places[name] == [place, place], f"{name} is at {places[name]}"
    positions = [tuple(annotations_of(item)[key] for key in PLACE) for item in merged]
    assert len(set(positions)) == len(positions), f"two items have one place: {positions}"
    assert all(position[:2] == position[2:] for position in positions), positions
    reported = results(done.output)
    serious = [finding for finding in reported if finding["severity"] != "info"]
    assert cut_to_expected(serious, case.get("results", [])) == by_text(case.get("results", [])), messages(done.output)
    infos = {finding["rule"] for finding in reported if finding["severity"] == "info"}
    assert set(case.get("infos", [])) <= infos
    assert done.exit_code == case.get("exit", 0)
    if done.exit_code == 0:
        again = process(request(case, local=merged))
        assert items(again.output) == merged, "a second run changes bytes"
        assert again.exit_code == 0


@written_cases
def test_what_only_upstream_changed_is_as_upstream_has_it(case: Case) -> None:
    local = locate(documents(case["original"]))
    done = process(request(case, local=local))
    assert by_identity(items(done.output)) == by_identity(documents(case["upstream"])), messages(done.output)
    assert done.exit_code == 0


@written_cases
def test_what_only_local_changed_keeps_its_bytes(case: Case) -> None:
    local = locate(documents(case["local"]))
    done = process(request({**case, "upstream": case["original"]}, local=local))
    assert items(done.output) == local, messages(done.output)
    assert done.exit_code == 0


def request(case: Case, local: list[str] | None = None) -> bytes:
    """The ResourceList of a case; `local` replaces the items beside the Kptfile."""
    original, upstream = ("---\n".join([KPTFILE, *documents(case[side])]) for side in ("original", "upstream"))
    local_items = locate(documents(case["local"])) if local is None else local
    kptfile = kptfiles.kptfile("", kptfiles.with_place(kptfiles.NAME))
    options = {name: json.dumps(case[name]) for name in OPTIONS if name in case}
    return kptfiles.resource_list([kptfile, *local_items], original, upstream, **options)


def documents(text: str | None) -> list[str]:
    """The documents of a text, each ending in a line end."""
    return [part for part in re.split(r"(?m)^---\n", text or "") if part.strip()]


def locate(texts: list[str]) -> list[str]:
    """The documents as the host hands them over: each says its file and its place there."""
    last_indexes: dict[str, int] = {}
    done = []
    for text in texts:
        path = annotations_of(text).get(FILE) or "resources.yaml"
        index = last_indexes[path] = last_indexes.get(path, -1) + 1
        place = {key: path if key.endswith("path") else f"'{index}'" for key in PLACE}
        missing = {key: value for key, value in place.items() if key not in annotations_of(text)}
        done.append(annotate(text, missing))
    return done


def annotate(text: str, place: dict[str, str]) -> str:
    """The document with these annotations besides."""
    if text.startswith("{"):
        pairs = ", ".join(f'"{key}": "{value.strip(chr(39))}"' for key, value in place.items())
        return re.sub(r'("metadata":\s*\{)', lambda met: f'{met[1]}"annotations": {{{pairs}}}, ', text, count=1)
    lines = text.splitlines(keepends=True)
    if not any(line.startswith("metadata:") for line in lines):
        return text + "metadata:\n" + kptfiles.indent(kptfiles.with_place("", place), 2)
    first = next(number for number, line in enumerate(lines) if re.match(r"metadata:\s*(#.*)?$", line)) + 1
    last = next((n for n in range(first, len(lines)) if not lines[n].startswith("  ")), len(lines))
    metadata = "".join(line[2:] for line in lines[first:last])
    return "".join(lines[:first]) + kptfiles.indent(kptfiles.with_place(metadata, place), 2) + "".join(lines[last:])


def annotations_of(text: str) -> dict[str, str]:
    metadata = kptfiles.field(yaml.compose(text, Loader=yaml.SafeLoader), "metadata")
    annotations = kptfiles.field(metadata, "annotations")
    return (
        {key.value: value.value for key, value in annotations.value}
        if isinstance(annotations, yaml.MappingNode)
        else {}
    )


def places_of(item: str) -> list[str | None]:
    """The file of an item by both annotations that tell it."""
    return [annotations_of(item).get(key) for key in (FILE, TWIN)]


def items(output: bytes) -> list[str]:
    """The items of a ResourceList without the Kptfile, each as the text of a document."""
    lines = output.decode().split("\n")
    line_groups: list[list[str]] = []
    for line in lines[lines.index("items:") + 1 :]:
        if line.startswith("- "):
            line_groups.append([line[2:]])
        elif line.startswith("  ") or not line.strip():
            line_groups[-1].append(line[2:])
        else:
            break
    texts = ["\n".join(each).rstrip("\n") + "\n" for each in line_groups]
    return [text for text in texts if identity(text)[0] != "Kptfile"]


def identity(document: str) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    root = yaml.compose(document, Loader=yaml.SafeLoader)
    metadata = kptfiles.field(root, "metadata")
    kind, namespace, name = (
        getattr(node, "value", "")
        for node in (
            kptfiles.field(root, "kind"),
            kptfiles.field(metadata, "namespace"),
            kptfiles.field(metadata, "name"),
        )
    )
    return kind, namespace, name


def values(document: str) -> Any:
    """The canonical form of a document without the annotations of its place."""
    data = kptfiles.canonical(yaml.compose(document, Loader=yaml.SafeLoader))
    metadata = data.get("str metadata", {})
    annotations = metadata.get("str annotations")
    if isinstance(annotations, dict):
        others = {key: value for key, value in annotations.items() if key.removeprefix("str ") not in PLACE}
        if others or not annotations:
            metadata["str annotations"] = others
        else:
            del metadata["str annotations"]
    if not metadata:
        data.pop("str metadata", None)
    return data


def by_identity(texts: list[str]) -> list[tuple[tuple[str, str, str], Any]]:
    """The values of each document, without what is no value of a resource."""
    entries = []
    for text in texts:
        data = values(text)
        annotations = data.get("str metadata", {}).get("str annotations")
        if isinstance(annotations, dict) and annotations.pop(f"str {IDENTIFIER}", None) is not None and not annotations:
            del data["str metadata"]["str annotations"]
        entries.append((identity(text), data))
    return sorted(entries, key=lambda each: each[0])


def without_place(document: str) -> str:
    """The text of a document without the annotations of its place."""
    lines = [line for line in document.splitlines() if not re.match(rf"\s+({'|'.join(map(re.escape, PLACE))}):", line)]
    lines_kept = []
    for number, line in enumerate(lines):
        depth = kptfiles.indent_of(line)
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line.strip() == "annotations:" and kptfiles.indent_of(below) <= depth:
            continue
        lines_kept.append(line)
    return "\n".join(lines_kept) + "\n"


def results(output: bytes) -> list[Finding]:
    """As `kptfiles.results`, of an output whose items a Python object cannot hold, too."""
    return kptfiles.results(results_text(output))


def results_text(output: bytes) -> bytes:
    _, start, rest = output.partition(b"\nresults:\n")
    return start + rest


def messages(output: bytes) -> str:
    results = (yaml.safe_load(results_text(output)) or {}).get("results") or []
    return "\n".join(f"{each.get('severity')}: {each.get('message')}" for each in results)
