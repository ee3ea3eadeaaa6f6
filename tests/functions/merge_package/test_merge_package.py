"""MergePackage from bytes to bytes: the source of each side, the places of items, the results."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml

from krm_merge.functions import process
from krm_merge.functions.places import place_of
from krm_merge.krm import parse_path
from krm_merge.krm.identity import Identity
from krm_merge.krm.result import ResourceRef
from krm_merge.merge.decisions.decision import Decision, Member, ResourceOutcome
from krm_merge.merge.decisions.report import as_text, results_of
from krm_merge.schema.secrecy import Secrecy
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read

ROOT = "/pkg"
PATH = "internal.config.kubernetes.io/path"
PACKAGE_PATH = "internal.config.kubernetes.io/package-path"
ORIGINAL = {"info": {"site": "old", "description": "d"}}
UPSTREAM = {"info": {"site": "new", "description": "d"}}
LOCAL = {"info": {"site": "old", "description": "mine"}}
MERGED = {"info": {"site": "new", "description": "mine"}}
Value = dict[str, Any]


def kptfile(body: Value, name: str = "pkg", **annotations: str) -> Value:
    """A Kptfile; annotations by `path`, `package`, `source`."""
    long = {"path": PATH, "package": PACKAGE_PATH}
    metadata: Value = {"name": name}
    if annotations:
        metadata["annotations"] = {long[key]: value for key, value in annotations.items()}
    return {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": metadata, **body}


class Plain(yaml.SafeDumper):
    """Writes a value that is in two places twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def request(items: list[Value], function_config: Value | None = None) -> bytes:
    data: Value = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    if function_config is not None:
        data["functionConfig"] = function_config
    return yaml.dump(data, Dumper=Plain, sort_keys=False).encode()


def merge_package(original: Any, upstream: Any, **fields: Any) -> Value:
    config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "metadata": {"name": "merge"}}
    return {**config, "original": original, "upstream": upstream, **fields}


def text(*objects: Value) -> str:
    return yaml.dump_all(objects, Dumper=Plain, sort_keys=False)


class Done:
    """The output."""

    def __init__(self, data: bytes) -> None:
        outcome = process(data)
        self.exit_code = outcome.exit_code
        self.message = outcome.message
        self.output: Value = yaml.safe_load(outcome.output)
        self.items: list[Value] = self.output["items"]
        self.results: list[Value] = self.output.get("results", [])

    def messages(self, severity: str) -> list[str]:
        return [result["message"] for result in self.results if result["severity"] == severity]

    def body(self, at: int = 0) -> Value:
        return {key: value for key, value in self.items[at].items() if key not in ("apiVersion", "kind", "metadata")}


FORMS: dict[str, Value] = {
    "texts": merge_package(text(kptfile(ORIGINAL)), text(kptfile(UPSTREAM))),
    "lists of objects": merge_package([kptfile(ORIGINAL)], [kptfile(UPSTREAM)]),
    "a text and a list": merge_package(text(kptfile(ORIGINAL)), [kptfile(UPSTREAM)]),
    "JSON": merge_package(
        '{"apiVersion":"kpt.dev/v1","kind":"Kptfile","info":{"site":"old","description":"d"}}', [kptfile(UPSTREAM)]
    ),
    "a byte order mark": merge_package("\ufeff" + text(kptfile(ORIGINAL)), text(kptfile(UPSTREAM))),
    "empty documents": merge_package(f"---\n---\n{text(kptfile(ORIGINAL))}---\n", text(kptfile(UPSTREAM))),
    "a ConfigMap": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"original": text(kptfile(ORIGINAL)), "upstream": text(kptfile(UPSTREAM))},
    },
    "a ConfigMap that names the function": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"function": "MergePackage", "original": text(kptfile(ORIGINAL)), "upstream": text(kptfile(UPSTREAM))},
    },
}


@pytest.mark.parametrize("config", FORMS.values(), ids=FORMS)
def test_forms_of_the_function_config(config: Value) -> None:
    done = Done(request([kptfile(LOCAL, path="Kptfile")], config))
    assert (done.exit_code, done.body()) == (0, MERGED)
    assert done.output["functionConfig"] == config


