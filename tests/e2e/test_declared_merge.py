"""A merge that a pipeline declares is made once (K7): the real kpt renders, people edit in between."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.hosts import Run, contents, git, installed_program, run, write_package
from e2e.in_process import krm_merge
from packages.repositories import Repository

pytestmark = pytest.mark.kpt

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
info:
  description: {info}
pipeline:
  mutators:
"""
CAT = "  - exec: cat # as it is\n"
OWN = "  - exec: cat -s\n"
NEW_CAT = "  - exec: cat -u\n"
CONDITION = "krm-merge.MergePackage"


def deployment(replicas: int, containers: dict[str, str]) -> str:
    items = "".join(f"      - name: {name}\n        image: {image}\n" for name, image in containers.items())
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n"
    return f"{head}  replicas: {replicas}\n  template:\n    spec:\n      containers:\n{items}"


def config_map(name: str, **data: str) -> str:
    fields = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{fields}"


def version(number: int) -> dict[str, str]:
    """Upstream's package: every version changes values, and adds a container, a resource and a function."""
    return {
        "Kptfile": KPTFILE.format(info=f"v{number}") + CAT + NEW_CAT * (number > 1),
        "web.yaml": deployment(number, {f"c{at}": f"image:{number}" for at in range(number + 1)}),
        "app.yaml": config_map("app", key=f"v{number}"),
        **({"new.yaml": config_map("new", key="v")} if number > 1 else {}),
    }


def placed(text: str, path: str) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(text)
    value["metadata"]["annotations"] = {"internal.config.kubernetes.io/path": path}
    return value


def function_config(original: int, upstream: int, name: str = "merge", **more: Any) -> str:
    sides = {
        side: [placed(text, path) for path, text in version(number).items()]
        for side, number in (("original", original), ("upstream", upstream))
    }
    local = {"config.kubernetes.io/local-config": "true"}
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage"}
    return yaml.safe_dump({**head, "metadata": {"name": name, "annotations": local}, **more, **sides}, sort_keys=False)


@dataclass(frozen=True)
class Package:
    """A package that declares a merge, inside another one or not."""

    root: Path
    folder: Path

    def render(self) -> Run:
        done = run("kpt", "fn", "render", self.root, "--allow-exec")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def read(self, name: str = "Kptfile") -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        assert old in self.read(name)
        self.write(name, self.read(name).replace(old, new))

    @property
    def conditions(self) -> list[dict[str, str]]:
        conditions: list[dict[str, str]] = (yaml.safe_load(self.read()).get("status") or {}).get("conditions", [])
        return conditions


PLACES = ("first", "last", "between")
SELECTORS = {
    "all": "",
    "Kptfiles": "    selectors:\n    - kind: Kptfile\n",
    "chosen kinds": "    selectors:\n    - kind: Kptfile\n    - kind: Deployment\n    - kind: ConfigMap\n",
}


def package_that_declares(
    folder: Path, program: str, place: str = "first", selectors: str = "", inside: str = ""
) -> Package:
    """A package at version 1 that declares the merge of version 2."""
    declaration = f"  - {program} # for this update\n    configPath: merge.yaml\n{selectors}"
    functions = {"first": declaration + CAT, "last": CAT + declaration, "between": CAT + declaration + OWN}[place]
    kptfile = KPTFILE.format(info="v1") + functions
    files = {**version(1), "Kptfile": kptfile, "merge.yaml": function_config(1, 2)}
    root = folder / "package"
    if inside:
        write_package(root, {"Kptfile": KPTFILE.format(info="root") + CAT})
    return Package(root, write_package(root / inside, files))


def lives_through_edits(package: Package, *, merges_resources: bool) -> None:
    """Renders, edits what upstream changed, and renders again, twice."""
    package.render()
    (condition,) = package.conditions
    assert (condition["type"], condition["status"], condition["reason"]) == (CONDITION, "True", "Merged")
    kptfile = package.read()
    assert "description: v2" in kptfile
    assert "exec: cat -u" in kptfile
    assert "configPath: merge.yaml" in kptfile
    assert ("replicas: 2" in package.read("web.yaml")) is merges_resources
    before = contents(package.root)
    assert "was already merged" in package.render().stderr
    assert contents(package.root) == before
    package.write("web.yaml", deployment(7, {"c0": "image:9"}))
    package.replace("Kptfile", "description: v2", "description: ours")
    package.replace("Kptfile", "exec: cat -u", "exec: cat -u -s")
    package.write("app.yaml", config_map("app", key="ours"))
    package.write("extra.yaml", config_map("extra", key="ours"))
    if merges_resources:
        (package.folder / "new.yaml").unlink()
    before = contents(package.root)
    for _ in range(2):
        package.render()
        assert contents(package.root) == before


