"""D3: where each value of a package comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from krm_merge.krm import FieldPath, format_path
from krm_merge.packages import Directory, File, Tree
from krm_merge.policy import NO_POLICY
from krm_merge.safe_text import REDACTED
from krm_merge.usecases import (
    FieldOrigin,
    MergeChoices,
    MergeSides,
    RenderedPackage,
    field_origins,
    line_history,
    local_commit,
    merge_sides,
)
from krm_merge.usecases.provenance import LineCommit
from packages.repositories import DEPLOYMENT, Repository

UPSTREAM = DEPLOYMENT + "        args: [-a, -b]\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: keys\nstringData:\n  key: hunter2\n"


def kptfile(version: str) -> str:
    git = f"repo: https://example.com/r, directory: /, ref: {version}"
    return f"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
upstream:
  type: git
  git: {{{git}}}
upstreamLock:
  type: git
  git: {{{git}, commit: {"1" * 40}}}
pipeline:
  mutators:
  - image: gcr.io/kpt-fn/set-labels:v0.2.0
    configMap: {{team: red}}
  - image: gcr.io/kpt-fn/set-annotations:v0.2.0
    name: notes
    configMap: {{note: here}}
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that was fetched at v1, updated to v2, rendered, and edited, some of it without a commit."""
    repository = Repository.at(tmp_path / "fork")
    repository.commit({"web/Kptfile": kptfile("v1"), "web/web.yaml": UPSTREAM.replace("1.25", "1.24")})
    repository.commit({"web/Kptfile": kptfile("v2"), "web/web.yaml": UPSTREAM})
    rendered = UPSTREAM.replace(
        "  name: web\nspec", "  name: web\n  labels:\n    team: red\n  annotations:\n    note: here\nspec"
    )
    edited = rendered.replace("replicas: 1", "replicas: 5").replace("[-a, -b]", "[-a, -c]")
    repository.commit({"web/web.yaml": edited, "web/keys.yaml": SECRET})
    (repository.path / "web/web.yaml").write_text(
        edited.replace("kind: Dep", "# ours\nkind: Dep") + "      paused: true\n"
    )
    return repository.path / "web"


ORIGINAL: Tree = {"web.yaml": File(UPSTREAM.encode()), "Kptfile": File(kptfile("v2").encode())}


def origins(package: Path, original: Tree = ORIGINAL) -> dict[str, FieldOrigin]:
    local = RenderedPackage("local", Directory(package))
    fields = field_origins(local, original, line_history(package), lambda _: True)
    return {f"{origin.file}:{format_path(origin.path)}": origin for origin in fields}


def test_every_field_has_an_origin(package: Path) -> None:
    by_place = origins(package)
    sources = {place.removeprefix("web.yaml:"): (o.source, o.by) for place, o in by_place.items()}
    container = "spec.template.spec.containers[name=web]"
    labels = "function", "set-labels"
    assert sources == {
        "apiVersion": ("upstream", ""),
        "kind": ("upstream", ""),
        "metadata.name": ("upstream", ""),
        "metadata.labels.team": labels,
        "metadata.annotations.note": ("function", "notes"),
        "spec.replicas": ("local", ""),
        f"{container}.name": ("upstream", ""),
        f"{container}.image": ("upstream", ""),
        f"{container}.args[0]": ("upstream", ""),
        f"{container}.args[1]": ("local", ""),
        "spec.template.spec.paused": ("local", ""),
        **dict.fromkeys((f"keys.yaml:{name}" for name in ("apiVersion", "kind", "metadata.name")), ("local", "")),
        "keys.yaml:stringData.key": ("local", ""),
    }


def test_lines_have_their_commits(package: Path) -> None:
    by_place = origins(package)
    image, replicas = (
        by_place[f"web.yaml:spec.{place}"].commit for place in ("template.spec.containers[name=web].image", "replicas")
    )
    # Upstream made it, whoever updated the package.
    assert image is None
    assert replicas is not None
    assert replicas.subject == "version"
    assert by_place["web.yaml:spec.template.spec.paused"].commit is None


def test_values_of_secrets_stay_hidden(package: Path) -> None:
    by_place = origins(package)
    secret, name = by_place["keys.yaml:stringData.key"], by_place["keys.yaml:metadata.name"]
    assert (secret.value, secret.commit and secret.commit.subject) == (REDACTED, REDACTED)
    assert (name.value, name.commit and name.commit.subject) == ("keys", "version")


def test_a_choice_is_named(package: Path) -> None:
    (package / "merge-policy.yaml").write_text(
        """\
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePolicy
metadata: {name: policy, annotations: {config.kubernetes.io/local-config: "true"}}
resolutions:
- {resource: {apiVersion: apps/v1, kind: Deployment, name: web}, path: spec.replicas, choice: local,
   nature: value, fingerprint: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
"""
    )
    origin = origins(package)["web.yaml:spec.replicas"]
    assert (origin.source, origin.by) == ("choice", "merge-policy.yaml")


def test_a_package_without_git_and_upstream_is_local(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(UPSTREAM)
    fields = origins(tmp_path, {})
    assert {(o.source, o.commit) for o in fields.values()} == {("local", None)}
    assert fields["web.yaml:spec.replicas"].to_value() == {
        "file": "web.yaml",
        "resource": "Deployment web",
        "path": "spec.replicas",
        "value": 1,
        "source": "local",
        "by": "",
        "commit": None,
    }


LISTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: a, image: a:1, args: [-x, -y, -z]}
      - {name: b, image: b:1}