def test_packages_of_a_render_are_told_apart_by_their_folders() -> None:
    items = [
        kptfile(LOCAL, "sub", path="Kptfile", package=f"{ROOT}/sub"),
        kptfile(LOCAL, "pkg", path="Kptfile", package=ROOT),
    ]
    both = [
        [
            kptfile(body, "pkg", path="Kptfile"),
            kptfile({"info": {**body["info"], "sub": True}}, "sub", path="sub/Kptfile"),
        ]
        for body in (ORIGINAL, UPSTREAM)
    ]
    done = Done(request(items, merge_package(*both)))
    assert done.exit_code == 0, done.results
    assert [item["metadata"]["name"] for item in done.items] == ["sub", "pkg"]
    # Local deleted the field that only the subpackage had.
    assert [done.body(0), done.body(1)] == [MERGED, MERGED]
    assert any("runs at every render" in message for message in done.messages("info"))


def test_without_package_paths_nothing_is_said_of_a_pipeline() -> None:
    done = Done(request([kptfile(LOCAL, path="Kptfile")], FORMS["texts"]))
    assert not any("declared" in message for message in done.messages("info"))


def test_the_root_is_where_the_function_config_stands() -> None:
    config = merge_package([kptfile(ORIGINAL)], [kptfile(UPSTREAM)])
    config["metadata"]["annotations"] = {PACKAGE_PATH: f"{ROOT}/sub", PATH: "merge.yaml"}
    items = [
        kptfile(LOCAL, path="Kptfile", package=f"{ROOT}/sub/deep"),
        kptfile(LOCAL, path="Kptfile", package=f"{ROOT}/sub"),
    ]
    done = Done(request(items, config))
    assert done.exit_code == 0, done.results
    merged = done.body(1)
    record = merged.pop("status")["conditions"][0]
    assert [done.body(0), merged] == [LOCAL, MERGED]
    assert (record["type"], record["status"], record["reason"]) == ("krm-merge.MergePackage", "True", "Merged")


def test_a_subpackage_that_upstream_adds_and_one_that_it_removes() -> None:
    items = [kptfile(LOCAL, path="Kptfile"), kptfile(ORIGINAL, "gone", path="gone/Kptfile")]
    original = [kptfile(ORIGINAL, path="Kptfile"), kptfile(ORIGINAL, "gone", path="gone/Kptfile")]
    upstream = [kptfile(UPSTREAM, path="Kptfile"), kptfile(UPSTREAM, "new", path="new/Kptfile")]
    done = Done(request(items, merge_package(original, upstream)))
    assert done.exit_code == 0
    assert [(item["metadata"]["name"], item["metadata"]["annotations"][PATH]) for item in done.items] == [
        ("pkg", "Kptfile"),
        ("new", "new/Kptfile"),
    ]
    assert {result["file"]["path"] for result in done.results} == {"Kptfile", "gone/Kptfile", "new/Kptfile"}


PLACES: list[tuple[dict[str, str], str | None, str | None]] = [
    ({}, None, None),
    ({}, ROOT, None),
    ({PATH: "a.yaml"}, None, "a.yaml"),
    ({"config.kubernetes.io/path": "a.yaml"}, None, "a.yaml"),
    ({PATH: "a.yaml", "config.kubernetes.io/path": "b.yaml"}, None, "a.yaml"),
    ({PATH: "./sub//a.yaml"}, None, "sub/a.yaml"),
    ({PATH: "a.yaml", PACKAGE_PATH: ROOT}, ROOT, "a.yaml"),
    ({PATH: "a.yaml", PACKAGE_PATH: f"{ROOT}/sub"}, ROOT, "sub/a.yaml"),
    ({PATH: "x/a.yaml", PACKAGE_PATH: f"{ROOT}/sub/"}, ROOT, "sub/x/a.yaml"),
    ({PATH: "a.yaml", PACKAGE_PATH: f"{ROOT}/sub"}, None, "a.yaml"),
    ({PATH: "a.yaml"}, ROOT, "a.yaml"),
    ({PATH: "a.yaml", PACKAGE_PATH: ROOT}, f"{ROOT}/sub", "../a.yaml"),
]


