"""The functionConfig of PatchResources as a ConfigMap, errors, and many items."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from functions.patch_resources.patched import DEPLOYMENT, ENV, HIT, NAMED_PATCH, Done, apply_patches, config_of, refuse
from functions.streams import HEAD, OTHER, SERVICE, Value, as_item, config_map, many
from krm_merge.functions import process
from krm_merge.krm import program

# ---- errors ----------------------------------------------------------------------------------------------------------


def test_errors_of_all_resources_at_once() -> None:
    done = Done(
        [DEPLOYMENT, SERVICE, OTHER],
        config_of(
            {"target": {"kind": "ConfigMap"}, "patch": HIT},
            {"target": {}, "patch": "- {op: remove, path: /spec/none}"},
            {"target": {"kind": "Service"}, "patch": "spec: {ports: [{name: tcp}]}"},
        ),
    )
    assert done.exit_code == 1
    errors = [result for result in done.results if result["severity"] == "error"]
    assert [error["file"]["path"] for error in errors] == ["apps/web.yaml", "dns.yaml", "other.yaml"]
    assert all(": patches[1]: operation 1, " in error["message"] for error in errors)
    assert "(and 2 more)" in done.message


def test_a_target_that_cannot_be_read() -> None:
    broken = OTHER.replace("data:", "data: 1\ndata:")
    (error,) = refuse([DEPLOYMENT, broken], {"target": {}, "patch": HIT})
    assert error.startswith("other.yaml: ")
    assert "the key data appears twice" in error


def test_what_no_patch_is_for_passes_as_it_is() -> None:
    broken = OTHER.replace("data:", "data: 1\ndata:")
    done = process(
        (
            HEAD
            + as_item(broken)
            + as_item(SERVICE)
            + f"functionConfig: {json.dumps(config_of({'target': {'kind': 'Service'}, 'patch': HIT}))}\n"
        ).encode()
    )
    assert done.exit_code == 0, done.message
    assert done.output.decode().startswith(HEAD + as_item(broken))
    assert b"hit: here" in done.output


def test_no_patches_are_an_error_in_our_words() -> None:
    assert refuse([DEPLOYMENT]) == ["functionConfig: patches is empty; at least one element is expected"]


# ---- the functionConfig as a ConfigMap -------------------------------------------------------------------------------


def test_a_config_map() -> None:
    done = Done([DEPLOYMENT], config_map("PatchResources", patch=NAMED_PATCH + "spec: {replicas: 7}\n"))
    assert done.exit_code == 0
    assert done.items[0]["spec"]["replicas"] == 7


def test_the_modes_in_a_config_map() -> None:
    patch = "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec: {ports: [{port: 53, $patch: delete}]}\n"
    data = {"function": "PatchResources", "patch": patch, "mergeKeys": "single", "listOrder": "kubernetes"}
    assert Done([SERVICE], config_map(**data)).items[0]["spec"] == {"ports": []}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({}, "data.patch"),
        ({"patch": "spec: {}"}, "patches[0]"),
        ({"patch": "["}, "patches[0]"),
        ({"patch": NAMED_PATCH, "target": "x"}, "data.target"),
        ({"patch": NAMED_PATCH, "listOrder": "x"}, "data.listOrder"),
    ],
)
def test_wrong_config_maps(data: Value, path: str) -> None:
    done = Done([DEPLOYMENT], config_map("PatchResources", **data))
    assert done.exit_code == 1
    assert [result["field"]["path"] for result in done.results] == [path]


# ---- many items ------------------------------------------------------------------------------------------------------

MANY = config_of(
    {"target": {"kind": "Deployment"}, "patch": ENV},
    {"target": {"kind": "Service", "name": "n.*5-dns"}, "patch": "$patch: delete"},
    {"target": {"kind": "Service"}, "patch": "- {op: add, path: /spec/ports/-, value: {port: 80}}"},
    {"target": {"kind": "Nothing"}, "patch": HIT},
)


@pytest.mark.usefixtures("three_processors")
@pytest.mark.parametrize("extra", [None, {"target": {}, "patch": "- {op: remove, path: /data/a}"}])
def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch, extra: Value | None) -> None:
    config = {**MANY, "patches": [*MANY["patches"], *([extra] if extra else [])]}
    items = many(15, DEPLOYMENT, SERVICE, OTHER)
    monkeypatch.setattr(program, "WORTH_IT", 10**9)
    alone = Done(items, config)
    monkeypatch.setattr(program, "WORTH_IT", 4)
    assert Done(items, config).output == alone.output
    assert alone.exit_code == (extra is not None)


@pytest.mark.usefixtures("three_processors")
def test_a_process_that_dies_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from krm_merge.functions.patch_resources import Patcher

    items, edit, here = many(60, DEPLOYMENT, SERVICE, OTHER), Patcher.edit, os.getpid()
    alone = Done(items, MANY)

    def dying(patcher: Patcher, item: Any) -> Any:
        if os.getpid() != here:
            os._exit(9)
        return edit(patcher, item)

    monkeypatch.setattr(Patcher, "edit", dying)
    monkeypatch.setattr(program, "WORTH_IT", 10)
    assert Done(items, MANY).output == alone.output


@pytest.mark.parametrize("patch", ["", "# nothing\n---\n"])
def test_an_empty_patch_is_skipped(patch: str) -> None:
    """P10: what generates patches may have nothing to say."""
    done = apply_patches([DEPLOYMENT], {"patch": patch, "target": {}}, {"patch": HIT, "target": {}})
    assert done.targets() == ["web"]
    assert done.messages("info")[0] == "functionConfig: patches[0] is empty and skipped"


@pytest.mark.parametrize(
    ("patch", "option"), [("metadata: {name: dns}", "allowNameChange"), ("kind: Service", "allowKindChange")]
)
def test_what_an_option_would_allow_is_said(patch: str, option: str) -> None:
    """P9: kustomize leaves the field in silence."""
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": patch})
    assert done.text == done.before
    field = patch.replace(": {", ".").split(":")[0]
    (warning,) = done.messages("warning")
    assert (
        warning == f"functionConfig: patches[0] does not change {field}: only options.{option} lets a patch change it"
    )


@pytest.mark.parametrize(
    ("items", "patch"),
    [
        ([DEPLOYMENT, DEPLOYMENT.replace("name: web", "name: new")], "metadata: {name: new}"),
        ([DEPLOYMENT, DEPLOYMENT.replace("name: web", "name: other")], "metadata: {name: same}"),
    ],
)
def test_no_two_resources_of_one_identity(items: list[str], patch: str) -> None:
    """P9: kubectl would apply one over the other."""
    entry = {"target": {"kind": "Deployment"}, "patch": patch, "options": {"allowNameChange": True}}
    errors = refuse(items, entry)
    assert errors
    assert all("patches[0] renames it to" in error and "there would be 2" in error for error in errors)


def test_errors_of_json_patches_name_the_field() -> None:
    """The value comes last: cut off, a long one would take the path along."""
    patch = "- {value: " + "x" * 300 + ", op: replace, path: /spec/template/spec/containers/7/image}"
    done = Done([DEPLOYMENT], config_of({"target": {"kind": "Deployment"}, "patch": patch}))
    (error,) = done.results
    assert error["field"]["path"] == "spec.template.spec.containers[7].image"
    assert '"path": "/spec/template/spec/containers/7/image"' in error["message"]


@pytest.mark.parametrize(
    ("operation", "excerpt"),
    [
        (
            "{op: zap, path: /stringData/a, value: hunter2}",
            '{"op": "zap", "path": "/stringData/a", "value": "(redacted)"}',
        ),
        ("{op: add, value: {a: hunter2}}", '{"op": "add", "value": {"a": "(redacted)"}}'),
        ("{op: add, path: [hunter2], value: 1}", '{"op": "add", "path": ["(redacted)"], "value": "(redacted)"}'),
        ("hunter2", 'operation 1 is "(redacted)"'),
    ],
)
def test_a_wrong_operation_shows_no_value(operation: str, excerpt: str) -> None:
    """It is refused before anybody knows that it is for a Secret."""
    (error,) = refuse([OTHER], {"target": {"kind": "Secret"}, "patch": f"[{operation}]", "type": "json"})
    assert excerpt in error
    assert "hunter2" not in error


@pytest.mark.parametrize(
    "operation", ["{op: replace, path: /data/b/c, value: d}", "{op: test, path: /data/a, value: b}"]
)
def test_errors_of_json_patches_quote_little_of_the_document(operation: str) -> None:
    long = OTHER.replace("{a:   'b'}", "{a: " + "x" * 5000 + "}")
    (error,) = refuse([long], {"target": {"kind": "ConfigMap"}, "patch": f"[{operation}]"})
    assert "xxx" in error
    assert len(error) < 400


def test_a_name_that_another_resource_gives_up_is_free() -> None:
    items = [DEPLOYMENT, DEPLOYMENT.replace("name: web", "name: new")]
    options = {"options": {"allowNameChange": True}}
    first = {"target": {"name": "new"}, "patch": "metadata: {name: newer}", **options}
    second = {"target": {"name": "web"}, "patch": "metadata: {name: new}", **options}
    done = apply_patches(items, first, second)
    assert not done.messages("error")
    assert [item["metadata"]["name"] for item in done.items] == ["new", "newer"]


@pytest.mark.parametrize(("name", "escape"), [(r"a\n[ERROR] forged", r"a\n[ERROR] forged"), (r"a\e[2J", r"a\x1b[2J")])
def test_names_of_strangers_make_no_lines_of_messages(name: str, escape: str) -> None:
    """kpt prints messages as they are: a line end in a name would look like a result of its own."""
    done = apply_patches(
        [OTHER.replace("name: other", f'name: "{name}"')], {"target": {"kind": "ConfigMap"}, "patch": HIT}
    )
    assert done.messages("info") == [f"functionConfig: patches[0] matches 1 resource, changes 1: ConfigMap {escape}"]
