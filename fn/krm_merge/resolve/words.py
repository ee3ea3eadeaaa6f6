"""What people read of a conflict: what happened in one sentence, and what they can choose. The same in every form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import DecisionRecord, SideName


@dataclass(frozen=True, slots=True)
class SideLabels:
    """What people call the three sides; `who` is how a sentence speaks of those who changed something."""

    original: str = "Original"
    upstream: str = "Upstream"
    local: str = "Yours"
    upstream_who: str = "upstream"
    local_who: str = "you"


OF_PACKAGES: Final = SideLabels()
OF_FLEET: Final = SideLabels(local="Local", local_who="the packages")
OF_GIT: Final = SideLabels("Base", "Theirs", "Ours", "their side", "our side")

_THINGS: Final[dict[Nature, str]] = {
    "value": "value",
    "kind": "value",
    "text": "text",
    "element": "element",
    "resource": "resource",
    "file": "file",
    "sequence": "part of the list",
}

_BOTH: Final[dict[Nature, str]] = {
    "value": "{u} and {l} changed the same value",
    "kind": "{u} and {l} made different kinds of value of it",
    "text": "{u} and {l} changed the same lines of this text",
    "order": "{u} and {l} put this list into different orders",
    "sequence": "{u} and {l} changed the same part of this list",
    "element": "{u} and {l} changed the same element",
    "resource": "{u} and {l} changed the same resource",
    "alternative": "{u} and {l} have alternatives of which only one is allowed",
    "functions": "{u} and {l} changed these functions, which cannot be told apart, so the list is one value",
    "file": "{u} and {l} changed the same lines of this file",
    "added-twice": "{u} and {l} added this with different values",
    "comment": "{u} and {l} changed the same comment",
}


def what_happened(record: DecisionRecord, labels: SideLabels) -> str:
    """What both sides did, in one sentence."""
    has = _sides(record)
    thing = _THINGS.get(record.nature, "value")
    u, l = labels.upstream_who, labels.local_who  # noqa: E741
    if record.nature == "reference" and record.status != "automatic":
        # A side that has the reference has what it names (law I). The sentence begins with the name of a field.
        who = u if "upstream" not in has else l if "local" not in has else "a side"
        return f"{record.values.get('original', 'a reference')}, which {who} removed or changed."
    if record.status == "automatic":
        text = _automatic(record, u, l)
    elif "upstream" not in has and "local" in has and "original" in has:
        text = f"{u} deleted this {thing}, and {l} changed it"
    elif "local" not in has and "upstream" in has and "original" in has:
        text = f"{l} deleted this {thing}, and {u} changed it"
    else:
        text = _BOTH[record.nature].format(u=u, l=l)
    return f"{text[:1].upper()}{text[1:]}."


def _automatic(record: DecisionRecord, upstream: str, local: str) -> str:
    """What upstream did alone."""
    if record.nature == "resource" and record.rule == "R2":
        left = f", and {local} left it as it was" if "upstream" not in _sides(record) else ""
        return f"{upstream} {'deleted' if left else 'added'} this resource{left}"
    if record.message not in ("added", "changed", "removed"):
        return record.message
    left = f", and {local} left it as it was" if record.message != "added" else ""
    return f"{upstream} {record.message} this{left}"


def choice_words(record: DecisionRecord, choice: Choice, labels: SideLabels) -> str:
    """A choice, as a button names it."""
    has = _sides(record)
    if record.nature == "reference":
        return "Put it back" if choice in has else "Accept that it is gone"
    upstream, local = labels.upstream.lower(), labels.local.lower()
    words: dict[Choice, str] = {
        "upstream": f"Take {upstream}" if "upstream" in has else "Delete it",
        "local": f"Keep {local}" if "local" in has else "Leave it deleted" if "original" in has else "Leave it out",
        "original": f"Take {labels.original.lower()}",
        "upstream-then-local": f"Both, {upstream} first",
        "local-then-upstream": f"Both, {local} first",
        "value": "Edit",
        "recognise": "Recognise the functions",
    }
    return words[choice]


def _sides(record: DecisionRecord) -> set[SideName]:
    return set(record.alike if record.alike is not None else record.values)
