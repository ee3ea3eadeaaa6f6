"""Looks at pull requests: their history as the forges have it, recorded before anything is published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from krm_merge.fleet.entry import LedgerEntry, RequestState
from krm_merge.fleet.ledger import Ledger, now
from krm_merge.fleet.publishing.hosts import Hosts
from krm_merge.fleet.publishing.requests import PullRequests, observed
from krm_merge.forges.interface import ForgeError, ForgePullRequest, UnavailableForgeError
from krm_merge.harmless import line

_AT_ONCE = 100

What: TypeAlias = RequestState | Literal["problem"]


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a target's result; `message` says why it could not be published, `commit` what was pushed."""

    target: str
    what: What
    request: int = 0
    message: str = ""
    commit: str = ""


@dataclass(slots=True)
class Looks:
    """Asks forges about many repositories at once; `seen` are the targets of which they said something."""

    requests: PullRequests
    ledger: Ledger
    hosts: Hosts
    seen: set[str] = field(default_factory=set)

    def at(self, entries: Iterable[tuple[LedgerEntry, str, str]]) -> Iterator[Published]:
        """Records the pull requests of targets, each with its host and the address that these are at."""
        places: dict[str, dict[str, list[LedgerEntry]]] = {}
        for entry, host, address in entries:
            places.setdefault(host, {}).setdefault(address, []).append(entry)
        for host, addresses in places.items():
            names = list(addresses)
            for start in range(0, len(names), _AT_ONCE):
                if self.hosts.is_paused(host):
                    break
                try:
                    found = self.requests.seen(names[start : start + _AT_ONCE])
                except ForgeError as error:
                    if message := self.hosts.lost(host, error):
                        yield Published(addresses[names[start]][0].target, "problem", message=message)
                    break
                for address, pulls in found.items():
                    for entry in addresses[address]:
                        yield from self._recorded(entry, address, pulls)

    def _recorded(
        self, entry: LedgerEntry, address: str, pulls: list[ForgePullRequest] | ForgeError
    ) -> Iterator[Published]:
        rows = [replace(one, state="unknown", looked_at=now()) for one in entry.requests if one.state == "open"]
        try:
            if isinstance(pulls, ForgeError):
                raise pulls
            rows, missing = observed(entry, address, pulls, now())
            rows += map(self.requests.missing, missing)
            if hidden := next((one for one in rows if one.state == "unknown"), None):
                what = f"{address} does not show #{hidden.number}"
                raise ForgeError(f"{what}; correct the address, or give the token access to it")
            self.seen.add(entry.target)
        except ForgeError as error:
            if not isinstance(error, UnavailableForgeError):
                # A forge hides what a token may not see: nothing is concluded from that.
                self.ledger.put_requests(rows)
            message = line(str(error))
            self.ledger.put_problem(entry.target, message)
            yield Published(entry.target, "problem", message=message)
            return
        before = {one.number: one.state for one in entry.requests}
        self.ledger.put_requests(rows)
        for row in rows:
            if before.get(row.number, row.state) != row.state:
                yield Published(entry.target, row.state, row.number)
