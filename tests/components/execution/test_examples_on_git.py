"""The example packages on real repositories, and scenario S2: commands in, branches and pull requests out."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from components.observations import digest
from components.world import World
from krm_merge.cli.app import main
from krm_merge.forges.local import How

EXAMPLES = ROOT / "examples"
URL = re.compile(r"https://github\.com/acme/([a-z-]+)")
CSV = "manifests/operator.clusterserviceversion.yaml"
OPERANDS = ("op1", "op2", "op3", "op4")


class Example:
    """An example package whose repositories are real; its pull requests are observed, its builds end one by one."""

    def __init__(self, root: Path, name: str) -> None:
        self.directory = EXAMPLES / name
        # Below the example's owner: so pull requests are called as in its plans.
        self.world = World(root / "acme", registry="quay.io/acme")
        moving = shutil.ignore_patterns(".*", "builds.yaml", "pull-requests.yaml")
        shutil.copytree(self.directory, self.world.package, ignore=moving)
        (self.world.package / "graph.yaml").write_text(self.local("graph.yaml"))
        self.world.options = ("--config", str(self.world.package / "components.yaml"))
        self.images = {
            resource["metadata"]["name"]: resource["spec"]["containerImage"]
            for resource in self.resources("graph.yaml")
        }
        self.builds = {resource["metadata"]["name"]: resource for resource in self.resources("builds.yaml")}
        observed = self.resources("pull-requests.yaml")
        self.pulls = {(Path(pull["spec"]["repository"]).stem, pull["spec"]["number"]): pull for pull in observed}

    def local(self, file: str) -> str:
        """The text of a file, with the repositories that are there."""
        return URL.sub(lambda url: self.world.url(url[1]), (self.directory / file).read_text())

    def resources(self, file: str) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all(self.local(file)))

    def plans(self) -> list[dict[str, object]]:
        """The plans that the example promises."""
        patch = self.with_heads(self.local(".expected/diff.patch"))
        added = re.findall(r"^\+\+\+ b/plans/.*\n@@ .*\n((?:\+.*\n)+)", patch, re.MULTILINE)
        return [yaml.safe_load(re.sub(r"^\+", "", text, flags=re.MULTILINE))["spec"] for text in added]

    def with_heads(self, text: str) -> str:
        """A text of the example, with the commits that there are."""
        for (name, number), pull in self.pulls.items():
            for observed in (observed for observed in self.world.pulls(name) if observed.number == number):
                text = text.replace(pull["status"]["headSHA"], observed.head)
                if observed.merge_commit:
                    text = text.replace(pull["status"]["mergeSHA"], observed.merge_commit)
        return text

    def repositories(self, contents: Mapping[str, Mapping[str, str]]) -> None:
        used = {resource["spec"]["source"]["git"]["url"] for resource in self.resources("graph.yaml")}
        assert used == {self.world.url(name) for name in contents}
        for name, files in contents.items():
            self.world.repository(name, files)
        assert main(["components", "validate", str(self.world.package), *self.world.options]) == 0

    def renumber(self, name: str, number: int) -> None:
        """The newest pull request gets the number of the example, as if there had been others before."""
        file = self.world.root / f"{name}.pulls.json"
        recorded = json.loads(file.read_text())
        recorded["pullRequests"][-1]["pull"]["number"] = number
        file.write_text(json.dumps(recorded))

    def open(self, name: str, number: int, files: Mapping[str, str | None]) -> None:
        """A person opens a pull request of the example."""
        branch = self.pulls[name, number]["spec"]["sourceBranch"]
        self.world.commit(name, branch, files)
        self.world.open(name, branch)
        self.renumber(name, number)

    def build(self, name: str, commit: str = "") -> str:
        """A build of the example ends; that of a push is of the commit. Gives the image."""
        run = self.builds[name]
        labels = run["metadata"]["labels"]
        labels["pipelinesascode.tekton.dev/sha"] = commit or self.with_heads(labels["pipelinesascode.tekton.dev/sha"])
        self.world.write(f"builds/{name}.yaml", run)
        results = {result["name"]: result["value"] for result in run["status"].get("results", [])}
        image = self.images[labels["appstudio.openshift.io/component"]].partition("@")[0]
        return f"{image}@{results.get('IMAGE_DIGEST')}"


def update(image: str) -> str:
    """The subject of the commit that updates an image."""
    name, _, to = image.rpartition("/")[2].partition("@")
    return f"Update {name} to {to[:19]}"


def manifest(images: Mapping[str, str]) -> str:
    """A ClusterServiceVersion that names each image twice."""
    related = "".join(f"- name: {name}\n  image: {images[name]}\n" for name in images for _ in range(2))
    return f"kind: ClusterServiceVersion\nspec:\n  relatedImages:\n{related}# the end"


def brings(world: World, branch: str, promoted: Mapping[str, str], **new: str) -> None:
    """Checks that a branch of the bundle has a commit for each new image, and nothing else that main has not."""
    assert world.subjects("bundle", branch) == [update(image) for image in new.values()]
    assert world.files("bundle", branch) == {**world.files("bundle", "main"), CSV: manifest({**promoted, **new})}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))


def test_parent_image(tmp_path: Path) -> None:
    """S1: CR19 to CR23, CR26, CR27, CR30, I10: a draft before the merge, and what becomes of it."""
    example = Example(tmp_path, "components-parent-image")
    world, old = example.world, example.images["node-parent"]

    def children(image: str) -> dict[str, dict[str, str]]:
        console = {"Dockerfile": f"FROM {image} AS base\nFROM base", "README.md": f"It began with {old}."}
        return {"console": console, "search": {"image/Containerfile": f"FROM {image.replace('@', ':20@')}"}}

    example.repositories({"node-parent": {"Dockerfile": "FROM registry.example.com/node:20\n"}, **children(old)})
    example.open("node-parent", 12, {"Dockerfile": "FROM registry.example.com/node:22\n"})
    example.open("node-parent", 14, {"Dockerfile": "FROM registry.example.com/node:20-slim\n"})
    built = example.build("node-parent-on-pull-request-a")
    example.build("node-parent-on-pull-request-c")

    # What the example begins with: only console has got a draft.
    world.plan("node-parent", "console", "search")
    assert world.apply("plans/console.node-22.yaml") == 0
    example.renumber("console", 88)
    assert world.files("console", "node-22/console") == children(built)["console"]
    planned = world.pull("console", 88)
    assert (planned.source_branch, planned.draft) == ("node-22/console", True)
    described = example.with_heads(example.pulls["console", 88]["spec"]["description"])
    assert described == f"{planned.body}\n\nChecked by hand on the test cluster.\n"
    world.forge.edit(world.url("console"), 88, planned.title, described)

    # Merged and built.
    built = example.build("node-parent-on-push-b", world.merge("node-parent", 12, "squash"))
    assert world.go_on_twice("node-parent", "console", "search") == example.plans()
    for name, files in children(built).items():
        assert world.subjects(name, f"node-22/{name}") == [update(built)]
        assert world.files(name, f"node-22/{name}") == files
        planned = world.pulls(name)[-1]
        assert (planned.source_branch, planned.draft, planned.state) == (f"node-22/{name}", False, "open")
        assert "- acme/node-parent#12 (done)" in planned.body
        world.merge(name, planned.number, "squash")
    assert world.pull("console", 88).body.endswith("\nChecked by hand on the test cluster.\n")
    assert world.plan("node-parent", "console", "search") == []
    assert {name: world.files(name, "main") for name in ("console", "search")} == children(built)


def test_operator(tmp_path: Path) -> None:
    """CR21, CR22, CR26, CR27, CR30 to CR32, I5, I10, I11: two groups, and the branch of a person beside them."""
    example = Example(tmp_path, "components-operator")
    world, old = example.world, {name: example.images[name] for name in ("api", "worker", "proxy")}
    code, catalog = {"main.go": "package main\n"}, f"- {old['api']}\n- quay.io/acme/api@{digest('e')}"
    bundle = {CSV: manifest(old), "catalog/versions.yaml": catalog}
    example.repositories({"api": code, "worker": code, "proxy": code, "bundle": bundle})
    for name, number in (("api", 5), ("worker", 9), ("proxy", 3)):
        example.open(name, number, {"main.go": "package main // changed\n"})
    example.open("bundle", 40, {"manifests/service.yaml": "kind: Service\n"})
    _, worker, proxy = (example.build(f"{name}-on-pull-request") for name in old)
    api = example.build("api-on-push", world.merge("api", 5, "squash"))
    before = world.heads()["bundle.git"]

    assert world.go_on_twice(*old, "bundle") == example.plans()
    assert world.branches("bundle") == {"main", "feature-1234", "feature-1234@bundle", "fix-timeout/bundle"}
    assert set(before.splitlines()) < set(world.heads()["bundle.git"].splitlines())
    brings(world, "feature-1234@bundle", old, api=api, worker=worker)
    brings(world, "fix-timeout/bundle", old, proxy=proxy)
    first, second = world.pull("bundle", 41), world.pull("bundle", 42)
    assert (first.draft, second.draft) == (True, True)
    assert "- acme/api#5 (done)" in first.body
    assert "Merge it after acme/worker#9: " in first.body
    assert "Merge it after acme/proxy#3: " in second.body

    # The person's is merged first: what was planned is made anew on top.
    world.merge("bundle", 40)
    world.merge_and_build("worker", "worker", 9, "9", "merge")
    world.go_on_twice(*old, "bundle")
    assert (world.pull("bundle", 41).draft, world.pull("bundle", 42).draft) == (False, True)
    new = {"api": api, "worker": f"quay.io/acme/worker@{digest('9')}"}
    brings(world, "feature-1234@bundle", old, **new)

    world.merge("bundle", 41, "squash")
    world.merge_and_build("proxy", "proxy", 3, "8", "squash")
    world.go_on_twice(*old, "bundle")
    assert not world.pull("bundle", 42).draft
    proxy = f"quay.io/acme/proxy@{digest('8')}"
    brings(world, "fix-timeout/bundle", {**old, **new}, proxy=proxy)
    world.merge("bundle", 42)
    assert world.plan(*old, "bundle") == []
    files = {**bundle, CSV: manifest({**new, "proxy": proxy}), "manifests/service.yaml": "kind: Service"}
    assert world.files("bundle", "main") == files


@pytest.mark.parametrize("how", ["squash", "merge"])
def test_monorepo(tmp_path: Path, how: How) -> None:
    """S3: CR28 to CR30, I5, I10: what the person changes in the bundle is below the digest, until it is merged."""
    example = Example(tmp_path, "components-monorepo")
    world, name, old = example.world, "gate-operator", {"controller": example.images["controller"]}
    csv, role = "bundle/manifests/gate.clusterserviceversion.yaml", "bundle/manifests/old-role.yaml"
    code = {"controller/main.go": "package main", "controller/test.yaml": f"image: {old['controller']}"}
    changed = {"controller/main.go": "package main // changed"}
    example.repositories({name: {**code, csv: manifest(old), role: "kind: Role"}})
    example.open(name, 21, {**changed, csv: f"version: 2\n{manifest(old)}", role: None})
    expected = example.pulls[name, 21]["status"]["changedFiles"]
    assert world.forge.changed_files(world.url(name), 21) == expected
    built = example.build("controller-on-pull-request")
    example.build("bundle-on-pull-request")

    assert world.go_on_twice(name) == example.plans()
    assert world.branches(name) == {"main", "new-feature", "new-feature@bundle"}
    assert world.subjects(name, "new-feature@bundle") == [f"Copy changes of acme/{name}#21", update(built)]
    assert world.files(name, "new-feature@bundle^") == {**code, csv: f"version: 2\n{manifest(old)}"}
    copied = {**code, csv: f"version: 2\n{manifest({'controller': built})}"}
    assert world.files(name, "new-feature@bundle") == copied
    assert world.pull(name, 22).draft
    assert "Merge it after acme/gate-operator#21: " in world.pull(name, 22).body

    world.merge_and_build("controller", name, 21, "9", how)
    world.go_on_twice(name)
    pushed = f"quay.io/acme/controller@{digest('9')}"
    assert world.subjects(name, "new-feature@bundle") == [update(pushed)]
    new = {**code, **changed, csv: f"version: 2\n{manifest({'controller': pushed})}"}
    assert world.files(name, "new-feature@bundle") == new
    assert not world.pull(name, 22).draft
    world.merge(name, 22, how)
    assert world.plan(name) == []
    assert world.files(name, "main") == new


def operands(letters: str = "abcd") -> dict[str, str]:
    return {name: f"quay.io/o/{name}@{digest(letter)}" for name, letter in zip(OPERANDS, letters, strict=False)}


@pytest.fixture
def olm(tmp_path: Path) -> World:
    """Scenario S2: four operands and their bundle, each in a repository of its own."""
    world = World(tmp_path / "org")
    for name, letter in zip(OPERANDS, "abcd", strict=True):
        world.repository(name, {"main.go": "package main\n"})
        world.component(name, name, at=letter)
    world.repository("bundle", {CSV: manifest(operands())})
    world.component("bundle", "bundle", *OPERANDS, at="e")
    return world


def propose(world: World, name: str, branch: str, letter: str) -> None:
    """A person opens a pull request to an operand, and it is built."""
    world.commit(name, branch, {"main.go": f"package main // {branch}\n"})
    world.build(name, name, letter, world.open(name, branch))


def state_of_bundle(world: World, number: int = 1) -> tuple[bool, dict[str, str]]:
    """Whether the bundle's pull request is a draft, and the states of its triggers in its description."""
    pull = world.pull("bundle", number)
    return pull.draft, dict(re.findall(r"^- org/(\S+)#1 \((\w+)\): ", pull.body, re.MULTILINE))


