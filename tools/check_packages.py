"""Builds the wheel and the source archive, and installs them, and the zipapp, as users do.

Needs a package index, and `make zipapp` before. Exits with the first command that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
PACKAGE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
pipeline:
  mutators:
  - image: set-labels:v0.1
"""
PRE_COMMIT = """\
repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: krm-merge-check
  - id: krm-merge-names
"""


def run(*command: str | Path, cwd: Path = ROOT, environment: dict[str, str] | None = None, expected: int = 0) -> str:
    """Runs a command, which must end with the expected code; returns its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
    )
    if done.returncode != expected:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    print(f"right: {' '.join(Path(word).name for word in map(str, command))[:100]}", flush=True)
    return done.stdout


def try_program(*program: str | Path, package: Path, environment: dict[str, str] | None = None) -> None:
    """Runs commands of an installed program on a package."""
    kptfile = package / "Kptfile"
    kptfile.write_text(PACKAGE, encoding="utf-8")
    run(*program, "--version", cwd=package, environment=environment)
    run(*program, "check", cwd=package, environment=environment)
    run(*program, "names", cwd=package, environment=environment)
    if "name: set-labels\n" not in kptfile.read_text(encoding="utf-8"):
        sys.exit(f"{program[0]} named nothing")


def check_archives(folder: Path, package: Path) -> Path:
    """Builds both archives; installs the wheel, and the other archive in its place. Returns the wheel."""
    run(sys.executable, "-m", "hatchling", "build", "--directory", folder)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run(PROGRAMS / "twine", "check", "--strict", wheel, source)
    run(PROGRAMS / "check-wheel-contents", wheel)
    place = folder / "environment"
    venv.create(place, with_pip=True)
    install = (place / PROGRAMS.name / "python", "-m", "pip", "install", "--quiet")
    run(*install, f"{wheel}[cli]")
    for archive in (wheel, source):
        if archive != wheel:
            run(*install, "--force-reinstall", "--no-deps", archive)
        try_program(place / PROGRAMS.name / "krm-merge", package=package)
    return wheel


def check_pre_commit(folder: Path, package: Path) -> None:
    """Lets pre-commit install the last commit of this repository, and runs its hooks."""
    revision = run("git", "rev-parse", "HEAD").strip()
    config = PRE_COMMIT.format(repository=ROOT.as_uri(), revision=revision)
    (package / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    (package / "Kptfile").write_text(PACKAGE, encoding="utf-8")
    run("git", "init", "--quiet", cwd=package)
    run("git", "add", "--all", cwd=package)
    settings = {"PRE_COMMIT_HOME": str(folder / "pre-commit")}
    hooks = (PROGRAMS / "pre-commit", "run", "--all-files")
    output = run(*hooks, cwd=package, environment=settings, expected=1)
    if "named set-labels" not in output:
        sys.exit(f"the hook named nothing\n{output}")
    run(*hooks, cwd=package, environment=settings)


def main() -> int:
    zipapp = ROOT / "dist" / "krm-merge.pyz"
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        package = folder / "web"
        package.mkdir()
        cache = {"SHIV_ROOT": str(folder / "unpacked"), "PIP_NO_INDEX": "1"}
        # Python writes the bytecode that is needed.
        os.environ["PIP_NO_COMPILE"] = "1"
        # As on a machine where nothing else is installed.
        try_program(sys.executable, "-I", "-S", zipapp, package=package, environment=cache)
        wheel = check_archives(folder / "archives", package)
        try_program(PROGRAMS / "uvx", "--from", f"{wheel}[cli]", "krm-merge", package=package)
        homes = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
        pipx = (PROGRAMS / "pipx", "run", "--spec", f"{wheel}[cli]", "krm-merge")
        try_program(*pipx, package=package, environment=homes)
        if shutil.which("git"):
            check_pre_commit(folder, package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
