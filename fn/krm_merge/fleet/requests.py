"""Pull requests of a campaign as forges have them: seen, recorded, and described."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.conflicts import Group, groups_of
from krm_merge.fleet.job import TargetConflict, about_target, grouped_by
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, RequestState, now
from krm_merge.fleet.proposals import NotPublishedError, mark_in
from krm_merge.forges.interface import (
    Forge,
    ForgeError,
    ForgePullRequest,
    RefusedRequestError,
    UnavailableForgeError,
    host_of,
)
from krm_merge.report import code, plain, shorten, yaml_text
from krm_merge.safe_text import line, quantity
from krm_merge.startup import group_by_key

_PAUSING: Final = 5
_UNAVAILABLE: Final = 2
"""Equal problems in a row after which a host is not asked again: any, and those of a host that does not answer."""


@dataclass(slots=True)
class Hosts:
    """What hosts said lately, and why some of them are not asked again in this run."""

    is_limited: bool = False
    """Whether a host asked to wait."""
    _latest: dict[str, tuple[str, int]] = field(default_factory=dict)
    _paused: dict[str, str] = field(default_factory=dict)
    _shares: dict[str, str] = field(default_factory=dict)
    _granted: dict[str, int] = field(default_factory=dict)

    @property
    def obstacles(self) -> list[str]:
        """Why targets wait, for each host that is not asked again, or not for more."""
        return list((self._shares | self._paused).values())

    def may_look(self, host: str, left: int | None) -> bool:
        """Whether a host may be asked to show more: half of the requests that it grants are for publishing."""
        if left is None or left * 2 >= self._granted.setdefault(host, left):
            return True
        self._shares[host] = f"reading used half of the requests that {host} allows per hour; run it again in an hour"
        return False

    def is_paused(self, host: str) -> bool:
        """Whether the targets of this host wait."""
        return host in self._paused

    def note_success(self, host: str) -> None:
        """Notes that a host did what it was asked for."""
        self._latest.pop(host, None)

    def note_failure(self, host: str, target: str, error: KrmMergeError | OSError) -> str:
        """Notes a problem. Returns the message about the target, '' where the host only asked to wait."""
        if isinstance(error, UnavailableForgeError) and error.until is not None:
            until = f"{datetime.fromtimestamp(error.until, UTC):%Y-%m-%d %H:%M:%SZ}"
            self._paused[host] = f"{host} accepts no more requests until {until}; run it again then"
            self.is_limited = True
            return ""
        message = line(str(error))
        if not isinstance(error, NotPublishedError):
            text = grouped_by(message, target)
            before, count = self._latest.get(host, ("", 0))
            count = count + 1 if before == text else 1
            self._latest[host] = text, count
            if host and count >= _most_of(error):
                what = f"gave the same error for {count} targets in a row" if count > 1 else "refuses all requests"
                self._paused[host] = f"{host} {what}; correct that, and run it again"
        return about_target(message, target)


def _most_of(error: Exception) -> int:
    if isinstance(error, RefusedRequestError) and error.status == HTTPStatus.UNAUTHORIZED:
        return 1
    return _UNAVAILABLE if isinstance(error, UnavailableForgeError) else _PAUSING


def packages_of(entry: LedgerEntry) -> list[str]:
    """The packages of a target, as a title names them."""
    name = entry.target.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return [package or name for package in entry.packages] or [name]


_MOST_GROUPS: Final = 50
_LONGEST_VALUE: Final = 60


def body_of_tree(packages: Sequence[str], conflicts: Iterable[tuple[str, TargetConflict]]) -> str:
    """The text of a request for packages: what was left out first, then what both sides changed, then the packages."""
    conflicts = list(conflicts)
    is_open = [member for member in conflicts if member[1].record.status == "open"]
    left_out = {target for target, _ in is_open}
    decided = [member for member in conflicts if member[0] not in left_out]
    lines: list[str] = []
    if left_out:
        lines += [f"### Left out: {quantity(len(left_out), 'package')} with conflicts", "", *_table(groups_of(is_open))]
    if decided:
        settled = [*groups_of(decided), *groups_of(decided, decided=True)]
        lines += ["### Both sides changed these; review their values", "", *_table(settled)]
    return "\n".join([*lines, f"### {quantity(len(packages), 'package')}", "", *(f"- {name}" for name in packages)])


def _table(groups: Sequence[Group]) -> list[str]:
    rows = [
        f"| {len(group.packages):,} | {code(group.place)} | {_local_value(group)} | {plain(group.conflict.message)} | "
        f"{group.conflict.settled_by} |"
        for group in groups[:_MOST_GROUPS]
    ]
    more = [f"| | {len(groups) - _MOST_GROUPS:,} more | | | |"] if len(groups) > _MOST_GROUPS else []
    head = ["| packages | where | local | what happened | settled by |", "|---:|---|---|---|---|"]
    return [*head, *rows, *more, ""]


def _local_value(group: Group) -> str:
    values = group.conflict.values
    return code(shorten(" ".join(yaml_text(values["local"]).split()), _LONGEST_VALUE)) if "local" in values else ""


def observe(
    entry: LedgerEntry, address: str, pulls: Iterable[ForgePullRequest], at: str
) -> tuple[list[LedgerRequest], list[LedgerRequest]]:
    """The history of a target as the forge has it, and those of it that the forge did not list and may be open.

    Forges may leave out what ended: that is as it was. What one was for is in its mark, or in the ledger. Others that
    ended are somebody else's.
    """
    known_requests = {request.number: request for request in entry.requests if request.number}
    rows: list[LedgerRequest] = []
    for pull in pulls:
        before, mark = known_requests.pop(pull.number, None), mark_in(pull.body)
        if before is None:
            is_ours = bool(entry.made) and pull.head == entry.made
            if mark is None and pull.state != "open" and not is_ours:
                continue
            version, result = (entry.version, entry.result) if is_ours else ("", "")
            before = LedgerRequest(entry.target, pull.number, address, version, result, "", "open")
        if mark is not None:
            result = mark.result or before.result
            before = replace(before, version=mark.version, result=result, reverse=mark.reverse)
        rows.append(_as_it_is(before, pull, at))
    missing = [request for request in known_requests.values() if request.state in ("open", "unknown")]
    rows += [replace(request, looked_at=at) for request in known_requests.values() if request not in missing]
    return rows, missing


def _as_it_is(request: LedgerRequest, pull: ForgePullRequest, at: str) -> LedgerRequest:
    """A request with the state that the forge shows; of a merged one that was taken back, see `_with_reverse`."""
    if pull.state == "merged":
        # Commits that people added to the branch were merged with it.
        request = replace(request, commit=pull.head or request.commit)
        if request.reverse and request.state in ("reverting", "reverted"):
            return replace(request, merged_at=pull.merged_at, looked_at=at)
    return replace(request, state=pull.state, merged_at=pull.merged_at, looked_at=at)


def last_look(entry: LedgerEntry) -> str:
    """When a forge was asked for the pull requests of a target the last time, '' for never."""
    return max((request.looked_at for request in entry.requests), default="")


What: TypeAlias = RequestState | Literal["problem"]


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a target's result; `message` says why it could not be published, `commit` what was pushed."""

    target: str
    what: What
    request: int = 0
    message: str = ""
    commit: str = ""


