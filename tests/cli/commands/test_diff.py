"""`krm-merge diff` and `krm-merge status`, by themselves and called by git."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.in_process import krm_merge
from packages.repositories import KPTFILE, Repository, kptfile, write

OLD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1
      - name: log
        image: log:1
      - name: proxy
        image: proxy:1
"""
NEW = """\
# Another layout is no difference.
kind: Deployment
apiVersion: "apps/v1"
metadata:
    name: web
spec:
    replicas: 3
    template:
        spec:
            containers:
            - {name: proxy, image: "proxy:1"}
            - {name: web, image: "web:2"}
            - {name: log, image: "log:1"}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: ClusterIP}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter%d}\n"


def run(place: Path, *arguments: str, code: int = 0, data: str = "") -> str:
    done = krm_merge(*arguments, cwd=place, stdin=data)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text, secret in (("a", OLD, 1), ("b", NEW, 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "web.yaml").write_text(text)
        (tmp_path / name / "secret.yaml").write_text(SECRET % secret)
    (tmp_path / "a" / "service.yaml").write_text(SERVICE)
    (tmp_path / "b" / "moved.yaml").write_text(SERVICE)
    return tmp_path


def test_differences_are_said_by_what_they_mean(place: Path) -> None:
    assert run(place, "diff", "a", "b").splitlines() == [
        "secret.yaml",
        "  Secret s",
        "    stringData.p: changed (a secret value)",
        "service.yaml",
        "  Service s",
        "    moved from service.yaml to moved.yaml",
        "web.yaml",
        "  Deployment web",
        "    spec.replicas: 1 -> 3",
        "    spec.template.spec.containers[name=web].image: web:1 -> web:2",
    ]


def test_exit_codes(place: Path) -> None:
    run(place, "diff", "a", "b")
    run(place, "diff", "a", "b", "--exit-code", code=1)
    assert run(place, "diff", "a", "a", "--exit-code") == ""
    assert "give two versions, each a directory or a file" in run(place, "diff", "a", "b", "c", code=2)


def test_reports(place: Path) -> None:
    text = run(place, "diff", "a", "b", "--format", "json", "--report", "r.html", "--report", "r.json")
    assert text == (place / "r.json").read_text()
    assert {record["status"] for record in json.loads(text)["records"]} == {"automatic"}
    assert "hunter" not in text + (place / "r.html").read_text()


def test_files_and_stdin(place: Path) -> None:
    assert "spec.replicas: 1 -> 3" in run(place, "diff", "a/web.yaml", "b/web.yaml")
    assert "spec.replicas: 1 -> 3" in run(place, "diff", "-", "b/web.yaml", data=OLD)


def test_what_kptfiles_follow_is_a_difference_too(place: Path) -> None:
    text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\nupstream:\n  git: {ref: %s}\n"
    for name, ref in (("a", "v1"), ("b", "v2")):
        (place / name / "Kptfile").write_text(text % ref)
    assert "    upstream.git.ref: v1 -> v2" in run(place, "diff", "a", "b").splitlines()


def git(place: Path, *arguments: str) -> str:
    about = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *about, *arguments], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout


def test_git_shows_differences_with_it(place: Path) -> None:
    program = f"{sys.executable} -m krm_merge diff"
    repository = place / "repository"
    repository.mkdir()
    git(repository, "init")
    (repository / "web.yaml").write_text(OLD)
    (repository / ".gitattributes").write_text("*.yaml diff=krm\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "one")
    git(repository, "config", "diff.krm.command", program)
    (repository / "web.yaml").write_text(NEW)
    (repository / "new.yaml").write_text(SERVICE)
    git(repository, "add", "--intent-to-add", "new.yaml")
    output = git(repository, "diff")
    assert "    spec.replicas: 1 -> 3" in output
    assert "  Service s\n    added\n" in output
    assert "    spec.replicas: 1 -> 3" in git(repository, "difftool", "-y", "-x", program, "--", "web.yaml")


# ---- status ----------------------------------------------------------------------------------------------------------


def test_status_says_what_needs_attention(tmp_path: Path) -> None:
    upstream, own = Repository.at(tmp_path / "upstream"), Repository.at(tmp_path / "own")
    first = upstream.commit({"Kptfile": KPTFILE})
    own.commit({"pkg/Kptfile": kptfile(upstream.path, "main", first)})
    assert run(tmp_path, "status", "own").strip() == f"own/pkg: main ({first[:7]})"
    second = upstream.commit({"new.yaml": SERVICE})
    write(own.path, {"pkg/c.yaml": "<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n"})
    output = run(tmp_path, "status", "own", code=1)
    assert output.strip() == (
        f"own/pkg: main ({first[:7]}); behind: main is {second[:7]} now; 1 uncommitted; open conflicts in c.yaml"
    )
    (entry,) = json.loads(run(tmp_path, "status", "own", "--format", "json", code=1))["packages"]
    assert (entry["behind"], entry["dirty"], entry["conflicts"]) == (True, ["pkg/c.yaml"], ["c.yaml"])
    assert "behind" not in run(tmp_path, "status", "own", "--offline", code=1)


def test_status_of_what_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "Kptfile").write_text(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\nupstream:\n  git: {repo: /nowhere, ref: main}\n"
    )
    assert "/nowhere cannot be reached" in run(tmp_path, "status", code=3)
