"""TransformResources from bytes to bytes: who wins, what is told, what stays as it came, and what is refused."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from functions import streams
from functions.streams import DEPLOYMENT, HEAD, ID, INDEX, LEGACY_ID, OTHER, PATH, SERVICE, Value, as_item, many
from krm_merge.functions import process
from krm_merge.krm import parallel
from krm_merge.transform import Metadata, Operation, OptionalField, Patch, PluginError, Response
from krm_merge.transform.plugins import entry_points
from krm_merge.transform.plugins.directory import VARIABLE

LOCAL_CONFIG = "config.kubernetes.io/local-config"
Run = Callable[[Value, dict[str, str]], Response | Value]

BARE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bare}\ndata: {}\n"
KPTFILE = f"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: pkg
  annotations:
    {PATH}: Kptfile
"""
LOCAL = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    {LOCAL_CONFIG}: "true"
data: {{}}
"""
CLAIM = f"""\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: # of the database
  name: data
  annotations:
    {PATH}: data.yaml
    {ID}: '5'
"""


def config_of(*plugins: Value, **fields: Any) -> Value:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "metadata": {"name": "transform"}}
    return {**head, "plugins": list(plugins), **fields}


def config_map(**data: str) -> Value:
    return streams.config_map("TransformResources", **{name.replace("_", "-"): text for name, text in data.items()})


def op(kind: str, path: str, value: Any = None, **more: Any) -> Value:
    return {"op": kind, "path": path, **({"value": value} if kind in ("add", "replace", "test") else {}), **more}


def patches(name: str, *ops: Value, **fields: Any) -> Value:
    """A plugin without code; `fields` are those of its only patch."""
    return {"name": name, "patches": [{"ops": list(ops), **fields}]}


def sets(name: str, value: Any, path: str = "/spec/replicas", kind: str = "Deployment") -> Value:
    return patches(name, op("replace", path, value), target={"kind": kind})


class Done(streams.Done):
    """What came of items and plugins."""

    def lost(self) -> list[tuple[str, str, str]]:
        """Who lost to whom, and why."""
        tags = [result["tags"] for result in self.events("ignored")]
        return [(one["plugin"], one["winner"], one["reason"]) for one in tags]


def transformed(items: list[str], *plugins: Value, **fields: Any) -> Done:
    done = Done(items, config_of(*plugins, **fields))
    assert done.exit_code == 0, done.message
    return done


def refused(items: list[str], *plugins: Value, **fields: Any) -> list[str]:
    done = Done(items, config_of(*plugins, **fields))
    assert done.exit_code == 1, done.output
    return done.said("error")


@dataclass
class Point:
    """An entry point."""

    name: str
    loaded: Any
    value: str = "acme:plugin"

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@dataclass
class Points:
    """The entry points of the installed packages, and what their plugins saw."""

    all: list[Point] = field(default_factory=list)
    seen: list[Value] = field(default_factory=list)
    options: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, run: Run | Response | Value) -> Value:
        """A plugin by what it does, or always answers."""

        def runs(resource: Value, options: dict[str, str]) -> Response | Value:
            self.seen.append(json.loads(json.dumps(resource)))
            self.options.append(dict(options))
            return run(resource, options) if callable(run) else run

        self.all.append(Point(name, runs))
        return {"name": name, "entryPoint": name}


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    made = Points()

    def known(*, group: str) -> list[Point]:
        assert group == "krm_merge.transform_plugins"
        return made.all

    monkeypatch.setattr(entry_points, "entry_points", known)
    return made


@dataclass
class Programs:
    """The plugin directory."""

    directory: Path
    notes: Path

    def add(self, name: str, *lines: str, mode: int = 0o555, meta: Value | None = None, **fields: Any) -> Value:
        """A shell script that tells its metadata, then does what the lines say; `$request` is what it was asked."""
        told = {"requestVersion": ["v1"], "responseVersion": ["v1"], **(meta or {})}
        text = [
            "#!/bin/sh",
            "request=$(cat)",
            f"if [ \"$request\" = '{{}}' ]; then echo '{json.dumps(told)}'; exit; fi",
        ]
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([*text, *lines, ""]))
        file.chmod(mode)
        return {"name": name, "exec": {"file": name, **fields}}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs(tmp_path / "plugins", tmp_path / "notes")
    made.directory.mkdir()
    monkeypatch.setenv(VARIABLE, str(made.directory))
    return made


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No directory of plugins is known before a test, no process is there after it that was not there before."""
    monkeypatch.delenv(VARIABLE, raising=False)
    before = children()
    yield
    assert children() <= before


