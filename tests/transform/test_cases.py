"""The test tables of crane and crane-lib. See testdata/transform/README.md."""

from __future__ import annotations

import copy
import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from checkout import ROOT
from krm_merge.transform import (
    KubernetesPlugin,
    Metadata,
    OperationError,
    Options,
    PluginError,
    Response,
    Runner,
    serve,
)
from krm_merge.transform.engine.locations import Tracked
from krm_merge.transform.kubernetes import has_status, is_pod_specable
from krm_merge.transform.plugins.process import Executable, read_answer
from krm_merge.transform.plugins.serve import PluginFaultError
from krm_merge.transform.protocol import read_pointer

TABLES: Final = yaml.safe_load((ROOT / "testdata" / "transform" / "crane.yaml").read_text(encoding="utf-8"))
NEWEST: Final = TABLES["newest_2026"]

TESTED: Final = {
    "runner": 18,
    "applier": 4,
    "plugin_process_side": 5,
    "plugin_host_metadata": 7,
    "plugin_host_run": 4,
    "plugin_error": 1,
    "kubernetes_plugin": 46,
    "kubernetes_isPodSpecable": 7,
    "kubernetes_hasStatusObject": 3,
    "newest_2026.filterValidRemoveOps": 9,
    "newest_2026.pathExists": 15,
}
"""The groups whose cases run below, and how many there are."""

NO_STAGES: Final = dict.fromkeys(
    (
        "newest_2026.getResourceID",
        "newest_2026.instructions",
        "newest_2026.patchTarget",
        "newest_2026.splitNewResource",
        "newest_2026.stages",
        "files.patchFilename",
    ),
    "no stages here: all plugins see the original, priorities decide (T1, T2)",
)
"""The groups about crane's staged directories, which there are not here."""

NOT_HERE: Final = dict.fromkeys(("files.legacy", "files.resourceFilename"), "tested with the command line") | {
    "operation_equality": "operations are compared by what they do (T3)",
    "newest_2026.optionalFlags": "options are for all plugins",
    "newest_2026.newResources": "plugins add no resources; an answer that does is refused",
}


def cases(group: str) -> pytest.MarkDecorator:
    """All cases of a group, by their names."""
    table: Any = TABLES
    for name in group.split("."):
        table = table[name]
    assert len(table) == TESTED[group]
    return pytest.mark.parametrize("case", table, ids=[case["name"] for case in table])


def test_no_group_is_forgotten() -> None:
    nested = ("newest_2026", "files")
    groups = [name for name in TABLES if name not in (*nested, "meta")]
    groups += [f"{name}.{inner}" for name in nested for inner in TABLES[name]]
    assert sorted(groups) == sorted([*TESTED, *NO_STAGES, *NOT_HERE])


def in_json(operations: Any) -> list[str]:
    """A multiset of operations in their JSON form."""
    return sorted(json.dumps(operation, sort_keys=True) for operation in operations)


