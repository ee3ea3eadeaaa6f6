"""The tables of kpt's own tests: each row comes out the same, or differs as docs/differences-from-kpt.md says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from posixpath import join
from typing import Any

import pytest
import yaml

from checkout import ROOT
from krm_merge.errors import KrmMergeError
from krm_merge.packages.files.tree import Changed, File, Subtree, Tree
from krm_merge.packages.git import Version
from krm_merge.packages.update import BY_NAME, update_package
from krm_merge.usecases.merging import MergeChoices

TABLES = ROOT / "testdata" / "kpt"
PAGE = ROOT / "docs" / "differences-from-kpt.md"
MERGER = (choices := MergeChoices.of(None, "document", None)).merger_under(choices.policy)
SIDES = ("original", "upstream", "local")
NAMES = ("values", "kptfiles", "nulls", "resources", "packages")
NOTE = "internal.kpt.dev/upstream-identifier"
HEAD = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile"}
Row = dict[str, Any]
REFUSED = "refused"


@cache
def table(name: str) -> dict[str, Any]:
    return dict(yaml.load((TABLES / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader))


def rows(name: str) -> list[Any]:
    """The rows of a file, and the strategies of a row with several as rows of their own."""
    params = []
    for test, of_test in table(name).items():
        for row in of_test if test != "resources" else ():
            for result in row.get("results", [{}]):
                for strategy in result.get("strategies", [""]):
                    entry = row | result | ({"strategy": strategy} if strategy else {})
                    params.append(pytest.param(entry, id=f"{row['name']}#{strategy}" if strategy else row["name"]))
    return params


def texts(files: Mapping[str, str]) -> Tree:
    return {path: File(text.encode()) for path, text in files.items() if text}


def merge(sides: Iterable[Tree], strategy: str = "resource-merge") -> Tree | str:
    """What an update makes of local, or that it refuses it."""
    original, upstream, local = sides
    merged = BY_NAME[strategy](original, upstream, local, MERGER)
    return REFUSED if merged.results.errors else Changed(local, merged.changes)


def values(text: bytes) -> Any:
    """The documents of a file, without kpt's note on resources."""
    documents = list(yaml.load_all(text.decode(), yaml.CSafeLoader))
    for document in documents:
        metadata = document.get("metadata") if isinstance(document, dict) else None
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if isinstance(metadata, dict) and annotations and annotations.pop(NOTE, None) and not annotations:
            del metadata["annotations"]
    return documents


def contents(tree: Tree | str) -> Any:
    if isinstance(tree, str):
        return tree
    is_yaml = re.compile(r"(^|/)Kptfile$|\.yaml$").search
    return {path: values(file.data) if is_yaml(path) else file.data.decode() for path, file in tree.items()}


def comments(text: str) -> list[str]:
    return sorted(re.findall(r"(?:^|\s)#[^\n]*", text))


def judge(row: Row, result: Any, expected: Any) -> None:
    """A row that differs must say so: none differs silently, and none says so in vain."""
    if "differs" in row:
        assert result != expected, "it agrees; take the difference out of the row and of the page"
    else:
        assert result == expected


def test_the_page_names_what_differs() -> None:
    everything = [param.values[0] for name in NAMES for param in rows(name)]
    differing = {(row["name"], row["differs"]) for row in everything if "differs" in row}
    section = PAGE.read_text(encoding="utf-8").partition("## kpt's own tables")[2]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    assert {(name, reason) for names, reason, _ in cells[2:] for name in names.split("; ")} == differing
    assert f"{len(everything)} of their rows" in section


# ---- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [*rows("values"), *rows("kptfiles"), *rows("nulls")])
def test_a_document_merges_as_in_kpt(row: Row) -> None:
    is_kptfile = "kind: Kptfile" in row["local"]
    place = ("sub/Kptfile" if row.get("nested") else "Kptfile") if is_kptfile else "file.yaml"
    around = {}
    if row.get("preserve"):
        around = {"Kptfile": yaml.safe_dump(HEAD | {"upstream": {"preserveExplicitNull": True}})}
    merged = merge(texts({**around, place: row[side]}) for side in SIDES)
    if isinstance(merged, str):
        judge(row, merged, "")
        return
    text = merged[place].data if place in merged else b""
    expected = row["expected"].encode()
    judge(row, (values(text), comments(text.decode())), (values(expected), comments(expected.decode())))


# ---- packages of resources -------------------------------------------------------------------------------------------


def named(value: Any) -> Any:
    """Lists as mappings, by the name of their elements."""
    if isinstance(value, list):
        keys = [element.get("name", at) if isinstance(element, dict) else at for at, element in enumerate(value)]
        return {key: named(element) for key, element in zip(keys, value, strict=True)}
    return {key: named(element) for key, element in value.items()} if isinstance(value, dict) else value


def only(value: Any, fields: Any) -> Any:
    """Of a value what `fields` has."""
    if not isinstance(fields, dict) or not isinstance(value, dict):
        return value
    if 0 in fields:
        value = dict(enumerate(value.values()))
    return {key: only(value.get(key), field) for key, field in fields.items()}


@pytest.mark.parametrize("row", rows("resources"))
def test_resources_merge_as_in_kpt(row: Row) -> None:
    sides = row
    if "same" in row:
        sides = next(other for other in chain(*table("resources").values()) if other["name"] == row["same"])
    around = {"definition.yaml": sides["definition"]} if "definition" in sides else {}
    merged = merge(texts({**around, **sides[side]}) for side in SIDES)
    if "error" in row:
        judge(row, merged == REFUSED, True)
    elif "fields" in row:
        resources = [resource for file in contents(merged).values() for resource in file]
        result = {resource["metadata"]["name"]: named(resource) for resource in resources}
        judge(row, only(result, row["fields"]), row["fields"])
    else:
        judge(row, contents(merged), contents(texts(row["expected"])))


