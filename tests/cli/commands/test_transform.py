"""`krm-merge transform`, run as users run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import join, relpath
from typing import Any, Final

import jsonpatch
import pytest
import yaml

from checkout import ROOT
from krm_merge.cli.app import main
from krm_merge.cli.commands.transform import options_by_plugin
from krm_merge.functions.transform_resources.config import options_of_crane
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.transform import Operation, Response
from krm_merge.transform.layout import ignored_path, new_path, transform_path, whiteout_path
from krm_merge.transform.plugins.directory import VARIABLE
from krm_merge.transform.protocol.plugin import WithOptions

TABLES: Final = yaml.safe_load((ROOT / "testdata" / "transform" / "crane.yaml").read_text(encoding="utf-8"))
FLAGS: Final = TABLES["newest_2026"]["optionalFlags"]
Value = dict[str, Any]

WEB = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: abc}
spec:
  replicas: 1 # few
  template:
    spec:
      containers:
      - name: web # the server
        image: 'nginx:1.25'
        args: [-a,   "-b"]
"""
DNS = """\
apiVersion: v1
kind: Service
metadata:
  name: dns
spec:
  ports:
  - port: 53 # zones
"""
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data # of the database\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: pkg, uid: abc}\n"
VALUES = "# for a chart\nreplicas:   3\n"
FILES = {"web.yaml": WEB, "names/dns.yml": DNS, "Kptfile": KPTFILE, "values.yaml": VALUES, "notes.txt": "kind: [\n"}

REPLICAS = {"op": "replace", "path": "/spec/replicas", "value": 3}
IMAGE = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:1.27"}
STRIPPED = WEB.replace(", uid: abc", "")


def replicas(number: int) -> Value:
    return {**REPLICAS, "value": number}


