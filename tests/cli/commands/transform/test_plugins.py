"""`krm-merge transform`: which plugins run, with which options, and what is refused."""

from __future__ import annotations

import json

import pytest
import yaml

from cli.commands.transform.place import FILES, STRIPPED, WEB, Place
from krm_merge.transform.plugins.sources import VARIABLE

# ---- which plugins run -----------------------------------------------------------------------------------------------

CHOICES = [
    # arguments, the replicas, plugins that lose
    ([], 3, "bc"),
    (["--plugin-priorities", "c"], 5, "ab"),
    (["--plugin-priorities", "c,b,c"], 5, "ab"),
    (["--plugin-priorities", "b,c,b"], 4, "ac"),
    (["--skip-plugins", "a"], 4, "c"),
    (["-s", " a , b ", "--plugin-priorities", "a"], 5, ""),
]


@pytest.mark.parametrize(("arguments", "replicas", "losers"), CHOICES)
def test_priorities_and_plugins_to_skip(three: Place, arguments: list[str], replicas: int, losers: str) -> None:
    """Programs in subfolders too, in the order of their paths; T11: a repeated name keeps its first place."""
    _, err = three.transform(*arguments)
    assert yaml.safe_load(three.read("pkg/web.yaml"))["spec"]["replicas"] == replicas
    assert [name for name in "abc" if f"Deployment web: {name}'s replace" in err] == list(losers)


@pytest.mark.parametrize("option", ["--plugin-priorities", "--skip-plugins"])
def test_unknown_names(three: Place, option: str) -> None:
    _, err = three.transform(option, "a,x,y", code=1)
    names = "choose from KubernetesPlugin, a, b, c"
    assert err.splitlines()[:2] == [
        f"error   {option} names {name}, but no plugin has that name; {names}" for name in "xy"
    ]
    assert three.files("pkg") == FILES


def test_the_directory_of_the_environment(three: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "plugins")
    three.run("pkg")
    assert yaml.safe_load(three.read("pkg/web.yaml"))["spec"]["replicas"] == 3


def test_options_before_the_directory(place: Place) -> None:
    out, _ = place.run("run", "--diff", "--dry-run", "pkg")
    assert out
    assert place.run("--diff", "pkg")[0] == out
    assert place.read("pkg/web.yaml") == STRIPPED


# ---- options of plugins ----------------------------------------------------------------------------------------------


def test_options_for_all(place: Place) -> None:
    """Names are in lower case, as crane has them."""
    meta = json.dumps({"requestVersion": ["v1"], "responseVersion": ["v1"]})
    for name in "ab":
        note = f"""[ "$request" = '{{}}' ] || echo "$request" >> {place.directory}/{name}.json"""
        place.program(name, "#!/bin/sh", "request=$(cat)", note, f"echo '{meta}'")
    place.transform("--optional-flags", '{"X": "1", "Y": "2"}', "-s", "KubernetesPlugin")
    extras = [json.loads(place.read(f"{name}.json").splitlines()[0])["extras"] for name in "ab"]
    assert extras == [{"x": "1", "y": "2"}] * 2


FLAG_ERRORS = [
    (["--optional-flags", '{"a":'], "no JSON at line 1, column 6; a JSON object of strings is expected"),
    (["--optional-flags", '["a"]'], "a JSON object of strings is expected"),
    (["--optional-flags", "null"], "a JSON object of strings is expected"),
    (["--optional-flags", '{"a": 1}'], "a JSON object of strings is expected"),
    (["--optional-flags", '{"Ab": "1", "aB": "2"}'], "duplicate optional key ab"),
]


@pytest.mark.parametrize(("arguments", "says"), FLAG_ERRORS)
def test_wrong_options(three: Place, arguments: list[str], says: str) -> None:
    _, err = three.transform(*arguments, code=2)
    assert says in err
    assert three.files("pkg") == FILES


def test_options_that_no_plugin_knows_warn(place: Place) -> None:
    _, err = place.run("pkg", "-q", "--optional-flags", '{"registry-replacment": "a=b"}')
    assert err == "warning no plugin knows the option registry-replacment\n"


# ---- --config --------------------------------------------------------------------------------------------------------

CONFIG = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: TransformResources
metadata:
  name: transform # as in the package
priorities: [site]
plugins:
- exec: {file: a}
- name: site
  patches:
  - ops:
    - op: add
      path: /metadata/annotations/note
      value: |
        two
        lines
  - target: {kind: Deployment}
    ops: [{op: replace, path: /spec/replicas, value: 9}]
