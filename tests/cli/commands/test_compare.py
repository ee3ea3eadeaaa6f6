"""`krm-merge compare`: what the real `kpt pkg update` loses, what ours asks, and nothing of the user's changed."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkout import ROOT
from e2e.hosts import Run, git, run
from e2e.in_process import krm_merge
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
        done = krm_merge("compare", package, *arguments, cwd=self.package.parent, **environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def document(self, *arguments: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.compare("--format", "json", *arguments).stdout)
        jsonschema.validate(document, SCHEMA)
        return document

    def places(self) -> list[tuple[str, str, str]]:
        """Who lacks or asks what, by file and path."""
        return [
            ("lost" * place["lost"] + "asked" * place["asked"], place["file"], place["path"])
            for place in self.document()["places"]
        ]


def scene(place: Path, original: dict[str, str], upstream: dict[str, str], local: dict[str, str]) -> Scene:
    repository = Repository.at(place / "upstream")
    commit = repository.version("v1", {"Kptfile": KPTFILE, **original})
    repository.version("v2", {**upstream})
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

Places = list[tuple[str, str, str]]


def deployment(name: str, more: str = "") -> str:
    return DEPLOYMENT.replace("  name: web\n", f"  name: {name}\n", 1) + more


def secret(value: str) -> str:
    return config_map("s", "a: hunter1", f"b: {value}").replace("ConfigMap", "Secret")


LISTED = deployment("list", TOLERATIONS)
CONFLICT = deployment("conflict")
REMOVED = deployment("removed", SIDECAR)
COMMENTED = deployment("commented", SIDECAR + TOLERATIONS)
LOSSES: dict[str, tuple[str, str, str, Places]] = {
    # A list that kpt takes whole.
    "a.yaml": (
        LISTED,
        LISTED + "      - key: theirs\n",
        LISTED.replace("- key: a", "- key: ours\n      - key: a"),
        [("lost", "a.yaml", f"{TEMPLATE}.tolerations[key=ours]")],
    ),
    # A text.
    "b.yaml": (
        config_map("c", "text: |", "  a", "  b", "  c", "  d"),
        config_map("c", "text: |", "  a2", "  b", "  c", "  d"),
        config_map("c", "text: |", "  a", "  b", "  c", "  d2"),
        [("lost", "b.yaml", "data.text")],
    ),
    # An element that local removed.
    "c.yaml": (
        REMOVED,
        REMOVED.replace("log:1", "log:2"),
        REMOVED.removesuffix(SIDECAR),
        [("lostasked", "c.yaml", f"{TEMPLATE}.containers[name=log]")],
    ),
    # A conflict.
    "d.yaml": (
        CONFLICT,
        CONFLICT.replace("replicas: 1", "replicas: 2"),
        CONFLICT.replace("replicas: 1", "replicas: 5"),
        [("lostasked", "d.yaml", "spec.replicas")],
    ),
    # A secret.
    "e.yaml": (secret("hunter2"), secret("hunter3"), secret("hunter4"), [("lostasked", "e.yaml", "data.b")]),
    # A comment, which is no value.
    "f.yaml": (
        COMMENTED,
        COMMENTED.replace("key: a", "key: a\n        value: b"),
        COMMENTED.replace("      - key: a", "      # about it\n      - key: a"),
        [],
    ),
    # A removal that both made, and an addition that both made.
    "g.yaml": (config_map("g", "a: b", "c: d"), config_map("g", "a: b", "e: f"), config_map("g", "a: b", "e: f"), []),
    # A file without resources, which kpt keeps.
    "h.txt": ("a\nb\nc\n", "a2\nb\nc\n", "a\nb\nc2\n", []),
}
FUNCTIONS_LOST = {
    "a function that local removed": (
        FUNCTIONS + FIRST + SECOND,
        FUNCTIONS + FIRST.replace("v1", "v2") + SECOND,
        FUNCTIONS + FIRST,
        [("lost", "Kptfile", "pipeline.mutators")],
    ),
    "a function that local added": (
        FUNCTIONS + FIRST + FIRST.replace("b", "c"),
        FUNCTIONS + FIRST.replace("v1", "v2") + FIRST.replace("b", "c"),
        FUNCTIONS + FIRST + FIRST.replace("b", "c") + THIRD,
        [("lost", "Kptfile", "pipeline.mutators[image=gcr.io/kpt-fn/third]")],
    ),
}


def test_each_kind_of_loss_is_listed(tmp_path: Path) -> None:
    originals, upstreams, locals_, places = zip(*LOSSES.values(), strict=True)
    case = scene(tmp_path, *(dict(zip(LOSSES, texts, strict=True)) for texts in (originals, upstreams, locals_)))
    assert case.places() == [place for file in places for place in file]
    assert "-a2\n+a\n" in case.document()["difference"]


@pytest.mark.parametrize(("original", "upstream", "local", "expected"), FUNCTIONS_LOST.values(), ids=FUNCTIONS_LOST)
def test_functions_that_are_lost_are_listed(
    tmp_path: Path, original: str, upstream: str, local: str, expected: Places
) -> None:
    texts: list[dict[str, Any]] = [{"Kptfile": text} for text in (original, upstream, local)]
    assert scene(tmp_path, *texts).places() == expected


def conflicting(place: Path) -> Scene:
    """Upstream adds to a list, where local adds, too; both change the replicas."""
    theirs = (DEPLOYMENT + TOLERATIONS + "      - key: theirs\n").replace("replicas: 1", "replicas: 2")
    ours = (DEPLOYMENT + TOLERATIONS).replace("- key: a", "- key: ours\n      - key: a").replace("s: 1", "s: 5")
    return scene(place, {"d.yaml": DEPLOYMENT + TOLERATIONS}, {"d.yaml": theirs}, {"d.yaml": ours})


def test_the_forms_show_each_place_and_the_difference_between_the_results(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    text = case.compare().stdout
    assert text.splitlines() == [
        "kpt loses 2 of your changes; krm-merge asks about 1 conflict",
        "d.yaml",
        "  Deployment web",
        "    kpt loses it, krm-merge asks: spec.replicas: local has 5, kpt has 2",
        "    kpt loses it: spec.template.spec.tolerations[key=ours]: local has {key: ours}, kpt has nothing",
    ]
    difference = case.document()["difference"]
    lines = difference.splitlines()
    assert ("--- krm-merge/d.yaml" in lines, "+++ kpt/d.yaml" in lines) == (True, True)
    assert [line for line in lines if line.strip("+- ") in ("replicas: 5", "replicas: 2", "key: ours")] == [
        "-  replicas: 5",
        "+  replicas: 2",
        "-      - key: ours",
    ]
    assert case.compare("--diff").stdout == text + difference


def test_what_the_policy_of_the_package_decides_is_not_asked(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    policy = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {name: p}\nonConflict: upstream\n"
    rules = "rules:\n- {kind: Deployment, path: spec.replicas, onConflict: upstream}\n"
    write(case.package, {"policy.yaml": policy + rules})
    assert case.places() == [("lost", "d.yaml", f"{TEMPLATE}.tolerations[key=ours]")]


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
    assert case.compare().stdout == "kpt loses none of your changes; krm-merge has no questions\n"


def test_what_kpt_itself_wrote_is_no_change_of_local(tmp_path: Path) -> None:
    case = fetch_scene(tmp_path)
    (case.package / "c.yaml").write_text((case.package / "c.yaml").read_text().replace("a: b", "a: ours"))
    assert case.places() == [("lostasked", "c.yaml", "data.a")]


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
    assert case.compare().stdout.startswith("kpt refuses the update: ")


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
    original, upstream, local, _ = LOSSES["e.yaml"]
    case = scene(tmp_path, {"e.yaml": original}, {"e.yaml": upstream}, {"e.yaml": local})
    text, document = case.compare("--diff").stdout, case.compare("--format", "json").stdout
    assert "Secret s\n    kpt loses it, krm-merge asks: data.b: secret values\ne.yaml: secret values differ\n" in text
    assert "hunter" not in text + document


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
        "error the program kpt is not on PATH, and the comparison needs it; install it: https://kpt.dev/installation\n"
    )


def test_what_cannot_be_compared_is_an_error_in_both_forms(tmp_path: Path) -> None:
    case = conflicting(tmp_path)
    mine = case.package.parent
    write(mine, {"plain/c.yaml": config_map("c")})
    git(mine, "add", "--all")
    git(mine, "commit", "--quiet", "--message=plain")
    write(mine, {"dirty/c.yaml": config_map("c")})
    for package, message in {
        "nowhere": "nowhere: there is no such directory",
        "web@v9": "v9",
        "plain": "plain has no Kptfile",
        "dirty": "dirty has no Kptfile",
    }.items():
        assert message in case.compare(package=package, code=3).stderr
        document = json.loads(case.compare("--format", "json", package=package, code=3).stdout)
        (result,) = document["results"]
        assert (result["severity"], message in result["message"]) == ("error", True)