class Place:
    """A package, a directory of plugins, and the program beside them."""

    def __init__(self, directory: Path, output: pytest.CaptureFixture[str]) -> None:
        self.directory, self.output = directory, output
        self.write(**{f"pkg/{name}": text for name, text in FILES.items()})
        (directory / "plugins").mkdir()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def files(self, folder: str) -> dict[str, str]:
        """All that is in a folder."""
        root = self.directory / folder
        return {str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}

    def plugin(self, file: str, answers: Mapping[str, Value], /, *lines: str, **meta: Any) -> None:
        """A program that answers by kind; the lines come first."""
        told = json.dumps({"requestVersion": ["v1"], "responseVersion": ["v1"], **meta})
        cases = [f"""*'"kind": "{kind}"'*) echo '{json.dumps(answer)}' ;;""" for kind, answer in answers.items()]
        text = ["#!/bin/sh", *lines, "request=$(cat)", 'case "$request" in', f"'{{}}') echo '{told}' ;;"]
        self.program(file, *text, *cases, "*) echo '{}' ;;", "esac")

    def program(self, file: str, *lines: str) -> None:
        """A program in the directory of plugins."""
        self.write(**{f"plugins/{file}": "\n".join([*lines, ""])})
        (self.directory / "plugins" / file).chmod(0o755)

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """What it writes to stdout and stderr; its exit code must be this one."""
        with chdir(self.directory):
            try:
                done: object = main(["transform", *arguments])
            except SystemExit as stop:
                done = stop.code
        out, err = self.output.readouterr()
        assert done == code, (out, err)
        assert not code or not out or "json" in arguments
        return out, err

    def transform(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """With the plugins."""
        return self.run("pkg", "--plugin-dir", "plugins", *arguments, code=code)


@pytest.fixture
def place(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv(VARIABLE, raising=False)
    return Place(tmp_path, capfd)


@pytest.fixture
def three(place: Place) -> Place:
    """With three plugins that disagree."""
    for number, name in enumerate("abc"):
        place.plugin(f"{name * number}/{name}" if number else name, {"Deployment": {"patches": [replicas(number + 3)]}})
    return place


def test_as_a_program(three: Place) -> None:
    """All other tests call what this one starts."""
    three.write(**{"pkg/claim.yaml": CLAIM})
    command = [sys.executable, "-m", "krm_merge", "transform", "pkg", "--plugin-dir", "plugins", "--whiteout"]
    for action, code in (("error", 1), ("drop", 0), ("delete", 2)):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "fn"), "NO_COLOR": "1"}
        done = subprocess.run([*command, action], cwd=three.directory, env=env, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (code, b""), done.stderr
        assert b"Traceback" not in done.stderr
        assert ("claim.yaml" in three.files("pkg")) is (action == "error")


# ---- in place ----------------------------------------------------------------------------------------------------


def test_resources_are_changed_in_place(place: Place) -> None:
    """Comments, quotes and all that is no resource stay; KubernetesPlugin runs always."""
    place.plugin("a", {"Deployment": {"patches": [REPLICAS, IMAGE]}})
    out, err = place.transform()
    assert out == ""
    web = STRIPPED.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    assert place.files("pkg") == {**FILES, "web.yaml": web}
    assert err.splitlines() == [
        "info    web.yaml: Deployment web: 3 changes: 1 of KubernetesPlugin, 2 of a",
        "files: 1 changed, 0 added, 0 deleted",
    ]
    # Again: nothing is left to do.
    _, err = place.transform()
    assert err == "info    KubernetesPlugin wants nothing changed\nno file changes\n"
    assert place.read("pkg/web.yaml") == web


@pytest.mark.parametrize("dry", [["--dry-run"], ["--dry-run", "-q"], ["--dry-run", "--output", "json"]])
def test_dry_run(place: Place, dry: list[str]) -> None:
    place.run("pkg", *dry)
    assert place.files("pkg") == FILES


def test_diff(place: Place) -> None:
    out, err = place.run("pkg", "--diff", "--dry-run")
    lines = [line for line in out.splitlines() if line.startswith(("-", "+", "diff"))]
    assert lines == [
        "diff --git a/web.yaml b/web.yaml",
        "--- a/web.yaml",
        "+++ b/web.yaml",
        "-metadata: {name: web, uid: abc}",
        "+metadata: {name: web}",
    ]
    assert "files: 1 changed" in err
    assert place.files("pkg") == FILES
    assert place.run("pkg", "--diff")[0] == out
    assert place.read("pkg/web.yaml") == STRIPPED
    assert place.run("pkg", "--diff")[0] == ""


def test_quiet(three: Place) -> None:
    """Only warnings and errors."""
    _, err = three.transform("-q")
    first, second = err.splitlines()
    assert first == (
        "warning web.yaml: Deployment web: b's replace /spec/replicas is ignored: "
        "a is declared earlier (replace /spec/replicas)"
    )
    assert second.startswith("warning web.yaml: Deployment web: c's replace")
    assert three.run("pkg", "-q") == ("", "")


def test_json(three: Place) -> None:
    three.write(**{"pkg/claim.yaml": CLAIM})
    out, err = three.transform("--output", "json", "--whiteout", "drop")
    assert err == ""
    told = json.loads(out)
    assert told["files"] == {"added": [], "changed": ["web.yaml"], "deleted": ["claim.yaml"]}
    lost = [result for result in told["results"] if result["tags"]["event"] == "ignored"]
    assert lost[0]["tags"] == {
        "rule": "T5",
        "event": "ignored",
        "plugin": "b",
        "winner": "a",
        "reason": "order",
        "op": "replace",
        "pointer": "/spec/replicas",
        "value": "4",
        "unit": "1",
    }
    assert lost[0]["severity"] == "warning"
    assert lost[0]["field"] == {"path": "spec.replicas", "currentValue": "1", "proposedValue": "3"}
    assert lost[0]["file"] == {"path": "web.yaml"}
    assert lost[0]["resourceRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def test_json_of_what_is_refused(three: Place) -> None:
    out, err = three.transform("--output", "json", "--on-conflict", "error", code=1)
    told = json.loads(out)
    assert told["files"] == {"added": [], "changed": [], "deleted": []}
    assert [result["severity"] for result in told["results"] if result["tags"]["event"] == "ignored"] == ["error"] * 2
    assert err == ""
    assert three.files("pkg") == FILES


@pytest.mark.parametrize("how", [[], ["--diff"], ["--dry-run"], ["--transform-dir", "out"]])
def test_nothing_is_written_where_anything_is_refused(three: Place, how: list[str]) -> None:
    _, err = three.transform("--on-conflict", "error", *how, code=1)
    errors = err.splitlines()
    assert [line.split()[0] for line in errors] == ["error", "error", "refused;"]
    assert errors[-1] == "refused; nothing was written"
    assert three.files("pkg") == FILES
    assert not (three.directory / "out").exists()


@pytest.mark.parametrize("file", ["pkg/a.yaml", "pkg/b.yaml"])
def test_two_resources_of_one_identity_are_refused(place: Place, file: str) -> None:
    """T12: whether the other one is in a file that changes, too, or in one that does not."""
    resource = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
    a, b = resource.replace("NAME", "a"), resource.replace("NAME", "b")
    place.write(**{"pkg/a.yaml": a, "pkg/b.yaml": ""} | {file: a + "---\n" + b if file == "pkg/a.yaml" else b})
    place.write(**{"config.yaml": RENAMES})
    before = place.files("pkg")
    _, err = place.run("pkg", "--config", "config.yaml", code=1)
    assert "ConfigMap b: renames makes it ConfigMap a, which would be there 2 times" in err
    assert place.files("pkg") == before


RENAMES = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: TransformResources
metadata: {name: t}
plugins:
- name: renames
  patches: [{target: {name: b}, ops: [{op: replace, path: /metadata/name, value: a}]}]
"""


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_crane_files_make_no_two_resources_of_one_identity(place: Place, how: tuple[str, ...]) -> None:
    """T12: the patches are refused as the edits would be."""
    resource = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
    place.write(**{f"pkg/{name}.yaml": resource.replace("NAME", name) for name in "ab"}, **{"config.yaml": RENAMES})
    _, err = place.run("pkg", "--config", "config.yaml", "--transform-dir", "out", *how, code=1)
    assert "ConfigMap b: renames makes it ConfigMap a, which would be there 2 times (in a.yaml and b.yaml)" in err
    assert not (place.directory / "out").exists()


def test_crane_files_may_take_the_identity_of_what_is_whited_out(place: Place) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"
    owned = pod.replace("NAME", "a, ownerReferences: [{kind: ReplicaSet, name: r}]")
    place.write(**{"pkg/a.yaml": owned, "pkg/b.yaml": pod.replace("NAME", "b")})
    place.write(**{"config.yaml": RENAMES + "- builtin: kubernetes\n"})
    place.run("pkg", "--config", "config.yaml", "--transform-dir", "out")
    assert {"out/" + transform_path("b.yaml"), "out/" + whiteout_path("a.yaml")} <= place.files(".").keys()


def test_many_comparisons_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(**{"config.yaml": RENAMES.replace("name: b", "name: b.*")})
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "1")
    _, err = place.run("pkg", "--config", "config.yaml", code=3)
    assert "1 targets without the name of a resource and 3 resources are more than 1 comparisons" in err


@pytest.mark.parametrize("how", [(), ("--transform-dir", "out")])
def test_references_that_a_plugin_leaves_behind_are_a_warning(place: Place, how: tuple[str, ...]) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [], serviceAccountName: b}\n"
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: b}\n"
    place.write(**{"pkg/a.yaml": account, "pkg/pod.yaml": pod, "config.yaml": RENAMES})
    _, err = place.run("pkg", "--config", "config.yaml", *how)
    assert (
        "warning a.yaml: ServiceAccount b: renames makes it ServiceAccount a, but the package still refers to "
        "ServiceAccount b: Pod p in spec.serviceAccountName; change these fields, too\n"
    ) in err


DOCUMENTS = f"# licence\n\n{WEB}---\n# names\n{DNS}---\n# nothing\n---\n{CLAIM}"


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_several_documents(place: Place, start: str, end: str) -> None:
    """Each is edited where it stands; line ends and byte order marks stay."""
    place.write(**{"pkg/web.yaml": start + DOCUMENTS.replace("\n", end)})
    place.run("pkg", "--whiteout", "drop")
    wanted = DOCUMENTS.replace(", uid: abc", "").replace(f"---\n{CLAIM}", "")
    assert place.read("pkg/web.yaml") == start + wanted.replace("\n", end)


def test_results_name_the_document(place: Place) -> None:
    place.write(**{"pkg/web.yaml": DOCUMENTS})
    told = json.loads(place.run("pkg", "--output", "json")[0])
    assert [result["file"] for result in told["results"]] == [{"path": "web.yaml"}, {"path": "web.yaml", "index": 3}]


def test_modes_and_links_stay(place: Place) -> None:
    (place.directory / "pkg/web.yaml").chmod(0o755)
    (place.directory / "pkg/link.yaml").symlink_to("web.yaml")
    place.run("pkg")
    assert place.read("pkg/web.yaml") == STRIPPED
    assert (place.directory / "pkg/web.yaml").stat().st_mode & 0o111
    assert (place.directory / "pkg/link.yaml").is_symlink()


# ---- whiteouts ---------------------------------------------------------------------------------------------------


def test_whiteouts_are_marked(place: Place) -> None:
    place.write(**{"pkg/claim.yaml": CLAIM})
    _, err = place.run("pkg")
    mark = '  annotations:\n    config.kubernetes.io/local-config: "true"\n'
    assert place.read("pkg/claim.yaml") == CLAIM + mark
    assert "it is marked local-config and will not be applied" in err
    assert "claim" not in place.run("pkg")[1]


def test_a_file_whose_resources_are_dropped_goes(place: Place) -> None:
    place.write(**{"pkg/claim.yaml": CLAIM, "pkg/two.yaml": f"{CLAIM}---\n{DNS}"})
    _, err = place.run("pkg", "--whiteout", "drop")
    assert "it is removed from the package" in err
    assert not (place.directory / "pkg/claim.yaml").exists()
    assert yaml.safe_load(place.read("pkg/two.yaml")) == yaml.safe_load(DNS)
    assert "files: 2 changed, 0 added, 1 deleted" in err


def test_whiteouts_may_be_refused(place: Place) -> None:
    place.write(**{"pkg/claim.yaml": CLAIM})
    _, err = place.run("pkg", "--whiteout", "error", code=1)
    assert "error   claim.yaml: PersistentVolumeClaim data: KubernetesPlugin whites it out" in err
    assert place.files("pkg") == {**FILES, "claim.yaml": CLAIM}


# ---- new resources -----------------------------------------------------------------------------------------------

EXTRA = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}, "data": {"a": "b"}}
EXTRA_TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  a: b\n"


def test_new_resources(place: Place) -> None:
    """T7: beside what they were made for, once."""
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    _, err = place.transform()
    assert place.read("pkg/names/configmap_extra.yaml") == EXTRA_TEXT
    assert "info    names/configmap_extra.yaml: ConfigMap extra: added by a for Service dns\n" in err
    assert "files: 1 changed, 1 added, 0 deleted\n" in err
    before = place.files("pkg")
    place.transform()
    assert place.files("pkg") == before


@pytest.mark.parametrize("there", [f"{DNS}", f"# x\n{DNS}".rstrip("\n"), DNS.replace("\n", "\r\n")])
def test_new_resources_in_a_file_that_is_there(place: Place, there: str) -> None:
    place.plugin("a", {"Deployment": {"newResources": [EXTRA]}})
    there = there.replace("dns", "more")
    place.write(**{"pkg/configmap_extra.yaml": there})
    place.transform()
    after = place.read("pkg/configmap_extra.yaml")
    assert after.startswith(there)
    assert [one["metadata"]["name"] for one in yaml.safe_load_all(after)] == ["more", "extra"]
    assert after.count("\r\n") in (0, after.count("\n"))


OLD = "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata:\n  name: old\nspec:\n  replicas: 1\n"
CONVERTED = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "old"}, "spec": {"replicas": 7}}


@pytest.mark.parametrize("how", [["--whiteout", "drop"], ["--whiteout", "annotate"], ["--transform-dir", "out"]])
@pytest.mark.parametrize("file", ["old.yaml", "deployment_old.yaml"])
def test_a_resource_may_be_replaced(place: Place, how: list[str], file: str) -> None:
    """T7: of one that is whited out there may be a new one with its names, as here of a newer version."""
    place.write(**{f"pkg/{file}": OLD})
    place.program(
        "a",
        "#!/bin/sh",
        'case "$(cat)" in',
        """'{}') echo '{"requestVersion": ["v1"], "responseVersion": ["v1"]}' ;;""",
        f"""*apps/v1beta1*) echo '{json.dumps({"isWhiteOut": True, "newResources": [CONVERTED]})}' ;;""",
        "*) echo '{}' ;;",
        "esac",
    )
    _, err = place.transform(*how)
    assert "Deployment old: added by a for Deployment old" in err
    in_place = "--transform-dir" not in how
    added = f"{'pkg/' if in_place else 'out/new-'}deployment_old.yaml"
    assert list(yaml.safe_load_all(place.read(added)))[-1] == CONVERTED
    if not in_place:
        assert place.read(f"out/.wh.{file}") == ""
        return
    kept = [one for text in place.files("pkg").values() if "v1beta1" in text for one in yaml.safe_load_all(text)]
    assert bool(kept) is ("annotate" in how)
    assert all(one["metadata"]["annotations"] for one in kept if one != CONVERTED)
    before = place.files("pkg")
    place.transform(*how)
    assert place.files("pkg") == before


# ---- crane's files -----------------------------------------------------------------------------------------------


@pytest.fixture
def exported(three: Place) -> Place:
    """An export of crane, and plugins that want much of it."""
    three.write(**{"pkg/claim.yaml": CLAIM, "pkg/names/api.yaml": DNS.replace("dns", "api")})
    more = [
        IMAGE,
        {"op": "add", "path": "/metadata/labels/a.b~1c", "value": "ü"},
        {"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "log"}},
        {"op": "remove", "path": "/spec/none"},
        {"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "init"}},
        {"op": "remove", "path": "/spec/template/spec/containers/1/args/0"},
    ]
    three.plugin("d", {"Deployment": {"patches": more}})
    return three


def test_the_files_of_crane(exported: Place) -> None:
    """transform- always, .wh. for what is left out, ignored- with the plugins; the package stays as it is."""
    before = exported.files("pkg")
    _, err = exported.transform("--transform-dir", "out", "--ignored-patches-dir", "lost")
    assert exported.files("pkg") == before
    out = exported.files("out")
    assert sorted(out) == [
        ".wh.claim.yaml",
        "names/transform-api.yaml",
        "names/transform-dns.yml",
        "transform-web.yaml",
    ]
    assert out[".wh.claim.yaml"] == ""
    assert json.loads(out["names/transform-dns.yml"]) == []
    lost = exported.files("lost")
    assert sorted(lost) == ["ignored-web.yaml"]
    assert json.loads(lost["ignored-web.yaml"]) == [
        {"PluginName": name, "Operation": replicas(number)} for name, number in (("b", 4), ("c", 5))
    ]
    assert "it is left out of what is applied" in err
    # What stands, carried out by another library, is what is done in place.
    patched = jsonpatch.apply_patch(yaml.safe_load(WEB), json.loads(out["transform-web.yaml"]))
    exported.transform()
    assert patched == yaml.safe_load(exported.read("pkg/web.yaml"))
    assert [container["name"] for container in patched["spec"]["template"]["spec"]["containers"]] == [
        "init",
        "web",
        "log",
    ]


def test_ignored_patches_are_not_kept_without_a_directory(exported: Place) -> None:
    exported.transform("--transform-dir", "out")
    assert sorted(os.listdir(exported.directory)) == ["out", "pkg", "plugins"]
    assert not [name for name in exported.files("out") if "ignored-" in name]


def test_stale_files_of_an_earlier_run_go(exported: Place) -> None:
    stale = ["out/.wh.web.yaml", "out/transform-claim.yaml", "lost/names/ignored-dns.yml", "out/mine.txt"]
    exported.write(**dict.fromkeys(stale, "[]"))
    exported.transform("--transform-dir", "out", "--ignored-patches-dir", "lost")
    assert [name for name in stale if (exported.directory / name).exists()] == ["out/mine.txt"]
    # Without a conflict, ignored- goes.
    exported.transform("--transform-dir", "out", "--ignored-patches-dir", "lost", "--skip-plugins", "b,c")
    assert exported.files("lost") == {}


def test_one_directory_for_all_of_it(exported: Place) -> None:
    exported.transform("--transform-dir", "out", "--ignored-patches-dir", "out")
    assert {"ignored-web.yaml", "transform-web.yaml"} <= set(exported.files("out"))


def test_a_dry_run_writes_none_of_them(exported: Place) -> None:
    _, err = exported.transform("--transform-dir", "out", "--dry-run")
    assert "Deployment web: " in err
    assert not (exported.directory / "out").exists()


def test_new_resources_among_the_files_of_crane(place: Place) -> None:
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    place.transform("--transform-dir", "out")
    made_for = '# Added by krm-merge transform for ["names/dns.yml"]\n'
    assert place.read("out/names/new-configmap_extra.yaml") == made_for + EXTRA_TEXT
    assert set(place.files("pkg")) == set(FILES)


def test_new_resources_stay_in_the_directory_that_is_transformed(place: Place) -> None:
    """There they are resources as all others, and the plugin wants nothing more."""
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    for _ in range(2):
        place.transform("--transform-dir", "pkg")
        assert "names/new-configmap_extra.yaml" in place.files("pkg")


def test_stale_new_resources_go(place: Place) -> None:
    """What no plugin wants any more; neither what others wrote nor what was made for another package."""
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    place.transform("--transform-dir", "out")
    mine = {
        "names/new-mine.yaml": EXTRA_TEXT,
        "names/new-other.yaml": '# Added by krm-merge transform for ["names/api.yaml"]\n' + EXTRA_TEXT,
        "names/new-broken.yaml": "# Added by krm-merge transform for nobody\n",
        "names/new-number.yaml": "# Added by krm-merge transform for 5\n",
        "names/new-binary.yaml": "\0",
    }
    place.write(**{f"out/{name}": text for name, text in mine.items()})
    (place.directory / "out/names/new-folder").mkdir()
    before = place.files("out")
    place.transform("--transform-dir", "out")
    assert place.files("out") == before
    place.transform("--transform-dir", "out", "--skip-plugins", "a")
    gone = {name: text for name, text in before.items() if name not in place.files("out")}
    assert list(gone) == ["names/new-configmap_extra.yaml"]
    assert mine.items() <= place.files("out").items()


def test_files_of_what_became_local_config_go(exported: Place) -> None:
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost")
    exported.transform(*run)
    exported.write(**{"out/transform-Kptfile": "mine"})
    mark = "annotations: {config.kubernetes.io/local-config: 'true'}"
    exported.write(**{"pkg/web.yaml": WEB.replace("uid: abc", mark)})
    exported.transform(*run)
    assert "transform-web.yaml" not in exported.files("out")
    assert {".wh.claim.yaml", "names/transform-api.yaml", "transform-Kptfile"} <= set(exported.files("out"))
    assert exported.files("lost") == {}


@pytest.mark.parametrize("folder", ["out/transform-web.yaml", "lost/ignored-web.yaml"])
def test_the_files_of_crane_are_written_together(exported: Place, folder: str) -> None:
    """T10: all of them or none, wherever one cannot be written."""
    (exported.directory / folder).mkdir(parents=True)
    stale = {"out/.wh.web.yaml": "", "lost/names/ignored-dns.yml": "[]"}
    exported.write(**stale)
    before = {name: exported.files(name) for name in ("pkg", "out", "lost")}
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost")
    _, err = exported.transform(*run, code=3)
    assert err == f"error {exported.directory / folder}: Is a directory; nothing was written\n"
    assert {name: exported.files(name) for name in before} == before
    assert (exported.directory / folder).is_dir()


@pytest.mark.parametrize("fails", ["out", "below"])
def test_both_directories_of_crane_are_written_or_none(
    exported: Place, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    commit = Journal.commit

    def fail(journal: Journal, changes: Changes, before: Tree) -> None:
        if journal.package.name == fails:
            raise PackageError("the disk is full")
        commit(journal, changes, before)

    monkeypatch.setattr(Journal, "commit", fail)
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost/below")
    _, err = exported.transform(*run, code=3)
    assert err == "error the disk is full\n"
    assert sorted(os.listdir(exported.directory)) == ["pkg", "plugins"]


@pytest.mark.parametrize(("name", "says"), [("a\0b", "cannot be printed"), ("a" * 300, "a file name has room for 249")])
def test_names_that_are_none_write_nothing(place: Place, name: str, says: str) -> None:
    place.plugin("a", {"Service": {"newResources": [{**EXTRA, "metadata": {"name": name}}]}})
    for how in ([], ["--transform-dir", "out"]):
        _, err = place.transform(*how, code=1)
        assert says in err
        assert place.files("pkg") == FILES
        assert not (place.directory / "out").exists()


@pytest.mark.parametrize("directory", ["pkg", ".", "pkg/names/below"])
def test_files_of_crane_where_they_are_hardly_wanted(exported: Place, directory: str) -> None:
    """In the package itself, around it, and in it."""
    exported.transform("--transform-dir", directory, "--ignored-patches-dir", "pkg")
    assert "transform-web.yaml" in exported.files(directory)
    assert exported.read("pkg/web.yaml") == WEB
    assert "ignored-web.yaml" in exported.files("pkg")
    assert not [name for name in os.listdir(exported.directory) if name.endswith(".krm-merge")]


BOOKS = {"internal.kpt.dev/upstream-identifier": "apps|Deployment|default|web", "config.kubernetes.io/index": "3"}
IDENTIFIER = "/metadata/annotations/internal.kpt.dev~1upstream-identifier"
ABOUT_BOOKS = [
    [{"op": "replace", "path": "/metadata", "value": {"name": "z"}}],
    [{"op": "replace", "path": "/metadata", "value": {"name": "z", "annotations": {"a": "b", **dict.fromkeys(BOOKS)}}}],
    [{"op": "remove", "path": "/metadata"}, {"op": "add", "path": "/metadata/name", "value": "z"}],
    [{"op": "add", "path": IDENTIFIER, "value": "mine"}],
    [
        {"op": "add", "path": IDENTIFIER, "value": "mine"},
        {"op": "add", "path": "/metadata/annotations/a", "value": "b"},
    ],
    [{"op": "remove", "path": IDENTIFIER}],
    [{"op": "remove", "path": "/metadata/annotations"}],
    [{"op": "move", "path": "/metadata/labels", "from": "/metadata/annotations"}],
    [{"op": "add", "path": "/metadata/annotations", "value": {**BOOKS, "a": "b"}}],
    [{"op": "add", "path": "/metadata/annotations/a", "value": "b"}],
    [{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "Other", "metadata": {"name": "z"}}}],
]


@pytest.mark.parametrize("patch", ABOUT_BOOKS, ids=json.dumps)
@pytest.mark.parametrize("books", [BOOKS, {}], ids=["books", "none"])
@pytest.mark.parametrize("own", [{"team": "red"}, {}], ids=["own", "none"])
def test_patches_keep_what_kpt_keeps(place: Place, patch: list[Value], books: Value, own: Value) -> None:
    """T1: carried out by another library, they do what is done in place."""
    metadata = {"name": "web", **({"annotations": {**books, **own}} if books or own else {})}
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    if any("from" in one for one in patch) and not own:
        return  # there is nothing to move
    place.write(**{"pkg/web.yaml": yaml.safe_dump(item)})
    plugins = [{"name": "a", "patches": [{"target": {"name": "web"}, "ops": patch}]}]
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "metadata": {"name": "x"}}
    place.write(**{"config.yaml": yaml.safe_dump({**head, "plugins": plugins})})
    run = ("pkg", "--config", "config.yaml")
    _, told = place.run(*run, "--transform-dir", "out", "--ignored-patches-dir", "lost")
    patched = jsonpatch.apply_patch(item, json.loads(place.read("out/transform-web.yaml")))
    _, err = place.run(*run)
    assert patched == yaml.safe_load(place.read("pkg/web.yaml"))
    kept = patched["metadata"].get("annotations", {})
    assert {name: text for name, text in kept.items() if name in BOOKS} == books
    assert {line for line in told.splitlines() if "kpt keeps" in line} == {
        line for line in err.splitlines() if "kpt keeps" in line
    }
    meddling = [one for one in patch if one["path"] == IDENTIFIER]
    lost = place.files("lost").get("ignored-web.yaml", "[]")
    assert [one["Operation"] for one in json.loads(lost)] == meddling
    assert bool(meddling) <= ("kpt keeps its books" in told)


def test_each_resource_needs_a_file_of_its_own(exported: Place) -> None:
    """There is one patch for each file; a document that is no resource does not count."""
    exported.write(**{"pkg/names/dns.yml": f"# nothing\n---\n{DNS}"})
    exported.transform("--transform-dir", "out")
    exported.write(**{"pkg/names/dns.yml": f"{DNS}---\n{DNS}"})
    _, err = exported.transform("--transform-dir", "other", code=3)
    assert err.startswith("error names/dns.yml holds several resources")
    assert not (exported.directory / "other").exists()


def test_what_is_no_resource_any_more_is_refused_there_too(place: Place) -> None:
    """crane refuses it when the patch is applied."""
    place.plugin("a", {"Deployment": {"patches": [{"op": "remove", "path": "/kind"}]}})
    for how in ([], ["--transform-dir", "out"]):
        _, err = place.transform(*how, code=1)
        assert "a: leaves the resource without kind (Deployment web)" in err


@pytest.mark.parametrize("directory", ["pkg/web.yaml/out", "plugins/a/out"])
def test_directories_that_cannot_be(three: Place, directory: str) -> None:
    _, err = three.transform("--transform-dir", directory, code=3)
    assert err.splitlines()[-1].startswith("error ")
    assert "web.yaml" in err or "plugins/a" in err


@pytest.mark.parametrize("case", TABLES["files"]["legacy"], ids=lambda case: str(case["fn"]))
def test_names_of_files(case: dict[str, str]) -> None:
    """crane's table; the output stands at its own place."""
    names: dict[str, Callable[[str], str]] = {
        "GetWhiteOutFilePath": whiteout_path,
        "GetTransformPath": transform_path,
        "GetOutputFilePath": str,
    }
    path = names[case["fn"]](relpath(case["path"], case["exportDir"]))
    assert join(case["dir"], path) == case["expect"]


