"""The functionConfig of MergePackage: the way without pydantic reads the same as the models; errors name the field."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.functions import merge_sides as config
from krm_merge.functions import process
from krm_merge.functions.merge_sides import MergeSettings, read_settings
from krm_merge.krm import ResourceList, parse_path
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.package.merger import ListKeys
from krm_merge.text.reading.nodes import MappingNode, Scalar, SequenceNode, key_text, to_value

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
VALUES = [
    "",
    "null",
    "~",
    "upstream",
    "local",
    "fail",
    "'local'",
    "Local",
    "document",
    "smart",
    "!!str smart",
    "true",
    "yes",
    "5",
    "'5'",
    "!!str 5",
    "1.5",
    "2001-01-01",
    "[]",
    "{}",
    "[{}]",
    "[{a: b}, {c: [d]}]",
    "[{a: b}, text]",
    "[null]",
    "[[]]",
    "{a: b}",
    "{1: 2}",
    "|\n      kind: X\n      a: b",
    '"kind: X\\n"',
    "fn.kpt.dev/v1alpha1",
    "fn.kpt.dev/v1",
    "v1",
    "MergePackage",
    "&x text",
    "[&y {a: b}, *y]",
]
LIKELY = {
    "apiVersion": ["fn.kpt.dev/v1alpha1"],
    "kind": ["MergePackage"],
    "metadata": ["{name: x}"],
    "original": ["|\n      kind: X\n      a: b", "[{a: b}, {c: [d]}]", "text"],
    "upstream": ["|\n      kind: X\n      a: b", "[{a: b}, {c: [d]}]", "text"],
    "onConflict": ["upstream", "local", "fail"],
    "functionIdentity": ["document", "smart"],
    "function": ["MergePackage"],
    "rules": ["[]", "[{kind: A, path: a.b}]"],
    "listKeys": ["[]"],
    "onConflct": ["local"],
    "1": ["2"],
}
KEPT = ("apiVersion", "kind")


@st.composite
def fields(draw: st.DrawFn) -> dict[str, str]:
    """Fields of a functionConfig, most of them as they should be."""
    chosen = {}
    for name, likely in LIKELY.items():
        if draw(st.integers(0, 9)) < (9 if name in KEPT else 4 if name in ("1", "onConflct", "rules") else 6):
            chosen[name] = draw(st.sampled_from(likely * 8 + VALUES if draw(st.booleans()) else likely))
    return dict(draw(st.permutations(list(chosen.items()))))


def read_list(text: str) -> ResourceList:
    return ResourceList.parse(f"{HEAD}functionConfig:\n{text}".encode())


def merge_package(chosen: dict[str, str]) -> ResourceList:
    return read_list("".join(f"  {name}: {value}\n" for name, value in chosen.items()) or "  a: b\n")


def config_map(chosen: dict[str, str]) -> ResourceList:
    lines = "".join(f"    {name}: {value}\n" for name, value in chosen.items())
    return read_list("  apiVersion: v1\n  kind: ConfigMap\n  data:\n" + lines)


def by_the_models(given_list: ResourceList) -> tuple[MergeSettings, list[str]]:
    """The settings that the models read, and the errors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "_is_plain", lambda *_: False)
        settings = read_settings(given_list)
    return settings, [result.message for result in given_list.results.errors]


def assert_read_alike(given_list: ResourceList) -> None:
    quick = read_settings(given_list)
    errors = [result.message for result in given_list.results.errors]
    again = ResourceList(given_list._parts)
    again._function_config = given_list._function_config
    settings, expected = by_the_models(again)
    assert errors == expected
    assert quick == settings


@given(fields())
def test_the_quick_way_reads_as_the_models_do(chosen: dict[str, str]) -> None:
    assert_read_alike(merge_package(chosen))


@given(fields())
def test_the_quick_way_reads_a_config_map_as_the_models_do(chosen: dict[str, str]) -> None:
    for name in KEPT:
        chosen.pop(name, None)
    assert_read_alike(config_map(chosen))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", LIKELY)
def test_every_value_in_every_field(name: str, value: str) -> None:
    chosen = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage"} | {name: value}
    assert_read_alike(merge_package(chosen))
    assert_read_alike(config_map({name: value}))


def read(text: str) -> tuple[MergeSettings, dict[str | None, str]]:
    """The settings of a MergePackage with these fields, and the errors by field."""
    given_list = read_list("  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n" + text)
    settings = read_settings(given_list)
    return settings, {result.path: result.message for result in given_list.results.errors}


def test_all_fields() -> None:
    settings, errors = read(
        "  metadata: {name: x, annotations: {a: b}}\n"
        "  original: 'kind: A'\n  upstream: [{kind: A}]\n  onConflict: fail\n  functionIdentity: smart\n"
        "  rules:\n"
        "  - {group: apps, kind: Deployment, namespace: n, name: web, path: 'spec.a[name=b]', onConflict: local}\n"
        "  - {group: '', onDelete: upstream}\n"
        "  listKeys:\n  - {apiVersion: e.com/v1, kind: W, path: spec.parts, keys: [name, side]}\n"
    )
    assert errors == {}
    assert isinstance(settings.original, Scalar)
    assert isinstance(settings.upstream, SequenceNode)
    assert settings.smart
    rules = (
        Rule("apps", "Deployment", "n", "web", parse_path("spec.a[name=b]"), "local"),
        Rule(group="", on_delete="upstream"),
    )
    assert settings.policy == Policy("fail", rules)
    assert settings.list_keys == (ListKeys("e.com/v1", "W", parse_path("spec.parts"), ("name", "side")),)


