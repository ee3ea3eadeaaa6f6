"""`krm-merge patch apply`, run as users run it."""

from __future__ import annotations

import json
import os

import pytest
import yaml

from cli.commands.patch.place import CRD, IMAGE, OBJECT, OLD, WEB, Place

PORT = """\
apiVersion: v1
kind: Service
metadata: {name: dns}
spec: {ports: [{port: 53, protocol: UDP, targetPort: 5353}]}
"""


def test_the_result_goes_to_stdout_and_what_was_done_to_stderr(place: Place) -> None:
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB.replace("nginx:1.25", "nginx:1.27")
    assert err == "info    patch.yaml matches 1 resource, changes 1: Deployment web\n"
    assert place.read("web.yaml") == WEB


def test_several_documents_on_both_sides(place: Place) -> None:
    place.write(**{"patch.yaml": f"{IMAGE}---\n{PORT}"})
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    after = WEB.replace("nginx:1.25", "nginx:1.27")
    head, names, tail = after.partition("# names\n    targetPort: 53")
    assert out == f"{head}{names}53{tail}"
    assert err.splitlines() == [
        "info    patch.yaml document 1 (Deployment web) matches 1 resource, changes 1: Deployment web",
        "info    patch.yaml document 2 (Service dns) matches 1 resource, changes 1: Service dns",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_document_may_go(place: Place, end: str) -> None:
    place.write(**{"web.yaml": WEB.replace("\n", end), "patch.yaml": IMAGE + "$patch: delete\n"})
    out, err = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB[WEB.index("---\n") :].replace("\n", end)
    assert "info    Deployment web: removed by patch.yaml\n" in err


@pytest.mark.parametrize(("arguments", "stdin"), [(("-", "patch.yaml"), WEB), (("web.yaml", "-"), IMAGE)])
def test_stdin(place: Place, arguments: tuple[str, ...], stdin: str) -> None:
    assert place.run("apply", *arguments, stdin=stdin)[0] == WEB.replace("nginx:1.25", "nginx:1.27")


def test_a_patch_that_names_nothing_is_for_every_resource(place: Place) -> None:
    out, _ = place.run("apply", "web.yaml", "-", stdin="metadata: {labels: {a: b}}")
    assert [document["metadata"]["labels"] for document in yaml.safe_load_all(out)] == [{"a": "b"}] * 2


def config_map(number: int, text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c-{number}}}\ndata: {text}\n"


def test_many_resources_are_patched_in_their_order(place: Place) -> None:
    """So many are patched in several processes."""
    place.write(**{"web.yaml": "---\n".join(config_map(number, "{a: '1'}") for number in range(500))})
    out, err = place.run("apply", "web.yaml", "-", stdin="data: {a: '2'}")
    assert out == "---\n".join(config_map(number, "{a: '2'}") for number in range(500))
    assert err.startswith("info    stdin matches 500 resources, changes 500: ConfigMap c-0, ConfigMap c-1,")


def test_a_resource_among_many_that_cannot_be_patched(place: Place) -> None:
    maps = [config_map(number, "{a: '1'}") for number in range(499)]
    place.write(**{"web.yaml": "---\n".join([*maps, config_map(499, "{b: '1'}")])})
    _, err = place.run("apply", "web.yaml", "-", stdin="[{op: replace, path: /data/a, value: two}]", code=1)
    assert "ConfigMap c-499" in err


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ('[{"op": "replace", "path": "/spec/replicas", "value": 3}]', None),
        ("spec: {replicas: 3}", "merge"),
        ("op: replace\npath: /spec/replicas\nvalue: 3\n", "json"),
    ],
)
def test_types(place: Place, patch: str, kind: str | None) -> None:
    web = WEB.partition("---\n")[0]
    place.write(**{"patch.yaml": patch})
    out, _ = place.run("apply", *(["--type", kind] if kind else []), "-", "patch.yaml", stdin=web)
    assert out == web.replace("replicas: 1", "replicas: 3")


