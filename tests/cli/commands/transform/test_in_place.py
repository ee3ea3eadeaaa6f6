"""`krm-merge transform` as users run it: packages changed in place, whiteouts and new resources."""

from __future__ import annotations

import json

import pytest
import yaml

from cli.commands.transform.place import (
    CLAIM,
    DNS,
    FILES,
    IMAGE,
    REPLICAS,
    STRIPPED,
    WEB,
    Place,
)

# ---- in place --------------------------------------------------------------------------------------------------------


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
    assert err == "info    KubernetesPlugin changes nothing\nno file changes\n"
    assert place.read("pkg/web.yaml") == web


@pytest.mark.parametrize("dry", [["--dry-run"], ["--dry-run", "-q"], ["--dry-run", "--format", "json"]])
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
    out, err = three.transform("--format", "json", "--whiteout", "drop")
    assert err == ""
    document = json.loads(out)
    assert document["files"] == {"added": [], "changed": ["web.yaml"], "deleted": ["claim.yaml"]}
    lost = [result for result in document["results"] if result["tags"]["event"] == "ignored"]
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


@pytest.mark.parametrize("how", [[], ["--diff"], ["--dry-run"], ["--transform-dir", "out"]])
def test_nothing_is_written_where_anything_is_refused(three: Place, how: list[str]) -> None:
    _, err = three.transform("--ignored-severity", "error", *how, code=1)
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
    assert "ConfigMap b: renames renames it to ConfigMap a, and there would be 2" in err
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
    assert "ConfigMap b: renames renames it to ConfigMap a, and there would be 2 (in a.yaml and b.yaml)" in err
    assert not (place.directory / "out").exists()


def test_crane_files_may_take_the_identity_of_what_is_whited_out(place: Place) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"
    owned = pod.replace("NAME", "a, ownerReferences: [{kind: ReplicaSet, name: r}]")
    place.write(**{"pkg/a.yaml": owned, "pkg/b.yaml": pod.replace("NAME", "b")})
    place.write(**{"config.yaml": RENAMES + "- builtin: kubernetes\n"})
    place.run("pkg", "--config", "config.yaml", "--transform-dir", "out")
    assert {"out/transform-b.yaml", "out/.wh.a.yaml"} <= place.files(".").keys()


def test_many_comparisons_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(**{"config.yaml": RENAMES.replace("name: b", "name: b.*")})
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "1")
    _, err = place.run("pkg", "--config", "config.yaml", code=3)
    assert "1 targets without the name of a resource and 3 resources are more than 1 comparisons" in err


DOCUMENTS = f"# licence\n\n{WEB}---\n# names\n{DNS}---\n# nothing\n---\n{CLAIM}"


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_several_documents(place: Place, start: str, end: str) -> None:
    """Each is edited where it stands; line ends and byte order marks stay."""
    place.write(**{"pkg/web.yaml": start + DOCUMENTS.replace("\n", end)})
    place.run("pkg", "--whiteout", "drop")
    result = DOCUMENTS.replace(", uid: abc", "").replace(f"---\n{CLAIM}", "")
    assert place.read("pkg/web.yaml") == start + result.replace("\n", end)


def test_results_name_the_document(place: Place) -> None:
    place.write(**{"pkg/web.yaml": DOCUMENTS})
    document = json.loads(place.run("pkg", "--format", "json")[0])
    assert [result["file"] for result in document["results"]] == [
        {"path": "web.yaml"},
        {"path": "web.yaml", "index": 3},
    ]


def test_modes_and_links_stay(place: Place) -> None:
    (place.directory / "pkg/web.yaml").chmod(0o755)
    (place.directory / "pkg/link.yaml").symlink_to("web.yaml")
    place.run("pkg")
    assert place.read("pkg/web.yaml") == STRIPPED
    assert (place.directory / "pkg/web.yaml").stat().st_mode & 0o111
    assert (place.directory / "pkg/link.yaml").is_symlink()


# ---- whiteouts -------------------------------------------------------------------------------------------------------


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
