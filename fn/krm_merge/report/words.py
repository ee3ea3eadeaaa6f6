"""The words of reports: natures, statuses and choices are always called the same."""

from __future__ import annotations

import re
from typing import Final

from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import Status

NATURES: Final[dict[Nature, str]] = {
    "value": "Value",
    "kind": "Kinds of value",
    "text": "Lines of a text",
    "order": "Order of a list",
    "sequence": "List without keys",
    "element": "Element of a list",
    "resource": "Resource",
    "alternative": "Alternatives",
    "functions": "Functions of a pipeline",
    "file": "File",
    "reference": "Reference",
    "added-twice": "Added on both sides",
    "comment": "Comments",
}

CONFLICTS: Final[tuple[tuple[Status, str], ...]] = (("open", "Open conflicts"), ("settled", "Settled conflicts"))
"""What reports show first."""

CHOICES: Final[dict[Choice, str]] = {
    "upstream": "upstream's",
    "local": "local's",
    "original": "the original's",
    "upstream-then-local": "both, upstream's first",
    "local-then-upstream": "both, local's first",
    "value": "a value of your own",
    "recognise": "recognise the functions by what they are",
}

RULES: Final = {
    "F": "No local change is lost silently",
    "G": "No fault of our own",
    "H": "Never worse than git",
    "I": "What held on all sides holds in the result",
    "V2": "The side that changed the value has it",
    "V3": "A removal removes what was there",
    "V4": "Both changed a value: `onConflict` decides",
    "V5": "The sides hold different kinds of values",
    "V6": "Text of several lines merges line by line",
    "V7": "Alternatives are one value",
    "V8": "Comments merge as the text that they are",
    "V9": "Aliases and merge keys are read as what they stand for",
    "V10": "An image is two values: its repository and its version",
    "L1": "Keyed lists: elements with equal keys are the same",
    "L2": "Sets: each value is there once",
    "L3": "Other lists: elements are paired, and pairs merge",
    "L4": "The order of lists",
    "F3": "Otherwise the list is one value",
    "F4": "An image that moved to another registry is the same function",
    "F5": "Whether something is there is decided locally",
    "F7": "A function that both sides added is never put together from two",
    "K3": "The result is checked",
    "K4": "The Kptfile of the package is never added or deleted",
    "R1": "Which resources are the same",
    "R2": "What becomes of a resource",
    "R3": "Subpackages",
    "R4": "Files that are no Kubernetes resources",
    "R5": "YAML that cannot be read",
    "R13": "Files are followed",
    "W1": "What did not change stays as it was",
    "W2": "What is written is read again",
    "W5": "Line ends are local's",
}
"""The rules that decisions and results name, with their headings in docs/rules.md."""

_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
RULES_PAGE: Final = "docs/rules.md"
HOME: Final = "https://github.com/krm-merge/krm-merge"


def anchor_of(rule: str) -> str:
    """Where the rule is explained: the page and the anchor of its heading."""
    title = RULES.get(rule)
    if title is None:
        return RULES_PAGE
    heading = _NOT_IN_ANCHORS.sub("", f"{rule}. {title}".lower()).replace(" ", "-")
    return f"{RULES_PAGE}#{heading}"


def address_of(anchor: str) -> str:
    """Where a page of the documentation is on the web."""
    return f"{HOME}/blob/main/{anchor}"