def test_json_stays_json(place: Place) -> None:
    """As `kubectl get -o json` writes it; other programs read no YAML."""
    value = yaml.safe_load(OLD)
    place.write(**{"web.json": json.dumps(value, indent=4)})
    patch = (
        "spec: {paused: true, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, args: [a]}]}}}"
    )
    out, _ = place.run("apply", "web.json", "-", stdin=patch)
    template = json.loads(out)["spec"]["template"]
    assert template["metadata"] == {"labels": {"app": "web"}}
    assert {"name": "c", "args": ["a"]} in template["spec"]["containers"]


def test_files_to_write(place: Place) -> None:
    result = WEB.replace("nginx:1.25", "nginx:1.27")
    assert place.run("apply", "web.yaml", "patch.yaml", "-o", "new.yaml")[0] == ""
    assert (place.read("new.yaml"), place.read("web.yaml")) == (result, WEB)
    (place.directory / "web.yaml").chmod(0o755)
    assert place.run("apply", "web.yaml", "patch.yaml", "--in-place", "--quiet") == ("", "")
    assert place.read("web.yaml") == result
    assert (place.directory / "web.yaml").stat().st_mode & 0o777 == 0o755


def test_a_difference(place: Place) -> None:
    out, _ = place.run("apply", "web.yaml", "patch.yaml", "--diff")
    lines = [line for line in out.splitlines() if line.startswith(("-", "+", "diff"))]
    assert lines == [
        "diff --git a/web.yaml b/web.yaml",
        "--- a/web.yaml",
        "+++ b/web.yaml",
        "-        image: 'nginx:1.25'",
        "+        image: 'nginx:1.27'",
    ]
    assert place.read("web.yaml") == WEB
    again, _ = place.run("apply", "web.yaml", "patch.yaml", "--diff", "--in-place")
    assert again == out
    assert place.read("web.yaml") != WEB
    assert place.run("apply", "web.yaml", "patch.yaml", "--diff")[0] == ""


def test_a_patch_that_matches_nothing(place: Place) -> None:
    """One of many is an error, too: a name may be misspelt."""
    other = IMAGE.replace("name: web}", "name: web2}", 1)
    says = "stdin matches nothing in web.yaml; check the object that it names\n"
    assert place.run("apply", "web.yaml", "-", stdin=other, code=1)[1] == f"error   {says}"
    assert place.run("apply", "web.yaml", "-", "--allow-missing", stdin=other) == (WEB, f"warning {says}")
    _, err = place.run("apply", "web.yaml", "-", "--in-place", stdin=f"{IMAGE}---\n{other}", code=1)
    assert (
        err
        == "error   stdin document 2 (Deployment web2) matches nothing in web.yaml; check the object that it names\n"
    )
    assert place.read("web.yaml") == WEB


def test_what_is_for_a_package_says_how_it_runs(place: Place) -> None:
    declared = "apiVersion: fn.kpt.dev/v1alpha1\nkind: PatchResources\nmetadata: {name: p}\npatches: [{patch: '{}'}]\n"
    place.write(**{"patches.yaml": declared})
    for arguments, code in ((("web.yaml", "patches.yaml"), 1), ((".", "patch.yaml"), 3)):
        _, err = place.run("apply", *arguments, code=code)
        assert "krm-merge patch run DIR --config FILE" in err
    # A PatchResources may be what a patch is for.
    place.write(**{"web.yaml": declared, "patch.yaml": declared.replace("patches:", "x:")})
    assert "x:" in place.run("apply", "web.yaml", "patch.yaml")[0]


def test_modes(place: Place) -> None:
    place.write(**{"patch.yaml": PORT})
    ports = [
        {"port": 53, "targetPort": 5353, "protocol": "UDP"},
        {"port": 53, "targetPort": 53, "protocol": "UDP"},
    ]
    out, _ = place.run("apply", "web.yaml", "patch.yaml", "--merge-keys", "single", "--list-order", "kubernetes")
    assert [*yaml.safe_load_all(out)][1]["spec"]["ports"] == ports
    patch = IMAGE.replace('image: "nginx:1.27"', "$setElementOrder/env: [{name: A}], env: [{name: A}]")
    place.write(**{"patch.yaml": patch})
    assert "moves B in" in place.run("apply", "web.yaml", "patch.yaml")[1]
    out, err = place.run("apply", "web.yaml", "patch.yaml", "--list-order", "kubernetes")
    assert out == WEB
    assert "moves" not in err


