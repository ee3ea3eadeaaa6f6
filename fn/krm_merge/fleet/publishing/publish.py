"""Publishes what was merged: the targets of the waves that are due, each recorded as it is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.ledger import Ledger, LedgerEntry, is_merged
from krm_merge.fleet.merging.git_store import TRAILER, default_branch
from krm_merge.fleet.merging.job import Settings
from krm_merge.fleet.publishing.branches import Branches
from krm_merge.fleet.publishing.hosts import Hosts
from krm_merge.fleet.publishing.requests import PullRequests, packages_of
from krm_merge.fleet.publishing.waves import assigned, due, states_of
from krm_merge.fleet.publishing.working_tree import TreePublisher
from krm_merge.forges.interface import ForgeError
from krm_merge.harmless import line

_PUSHED_AT_ONCE = 8
_PUSHED_AHEAD = 16
"""Branches without a pull request yet: forges take pull requests more slowly than pushes."""

What: TypeAlias = Literal["pushed", "open", "merged", "closed", "problem"]


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a target's result; `message` says why it could not be published, `commit` what was pushed."""

    target: str
    what: What
    request: int = 0
    message: str = ""
    commit: str = ""


@dataclass(slots=True)
class Publisher:
    """Publishes results. Without `requests` branches are pushed, and that is all; `obstacle` is why no more was due."""

    directory: CampaignDirectory
    campaign: Campaign
    ledger: Ledger
    settings: Settings
    requests: PullRequests | None = None
    wave: str | None = None
    is_direct: bool = False
    draft_conflicts: bool = False
    is_dry_run: bool = False
    max_open: int | None = None
    signing: tuple[str, ...] = ()
    obstacle: str = ""
    _open: int = 0
    _hosts: Hosts = field(default_factory=Hosts)
    _branches: Branches = field(init=False)

    def __post_init__(self) -> None:
        """Prepares for branches."""
        self._branches = Branches(self.campaign, self.settings, self.is_dry_run, self.signing)

    def events(self) -> Iterator[Published]:
        """Looks what became of pull requests, then publishes what is due. Raises KrmMergeError."""
        yield from self._looked()
        entries = self.ledger.entries()
        self._open = sum(1 for entry in entries.values() if entry.published == "open")
        names, self.obstacle = due(self.campaign, states_of(self.campaign, entries), self.wave)
        waves = assigned(self.campaign)
        wanted = [(self.campaign.targets[name], entries[name]) for name in names if name in entries]
        wanted = [(target, entry) for target, entry in wanted if entry.published not in ("merged", "closed")]
        if self.campaign.working_tree:
            events = self._of_tree([one for one in wanted if is_merged(one[1])])
        else:
            events = self._of_repositories(wanted)
        for event in events:
            if not self.is_dry_run:
                self._record(event, waves.get(event.target, ""), entries[event.target])
            yield event
        self.obstacle = "; ".join([*self._hosts.obstacles, *filter(None, [self.obstacle])])

    # ---- repositories --------------------------------------------------------------------------------------------

    def _of_repositories(self, wanted: Iterable[tuple[CampaignTarget, LedgerEntry]]) -> Iterator[Published]:
        """Several branches are pushed at once; pull requests are opened one after the other."""
        waiting = self._chosen(wanted)
        ahead: deque[tuple[CampaignTarget, LedgerEntry, Future[None]]] = deque()
        threads = ThreadPoolExecutor(_PUSHED_AT_ONCE)
        try:
            while True:
                for target, entry in islice(waiting, _PUSHED_AHEAD - len(ahead)):
                    ahead.append((target, entry, threads.submit(self._push, target, entry)))
                if not ahead:
                    return
                target, entry, pushed = ahead.popleft()
                if event := self._published(target, entry, pushed):
                    yield event
        finally:
            threads.shutdown(cancel_futures=True)

    def _published(self, target: CampaignTarget, entry: LedgerEntry, pushed: Future[None]) -> Published | None:
        """What became of a target, None where its host asks to wait."""
        try:
            pushed.result()
            if self._hosts.is_paused(target.host):
                return None
            number = 0 if self.requests is None else self._proposed(self.requests, target, entry)
        except (KrmMergeError, OSError) as error:
            message = self._hosts.failed(target.host, target.name, error)
            return Published(target.name, "problem", message=message) if message else None
        self._hosts.succeeded(target.host)
        return Published(target.name, "pushed" if self.requests is None else "open", number)

    def _chosen(
        self, wanted: Iterable[tuple[CampaignTarget, LedgerEntry]]
    ) -> Iterator[tuple[CampaignTarget, LedgerEntry]]:
        """Those that have something that is not published yet, as many as may be open."""
        for target, entry in wanted:
            if not is_merged(entry) and not self._is_draft(entry):
                continue
            if self._hosts.is_paused(target.host):
                continue
            if entry.published == ("pushed" if self.requests is None else "open") and entry.pushed == entry.made:
                continue
            if self.requests is not None and entry.published != "open":
                if self.max_open is not None and self._open >= self.max_open:
                    self.obstacle = f"{self._open:,} pull requests are open, and no more may be"
                    return
                self._open += 1
            yield target, entry

    def _is_draft(self, entry: LedgerEntry) -> bool:
        return entry.state == "conflicts" and self.draft_conflicts

    def _push(self, target: CampaignTarget, entry: LedgerEntry) -> None:
        """Pushes the branch of a target. Raises KrmMergeError and OSError."""
        if self._is_draft(entry):
            text = f"Conflicts with {self.campaign.upstream.ref}\n\n{TRAILER}: {self.campaign.name}\n"
            self._branches.push_empty(target, entry, text)
        else:
            self._branches.push(target, entry)

    def _proposed(self, requests: PullRequests, target: CampaignTarget, entry: LedgerEntry) -> int:
        """The number of the pull request, 0 in a dry run that would open it. Raises KrmMergeError."""
        onto = target.branch or default_branch(target.name)
        title, body = requests.title(packages_of(entry)), self._body(target)
        pull = requests.opened(target.name, onto, title, body, is_draft=self._is_draft(entry))
        return pull.number if pull else 0

    def _body(self, target: CampaignTarget) -> str:
        place = self.directory.reports / f"{target.id}.md"
        return place.read_text(encoding="utf-8") if place.is_file() else ""

    # ---- a working tree ------------------------------------------------------------------------------------------

    def _of_tree(self, wanted: list[tuple[CampaignTarget, LedgerEntry]]) -> Iterator[Published]:
        if not wanted:
            return
        tree = TreePublisher(self.campaign, self.settings.date, self.is_dry_run, self.signing)
        try:
            commit, done, changed = tree.committed(wanted)
            for name in changed:
                yield Published(name, "problem", message="it changed since it was merged; run the campaign again")
            if not done:
                return
            request = 0
            if self.is_direct:
                tree.move_to(commit, done)
            else:
                tree.push(commit, next((entry.pushed for _, entry in wanted if entry.pushed), ""))
                request = self._request_of_tree(tree, done)
            what: What = "open" if self.requests is not None and not self.is_direct else "pushed"
            yield from (Published(name, what, request, commit=commit) for name in done)
        except KrmMergeError as error:
            yield from (Published(target.name, "problem", message=line(str(error))) for target, _ in wanted)

    def _request_of_tree(self, tree: TreePublisher, names: list[str]) -> int:
        if self.requests is None:
            return 0
        address = tree.origin
        body = "".join(f"- {name}\n" for name in names)
        pull = self.requests.opened(address, default_branch(address), self.requests.title(names), body)
        return pull.number if pull else 0

    # ---- what became of it ---------------------------------------------------------------------------------------

    def _looked(self) -> Iterator[Published]:
        if self.requests is None:
            return
        asked: dict[tuple[str, int], str] = {}
        tree = TreePublisher(self.campaign, "").origin if self.campaign.working_tree else ""
        for name, entry in self.ledger.entries().items():
            if entry.published != "open" or not entry.request:
                continue
            host = self.campaign.targets[name].host
            if self._hosts.is_paused(host):
                continue
            pull = (tree or name, entry.request)
            try:
                if pull not in asked:
                    asked[pull] = self.requests.state_of(*pull)
            except ForgeError as error:
                if message := self._hosts.failed(host, name, error):
                    yield Published(name, "problem", entry.request, message)
                continue
            self._hosts.succeeded(host)
            if asked[pull] != "open":
                what: What = "merged" if asked[pull] == "merged" else "closed"
                self.ledger.publish(name, published=what)
                yield Published(name, what, entry.request)

    def _record(self, event: Published, wave: str, entry: LedgerEntry) -> None:
        if event.what == "problem":
            self.ledger.publish(event.target, problem=event.message)
            return
        self.ledger.publish(
            event.target,
            published=event.what,
            request=event.request or entry.request,
            wave=wave,
            pushed=event.commit or entry.made,
            problem="",
        )
