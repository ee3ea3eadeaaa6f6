"""The docs say what the code does: rules exist, examples hold, fields are described, sessions print what they show.

Sessions (`console` blocks) of README.md and all pages in docs/ are run; `WRITE_GOLDEN_OUTPUT=1` rewrites what they
print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Literal

import click
import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge import merge_packages
from krm_merge.merge.decisions.policy import OnConflict
from packages import repositories
from pages import examples, refuse_unknown_options

CONSOLE_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ ", re.MULTILINE)


# ---- examples of the rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_conflict", ["upstream", "local"])
@pytest.mark.parametrize(("rule", "cells"), list(examples()))
def test_examples_of_the_rules_hold(rule: str, cells: Sequence[str], on_conflict: OnConflict) -> None:
    name, head = ("Kptfile", KPTFILE_HEAD) if "pipeline" in cells[0] else ("values.yaml", "")
    *sides, merged = (cell.removeprefix("smart: ").strip("`") for cell in cells)
    original, upstream, local = ({name: f"{head}{body_of(side)}".encode()} for side in sides)
    identity: Literal["smart", "document"] = "smart" if cells[-1].startswith("smart: ") else "document"
    done = merge_packages(original, upstream, local, on_conflict=on_conflict, function_identity=identity)
    in_question = [record for record in done.records if record.status != "automatic"]
    if merged == "*conflict*":
        assert in_question
    else:
        assert not in_question
        assert yaml.safe_load(done.files[name]) == yaml.safe_load(head + body_of(merged)), rule


KPTFILE_HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"


def body_of(cell: str) -> str:
    """A mapping in one line as a file: what follows the head of a Kptfile has no brackets around it."""
    return cell[1:-1] + "\n" if cell.startswith("{pipeline") else cell + "\n"


# ---- sessions on the command line ------------------------------------------------------------------------------------

ADDRESS = "https://git.example.com/packages"
KPTFILE = """\
    apiVersion: kpt.dev/v1
    kind: Kptfile
    metadata:
      name: web
    pipeline:
      mutators:
      - image: gcr.io/kpt-fn/set-labels:v0.1
        configMap:
          app: web
    """
DEPLOYMENT = indent(repositories.DEPLOYMENT, "    ")
SERVICE = indent(repositories.SERVICE, "    ")
# As `kpt pkg get` writes it.
NOTED_DEPLOYMENT = DEPLOYMENT.replace(
    "metadata:\n      name: web\n",
    "metadata: # kpt-merge: /web\n      name: web\n      annotations:\n"
    "        internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web'\n",
)
UPSTREAM = """
    upstream:
      type: git
      git:
        repo: {address}
        directory: /{package}
        ref: v1
      updateStrategy: resource-merge
    upstreamLock:
      type: git
      git:
        repo: {address}
        directory: /{package}
        ref: v1
        commit: {commit}
    """
VERSIONS = {
    "v1": {"Kptfile": KPTFILE, "deployment.yaml": DEPLOYMENT},
    "v2": {
        "Kptfile": KPTFILE.replace("v0.1", "v0.2"),
        "deployment.yaml": DEPLOYMENT.replace("1.25", "1.27").replace("replicas: 1", "replicas: 2"),
        "service.yaml": SERVICE,
    },
    "v3": {
        "Kptfile": KPTFILE.replace("v0.1", "v0.2"),
        "deployment.yaml": DEPLOYMENT.replace("1.25", "1.28").replace("replicas: 1", "replicas: 2"),
        "service.yaml": SERVICE,
    },
}


@dataclass(frozen=True)
class ShownPackage:
    """What upstream published of a package, and its Deployment as kpt fetched it and as somebody edited it."""

    name: str
    versions: Mapping[str, dict[str, str]]
    fetched: str
    edited: str


def example() -> ShownPackage:
    """The package of the beginning of README.md and of `make demo`."""
    folder = ROOT / "examples" / "update"
    kptfile = (folder / "local.Kptfile").read_text(encoding="utf-8")
    texts = {at: (folder / at / "deployment.yaml").read_text(encoding="utf-8") for at in ("v1", "v2", "v3", "yours")}
    versions = {at: {"Kptfile": kptfile, "deployment.yaml": texts[at]} for at in ("v1", "v2", "v3")}
    return ShownPackage("blog", versions, texts["v1"], texts["yours"])


WEB = ShownPackage("web", VERSIONS, NOTED_DEPLOYMENT, NOTED_DEPLOYMENT.replace("replicas: 1", "replicas: 5"))


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")


class Shell:
    """A machine with the package that a session speaks of; every commit has the same id everywhere."""

    def __init__(self, place: Path, package: ShownPackage) -> None:
        home, programs, upstream = place / "home", place / "bin", place / "packages"
        self.directory = place / "deploy"
        for folder in (home, programs, upstream, self.directory):
            folder.mkdir()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "KRM_", "XDG_"))}
        self.env |= {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "fn")}
        self.env |= {f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")}
        self.env |= {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
        (home / ".gitconfig").write_text(
            "[user]\nname = We\nemail = we@example.com\n[init]\ndefaultBranch = main\n"
            f'[url "file://{upstream}"]\ninsteadOf = {ADDRESS}\n'
        )
        program = programs / "krm-merge"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m krm_merge "$@"\n')
        program.chmod(0o755)
        self._git(upstream, "init", "--quiet")
        for version, files in package.versions.items():
            write(upstream / package.name, files)
            write(self.directory / version, files)
            self._commit(upstream, version)
            self._git(upstream, "tag", version)
        self._git(self.directory, "init", "--quiet")
        (self.directory / ".git" / "info" / "exclude").write_text("/v[123]/\n/examples\n")
        (self.directory / "examples").symlink_to(ROOT / "examples")
        commit = self._git(upstream, "rev-parse", "v1").strip()
        origin = dedent(UPSTREAM).format(address=ADDRESS, package=package.name, commit=commit)
        kptfile = dedent(package.versions["v1"]["Kptfile"]).replace(
            f"  name: {package.name}\n", f"  name: {package.name}{origin}", 1
        )
        write(self.directory / package.name, {"Kptfile": kptfile, "deployment.yaml": package.fetched})
        self._commit(self.directory, f"{package.name} v1")
        write(self.directory / package.name, {"deployment.yaml": package.edited})
        self._commit(self.directory, "more replicas")

    def outputs(self, commands: Sequence[str]) -> list[str]:
        """What each command of a session prints, on stdout and stderr."""
        # The marks between them leave $? as it is.
        mark = "status=$?; printf '\\0'; (exit $status)"
        script = "".join(f"{mark}\n{command}\n" for command in commands)
        run = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=SECONDS,
        )
        return run.stdout.decode().split("\0")[1:]

    def _commit(self, repository: Path, message: str) -> None:
        self._git(repository, "add", "--all")
        self._git(repository, "commit", "--quiet", f"--message={message}")

    def _git(self, repository: Path, *arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=repository, env=self.env, capture_output=True, check=True, text=True).stdout


# These have packages of their own, and a test beside the code.
TESTED_ELSEWHERE = {"docs/guides/vendored.md"}


def sessions() -> Iterator[Any]:
    """The sections of the pages that show commands, each a session of its own."""
    pages = {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md")}
    for page in ("README.md", *sorted(pages - TESTED_ELSEWHERE)):
        for section in (ROOT / page).read_text(encoding="utf-8").split("\n## ")[1:]:
            if CONSOLE_BLOCK.search(section):
                marks = [pytest.mark.kpt] if re.search(r"^\$ (kpt|krm-merge compare) ", section, re.MULTILINE) else []
                yield pytest.param(page, section, id=f"{page}, {section.partition(chr(10))[0]}", marks=marks)


def as_printed(expected: str, printed: str) -> bool:
    """Whether this was printed; a line `...` stands for any lines."""
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in expected.splitlines(keepends=True))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize(("page", "section"), list(sessions()))
def test_sessions_print_what_the_docs_show(page: str, section: str, tmp_path: Path) -> None:
    steps = [step for block in CONSOLE_BLOCK.findall(section) for step in PROMPT.split(block)[1:]]
    commands, expected = zip(*(split_step(step) for step in steps), strict=True)
    shell = Shell(tmp_path, example() if "blog@" in section else WEB)
    printed = shell.outputs([command.replace("\n> ", "\n") for command in commands])
    if os.environ.get("WRITE_GOLDEN_OUTPUT"):
        rewrite(page, section, [(command, *texts) for command, *texts in zip(commands, expected, printed, strict=True)])
        return
    for command, old, new in zip(commands, expected, printed, strict=True):
        assert as_printed(old, new), f"$ {command}\n{new}"


def rewrite(page: str, section: str, steps: list[tuple[str, str, str]]) -> None:
    """Puts what each command printed in the place of what the page says it prints."""
    done, rest = "", section
    for command, old, new in steps:
        before, prompt, rest = rest.partition(f"$ {command}\n{old}")
        assert prompt
        done += f"{before}$ {command}\n{old if as_printed(old, new) else new}"
    text = (ROOT / page).read_text(encoding="utf-8")
    (ROOT / page).write_text(text.replace(section, done + rest), encoding="utf-8")


def split_step(step: str) -> tuple[str, str]:
    """The command, which goes on in lines that start with `> `, and its output."""
    lines = step.splitlines(keepends=True)
    more = next((number for number, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
    return "".join(lines[:more]).rstrip("\n"), "".join(lines[more:])


# ---- examples of --help ----------------------------------------------------------------------------------------------

EXAMPLE = re.compile(r"^  Example:  (.*?(?:\\\n.*)?)$", re.MULTILINE)
SETTING = re.compile(r"^    git config .*?(?:\\\n.*)?$", re.MULTILINE)
TEAMS = (
    "for team in a b; do mkdir -p teams/$team && cp -r web teams/$team/web; done; git add teams; git commit -qm teams"
)
BRANCHES = (
    "echo '*.yaml merge=krm' > .gitattributes; git add .; git commit -qm before; git switch -qc other; "
    "sed -i 's/: 5/: 6/' web/deployment.yaml; git commit -qam six; git switch -q main; "
)
BOTH_CHANGED = f"{BRANCHES}sed -i 's/: 5/: 7/' web/deployment.yaml; git commit -qam seven; git merge -q other"
BEFORE = {
    "components": f"cp -r {ROOT}/examples/components-parent-image app",
    "transform": "mkdir plugins",
    "check": "mkdir environments; cp -r web environments/web",
    "names": "mkdir environments; cp -r web environments/web",
    "status": "mkdir environments; cp -r web environments/web",
    "resolve": "answers=l",
    "fleet": f"{TEAMS}; git init -q --bare origin.git; git remote add origin $PWD/origin.git; git push -q origin main; "
    f"krm-merge fleet init web-v2 --to v2 --packages 'teams/*' --upstream {ADDRESS}/web",
    "mergetool": BOTH_CHANGED + "; git config mergetool.krm.cmd "
    """'krm-merge mergetool --terminal -- "$BASE" "$LOCAL" "$REMOTE" "$MERGED"'; answers=u""",
    "merge-driver": f"{BRANCHES}sed -i 's/1.25/1.26/' web/deployment.yaml; git commit -qam image; git switch -q other",
    "completion": "mkdir -p ~/.local/share/bash-completion/completions",
}
"""What makes the scene that an example needs, in the repository of the sessions."""
WITH_CONFLICTS = {"update", "fleet"}
"""Commands whose example stops at the conflict of the package."""


def help_texts(name: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of those in it, at 80 columns."""
    from krm_merge.cli.app import app

    pending = [(name, app.get_command(click.Context(app), name))]
    for path, command in pending:
        assert command is not None
        yield path, command.get_help(click.Context(command, info_name=f"krm-merge {path}", terminal_width=80))
        if isinstance(command, click.Group):
            pending += [(f"{path} {inner}", part) for inner, part in command.commands.items()]


def commands_with_help() -> Iterator[Any]:
    from krm_merge.cli.help_pages import COMMANDS as NAMES

    return (pytest.param(name, marks=[pytest.mark.kpt] if name == "compare" else []) for name in NAMES)


@pytest.mark.parametrize("name", list(commands_with_help()))
def test_every_help_has_an_example_that_runs(name: str, tmp_path: Path) -> None:
    commands: list[str] = []
    examples_by_path = {}
    for path, text in help_texts(name):
        assert max(map(len, text.splitlines())) <= 80
        example, *_ = EXAMPLE.findall(text) or [""]
        assert example, f"krm-merge {path} --help has no example"
        if " " in path:
            # Each of these needs several commands before it.
            refuse_unknown_options(shlex.split(example.replace("\\\n", " "))[1:])
            continue
        commands += [*SETTING.findall(text), BEFORE.get(path, ""), f"printf '%s\\n' $answers | {example}; echo exit $?"]
        examples_by_path[path] = len(commands) - 1
    printed = Shell(tmp_path, WEB).outputs(commands)
    for path, number in examples_by_path.items():
        code = 1 if path in WITH_CONFLICTS else 0
        assert printed[number].endswith(f"exit {code}\n"), f"$ {commands[number]}\n{printed[number]}"
