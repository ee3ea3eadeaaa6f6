"""A campaign struck by signals at random moments of `run` and `publish`, again and again, and what is left of it.

After the last strike the command runs to its end: everything is as if nothing had struck, nothing was done twice, and
nothing is left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from e2e.hosts import SECONDS, git, running, wait_until
from fleet.world import World
from kills.scenes import Scene
from kills.trials import Stage, State
from packages.repositories import snapshot

PACKAGES = 12
REPOSITORIES = 4
MOST_STRIKES = 3


def fleet_run(root: Path) -> Scene:
    """Packages of one working tree are merged; some have a conflict."""
    world = World.at(root)
    world.working_tree(PACKAGES, conflicts=3)
    world.plan()
    return Scene("fleet-run", ("fleet", "run", "campaign"), code=1)


def fleet_run_repositories(root: Path) -> Scene:
    """Repositories are fetched, merged and committed."""
    _with_repositories(World.at(root))
    return Scene("fleet-run-repositories", ("fleet", "run", "campaign"))


def fleet_publish(root: Path) -> Scene:
    """Branches are pushed, and pull requests opened."""
    world = World.at(root)
    _with_repositories(world)
    assert world.fleet("run", "campaign").returncode == 0
    return Scene("fleet-publish", ("fleet", "publish", "campaign"))


def fleet_publish_tree(root: Path) -> Scene:
    """Packages of a working tree are committed to its branch, which is pushed."""
    world = World.at(root)
    tree = world.working_tree(REPOSITORIES)
    git(tree, "clone", "--quiet", "--bare", str(tree), str(root / "forge/origin.git"))
    git(tree, "remote", "add", "origin", f"file://{root}/forge/origin.git")
    git(tree, "fetch", "--quiet")
    git(tree, "branch", "--quiet", "--set-upstream-to=origin/main")
    world.plan()
    assert world.fleet("run", "campaign").returncode == 0
    return Scene("fleet-publish-tree", ("fleet", "publish", "campaign", "--direct"))


def _with_repositories(world: World) -> None:
    places = world.repositories(REPOSITORIES)
    (world.place / "repositories.txt").write_text("".join(f"file://{place}\n" for place in places))
    world.plan("--repositories", "repositories.txt")


CAMPAIGNS: tuple[Callable[[Path], Scene], ...] = (
    fleet_run,
    fleet_run_repositories,
    fleet_publish,
    fleet_publish_tree,
)


class CampaignStage(Stage):
    """A stage whose state is that of a campaign."""

    def places(self) -> dict[str, str]:
        """Without a directory for temporary files, as addresses of sockets are short."""
        return {"KRM_MERGE_CACHE_DIR": str(self.trial / "user-cache")}

    def state(self) -> State:
        """Files, branches, pull requests, and what the ledger says."""
        state: State = {}
        if (self.trial / "tree").is_dir():
            files = snapshot(self.trial / "tree")
            state["tree"] = {path: content for path, content in files.items() if not path.startswith(".git")}
            state["head"] = git(self.trial / "tree", "log", "--format=%H %s")
            state["index"] = git(self.trial / "tree", "status", "--porcelain")
        for bare in sorted(self.trial.glob("forge/*.git")):
            state[bare.name] = git(bare, "for-each-ref", "--format=%(refname) %(objectname)")
            pulls = bare.with_suffix(".pulls.json")
            if pulls.is_file():
                state[pulls.name] = [
                    (pull["number"], pull["state"], pull["source_branch"], pull["title"], pull["body"])
                    for pull in (record["pull"] for record in json.loads(pulls.read_text())["pullRequests"])
                ]
        status = World(self.trial).status()
        state["targets"] = [
            {name: value for name, value in target.items() if not name.endswith("At")} for target in status["targets"]
        ]
        return state

    def left_behind(self) -> list[str]:
        """What neither the scene nor the end of its command has, once the gits of killed commands are done."""
        wait_until(lambda: not running(about=str(self.trial)))
        campaign = self.trial / "campaign"
        leftovers = [str(campaign / "tmp")] if (campaign / "tmp").exists() else []
        leftovers += [str(place) for place in self.trial.rglob("*.lock")]
        leftovers += [str(place) for name in ("*.krm-merge", "krm-merge/*.*[nwo]") for place in self.trial.rglob(name)]
        # The quarantine of a push belongs to the git that receives it, which `end` kills, too.
        objects = (place for place in self.trial.rglob("tmp_obj_*") if "tmp_objdir-incoming" not in str(place))
        return [*leftovers, *map(str, objects)]

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends what is left of a command that was struck."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class CampaignTrial:
    """Strikes with one signal, up to three times, and lets the last command run to its end."""

    number: int
    signal: signal.Signals

    def run(self, stage: CampaignStage) -> str:
        """What is wrong afterwards, or ''."""
        random = Random(self.number)
        stage.reset()
        struck = []
        for _ in range(random.randint(1, MOST_STRIKES)):
            process = stage.start()
            time.sleep(random.uniform(0, stage.seconds * 1.05))
            # The program alone, as when memory runs out, or all of its processes.
            is_group = random.random() < 0.5
            with suppress(ProcessLookupError):
                (os.killpg if is_group else os.kill)(process.pid, self.signal)
            try:
                _, output = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                stage.end(process)
                return f"workers outlive the program that {self.signal.name} ended"
            struck.append(process)
            if self.signal != signal.SIGKILL and (problem := _of_interrupt(process, output.decode(), self.signal)):
                return problem
        code, said_last = stage.finish()
        if code != stage.scene.code:
            return f"run again, it ended with {code}: {said_last}"
        for process in struck:
            stage.end(process)
        state = stage.state()
        wrong = [name for name in state | stage.new if state.get(name) != stage.new.get(name)]
        if wrong:
            return f"run again, {wrong} differ: {[(state.get(name), stage.new.get(name)) for name in wrong][:1]}"
        left = stage.left_behind()
        return f"{left} is left" if left else ""


def _of_interrupt(process: subprocess.Popen[bytes], output: str, number: signal.Signals) -> str:
    about = f"{number.name}, exit code {process.returncode}, {output[-1000:]!r}"
    if "Traceback" in output and "in program" in output:
        return f"a traceback: {about}"
    return "" if process.returncode in (0, 1, 130, 143, -number) else about
