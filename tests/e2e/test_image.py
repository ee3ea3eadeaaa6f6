"""The container image: what is in it, and the function in it under kpt and under docker alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS, contents, read_results, run, write_package

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.images import Image

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\n"
ORIGINAL = HEAD + "metadata:\n  name: web\ninfo:\n  description: old\n  site: old\n"
UPSTREAM = HEAD + "metadata:\n  name: web\ninfo:\n  description: new # said anew\n  site: new\n"
LOCAL = HEAD + "metadata:\n  name: shop # ours\ninfo:\n  # what it is\n  description: old\n  site: ours\n"
MERGED = LOCAL.replace("description: old", "description: new # said anew").replace("site: ours", "site: new")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  text: 'Grüße'\n"
CONFIG = (
    "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePackage\nmetadata:\n  name: merge\n"
    + '  annotations:\n    config.kubernetes.io/local-config: "true"\n'
    + "".join(
        f"{name}: |\n" + "".join(f"  {line}" for line in text.splitlines(keepends=True))
        for name, text in (("original", ORIGINAL), ("upstream", UPSTREAM))
    )
)
# As kpt starts a function, and stricter: nothing can be written, no privilege is left.
CONFINED = ["--network", "none", "--user", "nobody", "--read-only", "--cap-drop", "ALL"]


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    import docker

    engine = docker.from_env()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def built(client: DockerClient, image: str) -> Image:
    return client.images.get(image)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {"Kptfile": LOCAL, "other.yaml": OTHER, "merge.yaml": CONFIG}
    return write_package(tmp_path / "package", files)


def inside(client: DockerClient, image: str, *command: str) -> str:
    """What a command inside the image writes, run as kpt runs a function."""
    written: bytes = client.containers.run(
        image,
        list(command[1:]),
        entrypoint=command[0],
        remove=True,
        network_disabled=True,
        user="nobody",
        read_only=True,
        cap_drop=["ALL"],
    )
    return written.decode()


# ---- under kpt ---------------------------------------------------------------------------------------------------


@pytest.mark.kpt
def test_eval(image: str, package: Path, tmp_path: Path) -> None:
    done = run(
        *("kpt", "fn", "eval", package, "--image", image, "--image-pull-policy", "never"),
        *("--fn-config", package / "merge.yaml", "--results-dir", tmp_path / "results"),
    )
    assert done.returncode == 0, done.stderr
    expected = {"Kptfile": MERGED, "merge.yaml": CONFIG, "other.yaml": OTHER}
    assert contents(package) == {name: text.encode() for name, text in expected.items()}
    (conflict,) = [result for result in read_results(tmp_path / "results") if result["severity"] == "warning"]
    assert conflict["field"] == {"path": "info.site", "currentValue": "ours", "proposedValue": "new"}


@pytest.mark.kpt
def test_render_with_the_function_declared(image: str, package: Path) -> None:
    functions = f"pipeline:\n  mutators:\n    - image: {image} # for this update\n      configPath: merge.yaml\n"
    (package / "Kptfile").write_text(LOCAL + functions, encoding="utf-8")
    for _ in range(2):
        done = run("kpt", "fn", "render", package, "--image-pull-policy", "never")
        assert done.returncode == 0, done.stderr
        assert (package / "Kptfile").read_text(encoding="utf-8") == MERGED + functions
    assert (package / "other.yaml").read_text(encoding="utf-8") == OTHER


@pytest.mark.kpt
def test_render_with_a_selector_for_kptfiles(image: str, package: Path) -> None:
    functions = (
        f"pipeline:\n  mutators:\n    - image: {image}\n      configPath: merge.yaml\n"
        "      selectors:\n        - kind: Kptfile\n"
    )
    (package / "Kptfile").write_text(LOCAL + functions, encoding="utf-8")
    done = run("kpt", "fn", "render", package, "--image-pull-policy", "never")
    assert done.returncode == 0, done.stderr
    assert (package / "Kptfile").read_text(encoding="utf-8") == MERGED + functions


@pytest.mark.kpt
def test_source_docker_sink(image: str, package: Path, tmp_path: Path) -> None:
    source = run("kpt", "fn", "source", package, "--fn-config", package / "merge.yaml")
    assert source.returncode == 0, source.stderr
    merged = run("docker", "run", "--rm", "-i", *CONFINED, image, stdin=source.stdout)
    assert merged.returncode == 0, merged.stderr
    sink = run("kpt", "fn", "sink", tmp_path / "sunk", stdin=merged.stdout)
    assert sink.returncode == 0, sink.stderr
    assert (tmp_path / "sunk" / "Kptfile").read_text(encoding="utf-8") == MERGED
    assert (tmp_path / "sunk" / "other.yaml").read_text(encoding="utf-8") == OTHER


@pytest.mark.kpt
def test_doc(image: str) -> None:
    done = run("kpt", "fn", "doc", "--image", image)
    assert done.returncode == 0, done.stderr
    assert "merges Kubernetes packages" in done.stdout + done.stderr
    assert "\n  MergePackage " in done.stdout + done.stderr


# ---- under docker alone ------------------------------------------------------------------------------------------


def test_a_refused_input_exits_1_with_a_message(image: str) -> None:
    done = run("docker", "run", "--rm", "-i", *CONFINED, image, stdin="hello\n")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "ResourceList" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


def test_the_locale_of_the_host_does_not_matter(image: str) -> None:
    item = "".join(f"  {line}" for line in OTHER.splitlines(keepends=True)).replace("  ", "- ", 1)
    text = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{item}"
    environment = ["-e", "LC_ALL=POSIX", "-e", "PYTHONUTF8=0", "-e", "PYTHONCOERCECLOCALE=0"]
    done = subprocess.run(
        ["docker", "run", "--rm", "-i", *CONFINED, *environment, image],
        input=text.encode(),
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert "Grüße".encode() in done.stdout


def test_doc_as_json(client: DockerClient, image: str) -> None:
    doc = json.loads(inside(client, image, "krm-merge", "--doc"))
    metadata = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    assert {"short", "long", "examples"} <= doc.keys()
    assert {name: doc[name] for name in metadata} == metadata
    assert doc["short"]


def test_version(client: DockerClient, image: str) -> None:
    from krm_merge import __version__

    assert inside(client, image, "krm-merge", "--version") == f"krm-merge {__version__}\n"


def test_runs_as_nobody(client: DockerClient, built: Image, image: str) -> None:
    assert built.attrs["Config"]["User"] == "65534:65534"
    assert inside(client, image, "id", "-u") == "65534\n"
    # kpt passes --user nobody: the name must be known.
    assert "nobody:x:65534:" in inside(client, image, "cat", "/etc/passwd")


def test_labels(built: Image) -> None:
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in built.labels.items()}
    assert labels["title"] == "krm-merge"
    assert labels["licenses"] == "Apache-2.0"
    assert labels["source"] == "https://github.com/krm-merge/krm-merge"
    assert {"description", "documentation", "version", "revision"} <= labels.keys()


def test_starts_the_function_and_nothing_else(built: Image) -> None:
    settings = built.attrs["Config"]
    assert settings["Entrypoint"] == ["krm-merge"]
    assert not settings["Cmd"]
    assert not settings.get("ExposedPorts")
    assert not settings.get("Volumes")


def test_the_plugin_directory_is_there_and_empty(client: DockerClient, built: Image, image: str) -> None:
    assert "KRM_MERGE_PLUGIN_DIR=/plugins" in built.attrs["Config"]["Env"]
    assert inside(client, image, "stat", "--format=%u %g %a", "/plugins") == "0 0 755\n"
    assert inside(client, image, "find", "/plugins", "-mindepth", "1") == ""


def test_the_function_is_installed_without_pip(client: DockerClient, image: str) -> None:
    names = inside(client, image, "find", "/opt/fn", "-maxdepth", "5", "-name", "*.dist-info").lower()
    assert "/krm_merge-" in names
    assert "/pip-" not in names
    assert not any(f"/{name}-" in names for name in ("click", "rich", "pytest", "hatchling"))
    assert inside(client, image, "find", "/opt/fn/bin", "-name", "pip*") == ""


def test_nothing_that_installs_or_manages_a_system_is_in_it(client: DockerClient, image: str) -> None:
    programs = "apt apt-get perl su mount passwd useradd mkfs tar gpgv"
    found = inside(client, image, "sh", "-c", f"for each in {programs}; do command -v $each; done; true")
    assert found == ""
    packages = inside(client, image, "dpkg-query", "--show", "--showformat", "${Package}\n").split()
    assert {"libc6", "libssl3", "coreutils"} <= set(packages)
    assert not {"apt", "perl-base", "passwd", "login", "mount", "util-linux"} & set(packages)


def test_every_library_that_a_program_needs_is_in_it(client: DockerClient, image: str) -> None:
    script = (
        "find /usr /opt -type f -perm /111 -exec ldd {} + 2>/dev/null; find /usr /opt -name '*.so*' -exec ldd {} + 2>&1"
    )
    lines = inside(client, image, "sh", "-c", f"{{ {script}; true; }}").splitlines()
    assert any("libssl.so" in line for line in lines)
    assert [line for line in lines if "not found" in line] == []


def test_every_module_is_compiled(client: DockerClient, image: str) -> None:
    script = (
        "import importlib.util, pathlib, sys\n"
        "modules = [m for m in pathlib.Path('/opt/fn/lib').rglob('*.py') if m.stem.isidentifier()]\n"
        "missing = [str(m) for m in modules if not pathlib.Path(importlib.util.cache_from_source(str(m))).exists()]\n"
        "print(len(modules), missing)"
    )
    count, _, missing = inside(client, image, "/opt/fn/bin/python", "-c", script).partition(" ")
    assert int(count) > 30
    assert missing == "[]\n"


def test_no_secret_of_the_build_stays(client: DockerClient, built: Image, image: str) -> None:
    environment = {entry.partition("=")[0] for entry in built.attrs["Config"]["Env"]}
    assert not {name for name in environment if name.startswith("PIP_") or name.lower().endswith("_proxy")}
    assert inside(client, image, "find", "/opt/fn", "-name", "pip.conf") == ""


def test_no_file_of_the_tests_is_in_it(client: DockerClient, image: str) -> None:
    found = inside(client, image, "find", "/opt/fn", "-name", "conftest.py", "-o", "-name", "examples")
    assert found == ""
