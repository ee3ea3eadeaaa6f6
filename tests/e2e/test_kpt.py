"""The function under the real kpt, as the installed program: every way to give it its configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.hosts import Run, contents, installed_program, read_results, run, write_package

pytestmark = pytest.mark.kpt

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\n"
ORIGINAL = (
    HEAD
    + """\
metadata:
  name: web
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.1
      configMap:
        replicas: "3"
        tag: 1.0.1
    - image: gcr.io/kpt-fn/generate-folders:v0.1
    - image: gcr.io/kpt-fn/set-annotations:v0.1
      configMap:
        owner: platform
"""
)
UPSTREAM = (
    HEAD
    + """\
metadata:
  name: web
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/ensure-name-substring:v0.1 # before all others
    - image: gcr.io/kpt-fn/set-annotations:v0.1
      configMap:
        owner: platform
    - image: gcr.io/kpt-fn/apply-setters:v0.2
      configMap:
        replicas: "4"
        tag: 1.0.1
"""
)
LOCAL = (
    HEAD
    + """\
metadata:
  name: shop # ours
pipeline:
  mutators:
    # values of this deployment
    - image: gcr.io/kpt-fn/apply-setters:v0.1 # setters
      configMap:
        replicas: "5" # measured
        tag: 1.2.0 # waits for the review
    # going
    - image: gcr.io/kpt-fn/generate-folders:v0.1 # folders
    # who to call
    - image: gcr.io/kpt-fn/set-annotations:v0.1 # annotations
      configMap:
        owner: platform
    # only here
    - image: gcr.io/kpt-fn/set-namespace:v0.2 # namespace
      configMap:
        namespace: 'shop' # quoted by us
"""
)
MERGED = (
    HEAD
    + """\
metadata:
  name: shop # ours
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/ensure-name-substring:v0.1 # before all others
    # who to call
    - image: gcr.io/kpt-fn/set-annotations:v0.1 # annotations
      configMap:
        owner: platform
    # only here
    - image: gcr.io/kpt-fn/set-namespace:v0.2 # namespace
      configMap:
        namespace: 'shop' # quoted by us
    # values of this deployment
    - image: gcr.io/kpt-fn/apply-setters:v0.2 # setters
      configMap:
        replicas: "4"
        tag: 1.2.0 # waits for the review
"""
)
# Two documents, odd layout: nothing that kpt itself would write differently.
OTHER = """\
# a service
apiVersion: v1
kind: Service
metadata: {name: web, labels: {"app": 'web'}} # flow
spec:
  ports:
  - port: 80
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: texts
data:
  a.txt: |
    one
      two
  b: "yes"
