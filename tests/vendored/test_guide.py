"""The guide of vendored manifests does what it says, with releases and charts of 200 resources.

Each section is a session of its own. `curl` and `helm` are stand-ins that print generated manifests.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS
from generated.manifests import chart, release
from krm_merge.packages import Vendorfile

GUIDE = (ROOT / "docs" / "guides" / "vendored.md").read_text(encoding="utf-8")
CONSOLE_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
SECTIONS = {title: body for title, _, body in (part.partition("\n") for part in GUIDE.split("\n## ")[1:])}

CURL = """\
#!/bin/sh
for url in "$@"; do :; done
version=$(printf %s "$url" | sed 's|.*/shop/v\\([12]\\)/install.yaml|\\1|')
case $1 in *O*) exec > install.yaml;; esac
cat "$MANIFESTS/release-$version"
"""
HELM = """\
#!/bin/sh
for version in "$@"; do :; done
cat "$MANIFESTS/chart-${version%.0.0}"
"""


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """An empty repository, and the environment of a machine on which upstream can be fetched and rendered."""
    programs, manifests, repository = tmp_path / "bin", tmp_path / "manifests", tmp_path / "repository"
    for folder in (programs, manifests, repository):
        folder.mkdir()
    for version in (1, 2):
        (manifests / f"release-{version}").write_text(release(version))
        (manifests / f"chart-{version}").write_text(chart(version))
    ours = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m krm_merge "$@"\n'
    for name, text in {"curl": CURL, "helm": HELM, "krm-merge": ours}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "KRM_"))}
    env |= {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "fn"), "MANIFESTS": str(manifests)}
    env |= {f"GIT_{who}_{what}": "we" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C.UTF-8"}
    subprocess.run(["git", "init", "--quiet", repository], check=True, env=env)
    return repository, env


@pytest.mark.parametrize("title", [title for title, body in SECTIONS.items() if CONSOLE_BLOCK.search(body)])
def test_the_guide_prints_what_it_shows(title: str, machine: tuple[Path, dict[str, str]]) -> None:
    repository, env = machine
    for step in (
        step for block in CONSOLE_BLOCK.findall(SECTIONS[title]) for step in block.split("$ ", 1)[1].split("\n$ ")
    ):
        command, _, expected = step.partition("\n")
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=repository,
            env=env,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            text=True,
        )
        printed = run.stdout + run.stderr
        assert run.returncode == 0, f"$ {command}\n{printed}"
        pattern = "".join("(?s:.*)" if line == "..." else re.escape(line + "\n") for line in expected.splitlines())
        assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}"


def test_the_inputs_have_200_resources() -> None:
    assert len(list(yaml.safe_load_all(release(2)))) >= 200
    assert len([document for document in yaml.safe_load_all(chart(2)) if document]) >= 200


def test_the_vendorfile_of_the_guide_is_valid() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", SECTIONS["The Vendorfile"], re.MULTILINE | re.DOTALL)
    value: dict[str, Any] = yaml.safe_load(block)
    Vendorfile.model_validate(value)
    documented = set(re.findall(r"^\| `(\w+)` \|", SECTIONS["The Vendorfile"], re.MULTILINE))
    assert documented == Vendorfile.model_fields.keys() - {"apiVersion", "kind", "metadata"}
