"""What lies beside a package or inside of it is never taken for what this program kept (A9); who looks changes nothing.

A clone, an archive or `kpt pkg get` can bring files and links of every name. What is kept is in the git directory or in
the user's directory for state; where that is not as this program made it, it is refused with its path and the remedy.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.hosts import git
from e2e.in_process import krm_merge
from krm_merge.packages import state_file
from krm_merge.packages.files.journal import Journal
from packages.repositories import Repository, Text, config_map, kptfile, write

LOOKING = [
    "update web@v2 --dry-run",
    "merge ../up web other --diff",
    "declare web --dry-run",
    "names web --dry-run",
    "config web --to v2",
    "status web --offline",
    "status .",
    "check web",
    "diff other web",
    "why web",
    "transform web --plugin-dir ../plugins --dry-run",
    "components plan web --dry-run",
    "--help",
]
"""Commands that change nothing."""
WRITING = [
    "update web@v2 --on-conflict local --allow-dirty",
    "resolve web@v2 --terminal --allow-dirty",
    "merge ../original ../up web --in-place --on-conflict local",
    "declare web --allow-dirty",
    "names web",
    "config web --undeclare",
    "transform web --plugin-dir ../plugins",
    "components plan web",
]
OTHERS = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


def entries(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that is below a folder: mode, owner and content; pipes are not read."""
    seen: dict[str, tuple[object, ...]] = {}
    for place in sorted(folder.rglob("*")):
        status = place.lstat()
        content: object = ""
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(place)
        elif stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(place.read_bytes()).hexdigest()
        seen[str(place.relative_to(folder))] = (status.st_mode, status.st_uid, content)
    return seen


@dataclass(frozen=True)
class World:
    """A user's repository with the package `web`, whose upstream changed what the user changed."""

    place: Path

    @property
    def user(self) -> Path:
        return self.place / "user"

    @property
    def victim(self) -> Path:
        return self.place / "victim"

    def run(self, line: str, stdin: str = "") -> tuple[int, str]:
        done = krm_merge(*line.split(), cwd=self.user, stdin=stdin)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    def state(self, ending: str) -> Path:
        return state_file(self.user / "web", ending).path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    up = Repository.at(tmp_path / "up")
    first = up.version("v1", {"cm.yaml": config_map("a", v='"1"'), "Kptfile": kptfile("", "")})
    up.version("v2", {"cm.yaml": config_map("a", v='"2"')})
    files: dict[str, Text | None] = {"cm.yaml": config_map("a", v='"5"'), "Kptfile": kptfile(up.path, "v1", first)}
    user = Repository.at(tmp_path / "user")
    user.commit({f"{name}/{path}": text for name in ("web", "other") for path, text in files.items()})
    write(tmp_path / "original", {"cm.yaml": config_map("a", v='"1"')})
    write(tmp_path / "victim", {"a": "precious\n", "files/0": "precious\n", "plan.json": "{}\n"})
    (tmp_path / "plugins").mkdir()
    return World(tmp_path)


