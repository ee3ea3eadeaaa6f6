"""The documentation site: every link leads somewhere, and what is made for it is complete."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from mkdocs.config import load_config
from mkdocs.structure.files import Files, get_files
from tools import site_hooks

from krm_merge.cli.help_pages import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


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
def test_links_lead_to_pages_or_to_the_repository(folder: Path, written: str, led: str) -> None:
    assert site_hooks.relinked(written, folder, DOCS, files()) == led


def test_a_link_that_leads_nowhere_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        site_hooks.relinked("[a](../missing.md)", DOCS, DOCS, files())
    assert "the link ../missing.md leads nowhere" in caplog.text


def test_every_command_has_its_options_on_the_page() -> None:
    page = site_hooks.commands_page()
    assert [name for name in COMMANDS if f"\n## krm-merge {name}\n" not in page] == []
    assert "\n### krm-merge fleet run\n" in page


def test_every_kind_with_a_schema_is_on_the_page() -> None:
    page = site_hooks.kinds_page(DOCS / "schemas")
    titles = [json.loads(file.read_text(encoding="utf-8"))["title"] for file in (DOCS / "schemas").glob("*.json")]
    assert titles
    assert [title for title in titles if f"\n## {title}\n" not in page] == []
    assert "| `rules[].onConflict` |" in page


def test_every_page_is_in_the_navigation() -> None:
    config = site_hooks.on_config(load_config(str(ROOT / "mkdocs.yml")))
    named = {*site_hooks.named(config.nav)}
    pages = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")}
    assert pages - named == set()


def test_nothing_comes_from_elsewhere() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    assert config.theme["font"] is False
    assert [style for style in (*config.extra_css, *map(str, config.extra_javascript)) if "://" in style] == []
    # With it, the theme asks the forge for numbers.
    assert config.repo_url is None
