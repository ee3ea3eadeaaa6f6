"""One command at a time, struck by a signal at some moment while a second process edits the package, and what is left.

After SIGKILL the package is recovered, and the command is run again; after SIGINT and SIGTERM nothing needs to be.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self, TypeAlias

from e2e.hosts import GIT_ENVIRONMENT, SECONDS, installed_program, running, wait_until
from forges.origins import comments_of
from kills.scenes import MARK, Scene
from krm_merge.forges.local import LocalForge
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import PackageError
from packages.repositories import snapshot

State: TypeAlias = dict[str, object]
"""What a directory holds: contents by path, without what the second process writes."""

_MARK = re.compile(rb"(%s)[^\n]*" % MARK.encode())
_SHOWN = 1000
_HIDDEN = re.compile(r"krm-merge|^\.|~$")
_SAID = ("was changed as a whole", "was written", "was carried out at least in part", "was completed")
"""How a command says that it changed something."""


@dataclass(slots=True)
class Stage:
    """A scene, its two states, and where its trials are."""

    scene: Scene
    template: Path
    trial: Path
    old: State = field(default_factory=dict)
    new: State = field(default_factory=dict)
    seconds: float = 0.0
    """How long the command takes when nothing strikes it."""

    @classmethod
    def build(cls, make: Callable[[Path], Scene], base: Path) -> Self:
        """Builds the scene where its trials are, since resources name places."""
        trial, template = base / "trial", base / "template"
        trial.mkdir(parents=True)
        stage = cls(make(trial), template, trial)
        shutil.copytree(trial, template, symlinks=True)
        stage.old = stage.state()
        began = time.monotonic()
        code, output = stage.finish()
        stage.seconds = time.monotonic() - began
        assert code == stage.scene.code, output
        stage.new = stage.state()
        assert stage.old != stage.new
        stage.reset()
        return stage

    def reset(self) -> None:
        """Makes the trial's directory what the scene was at first."""
        shutil.rmtree(self.trial)
        shutil.copytree(self.template, self.trial, symlinks=True)
        (self.trial / "tmp").mkdir()

    def start(self) -> subprocess.Popen[bytes]:
        """The command, as a user starts it, in a group of processes of its own."""
        (self.trial / "tmp").mkdir(exist_ok=True)
        return subprocess.Popen(
            [installed_program(), *self.scene.command],
            cwd=self.trial,
            env={**os.environ, **GIT_ENVIRONMENT, **self.places()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def places(self) -> dict[str, str]:
        """Where the command keeps what belongs to no package."""
        return {
            "TMPDIR": str(self.trial / "tmp"),
            "KRM_MERGE_CACHE_DIR": str(self.trial / "cache"),
            "XDG_STATE_HOME": str(self.trial / "state"),
        }

    def finish(self) -> tuple[int, str]:
        """The command run to its end: its exit code, and what it said."""
        process = self.start()
        _, output = process.communicate(timeout=SECONDS)
        return process.returncode, output.decode()

    def state(self) -> State:
        """What the command changed so far."""
        if self.scene.forge:
            return _of_repositories(self.trial)
        return {
            f"{folder}/{path}": _MARK.sub(rb"\1", data)
            for folder in self.scene.changes
            for path, (mode, data) in snapshot(self.trial / folder).items()
            if mode[0] != "d"
        }

    def left_behind(self) -> list[str]:
        """What neither the scene nor the command's result has, once the gits of killed commands are done."""
        wait_until(lambda: not running(about=str(self.trial)))
        expected = {"tmp", "cache", "state", *(entry.name for entry in self.template.iterdir())}
        leftovers = [str(entry) for entry in self.trial.iterdir() if entry.name not in expected]
        leftovers += [str(entry) for entry in (self.trial / "tmp").iterdir()]
        leftovers += [str(entry) for entry in (*self.trial.glob("cache/**/*.lock"), *self.trial.glob("state/*/*"))]
        for folder in self.scene.changes:
            leftovers += [str(place) for place in (self.trial / folder).rglob("*") if _HIDDEN.search(place.name)]
        return [place for place in leftovers if not place.endswith(".pulls.json")]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is done to a command."""

    number: int
    signal: signal.Signals

    def run(self, stage: Stage) -> str:
        """What is wrong afterwards, or ''."""
        random = Random(self.number)
        stage.reset()
        if self.signal != signal.SIGKILL:
            return _interrupt(stage, self.signal, random)
        return _kill(stage, random)


def _kill(stage: Stage, random: Random) -> str:
    edits = stage.trial.parent / "edits.json"
    edits.unlink(missing_ok=True)
    with _second_process(stage, edits, random):
        process = stage.start()
        _strike(stage, process, signal.SIGKILL, random)
        process.communicate()
    edited = json.loads(edits.read_text())
    try:
        because = _recover(stage)
    except PackageError as error:
        return f"not recovered: {error}"
    if problem := _half(stage, edited) or _lost_edits(stage, edited):
        return f"{problem} (recovery: {because})"
    code, output = stage.finish()
    if code:
        return f"run again, it ended with {code}: {output}"
    lost = _lost_edits(stage, edited)
    state = stage.state()
    wrong = [path for path in state | stage.new if state.get(path) != stage.new.get(path) and path not in edited]
    wrong = [path for path in wrong if not path.endswith(".before-update")]
    if wrong:
        return f"run again, it left {wrong}: {output}"
    if left := stage.left_behind():
        return f"{left} is left"
    return lost


def _interrupt(stage: Stage, number: signal.Signals, random: Random) -> str:
    process = stage.start()
    _strike(stage, process, number, random)
    _, stderr = process.communicate(timeout=SECONDS)
    output, code, state = stderr.decode(), process.returncode, stage.state()
    about = f"{number.name}, exit code {code}, ... {output[-_SHOWN:]!r}"
    if _is_of_starting_python(output) and state == stage.old:
        return ""
    if "Traceback" in output or "Error" in output or "Exception" in output:
        return f"a traceback: {about}"
    if code not in (0, 130, -number):
        return about
    if left := stage.left_behind():
        return f"{left} is left: {about}"
    if not stage.scene.forge and state not in (stage.old, stage.new):
        return f"half a state: {about}"
    says_so = any(what in output for what in _SAID)
    if code and says_so < (state != stage.old):
        return f"it does not say that something was changed: {about}"
    if code == 130 and "nothing was changed" in output and state != stage.old:
        return f"that is wrong: {about}"
    if code == 0 and state != stage.new:
        return f"it was not done: {about}"
    if code == -number and state != stage.old:
        return f"not a word of what was changed: {about}"
    return ""


def _is_of_starting_python(output: str) -> bool:
    """Before the first line of ours runs, Python itself answers SIGINT with a traceback."""
    return "KeyboardInterrupt" in output and "in program" not in output


def _strike(stage: Stage, process: subprocess.Popen[bytes], number: signal.Signals, random: Random) -> None:
    """Sends the signal: while Python starts, at any time, or from when the journal is there."""
    kind = random.random()
    if kind < 0.2:
        time.sleep(random.uniform(0, 0.15))
    elif kind < 0.55 or stage.scene.forge:
        time.sleep(random.uniform(0, stage.seconds * 1.05))
    else:
        while process.poll() is None and not _has_journal(stage.trial):
            time.sleep(0.0002)
        time.sleep(random.uniform(0, 0.03) if random.random() < 0.8 else 0)
    process.send_signal(number)


def _has_journal(place: Path) -> bool:
    return any(place.glob("state/*/*"))


def _recover(stage: Stage) -> str:
    problems = []
    os.environ["XDG_STATE_HOME"] = str(stage.trial / "state")
    for folder in stage.scene.changes:
        with Journal.open(stage.trial / folder) as journal:
            problems.append(f"{folder}: {journal.recovered} {journal.because}")
    return ", ".join(problems)


def _half(stage: Stage, edited: Mapping[str, str]) -> str:
    """Directories that are neither as they were nor as they are to be, but for what somebody edited."""
    state = stage.state()
    for folder in stage.scene.changes:
        differences = []
        for whole in (stage.old, stage.new):
            paths = (path for path in state | whole if path.startswith(f"{folder}/") and path not in edited)
            differences.append([path for path in paths if state.get(path) != whole.get(path)])
        remaining = [[path for path in paths if not path.endswith(".before-update")] for paths in differences]
        if all(remaining):
            return f"{folder} is half: not the old one in {remaining[0]}, not the new one in {remaining[1]}"
    return ""


def _lost_edits(stage: Stage, edited: Mapping[str, str]) -> str:
    """Edits of the second process that are nowhere any more."""
    lost = []
    for path, mark in edited.items():
        if stage.scene.forge:
            if mark not in comments_of(str(stage.trial / stage.scene.forge), 1):
                lost.append(mark)
            continue
        places = (stage.trial / path, stage.trial / f"{path}.before-update")
        if not any(place.is_file() and f'{MARK}"{mark}"' in place.read_text() for place in places):
            lost.append(path)
    return f"the edit of {lost} is lost" if lost else ""


def _of_repositories(root: Path) -> State:
    """Branches and pull requests."""
    state: State = {}
    for bare in sorted(root.glob("*.git")):
        listed = subprocess.run(
            ["git", "--git-dir", bare, "for-each-ref", "--format=%(refname) %(objectname)"], capture_output=True
        )
        state[bare.name] = listed.stdout
        pulls = [
            f"{pull.number} {pull.state} {pull.source_branch} {pull.head} {pull.title} {pull.draft} {pull.body}"
            for pull in LocalForge().pull_requests(str(bare))
        ]
        state[f"{bare.name} pulls"] = "\n".join(pulls).encode()
    return state


@contextmanager
def _second_process(stage: Stage, edits: Path, random: Random) -> Iterator[None]:
    """Meanwhile somebody edits files; the last mark of each file is in `edits` when it ends."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(writing)
            os.set_blocking(reading, False)
            edits.write_text(json.dumps(_edit_until_closed(stage, reading, random)))
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(reading)
    try:
        yield
    finally:
        os.close(writing)
        _, status = os.waitpid(child, 0)
        assert status == 0, "the second process failed"


def _edit_until_closed(stage: Stage, reading: int, random: Random) -> dict[str, str]:
    done: dict[str, str] = {}
    places = random.sample(stage.scene.edited, k=min(2, len(stage.scene.edited)))
    while True:
        time.sleep(random.uniform(0, 0.05))
        try:
            if os.read(reading, 1) == b"":
                return done
        except BlockingIOError:
            pass
        mark = str(random.randrange(1, 1 << 40))
        if stage.scene.forge:
            LocalForge().comment(str(stage.trial / stage.scene.forge), 1, mark)
            done[mark] = mark
        else:
            path = random.choice(places)
            if _edit(stage.trial / path, mark, in_place=random.random() < 0.5):
                done[path] = mark


def _edit(place: Path, mark: str, *, in_place: bool) -> bool:
    """Writes a mark into a file, as editors do; False where there is none at that moment."""
    try:
        text = place.read_text()
    except FileNotFoundError:
        return False
    edited, count = re.subn(rf"({MARK})[^\n]*", rf'\1"{mark}"', text)
    if not count:
        edited = f'{text}# {MARK}"{mark}"\n'
    if in_place:
        place.write_text(edited)
    else:
        staged = _outside(place)
        staged.write_text(edited)
        os.replace(staged, place)
    return True


def _outside(place: Path) -> Path:
    """Where an editor prepares a file: in none of the directories that a command changes."""
    root = next(folder for folder in place.parents if folder.name == "trial")
    return root.parent / "being-edited"