def test_definitions_in_the_file(place: Place) -> None:
    zone = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts:\n- id: 1 # one\n- id: 2\n"
    place.write(**{"web.yaml": f"{zone}---\n{CRD}"})
    patch = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts: [{id: 2, x: 1}]\n"
    out, _ = place.run("apply", "web.yaml", "-", stdin=patch)
    assert out == f"{zone}  x: 1\n---\n{CRD}"


REFUSED = [
    # what web.yaml and patch.yaml hold, what is said; None: as it is
    (None, "spec: {ports: [{name: dns}]}", ["Service dns: patch.yaml: spec.ports: ", "declared merge key: port"]),
    (None, "- {op: remove, path: /none}", ["Deployment web: patch.yaml: operation 1", "Service dns: patch.yaml"]),
    (
        None,
        f"{IMAGE}---\n{PORT.replace('port: 53, ', '')}",
        ["Service dns: patch.yaml document 2 (Service dns): spec.ports"],
    ),
    ("apiVersion: v1\nkind: List\nitems: []\n", None, ["patch.yaml matches nothing in web.yaml"]),
]
UNREADABLE = [
    (None, "text", ["error patch.yaml: a patch is a mapping or a list of operations"]),
    (None, "", ["error patch.yaml: the patch is empty"]),
    (None, f"{PORT}---\n- text\n", ["error patch.yaml: document 2: operation 1 is"]),
    (None, f"{PORT}---\ntext\n", ["error patch.yaml: document 2: a patch is a mapping or a list of operations"]),
    (None, "a: [", ["error patch.yaml: ", "not valid YAML"]),
    (None, "- {op: jump, path: /a}", ["error patch.yaml: operation 1, "]),
    ("a: [", None, ["error web.yaml: ", "not valid YAML"]),
    ("a: 1\na: 2\n", None, ["error web.yaml: ", "the key a appears twice"]),
    ("text", None, ["error web.yaml"]),
    ("a: 1", None, ["error web.yaml"]),
]


@pytest.mark.parametrize(
    ("web", "patch", "says", "code"),
    [(*case, code) for cases, code in ((REFUSED, 1), (UNREADABLE, 3)) for case in cases],
)
def test_refused_input(place: Place, web: str | None, patch: str | None, says: list[str], code: int) -> None:
    files = {"web.yaml": web, "patch.yaml": patch}
    place.write(**{name: text for name, text in files.items() if text is not None})
    before = place.read("web.yaml")
    _, err = place.run("apply", "web.yaml", "patch.yaml", "--in-place", code=code)
    assert [text for text in says if text not in err] == [], err
    assert place.read("web.yaml") == before


def test_a_list_beside_what_a_patch_is_for(place: Place) -> None:
    list_ = "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
    place.write(**{"web.yaml": WEB + list_})
    out, _ = place.run("apply", "web.yaml", "patch.yaml")
    assert out == WEB.replace("nginx:1.25", "nginx:1.27") + list_


HALF_NAMED = [
    # a patch, by what it names its object
    ("{kind: Deployment, metadata: {name: web}}", "kind and metadata.name"),
    ("{apiVersion: apps/v1, kind: Deployment}", "apiVersion and kind"),
    ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: null}}", "apiVersion and kind and metadata.name"),
    ("{metadata: {name: {a: b}}}", "metadata.name"),
    ("{metadata: {namespace: prod}}", "metadata.namespace"),
]


@pytest.mark.parametrize(("patch", "named"), HALF_NAMED)
@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_a_patch_that_names_its_object_by_halves_is_refused(place: Place, patch: str, named: str, kind: str) -> None:
    place.write(**{"patch.yaml": f"{PORT}---\n{patch}\n---\n{patch}\n"})
    _, err = place.run("apply", "web.yaml", "patch.yaml", "--type", kind, code=1)
    assert len(err.splitlines()) == 2
    assert err.startswith("error   patch.yaml document 2")
    assert f" has {named}: a patch names its object by apiVersion, kind and metadata.name" in err


