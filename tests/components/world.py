"""A small world for plans: bare git repositories, pull requests recorded beside them, and a package of resources."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from components.observations import digest
from krm_merge.cli.app import main
from krm_merge.forges.interface import ForgePullRequest
from krm_merge.forges.local import How, LocalForge


def data(text: str) -> str:
    """A text as `git fast-import` reads it."""
    return f"data {len(text.encode())}\n{text}\n"


def branches_of(bare: Path) -> dict[str, str]:
    """The commits of the branches of a bare repository, read from its files: a hundredth of what a process costs."""
    commits = {}
    packed = bare / "packed-refs"
    for line in packed.read_text().splitlines() if packed.exists() else []:
        commit, _, ref = line.partition(" ")
        if ref.startswith("refs/heads/"):
            commits[ref.removeprefix("refs/heads/")] = commit
    heads = bare / "refs" / "heads"
    for file in heads.rglob("*"):
        if file.is_file() and file.suffix != ".lock":
            commits[file.relative_to(heads).as_posix()] = file.read_text().strip()
    return commits


@dataclass
class World:
    """Everything below one directory; `package` holds the resources, `options` are passed to plan.

    `forge_options` are those of observe and apply.
    """

    root: Path
    clock: int = 0
    registry: str = "quay.io/o"
    options: tuple[str, ...] = ()
    forge_options: tuple[str, ...] = ()
    forge: LocalForge = field(default_factory=LocalForge)
    person: tuple[str, str] = ("Jane", "jane@example.com")
    last_branches: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> Path:
        return self.root / "package"

    # ---- git ---------------------------------------------------------------------------------------------------

    def url(self, name: str) -> str:
        return str(self.root / f"{name}.git")

    def address(self, name: str) -> str:
        """How resources name it."""
        return self.url(name)

    def repository(self, name: str, files: Mapping[str, str]) -> None:
        self.git("init", "--quiet", "--bare", "--initial-branch=main", self.url(name))
        self.commit(name, "main", files)

    def commit(self, name: str, branch: str, files: Mapping[str, str | None], base: str = "main") -> str:
        """A commit of a person, pushed; None removes a file."""
        branches = branches_of(Path(self.url(name)))
        parent = branches.get(branch) or branches.get(base)
        changes = "".join(
            f"D {path}\n" if text is None else f"M 100644 inline {path}\n{data(text)}" for path, text in files.items()
        )
        head = f"commit refs/heads/{branch}\nmark :1\ncommitter {self.person[0]} <{self.person[1]}> now\n"
        start = f"from {parent}\n" if parent else ""
        stream = f"{head}{data(f'change of {branch}')}{start}{changes}get-mark :1\n"
        fast_import = ("fast-import", "--quiet", "--force", "--date-format=now")
        commit = self.git("--git-dir", self.url(name), *fast_import, stdin=stream)
        if (self.root / name).exists():
            self.in_clone(name, "fetch", "--quiet", "origin")
            self.in_clone(name, "checkout", "--quiet", "-B", branch, commit)
        self.last_branches[name] = branch
        return commit

    def in_clone(self, name: str, *arguments: str) -> str:
        """Runs git in the clone of a person, whose branch is the one of the last commit."""
        clone = self.root / name
        if not clone.exists():
            self.git("clone", "--quiet", "--branch", self.last_branches[name], self.url(name), str(clone))
        return self.git("-C", str(clone), *arguments)

    def git(self, *arguments: str, stdin: str = "") -> str:
        name, email = self.person
        identity = ("-c", f"user.name={name}", "-c", f"user.email={email}", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *arguments], capture_output=True, text=True, input=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def branches(self, name: str) -> set[str]:
        return set(branches_of(Path(self.url(name))))

    def files(self, name: str, branch: str) -> dict[str, str]:
        listed = self.git("--git-dir", self.url(name), "ls-tree", "-r", "--name-only", branch)
        show = ("--git-dir", self.url(name), "show")
        return {path: self.git(*show, f"{branch}:{path}") for path in listed.split()}

    def subjects(self, name: str, branch: str, base: str = "main") -> list[str]:
        """The messages of the commits of a branch, the oldest first."""
        log = ("log", "--reverse", "--format=%s", f"{base}..{branch}")
        return self.git("--git-dir", self.url(name), *log).splitlines()

    def heads(self) -> dict[str, str]:
        """All branches of all repositories with their commits, and the recorded pull requests."""
        refs = {}
        for bare in sorted(self.root.glob("*.git")):
            refs[bare.name] = self.git("--git-dir", str(bare), "for-each-ref", "--format=%(refname) %(objectname)")
        for recorded in sorted(self.root.glob("*.pulls.json")):
            refs[recorded.name] = recorded.read_text()
        return refs

    # ---- pull requests -----------------------------------------------------------------------------------------

    def open(self, name: str, branch: str, base: str = "main") -> int:
        pull = self.forge.create(self.url(name), branch, base, branch, f"by a person, from {branch}", draft=False)
        return pull.number

    def merge(self, name: str, number: int, how: How = "merge") -> str:
        return self.forge.merge(self.url(name), number, how=how, force=True)

    def pull(self, name: str, number: int) -> ForgePullRequest:
        return next(pull for pull in self.pulls(name) if pull.number == number)

    def pulls(self, name: str) -> list[ForgePullRequest]:
        return self.forge.pull_requests(self.url(name))

    # ---- resources ---------------------------------------------------------------------------------------------

    def write(self, path: str, *resources: object) -> None:
        place = self.package / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("---\n".join(yaml.safe_dump(resource, sort_keys=False) for resource in resources))

    def component(
        self,
        name: str,
        repository: str,
        *depends_on: str,
        at: str = "0",
        context: str = "",
        app: str = "app",
        revision: str = "main",
    ) -> None:
        more = {"revision": revision, "context": context}
        git = {"url": self.address(repository), **{field: value for field, value in more.items() if value}}
        spec = {"application": app, "source": {"git": git}, "containerImage": f"{self.registry}/{name}@{digest(at)}"}
        if depends_on:
            spec["dependsOn"] = list(depends_on)
        metadata = {"name": name, "namespace": "team"}
        about = {"apiVersion": "appstudio.redhat.com/v1alpha1", "kind": "Component", "metadata": metadata}
        self.write(f"components/{name}.yaml", {**about, "spec": spec})

    def build(
        self,
        component: str,
        repository: str,
        letter: str,
        number: int = 0,
        *,
        commit: str = "",
        branch: str = "",
        event: str = "pull_request",
        outcome: str = "True",
    ) -> None:
        """A build that ended, later than all before."""
        self.clock += 1
        pac = "pipelinesascode.tekton.dev"
        labels = {"appstudio.openshift.io/component": component, f"{pac}/event-type": event, f"{pac}/sha": commit}
        if number:
            labels[f"{pac}/pull-request"] = str(number)
            branch = branch or self.pull(repository, number).source_branch
        name = f"{component}-{self.clock}"
        annotations = {f"{pac}/source-branch": branch or "main", f"{pac}/repo-url": self.address(repository)}
        results = [
            {"name": "IMAGE_URL", "value": f"{self.registry}/{component}:tag"},
            {"name": "IMAGE_DIGEST", "value": digest(letter)},
        ]
        metadata = {"name": name, "namespace": "team", "labels": labels, "annotations": annotations}
        status = {
            "startTime": f"2024-06-01T00:{self.clock:02}:00Z",
            "conditions": [{"type": "Succeeded", "status": outcome}],
            "results": results if outcome == "True" else [],
        }
        run = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": metadata, "status": status}
        self.write(f"builds/{name}.yaml", run)

    def merge_and_build(self, component: str, repository: str, number: int, letter: str, how: How) -> None:
        """A person merges; the push is built."""
        commit = self.merge(repository, number, how)
        self.build(component, repository, letter, number, commit=commit, event="push", branch="main")

    # ---- the commands ------------------------------------------------------------------------------------------

    def observe(self, *names: str) -> None:
        options = ("--namespace", "team", "-o", str(self.package / "observed"), *self.forge_options)
        assert main(["components", "observe", *map(self.address, names), *options]) == 0

    def plan(self, *names: str) -> list[dict[str, object]]:
        """Observes and plans; gives the specs of the plans."""
        self.observe(*names)
        assert main(["components", "plan", str(self.package), "--quiet", *self.options]) == 0
        plans = sorted((self.package / "plans").glob("*.yaml")) if (self.package / "plans").is_dir() else []
        return [yaml.safe_load(plan.read_text())["spec"] for plan in plans]

    def apply(self, plans: str = "plans", *, quiet: bool = True) -> int:
        options = [*(["--quiet"] if quiet else []), *self.forge_options]
        try:
            return main(["components", "apply", str(self.package / plans), *options])
        except SystemExit as stop:
            return int(stop.code or 0)

    def go_on(self, *names: str) -> list[dict[str, object]]:
        """Observes, plans and applies; nothing is left to do then."""
        plans = self.plan(*names)
        if plans:
            assert self.apply() == 0
        again = self.plan(*names)
        assert all(not plan.get("actions") for plan in again), again
        return plans

    def go_on_twice(self, *names: str) -> list[dict[str, object]]:
        """The same, and applies the plans again, which changes nothing."""
        plans = self.plan(*names)
        if plans:
            assert self.apply() == 0
            before = self.heads()
            assert self.apply() == 0
            assert self.heads() == before
        assert all(not plan.get("actions") for plan in self.plan(*names))
        return plans


def common_parent(world: World) -> None:
    """Use case 1, a common parent image; nobody has changed it yet."""
    world.repository("parent", {"Dockerfile": "FROM scratch\n"})
    world.repository("child", {"Dockerfile": dockerfile("0")})
    world.component("parent", "parent")
    world.component("child", "child", "parent", at="c")


def change_parent(world: World) -> None:
    """A pull request of a person to the parent, which is built."""
    world.commit("parent", "update", {"Dockerfile": "FROM scratch\nRUN new\n"})
    assert world.open("parent", "update") == 1
    world.build("parent", "parent", "1", 1)


def dockerfile(letter: str) -> str:
    return f"FROM quay.io/o/parent@{digest(letter)} AS base\nRUN true"


class Killed(BaseException):
    """The end of the process, as far as the code can tell."""


def is_killed(world: World, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, *, after: bool) -> bool:
    """Applies until the step; whether it came to that."""
    original = getattr(owner, step)

    def die(*arguments: object, **named: object) -> object:
        if after:
            original(*arguments, **named)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, die)
        try:
            world.apply()
        except Killed:
            return True
    return False
