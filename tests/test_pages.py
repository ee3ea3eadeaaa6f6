"""The pages: their size, their rules, links and examples, the commands that they name, and the site."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import pytest
import yaml
from mkdocs.config import load_config
from mkdocs.structure.files import Files, get_files
from pydantic import BaseModel
from tools import site_hooks

from checkout import ROOT
from e2e.hosts import git
from krm_merge.cli.commands.settings import IMAGE
from krm_merge.cli.help_pages import COMMANDS
from krm_merge.functions.models import MergePackage, PatchResources, PlanComponentUpdates, TransformResources
from pages import COMPONENTS, MERGING, PATCHES, RULES, TRANSFORM, YAML_BLOCK, refuse_unknown_options

DOCS = ROOT / "docs"
PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
PAGES += sorted(page.relative_to(ROOT).as_posix() for page in DOCS.rglob("*.md"))
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
KILOBYTES = 330
LINES_OF_README = 120


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_people_read_no_more_than_they_must() -> None:
    sizes = {page: len(text_of(page).encode()) for page in PAGES if page.startswith("docs/")}
    assert sum(sizes.values()) <= KILOBYTES * 1024, sorted(sizes.items(), key=lambda size: -size[1])[:9]
    assert text_of("README.md").count("\n") <= LINES_OF_README


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    place = ROOT / page
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", CODE.sub("", text_of(page))):
        target = (place.parent / path).resolve() if path else place
        assert target.exists(), path
        if anchor:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_files_of_examples_as_they_are(page: str) -> None:
    shown = re.findall(r"^<!-- (examples/\S+) -->\n\n```\w*\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    assert text_of(page).count("<!-- examples/") == len(shown)
    assert [name for name, excerpt in shown if excerpt != text_of(name)] == []


# ---- rules -----------------------------------------------------------------------------------------------------------

RULE = re.compile(r"\b(CR|[VLFKRWPTMCIS])([0-9]{1,2})\b(?:(?:[-\u2013]| to )\1?([0-9]{1,2})\b)?")
HEADING = re.compile(r"^### ([A-INU]|[VLFKRWPTM][0-9]{1,2})\. ", re.MULTILINE)
ROW = re.compile(r"^\| ((?:CR|[CIS])[0-9]{1,2}) \| ", re.MULTILINE)
MERGES = set(HEADING.findall(RULES + PATCHES + TRANSFORM))


def citations(text: str, letters: Sequence[str] = "VLFKRWPTM") -> set[str]:
    """The rules that a text names, those within a range included."""
    ranges = [match for match in RULE.findall(text) if match[0] in letters]
    return {f"{a}{number}" for a, first, last in ranges for number in range(int(first), int(last or first) + 1)}


def test_every_rule_that_the_code_cites_exists_and_every_rule_is_cited() -> None:
    cited: set[str] = set()
    for file in sorted((ROOT / "fn").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "component" not in str(file.relative_to(ROOT)):
            cited |= citations(text)
            assert citations(text) <= MERGES, file
        else:
            assert citations(text, ("CR", "C", "I", "S")) <= set(ROW.findall(COMPONENTS)), file
    assert {rule for rule in MERGES if len(rule) > 1} == cited


def test_rules_are_in_order_and_each_is_there_once() -> None:
    headings = HEADING.findall(RULES)
    laws = [rule for rule in headings if len(rule) == 1]
    assert headings[: len(laws)] == sorted(laws)
    for section in RULES.split("\n## "):
        numbers = [int(rule[1:]) for rule in HEADING.findall(section) if len(rule) > 1]
        assert numbers == sorted(numbers)
    assert len(headings) == len(set(headings))
    rows = ROW.findall(COMPONENTS)
    assert len(rows) == len(set(rows))


# ---- fields ----------------------------------------------------------------------------------------------------------


def fields_of(model: type[BaseModel]) -> set[str]:
    """The fields of a model and of the models in it."""
    names = {field.alias or name for name, field in model.model_fields.items()}
    pending = [field.annotation for field in model.model_fields.values()]
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            names |= fields_of(annotation)
        else:
            pending.extend(get_args(annotation))
    return names


@pytest.mark.parametrize(
    ("model", "page"),
    [
        (MergePackage, MERGING),
        (PatchResources, PATCHES),
        (TransformResources, TRANSFORM),
        (PlanComponentUpdates, COMPONENTS),
    ],
)
def test_every_field_is_documented(model: type[BaseModel], page: str) -> None:
    code = "\n".join((*YAML_BLOCK.findall(page), *CODE.findall(page)))
    assert [field for field in sorted(fields_of(model)) if not re.search(rf"\b{field}\b", code)] == []


# ---- the five documents ----------------------------------------------------------------------------------------------

STATEMENTS = {"1": 4, "2": 12, "3": 8, "4": 10, "5": 25}
"""How many statements of each document docs/design/documents.md has."""


def test_the_tests_of_every_statement_exist() -> None:
    page = text_of("docs/design/documents.md")
    rows = re.findall(r"^\| (\d)\.(\d+) \| .+ \| (\[.+) \|$", page, re.MULTILINE)
    assert [(document, int(number)) for document, number, _ in rows] == [
        (document, number) for document, count in STATEMENTS.items() for number in range(1, count + 1)
    ]
    shown = [
        re.fullmatch(r"\[(.+)\]\(\.\./\.\./tests/(.+)\): (.+)", part) for row in rows for part in row[2].split("; ")
    ]
    for file_shown, file, names in (part.groups() if part else ("", "", "") for part in shown):
        tree = ast.parse(text_of(f"tests/{file}"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        named = set(re.findall(r"`(\w+)`", names))
        assert file_shown == file
        assert named, file
        assert named <= tests, file


def test_developers_read_that_keys_must_identify_elements() -> None:
    assert "**Merge keys must identify an element in all cases**" in PATCHES


def test_every_row_of_the_security_page_names_its_test() -> None:
    table = text_of("SECURITY.md").partition("## What is defended")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    for row in rows:
        named = re.fullmatch(r"\| .* \| .* \| \[test\]\((tests/[^)]+)\) \|", row)
        assert named is not None, row
        assert (ROOT / named[1]).exists(), row


# ---- commands: nothing is published, so each needs no more than a checkout -------------------------------------------

OTHERS = re.compile(
    r"ghcr\.io/krm-merge|uses: *krm-merge/|github>krm-merge|(?:remote: *|schema=|curl[^\n]*)https?://raw\.[\w.]+/krm-merge"
    r"|(?:\bclone|pkg get|repo:|--from|git\+\S*|--upstream) *['\"]?(?:git\+)?https?://[\w.]+/krm-merge/"
    r"|\b(?:pip install|pipx (?:install|run)|uv tool install|uvx)\b"
    r"(?:(?!--from|--spec| \.)[^\n`#])* ['\"]?krm[-_.]merge(?![\w./-])"
    r"|(?:--from|--spec) ['\"]?krm[-_.]merge"
)
"""Names of this project that somebody else could own today; docs/releasing.md says what they will be."""
SHELL_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPERATORS = re.compile(r"[|&;()<>]+")


def test_no_text_uses_a_name_that_somebody_else_could_own() -> None:
    for name in git(ROOT, "ls-files", "-z").split("\0")[:-1]:
        if name.startswith(("tests/", "testdata/")) or name in ("docs/releasing.md", "CHANGELOG.md"):
            continue
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b"\0"
        if b"\0" not in data:
            assert [match[0] for match in OTHERS.finditer(data.decode("utf-8", "replace"))] == [], name


def commands_in(block: str) -> Iterator[list[str]]:
    """The words of each command of a script, those of command lines in quotes included."""
    for line in block.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word.startswith("krm-merge "):
                yield from commands_in(word)
            if not OPERATORS.fullmatch(word):
                words.append(word)
                continue
            if words:
                yield words
            words = []


def shell_commands() -> Iterator[Any]:
    examples = (page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "examples").rglob("*.md")))
    for page in (*PAGES, *examples):
        for block in SHELL_BLOCK.findall(text_of(page)):
            for words in () if block.startswith("#!") else commands_in(block):
                yield page, words


def test_commands_of_the_pages_find_what_they_need_in_a_checkout() -> None:
    targets = re.findall(r"^([\w-]+):", text_of("Makefile"), re.MULTILINE)
    functions = (folder.name for folder in (ROOT / "integrations" / "functions" / "python").iterdir())
    built = {IMAGE, *(f"localhost/{name}:dev" for name in functions)}
    programs = set()
    for page, words in shell_commands():
        programs.add(program := words[0].rpartition("/")[2])
        if program == "make":
            assert words[1] in targets, page
        elif program == "krm-merge":
            refuse_unknown_options(words[1:])
        elif program in ("docker", "kpt"):
            tags = re.findall(r"docker build[^\n]*--tag (\S+)", text_of(page))
            images = [word for word in words[2:] if re.fullmatch(r"localhost/[\w./-]+:[\w.-]+", word)]
            assert {*images} <= {*built, *tags}, page
            files = [words[at + 1] for at, word in enumerate(words) if word == "--file"]
            assert [file for file in files if not (ROOT / file).is_file()] == []
    assert programs >= {"make", "krm-merge", "docker", "kpt"}


def test_images_have_one_name() -> None:
    assert f"image: {IMAGE.rpartition(':')[0]}\n" in text_of("integrations/metadata.yaml")
    assert f"IMAGE  ?= {IMAGE}\n" in text_of("Makefile")


def test_one_version_is_everywhere() -> None:
    from krm_merge import __version__

    versions = re.findall(r"^## \[(.*?)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == __version__


# ---- the site --------------------------------------------------------------------------------------------------------


def files() -> Files:
    return get_files(load_config(str(ROOT / "mkdocs.yml")))


@pytest.mark.parametrize(
    ("folder", "written", "led"),
    [
        (DOCS, "[a](rules.md#v4)", "[a](rules.md#v4)"),
        (ROOT, "[a](docs/rules.md)", "[a](rules.md)"),
        (ROOT, '<img src="docs/pictures/resolve-light.png">', '<img src="pictures/resolve-light.png">'),
        (DOCS, "[a](../SECURITY.md)", f"[a]({site_hooks.HOME}/blob/main/SECURITY.md)"),
        (DOCS, "[a](../examples/patch)", f"[a]({site_hooks.HOME}/tree/main/examples/patch)"),
        (DOCS, "[a](https://kpt.dev) [b](#c) `[d](e)`", "[a](https://kpt.dev) [b](#c) `[d](e)`"),
    ],
)
def test_links_lead_to_pages_or_to_the_repository(folder: Any, written: str, led: str) -> None:
    assert site_hooks.relink(written, folder, DOCS, files()) == led


def test_the_site_has_every_command_kind_and_layer() -> None:
    page = site_hooks.commands_page()
    assert [name for name in COMMANDS if f"\n## krm-merge {name}\n" not in page] == []
    kinds = site_hooks.kinds_page(DOCS / "schemas")
    titles = [yaml.safe_load(file.read_text(encoding="utf-8"))["title"] for file in (DOCS / "schemas").glob("*.json")]
    assert [title for title in titles if f"\n## {title}\n" not in kinds] == []
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers, *_ = (contract["layers"] for contract in contracts if "layers" in contract)
    names = [name for layer in layers for name in layer.split(" | ")]
    picture = re.findall(r"^ +(\w+)\[", text_of("docs/design/architecture.md"), re.MULTILINE)
    assert set(picture) == set(names[1 : names.index("git") + 1])


def test_the_site_loads_nothing_from_elsewhere() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    assert config.theme["font"] is False
    assert [style for style in (*config.extra_css, *map(str, config.extra_javascript)) if "://" in style] == []
    # With it, the theme asks the forge for numbers.
    assert config.repo_url is None