@pytest.fixture
def chosen(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Somebody chose in a session that was killed before it was saved."""

    def die(*_: object, **__: object) -> None:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr("krm_merge.resolve.api.Host.save", die)
        assert world.run("resolve web@v2 --terminal", "u\n")[0] == 9
    assert world.state("choices").is_file()
    return world


# ---- beside a package, and inside of it ------------------------------------------------------------------------------

CHOICES = '{"resolutions": [{"nature": "value", "path": "data.v", "fingerprint": "%s", "choice": "upstream"}]}\n'
FORGED = {"journal": [1, 2], "name": "../../victim", "created": [], "steps": []}
FOLDERS = [".web.krm-merge", ".web.krm-merge.done", "web/.web.krm-merge", "web/.x.krm-merge", ".temporary-x.krm-merge"]
FILES = [".web.choices.krm-merge", "web/.sub.choices.krm-merge", ".cm.yaml.krm-merge", "web/.cm.yaml.krm-merge"]


def _link(target: str) -> Callable[[Path, Path], None]:
    return lambda place, victim: place.symlink_to(victim / target if target else "nowhere")


def _folder(place: Path, victim: Path) -> None:
    write(place, {"plan.json": json.dumps(FORGED), "files/0": "evil\n"})


def _with_link_inside(place: Path, victim: Path) -> None:
    place.mkdir()
    (place / "files").symlink_to(victim / "files")
    (place / "plan.json").symlink_to(victim / "plan.json")


def _file(place: Path, victim: Path) -> None:
    place.write_text(CHOICES % "0")


def _pipe(place: Path, victim: Path) -> None:
    os.mkfifo(place)


def _foreign(place: Path, victim: Path) -> None:
    _folder(place, victim)
    if os.geteuid() == 0:
        for each in (place, *place.rglob("*")):
            os.chown(each, OTHERS, OTHERS, follow_symlinks=False)


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "link-to-folder": _link("."),
    "link-to-file": _link("a"),
    "dangling": _link(""),
    "folder": _folder,
    "folder-with-links": _with_link_inside,
    "file": _file,
    "pipe": _pipe,
    "foreign": _foreign,
}


@pytest.mark.parametrize(
    ("kind", "is_committed"), [*((kind, False) for kind in KINDS), ("folder", True), ("link-to-folder", True)]
)
def test_nothing_beside_a_package_or_in_it_is_believed_or_touched(
    world: World, kind: str, is_committed: bool, tmp_path: Path
) -> None:
    """Nine names, of eight kinds: all that a clone or an archive can bring."""
    calm = {line: world.run(line)[0] for line in LOOKING}
    names = [*FOLDERS, *FILES]
    for name in names:
        KINDS[kind](world.user / name, world.victim)
    if is_committed:
        git(world.user, "add", "--all")
        git(world.user, "commit", "--quiet", "--allow-empty", "--message=hostile")
    before, victim = entries(world.user), entries(world.victim)
    for line in LOOKING:
        code, output = world.run(line)
        assert code == calm[line], (line, output)
        assert "interrupted" not in output
        assert {**entries(world.user)} == before, line
    for line in WRITING:
        world.run(line)
        now = entries(world.user)
        assert {path: now.get(path) for path in before if ".krm-merge" in path} == {
            path: entry for path, entry in before.items() if ".krm-merge" in path
        }, line
        assert entries(world.victim) == victim, line
    assert not (tmp_path / "state").exists()


def test_choices_that_lie_beside_a_package_choose_nothing(chosen: World) -> None:
    """Nor where they are those that `resolve` itself kept."""
    kept = chosen.state("choices").read_bytes()
    chosen.state("choices").unlink()
    for name in (".web.choices.krm-merge", "web/.web.choices.krm-merge", f"web/{chosen.state('choices').name}"):
        (chosen.user / name).write_bytes(kept)
    before = entries(chosen.user)
    code, output = chosen.run("resolve web@v2 --terminal --allow-dirty")
    assert (code, "1 still open" in output, "earlier" in output) == (1, True, False)
    assert entries(chosen.user) == before


# ---- where it is kept ------------------------------------------------------------------------------------------------


def _foreign_folder(place: Path, victim: Path) -> None:
    place.mkdir(0o700)
    os.chown(place, OTHERS, OTHERS)


def _open_folder(place: Path, victim: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


HOMES: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "link": (_link("."), "is a link or not a directory; it is not trusted, and nothing was changed: remove it"),
    "dangling": (_link(""), "is a link or not a directory"),
    "file": (_file, "is a link or not a directory"),
    "pipe": (_pipe, "is a link or not a directory"),
    "open": (_open_folder, "can be written to by others; it is not trusted, and nothing was changed: remove it, or"),
    "foreign": (_foreign_folder, "belongs to another user; it is not trusted, and nothing was changed: remove it"),
}


@pytest.mark.parametrize("home", ["user/.git/krm-merge", "state/krm-merge", "state"])
@pytest.mark.parametrize("kind", [kind if kind != "foreign" else pytest.param(kind, marks=as_root) for kind in HOMES])
def test_a_place_for_state_that_is_not_ours_is_refused(world: World, home: str, kind: str) -> None:
    if home == "state" and kind in ("open", "foreign"):
        pytest.skip("what is inside is looked at, not what is around it")
    if home != "user/.git/krm-merge":
        shutil.rmtree(world.user / ".git")
    place = world.place / home
    place.parent.mkdir(exist_ok=True)
    make, message = HOMES[kind]
    make(place, world.victim)
    before, victim = entries(world.user / "web"), entries(world.victim)
    for line in WRITING:
        code, output = world.run(line)
        if "names" not in line or home != "state":
            assert code == 3, (line, output)
            assert f"{place} {message}" in output, line
        assert entries(world.user / "web") == before, line
        assert entries(world.victim) == victim, line
    assert os.path.lexists(place)


def _content(place: Path, victim: Path) -> None:
    place.write_text(json.dumps(FORGED))


def _foreign_file(place: Path, victim: Path) -> None:
    place.write_text(f"{place.parent.stat().st_ino}\n")
    place.write_text(f"{place.stat().st_ino}\n{json.dumps(FORGED)}")
    os.chown(place, OTHERS, OTHERS)


STATES: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "link": (_link("plan.json"), "is not a file"),
    "folder": (_folder, "is not a file"),
    "pipe": (_pipe, "is not a file"),
    "of-an-archive": (_content, "was not written here by krm-merge"),
    "foreign": (_foreign_file, "belongs to another user"),
}


@pytest.mark.parametrize("ending", ["begun", "plan", "choices"])
@pytest.mark.parametrize("kind", [kind if kind != "foreign" else pytest.param(kind, marks=as_root) for kind in STATES])
def test_state_that_this_program_did_not_write_is_refused(world: World, ending: str, kind: str) -> None:
    place = world.state(ending)
    place.parent.mkdir(0o700)
    make, message = STATES[kind]
    make(place, world.victim)
    before, victim = entries(world.user), entries(world.victim)
    code, output = world.run("resolve web@v2 --terminal --allow-dirty")
    assert code == 3
    assert f"{place} {message}; it is not trusted, and nothing was changed: remove it" in output
    assert (entries(world.user), entries(world.victim)) == (before, victim)


def test_a_link_to_the_package_and_another_working_tree_have_their_own(world: World) -> None:
    (world.user / "link").symlink_to("web")
    assert state_file(world.user / "link", "plan") == state_file(world.user / "web", "plan")
    git(world.user, "worktree", "add", "--quiet", "../tree")
    assert state_file(world.place / "tree" / "web", "plan").base == world.user / ".git" / "worktrees" / "tree"
    write(world.place / "alone", {"a": ""})
    assert state_file(world.place / "alone", "plan").base == world.place / "state"


# ---- who looks changes nothing (A10) ---------------------------------------------------------------------------------


@pytest.fixture
def interrupted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """An update of the package was killed when it was decided, and nothing was done."""

    def die(*_: object, **__: object) -> None:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_carry_out", die)
        assert world.run("update web@v2 --on-conflict upstream --allow-dirty")[0] == 9
    assert world.state("plan").is_file()
    return world


@pytest.mark.parametrize("line", [line for line in LOOKING if line != "--help" and "other --diff" not in line])
def test_who_looks_names_an_interrupted_update_and_leaves_it(interrupted: World, line: str) -> None:
    before = entries(interrupted.user)
    code, output = interrupted.run(line)
    assert entries(interrupted.user) == before
    assert code != 0
    plan = str(interrupted.state("plan"))
    assert f"{interrupted.user / 'web'} was interrupted ({plan})" in output.replace("\n  ", " ")
    assert f"krm-merge update {interrupted.user / 'web'}" in output.replace("\n  ", " ")


def test_the_next_command_that_writes_completes_it(interrupted: World) -> None:
    code, output = interrupted.run("update web@v2 --on-conflict upstream")
    assert code == 0
    assert "an interrupted update of web was completed" in output
    assert 'v: "2"' in (interrupted.user / "web" / "cm.yaml").read_text()
    assert [*interrupted.state("plan").parent.iterdir()] == []
    assert not [*interrupted.user.rglob("*.krm-merge")]


# ---- choices of an earlier session (A11) -----------------------------------------------------------------------------


def test_earlier_choices_are_named_and_not_saved_without_an_answer(chosen: World) -> None:
    before = entries(chosen.user)
    code, output = chosen.run("resolve web@v2 --terminal")
    assert code == 1
    assert "1 choice of an earlier session is kept: " in output
    assert " data.v (upstream)" in output
    assert "nothing was chosen in this session" in output
    assert "no answer on stdin; run the command again in a terminal, or without --terminal" in output
    assert entries(chosen.user) == before


@pytest.mark.parametrize(("answers", "code", "value"), [("y\n", 0, "2"), ("q\n", 1, "5"), ("z\nl\n", 0, "5")])
def test_earlier_choices_are_saved_undone_or_left(chosen: World, answers: str, code: int, value: str) -> None:
    assert chosen.run("resolve web@v2 --terminal", answers)[0] == code
    assert f'v: "{value}"' in (chosen.user / "web" / "cm.yaml").read_text()
    assert chosen.state("choices").exists() == (code == 1)
