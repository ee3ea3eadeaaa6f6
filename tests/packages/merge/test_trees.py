"""Single cases of packages as files: what a merge must not lose, double, or take for something else."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from e2e.hosts import GIT_ENVIRONMENT
from effort import calls_of
from krm_merge.krm import Results
from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, PackageError, Tree
from krm_merge.packages.git import GitRepositories, Version
from krm_merge.packages.merge.trees import MergedTree, merge_trees
from krm_merge.packages.update import BY_NAME, update_package
from krm_merge.text.reading.reader import read

Texts = dict[str, str]
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"
FOLLOWS = (
    KPTFILE + "upstream:\n  type: git\n  git:\n    repo: {repo}\n    directory: /\n    ref: main\n"
    "upstreamLock:\n  type: git\n  git:\n    repo: {repo}\n    directory: /\n    ref: main\n    commit: {commit}\n"
)
ROOT = {"Kptfile": KPTFILE.format(name="root")}
SUB = {"s/Kptfile": KPTFILE.format(name="s")}


def config_map(name: str, **data: int) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata: {data}\n".replace("'", "")


def kustomization(tag: int) -> str:
    return (
        f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nimages:\n- name: nginx\n  newTag: v{tag}\n"
    )


def tree(texts: Texts) -> dict[str, File]:
    return {path: File(text.encode()) for path, text in (ROOT | texts).items()}


def merge_results(
    original: Texts, upstream: Texts, local: Texts, policy: OnConflict = "upstream"
) -> tuple[Texts, Results]:
    done = merge_trees(tree(original), tree(upstream), tree(local), PackageMerger(Policy(policy)))
    after = {path: file.data.decode() for path, file in Changed(tree(local), done.changes).items()}
    return {path: text for path, text in after.items() if path != "Kptfile"}, done.results


def merge_texts(
    original: Texts, upstream: Texts, local: Texts, policy: OnConflict = "upstream"
) -> tuple[Texts, list[str]]:
    texts, results = merge_results(original, upstream, local, policy)
    return texts, [result.message for result in results if result.severity != "info"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"k.yaml": kustomization(1)}, {"k.yaml": kustomization(2)}, id="a resource without a name"),
        pytest.param({"k.yaml": kustomization(1)}, {}, id="deleted without a name"),
        pytest.param({"p/v.yaml": "x: 1\n"}, {"p/v.yaml": "x: 1\n", "d/v.yaml": "x: 1\n"}, id="values like others"),
        pytest.param({"v.yaml": "x: 1\n"}, {"w.yaml": "x: 1\n"}, id="values renamed"),
        pytest.param({"a.yaml": "x: 1\n", "b.yaml": "x: 1\n"}, {"a.yaml": "x: 1\n"}, id="values deleted"),
        pytest.param(
            {"a.yaml": "x: 1\n", "b.yaml": "x: 2\n"}, {"a.yaml": "x: 2\n", "b.yaml": "x: 1\n"}, id="values swapped"
        ),
        pytest.param({"h.yaml": "a: {{ b }}\n"}, {"h.yaml": "a: {{ b }}\n", "i.yaml": "a: {{ b }}\n"}, id="templates"),
        pytest.param(SUB | {"s/a.yaml": config_map("a")}, {"s/a.yaml": config_map("a")}, id="a subpackage flattened"),
    ],
)
def test_what_local_left_alone_becomes_upstreams(before: Texts, after: Texts) -> None:
    texts, _ = merge_texts(before, after, before)
    assert texts == after


def test_what_both_added_without_a_name_stands_once() -> None:
    texts, _ = merge_texts({}, {"k.yaml": kustomization(2)}, {"k.yaml": kustomization(1)})
    assert texts == {"k.yaml": kustomization(2)}


@pytest.mark.parametrize("policy", ["upstream", "local"])
def test_a_resource_moved_into_a_file_that_does_not_parse_is_not_lost(policy: OnConflict) -> None:
    original = {"a.yaml": config_map("a", x=1), "b.yaml": config_map("b", x=1)}
    upstream = {"a.yaml": config_map("a", x=2), "b.yaml": config_map("b", x=2)}
    local = {"b.yaml": f"{config_map('b', x=1)}---\n{config_map('a', x=1, y=2)}---\nfoo: [1,\n"}
    texts, messages = merge_texts(original, upstream, local, policy)
    assert texts == local
    assert messages == ["b.yaml: does not parse, and resources of it are in other files elsewhere; local's is kept"]


def test_a_kptfile_that_upstream_broke_stays_as_local_has_it() -> None:
    original, local = tree({}), tree({})
    upstream = {**original, "Kptfile": File(original["Kptfile"].data + b"foo: [\n")}
    done = merge_trees(original, upstream, local, PackageMerger(Policy()))
    assert done.changes == {}
    assert any(result.message.startswith("Kptfile: upstream does not parse") for result in done.results)


def test_a_block_scalar_at_the_end_of_a_file_keeps_its_value() -> None:
    # Without a line end behind it the value has none either.
    before = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  s: |\n    x"
    upstream = before.replace("  s: |", "  r: 2\n  s: |-") + f"\n---\n{config_map('b')}"
    texts, _ = merge_texts({"a.yaml": before}, {"a.yaml": upstream}, {"a.yaml": f"# mine\n{before}"})
    assert texts["a.yaml"].startswith("# mine\napiVersion")
    first, _ = yaml.safe_load_all(texts["a.yaml"])
    assert first["data"] == {"r": 2, "s": "x"}


def test_a_line_end_behind_a_block_scalar_is_a_change_of_its_value() -> None:
    before = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  s: |\n    x"
    texts, messages = merge_texts(
        {"a.yaml": before}, {"a.yaml": f"{before}\n---\n{config_map('b')}"}, {"a.yaml": f"# mine\n{before}"}
    )
    assert texts == {"a.yaml": f"# mine\n{before}\n---\n{config_map('b')}"}
    assert not messages


def test_what_stands_apart_at_the_head_of_a_file_outlives_the_first_document() -> None:
    head, rest = "# a licence\n\n", config_map("b", x=1)
    original = {"a.yaml": f"{head}{config_map('a')}---\n{rest}"}
    texts, _ = merge_texts(original, {"a.yaml": head + rest}, {"a.yaml": original["a.yaml"] + "# ours\n"})
    assert texts == {"a.yaml": f"{head}{rest}# ours\n"}


def test_the_comment_of_a_copy_stays_where_upstream_also_adds_a_document() -> None:
    field = "spec:\n  rules:\n  - path: /a{0}\n    type: Prefix\n"
    head, noted = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n", field.format(" # why")
    copied = noted.replace("spec", "copied") + "    port: 1\n"
    upstream = {"a.yaml": f"{head}{field.format('')}---\n{config_map('b')}"}
    texts, _ = merge_texts({"a.yaml": head + noted}, upstream, {"a.yaml": head + copied + noted})
    assert texts == {"a.yaml": f"{head}{copied}{field.format('')}---\n{config_map('b')}"}


def test_a_comment_in_front_of_a_file_that_both_changed_is_reported() -> None:
    original = {"a.yaml": "# see v1/crd\n---\n" + config_map("a")}
    upstream, local = ({"a.yaml": original["a.yaml"].replace("v1/", f"{version}/")} for version in ("v3", "v2"))
    texts, results = merge_results(original, upstream, local)
    assert texts == local
    assert [(result.rule, result.message) for result in results] == [
        ("V8", "a.yaml: upstream has a comment that the result does not have: # see v3/crd")
    ]


def test_a_comment_in_front_of_a_file_that_kpt_dropped_is_not_reported() -> None:
    original = {"a.yaml": "# Copyright 2025\n---\n" + config_map("a")}
    upstream = {"a.yaml": original["a.yaml"].replace("2025", "2025-2026")}
    local = {"a.yaml": config_map("a")}
    texts, results = merge_results(original, upstream, local)
    assert (texts, list(results)) == (local, [])


def test_a_renamed_mapping_takes_along_what_the_other_side_added_to_it() -> None:
    original = {"values.yaml": "a: 1\n\nold:\n  image: x\n  # pull: Always\n  port: 1\n"}
    upstream = {"values.yaml": original["values.yaml"].replace("old:", "new:")}
    local = {"values.yaml": original["values.yaml"].replace("# pull", "pull")}
    texts, _ = merge_texts(original, upstream, local)
    assert texts == {"values.yaml": local["values.yaml"].replace("old:", "new:")}


@pytest.mark.parametrize("policy", ["upstream", "local"])
def test_what_one_side_removed_and_the_other_changed_is_whole_or_gone(policy: OnConflict) -> None:
    original = {"values.yaml": "a: 1\nold:\n  image: x\n  port: 1\n"}
    changed = {"values.yaml": original["values.yaml"].replace("image: x\n", "image: x\n  pull: Always\n")}
    removed = {"values.yaml": "a: 1\n"}
    for upstream, local in ((removed, changed), (changed, removed)):
        texts, messages = merge_texts(original, upstream, local, policy)
        assert texts == local
        assert len(messages) == 1


def test_another_mode_comes_with_local_changes() -> None:
    original, local = tree({"a.yaml": config_map("a")}), tree({"a.yaml": config_map("a", x=1)})
    upstream = {**original, "a.yaml": File(original["a.yaml"].data, "executable")}
    done = merge_trees(original, upstream, local, PackageMerger(Policy()))
    assert done.changes == {"a.yaml": File(local["a.yaml"].data, "executable")}


def test_a_resource_that_upstream_moved_to_another_package_is_told_where_local_changed_it() -> None:
    rest = config_map("b", x=1)
    original = SUB | {"a.yaml": f"{config_map('a', x=1)}---\n{rest}"}
    upstream = SUB | {"a.yaml": rest, "s/a.yaml": config_map("a", x=1)}
    local = SUB | {"a.yaml": f"{config_map('a', x=5)}---\n{rest}"}
    texts, messages = merge_texts(original, upstream, local)
    assert texts == local | {"s/a.yaml": config_map("a", x=1)}
    assert "s/a.yaml: ConfigMap a is in a.yaml, too; keep one" in messages


def test_a_file_that_local_changed_follows_upstream_to_another_package() -> None:
    original, upstream = SUB | {"a.yaml": config_map("a", x=1)}, SUB | {"s/a.yaml": config_map("a", x=1, y=2)}
    texts, messages = merge_texts(original, upstream, SUB | {"a.yaml": config_map("a", x=5)})
    assert texts == SUB | {"s/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {x: 5, y: 2}\n"}
    assert not messages


# ---- strategies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["copy-merge", "force-delete-replace"])
def test_a_package_with_an_upstream_of_its_own_stays(strategy: str) -> None:
    kptfile = FOLLOWS.format(name="s", repo="elsewhere", commit="0" * 40)
    original, upstream = tree({}), tree({"s/x.txt": "theirs\n", "s/y.txt": "new\n"})
    local = tree({"s/Kptfile": kptfile, "s/x.txt": "mine\n"})
    done = BY_NAME[strategy](original, upstream, local, PackageMerger(Policy()))
    assert dict(Changed(local, done.changes)) == local
    assert [result.severity for result in done.results] == ["warning", "warning"]


@pytest.mark.parametrize("strategy", sorted(BY_NAME))
def test_no_strategy_writes_behind_a_link(strategy: str) -> None:
    original, upstream = tree({}), tree({"conf/x.txt": "new\n"})
    local: Tree = {**tree({}), "conf": File(b"../outside", "link")}
    if strategy == "fast-forward":
        original = {**original, "conf": File(b"../outside", "link")}
        upstream = {**upstream, "conf": File(b"../outside", "link")}
    done = BY_NAME[strategy](original, upstream, local, PackageMerger(Policy()))
    if strategy == "force-delete-replace":
        # The link goes; the journal refuses to write where it still stands.
        assert done.changes["conf"] is None
    else:
        assert [result.severity for result in done.results if result.severity == "error"] == ["error"]
        assert done.changes == {}


@pytest.mark.parametrize("strategy", ["copy-merge", "force-delete-replace"])
def test_what_a_strategy_overwrites_is_on_record(strategy: str) -> None:
    original, upstream = tree({"a.yaml": config_map("a", x=1)}), tree({"a.yaml": config_map("a", x=2)})
    local = tree({"a.yaml": config_map("a", x=5)})
    merge = BY_NAME[strategy]
    done = merge(original, upstream, local, PackageMerger(Policy()))
    assert [r.message for r in done.results if r.severity == "warning"] == [
        "a.yaml: local changed it; it is replaced by upstream's"
    ]
    refused = merge(original, upstream, local, PackageMerger(Policy("fail")))
    assert refused.results.errors
    assert refused.changes == {}


# ---- what untrusted upstreams hold -------------------------------------------------------------------------------


def git(store: Path, *arguments: str, data: bytes = b"") -> str:
    command = ["git", "-C", str(store), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=True, env=GIT_ENVIRONMENT)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("name", [".git", "..", ".GIT", ".sub.krm-merge"])
def test_files_that_lead_out_of_the_package_are_refused(name: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "up")
    store = tmp_path / "up"
    blob = git(store, "hash-object", "-w", "--stdin", data=b"evil\n")
    inner = git(store, "mktree", data=f"100644 blob {blob}\tconfig\n".encode())
    entry = f"40000 {name}\0".encode() + bytes.fromhex(inner)
    outer = git(store, "hash-object", "-w", "--literally", "-t", "tree", "--stdin", data=entry)
    commit = git(store, "commit-tree", outer, "-m", "x")
    git(store, "update-ref", "refs/heads/main", commit)
    with pytest.raises(PackageError, match=r"which no package may have|cannot be fetched"):
        GitRepositories(tmp_path / "cache").tree(str(store), "/", commit)


class Endless:
    """An upstream whose package holds itself."""

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        return Version(ref, "1" * 40)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        pass

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        kptfile = FOLLOWS.format(name="sub", repo="up", commit="0" * 40)
        return tree({}) if commit == "0" * 40 else {**tree({}), "sub/Kptfile": File(kptfile.encode())}


def test_a_package_that_holds_itself_is_refused() -> None:
    local = {"Kptfile": File(FOLLOWS.format(name="root", repo="up", commit="0" * 40).encode())}
    with pytest.raises(PackageError, match="sub/Kptfile: has the upstream of a package that contains it"):
        update_package(local, Endless(), PackageMerger(Policy()))


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number}
spec:
  replicas: {replicas}
  template:
    spec:
      containers:
      - name: app
        image: app:{tag}
"""


def deployments(count: int, tag: str, replicas: int, *, in_one_file: bool) -> dict[str, File]:
    documents = [DEPLOYMENT.format(number=number, tag=tag, replicas=replicas) for number in range(count)]
    files = ["---\n".join(documents)] if in_one_file else documents
    return {f"{number}.yaml": File(text.encode()) for number, text in enumerate(files)}


@pytest.mark.parametrize("in_one_file", [False, True])
@pytest.mark.parametrize("tag", ["v1", "v3"], ids=["both-edited", "in-conflict"])
def test_a_document_is_read_once_a_side_and_once_as_the_result(in_one_file: bool, tag: str) -> None:
    original, upstream, local = (
        deployments(20, tag, replicas, in_one_file=in_one_file) for tag, replicas in (("v1", 1), ("v2", 1), (tag, 3))
    )
    merged: list[MergedTree] = []

    def work() -> None:
        merged.append(merge_trees(original, upstream, local, PackageMerger(Policy())))

    assert calls_of(read, work) <= 4 * 20
    assert b"image: app:v2" in merged[0].changes["0.yaml"].data  # type: ignore[union-attr]
