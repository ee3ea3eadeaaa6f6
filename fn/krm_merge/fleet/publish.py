"""Publishes what was merged, in waves and at the pace of forges, and takes it back; each target is recorded at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.branches import Branches, TreePublisher, check_ours, split_branches
from krm_merge.fleet.campaign import Campaign, CampaignTarget, Gate, Wave
from krm_merge.fleet.campaign_file import CampaignDirectory
from krm_merge.fleet.job import Settings
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, is_merged, now
from krm_merge.fleet.repository import TRAILER, default_branch, head_of, remote_at
from krm_merge.fleet.requests import (
    Hosts,
    Mark,
    Published,
    PullRequests,
    RequestChecks,
    RequestDraft,
    What,
    body_of_tree,
    last_look,
    mark_in,
    packages_of,
    with_part,
)
from krm_merge.forges.interface import ForgeError, ForgePullRequest, host_of
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, Person, Remote, Stamp, Store
from krm_merge.posix import temporary_directory
from krm_merge.safe_text import line
from krm_merge.startup import group_by_key

_ALL = Wave("all")


@dataclass(frozen=True, slots=True)
class WaveState:
    """A wave: its targets, how many of them have something to publish, and what became of these."""

    name: str
    targets: tuple[str, ...]
    published: int
    merged: int
    closed: int
    unknown: int
    to_publish: int
    unchecked: int = 0
    """Open pull requests whose checks have not passed, as far as somebody asked for them."""

    def obstacle(self, gate: Gate) -> str:
        """Why the next wave has to wait, '' where it need not."""
        if self.closed > gate.closed:
            return f"{self.closed} of {self.name} closed without being merged; {gate.closed} may be"
        of = self.published + self.to_publish
        if self.unknown:
            return f"{self.unknown} of {self.name} cannot be seen: the forge does not show their pull requests"
        if self.merged * 100 < int(gate.merged.rstrip("%")) * of:
            return f"{self.merged} of {of} of {self.name} merged; {gate.merged} are to be"
        if gate.checks and self.unchecked + self.to_publish:
            return f"the checks of {self.unchecked + self.to_publish} of {of} of {self.name} have not passed"
        return ""


def wave_of_targets(campaign: Campaign) -> dict[str, str]:
    """The wave of each target: they are taken as `targets.yaml` has them. What no wave takes is in none."""
    left = list(campaign.targets)
    total = len(left)
    waves_by_target: dict[str, str] = {}
    for wave in campaign.publishing.waves or (_ALL,):
        size = wave.size(total, len(left))
        waves_by_target |= dict.fromkeys(left[:size], wave.name)
        left = left[size:]
    return waves_by_target


def states_of(campaign: Campaign, entries: Mapping[str, LedgerEntry]) -> list[WaveState]:
    """The waves in their order, and how far each is."""
    by_wave: dict[str, list[str]] = {wave.name: [] for wave in campaign.publishing.waves or (_ALL,)}
    for target, wave in wave_of_targets(campaign).items():
        by_wave[wave].append(target)
    return [_state(name, targets, entries) for name, targets in by_wave.items()]


def _state(name: str, targets: Sequence[str], entries: Mapping[str, LedgerEntry]) -> WaveState:
    entries_of_wave = [entries[target] for target in targets if target in entries]
    requests = [entry.request for entry in entries_of_wave if entry.request is not None]
    states = Counter(request.state for request in requests)
    return WaveState(
        name,
        tuple(targets),
        published=states.total(),
        merged=states["merged"],
        closed=states["closed"],
        unknown=states["unknown"],
        to_publish=sum(1 for entry in entries_of_wave if entry.is_to_publish),
        unchecked=sum(1 for request in requests if request.state == "open" and request.checks != "passed"),
    )


def due(campaign: Campaign, waves: Iterable[WaveState], only: str | None) -> tuple[list[str], str]:
    """The targets that may be published now, and why no more: '' where that is all of them.

    `only` is the one wave that is asked for.
    """
    gates = {wave.name: wave.gate for wave in campaign.publishing.waves}
    waves_in_order = list(waves)
    names: list[str] = []
    for number, wave in enumerate(waves_in_order):
        if only in (None, wave.name):
            names += wave.targets
        if only == wave.name:
            return names, ""
        obstacle = wave.obstacle(gates.get(wave.name, _ALL.gate))
        if only is None and obstacle and any(later.to_publish for later in waves_in_order[number + 1 :]):
            # What of this wave is due is published; what comes behind it waits.
            return names, obstacle
    return names, ""


_PUSHED_AT_ONCE = 8
_PUSHED_AHEAD = 16
"""Branches without a pull request yet: forges take pull requests more slowly than pushes."""


@dataclass(slots=True)
class Publisher:
    """Publishes results. Unless it is `with_requests`, branches are pushed, and that is all.

    `obstacle` is why no more was due.
    """

    directory: CampaignDirectory
    campaign: Campaign
    ledger: Ledger
    settings: Settings
    requests: PullRequests
    is_dry_run: bool = False
    signing: tuple[str, ...] = ()
    with_requests: bool = True
    wave: str | None = None
    is_direct: bool = False
    draft_conflicts: bool = False
    max_open: int | None = None
    obstacle: str = ""
    _open: int = 0
    _hosts: Hosts = field(default_factory=Hosts)
    _branches: Branches = field(init=False)
    _tree: TreePublisher = field(init=False)
    _origin: str = field(init=False)
    _branch_of: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Prepares for branches."""
        of_publisher = self.campaign, self.settings, self.is_dry_run, self.signing
        self._branches, self._tree = Branches(*of_publisher), TreePublisher(*of_publisher, self.is_direct)
        self._origin = self._tree.origin if self.campaign.working_tree else ""
        # With --direct there are no branches.
        self._branch_of = {} if self.is_direct else split_branches(self.campaign)

    def events(self) -> Iterator[Published]:
        """Looks what became of pull requests, then publishes what is due. Raises KrmMergeError."""
        names = yield from self._check_waves()
        entries = self.ledger.entries()
        self._open = sum(1 for entry in entries.values() if _open_request(entry))
        targets = [(self.campaign.targets[name], entries[name]) for name in names]
        events = self._of_tree(targets) if self.campaign.working_tree else self._of_repositories(targets)
        for event in events:
            self._record(event, entries[event.target])
            yield event
        self.obstacle = "; ".join([*self._hosts.obstacles, *filter(None, [self.obstacle])])

    def _check_waves(self) -> Generator[Published, None, list[str]]:
        """Looks at the waves in question, one after the other; gives the targets that may be published now."""
        checks = self._checks() if self.with_requests else None
        is_checked: dict[str, bool] = {}
        while True:
            entries = self.ledger.entries()
            names, self.obstacle = due(self.campaign, states_of(self.campaign, entries), self.wave)
            new = [entries[name] for name in names if name in entries and name not in is_checked]
            if not new:
                return [name for name in names if is_checked.get(name)]
            is_checked |= dict.fromkeys((entry.target for entry in new), True)
            if checks is not None:
                # What is to be published first, then what was looked at longest ago.
                questions = filter(self._is_in_question, new)
                to_check = sorted(questions, key=lambda entry: (not entry.is_to_publish, last_look(entry)))
                yield from checks.at(map(self._place, to_check))
                is_checked |= {entry.target: entry.target in checks.seen for entry in to_check}

    def _checks(self) -> RequestChecks:
        gated = {wave.name for wave in self.campaign.publishing.waves if wave.gate.checks}
        checked = {target for target, wave in wave_of_targets(self.campaign).items() if wave in gated}
        return RequestChecks(self.requests, self.ledger, self._hosts, checked)

    def _place(self, entry: LedgerEntry) -> tuple[LedgerEntry, str, str, str]:
        return entry, self.campaign.targets[entry.target].host, self._address(entry.target), self._branch(entry.target)

    def _is_in_question(self, entry: LedgerEntry) -> bool:
        """Whether a look may change what is to be published: what was merged stays merged."""
        request = entry.request
        return entry.is_to_publish or self._is_draft(entry) or (request is not None and request.state != "merged")

    def _address(self, target: str) -> str:
        """The address of the repository that has the pull requests of a target."""
        return self._origin if self.campaign.working_tree else target

    def estimate(self) -> dict[str, int]:
        """How many changing calls each host gets for the requests that are to be opened, by what the ledger has."""
        if not self.with_requests:
            return {}
        attention = self.campaign.publishing.attention
        calls = 1 + sum(map(bool, (attention.labels, attention.reviewers, attention.assignees)))
        entries = self.ledger.entries()
        names, _ = due(self.campaign, states_of(self.campaign, entries), self.wave)
        branches = {
            (self.campaign.targets[name].host or host_of(self._origin), self._address(name), self._branch(name))
            for name in names
            if name in entries and entries[name].is_to_publish
        }
        counts = Counter(host for host, _, _ in branches if host)
        return {host: count * calls for host, count in counts.items()}

    # ---- repositories --------------------------------------------------------------------------------------------

    def _of_repositories(self, targets: Iterable[tuple[CampaignTarget, LedgerEntry]]) -> Iterator[Published]:
        """Several branches are pushed at once; pull requests are opened one after the other."""
        waiting = self._waiting(targets)
        ahead: deque[tuple[CampaignTarget, LedgerEntry, Future[str]]] = deque()
        threads = ThreadPoolExecutor(_PUSHED_AT_ONCE)
        try:
            while True:
                for target, entry in islice(waiting, _PUSHED_AHEAD - len(ahead)):
                    ahead.append((target, entry, threads.submit(self._push, target, entry)))
                if not ahead:
                    return
                target, entry, pushed = ahead.popleft()
                if event := self._publish(target, entry, pushed):
                    yield event
        finally:
            threads.shutdown(cancel_futures=True)

    def _publish(self, target: CampaignTarget, entry: LedgerEntry, pushed: Future[str]) -> Published | None:
        """What became of a target, None where its host asks to wait."""
        try:
            commit = pushed.result()
            if self._hosts.is_paused(target.host):
                return None
            number = self._propose(target, entry) if self.with_requests else _open_request(entry)
        except (KrmMergeError, OSError) as error:
            message = self._hosts.note_failure(target.host, target.name, error)
            return Published(target.name, "problem", message=message) if message else None
        self._hosts.note_success(target.host)
        what: What = "open" if number or self.with_requests else "pushed"
        return Published(target.name, what, number, commit=commit)

    def _waiting(
        self, targets: Iterable[tuple[CampaignTarget, LedgerEntry]]
    ) -> Iterator[tuple[CampaignTarget, LedgerEntry]]:
        """Those that have something that is not published yet, as many as may be open."""
        for target, entry in targets:
            if not (is_merged(entry) and entry.result) and not self._is_draft(entry):
                continue
            if self._hosts.is_paused(target.host) or entry.is_published(with_request=self.with_requests):
                continue
            if self.with_requests and not _open_request(entry):
                if self.max_open is not None and self._open >= self.max_open:
                    self.obstacle = f"{self._open:,} pull requests are open, and no more may be"
                    return
                self._open += 1
            yield target, entry

    def _is_draft(self, entry: LedgerEntry) -> bool:
        return entry.state == "conflicts" and self.draft_conflicts

    def _push(self, target: CampaignTarget, entry: LedgerEntry) -> str:
        """Pushes the branch of a target, and gives its commit. Raises KrmMergeError and OSError."""
        if self._is_draft(entry):
            text = f"Conflicts with {self.campaign.upstream.ref}\n\n{TRAILER}: {self.campaign.name}\n"
            return self._branches.push_empty(target, entry, text)
        return self._branches.push(target, entry)

    def _propose(self, target: CampaignTarget, entry: LedgerEntry) -> int:
        """The number of the pull request, 0 in a dry run that would open it. Raises KrmMergeError."""
        onto = target.branch or default_branch(target.name)
        mark = Mark(entry.version, entry.result, self.requests.title(packages_of(entry)))
        is_draft = self._is_draft(entry) or self.campaign.publishing.is_draft
        report = self.directory.reports / f"{target.id}.md"
        body = report.read_text(encoding="utf-8") if report.is_file() else ""
        branch, number = self.campaign.publishing.branch, _open_request(entry)
        return self.requests.propose(RequestDraft(target.name, branch, onto, mark, body, number, is_draft))

    # ---- a working tree ------------------------------------------------------------------------------------------

    def _of_tree(self, targets: list[tuple[CampaignTarget, LedgerEntry]]) -> Iterator[Published]:
        """Commits what is merged, and was neither merged nor closed as a pull request."""
        by_branch = group_by_key(
            (self._branch(target.name), (target, entry))
            for target, entry in targets
            if is_merged(entry) and (_open_request(entry) or not entry.is_published(with_request=self.with_requests))
        )
        by_branch = {
            branch: members
            for branch, members in by_branch.items()
            if not all(entry.is_published(with_request=self.with_requests) for _, entry in members)
        }
        if not by_branch:
            return
        base = self._tree.base()
        for branch, members in by_branch.items():
            try:
                yield from self._publish_branch(base, branch, members)
            except KrmMergeError as error:
                yield from (Published(target.name, "problem", message=line(str(error))) for target, _ in members)

    def _publish_branch(
        self, base: str, branch: str, targets: list[tuple[CampaignTarget, LedgerEntry]]
    ) -> Iterator[Published]:
        """Pushes and proposes one branch. Raises KrmMergeError."""
        commit, done, problems = self._tree.commit(base, targets)
        for name, problem in problems.items():
            yield Published(name, "problem", message=problem)
        if not done:
            return
        request = 0
        if self.is_direct:
            self._tree.move_to(commit, done)
        else:
            pushed = next((entry.commit for _, entry in targets if entry.commit), "")
            commit = self._tree.push(base, commit, branch, pushed)
            request = self._request_of_tree(branch, [entry for target, entry in targets if target.name in set(done)])
        what: What = "open" if self.with_requests else "pushed"
        yield from (Published(name, what, request, commit=commit) for name in done)

    def _request_of_tree(self, branch: str, entries: list[LedgerEntry]) -> int:
        if not self.with_requests:
            return 0
        names = [entry.target for entry in entries]
        mark = Mark(entries[0].version, "", self.requests.title(names))
        number = max(map(_open_request, entries))
        targets = {target for target in self.campaign.targets if self._branch(target) == branch}
        conflicts = [(target, conflict) for target, conflict in self.ledger.conflicts() if target in targets]
        body, is_draft = body_of_tree(names, conflicts), self.campaign.publishing.is_draft
        onto = default_branch(self._origin)
        return self.requests.propose(RequestDraft(self._origin, branch, onto, mark, body, number, is_draft))

    def _branch(self, target: str) -> str:
        """The branch that has the result of a target."""
        return self._branch_of.get(target, self.campaign.publishing.branch)

    def _record(self, event: Published, entry: LedgerEntry) -> None:
        self.ledger.put_problem(event.target, event.message)
        if event.what == "problem" or event.what == "reverted":
            return
        address, result = self._address(event.target), entry.result
        row = LedgerRequest(
            event.target, event.request, address, entry.version, result, event.commit, event.what, looked_at=now()
        )
        self.ledger.put_requests([row])


