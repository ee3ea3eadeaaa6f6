"""Manifests for Argo CD, Config Sync and Flux, and reviews of Porch's upgrades: the scripts of the examples."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS
from packages.repositories import config_map, kptfile, write

GITOPS = ROOT / "examples" / "gitops"
PORCH = ROOT / "examples" / "porch"
Run = subprocess.CompletedProcess[str]


def run(*command: str | Path, cwd: Path) -> Run:
    """Runs a script where no container engine answers."""
    path = f"{cwd / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PATH": path, "DOCKER_HOST": "unix:///nowhere"},
        capture_output=True,
        check=False,
        text=True,
        timeout=SECONDS,
    )


def documents(file: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


# ---- manifests -----------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(GITOPS / "package", tmp_path / "web")
    (tmp_path / "web" / "local.Kptfile").rename(tmp_path / "web" / "Kptfile")
    return tmp_path / "web"


@pytest.mark.kpt
def test_a_package_is_rendered_without_containers(package: Path) -> None:
    before = (package / "Kptfile").read_text(encoding="utf-8")
    done = run(GITOPS / "render.sh", "web", cwd=package.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (GITOPS / "rendered" / "web.yaml").read_text(encoding="utf-8")
    assert "replicas: 3" in done.stdout
    assert (package / "Kptfile").read_text(encoding="utf-8") == before


@pytest.mark.kpt
def test_comments_annotations_and_packages_inside_are_kept(package: Path) -> None:
    write(
        package,
        {
            "cache/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: cache\n",
            "cache/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # ours\n  annotations:\n    b: c\n",
        },
    )
    done = run(GITOPS / "render.sh", package, cwd=package.parent)
    assert done.returncode == 0, done.stderr
    cache, _, web = done.stdout.partition("---\n")
    assert cache == "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # ours\n  annotations:\n    b: c\n"
    assert web == (GITOPS / "rendered" / "web.yaml").read_text(encoding="utf-8")


@pytest.mark.kpt
def test_a_pipeline_that_fails_prints_no_manifests(package: Path) -> None:
    patches = package / "patches.yaml"
    patches.write_text(patches.read_text(encoding="utf-8").replace("patches:", "patch:"), encoding="utf-8")
    done = run(GITOPS / "render.sh", "web", cwd=package.parent)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "patches is missing" in done.stderr


def test_the_plugin_runs_the_script_that_its_image_has() -> None:
    (plugin,) = documents(GITOPS / "argo-cd" / "plugin.yaml")
    script, argument = plugin["spec"]["generate"]["command"]
    dockerfile = (GITOPS / "argo-cd" / "Dockerfile").read_text(encoding="utf-8")
    assert f"COPY render.sh manifests.py {Path(script).parent}/" in dockerfile
    assert (Path(script).name, argument) == ("render.sh", ".")
    assert plugin["spec"]["discover"] == {"fileName": "./Kptfile"}
    (patch,) = documents(GITOPS / "argo-cd" / "repo-server-patch.yaml")
    spec = patch["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["name"] == plugin["metadata"]["name"]
    assert {"/var/run/argocd", "/tmp"} <= {mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.kpt
def test_the_sidecar_renders_as_the_user_of_argo_cd(image: str, bases: dict[str, str], package: Path) -> None:
    import docker

    kpt = package.parent / "kpt"
    kpt.mkdir()
    program = shutil.which("kpt")
    assert program is not None
    shutil.copy(program, kpt / "kpt")
    (kpt / "Dockerfile").write_text("FROM scratch\nCOPY kpt /usr/local/bin/kpt\n", encoding="utf-8")
    client = docker.from_env()
    try:
        client.images.build(path=str(kpt), tag="localhost/kpt:test", rm=True)
        client.images.build(
            path=str(GITOPS),
            dockerfile="argo-cd/Dockerfile",
            tag="localhost/kpt-with-krm-merge:test",
            # Where packages come through a mirror, only the base of builds knows it.
            buildargs={"KPT": "localhost/kpt:test", "KRM_MERGE": image}
            | ({"BASE": bases["BUILD_BASE"]} if bases else {}),
            rm=True,
        )
        for file in [package, *package.rglob("*")]:
            file.chmod(0o755)
        printed = client.containers.run(
            "localhost/kpt-with-krm-merge:test",
            ["/opt/krm-merge/render.sh", "."],
            entrypoint=[],
            network_disabled=True,
            working_dir="/package",
            volumes={str(package): {"bind": "/package", "mode": "ro"}},
            remove=True,
        )
    finally:
        client.close()
    assert printed.decode() == (GITOPS / "rendered" / "web.yaml").read_text(encoding="utf-8")


def test_what_is_synchronised_is_what_is_rendered() -> None:
    (root_sync,) = documents(GITOPS / "config-sync" / "root-sync.yaml")
    source, kustomization = documents(GITOPS / "flux" / "web.yaml")
    assert (GITOPS / root_sync["spec"]["git"]["dir"]).is_dir()
    assert (GITOPS / kustomization["spec"]["path"]).is_dir()
    assert kustomization["spec"]["sourceRef"] == {"kind": source["kind"], "name": source["metadata"]["name"]}


# ---- Porch ---------------------------------------------------------------------------------------------------------

PORCHCTL = """\
#!/bin/sh
# porchctl rpkg pull|push --namespace NAMESPACE REVISION DIRECTORY
test "$1 $3 $4" = "rpkg --namespace shop" || exit 9
case $2 in
  pull) cp -R "revisions/$5" "$6" ;;
  push) rm -rf "revisions/$5" && cp -R "$6" "revisions/$5" ;;