def test_names_and_kinds_stay(place: Place) -> None:
    operations = "[{op: replace, path: /metadata/name, value: new}, {op: replace, path: /kind, value: DaemonSet}]"
    place.write(**{"web.yaml": OLD, "patch.yaml": operations})
    assert place.run("apply", "web.yaml", "patch.yaml")[0] == OLD


def test_limits_name_the_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = "---\n".join([OBJECT % "{x: y}"] * 3)
    place.write(**{"maps.yaml": maps, "patch.yaml": "data: {x: z}\n---\ndata: {y: z}\n"})
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    _, err = place.run("apply", "maps.yaml", "patch.yaml", "--in-place", code=3)
    assert err == (
        "error maps.yaml holds more than 2 documents; split it, or raise the limit with KRM_MERGE_MAX_DOCUMENTS\n"
    )
    monkeypatch.delenv("KRM_MERGE_MAX_DOCUMENTS")
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "5")
    _, err = place.run("apply", "maps.yaml", "patch.yaml", "--in-place", code=3)
    assert err.startswith("error patch.yaml: 2 targets without the name of a resource and 3 resources are more than 5")
    assert place.read("maps.yaml") == maps


def test_what_leaves_no_object_is_refused(place: Place) -> None:
    place.write(**{"web.yaml": OLD})
    _, err = place.run("apply", "web.yaml", "-", stdin="metadata: {annotations: [a]}", code=1)
    assert "Deployment web: stdin: metadata.annotations: " in err


def test_what_is_no_file_stays_what_it_is(place: Place) -> None:
    """A pipe here; `-o /dev/null` by root must leave a device."""
    pipe = place.directory / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    place.run("apply", "web.yaml", "patch.yaml", "-o", "pipe")
    with open(reader, encoding="utf-8") as source:
        assert source.read() == place.run("apply", "web.yaml", "patch.yaml")[0]
    assert pipe.is_fifo()


@pytest.mark.parametrize("how", [["-o", "new.yaml"], ["--diff"], []])
def test_of_what_is_refused_nothing_is_written(place: Place, how: list[str]) -> None:
    place.run("apply", "web.yaml", "-", *how, stdin="- {op: remove, path: /none}", code=1)
    assert sorted(os.listdir(place.directory)) == ["patch.yaml", "web.yaml"]


@pytest.mark.parametrize("arguments", [("none.yaml", "patch.yaml"), ("web.yaml", "none.yaml"), (".", "patch.yaml")])
def test_files_that_are_none(place: Place, arguments: tuple[str, ...]) -> None:
    _, err = place.run("apply", *arguments, code=3)
    assert err.startswith("error ")
    assert next(name for name in arguments if name in ("none.yaml", ".")) in err
    assert "krm-merge declare" in place.run("create", "web.yaml", ".", code=3)[1]


def test_bytes_that_are_no_text(place: Place) -> None:
    (place.directory / "patch.yaml").write_bytes(b"a: \xff\n")
    assert place.run("apply", "web.yaml", "patch.yaml", code=3)[1].startswith("error patch.yaml: ")
    (place.directory / "web.yaml").write_bytes(b"a: \xff\n")
    place.write(**{"patch.yaml": IMAGE})
    assert place.run("apply", "web.yaml", "patch.yaml", code=3)[1].startswith("error web.yaml: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "-", "-"),
        ("apply", "-", "patch.yaml", "--in-place"),
        ("apply", "web.yaml", "patch.yaml", "--in-place", "-o", "new.yaml"),
        ("apply", "web.yaml"),
        ("apply", "web.yaml", "patch.yaml", "--type", "strategicmerge"),
        ("apply", "web.yaml", "patch.yaml", "--list-order", "kubectl"),
        ("apply", "web.yaml", "patch.yaml", "--merge-keys", "all"),
        ("create", "-", "-"),
        ("create", "web.yaml"),
        ("create", "web.yaml", "web.yaml", "--type", "json", "--live", "web.yaml"),
        ("run", "."),
        ("make", "web.yaml"),
    ],
)
def test_wrong_usage(place: Place, arguments: tuple[str, ...]) -> None:
    place.run(*arguments, code=2)
    assert place.read("web.yaml") == WEB
