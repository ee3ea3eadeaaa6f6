"""D2: local changes become patches of the package's own pipeline, and edits again."""

from __future__ import annotations

import pytest
import yaml

from krm_merge import merge_packages
from krm_merge.functions import process
from krm_merge.packages import Changed, File, PackageError, Tree
from krm_merge.usecases import DeclaredEdits, declare, undeclare
from packages.repositories import DEPLOYMENT as WEB
from packages.repositories import KPTFILE, SERVICE

DEPLOYMENT = (
    WEB.replace("replicas: 1\n", "replicas: 1 # per zone\n  strategy:\n    type: Recreate\n")
    + "        args: [-a, -b]\n"
)
OTHERS = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  mode: slow
  level: info
---
apiVersion: example.com/v1
kind: Gizmo
metadata:
  name: gizmo
spec:
  parts:
  - {{name: a, size: 1}}
  - {{name: b, size: 2}}
---
{SERVICE}"""
ORIGINAL = {"Kptfile": KPTFILE, "deployment.yaml": DEPLOYMENT, "others.yaml": OTHERS}
LABELS = """\
pipeline:
  mutators:
  - image: gcr.io/kpt-fn/set-labels:v0.2.0
    configMap: {team: red}
"""
EDITED_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 5 # for the launch
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.26
        args: [-a]
      - name: proxy
        image: proxy:1
"""
LOCAL = ORIGINAL | {
    "deployment.yaml": EDITED_DEPLOYMENT,
    "others.yaml": OTHERS.replace("slow", "fast").replace("  level: info\n", "").replace("size: 2", "size: 3"),
    "own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\ndata: {}\n",
}


def tree(files: dict[str, str]) -> Tree:
    return {path: File(text.encode()) for path, text in files.items()}


def declare_edits(local: dict[str, str], original: dict[str, str] = ORIGINAL) -> tuple[Tree, DeclaredEdits]:
    done = declare(tree(local), tree(original), "patches.yaml", {"image": "krm-merge"})
    return Changed(tree(local), done.changes), done


def render(package: Tree) -> dict[str, object]:
    """The resources of a package after its PatchResources, by kind and name."""
    items = []
    for path, file in package.items():
        for value in yaml.safe_load_all(file.data):
            value["metadata"].setdefault("annotations", {})["internal.config.kubernetes.io/path"] = path
            items.append(value)
    config = yaml.safe_load(package["patches.yaml"].data)
    resource_list = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    outcome = process(yaml.safe_dump({**resource_list, "functionConfig": config}).encode())
    assert outcome.exit_code == 0, outcome.message
    by_name = {}
    for value in yaml.safe_load(outcome.output)["items"]:
        del value["metadata"]["annotations"]["internal.config.kubernetes.io/path"]
        if value["kind"] not in ("Kptfile", "PatchResources"):
            by_name[f"{value['kind']}/{value['metadata']['name']}"] = value
    return by_name


def values(files: dict[str, str]) -> dict[str, object]:
    """The resources in files, by kind and name."""
    by_name = {}
    for value in (value for text in files.values() for value in yaml.safe_load_all(text)):
        value["metadata"].setdefault("annotations", {})
        if value["kind"] != "Kptfile":
            by_name[f"{value['kind']}/{value['metadata']['name']}"] = value
    return by_name


def test_the_package_renders_to_what_it_was() -> None:
    package, done = declare_edits(LOCAL)
    assert sorted(done.resources) == ["ConfigMap settings", "Deployment web", "Gizmo gizmo"]
    assert render(package) == values(LOCAL)
    # Nothing of local is lost: its note stays at upstream's value.
    assert "  replicas: 1 # for the launch\n" in package["deployment.yaml"].data.decode()
    assert yaml.safe_load(package["deployment.yaml"].data) == yaml.safe_load(DEPLOYMENT)
    assert package["others.yaml"].data.decode() == OTHERS
    assert not list(done.results)
    kptfile = yaml.safe_load(package["Kptfile"].data)
    assert kptfile["pipeline"]["mutators"] == [{"image": "krm-merge", "configPath": "patches.yaml"}]


