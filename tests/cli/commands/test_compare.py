"""`krm-merge compare`: the real `kpt pkg update` beside ours, each kind of loss, and nothing of the user's changed."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkout import ROOT
from e2e.hosts import Run, git, installed_program, run
from krm_merge.report import FORMS
from packages.repositories import DEPLOYMENT as WEB
from packages.repositories import KPTFILE, Repository, kptfile, snapshot, write

pytestmark = pytest.mark.kpt

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "comparison.json").read_text(encoding="utf-8"))
DEPLOYMENT = WEB.replace("nginx:1.25", "web:1")
SIDECAR = """\
      - name: log
        image: log:1
        resources:
          limits:
            cpu: 1
"""
TOLERATIONS = """\
      tolerations:
      - key: a
"""


@dataclass(frozen=True)
class Scene:
    """An upstream with two versions, and a package that was fetched at the first one and changed since."""

    package: Path

    def compare(self, *arguments: str, code: int = 0, package: str = "web@v2", **environment: str) -> Run:
        os_environment = [f"{name}={value}" for name, value in environment.items()]
        command = [installed_program(), "compare", package, *arguments]
        done = run("env", *os_environment, *command, cwd=self.package.parent)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def document(self, *arguments: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.compare("--format", "json", *arguments).stdout)
        jsonschema.validate(document, SCHEMA)
        return document

    def findings(self) -> list[tuple[str, str, str]]:
        """What was found, by file and path; layout and notes are those of kpt and no matter here."""
        differences = self.document()["differences"]
        return [
            (difference["finding"], difference["file"], difference["path"])
            for difference in differences
            if difference["finding"] not in ("layout", "notes")
        ]


def scene(
    place: Path, original: dict[str, str], upstream: dict[str, str | None], local: dict[str, str | None]
) -> Scene:
    repository = Repository.at(place / "upstream")
    commit = repository.version("v1", {"Kptfile": KPTFILE, **original})
    repository.version("v2", dict(upstream))
    bare = repository.bare(place / "upstream.git")
    mine = Repository.at(place / "mine")
    kptfile_of_mine = KPTFILE + kptfile(f"file://{bare.path}", "v1", commit).partition("name: pkg\n")[2]
    if "Kptfile" in original:
        kptfile_of_mine = kptfile_of_mine + original["Kptfile"].removeprefix(KPTFILE)
    mine.commit({f"web/{path}": text for path, text in ({**original, "Kptfile": kptfile_of_mine}).items()})
    changed = dict(local)
    if (text := changed.get("Kptfile")) is not None:
        changed["Kptfile"] = kptfile_of_mine.removesuffix(
            original["Kptfile"].removeprefix(KPTFILE)
        ) + text.removeprefix(KPTFILE)
    mine.commit({f"web/{path}": text for path, text in changed.items()})
    return Scene(mine.path / "web")


def config_map(name: str, *values: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n" + "".join(f"  {v}\n" for v in values)


FUNCTIONS = KPTFILE + "pipeline:\n  mutators:\n"
FIRST = "  - image: gcr.io/kpt-fn/first:v1\n    configMap:\n      a: b\n"
SECOND = "  - image: gcr.io/kpt-fn/second:v1\n    configMap:\n      c: d\n"
THIRD = "  - image: gcr.io/kpt-fn/third:v1\n"
TEMPLATE = "spec.template.spec"

LOSSES: dict[str, tuple[dict[str, str], dict[str, str | None], dict[str, str | None], list[tuple[str, str, str]]]] = {
    "a list that kpt takes whole": (
        {"d.yaml": DEPLOYMENT + TOLERATIONS},
        {"d.yaml": DEPLOYMENT + TOLERATIONS + "      - key: theirs\n"},
        {"d.yaml": DEPLOYMENT + TOLERATIONS.replace("- key: a", "- key: ours\n      - key: a")},
        [("local-change-lost", "d.yaml", "spec.template.spec.tolerations[key=ours]")],
    ),
    "a text": (
        {"c.yaml": config_map("c", "text: |", "  a", "  b", "  c", "  d")},
        {"c.yaml": config_map("c", "text: |", "  a2", "  b", "  c", "  d")},
        {"c.yaml": config_map("c", "text: |", "  a", "  b", "  c", "  d2")},
        [("local-change-lost", "c.yaml", "data.text")],
    ),
    "an element that local removed": (
        {"d.yaml": DEPLOYMENT + SIDECAR},
        {"d.yaml": DEPLOYMENT + SIDECAR.replace("log:1", "log:2")},
        {"d.yaml": DEPLOYMENT},
        [("restored", "d.yaml", "spec.template.spec.containers[name=log]")],
    ),
    "an element that upstream removed": (
        {"d.yaml": DEPLOYMENT + SIDECAR},
        {"d.yaml": DEPLOYMENT},
        {"d.yaml": (DEPLOYMENT + SIDECAR).replace("replicas: 1", "replicas: 2")},
        [("remains", "d.yaml", "spec.template.spec.containers[name=log]")],
    ),
    "a function that local removed": (
        {"Kptfile": FUNCTIONS + FIRST + SECOND},
        {"Kptfile": FUNCTIONS + FIRST.replace("v1", "v2") + SECOND},
        {"Kptfile": FUNCTIONS + FIRST},
        [("remains", "Kptfile", "pipeline.mutators[1]")],
    ),
    "a function that local added": (
        {"Kptfile": FUNCTIONS + FIRST + FIRST.replace("b", "c")},
        {"Kptfile": FUNCTIONS + FIRST.replace("v1", "v2") + FIRST.replace("b", "c")},
        {"Kptfile": FUNCTIONS + FIRST + FIRST.replace("b", "c") + THIRD},
        [("function-dropped", "Kptfile", "pipeline.mutators[image=gcr.io/kpt-fn/third]")],
    ),
    "a resource that local moved": (
        {"d.yaml": DEPLOYMENT},
        {"d.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")},
        {"d.yaml": None, "moved.yaml": DEPLOYMENT},
        [("upstream-change-missed", "moved.yaml", "spec.replicas")],
    ),
    "a resource that upstream moved": (
        {"d.yaml": DEPLOYMENT},
        {"d.yaml": None, "moved.yaml": DEPLOYMENT},
        {"d.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")},
        [("local-change-lost", "moved.yaml", "spec.replicas"), ("duplicated", "d.yaml", "")],
    ),
    "a null": (
        {"c.yaml": config_map("c", "a: b", "n: null")},
        {"c.yaml": config_map("c", "a: c", "n: null")},
        {},
        [("unchanged-lost", "c.yaml", "data.n")],
    ),
    "an order": (
        {"d.yaml": DEPLOYMENT + SIDECAR},
        {"d.yaml": DEPLOYMENT + "      - name: new\n        image: new:1\n" + SIDECAR},
        {},
        [("order", "d.yaml", "spec.template.spec.containers")],
    ),
    "a conflict": (
        {"d.yaml": DEPLOYMENT},
        {"d.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")},
        {"d.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 5")},
        [("conflict-unreported", "d.yaml", "spec.replicas")],
    ),
    "comments": (
        {"d.yaml": DEPLOYMENT + SIDECAR + TOLERATIONS},
        {
            "d.yaml": (DEPLOYMENT + SIDECAR + TOLERATIONS)
            .replace("web:1", "web:2")
            .replace("key: a", "key: a\n        value: b")
        },
        {
            "d.yaml": (DEPLOYMENT + SIDECAR + TOLERATIONS)
            .replace("- name: web", "# ours\n      - name: web # mine")
            .replace("      - key: a", "      # about it\n      - key: a")
        },
        [("comments-lost", "d.yaml", "")],
    ),
    "a secret": (
        {"s.yaml": config_map("s", "a: hunter1", "b: hunter2").replace("ConfigMap", "Secret")},
        {"s.yaml": config_map("s", "a: hunter1", "b: hunter3").replace("ConfigMap", "Secret")},
        {"s.yaml": None, "t.yaml": config_map("s", "a: hunter4", "b: hunter2").replace("ConfigMap", "Secret")},
        [("upstream-change-missed", "t.yaml", "data.b")],
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_each_kind_of_loss_is_found(name: str, tmp_path: Path) -> None:
    original, upstream, local, expected = LOSSES[name]
    assert scene(tmp_path, original, upstream, local).findings() == expected


def conflicting(place: Path) -> Scene:
    """Upstream adds to a list, where local adds, too; both change the replicas."""
    theirs = (DEPLOYMENT + TOLERATIONS + "      - key: theirs\n").replace("replicas: 1", "replicas: 2")
    ours = (DEPLOYMENT + TOLERATIONS).replace("- key: a", "- key: ours\n      - key: a").replace("s: 1", "s: 5")
    return scene(place, {"d.yaml": DEPLOYMENT + TOLERATIONS}, {"d.yaml": theirs}, {"d.yaml": ours})


def test_what_is_lost_comes_first_then_what_both_decide_alike(tmp_path: Path) -> None:
    assert conflicting(tmp_path).compare().stdout.splitlines()[:13] == [
        "kpt would lose 1 of your changes; krm-merge keeps it",
        "1 conflict is decided alike: krm-merge stops at it or reports it, kpt does neither",
        "kpt changes 14 lines of the package: 1 as upstream has them, 2 where both sides changed them, 1 that undo "
        "your changes and 10 for kpt's notes",
        "krm-merge changes 9 lines of the package: 1 as upstream has them, 2 where both sides changed them and 6 for "
        "kpt's notes",
        "",
        "d.yaml",
        "  Deployment web",
        "    Local change lost: spec.template.spec.tolerations[key=ours]: local added it; kpt removes it",
        "      local, krm-merge: {key: ours}",
        "    Conflict that kpt does not report: spec.replicas: "
        "upstream changed it, local changed it; upstream's value is kept (V4)",
        "      original: 1",
        "      upstream, kpt, krm-merge: 2",
        "      local: 5",
    ]


def test_a_conflict_that_the_package_has_its_own_way_in_is_a_loss_with_kpt(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- {kind: Deployment, path: spec.replicas, onConflict: fail}\n")
    differences = case.document("--rules", str(rules))["differences"]
    (replicas,) = (difference for difference in differences if difference["path"] == "spec.replicas")
    assert (replicas["finding"], replicas["reported"], replicas["rule"]) == ("local-change-lost", True, "V4")
    assert replicas["values"] == {"original": 1, "upstream": 2, "local": 5, "kpt": 2, "krm-merge": 5}


@pytest.mark.parametrize("policy", ["local", "fail"])
def test_the_policy_of_the_command_is_the_one_that_is_compared(tmp_path: Path, policy: str) -> None:
    differences = conflicting(tmp_path).document("--on-conflict", policy)["differences"]
    assert {difference["path"]: difference["finding"] for difference in differences}[
        "spec.replicas"
    ] == "local-change-lost"


BUCKET = """\
apiVersion: storage.cnrm.cloud.google.com/v1beta1
kind: StorageBucket
metadata:
  name: b
  labels: {a: b}   # kpt-set: ${labels}