# ---- the runner --------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """A plugin that does what a case of the table says."""

    case: dict[str, Any]
    seen: list[tuple[Any, dict[str, str]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.case["name"])

    def run(self, resource: dict[str, Any], options: Options) -> Response:
        self.seen.append((copy.deepcopy(resource), dict(options)))
        if "mutatesRequestTo" in self.case:
            resource.clear()
            resource.update(self.case["mutatesRequestTo"])
        if "error" in self.case:
            raise PluginError(self.case["error"])
        return Response.read(self.case["response"])


STARTS: Final = {"RunWithTwoPluginsCollidedPatchesDifferentOps": {"spec": {"testing": "old"}}}
"""Where a plugin replaces what the table's empty object has not: it must be there, since operations are carried out."""


@cases("runner")
def test_runner(case: dict[str, Any]) -> None:
    start = copy.deepcopy(STARTS.get(case["name"], case["object"] or {}))
    before = copy.deepcopy(start)
    plugins = [Told(entry) for entry in case["plugins"]]
    flags = case.get("optionalFlags", {})
    outcome = Runner(plugins, case["priorities"], flags).run(start)
    expect = case["expect"]
    if expect.get("newResources"):
        assert all("the response has newResources" in failure.problem for failure in outcome.failures)
        assert outcome.failures
        return
    assert in_json(operation.operation.to_value() for operation in outcome.settlement.operations) == in_json(
        expect["patches"]
    )
    assert [
        {"PluginName": loss.operation.plugin, "Operation": loss.operation.operation.to_value()}
        for loss in outcome.settlement.ignored
    ] == expect["ignored"]
    assert bool(outcome.whiteouts) is expect["whiteOut"]
    assert [failure.problem for failure in outcome.failures] == ([expect["error"]] if "error" in expect else [])
    # Whatever a plugin does to its copy, nobody else sees it.
    assert start == before
    assert [plugin.seen for plugin in plugins] == [[(before, flags)]] * len(plugins)


def test_what_cannot_be_replaced_is_a_failure() -> None:
    """The table's own object for this case is empty: crane found out when it applied the patch."""
    (case,) = (case for case in TABLES["runner"] if case["name"] in STARTS)
    outcome = Runner([Told(entry) for entry in case["plugins"]]).run({})
    assert [(failure.plugin, failure.problem) for failure in outcome.failures] == [
        ("pluginreplace", "there is no /spec")
    ]


@cases("applier")
def test_applier(case: dict[str, Any]) -> None:
    if "error" in case["expect"]:
        with pytest.raises(PluginError, match=r"invalid JSON|with nothing"):
            read_answer(case["patchText"].encode())
        return
    before = copy.deepcopy(case["object"])
    entry = {"name": "it", "response": {"patches": read_answer(case["patchText"].encode())}}
    outcome = Runner([Told(entry)]).run(case["object"])
    assert not outcome.failures
    assert outcome.settlement.value == case["expect"]["object"]
    assert case["object"] == before


# ---- programs ----------------------------------------------------------------------------------------------------


class Unreadable(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise OSError("broken")


class Side(Told):
    """A plugin on its own side of the protocol."""

    @property
    def metadata(self) -> Metadata:
        return Metadata(self.name, self.case.get("pluginVersion", ""))


@cases("plugin_process_side")
def test_plugin_process_side(case: dict[str, Any]) -> None:
    entry = {"name": case["name"], "response": case.get("pluginReturns", {})}
    entry |= {name: case[name] for name in ("pluginVersion",) if name in case}
    entry |= {"error": case["pluginError"]} if "pluginError" in case else {}
    stdin = Unreadable() if "stdinError" in case else io.BytesIO(case["stdin"].encode())
    stdout, stderr = io.BytesIO(), io.BytesIO()
    expect = case["expect"]
    assert serve(Side(entry), stdin, stdout, stderr) == expect["exit"]
    if "stderrJson" in expect:
        assert json.loads(stderr.getvalue())["type"] == expect["stderrJson"]["type"]
        assert stdout.getvalue() == b""
        return
    assert stderr.getvalue() == b""
    assert json.loads(stdout.getvalue()) == expect["stdoutJson"]


def program(tmp_path: Path, case: dict[str, Any]) -> Executable:
    """A program that reads its request, and does what a case says."""
    file = tmp_path / "plugin"
    if "runError" not in case:
        stdout = json.dumps(case["stdoutJson"]) if "stdoutJson" in case else case.get("stdout", "")
        lines = ["#!/bin/sh", 'request="$(cat)"']
        if "onStdin" in case:
            lines.append(f'[ "$request" = {shlex.quote(case["onStdin"])} ] || exit 99')
        lines += [f"printf %s {shlex.quote(stdout)}", f"printf %s {shlex.quote(case.get('stderr', ''))} >&2"]
        file.write_text("\n".join([*lines, f"exit {case['exit']}", ""]))
        file.chmod(0o755)
    return Executable(file, "it")


def check_host(expect: dict[str, Any], key: str, ask: Callable[[], Any], read: Callable[[Any], Any]) -> None:
    if "error" in expect:
        with pytest.raises(PluginError):
            ask()
    else:
        assert ask() == read(expect.get(key, expect))


@cases("plugin_host_metadata")
def test_plugin_host_metadata(case: dict[str, Any], tmp_path: Path) -> None:
    plugin = program(tmp_path, case)
    check_host(case["expect"], "metadata", lambda: plugin.metadata, Metadata.read)


@cases("plugin_host_run")
def test_plugin_host_run(case: dict[str, Any], tmp_path: Path) -> None:
    plugin = program(tmp_path, case)
    check_host(case["expect"], "", lambda: plugin.run({"kind": "Pod"}, {}), Response.read)


@cases("plugin_error")
def test_plugin_error(case: dict[str, Any]) -> None:
    fault = case["input"]
    assert str(PluginFaultError(fault["type"], fault["message"], fault["error"])) == case["expectText"]


# ---- the built-in plugin -----------------------------------------------------------------------------------------

OPTIONS: Final = {
    "extraWhiteouts": "extra-whiteouts",
    "includeOnly": "include-only",
    "disableWhiteoutOwned": "disable-whiteout-owned",
    "registryReplacement": "registry-replacement",
    "addAnnotations": "add-annotations",
    "removeAnnotations": "remove-annotations",
}


def option_text(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={text}" for key, text in value.items())
    return ",".join(value) if isinstance(value, list) else json.dumps(value)


@cases("kubernetes_plugin")
def test_kubernetes_plugin(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["object"])
    options = {OPTIONS[name]: option_text(value) for name, value in case.get("options", {}).items()}
    response = KubernetesPlugin().run(case["object"], options)
    expect = case["expect"]
    assert response.to_value()["version"] == expect["version"]
    assert response.is_whiteout is expect["isWhiteOut"]
    # Whoever whites out says why.
    assert bool(response.reason) is response.is_whiteout
    if expect["patchesAsSet"] != "unchecked":
        operations = in_json(operation.to_value() for patch in response.patches for operation in patch.operations)
        assert operations == in_json(expect["patchesAsSet"])
    assert case["object"] == before


@cases("kubernetes_isPodSpecable")
def test_is_pod_specable(case: dict[str, Any]) -> None:
    assert is_pod_specable(case["object"]) is case["expect"]


@cases("kubernetes_hasStatusObject")
def test_has_status(case: dict[str, Any]) -> None:
    assert has_status(case["object"]) is case["expect"]


# ---- the newest tables -------------------------------------------------------------------------------------------


@cases("newest_2026.filterValidRemoveOps")
def test_nothing_is_removed_that_is_not_there(case: dict[str, Any]) -> None:
    outcome = Runner([Told({"name": "it", "response": {"patches": case["patches"]}})]).run(case["resource"])
    assert not outcome.failures
    assert len(outcome.settlement.patch) == case["keptOps"]
    assert len(outcome.settlement.operations) == len(case["patches"])


EXISTS: Final = {"root path": False}
"""RFC 6901: the path `/` does not name the root, but the key ''. The root is the empty path."""


@cases("newest_2026.pathExists")
def test_path_exists(case: dict[str, Any]) -> None:
    tracked = Tracked(case["data"], lambda _: ())
    if EXISTS.get(case["name"], case["expect"]):
        location = tracked.locate(read_pointer(case["path"]))
        assert tracked.pointer(location) == read_pointer(case["path"])
    else:
        with pytest.raises(OperationError, match="there is no "):
            tracked.locate(read_pointer(case["path"]))


def test_the_root_exists() -> None:
    assert Tracked({"key": "value"}, lambda _: ()).locate(read_pointer("")) == ()
    assert Tracked({"": "value"}, lambda _: ()).locate(read_pointer("/")) == ("",)