def test_a_deleted_resource_stays_deleted_by_a_patch() -> None:
    local = LOCAL | {"others.yaml": OTHERS.rpartition("---\n")[0]}
    package, done = declare_edits(local)
    assert "Service web" in done.resources
    assert render(package) == values(local)
    changed = {path: text.replace("port: 80", "port: 81") for path, text in ORIGINAL.items()}
    merged = merge_packages(
        {path: text.encode() for path, text in ORIGINAL.items()},
        {path: text.encode() for path, text in changed.items()},
        {path: file.data for path, file in package.items()},
    )
    assert not merged.has_conflicts
    assert b"Service" not in merged.files["others.yaml"]


def test_ten_versions_of_upstream_are_no_conflict() -> None:
    package, _ = declare_edits(LOCAL)
    before = ORIGINAL
    for version in range(2, 12):
        after = before | {
            "deployment.yaml": DEPLOYMENT.replace("replicas: 1", f"replicas: {version}").replace("1.25", f"1.{version}")
            + f"      priority: {version}\n",
            "others.yaml": OTHERS.replace("slow", f"slow{version}"),
        }
        merged = merge_packages(
            {path: text.encode() for path, text in before.items()},
            {path: text.encode() for path, text in after.items()},
            {path: file.data for path, file in package.items()},
        )
        assert not merged.has_conflicts
        # The host renders in place.
        package = {path: File(data) for path, data in merged.files.items()}
        now = render(package)
        expected = values(LOCAL)
        expected["Deployment/web"]["spec"]["template"]["spec"]["priority"] = version  # type: ignore[index]
        assert now == expected
        before = after


def test_what_other_functions_write_is_not_declared() -> None:
    local = ORIGINAL | {
        "Kptfile": KPTFILE + LABELS,
        "others.yaml": OTHERS.replace("  name: settings\n", "  name: settings\n  labels:\n    team: red\n"),
    }
    assert declare_edits(local)[1].changes == {}
    edited = local | {"others.yaml": local["others.yaml"].replace("slow", "fast")}
    package, done = declare_edits(edited)
    assert done.resources == ["ConfigMap settings"]
    (patch,) = yaml.safe_load(package["patches.yaml"].data)["patches"]
    assert yaml.safe_load(patch["patch"])["data"] == {"mode": "fast"}
    assert "labels" not in yaml.safe_load(patch["patch"])["metadata"]


def test_later_edits_join_the_same_file() -> None:
    package, _ = declare_edits(ORIGINAL | {"others.yaml": OTHERS.replace("slow", "fast")})
    files = {path: file.data.decode() for path, file in package.items()}
    files["deployment.yaml"] = DEPLOYMENT.replace("replicas: 1", "replicas: 7")
    again, done = declare_edits(files)
    assert done.resources == ["Deployment web"]
    config = yaml.safe_load(again["patches.yaml"].data)
    assert len(config["patches"]) == 2
    assert again["Kptfile"].data == package["Kptfile"].data
    now = render(again)
    assert now["ConfigMap/settings"]["data"]["mode"] == "fast"  # type: ignore[index]
    assert now["Deployment/web"]["spec"]["replicas"] == 7  # type: ignore[index]


def test_undo_gives_the_edits_back() -> None:
    package, declared = declare_edits(LOCAL)
    done = undeclare(package, "patches.yaml")
    assert sorted(done.resources) == sorted(declared.resources)
    files = {path: file.data.decode() for path, file in Changed(package, done.changes).items()}
    assert values(files) == values(LOCAL)
    assert "patches.yaml" not in files
    assert "pipeline" not in files["Kptfile"] or "patches.yaml" not in files["Kptfile"]
    assert "replicas: 5 # for the launch" in files["deployment.yaml"]


