"""Systems that are not POSIX, such as Windows: what reads works, what changes files or starts programs is refused.

The program runs with the modules, functions and signals taken away that only POSIX systems have.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.hosts import SECONDS
from packages.repositories import config_map, kptfile, write

WITHOUT_POSIX = """\
import os, signal, sys
MODULES = {"fcntl", "resource", "pwd", "grp", "termios"}
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for name in MODULES:
    sys.modules.pop(name, None)
for name in ("fork", "geteuid", "getuid", "killpg", "getsid", "O_NOFOLLOW", "O_DIRECTORY", "fchmod", "chown"):
    delattr(os, name)
for name in ("setitimer", "ITIMER_REAL", "SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGCHLD", "pthread_sigmask"):
    delattr(signal, name)
"""
RUN = "\nfrom krm_merge.__main__ import program\nsys.exit(program())\n"
IMPORT_ALL = """
import importlib, pkgutil
import krm_merge
for module in pkgutil.walk_packages(krm_merge.__path__, "krm_merge."):
    importlib.import_module(module.name)
"""
TRANSFORM = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: TransformResources
plugins:
- {}
"""
LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n{}items:\n- {}\n"


def run(folder: Path, *arguments: str, code: str = RUN, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + code, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        text=True,
        timeout=SECONDS,
    )


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for name, replicas in (("original", "1"), ("upstream", "2"), ("local", "1")):
        files = {"Kptfile": kptfile("."), "a.yaml": config_map("a", replicas=f"'{replicas}'")}
        write(tmp_path / name, {**files})
    write(tmp_path, {"patch.yaml": config_map("a", replicas="'7'")})
    return tmp_path


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    done = run(tmp_path, code=IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def resource_list(function_config: str, resource: str) -> str:
    indented = ["".join(f"  {line}\n" for line in text.splitlines()) for text in (function_config, resource)]
    return LIST.format(indented[0], indented[1].lstrip()).replace("\n\n", "\n")


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        (
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: PatchResources\npatches:\n- target: {kind: ConfigMap}\n"
            "  patch: |\n    - {op: replace, path: /data/a, value: '2'}\n",
            "a: '2'",
        ),
        (TRANSFORM.format("name: p\n  patches: [{ops: [{op: add, path: /data/b, value: '2'}]}]"), 'b: "2"'),
        (TRANSFORM.format("builtin: kubernetes"), "name: a"),
    ],
)
def test_the_function_works(tmp_path: Path, config: str, changed: str) -> None:
    done = run(tmp_path, stdin=resource_list(config, config_map("a", a="'1'")))
    assert done.returncode == 0, done.stderr
    assert changed in done.stdout
    assert done.stderr == ""


def test_a_plugin_that_is_a_program_is_refused(tmp_path: Path) -> None:
    plugin = write(tmp_path / "plugins", {"p": "#!/bin/sh\n"}) / "p"
    plugin.chmod(0o755)
    write(tmp_path / "package", {"a.yaml": config_map("a")})
    done = run(tmp_path, "transform", "package", "--plugin-dir", "plugins")
    assert done.returncode != 0
    assert "a plugin is not run on a system without process groups; on Windows, run krm-merge in WSL" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (["check", "local"], "1 package checked, no problems"),
        (["patch", "apply", "local/a.yaml", "patch.yaml"], "replicas: '7'"),
        (["diff", "original", "upstream"], "data.replicas"),
        (["--version"], "krm-merge "),
        (["merge", "--help"], "Usage: krm-merge merge"),
    ],
)
def test_commands_that_read_work(sides: Path, command: list[str], output: str) -> None:
    done = run(sides, *command)
    assert done.returncode == 0, done.stderr
    assert output in done.stdout


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["merge", "original", "upstream", "local", "--in-place"], "without file locks"),
        (["merge", "original", "upstream", "local", "-o", "merged"], "without file locks"),
        (["update", "local"], "without file locks"),
        (["names", "local"], "without file locks"),
        (["status", "local"], "git is not run on a system without process groups"),
    ],
)
def test_what_changes_files_or_runs_git_is_refused(sides: Path, command: list[str], why: str) -> None:
    kptfile_before = write(sides / "local", {"Kptfile": kptfile(".", more="pipeline: {mutators: [{image: a}]}\n")})
    before = (kptfile_before / "Kptfile").read_bytes()
    done = run(sides, *command)
    assert done.returncode == 3, done.stderr
    # What is true of one package of several is a part of the output.
    output = done.stderr + done.stdout
    assert why in output
    assert "on Windows, run krm-merge in WSL or in a container; nothing was changed" in output
    assert "Traceback" not in done.stderr
    assert (sides / "local" / "Kptfile").read_bytes() == before
    assert not (sides / "merged").exists()
