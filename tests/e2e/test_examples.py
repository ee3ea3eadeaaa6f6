"""The examples, run as kpt's own test runner does (kpt's pkg/test/runner): twice, in a git repository of their own.

An example is a directory with `.expected/config.yaml`. `KPT_E2E_UPDATE_EXPECTED=true` rewrites diff.patch and
results.yaml from the first run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import contents, git, installed_program, run

EXAMPLES = ROOT / "examples"
UPDATE = os.environ.get("KPT_E2E_UPDATE_EXPECTED", "").lower() == "true"
CASES = sorted(config.parent.parent.name for config in EXAMPLES.glob("*/.expected/config.yaml"))
# Its functions are in an image of its own.
WITH_IMAGE = "transform-plugins"
FIELDS = {"testType", "exitCode", "image", "fnConfig", "args", "stdErr", "stdErrRegEx", "allowExec", "skip"}


@dataclass(frozen=True)
class Config:
    """What `.expected/config.yaml` says, in the words of kpt's runner."""

    folder: Path
    image: str
    is_render: bool = False
    exit_code: int = 0
    fn_config: str = ""
    args: dict[str, str] = field(default_factory=dict)
    stderr: str = ""
    stderr_pattern: str = ""

    @classmethod
    def read(cls, case: str) -> Config:
        folder = EXAMPLES / case / ".expected"
        config: dict[str, Any] = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
        assert config.keys() <= FIELDS, f"{case}: fields that this runner does not know: {config.keys() - FIELDS}"
        return cls(
            folder,
            config["image"],
            config.get("testType", "render") == "render",
            config.get("exitCode", 0),
            config.get("fnConfig", ""),
            config.get("args", {}),
            config.get("stdErr", ""),
            config.get("stdErrRegEx", ""),
        )

    def command(self, function: Sequence[str], package: Path, results: Path) -> list[str | Path]:
        verb = "render" if self.is_render else "eval"
        command: list[str | Path] = ["kpt", "fn", verb, package, "--results-dir", results, "--truncate-output=false"]
        if not self.is_render:
            command += function
        if self.fn_config:
            command += ["--fn-config", (self.folder / self.fn_config).resolve()]
        if self.args:
            command += ["--", *(f"{name}={value}" for name, value in self.args.items())]
        return command


def run_example(case: str, function: Sequence[str], tmp_path: Path) -> None:
    config = Config.read(case)
    package, results = tmp_path / case, tmp_path / "results"
    shutil.copytree(EXAMPLES / case, package)
    git(package, "init", "--quiet", "--initial-branch=main")
    git(package, "add", "--all")
    git(package, "commit", "--quiet", "--message=first")
    for count in (1, 2):
        if (config.folder / "setup.sh").exists():
            setup = run("bash", config.folder / "setup.sh", cwd=package)
            assert setup.returncode == 0, setup.stderr
        done = run(*config.command(function, package, results))
        assert done.returncode == config.exit_code, done.stderr
        assert "Traceback" not in done.stderr
        git(package, "add", "--all")
        diff = git(package, "diff", "--cached", "--find-renames").strip() + "\n"
        if count == 1:
            saved = said_of(config.image, (results / "results.yaml").read_text(encoding="utf-8"))
            if UPDATE:
                (config.folder / "diff.patch").write_text(diff, encoding="utf-8")
                (config.folder / "results.yaml").write_text(saved, encoding="utf-8")
            assert config.stderr in done.stderr
            assert re.search(config.stderr_pattern, done.stderr)
            assert results_of(saved) == results_of((config.folder / "results.yaml").read_text(encoding="utf-8"))
        assert diff == (config.folder / "diff.patch").read_text(encoding="utf-8"), f"run {count}"
        if config.exit_code:
            break


def results_of(results: str) -> Any:
    """The results as values. What stderr says ends in a newline or not, by what ran the function."""
    values = yaml.safe_load(results)
    for item in values["items"]:
        item["stderr"] = item.get("stderr", "").rstrip("\n")
    return values


def said_of(image: str, results: str) -> str:
    """The results with the function named as config.yaml names it, whatever ran."""
    text, count = re.subn(r"^(  - )(?:exec|image): .*$", rf"\1image: {image}", results, flags=re.MULTILINE)
    assert count == 1, results
    return text


def test_there_are_examples() -> None:
    assert {
        "setters",
        "conflict-fail",
        "named-functions",
        "subpackages",
        "smart-identity",
        "patch",
        "transform",
        "components-parent-image",
        "components-operator",
        "components-monorepo",
    } <= set(CASES)
    assert WITH_IMAGE in CASES


@pytest.mark.kpt
@pytest.mark.parametrize("case", [case for case in CASES if case != WITH_IMAGE])
def test_example(case: str, tmp_path: Path) -> None:
    run_example(case, ["--exec", installed_program()], tmp_path)


@pytest.mark.kpt
@pytest.mark.parametrize("case", ["setters", "conflict-fail", "transform"])
def test_example_in_the_container(case: str, image: str, tmp_path: Path) -> None:
    run_example(case, ["--image", image, "--image-pull-policy", "never"], tmp_path)


# ---- plugins in an image of their own ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image_with_plugins(plugins_image: str) -> str:
    """The image that the example's README builds, made from the image under test."""
    import docker

    name = Config.read(WITH_IMAGE).image
    folder = EXAMPLES / WITH_IMAGE / "image"
    client = docker.from_env()
    try:
        client.images.build(path=str(folder), tag=name, buildargs={"KRM_MERGE": plugins_image}, rm=True)
    finally:
        client.close()
    return name


