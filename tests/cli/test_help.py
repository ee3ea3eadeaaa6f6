"""What people look up: the screen of `--help`, pages and rules, names that they misspell, completion in their shell."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from e2e.hosts import SECONDS
from krm_merge.cli.app import app, main
from krm_merge.cli.help_pages import (
    COMMANDS,
    FUNCTIONS,
    PAGES,
    PAGES_WITH_RULES,
    overview,
    page_of_rule,
)
from krm_merge.report import FORMS

ROOT = Path(__file__).resolve().parent.parent.parent
NUMBER = re.compile(r"(?:[VLFKRWPTMCIS]|CR)[0-9]{1,2}")


def call(*arguments: str, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The program as a shell starts it, without a terminal; `code` runs before it."""
    start = f"import runpy, sys\n{code}\nsys.argv[0] = 'krm-merge'\nrunpy.run_module('krm_merge', run_name='__main__')"
    command = [sys.executable, "-c", start, *arguments]
    env = os.environ | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS, check=False, input="")


# ---- options ---------------------------------------------------------------------------------------------------------


def options_called(option: str, command: click.Command, path: str) -> Iterator[tuple[str, click.Parameter]]:
    """The options of this name, of a command and of those in it, each with the command that has it."""
    yield from ((path, parameter) for parameter in command.params if option in parameter.opts)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from options_called(option, inner, f"{path} {name}")


def test_every_command_with_reports_takes_every_form() -> None:
    commands = {name: app.get_command(click.Context(app), name) for name in COMMANDS}
    reports = dict(
        pair for name, command in commands.items() if command for pair in options_called("--report", command, name)
    )
    # What becomes of targets is no report of a merge.
    del reports["fleet status"]
    assert {"update", "merge", "diff", "fleet conflicts"} == reports.keys()
    files = tuple(Path(f"report{suffix}") for suffix in FORMS)
    for option in reports.values():
        assert option.callback is not None
        assert option.callback(click.Context(app), option, files) == files


# ---- one screen --------------------------------------------------------------------------------------------------


def test_help_fits_on_one_screen() -> None:
    lines = overview(80).splitlines()
    assert 24 <= len(lines) <= 40
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_lists_every_command_and_function_within_the_terminal(width: int) -> None:
    screen = overview(width)
    assert max(map(len, screen.splitlines())) <= width
    names = {line.split()[0] for line in screen.splitlines() if line.startswith("  ")}
    assert {*COMMANDS, *FUNCTIONS} <= names


def test_help_is_the_same_wherever_it_is_asked_for() -> None:
    screens = [call(flag, COLUMNS="80") for flag in ("--help", "help")]
    assert {(done.returncode, done.stdout, done.stderr) for done in screens} == {(0, overview(80), "")}


def test_help_needs_no_extra() -> None:
    done = call("help", code="sys.modules['click'] = sys.modules['rich'] = None")
    assert (done.returncode, done.stderr) == (0, "")
    assert "update" in done.stdout


def test_a_command_says_what_to_install() -> None:
    done = call("update", "web", code="sys.modules['click'] = None")
    assert (done.returncode, done.stdout) == (2, "")
    install = "in a checkout, install them with: pip install '.[cli]'"
    assert done.stderr == f"krm-merge update needs the command line tools; {install}\n"


# ---- pages -------------------------------------------------------------------------------------------------------


def test_a_wheel_carries_every_page() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {f"docs/{page}": f"krm_merge/docs/{page}" for page in PAGES_WITH_RULES}.items() <= included.items()


def test_a_rule_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "t5"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("### T5. ")
    assert "### T6" not in out


def rules_of_results() -> set[str]:
    """The rules that code may write into a result: texts that are numbers of rules, and what is given as `rule`."""
    rules: set[str] = set()
    for file in sorted((ROOT / "fn").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "rule" and isinstance(node.value, ast.Constant):
                rules.add(str(node.value.value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NUMBER.fullmatch(node.value):
                rules.add(node.value)
    return rules - {""}


def test_every_rule_of_a_result_has_one_page() -> None:
    """A number means one rule, whatever function wrote it."""
    rules = rules_of_results()
    assert {"V4", "P4", "T5", "CR4", "CR21", "C9", "I5", "S3", "G"} <= rules
    pages = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES_WITH_RULES]
    for rule in sorted(rules):
        assert page_of_rule(rule).startswith(f"### {rule}. ") or page_of_rule(rule).startswith(f"## {rule}. ")
        places = [place for page in pages for place in re.findall(rf"(?m)^(?:#+ {rule}\. |\| {rule} \| )", page)]
        assert len(places) == 1, (rule, places)


def test_a_rule_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "update"]) == 3
    remedy = f"{PAGES} lists them, and commands explain themselves with --help"
    assert capsys.readouterr().err == f"error no rule has the number UPDATE; {remedy}\n"


