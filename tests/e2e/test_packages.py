"""Whole packages on the way users take them: fetched with kpt, changed by a team, updated with `krm-merge update`.

A directory of `testdata/packages/` is one package:

- `v1/` and `v2/`: upstream's two versions,
- `local.patch`: what the team changed in v1 as `kpt pkg get` wrote it,
- `plain.patch`: the same in v1 as upstream wrote it; without new names, as only kpt's comment tells the old ones,
- `expected/` and `expected.txt`: the package and what the command printed, after the update of what kpt fetched.

A Kptfile is called `package.Kptfile` there. `KPT_E2E_UPDATE_EXPECTED=true` rewrites what is expected.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e import in_process
from e2e.hosts import Run, contents, git, installed_program, run

PACKAGES = ROOT / "testdata" / "packages"
NAMES = sorted(folder.name for folder in PACKAGES.iterdir())
UPDATE = os.environ.get("KPT_E2E_UPDATE_EXPECTED", "").lower() == "true"
STORED = "package.Kptfile"
REPOSITORY = "https://example.com/packages"
COMMITS = {"v1": "1" * 40, "v2": "2" * 40}
IDENTIFIER = "internal.kpt.dev/upstream-identifier"
SEPARATOR = re.compile(r"^---[ \t]*\r?$\n", re.MULTILINE)

# Lines of local that are not kept though upstream leaves them: upstream's value is kept in a conflict (V4, L3, R4), or
# it changed something else in the same line. Of every Kptfile: the version that it follows (K2).
OVERRULED = {
    name: re.compile(rb"    (?:ref|commit): |" + pattern)
    for name, pattern in {
        "wordpress": rb"    rollingUpdate:|      maxUnavailable: 0|.* memory: 192Mi| +storage: 50Gi",
        "landing-zone": rb".*cpu: \"16\"|    pods: \"120\"|      exposed: partners|  keywords: ",
        "operator": rb"  size: 256Mi",
        "edge-cases": rb"  labels: |\x89BIN",
        "message-bus": rb"          image: mirror\.example\.net/bus/|              value: 75%|  partitions: 48"
        rb"|  - nonResourceURLs: \[/metrics\]",
        "storefront": rb"  replicas: 12|  page-size: \"30\"|          image: mirror\.example\.net/shop/statsd",
    }.items()
}


@dataclass(frozen=True)
class Updated:
    """A package in a git repository of its own, after the update."""

    name: str
    folder: Path
    commits: dict[str, str]
    before: dict[str, bytes]
    done: Run

    def expected_form(self) -> dict[str, bytes]:
        """The files as `expected/` has them: the same whatever the place and the time of the test."""
        files = {store_name(path): data for path, data in contents(self.folder).items()}
        kptfile = re.sub(r"file://\S+", REPOSITORY, files[STORED].decode())
        files[STORED] = self.without_commits(kptfile).encode()
        return files

    def documents(self, files: dict[str, bytes]) -> dict[tuple[str, ...], bytes]:
        """The text of each resource by its identity in v1, in variants also by its path; other files by their path."""
        return documents(files)

    def output(self) -> str:
        return self.without_commits(self.done.stderr + self.done.stdout)

    def without_commits(self, text: str) -> str:
        for version, commit in self.commits.items():
            text = text.replace(commit, COMMITS[version]).replace(commit[:7], COMMITS[version][:7])
        return text


def store_name(path: str) -> str:
    """How testdata calls a file of a package: kpt would take a Kptfile there for one of the repository's packages."""
    return re.sub(r"(^|/)Kptfile$", rf"\1{STORED}", path)


def place(source: Path, package: Path) -> Path:
    """Copies a package out of testdata."""
    shutil.copytree(source, package, copy_function=shutil.copy, dirs_exist_ok=True)
    for kptfile in sorted(package.rglob(STORED)):
        kptfile.rename(kptfile.with_name("Kptfile"))
    return package


def commit(folder: Path, message: str) -> str:
    # Without the index git reads every file: one of the same size and second would pass for unchanged.
    git(folder, "read-tree", "--empty")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")
    return git(folder, "rev-parse", "HEAD").strip()


def publish(name: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """A bare repository with the package's two versions as tags, and their commits."""
    work, bare = folder / "upstream", folder / "packages.git"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    commits = {}
    for version in COMMITS:
        shutil.rmtree(work / name, ignore_errors=True)
        place(PACKAGES / name / version, work / name)
        commits[version] = commit(work, version)
        git(work, "tag", version)
    git(folder, "clone", "--quiet", "--bare", str(work), str(bare))
    return bare, commits


def succeed(done: Run) -> Run:
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def krm_merge(cwd: Path, *arguments: str) -> Run:
    return in_process.krm_merge(*arguments, cwd=cwd)


def update(name: str, work: Path, commits: dict[str, str]) -> Updated:
    """Commits what local is, updates it to v2, commits that."""
    commit(work, "local")
    before = contents(work / name)
    options = "--on-conflict", "upstream", "--on-delete", "local"
    done = succeed(run(installed_program(), "update", f"{name}@v2", *options, cwd=work))
    commit(work, "updated")
    return Updated(name, work / name, commits, before, done)


@pytest.fixture(scope="module", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path_factory.mktemp("krm-merge")))
        patch.setenv("KPT_CACHE_DIR", str(tmp_path_factory.mktemp("kpt")))
        yield