@pytest.mark.kpt
def test_example_with_plugins_in_the_image(image_with_plugins: str, tmp_path: Path) -> None:
    run_example(WITH_IMAGE, ["--image", image_with_plugins, "--image-pull-policy", "never"], tmp_path)


@pytest.mark.kpt
def test_plugins_in_the_pipeline_of_a_package(image_with_plugins: str, tmp_path: Path) -> None:
    package = tmp_path / WITH_IMAGE
    shutil.copytree(EXAMPLES / WITH_IMAGE, package)
    (package / "local.Kptfile").rename(package / "Kptfile")
    assert f"image: {image_with_plugins}\n" in (package / "Kptfile").read_text(encoding="utf-8")
    rendered = []
    for _ in range(2):
        done = run("kpt", "fn", "render", package, "--image-pull-policy", "never")
        assert done.returncode == 0, done.stderr
        rendered.append((package / "web.yaml").read_text(encoding="utf-8"))
    assert "topologySpreadConstraints:" in rendered[0]
    assert "replicas: 3 # one for each zone" in rendered[0]
    assert "example.com/contact: team-shop@example.com # asked first" in rendered[0]
    assert rendered[1] == rendered[0]
    (package / "transform.yaml").write_text(plugins_config("contact.sh"), encoding="utf-8")
    refused = run("kpt", "fn", "render", package, "--image-pull-policy", "never")
    assert refused.returncode == 1
    assert "contact: PluginRunError: the option contact is missing" in refused.stderr


def test_plugins_need_no_network_and_no_file_that_can_be_written(image_with_plugins: str) -> None:
    text = "".join(f"  {line}" for line in plugins_config("contact.sh", "spread.py").splitlines(keepends=True))
    item = "- apiVersion: v1\n  kind: Service\n  metadata: {name: web}\n"
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    confined = ["--network", "none", "--user", "nobody", "--read-only", "--cap-drop", "ALL"]
    source = f"{head}items:\n{item}functionConfig:\n{text}  options: {{contact: we@example.com}}\n"
    done = run("docker", "run", "--rm", "-i", *confined, image_with_plugins, stdin=source)
    assert done.returncode == 0, done.stderr
    (service,) = yaml.safe_load(done.stdout)["items"]
    assert service["metadata"] == {"name": "web", "annotations": {"example.com/contact": "we@example.com"}}


@pytest.mark.parametrize("name", ["../bin/sh", "sh", ".", "/bin/sh"])
def test_only_files_of_the_plugin_directory_run(name: str, image_with_plugins: str) -> None:
    text = "".join(f"  {line}" for line in plugins_config(name).splitlines(keepends=True))
    source = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n{text}"
    done = run("docker", "run", "--rm", "-i", "--network", "none", image_with_plugins, stdin=source)
    assert done.returncode == 1
    assert "functionConfig: plugins[0]: " in done.stderr + done.stdout


def plugins_config(*files: str) -> str:
    plugins = "".join(f"- exec: {{file: {file}}}\n" for file in files)
    return (
        f"apiVersion: fn.kpt.dev/v1alpha1\nkind: TransformResources\nmetadata: {{name: plugins}}\nplugins:\n{plugins}"
    )


# ---- the examples as packages --------------------------------------------------------------------------------------


@pytest.mark.kpt
def test_an_example_can_be_fetched_with_kpt(tmp_path: Path) -> None:
    """As the examples' READMEs say: kpt pkg get, setup.sh, kpt fn eval."""
    repository, package = tmp_path / "krm-merge.git", tmp_path / "setters"
    shutil.copytree(EXAMPLES, repository / "examples")
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message=first")
    fetched = run("kpt", "pkg", "get", f"file://{repository}/examples/setters@main", cwd=tmp_path)
    assert fetched.returncode == 0, fetched.stderr
    setup = run("bash", ".expected/setup.sh", cwd=package)
    assert setup.returncode == 0, setup.stderr
    done = run("kpt", "fn", "eval", "--exec", installed_program(), "--fn-config", "merge.yaml", cwd=package)
    assert done.returncode == 0, done.stderr
    merged = (package / "Kptfile").read_text(encoding="utf-8")
    assert "tag: 1.2.0 # ours, waits for the security review" in merged
    assert 'replicas: "3"' in merged


@pytest.mark.kpt
def test_rendering_above_the_examples_runs_none_of_their_pipelines(tmp_path: Path) -> None:
    """`kpt fn render` finds each file called Kptfile, also below what .krmignore names."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    shutil.copyfile(ROOT / "Kptfile", tmp_path / "Kptfile")
    shutil.copyfile(ROOT / ".krmignore", tmp_path / ".krmignore")
    before = contents(tmp_path)
    done = run("kpt", "fn", "render", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "executed 0 function(s) in 1 package(s)" in done.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize("case", CASES)
def test_readme_has_the_sections_of_the_catalog(case: str) -> None:
    readme = (EXAMPLES / case / "README.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", readme, re.MULTILINE)
    assert sections == ["Overview", "Fetch the example package", "Function invocation", "Expected result"]
    assert ".expected" in (EXAMPLES / case / ".krmignore").read_text(encoding="utf-8").split()
