"""The screen that lists commands and functions, and the rules that `krm-merge help` shows. Needs no extra."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from krm_merge import __version__
from krm_merge.errors import KrmMergeError
from krm_merge.krm import Docs
from krm_merge.startup import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_PACKAGE = Path(__file__).parent.parent
_CHECKOUT = _PACKAGE.parent.parent
PAGES = "https://github.com/krm-merge/krm-merge/tree/main/docs"
PAGES_WITH_RULES = ("rules.md", "patches.md", "transform.md", "components.md")
_ROW = pattern(r"^\| (?P<number>[A-Z]+[0-9]+) \| (?P<says>.*) \|$", re.MULTILINE)
_FENCE = pattern(r"^(```|~~~)")
_HEADING = pattern(r"^(#+) (.*)$")
_COMMENT = pattern(r"^<!--.*?(?:-->\n*|\Z)", re.MULTILINE | re.DOTALL)


class NoPageError(KrmMergeError):
    """No rule has this number, or the installation lacks the page with the rules."""


def page_of_rule(number: str) -> str:
    """The section about a rule, in Markdown. Raises NoPageError where no rule has this number."""
    for page in PAGES_WITH_RULES:
        text = _read(page)
        for heading in filter(None, map(_HEADING.match, text.splitlines())):
            if heading[2].startswith(f"{number}. "):
                return _section(text, heading[2])
        for row in _ROW.finditer(text):
            if row["number"] == number:
                return f"### {number}. {row['says']}\n"
    raise NoPageError(
        f"no rule has the number {number}; {PAGES} lists them, and commands explain themselves with --help"
    )


def text_of_rule(number: str) -> str:
    """The section about a rule as plain text, the heading on its first line; '' where no rule has this number."""
    try:
        before, *others = page_of_rule(number).lstrip("# ").split("](")
    except NoPageError:
        return ""
    pieces = [before]
    # Of a link, the words.
    for part in others:
        head, _, words = pieces[-1].rpartition("[")
        pieces[-1:] = [head + words, part.partition(")")[2]]
    return "\n\n".join(map(_unwrapped, "".join(pieces).split("\n\n")))


def _unwrapped(block: str) -> str:
    """A paragraph on one line, without backticks; lists, tables and code as they are."""
    if any(line.startswith(("- ", "|", "```", " ")) or line[:1].isdigit() for line in block.splitlines()):
        return block
    return block.replace("\n", " ").replace("`", "").strip()


def own_docs() -> Docs:
    """README and metadata of this program: an installation has both in the package."""
    if (installed := Docs.in_folder(_PACKAGE)).readme:
        return installed
    readme, metadata = _CHECKOUT / "README.md", _CHECKOUT / "integrations" / "metadata.yaml"
    is_checkout = readme.is_file() and metadata.is_file()
    return Docs(readme.read_text("utf-8"), metadata.read_text("utf-8")) if is_checkout else Docs()


def _read(page: str) -> str:
    # An installation has them in the package, a checkout in docs/.
    for folder in (_PACKAGE / "docs", _CHECKOUT / "docs"):
        if (folder / page).is_file():
            return _COMMENT.sub("", (folder / page).read_text(encoding="utf-8"))
    raise NoPageError(f"{page} is not part of this installation; install krm-merge again")


def _section(text: str, title: str) -> str:
    """The section with its heading, to the next heading of its level or above."""
    section: list[str] = []
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
            section.append(line)
    return "\n".join(section).rstrip() + "\n"


GROUPS = {
    "Update packages": {
        "update": "Update a package from the git repository in its Kptfile.",
        "compare": "Show which changes an update with kpt would lose.",
        "resolve": "Settle conflicts, on a page or in the terminal.",
        "status": "Show which packages are outdated, changed or in conflict.",
        "declare": "Turn local changes into patches of the package's pipeline.",
        "why": "Show where values come from: upstream, a commit, a function.",
        "fleet": "Update many packages that follow one upstream.",
        "config": "Write the functionConfig for an update with kpt fn eval.",
    },
    "Merge, compare and change files": {
        "merge": "Merge three versions of a package or file.",
        "diff": "Show the differences between two versions by field.",
        "patch": "Apply and create patches: strategic merge, JSON merge, JSON.",
        "transform": "Run plugins over resources; priorities settle conflicts.",
        "components": "Plan and carry out updates of dependent components.",
        "mergetool": "Settle the conflicts of one file for git mergetool.",
        "merge-driver": "Merge KRM files for git, as its merge driver.",
    },
    "Set up and look up": {
        "check": "Find mistakes in packages before an update or kpt does.",
        "names": "Name functions of pipelines, so that updates recognise them.",
        "completion": "Print the completion script for bash, zsh or fish.",
        "help": "Show a rule of the merge by its number.",
    },
}
"""The commands by what they are for, each with its summary."""
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
FUNCTIONS = {
    "MergePackage": "Merge upstream's changes into the package.",
    "PatchResources": "Apply strategic merge, JSON merge and JSON patches.",
    "TransformResources": "Run plugins; priorities settle conflicts.",
    "PlanComponentUpdates": "Plan pull requests to dependent components.",
}
"""The functions by the kind of their functionConfig."""
_NARROWEST, _WIDEST = 40, 100


def overview(width: int | None = None) -> str:
    """The screen, wrapped at `width` columns; by default at the width of the terminal, or 80."""
    columns = max(_NARROWEST, min(width or shutil.get_terminal_size().columns, _WIDEST))
    lines = [
        *_wrap(f"krm-merge {__version__}: updates forked Kubernetes packages and keeps your changes", 0, columns),
        *_wrap("Usage: krm-merge COMMAND [OPTIONS]  (COMMAND --help lists the options)", 7, columns),
        *_wrap("       krm-merge  (the KRM function: reads a ResourceList on stdin)", 7, columns),
    ]
    for title, rows in GROUPS.items():
        lines += ["", f"{title}:", *_table(rows, columns)]
    lines += ["", "Functions, by the kind of the functionConfig:", *_table(FUNCTIONS, columns), ""]
    lines += _wrap(f"krm-merge help V4 shows the rule V4 of a result; all pages: {PAGES}", 2, columns)
    return "\n".join(lines) + "\n"


def _table(rows: Mapping[str, str], columns: int) -> Iterator[str]:
    indent = max(map(len, (*COMMANDS, *rows))) + 4
    for name, text in rows.items():
        yield from _wrap(f"  {name:{indent - 2}}{text}", indent, columns)


def _wrap(text: str, indent: int, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent=" " * indent, break_on_hyphens=False)