def children() -> set[str]:
    """Our processes, also those that ended and that nobody asked for; none where the system does not tell."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(listed.read_text().split()) if listed.exists() else set()


# ---- who wins (T2, T11) --------------------------------------------------------------------------------------------

ORDERS = [
    # plugins as they are declared, the list of priorities, the plugins from the strongest to the weakest
    ("abc", "", "abc"),
    ("cab", "", "cab"),
    ("abc", "c", "cab"),
    ("abc", "cb", "cba"),
    ("cba", "b", "bca"),
    ("abc", "cab", "cab"),
    # A repeated name keeps its first place.
    ("abc", "bab", "bac"),
    ("abc", "cac", "cab"),
    ("abc", "aaabbb", "abc"),
]


@pytest.mark.parametrize(("declared", "priorities", "order"), ORDERS)
@pytest.mark.parametrize("detect", ["effect", "path"])
def test_priorities(declared: str, priorities: str, order: str, detect: str) -> None:
    """T2: listed before unlisted, then as declared; T11: a repeated name keeps its first place."""
    plugins = [sets(name, 10 + "abc".index(name)) for name in declared]
    done = transformed([DEPLOYMENT], *plugins, priorities=list(priorities), conflicts={"detect": detect})
    winner = order[0]
    assert done.items[0]["spec"]["replicas"] == 10 + "abc".index(winner)
    why = "priority" if winner in priorities else "order"
    assert sorted(plugin for plugin, _, _ in done.lost()) == sorted(order[1:])
    if detect == "effect":
        assert sorted(done.lost()) == sorted((name, winner, why) for name in order[1:])
    (applied,) = done.events("applied")
    assert applied["tags"] == {"rule": "T2", "event": "applied", "plugin": winner}
    assert applied["severity"] == "info"
    assert applied["message"] == f"Deployment shop/web: 1 change: 1 of {winner}"


@pytest.mark.parametrize(
    ("priorities", "replicas", "lost"),
    [
        ([], 1, [("y", "x", "order"), ("x", "x", "order")]),
        (["x"], 1, [("x", "x", "order"), ("y", "x", "priority")]),
        (["y"], 2, [("x", "y", "priority"), ("x", "y", "priority")]),
    ],
)
def test_two_plugins_of_one_name(priorities: list[str], replicas: int, lost: list[tuple[str, str, str]]) -> None:
    """T11: both get the priority of the name; between them, the earlier one wins."""
    plugins = [sets("x", 11), sets("y", 12), sets("x", 13)]
    done = transformed([DEPLOYMENT], *plugins, priorities=priorities)
    assert done.items[0]["spec"]["replicas"] == 10 + replicas
    assert done.lost() == lost


def test_the_order_of_items_and_priorities_gives_the_same_bytes() -> None:
    """T2: same input, same bytes out."""
    plugins = [sets("a", 5), sets("b", 6), sets("c", "x", "/spec/ports/0/name", "Service")]
    outputs = {transformed([DEPLOYMENT, SERVICE], *plugins, priorities=["b"]).output for _ in range(3)}
    assert len(outputs) == 1


def test_equal_changes_agree() -> None:
    """T2: both are recorded."""
    done = transformed([DEPLOYMENT], sets("a", 5), sets("b", 5), priorities=["b"])
    assert done.items[0]["spec"]["replicas"] == 5
    assert done.lost() == []
    (applied,) = done.events("applied")
    assert applied["tags"] == {"rule": "T2", "event": "applied", "plugin": "b", "agreed": "a with b"}
    assert applied["message"] == "Deployment shop/web: 1 change: 1 of b; a with b agreed"


def test_every_plugin_sees_the_original(points: Points) -> None:
    """T1, also where a plugin changes the object that it was given."""

    def changes(resource: Value, options: dict[str, str]) -> Response:
        resource["spec"]["replicas"] = 99
        del resource["metadata"]["labels"]
        return Response()

    done = transformed([DEPLOYMENT], points.add("a", changes), sets("b", 5), points.add("c", Response()))
    assert done.items[0]["spec"]["replicas"] == 5
    # T8: once more on what came of it.
    assert [seen["spec"]["replicas"] for seen in points.seen] == [1, 1, 5, 5]
    assert all("labels" in seen["metadata"] for seen in points.seen)


def test_every_plugin_sees_all_options(points: Points) -> None:
    """T1: whatever another one, or the same one before, did to its own."""

    def takes(resource: Value, options: dict[str, str]) -> Response:
        options.clear()
        return Response()

    seen = ({"who": "me"}, {"who": "me", "own": "x"})
    own = points.add("own", takes) | {"options": {"own": "x"}}
    transformed([OTHER, SERVICE], points.add("a", takes), own, options={"who": "me"})
    assert points.options == [*seen, *seen]


def test_skipped_plugins_do_not_run(points: Points) -> None:
    done = transformed([DEPLOYMENT], points.add("a", Response()), sets("b", 5), skipPlugins=["a"], priorities=["a"])
    assert points.seen == []
    assert done.items[0]["spec"]["replicas"] == 5


UNITS = [
    # keep, what is left of the weaker plugin's labels, how many of its operations are ignored
    ("unit", {"free": "1"}, 2),
    ("operation", {"free": "1", "guarded": "1"}, 1),
    ("plugin", {}, 3),
]


@pytest.mark.parametrize(("keep", "labels", "ignored"), UNITS)
def test_what_is_lost_together(keep: str, labels: Value, ignored: int) -> None:
    """T4: operations that share a test are kept or lost as a whole."""
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 6)]
    weaker = {
        "name": "weak",
        "patches": [
            {"ops": [op("add", "/metadata/labels/free", "1")]},
            {"ops": [*guarded, op("add", "/metadata/labels/guarded", "1")]},
        ],
    }
    done = transformed([DEPLOYMENT], sets("strong", 5), weaker, conflicts={"keep": keep})
    assert done.items[0]["metadata"]["labels"] == {"app": "web", "tier": "front", **labels}
    assert len(done.lost()) == ignored
    assert {one["tags"]["plugin"] for one in done.events("ignored")} == {"weak"}


# ---- what stays as it came -----------------------------------------------------------------------------------------


def without_ids(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if "/id: " not in line)


@pytest.mark.parametrize("crlf", [False, True])
def test_everything_else_stays_byte_for_byte(crlf: bool) -> None:
    """T10, W1, W3: comments, quotes and line ends; items that no plugin changes, wholly."""
    plugin = patches(
        "a",
        op("replace", "/spec/replicas", 3),
        op("replace", "/spec/template/spec/containers/1/image", "nginx:1.27"),
        op("remove", "/metadata/labels/tier"),
        target={"kind": "Deployment"},
    )
    done = Done([OTHER, DEPLOYMENT, SERVICE], config_of(plugin), crlf=crlf)
    assert done.exit_code == 0
    wanted = DEPLOYMENT.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    wanted = without_ids(wanted.replace("{app: web, tier: front}", "{app: web}"))
    assert done.text == HEAD + as_item(OTHER) + as_item(wanted) + as_item(SERVICE)


def test_what_is_there_already_changes_no_byte() -> None:
    done = transformed([DEPLOYMENT, SERVICE], sets("a", 1))
    assert done.text == done.before
    assert done.events("applied") == []


def test_no_items_and_no_work() -> None:
    done = Done([], config_of(sets("a", 1)))
    assert not done.items
    assert done.said("info") == ["a wants nothing changed"]


def test_plugins_that_want_nothing_are_named() -> None:
    done = transformed([OTHER], sets("a", 1), patches("b", op("replace", "/data/a", "c")), sets("c", 1))
    assert [one["tags"] for one in done.events("idle")] == [
        {"event": "idle", "plugin": "a"},
        {"event": "idle", "plugin": "c"},
    ]


# ---- what kpt keeps in annotations (T1) ----------------------------------------------------------------------------


def test_entry_points_do_not_see_what_kpt_keeps(points: Points) -> None:
    done = transformed([DEPLOYMENT, SERVICE, BARE], points.add("a", Response()))
    assert done.text == done.before
    deployment, service, bare = points.seen
    assert deployment["metadata"]["annotations"] == {"team": "red"}
    assert service["metadata"] == {"name": "dns"}
    assert bare == yaml.safe_load(BARE)
    assert [{**seen, "metadata": {}} for seen in points.seen] == [{**item, "metadata": {}} for item in done.items]


def test_programs_do_not_see_what_kpt_keeps(programs: Programs) -> None:
    plugin = programs.add("a", f'echo "$request" >> {programs.notes}', "echo '{}'")
    done = transformed([DEPLOYMENT, SERVICE], plugin, options={"x": "y"})
    assert done.text == done.before
    seen = [json.loads(line) for line in programs.notes.read_text().splitlines()]
    assert [one["metadata"].get("annotations") for one in seen] == [{"team": "red"}, None]
    assert [one["extras"] for one in seen] == [{"x": "y"}] * 2
    assert "config.k" not in programs.notes.read_text()


ANNOTATIONS = [
    # operations, the annotations that are not kpt's afterwards
    ([op("remove", "/metadata/annotations")], {}),
    ([op("replace", "/metadata/annotations", {})], {}),
    ([op("replace", "/metadata/annotations", None)], {}),
    ([op("replace", "/metadata/annotations", {"x": "y"})], {"x": "y"}),
    ([op("add", "/metadata/annotations", {"x": "y", PATH: "evil.yaml", ID: "9"})], {"x": "y"}),
    ([op("add", f"/metadata/annotations/{PATH.replace('/', '~1')}", "evil.yaml")], {"team": "red"}),
    ([op("remove", f"/metadata/annotations/{PATH.replace('/', '~1')}")], {"team": "red"}),
    (
        [op("add", "/metadata/annotations/internal.config.kubernetes.io~1package-path", "/evil")],
        {"team": "red"},
    ),
    ([op("replace", "/metadata", {"name": "web", "namespace": "shop"})], {}),
    ([op("replace", "", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})], {}),
    (
        [op("move", "/metadata/labels", **{"from": "/metadata/annotations"})],
        {},
    ),
]


@pytest.mark.parametrize(("ops", "annotations"), ANNOTATIONS)
def test_what_kpt_keeps_is_put_back(ops: list[Value], annotations: Value) -> None:
    """Without its path kpt would take the object for a new one, and delete its file."""
    done = transformed([DEPLOYMENT, OTHER], patches("a", *ops, target={"kind": "Deployment"}))
    found = dict(done.items[0]["metadata"]["annotations"])
    for name in (ID, LEGACY_ID):
        # W3: an edited item loses its ids.
        if found.pop(name, None) is not None:
            assert done.text == done.before
    assert found == {PATH: "apps/web.yaml", **annotations}
    assert done.text.endswith(as_item(OTHER))


@pytest.mark.parametrize("name", [PATH, INDEX, "internal.config.kubernetes.io/package-path", ID])
def test_what_kpt_keeps_is_not_made_up(name: str) -> None:
    """A path of a plugin's would lead kpt to any file of the package."""
    done = transformed([BARE], patches("a", op("add", "/metadata/annotations", {name: "../evil", "x": "y"})))
    assert done.items[0]["metadata"]["annotations"] == {"x": "y"}


MEDDLING = [
    # an operation, its field, what is said of it
    (op("add", f"/metadata/annotations/{PATH.replace('/', '~1')}", "evil.yaml"), PATH, "is ignored: "),
    (op("remove", f"/metadata/annotations/{PATH.replace('/', '~1')}"), PATH, "is ignored: "),
    (op("add", f"/metadata/annotations/{INDEX.replace('/', '~1')}", "7"), INDEX, "is ignored: "),
    (op("add", "/metadata/annotations", {"team": "red", INDEX: "7"}), INDEX, f"is ignored for {INDEX}: "),
    (
        op("copy", "/metadata/annotations", **{"from": "/spec/books"}),
        INDEX,
        f"is ignored for {INDEX}: ",
    ),
]


@pytest.mark.parametrize(("wish", "name", "says"), MEDDLING)
def test_what_would_change_what_kpt_keeps_is_told(wish: Value, name: str, says: str) -> None:
    """T5: ignored, not counted, not called a change at the next run."""
    item = DEPLOYMENT.replace("spec:\n", f'spec:\n  books: {{team: red, {INDEX}: "7"}}\n', 1)
    done = transformed([item], patches("a", wish))
    assert done.text == done.before
    assert done.events("applied") == done.events("not-idempotent") == done.events("idle") == []
    (told,) = done.events("ignored")
    assert says in told["message"]
    tags = {"rule": "T5", "event": "ignored", "plugin": "a", "reason": "bookkeeping"}
    assert told["tags"] == {**tags, "op": wish["op"], "pointer": wish["path"]}
    assert (told["severity"], told["field"]["path"]) == ("warning", f'metadata.annotations["{name}"]')
    if name == PATH:
        assert told["field"]["currentValue"] == told["field"]["proposedValue"] == "apps/web.yaml"
    # What else the plugin wants is done, and counted alone.
    done = transformed([item], patches("a", wish, op("replace", "/spec/replicas", 3)))
    assert done.items[0]["spec"]["replicas"] == 3
    assert len(done.events("ignored")) == 1
    assert done.events("not-idempotent") == []
    (applied,) = done.events("applied")
    assert applied["message"].endswith("2 changes: 2 of a" if " for " in says else "1 change: 1 of a")


def test_plugins_that_agree_on_what_kpt_keeps_are_told_both() -> None:
    wish = op("add", f"/metadata/annotations/{INDEX.replace('/', '~1')}", "7")
    plugins = [patches("a", wish), patches("b", wish, op("replace", "/spec/replicas", 3))]
    done = transformed([DEPLOYMENT], *plugins)
    assert [one["tags"]["plugin"] for one in done.events("ignored")] == ["a", "b"]
    (applied,) = done.events("applied")
    assert "agreed" not in applied["tags"]


def test_the_metadata_of_a_plugin_that_gives_none_back() -> None:
    """Removing all annotations keeps the text of kpt's own."""
    done = transformed([DEPLOYMENT], patches("a", op("remove", "/metadata/annotations")))
    wanted = "".join(line for line in without_ids(DEPLOYMENT).splitlines(keepends=True) if "team:" not in line)
    assert done.text == HEAD + as_item(wanted)


# ---- what plugins are not shown ------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [KPTFILE, LOCAL])
def test_kptfiles_and_local_configuration_are_not_shown(points: Points, item: str) -> None:
    done = transformed([item, BARE], points.add("a", Response(is_whiteout=True)), whiteout={"action": "drop"})
    assert [seen["metadata"]["name"] for seen in points.seen] == ["bare"]
    assert done.text == HEAD + as_item(item)


def test_local_config_that_says_no_is_shown(points: Points) -> None:
    transformed([LOCAL.replace('"true"', '"false"')], points.add("a", Response()))
    assert len(points.seen) == 1


