"""Options of plugins, plugins that fail, programs, and plugins in several processes (T6)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from e2e.hosts import wait_until
from functions.streams import DEPLOYMENT, HEAD, OTHER, SERVICE, Value, as_item, many
from functions.transform_resources.plugins import (
    BARE,
    BUILTIN,
    CLAIM,
    LONGEST,
    SECRET,
    Done,
    Points,
    Programs,
    Run,
    config_of,
    op,
    patches,
    refuse,
    sets,
    transform,
)
from krm_merge.functions import process
from krm_merge.krm import program
from krm_merge.transform import Operation, PluginError, Response
from transform.plugins.programs import set_clock


@pytest.mark.parametrize("kind", ["v1\nkind: List", "v1\nkind: ServiceList"])
def test_the_items_of_a_list_are_resources(kind: str, points: Points) -> None:
    """R7: each is transformed in its own text."""
    listed = f"apiVersion: {kind}\nitems:\n{as_item(SERVICE)}{as_item(OTHER)}"
    white = points.add("white", lambda seen, _: Response(is_whiteout=seen["kind"] == "ConfigMap"))
    label = patches("label", op("add", "/metadata/labels", {"a": "b"}), target={"kind": "Service"})
    done = transform([listed], label, white, whiteout={"action": "drop"})
    (list_,) = done.items
    assert [item["metadata"].get("labels") for item in list_["items"]] == [{"a": "b"}]
    assert done.text.startswith(HEAD + as_item(f"apiVersion: {kind}\nitems:\n- apiVersion: v1\n"))


# ---- options ---------------------------------------------------------------------------------------------------------


def test_options(points: Points) -> None:
    transform([BARE], points.add("a", Response()), points.add("b", Response()), options={"x": "0", "y": "2"})
    assert points.options == [{"x": "0", "y": "2"}] * 2


def test_unknown_options_warn(programs: Programs, points: Points) -> None:
    metadata = {"optionalFields": [{"flagName": "color", "help": "Which.", "example": "red"}]}
    program = programs.add("p", "echo '{}'", meta=metadata)
    done = transform([BARE], program, BUILTIN, options={"color": "red", "registry-replacment": "a=b"})
    assert done.messages("warning") == ["functionConfig: no plugin knows the option registry-replacment"]
    # One that tells nothing of its options may know any.
    done = transform([BARE], program, points.add("a", Response()), options={"registry-replacment": "a=b"})
    assert done.messages("warning") == []


def test_a_broken_option_is_an_error_of_its_plugin() -> None:
    (error,) = refuse([OTHER, SERVICE], BUILTIN, options={"strip-default-rbac": "maybe"})
    assert error.startswith("KubernetesPlugin: option strip-default-rbac is 'maybe'")
    assert error.endswith(" (ConfigMap other, Service dns)")


# ---- plugins that fail (T6) ------------------------------------------------------------------------------------------


def raising(error: Exception) -> Run:
    def raises(resource: Value, options: dict[str, str]) -> Response:
        raise error

    return raises


def test_one_error_for_each_problem(points: Points) -> None:
    items = [OTHER.replace("name: other", f"name: o{n}") for n in range(7)]
    plugins = [
        points.add("a", raising(KeyError("data"))),
        sets("b", "c", "/data/a", "ConfigMap"),
        points.add("c", raising(PluginError("no", "PluginRunError", "because"))),
        points.add("d", lambda resource, _: {"patches": 1} if resource["metadata"]["name"] == "o3" else {}),
    ]
    done = Done([*items, DEPLOYMENT], config_of(*plugins))
    assert done.exit_code == 1
    names = ", ".join(f"ConfigMap o{n}" for n in range(5))
    assert done.messages("error") == [
        f"a: KeyError: 'data' ({names} and 3 more)",
        f"c: PluginRunError: no: because ({names} and 3 more)",
        "d: patches of the response is not a list (ConfigMap o3)",
    ]
    assert [result["tags"] for result in done.results] == [
        {"rule": "T6", "event": "plugin-error", "plugin": name} for name in "acd"
    ]


def nest(levels: int) -> Any:
    return [nest(levels - 1)] if levels else 1


WRONG_VALUES = [
    # a value, what is said of it
    (float("nan"), "has nan, which JSON does not have"),
    (nest(150), "is nested deeper than 126 levels"),
]


def add_x(path: Any, value: Any) -> Operation:
    return Operation("add", path, value=value)


def test_an_answer_that_is_none(points: Points) -> None:
    """T6: the error names the plugin, and no item changes."""
    number: Any = 5
    (error,) = refuse([DEPLOYMENT], points.add("a", lambda *_: number))
    assert error.startswith("a: the response is not a JSON object with version, isWhiteOut and patches")
    assert error.endswith("(Deployment shop/web)")
    (error,) = refuse([DEPLOYMENT], points.add("a", lambda *_: Response.of(add_x(("x" * 3,) * 200, 1))))
    assert error.startswith("a: the path of add has more than 126 levels")


@pytest.mark.parametrize(("value", "says"), WRONG_VALUES)
def test_values_that_are_no_json(points: Points, value: Any, says: str) -> None:
    """However a plugin answers."""
    plugin = points.add("made", lambda *_: Response.of(add_x(("spec", "x"), value)))
    read = points.add("read", {"patches": [op("add", "/spec/x", value)]})
    where = "(Deployment shop/web)"
    assert refuse([DEPLOYMENT], plugin, read) == [
        f"made: the value of add /spec/x {says} {where}",
        f"read: the value of add /spec/x {says} {where}",
    ]


def test_the_deepest_value(points: Points) -> None:
    """It can be read again, as an item and in a file."""
    done = transform([DEPLOYMENT], points.add("a", {"patches": [op("add", "/spec/x", nest(124))]}))
    assert process(done.output.encode()).exit_code == 0
    (error,) = refuse([DEPLOYMENT], points.add("b", {"patches": [op("add", "/spec/x", nest(125))]}))
    assert "nested deeper than 126 levels" in error


def test_copies_that_are_too_deep() -> None:
    """Each puts all of it into its innermost map."""
    copies = [{"op": "copy", "from": "/x", "path": "/x" + "/a" * 2**times} for times in range(1, 7)]
    for number, last in ((5, False), (6, True)):
        plugins = sets("b", 5), patches("a", op("add", "/x", {"a": {}}), *copies[:number])
        done = Done([DEPLOYMENT], config_of(*plugins))
        too_deep = ["a: makes a resource that is nested deeper than 126 levels (Deployment shop/web)"]
        assert done.messages("error") == (too_deep if last else [])


def test_a_plugin_cannot_end_the_program(points: Points) -> None:
    """Nothing on stdout and exit code 0 would look like success."""

    def leaves(resource: Value, options: dict[str, str]) -> Response:
        raise SystemExit(0)

    (error,) = refuse([OTHER], points.add("a", leaves))
    assert error.startswith("a: SystemExit")


WRONG_OPERATIONS = [
    (op("replace", "/spec/none", 1), "/spec/none"),
    (op("move", "/spec/a", **{"from": "/spec/none"}), "/spec/none"),
    (op("add", "/spec/replicas/x", 1), "/spec/replicas"),
    (op("add", "/spec/template/spec/containers/7", {}), "has 2 elements; 7 is not a place among them"),
    (
        op("replace", f"/spec/template/spec/containers/{'1' * 5000}", {}),
        "there is no /spec/template/spec/containers/111",
    ),
    (op("add", f"/spec/template/spec/containers/{'1' * 5000}", {}), "1 is not a place among them"),
    (op("remove", ""), "the whole object cannot be removed"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG_OPERATIONS)
def test_operations_that_cannot_be_carried_out(wrong: Value, says: str) -> None:
    (error,) = refuse([DEPLOYMENT], sets("b", 5), patches("a", wrong))
    assert error.startswith("a: ")
    assert says in error
    assert error.endswith(" (Deployment shop/web)")


def test_items_that_are_no_resources() -> None:
    items = [BARE, OTHER.replace("kind: ConfigMap\n", ""), OTHER.replace("data:", "data: 1\ndata:")]
    first, second = refuse(items, sets("a", 5))
    assert "apiVersion and kind are expected" in first
    assert first.startswith("other.yaml: ")
    assert second.startswith("other.yaml: ")
    assert "the key data appears twice" in second


# ---- programs --------------------------------------------------------------------------------------------------------


def test_programs_change_resources(programs: Programs) -> None:
    """T6: crane's protocol; the name is given, or the metadata's, or the file's."""
    answer = json.dumps({"version": "v1", "patches": [op("replace", "/spec/replicas", 3)]})
    script = f"echo '{answer}'"
    named = programs.add("file", script, meta={"name": "Told"})
    for name, priority in (("given", "given"), (None, "Told")):
        done = transform([DEPLOYMENT], {"name": name, "exec": named["exec"]}, priorities=[priority])
        assert done.items[0]["spec"]["replicas"] == 3
        assert done.events("applied")[0]["tags"]["plugin"] == priority
    programs.add("plain", script)
    done = transform([DEPLOYMENT], {"exec": {"file": "plain"}}, priorities=["plain"])
    assert done.events("applied")[0]["tags"]["plugin"] == "plain"


