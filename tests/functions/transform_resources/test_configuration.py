"""The functionConfig of TransformResources: what is read, and what is refused."""

from __future__ import annotations

import pytest

from functions.streams import DEPLOYMENT, Value
from functions.transform_resources.plugins import (
    BUILTIN,
    Done,
    Programs,
    config_of,
    op,
    patches,
    refuse,
    sets,
    transform,
)

# ---- configurations that are wrong -----------------------------------------------------------------------------------

GOOD = sets("good", 5)
MODEL_ERRORS = [
    # a change of the functionConfig, the fields that are named
    ({"plugin": []}, ["plugin"]),
    ({"plugins": []}, ["plugins"]),
    ({"plugins": None}, ["plugins"]),
    ({"plugins": [{**GOOD, "timeout": 5}]}, ["plugins[0].timeout"]),
    ({"plugins": [GOOD, {"builtin": "helm"}]}, ["plugins[1].builtin"]),
    ({"plugins": [{"exec": {"file": "a", "args": ["-x"]}}]}, ["plugins[0].exec.args"]),
    ({"plugins": [{"exec": {"file": "a", "timeoutSeconds": 0}}]}, ["plugins[0].exec.timeoutSeconds"]),
    ({"plugins": [{"exec": {"file": "a", "timeoutSeconds": 3000}}]}, ["plugins[0].exec.timeoutSeconds"]),
    ({"plugins": [{"exec": {"protocol": "grpc"}}]}, ["plugins[0].exec.file", "plugins[0].exec.protocol"]),
    ({"plugins": [patches("a")]}, ["plugins[0].patches[0].ops"]),
    ({"plugins": [patches("a", op("jump", "/a"))]}, ["plugins[0].patches[0].ops[0].op"]),
    ({"plugins": [patches("a", {"op": "remove"})]}, ["plugins[0].patches[0].ops[0].path"]),
    ({"plugins": [patches("a", op("remove", "/a"), target={"names": "x"})]}, ["plugins[0].patches[0].target.names"]),
    ({"plugins": [patches("a", op("remove", "/a"), onTestFailure="stop")]}, ["plugins[0].patches[0].onTestFailure"]),
    ({"priorities": "a"}, ["priorities"]),
    ({"options": {"a": 1}}, ["options.a"]),
    ({"conflicts": {"keep": "all", "severity": "fail"}}, ["conflicts.severity", "conflicts.keep"]),
    ({"whiteout": {"action": "delete"}}, ["whiteout.action"]),
    ({"listKeys": [{"kind": "A"}]}, ["listKeys[0].apiVersion", "listKeys[0].path", "listKeys[0].keys"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "paths"), MODEL_ERRORS)
def test_wrong_fields(change: Value, paths: list[str]) -> None:
    done = Done([DEPLOYMENT], {**config_of(GOOD), **change})
    assert done.exit_code == 1
    assert [result["field"]["path"] for result in done.results] == paths
    for result in done.results:
        assert result["message"].startswith(f"functionConfig: {result['field']['path']}")


REMOVE = op("remove", "/a")
PLUGIN_ERRORS: list[tuple[Value, str]] = [
    # a plugin, what is said of it
    ({"name": "x"}, "give exactly one of builtin, exec and patches"),
    ({"builtin": "kubernetes", "exec": {"file": "x"}}, "give exactly one of builtin, exec and patches"),
    ({**GOOD, "exec": {"file": "x"}}, "give exactly one of builtin, exec and patches"),
    ({"patches": GOOD["patches"]}, "name is missing"),
    (patches("a", op("remove", "a")), "patches[0].ops[0]: the path 'a' is not a JSON pointer"),
    (patches("a", op("remove", "/a~2")), "patches[0].ops[0]: the path '/a~2' is not a JSON pointer"),
    (patches("a", {"op": "replace", "path": "/a"}), "patches[0].ops[0]: replace without value"),
    (patches("a", REMOVE, {"op": "move", "path": "/a"}), "patches[0].ops[1]: move without from"),
    (patches("a", REMOVE, target={"name": "("}), "target.name is '(', not a regular expression"),
    (patches("a", REMOVE, target={"labelSelector": "a in b"}), "cannot read the selector 'a in b' at column 1"),
    ({"exec": {"file": "none"}}, "has no plugin none; it holds "),
    ({"exec": {"file": "bin/ok"}}, "'bin/ok' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "/bin/sh"}}, "'/bin/sh' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "../outside"}}, "'../outside' is not the name of a file in the plugin directory"),
    ({"exec": {"file": ".."}}, "'..' is not the name of a file in the plugin directory"),
    ({"exec": {"file": ""}}, "'' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "writable"}}, "could be changed by the user who runs this; set its mode to 0555"),
    ({"exec": {"file": "group"}}, "could be changed by the user who runs this; set its mode to 0555"),
    ({"exec": {"file": "link"}}, "is outside the plugin directory"),
    ({"exec": {"file": "text"}}, "is not an executable file; set its mode to 0555"),
    ({"exec": {"file": "bin"}}, "is not an executable file; set its mode to 0555"),
    ({"exec": {"file": "dangling"}}, "has no plugin dangling"),
    ({"exec": {"file": "loop"}}, "has no plugin loop"),
]