_OF_REVERSE: Final[Mapping[str, RequestState]] = {"open": "reverting", "merged": "reverted", "closed": "merged"}


@dataclass(slots=True)
class RequestChecks:
    """Asks forges about repositories; `seen` are the targets of which they said something.

    `checked` are the targets whose checks a gate asks for.
    """

    forge_of: Callable[[str], Forge]
    ledger: Ledger
    hosts: Hosts
    checked: Container[str] = ()
    seen: set[str] = field(default_factory=set)

    def at(self, entries: Iterable[tuple[LedgerEntry, str, str]]) -> Iterator[Published]:
        """Records the pull requests of targets, each with the address that these are at, and its branch."""
        places = group_by_key(((address, branch), entry) for entry, address, branch in entries)
        for (address, branch), members in places.items():
            host = host_of(address)
            try:
                forge = self.forge_of(address)
                if self.hosts.is_paused(host) or not self.hosts.may_look(host, forge.requests_left()):
                    continue
                pulls = forge.pull_requests_from(address, branch)
                for entry in members:
                    yield from self._record(entry, address, pulls)
                self.hosts.note_success(host)
            except ForgeError as error:
                message = self.hosts.note_failure(host, members[0].target, error)
                for entry in members:
                    yield from self._note_problem(entry, message, error)

    def _record(self, entry: LedgerEntry, address: str, pulls: Iterable[ForgePullRequest]) -> Iterator[Published]:
        """Records what a forge has of a target. Raises ForgeError."""
        rows, missing = observe(entry, address, pulls, now())
        for request in missing:
            pull = self.forge_of(address).pull_request(address, request.number)
            if pull is None:
                raise ForgeError(f"#{request.number} is not readable; correct the address, or give the token access")
            rows.append(_as_it_is(request, pull, now()))
        rows = [self._with_checks(self._with_reverse(row)) for row in rows]
        self.seen.add(entry.target)
        before = {request.number: request.state for request in entry.requests}
        self.ledger.put_requests(rows)
        for row in rows:
            if before.get(row.number, row.state) != row.state:
                yield Published(entry.target, row.state, row.number)

    def _note_problem(self, entry: LedgerEntry, message: str, error: ForgeError) -> Iterator[Published]:
        if not isinstance(error, UnavailableForgeError):
            # A forge hides what a token may not see: nothing is concluded from that.
            self.ledger.put_requests(
                replace(request, state="unknown", looked_at=now())
                for request in entry.requests
                if request.state == "open"
            )
        if message:
            self.ledger.put_problem(entry.target, message)
            yield Published(entry.target, "problem", message=message)

    def _with_reverse(self, request: LedgerRequest) -> LedgerRequest:
        """A merged request that is taken back, with what people decided about that. Raises ForgeError."""
        if not request.reverse or request.state not in ("merged", "reverting"):
            return request
        reverse = self.forge_of(request.address).pull_request(request.address, request.reverse)
        # Without it nobody takes the version back.
        return replace(request, state=_OF_REVERSE[reverse.state] if reverse else "merged")

    def _with_checks(self, request: LedgerRequest) -> LedgerRequest:
        """An open request with the state of its checks; those that passed stay so. Raises ForgeError."""
        if request.target not in self.checked or request.state != "open" or request.checks == "passed":
            return request
        return replace(request, checks=self.forge_of(request.address).checks(request.address, request.number))
