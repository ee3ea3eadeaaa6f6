"""Combines builds and pull requests: the latest of each, independent of the order of observation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from krm_merge.components.konflux.model import Build, Component, ComponentKey, PullRequest, is_label_of
from krm_merge.forges.interface import same_repository
from krm_merge.startup import group_by_key

_LASTING = {"open": 0, "closed": 1, "merged": 2}
PullRequestId = tuple[str, int]


@dataclass(frozen=True)
class History:
    """Builds and pull requests as observed; duplicates count once.

    Builds for another branch than that of their Component do not count: they belong to another version.
    """

    builds: Sequence[Build] = ()
    pull_requests: Sequence[PullRequest] = ()
    components: Mapping[ComponentKey, Component] = field(default_factory=dict)

    def _component(self, key: ComponentKey) -> Component:
        """A Component, without any field where it is not observed."""
        return self.components.get(key) or Component(key, "")

    @cached_property
    def _in_order(self) -> list[Build]:
        """The builds from the oldest to the newest; the name decides between builds that started at the same time."""
        ours = {build for build in self.builds if self.is_built_from(build.component, self.branch_of(build))}
        return sorted(ours, key=lambda build: (build.started, build.name))

    def is_built_from(self, key: ComponentKey, branch: str) -> bool:
        """Whether a Component is built from a branch, as far as that is known; '' is an unknown branch."""
        return branch == "" or self._component(key).branch in ("", branch)

    @cached_property
    def other_branches(self) -> dict[ComponentKey, set[str]]:
        """The other branches that have builds of Components, which do not count."""
        branches: dict[ComponentKey, set[str]] = {}
        for build in self.builds:
            branch = self.branch_of(build)
            if not self.is_built_from(build.component, branch):
                branches.setdefault(build.component, set()).add(branch)
        return branches

    def branch_of(self, build: Build) -> str:
        """The branch that a build is for, '' where that was not observed."""
        if build.event == "merge_queue":
            return ""  # it has branches of its own
        owner = self._owner(build)
        pull_request = self._by_id.get(owner) if owner is not None else None
        observed = pull_request.target_branch if pull_request is not None else ""
        declared = build.target_branch or self._label_branch(build)
        # The target of a pull request may change after the build; a push belongs to the branch that it was pushed to.
        return (declared or observed) if build.event == "push" else (observed or declared)

    def _label_branch(self, build: Build) -> str:
        """The Component's branch, if the label may be its name; otherwise the label."""
        component = self.components.get(build.component)
        is_own = component is not None and is_label_of(build.branch_label, component.branch)
        return component.branch if component is not None and is_own else build.branch_label

    @cached_property
    def by_component(self) -> dict[ComponentKey, list[Build]]:
        """The builds of each Component, from the oldest to the newest."""
        return group_by_key((build.component, build) for build in self._in_order)

    @cached_property
    def by_repository(self) -> dict[str, list[PullRequest]]:
        """The pull requests of each repository, by number."""
        repositories: dict[str, dict[int, PullRequest]] = {}
        for pull in self.pull_requests:
            of_repository = repositories.setdefault(same_repository(pull.repository), {})
            previous = of_repository.get(pull.number)
            # A late observation does not undo a merge.
            if previous is None or _LASTING[pull.state] >= _LASTING[previous.state]:
                of_repository[pull.number] = pull
        return {repository: [pulls[number] for number in sorted(pulls)] for repository, pulls in repositories.items()}

    def of_repository(self, url: str) -> Sequence[PullRequest]:
        """The pull requests of a repository."""
        return self.by_repository.get(same_repository(url), ())

    def default_branch(self, url: str) -> str:
        """The default branch of a repository as the newest pull request has it, '' where that was not observed."""
        return next((pull.default_branch for pull in reversed(self.of_repository(url)) if pull.default_branch), "")

    @cached_property
    def _builds_by_pull_request(self) -> dict[tuple[ComponentKey, PullRequestId, bool], list[Build]]:
        """Builds by Component and pull request, separately before and after its merge."""
        builds: dict[tuple[ComponentKey, PullRequestId, bool], list[Build]] = {}
        for build in self._in_order:
            pushed, owner = build.event == "push", self._owner(build)
            if owner is not None and build.event != "merge_queue":
                builds.setdefault((build.component, owner, pushed), []).append(build)
        return builds

    def _owner(self, build: Build) -> PullRequestId | None:
        """The pull request that a build belongs to; for a push the one that was merged."""
        repository = same_repository(build.repository or self._component(build.component).repository)
        number = self._merge_commits.get((repository, build.revision)) if build.event == "push" else None
        return number or ((repository, build.pull_request) if build.pull_request else None)

    @cached_property
    def _merge_commits(self) -> dict[tuple[str, str], PullRequestId]:
        return {
            (same_repository(pull.repository), pull.merge_commit): pull.id
            for pull in self.pull_requests
            if pull.state == "merged" and pull.merge_commit
        }

    @cached_property
    def _by_id(self) -> dict[PullRequestId, PullRequest]:
        return {pull.id: pull for pulls in self.by_repository.values() for pull in pulls}

    def merge_of(self, build: Build) -> PullRequest | None:
        """The pull request whose merge a push built, as far as that was observed."""
        owner = self._owner(build) if build.event == "push" else None
        return self._by_id.get(owner) if owner is not None else None

    def before_merge(self, key: ComponentKey, pull_request: PullRequest) -> list[Build]:
        """Builds of a Component from a pull request, from the oldest to the newest."""
        return self._builds_by_pull_request.get((key, pull_request.id, False), [])

    def after_merge(self, key: ComponentKey, pull_request: PullRequest) -> list[Build]:
        """Builds of a Component from the merge of a pull request."""
        return self._builds_by_pull_request.get((key, pull_request.id, True), [])

    def unobserved_numbers(self, key: ComponentKey) -> list[int]:
        """The numbers of pull requests that were built, but not observed."""
        observed = {pull.number for pull in self.of_repository(self._component(key).repository)}
        built = {b.pull_request for b in self.by_component.get(key, ()) if b.event != "merge_queue" and is_usable(b)}
        return sorted(built - observed - {0})

    def image(self, key: ComponentKey) -> str:
        """The name of a Component's image: its own, else that of the newest build; '' if neither names it."""
        built = (build.image for build in reversed(self.by_component.get(key, ())) if build.image)
        return self._component(key).image or next(built, "")

    def image_names(self, key: ComponentKey) -> tuple[str, ...]:
        """All names of a Component's image, its own first."""
        return tuple(filter(None, dict.fromkeys((self.image(key), *self._component(key).released_as))))

    @cached_property
    def promoted_builds(self) -> dict[ComponentKey, Build]:
        """The builds that are in the global candidate list: the newest successful push, never an older one (CR15, I3).

        A Component has none if only it itself names the promoted digest.
        """
        newest: dict[ComponentKey, Build] = {}
        for key, builds in self.by_component.items():
            since = self._component(key).promoted
            pushed = [b for b in builds if b.event == "push" and is_usable(b) and b.started >= since]
            if pushed:
                newest[key] = pushed[-1]
        return newest

    def promoted_before(self, key: ComponentKey, at: str) -> tuple[str, str] | None:
        """Digest and commit in the global candidate list at a time, which is text as in builds; None if unknown."""
        pushed = [b for b in self.by_component.get(key, ()) if b.event == "push" and is_usable(b)]
        before = [b for b in pushed if (b.completed or b.started) <= at]
        if before:
            return before[-1].digest, before[-1].revision
        component = self._component(key)
        # The digest in the Component may be of a later push.
        if not component.digest or component.digest in {b.digest for b in pushed}:
            return None
        return component.digest, component.commit

    def promoted_digest(self, key: ComponentKey) -> str:
        """The digest in the global candidate list, '' if it is missing yet."""
        build = self.promoted_builds.get(key)
        return build.digest if build is not None else self._component(key).digest


def is_usable(build: Build) -> bool:
    """Whether a build gave an image (CR19)."""
    return build.outcome == "succeeded" and bool(build.digest)


def latest(builds: Iterable[Build]) -> Build | None:
    """The newest build that gave an image; the builds are in order."""
    usable = [build for build in builds if is_usable(build)]
    return usable[-1] if usable else None
