"""Hooks of MkDocs: what the site has besides the pages in docs/.

The README is the first page, options come from the commands, kinds from their JSON schemas, the Python reference from
the docstrings, and links that leave docs/ lead to the repository. A link to a file that is not there is a warning,
which `strict` makes an error.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from kind_tables import table
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from python_reference import pages as reference_pages

from krm_merge.cli.app import app
from krm_merge.cli.help_pages import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
HOME = "https://github.com/krm-merge/krm-merge"
OPEN_SECTIONS = {"Guides": "guides", "Integrations": "integrations", "Functions": "functions", "Design": "design"}

_LINK = re.compile(r"""(\]\(|(?:src|srcset|href)=")(?![a-z]+:|#)([^)"#\s]+)""")
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_log = logging.getLogger("mkdocs.plugins.site")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds pages of open sections that the navigation does not name."""
    assert config.nav is not None
    listed = set(pages_of(config.nav))
    for title, folder in OPEN_SECTIONS.items():
        pages = sorted(f"{folder}/{page.name}" for page in (Path(config.docs_dir) / folder).glob("*.md"))
        more = [page for page in pages if page not in listed]
        section = next((entry[title] for entry in config.nav if title in entry), None)
        if section is not None:
            section.extend(more)
        elif more:
            config.nav.append({title: more})
    return config


def pages_of(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(entry)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made of other files."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=relink(readme, ROOT, Path(config.docs_dir), files)))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    files.append(File.generated(config, "reference/kinds.md", content=kinds_page(Path(config.docs_dir) / "schemas")))
    for name, content in reference_pages().items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links that leave docs/ to the repository."""
    if page.file.generated_by is not None:
        return markdown
    return relink(markdown, (Path(config.docs_dir) / page.file.src_uri).parent, Path(config.docs_dir), files)


def relink(markdown: str, folder: Path, docs: Path, files: Files) -> str:
    """The text with its links; `folder` is where it lies."""

    def target(link: re.Match[str]) -> str:
        before, path = link.groups()
        place = Path(os.path.normpath(folder / path))
        if not place.exists() and files.get_file_from_path(os.path.relpath(place, docs)) is None:
            _log.warning("%s: the link %s leads nowhere", folder.relative_to(ROOT), path)
        if place.is_relative_to(docs) and not place.is_dir():
            # The first page lies in docs/, its text beside it.
            return before + (os.path.relpath(place, docs) if folder == ROOT else path)
        form = "tree" if place.is_dir() else "blob"
        return f"{before}{HOME}/{form}/main/{place.relative_to(ROOT).as_posix()}"

    parts = _CODE.split(markdown)
    return "".join(part if number % 2 else _LINK.sub(target, part) for number, part in enumerate(parts))


# ---- commands ----------------------------------------------------------------------------------------------------


def commands_page() -> str:
    """What `--help` prints for every command."""
    parts = [
        "# All options\n\nWhat `--help` prints. [The command line](../command-line.md) shows the commands at work.\n"
    ]
    root = click.Context(app, info_name="krm-merge", terminal_width=80)
    for name in sorted(COMMANDS):
        command = app.get_command(root, name)
        assert command is not None
        parts += _helps(command, root, 2)
    return "\n".join(parts)


def _helps(command: click.Command, parent: click.Context, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent, terminal_width=80)
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _helps(inner, context, level + 1)


# ---- kinds -------------------------------------------------------------------------------------------------------


def kinds_page(schemas: Path) -> str:
    """The fields of every kind that has a JSON schema."""
    parts = ["# Kinds\n\nWhat the functions, the commands and the reports read and write, from their JSON schemas.\n"]
    schemas_by_file = {file: json.loads(file.read_text(encoding="utf-8")) for file in schemas.glob("*.json")}
    for file, schema in sorted(schemas_by_file.items(), key=lambda pair: str(pair[1]["title"])):
        parts.append(
            f"## {schema['title']}\n\n{schema.get('description', '')}\n\n[{file.name}](../schemas/{file.name})\n"
        )
        if rows := table(schema):
            parts.append(rows)
    return "\n".join(parts)
