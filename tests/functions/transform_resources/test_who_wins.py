"""TransformResources from bytes to bytes: which plugin wins, and what stays byte for byte (T1, T2, T4, T10)."""

from __future__ import annotations

import json

import pytest
import yaml

from functions.streams import DEPLOYMENT, HEAD, ID, INDEX, LEGACY_ID, OTHER, PATH, SERVICE, Value, as_item
from functions.transform_resources.plugins import (
    BARE,
    LOCAL_CONFIG,
    Done,
    Points,
    Programs,
    config_of,
    op,
    patches,
    sets,
    transform,
    without_ids,
)
from krm_merge.transform import Response

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


# ---- who wins (T2, T11) ----------------------------------------------------------------------------------------------

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
def test_priorities(declared: str, priorities: str, order: str) -> None:
    """T2: listed before unlisted, then as declared; T11: a repeated name keeps its first place."""
    plugins = [sets(name, 10 + "abc".index(name)) for name in declared]
    done = transform([DEPLOYMENT], *plugins, priorities=list(priorities))
    winner = order[0]
    assert done.items[0]["spec"]["replicas"] == 10 + "abc".index(winner)
    why = "priority" if winner in priorities else "order"
    assert sorted(done.losses()) == sorted((name, winner, why) for name in order[1:])
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
    done = transform([DEPLOYMENT], *plugins, priorities=priorities)
    assert done.items[0]["spec"]["replicas"] == 10 + replicas
    assert done.losses() == lost


def test_the_order_of_items_and_priorities_gives_the_same_bytes() -> None:
    """T2: same input, same bytes out."""
    plugins = [sets("a", 5), sets("b", 6), sets("c", "x", "/spec/ports/0/name", "Service")]
    outputs = {transform([DEPLOYMENT, SERVICE], *plugins, priorities=["b"]).output for _ in range(3)}
    assert len(outputs) == 1


def test_equal_changes_agree() -> None:
    """T2: both are recorded."""
    done = transform([DEPLOYMENT], sets("a", 5), sets("b", 5), priorities=["b"])
    assert done.items[0]["spec"]["replicas"] == 5
    assert done.losses() == []
    (applied,) = done.events("applied")
    assert applied["tags"] == {"rule": "T2", "event": "applied", "plugin": "b", "agreed": "a with b"}
    assert applied["message"] == "Deployment shop/web: 1 change: 1 of b; a with b agreed"


def test_every_plugin_sees_the_original(points: Points) -> None:
    """T1, also where a plugin changes the object that it was given."""

    def changes(resource: Value, options: dict[str, str]) -> Response:
        resource["spec"]["replicas"] = 99
        del resource["metadata"]["labels"]
        return Response()

    done = transform([DEPLOYMENT], points.add("a", changes), sets("b", 5), points.add("c", Response()))
    assert done.items[0]["spec"]["replicas"] == 5
    # T8: once more on what came of it.
    assert [seen["spec"]["replicas"] for seen in points.seen] == [1, 1, 5, 5]
    assert all("labels" in seen["metadata"] for seen in points.seen)


def test_every_plugin_sees_all_options(points: Points) -> None:
    """T1: whatever another one, or the same one before, did to its own."""

    def takes(resource: Value, options: dict[str, str]) -> Response:
        options.clear()
        return Response()

    transform([OTHER, SERVICE], points.add("a", takes), points.add("b", takes), options={"who": "me"})
    assert points.options == [{"who": "me"}] * 4


def test_skipped_plugins_do_not_run(points: Points) -> None:
    done = transform([DEPLOYMENT], points.add("a", Response()), sets("b", 5), skipPlugins=["a"], priorities=["a"])
    assert points.seen == []
    assert done.items[0]["spec"]["replicas"] == 5


def test_what_is_lost_together() -> None:
    """T4: operations that share a test are kept or lost as a whole."""
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 6)]
    weaker = {
        "name": "weak",
        "patches": [
            {"ops": [op("add", "/metadata/labels/free", "1")]},
            {"ops": [*guarded, op("add", "/metadata/labels/guarded", "1")]},
        ],
    }
    done = transform([DEPLOYMENT], sets("strong", 5), weaker)
    assert done.items[0]["metadata"]["labels"] == {"app": "web", "tier": "front", "free": "1"}
    assert len(done.losses()) == 2
    assert {result["tags"]["plugin"] for result in done.events("ignored")} == {"weak"}


# ---- what stays as it came -------------------------------------------------------------------------------------------


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
    resource = DEPLOYMENT.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    resource = without_ids(resource.replace("{app: web, tier: front}", "{app: web}"))
    assert done.text == HEAD + as_item(OTHER) + as_item(resource) + as_item(SERVICE)


def test_what_is_there_already_changes_no_byte() -> None:
    done = transform([DEPLOYMENT, SERVICE], sets("a", 1))
    assert done.text == done.before
    assert done.events("applied") == []


def test_no_items_and_no_work() -> None:
    done = Done([], config_of(sets("a", 1)))
    assert not done.items
    assert done.messages("info") == ["a changes nothing"]


def test_plugins_that_want_nothing_are_named() -> None:
    done = transform([OTHER], sets("a", 1), patches("b", op("replace", "/data/a", "c")), sets("c", 1))
    assert [result["tags"] for result in done.events("idle")] == [
        {"event": "idle", "plugin": "a"},
        {"event": "idle", "plugin": "c"},
    ]


