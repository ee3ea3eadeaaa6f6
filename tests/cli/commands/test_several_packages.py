"""`update` of several packages, `status --exit-code`, `diff` of one package, tags of each form, short commit ids."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import Files, Run
from e2e.hosts import git
from e2e.in_process import krm_merge
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import DEPLOYMENT, SERVICE, Repository, kptfile, write

V1: Files = {
    "web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n",
    "web/web.yaml": DEPLOYMENT,
}
V2: Files = {"web/web.yaml": DEPLOYMENT.replace("1.25", "1.26"), "web/service.yaml": SERVICE}
OWN = DEPLOYMENT.replace("replicas: 1", "replicas: 5")


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository.at(tmp_path / "upstream")
    for tags, files in ((["v1", "web-v1.0.0", "web/v1.0.0"], V1), (["v2", "web-v1.1.0", "web/v1.1.0"], V2)):
        repository.version(tags[0], files)
        for tag in tags[1:]:
            repository.tag(tag, annotated=True)
    repository.tag("other-v9.0.0")
    return repository


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    def call(*arguments: str, code: int = 0) -> Run:
        done = krm_merge(*arguments, cwd=tmp_path / "own", **{CACHE_VARIABLE: str(tmp_path / "cache")})
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


def fetch(tmp_path: Path, upstream: Repository, name: str, ref: str = "v1") -> Path:
    """A package as kpt gets it, committed in a repository of the user's own."""
    place = tmp_path / "own"
    if not (place / ".git").exists():
        Repository.at(place)
    commit = git(upstream.path, "rev-parse", f"{ref}^{{commit}}").strip()
    files: Files = {"web.yaml": DEPLOYMENT, "Kptfile": kptfile(upstream.path, ref, commit, "/web")}
    change(place / name, files)
    return place / name


def change(package: Path, files: Files) -> None:
    write(package, files)
    git(package.parent, "add", "--all")
    git(package.parent, "commit", "--quiet", "--message", package.name)


def test_a_conflict_in_one_of_several_packages_stops_that_alone(
    tmp_path: Path, upstream: Repository, run: Callable[..., Run]
) -> None:
    packages = [fetch(tmp_path, upstream, name) for name in ("a", "b", "c")]
    change(packages[1], {"web.yaml": DEPLOYMENT.replace("1.25", "1.20")})
    done = run("update", "a@v2", "b@v2", "c@v2", code=1)
    assert "2 of 3 packages done; failed: b" in done.stderr
    assert [("1.26" in (package / "web.yaml").read_text()) for package in packages] == [True, False, True]
    # One that cannot be read leaves the others alone, too.
    change(packages[0], {"web.yaml": "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"})
    done = run("update", "missing@v2", "a@v2", "b@v2", "--on-conflict", "local", code=3)
    assert "1 of 3 packages done; failed: missing, a" in done.stderr
    assert "missing: there is no such directory" in done.stderr
    assert (packages[1] / "service.yaml").exists()


def test_all_packages_below_a_directory_are_updated(
    tmp_path: Path, upstream: Repository, run: Callable[..., Run]
) -> None:
    packages = [fetch(tmp_path, upstream, name, ref) for name, ref in (("a", "v1"), ("b", "web-v1.0.0"))]
    change(tmp_path / "own" / "plain", {"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"})
    done = run("update", "--all", "--latest", "--quiet")
    assert done.stderr + done.stdout == ""
    assert all("1.26" in (package / "web.yaml").read_text() for package in packages)
    lines = [line.strip() for package in packages for line in (package / "Kptfile").read_text().splitlines()]
    refs = [line for line in lines if line.startswith("ref:")]
    assert refs == ["ref: v2", "ref: v2", "ref: web-v1.1.0", "ref: web-v1.1.0"]
    assert "follows an upstream" in run("update", "--all", "plain", code=3).stderr
    for wrong in (["--all", "a@v2"], ["a", "v2"], ["a", "b", "--format", "json"], ["a", "b", "--report", "r.html"]):
        assert "Error: " in run("update", *wrong, code=2).stderr
    assert "a version is given as PKG@REF: a@v2" in run("update", "a", "v2", code=2).stderr


