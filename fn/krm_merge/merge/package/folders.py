"""The packages that the Kptfiles among the files make, and which of them upstream's changes do not reach (rule R3)."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname

from krm_merge.krm.identity import KPTFILE
from krm_merge.merge.decisions.decision import Decision
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy


class Folders:
    """The folders of packages. `kptfiles` is what becomes of their Kptfiles."""

    def __init__(self, kptfiles: Iterable[ResourceOutcome], policy: Policy, unreadable: Iterable[str] = ()) -> None:
        """Looks at the outcomes; `report` adds decisions to them. `unreadable` are folders with a broken Kptfile."""
        self._policy = policy
        self._unreadable = set(unreadable)
        self._kptfiles = {dirname(outcome.member.place): outcome for outcome in kptfiles}
        self._closed = {folder: outcome for folder, outcome in self._kptfiles.items() if _is_closed(outcome)}

    def of(self, place: str) -> str:
        """The package that a file belongs to; the root is ''."""
        folder = dirname(place)
        while folder and folder not in self._kptfiles and folder not in self._unreadable:
            folder = dirname(folder)
        return folder

    def closed(self, place: str) -> ResourceOutcome | None:
        """The Kptfile of the package around a file or folder that takes nothing from upstream, else None."""
        while place:
            if (outcome := self._closed.get(place)) is not None:
                return outcome
            place = dirname(place)
        return None

    def report(self, place: str) -> None:
        """Reports, once for each package, that a change of upstream at this place does not come in."""
        outcome = self.closed(place)
        if outcome is not None and not outcome.decisions:
            outcome.decisions.append(left_alone(outcome, self._policy))

    def with_surviving_kptfiles(self, inhabited: Iterable[str]) -> list[ResourceOutcome]:
        """The outcomes, but no subpackage loses its Kptfile while resources remain in it.

        `inhabited` are the places of what local still has after the merge; they are looked at only when it matters.
        """
        if not any(outcome.fate == "deleted" for outcome in self._kptfiles.values()):
            return list(self._kptfiles.values())
        folders = {self.of(place) for place in inhabited if not place.endswith(f"/{KPTFILE}")}
        return [
            _keep(o, self._policy) if o.fate == "deleted" and f in folders else o for f, o in self._kptfiles.items()
        ]


def is_other_package(reference: Member | None, local: Member) -> bool:
    """R3: whether the local subpackage comes from elsewhere than the original's."""
    if reference is None:
        return False
    theirs, ours = reference.root.get("upstream"), local.root.get("upstream")
    if theirs is None or ours is None:
        return theirs is not ours
    return theirs.canonical != ours.canonical


def left_alone(kptfile: ResourceOutcome, policy: Policy) -> Decision:
    """The decision that reports a subpackage that takes nothing from upstream."""
    folder = dirname(kptfile.member.place)
    if kptfile.local is None:
        what = f"the subpackage {folder}: local removed it, upstream changed what is in it"
        return _conflict(what, "upstream's changes stay out", kptfile, policy)
    message = f"the subpackage {folder} follows another upstream locally; it is left alone"
    return Decision("R3", ("upstream",), message, "upstream", "warning", is_reported=True)


def _conflict(what: str, outcome: str, kptfile: ResourceOutcome, policy: Policy) -> Decision:
    policy = policy.of(kptfile.member.identity)
    return Decision("F5", (), policy.explanation((), what, outcome), "both", policy.severity(()), is_reported=True)


def _is_closed(kptfile: ResourceOutcome) -> bool:
    if kptfile.member.place == KPTFILE or kptfile.fate == "added":
        return False
    if kptfile.local is None:
        return kptfile.original is not None
    if kptfile.original is None and kptfile.upstream is None:
        # Local's own: it takes nothing from here if it follows an upstream of its own.
        return kptfile.local.root.get("upstream") is not None
    return is_other_package(kptfile.original or kptfile.upstream, kptfile.local)


def _keep(kptfile: ResourceOutcome, policy: Policy) -> ResourceOutcome:
    folder = dirname(kptfile.member.place)
    what = f"the subpackage {folder}: upstream removed it, local has resources of its own in it"
    decision = _conflict(what, "its Kptfile stays", kptfile, policy)
    return ResourceOutcome("kept", kptfile.original, kptfile.upstream, kptfile.local, [decision])