@pytest.mark.parametrize(("annotations", "root", "place"), PLACES)
def test_places(annotations: dict[str, str], root: str | None, place: str | None) -> None:
    assert place_of(annotations, root) == place


DELETED = ({"name": "a", "image": "i"}, {"name": "b", "image": "j:1"})
CHANGED = {"name": "b", "image": "j:2"}


def pipeline(*functions: Value) -> Value:
    return {"pipeline": {"mutators": list(functions)}}


@pytest.mark.parametrize("deleted_by", ["upstream", "local"])
@pytest.mark.parametrize("on_delete", ["upstream", "local"])
def test_on_delete(deleted_by: str, on_delete: str) -> None:
    sides = {"upstream": pipeline(DELETED[0], CHANGED), "local": pipeline(DELETED[0], CHANGED)}
    sides[deleted_by] = pipeline(DELETED[0])
    rules = [{"kind": "Kptfile", "path": "pipeline.mutators[name=b]", "onDelete": on_delete}]
    config = merge_package([kptfile(pipeline(*DELETED))], [kptfile(sides["upstream"])], rules=rules)
    done = Done(request([kptfile(sides["local"], path="Kptfile")], config))
    assert done.exit_code == 0
    stands = sides[on_delete]
    assert done.body() == stands
    assert len(done.messages("warning")) == 1


@pytest.mark.parametrize("on_conflict", ["upstream", "local", "fail"])
def test_rules_narrow_the_policy(on_conflict: str) -> None:
    def side(site: str) -> Value:
        return {"info": {"site": site, "description": site}}

    rules = [{"path": "info.site", "onConflict": on_conflict}]
    config = merge_package([kptfile(side("o"))], [kptfile(side("u"))], rules=rules, onConflict="local")
    done = Done(request([kptfile(side("l"), path="Kptfile")], config))
    assert done.exit_code == (1 if on_conflict == "fail" else 0)
    site = "u" if on_conflict == "upstream" else "l"
    assert done.body() == {"info": {"site": site, "description": "l"}}


def test_a_rule_that_matches_nothing_is_a_warning() -> None:
    rules = [{"kind": "Kptfile"}, {"kind": "Deployment"}, {"path": "info.none"}]
    done = Done(
        request([kptfile(LOCAL, path="Kptfile")], merge_package([kptfile(ORIGINAL)], [kptfile(UPSTREAM)], rules=rules))
    )
    assert done.exit_code == 0
    warned = [result["field"]["path"] for result in done.results if result["severity"] == "warning"]
    assert warned == ["rules[1]", "rules[2]"]


UNKNOWN: list[tuple[Value, str, str]] = [
    ({"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackages"}, "kind", "MergePackages"),
    ({"apiVersion": "fn.kpt.dev/v1alpha1"}, "kind", "missing"),
    ({"kind": None}, "kind", "choose from MergePackage"),
    ({"kind": {"a": "b"}}, "kind", "choose from MergePackage"),
    ({"kind": "ConfigMap", "data": {"function": "Merge"}}, "data.function", "Merge"),
    ({"kind": "ConfigMap", "data": {"function": 5}}, "data.function", "5"),
]


@pytest.mark.parametrize(("config", "path", "says"), UNKNOWN)
def test_unknown_functions(config: Value, path: str, says: str) -> None:
    items = [kptfile(LOCAL, path="Kptfile")]
    done = Done(request(items, config))
    assert done.exit_code == 1
    assert done.items == items
    (error,) = done.results
    assert error["field"]["path"] == path
    assert says in error["message"]


def test_another_object_that_nobody_changed_stays() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    config = merge_package([kptfile(ORIGINAL), other], [kptfile(UPSTREAM), other])
    done = Done(request([kptfile(LOCAL, path="Kptfile"), other], config))
    assert (done.exit_code, done.body(), done.items[1]) == (0, MERGED, other)