# ---- whiteouts (T5) ------------------------------------------------------------------------------------------------

BUILTIN: Final[Value] = {"name": "KubernetesPlugin", "builtin": "kubernetes"}


def test_a_whiteout_marks_by_default() -> None:
    """Nothing is deleted, and a second run leaves it as it is."""
    done = transformed([CLAIM, OTHER], BUILTIN)
    wanted = without_ids(CLAIM) + f'    {LOCAL_CONFIG}: "true"\n'
    assert done.text == HEAD + as_item(wanted) + as_item(OTHER)
    (told,) = done.events("whiteout")
    assert told["severity"] == "info"
    assert told["message"].startswith("PersistentVolumeClaim data: KubernetesPlugin whites it out (")
    assert told["message"].endswith("; it is marked local-config and will not be applied")
    assert told["tags"] == {**told["tags"], "rule": "T5", "event": "whiteout", "plugin": "KubernetesPlugin"}
    assert told["tags"]["reason"]
    assert told["file"] == {"path": "data.yaml"}
    assert told["resourceRef"] == {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data"}
    again = transformed([wanted, OTHER], BUILTIN)
    assert again.text == again.before
    assert again.events("whiteout") == []


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ("{name: x}", f'{{name: x, annotations: {{{LOCAL_CONFIG}: "true"}}}}'),
        (
            f'{{name: x, annotations: {{{LOCAL_CONFIG}: "false", a: b}}}}',
            f'{{name: x, annotations: {{{LOCAL_CONFIG}: "true", a: b}}}}',
        ),
    ],
)
def test_marks_where_there_was_none(points: Points, metadata: str, wanted: str) -> None:
    item = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"
    done = transformed([item], points.add("a", Response(is_whiteout=True)))
    assert done.items[0]["metadata"] == yaml.safe_load(wanted)


def test_a_whiteout_may_drop() -> None:
    done = transformed([DEPLOYMENT, CLAIM, OTHER], BUILTIN, whiteout={"action": "drop"})
    assert done.text == HEAD + as_item(DEPLOYMENT) + as_item(OTHER)
    (told,) = done.events("whiteout")
    assert told["message"].endswith("; it is removed from the package")
    assert (told["severity"], told["file"]) == ("info", {"path": "data.yaml"})


def test_all_items_may_be_dropped(points: Points) -> None:
    whiteout = points.add("a", Response(is_whiteout=True))
    assert transformed([BARE, OTHER], whiteout, whiteout={"action": "drop"}).items == []


def test_a_whiteout_may_be_refused() -> None:
    done = Done([DEPLOYMENT, CLAIM], config_of(sets("a", 5), BUILTIN, whiteout={"action": "error"}))
    assert done.exit_code == 1
    (told,) = done.events("whiteout")
    assert told["severity"] == "error"
    assert told["message"].endswith("; whiteout.action is error")


@pytest.mark.parametrize("priorities", [[], ["a"], ["b"]])
def test_any_whiteout_wins(points: Points, priorities: list[str]) -> None:
    """T5: whatever the priorities are; what others wanted is told."""
    whiteout = points.add("b", Response(is_whiteout=True, reason="old"))
    third = points.add("c", {"isWhiteOut": True, "patches": [op("remove", "/spec")]})
    done = transformed([DEPLOYMENT], sets("a", 5), whiteout, third, priorities=priorities)
    assert done.items[0]["spec"]["replicas"] == 1
    assert done.items[0]["metadata"]["annotations"][LOCAL_CONFIG] == "true"
    assert [one["tags"]["plugin"] for one in done.events("whiteout")] == ["b", "c"]
    assert [one["tags"]["reason"] for one in done.events("whiteout")] == ["old", ""]
    # Who wants it gone loses nothing.
    assert done.lost() == [("a", "b", "whiteout")]
    (lost,) = done.events("ignored")
    assert lost["field"] == {"path": "spec.replicas", "currentValue": "1", "proposedValue": "1"}
    assert lost["tags"]["value"] == "5"
    assert lost["message"] == "Deployment shop/web: a's replace /spec/replicas is ignored: b whites the resource out"


# ---- what is told of a change that is ignored (T5) -----------------------------------------------------------------

IMAGE = "/spec/template/spec/containers/1/image"


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_an_ignored_change(severity: str) -> None:
    plugins = [
        patches("weak", op("add", "/spec/paused", True), op("replace", IMAGE, 'say "hi"')),
        sets("strong", "nginx:9", IMAGE),
    ]
    done = transformed([DEPLOYMENT], *plugins, priorities=["strong"], conflicts={"onConflict": severity})
    (told,) = done.events("ignored")
    assert told == {
        "severity": severity,
        "message": f"Deployment shop/web: weak's replace {IMAGE} is ignored: strong has priority (replace {IMAGE})",
        "resourceRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop"},
        "file": {"path": "apps/web.yaml"},
        "field": {
            "path": "spec.template.spec.containers[name=web].image",
            "currentValue": "nginx:1.25",
            "proposedValue": "nginx:9",
        },
        "tags": {
            "rule": "T5",
            "event": "ignored",
            "plugin": "weak",
            "winner": "strong",
            "reason": "priority",
            "op": "replace",
            "pointer": IMAGE,
            "value": '"say \\"hi\\""',
            "unit": "2",
        },
    }
    assert done.items[0]["spec"]["paused"] is True


def test_a_conflict_may_be_an_error() -> None:
    """All of them are told, and no byte changes."""
    plugins = [sets("a", 5), sets("b", 6), sets("a", "x", "/spec/type", "Service"), sets("c", "y", "/spec/type", ".*")]
    done = Done([DEPLOYMENT, SERVICE], config_of(*plugins[:2], conflicts={"onConflict": "error"}))
    assert done.exit_code == 1
    assert len(done.said("error")) == 1
    service = [patches(name, op("add", "/spec/type", name), target={"kind": "Service"}) for name in "de"]
    done = Done([DEPLOYMENT, SERVICE, OTHER], config_of(*plugins[:2], *service, conflicts={"onConflict": "error"}))
    assert done.exit_code == 1
    assert [one["severity"] for one in done.events("ignored")] == ["error", "error"]
    assert "(and 1 more)" in done.message
    assert done.events("ignored")[1]["file"] == {"path": "dns.yaml", "index": 2}


FIELDS = [
    # what the loser wants, what the winner does, the field and its values before and after
    (op("remove", "/spec/replicas"), op("replace", "/spec/replicas", 7), "spec.replicas", "1", "7"),
    (op("replace", "/spec/replicas", 7), op("remove", "/spec/replicas"), "spec.replicas", "1", None),
    (op("add", "/spec/paused", True), op("add", "/spec/paused", False), "spec.paused", None, "false"),
    (
        op("replace", "/metadata/labels", {"a": "b"}),
        op("add", "/metadata/labels/app", "x"),
        "metadata.labels",
        '{"app":"web","tier":"front"}',
        '{"app":"x","tier":"front"}',
    ),
    (
        op("add", "/metadata/annotations/a.b~1c", "1"),
        op("add", "/metadata/annotations/a.b~1c", "ü"),
        'metadata.annotations["a.b/c"]',
        None,
        "ü",
    ),
    (
        op("replace", "/spec/template/spec/containers/[name=web]/args/1", "-c"),
        op("replace", "/spec/template/spec/containers/[name=web]/args", ["-d"]),
        "spec.template.spec.containers[name=web].args[1]",
        "-b",
        None,
    ),
]


@pytest.mark.parametrize(("weak", "strong", "path", "current", "proposed"), FIELDS)
def test_fields(weak: Value, strong: Value, path: str, current: str | None, proposed: str | None) -> None:
    done = transformed([DEPLOYMENT], patches("s", strong), patches("w", weak))
    (told,) = done.events("ignored")
    values = {"path": path, "currentValue": current, "proposedValue": proposed}
    assert told["field"] == {name: text for name, text in values.items() if text is not None}
    assert (told["tags"]["op"], told["tags"]["pointer"]) == (weak["op"], weak["path"])
    wanted = json.dumps(weak["value"], separators=(",", ":")) if "value" in weak else None
    assert told["tags"].get("value") == wanted


# ---- Secrets -------------------------------------------------------------------------------------------------------

SECRET = f"""\
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    {PATH}: s.yaml
data: {{password: c2VjcmV0, list: [c2VjcmV0]}}
stringData: {{}}
"""
WISHES = [
    op("replace", "/data/password", "aGlkZGVu"),
    op("add", "/data/password", {"a": "aGlkZGVu"}),
    op("replace", "/data", {"password": "aGlkZGVu"}),
    op("replace", "/data/list/0", "aGlkZGVu"),
    op("test", "/data/password", "aGlkZGVu"),
    op("remove", "/data/password/c2Vj"),
]


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("severity", ["warning", "error"])
@pytest.mark.parametrize("whiteout", [False, True])
def test_values_of_secrets_are_not_told(points: Points, wish: Value, severity: str, whiteout: bool) -> None:
    """T5: neither what was there, nor what stands, nor what was wanted."""
    strong = [op("replace", "/data/password", "c3Ryb25n"), op("replace", "/data/list/0", "c3Ryb25n")]
    plugins = [
        points.add("s", {"patches": strong, "isWhiteOut": whiteout}),
        points.add("w", {"patches": [wish]}),
    ]
    done = Done([SECRET], config_of(*plugins, conflicts={"onConflict": severity}))
    assert "aGlkZGVu" not in done.output
    assert "c2VjcmV0" not in done.told + done.message
    assert "c3Ryb25n" not in done.told + done.message
    for one in done.events("ignored"):
        assert one["tags"].get("value", "(redacted)") == "(redacted)"
        values = {text for name, text in one.get("field", {}).items() if name != "path"}
        assert values <= {"(redacted)"}


