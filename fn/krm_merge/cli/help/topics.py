"""The topics of `krm-merge help`, and the pages about them, which an installation carries."""

from __future__ import annotations

import re
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.startup import frozen

PAGES_WITH_RULES = ("rules.md", "patches.md", "transform.md")
_RULE = re.compile(r"[A-Z][0-9]{1,2}")
_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^(#+) (.*)$")
_COMMENT = re.compile(r"^<!--.*?(?:-->\n*|\Z)", re.MULTILINE | re.DOTALL)


@frozen
class Topic:
    """A page in docs/, or the section of it with this title."""

    page: str
    section: str = ""


TOPICS = {
    "start": Topic("guides/update.md"),
    "conflicts": Topic("guides/conflicts.md"),
    "rules": Topic("rules.md"),
    "policy": Topic("command-line.md", "`krm-merge policy`"),
    "function": Topic("functions/merge-package.md"),
    "patches": Topic("patches.md"),
    "plugins": Topic("transform.md"),
    "components": Topic("components.md"),
    "fleet": Topic("fleet.md"),
    "git": Topic("command-line.md", "`krm-merge merge-driver`"),
    "kpt": Topic("differences-from-kpt.md"),
    "options": Topic("command-line.md", "Options that several commands have"),
    "exit-codes": Topic("command-line.md", "Exit codes and output"),
}


class NoPageError(KrmMergeError):
    """There is no page, or no rule, of this name."""


def page_of(topic: Topic) -> str:
    """The text about a topic, in Markdown. Raises NoPageError where the installation does not have it."""
    text = _read(topic.page)
    return _section(text, topic.section) if topic.section else text


def is_rule(name: str) -> bool:
    """Whether this is the number of a rule, such as V4."""
    return _RULE.fullmatch(name) is not None


def page_of_rule(number: str) -> str:
    """The section about a rule, in Markdown. Raises NoPageError where no rule has this number."""
    for page in PAGES_WITH_RULES:
        text = _read(page)
        for heading in filter(None, map(_HEADING.match, text.splitlines())):
            if heading[2].startswith(f"{number}. "):
                return _section(text, heading[2])
    raise NoPageError(f"no rule has the number {number}; krm-merge help rules lists them")


def _read(page: str) -> str:
    package = Path(__file__).parent.parent.parent
    # An installation has them in the package, a checkout in docs/.
    for folder in (package / "docs", package.parent.parent / "docs"):
        if (folder / page).is_file():
            return _COMMENT.sub("", (folder / page).read_text(encoding="utf-8"))
    raise NoPageError(f"{page} is not part of this installation; install krm-merge again")


def _section(text: str, title: str) -> str:
    """The section with its heading, to the next heading of its level or above."""
    found: list[str] = []
    level = 0
    is_code = False
    for line in text.splitlines():
        is_code ^= _FENCE.match(line) is not None
        heading = None if is_code else _HEADING.match(line)
        if heading is not None and level and len(heading[1]) <= level:
            break
        if heading is not None and not level and heading[2] == title:
            level = len(heading[1])
        if level:
            found.append(line)
    if not found:
        raise NoPageError(f"there is no section {title}; install krm-merge again")
    return "\n".join(found).rstrip() + "\n"