@pytest.fixture(scope="module", params=NAMES)
def after_fetch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Updated:
    """The package as kpt fetched it and the team changed it, after the update."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    bare, commits = publish(name, folder)
    work = folder / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    succeed(run("kpt", "pkg", "get", f"file://{bare}/{name}@v1", cwd=work))
    git(work, "apply", f"--directory={name}", str(PACKAGES / name / "local.patch"))
    return update(name, work, commits)


UPSTREAM = """\
upstream:
  type: git
  git:
    repo: file://{repository}
    directory: /{name}
    ref: v1
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: file://{repository}
    directory: /{name}
    ref: v1
    commit: {commit}
"""


# R1: without kpt's notes, what the team of this one gave another namespace and edited is other resources.
@pytest.fixture(scope="module", params=[name for name in NAMES if name != "telemetry"])
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Updated:
    """The package as upstream wrote it and the team changed it, after the update: kpt never formatted it."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    bare, commits = publish(name, folder)
    work = folder / "work"
    place(PACKAGES / name / "v1", work / name)
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "apply", f"--directory={name}", str(PACKAGES / name / "plain.patch"))
    with (work / name / "Kptfile").open("a", encoding="utf-8") as kptfile:
        kptfile.write(UPSTREAM.format(repository=bare, name=name, commit=commits["v1"]))
    return update(name, work, commits)


# ---- packages that kpt fetched -----------------------------------------------------------------------------------


@pytest.mark.kpt
def test_the_package_becomes_what_is_expected(after_fetch: Updated) -> None:
    expected, text = PACKAGES / after_fetch.name / "expected", PACKAGES / after_fetch.name / "expected.txt"
    files = after_fetch.expected_form()
    if UPDATE:
        shutil.rmtree(expected, ignore_errors=True)
        for path, data in files.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(data)
        text.write_text(after_fetch.output(), encoding="utf-8")
    content = contents(expected)
    assert files.keys() == content.keys()
    for path, data in files.items():
        assert data == content[path], path
    assert after_fetch.output() == text.read_text(encoding="utf-8")


@pytest.mark.kpt
@pytest.mark.parametrize("ref", ["", "@v2"])
def test_a_second_update_changes_nothing(after_fetch: Updated, ref: str) -> None:
    before = contents(after_fetch.folder)
    done = succeed(krm_merge(after_fetch.folder.parent, "update", after_fetch.name + ref))
    assert after_fetch.without_commits(done.stdout) == f"{after_fetch.name}: is at v2 (2222222)\nno file changes\n"
    assert done.stderr == ""
    assert contents(after_fetch.folder) == before