def is_there(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


OVER = f"did not finish within {LONGEST} s and was killed"
HOSTILE = [
    # what a program does, what is said
    (["{passes}", "while :; do :; done"], OVER),
    (["trap '' TERM HUP INT", "{passes}", "while :; do sleep 600; done"], OVER),
    (["{passes}", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"], "and was killed"),
    (["cat /dev/zero"], "wrote more than 16,777,216 bytes and was killed"),
    (["sleep 600 &", "echo $! >> {notes}", "echo '{{}}'", "{passes}"], OVER),
    (["echo broken >&2", "exit 3"], "ended with exit code 3: broken"),
    (["kill -9 $$"], "was ended by signal 9"),
    (["echo nonsense"], "answered with invalid JSON"),
    (["exit 0"], "answered with nothing"),
    (
        ["""echo '{{"type": "PluginRunError", "message": "no", "error": "why"}}' >&2""", "exit 1"],
        "PluginRunError: no: why",
    ),
]


@pytest.mark.parametrize(("lines", "says"), HOSTILE)
def test_programs_that_do_what_they_should_not(
    programs: Programs, lines: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T6: nothing changes, the plugin is named, nothing of it is left."""
    clock = tmp_path / "clock"
    set_clock(monkeypatch, clock)
    script = [line.format(notes=programs.notes, passes=f"echo {LONGEST} >> {clock}") for line in lines]
    plugin = programs.add("bad", f"echo $$ >> {programs.notes}", *script)
    done = Done([OTHER, DEPLOYMENT, SERVICE], config_of(sets("b", 5), plugin))
    assert done.exit_code == 1
    assert done.text == done.before
    errors = done.messages("error")
    assert errors, done.told
    assert all(error.startswith("bad: ") for error in errors)
    assert says in errors[0]
    assert "ConfigMap other" in errors[0]
    wait_until(lambda: not any(map(is_there, programs.notes.read_text().split())))


ANSWERS_METADATA = [
    # what a program does when it is asked of itself, what is said
    (["echo oops >&2", "exit 1"], "ended with exit code 1: oops"),
    (["while :; do :; done"], "did not finish within 0.5 s and was killed"),
    (["echo '[]'"], "the metadata is not a JSON object"),
]


@pytest.mark.parametrize("name", [None, "bad"])
@pytest.mark.parametrize(("lines", "says"), ANSWERS_METADATA)
def test_programs_that_do_not_tell_of_themselves(
    programs: Programs, name: str | None, lines: list[str], says: str
) -> None:
    """T6, also of one whose name is given."""
    program = programs.add("bad", timeoutSeconds=0.5 if "0.5" in says else LONGEST)
    file = programs.directory / "bad"
    file.unlink()
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    file.chmod(0o555)
    errors = refuse([OTHER], {**program, "name": name})
    assert len(errors) == 1
    assert says in errors[0]


def test_a_program_cannot_tell_values_of_secrets(programs: Programs) -> None:
    """T5: an answer that is no JSON may hold what it was asked."""
    plugin = programs.add("bad", "echo \"$request\" | sed 's/.*password/password/'")
    done = Done([SECRET], config_of(plugin))
    assert done.exit_code == 1
    assert "c2VjcmV0" not in done.told + done.message


# ---- many items ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three_processors")
@pytest.mark.parametrize(("fails", "action"), [(True, "annotate"), (False, "drop")])
def test_several_processes_give_what_one_gives(
    monkeypatch: pytest.MonkeyPatch, points: Points, fails: bool, action: str
) -> None:
    """T2: same input, same bytes out."""
    plugins = [
        BUILTIN,
        sets("a", 5),
        sets("b", 6),
        patches("c", op("add", "/spec/ports/-", {"port": 80}), target={"kind": "Service"}),
        *([patches("f", op("replace", "/data/a", 1), target={"name": "n4.*"})] if fails else []),
    ]
    config = config_of(*plugins, priorities=["b"], whiteout={"action": action})
    items = many(45, DEPLOYMENT, SERVICE, OTHER, CLAIM, SECRET)
    monkeypatch.setattr(program, "WORTH_IT", 10**9)
    alone = Done(items, config)
    monkeypatch.setattr(program, "WORTH_IT", 10)
    assert Done(items, config).output == alone.output
    assert alone.exit_code == fails


@pytest.mark.usefixtures("three_processors")
def test_programs_in_several_processes(monkeypatch: pytest.MonkeyPatch, programs: Programs) -> None:
    answer = json.dumps({"patches": [op("add", "/metadata/labels/x", "y")]})
    plugin = programs.add("p", f"echo $$ >> {programs.notes}", f"echo '{answer}'")
    items = many(12, DEPLOYMENT, SERVICE, OTHER, CLAIM, SECRET)
    alone = Done(items, config_of(plugin))
    monkeypatch.setattr(program, "WORTH_IT", 4)
    assert Done(items, config_of(plugin)).output == alone.output
    assert all(item["metadata"]["labels"]["x"] == "y" for item in alone.items)
    wait_until(lambda: not any(map(is_there, programs.notes.read_text().split())))
