"""Pull requests of a campaign: seen as the forge has them, opened once, their text kept up to date.

The first mark says what the request is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.branches import NotPublishedError
from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.job import grouped_by
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, RequestState, now
from krm_merge.forges.interface import Forge, ForgeError, ForgePullRequest, UnavailableForgeError
from krm_merge.report import LONGEST
from krm_merge.safe_text import line

EQUAL_PROBLEMS_THAT_PAUSE = 5


@dataclass(slots=True)
class Hosts:
    """What hosts said lately, and why some of them are not asked again in this run."""

    _latest: dict[str, tuple[str, int]] = field(default_factory=dict)
    _paused: dict[str, str] = field(default_factory=dict)

    @property
    def obstacles(self) -> list[str]:
        """Why targets wait, for each host that is not asked again."""
        return list(self._paused.values())

    def is_paused(self, host: str) -> bool:
        """Whether the targets of this host wait."""
        return host in self._paused

    def note_success(self, host: str) -> None:
        """Notes that a host did what it was asked for."""
        self._latest.pop(host, None)

    def note_outage(self, host: str, error: ForgeError) -> str:
        """Notes that a host cannot be looked at. Returns the message, '' where the host only asked to wait."""
        if self._waits(host, error):
            return ""
        self._paused[host] = f"{host} cannot be looked at; correct that, and run it again"
        return line(str(error))

    def _waits(self, host: str, error: KrmMergeError | OSError) -> bool:
        """Notes a limit of this hour, which is no problem of a target."""
        if not isinstance(error, UnavailableForgeError) or error.until is None:
            return False
        until = f"{datetime.fromtimestamp(error.until, UTC):%Y-%m-%d %H:%M:%SZ}"
        self._paused[host] = f"{host} has had all that it takes until {until}; run it again then"
        return True

    def note_failure(self, host: str, target: str, error: KrmMergeError | OSError) -> str:
        """Notes a problem. Returns the message about the target, '' where the host only asked to wait."""
        message = line(str(error))
        if self._waits(host, error):
            return ""
        if not isinstance(error, NotPublishedError):
            text = grouped_by(message, target)
            before, count = self._latest.get(host, ("", 0))
            count = count + 1 if before == text else 1
            self._latest[host] = text, count
            if host and count == EQUAL_PROBLEMS_THAT_PAUSE:
                self._paused[host] = f"{host} said the same of {count} targets in a row; correct that, and run it again"
        return message


_START: Final = "<!-- krm-merge {"
_HEAD_END: Final = "} -->\n"
_END: Final = "<!-- /krm-merge -->"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it."""

    version: str
    result: str
    title: str


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    place = _place(text.replace("\r\n", "\n"))
    try:
        value = json.loads(place[1]) if place else {}
        return Mark(**{name: str(value[name]) for name in Mark.__slots__})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _place(text: str) -> tuple[str, str, str] | None:
    """What is before our part, its mark, and what is behind it; None without such a part."""
    before, start, rest = text.partition(_START)
    head, head_end, rest = rest.partition(_HEAD_END)
    _, end, behind = rest.partition(_END)
    return (before, f"{{{head}}}", behind) if start and head_end and end else None


def with_part(text: str, mark: Mark, body: str) -> str:
    """The text with our part replaced, or added at its end. A body that is too long for forges is cut."""
    data = json.dumps(asdict(mark)).replace(">", "\\u003e")
    if len(body) > LONGEST:
        shortened = body[:LONGEST].rpartition("\n")[0]
        body = f"{shortened}\n\n{len(body) - len(shortened):,} more characters are in the report of the campaign."
    part = f"<!-- krm-merge {data} -->\n{body.replace('<!--', '&lt;!--').rstrip()}\n<!-- /krm-merge -->"
    text = text.replace("\r\n", "\n")
    if place := _place(text):
        return place[0] + part + place[2]
    return f"{text.rstrip()}\n\n{part}".lstrip()


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """What a pull request says. `number` is the open one that is brought up to date, 0 for a new one."""

    address: str
    onto: str
    mark: Mark
    body: str
    number: int = 0
    is_draft: bool = False


