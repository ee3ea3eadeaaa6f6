"""`krm-merge check` and `krm-merge names`, by themselves and as hooks of pre-commit."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.cli.app import app

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
POLICY = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePolicy
metadata:
  name: merge-policy
  annotations: {config.kubernetes.io/local-config: "true"}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "Kptfile").write_text(HEAD, encoding="utf-8")
    return tmp_path / "web"


def run(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, [command, *arguments], prog_name="krm-merge")


def pipeline(*functions: str) -> str:
    return HEAD + "pipeline:\n  mutators:\n" + "".join(f"  - {function}\n" for function in functions)


# ---- check -------------------------------------------------------------------------------------------------------


def test_a_package_that_is_right(package: Path) -> None:
    (package / "fn.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")
    (package / "Kptfile").write_text(
        pipeline("{image: a/b:v1, configPath: ./fn.yaml, name: x}", "{image: a/c, configPath: ''}"),
        encoding="utf-8",
    )
    markers = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    (package / "README.md").write_text(f"Markers look so:\n\n{markers}", encoding="utf-8")
    (package / "a.txt").write_text("<<<<<<< ours\n", encoding="utf-8")
    (package / ".cache").mkdir()
    (package / ".cache" / "a.yaml").write_text(markers, encoding="utf-8")
    done = run("check")
    assert (done.exit_code, done.stdout) == (0, "1 package checked, no problems\n")
    assert run("check", "--quiet").stdout == ""


def test_files_that_kpt_cannot_read_unless_it_ignores_them(package: Path) -> None:
    for path, text in {"app.yaml": "a: 1\na: 2\n", "chart/templates/a.yml": "a: {{ .Values.a }}\nb: [\n"}.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    (package / "latin.yaml").write_bytes(b"a: \xe9\n")
    done = run("check")
    assert done.exit_code == 1
    remedy = "kpt refuses the package: fix the file, or list it in .krmignore if it is a template"
    template = "not valid YAML: did not find expected node content while parsing a flow node"
    assert done.stdout.splitlines() == [
        f"web/app.yaml:2: the key a appears twice; keep one; {remedy}",
        f"web/chart/templates/a.yml:3: {template}; {remedy}",
        f"web/latin.yaml: not UTF-8; {remedy}",
    ]
    (package / ".krmignore").write_text("latin.yaml\n", encoding="utf-8")
    (package / "chart" / ".krmignore").write_text("/templates\n!none\n", encoding="utf-8")
    assert [problem.partition(";")[0] for problem in run("check").stdout.splitlines()] == [
        "web/app.yaml:2: the key a appears twice"
    ]


@pytest.mark.parametrize(
    ("kptfile", "message"),
    [
        (HEAD + "infos: {}\n", "web/Kptfile:5: infos is an unknown field; choose from apiVersion, kind, "),
        (HEAD + "  name: b\n", "web/Kptfile:5: the key name appears twice; keep one"),
        ("a: [\n", "web/Kptfile:2: "),
        ("- a\n", "web/Kptfile: not a Kptfile"),
        (HEAD.replace("kpt.dev/v1", "kpt.dev/v1beta9"), "web/Kptfile:1: apiVersion is 'kpt.dev/v1beta9'"),
        (
            pipeline("name: a"),
            "web/Kptfile:7: pipeline.mutators[0]: has neither image nor exec; add the one that it runs",
        ),
        (
            pipeline("{image: a, exec: b}"),
            "web/Kptfile:7: pipeline.mutators[0]: has both image and exec; keep one of them",
        ),
        (
            pipeline("{image: a, configMap: {a: b}, configPath: Kptfile}"),
            "pipeline.mutators[0]: has both configPath and configMap; keep one of them",
        ),
        (
            pipeline("{image: a, name: x}", "{image: b, name: x}"),
            "web/Kptfile:8: pipeline.mutators[1].name: 2 functions have the name x; rename all but one",
        ),
        (pipeline("{image: a, configPath: no.yaml}"), "mutators[0].configPath: the package has no file no.yaml"),
        (pipeline("{image: a, configPath: ../a.yaml}"), "configPath: ../a.yaml is outside the package"),
        (pipeline("{image: a, configPath: /a.yaml}"), "configPath: /a.yaml is outside the package"),
        (pipeline("{image: a, configPath: two.yaml}"), "configPath: two.yaml holds 2 documents"),
        (pipeline("{image: a, configPath: values.yaml}"), "configPath: values.yaml is not a Kubernetes object"),
        (pipeline("{image: A B}"), "pipeline.mutators[0]: image is not the name of an image"),
        (pipeline("{image: a, exclude: [{resourceFileRegexp: (}]}"), "not a regular expression"),
        (HEAD + "upstream: {type: generic}\n", "upstream.type is 'generic'"),
        (HEAD + "upstream: {type: git}\n", "upstream: is of type git, but has no git"),
        (HEAD + "upstream: {git: {repo: '', ref: v1}}\n", "upstream.git: has no repo"),
        (HEAD + "upstream: {git: {repo: https://a.b}}\n", "upstream.git: has no ref"),
        (HEAD + "upstream: {git: {repo: https://a b, ref: v1}}\n", "upstream.git: repo holds a blank"),
        (HEAD + "upstreamLock: {git: {repo: https://a.b, ref: v1}}\n", "upstreamLock.git: has no commit"),
        (
            HEAD + "upstreamLock: {git: {repo: https://a.b, ref: v1, commit: c}, generic: {}}\n",
            "upstreamLock: has both git and generic; keep one of them",
        ),
        (HEAD + "upstreamLock: {type: generic}\n", "upstreamLock: is of type generic, but has no generic"),
        (HEAD + "inventory: {name: a, namespace: b}\n", "inventory: has no inventoryID"),
        (HEAD + "info: {readinessGates: [{}]}\n", "info.readinessGates[0].conditionType is missing"),
        (HEAD + "info: {licenseFile: /LICENSE}\n", "info: licenseFile is outside the package"),
        (HEAD + "info: {licenseFile: a/../../LICENSE}\n", "info: licenseFile is outside the package"),
    ],
)
def test_a_kptfile_with_a_mistake(package: Path, kptfile: str, message: str) -> None:
    (package / "Kptfile").write_text(kptfile, encoding="utf-8")
    (package / "two.yaml").write_text("a: 1\n---\nb: 2\n", encoding="utf-8")
    (package / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    done = run("check", "web")
    assert done.exit_code == 1
    assert message in done.stdout
    assert len(done.stdout.splitlines()) <= 2, done.stdout


REFUSED = yaml.safe_load((ROOT / "testdata" / "kpt" / "refused.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kptfile", [*map(pipeline, REFUSED["functions"]), *(HEAD + f for f in REFUSED["fields"])])
def test_a_kptfile_that_kpt_refuses(package: Path, kptfile: str) -> None:
    (package / "Kptfile").write_text(f"{kptfile}\n", encoding="utf-8")
    (package / "a..b.yaml").write_text("apiVersion: v1\nkind: A\nmetadata: {name: a}\n", encoding="utf-8")
    done = run("check", "web")
    assert done.exit_code == 1
    assert "web/Kptfile" in done.stdout


DIGEST = f"example.com/foo/generate-folders:v0.1.0@sha256:{'3' * 64}"


@pytest.mark.parametrize(
    "image", ["a.b.c:1234/foo/generate-folders", "registry.io/foo/project--id.module--name", DIGEST]
)
def test_images_that_kpt_reads(package: Path, image: str) -> None:
    (package / "Kptfile").write_text(
        pipeline(f"{{image: '{image}'}}") + "info: {licenseFile: a/../b}\n", encoding="utf-8"
    )
    assert run("check", "web").exit_code == 0


def test_conflicts_between_markers(package: Path) -> None:
    (package / "deep").mkdir()
    text = "a: 1\n<<<<<<< ours\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n"
    (package / "deep" / "notes.txt").write_text(text, encoding="utf-8")
    (package / "Kptfile").write_text(HEAD + text.partition("\n")[2], encoding="utf-8")
    done = run("check")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "web/Kptfile:5: a conflict between markers; settle it",
        "web/deep/notes.txt:2: a conflict between markers; settle it",
    ]


def test_a_policy_for_what_is_not_there(package: Path) -> None:
    resource = "{apiVersion: apps/v1, kind: Deployment, name: old}"
    (package / "merge-policy.yaml").write_text(
        f"{POLICY}rules:\n- {{kind: Service, onConflict: local}}\nresolutions:\n- resource: {resource}\n"
        f"  path: spec.replicas\n  nature: value\n  fingerprint: {'ab' * 32}\n  choice: local\n",
        encoding="utf-8",
    )
    assert run("check").stdout.splitlines() == [
        "web/merge-policy.yaml:7: rules[0]: matches nothing in the package; check its kind, name and path",
        "web/merge-policy.yaml:9: resolutions[0]: Deployment old spec.replicas (value): "
        "the package has no such resource; remove it",
    ]
    (package / "merge-policy.yaml").write_text(POLICY + "onConflict: me\n", encoding="utf-8")
    assert run("check").stdout.startswith("web/merge-policy.yaml: onConflict is 'me'")


def test_a_choice_to_leave_a_resource_deleted_is_right(package: Path) -> None:
    resource = "{apiVersion: apps/v1, kind: Deployment, name: old}"
    choice = f"nature: resource\n  fingerprint: {'ab' * 32}\n  choice: local\n"
    policy = f"{POLICY}resolutions:\n- resource: {resource}\n  {choice}"
    (package / "merge-policy.yaml").write_text(policy, encoding="utf-8")
    assert run("check").stdout == "1 package checked, no problems\n"


def test_packages_inside_are_packages_of_their_own(package: Path) -> None:
    (package / "cache").mkdir()
    (package / "cache" / "Kptfile").write_text(pipeline("{image: a, configPath: fn.yaml}"), encoding="utf-8")
    (package / "fn.yaml").write_text("kind: A\n", encoding="utf-8")
    assert run("check", "web/cache").exit_code == 1
    done = run("check")
    assert done.stdout == "web/cache/Kptfile:7: pipeline.mutators[0].configPath: the package has no file fn.yaml\n"


def test_a_file_is_for_the_package_that_holds_it(package: Path) -> None:
    (package / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    (package.parent / "outside.yaml").write_text("a: 1\n", encoding="utf-8")
    assert run("check", "web/a.yaml", "web/Kptfile", "outside.yaml").stdout == "1 package checked, no problems\n"
    assert run("check", "outside.yaml").stdout == "no packages: no directory has a Kptfile\n"
    done = run("check", "nothing.yaml")
    assert "nothing.yaml: there is no such file or directory" in str(done.exception)


def test_check_for_programs(package: Path) -> None:
    (package / "Kptfile").write_text(pipeline("{image: a, configPath: no.yaml}"), encoding="utf-8")
    done = run("check", "--format", "json")
    assert done.exit_code == 1
    message = "pipeline.mutators[0].configPath: the package has no file no.yaml"
    problem = {"file": "web/Kptfile", "line": 7, "message": message}
    assert json.loads(done.stdout) == {"packages": ["web"], "problems": [problem]}


# ---- names -------------------------------------------------------------------------------------------------------

UNNAMED = (
    pipeline(
        "image: gcr.io:443/fns/set-labels:v0.1 # labels",
        "image: other/set-labels@sha256:ab\n    # settings\n    configMap: {a: b}",
        "{exec: ./bin/tool --all}",
        "image: c\n    name: set-labels-2",
        "name: nothing",
        "{}",
    )
    + "  validators:\n  - image: set-labels\n    name: ''\n"
)


def test_names_are_inserted_and_nothing_else_changes(package: Path) -> None:
    kptfile = package / "Kptfile"
    kptfile.write_text("# ours\n" + UNNAMED, encoding="utf-8")
    done = run("names", "--dry-run")
    assert done.stdout.splitlines()[0] == "web/Kptfile: pipeline.mutators[0]: would be named set-labels"
    assert kptfile.read_text(encoding="utf-8") == "# ours\n" + UNNAMED
    done = run("names")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "web/Kptfile: pipeline.mutators[0]: named set-labels",
        "web/Kptfile: pipeline.mutators[1]: named set-labels-3",
        "web/Kptfile: pipeline.mutators[2]: named tool",
        "web/Kptfile: pipeline.validators[0]: named set-labels",
    ]
    expected = "# ours\n" + UNNAMED
    for before, after in [
        (" # labels\n", " # labels\n    name: set-labels\n"),
        ("@sha256:ab\n", "@sha256:ab\n    name: set-labels-3\n"),
        ("--all}", "--all, name: tool}"),
        ("name: ''\n", "name: 'set-labels'\n"),
    ]:
        expected = expected.replace(before, after)
    assert kptfile.read_text(encoding="utf-8") == expected
    assert run("names").stdout == "every function has a name\n"
    assert kptfile.read_text(encoding="utf-8") == expected


def test_a_kptfile_that_cannot_be_read_changes_nothing(package: Path) -> None:
    (package / "Kptfile").write_text(UNNAMED, encoding="utf-8")
    (package / "wrong").mkdir()
    (package / "wrong" / "Kptfile").write_text("a: [\n", encoding="utf-8")
    done = run("names")
    assert done.exit_code == 1
    assert str(done.exception).startswith("web/wrong/Kptfile: line 2")
    assert (package / "Kptfile").read_text(encoding="utf-8") == UNNAMED


def test_names_for_programs(package: Path) -> None:
    (package / "Kptfile").write_text(pipeline("image: a/b"), encoding="utf-8")
    assert json.loads(run("names", "--format", "json").stdout) == {
        "names": {"web/Kptfile": {"pipeline.mutators[0]": "b"}}
    }


# ---- pre-commit --------------------------------------------------------------------------------------------------


def test_hooks_install_what_the_command_line_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["krm-merge-check", "krm-merge-names"]
    assert all(hook["additional_dependencies"] == project["optional-dependencies"]["cli"] for hook in hooks)


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "PRE_COMMIT_HOME": str(folder / ".cache"),
    }
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        env=environment,
        text=True,
        timeout=SECONDS,
    )


def test_pre_commit_runs_the_hooks(package: Path) -> None:
    """With the program that is installed here: pre-commit's own installation needs a network."""
    folder = package.parent
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in hooks:
        hook["language"] = "system"
        del hook["additional_dependencies"]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (package / "Kptfile").write_text(pipeline("image: a/b:v1"), encoding="utf-8")
    (package / "a.yaml").write_text("a: 1\n<<<<<<< b\n=======\nc\n>>>>>>> d\n", encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    done = pre_commit(folder, "run", "--files", "web/Kptfile", "web/a.yaml")
    assert done.returncode == 1
    assert "web/a.yaml:2: a conflict between markers; settle it" in done.stdout
    assert "web/Kptfile: pipeline.mutators[0]: named b" in done.stdout
    assert "files were modified by this hook" in done.stdout
    (package / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    done = pre_commit(folder, "run", "--files", "web/Kptfile", "web/a.yaml")
    assert done.returncode == 0, done.stdout


def test_the_manifest_is_one_of_pre_commit() -> None:
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pre_commit",
        "validate-manifest",
        ROOT / ".pre-commit-hooks.yaml",
    ]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_kustomization_that_names_what_is_not_there(package: Path) -> None:
    listed = "resources:\n- a.yaml\n- ../elsewhere\n- https://example.com/x.yaml\npatches:\n- path: gone.yaml\n"
    (package / "kustomization.yaml").write_text(listed, encoding="utf-8")
    (package / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")
    result = run("check", "web")
    assert result.exit_code == 1
    assert "names gone.yaml, which the package does not have" in result.output
    assert "a.yaml," not in result.output
    assert "elsewhere" not in result.output
