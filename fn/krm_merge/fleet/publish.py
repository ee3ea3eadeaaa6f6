"""Publishes what was merged, in waves and at the pace of forges, and takes it back; each target is recorded at once."""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import CAMPAIGN_FILE, Campaign, CampaignTarget, Gate, Wave
from krm_merge.fleet.campaign_file import CampaignDirectory
from krm_merge.fleet.job import Job, Settings
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, RequestState, is_merged, now
from krm_merge.fleet.merge import Merging
from krm_merge.fleet.proposals import BranchUpdate, Mark, NotPublishedError, Proposer, mark_in
from krm_merge.fleet.repository import (
    TRAILER,
    head_of,
    merge_repository,
    place_of,
    remote_at,
)
from krm_merge.fleet.requests import Hosts, Published, RequestChecks, What, body_of_tree, last_look, packages_of
from krm_merge.fleet.working_tree import TreeCommits, split_branches
from krm_merge.forges.interface import Forge, ForgeError, ForgePullRequest, host_of
from krm_merge.forges.proposals import part_in, with_part
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
            return f"{self.closed} of {self.name} closed or reverted; {gate.closed} may be (gate.closed)"
        of = self.published + self.to_publish
        if self.unknown:
            return f"{self.unknown} of {self.name} are unknown: the forge does not show their pull requests"
        if self.merged * 100 < int(gate.merged.rstrip("%")) * of:
            return f"{self.merged} of {of} of {self.name} merged; {gate.merged} must be (gate.merged)"
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
        closed=states["closed"] + states["reverting"] + states["reverted"],
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

    `forge_of` gives the forge of a repository's address. `obstacle` is why no more was due.
    """

    directory: CampaignDirectory
    campaign: Campaign
    ledger: Ledger
    settings: Settings
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False
    with_requests: bool = True
    wave: str | None = None
    is_direct: bool = False
    obstacle: str = ""
    hosts: Hosts = field(default_factory=Hosts)
    _open: int = 0
    _proposer: Proposer = field(init=False)
    _tree: TreeCommits = field(init=False)
    _branch_of: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Raises NotPublishedError where there is nothing that branches could be pushed to."""
        self._proposer = Proposer(self.campaign, self.forge_of, self.is_dry_run)
        self._tree = TreeCommits(self.campaign, self.settings, self.is_dry_run)
        # With --direct there are no branches.
        self._branch_of = {} if self.is_direct else split_branches(self.campaign)
        if self.campaign.working_tree and not self.is_direct and not self._tree.origin:
            raise NotPublishedError(
                f"{self.campaign.working_tree} has no remote origin to push branches to; add one with git remote add "
                "origin URL, or commit to the current branch with --direct"
            )

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
        self.obstacle = "; ".join([*self.hosts.obstacles, *filter(None, [self.obstacle])])

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
        return RequestChecks(self.forge_of, self.ledger, self.hosts, checked)

    def _place(self, entry: LedgerEntry) -> tuple[LedgerEntry, str, str]:
        return entry, self._address(entry.target), self._branch(entry.target)

    def _is_in_question(self, entry: LedgerEntry) -> bool:
        """Whether a look may change what is to be published: what was merged stays merged."""
        request = entry.request
        is_decided = request is not None and request.state in ("merged", "reverted")
        return entry.is_to_publish or (request is not None and not is_decided)

    def _address(self, target: str) -> str:
        """The address of the repository that has the pull requests of a target."""
        return self._tree.origin if self.campaign.working_tree else target

    def _branch(self, target: str) -> str:
        """The branch that has the result of a target."""
        return self._branch_of.get(target, self.campaign.publishing.branch)

    # ---- repositories --------------------------------------------------------------------------------------------

    def _of_repositories(self, targets: Iterable[tuple[CampaignTarget, LedgerEntry]]) -> Iterator[Published]:
        """Several branches are pushed at once; pull requests are opened one after the other."""
        waiting = self._waiting(targets)
        ahead: deque[tuple[CampaignTarget, LedgerEntry, Future[BranchUpdate]]] = deque()
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

    def _waiting(
        self, targets: Iterable[tuple[CampaignTarget, LedgerEntry]]
    ) -> Iterator[tuple[CampaignTarget, LedgerEntry]]:
        """Those that have something that is not published yet, as many as may be open."""
        most = self.campaign.publishing.max_open
        for target, entry in targets:
            if not (is_merged(entry) and entry.result):
                continue
            if self.hosts.is_paused(target.host) or entry.is_published(with_request=self.with_requests):
                continue
            if self.with_requests and not _open_request(entry):
                if most is not None and self._open >= most:
                    self.obstacle = f"{self._open:,} pull requests are open, the most that publish.maxOpen allows"
                    return
                self._open += 1
            yield target, entry

    def _push(self, target: CampaignTarget, entry: LedgerEntry) -> BranchUpdate:
        """Pushes the branch of a target. Raises KrmMergeError and OSError."""
        update = self._update_of(target, entry)
        commit = self._proposer.push(update)
        if not self.is_dry_run:
            # The copy of the repository is not needed any more.
            update.remote.store.remove()
        return replace(update, commit=commit)

    def _update_of(self, target: CampaignTarget, entry: LedgerEntry) -> BranchUpdate:
        """The branch with what was merged. Raises NotPublishedError and GitError."""
        if entry.settings.partition(" ")[0] != self.campaign.settings_digest:
            raise NotPublishedError(f"{CAMPAIGN_FILE} changed since it was merged; run the campaign again")
        branch = self.campaign.publishing.branch
        seen = head_of(target.name, branch)
        place = place_of(target, self.settings.cache)
        if seen != entry.made and not place.is_dir():
            # The copy of the repository is gone; the same merge gives the same commit.
            outcome = merge_repository(Merging(self.settings), Job(target.name))
            if outcome.commit != entry.made:
                shutil.rmtree(place, ignore_errors=True)
                raise NotPublishedError("it changed since it was merged; run the campaign again")
        return BranchUpdate(remote_at(target.name, place), branch, target.branch, entry.made, seen, entry.commits)

    def _publish(self, target: CampaignTarget, entry: LedgerEntry, pushed: Future[BranchUpdate]) -> Published | None:
        """What became of a target, None where its host asks to wait."""
        try:
            update = pushed.result()
            if self.hosts.is_paused(target.host):
                return None
            number = _open_request(entry)
            if self.with_requests:
                mark, is_draft = self._mark(entry), self.campaign.publishing.is_draft
                number = self._proposer.request(update, number, mark, self._body(target), is_draft=is_draft)
        except (KrmMergeError, OSError) as error:
            message = self.hosts.note_failure(target.host, target.name, error)
            return Published(target.name, "problem", message=message) if message else None
        self.hosts.note_success(target.host)
        what: What = "open" if number or self.with_requests else "pushed"
        return Published(target.name, what, number, commit=update.commit)

    def _mark(self, entry: LedgerEntry) -> Mark:
        return Mark(entry.version, entry.result, self._title(packages_of(entry)))

    def _title(self, packages: Sequence[str]) -> str:
        name = packages[0] if len(packages) == 1 else f"{len(packages):,} packages"
        return self.campaign.publishing.title.replace("{packages}", name).replace("{ref}", self.campaign.upstream.ref)

    def _body(self, target: CampaignTarget) -> str:
        report = self.directory.report_of(target)
        return report.read_text(encoding="utf-8") if report.is_file() else ""

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
        base = self._tree.head() if self.is_direct else self._tree.origin_head()
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
        what: What
        request = 0
        if self.is_direct:
            what = "pushed" if self._tree.move_to(commit, done) else "committed"
        else:
            entries = [entry for target, entry in targets if target.name in set(done)]
            update = self._tree.update(commit, branch, entries)
            commit = self._proposer.push(update)
            what = "open" if self.with_requests else "pushed"
            if self.with_requests:
                names = [entry.target for entry in entries]
                mark, body = Mark(entries[0].version, "", self._title(names)), self._body_of_tree(branch, names)
                number, is_draft = max(map(_open_request, entries)), self.campaign.publishing.is_draft
                request = self._proposer.request(update, number, mark, body, is_draft=is_draft)
        yield from (Published(name, what, request, commit=commit) for name in done)

    def _body_of_tree(self, branch: str, names: Sequence[str]) -> str:
        targets = {target for target in self.campaign.targets if self._branch(target) == branch}
        return body_of_tree(names, [member for member in self.ledger.conflicts() if member[0] in targets])

    def _record(self, event: Published, entry: LedgerEntry) -> None:
        self.ledger.put_problem(event.target, event.message)
        if event.what == "problem":
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

    def end(
        self, entries: Iterable[LedgerEntry], comment: str = "", *, states: Sequence[RequestState]
    ) -> Iterator[Published]:
        """Ends the last request of each target that has one of the states; several targets may have one request.

        What is open is closed, and its branch removed: a no for its version of upstream. Of what was merged, the
        reverse is proposed.
        """
        requests = [entry.requests[-1] for entry in entries if entry.requests and entry.requests[-1].number]
        by_place = sorted((request for request in requests if request.state in states), key=_place)
        for (address, number), same in groupby(by_place, key=_place):
            members = list(same)
            if self.hosts.is_paused(host_of(address)):
                continue
            try:
                pull = self.forge_of(address).pull_request(address, number)
                if pull is None:
                    raise ForgeError(f"#{number} is not readable; correct the address, or give the token access")
                rows = self._end(pull, members, comment, states)
            except (KrmMergeError, OSError) as error:
                message = self.hosts.note_failure(host_of(address), members[0].target, error)
                for member in members if message else ():
                    self.ledger.put_problem(member.target, message)
                    yield Published(member.target, "problem", message=message)
                continue
            if not self.is_dry_run:
                self.ledger.put_requests(replace(row, looked_at=now()) for row in rows)
            for row in rows:
                self.ledger.put_problem(row.target, "")
                yield Published(row.target, row.state, row.reverse or number)

    def _end(
        self, pull: ForgePullRequest, members: Sequence[LedgerRequest], comment: str, states: Sequence[RequestState]
    ) -> list[LedgerRequest]:
        """Closes a request or proposes its reverse, and gives what it is for each target then. Raises KrmMergeError."""
        if pull.state not in states:
            # It ended meanwhile.
            return [replace(member, state=pull.state) for member in members]
        if pull.state == "open":
            self._close(pull, members[0], comment)
            return [replace(member, state="closed") for member in members]
        reverse = self._revert(pull, members[0], comment)
        return [replace(member, state="reverting", reverse=reverse) for member in members]

    def _close(self, pull: ForgePullRequest, request: LedgerRequest, comment: str) -> None:
        """Closes a request, and removes its branch if only we committed to it. Raises KrmMergeError."""
        if self.is_dry_run:
            return
        forge, address = self.forge_of(request.address), request.address
        if comment:
            forge.comment(address, pull.number, comment)
        forge.close(address, pull.number)
        head = head_of(address, pull.source_branch)
        if head and head != request.commit:
            self._proposer.check_ours(address, pull.source_branch, head, pull.target_branch)
        if head:
            with temporary_directory() as directory:
                remote_at(address, Path(directory, "store.git")).push("", pull.source_branch, head)

    def _revert(self, pull: ForgePullRequest, request: LedgerRequest, comment: str) -> int:
        """Proposes the reverse of a merged request, and marks it as taken back. Raises KrmMergeError.

        Returns the number of the reverse, 0 in a dry run.
        """
        if self.is_dry_run:
            return 0
        forge, address = self.forge_of(request.address), request.address
        branch = f"{pull.source_branch}{_ROLLBACK}"
        title = f"Roll back #{pull.number}: {pull.title}"
        body = comment or f"Reverts #{pull.number}. Its version is not proposed again, but the next one is."
        with temporary_directory() as directory:
            remote = remote_at(address, Path(directory, "store.git"))
            remote.refresh()
            reversal = self._reversal(remote, pull, remote.branches[pull.target_branch])
            seen = remote.branches.get(branch, "")
            update = BranchUpdate(remote, branch, pull.target_branch, reversal, seen)
            self._proposer.push(update)
        reverse = self._proposer.request(update, 0, Mark(request.version, "", title), body, is_draft=False)
        before = mark_in(pull.body) or Mark(request.version, request.result, pull.title)
        part = part_in(pull.body)
        # The forge has the whole history, for copies of the campaign without its ledger.
        new = replace(before, reverse=reverse).part(part.body if part is not None else "")
        forge.edit(address, pull.number, pull.title, with_part(pull.body, new))
        return reverse

    def _reversal(self, remote: Remote, pull: ForgePullRequest, onto: str) -> str:
        """A commit on top of the target branch without what a request merged. Raises GitError."""
        store = remote.store
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
        return store.commit(tree, [onto], message, author)


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