def test_changes_of_secrets_are_not_told(points: Points) -> None:
    """T8, T7: nor where a second run would go on, or a plugin adds one that is there."""
    counter = iter(range(100, 200))

    def counts(resource: Value, options: dict[str, str]) -> Value:
        new = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aGlkZGVu"}}
        return {"patches": [op("add", "/data/n", f"bnVtYmVy{next(counter)}")], "newResources": [new]}

    done = transformed([SECRET], points.add("a", counts))
    assert done.events("not-idempotent")
    assert [one["tags"]["reason"] for one in done.events("ignored")] == ["exists"]
    assert "aGlkZGVu" not in done.output
    assert "bnVtYmVy" not in done.told
    assert "c2VjcmV0" not in done.told


# ---- guards (T4) ---------------------------------------------------------------------------------------------------


def test_a_guard_that_does_not_hold_leaves_the_patch_out() -> None:
    guarded = [op("test", "/spec/replicas", 2), op("replace", "/spec/replicas", 3)]
    done = transformed([DEPLOYMENT], patches("a", *guarded))
    assert done.text == done.before
    (told,) = done.events("test-skipped")
    assert told["severity"] == "info"
    assert told["message"] == "Deployment shop/web: a patch of a is left out: test /spec/replicas found another value"
    assert told["tags"] == {"rule": "T4", "event": "test-skipped", "plugin": "a"}
    assert told["field"] == {"path": "spec.replicas"}
    assert done.events("idle") == []


def test_a_guard_that_holds() -> None:
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 3)]
    done = transformed([DEPLOYMENT], patches("a", *guarded, onTestFailure="error", target={"kind": "Deployment"}))
    assert done.items[0]["spec"]["replicas"] == 3


@pytest.mark.parametrize("path", ["/spec/paused", "/spec/strategy/type", "/spec/template/spec/containers/7/name"])
def test_a_guard_of_what_is_not_there_does_not_hold(path: str) -> None:
    """RFC 6902, 4.6: the target of a test must exist."""
    guarded = [op("test", path, "x"), op("replace", "/spec/replicas", 3)]
    done = transformed([DEPLOYMENT], patches("a", *guarded))
    assert done.text == done.before
    assert len(done.events("test-skipped")) == 1
    assert refused([DEPLOYMENT], patches("a", *guarded, onTestFailure="error"))


@pytest.mark.parametrize("kind", ["program", "dict", "Response"])
def test_a_guard_of_a_plugin_with_code(programs: Programs, points: Points, kind: str) -> None:
    """As with patches: one resource that is different is no failure, and a second run finds nothing to do."""
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 3)]
    answer = {"patches": guarded}
    if kind == "program":
        plugin = programs.add("a", f"echo '{json.dumps(answer)}'")
    else:
        plugin = points.add("a", answer if kind == "dict" else Response.of(*map(Operation.read, guarded)))
    done = transformed([DEPLOYMENT, SERVICE], plugin)
    assert done.items[0]["spec"]["replicas"] == 3
    (told,) = done.events("test-skipped")
    assert told["message"] == "Service dns: a patch of a is left out: test /spec/replicas found another value"
    assert done.events("not-idempotent") == []


def test_a_guard_may_be_an_error() -> None:
    guarded = [op("test", "/spec/replicas", 2), op("replace", "/spec/replicas", 3)]
    second = DEPLOYMENT.replace("name: web\n  namespace", "name: api\n  namespace")
    done = Done([DEPLOYMENT, second], config_of(patches("a", *guarded, onTestFailure="error")))
    assert done.exit_code == 1
    assert done.said("error") == [
        "a: test /spec/replicas found another value (Deployment shop/web, Deployment shop/api)"
    ]


# ---- new resources (T7) --------------------------------------------------------------------------------------------


def created(name: str = "extra", kind: str = "ConfigMap", **fields: Any) -> Value:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


def adds(points: Points, plugin: str, *new: Value, when: str = "Deployment") -> Value:
    return points.add(plugin, lambda resource, _: {"newResources": list(new)} if resource["kind"] == when else {})


def test_a_new_resource_stands_beside_its_source(points: Points) -> None:
    done = transformed([DEPLOYMENT, OTHER], adds(points, "a", created(data={"x": "1"})))
    assert done.text.startswith(done.before)
    annotations = done.items[2]["metadata"]["annotations"]
    assert done.items[2] == created(data={"x": "1"}) | {"metadata": {"name": "extra", "annotations": annotations}}
    assert annotations[PATH] == "apps/configmap_extra.yaml"
    assert annotations[INDEX] == "0"
    (told,) = done.events("created")
    assert told["severity"] == "info"
    assert told["message"] == "ConfigMap extra: added by a for Deployment shop/web"
    assert told["tags"] == {"rule": "T7", "event": "created", "plugin": "a"}
    assert told["file"] == {"path": "apps/configmap_extra.yaml"}
    assert told["resourceRef"] == {"apiVersion": "v1", "kind": "ConfigMap", "name": "extra"}
    # T8: it is there now.
    text = done.text.removeprefix(HEAD).removeprefix(as_item(DEPLOYMENT) + as_item(OTHER))
    added = "".join(line.removeprefix("  ") for line in (" " + text[1:]).splitlines(keepends=True))
    again = transformed([DEPLOYMENT, OTHER, added], adds(points, "a", created(data={"x": "1"})))
    assert again.text == again.before


NAMES = [
    # what is added, its file
    (created(), "apps/configmap_extra.yaml"),
    (created("a:b/../c"), "apps/configmap_a_b_.._c.yaml"),
    (created(kind="../../Evil"), "apps/evil_extra.yaml"),
    ({**created(), "metadata": {"name": "extra", "namespace": "other"}}, "apps/configmap_extra.yaml"),
    ({**created(), "metadata": {"name": "extra", "annotations": {PATH: "../evil.yaml"}}}, "apps/configmap_extra.yaml"),
]


@pytest.mark.parametrize(("new", "path"), NAMES)
def test_files_of_new_resources(points: Points, new: Value, path: str) -> None:
    done = transformed([DEPLOYMENT], adds(points, "a", new))
    annotations = done.items[1]["metadata"]["annotations"]
    assert (annotations[PATH], annotations[INDEX]) == (path, "0")


def test_new_resources_take_free_places(points: Points) -> None:
    there = OTHER.replace("other.yaml", "apps/configmap_extra.yaml")
    new = [{**created(), "metadata": {"name": "extra", "namespace": namespace}} for namespace in ("x", "y")]
    done = transformed([DEPLOYMENT, there], adds(points, "a", *new))
    places = [item["metadata"]["annotations"] for item in done.items[2:]]
    assert [(place[PATH], place[INDEX]) for place in places] == [
        ("apps/configmap_extra.yaml", "1"),
        ("apps/configmap_extra.yaml", "2"),
    ]


def test_new_resources_in_a_subpackage_of_a_render(points: Points) -> None:
    """Items of a subpackage may have the same path; places are told from the root."""
    package = f"    internal.config.kubernetes.io/package-path: /pkg{{}}\n    {PATH}"
    root, sub = (OTHER.replace(f"    {PATH}", package.format(folder)) for folder in ("", "/sub"))
    sub = sub.replace("name: other", "name: below")
    done = transformed(
        [root, sub], points.add("a", lambda r, _: {"newResources": [created(r["metadata"]["name"] * 2)]})
    )
    places = [item["metadata"]["annotations"][PATH] for item in done.items[2:]]
    assert places == ["configmap_otherother.yaml", "sub/configmap_belowbelow.yaml"]


def test_a_new_resource_that_would_change_at_the_next_run(points: Points) -> None:
    """T8: plugins see it only then, so it is told now."""
    label = points.add("label", lambda r, _: {"patches": [op("add", "/metadata/labels/team", "a")]})
    done = transformed([DEPLOYMENT], adds(points, "a", created()), label)
    (told,) = done.events("not-idempotent")
    assert told["message"].startswith("ConfigMap extra: at the next run, label would change /metadata/labels")
    assert told["severity"] == "warning"


def test_an_existing_item_stands(points: Points) -> None:
    done = transformed([DEPLOYMENT, OTHER], adds(points, "a", created("other", data={"a": "b"})))
    assert done.text == done.before
    assert done.events("created") == done.events("ignored") == []
    done = transformed([DEPLOYMENT, OTHER], adds(points, "b", created("other", data={"a": "c"})))
    assert done.text == done.before
    (told,) = done.events("ignored")
    assert told["severity"] == "info"
    assert told["message"] == "ConfigMap other: b wants it otherwise than the package has it; the package's is kept"
    assert told["tags"] == {"rule": "T7", "event": "ignored", "plugin": "b", "reason": "exists"}


def test_plugins_that_add_the_same_agree(points: Points) -> None:
    plugins = [adds(points, name, created(data={"x": 1.0 if name == "b" else 1})) for name in "ab"]
    done = transformed([DEPLOYMENT], *plugins)
    assert len(done.items) == 2
    assert [one["tags"]["plugin"] for one in done.events("created")] == ["a"]
    assert done.events("ignored") == []


def test_many_sources_of_one_new_resource(points: Points) -> None:
    items = [OTHER.replace("name: other", f"name: o{n}") for n in range(3)]
    done = transformed(items, adds(points, "a", created(), when="ConfigMap"))
    assert len(done.items) == 4
    assert len(done.events("created")) == 1


