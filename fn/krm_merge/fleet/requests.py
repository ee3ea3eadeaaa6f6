"""Pull requests of a campaign: seen as the forge has them, opened once, their text kept up to date.

The first mark says what the request is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.branches import NotPublishedError
from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.conflicts import Group, groups_of
from krm_merge.fleet.job import TargetConflict, grouped_by
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, RequestState, now
from krm_merge.forges.interface import (
    DraftsRefusedError,
    Forge,
    ForgeError,
    ForgePullRequest,
    PullRequestState,
    UnavailableForgeError,
)
from krm_merge.report import LONGEST, code, plain, shorten, yaml_text
from krm_merge.safe_text import line, quantity

EQUAL_PROBLEMS_THAT_PAUSE = 5


@dataclass(slots=True)
class Hosts:
    """What hosts said lately, and why some of them are not asked again in this run."""

    _latest: dict[str, tuple[str, int]] = field(default_factory=dict)
    _paused: dict[str, str] = field(default_factory=dict)
    _shares: dict[str, str] = field(default_factory=dict)

    @property
    def obstacles(self) -> list[str]:
        """Why targets wait, for each host that is not asked again, or not for more."""
        return list((self._shares | self._paused).values())

    def note_share(self, host: str) -> None:
        """Notes that half of the reads that a host grants were used for looks."""
        self._shares[host] = f"half of what {host} may be asked in this hour was used to look; run it again then"

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
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it.

    `ended` is not '' for one that was rolled back after it was merged.
    """

    version: str
    result: str
    title: str
    ended: str = ""


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    place = _place(text.replace("\r\n", "\n"))
    try:
        value = json.loads(place[1]) if place else {}
        return Mark(str(value["version"]), str(value["result"]), str(value["title"]), str(value.get("ended", "")))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _place(text: str) -> tuple[str, str, str, str] | None:
    """What is before our part, its mark, its body, and what is behind it; None without such a part."""
    before, start, rest = text.partition(_START)
    head, head_end, rest = rest.partition(_HEAD_END)
    body, end, behind = rest.partition(_END)
    return (before, f"{{{head}}}", body, behind) if start and head_end and end else None


def with_part(text: str, mark: Mark, body: str | None = None) -> str:
    """The text with our part replaced, or added at its end; without a body, its mark alone is replaced.

    A body that is too long for forges is cut.
    """
    text = text.replace("\r\n", "\n")
    place = _place(text)
    value = {name: field for name, field in asdict(mark).items() if field or name != "ended"}
    # Nothing in it may end the comment.
    data = json.dumps(value).replace(">", "\\u003e")
    inner = place[2] if place and body is None else _inner(body or "")
    part = f"<!-- krm-merge {data} -->\n{inner}{_END}"
    return f"{place[0]}{part}{place[3]}" if place else f"{text.rstrip()}\n\n{part}".lstrip()


def _inner(body: str) -> str:
    if len(body) > LONGEST:
        shortened = body[:LONGEST].rpartition("\n")[0]
        body = f"{shortened}\n\n{len(body) - len(shortened):,} more characters are in the report of the campaign."
    return body.replace("<!--", "&lt;!--").rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """What a pull request says. `number` is the open one that is brought up to date, 0 for a new one.

    `branch` is where its commits are, `onto` where they are to go.
    """

    address: str
    branch: str
    onto: str
    mark: Mark
    body: str
    number: int = 0
    is_draft: bool = False


_DRAFT: Final = "draft"
_NO_DRAFTS: Final = "**This is a draft**, and the repository has no drafts: do not merge it as it is."


@dataclass(slots=True)
class PullRequests:
    """Reads, opens and updates pull requests. `forge_of` gives the forge of a repository's address."""

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def missing(self, request: LedgerRequest) -> LedgerRequest:
        """A pull request that a list lacks, as it is now. Raises ForgeError."""
        pull = self.forge_of(request.address).pull_request(request.address, request.number)
        return replace(request, state=pull.state if pull else "unknown", merged_at=pull.merged_at if pull else "")

    def check(self, request: LedgerRequest) -> LedgerRequest:
        """An open pull request with the state of its checks; those that passed are not asked for again.

        Raises ForgeError.
        """
        if request.state != "open" or request.checks == "passed":
            return request
        return replace(request, checks=self.forge_of(request.address).checks(request.address, request.number))

    def propose(self, proposal: RequestDraft) -> int:
        """The number of the pull request with what is proposed, 0 in a dry run that would open it.

        People's title and what they wrote around our part are kept. Raises ForgeError and NotPublishedError.
        """
        forge, address, mark = self.forge_of(proposal.address), proposal.address, proposal.mark
        if proposal.number:
            existing = forge.pull_request(address, proposal.number)
            if existing is None or existing.state != "open":
                raise NotPublishedError(f"#{proposal.number} ended meanwhile; publish again")
            if existing.source_branch != proposal.branch:
                was = f"#{proposal.number} is from the branch {existing.source_branch}"
                raise NotPublishedError(f"{was}, and {proposal.branch} is pushed now; close it, and publish again")
            pull = existing
        elif self.is_dry_run:
            return 0
        else:
            pull = self._open(forge, proposal)
        before = mark_in(pull.body)
        title = pull.title if before and pull.title != before.title else mark.title
        text = pull.body if proposal.is_draft else pull.body.removeprefix(_NO_DRAFTS)
        text = with_part(text.lstrip(), mark, proposal.body)
        if self.is_dry_run:
            return pull.number
        if (pull.title, pull.body.strip()) != (title, text.strip()):
            forge.edit(address, pull.number, title, text)
        if pull.draft and not proposal.is_draft:
            forge.set_draft(address, pull.number, draft=False)
        return pull.number

    def _open(self, forge: Forge, proposal: RequestDraft) -> ForgePullRequest:
        """Opens a pull request; where there are no drafts, an ordinary one with a label and a warning."""
        address, mark, attention = proposal.address, proposal.mark, self.campaign.publishing.attention

        def create(text: str, *, draft: bool) -> ForgePullRequest:
            return forge.create(address, proposal.branch, proposal.onto, mark.title, text, draft=draft)

        text = with_part("", mark, proposal.body)
        try:
            pull = create(text, draft=proposal.is_draft)
        except DraftsRefusedError:
            attention = replace(attention, labels=(*attention.labels, _DRAFT))
            pull = create(f"{_NO_DRAFTS}\n\n{text}", draft=False)
        if attention:
            forge.request_attention(address, pull.number, attention)
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