def test_undo_knows_names_that_setters_write() -> None:
    pipeline = "pipeline:\n  mutators:\n  - {image: gcr.io/kpt-fn/apply-setters:v1, configMap: {site: north}}\n"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: SITE # kpt-set: ${site}\ndata:\n  mode: slow\n"
    original = {"Kptfile": KPTFILE + pipeline, "site.yaml": text}
    local = original | {"site.yaml": text.replace("slow", "fast")}
    package, done = declare_edits(local, original)
    assert done.resources == ["ConfigMap SITE"]
    (patch,) = yaml.safe_load(package["patches.yaml"].data)["patches"]
    assert yaml.safe_load(patch["patch"])["metadata"]["name"] == "north"
    edited = Changed(package, undeclare(package, "patches.yaml").changes)
    assert {path: file.data.decode() for path, file in edited.items()} == local


def test_what_kpt_says_about_the_package_is_no_edit() -> None:
    context = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: example\n"
    original = ORIGINAL | {"package-context.yaml": context}
    assert (
        declare_edits(original | {"package-context.yaml": context.replace("example", "web")}, original)[1].changes == {}
    )


def test_undo_of_nothing_is_an_error() -> None:
    with pytest.raises(PackageError, match=r"patches\.yaml"):
        undeclare(tree(LOCAL), "patches.yaml")


PATCHES = "apiVersion: fn.kpt.dev/v1alpha1\nkind: PatchResources\nmetadata: {name: patches}\npatches: []\n"


@pytest.mark.parametrize("text", [OTHERS, SERVICE, f"{PATCHES}---\n{PATCHES}"])
def test_another_file_is_never_overwritten(text: str) -> None:
    with pytest.raises(PackageError, match="--patch"):
        declare_edits(LOCAL | {"patches.yaml": text})


def test_patches_join_a_list_and_nothing_else() -> None:
    package, _ = declare_edits(LOCAL | {"patches.yaml": PATCHES})
    assert len(yaml.safe_load(package["patches.yaml"].data)["patches"]) == 3
    with pytest.raises(PackageError, match="patches is not a list; nothing was changed"):
        declare_edits(LOCAL | {"patches.yaml": PATCHES.replace("[]", "{}")})


NOTE = "  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|settings'\n"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        # Upstream's text, unless local has something that is no value.
        ([("  mode: slow\n", "  'mode':   fast\n")], []),
        ([("  mode: slow\n", "  mode: fast # for now\n")], [("  mode: slow\n", "  mode: slow # for now\n")]),
        (
            [("  mode: slow\n", "  mode: fast\n"), ("  name: settings\n", f"  name: settings\n{NOTE}")],
            [("  name: settings\n", f"  name: settings\n{NOTE}")],
        ),
    ],
)
def test_a_declared_resource_has_the_text_of_upstream_with_comments_and_notes_of_local(
    edits: list[tuple[str, str]], expected: list[tuple[str, str]]
) -> None:
    def edited(edits: list[tuple[str, str]]) -> str:
        text = OTHERS
        for before, after in edits:
            text = text.replace(before, after)
        return text

    package, _ = declare_edits(ORIGINAL | {"others.yaml": edited(edits)})
    assert package["others.yaml"].data.decode() == edited(expected)


def test_renamed_resources_and_functionconfigs_stay_edits() -> None:
    renamed = OTHERS.replace(
        "  name: settings\n",
        "  name: mine\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|settings'\n",
    )
    _, done = declare_edits(ORIGINAL | {"others.yaml": renamed})
    assert done.changes == {}
    assert [result.severity for result in done.results] == ["warning"]
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setters}\ndata: {tag: one}\n"
    pipeline = "pipeline:\n  mutators:\n  - {image: gcr.io/kpt-fn/apply-setters:v1, configPath: setters.yaml}\n"
    original = {"Kptfile": KPTFILE + pipeline, "setters.yaml": config}
    assert declare_edits(original | {"setters.yaml": config.replace("one", "two")}, original)[1].changes == {}


def test_a_package_without_edits_declares_nothing() -> None:
    package, done = declare_edits(ORIGINAL)
    assert (done.changes, done.resources, list(done.results)) == ({}, (), [])
    assert "patches.yaml" not in package