@pytest.mark.parametrize(("priorities", "winner"), [([], "a"), (["b"], "b"), (["c", "b"], "c")])
def test_plugins_that_add_it_otherwise(points: Points, priorities: list[str], winner: str) -> None:
    """T7: the priorities decide."""
    plugins = [adds(points, name, created(data={"of": name})) for name in "abc"]
    done = transformed([DEPLOYMENT], *plugins, priorities=priorities)
    assert [item["data"]["of"] for item in done.items[1:]] == [winner]
    assert {one["tags"]["plugin"] for one in done.events("ignored")} == set("abc") - {winner}
    for told in done.events("ignored"):
        assert (told["severity"], told["tags"]["winner"]) == ("warning", winner)
        assert told["resourceRef"]["name"] == "extra"
    done = Done([DEPLOYMENT], config_of(*plugins, priorities=priorities, conflicts={"onConflict": "error"}))
    assert done.exit_code == 1


@pytest.mark.parametrize("priorities", [[], ["same"]])
def test_plugins_of_one_name_that_add_it_otherwise(points: Points, priorities: list[str]) -> None:
    """T11: the earlier declared wins, whichever resource comes first."""
    first = adds(points, "first", created(data={"of": "first"}), when="Service") | {"name": "same"}
    second = adds(points, "second", created(data={"of": "second"})) | {"name": "same"}
    done = transformed([DEPLOYMENT, SERVICE], first, second, priorities=priorities)
    assert [item["data"]["of"] for item in done.items[2:]] == ["first"]
    assert [one["tags"]["winner"] for one in done.events("ignored")] == ["same"]


def test_nothing_is_added_where_anything_is_refused(points: Points) -> None:
    done = Done([DEPLOYMENT], config_of(adds(points, "a", created()), patches("b", op("replace", "/none", 1))))
    assert done.exit_code == 1
    assert done.events("created") == []


def test_what_a_whiteout_leaves_behind(points: Points) -> None:
    """A plugin may put something else in the place of what it whites out."""
    plugin = points.add("a", Response(is_whiteout=True, new_resources=(created(kind="Widget"),)))
    done = transformed([OTHER], plugin, whiteout={"action": "drop"})
    assert [item["kind"] for item in done.items] == ["Widget"]


@pytest.mark.parametrize("action", ["drop", "annotate"])
@pytest.mark.usefixtures("three_processors")
def test_a_whiteout_makes_room_for_what_replaces_it(
    monkeypatch: pytest.MonkeyPatch, points: Points, action: str
) -> None:
    """The new resource may have the names of the old one; what the package has besides stands."""
    monkeypatch.setattr(parallel, "WORTH_IT", 2)
    new = (created("old", data={"n": "1"}), created("other", data={"n": "1"}))
    answer = Response(is_whiteout=True, new_resources=new)
    plugin = points.add("a", lambda resource, _: answer if resource["metadata"]["name"] == "old" else Response())
    old = OTHER.replace("name: other", "name: old")
    items = [old, *many(6, DEPLOYMENT, SERVICE), OTHER]
    done = transformed(items, plugin, whiteout={"action": action})
    found = [item for item in done.items if item["metadata"]["name"] == "old"]
    assert [item["data"] for item in found][-1] == {"n": "1"}
    assert len(found) == (2 if action == "annotate" else 1)
    assert LOCAL_CONFIG not in found[-1]["metadata"]["annotations"]
    assert [one["resourceRef"]["name"] for one in done.events("created")] == ["old"]
    assert [one["resourceRef"]["name"] for one in done.events("ignored")] == ["other"]


@pytest.mark.parametrize("missing", ["apiVersion", "kind", "metadata"])
def test_new_resources_that_are_none(points: Points, missing: str) -> None:
    new = created()
    del new[missing]
    (error,) = refused([DEPLOYMENT], adds(points, "a", new))
    field_ = "name" if missing == "metadata" else missing
    assert error == f"a: a new resource of the response is missing {field_} (Deployment shop/web)"


NO_NAMES = [
    # a change of a new resource, what is said of it
    ({"metadata": {"name": "a\0b"}}, "name of a new resource of the response is 'a\\x00b'; leave out what cannot be"),
    ({"metadata": {"name": "a\nb"}}, "name of a new resource of the response is 'a\\nb'; leave out what cannot be"),
    ({"kind": "A\0"}, "kind of a new resource of the response is 'A\\x00'; leave out what cannot be printed"),
    ({"metadata": {"name": "a" * 400}}, "kind and name of a new resource of the response have 409 bytes; a file name"),
    ({"metadata": {"name": "ä" * 121}}, "kind and name of a new resource of the response have 251 bytes; a file name"),
]


@pytest.mark.parametrize(("change", "says"), NO_NAMES)
def test_new_resources_that_no_file_can_be_named_after(points: Points, change: Value, says: str) -> None:
    (error,) = refused([DEPLOYMENT], adds(points, "a", {**created(), **change}))
    assert error.startswith(f"a: {says}")


def test_the_longest_name_of_a_new_resource(points: Points, tmp_path: Path) -> None:
    done = transformed([DEPLOYMENT], adds(points, "a", created("a" * 240)))
    (tmp_path / Path(done.items[1]["metadata"]["annotations"][PATH]).name).touch()


UNREADABLE = [
    {"metadata": {"name": "extra", "annotations": ["a"]}},
    {"metadata": {"name": "extra", "annotations": "a"}},
    {"metadata": {"name": ""}},
    {"metadata": ["extra"]},
    {"kind": 5},
]


@pytest.mark.parametrize("change", UNREADABLE)
@pytest.mark.parametrize("read", [True, False])
def test_new_resources_that_cannot_be_read(points: Points, change: Value, read: bool) -> None:
    """What a plugin answers is checked, whatever its form; the error names it."""
    new = {**created(), **change}
    plugin = points.add("a", lambda *_: {"newResources": [new]} if read else Response(new_resources=(new,)))
    (error,) = refused([DEPLOYMENT], plugin)
    assert error.startswith("a: ")


# ---- lists of custom resources -------------------------------------------------------------------------------------

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: zones.example.com}
spec:
  group: example.com
  names: {kind: Zone}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}
"""
ZONE = """\
apiVersion: example.com/v1
kind: Zone
metadata: {name: z}
parts:
- id: 1 # one
  x: 1
- id: 2 # two
  x: 2
