"""Nothing is published: no command uses a name that somebody else could own, and what it needs is in a checkout.

That is targets of make, files, and images that make builds. docs/releasing.md says what will change.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest

from checkout import ROOT
from e2e.hosts import git
from krm_merge.cli.app import app
from krm_merge.cli.commands.settings import IMAGE

# The page that lists what the names will be; the history of changes.
ABOUT_NAMES = {"docs/releasing.md", "CHANGELOG.md"}
OTHERS = {
    "an image": r"ghcr\.io/krm-merge",
    "an action": r"uses: *krm-merge/",
    "a preset": r"github>krm-merge",
    "a repository": r"(?:\bclone|pkg get|repo:|--from|git\+\S*|--upstream) *['\"]?(?:git\+)?https?://[\w.]+/krm-merge/",
    "a file on a forge": r"(?:remote: *|schema=|curl[^\n]*)https?://raw\.githubusercontent\.com/krm-merge",
}
INSTALLERS = re.compile(r"\b(pip install|pipx install|pipx run|uv tool install|uvx|uv pip install)\b([^\n`]*)")
NAMED_AFTER = ("--spec", "--from")
SHELL_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md"]
FUNCTIONS = {folder.name for folder in (ROOT / "integrations" / "functions" / "python").iterdir()}
# What the pages run besides krm-merge, make, docker, kpt and installers; none of it comes from this project.
PROGRAMS = {"cat", "cd", "check-jsonschema", "cp", "do", "done", "export", "git", "jq", "kubectl", "mkdir", "printf"}
PROGRAMS |= {"python3", "python3.13", "tar", "while"}
OPERATORS = re.compile(r"[|&;()]+")


def texts() -> Iterator[tuple[str, str]]:
    for name in git(ROOT, "ls-files", "-z").split("\0")[:-1]:
        path = ROOT / name
        if name.startswith(("tests/", "testdata/")) or name in ABOUT_NAMES or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            yield name, data.decode("utf-8", "replace")


def requirements(line: str) -> Iterator[str]:
    """What a line installs, by name or path."""
    for match in INSTALLERS.finditer(line):
        words = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+", match[2].partition("#")[0])
        words = [word.strip("'\"") for word in words]
        if match[1] in ("pipx run", "uvx"):
            after = [at + 1 for at, word in enumerate(words) if word in NAMED_AFTER]
            yield from (words[at] for at in (after or range(1)) if at < len(words))
            continue
        for word in words:
            if OPERATORS.fullmatch(word):
                break
            if not word.startswith("-"):
                yield word


@pytest.mark.parametrize("kind", OTHERS)
def test_no_text_uses_a_name_of_somebody_else(kind: str) -> None:
    pattern = re.compile(OTHERS[kind])
    names = [f"{name}: {match[0]}" for name, text in texts() for match in pattern.finditer(text)]
    assert names == []


def test_nothing_is_installed_by_a_name_on_an_index() -> None:
    name = re.compile(r"krm[-_.]merge(?![\w.-]*\.(?:whl|pyz|tar))", re.IGNORECASE)
    installations = [
        f"{file}: {requirement}"
        for file, text in texts()
        for requirement in requirements(text)
        if name.match(requirement)
    ]
    assert installations == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pip install 'krm-merge[cli]'", ["krm-merge[cli]"]),
        ("python -m pip install --quiet '.[cli]'   # krm-merge", [".[cli]"]),
        ("uvx --from 'krm-merge[cli]' krm-merge update web", ["krm-merge[cli]"]),
        ("uvx --from '.[cli]' krm-merge update web", [".[cli]"]),
        ("uvx krm-merge update web", ["krm-merge"]),
        ("pip install . && krm-merge update", ["."]),
    ],
)
def test_how_it_is_found_what_a_line_installs(line: str, words: list[str]) -> None:
    assert list(requirements(line)) == words


# ---- commands of the pages -------------------------------------------------------------------------------------------


def pages() -> list[str]:
    names = (name for name, _ in texts() if name.endswith(".md"))
    return [name for name in names if name in PAGES or name.startswith(("docs/", "examples/"))]


def commands_in(block: str) -> Iterator[list[str]]:
    """The words of each command of a script, without what is in quotes or comes after a pipe into something else."""
    for line in block.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not OPERATORS.fullmatch(word):
                words.append(word)
                continue
            if words:
                yield words
            words = []


def shell_commands() -> Iterator[Any]:
    for page in pages():
        for block in SHELL_BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            if block.startswith("#!"):
                continue
            for words in commands_in(block):
                yield pytest.param(page, words, id=f"{page}: {' '.join(words)}"[:120])


def is_ours(image: str) -> bool:
    """Whether make builds an image of this name."""
    name = image.removeprefix("localhost/").removesuffix(":dev")
    return image == IMAGE or (name in FUNCTIONS and image == f"localhost/{name}:dev")


def refuse_unknown_options(words: list[str]) -> None:
    """Raises UsageError where a command of krm-merge, or an option of it, does not exist."""
    redirected = [at for at, word in enumerate(words) if word in ("<", ">", ">>")]
    words = words[: redirected[0]] if redirected else words
    command: click.Command = app
    context = click.Context(command)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        subcommand = command.get_command(context, words[0])
        assert subcommand is not None, words[0]
        command, context, words = subcommand, click.Context(subcommand, parent=context), words[1:]
    if not context.ignore_unknown_options:
        command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize(("page", "words"), list(shell_commands()))
def test_a_command_of_a_page_finds_what_it_needs_in_a_checkout(page: str, words: list[str]) -> None:
    program = words[0].rpartition("/")[2]
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert words[1] in targets
    elif program == "docker":
        text = (ROOT / page).read_text(encoding="utf-8")
        tags = re.findall(r"docker build[^\n]*--tag (\S+)", text)
        images = [word for word in words[2:] if re.fullmatch(r"[\w.-]+/[\w./-]+:[\w.-]+", word)]
        assert images
        assert [image for image in images if not is_ours(image) and image not in tags] == []
        files = [words[at + 1] for at, word in enumerate(words) if word == "--file"]
        assert [file for file in files if not (ROOT / file).is_file()] == []
    elif program == "kpt":
        images = [words[at + 1] for at, word in enumerate(words) if word == "--image"]
        built = re.findall(r"docker build[^\n]*--tag (\S+)", (ROOT / page).read_text(encoding="utf-8"))
        assert [image for image in images if not is_ours(image) and image not in built] == []
    elif program == "krm-merge":
        refuse_unknown_options(words[1:])
    elif program == "cp" and words[-2].startswith("examples/"):
        assert (ROOT / words[-2]).is_dir()
    elif program == "bash":
        assert (ROOT / page).parent.joinpath(words[1]).is_file()
    elif program.endswith(".sh"):
        assert list((ROOT / "examples").rglob(program))
    else:
        is_assignment = re.fullmatch(r"\w+=.*", words[0])
        assert is_assignment or program in {
            *PROGRAMS,
            "pip",
            "python",
            "python3",
            "python3.13",
            "do",
            "done",
        }, program


def test_images_have_one_name() -> None:
    metadata = (ROOT / "integrations" / "metadata.yaml").read_text(encoding="utf-8")
    assert f"image: {IMAGE.rpartition(':')[0]}\n" in metadata
    assert f"IMAGE  ?= {IMAGE}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_page_of_releasing_names_where_names_are() -> None:
    text = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    listed = text[text.index("## The day of publishing") : text.index("## A release")]
    places = re.findall(r"`((?:fn|tests|metadata|pyproject|README|docs|examples|mkdocs|Dockerfile)[\w./-]*)`", listed)
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert len(places) > 5
