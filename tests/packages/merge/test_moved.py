"""Files that one side moved are followed by the other (rule R13)."""

from __future__ import annotations

import pytest

from krm_merge import merge_packages
from krm_merge.krm.result import Result
from krm_merge.merge.decisions.policy import OnConflict, Policy, Resolution, Resolutions, file_content, fingerprint
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Mode
from krm_merge.packages.merge.trees import merge_trees

Texts = dict[str, str]


def deployment(replicas: int, name: str = "web", image: str = "web:1") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
spec:
  replicas: {replicas}
  template:
    spec:
      containers:
      - name: {name}
        image: {image}
"""


def kustomization(*resources: str, patch: str = "") -> str:
    listed = "".join(f"- {path}\n" for path in resources)
    return f"resources:\n{listed}" + (f"patches:\n- path: {patch}\n" if patch else "")


SCRIPT = "#!/bin/sh\nset -e\n\necho one\necho two\necho three\n\nexit 0\n"
DASHBOARD = '{\n  "title": "web",\n  "rows": [\n    1,\n    2\n  ],\n  "refresh": "5s"\n}\n'
BASE = {"base/kustomization.yaml": kustomization("a.yaml"), "base/a.yaml": deployment(1)}
LAB = {
    "overlays/lab/kustomization.yaml": kustomization("../../base", patch="patch.yaml"),
    "overlays/lab/patch.yaml": deployment(2, image="lab:1"),
}


def in_folder(texts: Texts, before: str, after: str) -> Texts:
    return {path.replace(before, after, 1): text for path, text in texts.items()}


def merge(original: Texts, upstream: Texts, local: Texts, policy: Policy | None = None) -> tuple[Texts, list[Result]]:
    sides = [{path: File(text.encode()) for path, text in side.items()} for side in (original, upstream, local)]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(policy or Policy()))
    return {path: file.data.decode() for path, file in Changed(sides[2], done.changes).items()}, list(done.results)


CASES = {
    "a base into another folder": (
        BASE,
        in_folder(BASE, "base", "app/base"),
        "base/a.yaml",
        "replicas: 1",
        "app/base/a.yaml",
    ),
    "a file, with its entry": (
        BASE,
        {"base/kustomization.yaml": kustomization("web.yaml"), "base/web.yaml": deployment(1)},
        "base/a.yaml",
        "replicas: 1",
        "base/web.yaml",
    ),
    "an overlay": (
        BASE | LAB,
        BASE | in_folder(LAB, "lab", "ulab"),
        "overlays/lab/patch.yaml",
        "replicas: 2",
        "overlays/ulab/patch.yaml",
    ),
    "an overlay's kustomization": (
        BASE | LAB,
        BASE | in_folder(LAB, "lab", "ulab"),
        "overlays/lab/kustomization.yaml",
        "patches:",
        "overlays/ulab/kustomization.yaml",
    ),
    "a script": ({"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT.replace("one", "1")}, "run.sh", "three", "bin/run.sh"),
    "JSON": (
        {"web.json": DASHBOARD},
        {"d/web.json": DASHBOARD.replace('"web"', '"site"')},
        "web.json",
        "5s",
        "d/web.json",
    ),
    "a subpackage": (
        {"sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n", "sub/a.yaml": deployment(1)},
        {"lib/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n", "lib/a.yaml": deployment(1)},
        "sub/a.yaml",
        "replicas: 1",
        "lib/a.yaml",
    ),
}


def edit(text: str, place: str) -> str:
    return text.replace(
        place, f"{place}5" if place[-1].isdigit() else f"namePrefix: x-\n{place}" if place[-1] == ":" else "8s"
    )


@pytest.mark.parametrize("case", CASES)
def test_what_local_edited_follows_upstream(case: str) -> None:
    original, upstream, path, place, new = CASES[case]
    local = original | {path: edit(original[path], place)}
    files, results = merge(original, upstream, local, Policy("fail"))
    assert files == upstream | {new: edit(upstream[new], place)}
    assert any(f"{new}: moved from {path}, as upstream moved it" in result.message for result in results)
    assert merge(original, upstream, files, Policy("fail"))[0] == files


@pytest.mark.parametrize("case", CASES)
def test_what_upstream_edited_follows_local(case: str) -> None:
    original, local, path, place, new = CASES[case]
    upstream = original | {path: edit(original[path], place)}
    files, _ = merge(original, upstream, local, Policy("fail"))
    assert files == local | {new: edit(local[new], place)}
    assert merge(original, upstream, files, Policy("fail"))[0] == files


def test_what_local_added_to_a_folder_goes_along() -> None:
    addition = {"base/own.yaml": deployment(1, "own"), "base/kustomization.yaml": kustomization("a.yaml", "own.yaml")}
    files, _ = merge(BASE, in_folder(BASE, "base", "app/base"), BASE | addition)
    assert files == in_folder(BASE | addition, "base", "app/base")


def test_what_upstream_added_to_a_folder_goes_along() -> None:
    new = {"base/new.yaml": deployment(1, "new"), "base/kustomization.yaml": kustomization("a.yaml", "new.yaml")}
    files, _ = merge(BASE, BASE | new, in_folder(BASE, "base", "app/base"))
    assert files == in_folder(BASE | new, "base", "app/base")


def test_what_one_side_renamed_in_a_folder_that_the_other_moved_has_both() -> None:
    moved = in_folder(BASE, "base", "app/base")
    renamed = {"base/kustomization.yaml": kustomization("web.yaml"), "base/web.yaml": deployment(1)}
    for upstream, local in ((moved, renamed), (renamed, moved)):
        files, _ = merge(BASE, upstream, local, Policy("fail"))
        assert files == in_folder(renamed, "base", "app/base")
        assert merge(BASE, upstream, files, Policy("fail"))[0] == files


def test_a_resource_renamed_in_a_folder_that_moved_is_in_the_same_file() -> None:
    original = {**BASE, "base/b.yaml": deployment(1, "api")}
    local = in_folder(
        {**BASE, "base/b.yaml": deployment(1, "api").replace("name: api", "name: api-v2", 1)}, "base", "app"
    )
    files, results = merge(original, {**original, "base/b.yaml": deployment(7, "api")}, local)
    assert files == {**local, "app/b.yaml": local["app/b.yaml"].replace("replicas: 1", "replicas: 7")}
    assert not [result for result in results if result.severity != "info"]


def test_what_local_deleted_and_upstream_moved_stays_deleted() -> None:
    files, results = merge({"run.sh": SCRIPT, "a": "x\n"}, {"bin/run.sh": SCRIPT, "a": "y\n"}, {"a": "x\n"})
    assert files == {"a": "y\n"}
    assert not [result for result in results if result.severity != "info"]


def test_a_renamed_overlay_is_whole_beside_a_new_one_like_it() -> None:
    other = in_folder(LAB, "lab", "u8")
    upstream = BASE | in_folder(LAB, "lab", "ulab") | other
    files, _ = merge(BASE | LAB, upstream, BASE)
    assert files == BASE | other
    assert merge(BASE | LAB, upstream, files)[0] == files


@pytest.mark.parametrize("policy", ["upstream", "local", "fail"])
def test_what_both_moved_differently_is_a_conflict(policy: OnConflict) -> None:
    original, upstream, local = {"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, {"tools/run.sh": SCRIPT.replace("one", "1")}
    files, results = merge(original, upstream, local, Policy(policy))
    assert files == local
    conflicts = [result for result in results if result.severity != "info"]
    assert [result.severity for result in conflicts] == ["error" if policy == "fail" else "warning"]
    assert "upstream moved run.sh to bin/run.sh, local moved it to tools/run.sh" in conflicts[0].message


@pytest.mark.parametrize(("choice", "place"), [("upstream", "bin/run.sh"), ("local", "tools/run.sh")])
def test_the_place_can_be_chosen(choice: str, place: str) -> None:
    original, upstream, local = {"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, {"tools/run.sh": SCRIPT.replace("one", "1")}
    sides = [{path: text.encode() for path, text in side.items()} for side in (original, upstream, local)]
    record = next(r for r in merge_packages(sides[0], sides[1], sides[2]).records if r.status != "automatic")
    assert (record.nature, record.choices) == ("file", ("upstream", "local"))
    places = [file_content(path.encode()) for path in ("run.sh", "bin/run.sh", "tools/run.sh")]
    assert record.fingerprint == fingerprint("file", "", (), places)
    chosen = Resolution("file", (), record.fingerprint, "upstream" if choice == "upstream" else "local", place="policy")
    files, results = merge(original, upstream, local, Policy("fail", resolutions=Resolutions([chosen])))
    assert files == {place: local["tools/run.sh"]}
    assert not [result for result in results if result.severity != "info"]


@pytest.mark.parametrize("mode", ["executable", "link"])
def test_the_mode_goes_along(mode: Mode) -> None:
    original, upstream = {"run": File(b"a\nb\nc\n", mode)}, {"bin/run": File(b"a\nb\nc\n", mode)}
    local = {"run": File(b"a\nb\nd\n", mode)}
    done = merge_trees(original, upstream, local, PackageMerger(Policy()))
    assert Changed(local, done.changes) == {"bin/run": local["run"]}


def test_other_resources_of_a_like_text_are_other_files() -> None:
    original, upstream = {"redis.yaml": deployment(1, "redis")}, {"memcached.yaml": deployment(1, "memcached")}
    files, _ = merge(original, upstream, {"redis.yaml": deployment(3, "redis")})
    assert files == {"redis.yaml": deployment(3, "redis"), "memcached.yaml": deployment(1, "memcached")}


def test_a_path_that_local_uses_otherwise_is_left_to_it() -> None:
    local = {"run.sh": SCRIPT.replace("one", "1"), "bin/run.sh": "#!/bin/sh\nexit 1\n"}
    files, results = merge({"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, local)
    assert files["run.sh"] == local["run.sh"]
    assert any(result.severity == "warning" for result in results)


def test_folder_and_name_of_a_file_merge_apart() -> None:
    upstream, local = {"bin/run.sh": SCRIPT.replace("one", "1")}, {"start.sh": SCRIPT.replace("three", "3")}
    files, results = merge({"run.sh": SCRIPT}, upstream, local)
    assert files == {"bin/start.sh": SCRIPT.replace("one", "1").replace("three", "3")}
    assert not [result for result in results if result.severity != "info"]
    assert merge({"run.sh": SCRIPT}, upstream, files)[0] == files


def test_a_deployment_renamed_with_its_file_takes_changes() -> None:
    original, renamed = {"web.yaml": deployment(1)}, deployment(1).replace("  name: web\n", "  name: shop\n", 1)
    files, _ = merge(original, {"web.yaml": deployment(5)}, {"shop.yaml": renamed})
    assert files == {"shop.yaml": renamed.replace("replicas: 1", "replicas: 5")}


def test_what_upstream_deleted_and_local_only_moved_is_deleted() -> None:
    """A patch of the same name elsewhere does not keep it."""
    patch = {"overlays/lab/patch.yaml": deployment(2)}
    files, _ = merge({"base/a.yaml": deployment(1), **patch}, patch, {"app/a.yaml": deployment(1), **patch})
    assert files == patch


def test_a_file_that_both_have_at_a_new_place_is_that_file() -> None:
    """However alike another new one is: a second merge changes nothing (law D)."""
    lab = kustomization("../../base", patch="patch.yaml")
    upstream = {"overlays/env-lab/kustomization.yaml": lab.replace("patch.yaml", "p.yaml")}
    local = {**upstream, "overlays/mine/kustomization.yaml": lab}
    assert merge({"overlays/lab/kustomization.yaml": lab}, upstream, local) == (local, [])


def test_comments_that_upstream_left_in_a_file_do_not_go_with_a_document_that_it_moved() -> None:
    licence = "# Copyright of all\n# Licensed as said in {}\n"
    original = {"app.yaml": licence.format("LICENSE") + deployment(1)}
    upstream = {"app.yaml": licence.format("LICENSE") + deployment(1, "other", "other:1"), "web.yaml": deployment(2)}
    local = {"app.yaml": licence.format("OURS") + deployment(1)}
    texts, _ = merge(original, upstream, local)
    assert texts == {"app.yaml": upstream["app.yaml"].replace("LICENSE", "OURS"), "web.yaml": deployment(2)}


def test_comments_that_upstream_moved_with_a_document_go_with_it() -> None:
    original = {"app.yaml": "# about web\n" + deployment(1)}
    upstream = {"app.yaml": deployment(1, "other", "other:1"), "web.yaml": "# about web\n" + deployment(2)}
    local = {"app.yaml": "# about our web\n" + deployment(1)}
    texts, _ = merge(original, upstream, local)
    assert texts == {"app.yaml": upstream["app.yaml"], "web.yaml": "# about our web\n" + deployment(2)}