AT_A = "metadata:\n  annotations:\n    config.kubernetes.io/path: a.yaml\n"
LOOKS_LIKE_ONE = [
    # Broken, and no Kptfile: passes whatever it holds.
    f"kind: 'ConfigMap'\n{AT_A}text: 'kind: Kptfile'\ntext: 2\n",
    f"kind: ConfigMap\ndata: {{kind: Kptfile}}\n{AT_A}x: &a\n  y: *none\n",
    f'kind: "ConfigMap"\ndata: {{kind: Kptfile}}\n{AT_A}x: 1\nx: 2\n',
    "apiVersion: v1\nkind: Kptfile\n",
    f"apiVersion: kpt.dev/v1\nkind: Kptfile\n{AT_A}",
]


@pytest.mark.parametrize("item", LOOKS_LIKE_ONE)
def test_what_only_looks_like_a_kptfile_passes(item: str) -> None:
    data = request([kptfile(LOCAL, path="Kptfile")], FORMS["texts"])
    more = "- " + textwrap.indent(item, "  ")[2:]
    outcome = process(data.replace(b"functionConfig:", more.encode() + b"functionConfig:"))
    assert outcome.exit_code == 0, outcome.message
    assert more.encode() in outcome.output
    assert b"site: new" in outcome.output


GONE_OR_CHANGED = [
    # who removed the subpackage, the rule, what of it is left, the exit code
    ("upstream", {"onDelete": "local"}, "mine", 0),
    ("upstream", {"onDelete": "upstream"}, None, 0),
    ("upstream", {"onConflict": "fail"}, "mine", 1),
    ("local", {"onDelete": "local"}, None, 0),
    ("local", {"onDelete": "upstream"}, "theirs", 0),
    ("local", {"onConflict": "fail"}, None, 1),
]


@pytest.mark.parametrize(("removed_by", "rule", "left", "exit_code"), GONE_OR_CHANGED)
def test_a_subpackage_that_one_side_removed_and_the_other_changed(
    removed_by: str, rule: Value, left: str | None, exit_code: int
) -> None:
    def sub(site: str) -> Value:
        return kptfile({"info": {"site": site}}, "sub", path="sub/Kptfile")

    upstream = [kptfile(UPSTREAM, path="Kptfile")] + ([sub("theirs")] if removed_by == "local" else [])
    items = [kptfile(LOCAL, path="Kptfile")] + ([sub("mine")] if removed_by == "upstream" else [])
    original = [kptfile(ORIGINAL, path="Kptfile"), sub("old")]
    done = Done(request(items, merge_package(original, upstream, rules=[{"name": "sub", **rule}])))
    assert done.exit_code == exit_code
    assert [item["info"]["site"] for item in done.items[1:]] == ([left] if left else [])
    assert done.body() == (LOCAL if exit_code else MERGED)
    assert len(done.messages("error" if exit_code else "warning")) == 1


FOLLOWS = {"type": "git", "git": {"repo": "https://example.com/a", "directory": "/", "ref": "v1"}}
ELSEWHERE = {"type": "git", "git": {"repo": "https://example.com/b", "directory": "/", "ref": "v1"}}


@pytest.mark.parametrize(("theirs", "ours"), [(FOLLOWS, ELSEWHERE), (FOLLOWS, None), (None, ELSEWHERE)])
@pytest.mark.parametrize("changed", [True, False])
def test_a_subpackage_that_follows_another_upstream_is_left_alone(
    theirs: Value | None, ours: Value | None, changed: bool
) -> None:
    def sub(body: Value, upstream: Value | None) -> Value:
        return kptfile({**body, **({"upstream": upstream} if upstream else {})}, "sub", path="sub/Kptfile")

    items = [kptfile(LOCAL, path="Kptfile"), sub(LOCAL, ours)]
    original = [kptfile(ORIGINAL, path="Kptfile"), sub(ORIGINAL, theirs)]
    upstream = [kptfile(UPSTREAM, path="Kptfile"), sub(UPSTREAM if changed else ORIGINAL, theirs)]
    done = Done(request(items, merge_package(original, upstream)))
    assert done.exit_code == 0
    assert done.items[1] == items[1]
    assert len([message for message in done.messages("warning") if "left alone" in message]) == changed


BROKEN = "- kind: Kptfile\n  x: 1\n  x: 2\n  metadata:\n    annotations:\n      %s: %s\n"