"""
ZONE_KEYS = {"apiVersion": "example.com/v1", "kind": "Zone", "path": "parts", "keys": ["id"]}


@pytest.mark.parametrize(("items", "fields"), [([ZONE, CRD], {}), ([ZONE], {"listKeys": [ZONE_KEYS]})])
def test_lists_with_keys(items: list[str], fields: Value) -> None:
    """T3: elements are followed by identity, by the package's definitions or the user's keys."""
    zone = {"kind": "Zone"}
    plugins = [
        patches("a", op("remove", "/parts/0"), target=zone),
        patches("b", op("replace", "/parts/1/x", 9), target=zone),
        patches("c", op("replace", "/parts/1/x", 8), target=zone),
    ]
    done = Done(items, config_of(*plugins, **fields))
    assert done.items[0]["parts"] == [{"id": 2, "x": 9}]
    assert "- id: 2 # two\n" in done.text
    (told,) = done.events("ignored")
    assert told["field"]["path"] == "parts[id=2].x"


# ---- a second run (T8) ---------------------------------------------------------------------------------------------


def test_a_second_run_that_goes_on() -> None:
    done = transformed(
        [SERVICE],
        sets("b", "x", "/spec/ports/0/name", "Service"),
        patches("a", op("add", "/spec/ports/-", {"port": 80})),
    )
    (told,) = done.events("not-idempotent")
    assert told["severity"] == "warning"
    assert told["message"] == (
        "Service dns: run again on its own result, a would change /spec/ports/3 again; "
        "in a pipeline it runs at every render"
    )
    assert told["tags"] == {"rule": "T8", "event": "not-idempotent", "plugin": "a"}
    assert told["file"] == {"path": "dns.yaml", "index": 2}


IDEMPOTENT = [
    op("replace", "/spec/ports/0/port", 54),
    op("add", "/spec/type", "ClusterIP"),
    op("add", "/spec/ports", []),
    op("remove", "/spec/type"),
    op("copy", "/spec/type", **{"from": "/spec/ports/0/name"}),
]


@pytest.mark.parametrize("one", IDEMPOTENT)
def test_a_second_run_that_changes_nothing(one: Value) -> None:
    assert transformed([SERVICE], patches("a", one)).events("not-idempotent") == []


def test_the_builtin_plugin_runs_again() -> None:
    item = DEPLOYMENT.replace("  labels:", "  uid: u\n  labels:")
    done = transformed([item, SERVICE, OTHER], BUILTIN, options={"add-annotations": "a=b"})
    assert [item["metadata"]["annotations"]["a"] for item in done.items] == ["b", "b", "b"]
    assert done.events("not-idempotent") == []


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (Response(is_whiteout=True), "a would white it out"),
        ({"version": "v9"}, "a fails: the response has version v9; v1 is expected"),
    ],
)
def test_a_second_run_that_does_something_else(points: Points, second: Response | Value, says: str) -> None:
    first = {"patches": [op("replace", "/data/a", "c")]}
    plugin = points.add("a", lambda resource, _: first if resource["data"]["a"] == "b" else second)
    done = transformed([OTHER], plugin)
    (told,) = done.said("warning")
    assert told.startswith(f"ConfigMap other: run again on its own result, {says}")


# ---- what is no resource any more ----------------------------------------------------------------------------------

FLAWS = [
    (op("remove", "/kind"), "leaves the resource without kind"),
    (op("replace", "/kind", ""), "leaves the resource without kind"),
    (op("replace", "/kind", 5), "leaves the resource without kind"),
    (op("remove", "/apiVersion"), "leaves the resource without apiVersion"),
    (op("replace", "/apiVersion", None), "leaves the resource without apiVersion"),
    (op("remove", "/metadata"), "leaves the resource without metadata"),
    (op("replace", "/metadata", "text"), "leaves the resource without metadata"),
    (op("replace", "", {}), "leaves the resource without apiVersion"),
    (op("replace", "/metadata/annotations", ["a"]), "leaves the resource without a map in metadata.annotations"),
]


@pytest.mark.parametrize(("flaw", "says"), FLAWS)
def test_what_leaves_no_resource_is_refused(flaw: Value, says: str) -> None:
    done = Done([DEPLOYMENT, OTHER], config_of(patches("a", flaw, target={"kind": "Deployment"}), sets("b", 5)))
    assert done.exit_code == 1
    (error,) = [one for one in done.results if one["severity"] == "error"]
    assert error["message"].startswith("a")
    assert error["message"].endswith(f": {says} (Deployment shop/web)")
    assert error["tags"]["rule"] == "T6"
    assert error["tags"]["event"] == "plugin-error"


@pytest.mark.parametrize("flaw", [op("remove", "/metadata/name"), op("replace", "/metadata/name", "")])
def test_the_name_cannot_be_removed(flaw: Value) -> None:
    """kpt takes no resource without one."""
    (error,) = refused([DEPLOYMENT], patches("a", flaw))
    assert error.startswith("a: ")
    assert "name" in error
    assert error.endswith(" (Deployment shop/web)")


# ---- options -------------------------------------------------------------------------------------------------------


def test_options(points: Points) -> None:
    """Those of a plugin count more than those for all."""
    plugins = [{**points.add("a", Response()), "options": {"x": "1", "z": "3"}}, points.add("b", Response())]
    transformed([BARE], *plugins, options={"x": "0", "y": "2"})
    assert points.options == [{"x": "1", "y": "2", "z": "3"}, {"x": "0", "y": "2"}]


def test_unknown_options_warn(programs: Programs, points: Points) -> None:
    known = {"optionalFields": [{"flagName": "color", "help": "Which.", "example": "red"}]}
    program = {**programs.add("p", "echo '{}'", meta=known), "options": {"colour": "red"}}
    done = transformed([BARE], program, BUILTIN, options={"color": "red", "registry-replacment": "a=b"})
    assert done.said("warning") == [
        "functionConfig: no plugin knows the option registry-replacment",
        "functionConfig: p does not know the option colour",
    ]
    # One that tells nothing of its options may know any.
    done = transformed([BARE], program, points.add("a", Response()), options={"registry-replacment": "a=b"})
    assert done.said("warning") == ["functionConfig: p does not know the option colour"]


def test_entry_points_tell_their_options(points: Points) -> None:
    class Colors:
        metadata = Metadata("Colors", "v2", (OptionalField("color"),))

        def run(self, resource: Value, options: dict[str, str]) -> Response:
            return Response.of(Operation("add", ("data", "color"), value=options["color"]))

    points.all.append(Point("colors", Colors))
    done = transformed([BARE], {"entryPoint": "colors"}, options={"color": "red", "size": "9"})
    assert done.items[0]["data"] == {"color": "red"}
    assert done.said("warning") == ["functionConfig: no plugin knows the option size"]


def test_a_broken_option_is_an_error_of_its_plugin() -> None:
    (error,) = refused([OTHER, SERVICE], BUILTIN, options={"strip-default-rbac": "maybe"})
    assert error.startswith("KubernetesPlugin: option strip-default-rbac is 'maybe'")
    assert error.endswith(" (ConfigMap other, Service dns)")


# ---- plugins that fail (T6) ----------------------------------------------------------------------------------------


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
    assert done.said("error") == [
        f"a: KeyError: 'data' ({names} and 3 more)",
        f"c: PluginRunError: no: because ({names} and 3 more)",
        "d: patches and newResources of the response are lists (ConfigMap o3)",
    ]
    assert [one["tags"] for one in done.results] == [
        {"rule": "T6", "event": "plugin-error", "plugin": name} for name in "acd"
    ]


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


JSON_KNOWS: Final = "JSON knows dict, list, str, int, float, bool and None"
WRONG_ANSWERS: list[tuple[Callable[[], Any], str]] = [
    # what a plugin answers, what is said of it
    (lambda: Response.of(add_x("/spec/x", 1)), "the path of add is '/spec/x'; a tuple of texts is expected: ('spec',"),
    (lambda: Response.of(add_x(("spec", 0), 1)), "the path of add is ('spec', 0); a tuple of texts is expected"),
    (lambda: Response.of(Operation("copy", ("x",), "/spec")), "the source of copy is '/spec'; a tuple of texts"),  # type: ignore[arg-type]
    (lambda: Response.of(Operation("set", ("x",))), "op is 'set'; known are add, remove, replace, move, copy, test"),  # type: ignore[arg-type]
    (lambda: Response.of(add_x(("x" * 3,) * 200, 1)), "the path of add has more than 126 levels"),
    (lambda: Response((add_x(("x",), 1),)), "patches of the response: a tuple of Patch is expected"),  # type: ignore[arg-type]
    (lambda: Response(Patch(())), "patches of the response: a tuple of Patch is expected"),  # type: ignore[arg-type]
    (lambda: Response(iter(())), "patches of the response: a tuple of Patch is expected"),  # type: ignore[arg-type]
    (lambda: Response((Patch(("x",)),)), "operations of a patch: a tuple of Operation is expected"),  # type: ignore[arg-type]
    (lambda: Response(is_whiteout="no"), "is_whiteout of the response: a bool is expected"),  # type: ignore[arg-type]
    (lambda: Response(reason=5), "reason of the response: a str is expected"),  # type: ignore[arg-type]
    (lambda: Response(new_resources=("x",)), "new_resources of the response: a tuple of dict is expected"),  # type: ignore[arg-type]
    (lambda: 5, "the response is no JSON object with version, isWhiteOut, patches and newResources"),
]
WRONG_VALUES = [
    # a value, what is said of it
    (("a", "b"), f"holds a tuple; {JSON_KNOWS}"),
    ({"a": [{"b", "c"}]}, f"holds a set; {JSON_KNOWS}"),
    (date(2020, 1, 1), f"holds a date; {JSON_KNOWS}"),
    (OrderedDict(a=1), f"holds a OrderedDict; {JSON_KNOWS}"),
    ({1: 2}, "holds a key that is no text"),
    ({"\ud800": 2}, "holds a key that is no text"),
    (["\ud800"], "holds half a character"),
    (float("nan"), "holds nan, which JSON does not know"),
    (nested(150), "is nested deeper than 126 levels"),
]


def add_x(path: Any, value: Any) -> Operation:
    return Operation("add", path, value=value)


@pytest.mark.parametrize(("answer", "says"), WRONG_ANSWERS)
def test_answers_that_are_none(points: Points, answer: Callable[[], Any], says: str) -> None:
    """T6: the error names the plugin, and no item changes."""
    (error,) = refused([DEPLOYMENT], points.add("a", lambda *_: answer()))
    assert error.startswith(f"a: {says}")
    assert error.endswith("(Deployment shop/web)")


@pytest.mark.parametrize(("value", "says"), WRONG_VALUES)
def test_values_that_are_no_json(points: Points, value: Any, says: str) -> None:
    """However a plugin answers."""
    made = points.add("made", lambda *_: Response.of(add_x(("spec", "x"), value)))
    read = points.add("read", {"patches": [op("add", "/spec/x", value)]})
    new = adds(points, "new", created(data=value))
    where = "(Deployment shop/web)"
    assert refused([DEPLOYMENT], made, read, new) == [
        f"made: the value of add /spec/x {says} {where}",
        f"read: the value of add /spec/x {says} {where}",
        f"new: a new resource of the response {says} {where}",
    ]


def test_the_deepest_value(points: Points) -> None:
    """It can be read again, as an item and in a file."""
    deepest = points.add(
        "a", {"patches": [op("add", "/spec/x", nested(124))], "newResources": [created(x=nested(125))]}
    )
    done = transformed([DEPLOYMENT], deepest)
    assert process(done.output.encode()).exit_code == 0
    for answer in ({"patches": [op("add", "/spec/x", nested(125))]}, {"newResources": [created(x=nested(126))]}):
        (error,) = refused([DEPLOYMENT], points.add("b", answer))
        assert "nested deeper than 126 levels" in error


def test_copies_that_are_too_deep() -> None:
    """Each puts all of it into its innermost map."""
    copies = [{"op": "copy", "from": "/x", "path": "/x" + "/a" * 2**times} for times in range(1, 7)]
    for number, last in ((5, False), (6, True)):
        plugins = sets("b", 5), patches("a", op("add", "/x", {"a": {}}), *copies[:number])
        done = Done([DEPLOYMENT], config_of(*plugins))
        too_deep = ["a: makes a resource that is nested deeper than 126 levels (Deployment shop/web)"]
        assert done.said("error") == (too_deep if last else [])


def test_what_entry_points_print_is_not_in_the_output(points: Points, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the function and of `krm-merge transform --output json`, which both are on stdout."""

    class Talks:
        def __init__(self) -> None:
            print("made")

        def run(self, resource: Value, options: dict[str, str]) -> Response:
            print("looking at", resource["kind"])
            return Response()

    points.all.append(Point("talks", Talks))
    transformed([OTHER], {"entryPoint": "talks"})
    assert capsys.readouterr() == ("", "made\nlooking at ConfigMap\n")


def test_a_plugin_cannot_end_the_program(points: Points) -> None:
    """Nothing on stdout and exit code 0 would look like success."""

    def leaves(resource: Value, options: dict[str, str]) -> Response:
        raise SystemExit(0)

    (error,) = refused([OTHER], points.add("a", leaves))
    assert error.startswith("a: SystemExit")


