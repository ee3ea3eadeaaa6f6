"""The repository itself: a kpt package, with locked dependencies, that depends on nobody's machine."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from run_nightly import PARTS

from checkout import ROOT
from e2e.hosts import SECONDS

EXPORTED = [f"constraints/{name}.txt" for name in ("image", "cli", "build")]
REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==[^\s;]+")
# A path below the directories where people keep their checkouts, but not that of Argo CD in its images. Written so that
# it does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}/*-])/(?:work|root|home|Users)/(?!argocd/)[\w.-]+")


def repository_files() -> list[str]:
    """Files that are or could be committed, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout; clone the repository to run this test")
    return sorted(name for name in set(listing.stdout.split("\0")) if name and (ROOT / name).is_file())


@pytest.fixture
def clean_copy(tmp_path: Path) -> Path:
    for name in repository_files():
        target = tmp_path / "krm-merge" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return tmp_path / "krm-merge"


@pytest.mark.kpt
@pytest.mark.parametrize("command", [["fn", "eval", ".", "--exec", "cat"], ["fn", "render", "."]])
def test_kpt_takes_the_repository_as_a_package(clean_copy: Path, command: list[str]) -> None:
    run = subprocess.run(
        ["kpt", *command], cwd=clean_copy, capture_output=True, check=False, text=True, timeout=SECONDS
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("file", ["constraints/all.txt", *EXPORTED])
def test_every_locked_requirement_has_hashes_and_no_address(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    requirements = code.replace("\\\n", " ").splitlines()
    assert requirements
    for requirement in requirements:
        assert REQUIREMENT.match(requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


def test_the_image_gets_the_function_and_not_the_command_line() -> None:
    text = (ROOT / "constraints/image.txt").read_text(encoding="utf-8")
    names = {match["name"].lower() for line in text.splitlines() if (match := REQUIREMENT.match(line))}
    assert {"pydantic", "pyyaml"} <= names
    assert not {"click", "rich", "docker", "pytest"} & names


def versions(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    pins = (line.split(";")[0].rstrip("\\ ").partition("==") for line in lines if REQUIREMENT.match(line))
    return {name: version.strip() for name, _, version in pins}


@pytest.mark.parametrize("file", EXPORTED)
def test_what_is_exported_is_what_is_locked(file: str) -> None:
    development = versions("constraints/all.txt")
    assert {name: development.get(name) for name in versions(file)} == versions(file)


def test_what_the_project_needs_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    needed = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["cli"]]
    needed += [each for name in ("test", "lint", "build") for each in groups[name]]
    names = {re.split(r"[<>=!~;\[ ]", each)[0].replace(".", "-").replace("_", "-").lower() for each in needed}
    assert names <= versions("constraints/all.txt").keys()


def test_workflows_name_actions_by_commit_and_version() -> None:
    count = 0
    for workflow in sorted((ROOT / ".github" / "workflows").iterdir()):
        for line in workflow.read_text(encoding="utf-8").splitlines():
            if (used := line.strip().removeprefix("- ")).startswith("uses: "):
                count += 1
                assert re.fullmatch(r"uses: (\./\S*|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)", used), used
    assert count


def commands(name: str) -> list[str]:
    """The commands in a file, each with the lines that continue it."""
    return (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


WITH_COMMANDS = ["Dockerfile", "action.yml", *(f".github/workflows/{name}.yml" for name in ("ci", "release"))]


@pytest.mark.parametrize("file", WITH_COMMANDS)
def test_whatever_is_downloaded_is_named_by_its_bytes(file: str) -> None:
    """By hashes or commits; what an archive of ours holds needs none."""
    for command in commands(file):
        assert not re.search(r"\b(curl|wget|go install|npm install|apt-get|git clone)\b", command), command
        for installation in re.findall(r"\bpip\b[^&|]*\binstall\b[^&|]*", command):
            # Without --no-deps, older pips look for `coverage[toml]` beside the `coverage` that is named here.
            assert "--no-deps --require-hashes" in installation or "--no-deps --no-index" in installation, command
        for commit in re.findall(r"git fetch .*https://\S+ (\S+)", command):
            assert commit.strip('"') == "$KPT_COMMIT", command
    for name, commit in re.findall(r"(\w+_COMMIT): (\S+)", (ROOT / file).read_text(encoding="utf-8")):
        assert re.fullmatch(r"[0-9a-f]{40}", commit), name


def test_dockerfile_lets_the_base_images_be_chosen() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    (base,) = [line for line in lines if line.startswith("ARG BASE=")]
    assert re.fullmatch(r"ARG BASE=python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert "ARG BUILD_BASE=${BASE}" in lines
    bases = [line for line in lines if line.startswith("FROM $")]
    assert bases == ["FROM ${BUILD_BASE} AS build", "FROM ${BASE} AS base"]
    # What is built without a target has nothing of the base but what Python needs.
    assert [line for line in lines if line.startswith("FROM ")][-1] == "FROM settings AS function"


def test_the_image_is_built_from_no_other_pages_than_the_wheel_holds() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("!docs")] == [f"!{page}" for page in included if "docs/" in page]


def test_krmignore_covers_what_is_no_resource() -> None:
    ignored = set((ROOT / ".krmignore").read_text(encoding="utf-8").split())
    assert {".github", "docs", "examples", "integrations", "testdata", "tests"} <= ignored


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    places = []
    for name in repository_files():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            places += [f"{name}:{number}: {path}" for path in MACHINE_PATH.findall(line)]
    assert places == []


def test_the_page_of_conflicts_is_in_the_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    page = {f"krm_merge/resolve/page/{file.name}" for file in (ROOT / "fn/krm_merge/resolve/page").iterdir()}
    assert len(page) > 5
    assert page <= set(zipfile.ZipFile(wheel).namelist())


def test_each_part_of_the_night_runs_every_night_and_is_described() -> None:
    workflow = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    assert f"part: [{', '.join(PARTS)}]" in workflow
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### New examples")[2]
    assert re.findall(r"^\| `(\w+)` \|", page.partition("\n## ")[0], re.MULTILINE) == [*PARTS]