spec:
  location: "a"
"""


def fetch_scene(place: Path) -> Scene:
    """A package as kpt fetches it, in a repository where nothing is committed; upstream changes two lines."""
    repository = Repository.at(place / "upstream")
    files = {"web/Kptfile": KPTFILE, "web/b.yaml": BUCKET, "web/c.yaml": config_map("c", "a: b")}
    repository.version("v1", dict(files))
    repository.version("v2", {"web/b.yaml": BUCKET.replace('"a"', '"b"'), "web/c.yaml": config_map("c", "a: c")})
    bare = repository.bare(place / "upstream.git")
    mine = Repository.at(place / "mine")
    done = run("kpt", "pkg", "get", f"file://{bare.path}/web@v1", "web", cwd=mine.path)
    assert done.returncode == 0, done.stderr
    return Scene(mine.path / "web")


def test_a_package_that_nobody_changed_or_committed_lost_nothing(tmp_path: Path) -> None:
    case = fetch_scene(tmp_path)
    document = case.document()
    assert document["lines"]["kpt"] == {"notes": 6, "upstream": 4}
    assert {difference["finding"] for difference in document["differences"]} <= {"layout"}
    assert document["same"] == (document["differences"] == [])


def test_what_kpt_itself_wrote_is_no_change_of_local(tmp_path: Path) -> None:
    case = fetch_scene(tmp_path)
    (case.package / "c.yaml").write_text((case.package / "c.yaml").read_text().replace("a: b", "a: ours"))
    assert [finding[0] for finding in case.findings()] == ["conflict-unreported"]


def test_a_file_without_resources_is_compared_as_a_whole(tmp_path: Path) -> None:
    case = scene(tmp_path, {"a.txt": "a\nb\nc\n"}, {"a.txt": "a2\nb\nc\n"}, {"a.txt": "a\nb\nc2\n"})
    assert case.findings() == [("upstream-change-missed", "a.txt", "")]


def test_an_update_that_kpt_refuses_is_what_is_reported(tmp_path: Path) -> None:
    case = scene(
        tmp_path,
        {"c.yaml": config_map("c", "a: b")},
        {"c.yaml": config_map("c", "a: {b: c}")},
        {"c.yaml": config_map("c", "a: b", "c: d")},
    )
    document = case.document()
    assert "wrong node kind" in document["refusal"].lower() or "MappingNode" in document["refusal"]
    assert "/tmp" not in document["refusal"]
    assert document["files"]["changed"] == ["Kptfile", "c.yaml"]
    assert case.compare().stdout.startswith("kpt stops with an error, and krm-merge updates the package; kpt says: ")


def test_nothing_of_the_user_changes(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    before = snapshot(case.package.parent)
    case.compare(HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
    assert snapshot(case.package.parent) == before
    assert git(case.package, "status", "--porcelain", "--ignored") == ""
    assert [entry.name for entry in home.iterdir()] == ["cache"]


def test_values_of_secrets_are_in_no_form(tmp_path: Path) -> None:
    case = scene(tmp_path, *LOSSES["a secret"][:3])
    names = [f"c{suffix}" for suffix in FORMS]
    reports = [word for name in names for word in ("--report", str(tmp_path / name))]
    done = case.compare(*reports)
    texts = [done.stdout, done.stderr, *((tmp_path / name).read_text() for name in names)]
    assert all(
        "Secret s" in text or name == "c.json" for name, text in zip(["", "", *names], texts, strict=True) if name
    )
    assert not any("hunter" in text for text in texts)


def test_the_reports_say_the_same(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    names = ["c.html", "c.md", "c.json", "c.sarif"]
    reports = [word for name in names for word in ("--report", str(tmp_path / name))]
    done = case.compare("--format", "json", *reports)
    html, markdown, document, sarif = ((tmp_path / name).read_text() for name in names)
    assert document == done.stdout
    assert "<script" not in html
    assert all("kpt would lose 1 of your changes" in text for text in (html, markdown))
    assert [result["ruleId"] for result in json.loads(sarif)["runs"][0]["results"]] == [
        "local-change-lost",
        "conflict-unreported",
        "notes",
    ]


def test_kpt_missing_says_what_to_install(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("git", "env"):
        program = shutil.which(name)
        assert program is not None
        (path / name).symlink_to(program)
    done = case.compare(code=3, PATH=str(path))
    assert done.stderr == (
        "error the program kpt is not on PATH, and it is what is compared with; install it: "
        "https://kpt.dev/installation\n"
    )


@pytest.mark.parametrize(
    ("package", "code", "message"),
    [
        ("nowhere", 3, "nowhere: there is no such directory"),
        ("web@v9", 3, "v9"),
        ("plain", 3, "plain has no Kptfile"),
        ("dirty", 3, "dirty has no Kptfile"),
    ],
)
def test_what_cannot_be_compared_is_an_error_in_both_forms(
    tmp_path: Path, package: str, code: int, message: str
) -> None:
    case = conflicting(tmp_path)
    mine = case.package.parent
    write(mine, {"plain/c.yaml": config_map("c")})
    git(mine, "add", "--all")
    git(mine, "commit", "--quiet", "--message=plain")
    write(mine, {"dirty/c.yaml": config_map("c")})
    assert message in case.compare(package=package, code=code).stderr
    document = json.loads(case.compare("--format", "json", package=package, code=code).stdout)
    (result,) = document["results"]
    assert (result["severity"], message in result["message"]) == ("error", True)