WRONG_OPERATIONS = [
    (op("replace", "/spec/none", 1), "/spec/none"),
    (op("move", "/spec/a", **{"from": "/spec/none"}), "/spec/none"),
    (op("add", "/spec/replicas/x", 1), "/spec/replicas"),
    (op("add", "/spec/template/spec/containers/7", {}), "has 2 elements; 7 is no place among them"),
    (
        op("replace", f"/spec/template/spec/containers/{'1' * 5000}", {}),
        "there is no /spec/template/spec/containers/111",
    ),
    (op("add", f"/spec/template/spec/containers/{'1' * 5000}", {}), "1 is no place among them"),
    (op("remove", ""), "the whole object cannot be removed"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG_OPERATIONS)
def test_operations_that_cannot_be_carried_out(wrong: Value, says: str) -> None:
    (error,) = refused([DEPLOYMENT], sets("b", 5), patches("a", wrong))
    assert error.startswith("a: ")
    assert says in error
    assert error.endswith(" (Deployment shop/web)")


def test_items_that_are_no_resources() -> None:
    items = [BARE, OTHER.replace("kind: ConfigMap\n", ""), OTHER.replace("data:", "data: 1\ndata:")]
    first, second = refused(items, sets("a", 5))
    assert "apiVersion and kind are expected" in first
    assert first.startswith("other.yaml: ")
    assert second.startswith("other.yaml: ")
    assert "the key data is there twice" in second


# ---- programs ------------------------------------------------------------------------------------------------------


def test_programs_change_resources(programs: Programs) -> None:
    """T6: crane's protocol; the name is given, or the metadata's, or the file's."""
    answer = json.dumps({"version": "v1", "patches": [op("replace", "/spec/replicas", 3)]})
    script = f"echo '{answer}'"
    named = programs.add("file", script, meta={"name": "Told"})
    for name, wanted in (("given", "given"), (None, "Told")):
        done = transformed([DEPLOYMENT], {"name": name, "exec": named["exec"]}, priorities=[wanted])
        assert done.items[0]["spec"]["replicas"] == 3
        assert done.events("applied")[0]["tags"]["plugin"] == wanted
    programs.add("plain", script)
    done = transformed([DEPLOYMENT], {"exec": {"file": "plain"}}, priorities=["plain"])
    assert done.events("applied")[0]["tags"]["plugin"] == "plain"


def test_programs_are_told_apart(programs: Programs) -> None:
    """One program twice, with other options."""
    script = """printf '{"patches": [{"op": "add", "path": "/data/%s", "value": "x"}]}' "${request##*KEY}" """
    script = script.replace("${request##*KEY}", '$(echo "$request" | sed \'s/.*key": "\\([a-z]*\\)".*/\\1/\')')
    program = programs.add("p", script)
    plugins = [{**program, "name": name, "options": {"key": name}} for name in ("one", "two")]
    done = transformed([BARE], *plugins)
    assert done.items[0]["data"] == {"one": "x", "two": "x"}


def is_there(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


HOSTILE = [
    # what a program does, what is said
    (["while :; do :; done"], "did not finish within 0.5 s and was killed"),
    (["trap '' TERM HUP INT", "while :; do sleep 60; done"], "did not finish within 0.5 s and was killed"),
    (["while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"], "and was killed"),
    (["cat /dev/zero"], "wrote more than 16,777,216 bytes and was killed"),
    (["sleep 60 > /dev/null 2>&1 &", "echo $! >> {notes}", "echo '{{}}'"], "left a process behind, which was killed"),
    (["sleep 60 &", "echo $! >> {notes}", "echo '{{}}'"], "did not finish within 0.5 s and was killed"),
    (["echo broken >&2", "exit 3"], "ended with exit code 3: broken"),
    (["kill -9 $$"], "was ended by signal 9"),
    (["echo nonsense"], "answered with what is no JSON"),
    (["exit 0"], "answered with nothing at all"),
    (
        ["""echo '{{"type": "PluginRunError", "message": "no", "error": "why"}}' >&2""", "exit 1"],
        "PluginRunError: no: why",
    ),
]


@pytest.mark.parametrize(("lines", "says"), HOSTILE)
def test_programs_that_do_what_they_should_not(programs: Programs, lines: list[str], says: str) -> None:
    """T6: nothing changes, the plugin is named, nothing of it is left."""
    notes = [f"echo $$ >> {programs.notes}", *(line.format(notes=programs.notes) for line in lines)]
    limit = 0.5 if "0.5" in says or "xxx" in lines[0] else 20
    plugin = programs.add("bad", *notes, timeoutSeconds=limit)
    done = Done([OTHER, DEPLOYMENT, SERVICE], config_of(sets("b", 5), plugin))
    assert done.exit_code == 1
    assert done.text == done.before
    errors = done.said("error")
    assert errors, done.told
    assert all(error.startswith("bad: ") for error in errors)
    assert says in errors[0]
    assert "ConfigMap other" in errors[0]
    assert [pid for pid in programs.notes.read_text().split() if is_there(pid)] == []


ANSWERS_METADATA = [
    # what a program does when it is asked of itself, what is said
    (["echo oops >&2", "exit 1"], "ended with exit code 1: oops"),
    (["while :; do :; done"], "did not finish within 0.5 s and was killed"),
    (["echo '[]'"], "the metadata is no JSON object"),
]


@pytest.mark.parametrize("name", [None, "bad"])
@pytest.mark.parametrize(("lines", "says"), ANSWERS_METADATA)
def test_programs_that_do_not_tell_of_themselves(
    programs: Programs, name: str | None, lines: list[str], says: str
) -> None:
    """T6, also of one whose name is given."""
    program = programs.add("bad", timeoutSeconds=0.5 if "0.5" in says else 20)
    file = programs.directory / "bad"
    file.unlink()
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    file.chmod(0o555)
    errors = refused([OTHER], {**program, "name": name})
    assert len(errors) == 1
    assert says in errors[0]


def test_a_program_cannot_tell_values_of_secrets(programs: Programs) -> None:
    """T5: an answer that is no JSON may hold what it was asked."""
    plugin = programs.add("bad", "echo \"$request\" | sed 's/.*password/password/'")
    done = Done([SECRET], config_of(plugin))
    assert done.exit_code == 1
    assert "c2VjcmV0" not in done.told + done.message


# ---- many items ----------------------------------------------------------------------------------------------------


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
        points.add("d", lambda r, _: {"newResources": [created(r["kind"].lower(), data={"n": r["kind"]})]}),
        points.add("e", lambda r, _: {"newResources": [created(r["metadata"]["name"])]}),
        *([patches("f", op("replace", "/data/a", 1), target={"name": "n4.*"})] if fails else []),
    ]
    config = config_of(*plugins, priorities=["b"], whiteout={"action": action})
    items = many(500, DEPLOYMENT, SERVICE, OTHER, CLAIM, SECRET)
    monkeypatch.setattr(parallel, "WORTH_IT", 10**9)
    alone = Done(items, config)
    monkeypatch.setattr(parallel, "WORTH_IT", 100)
    assert Done(items, config).output == alone.output
    assert alone.exit_code == fails
    if not fails:
        assert len(alone.events("created")) == 405


@pytest.mark.usefixtures("three_processors")
def test_programs_in_several_processes(monkeypatch: pytest.MonkeyPatch, programs: Programs) -> None:
    answer = json.dumps({"patches": [op("add", "/metadata/labels/x", "y")]})
    plugin = programs.add("p", f"echo $$ >> {programs.notes}", f"echo '{answer}'")
    items = many(12, DEPLOYMENT, SERVICE, OTHER, CLAIM, SECRET)
    alone = Done(items, config_of(plugin))
    monkeypatch.setattr(parallel, "WORTH_IT", 4)
    assert Done(items, config_of(plugin)).output == alone.output
    assert all(item["metadata"]["labels"]["x"] == "y" for item in alone.items)
    assert [pid for pid in programs.notes.read_text().split() if is_there(pid)] == []


# ---- the functionConfig as a ConfigMap -----------------------------------------------------------------------------


@pytest.fixture
def two_programs(programs: Programs) -> Programs:
    for name, value in (("a", 11), ("b", 12)):
        answer = json.dumps({"patches": [op("add", "/spec/replicas", value)]})
        programs.add(name, f'echo "$request" >> {programs.notes}', f"echo '{answer}'")
    return programs


CONFIG_MAPS = [
    # data, the replicas, the plugins that ran
    ({}, 11, "ab"),
    ({"plugin_priorities": "b"}, 12, "ab"),
    ({"plugin_priorities": " b , a,b "}, 12, "ab"),
    ({"plugin_priorities": "b,KubernetesPlugin", "skip_plugins": "b"}, 11, "a"),
    ({"skip_plugins": "a,b"}, 1, ""),
    ({"plugins": "b"}, 12, "b"),
    ({"plugins": "b, a"}, 12, "ab"),
    ({"plugins": "KubernetesPlugin"}, 1, ""),
    ({"optional_flags": ""}, 11, "ab"),
]


@pytest.mark.parametrize(("data", "replicas", "ran"), CONFIG_MAPS)
def test_config_maps(two_programs: Programs, data: dict[str, str], replicas: int, ran: str) -> None:
    """The names of crane's flags."""
    done = Done([DEPLOYMENT], config_map(**data))
    assert done.exit_code == 0, done.message
    assert done.items[0]["spec"]["replicas"] == replicas
    named = {one["tags"].get("plugin", "") for one in (*done.events("applied"), *done.events("ignored"))}
    assert named == set(ran)


@pytest.mark.parametrize("data", [{}, {"plugins": "contact.sh,a"}])
def test_names_in_config_maps(two_programs: Programs, data: dict[str, str]) -> None:
    """T11: a program is found by its file, and called as its metadata say."""
    two_programs.add(
        "contact.sh",
        """echo '{"patches": [{"op": "add", "path": "/spec/replicas", "value": 13}]}'""",
        meta={"name": "contact"},
    )
    done = Done([DEPLOYMENT], config_map(plugin_priorities="contact", **data))
    assert done.exit_code == 0, done.message
    assert done.items[0]["spec"]["replicas"] == 13


def test_options_of_config_maps(points: Points) -> None:
    """Names in lower case, as crane has them."""
    points.add("x", Response())
    done = Done([BARE], config_map(plugins="x", optional_flags='{"Registry-Replacement": "A=b"}'))
    assert done.exit_code == 0
    assert points.options == [{"registry-replacement": "A=b"}]


WRONG_CONFIG_MAPS = [
    ({"optional_flags": "{"}, "data.optional-flags", "no JSON"),
    ({"optional_flags": "[]"}, "data.optional-flags", "a JSON map of texts is expected"),
    ({"optional_flags": "null"}, "data.optional-flags", "a JSON map of texts is expected"),
    ({"optional_flags": '{"a": true}'}, "data.optional-flags", "a JSON map of texts is expected"),
    ({"optional_flags": '{"Aa": "1", "aA": "2"}'}, "data.optional-flags", "duplicate optional key aa"),
    ({"plugins": ""}, "data.plugins", "names no plugin; leave it out for KubernetesPlugin and all programs in the"),
    ({"plugins": " , "}, "data.plugins", "names no plugin; leave it out for KubernetesPlugin and all programs in the"),
    ({"plugins": "none"}, "data.plugins", "no installed package has the entry point none"),
    ({"plugins": "../a"}, "data.plugins", "no installed package has the entry point ../a"),
    ({"plugin_priorities": "none"}, "data.plugin-priorities", "no plugin has that name"),
    ({"skip_plugins": "a,none"}, "data.skip-plugins", "data.skip-plugins names none"),
    ({"plugin_priority": "a"}, "data.plugin-priority", "is not a field of it"),
]


@pytest.mark.usefixtures("two_programs")
@pytest.mark.parametrize(("data", "path", "says"), WRONG_CONFIG_MAPS)
def test_wrong_config_maps(data: dict[str, str], path: str, says: str) -> None:
    done = Done([DEPLOYMENT], config_map(**data))
    assert done.exit_code == 1
    (error,) = done.results
    assert error["message"].startswith(f"functionConfig: {path}")
    assert says in error["message"]
    assert error["field"] == {"path": path}


@pytest.mark.usefixtures("two_programs")
def test_all_errors_of_a_config_map_at_once() -> None:
    done = Done([DEPLOYMENT], config_map(optional_flags="{", plugins="none"))
    assert [one["field"]["path"] for one in done.results] == ["data.optional-flags", "data.plugins"]
    done = Done([DEPLOYMENT], config_map(plugin_priorities="x,y", skip_plugins="z"))
    assert [one["field"]["path"] for one in done.results] == ["data.plugin-priorities"] * 2 + ["data.skip-plugins"]


def test_a_program_that_does_not_answer_is_named(two_programs: Programs) -> None:
    (two_programs.directory / "broken").write_text("#!/bin/sh\necho oops >&2\nexit 1\n")
    (two_programs.directory / "broken").chmod(0o555)
    for data in ({}, {"plugins": "a,broken"}):
        done = Done([DEPLOYMENT], config_map(**data))
        assert done.exit_code == 1
        (error,) = done.said("error")
        assert "broken: ended with exit code 1: oops" in error


# ---- configurations that are wrong ---------------------------------------------------------------------------------

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
    ({"plugins": [sets("a", 1) | {"options": {"x": True}}]}, ["plugins[0].options.x"]),
    ({"plugins": [patches("a", op("remove", "/a"), target={"names": "x"})]}, ["plugins[0].patches[0].target.names"]),
    ({"plugins": [patches("a", op("remove", "/a"), onTestFailure="stop")]}, ["plugins[0].patches[0].onTestFailure"]),
    ({"priorities": "a"}, ["priorities"]),
    ({"options": {"a": 1}}, ["options.a"]),
    ({"conflicts": {"detect": "text"}}, ["conflicts.detect"]),
    ({"conflicts": {"keep": "all", "onConflict": "fail"}}, ["conflicts.keep", "conflicts.onConflict"]),
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
PLUGIN_ERRORS = [
    # a plugin, what is said of it
    ({"name": "x"}, "give exactly one of builtin, exec, entryPoint and patches"),
    ({"builtin": "kubernetes", "entryPoint": "x"}, "give exactly one of builtin, exec, entryPoint and patches"),
    ({**GOOD, "exec": {"file": "x"}}, "give exactly one of builtin, exec, entryPoint and patches"),
    ({"patches": GOOD["patches"]}, "name is missing"),
    (patches("a", op("remove", "a")), "patches[0].ops[0]: the path 'a' is no JSON pointer"),
    (patches("a", op("remove", "/a~2")), "patches[0].ops[0]: the path '/a~2' is no JSON pointer"),
    (patches("a", {"op": "replace", "path": "/a"}), "patches[0].ops[0]: replace without value"),
    (patches("a", REMOVE, {"op": "move", "path": "/a"}), "patches[0].ops[1]: move without from"),
    (patches("a", REMOVE, target={"name": "("}), "target.name is '(', no regular expression"),
    (patches("a", REMOVE, target={"labelSelector": "a in b"}), "cannot read the selector 'a in b' at column 1"),
    ({"entryPoint": "none"}, "has the entry point none in krm_merge.transform_plugins; known are brown, red"),
    ({"entryPoint": "brown"}, "acme:plugin cannot be loaded: ImportError: no module named acme"),
    ({"entryPoint": "red"}, "acme:plugin is neither a function nor an object with run"),
    ({"exec": {"file": "none"}}, "has no plugin none; it holds "),
    ({"exec": {"file": "bin/ok"}}, "'bin/ok' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "/bin/sh"}}, "'/bin/sh' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "../outside"}}, "'../outside' is not the name of a file in the plugin directory"),
    ({"exec": {"file": ".."}}, "'..' is not the name of a file in the plugin directory"),
    ({"exec": {"file": ""}}, "'' is not the name of a file in the plugin directory"),
    ({"exec": {"file": "writable"}}, "could be changed by whoever runs this; set its mode to 0555"),
    ({"exec": {"file": "group"}}, "could be changed by whoever runs this; set its mode to 0555"),
    ({"exec": {"file": "link"}}, "leads out of the plugin directory"),
    ({"exec": {"file": "text"}}, "is no executable file; set its mode to 0555"),
    ({"exec": {"file": "bin"}}, "is no executable file; set its mode to 0555"),
    ({"exec": {"file": "dangling"}}, "has no plugin dangling"),
    ({"exec": {"file": "loop"}}, "has no plugin loop"),
]


