"""What people left half done or wrote wrong: each is named with its file, none passed over, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cli.commands.merge.updates import Files, Run
from e2e.hosts import git
from e2e.in_process import krm_merge
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import DEPLOYMENT, SERVICE, Repository, config_map, kptfile, snapshot, write

MARKED = "<<<<<<< ours\n  color: red\n=======\n  color: blue\n>>>>>>> theirs\n"
IN_MARKERS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n" + MARKED
BROKEN = config_map("a", color="red").replace("  name", " name").replace("metadata:", "metadata:\n  x: y")
V1: Files = {
    "a.yaml": config_map("a", color="red"),
    "b.yaml": config_map("b", x="one"),
    "notes.txt": "one\n",
    "merging.txt": MARKED,
    "values.tmpl.yaml": "a: {{ if .Values.a }}\n  - b\n",
    "Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
}
V2: Files = {"b.yaml": config_map("b", x="two"), "a.yaml": config_map("a", color="green")}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package at v1 of an upstream that has v2, too."""
    repository = Repository.at(tmp_path / "upstream")
    first = repository.version("v1", V1)
    repository.version("v2", V2)
    return write(tmp_path / "own" / "web", {**V1, "Kptfile": kptfile(repository.path, "v1", first)})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    def call(*arguments: str | Path, stdin: str = "") -> Run:
        done = krm_merge(*arguments, cwd=tmp_path / "own", stdin=stdin, **{CACHE_VARIABLE: str(tmp_path / "cache")})
        assert "Traceback" not in done.stderr + done.stdout
        assert "internal error" not in done.stderr
        return done

    return call


HALF_DONE: Mapping[str, tuple[Files, list[str]]] = {
    "markers": ({"a.yaml": IN_MARKERS}, ["web/a.yaml:6: a conflict between markers", "settle it"]),
    "markers in two files": (
        {"a.yaml": IN_MARKERS, "b.yaml": IN_MARKERS},
        ["web/a.yaml:6: a conflict", "web/b.yaml:6: a conflict"],
    ),
    "longer markers": (
        {"a.yaml": IN_MARKERS.replace("<" * 7, "<" * 9).replace("=" * 7, "=" * 9).replace(">" * 7, ">" * 9)},
        ["web/a.yaml:6: a conflict"],
    ),
    "markers in a text": ({"notes.txt": MARKED}, ["web/notes.txt:1: a conflict"]),
    "markers in a new file": ({"own.yaml": IN_MARKERS}, ["web/own.yaml:6: a conflict"]),
    "markers in a moved file": ({"a.yaml": None, "moved.yaml": IN_MARKERS}, ["web/moved.yaml:6: a conflict"]),
    "markers with CRLF": ({"a.yaml": IN_MARKERS.replace("\n", "\r\n")}, ["web/a.yaml:6: a conflict"]),
    "markers and a broken file": (
        {"a.yaml": IN_MARKERS, "b.yaml": BROKEN},
        ["web/a.yaml:6: a conflict", "web/b.yaml:5: not valid YAML", "settle it; fix the file"],
    ),
    "a wrong indent": ({"a.yaml": BROKEN}, ["web/a.yaml:5: not valid YAML", ".krmignore"]),
    "moved and broken": ({"a.yaml": None, "moved.yaml": BROKEN}, ["web/moved.yaml:5: not valid YAML"]),
    "a tab": ({"a.yaml": config_map("a").replace("  name", "\tname")}, ["web/a.yaml:4: not valid YAML"]),
    "an open quote": ({"own.yaml": "kind: 'A\n"}, ["web/own.yaml:", "not valid YAML"]),
    "an open bracket": ({"own.yaml": "kind: [A\n"}, ["web/own.yaml:", "not valid YAML"]),
    "an unknown alias": ({"own.yaml": "kind: *a\n"}, ["web/own.yaml:1: the alias *a has no anchor"]),
    "a key twice": ({"a.yaml": config_map("a") + "kind: ConfigMap\n"}, ["web/a.yaml:6: the key kind appears twice"]),
    "not UTF-8": ({"own.yaml": b"name: \xff\n"}, ["web/own.yaml: not UTF-8"]),
    "a NUL": ({"own.yaml": "name: a\0\n"}, ["web/own.yaml:", "not valid YAML"]),
    "the second document": ({"a.yaml": f"{config_map('a')}---\n{BROKEN}"}, ["web/a.yaml:11: not valid YAML"]),
    "a new template": (
        {"own.yaml": "{{ if .a }}\na: b\n{{ end }}\n"},
        ["web/own.yaml:", "if it is not YAML on purpose"],
    ),
}