@dataclass(slots=True)
class PullRequests:
    """Reads, opens and updates pull requests. `forge_of` gives the forge of a repository's address."""

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def pulls_of(self, addresses: Sequence[str]) -> Mapping[str, list[ForgePullRequest] | ForgeError]:
        """The pull requests from our branch in repositories of one host. Raises ForgeError if the host fails."""
        return self.forge_of(addresses[0]).pull_requests_in(addresses, self.campaign.publishing.branch)

    def missing(self, request: LedgerRequest) -> LedgerRequest:
        """A pull request that a list lacks, as it is now. Raises ForgeError."""
        pull = self.forge_of(request.address).pull_request(request.address, request.number)
        return replace(request, state=pull.state if pull else "unknown", merged_at=pull.merged_at if pull else "")

    def propose(self, proposal: RequestDraft) -> ForgePullRequest | None:
        """The pull request with what is proposed, None in a dry run that would open it.

        People's title and what they wrote around our part are kept. Raises ForgeError and NotPublishedError.
        """
        forge, address, mark = self.forge_of(proposal.address), proposal.address, proposal.mark
        if proposal.number:
            existing = forge.pull_request(address, proposal.number)
            if existing is None or existing.state != "open":
                raise NotPublishedError(f"#{proposal.number} ended meanwhile; publish again")
            pull = existing
        elif self.is_dry_run:
            return None
        else:
            text = with_part("", mark, proposal.body)
            branch = self.campaign.publishing.branch
            pull = forge.create(address, branch, proposal.onto, mark.title, text, draft=proposal.is_draft)
        before = mark_in(pull.body)
        title = pull.title if before and pull.title != before.title else mark.title
        text = with_part(pull.body, mark, proposal.body)
        if self.is_dry_run:
            return pull
        if (pull.title, pull.body.strip()) != (title, text.strip()):
            forge.edit(address, pull.number, title, text)
        if pull.draft and not proposal.is_draft:
            forge.set_draft(address, pull.number, draft=False)
        return pull

    def title(self, packages: list[str]) -> str:
        """The title for packages."""
        name = packages[0] if len(packages) == 1 else f"{len(packages):,} packages"
        upstream = self.campaign.upstream
        return self.campaign.publishing.title.replace("{packages}", name).replace("{ref}", upstream.ref)


def packages_of(entry: LedgerEntry) -> list[str]:
    """The packages of a target, as a title names them."""
    name = entry.target.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return [package or name for package in entry.packages] or [name]


def observe(
    entry: LedgerEntry, address: str, pulls: Iterable[ForgePullRequest], at: str
) -> tuple[list[LedgerRequest], list[LedgerRequest]]:
    """The history of a target as the forge has it, and those of it that the forge did not list and may be open.

    What one was for is in its mark, or in the ledger. Others that ended are somebody else's.
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
            before = replace(before, version=mark.version, result=mark.result or before.result)
        if pull.state == "merged":
            # Commits that people added to the branch were merged with it.
            before = replace(before, commit=pull.head or before.commit)
        rows.append(replace(before, state=pull.state, merged_at=pull.merged_at, looked_at=at))
    return rows, [request for request in known_requests.values() if request.state in ("open", "unknown")]


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
class RequestChecks:
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
                    pulls_by_address = self.requests.pulls_of(names[start : start + _AT_ONCE])
                except ForgeError as error:
                    if message := self.hosts.note_outage(host, error):
                        yield Published(addresses[names[start]][0].target, "problem", message=message)
                    break
                for address, pulls in pulls_by_address.items():
                    for entry in addresses[address]:
                        yield from self._record(entry, address, pulls)

    def _record(
        self, entry: LedgerEntry, address: str, pulls: list[ForgePullRequest] | ForgeError
    ) -> Iterator[Published]:
        rows = [
            replace(request, state="unknown", looked_at=now()) for request in entry.requests if request.state == "open"
        ]
        try:
            if isinstance(pulls, ForgeError):
                raise pulls
            rows, missing = observe(entry, address, pulls, now())
            rows += map(self.requests.missing, missing)
            if hidden := next((request for request in rows if request.state == "unknown"), None):
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
        before = {request.number: request.state for request in entry.requests}
        self.ledger.put_requests(rows)
        for row in rows:
            if before.get(row.number, row.state) != row.state:
                yield Published(entry.target, row.state, row.number)
