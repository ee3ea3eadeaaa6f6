"""Applies plans: branches and commits in git, pull requests in a forge (rules C4, CR21 to CR31).

A step whose result exists already is skipped: a plan that is applied twice changes nothing the second time, and
the next run completes an interrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from krm_merge.components.digests import ImageIdentity, references, replace_digests
from krm_merge.components.graph import branch_names, is_possible
from krm_merge.components.plan.model import (
    NOTHING_LEFT,
    DigestEdit,
    closed_description,
    described_state,
    link,
    parse_description,
)
from krm_merge.components.plan.plan_file import RecordedPlan
from krm_merge.components.repository import (
    TRAILER,
    CopyConflictError,
    Repository,
    RepositoryPullRequests,
    copied_before,
    copy_trailer,
    planned_digests,
    with_copy,
)
from krm_merge.components.searched_files import is_candidate, is_searched
from krm_merge.forges.interface import ForgeError, ForgePullRequest
from krm_merge.forges.proposals import MarkedPart, RequestProposal, has_part
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, TreeEntry
from krm_merge.krm import Result, Severity

_ANEW = frozenset(("create", "regenerate", "rebase"))
"""The actions that rebuild the branch from its base."""


class _PlanStoppedError(Exception):
    """A plan that cannot be applied further."""

    def __init__(self, rule: str, message: str, severity: Severity = "error") -> None:
        super().__init__(message)
        self.rule = rule
        self.severity: Severity = severity


def apply_plan(
    plan: RecordedPlan, repository: Repository, pull_requests: RepositoryPullRequests, ended: set[str]
) -> list[Result]:
    """Updates the branch and the pull request to the plan. Returns the steps, with the problem that stopped it.

    `ended` are the pull requests that plans applied before have closed, as `link` names them; those of this one are
    added. What they alone trigger is not opened, so plans of open pull requests come first.
    """
    base = plan.base or repository.default_branch
    run = _Run(replace(plan, base=base), repository, pull_requests, ended)
    try:
        run.apply()
    except _PlanStoppedError as stop:
        run.report(stop.severity, stop.rule, str(stop))
    except (GitError, ForgeError) as error:
        run.report("error", "C4", str(error))
    return run.steps


@dataclass(slots=True)
class _Run:
    """One plan that is being applied.

    `is_fit` says that the branch has only changes of this plan, `is_missing` that no file references the image of one
    of the digests. `replaced_files` are the contents of the files that our commits on the branch changed, before and
    after.
    """

    plan: RecordedPlan
    git: Repository
    pulls: RepositoryPullRequests
    ended: set[str]
    steps: list[Result] = field(default_factory=list)
    is_fit: bool = True
    is_missing: bool = False
    replaced_files: list[tuple[bytes, bytes]] = field(default_factory=list)

    def report(self, severity: Severity, rule: str, message: str) -> None:
        """Records a step; duplicates are dropped."""
        step = Result(severity, f"{self.plan.name}: {message}", rule=rule)
        if step not in self.steps:
            self.steps.append(step)

    def apply(self) -> None:
        """Applies the plan, step by step."""
        plan = self.plan
        pull = next((pull for pull in self.pulls.open if self._is_own(pull)), None)
        if plan.closed:
            if pull is not None:
                self._close(pull, plan.closed, plan.description)
            return
        if pull is None:
            if plan.number and (named := self.pulls.find(plan.number)) is not None:
                self._stop_for(named)  # it is no longer open
            self._check_triggers()
        base = self.git.branches.get(plan.base, "")
        if not base:
            remedy = "name the branch that the Component is built from in spec.source.git.revision"
            raise _PlanStoppedError("C4", f"{plan.repository} has no branch {plan.base}; {remedy}")
        branch = pull.source_branch if pull is not None else self._free_branch(base)
        here = self.git.branches.get(branch, "")
        self.git.fetch(base, here)
        commit = self._with_digests(self._start(branch, base, here, is_new=pull is None))
        if self._changes_nothing(commit, base):
            commit = self._for_target(commit, base, branch)
        if commit == base:
            self._leave(pull)
            return
        if pull is None:
            self._check_not_ended()
        if commit != here:
            self.git.push(commit, branch)
            self.report("info", "CR22" if here else "CR21", f"pushed {branch} at {commit[:12]}")
        is_draft = plan.draft or not self.is_fit
        self._propose(RequestProposal(branch, plan.base, plan.title, plan.description, is_draft), pull)

    def _leave(self, pull: ForgePullRequest | None) -> None:
        """Pushes nothing and reports that: forges count a branch that equals its base as merged."""
        plan = self.plan
        self.report("info", "C5", f"there is nothing to update in {plan.repository}")
        if pull is not None and self.is_missing:
            # The target names no digest of the image: later it may name one again.
            self.report(
                "info", "C5", f"#{pull.number} is kept open: no file of {plan.base} names the image by a known digest"
            )
        elif pull is not None:
            reason = f"{NOTHING_LEFT} in {plan.base}"
            self._close(pull, reason, closed_description(plan.description, reason))

    # ---- the pull request of the plan -------------------------------------------------------------------------

    def _is_own(self, pull: ForgePullRequest) -> bool:
        """Whether it is the pull request of the plan: open, with our description, and for the same branch."""
        plan = self.plan
        is_there = pull.number == plan.number if plan.number else pull.source_branch in self._spellings()
        return (
            is_there
            and pull.state == "open"
            and pull.target_branch == plan.base
            and (parse_description(pull.body) is not None or bool(planned_digests(pull, self.git)))
        )

    def _spellings(self) -> list[str]:
        """The names that the branch may have (I5)."""
        plan = self.plan
        preferred, other = branch_names(plan.group, plan.branch[len(plan.group) + 1 :])
        return [plan.branch, *([other] if plan.branch == preferred else [])]

    def _check_triggers(self) -> None:
        """Stops if all that triggered the plan was closed after it was made. Raises _PlanStoppedError."""
        state = described_state(self.plan.description)
        if state.triggers and not state.by_push and self.ended.issuperset(state.triggers):
            names = " and ".join(state.triggers)
            raise _PlanStoppedError(
                "C4", f"{names} was closed after the plan was made; observe and plan again", "warning"
            )

    def _check_not_ended(self) -> None:
        """Stops if the pull request was merged or closed after the plan was made. Raises _PlanStoppedError."""
        for branch in self._spellings():
            for pull in self.pulls.ended_from(branch):
                if pull.state == "closed" and has_part(pull.body, self.plan.description):
                    self._stop_for(pull)

    def _stop_for(self, pull: ForgePullRequest) -> None:
        state = "changed" if pull.state == "open" else pull.state
        message = f"#{pull.number} was {state} after the plan was made; observe and plan again"
        raise _PlanStoppedError("C4", message, "warning")

    def _free_branch(self, base: str) -> str:
        """A branch name that nobody else uses, and that does not clash with other branches."""
        plan = self.plan
        used = {pull.source_branch for pull in self.pulls.open}
        for branch in self._spellings():
            here = self.git.branches.get(branch, "")
            if branch in used:
                continue
            if here:
                self.git.fetch(base, here)
                if not self.git.is_ours(self.git.merge_base(base, here), here):
                    continue
            elif not is_possible(branch, self.git.branches):
                continue
            if branch != plan.branch:
                self.report("info", "I5", f"the branch is {branch}: {plan.branch} is taken or clashes with another one")
            return branch
        raise _PlanStoppedError(
            "C4", f"{plan.branch} belongs to somebody else in {plan.repository}; rename one of the two"
        )

    # ---- the branch --------------------------------------------------------------------------------------------

    def _start(self, branch: str, base: str, here: str, *, is_new: bool) -> str:
        """The commit to add digests to: the branch or, if it is rebuilt, the base; with the copied changes."""
        if not here:
            return self._rebuild(base)
        actions, fork = self.plan.actions, self.git.merge_base(base, here)
        is_ours = self.git.is_ours(fork, here)
        if is_ours:
            self.replaced_files = list(self._changed_files(fork, here))
        copied = copied_before(self.git, fork, here)
        is_current = copied == {copy.pull_request: copy.head for copy in self.plan.copies}
        if is_ours and (is_new or actions & _ANEW or not is_current):
            return self._rebuild(base)
        # CR23: a branch that merges cleanly is not rebased, so that new commits of the target cause no pushes.
        conflict = self.git.conflict(base, here)
        if is_ours and conflict:
            try:
                return self._with_copies(base)
            except CopyConflictError as problem:
                # Somebody has to rebase the copied pull request. Until then its digests are updated as before.
                message = f"{branch} conflicts with {self.plan.base}, and {problem}; rebase it on {self.plan.base}"
                self.report("warning", "CR28", message)
        elif conflict or ("rebase" in actions and not is_ours and not self.git.store.is_ancestor(base, here)):
            why = f" and conflicts with {self.plan.base} ({conflict})" if conflict else ""
            message = f"people added commits to {branch}: it is not rebased{why}; rebase it by hand"
            self.report("warning", "CR23", message)
        if not is_ours:
            self._report_copies(copied, base)
        return here

    def _changed_files(self, fork: str, here: str) -> Iterator[tuple[bytes, bytes]]:
        before, after = self.git.store.entries(fork), self.git.store.entries(here)
        files = [(before[path], after[path]) for path in before.keys() & after.keys()]
        changed = [pair for pair in files if pair[0] != pair[1] and all(entry.is_file for entry in pair)]
        contents = self.git.store.contents(entry for pair in changed for entry in pair)
        return ((contents[first.name], contents[second.name]) for first, second in changed)

    def _identity_of(self, edit: DigestEdit) -> ImageIdentity:
        """The digests that may be replaced: those of the plan, and those that the branch replaced already (C14).

        The plan no longer has these when the cluster has deleted their builds.
        """
        before, after = (
            {reference.digest for pair in self.replaced_files for reference in references(pair[at], edit.repositories)}
            for at in (0, 1)
        )
        more = before - after - edit.identity.other_digests
        return replace(edit.identity, digests=edit.identity.digests | more)

    def _rebuild(self, base: str) -> str:
        try:
            return self._with_copies(base)
        except CopyConflictError as problem:
            raise _PlanStoppedError("CR28", f"{problem}; rebase it on {self.plan.base}") from None

    def _changes_nothing(self, commit: str, base: str) -> bool:
        """Whether merging the commit leaves the tree of the target as it is."""
        try:
            return self.git.store.merge_trees(base, commit, renames=False) == self.git.store.tree(base)
        except MergeConflictError:
            return False

    def _for_target(self, commit: str, base: str, branch: str) -> str:
        """The commit to push instead of one that changes nothing: the base, if the target has the digests.

        Otherwise the target has newer digests, which only this branch reverts.
        """
        if self._with_digests(base) == base:
            return base
        if self.git.is_ours(self.git.merge_base(base, commit), commit):
            return self._with_digests(self._rebuild(base))
        message = f"people added commits to {branch}, and its merge would change nothing; rebase it by hand"
        self.report("warning", "CR23", message)
        return commit

    def _with_copies(self, commit: str) -> str:
        """Adds a commit with each pull request's changes in the dependants' directories. Raises CopyConflictError."""
        for copy in self.plan.copies:
            commit = with_copy(self.git, commit, copy)
        return commit

    def _report_copies(self, copied: Mapping[str, str], base: str) -> None:
        """Says what to copy and to take out by hand, since people added commits; merged changes stay."""
        by_hand = "people added commits to the branch: {} the changes of {} by hand, in a commit with the line: {}"
        planned = {copy.pull_request: copy.head for copy in self.plan.copies}
        for name, head in planned.items():
            if copied.get(name) != head:
                self.report("warning", "CR28", by_hand.format("copy", name, copy_trailer(name, head)))
        for name in copied.keys() - planned.keys():
            number = name.rpartition("#")[2]
            pull = self.pulls.find(int(number)) if number.isdecimal() else None
            if pull is None or pull.state == "merged" or self.git.store.is_ancestor(copied[name], base):
                continue
            self.is_fit = False
            message = by_hand.format("take out", name, copy_trailer(name, base))
            self.report("warning", "CR28", f"{message}; it stays a draft until then")

    def _with_digests(self, commit: str) -> str:
        """Adds a commit for each component whose digest changes, after all other commits (CR29)."""
        self.is_missing = False
        for edit in self.plan.edits:
            commit = self._with_digest(commit, edit)
        return commit

    def _with_digest(self, commit: str, edit: DigestEdit) -> str:
        plan, policy = self.plan, self.plan.policy
        files = {
            path: entry
            for path, entry in self.git.store.entries(commit).items()
            if entry.is_file
            and any(is_searched(path, context, policy.files, policy.exclude) for context in plan.contexts)
        }
        contents = self.git.store.contents(files.values())
        changes: dict[str, TreeEntry | None] = {}
        has_digest = has_name = False
        identity = self._identity_of(edit)
        for path, entry in files.items():
            data = contents[entry.name]
            if not is_candidate(path, data):
                continue
            edited = replace_digests(data, edit.repositories, identity, edit.digest, path)
            has_digest = has_digest or bool(edited.replaced) or edit.digest.encode() in data
            has_name = has_name or has_digest or _may_be_of(edit, data)
            for problem in edited.problems:
                if problem.severity == "error":
                    raise _PlanStoppedError(problem.rule, problem.message)
                self.report(problem.severity, problem.rule, problem.message)
            if edited.data != data:
                changes[path] = TreeEntry(path, entry.mode, self.git.store.store_content(edited.data))
        self.is_missing = self.is_missing or not has_digest
        if not has_name:
            where = "" if "." in plan.contexts else f" below {', '.join(plan.contexts)}"
            names = ", ".join(edit.repositories) or edit.image
            self.report("warning", "C5", f"no file{where} names {names} by digest; check digest.files")
        if not changes:
            return commit
        name = edit.component.name
        trailers = f"Component: {name}\nImage: {edit.image}\nDigest: {edit.digest}\n{TRAILER}\n"
        message = f"Update {name} to {edit.digest[:19]}\n\n{trailers}"
        return self.git.commit(self.git.store.change_tree(self.git.store.tree(commit), changes), commit, message)

    # ---- the pull request --------------------------------------------------------------------------------------

    def _close(self, pull: ForgePullRequest, reason: str, description: MarkedPart) -> None:
        proposal = RequestProposal(pull.source_branch, pull.target_branch, pull.title, description, pull.draft)
        self.pulls.close(self._propose(proposal, pull), f"Closed: {reason}.")
        self.ended.add(link(self.plan.repository, pull.number))
        self.report("info", "C4", f"closed #{pull.number}: {reason}")

    def _propose(self, proposal: RequestProposal, before: ForgePullRequest | None) -> ForgePullRequest:
        pull = self.pulls.carry_out(proposal, before)
        if before is None:
            self.report("info", "CR21", f"opened #{pull.number}{' as a draft' if pull.draft else ''}")
            return pull
        if (pull.title, pull.body) != (before.title, before.body):
            self.report("info", "CR23", f"updated the description of #{pull.number}")
        if pull.draft != before.draft:
            self.report("info", "CR30", f"#{pull.number} {'is a draft again' if pull.draft else 'is ready for review'}")
        return pull


def _may_be_of(edit: DigestEdit, data: bytes) -> bool:
    """Whether the file may reference the image of a Component, including references that are kept as ambiguous."""
    return any(edit.identity.matches(reference) is not False for reference in references(data, edit.repositories))
