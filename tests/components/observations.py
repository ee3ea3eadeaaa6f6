"""Observations for plans, in memory: Components, builds and pull requests; and ResourceLists for the function."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random

import yaml

from krm_merge.components.graph import BranchNames, build_graph
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import Build, BuildEvent, BuildOutcome, Component, ComponentKey, PullRequest
from krm_merge.components.plan.model import Plan
from krm_merge.components.plan.planner import plan
from krm_merge.forges.proposals import with_part
from krm_merge.functions import process
from krm_merge.krm.result import Result


def digest(letter: str) -> str:
    """A digest that is easy to tell from others."""
    return "sha256:" + letter * 64


def key(name: str) -> ComponentKey:
    return ComponentKey("team", name)


def component(name: str, *depends_on: str, app: str = "app", nudges: Iterable[str] = (), **more: object) -> Component:
    """A Component without a repository, for graphs; `name` may have a namespace before a slash."""
    namespace, _, plain = name.rpartition("/")
    component = Component(ComponentKey(namespace, plain), app, depends_on=depends_on, nudges=tuple(nudges))
    return replace(component, **more)  # type: ignore[arg-type]


@dataclass
class Observations:
    """Observations that grow step by step. By default a repository has the name of its first Component."""

    branches: BranchNames = field(default_factory=BranchNames)
    components: dict[str, Component] = field(default_factory=dict)
    builds: list[Build] = field(default_factory=list)
    pulls: dict[tuple[str, int], PullRequest] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    clock: int = 0

    # ---- what happens ------------------------------------------------------------------------------------------

    @staticmethod
    def url(repository: str) -> str:
        return f"https://forge.example/acme/{repository}"

    def component(
        self, name: str, *depends_on: str, repository: str = "", context: str = ".", at: str = "0", app: str = "app"
    ) -> None:
        url, image = self.url(repository or name), f"quay.io/acme/{name}"
        self.components[name] = Component(
            key(name), app, url, "main", context, image, digest(at), depends_on=depends_on
        )

    def repository(self, name: str) -> str:
        return self.components[name].repository.rpartition("/")[2]

    def open(
        self, repository: str, branch: str, changed: Iterable[str] | None = (), branches: Iterable[str] | None = None
    ) -> int:
        """A person opens a pull request."""
        number = 1 + sum(1 for at, _ in self.pulls if at == repository)
        self.pulls[repository, number] = PullRequest(
            number,
            branch,
            "main",
            title="",
            body="",
            draft=False,
            state="open",
            name=f"{repository}-{number}",
            repository=self.url(repository),
            head=f"{number:x}a{self._tick():x}",
            changed=None if changed is None else tuple(changed),
            branches=None if branches is None else tuple(branches),
        )
        return number

    def edit(self, repository: str, number: int, **fields: object) -> None:
        """Changes what is observed of a pull request."""
        self.pulls[repository, number] = replace(self.pulls[repository, number], **fields)  # type: ignore[arg-type]

    def commit(self, repository: str, number: int, **fields: object) -> None:
        """A person pushes to the branch of a pull request."""
        self.edit(repository, number, head=f"{number:x}a{self._tick():x}", **fields)

    def close(self, repository: str, number: int) -> None:
        self.edit(repository, number, state="closed")

    def merge(self, repository: str, number: int) -> None:
        self.edit(repository, number, state="merged", merge_commit=f"{number:x}f{self._tick():x}")

    def build(
        self,
        name: str,
        letter: str = "",
        number: int = 0,
        event: BuildEvent = "pull_request",
        outcome: BuildOutcome = "succeeded",
        revision: str = "",
    ) -> None:
        """A build, later than all before: of a pull request where it has a number, of its merge after a push."""
        at = self._tick()
        pull = self.pulls.get((self.repository(name), number))
        pushed = event == "push"
        commit = (pull.merge_commit if pushed else pull.head) if pull is not None else f"c{at:x}"
        source = pull.source_branch if pull is not None and not pushed else "main"
        self.builds.append(
            Build(
                f"{name}-{at}",
                key(name),
                event,
                outcome,
                self.components[name].repository,
                revision or commit,
                source,
                "main",
                number,
                f"quay.io/acme/{name}",
                digest(letter) if letter else "",
                f"2024-01-01T00:{at // 60:02}:{at % 60:02}Z",
            )
        )

    def push(self, name: str, letter: str, number: int = 0) -> None:
        """A push is built; with a number it is the push of a merge."""
        self.build(name, letter, number, "push")

    def merge_and_build(self, name: str, number: int, letter: str) -> None:
        """A person merges; the push is built."""
        self.merge(self.repository(name), number)
        self.push(name, letter, number)

    def _tick(self) -> int:
        self.clock += 1
        return self.clock

    # ---- what follows ------------------------------------------------------------------------------------------

    def plan(self) -> tuple[list[Plan], list[Result]]:
        """The plans, which are the same for every order of what was observed, and however often it was."""
        components, builds, pulls = list(self.components.values()), list(self.builds), list(self.pulls.values())
        before = deepcopy((components, builds, pulls))
        expected = self._plan_once(components, builds, pulls)
        assert self._plan_once(components, builds, pulls) == expected
        for seed in range(4):
            random = Random(seed)
            some = [*builds, *random.sample(builds, len(builds) // 2)]
            others = [*pulls, *random.sample(pulls, len(pulls) // 2)]
            random.shuffle(components)
            random.shuffle(some)
            random.shuffle(others)
            assert self._plan_once(components, some, others) == expected
        components.sort(key=before[0].index)
        assert (components, builds, pulls) == before
        return expected

    def _plan_once(
        self, components: list[Component], builds: list[Build], pulls: list[PullRequest]
    ) -> tuple[list[Plan], list[Result]]:
        graph, findings = build_graph(components, removed=self.removed)
        assert not [finding for finding in findings if finding.severity == "error"], findings
        return plan(graph, History(builds, pulls, graph.components), self.branches)

    def carry_out(self, plans: Iterable[Plan]) -> None:
        """Does to pull requests what plans say."""
        for planned in plans:
            repository = planned.target.repository.rpartition("/")[2]
            if planned.pull_request is None and not planned.closed:
                number = self.open(repository, planned.branch)
                self.edit(
                    repository,
                    number,
                    target_branch=planned.base,
                    draft=planned.draft,
                    title=planned.title,
                    body=str(planned.description),
                )
            elif planned.pull_request is not None and planned.closed:
                text = with_part(planned.pull_request.body, planned.description)
                self.edit(repository, planned.pull_request.number, body=text, state="closed")
            elif planned.pull_request is not None:
                text = with_part(planned.pull_request.body, planned.description)
                self.edit(repository, planned.pull_request.number, title=planned.title, body=text, draft=planned.draft)

    def step(self) -> tuple[list[str], str]:
        """Plans and carries out, after which nothing is left to do; gives the plans and the rules of the findings."""
        plans, findings = self.plan()
        self.carry_out(plans)
        again, _ = self.plan()
        assert [plan.actions for plan in again] == [()] * len(again), [brief(plan) for plan in again]
        return [brief(plan) for plan in plans], " ".join(sorted(finding.rule for finding in findings))


def brief(plan: Plan) -> str:
    """A plan in a line: branch, whether it is a draft, digests, actions, and what it waits for."""
    digests = ",".join(f"{edit.component.name}={edit.digest[7]}" for edit in plan.digests)
    waits = ", ".join(
        f"{wait.component.name}#{wait.pull_request.number if wait.pull_request else ''} {wait.until}"
        for wait in plan.waiting
    )
    state = "closed" if plan.closed else "draft" if plan.draft else "ready"
    text = f"{plan.branch} {state} {digests} [{' '.join(plan.actions)}]"
    return f"{text} until {waits}" if waits else text


# ---- the function ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The output of the function: the items as text, the results, the exit code."""

    items: list[str]
    results: list[dict[str, object]]
    exit_code: int

    def rules(self, *severities: str) -> list[str]:
        results = (result for result in self.results if not severities or result["severity"] in severities)
        return sorted(str(result.get("tags", {}).get("rule", "")) for result in results)  # type: ignore[attr-defined]

    def messages(self, rule: str) -> list[str]:
        return [str(result["message"]) for result in self.results if result.get("tags", {}).get("rule") == rule]  # type: ignore[attr-defined]


def run(items: Iterable[str], mode: str, config: str = "") -> Answer:
    """Runs PlanComponentUpdates on items given as YAML; `config` is flow YAML of more fields, with braces."""
    head = f"apiVersion: fn.kpt.dev/v1alpha1\nkind: PlanComponentUpdates\nmetadata: {{name: x}}\nmode: {mode}\n"
    more = yaml.safe_dump(yaml.safe_load(config)) if config.strip("{}") else ""
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    text += "".join(f"- {textwrap.indent(item, '  ')[2:]}" for item in items)
    text += f"functionConfig:\n{textwrap.indent(head + more, '  ')}"
    outcome = process(text.encode())
    output = outcome.output.decode()
    document = yaml.safe_load(output)
    body = output.partition("\nitems:\n")[2]
    texts: list[str] = []
    for line in body.splitlines(keepends=True):
        if line.startswith("- "):
            texts.append("")
        elif line.strip() and not line.startswith(" "):
            break
        texts[-1] += line[2:] or line
    return Answer(texts, document.get("results", []), outcome.exit_code)