_MOST_GROUPS: Final = 50
_LONGEST_VALUE: Final = 60


def body_of_tree(packages: Sequence[str], conflicts: Iterable[tuple[str, TargetConflict]]) -> str:
    """The text of a request for packages: what was left out first, then what both sides changed, then the packages."""
    conflicts = list(conflicts)
    is_open = [member for member in conflicts if member[1].status == "open"]
    left_out = {target for target, _ in is_open}
    decided = [member for member in conflicts if member[0] not in left_out]
    lines: list[str] = []
    if left_out:
        lines += [f"### Left out: {quantity(len(left_out), 'package')} with conflicts", "", *_table(groups_of(is_open))]
    if decided:
        settled = [*groups_of(decided), *groups_of(decided, decided=True)]
        lines += ["### Both sides changed these; look at what they are now", "", *_table(settled)]
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
            before = replace(before, version=mark.version, result=mark.result or before.result)
        if pull.state == "merged":
            # Commits that people added to the branch were merged with it.
            before = replace(before, commit=pull.head or before.commit)
        # What was rolled back is a no for its version, as if it had been closed.
        state: PullRequestState = "closed" if mark is not None and mark.ended else pull.state
        rows.append(replace(before, state=state, merged_at=pull.merged_at, looked_at=at))
    missing = [request for request in known_requests.values() if request.state in ("open", "unknown")]
    rows += [replace(request, looked_at=at) for request in known_requests.values() if request not in missing]
    return rows, missing


_AT_ONCE = 100
_READS_FOR_EACH: Final = 2
"""Of a repository on Forgejo: the open ones, and those that ended."""
_SKEW: Final = timedelta(hours=1)
"""By so much the clock of a forge may differ from ours."""


def _by_last_look(addresses: Mapping[str, Sequence[LedgerEntry]]) -> Iterator[tuple[str, list[str]]]:
    """The addresses with the time since when changes are not known, '' for all time."""
    looks = {address: min(map(last_look, entries)) for address, entries in addresses.items()}
    yield "", [address for address, look in looks.items() if not look]
    if since := min(filter(None, looks.values()), default=""):
        since = f"{datetime.fromisoformat(since) - _SKEW:%Y-%m-%dT%H:%M:%SZ}"
        yield since, [address for address, look in looks.items() if look]


def last_look(entry: LedgerEntry) -> str:
    """When a forge was asked for the pull requests of a target the last time, '' for never."""
    return max((request.looked_at for request in entry.requests), default="")


What: TypeAlias = RequestState | Literal["reverted", "problem"]


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
    """Asks forges about many repositories at once; `seen` are the targets of which they said something.

    `checked` are the targets whose checks a gate asks for.
    """

    requests: PullRequests
    ledger: Ledger
    hosts: Hosts
    checked: Container[str] = ()
    seen: set[str] = field(default_factory=set)

    def at(self, entries: Iterable[tuple[LedgerEntry, str, str, str]]) -> Iterator[Published]:
        """Records the pull requests of targets, each with its host, the address that these are at, and its branch."""
        places: dict[tuple[str, str], dict[str, list[LedgerEntry]]] = {}
        for entry, host, address, branch in entries:
            places.setdefault((host, branch), {}).setdefault(address, []).append(entry)
        for (host, branch), addresses in places.items():
            yield from self._look(host, branch, addresses)

    def _look(self, host: str, branch: str, addresses: Mapping[str, Sequence[LedgerEntry]]) -> Iterator[Published]:
        """Looks at repositories of one host, with at most half of what it grants."""
        most: int | None = None
        # Before the first answer nobody knows what it grants.
        size = 1
        for since, names in _by_last_look(addresses):
            waiting = names
            while waiting and not self.hosts.is_paused(host):
                forge = self.requests.forge_of(waiting[0])
                left = forge.budget().requests
                most = left if most is None else most
                if left is not None and most is not None:
                    if left * 2 < most:
                        # The other half is for publishing; those that were not looked at come first the next time.
                        self.hosts.note_share(host)
                        return
                    size = min(_AT_ONCE, max(1, (left - most // 2) // _READS_FOR_EACH))
                batch, waiting = waiting[:size], waiting[size:]
                size = _AT_ONCE
                try:
                    pulls_by_address = forge.pull_requests_in(batch, branch, since)
                except ForgeError as error:
                    if message := self.hosts.note_outage(host, error):
                        yield Published(addresses[batch[0]][0].target, "problem", message=message)
                    return
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
            if entry.target in self.checked:
                rows = list(map(self.requests.check, rows))
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