# ---- what kpt keeps in annotations (T1) ------------------------------------------------------------------------------


def test_plugins_do_not_see_what_kpt_keeps(points: Points) -> None:
    done = transform([DEPLOYMENT, SERVICE, BARE], points.add("a", Response()))
    assert done.text == done.before
    deployment, service, bare = points.seen
    assert deployment["metadata"]["annotations"] == {"team": "red"}
    assert service["metadata"] == {"name": "dns"}
    assert bare == yaml.safe_load(BARE)
    assert [{**seen, "metadata": {}} for seen in points.seen] == [{**item, "metadata": {}} for item in done.items]


def test_programs_do_not_see_what_kpt_keeps(programs: Programs) -> None:
    plugin = programs.add("a", f'echo "$request" >> {programs.notes}', "echo '{}'")
    done = transform([DEPLOYMENT, SERVICE], plugin, options={"x": "y"})
    assert done.text == done.before
    seen = [json.loads(line) for line in programs.notes.read_text().splitlines()]
    assert [resource["metadata"].get("annotations") for resource in seen] == [{"team": "red"}, None]
    assert [resource["extras"] for resource in seen] == [{"x": "y"}] * 2
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
    done = transform([DEPLOYMENT, OTHER], patches("a", *ops, target={"kind": "Deployment"}))
    annotations_after = dict(done.items[0]["metadata"]["annotations"])
    for name in (ID, LEGACY_ID):
        # W3: an edited item loses its ids.
        if annotations_after.pop(name, None) is not None:
            assert done.text == done.before
    assert annotations_after == {PATH: "apps/web.yaml", **annotations}
    assert done.text.endswith(as_item(OTHER))


@pytest.mark.parametrize("name", [PATH, INDEX, "internal.config.kubernetes.io/package-path", ID])
def test_what_kpt_keeps_is_not_made_up(name: str) -> None:
    """A path of a plugin's would lead kpt to any file of the package."""
    done = transform([BARE], patches("a", op("add", "/metadata/annotations", {name: "../evil", "x": "y"})))
    assert done.items[0]["metadata"]["annotations"] == {"x": "y"}


WRITES_BOOKKEEPING = [
    # an operation, and the annotation that it writes
    (op("add", f"/metadata/annotations/{PATH.replace('/', '~1')}", "evil.yaml"), PATH),
    (op("add", f"/metadata/annotations/{INDEX.replace('/', '~1')}", "7"), INDEX),
    (op("add", "/metadata/annotations", {"team": "red", INDEX: "7"}), INDEX),
    (op("copy", "/metadata/annotations", **{"from": "/spec/books"}), INDEX),
]


@pytest.mark.parametrize(("wish", "name"), WRITES_BOOKKEEPING)
def test_annotations_of_kpt_are_kept_and_reported(wish: Value, name: str) -> None:
    """T1, T5: ignored, and not called a change at the next run."""
    item = DEPLOYMENT.replace("spec:\n", f'spec:\n  books: {{team: red, {INDEX}: "7"}}\n', 1)
    done = transform([item], patches("a", wish))
    assert done.text == done.before
    assert done.events("applied") == done.events("not-idempotent") == done.events("idle") == []
    (result,) = done.events("ignored")
    assert result["message"].endswith(f"a's {name} is ignored: kpt manages this annotation")
    assert result["tags"] == {"rule": "T5", "event": "ignored", "plugin": "a", "reason": "bookkeeping"}
    assert (result["severity"], result["field"]["path"]) == ("warning", f'metadata.annotations["{name}"]')
    # Other changes of the plugin are made.
    done = transform([item], patches("a", wish, op("replace", "/spec/replicas", 3)))
    assert done.items[0]["spec"]["replicas"] == 3
    assert len(done.events("ignored")) == 1
    assert done.events("not-idempotent") == []


def test_plugins_cannot_remove_annotations_of_kpt() -> None:
    """T1: they do not see them."""
    done = transform([DEPLOYMENT], patches("a", op("remove", f"/metadata/annotations/{PATH.replace('/', '~1')}")))
    assert done.text == done.before


def test_the_metadata_of_a_plugin_that_gives_none_back() -> None:
    """Removing all annotations keeps the text of kpt's own."""
    done = transform([DEPLOYMENT], patches("a", op("remove", "/metadata/annotations")))
    resource = "".join(line for line in without_ids(DEPLOYMENT).splitlines(keepends=True) if "team:" not in line)
    assert done.text == HEAD + as_item(resource)


# ---- what plugins are not shown --------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [KPTFILE, LOCAL])
def test_kptfiles_and_local_configuration_are_not_shown(points: Points, item: str) -> None:
    done = transform([item, BARE], points.add("a", Response(is_whiteout=True)), whiteout={"action": "drop"})
    assert [seen["metadata"]["name"] for seen in points.seen] == ["bare"]
    assert done.text == HEAD + as_item(item)


def test_local_config_that_says_no_is_shown(points: Points) -> None:
    transform([LOCAL.replace('"true"', '"false"')], points.add("a", Response()))
    assert len(points.seen) == 1