def test_s2_one_group(olm: World) -> None:
    """CR20, CR22, CR30, CR31, I10, I11: one pull request for three; it is a draft until the last of them is built."""
    # Step 1.
    propose(olm, "op1", "feature-1234", "1")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234/bundle", operands(), **operands("1"))
    assert state_of_bundle(olm) == (True, {"op1": "open"})

    # Step 2.
    propose(olm, "op2", "feature-1234", "2")
    propose(olm, "op3", "feature-1234", "3")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234/bundle", operands(), **operands("123"))
    assert state_of_bundle(olm) == (True, {"op1": "open", "op2": "open", "op3": "open"})

    # Step 3: its own build changes nothing.
    olm.build("bundle", "bundle", "f", 1)
    before = olm.heads()
    olm.go_on_twice(*OPERANDS, "bundle")
    assert olm.heads() == before

    # Step 4.
    olm.merge_and_build("op1", "op1", 1, "7", "squash")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234/bundle", operands(), **operands("723"))
    assert state_of_bundle(olm) == (True, {"op1": "done", "op2": "open", "op3": "open"})
    assert "Merge it after org/op2#1, org/op3#1: " in olm.pull("bundle", 1).body

    # Step 5; the merge of op3 is not built yet at first.
    olm.merge_and_build("op2", "op2", 1, "8", "merge")
    commit = olm.merge("op3", 1, "squash")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234/bundle", operands(), **operands("783"))
    assert state_of_bundle(olm) == (True, {"op1": "done", "op2": "done", "op3": "waiting"})
    olm.build("op3", "op3", "9", 1, commit=commit, event="push", branch="main")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234/bundle", operands(), **operands("789"))
    assert state_of_bundle(olm) == (False, {"op1": "done", "op2": "done", "op3": "done"})
    assert len(olm.pulls("bundle")) == 1
    olm.merge("bundle", 1)
    assert olm.plan(*OPERANDS, "bundle") == []
    assert olm.files("bundle", "main") == {CSV: manifest(operands("789d"))}