def test_a_broken_item_beside_a_package_of_a_render() -> None:
    data = request([kptfile(LOCAL, path="Kptfile", package=ROOT)], FORMS["texts"])
    more = (BROKEN % (PACKAGE_PATH, "/")).replace("kind: Kptfile", "kind: Other").encode()
    outcome = process(data.replace(b"functionConfig:", more + b"functionConfig:"))
    assert outcome.exit_code == 0, outcome.message
    assert more in outcome.output


@pytest.mark.parametrize("document", ["a: b", "kind: X", "apiVersion: v1", "- a", "text"])
@pytest.mark.parametrize("side", ["original", "upstream"])
def test_documents_that_are_no_objects_are_refused(document: str, side: str) -> None:
    packages = {"original": text(kptfile(ORIGINAL)), "upstream": text(kptfile(UPSTREAM))}
    packages[side] += f"---\n{document}\n"
    done = Done(request([kptfile(LOCAL, path="Kptfile")], merge_package(**packages)))
    assert done.exit_code == 1
    assert any(f"{side}: document 2 is not a Kubernetes object" in message for message in done.messages("error"))


def test_a_kptfile_with_a_complex_key() -> None:
    data = request([kptfile(LOCAL, path="Kptfile")], FORMS["texts"])
    complex_key = b"  ? [a]\n  : b\n"
    outcome = process(data.replace(b"  info:\n", complex_key + b"  info:\n", 1))
    assert outcome.exit_code == 0
    assert b"site: new" in outcome.output


# ---- what is told ------------------------------------------------------------------------------------------------


def member(kind: str) -> Member:
    root = read(f"kind: {kind}")
    assert isinstance(root, MappingNode)
    return Member(place="a.yaml", identity=Identity("", kind, "", "x"), root=root, file="a.yaml")


def conflict(path: str) -> Decision:
    original, upstream, local = (read(value) for value in ("o-old", "u-hidden", "l-hidden"))
    return Decision(
        "V4", parse_path(path), "both changed it", "both", "warning", True, original, upstream, local, upstream
    )


def decided(local: Member, decision: Decision) -> ResourceOutcome:
    return ResourceOutcome("merged", None, None, local, [decision])


REF = ResourceRef("v1", "Secret", "x")


@pytest.mark.parametrize("path", ["data.password", "stringData.a", "immutable"])
def test_the_values_of_a_secret_are_not_told(path: str) -> None:
    (result,) = results_of(
        decided(secret := member("Secret"), conflict(path)), REF, Secrecy([secret.root]), refused=False
    )
    assert "hidden" not in str(result.to_value())
    assert "o-old" not in str(result.to_value())
    assert (result.current, result.proposed) == ("(redacted)", "(redacted)")
    assert result.tags["upstream"] == "(redacted)"


@pytest.mark.parametrize(("kind", "path"), [("Secret", "metadata.labels.a"), ("ConfigMap", "data.passwordPolicy")])
def test_what_is_no_secret_is_told(kind: str, path: str) -> None:
    (result,) = results_of(decided(about := member(kind), conflict(path)), REF, Secrecy([about.root]), refused=False)
    assert (result.current, result.proposed) == ("l-hidden", "u-hidden")
    assert result.rule == "V4"
    assert result.tags == {
        "side": "both",
        "original": "o-old",
        "upstream": "u-hidden",
        "local": "l-hidden",
    }
    assert result.message.endswith("both changed it (original o-old, upstream u-hidden, local l-hidden)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        ("null", "null"),
        ("~", "null"),
        ("0x10", "0x10"),
        ("'null'", "null"),
        ("{a: [1, é, null]}", '{"a":[1,"é",null]}'),
    ],
)
def test_values_as_text(value: str, expected: str) -> None:
    node = read(value)
    assert node is not None
    assert as_text(node) == expected
    assert as_text(node, True) == "(redacted)"


def test_long_values_are_cut_in_the_message_and_stand_whole_in_the_tags() -> None:
    long = read("x" * 61)
    decision = Decision("V4", ("a",), "m", "both", "warning", True, None, long, None, long)
    (result,) = results_of(decided(member("ConfigMap"), decision), REF, Secrecy(), refused=False)
    assert result.message == f"a: m (upstream {'x' * 59}…)"
    assert result.tags["upstream"] == "x" * 61
    assert result.current is None