@pytest.mark.parametrize(("files", "phrases"), HALF_DONE.values(), ids=HALF_DONE)
def test_an_update_stops_at_what_is_half_done(
    package: Path, run: Callable[..., Run], files: Files, phrases: list[str]
) -> None:
    """I13: with and without --on-conflict, and in resolve."""
    write(package, files)
    before = snapshot(package)
    for arguments in (["update"], ["update", "--on-conflict", "local"], ["resolve", "--terminal"]):
        done = run(*arguments, "web@v2")
        assert done.returncode == 1, done.stderr
        for phrase in [*phrases, "nothing was changed"]:
            assert phrase in done.stderr
        assert snapshot(package) == before


UNFINISHED_ON_PURPOSE: Mapping[str, Files] = {
    "as upstream has it": {"b.yaml": config_map("b", x="one", y="own")},
    "a template of Helm": {"templates/own.yaml": "{{ if .a }}\na: b\n{{ end }}\n"},
    "listed in .krmignore": {"own.yaml": "{{ if .a }}\na: b\n{{ end }}\n", ".krmignore": "own.yaml\n"},
    "an upstream template, edited": {"values.tmpl.yaml": "a: {{ if .Values.b }}\n  - b\n"},
    "an upstream template, moved": {"values.tmpl.yaml": None, "moved.yaml": V1["values.tmpl.yaml"]},
    "a document that shows markers": {"own.md": MARKED},
}


@pytest.mark.parametrize("files", UNFINISHED_ON_PURPOSE.values(), ids=UNFINISHED_ON_PURPOSE)
def test_what_is_no_yaml_on_purpose_does_not_stop_an_update(
    package: Path, run: Callable[..., Run], files: Files
) -> None:
    write(package, files)
    done = run("update", "web@v2")
    assert done.returncode == 0, done.stderr
    assert "color: green" in (package / "a.yaml").read_text()


@pytest.mark.parametrize("on_delete", [None, "upstream", "local"])
@pytest.mark.parametrize("on_conflict", ["upstream", "local"])
def test_who_wins_conflicts_decides_existence_too(
    tmp_path: Path, run: Callable[..., Run], on_conflict: str, on_delete: str | None
) -> None:
    """I14: of resources, elements and files, whichever side deleted them."""
    containers = "      - name: side\n        image: side:{}\n"
    original = {
        "web.yaml": DEPLOYMENT + containers.format(1),
        "service.yaml": SERVICE,
        "map.yaml": config_map("m", x="1"),
        "notes.txt": "1\n",
        "other.txt": "1\n",
    }
    upstream = {
        **original,
        "web.yaml": DEPLOYMENT + containers.format(2),
        "map.yaml": config_map("m", x="2"),
        "notes.txt": "2\n",
    }
    upstream = {name: text for name, text in upstream.items() if name not in ("service.yaml", "other.txt")}
    local = {"web.yaml": DEPLOYMENT, "service.yaml": SERVICE.replace("80", "81"), "other.txt": "3\n"}
    for name, files in (("o", original), ("u", upstream), ("l", local)):
        write(tmp_path / "own" / name, {**files})
    more = [] if on_delete is None else ["--on-delete", on_delete]
    done = run("merge", "o", "u", "l", "-o", "m", "--on-conflict", on_conflict, *more)
    assert done.returncode == 0, done.stderr
    winner = on_delete or on_conflict
    names = {file.name for file in (tmp_path / "own" / "m").iterdir()}
    assert names == {"web.yaml", *(upstream if winner == "upstream" else local)}
    assert ("side:2" in (tmp_path / "own" / "m" / "web.yaml").read_text()) is (winner == "upstream")


