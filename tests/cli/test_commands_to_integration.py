"""What continuous integration reads line by line holds none of its commands, whatever files are called."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from e2e.in_process import krm_merge
from krm_merge.safe_text import json_text, line, lines, terminal_line
from packages.repositories import config_map, write

COMMANDS = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
"""As GitHub Actions, Azure Pipelines and TeamCity look for them."""
NAMES = [
    "::stop-commands::x",
    " ::add-mask::x",
    "##[add-path]x",
    "a ##vso[task.setvariable variable=x]y",
    "##teamcity[x]",
]


@pytest.mark.parametrize(
    "name", [*NAMES, "\u00a0::x::", "\u3000::x::", "a\n::set-env name=x::y", "a\r\n ::x", "####[x]", ":::"]
)
def test_no_text_that_is_made_safe_is_a_command(name: str) -> None:
    for safe in (line, lines, terminal_line):
        assert not COMMANDS.search(safe(name)), safe
    assert not COMMANDS.search(json_text({"a": name}, indent=2))
    assert json.loads(json_text({name: name})) == {name: name}


@pytest.mark.parametrize(
    "text", ["a::b", "x: ::y", "# [a](b)", "## a [b]", "https://[::1]/x", "a:b", "#[derive]", "#a #[b]"]
)
def test_what_is_no_command_stays(text: str) -> None:
    assert line(text) == terminal_line(text) == lines(text) == text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "command",
    [
        "check .",
        "check . --format json",
        "status .",
        "merge o u l --in-place",
        "merge o u l --in-place --format json",
        "merge o u l --in-place --on-conflict local",
        "names .",
        "diff o u",
        "update .",
    ],
)
def test_no_command_prints_one(tmp_path: Path, name: str, command: str) -> None:
    broken = {f"{name}/f.yaml": "a: [\n", f"{name}.yaml": "a: b\n<<<<<<< ours\n"}
    policy = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: x\nrules:\n- {kind: Nothing}\n"
    for side, value in (("o", "1"), ("u", "2"), ("l", "3")):
        write(tmp_path / side, {**broken, f"{name}/c.yaml": config_map("a", b=value), "Kptfile": "kind: Kptfile\n"})
    write(tmp_path, {**broken, f"{name}-policy.yaml": policy, f"{name}/Kptfile": "kind: Kptfile\n"})
    done = krm_merge(*command.split(), cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert not COMMANDS.search(done.stdout + "\n" + done.stderr), done.stdout + done.stderr