"""
CONFLICT = "pipeline.mutators[image=gcr.io/kpt-fn/apply-setters].configMap.replicas"


def indent(text: str, by: int) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))


def config(original: str = ORIGINAL, upstream: str = UPSTREAM, more: str = "") -> str:
    """A functionConfig with the two upstream versions as texts."""
    return (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePackage\nmetadata:\n  name: merge\n"
        '  annotations:\n    config.kubernetes.io/local-config: "true"\n'
        f"original: |\n{indent(original, 2)}upstream: |\n{indent(upstream, 2)}{more}"
    )


@dataclass(frozen=True)
class Package:
    """A package in a folder of its own; the functionConfig lies beside it unless the package holds it."""

    folder: Path
    results: Path

    def eval(self, *more: str | Path, function_config: str | None = None) -> Run:
        command: list[str | Path] = ["kpt", "fn", "eval", self.folder, "--exec", installed_program()]
        command += ["--results-dir", self.results]
        if function_config is not None:
            file = self.folder.parent / "merge.yaml"
            file.write_text(function_config, encoding="utf-8")
            command += ["--fn-config", file]
        return run(*command, *more)

    def render(self) -> Run:
        return run("kpt", "fn", "render", self.folder, "--allow-exec", "--results-dir", self.results)

    def read(self, name: str = "Kptfile") -> str:
        return (self.folder / name).read_bytes().decode()


Make = Callable[[dict[str, str]], Package]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make_package(files: dict[str, str]) -> Package:
        return Package(write_package(tmp_path / "package", files), tmp_path / "results")

    return make_package


@pytest.fixture
def package(make: Make) -> Package:
    return make({"Kptfile": LOCAL, "resources/other.yaml": OTHER})


def without_record(kptfile: str) -> str:
    """A Kptfile without the status in which the function records that the merge was made (K7)."""
    text, status, record = kptfile.partition("status:\n")
    assert status
    assert "krm-merge.MergePackage" in record
    return text


def succeed(done: Run) -> Run:
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


# ---- the forms of the configuration ------------------------------------------------------------------------------


def test_eval_with_a_functionconfig_file(package: Package) -> None:
    succeed(package.eval(function_config=config()))
    assert package.read() == MERGED
    assert package.read("resources/other.yaml") == OTHER


def test_eval_with_arguments_and_a_policy(package: Package) -> None:
    succeed(package.eval("--", f"original={ORIGINAL}", f"upstream={UPSTREAM}", "onConflict=local"))
    assert package.read() == MERGED.replace('replicas: "4"', 'replicas: "5" # measured')


def test_eval_with_a_functionconfig_of_the_package_leaves_it_there(make: Make) -> None:
    package = make({"Kptfile": LOCAL, "merge.yaml": config()})
    succeed(package.eval("--fn-config", package.folder / "merge.yaml"))
    assert package.read() == MERGED
    assert package.read("merge.yaml") == config()


def test_eval_without_configuration_names_the_forms(package: Package) -> None:
    before = contents(package.folder)
    done = package.eval()
    assert done.returncode == 1
    assert all(word in done.stderr for word in ("original", "upstream", "MergePackage"))
    assert contents(package.folder) == before


# ---- text --------------------------------------------------------------------------------------------------------

FIRST = "    # first\n    - image: gcr.io/kpt-fn/a:v0.1 # a\n      configMap:\n        x: '1' # ax\n"
SECOND = "    # second\n    - image: gcr.io/kpt-fn/b:v0.1 # b\n"
THIRD = "    # third\n    - image: gcr.io/kpt-fn/c:v0.1 # c\n      configPath: c.yaml # cc\n"
PLAIN_FIRST = "    - image: gcr.io/kpt-fn/a:v0.1\n      configMap:\n        x: '1'\n"
PLAIN_SECOND = "    - image: gcr.io/kpt-fn/b:v0.1\n"
PLAIN_THIRD = "    - image: gcr.io/kpt-fn/c:v0.1\n      configPath: c.yaml\n"
NEW = "    # new\n    - image: gcr.io/kpt-fn/new:v0.1 # n\n"


def mutators(*functions: str) -> str:
    return f"{HEAD}metadata:\n  name: web # name\npipeline: # steps\n  mutators:\n{''.join(functions)}"


PLAIN = (PLAIN_FIRST, PLAIN_SECOND, PLAIN_THIRD)
REORDERED = {
    "inserted first": ((NEW, *PLAIN), (NEW, FIRST, SECOND, THIRD)),
    "inserted second": ((PLAIN_FIRST, NEW, PLAIN_SECOND, PLAIN_THIRD), (FIRST, NEW, SECOND, THIRD)),
    "inserted last": ((*PLAIN, NEW), (FIRST, SECOND, THIRD, NEW)),
    "removed first": ((PLAIN_SECOND, PLAIN_THIRD), (SECOND, THIRD)),
    "removed second": ((PLAIN_FIRST, PLAIN_THIRD), (FIRST, THIRD)),
    "removed last": ((PLAIN_FIRST, PLAIN_SECOND), (FIRST, SECOND)),
    "moved to the front": ((PLAIN_THIRD, PLAIN_FIRST, PLAIN_SECOND), (THIRD, FIRST, SECOND)),
    "moved to the end": ((PLAIN_SECOND, PLAIN_THIRD, PLAIN_FIRST), (SECOND, THIRD, FIRST)),
    "all at once": ((PLAIN_THIRD, NEW, PLAIN_FIRST), (THIRD, NEW, FIRST)),
}


@pytest.mark.parametrize("name", REORDERED)
def test_comments_stay_at_their_functions(make: Make, name: str) -> None:
    upstream, merged = REORDERED[name]
    package = make({"Kptfile": mutators(FIRST, SECOND, THIRD)})
    succeed(package.eval(function_config=config(mutators(*PLAIN), mutators(*upstream))))
    assert package.read() == mutators(*merged)


def test_a_new_subpackage_gets_its_kptfile(make: Make) -> None:
    package = make({"Kptfile": LOCAL})
    new = "---\n" + HEAD + "metadata:\n  name: db # new\n  annotations:\n    internal.config.kubernetes.io/path: {}\n"
    upstream = ORIGINAL + new.format("db/Kptfile") + "info:\n  description: d\n"
    succeed(package.eval(function_config=config(ORIGINAL, upstream)))
    assert package.read() == LOCAL
    assert package.read("db/Kptfile") == HEAD + "metadata:\n  name: db # new\ninfo:\n  description: d\n"


# ---- results -----------------------------------------------------------------------------------------------------


def test_a_conflict_is_saved_with_place_and_values(package: Package) -> None:
    done = succeed(package.eval(function_config=config()))
    (conflict,) = [result for result in read_results(package.results) if result["severity"] == "warning"]
    assert conflict["message"].splitlines()[0] in done.stderr
    del conflict["message"]
    assert conflict == {
        "severity": "warning",
        "resourceRef": {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "name": "shop"},
        "field": {"path": CONFLICT, "currentValue": "5", "proposedValue": "4"},
        "file": {"path": "Kptfile"},
        "tags": {"rule": "V4", "side": "both", "original": "3", "upstream": "4", "local": "5"},
    }


def test_kpt_prints_results_that_a_terminal_only_shows(make: Make) -> None:
    about = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: "
    package = make({"Kptfile": HEAD + "metadata:\n  name: a\n", "a.yaml": about + '"\\e]0;owned\\a"\n'})
    done = succeed(package.eval(function_config=config(about + "one\n", about + '"two\\e[2J\\nerror forged"\n')))
    assert "upstream two\\x1b[2J\\nerror forged, local \\x1b]0;owned\\x07)" in done.stderr
    assert all(char.isprintable() or char == "\n" for char in done.stdout + done.stderr)


def test_a_conflict_under_fail_stops_and_leaves_every_file(package: Package) -> None:
    before = contents(package.folder)
    done = package.eval(function_config=config(more="onConflict: fail\n"))
    assert done.returncode == 1
    assert contents(package.folder) == before
    (conflict,) = [result for result in read_results(package.results) if result["severity"] == "error"]
    assert conflict["field"]["path"] == CONFLICT
    assert conflict["tags"] | {"original": "3", "upstream": "4", "local": "5"} == conflict["tags"]
    # kpt shows no more than four lines of what the function says on stderr.
    _, _, output = done.stderr.partition("Stderr:\n")
    assert "configMap.replicas" in "".join(output.splitlines(keepends=True)[:4])
    assert "truncated" not in done.stderr


REFUSED = {
    "an unknown field": (config(more="onConflct: local\n"), "onConflct"),
    "another policy": (config(more="onConflict: sometimes\n"), "onConflict"),
    "no Kptfile as original": (config(original="apiVersion: v1\nkind: Service\n"), "original"),
    "no YAML as upstream": (config(upstream="a: [1\n"), "upstream"),
    "another kind": (config().replace("kind: MergePackage", "kind: MergePackages"), "MergePackages"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_functionconfig_is_refused(package: Package, name: str) -> None:
    function_config, word = REFUSED[name]
    before = contents(package.folder)
    done = package.eval(function_config=function_config)
    assert done.returncode == 1
    assert contents(package.folder) == before
    _, _, output = done.stderr.partition("Stderr:\n")
    assert word in "".join(output.splitlines(keepends=True)[:4])
    assert "Traceback" not in done.stderr
    assert any(word in str(result) for result in read_results(package.results))


# ---- declared in a pipeline --------------------------------------------------------------------------------------


def pipeline(*functions: str, name: str = "web", info: str = "") -> str:
    """A Kptfile whose functions need no container, so that the pipeline can run."""
    text = f"{HEAD}metadata:\n  name: {name} # name of {name}\n"
    if info:
        text += f"info:\n  description: {info} # info\n"
    return text + ("pipeline:\n  mutators:\n" + "".join(functions) if functions else "")


def declaration() -> str:
    return f"    # for this update only\n    - exec: {installed_program()}\n      configPath: merge.yaml\n"


CAT = "    # as it is\n    - exec: cat\n"


def place(text: str, path: str) -> str:
    head, _, rest = text.partition("metadata:\n")
    return f"{head}metadata:\n  annotations:\n    internal.config.kubernetes.io/path: {path}\n{rest}"


BOTH_OLD = place(pipeline(info="old"), "Kptfile") + "---\n" + place(pipeline(name="db", info="db old"), "db/Kptfile")


@pytest.mark.parametrize(
    ("root", "db"),
    [("new", "db old"), ("old", "db new"), ("new", "db new")],
    ids=["the root's", "the subpackage's", "both"],
)
def test_render_tells_root_and_subpackage_apart(make: Make, root: str, db: str) -> None:
    """Both Kptfiles come as items with the path `Kptfile`; the package path tells which is which."""
    upstream = place(pipeline(info=root), "Kptfile") + "---\n" + place(pipeline(name="db", info=db), "db/Kptfile")
    package = make(
        {
            "Kptfile": pipeline(declaration(), info="old"),
            "merge.yaml": config(BOTH_OLD, upstream),
            "db/Kptfile": pipeline(CAT, name="db", info="db old"),
            "db/other.yaml": OTHER,
        }
    )
    succeed(package.render())
    assert without_record(package.read()) == pipeline(declaration(), info=root)
    assert package.read("db/Kptfile") == pipeline(CAT, name="db", info=db)
    assert package.read("db/other.yaml") == OTHER


def test_render_with_the_function_in_the_subpackage_leaves_the_root(make: Make) -> None:
    package = make(
        {
            "Kptfile": pipeline(CAT, info="old"),
            "db/Kptfile": pipeline(declaration(), name="db", info="old"),
            "db/merge.yaml": config(pipeline(name="db", info="old"), pipeline(name="db", info="new")),
        }
    )
    succeed(package.render())
    assert package.read() == pipeline(CAT, info="old")
    assert without_record(package.read("db/Kptfile")) == pipeline(declaration(), name="db", info="new")


def test_render_stops_at_a_conflict_under_fail(make: Make) -> None:
    package = make(
        {
            "Kptfile": pipeline(declaration(), info="ours"),
            "merge.yaml": config(pipeline(info="old"), pipeline(info="new"), "onConflict: fail\n"),
            "other.yaml": OTHER,
        }
    )
    before = contents(package.folder)
    done = package.render()
    assert done.returncode == 1
    assert "info.description" in done.stderr
    assert contents(package.folder) == before