def test_s2_the_branch_is_taken(olm: World, capsys: pytest.CaptureFixture[str]) -> None:
    """I5, CR26, CR31: if a person has the branch in the bundle's repository, the planned one has the other spelling."""
    # Step 7.
    mine = olm.commit("bundle", "feature-1234", {"README.md": "mine\n"})
    assert olm.open("bundle", "feature-1234") == 1
    propose(olm, "op1", "feature-1234", "1")
    olm.observe(*OPERANDS, "bundle")
    assert main(["components", "plan", str(olm.package), "--dry-run"]) == 0
    assert "the branch is feature-1234@bundle: git allows no feature-1234/… beside" in capsys.readouterr().err
    (plan,) = olm.go_on_twice(*OPERANDS, "bundle")
    assert (plan["sourceBranch"], plan["group"]) == ("feature-1234@bundle", "feature-1234")
    brings(olm, "feature-1234@bundle", operands(), **operands("1"))

    # The group goes on there.
    propose(olm, "op2", "feature-1234", "2")
    olm.go_on_twice(*OPERANDS, "bundle")
    brings(olm, "feature-1234@bundle", operands(), **operands("12"))
    assert state_of_bundle(olm, 2) == (True, {"op1": "open", "op2": "open"})
    assert olm.branches("bundle") == {"main", "feature-1234", "feature-1234@bundle"}
    assert f"refs/heads/feature-1234 {mine}" in olm.heads()["bundle.git"].splitlines()
