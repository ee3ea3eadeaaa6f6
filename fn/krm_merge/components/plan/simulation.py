"""Simulates the specification's integration-service: snapshots, tests, candidates, releases (CR14 to CR18, CR24, CR25).

The order of observation does not matter: only the latest build of each Component counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.components.graph import Role, finding
from krm_merge.components.konflux.history import latest
from krm_merge.components.konflux.model import Build, BuildEvent, BuildOutcome, ComponentKey, PullRequest, digest_of
from krm_merge.components.plan.model import Plan, Planning, reference
from krm_merge.krm import Result

SnapshotType: TypeAlias = Literal["component", "group"]

_LONGEST_APPLICATION = 43
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class BuildFate:
    """The consequences of a build."""

    tests: bool
    candidate: bool
    release: bool


def fate(role: Role, event: BuildEvent, outcome: BuildOutcome) -> BuildFate:
    """The consequences of a build, by its Component's role (CR14 to CR18); dependencies are not tested or released."""
    built, pushed = outcome == "succeeded", event == "push"
    tested = built and role in ("dependant", "independent")
    return BuildFate(tested, built and pushed, tested and pushed)


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """A Component in a snapshot; `image` with its digest."""

    name: str
    image: str
    repository: str
    revision: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: images that belong together.

    `tests` are the scenarios that run, `reports` the pull requests that show them. `component` is the Component of its
    build, '' for a group; `pushed` says that this was a push. `blocker` is why it is not released, '' if it is.
    """

    namespace: str
    name: str
    application: str
    type: SnapshotType
    parts: tuple[SnapshotPart, ...]
    tests: tuple[str, ...]
    reports: tuple[str, ...]
    component: str = ""
    group: str = ""
    pushed: bool = False
    blocker: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a snapshot by a plan."""

    namespace: str
    name: str
    snapshot: str
    plan: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a simulation."""

    snapshots: tuple[Snapshot, ...]
    releases: tuple[Release, ...]


@dataclass(frozen=True, slots=True)
class World:
    """The resources besides Components: scenarios and automatic release plans by application.

    `passed` are the names of snapshots whose tests are known to have passed, `plans` the pending plans.
    """

    scenarios: Mapping[tuple[str, str], Sequence[str]]
    release_plans: Mapping[tuple[str, str], Sequence[str]]
    passed: Collection[str] = ()
    plans: Sequence[Plan] = ()


def simulate(planning: Planning, world: World) -> tuple[Simulation, list[Result]]:
    """Applies the specification to the observation. The graph must have no cycle."""
    player = _Player(planning, world)
    snapshots = sorted(player.snapshots(), key=lambda snapshot: (snapshot.namespace, snapshot.name, snapshot.type))
    releases = sorted(player.releases(snapshots), key=lambda release: (release.namespace, release.name))
    return Simulation(tuple(snapshots), tuple(releases)), player.findings


class _Player:
    """Collects snapshots and findings."""

    def __init__(self, planning: Planning, world: World) -> None:
        self._planning = planning
        self._graph = planning.graph
        self._history = planning.history
        self._world = world
        self._names: set[tuple[str, str]] = set()
        self.findings: list[Result] = []

    def snapshots(self) -> Iterator[Snapshot]:
        """A snapshot for each latest build, and one for each group of pull requests that are built."""
        for application, keys in self._graph.applications.items():
            for key in keys:
                pushed = self._history.promoted_builds.get(key)
                if pushed is not None:
                    yield self._of_build(application, keys, pushed, ())
            yield from self._of_pull_requests(application, keys)

    def _of_pull_requests(self, application: tuple[str, str], keys: list[ComponentKey]) -> Iterator[Snapshot]:
        groups: dict[str, list[tuple[Build, PullRequest]]] = {}
        for key in keys:
            for pull in self._history.of_repository(self._graph.components[key].repository):
                build = latest(self._history.before_merge(key, pull)) if pull.state == "open" else None
                if build is not None:
                    groups.setdefault(self._planning.group(pull.source_branch), []).append((build, pull))
                    yield self._of_build(application, keys, build, (reference(pull),))
        for group, built in sorted(groups.items()):
            if len({build.component for build, _ in built}) > 1:
                yield self._of_group(application, keys, group, built)

    def _of_build(
        self, application: tuple[str, str], keys: list[ComponentKey], build: Build, reports: tuple[str, ...]
    ) -> Snapshot:
        role = self._graph.role(build.component)
        what = fate(role, build.event, build.outcome)
        tests = tuple(self._world.scenarios.get(application, ())) if what.tests else ()
        if not what.tests:
            message = f"{build.name} is not tested: others depend on the Component ({role})"
            self._report("CR14", message, build.component)
        if what.candidate:
            self._report("CR15", f"{build.name} is promoted to the candidate list", build.component)
        name = self._name(application, build, build.component.name)
        parts = self._parts(keys, {build.component: build})
        blocker = self._release_blocker(application[0], parts) if what.release else ""
        if blocker:
            message = f"{name} is not released: {blocker}"
            self.findings.append(finding("warning", "S3", message, build.component))
        return Snapshot(
            application[0],
            name,
            application[1],
            "component",
            parts,
            tests,
            reports,
            build.component.name,
            pushed=build.event == "push",
            blocker=blocker,
        )

    def _of_group(
        self, application: tuple[str, str], keys: list[ComponentKey], group: str, built: list[tuple[Build, PullRequest]]
    ) -> Snapshot:
        chosen: dict[ComponentKey, Build] = {}
        for key in keys:
            builds = [(build, pull) for build, pull in built if build.component == key]
            # I13: prefer builds that hold the digests of the group; then the newest build.
            ours = [(build, pull) for build, pull in builds if self._planning.target_of(pull) is not None]
            if builds:
                chosen[key] = max((build for build, _ in ours or builds), key=lambda build: (build.started, build.name))
        newest = max(chosen.values(), key=lambda build: (build.started, build.name))
        reports = tuple(dict.fromkeys(reference(pull) for _, pull in built))
        # I14: a dependency never starts tests, not even those of its group.
        tested = any(self._graph.is_tested(key) for key in chosen)
        tests = tuple(self._world.scenarios.get(application, ())) if tested else ()
        if tests:
            names = ", ".join(sorted(key.name for key in chosen))
            self._report(
                "CR24",
                f"group {group}: {names} are tested together, reported on {', '.join(reports)}",
                newest.component,
            )
        else:
            message = f"group {group}: not tested: nothing that depends on its Components is built in it"
            self.findings.append(finding("warning", "CR14", message, newest.component))
        name = self._name(application, newest, "group", group)
        return Snapshot(
            application[0], name, application[1], "group", self._parts(keys, chosen), tests, reports, group=group
        )

    def _parts(self, keys: Sequence[ComponentKey], built: Mapping[ComponentKey, Build]) -> tuple[SnapshotPart, ...]:
        """All Components of an application: as built, otherwise as promoted when the last of these was built."""
        at, parts = max(build.completed or build.started for build in built.values()), list[SnapshotPart]()
        for key in keys:
            component, build = self._graph.components[key], built.get(key)
            if build is not None:
                image = build.image or self._history.image(key)
                parts.append(SnapshotPart(key.name, f"{image}@{build.digest}", component.repository, build.revision))
            elif promoted := self._history.promoted_before(key, at):
                parts.append(
                    SnapshotPart(
                        key.name, f"{self._history.image(key)}@{promoted[0]}", component.repository, promoted[1]
                    )
                )
        return tuple(parts)

    def _release_blocker(self, namespace: str, parts: Iterable[SnapshotPart]) -> str:
        """Which part was built without the digest of another part, because a plan is still pending; '' for none."""
        digests = {ComponentKey(namespace, part.name): digest_of(part.image) for part in parts}
        for plan in self._world.plans:
            for edit in plan.digests:
                key = plan.target.key
                if key in digests and digests.get(edit.component) == edit.digest:
                    return f"{key.name} was built without this {edit.component.name}, which {plan.branch} updates"
        return ""

    def _name(self, application: tuple[str, str], build: Build, *more: str) -> str:
        """The name that Konflux gives the snapshot, with a suffix if that name is taken."""
        digits = [*_DIGITS.findall(build.started), *["0"] * 7]
        stamp = f"{''.join(digits[:3])}-{''.join(digits[3:6])}-{digits[6][:3].ljust(3, '0')}"
        name = f"{application[1][:_LONGEST_APPLICATION]}-{stamp}"
        for part in more:
            if (application[0], name) not in self._names and part != "group":
                break
            name = f"{name}-{re.sub('[^a-z0-9-]+', '-', part.lower()).strip('-')}"
        self._names.add((application[0], name))
        return name

    def releases(self, snapshots: Iterable[Snapshot]) -> Iterator[Release]:
        """Releases of pushes that passed their tests, by every automatic plan (CR16, CR17)."""
        for snapshot in snapshots:
            key = ComponentKey(snapshot.namespace, snapshot.component)
            if not snapshot.pushed or snapshot.blocker or not self._graph.is_tested(key):
                continue
            if snapshot.tests and snapshot.name not in self._world.passed:
                self._report("CR17", f"{snapshot.name} is released when its tests pass", key)
                continue
            for plan in self._world.release_plans.get((snapshot.namespace, snapshot.application), ()):
                yield Release(snapshot.namespace, f"{snapshot.name}-{plan}", snapshot.name, plan)

    def _report(self, rule: str, message: str, key: ComponentKey) -> None:
        self.findings.append(finding("info", rule, message, key))