@pytest.mark.parametrize(
    ("ref", "newer"), [("v1", "v2"), ("web-v1.0.0", "web-v1.1.0"), ("web/v1.0.0", "web/v1.1.0"), ("v2", None)]
)
def test_status_knows_newer_tags_of_each_form(
    tmp_path: Path, upstream: Repository, run: Callable[..., Run], ref: str, newer: str | None
) -> None:
    """I16: also for a program, which reads the exit code alone."""
    fetch(tmp_path, upstream, "web", ref)
    assert run("status", "web").returncode == 0
    done = run("status", "web", "--exit-code", code=0 if newer is None else 1)
    assert ("newer: " in done.stdout) is (newer is not None)
    assert newer is None or done.stdout.endswith(f"newer: {newer}\n")
    write(tmp_path / "own" / "web", {"own.yaml": SERVICE})
    run("status", "web", "--exit-code", "--offline", code=1)


def test_a_commit_id_may_be_short(tmp_path: Path, upstream: Repository, run: Callable[..., Run]) -> None:
    package = fetch(tmp_path, upstream, "web")
    whole = git(upstream.path, "rev-parse", "v2").strip()
    # It is the tip of no branch, and a part of the history was fetched before.
    upstream.commit({"web/later.yaml": SERVICE})
    run("update", "web@v1", "--dry-run")
    run("update", f"web@{whole[:8]}")
    assert (package / "Kptfile").read_text().count(f"ref: {whole}\n") == 2
    assert f"commit: {whole}" in (package / "Kptfile").read_text()
    change(package, {})
    for wrong in ("0123456", "f" * 12):
        assert f"no tag, branch or commit whose id begins with {wrong}" in run("update", f"web@{wrong}", code=3).stderr


def test_diff_of_a_package_shows_what_was_changed_here(
    tmp_path: Path, upstream: Repository, run: Callable[..., Run]
) -> None:
    package = fetch(tmp_path, upstream, "web")
    assert run("diff", "web", "--exit-code").stdout == ""
    write(package, {"web.yaml": None, "moved.yaml": OWN, "own.yaml": SERVICE})
    done = run("diff", "web", "--exit-code", code=1)
    assert "replicas: 1 -> 5" in done.stdout
    assert "moved from web.yaml to moved.yaml" in done.stdout
    assert "Service web\n    added" in done.stdout
    assert "Kptfile" not in done.stdout
    done = run("diff", "web@v2")
    assert "image: nginx:1.25 -> nginx:1.26" in done.stdout
    assert "replicas" not in done.stdout
    assert [record["file"] for record in json.loads(run("diff", "web@v2", "--format", "json").stdout)["records"]]
    assert "no tag or branch v9" in run("diff", "web@v9", code=3).stderr
    (package / "Kptfile").write_text("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n")
    assert "has no upstream in git" in run("diff", "web", code=3).stderr
    assert "no such directory" in run("diff", "nothing", code=3).stderr


@pytest.mark.kpt
def test_diff_of_a_package_that_kpt_fetched_shows_nothing_of_kpt(
    tmp_path: Path, upstream: Repository, run: Callable[..., Run]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    subprocess.run(
        ["kpt", "pkg", "get", f"{upstream.path}.git/web@v1", "web"], cwd=own, check=True, capture_output=True
    )
    assert "internal.kpt.dev" in (own / "web" / "web.yaml").read_text()
    assert run("diff", "web", "--exit-code").stdout == ""
    text = (own / "web" / "web.yaml").read_text()
    (own / "web" / "web.yaml").write_text(text.replace("replicas: 1", "replicas: 5"))
    assert run("diff", "web").stdout == "web.yaml\n  Deployment web\n    spec.replicas: 1 -> 5\n"
