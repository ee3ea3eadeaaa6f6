"""Files that one side moved are followed by the other (rule R13)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from e2e.hosts import contents, write_package
from e2e.in_process import krm_merge
from effort import calls
from krm_merge import merge_packages
from krm_merge.krm.result import Result
from krm_merge.merge.decisions.policy import OnConflict, Policy, Resolution, Resolutions, file_content, fingerprint
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Mode
from krm_merge.packages.merge.moved import follow
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
    "a script": ({"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, "run.sh", "three", "bin/run.sh"),
    "JSON": (
        {"web.json": DASHBOARD},
        {"d/web.json": DASHBOARD},
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
    assert any(f"{new}: moved from {path}, as in upstream" in result.message for result in results)
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


def test_what_local_deleted_and_upstream_moved_stays_deleted() -> None:
    files, results = merge({"run.sh": SCRIPT, "a": "x\n"}, {"bin/run.sh": SCRIPT, "a": "y\n"}, {"a": "x\n"})
    assert files == {"a": "y\n"}
    assert not [result for result in results if result.severity != "info"]


def test_of_two_alike_overlays_nobody_knows_which_one_was_renamed() -> None:
    other = in_folder(LAB, "lab", "u8")
    upstream = BASE | in_folder(LAB, "lab", "ulab") | other
    files, _ = merge(BASE | LAB, upstream, BASE)
    assert files == upstream
    assert merge(BASE | LAB, upstream, files)[0] == files


@pytest.mark.parametrize("policy", ["upstream", "local", "fail"])
def test_what_both_moved_differently_is_a_conflict(policy: OnConflict) -> None:
    original, upstream, local = {"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, {"tools/run.sh": SCRIPT}
    files, results = merge(original, upstream, local, Policy(policy))
    assert files == local
    conflicts = [result for result in results if result.severity != "info"]
    assert [result.severity for result in conflicts] == ["error" if policy == "fail" else "warning"]
    assert "upstream moved run.sh to bin/run.sh, local moved it to tools/run.sh" in conflicts[0].message


@pytest.mark.parametrize(("choice", "place"), [("upstream", "bin/run.sh"), ("local", "tools/run.sh")])
def test_the_place_can_be_chosen(choice: str, place: str) -> None:
    original, upstream, local = {"run.sh": SCRIPT}, {"bin/run.sh": SCRIPT}, {"tools/run.sh": SCRIPT}
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
    upstream, local = {"bin/web.yaml": deployment(1, image="web:2")}, {"shop.yaml": deployment(3)}
    files, results = merge({"web.yaml": deployment(1)}, upstream, local)
    assert files == {"bin/shop.yaml": deployment(3, image="web:2")}
    assert not [result for result in results if result.severity != "info"]
    assert merge({"web.yaml": deployment(1)}, upstream, files)[0] == files


def test_two_files_never_get_one_place() -> None:
    original = {"a/x.yaml": deployment(1, "first"), "b/w.yaml": deployment(1, "second")}
    upstream = {"c/x.yaml": deployment(2, "first"), "c/w.yaml": deployment(2, "second")}
    local = {"a/y.yaml": deployment(1, "first", "web:2"), "b/y.yaml": deployment(1, "second", "web:2")}
    files, _ = merge(original, upstream, local)
    assert sorted(files.values()) == [deployment(2, name, "web:2") for name in ("first", "second")]


def test_a_copy_of_what_upstream_deleted_stays() -> None:
    patch, mine = {"overlays/lab/patch.yaml": deployment(2)}, {"overlays/mine/patch.yaml": deployment(2)}
    files, _ = merge(BASE | patch, BASE, BASE | patch | mine)
    assert files == BASE | mine


def test_comments_that_upstream_moved_with_a_document_go_with_it() -> None:
    original = {"app.yaml": "# about web\n" + deployment(1)}
    upstream = {"app.yaml": deployment(1, "other", "other:1"), "web.yaml": "# about web\n" + deployment(2)}
    local = {"app.yaml": "# about our web\n" + deployment(1)}
    texts, _ = merge(original, upstream, local)
    assert texts == {"app.yaml": upstream["app.yaml"], "web.yaml": "# about our web\n" + deployment(2)}


RENAMED = deployment(3).replace("  name: web\n", "  name: shop\n", 1)
NOTED = RENAMED.replace("metadata:", "metadata: # kpt-merge: /web", 1)
ANNOTATED = RENAMED.replace(
    "  name: shop\n",
    "  name: shop\n  annotations:\n    internal.kpt.dev/upstream-identifier: apps|Deployment|default|web\n",
)
LIKE = "".join(f"echo {number}\n" for number in range(40))
BASE_AT = "resources:\n- a.yaml\n- {}\n"
IS_ONE = {
    # R13: a manifest by what its resources are called, whatever else changed in it.
    "a manifest": (
        {"a.yaml": deployment(1)},
        {"b.yaml": deployment(1, image="web:2")},
        {"a.yaml": deployment(3)},
        {"b.yaml": deployment(3, image="web:2")},
    ),
    "with a new resource": (
        {"a.yaml": deployment(1)},
        {"b.yaml": f"{deployment(1)}---\n{deployment(1, 'new')}"},
        {"a.yaml": deployment(3)},
        {"b.yaml": f"{deployment(3)}---\n{deployment(1, 'new')}"},
    ),
    "with kpt's comment": (
        {"a.yaml": deployment(1)},
        {"c/a.yaml": deployment(1, image="web:2")},
        {"b.yaml": NOTED},
        {"c/b.yaml": NOTED.replace("image: web:1", "image: web:2")},
    ),
    "with kpt's annotation": (
        {"a.yaml": deployment(1)},
        {"c/a.yaml": deployment(1, image="web:2")},
        {"b.yaml": ANNOTATED},
        {"c/b.yaml": ANNOTATED.replace("image: web:1", "image: web:2")},
    ),
    "any other file by its bytes": (
        {"a.sh": LIKE},
        {"b.sh": LIKE},
        {"a.sh": f"{LIKE}exit\n"},
        {"b.sh": f"{LIKE}exit\n"},
    ),
    "one that holds no resources": (
        {"v.yaml": "a: 1\n"},
        {"w.yaml": "a: 1\n"},
        {"v.yaml": "a: 2\n"},
        {"w.yaml": "a: 2\n"},
    ),
    "the Kustomization of a folder": (
        {"base/a.yaml": deployment(1), "base/kustomization.yaml": BASE_AT.format("../x.yaml")},
        {"app/base/a.yaml": deployment(1), "app/base/kustomization.yaml": BASE_AT.format("../../x.yaml")},
        {"base/a.yaml": deployment(1), "base/kustomization.yaml": f"namePrefix: x-\n{BASE_AT.format('../x.yaml')}"},
        {
            "app/base/a.yaml": deployment(1),
            "app/base/kustomization.yaml": f"namePrefix: x-\n{BASE_AT.format('../../x.yaml')}",
        },
    ),
}
ARE_TWO = {
    "bytes that changed": ({"a.sh": LIKE}, {"b.sh": f"{LIKE}exit\n"}, {"a.sh": f"set -e\n{LIKE}"}),
    "another kind": (
        {"a.yaml": deployment(1)},
        {"b.yaml": deployment(1).replace("Deployment", "StatefulSet")},
        {"a.yaml": deployment(3)},
    ),
    "two with the same bytes": ({"a.sh": LIKE}, {"b.sh": LIKE, "c.sh": LIKE}, {"a.sh": f"{LIKE}exit\n"}),
    "a manifest that is none any more": (
        {"a.yaml": deployment(1)},
        {"a.yaml.disabled": deployment(1)},
        {"a.yaml": deployment(3)},
    ),
}


def merge_folders(place: Path, *sides: Texts) -> tuple[Texts, str]:
    """The files of `krm-merge merge O U L -o M`, and what it says."""
    for name, side in zip("OUL", sides, strict=True):
        write_package(place / name, side)
    command = ("merge", "O", "U", "L", "-o", "M", "--on-conflict", "upstream", "--on-delete", "local")
    run = krm_merge(*command, cwd=place)
    return {path: data.decode() for path, data in contents(place / "M").items()}, run.stdout + run.stderr


@pytest.mark.parametrize("case", IS_ONE)
def test_what_a_file_holds_says_that_it_moved(case: str, tmp_path: Path) -> None:
    original, upstream, local, expected = IS_ONE[case]
    files, report = merge_folders(tmp_path, original, upstream, local)
    assert files == expected
    assert "warning" not in report


@pytest.mark.parametrize("case", ARE_TWO)
def test_likeness_is_no_move(case: str, tmp_path: Path) -> None:
    original, upstream, local = ARE_TWO[case]
    files, report = merge_folders(tmp_path, original, upstream, local)
    # What upstream removed and local changed is a conflict; what upstream has elsewhere is new.
    assert files == upstream | local
    assert "warning" in report


def test_work_grows_with_the_number_of_files_that_may_be_one() -> None:
    def work(count: int) -> int:
        sides = [
            {f"{folder}/{at}/patch.yaml": File(deployment(at + more).encode()) for at in range(count)}
            for folder, more in (("a", 0), ("b", count))
        ]
        return calls(partial(follow, sides[0], sides[1], sides[0], Policy()))

    assert work(80) < 5 * work(20)
