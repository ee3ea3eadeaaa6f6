"""The pages about integrations show the files that the tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkout import ROOT

PAGES = sorted((ROOT / "docs" / "integrations").glob("*.md"))
SHOWN = re.compile(r"^<!-- (examples/\S+) -->\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_files_as_they_are_and_its_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, excerpt in SHOWN.findall(text):
        assert excerpt == (ROOT / name).read_text(encoding="utf-8"), name
    assert text.count("<!-- examples/") == len(SHOWN.findall(text))
    assert [link for link in LINK.findall(text) if not (ROOT / "docs" / "integrations" / link).exists()] == []
