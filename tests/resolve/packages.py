"""A package with conflicts of all eleven natures, and sessions about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from e2e.hosts import git
from krm_merge.merge.decisions.policy import Choice, Nature, Rule
from krm_merge.packages import Directory
from krm_merge.packages.files.tree import File, Tree
from krm_merge.policy import RulesFile, find_policy
from krm_merge.resolve.session import Session, Task
from krm_merge.usecases import MergeChoices, MergeSides, line_history
from packages.repositories import Repository
from report.conflicts import CASES

Files = Mapping[str, bytes]

PER_NATURE: dict[Nature, Choice] = {
    "value": "value",
    "kind": "local",
    "text": "local-then-upstream",
    "order": "upstream",
    "sequence": "upstream",
    "element": "upstream",
    "resource": "local",
    "alternative": "upstream",
    "functions": "recognise",
    "file": "local-then-upstream",
    "reference": "upstream",
    "added-twice": "local",
}
"""What is chosen for each: not everywhere the same, and nowhere what happens without a choice."""

OWN_VALUE = "chosen by hand"


def all_natures() -> tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]]:
    """Original, upstream and local of a package in which every nature of conflict arises once."""
    sides: tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]] = ({}, {}, {})
    for nature, (name, *texts) in CASES.items():
        path = f"{nature}/Kptfile" if name == "k" else f"{nature}-{name}"
        for side, text in zip(sides, texts, strict=True):
            if text is not None:
                # Resources of one kind have different names.
                renamed = text.replace("name: c}", f"name: {nature}}}").replace("name: w}", f"name: {nature}}}")
                side[path] = renamed.replace("name: web}", f"name: {nature}}}").encode()
    return sides


def tree(files: Files) -> Tree:
    return {path: File(data) for path, data in files.items()}


def task_of(
    original: Files, upstream: Files, local: Files, *, rules: tuple[Rule, ...] = (), smart: bool = False
) -> Task:
    sides = MergeSides(tree(original), tree(upstream), tree(local))
    choices = MergeChoices(None, smart, RulesFile(rules), package=find_policy(sides.local))
    return Task("p", sides, choices)


def session_of(original: Files, upstream: Files, local: Files, **options: object) -> Session:
    return Session(task_of(original, upstream, local, **options))  # type: ignore[arg-type]


def config_maps(count: int, sides: str = "oul") -> list[dict[str, bytes]]:
    """As many resources with the same conflict, one in each file."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{}}}\ndata: {{a: {}}}\n"
    return [{f"{n}.yaml": text.format(n, side).encode() for n in range(count)} for side in sides]


def five_kinds(count: int) -> list[dict[str, bytes]]:
    """So many conflicts of five kinds, a fifth of each: equal and differing values, and deletions, in folders."""
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web{n}}}\nspec:\n  replicas: {replicas}\n"
        "  template:\n    spec:\n      containers:\n      - name: web\n        image: app{n}:{tag}\n"
        "        resources: {{limits: {{memory: {memory}}}}}\n"
    )
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web{n}}}\nspec:\n  type: {type}\n  ports: [{{port: 80}}]\n"
    )
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web{n}}}\ndata: {{level: {level}}}\n"
    sides: list[dict[str, bytes]] = [{}, {}, {}]
    for n in range(count // 5):
        values = zip((1, 2, 5 + n % 3), ("v1", "v2", "fix"), ("64Mi", "128Mi", "96Mi"), strict=True)
        for side, (replicas, tag, memory) in zip(sides, values, strict=True):
            text = deployment.format(n=n, replicas=replicas, tag=tag, memory=memory)
            side[f"apps/team-{n % 7}/web-{n}.yaml"] = text.encode()
        for side, kind in ((sides[0], "ClusterIP"), (sides[2], "LoadBalancer")):
            side[f"network/web-{n}.yaml"] = service.format(n=n, type=kind).encode()
        for side, level in zip(sides, ("info", "warn", "debug"), strict=True):
            side[f"settings/web-{n}.yaml"] = config_map.format(n=n, level=level).encode()
    return sides


CHOSEN_OF_FIVE: dict[str, Choice] = {
    "spec.replicas": "upstream",
    "spec.template.spec.containers[name=web].image": "local",
    "spec.template.spec.containers[name=web].resources.limits.memory": "original",
    "": "upstream",
    "data.level": "local",
}
"""By path, something else for every kind and its neighbours."""


FORK = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.25
        env:
        - name: DB_PASSWORD
          value: first
        args: [a]
"""
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J \u202e"
"""A subject that a page or a terminal must not obey."""


def fork(folder: Path) -> Task:
    """An update of a package in git that several people changed, of which one value is not committed yet."""
    repository = Repository.at(folder)
    local = FORK
    edits = [
        ("Upstream", "2025-01-02", "take v1", "", ""),
        ("Ann", "2026-02-03", "scale for the launch", "replicas: 1", "replicas: 9"),
        ("Ben \x1b[2J", "2026-03-04", HOSTILE, "nginx:1.25", "nginx:1.24"),
        ("Cleo", "2026-04-05", "the password is hunter2", "first", "hunter2"),
    ]
    for author, day, subject, before, after in edits:
        local = local.replace(before, after) if before else local
        place = folder / "web" / "web.yaml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"# ours\n{local}---\n{local.replace('name: web', 'name: other', 1)}")
        git(repository.path, "add", "--all")
        git(repository.path, "commit", "--quiet", f"--author={author} <a@b>", f"--date={day}T12:00:00Z", f"-m{subject}")
    place.write_text(place.read_text().replace("args: [a]", "args: [b]"))
    upstream = FORK.replace("replicas: 1", "replicas: 2").replace("1.25", "1.26").replace("first", "other")
    versions = [text + "---\n" + text.replace("name: web", "name: other", 1) for text in (FORK, upstream)]
    original, theirs = (
        {"web.yaml": File(text.replace("[a]", args).encode())}
        for text, args in zip(versions, ("[a]", "[c]"), strict=True)
    )
    sides = MergeSides(original, theirs, Directory(folder / "web"))
    choices = MergeChoices(None, False, RulesFile(()), package=find_policy(sides.local))
    return Task("web", sides, choices, history=line_history(folder / "web"))
