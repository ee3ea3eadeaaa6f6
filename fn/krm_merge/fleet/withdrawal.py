"""The end of a campaign's pull requests by its operator: open ones closed, merged ones rolled back by new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.branches import check_ours
from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerRequest, now
from krm_merge.fleet.repository import TRAILER, GitStore, credentials_of, heads_of
from krm_merge.fleet.requests import Hosts, Mark, Published, What, mark_in, with_mark, with_part
from krm_merge.forges.interface import Forge, ForgeError, ForgePullRequest
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, Person, Remote, Stamp, Store
from krm_merge.posix import temporary_directory

_HEADS = "refs/heads/"
_ROLLBACK = "-rollback"


@dataclass(slots=True)
class Withdrawal:
    """Closes and rolls back the requests of targets. `date` is that of the commits, as git writes it."""

    campaign: Campaign
    ledger: Ledger
    forge_of: Callable[[str], Forge]
    date: str
    is_dry_run: bool = False
    signing: tuple[str, ...] = ()

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
                pull = self.forge_of(request.address).pull_request(request.address, request.number)
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
        forge, address = self.forge_of(request.address), request.address
        if comment:
            forge.comment(address, pull.number, comment)
        forge.close(address, pull.number)
        reference = f"{_HEADS}{pull.source_branch}"
        head = heads_of(address, reference).get(reference, "")
        with temporary_directory() as directory:
            store = GitStore(address, Path(directory, "store.git"))
            if head and head != request.commit:
                store.fetch(reference)
                check_ours(store, head, pull.source_branch, self.campaign)
            if head:
                store.remove_branch(pull.source_branch, head)
        return pull.number

    def _revert(self, pull: ForgePullRequest, request: LedgerRequest, comment: str) -> int:
        """Proposes the reverse of a merged request, and marks it as rolled back. Raises KrmMergeError."""
        forge, address = self.forge_of(request.address), request.address
        if self.is_dry_run:
            return pull.number
        branch = f"{pull.source_branch}{_ROLLBACK}"
        with temporary_directory() as directory:
            remote = Remote.open(address, Store.open(Path(directory, "store.git")), credentials_of(address))
            reversal = self._reversal(remote, pull)
            if (head := remote.branches.get(branch, reversal)) != reversal:
                store = GitStore(address, remote.store.directory)
                check_ours(store, head, branch, self.campaign)
            remote.push(reversal, branch)
        title = f"Roll back #{pull.number}: {pull.title}"
        body = comment or f"Takes back what #{pull.number} merged. Its version is not proposed again; the next one is."
        mark = Mark(request.version, "", title)
        opposite = forge.create(address, branch, pull.target_branch, title, with_part("", mark, body), draft=False)
        before = mark_in(pull.body) or Mark(request.version, request.result, pull.title)
        # The forge has the whole history, for copies of the campaign without its ledger.
        forge.edit(address, pull.number, pull.title, with_mark(pull.body, replace(before, ended="rolled back")))
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
        author = Stamp(Person.parse(self.campaign.publishing.author), self.date)
        return store.commit(tree, [onto], message, author, signing=self.signing)


_MOST_COMMITS = 100


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
