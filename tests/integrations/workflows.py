"""Runs the scripts of CI recipes where there is no forge: with files and programs in the place of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from checkout import ROOT
from e2e.hosts import GIT_ENVIRONMENT, SECONDS, git
from packages.repositories import Repository, config_map, kptfile

# Of git's settings, the scripts have none but their own.
NO_SETTINGS = {name: value for name, value in GIT_ENVIRONMENT.items() if name.startswith("GIT_CONFIG_")}
# Records its arguments, and the input where it reads that; answers as FAKE_OPEN says.
FAKE_PROGRAM = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$FAKE_CALLS"
case " $* " in *" --field sarif=@- "*) base64 -d | gzip -dc >> "$FAKE_CALLS.stdin" ;; esac
case "$1 $2" in "pr list") printf '%s' "$FAKE_OPEN" ;; esac
"""


@dataclass(frozen=True)
class World:
    """A clone with the package `web` at v1, its origin, and an upstream with v2, which changes `replicas` and `tag`."""

    folder: Path
    clone: Path
    origin: Path

    @classmethod
    def create(cls, folder: Path, *, replicas: str = "1") -> World:
        upstream = Repository.at(folder / "upstream")
        first = upstream.version("v1", {"Kptfile": kptfile("."), "a.yaml": config_map("a", replicas="'1'", tag="'1'")})
        upstream.version("v2", {"a.yaml": config_map("a", replicas="'2'", tag="'2'")})
        local = Repository.at(folder / "local")
        local.commit(
            {
                "web/Kptfile": kptfile(upstream.path, commit=first),
                "web/a.yaml": config_map("a", replicas=f"'{replicas}'", tag="'1'"),
            }
        )
        origin = local.bare(folder / "origin.git").path
        git(folder, "clone", "--quiet", str(origin), "clone")
        return cls(folder, folder / "clone", origin)

    def branch(self, name: str, file: str = "web/a.yaml") -> str:
        """A file on a branch of the origin."""
        return git(self.origin, "show", f"{name}:{file}")

    def fake_program(self, name: str) -> None:
        """A program that records how it is called, in `calls`."""
        program = self.folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE_PROGRAM, encoding="utf-8")
        program.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def run(self, script: str, environment: Mapping[str, str], shell: str = "bash") -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        fakes = {"FAKE_CALLS": str(self.folder / "calls"), "FAKE_OPEN": "", "PATH": path, "HOME": str(self.folder)}
        return subprocess.run(
            [shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.clone,
            capture_output=True,
            check=False,
            env={**NO_SETTINGS, **fakes, **environment},
            text=True,
            timeout=SECONDS,
        )


@dataclass
class Action:
    """The composite action of the repository, run step by step. `files` are those that steps of a runner write to."""

    world: World
    inputs: dict[str, str]
    context: dict[str, str]

    @classmethod
    def with_inputs(cls, world: World, **inputs: str) -> Action:
        defaults = {
            name: str(definition_of_input.get("default", ""))
            for name, definition_of_input in definition()["inputs"].items()
        }
        values = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert values.keys() <= defaults.keys()
        temporary = world.folder / "runner"
        temporary.mkdir()
        reports = temporary / "reports"
        reports.mkdir()
        return cls(world, defaults | values, {"steps.install.outputs.reports": str(reports)})

    @property
    def reports(self) -> Path:
        return Path(self.context["steps.install.outputs.reports"])

    @property
    def summary(self) -> str:
        file = self.world.folder / "runner" / "summary"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def run(self, **environment: str) -> tuple[int, str]:
        """Runs the steps after the installation whose conditions hold; the exit code of the job, and its output."""
        printed = ""
        for step in definition()["runs"]["steps"]:
            if step.get("id") == "install" or not self.holds(step.get("if", "true")):
                continue
            output = self.world.folder / "runner" / "output"
            output.write_text("", encoding="utf-8")
            variables = {name: self.fill(value) for name, value in step.get("env", {}).items()}
            runner = {
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.world.folder / "runner" / "summary"),
                "GITHUB_REPOSITORY": "example/shop",
                "GITHUB_SERVER_URL": "https://github.example.com",
                "GITHUB_RUN_ID": "1",
                "GITHUB_REF": "refs/heads/main",
                "GITHUB_REF_NAME": "main",
                "GITHUB_SHA": "a" * 40,
            }
            done = self.world.run(step["run"], {**runner, **variables, **environment})
            printed += done.stdout + done.stderr
            for line in output.read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                self.context[f"steps.{step['id']}.outputs.{name}"] = value
            if done.returncode != 0:
                return done.returncode, printed
        return 0, printed

    def value(self, name: str) -> str:
        """The value of a name in an expression; what no step set is empty."""
        return self.inputs[name.removeprefix("inputs.")] if name.startswith("inputs.") else self.context.get(name, "")

    def fill(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: self.value(match[1]), text)

    def holds(self, condition: str) -> bool:
        """A condition of comparisons, `&&`, `||` and parentheses."""
        python = re.sub(r"[\w-]+(?:\.[\w-]+)+", lambda match: repr(self.value(match[0])), condition)
        return bool(eval(python.replace("&&", " and ").replace("||", " or "), {"true": True}))


def definition() -> dict[str, Any]:
    """The action, as it is written."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return loaded