@pytest.mark.parametrize(
    ("place", "selectors", "inside"),
    [
        ("first", "all", ""),
        ("last", "all", ""),
        ("between", "Kptfiles", ""),
        ("first", "chosen kinds", "db"),
        ("last", "Kptfiles", "db"),
        ("between", "all", "db"),
    ],
)
def test_edits_after_a_declared_merge_stay(tmp_path: Path, place: str, selectors: str, inside: str) -> None:
    program = f"exec: {installed_program()}"
    package = package_that_declares(tmp_path, program, place, SELECTORS[selectors], inside)
    lives_through_edits(package, merges_resources=selectors != "Kptfiles")


@pytest.mark.docker
@pytest.mark.parametrize(("place", "inside"), [("last", ""), ("between", "db")])
def test_edits_after_a_merge_in_a_container_stay(tmp_path: Path, image: str, place: str, inside: str) -> None:
    lives_through_edits(package_that_declares(tmp_path, f"image: {image}", place, inside=inside), merges_resources=True)


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return package_that_declares(tmp_path, f"exec: {installed_program()}")


def test_another_version_is_merged_and_replaces_the_record(package: Package) -> None:
    package.render()
    (first,) = package.conditions
    package.write("merge.yaml", function_config(2, 3))
    package.render()
    (second,) = package.conditions
    assert first["message"] != second["message"]
    assert "replicas: 3" in package.read("web.yaml")


def test_a_functionconfig_that_somebody_edited_is_merged_again(package: Package) -> None:
    package.render()
    package.replace("web.yaml", "replicas: 2", "replicas: 7")
    package.write("merge.yaml", function_config(1, 2, onConflict="local"))
    assert "upstream changed it, local changed it; local's value is kept" in package.render().stderr
    assert package.conditions[0]["reason"] == "Conflicts"


def test_a_record_that_does_not_fit_hides_nothing(package: Package) -> None:
    condition = {"type": CONDITION, "status": "True", "reason": "Merged", "message": "merge.yaml: sha256:0; 1 changed"}
    package.write("Kptfile", package.read() + yaml.safe_dump({"status": {"conditions": [condition]}}))
    package.render()
    (after,) = package.conditions
    assert after["message"] != condition["message"]
    assert "replicas: 2" in package.read("web.yaml")


def test_without_the_record_it_is_merged_again(package: Package) -> None:
    package.render()
    package.write("Kptfile", package.read().partition("status:\n")[0])
    package.replace("web.yaml", "replicas: 2", "replicas: 1")
    assert "from upstream: spec.replicas" in package.render().stderr
    assert package.conditions != []


def test_a_conflict_that_nobody_chose_is_in_the_record_and_in_status(package: Package) -> None:
    package.replace("web.yaml", "replicas: 1", "replicas: 7")
    package.render()
    (condition,) = package.conditions
    assert (condition["status"], condition["reason"]) == ("False", "Conflicts")
    assert condition["message"].endswith(", 1 conflict")
    done = krm_merge("status", "--offline", "package", cwd=package.root.parent)
    assert "merge.yaml merged: 4 changed, 1 conflict" in done.stdout


def test_a_conflict_that_a_rule_settles_was_chosen(package: Package) -> None:
    package.replace("web.yaml", "replicas: 1", "replicas: 7")
    rules = [{"kind": "Deployment", "path": "spec.replicas", "onConflict": "local"}]
    package.write("merge.yaml", function_config(1, 2, rules=rules))
    package.render()
    assert package.conditions[0]["status"] == "True"
    assert "replicas: 7" in package.read("web.yaml")


@pytest.mark.parametrize("name", ["second", "merge"])
def test_two_merges_of_a_package_have_records_of_their_own(package: Package, name: str) -> None:
    second = f"  - exec: {installed_program()}\n    configPath: second.yaml\n"
    package.replace("Kptfile", CAT, second + CAT)
    package.write("second.yaml", function_config(2, 3, name=name, functionIdentity="smart"))
    package.write("merge.yaml", function_config(1, 2, functionIdentity="smart"))
    package.render()
    types = [condition["type"] for condition in package.conditions]
    assert types == [CONDITION, f"{CONDITION}.{name}"]
    assert "replicas: 3" in package.read("web.yaml")
    package.replace("web.yaml", "replicas: 3", "replicas: 7")
    before = contents(package.root)
    package.render()
    assert contents(package.root) == before