MANIFESTS = "".join(f"---\n{config_map(f'c{number}', a='1', b='2')}" for number in range(9))
NEWER = MANIFESTS.replace("a: 1", "a: 2")
STREAMS: Mapping[str, tuple[str, list[str]]] = {
    "nothing": ("", ["stdin is empty"]),
    "space": ("\n \n", ["stdin is empty"]),
    "half of the documents": (NEWER[: NEWER.index("---", len(NEWER) // 3)], ["resources, and 9 were there before"]),
    "inside a line": (NEWER[: NEWER.rindex("b: 2") + 2], ["stdin ends inside a line", "b:"]),
    "inside a word": (NEWER.rstrip("\n")[:-3], ["stdin"]),
    "inside a key": (NEWER[: NEWER.rindex("data") + 2], ["stdin:", "not valid YAML"]),
    "inside of the first document": (NEWER[:30], ["stdin"]),
    "an error of a server": ("<html><body>502 Bad Gateway</body></html>\n", ["stdin:"]),
    "a message": ("Error: release not found\n", ["stdin:1: the document is not a Kubernetes object"]),
    "another kind of text": ("- a\n- b\n", ["stdin:1: the document is not a Kubernetes object"]),
    "a resource twice": (NEWER + NEWER[: NEWER.index("---", 4)], ["ConfigMap c0 is in stdin:2", "keep one of each"]),
    "a resource without a name": (f"{NEWER}---\nkind: A\napiVersion: v1\n", ["is a A without metadata.name"]),
    "an item without a kind": (
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: c0}\n",
        ["stdin:1: items[0] is not a Kubernetes object"],
    ),
}


@pytest.mark.parametrize(("stream", "phrases"), STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("is_directory", [True, False], ids=["into a directory", "into a file"])
def test_a_stream_that_is_not_whole_is_refused(
    tmp_path: Path, run: Callable[..., Run], stream: str, phrases: list[str], is_directory: bool
) -> None:
    """I17: half of the manifests would delete the resources of the other half."""
    own = write(tmp_path / "own", {"v1.yaml": MANIFESTS, "deploy/all.yaml": MANIFESTS, "one.yaml": MANIFESTS})
    before = snapshot(own)
    done = run("merge", "v1.yaml", "-", "deploy" if is_directory else "one.yaml", "--in-place", stdin=stream)
    if done.returncode == 0:
        # What is no manifest at all is text, as git merges it: nobody can say that it is cut.
        assert not is_directory
    else:
        assert snapshot(own) == before
    if is_directory:
        assert done.returncode in (1, 3)
        for phrase in phrases:
            assert phrase in done.stderr, done.stderr


def test_a_stream_that_is_small_on_purpose_is_merged_if_asked(tmp_path: Path, run: Callable[..., Run]) -> None:
    own = write(tmp_path / "own", {"v1.yaml": MANIFESTS, "deploy/all.yaml": MANIFESTS})
    for stream, left in ((NEWER, 9), (NEWER[: NEWER.index("name: c2")].rpartition("---")[0], 2)):
        done = run("merge", "v1.yaml", "-", "deploy", "--in-place", "--allow-partial", stdin=stream)
        assert done.returncode == 0, done.stderr
        text = (own / "deploy" / "all.yaml").read_text()
        assert (text.count("kind: ConfigMap"), text.count("a: 2")) == (left, left)
        write(own, {"v1.yaml": NEWER})


def test_lists_of_a_kind_are_their_items(tmp_path: Path, run: Callable[..., Run]) -> None:
    items = "".join(f"- {config_map(f'c{n}', a='2', b='2')}".replace("\n", "\n  ").rstrip() + "\n" for n in range(9))
    own = write(tmp_path / "own", {"v1.yaml": MANIFESTS, "deploy/all.yaml": MANIFESTS})
    stream = f"apiVersion: v1\nkind: ConfigMapList\nitems:\n{items}"
    done = run("merge", "v1.yaml", "-", "deploy", "--in-place", stdin=stream)
    assert done.returncode == 0, done.stderr
    assert (own / "deploy" / "all.yaml").read_text() == NEWER


POLICY = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePolicy
metadata:
  name: p
  annotations: {config.kubernetes.io/local-config: "true"}
rules:
- {kind: Deploymentz, onConflict: local}
- {kind: ConfigMap, onConflict: local}
"""


def test_an_update_names_what_it_adds_in_vain_and_rules_that_fit_nothing(
    tmp_path: Path, package: Path, run: Callable[..., Run]
) -> None:
    """I18."""
    Repository(tmp_path / "upstream").version("v3", {"new.yaml": SERVICE, "deep/new.yaml": SERVICE})
    git(package.parent, "init", "--quiet")
    write(package.parent, {".gitignore": "new.yaml\n", "web/merge-policy.yaml": POLICY})
    git(package.parent, "add", "--all")
    git(package.parent, "commit", "--quiet", "--message", "own")
    done = run("update", "web@v3")
    assert done.returncode == 0, done.stderr
    for path in ("new.yaml", "deep/new.yaml"):
        assert f"warning {path}: added, but a .gitignore excludes it" in done.stderr
    assert "warning merge-policy.yaml rules[0]: matches nothing in the package" in done.stderr
    assert "rules[1]" not in done.stderr


def config(kind: str, more: str) -> str:
    return f"apiVersion: fn.kpt.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: f}}\n{more}"


CHECKED: Mapping[str, tuple[Files, str]] = {
    "a misspelt field": (
        {"f.yaml": config("PatchResources", "patchez:\n- patch: 'a: b'\n")},
        "web/f.yaml:5: patchez is an unknown field; choose from",
    ),
    "a missing field": ({"f.yaml": config("PatchResources", "")}, "web/f.yaml:1: patches is missing"),
    "a wrong type": (
        {"f.yaml": config("PatchResources", "patches: yes\n")},
        "web/f.yaml:4: patches is 'yes'; a list is expected",
    ),
    "the second document": (
        {"f.yaml": f"{config_map('x')}---\n{config('PatchResources', 'patchez: []')}\n"},
        "web/f.yaml:10: patchez is an unknown field",
    ),
    "a patch without a target": (
        {"f.yaml": config("PatchResources", "patches:\n- patch: 'a: b'\n")},
        "web/f.yaml:5: patches[0]: target is missing",
    ),
    "a broken patch": (
        {"f.yaml": config("PatchResources", "patches:\n- patch: '{a'\n  target: {kind: A}\n")},
        "web/f.yaml:5: patches[0]: line 2, column 1: not valid YAML",
    ),
    "a patch from nowhere": (
        {"f.yaml": config("PatchResources", "patches:\n- path: p.yaml\n  target: {kind: A}\n")},
        "path: no item of the package has the file p.yaml",
    ),
    "a misspelt operation": (
        {"f.yaml": config("PatchResources", "patches:\n- patch: '[{op: replacez, path: /a}]'\n  target: {kind: A}\n")},
        "unknown operation 'replacez'",
    ),
    "a misspelt field of plugins": (
        {"f.yaml": config("TransformResources", "prioritiez: []\nplugins: [{name: KubernetesPlugin}]\n")},
        "web/f.yaml:4: prioritiez is an unknown field",
    ),
    "a misspelt choice": (
        {"f.yaml": config("MergePackage", "onConflict: upstreamz\noriginal: ''\nupstream: ''\n")},
        "web/f.yaml:4: onConflict",
    ),
    "a resource twice in two files": (
        {"one.yaml": SERVICE, "two.yaml": SERVICE},
        "web/two.yaml: Service web is defined twice: in one.yaml, too; keep one",
    ),
    "a resource twice in a file": (
        {"one.yaml": f"{SERVICE}---\n{SERVICE}"},
        "web/one.yaml: Service web is defined twice",
    ),
    "markers": ({"one.yaml": IN_MARKERS}, "web/one.yaml:6: a conflict between markers"),
    "a broken file": ({"one.yaml": BROKEN}, "web/one.yaml:5: not valid YAML"),
}


@pytest.mark.parametrize(("files", "problem"), CHECKED.values(), ids=CHECKED)
def test_check_looks_into_what_functions_read(
    package: Path, run: Callable[..., Run], files: Files, problem: str
) -> None:
    write(package, {"values.tmpl.yaml": None, "merging.txt": None})
    assert run("check", "web").returncode == 0
    write(package, files)
    done = run("check", "web")
    assert done.returncode == 1
    assert problem in done.stdout


def test_patches_of_a_kustomization_are_no_second_resources(package: Path, run: Callable[..., Run]) -> None:
    write(package, {"values.tmpl.yaml": None, "merging.txt": None, "web.yaml": DEPLOYMENT})
    kustomization = "kind: Kustomization\nresources: [../../web.yaml]\npatches:\n- path: web.yaml\n"
    write(package, {"overlays/dev/kustomization.yaml": kustomization, "overlays/dev/web.yaml": DEPLOYMENT})
    assert run("check", "web").stdout == "1 package checked, no problems\n"
