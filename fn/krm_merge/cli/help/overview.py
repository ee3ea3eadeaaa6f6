"""Lists commands, functions and topics on one screen: what `--help` and `kpt fn doc` print."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from krm_merge import __version__
from krm_merge.cli.help.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS = {
    "Update packages": {
        "update": "Update a package from the git repository in its Kptfile.",
        "compare": "Show what kpt would lose in the update of a package.",
        "resolve": "Settle conflicts, on a page or in the terminal.",
        "status": "Show which packages are outdated, changed or in conflict.",
        "policy": "Show, check and prune the conflict policy of a package.",
        "fleet": "Update many packages that follow one upstream.",
        "config": "Write the functionConfig for an update with kpt fn eval.",
    },
    "Merge, compare and change files": {
        "merge": "Merge three versions of a package or file.",
        "diff": "Show what differs between two versions, by meaning.",
        "patch": "Apply and create patches: strategic merge, JSON merge, JSON.",
        "transform": "Run plugins over resources; priorities settle conflicts.",
        "components": "Plan and carry out updates of dependent components.",
        "mergetool": "Settle the conflicts of one file for git mergetool.",
        "merge-driver": "Merge KRM files for git, as its merge driver.",
    },
    "Set up and look up": {
        "check": "Look for mistakes in packages before somebody else does.",
        "names": "Name functions of pipelines, so that updates recognise them.",
        "schema": "Print the JSON schema of a kind, for editors and validators.",
        "cache": "Show and clean the copies of git repositories that are kept.",
        "completion": "Print the completion script for bash, zsh or fish.",
        "help": "Show the page of a topic, a rule or a command.",
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
    topics = f"krm-merge help TOPIC or RULE shows a page: {', '.join(TOPICS)}."
    lines = [
        *textwrap.wrap(f"krm-merge {__version__}: merges Kubernetes packages and reports every conflict", columns),
        "",
        *_wrapped("Usage: krm-merge COMMAND [OPTIONS]", 7, columns),
        *_wrapped("       krm-merge  (the KRM function: reads a ResourceList on stdin)", 7, columns),
    ]
    for title, rows in GROUPS.items():
        lines += ["", f"{title}:", *_table(rows, columns)]
    lines += ["", "Functions, by the kind of the functionConfig:", *_table(FUNCTIONS, columns), ""]
    lines += _wrapped("krm-merge COMMAND --help lists the options of a command.", 2, columns)
    lines += _wrapped(topics, 2, columns)
    return "\n".join(lines) + "\n"


def _table(rows: Mapping[str, str], columns: int) -> Iterator[str]:
    indent = max(map(len, (*COMMANDS, *rows))) + 4
    for name, text in rows.items():
        yield from _wrapped(f"  {name:{indent - 2}}{text}", indent, columns)


def _wrapped(text: str, indent: int, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent=" " * indent, break_on_hyphens=False)