# ---- names that are not there ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["udpate", "web"], "No such command 'udpate'. Did you mean 'update'?"),
        (["update", "web", "--dry-rn"], "No such option '--dry-rn'. Did you mean '--dry-run'?"),
        (["fleet", "statu"], "No such command 'statu'. Did you mean 'status'?"),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["version"], "No such command 'version'. krm-merge --version prints the version."),
    ],
)
def test_the_nearest_name_is_named(arguments: list[str], nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"Error: {nearest}"


# ---- errors for programs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status", "--format", "json", "missing"], 3, "missing: there is no such directory"),
        (["components", "plan", "missing", "--format=json"], 3, "missing: there is no such directory"),
        (["fleet", "status", "missing", "--format", "json"], 3, "missing/campaign.yaml"),
        (["transform", "list-plugins", "--format", "json", "--plugin"], 2, "No such option '--plugin'"),
        (["fleet", "statu", "--format", "json"], 2, "No such command 'statu'. Did you mean 'status'?"),
    ],
)
def test_errors_are_json_where_json_was_asked_for(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert main(arguments) == code
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["severity"] == "error"
    assert result["message"].startswith(message)


def test_an_error_is_printed_as_json_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["update", f"{tmp_path}/missing", "--format", "json"]) == 3
    assert list(json.loads(capsys.readouterr().out)) == ["results"]


# ---- options mean the same everywhere ----------------------------------------------------------------------------


def every_option() -> Iterator[tuple[str, click.Option]]:
    pending = [(name, app.get_command(click.Context(app), name)) for name in COMMANDS]
    for name, command in pending:
        assert command is not None
        if isinstance(command, click.Group):
            pending += [(f"{name} {inner.name}", inner) for inner in command.commands.values()]
        yield from ((name, option) for option in command.params if isinstance(option, click.Option))


# They differ in what can be chosen.
WITH_OTHER_CHOICES = {"--on-conflict", "--format", "--type"}


def test_an_option_has_one_form_everywhere() -> None:
    forms: dict[str, set[tuple[object, ...]]] = {}
    for _, option in every_option():
        form = (type(option.type), option.is_flag, option.multiple, option.metavar, *option.opts)
        forms.setdefault(max(option.opts, key=len), set()).add(form)
    assert {name for name, choices in forms.items() if len(choices) > 1} <= WITH_OTHER_CHOICES


def test_every_option_has_a_description() -> None:
    assert [f"{name} {option.opts[0]}" for name, option in every_option() if not option.help] == []


# ---- completion --------------------------------------------------------------------------------------------------

SCRIPTS = {
    "bash": """\
source {script}
COMP_WORDS=({words}) COMP_CWORD={last}
_krm_merge_completion krm-merge
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """\
compdef() {{ }}
compadd() {{ print -l -- $completions }}
_describe() {{ print -l -- $completions_with_descriptions }}
source {script}
words=({words}) CURRENT={last}+1
_krm_merge_completion
""",
    "fish": "source {script}\ncomplete --do-complete '{line}'\n",
}


@pytest.mark.parametrize(
    ("shell", "line", "expected"),
    [
        ("bash", "krm-merge up", "update"),
        ("bash", "krm-merge update --dry", "--dry-run"),
        pytest.param("zsh", "krm-merge completion z", "zsh", marks=pytest.mark.shells),
        pytest.param("fish", "krm-merge up", "update", marks=pytest.mark.shells),
    ],
)
def test_the_shell_completes(
    shell: str, line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "krm-merge"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m krm_merge "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out, encoding="utf-8")
    words = line.split()
    code = SCRIPTS[shell].format(script=tmp_path / "script", words=line, last=len(words) - 1, line=line)
    command = [shell, "-c", code]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert expected in answer.stdout.replace("\t", "\n").replace(":", "\n").splitlines(), answer.stderr