# ---- updates of packages ---------------------------------------------------------------------------------------------


def files(package: Row, folder: str = "", name: str = "base") -> dict[str, str]:
    """The files of a package as data."""
    expanded: dict[str, str] = {}
    for entry, value in package.items():
        path = join(folder, entry)
        if entry.endswith("/"):
            expanded |= files(value, path, entry.rstrip("/"))
        elif entry == "Kptfile":
            expanded[path] = yaml.safe_dump(kptfile(value, name), sort_keys=False)
        elif isinstance(value, dict):
            expanded[path] = with_fields(table("packages")["resources"][entry], value)
        else:
            expanded[path] = value
    return expanded


def kptfile(parts: Mapping[str, Any], name: str) -> dict[str, Any]:
    value: dict[str, Any] = HEAD | {"metadata": {"name": name}}
    if "upstream" in parts:
        *git, strategy = parts["upstream"]
        value["upstream"] = {"type": "git", "git": dict(zip(("repo", "directory", "ref"), git, strict=True))}
        value["upstream"] |= {"updateStrategy": strategy} if strategy else {}
    if "lock" in parts:
        *git, number = parts["lock"]
        commit = commit_id(number) if isinstance(number, int) else number
        fields = zip(("repo", "directory", "ref", "commit"), (*git, commit), strict=True)
        value["upstreamLock"] = {"type": "git", "git": dict(fields)}
    if "mutators" in parts:
        value["pipeline"] = {"mutators": [{"image": image} for image in parts["mutators"]]}
    status = {field: parts[field] for field in ("conditions", "renderStatus") if field in parts}
    return value | ({"status": status} if status else {})


def with_fields(text: str, fields: Mapping[str, Any]) -> str:
    resource = yaml.safe_load(text)
    for path, value in fields.items():
        *steps, last = path.split(".")
        holder = resource
        for step in steps:
            holder = holder.setdefault(step, {})
        holder[last] = value
    return yaml.safe_dump(resource, sort_keys=False)


def commit_id(number: int) -> str:
    return f"{number + 1:040x}"


@pytest.mark.parametrize("row", [param for param in rows("packages") if "repositories" not in param.values[0]])
def test_a_strategy_updates_as_in_kpt(row: Row) -> None:
    folder = "inside/" if row.get("nested") else ""
    merged = merge((texts(files(row[side], folder)) for side in SIDES), row["strategy"])
    judge(row, contents(merged), REFUSED if "error" in row else contents(texts(files(row["expected"], folder))))


@dataclass(frozen=True)
class Repositories:
    """Repositories whose commits are packages; `latest` is the newest commit of all that exists yet."""

    commits: Mapping[str, list[Row]]
    latest: int | None = None

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        commits = self.commits[repository][: self.latest]
        tagged = [number for number, commit in enumerate(commits) if commit.get("tag") == ref]
        return Version(ref, commit_id(tagged[0] if tagged else len(commits) - 1))

    def fetch(self, repository: str, commits: object) -> None:
        """There is nothing to prepare."""

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        tree = texts(files(self.commits[repository][int(commit, 16) - 1]["package"]))
        return Subtree(tree, directory.strip("/")) if directory.strip("/") else tree


def fetched(repositories: Repositories, upstream: list[str], ours: Row | None = None) -> Row:
    """A package as `kpt pkg get` writes it, with those inside that name an upstream only."""
    repository = upstream[0]
    package: Row = {"Kptfile": {}, **repositories.commits[repository][0]["package"]}
    number = int(repositories.resolve(*upstream[:3]).commit, 16) - 1
    parts = {**package["Kptfile"], **(ours or {}), "upstream": upstream, "lock": [*upstream[:3], number]}
    return {**with_fetched(repositories, package), "Kptfile": parts}


def with_fetched(repositories: Repositories, package: Row) -> Row:
    inside = {}
    for name, value in package.items():
        if name.endswith("/"):
            parts = value.get("Kptfile", {})
            is_fetched = "upstream" in parts and "lock" not in parts
            inside[name] = (
                fetched(repositories, parts["upstream"], parts) if is_fetched else with_fetched(repositories, value)
            )
    return package | inside


@pytest.mark.parametrize("row", [param for param in rows("packages") if "repositories" in param.values[0]])
def test_packages_inside_update_as_in_kpt(row: Row) -> None:
    strategy = row.get("strategy")
    at_first = fetched(Repositories(row["repositories"], 1), ["upstream", "/", "master", "resource-merge"])
    package = row.get("local", at_first)
    local = texts(files(package | {"Kptfile": at_first["Kptfile"] | package.get("Kptfile", {})}))
    repositories = Repositories(row["repositories"])
    try:
        done = update_package(local, repositories, MERGER, strategy=strategy, allowed=row["repositories"])
        result = REFUSED if done.results.errors else contents(Changed(local, done.changes))
    except KrmMergeError:
        result = REFUSED
    if "error" in row:
        judge(row, result, REFUSED)
        return
    expected = contents(texts(files(row["expected"])))
    if strategy:
        expected["Kptfile"][0]["upstream"]["updateStrategy"] = strategy
    judge(row, result, expected)