@pytest.mark.kpt
def test_kpt_finds_nothing_left_to_update(after_fetch: Updated, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(after_fetch.folder.parent, work, symlinks=True)
    before = values(after_fetch.folder)
    succeed(run("kpt", "pkg", "update", f"{after_fetch.name}@v2", cwd=work))
    after = values(work / after_fetch.name)
    assert after.keys() == before.keys()
    for path, data in after.items():
        assert data == before[path], path


@pytest.mark.kpt
def test_kpt_reads_every_resource(after_fetch: Updated) -> None:
    done = succeed(run("kpt", "fn", "source", after_fetch.folder))
    read = Counter(map(identity, yaml.safe_load(done.stdout)["items"]))
    there = (
        document
        for documents_of_file in values(after_fetch.folder).values()
        if isinstance(documents_of_file, list)
        for document in documents_of_file
    )
    assert read == Counter(map(identity, there))


def values(folder: Path) -> dict[str, list[Any] | bytes]:
    """What each file says to Kubernetes; the bytes of what is no YAML."""
    return {path: file_values(path, data) for path, data in contents(folder).items()}


def file_values(path: str, data: bytes) -> list[Any] | bytes:
    if Path(path).suffix != ".yaml" and Path(path).name != "Kptfile":
        return data
    try:
        return [without_kpt(document) for document in yaml.safe_load_all(data) if document is not None]
    except yaml.YAMLError:
        return data


def without_kpt(document: dict[str, Any]) -> dict[str, Any]:
    """Without what kpt writes for itself, and without what it leaves of containers that local removed."""
    metadata = document.get("metadata", {})
    metadata.get("annotations", {}).pop(IDENTIFIER, None)
    if not metadata.get("annotations", True):
        del metadata["annotations"]
    template = document["spec"].get("template", {}) if document.get("kind") == "Deployment" else {}
    if "containers" in template.get("spec", {}):
        template["spec"]["containers"] = [each for each in template["spec"]["containers"] if "image" in each]
    return document


def identity(document: dict[str, Any] | None) -> tuple[str, str, str]:
    """Kind, namespace and name; without any where a document is of comments alone."""
    resource = document or {}
    metadata = resource.get("metadata", {})
    return resource.get("kind", ""), metadata.get("namespace", ""), metadata.get("name", "")


# ---- packages that nobody formatted ------------------------------------------------------------------------------


def test_documents_without_change_upstream_keep_their_bytes(plain: Updated) -> None:
    original, upstream = (plain.documents(contents(PACKAGES / plain.name / version)) for version in COMMITS)
    merged = plain.documents(contents(plain.folder))
    stay = {key: text for key, text in plain.documents(plain.before).items() if original.get(key) == upstream.get(key)}
    assert stay, "a package in which upstream leaves something"
    assert {key: merged.get(key) for key in stay} == stay


def test_lines_without_change_upstream_stay(plain: Updated) -> None:
    original, upstream = (plain.documents(contents(PACKAGES / plain.name / version)) for version in COMMITS)
    merged = plain.documents(contents(plain.folder))
    wrong = set()
    for key, text in plain.documents(plain.before).items():
        if key not in upstream and text == original.get(key):
            assert key not in merged
            continue
        gone = lines(original.get(key, b"")) - lines(upstream.get(key, b""))
        lost = lines(text) - lines(merged[key]) - gone
        wrong |= {(key, line) for line in lost if not OVERRULED[plain.name].match(line)}
    assert wrong == set()


def test_line_ends_stay(plain: Updated) -> None:
    merged = contents(plain.folder)
    for path, before in plain.before.items():
        if path in merged and b"\0" not in before:
            is_crlf = b"\r\n" in before
            assert merged[path].count(b"\r\n") == (merged[path].count(b"\n") if is_crlf else 0), path


RENAMED = re.compile(r"; renamed from \w+ [\w/-]+")
"""Only kpt's notes say it."""


def test_what_kpt_formatted_has_the_same_conflicts_in_resources(plain: Updated) -> None:
    output = (PACKAGES / plain.name / "expected.txt").read_text(encoding="utf-8")
    after_kpt, without = (
        {RENAMED.sub("", line) for line in text.splitlines() if line.startswith("warning")}
        for text in (output, plain.done.stderr)
    )
    # R4: that is no resource, and merges by lines; kpt took blank lines out of it.
    assert set(after_kpt) == without


def test_modes_stay(plain: Updated, tmp_path: Path) -> None:
    before = checkout(plain, "HEAD~1", tmp_path)
    for path in contents(before).keys() & contents(plain.folder).keys():
        assert os.access(plain.folder / path, os.X_OK) == os.access(before / path, os.X_OK), path


def test_refused_conflicts_leave_the_package(plain: Updated, tmp_path: Path) -> None:
    folder = checkout(plain, "HEAD~1", tmp_path)
    done = krm_merge(folder.parent, "update", f"{plain.name}@v2", "--on-conflict=fail")
    assert done.returncode == 1
    assert "refused; nothing was changed\n" in done.stderr
    assert contents(folder) == plain.before
    assert git(folder, "status", "--porcelain") == ""


def checkout(updated: Updated, ref: str, target: Path) -> Path:
    """The package at another commit of its repository."""
    git(target, "clone", "--quiet", str(updated.folder.parent), "work")
    git(target / "work", "checkout", "--quiet", ref)
    return target / "work" / updated.name


def documents(files: dict[str, bytes]) -> dict[tuple[str, ...], bytes]:
    read = [(path, resources(path, data), data) for path, data in files.items()]
    times = Counter(key for _, entries, _ in read for key, _ in entries)
    texts: dict[tuple[str, ...], bytes] = {}
    for path, entries, data in read:
        for key, text in entries:
            key_of_copy = (*key, path) if times[key] > 1 or not key[2] else key
            assert key_of_copy not in texts
            texts[key_of_copy] = text.encode()
        if not entries:
            texts[(path,)] = data
    return texts


def resources(path: str, data: bytes) -> list[tuple[tuple[str, str, str], str]]:
    """The identities and texts of the resources in a file; none where it holds something else."""
    if path in {"Kptfile", STORED}:
        return [(("Kptfile", "", "package"), data.decode())]
    if not path.endswith((".yaml", "Kptfile")):
        return []
    try:
        entries = [(identity(yaml.safe_load(text)), text) for text in SEPARATOR.split(data.decode())]
    except (UnicodeDecodeError, yaml.YAMLError):
        return []
    if not any(kind for (kind, _, _), _ in entries):
        return []
    return entries


def lines(data: bytes) -> Counter[bytes]:
    return Counter(data.splitlines(keepends=True))