@pytest.fixture
def odd_programs(programs: Programs, points: Points) -> Programs:
    for name, mode in (("ok", 0o555), ("writable", 0o557), ("group", 0o575), ("text", 0o444), ("bin/ok", 0o555)):
        programs.add(name, "echo '{}'", mode=mode)
    programs.add("../outside", "echo '{}'")
    (programs.directory / "link").symlink_to("../outside")
    (programs.directory / "dangling").symlink_to("nothing")
    (programs.directory / "loop").symlink_to("loop")
    points.all += [Point("red", "text"), Point("brown", ImportError("no module named acme"))]
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
    assert [one["field"]["path"] for one in done.results] == [f"plugins[{at}]" for at in range(len(PLUGIN_ERRORS))]


def test_a_link_inside_of_the_directory(odd_programs: Programs) -> None:
    (odd_programs.directory / "inner").symlink_to("bin/ok")
    transformed([DEPLOYMENT], {"exec": {"file": "inner"}})


@pytest.mark.parametrize("file", ["a", "/bin/sh"])
def test_no_program_runs_without_a_directory(file: str) -> None:
    """T6: the package's configuration cannot allow it."""
    (error,) = refused([DEPLOYMENT], {"exec": {"file": file}})
    assert error.startswith("functionConfig: plugins[0]: executable plugins run only where KRM_MERGE_PLUGIN_DIR names")


@pytest.mark.parametrize("name", ["priorities", "skipPlugins"])
def test_unknown_names(name: str) -> None:
    """T11: a misspelt name would have no effect, and nobody would know."""
    done = Done([DEPLOYMENT], config_of(GOOD, BUILTIN, **{name: ["good", "bad", "worse"]}))
    assert done.exit_code == 1
    first, second = done.results
    known = "known are good, KubernetesPlugin"
    assert first["message"] == f"functionConfig: {name} names bad, but no plugin has that name; {known}"
    assert "names worse" in second["message"]
    assert first["field"] == {"path": name}


def test_programs_whose_metadata_are_none(programs: Programs) -> None:
    plugin = programs.add("p", meta={"requestVersion": ["v2"]})
    (error,) = refused([DEPLOYMENT], {"exec": plugin["exec"]})
    assert error == "functionConfig: plugins[0]: requestVersion of the metadata does not name v1"


def test_no_two_resources_of_one_identity() -> None:
    """P9, of plugins, too: kubectl would apply one over the other."""
    other = DEPLOYMENT.replace("name: web", "name: new")
    (error,) = refused(
        [DEPLOYMENT, other], patches("a", op("replace", "/metadata/name", "new"), target={"name": "web"})
    )
    assert "Deployment shop/web: a makes it Deployment shop/new, which would be there 2 times" in error