"""


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        # Elements with keys are the same wherever they are, others where they are equal, or at their position.
        (
            "      - {name: a,",
            "      - {name: new, image: n:1}\n      - {name: a,",
            {"[name=new].name", "[name=new].image"},
        ),
        ("[-x, -y, -z]", "[-z, -x, -y]", set()),
        ("[-x, -y, -z]", "[-new, -x, -z]", {"[name=a].args[0]"}),
        ("[-x, -y, -z]", "[-x, -y, -z, -new]", {"[name=a].args[3]"}),
        ("a:1", "a:2", {"[name=a].image"}),
        ("{name: b, image: b:1}", "{image: b:2}", {"[1].image"}),
    ],
)
def test_elements_are_compared_with_those_of_upstream_that_they_were(
    tmp_path: Path, before: str, after: str, edits: set[str]
) -> None:
    (tmp_path / "web.yaml").write_text(LISTS.replace(before, after))
    fields = origins(tmp_path, {"web.yaml": File(LISTS.encode())})
    local = {place for place, origin in fields.items() if origin.source == "local"}
    assert local == {f"web.yaml:spec.template.spec.containers{path}" for path in edits}


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\ndata:\n  a: {}\n  list: [x]\n"


def commit_of(path: FieldPath, original: str, local: str, days: list[int | None]) -> int | None:
    """The day of the commit that made what local has there; `days` are those of its lines."""
    # Upstream changed the last document.
    upstream = "a: upstream-".join(original.rsplit("a: ", 1))
    sides = [{"c.yaml": File(side.encode())} for side in (original, upstream, local)]
    (decided,) = merge_sides(MergeSides(sides[0], sides[1], sides[2]), MergeChoices.of("local", "smart", None)).decided
    commits = [None if day is None else LineCommit(str(day), "", day, "") for day in days]
    commit = local_commit(decided, path, sides[2], NO_POLICY, lambda _: commits)
    return None if commit is None else commit.time


ONE, TWO = CONFIG_MAP.format("c", 1), CONFIG_MAP.format("c", 2)
BLOCK = CONFIG_MAP.format("c", "|\n    text")
OTHER = CONFIG_MAP.format("other", 1)


@pytest.mark.parametrize(
    ("path", "original", "local", "days", "expected"),
    [
        (("data", "a"), ONE, TWO, [1, 1, 1, 1, 1, 6, 1], 6),
        # All of what differs and nothing else, and its newest commit.
        (("data",), ONE, TWO, [1, 1, 1, 1, 1, 6, 9], 6),
        (("data",), ONE, TWO.replace("[x]", "[y]"), [1, 1, 1, 1, 1, 6, 7], 7),
        (("data",), ONE, TWO.replace("[x]", "[y]"), [1, 1, 1, 1, 1, 8, 7], 8),
        (("data", "a"), ONE, TWO, [1, 1, 1, 1, 1, None, 1], None),
        (("data",), ONE, TWO.replace("[x]", "[y]"), [1, 1, 1, 1, 1, 8, None], None),
        # The lines of a text, and not the one below.
        (("data", "a"), BLOCK, BLOCK.replace("text", "other"), [1, 1, 1, 1, 1, 1, 6, 9], 6),
        # Of a second document, its own lines.
        (("data", "a"), f"{OTHER}---\n{ONE}", f"{OTHER}---\n{TWO}", [1] * 13 + [6, 1], 6),
        # Local removed it.
        (("data", "a"), ONE, TWO.replace("  a: 2\n", ""), [1, 1, 1, 1, 1, 1], None),
    ],
)
def test_the_commit_that_made_a_local_value(
    path: FieldPath, original: str, local: str, days: list[int | None], expected: int | None
) -> None:
    assert commit_of(path, original, local, days) == expected


@pytest.mark.parametrize(("days", "expected"), [([1, 6, 3], 6), ([9, 6, 7], 7), ([1, None, 1], None)])
def test_the_commit_that_made_the_lines_of_a_file(days: list[int | None], expected: int | None) -> None:
    sides = [{"README": File(text)} for text in (b"a\nb\nb\n", b"a\nu\nu\n", b"a\nl\nm\n")]
    (decided,) = merge_sides(MergeSides(sides[0], sides[1], sides[2]), MergeChoices.of("local", "smart", None)).decided
    commits = [None if day is None else LineCommit(str(day), "", day, "") for day in days]
    commit = local_commit(decided, (), sides[2], NO_POLICY, lambda _: commits)
    assert (None if commit is None else commit.time) == expected


def test_notes_of_kpt_have_no_origin_and_fields_of_their_names_have_one(tmp_path: Path) -> None:
    note = "internal.kpt.dev/upstream-identifier"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {{{note}: a, own: b}}\n"
    (tmp_path / "c.yaml").write_text(f"{text}data: {{{note}: c}}\n")
    places = [place.partition(":")[2] for place in origins(tmp_path, {})]
    assert [place for place in places if "annotations" in place] == ["metadata.annotations.own"]
    assert f'data["{note}"]' in places


def test_a_text_of_several_lines_is_as_new_as_the_newest_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  first: |\n    a\n    {}\n  last: {}\n"
    repository = Repository.at(tmp_path / "r")
    ids = []
    for year, version in ((2001, ("b", "'1'")), (2002, ("c", "'1'")), (2003, ("c", "'2'"))):
        monkeypatch.setenv("GIT_AUTHOR_DATE", f"{year}-01-01T00:00:00Z")
        ids.append(repository.commit({"c.yaml": text.format(*version)}))
    commits = {place: origin.commit for place, origin in origins(repository.path, {}).items()}
    of_values = [commits[f"c.yaml:{place}"] for place in ("kind", "data.first", "data.last")]
    assert [commit and commit.id for commit in of_values] == ids


def test_an_empty_mapping_has_an_origin(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata: {}\n")
    assert origins(tmp_path, {})["c.yaml:data"].value == {}