def _open_request(entry: LedgerEntry) -> int:
    """The number of the open pull request of a target, 0 for none."""
    request = entry.request
    return request.number if request is not None and request.state == "open" else 0


_ROLLBACK = "-rollback"
_MOST_COMMITS = 100


class Withdrawal(Publisher):
    """Closes and rolls back the requests of targets."""

    def look(self, names: Iterable[str]) -> Iterator[Published]:
        """Looks what became of the pull requests of targets, whatever the ledger knows of them."""
        entries = self.ledger.entries()
        # A request of a working tree is for those of its packages alone that were merged.
        is_whole = not self.campaign.working_tree
        to_check = [entry for entry in map(entries.__getitem__, names) if is_whole or is_merged(entry)]
        yield from self._checks().at(map(self._place, to_check))

    def close(self, entries: Iterable[LedgerEntry], comment: str = "") -> Iterator[Published]:
        """Closes what is open and removes its branch. A closed request is a no for its version of upstream."""
        yield from self._each(entries, ("open",), lambda pull, request: self._close(pull, request, comment))

    def roll_back(self, entries: Iterable[LedgerEntry], comment: str = "") -> Iterator[Published]:
        """Closes what is open, and proposes the reverse of the last that was merged: a no for its version, too."""

        def end(pull: ForgePullRequest, request: LedgerRequest) -> int:
            if pull.state == "open":
                return self._close(pull, request, comment)
            return self._revert(pull, request, comment)

        yield from self._each(entries, ("open", "merged"), end)

    def _each(
        self,
        entries: Iterable[LedgerEntry],
        states: Sequence[str],
        end: Callable[[ForgePullRequest, LedgerRequest], int],
    ) -> Iterator[Published]:
        """Ends the last request of each target where it has such a state; several targets may have one request."""
        requests = [entry.requests[-1] for entry in entries if entry.requests and entry.requests[-1].number]
        requests = [request for request in requests if request.state in states]
        hosts = Hosts()
        by_place = sorted(requests, key=_place)
        for _, same in groupby(by_place, key=_place):
            members = list(same)
            request = members[0]
            host = self.campaign.targets[request.target].host
            if hosts.is_paused(host):
                continue
            try:
                pull = self.requests.forge_of(request.address).pull_request(request.address, request.number)
                if pull is None:
                    raise ForgeError(f"{request.address} does not show #{request.number}; give the token access to it")
                number = request.number
                if pull.state in states:
                    number = end(pull, request)
            except (KrmMergeError, OSError) as error:
                message = hosts.note_failure(host, request.target, error)
                yield from (Published(member.target, "problem", message=message) for member in members if message)
                continue
            is_reverted = pull.state == "merged" and "merged" in states
            state = "closed" if pull.state in states else pull.state
            if not self.is_dry_run:
                self.ledger.put_requests(replace(member, state=state, looked_at=now()) for member in members)
            what: What = "reverted" if is_reverted else state
            yield from (Published(member.target, what, number) for member in members)

    def _close(self, pull: ForgePullRequest, request: LedgerRequest, comment: str) -> int:
        """Closes a request, and removes its branch if only we committed to it. Raises KrmMergeError."""
        if self.is_dry_run:
            return pull.number
        forge, address = self.requests.forge_of(request.address), request.address
        if comment:
            forge.comment(address, pull.number, comment)
        forge.close(address, pull.number)
        head = head_of(address, pull.source_branch)
        with temporary_directory() as directory:
            remote = remote_at(address, Path(directory, "store.git"))
            if head and head != request.commit:
                check_ours(remote, head, pull.source_branch, self.campaign)
            if head:
                remote.push("", pull.source_branch, head)
        return pull.number

    def _revert(self, pull: ForgePullRequest, request: LedgerRequest, comment: str) -> int:
        """Proposes the reverse of a merged request, and marks it as rolled back. Raises KrmMergeError."""
        forge, address = self.requests.forge_of(request.address), request.address
        if self.is_dry_run:
            return pull.number
        branch = f"{pull.source_branch}{_ROLLBACK}"
        with temporary_directory() as directory:
            remote = remote_at(address, Path(directory, "store.git"))
            remote.refresh()
            reversal = self._reversal(remote, pull)
            if (head := remote.branches.get(branch, reversal)) != reversal:
                check_ours(remote, head, branch, self.campaign)
            remote.push(reversal, branch)
        title = f"Roll back #{pull.number}: {pull.title}"
        body = comment or f"Takes back what #{pull.number} merged. Its version is not proposed again; the next one is."
        mark = Mark(request.version, "", title)
        opposite = forge.create(address, branch, pull.target_branch, title, with_part("", mark, body), draft=False)
        before = mark_in(pull.body) or Mark(request.version, request.result, pull.title)
        # The forge has the whole history, for copies of the campaign without its ledger.
        forge.edit(address, pull.number, pull.title, with_part(pull.body, replace(before, ended="rolled back")))
        return opposite.number

    def _reversal(self, remote: Remote, pull: ForgePullRequest) -> str:
        """A commit on top of the target branch without what a request merged. Raises GitError."""
        store, onto = remote.store, remote.branches[pull.target_branch]
        most = len(self.campaign.targets) if self.campaign.working_tree else _MOST_COMMITS
        remote.fetch(onto, pull.merge_commit, pull.head, depth=most)
        before = _before(store, pull.merge_commit, self.campaign.name)
        paths = store.changed_paths(pull.merge_commit, before)
        try:
            tree = store.pick_changes(onto, pull.merge_commit, before, paths)
        except MergeConflictError as conflict:
            raise GitError(f"{remote.url}: {conflict} since; revert #{pull.number} by hand") from None
        message = f"Roll back {pull.title}\n\n{TRAILER}: {self.campaign.name}\n"
        author = Stamp(Person.parse(self.campaign.publishing.author), self.settings.date)
        return store.commit(tree, [onto], message, author, signing=self.signing)


def _place(request: LedgerRequest) -> tuple[str, int]:
    return request.address, request.number


def _before(store: Store, merge: str, campaign: str) -> str:
    """The commit before a merge: its first parent, or that of the first commit where all were put on top.

    Each package has a commit with a message of its own. The same message again is of an earlier request.
    """
    messages: set[str] = set()
    commit = merge
    while True:
        parents, _, message = store.text("show", "--no-patch", "--format=%P%n%B", commit).partition("\n")
        first = parents.split()[:1]
        is_ours = f"{TRAILER}: {campaign}" in message and message not in messages
        if not first or (messages and not is_ours):
            return commit
        if len(parents.split()) > 1 or not is_ours:
            return first[0]
        messages.add(message)
        commit = first[0]