def test_no_function_config() -> None:
    assert read_settings(ResourceList.parse(HEAD.encode())) == MergeSettings()


@pytest.mark.parametrize("data", ["", "  data:\n", "  data: x\n", "  data: []\n", "  data: {}\n"])
def test_a_config_map_without_data(data: str) -> None:
    given_list = read_list("  apiVersion: v1\n  kind: ConfigMap\n" + data)
    assert read_settings(given_list) == MergeSettings()
    assert not given_list.results.errors


@pytest.mark.parametrize("null", ["", "null", "~"])
def test_a_package_that_is_null_is_none(null: str) -> None:
    settings, errors = read(f"  original: {null}\n  upstream: {null}\n")
    assert errors == {}
    assert (settings.original, settings.upstream) == (None, None)


WRONG = [
    ("  onConflict: 3\n", "onConflict", "'upstream', 'local' or 'fail'"),
    ("  onConflict: never\n", "onConflict", "'never'"),
    ("  onConflict:\n", "onConflict", "null"),
    ("  functionIdentity: clever\n", "functionIdentity", "'document' or 'smart'"),
    ("  original: 5\n", "original", "is 5"),
    ("  original: [text]\n", "original[0]", "'text'"),
    ("  upstream: {a: b}\n", "upstream", "a map"),
    ("  metadata: x\n", "metadata", "'x'"),
    ("  rules: {}\n", "rules", "a mapping; a list is expected"),
    ("  rules: [x]\n", "rules[0]", "'x'"),
    ("  rules: [{}, {kind: 5}]\n", "rules[1].kind", "is 5"),
    ("  rules: [{path: a..b}]\n", "rules[0].path", "column 2"),
    ("  rules: [{path: ''}]\n", "rules[0].path", "empty"),
    ("  rules: [{onDelete: fail}]\n", "rules[0].onDelete", "'upstream' or 'local'"),
    ("  rules: [{pth: a}]\n", "rules[0].pth", "is an unknown field"),
    ("  listKeys: [{apiVersion: v1, kind: A, path: a, keys: []}]\n", "listKeys[0].keys", "at least one"),
    ("  listKeys: [{apiVersion: v1, kind: A, path: a}]\n", "listKeys[0].keys", "is missing"),
    ("  onConflct: local\n", "onConflct", "is an unknown field"),
]


@pytest.mark.parametrize(("text", "path", "problem"), WRONG)
def test_errors_name_the_field(text: str, path: str, problem: str) -> None:
    _, errors = read(text)
    assert path in errors
    assert problem in errors[path]
    assert errors[path].startswith(f"functionConfig: {path}")
    assert "\n" not in errors[path]


def test_all_errors_at_once_and_with_their_file() -> None:
    given_list = read_list(
        "  apiVersion: fn.kpt.dev/v1\n  kind: MergePackage\n"
        "  metadata: {annotations: {internal.config.kubernetes.io/path: dir/merge.yaml}}\n"
        "  onConflict: x\n  other: y\n"
    )
    read_settings(given_list)
    assert {result.path for result in given_list.results.errors} == {"apiVersion", "onConflict", "other"}
    assert {result.file for result in given_list.results.errors} == {"dir/merge.yaml"}


@pytest.mark.parametrize("metadata", ["{}", "{annotations: []}", "{annotations: {a: b}}"])
def test_errors_of_a_config_without_a_file(metadata: str) -> None:
    given_list = read_list(f"  apiVersion: x\n  kind: MergePackage\n  metadata: {metadata}\n")
    read_settings(given_list)
    assert [result.file for result in given_list.results.errors] == [None]


def test_errors_of_a_config_map_name_data() -> None:
    given_list = config_map({"onConflict": "x", "rules": "'a'", "original": "[{a: b}]"})
    read_settings(given_list)
    assert {result.path for result in given_list.results.errors} == {"data.onConflict", "data.rules", "data.original"}


def test_the_models_accept_what_the_table_of_likely_values_holds() -> None:
    given_list = merge_package(
        {name: values[0] for name, values in LIKELY.items() if name not in ("1", "onConflct", "function")}
    )
    settings, errors = by_the_models(given_list)
    assert errors == []
    assert isinstance(given_list.function_config, MappingNode)
    assert key_text(given_list.function_config.get("kind")) == "MergePackage"  # type: ignore[arg-type]
    assert settings.original is not None
    values: Any = yaml.safe_load(key_text(settings.original))
    assert values == {"kind": "X", "a": "b"}
    assert to_value(settings.original) == "kind: X\na: b\n"


@pytest.mark.parametrize(
    ("metadata", "field"), [("text", "metadata"), ("[a]", "metadata"), ("{annotations: [a]}", "metadata.annotations")]
)
def test_an_object_whose_metadata_is_no_mapping_is_refused(metadata: str, field: str) -> None:
    document = "apiVersion: v1\nkind: ConfigMap\nmetadata: %s\n"
    sides = {"original": document % metadata, "upstream": document % "{name: a}"}
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "metadata": {"name": "m"}, **sides}
    outcome = process(yaml.safe_dump({**head, "items": [item], "functionConfig": config}).encode())
    assert outcome.exit_code == 1
    messages = [result["message"] for result in yaml.safe_load(outcome.output)["results"]]
    assert f"functionConfig: original: document 1 has no mapping in {field}" in messages
