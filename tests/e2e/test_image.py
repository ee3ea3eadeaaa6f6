"""The container image: what is in it, and the function in it under kpt and under docker alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
PYTHON = "/opt/fn/bin/python"
# As kpt starts a function, and stricter: nothing can be written, no privilege is left.
CONFINED = ["--network", "none", "--user", "nobody", "--read-only", "--cap-drop", "ALL"]


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    import docker

    engine = docker.from_env()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image_under_test(client: DockerClient, image: str) -> Image:
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


def files_of(client: DockerClient, image: str) -> list[str]:
    """The paths of all files in an image."""
    script = (
        "import os\n"
        "for folder, folders, names in os.walk('/'):\n"
        "    folders[:] = [name for name in folders if folder != '/' or name not in ('proc', 'sys', 'dev')]\n"
        "    print(*(os.path.join(folder, name) for name in names), sep='\\n')"
    )
    return inside(client, image, PYTHON, "-c", script).split("\n")


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
        # The record of the merge is behind them.
        kptfile, _, status = (package / "Kptfile").read_text(encoding="utf-8").partition("status:\n")
        assert kptfile == MERGED + functions
        assert status.count("type: krm-merge.MergePackage\n") == 1
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
    assert (package / "Kptfile").read_text(encoding="utf-8").partition("status:\n")[0] == MERGED + functions


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
    assert "updates forked Kubernetes packages" in done.stdout + done.stderr
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


def test_runs_as_nobody(client: DockerClient, image_under_test: Image, image: str) -> None:
    assert image_under_test.attrs["Config"]["User"] == "65534:65534"
    # kpt passes --user nobody: the name must be known.
    script = "import os, pwd; print(os.getuid(), pwd.getpwnam('nobody').pw_uid)"
    assert inside(client, image, PYTHON, "-c", script) == "65534 65534\n"


def test_labels(image_under_test: Image) -> None:
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in image_under_test.labels.items()}
    assert labels["title"] == "krm-merge"
    assert labels["licenses"] == "Apache-2.0"
    assert labels["source"] == "https://github.com/krm-merge/krm-merge"
    assert {"description", "documentation", "version", "revision"} <= labels.keys()


def test_starts_the_function_and_nothing_else(image_under_test: Image) -> None:
    settings = image_under_test.attrs["Config"]
    assert settings["Entrypoint"] == ["krm-merge"]
    assert not settings["Cmd"]
    assert not settings.get("ExposedPorts")
    assert not settings.get("Volumes")


def test_there_is_nothing_to_run_but_python_and_the_function(
    client: DockerClient, image_under_test: Image, image: str
) -> None:
    files = files_of(client, image)
    programs = {path.rpartition("/")[2] for path in files if "/bin/" in path or "/sbin/" in path}
    of_packages = re.compile(r"krm-merge|python3?[.0-9]*|json\w+|activate.*", re.IGNORECASE)
    assert [name for name in programs if not of_packages.fullmatch(name)] == []
    assert not any(entry.startswith("KRM_MERGE_PLUGIN_DIR=") for entry in image_under_test.attrs["Config"]["Env"])
    assert not any(re.search(r"/(pip|setuptools|click|rich|pytest|hatchling)[-/]", path) for path in files)
    assert not any(path.endswith(("conftest.py", "pip.conf")) or "/examples/" in path for path in files)


def test_scanners_find_the_packages_that_its_libraries_come_from(client: DockerClient, image: str) -> None:
    records = {path.rpartition("/")[2] for path in files_of(client, image) if "/dpkg/status.d/" in path}
    assert "libc6" in records
    assert not {"apt", "bash", "coreutils", "dash", "dpkg", "perl-base"} & records


def test_every_module_of_the_library_finds_its_libraries(client: DockerClient, image: str) -> None:
    script = (
        "import importlib, pathlib, sysconfig\n"
        "folder = pathlib.Path(sysconfig.get_path('platstdlib'), 'lib-dynload')\n"
        "for file in folder.glob('*.so'):\n"
        "    if not file.name.startswith(('_test', '_tkinter', 'xx', '_ctypes_test')):\n"
        "        importlib.import_module(file.name.partition('.')[0])\n"
        "import bz2, ctypes, decimal, hashlib, json, lzma, sqlite3, ssl, subprocess, uuid, zlib\n"
        "import jsonpatch, pydantic, re2, yaml\n"
        "print('done')"
    )
    assert inside(client, image, PYTHON, "-c", script) == "done\n"


def test_the_image_for_plugins_has_a_shell_and_a_directory(client: DockerClient, plugins_image: str) -> None:
    settings = client.images.get(plugins_image).attrs["Config"]
    assert "KRM_MERGE_PLUGIN_DIR=/plugins" in settings["Env"]
    assert (settings["User"], settings["Entrypoint"]) == ("65534:65534", ["krm-merge"])
    script = "stat --format='%u %g %a' /plugins; ls /plugins; krm-merge --version | cut -d ' ' -f 1"
    assert inside(client, plugins_image, "sh", "-c", script) == "0 0 755\nkrm-merge\n"


def test_every_module_is_compiled(client: DockerClient, image: str) -> None:
    script = (
        "import importlib.util, pathlib, sys\n"
        "modules = [m for m in pathlib.Path('/opt/fn/lib').rglob('*.py') if m.stem.isidentifier()]\n"
        "missing = [str(m) for m in modules if not pathlib.Path(importlib.util.cache_from_source(str(m))).exists()]\n"
        "print(len(modules), missing)"
    )
    count, _, missing = inside(client, image, PYTHON, "-c", script).partition(" ")
    assert int(count) > 30
    assert missing == "[]\n"


def test_no_secret_of_the_build_stays(image_under_test: Image) -> None:
    environment = {entry.partition("=")[0] for entry in image_under_test.attrs["Config"]["Env"]}
    assert not {name for name in environment if name.startswith("PIP_") or name.lower().endswith("_proxy")}