"""


@pytest.mark.parametrize("start", ["", "# a licence\n", "---\n", "# a licence\n---\n", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_configuration(three: Place, start: str, end: str) -> None:
    """Files as they are found in packages, however they begin and whatever ends their lines."""
    three.write(**{"fn.yaml": (start + CONFIG).replace("\n", end)})
    _, err = three.transform("--config", "fn.yaml")
    web = yaml.safe_load(three.read("pkg/web.yaml"))
    assert web["spec"]["replicas"] == 9
    assert web["metadata"]["uid"] == "abc"
    assert web["metadata"]["annotations"] == {"note": "two\nlines\n"}
    assert "web.yaml: Deployment web: a's replace /spec/replicas is ignored: site has priority" in err


WRONG_CONFIGS = [
    ("", "fn.yaml is empty; a TransformResources functionConfig is expected"),
    ("# nothing\n", "fn.yaml is empty; a TransformResources functionConfig is expected"),
    ("a: 1\nkind: [\n", "line 3"),
    ("a: 1\na: 2\n", "the key a appears twice"),
    ("- a\n", "fn.yaml is not a mapping"),
    ("text\n", "fn.yaml"),
    (CONFIG.replace("TransformResources", "PatchResources"), "kind is 'PatchResources'"),
    (CONFIG.replace("plugins:", "plugin:"), "plugin is an unknown field"),
    (CONFIG.replace("{file: a}", "{file: bbb}"), "plugins[0]: plugins has no plugin bbb"),
    (CONFIG.replace("[site]", "[sites]"), "priorities names sites, but no plugin has that name"),
    (None, "fn.yaml: "),
]


@pytest.mark.parametrize(("text", "says"), WRONG_CONFIGS)
def test_wrong_configurations(three: Place, text: str | None, says: str) -> None:
    if text is not None:
        three.write(**{"fn.yaml": text})
    _, err = three.transform("--config", "fn.yaml", code=1 if text and text.startswith("apiVersion") else 3)
    assert err.startswith("error ")
    assert says in err
    assert "stdin" not in err
    assert three.files("pkg") == FILES


# ---- plugins that fail -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["pkg"], ["list-plugins"]])
def test_programs_that_do_not_tell_of_themselves(three: Place, command: list[str]) -> None:
    three.plugin("broken", {}, "echo oops >&2", "exit 1")
    _, err = three.run(*command, "--plugin-dir", "plugins", code=3)
    assert err.startswith("error ")
    assert "plugins/broken: ended with exit code 1: oops" in err
    assert three.files("pkg") == FILES


def test_plugins_that_fail(three: Place) -> None:
    """One error for all resources; what other plugins want is not written."""
    three.plugin("d", {})
    script = three.read("plugins/d").replace("*) echo '{}' ;;", "*) echo failed >&2; exit 7 ;;")
    three.program("d", script)
    _, err = three.transform(code=1)
    lines = err.splitlines()
    assert "error   d: ended with exit code 7: failed (Service dns, Deployment web)" in lines
    assert lines[-1] == "refused; nothing was written"
    assert three.files("pkg") == FILES


# ---- packages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directory", ["none", "pkg/web.yaml"])
def test_packages_that_are_not_there(place: Place, directory: str) -> None:
    assert place.run(directory, code=3)[1] == f"error {directory}: there is no such directory\n"


BROKEN = [("kind: [\n", "not valid YAML"), ("kind: A\nkind: B\n", "the key kind appears twice")]


@pytest.mark.parametrize(("text", "says"), BROKEN)
@pytest.mark.parametrize("how", [[], ["--transform-dir", "out"]])
def test_broken_files_are_refused(place: Place, text: str, says: str, how: list[str]) -> None:
    place.write(**{"pkg/zz/bad.yaml": text})
    _, err = place.run("pkg", *how, code=3)
    assert err.startswith("error pkg/zz/bad.yaml: ")
    assert says in err
    assert place.files("pkg") == {**FILES, "zz/bad.yaml": text}
    assert not (place.directory / "out").exists()


def test_bytes_that_are_no_text(place: Place) -> None:
    (place.directory / "pkg/web.yaml").write_bytes(b"a: \xff\n")
    assert place.run("pkg", code=3)[1].startswith("error pkg/web.yaml: ")


def test_other_yaml_is_left_alone(place: Place) -> None:
    others = {"empty.yaml": "", "list.yaml": "- a\n", "text.yml": "text", "two.yaml": f"a:   1\n---\n{WEB}---\n- 1"}
    place.write(**{f"pkg/{name}": text for name, text in others.items()})
    place.run("pkg")
    others["two.yaml"] = others["two.yaml"].replace(", uid: abc", "")
    assert place.files("pkg") == {**FILES, **others, "web.yaml": STRIPPED}


def test_an_empty_package(place: Place) -> None:
    (place.directory / "empty").mkdir()
    assert place.run("empty") == ("", "info    KubernetesPlugin changes nothing\nno file changes\n")


# ---- list-plugins ----------------------------------------------------------------------------------------------------


def test_list_plugins(two_plugins: Place) -> None:
    painter = "Painter v2\n  color: Which one. Example: red\n  size: How big.\n"
    out, err = two_plugins.run("list-plugins", "--plugin-dir", "plugins", "-s", "KubernetesPlugin")
    assert (out, err) == (f"{painter}plain\n", "")
    out, _ = two_plugins.run("list-plugins")
    assert out.startswith("KubernetesPlugin v1\n")
    assert "  strip-default-rbac: " in out
    out, _ = two_plugins.run("list-plugins", "--plugin-dir", "plugins", "--skip-plugins", "KubernetesPlugin,plain")
    assert out == painter


def test_list_plugins_as_json(two_plugins: Place) -> None:
    out, _ = two_plugins.run("list-plugins", "--plugin-dir", "plugins", "-s", "KubernetesPlugin", "--format", "json")
    versions = {"requestVersion": ["v1"], "responseVersion": ["v1"]}
    fields = [
        {"flagName": "color", "help": "Which one.", "example": "red"},
        {"flagName": "size", "help": "How big.", "example": ""},
    ]
    painter, plain = json.loads(out)
    assert painter == {"name": "Painter", "version": "v2", **versions, "optionalFields": fields}
    assert plain == {"name": "plain", "version": "", **versions}


# ---- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("pkg", "--ignored-patches-dir", "lost"),
        ("pkg", "--plugin-dir", "none"),
        ("pkg", "--plugin-dir", "pkg/web.yaml"),
        ("pkg", "--ignored-severity", "fail"),
        ("pkg", "--whiteout", "delete"),
        ("pkg", "--config", "pkg"),
        ("pkg", "other"),
        ("run",),
        ("list-plugins", "pkg"),
        ("list-plugins", "--plugin-dir", "none"),
        ("--dry-run",),
    ],
)
def test_wrong_usage(place: Place, arguments: tuple[str, ...]) -> None:
    place.run(*arguments, code=2)
    assert place.files("pkg") == FILES