def test_a_third_merge_of_one_name_is_refused(package: Package) -> None:
    for number, file in enumerate(("second.yaml", "third.yaml"), 2):
        package.replace("Kptfile", CAT, f"  - exec: {installed_program()}\n    configPath: {file}\n{CAT}")
        package.write(file, function_config(number, number + 1, functionIdentity="smart"))
    package.write("merge.yaml", function_config(1, 2, functionIdentity="smart"))
    before = contents(package.root)
    done = run("kpt", "fn", "render", package.root, "--allow-exec")
    assert done.returncode == 1
    assert "third.yaml need different names: give each a metadata.name of its own" in done.stderr
    assert contents(package.root) == before


def test_a_record_of_upstream_is_for_another_pair(package: Package) -> None:
    message = f"merge.yaml: sha256:{'0' * 64}; 1 changed, 0 conflicts"
    theirs = {"type": CONDITION, "status": "True", "reason": "Merged", "message": message}
    package.write("Kptfile", package.read() + yaml.safe_dump({"status": {"conditions": [theirs]}}))
    package.render()
    (condition,) = package.conditions
    assert condition["message"] != message
    assert "replicas: 2" in package.read("web.yaml")


def test_the_declaration_stays_where_upstreams_list_wins(package: Package) -> None:
    # By document's rules a pipeline with some names is one value.
    package.replace("Kptfile", CAT, "  - exec: cat -s\n    name: ours\n")
    package.render()
    assert "configPath: merge.yaml" in package.read()
    assert "exec: cat -s" not in package.read()


def test_selectors_without_the_kptfile_are_refused(tmp_path: Path) -> None:
    selectors = "    selectors:\n    - kind: Deployment\n"
    package = package_that_declares(tmp_path, f"exec: {installed_program()}", selectors=selectors)
    before = contents(package.root)
    done = run("kpt", "fn", "render", package.root, "--allow-exec")
    assert done.returncode == 1
    assert "add `kind: Kptfile` to the selectors" in done.stderr
    assert contents(package.root) == before


def test_a_functionconfig_without_a_file_leaves_no_record(tmp_path: Path) -> None:
    data = {side: KPTFILE.format(info=side) + CAT for side in ("original", "upstream")}
    entry = {"exec": installed_program(), "configMap": data}
    kptfile = yaml.safe_load(KPTFILE.format(info="original") + CAT)
    kptfile["pipeline"]["mutators"].insert(0, entry)
    root = write_package(tmp_path / "package", {"Kptfile": yaml.safe_dump(kptfile, sort_keys=False)})
    package = Package(root, root)
    assert "runs at every render" in package.render().stderr
    assert package.conditions == []


def repository(folder: Path) -> Path:
    """A package from git, at v1 of two."""
    upstream = Repository.at(folder / "upstream")
    for number in (1, 2):
        upstream.version(f"v{number}", {f"web/{path}": text for path, text in version(number).items()})
    own = Repository.at(folder / "own")
    assert run("kpt", "pkg", "get", f"{upstream.path}/.git/web@v1", "web", cwd=own.path).returncode == 0
    own.commit({})
    return own.path


def test_upstream_and_its_lock_are_those_of_an_update(tmp_path: Path) -> None:
    place = repository(tmp_path)
    declare = ("config", "web", "--to", "v2", "--declare", "--exec", installed_program())
    assert krm_merge(*declare, cwd=place).returncode == 0
    package = Package(place / "web", place / "web")
    package.render()
    assert krm_merge("config", "web", "--undeclare", cwd=place).returncode == 0
    by_function = package.read()
    git(place, "checkout", "--quiet", ".")
    git(place, "clean", "--quiet", "--force")
    assert krm_merge("update", "web@v2", cwd=place).returncode == 0
    assert "ref: v2" in by_function
    assert by_function == package.read()


def test_what_cannot_run_is_not_declared(tmp_path: Path) -> None:
    place = repository(tmp_path)
    before = contents(place / "web")
    done = krm_merge("config", "web", "--to", "v2", "--declare", "--exec", "no-such-program", cwd=place)
    assert done.returncode == 2
    assert "no-such-program" in done.stderr
    assert contents(place / "web") == before