esac
"""


@pytest.fixture
def porch(tmp_path: Path) -> Path:
    """Revisions of a package: Porch's draft lost our tag."""
    revisions = {
        "base.v1": ("v1", "'1'", "'1'"),
        "base.v2": ("v2", "'1'", "'2'"),
        "web.v1": ("v1", "'7'", "'1'"),
        "web.v2": ("v2", "'1'", "'2'"),
    }
    for name, (version, tag, replicas) in revisions.items():
        files = {
            "Kptfile": kptfile("upstream", version, commit=version * 20),
            "a.yaml": config_map("a", tag=tag, replicas=replicas),
            ".KptRevisionMetadata": f"kind: KptRevisionMetadata\nname: {name}\n",
        }
        write(tmp_path / "revisions" / name, {**files})
    write(tmp_path, {"bin/porchctl": PORCHCTL})
    (tmp_path / "bin" / "porchctl").chmod(0o755)
    return tmp_path


def review(porch: Path, *more: str) -> Run:
    return run(PORCH / "review-upgrade.sh", "shop", "base.v1", "base.v2", "web.v1", "web.v2", *more, cwd=porch)


def test_a_draft_that_lost_a_change_is_shown(porch: Path) -> None:
    done = review(porch)
    assert done.returncode == 1, done.stderr
    assert "data.tag" in done.stdout
    assert "upstream" not in done.stdout
    assert "the draft differs from the merge as shown" in done.stderr
    assert (porch / "review.html").exists()
    assert "tag: '1'" in (porch / "revisions/web.v2/a.yaml").read_text(encoding="utf-8")


def test_the_merge_takes_the_place_of_the_draft(porch: Path) -> None:
    done = review(porch, "--push")
    assert done.returncode == 0, done.stderr
    draft = porch / "revisions" / "web.v2"
    merged = yaml.safe_load((draft / "a.yaml").read_text(encoding="utf-8"))
    assert merged["data"] == {"tag": "7", "replicas": "2"}
    followed = yaml.safe_load((draft / "Kptfile").read_text(encoding="utf-8"))
    assert followed["upstream"]["git"]["ref"] == "v2"
    assert followed["upstreamLock"]["git"]["commit"] == "v2" * 20
    assert "name: web.v2" in (draft / ".KptRevisionMetadata").read_text(encoding="utf-8")
    again = review(porch)
    assert (again.returncode, again.stdout) == (0, ""), again.stdout
    assert "the draft is what krm-merge would make" in again.stderr


def test_review_says_how_it_is_called(porch: Path) -> None:
    done = run(PORCH / "review-upgrade.sh", "shop", cwd=porch)
    assert (done.returncode, done.stderr.split()[0]) == (2, "usage:")


def test_the_function_config_is_for_the_image() -> None:
    metadata = yaml.safe_load((ROOT / "integrations" / "metadata.yaml").read_text(encoding="utf-8"))
    (config,) = documents(PORCH / "function-config.yaml")
    spec = config["spec"]
    # The cluster pulls it from a registry of the reader's; on this machine it has no other.
    assert (spec["prefixes"], spec["image"]) == (["registry.example.com"], metadata["image"].partition("/")[2])
    # The fields of config.porch.kpt.dev/v1alpha1.
    assert spec.keys() <= {"image", "prefixes", "podExecutor", "binaryExecutor", "goExecutor"}
    assert spec["podExecutor"].keys() <= {
        "tags",
        "timeToLive",
        "maxParallelExecutions",
        "preferredMaxQueueLength",
        "templateOverrides",
    }