@pytest.fixture
def odd_programs(programs: Programs) -> Programs:
    for name, mode in (("ok", 0o555), ("writable", 0o557), ("group", 0o575), ("text", 0o444), ("bin/ok", 0o555)):
        programs.add(name, "echo '{}'", mode=mode)
    programs.add("../outside", "echo '{}'")
    (programs.directory / "link").symlink_to("../outside")
    (programs.directory / "dangling").symlink_to("nothing")
    (programs.directory / "loop").symlink_to("loop")
    return programs


@pytest.mark.usefixtures("odd_programs")
@pytest.mark.parametrize(("plugin", "says"), PLUGIN_ERRORS)
def test_wrong_plugins(plugin: Value, says: str) -> None:
    done = Done([DEPLOYMENT], config_of({"name": "fine", "exec": {"file": "ok"}}, plugin))
    assert done.exit_code == 1
    (error,) = done.results
    assert error["message"].startswith("functionConfig: plugins[1]: ")
    assert says in error["message"]
    assert error["field"] == {"path": "plugins[1]"}


@pytest.mark.usefixtures("odd_programs")
def test_all_wrong_plugins_at_once() -> None:
    done = Done([DEPLOYMENT], config_of(*(plugin for plugin, _ in PLUGIN_ERRORS)))
    assert [result["field"]["path"] for result in done.results] == [
        f"plugins[{at}]" for at in range(len(PLUGIN_ERRORS))
    ]


def test_a_link_inside_of_the_directory(odd_programs: Programs) -> None:
    (odd_programs.directory / "inner").symlink_to("bin/ok")
    transform([DEPLOYMENT], {"exec": {"file": "inner"}})


@pytest.mark.parametrize("file", ["a", "/bin/sh"])
def test_no_program_runs_without_a_directory(file: str) -> None:
    """T6: the package's configuration cannot allow it."""
    (error,) = refuse([DEPLOYMENT], {"exec": {"file": file}})
    assert error.startswith("functionConfig: plugins[0]: executable plugins run only where KRM_MERGE_PLUGIN_DIR names")


@pytest.mark.parametrize("name", ["priorities", "skipPlugins"])
def test_unknown_names(name: str) -> None:
    """T11: a misspelt name would have no effect, and nobody would know."""
    done = Done([DEPLOYMENT], config_of(GOOD, BUILTIN, **{name: ["good", "bad", "worse"]}))
    assert done.exit_code == 1
    first, second = done.results
    names = "choose from good, KubernetesPlugin"
    assert first["message"] == f"functionConfig: {name} names bad, but no plugin has that name; {names}"
    assert "names worse" in second["message"]
    assert first["field"] == {"path": name}


def test_programs_whose_metadata_are_none(programs: Programs) -> None:
    plugin = programs.add("p", meta={"requestVersion": ["v2"]})
    (error,) = refuse([DEPLOYMENT], {"exec": plugin["exec"]})
    assert error == "functionConfig: plugins[0]: requestVersion of the metadata does not name v1"


def test_no_two_resources_of_one_identity() -> None:
    """P9, of plugins, too: kubectl would apply one over the other."""
    other = DEPLOYMENT.replace("name: web", "name: new")
    (error,) = refuse([DEPLOYMENT, other], patches("a", op("replace", "/metadata/name", "new"), target={"name": "web"}))
    assert "Deployment shop/web: a renames it to Deployment shop/new, and there would be 2" in error
