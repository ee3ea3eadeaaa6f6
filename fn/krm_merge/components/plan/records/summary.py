"""Summarizes many plans: by dependant, by group, and by what they wait for (C7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Literal, TypeAlias

from krm_merge.components.plan.records.plan_file import RecordedPlan
from krm_merge.text.reading.values import Value

View: TypeAlias = Literal["dependant", "group", "wait"]
_TITLES: Final[Mapping[View, str]] = {
    "wait": "Waiting for",
    "group": "Groups",
    "dependant": "Dependants",
}
_SHOWN: Final = 10
"""How many entries of a view are listed when all views are shown."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Plans by each view: names with their plans, the ones with most plans first."""

    plans: Sequence[RecordedPlan]
    views: Mapping[View, Mapping[str, Sequence[RecordedPlan]]]

    @property
    def headline(self) -> str:
        """All plans in one line."""
        drafts = sum(one.draft and not one.closed for one in self.plans)
        closed = sum(bool(one.closed) for one in self.plans)
        acting = sum(bool(one.actions) for one in self.plans)
        ready = len(self.plans) - drafts - closed
        noun = "plan" if len(self.plans) == 1 else "plans"
        return f"{len(self.plans)} {noun}: {ready} ready, {drafts} draft, {closed} to close; {acting} with actions"


def summarized(plans: Iterable[RecordedPlan]) -> Summary:
    """The plans by dependant, group and what they wait for."""
    found = sorted(plans, key=lambda one: one.name)
    names: Mapping[View, Callable[[RecordedPlan], Iterable[str]]] = {
        "wait": lambda one: one.waits,
        "group": lambda one: (one.group,),
        "dependant": lambda one: one.dependants,
    }
    views: dict[View, dict[str, list[RecordedPlan]]] = {}
    for view, names_of in names.items():
        held: dict[str, list[RecordedPlan]] = {}
        for one in found:
            for name in names_of(one):
                held.setdefault(name, []).append(one)
        views[view] = dict(sorted(held.items(), key=lambda pair: (-len(pair[1]), pair[0])))
    return Summary(found, views)


def as_text(summary: Summary, view: View | None = None) -> str:
    """The summary for a terminal: the first entries of all views, or all entries of one."""
    lines = [summary.headline]
    for name, title in _TITLES.items():
        held = summary.views[name]
        if view not in (None, name) or not held:
            continue
        shown = list(held.items())[: None if view else _SHOWN]
        lines += ["", f"{title}:"]
        lines += [f"  {key}: {_about(plans, name)}" for key, plans in shown]
        if len(shown) < len(held):
            lines.append(f"  and {len(held) - len(shown)} more: --by {name}")
    return "\n".join(lines) + "\n"


def _about(plans: Sequence[RecordedPlan], view: View) -> str:
    if view == "dependant":
        return "; ".join(f"{one.branch} ({state_of(one)})" for one in plans[:3]) + _and_more(len(plans) - 3)
    targets = sorted({name for one in plans for name in one.dependants})
    what = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
    return f"{what} for {', '.join(targets[:5])}{_and_more(len(targets) - 5)}"


def _and_more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def state_of(plan: RecordedPlan) -> str:
    """The desired state of a plan's pull request, and what it waits for."""
    if plan.closed:
        return f"to close: {plan.closed}"
    if plan.waits:
        return f"draft, waits for {', '.join(plan.waits[:3])}{_and_more(len(plan.waits) - 3)}"
    return "draft" if plan.draft else "ready"


def as_value(summary: Summary) -> Value:
    """The summary for a program: each plan once, and the names of plans by each view."""
    plans: dict[str, Value] = {
        one.name: {
            "repository": one.repository,
            "branch": one.branch,
            "group": one.group,
            "dependants": list(one.dependants),
            "draft": one.draft,
            "closed": one.closed,
            "waitsFor": list(one.waits),
            "actions": [*sorted(one.actions)],
        }
        for one in summary.plans
    }
    views: dict[str, Value] = {}
    for view, entries in summary.views.items():
        named: dict[str, Value] = {name: [one.name for one in held] for name, held in entries.items()}
        views[f"by{view.capitalize()}"] = named
    return {"summary": summary.headline, "plans": plans, **views}


def as_page(summary: Summary) -> str:
    """The summary as one HTML page, in which every entry unfolds."""
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Planned pull requests</title>',
        "<style>:root{color-scheme:light dark}body{font:14px/1.5 system-ui,sans-serif;max-width:70rem;",
        "margin:1rem auto;padding:0 1rem}summary{cursor:pointer}li{overflow-wrap:anywhere}</style></head><body>",
        f"<h1>Planned pull requests</h1><p>{escape(summary.headline)}</p>",
    ]
    for view, title in _TITLES.items():
        parts.append(f"<h2>{title}</h2>")
        for name, plans in summary.views[view].items():
            rows = "".join(
                f"<li>{escape(', '.join(one.dependants))}: {escape(one.branch)} ({escape(state_of(one))})</li>"
                for one in plans
            )
            parts.append(f"<details><summary>{escape(name)} ({len(plans)})</summary><ul>{rows}</ul></details>")
    return "\n".join([*parts, "</body></html>"]) + "\n"