def test_names_of_our_own_files() -> None:
    assert [ignored_path("a/b.yaml"), new_path("b.yaml")] == ["a/ignored-b.yaml", "new-b.yaml"]


# ---- which plugins run -------------------------------------------------------------------------------------------

CHOICES = [
    # arguments, the replicas, plugins that lose
    ([], 3, "bc"),
    (["--plugin-priorities", "c"], 5, "ab"),
    (["--plugin-priorities", "c,b,c"], 5, "ab"),
    (["--plugin-priorities", "b,c,b"], 4, "ac"),
    (["--skip-plugins", "a"], 4, "c"),
    (["-s", " a , b ", "--plugin-priorities", "a"], 5, ""),
]


@pytest.mark.parametrize(("arguments", "wanted", "losers"), CHOICES)
def test_priorities_and_plugins_to_skip(three: Place, arguments: list[str], wanted: int, losers: str) -> None:
    """Programs in subfolders too, in the order of their paths; T11: a repeated name keeps its first place."""
    _, err = three.transform(*arguments)
    assert yaml.safe_load(three.read("pkg/web.yaml"))["spec"]["replicas"] == wanted
    assert [name for name in "abc" if f"Deployment web: {name}'s replace" in err] == list(losers)


@pytest.mark.parametrize("option", ["--plugin-priorities", "--skip-plugins"])
def test_unknown_names(three: Place, option: str) -> None:
    _, err = three.transform(option, "a,x,y", code=1)
    known = "known are KubernetesPlugin, a, b, c"
    assert err.splitlines()[:2] == [
        f"error   {option} names {name}, but no plugin has that name; {known}" for name in "xy"
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


@pytest.mark.parametrize("keep", ["unit", "operation", "plugin"])
@pytest.mark.parametrize("detect", ["effect", "path"])
def test_how_conflicts_are_found(three: Place, keep: str, detect: str) -> None:
    three.plugin("d", {"Deployment": {"patches": [replicas(9), IMAGE]}})
    three.transform("--detect", detect, "--keep", keep)
    lost = keep == "plugin" and detect == "effect"
    assert ("nginx:1.27" in three.read("pkg/web.yaml")) is not lost


# ---- options of plugins ------------------------------------------------------------------------------------------


def test_options_for_all_and_for_one(place: Place) -> None:
    """Those for one count more; names are in lower case, as crane has them."""
    meta = json.dumps({"requestVersion": ["v1"], "responseVersion": ["v1"]})
    for name in "ab":
        note = f"""[ "$request" = '{{}}' ] || echo "$request" >> {place.directory}/{name}.json"""
        place.program(name, "#!/bin/sh", "request=$(cat)", note, f"echo '{meta}'")
    own = """a={"X": "3", "z": "4"}"""
    place.transform("--optional-flags", '{"X": "1", "Y": "2"}', "--plugin-flags", own, "-s", "KubernetesPlugin")
    extras = [json.loads(place.read(f"{name}.json").splitlines()[0])["extras"] for name in "ab"]
    assert extras == [{"x": "3", "y": "2", "z": "4"}, {"x": "1", "y": "2"}]


FLAG_ERRORS = [
    (["--optional-flags", '{"a":'], "no JSON at line 1, column 6; a JSON map of texts is expected"),
    (["--optional-flags", '["a"]'], "a JSON map of texts is expected"),
    (["--optional-flags", "null"], "a JSON map of texts is expected"),
    (["--optional-flags", '{"a": 1}'], "a JSON map of texts is expected"),
    (["--optional-flags", '{"Ab": "1", "aB": "2"}'], "duplicate optional key ab"),
    (["--plugin-flags", 'x={"a": "b"}'], "--plugin-flags names x, but no plugin has that name; known are KubernetesP"),
    (["--plugin-flags", "a={"], "--plugin-flags a: no JSON"),
    (["--plugin-flags", "a={}", "--plugin-flags", "a={}"], "--plugin-flags: duplicate plugin a"),
    (["--plugin-flags", "a"], "--plugin-flags a: NAME=JSON is expected"),
]


@pytest.mark.parametrize(("arguments", "says"), FLAG_ERRORS)
def test_wrong_options(three: Place, arguments: list[str], says: str) -> None:
    _, err = three.transform(*arguments, code=2)
    assert says in err
    assert three.files("pkg") == FILES


def test_options_that_no_plugin_knows_warn(place: Place) -> None:
    _, err = place.run("pkg", "-q", "--optional-flags", '{"registry-replacment": "a=b"}')
    assert err == "warning no plugin knows the option registry-replacment\n"
    _, err = place.run("pkg", "-q", "--plugin-flags", 'KubernetesPlugin={"strip": "b"}')
    assert err == "warning KubernetesPlugin does not know the option strip\n"


@dataclass
class Recorder:
    """A plugin that keeps what it was told."""

    name: str
    told: Value = field(default_factory=dict)

    def run(self, resource: Value, options: Mapping[str, str]) -> Response:
        self.told = dict(options)
        return Response.of(Operation("remove", ("spec",)))


@pytest.mark.parametrize("case", FLAGS["resolve"], ids=lambda case: str(case["name"]))
def test_options_as_crane_resolves_them(case: Value) -> None:
    """crane's table; a stage is a plugin."""
    plugin = Recorder(case["stage"])
    own = (case["perStage"] or {}).get(plugin.name)
    whole = WithOptions(plugin, own) if own is not None else plugin
    whole.run({}, case["global"] or {})
    assert plugin.told == case["expect"]


SAYS: Final = {
    "expected format StageName=JSON": "NAME=JSON is expected",
    "stage name is empty": "NAME=JSON is expected",
    "invalid JSON": "no JSON",
    "expected a JSON object": "a JSON map of texts is expected",
    "duplicate": "duplicate plugin",
    "duplicate optional key": "duplicate optional key",
}
"""How the messages of crane's table are worded here."""


@pytest.mark.parametrize("case", FLAGS["parseStageOptionals"], ids=lambda case: " ".join(case["values"])[:40])
def test_options_as_crane_parses_them(case: Value) -> None:
    if "expect" in case:
        assert options_by_plugin(case["values"]) == case["expect"]
        return
    with pytest.raises(ValueError, match=re.escape(SAYS[case["errorContains"]])):
        options_by_plugin(case["values"])


@pytest.mark.parametrize("case", FLAGS["validate"]["cases"], ids=lambda case: str(list(case["perStage"] or ())))
def test_options_as_crane_validates_them(place: Place, case: Value) -> None:
    for name in set(FLAGS["validate"]["stages"]) - {"KubernetesPlugin"}:
        place.plugin(name, {})
    flags = [f"--plugin-flags={name}={json.dumps(own)}" for name, own in (case["perStage"] or {}).items()]
    _, err = place.transform(*flags, code=0 if case["ok"] else 2)
    if not case["ok"]:
        assert "but no plugin has that name" in err


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_options(text: str) -> None:
    assert options_of_crane(text) == {}


# ---- --config ----------------------------------------------------------------------------------------------------

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
    ("a: 1\na: 2\n", "the key a is there twice"),
    ("- a\n", "fn.yaml: "),
    ("text\n", "fn.yaml"),
    (CONFIG.replace("TransformResources", "PatchResources"), "kind is 'PatchResources'"),
    (CONFIG.replace("plugins:", "plugin:"), "plugin is not a field of it"),
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


# ---- plugins that fail -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["pkg"], ["list-plugins"], ["optionals"]])
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


# ---- packages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directory", ["none", "pkg/web.yaml"])
def test_packages_that_are_not_there(place: Place, directory: str) -> None:
    assert place.run(directory, code=3)[1] == f"error {directory}: there is no such directory\n"


BROKEN = [("kind: [\n", "not valid YAML"), ("kind: A\nkind: B\n", "the key kind is there twice")]


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
    assert place.run("empty") == ("", "info    KubernetesPlugin wants nothing changed\nno file changes\n")


# ---- list-plugins, optionals -------------------------------------------------------------------------------------


@pytest.fixture
def told(place: Place) -> Place:
    fields = [
        {"flagName": "color", "help": "Which one.", "example": "red"},
        {"flagName": "size", "help": "How big."},
    ]
    place.plugin("deep/er/p", {}, name="Painter", version="v2", optionalFields=fields)
    place.plugin("plain", {})
    place.write(**{"plugins/README": "not a program\n"})
    return place


def test_list_plugins(told: Place) -> None:
    assert told.run("list-plugins") == ("KubernetesPlugin v1\n", "")
    out, err = told.run("list-plugins", "--plugin-dir", "plugins")
    assert (out, err) == ("KubernetesPlugin v1\nPainter v2\nplain\n", "")
    out, _ = told.run("list-plugins", "--plugin-dir", "plugins", "--skip-plugins", "KubernetesPlugin,plain")
    assert out == "Painter v2\n"


def test_list_plugins_as_json(told: Place) -> None:
    out, _ = told.run("list-plugins", "--plugin-dir", "plugins", "-s", "KubernetesPlugin", "--output", "json")
    versions = {"requestVersion": ["v1"], "responseVersion": ["v1"]}
    fields = [
        {"flagName": "color", "help": "Which one.", "example": "red"},
        {"flagName": "size", "help": "How big.", "example": ""},
    ]
    painter, plain = json.loads(out)
    assert painter == {"name": "Painter", "version": "v2", **versions, "optionalFields": fields}
    assert plain == {"name": "plain", "version": "", **versions}


def test_optionals(told: Place) -> None:
    out, err = told.run("optionals", "--plugin-dir", "plugins", "-s", "KubernetesPlugin")
    assert out == "Painter:\n  color: Which one. Example: red\n  size: How big.\nplain: no options\n"
    assert err == ""
    out, _ = told.run("optionals")
    assert "  strip-default-rbac: " in out
    assert {
        field["flagName"] for field in json.loads(told.run("optionals", "--output", "json")[0])[0]["optionalFields"]
    } > {
        "registry-replacement",
        "extra-whiteouts",
    }


# ---- usage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("pkg", "--ignored-patches-dir", "lost"),
        ("pkg", "--plugin-dir", "none"),
        ("pkg", "--plugin-dir", "pkg/web.yaml"),
        ("pkg", "--on-conflict", "fail"),
        ("pkg", "--whiteout", "delete"),
        ("pkg", "--config", "pkg"),
        ("pkg", "other"),
        ("run",),
        ("list-plugins", "pkg"),
        ("optionals", "--plugin-dir", "none"),
        ("--dry-run",),
    ],
)
def test_wrong_usage(place: Place, arguments: tuple[str, ...]) -> None:
    place.run(*arguments, code=2)
    assert place.files("pkg") == FILES


@pytest.mark.parametrize("command", [["run"], ["list-plugins"], ["optionals"]])
def test_help(place: Place, command: list[str]) -> None:
    assert f"krm-merge transform {command[0]} [OPTIONS]" in place.run(*command, "--help")[0]
    assert "krm-merge transform DIR" in place.run("--help")[0]
