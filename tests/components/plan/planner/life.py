"""A random life of Components: what people, builds and clusters do to them, between rounds of observe, plan and apply.

A life ends with rounds alone, until one changes nothing; the laws of docs/components.md hold then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random

from components.plan.planner.memory import Hosted, KilledError, MemoryForge, Strikes
from krm_merge.components.execution import apply_plan
from krm_merge.components.graph import BranchNames, Graph, build_graph
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import Build, BuildEvent, BuildOutcome, Component, ComponentKey, PullRequest
from krm_merge.components.plan.model import DescribedState, Plan, parse_description
from krm_merge.components.plan.plan_file import read_recorded_plan
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.records import DigestPolicy, plan_resource
from krm_merge.components.repository import RepositoryPullRequests, observe_pull_requests
from krm_merge.forges.interface import ForgePullRequest
from krm_merge.git.store import MergeConflictError, Person, Stamp

MOST_ROUNDS = 12
"""A life that changes after so many rounds without anything new is restless."""
SHAPES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"base": (), "app": ("base",)},
    {"one": (), "two": (), "bundle": ("one", "two")},
    {"base": (), "left": ("base",), "right": ("base",)},
    {"base": (), "middle": ("base",), "last": ("middle",)},
    {"base": (), "left": ("base",), "right": ("base",), "last": ("left", "right")},
)
"""The dependencies of each Component: a pair, an operator, a common parent, a chain, a diamond."""
BRANCHES = ("f", "f/x", "g", "u/1", "release")


@dataclass
class Life:
    """All that there is, and what happens to it; equal seeds give equal lives."""

    seed: int
    random: Random = field(init=False)
    strikes: Strikes = field(default_factory=Strikes)
    components: dict[str, Component] = field(default_factory=dict)
    builds: list[Build] = field(default_factory=list)
    running: list[Build] = field(default_factory=list)
    clock: int = 0
    rounds: int = 0
    """How many rounds it took to come to rest."""
    events: list[str] = field(default_factory=list)
    opened_for: Counter[tuple[object, ...]] = field(default_factory=Counter)
    """How often pull requests of ours were opened, by target, group and digests."""
    excused: Counter[str] = field(default_factory=Counter)
    """The actions of people that open a pull request again, by repository."""
    warned: set[str] = field(default_factory=set)
    """The branches whose plans the last round reported a warning or an error of."""
    ever_warned: set[str] = field(default_factory=set)
    """The repositories of which any round did."""
    started: set[tuple[str, int, str]] = field(default_factory=set)
    """The heads of pull requests whose builds have started."""
    earlier: list[PullRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Founds the repositories."""
        self.random = random = Random(self.seed)
        self.forge = MemoryForge(self.strikes)
        shape = random.choice(SHAPES)
        is_monorepo, has_status = random.random() < 0.25, random.random() < 0.6
        self.has_status, self.numbers = has_status, random.random() < 0.7
        self.default = random.choice(("main", "main", "trunk"))
        for name, above in shape.items():
            repository = "all" if is_monorepo else name
            url = f"https://forge.example/acme/{repository}"
            branch = random.choice(("", self.default))
            context = name if is_monorepo else "."
            self.components[name] = Component(
                ComponentKey("team", name),
                "app",
                url,
                branch,
                context,
                f"quay.io/acme/{name}",
                self._digest(name),
                depends_on=above,
                is_declared=True,
            )
            hosted = self.forge.hosted.setdefault(url, Hosted(url, self.default))
            files: dict[str, str | None] = {f"{context}/source".removeprefix("./"): "0"}
            files |= {
                self._file(name, dependency): self._reference(dependency, self.components[dependency].digest)
                for dependency in above
            }
            hosted.commit(self.default, files, self._tick())

    # ---- what happens ------------------------------------------------------------------------------------------

    def event(self) -> None:
        """Something happens, if it can."""
        happenings = (
            *(self.open,) * 3,
            self.push_to_branch,
            *(self.finish_build,) * 12,
            *(self.merge,) * 5,
            self.close,
            self.reopen,
            *(self.push,) * 2,
            self.build_again,
            self.add_to_ours,
            self.update_by_hand,
            self.forget_builds,
            self.delete_branch,
        )
        happening = self.random.choice(happenings)
        happening()
        self._start_builds()

    def open(self) -> None:
        """A person opens a pull request, mostly of a dependency."""
        hosted = self._any_dependency()
        branch = self.random.choice(BRANCHES)
        if branch in hosted.branches or any(existing.startswith(f"{branch}/") for existing in hosted.branches):
            return
        if "/" in branch and branch.partition("/")[0] in hosted.branches:
            return
        self._change_source(hosted, branch, self.default)
        number = len(hosted.pulls) + 1
        head = hosted.branches[branch]
        hosted.pulls[number] = ForgePullRequest(number, branch, self.default, branch, "by Jane", False, "open", head)
        self._note(f"open {hosted.url}#{number} {branch}")

    def push_to_branch(self) -> None:
        """A person pushes another commit to a pull request of people."""
        candidates = [(hosted, pull) for hosted, pull in self._pulls("open") if not is_planned(pull)]
        if not candidates:
            return
        hosted, pull = self.random.choice(candidates)
        self._change_source(hosted, pull.source_branch, pull.target_branch)
        self._note(f"push to {hosted.url}#{pull.number}")

    def finish_build(self) -> None:
        """Builds end: they succeed, fail or are lost."""
        for _ in range(min(self.random.randint(1, 3), len(self.running))):
            build = self.running.pop(self.random.randrange(len(self.running)))
            outcome = self.random.choices(("succeeded", "failed", "lost"), (18, 1, 1))[0]
            self._note(f"{outcome}: {build.event} {build.component} of {build.source_branch} at {build.revision[:9]}")
            if outcome == "lost":
                continue
            name, digest, at = build.component.name, self._digest(build.component.name), self._now()
            ended = replace(build, name=f"{name}-{self.clock}", started=at, completed=at)
            is_failed = outcome == "failed"
            result: BuildOutcome = "failed" if is_failed else "succeeded"
            self.builds.append(replace(ended, outcome=result, digest="" if is_failed else digest))
            if outcome == "succeeded" and build.event == "push" and self.has_status:
                self._promote(self.builds[-1])

    def _promote(self, build: Build) -> None:
        """The cluster notes the promoted digest at the Component, as it does for its first version."""
        component = self.components[build.component.name]
        if build.started >= component.promoted:
            noted = replace(component, digest=build.digest, promoted=build.started, commit=build.revision)
            self.components[build.component.name] = replace(noted, is_declared=False)

    def merge(self) -> None:
        """A person merges a pull request, seldom a draft."""
        candidates = [
            (hosted, pull) for hosted, pull in self._pulls("open") if not pull.draft or self.random.random() < 0.2
        ]
        if not candidates:
            return
        hosted, pull = self.random.choice(candidates)
        target, head, store = hosted.branches[pull.target_branch], hosted.branches[pull.source_branch], hosted.store
        try:
            tree = store.merge_trees(target, head)
        except MergeConflictError:
            return
        parents = [target] if self.random.random() < 0.4 else [target, head]
        commit = store.commit(tree, parents, f"merge {pull.number}", self._stamp())
        hosted.branches[pull.target_branch] = commit
        changed = store.changed_paths(target, commit)
        at = self._now() if self.random.random() < 0.8 else ""
        hosted.pulls[pull.number] = replace(
            hosted.current(pull), state="merged", draft=False, merge_commit=commit, merged_at=at
        )
        # Until its trigger is merged, nothing corrects the digest of a draft, nor what depends on it.
        self.excused.update([hosted.url, *self._below(hosted.url)] if pull.draft else [])
        if self.random.random() < 0.5:
            del hosted.branches[pull.source_branch]
        self._note(f"merge {hosted.url}#{pull.number} {pull.source_branch}")
        self._start_push_builds(hosted, pull.target_branch, commit, changed, pull.number if self.numbers else 0)

    def _below(self, url: str) -> set[str]:
        """The repositories of the Components that depend on those of one, by others, too."""
        names, below = {name for name, component in self.components.items() if component.repository == url}, set[str]()
        while (
            more := {name for name, component in self.components.items() if names & set(component.depends_on)} - below
        ):
            names, below = more, below | more
        return {self.components[name].repository for name in below} - {url}

    def close(self) -> None:
        """A person closes a pull request by hand."""
        candidates = list(self._pulls("open"))
        if candidates and self.random.random() < 0.7:
            hosted, pull = self.random.choice(candidates)
            hosted.pulls[pull.number] = replace(hosted.current(pull), state="closed")
            self.excused[hosted.url] += 1
            self._note(f"close {hosted.url}#{pull.number}")

    def reopen(self) -> None:
        """A person reopens a pull request."""
        candidates = [(hosted, pull) for hosted, pull in self._pulls("closed") if pull.source_branch in hosted.branches]
        if not candidates:
            return
        hosted, pull = self.random.choice(candidates)
        if any(other.source_branch == pull.source_branch and other.state == "open" for other in hosted.pulls.values()):
            return
        hosted.pulls[pull.number] = replace(pull, state="open", head=hosted.branches[pull.source_branch])
        for url in self.forge.hosted:
            self.excused[url] += 1
        self._note(f"reopen {hosted.url}#{pull.number}")

    def push(self) -> None:
        """A person pushes to a branch that Components are built from."""
        hosted = self._any_dependency()
        branch = self.default
        before = hosted.branches[branch]
        self._change_source(hosted, branch, branch)
        commit = hosted.branches[branch]
        self._note(f"push {hosted.url} {branch}")
        self._start_push_builds(hosted, branch, commit, hosted.store.changed_paths(before, commit), 0)

    def build_again(self) -> None:
        """A commit is built again: for the same digest, or for another one."""
        if not self.builds:
            return
        build, at = self.random.choice(self.builds), self._now()
        digest = build.digest if self.random.random() < 0.5 else self._digest(build.component.name)
        if digest == build.digest:
            # A push that promotes an old digest again is another update.
            self.excused.update(list(self.forge.hosted))
        again = replace(build, name=f"{build.name}-{self.clock}", started=at, completed=at)
        again = replace(again, digest=digest if build.outcome == "succeeded" else "")
        self.builds.append(again)
        if again.outcome == "succeeded" and again.event == "push" and self.has_status:
            self._promote(again)
        self._note(f"again {again.name} {digest[7:15]}")

    def add_to_ours(self) -> None:
        """A person adds a commit to a pull request of ours."""
        candidates = [(hosted, pull) for hosted, pull in self._pulls("open") if is_planned(pull)]
        if candidates and self.random.random() < 0.3:
            hosted, pull = self.random.choice(candidates)
            hosted.commit(pull.source_branch, {f"by-hand-{self.clock}": "x"}, self._tick())
            self._note(f"add to {hosted.url}#{pull.number}")

    def update_by_hand(self) -> None:
        """A person puts the newest digest of a dependency into the target."""
        name = self.random.choice([name for name, component in self.components.items() if component.depends_on])
        above = self.random.choice(self.components[name].depends_on)
        digests = [build.digest for build in self.builds if build.component.name == above and build.digest]
        if digests and self.random.random() < 0.5:
            hosted = self.forge.hosted[self.components[name].repository]
            hosted.commit(self.default, {self._file(name, above): self._reference(above, digests[-1])}, self._tick())
            self.excused[hosted.url] += 1
            self._note(f"by hand {name} {above} {digests[-1][7:15]}")

    def forget_builds(self) -> None:
        """The cluster deletes old builds."""
        if self.random.random() < 0.3:
            del self.builds[: self.random.randrange(len(self.builds) + 1)]
            self._note(f"forget all but {len(self.builds)} builds")

    def delete_branch(self) -> None:
        """A person deletes the branch of a pull request that is over."""
        for hosted in self.forge.hosted.values():
            used = {pull.source_branch for pull in hosted.pulls.values() if pull.state == "open"}
            over = sorted(set(hosted.branches) - used - {self.default, "v1"})
            if over:
                del hosted.branches[self.random.choice(over)]

    # ---- rounds ------------------------------------------------------------------------------------------------

    def round(self, *, is_whole: bool = True) -> list[Plan]:
        """Observes, plans and applies; unless whole, observations may be lost and the process killed."""
        builds, pulls = list(self.builds), self._observe()
        if not is_whole and self.random.random() < 0.3:
            builds = self._some_of(builds)
        if not is_whole and self.random.random() < 0.3:
            ids = {pull.id for pull in self.earlier}
            late = [pull for pull in pulls if pull.id not in ids or self.random.random() < 0.5]
            pulls = [*[pull for pull in self.earlier if pull.id not in {each.id for each in late}], *late]
        self.earlier = pulls
        plans = self._plan(builds, pulls)
        self.warned.clear()
        if not is_whole and self.random.random() < 0.3:
            self.strikes.after = self.random.randrange(4)
        with suppress(KilledError):
            ended = set[str]()
            for plan in sorted(plans, key=lambda plan: plan.pull_request is None):
                self._apply(plan, ended)
        self.strikes.after = -1
        return plans

    def _some_of(self, builds: list[Build]) -> list[Build]:
        """No builds, the newest alone, or any: then a digest may be taken for the promoted one that it is not."""
        how = self.random.randrange(3)
        if how == 0:
            return []
        if how == 1:
            return builds[self.random.randrange(len(builds) + 1) :]
        self.excused.update(list(self.forge.hosted))
        return [build for build in builds if self.random.random() < 0.7]

    def _observe(self) -> list[PullRequest]:
        forge = self.forge
        return [pull for url in forge.hosted for pull in observe_pull_requests(url, forge.open(url), forge)]

    def _plan(self, builds: list[Build], pulls: list[PullRequest]) -> list[Plan]:
        plans, _ = plan(*self._history(builds, pulls), BranchNames())
        return plans

    def _history(self, builds: list[Build], pulls: list[PullRequest]) -> tuple[Graph, History]:
        graph, _ = build_graph(self.components.values())
        return graph, History(builds, pulls, graph.components)

    def _apply(self, plan: Plan, ended: set[str]) -> None:
        url = plan.target.repository
        hosted = self.forge.hosted[url]
        before = set(hosted.pulls)
        recorded = read_recorded_plan(plan_resource(plan, DigestPolicy()))
        try:
            steps = apply_plan(recorded, self.forge.open(url), RepositoryPullRequests(self.forge, url), ended)
        finally:
            for number in hosted.pulls.keys() - before:
                state = _state(hosted.pulls[number])
                group = (url, plan.target.suffix, plan.group)
                self.opened_for[*group, *sorted(state.digests.items())] += 1
                self._note(f"  ours: open {url}#{number} {hosted.pulls[number].source_branch} {_brief(state)}")
        for step in steps:
            self._note(f"  ours: {step.severity} {step.rule} {step.message}")
        if any(step.severity != "info" for step in steps):
            self.warned.add(plan.branch)
            self.ever_warned.add(url)

    # ---- the end -----------------------------------------------------------------------------------------------

    def live(self, length: int) -> None:
        """Events and rounds, in turns."""
        for _ in range(length):
            self.event()
            if self.random.random() < 0.4:
                self._note("round")
                self.round(is_whole=False)

    def rest(self) -> list[str]:
        """Rounds alone, until one changes nothing; then what is wrong."""
        opened, problems = dict[tuple[str, int], object](), list[str]()
        for number in range(MOST_ROUNDS):
            self._note(f"last rounds {number}")
            before, self.rounds = self.strikes.changes, number + 1
            states = {
                (hosted.url, pull.number): pull.state
                for hosted in self.forge.hosted.values()
                for pull in hosted.pulls.values()
            }
            plans = self.round()
            for hosted in self.forge.hosted.values():
                for pull in hosted.pulls.values():
                    at = (hosted.url, pull.number)
                    if at not in states:
                        opened[at] = pull
                    elif states[at] == "open" and pull.state == "closed" and at in opened:
                        problems.append(f"{hosted.url}#{pull.number} was opened and closed without anything new")
            if self.strikes.changes == before:
                changing = [plan for plan in plans if {*plan.actions} - {"create"} and plan.branch not in self.warned]
                problems += [f"{plan.branch} has actions at rest: {plan.actions}" for plan in changing]
                return [*problems, *self._broken_laws(plans)]
        return [*problems, f"restless after {MOST_ROUNDS} rounds"]

    def _broken_laws(self, plans: list[Plan]) -> Iterator[str]:
        yield from self._doubles()
        yield from self._too_many()
        yield from self._lost_digests()
        for planned in plans:
            if planned.pull_request is not None and planned.state == "open" and planned.branch not in self.warned:
                yield from self._wrong_content(planned)

    def _doubles(self) -> Iterator[str]:
        """C12: ready pull requests for one target, of which one has all digests of another."""
        for hosted in self.forge.hosted.values():
            ready = [
                (pull, _state(pull))
                for pull in hosted.pulls.values()
                if pull.state == "open" and is_planned(pull) and not pull.draft
                if not self._has_commits_of_people(hosted, pull)
            ]
            for first, state in ready:
                for second, other in ready:
                    suffixes = {pull.source_branch.replace("@", "/").rpartition("/")[2] for pull in (first, second)}
                    is_same = first.number < second.number and first.target_branch == second.target_branch
                    if is_same and len(suffixes) == 1 and state.digests == other.digests and state.digests:
                        yield f"{hosted.url}: #{first.number} and #{second.number} have the same digests"

    def _too_many(self) -> Iterator[str]:
        """C14: no more pull requests than distinct updates, but for what people did."""
        by_repository = Counter[str]()
        for (url, *_), times in self.opened_for.items():
            by_repository[str(url)] += times - 1
        for url, times in by_repository.items():
            if times > self.excused[url]:
                yield f"{url}: {times} pull requests were opened again for the same digests: {self.opened_for}"

    def _lost_digests(self) -> Iterator[str]:
        """CR15, CR20: a promoted digest that no pull request has, nor the target, nor a warning."""
        graph, history = self._history(self.builds, self._observe())
        for edge in graph.edges:
            promoted, above = history.promoted_builds.get(edge.dependency), edge.dependency.name
            name = edge.dependant.name
            hosted = self.forge.hosted[self.components[name].repository]
            branch = graph.components[edge.dependant].branch or self.default
            if promoted is None or self.excused[hosted.url] or hosted.url in self.ever_warned:
                continue
            if promoted.digest in hosted.files(branch).get(self._file(name, above), promoted.digest):
                continue
            ours = [_state(pull) for pull in hosted.pulls.values() if pull.state == "open" and is_planned(pull)]
            if not any(edge.dependency.name in state.digests for state in ours):
                yield f"{name}: nothing updates {above} to {promoted.digest[7:15]}"

    def _wrong_content(self, plan: Plan) -> Iterator[str]:
        """C5, CR29: the branch of a planned pull request names its digests."""
        assert plan.pull_request is not None
        files = self.forge.hosted[plan.target.repository].files(plan.pull_request.source_branch)
        for edit in plan.digests:
            name = plan.target.key.name.removesuffix("-v1")
            file = self._file(name, edit.component.name.removesuffix("-v1"))
            if file in files and edit.digest not in files[file]:
                yield f"{plan.branch}: {file} is {files[file]}, expected {edit.digest}"

    # ---- helpers -----------------------------------------------------------------------------------------------

    def _has_commits_of_people(self, hosted: Hosted, pull: ForgePullRequest) -> bool:
        repository = self.forge.open(hosted.url)
        head, target = hosted.branches[pull.source_branch], hosted.branches[pull.target_branch]
        return not repository.is_ours(repository.merge_base(target, head), head)

    def _file(self, name: str, above: str) -> str:
        context = self.components[name].context if name in self.components else "."
        return f"{context}/Dockerfile.{above}".removeprefix("./")

    @staticmethod
    def _reference(name: str, digest: str) -> str:
        return f"FROM quay.io/acme/{name}@{digest}\n"

    def _digest(self, name: str) -> str:
        return f"sha256:{self._tick():08x}" + f"{sum(name.encode()):04x}" * 14

    def _tick(self) -> int:
        self.clock += 1
        return self.clock

    def _now(self) -> str:
        at = self._tick()
        return f"2024-01-{1 + at // 3600:02}T{at // 60 % 60:02}:{at % 60:02}:00Z"

    def _stamp(self) -> Stamp:
        return Stamp(Person("Jane", "jane@example.com"), f"{self._tick()} +0000")

    def _note(self, event: str) -> None:
        self.events.append(event)

    def _any_dependency(self) -> Hosted:
        """A repository of a Component, mostly of one that others depend on."""
        above = sorted({name for component in self.components.values() for name in component.depends_on})
        name = self.random.choice(above if self.random.random() < 0.8 else list(self.components))
        return self.forge.hosted[self.components[name].repository]

    def _pulls(self, state: str) -> Iterator[tuple[Hosted, ForgePullRequest]]:
        for hosted in self.forge.hosted.values():
            for pull in hosted.pulls.values():
                if pull.state == state:
                    yield hosted, pull

    def _built_here(self, hosted: Hosted) -> list[Component]:
        return [component for component in self.components.values() if component.repository == hosted.url]

    def _change_source(self, hosted: Hosted, branch: str, base: str) -> None:
        """A change in the directories of one Component or more."""
        here = self._built_here(hosted)
        some = self.random.sample(here, self.random.randint(1, len(here)))
        changes = {f"{component.context}/source".removeprefix("./"): str(self._tick()) for component in some}
        hosted.commit(branch, changes, self._tick(), base)

    def _components_of(self, hosted: Hosted, changed: list[str]) -> Iterator[str]:
        for component in self._built_here(hosted):
            if component.context == "." or any(path.startswith(f"{component.context}/") for path in changed):
                yield component.key.name

    def _start_builds(self) -> None:
        """Builds of the open pull requests, ours too, whose heads are new."""
        for hosted, pull in self._pulls("open"):
            head = hosted.branches.get(pull.source_branch, "")
            if not head or (hosted.url, pull.number, head) in self.started:
                continue
            self.started.add((hosted.url, pull.number, head))
            for name in self._components_of(hosted, self.forge.changed_files(hosted.url, pull.number)):
                self._start(name, hosted, "pull_request", head, pull.source_branch, pull.target_branch, pull.number)

    def _start_push_builds(self, hosted: Hosted, branch: str, commit: str, changed: list[str], number: int) -> None:
        for name in self._components_of(hosted, changed):
            self._start(name, hosted, "push", commit, branch, branch, number)

    def _start(
        self, name: str, hosted: Hosted, event: BuildEvent, revision: str, source: str, target: str, number: int
    ) -> None:
        key, image = ComponentKey("team", name), f"quay.io/acme/{name}"
        self.running.append(Build("", key, event, "running", hosted.url, revision, source, target, number, image))


def _state(pull: ForgePullRequest) -> DescribedState:
    state = parse_description(pull.body)
    assert state is not None
    return state


def is_planned(pull: ForgePullRequest) -> bool:
    """Whether a plan opened it."""
    return parse_description(pull.body) is not None


def _brief(state: DescribedState) -> str:
    return " ".join(f"{name}={digest[7:15]}" for name, digest in state.digests.items())


def live(seed: int, length: int = 40) -> tuple[Life, list[str]]:
    """A life, and what is wrong at its end."""
    life = Life(seed)
    life.live(length)
    return life, life.rest()
