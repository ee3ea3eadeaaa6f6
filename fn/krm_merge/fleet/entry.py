"""A target in the ledger: its last merge, its pull requests, and which of them decides about the result. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.fleet.merging.job import NEED_ATTENTION, FailureClass, TargetState

RequestState: TypeAlias = Literal["pushed", "open", "merged", "closed", "unknown"]
"""`pushed` is a branch without a pull request; `unknown` is one that the forge does not show, which says nothing."""

_SECONDS = len("2026-01-02T03:04:05")


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """A pull request of a target, or with the number 0 a branch without one.

    `version` is the commit of upstream and `result` the merged result that it was last for, `commit` what we pushed,
    '' where that is unknown. `merged_at` and `looked_at` are times in UTC.
    """

    target: str
    number: int
    address: str
    version: str
    result: str
    commit: str
    state: RequestState
    merged_at: str = ""
    looked_at: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A target in the ledger: its last merge, `made` the commit for the branch, and `problem` why it has none.

    `requests` are its pull requests by number.
    """

    target: str
    state: TargetState
    message: str
    failure: FailureClass
    seen: str
    digest: str
    base: str
    made: str
    files: int
    packages: tuple[str, ...]
    seconds: float
    settings: str
    choices: str
    merged_at: str
    looked_at: str
    crashes: int
    problem: str
    requests: tuple[LedgerRequest, ...] = ()

    @property
    def version(self) -> str:
        """The commit of upstream that was merged last."""
        return self.settings.rpartition(" ")[2]

    @property
    def result(self) -> str:
        """The result of the merge: the commit for a repository, the digest of a directory."""
        return self.made or self.digest

    @property
    def request(self) -> LedgerRequest | None:
        """The pull request that decides about the result; None where the result needs another one.

        That is the open one. A closed one was refused for its version of upstream, a merged one for its result, and
        for all that was merged before it: what the next version brings is another result.
        """
        latest_first = self.requests[::-1]
        found = next((one for one in latest_first if one.state == "open"), None)
        return found or next((one for one in latest_first if self._ends(one)), None)

    def _ends(self, one: LedgerRequest) -> bool:
        same = one.version == self.version
        if one.state == "merged":
            # Forges have seconds. What was merged since the last run is not in the result yet.
            is_since = one.merged_at[:_SECONDS] > self.merged_at[:_SECONDS]
            return is_since or (same and (one.result == self.result or not self.made))
        return same and (one.state != "pushed" or one.result == self.result)

    @property
    def shown_state(self) -> str:
        """The state that people are shown: that of the pull request, unless a later merge needs attention."""
        found = self.request
        if found is None or (found.version != self.version and self.state in NEED_ATTENTION):
            return self.state
        return found.state

    @property
    def is_to_publish(self) -> bool:
        """Whether it was merged, and no pull request has the result."""
        return is_merged(self) and bool(self.result) and self.request is None

    def is_published(self, *, with_request: bool) -> bool:
        """Whether the branch has the present result, and the pull request too where one is wanted."""
        found = self.request
        if found is None or (with_request and found.state == "pushed"):
            return False
        return found.state != "open" or (found.version, found.result) == (self.version, self.result)

    @property
    def commit(self) -> str:
        """The head of the branch as it was pushed last, '' for none."""
        return next((one.commit for one in reversed(self.requests)), "")


def is_merged(entry: LedgerEntry) -> bool:
    """Whether the merge of a target gave a result."""
    return entry.state == "clean"
